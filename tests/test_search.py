"""What readers paste into the search, and what they find."""

import functools
import random
import re
from typing import NamedTuple
from urllib.parse import unquote

import pytest
from playwright.sync_api import expect

from checks import SNIPPETS, relative
from checks.snippets import read
from pages import calls, errors
from pages.page import Page
from tests.built import address_built
from tests.visits import assert_accessible

QUERY = "input[data-md-component=search-query]"
# Keeps what the theme sends to its worker at first, for a worker of the test's own.
KEEP_SETUP = """{
  const { postMessage } = Worker.prototype;
  Worker.prototype.postMessage = function (message) {
    if (message.type === 0 && !globalThis.setup) globalThis.setup = message;
    else postMessage.call(this, message);
  };
}"""
# Asks the theme's worker through what docs/assets/search.js makes of `Worker`, as the theme does.
# The theme shows a page before its sections; the Enter key leads to the best find.
ASK = """async (queries) => {
  const config = JSON.parse(document.querySelector("#__config").textContent);
  const worker = globalThis.worker ??= new Worker(new URL(config.search, location));
  const told = (message) => new Promise((resolve, reject) => {
    worker.onerror = reject;
    worker.addEventListener("message", ({ data }) => resolve(data.data), { once: true });
    worker.postMessage(message);
  });
  const address = (find) => new URL(find.location, new URL(config.base, location));
  const score = (find) => Number(find.score.toFixed(2));
  const ordered = (finds) => {
    const [page] = finds.splice(finds.findIndex((find) => !address(find).hash), 1);
    return [page, ...finds];
  };
  globalThis.ready ??= await told(setup) ?? true;
  const answers = [];
  for (const query of queries) {
    const { items } = await told({ type: 2, data: query });
    const groups = items.map(ordered);
    const best = groups[0]?.reduce((one, other) => (score(other) > score(one) ? other : one));
    answers.push([groups.map(([page]) => address(page).pathname), best && address(best).href]);
  }
  return answers;
}"""
CHINESE = ("如何停止梯度", "二阶导数怎么求", "梯度为什么是 None")
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"


class Answer(NamedTuple):
    """The addresses of the pages found, in their order, and of the find to which Enter leads."""

    pages: list[str]
    best: str


@pytest.fixture(scope="session")
def ask(browser, base_url):
    """Return a function that returns what the search answers to some queries, {query: Answer}."""
    page, known = browser.new_page(), {}
    page.add_init_script(KEEP_SETUP)
    page.goto(base_url)
    page.locator(QUERY).click()
    page.wait_for_function("globalThis.setup")

    def answers(queries):
        new = [query for query in dict.fromkeys(queries) if query not in known]
        known.update(zip(new, (Answer(*told) for told in page.evaluate(ASK, new)), strict=True))
        return known

    yield answers
    page.close()


PASTED = [
    ("tf.gradients is not supported when eager execution is enabled", "errors/eager-mode/"),
    ("stop_gradients", "parameters/stop_gradients/"),
    ("is_compatible_with", "errors/jacobian/"),
    ("tfe.implicit_value_and_gradients(loss)", "old-api/tfe/"),
    ("K.gradients(model.output, model.input)", "old-api/keras/"),
    ("'KerasTensor' object has no attribute '_id'", "errors/no-attribute/"),
    ("AttributeError: 'Functional' object has no attribute 'total_loss'", "errors/keras/"),
    ("optimizer.get_gradients(model.total_loss, weights)", "old-api/keras/"),
    ("module 'keras.backend' has no attribute 'gradients'", "errors/missing-names/"),
    ("grad-cam", "cases/grad-cam/"),
    ("The layer sequential has never been called and thus has no defined output", "errors/keras/"),
    ("K.function([model.input], [layer.output])", "old-api/keras/"),
    ("K.learning_phase()", "old-api/keras/"),
    ("A non-persistent GradientTape can only be used", "errors/tape/"),
    ("gradient_override_map", "old-api/custom-gradients/"),
    ('@tf.RegisterGradient("GuidedRelu")', "old-api/custom-gradients/"),
    ("op_type_map", "old-api/custom-gradients/"),
    ("gradient reversal", "old-api/custom-gradients/"),
    ("Registering two gradient with name", "errors/custom-gradients/"),
    ("tf.custom_gradient", "how-to/custom-gradient/"),
    ("grad_fn must accept keyword argument 'variables'", "errors/custom-gradients/"),
    ("tf.recompute_grad", "how-to/custom-gradient/"),
    ("WGAN-GP", "how-to/train-through-a-gradient/"),
    ("fast_weights", "how-to/train-through-a-gradient/"),
    ("MAML", "how-to/train-through-a-gradient/"),
    ("--gate_gradients", "parameters/gate_gradients/"),
    ("agregation_metod", "parameters/aggregation_method/"),
    ("grads_ys", "parameters/grad_ys/"),
    ("derivative for each sample", "explanation/sum-over-targets/"),
    ("gradient penalty", "how-to/train-through-a-gradient/"),
    ("tf.hessians(loss, w)[0]", "tape/higher_order/"),
    ("optimizer.compute_gradients(loss)", "old-api/optimizers/"),
    ("'SGD' object has no attribute 'minimize'", "errors/apply-gradients/"),
    ("passed to Optimizer.compute_gradients should be a function", "errors/apply-gradients/"),
    ("No gradients provided for any variable", "errors/none/"),
    ("global_step", "old-api/optimizers/"),
    ("grad_loss", "old-api/optimizers/"),
    ("clip_by_global_norm", "how-to/clip-gradients/"),
    ("tf.add_check_numerics_ops", "how-to/surprising-numbers/"),
    ("multiply_no_nan", "how-to/surprising-numbers/"),
    ("ScipyOptimizerInterface", "how-to/scipy/"),
    ("ExternalOptimizerInterface", "how-to/scipy/"),
    ("tf.contrib.opt", "how-to/weight-decay/"),
    ("AdamWeightDecayOptimizer", "how-to/weight-decay/"),
    ("LARSOptimizer", "how-to/weight-decay/"),
    ("_apply_dense", "how-to/own-optimizer/"),
    ("custom optimizer", "how-to/own-optimizer/"),
    ("UPDATE_OPS", "how-to/training-loop/"),
    ("get_total_loss", "how-to/training-loop/"),
    ("custom training loop", "how-to/training-loop/"),
    ("checklist", "start/what-must-hold/"),
    ("Laplacian", "how-to/laplacian/"),
    ("bilevel", "how-to/train-through-a-gradient/"),
    ("var_to_bounds", "how-to/scipy/"),
    ("loss_callback", "how-to/scipy/"),
    ("step_callback", "how-to/scipy/"),
    ("scipy.optimize.minimize", "how-to/scipy/"),
    ("L-BFGS-B", "how-to/scipy/"),
    ("ABNORMAL_TERMINATION_IN_LNSRCH", "how-to/scipy/"),
    ("Desired error not necessarily achieved due to precision loss", "how-to/scipy/"),
    ("All inputs to slsqp must be of type", "how-to/scipy/"),
    ("梯度裁剪", "how-to/clip-gradients/"),
    ("gradient accumulation", "how-to/accumulate-gradients/"),
    ("gradient_accumulation_steps", "how-to/accumulate-gradients/"),
    ("zero_ops = [tv.assign(tf.zeros_like(tv))", "how-to/accumulate-gradients/"),
    ("only supports singleton tf.Variables", "errors/graph-tensors/"),
    ("梯度累积", "how-to/accumulate-gradients/"),
    ("tf.contrib.layers.optimize_loss", "old-api/optimize_loss/"),
    ("gradient_noise_scale", "old-api/optimize_loss/"),
    ("gradient_multipliers", "old-api/optimize_loss/"),
    ("slim.learning.create_train_op", "old-api/optimize_loss/"),
    ("variables_to_train", "how-to/some-variables/"),
    ("tf.train.exponential_decay", "how-to/learning-rates/"),
    ("not enough values to unpack (expected 2, got 0)", "errors/apply-gradients/"),
    ("freeze layers", "how-to/frozen-layers/"),
    ("RMSPropOptimizer", "how-to/optimizer-steps/"),
    ("average_gradients(tower_grads)", "how-to/replicas/"),
    ("multi GPU", "how-to/replicas/"),
    ("MirroredStrategy", "how-to/replicas/"),
    ("SyncReplicasOptimizer", "how-to/replicas/"),
    ("hvd.DistributedGradientTape(tape)", "how-to/replicas/"),
    ("`merge_call` called while defining a new graph", "errors/replicas/"),
    ("DistributedVariable.handle is not available", "errors/replicas/"),
    ("多卡", "how-to/replicas/"),
    ("optimizer.get_scaled_loss(loss)", "how-to/mixed-precision/"),
    ("LossScaleOptimizer", "how-to/mixed-precision/"),
    ("enable_mixed_precision_graph_rewrite", "how-to/mixed-precision/"),
    ("loss_scale_manager", "how-to/mixed-precision/"),
    ("混合精度", "how-to/mixed-precision/"),
    ("noise_multiplier", "how-to/per-example-gradients/"),
    ("differential privacy", "how-to/per-example-gradients/"),
    ("Required handle data not set for", "errors/jacobian/"),
    ("tf.keras.optimizers.legacy.Adam", "errors/optimizers/"),
    ("optimizer.get_updates(loss, params)", "how-to/keras-2/"),
    ("TF_USE_LEGACY_KERAS=1", "how-to/keras-2/"),
    ("import tf_keras as keras", "how-to/keras-2/"),
    ("`keras.optimizers.legacy` is not supported in Keras 3", "errors/optimizers/"),
    ("Could not interpret optimizer identifier", "errors/optimizers/"),
    ("were used in a Lambda layer's call", "errors/keras/"),
    ("compiled_loss", "how-to/keras-2/"),
    ("'Variable' object has no attribute '_unique_id'", "errors/keras/"),
    ("如何停止梯度", "zh/"),
    ("二阶导数怎么求", "zh/second-order/"),
    ("如何计算二阶导数", "zh/second-order/"),
    ("雅可比矩阵", "zh/second-order/"),
    ("梯度为什么是 None", "zh/none/"),
    ("梯度为None怎么办", "zh/none/"),
    ("自定义训练循环 冻结层", "zh/training-loop/"),
    ("每个样本的梯度", "zh/"),
    ("tf.gradients 还能用吗", "start/still-there/"),
    ("不等价", "zh/"),
    ("对抗训练", "how-to/adversarial-training/"),
    ("compute_gradients", "old-api/optimizers/"),
    ("hessian matrix of loss", "tape/higher_order/"),
    ("how to freeze layers in training loop", "how-to/frozen-layers/"),
    ("gradient with respect to input image", "how-to/input-gradients/"),
    ("gradient clipping by global norm", "how-to/clip-gradients/"),
    (
        "TypeError: Cannot convert a symbolic Keras input/output to a numpy array.",
        "errors/graph-tensors/",
    ),
    ("known bugs", "evidence/known-bugs/"),
    ("known issues", "evidence/known-bugs/"),
    ("Segmentation fault (core dumped)", "errors/crashes/"),
    ("TF_ENABLE_ONEDNN_OPTS", "evidence/known-bugs/"),
    ("corrupted double-linked list", "errors/crashes/"),
    ("silently wrong gradients", "evidence/known-bugs/"),
    ("gradient bug", "evidence/known-bugs/"),
    ("崩溃", "errors/crashes/"),
    ("gradient is None", "how-to/none/"),
    ("GradientTape returns None", "how-to/none/"),
    ("all gradients are None", "how-to/none/"),
    ("'NoneType' object has no attribute 'numpy'", "errors/none/"),
    ("unsupported operand type(s) for *: 'float' and 'NoneType'", "errors/none/"),
    ("tape.gradient returns None model.predict", "how-to/none/"),
    ("gradient None tf.round", "how-to/none/"),
    ("numpy_function gradient", "how-to/none/"),
    ("中文", "zh/"),
    ("fwd_gradients", "how-to/jvp/"),
    ("jacobian-vector product", "how-to/jvp/"),
    ("fisher vector product", "how-to/hvp/"),
    ("_hessian_vector_product", "how-to/hvp/"),
]


def test_pasted_words_find_the_page_first(ask, subtests):
    """A message or a name that is pasted, without a key, leads to the page that settles it."""
    answers = ask(words for words, _ in PASTED)
    for words, address in PASTED:
        with subtests.test(words):
            assert answers[words].pages[0] == f"/{address}"


ERRORS = errors.every_entry()


def error_output(entry):
    """Return what the first example of an error prints."""
    return read(SNIPPETS / entry.names[0]).output


def renamed(text):
    """Write `text` with other names and numbers."""
    text = re.sub(r"(?<![\w.])\d+(\.\d+)?\b", "7", text)
    return re.sub(r"(?<=['\"])[\w.:/-]+(?=['\"])|\b(True|False|None)\b", "my_own", text)


def bare_words(text):
    """Return the words of `text`, whatever their names, numbers and types."""
    text = re.sub(r"\b(u?int|float|complex)\d+\b|\bbool\b|\bstring\b", "my_own", renamed(text))
    return " ".join(re.findall(r"\w+", text.lower()))


class Told(NamedTuple):
    """Where an error stands, and the bare words of its example's output and of its message."""

    address: str
    output: str
    parts: list[str]


@functools.cache
def told_errors():
    """Return all errors as they are compared with what was pasted."""
    return [
        Told(
            f"{address_built(page.file)}#{entry.anchor}",
            bare_words(error_output(entry)),
            [bare_words(part) for part in errors.message_of(entry)],
        )
        for page, entry in ERRORS
    ]


def pasted_forms(entry):
    """Yield what readers paste of an error: its line, half of it, other names and numbers."""
    lines = error_output(entry).splitlines()
    parts = errors.message_of(entry)
    line = next((line for line in lines if all(part in line for part in parts)), "")
    kind, start, rest = (line or parts[0]).partition(parts[0])
    message = start + rest
    if error := re.search(r"\w+(Error|Exception|Warning)\b", kind):
        yield f"{error[0]}: {message}"  # the last line of a traceback
    yield message
    words = message.split()
    yield " ".join(words[: max(4, len(words) // 2)])
    if len(words) > 3:  # else the names are all that it says
        yield renamed(message)


@pytest.mark.parametrize("source", errors.error_pages(), ids=lambda source: source.uri)
def test_pasted_error_finds_its_entry_first(source, ask, base_url, subtests):
    """It, or another one that prints the same words, is the find to which the Enter key leads."""
    asked = [(entry, words) for entry in errors.entries(source) for words in pasted_forms(entry)]
    answers = ask(words for _, words in asked)
    for entry, words in asked:
        with subtests.test(words):
            text = bare_words(re.sub(r"^\w+(Error|Exception|Warning): ", "", words))
            own = f"{address_built(source.file)}#{entry.anchor}"
            right = [
                one.address
                for one in told_errors()
                if one.address == own or text in one.output or all(p in text for p in one.parts)
            ]
            assert unquote(answers[words].best).removeprefix(f"{base_url}/") in right


TEXTS = {f"/{address_built(page.file)}": page.text for page in Page.every()}
OLD = [(page.file, call) for page in Page.every() for call in calls.calls(page)]


def old_names(call):
    """Return the words that a row of old calls stands for, and the name that it is about."""
    of, names = (re.findall("`(.+?)`", text) for text in (call.of, call.old))
    words = " ".join([*of[:1], names[0] if of else call.old.replace("`", "")])
    return words, re.split("[(=]", names[0])[0].split(".")[-1]


@pytest.mark.parametrize("source", dict(OLD), ids=relative)
def test_old_call_finds_a_page_that_says_what_became_of_it(source, ask, subtests):
    """A row's words, or its call and its argument, lead first to a page about that name."""
    asked = [old_names(call) for found, call in OLD if found == source and "`" in call.old]
    answers = ask(words for words, _ in asked)
    for words, name in asked:
        with subtests.test(words):
            first = answers[words].pages[0]
            about = re.compile(rf"^(?:#.*|\|.*`.*)\b{re.escape(name)}\b", re.M)
            assert about.search(TEXTS[first])


@pytest.mark.parametrize("words", CHINESE)
def test_question_in_chinese_finds_the_chinese_page_soon(words, ask):
    """Beside the page that settles it, a reader sees one in the language of the question."""
    assert any(page.startswith("/zh/") for page in ask([words])[words].pages[:5])


def test_search_finds_something_from_the_first_letter_on(ask, folder):
    """Its engine, as it comes, breaks off at some letters, by chance: the site mends it."""
    [engine] = folder.glob("assets/javascripts/workers/search.*.js")
    assert 'e=e+s+o.id+","' in engine.read_text("utf-8")
    answers = ask(LETTERS)
    assert [letter for letter in LETTERS if not answers[letter].pages] == []


# Of each kind, some queries are drawn that readers' own hands ask.
KINDS = {
    "words": [words for words, _ in PASTED],
    "errors": [words for _, entry in ERRORS for words in pasted_forms(entry)],
    "calls": [old_names(call)[0] for _, call in OLD if "`" in call.old],
    "letters": [*LETTERS],
    "Chinese": [*CHINESE],
}


@pytest.mark.parametrize("kind", KINDS)
def test_box_shows_what_the_worker_answers(kind, page, base_url, ask, subtests):
    """What is pasted, without a key, shows the pages in this order, and Enter opens the best."""
    some = random.Random(kind)  # noqa: S311 - the same ones each time
    drawn = some.sample(KINDS[kind], min(10, len(KINDS[kind])))
    answers = ask(drawn)
    page.goto(base_url)
    query, found = page.locator(QUERY), page.locator(".md-search-result__item > a:first-child")
    query.click()
    for words in drawn:
        with subtests.test(words):
            for text in ("", words):  # first away with what was found before
                query.evaluate("(box, text) => box.value = text", text)
                query.dispatch_event("input")
                expect(found.first).to_be_visible(visible=bool(text))
            shown = found.evaluate_all("links => links.map((link) => link.pathname)")
            assert len(shown) >= min(10, len(answers[words].pages))
            assert shown == answers[words].pages[: len(shown)]
            assert found.first.get_attribute("href") == answers[words].best
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: url.rstrip("/") != base_url.rstrip("/"))
    assert page.url == answers[drawn[-1]].best


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_search_is_accessible(scheme, new_context, base_url):
    """With results, as a reader who searches has it."""
    page = new_context(color_scheme=scheme).new_page()
    page.goto(base_url, wait_until="networkidle")
    slate = page.locator("body[data-md-color-scheme=slate]")
    assert slate.count() == (scheme == "dark")  # at the first visit
    page.keyboard.press("s")
    page.keyboard.type("gradient")
    page.locator(".md-search-result__item > a").first.wait_for()
    assert_accessible(page)


def test_search_shows_no_listings(folder):
    """What an example prints can be searched; its code and the labels of tabs cannot."""
    index = (folder / "search/search_index.json").read_text("utf-8")
    assert "Length mismatch. Passed" in index
    # Counted: on failure, pytest would compare two texts of megabytes for twenty minutes.
    assert index.count(r"with tf.Graph().as_default(), tf.Session() as session:\n") == 0
    assert index.count("TF 2 tape") == 0


@pytest.mark.parametrize("width", [390, 1440])
def test_box_on_the_home_page_searches_as_you_type(page, base_url, width):
    """The first letter opens the search, which takes over; Escape gives the page back."""
    page.set_viewport_size({"width": width, "height": 844})
    page.goto(base_url, wait_until="networkidle")
    page.get_by_role("searchbox", name="Paste your error or call").click()
    page.keyboard.type("grad_ys")
    first = page.locator(".md-search-result__item > a").first
    expect(first).to_have_attribute("href", re.compile("/parameters/grad_ys/"))
    assert page.locator("input[data-md-component=search-query]").input_value() == "grad_ys"
    assert not page.locator(".md-search-result .md-tags").first.is_visible()  # for the search only
    page.keyboard.press("Escape")
    page.locator(".md-search-result__item > a").first.wait_for(state="hidden")
