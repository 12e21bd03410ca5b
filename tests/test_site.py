"""The built site as a reader's browser sees it."""

import html
import re
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from checks import DOCS, SNIPPETS, relative
from checks.snippets import files as snippet_files
from checks.snippets import read
from pages import calls, errors
from pages.page import Page
from releases.data import RELEASES, minor
from releases.data import load as outcomes

UNFOLD = "document.querySelectorAll('details').forEach((folded) => (folded.open = true))"
# What a page says, without its code.
TEXT = """() => {
  const said = document.querySelector("article").cloneNode(true);
  said.querySelectorAll("pre, code").forEach((code) => code.remove());
  return said.textContent;
}"""
# How high each listing in sight is said to be, and how high it is.
HEIGHTS = """() => [...document.querySelectorAll(".language-python")]
  .filter((listing) => listing.offsetParent)
  .map((listing) => ["hidden", "visible"].map((visibility) => {
    listing.style.contentVisibility = visibility;
    return listing.getBoundingClientRect().height;
  }))"""
# The names in headings and tables of which a part without a joint stands on two lines.
CUT_WORDS = """() => [...document.querySelectorAll(":is(h1, h2, h3, td)")].flatMap((text) => {
  const found = [];
  const walker = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    for (const { 0: word, index } of node.data.matchAll(/\\w+/g)) {
      const range = document.createRange();
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      if (range.getClientRects().length > 1) found.push(word);
    }
  }
  return found;
})"""
NOTEBOOKS = [page for page in Page.files() if page.suffix == ".ipynb"]


def address(source):
    """Return the address of a page below that of the site."""
    return re.sub(r"(^|/)index\.md$|\.\w+$", "/", str(source.relative_to(DOCS))).lstrip("/")


@pytest.mark.parametrize("source", Page.files(), ids=relative)
def test_page_keeps_its_promises(source, page, base_url, folder, subtests):
    """One visit: links, embeds, no other host, no complaint, access for all, a phone's width."""
    requests, complaints = [], []
    page.on("request", lambda asked: requests.append(asked.url))
    page.on("console", lambda said: complaints.append(f"{said.type}: {said.text}"))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(f"{base_url}/{address(source)}", wait_until="networkidle")

    with subtests.test("every link within the site leads to a file, and to an anchor in it"):
        links = page.eval_on_selector_all("a[href]", "links => links.map(a => a.href)")
        inside = {link for link in links if link.startswith(base_url)}
        assert len(inside) > len(Page.files())
        for link in inside:
            found, anchor = urldefrag(link)
            file = Path(folder, unquote(found.removeprefix(f"{base_url}/")))
            file = file / "index.html" if file.is_dir() else file
            assert file.is_file(), f"{link}: no such page"
            named = not anchor or f'id="{unquote(anchor)}"' in file.read_text("utf-8")
            assert named, f"{link}: no such anchor"

    with subtests.test("no two things have the same anchor, and each example has one"):
        ids = page.eval_on_selector_all("[id]", "found => found.map(e => e.id)")
        assert len(ids) == len(set(ids))
        shown = page.locator("div.language-python[id]").count()
        assert shown == len(Page.read(source).names)

    with subtests.test("as many outputs as embedded examples: no indent hid one"):
        shown = page.locator(".language-output").count()
        if source.suffix == ".ipynb":
            assert shown > 0
        else:
            examples = Page.read(source).embeds
            assert shown == len(examples)
            assert page.locator(".replayed").count() == bool(examples)

    with subtests.test("no Markdown is left over, as of a link whose title holds a quote"):
        assert page.evaluate(TEXT).count('")') == 0

    with subtests.test("the page does not move when a listing comes near and is laid out"):
        for expected, height in page.evaluate(HEIGHTS):
            assert expected == pytest.approx(height, abs=1)

    with subtests.test("accessible in the light, with all unfolded"):
        page.evaluate(UNFOLD)
        report = Axe().run(page)
        assert report.violations_count == 0, report.generate_report()

    with subtests.test("nothing but code and tables, which scroll, is wider than a phone"):
        page.set_viewport_size({"width": 390, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth") == 390

    with subtests.test("no request to another host, and an empty console"):
        outside = [u for u in requests if not u.startswith((base_url, "data:", "blob:"))]
        assert not outside
        assert not complaints


@pytest.mark.parametrize("source", Page.files(), ids=relative)
def test_page_is_accessible_in_the_dark(source, new_context, base_url):
    """A context of its own: the theme keeps the colours of the first visit."""
    page = new_context(color_scheme="dark").new_page()
    page.goto(f"{base_url}/{address(source)}", wait_until="networkidle")
    assert page.locator("body").get_attribute("data-md-color-scheme") == "slate"
    page.evaluate(UNFOLD)
    for last in page.locator(".tabbed-labels label:last-child").all():
        last.click()
    report = Axe().run(page)
    assert report.violations_count == 0, report.generate_report()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_search_is_accessible(scheme, new_context, base_url):
    """With results, as a reader who searches has it."""
    page = new_context(color_scheme=scheme).new_page()
    page.goto(base_url, wait_until="networkidle")
    page.keyboard.press("s")
    page.keyboard.type("gradient")
    page.locator(".md-search-result__item > a").first.wait_for()
    page.wait_for_timeout(500)  # while it moves, the theme fades it in
    report = Axe().run(page)
    assert report.violations_count == 0, report.generate_report()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_a_light_page_and_a_file_to_take_away(path, page, base_url, folder):
    """It weighs at most what the heaviest other page does, and is offered for download."""
    address = str(path.relative_to(DOCS).with_suffix(""))
    weights = {p: p.stat().st_size for p in folder.glob("**/index.html")}
    own = weights.pop(folder / address / "index.html")
    assert own <= max(weights.values())
    page.goto(f"{base_url}/{address}/", wait_until="networkidle")
    link = page.locator("a", has_text="Download this notebook")
    assert (folder / address / link.get_attribute("href")).read_text("utf-8") == path.read_text(
        "utf-8"
    )


def test_cell_of_the_matrix_unfolds_what_differs(page, base_url):
    """A click on a cell that says differs shows what that release printed, below its row."""
    page.goto(f"{base_url}/evidence/releases/", wait_until="networkidle")
    cell = page.locator(".matrix td.differs a").first
    row = page.locator(cell.get_attribute("href"))
    note = row.locator("+ .note")
    assert not note.count()
    cell.click()
    note.locator("pre").first.wait_for()
    assert page.evaluate("document.activeElement.closest('.note') !== null")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_matrix_is_accessible_where_it_is_laid_out(new_context, base_url, scheme):
    """The browser lays it out only when it is near, and axe sees no colours before."""
    page = new_context(color_scheme=scheme).new_page()
    page.goto(f"{base_url}/evidence/releases/", wait_until="networkidle")
    page.locator(".matrix td.not-available a").first.click()
    page.locator(".note").wait_for()
    report = Axe().run(page)
    assert report.violations_count == 0, report.generate_report()


@pytest.mark.parametrize("release", [RELEASES[0], "2.9.3", RELEASES[-1]])
def test_choosing_a_release_shows_what_differs_there(page, base_url, release):
    """As many examples as in the data, the address remembers the choice, and links lead to them."""
    kinds = [
        kind
        for (name, r), (kind, _) in outcomes().items()
        # An example for TensorFlow 1 says itself that it needs it.
        if r == release and (release.startswith("1.") or not name.endswith(".tf1.md"))
    ]
    expected = len(kinds) - kinds.count("same")
    page.goto(f"{base_url}/evidence/releases/", wait_until="networkidle")
    page.get_by_label("My release is TensorFlow").select_option(minor(release))
    shown = page.locator("#differences > div > p")
    summary = page.locator("[role=status]:not(:empty)")
    summary.wait_for()
    assert shown.count() == expected
    text = re.sub(r"TensorFlow [\d.]+", "", summary.inner_text())
    said = [int(number) for number in re.findall(r"\d+", text)]
    total = len(snippet_files())
    assert said[:3] == [kinds.count("differs"), total, kinds.count("not available")]
    assert said[-1] == kinds.count("same")
    assert sum(said) == 2 * total
    assert page.url.endswith(f"#{minor(release)}")
    page.reload(wait_until="networkidle")
    assert shown.count() == expected
    if expected:
        shown.locator("a").first.click()
        page.locator(".language-python:target").wait_for()


def test_link_to_an_example_turns_to_its_tab(page, base_url):
    """On a phone the tape's tab is open; a link to the graph's example opens the other."""
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{base_url}/parameters/grad_ys/#grad_ys-graph", wait_until="networkidle")
    assert page.locator("#grad_ys-graph").is_visible()


def test_filter_shows_the_statements_with_a_verdict(page, base_url):
    """By keyboard; at first and without script, all are shown."""
    page.goto(f"{base_url}/evidence/statements/", wait_until="networkidle")
    rows, verdicts = page.locator("tbody tr:visible"), ("true but", "true", "false")
    found = {v: rows.get_by_text(v, exact=True).count() for v in verdicts}
    assert rows.count() == sum(found.values()) == len(page.locator("tbody tr").all())
    page.locator("[name=verdict]").first.focus()
    for verdict in verdicts:
        page.keyboard.press("ArrowRight")
        assert page.locator("[name=verdict]:checked").get_attribute("value") in verdict
        assert rows.count() == found[verdict] > 0
        assert set(rows.locator(".verdict").all_inner_texts()) == {verdict}


@pytest.mark.parametrize("source", Page.files(), ids=relative)
def test_tables_are_cards_on_a_phone(source, page, base_url):
    """No cell is wider than the screen, each says its column, and no name breaks at random."""
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{base_url}/{address(source)}", wait_until="networkidle")
    cells = page.locator("table:not([class]) td").all()
    for cell in cells:
        box = cell.bounding_box()
        assert box["x"] >= 0, cell.inner_text()
        assert box["x"] + box["width"] <= 390, cell.inner_text()
        assert cell.get_attribute("data-label")
    cut = page.evaluate(CUT_WORDS)
    assert not cut


@pytest.mark.parametrize("width", [390, 1024, 1440])
def test_tape_is_on_the_first_screen(page, base_url, width):
    """A wide screen shows old and new side by side, another one the tape alone."""
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"{base_url}/parameters/grad_ys/", wait_until="networkidle")
    blocks = page.locator(".tabbed-block")
    old, new, third = (blocks.nth(place) for place in range(3))
    assert "GradientTape" in new.inner_text()
    assert new.bounding_box()["y"] < 700
    assert old.is_visible() == (width == 1440)
    assert not third.is_visible()
    page.locator(".tabbed-labels label", has_text="tf.gradients in tf.function").first.click()
    assert third.is_visible()
    assert old.is_visible() == (width == 1440)
    assert not new.is_visible()


def test_most_examples_fit_a_phone(page, base_url):
    """Lines of 57 columns stand on a phone without scrolling, and most examples have no longer."""
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{base_url}/parameters/stop_gradients/", wait_until="networkidle")
    for code in page.locator(".language-python:visible code").all():
        longest = max(map(len, code.text_content().splitlines()))
        assert longest > 57 or code.evaluate("code => code.scrollWidth <= code.clientWidth")
    widths = [max(map(len, read(path).code.splitlines())) for path in snippet_files()]
    assert sum(width <= 57 for width in widths) >= 0.6 * len(widths)


def test_tabs_switch_together_and_stay(page, base_url):
    """A reader who picks a side once sees it everywhere, on the next page too."""
    page.goto(f"{base_url}/parameters/grad_ys/", wait_until="networkidle")
    page.locator(".tabbed-labels label", has_text="TF 1 graph").first.click()
    page.wait_for_timeout(300)
    for url in (page.url, f"{base_url}/start/migrate/"):
        page.goto(url, wait_until="networkidle")
        sets = page.locator(".tabbed-set", has=page.get_by_text("TF 1 graph", exact=True))
        assert sets.count() > 1
        for chosen in sets.all():
            assert chosen.locator("> input").first.is_checked(), url


def test_copy_button_copies_the_code(page, base_url):
    """What lands on the clipboard is the example's code, without its output."""
    page.goto(base_url, wait_until="networkidle")
    # The theme, too, gives a button to each listing of which it asks the size.
    listings = page.locator(".language-python")
    assert page.locator(".md-code__button").count() == listings.count()
    code = page.locator(".language-python:visible").first
    code.hover()
    code.locator("button").first.click()
    page.wait_for_timeout(300)
    copied = page.evaluate("navigator.clipboard.readText()").strip()
    assert copied == read(SNIPPETS / "index/tape.md").code.strip()


def paste(page, base_url, words):
    """Paste `words` into the search, without a key, and return the links to the pages found."""
    query = page.locator("input[data-md-component=search-query]")
    found = page.locator(".md-search-result__item > a:first-child")
    if page.url == "about:blank":
        page.goto(base_url, wait_until="networkidle")
        query.click()
    for text in ("", words):  # first away with what was found before
        query.evaluate("(box, text) => box.value = text", text)
        query.dispatch_event("input")
        expect(found.first).to_be_visible(visible=bool(text))
    return found


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
    ("tf.contrib.opt", "how-to/scipy/"),
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
    ("tf.contrib.layers.optimize_loss", "how-to/some-variables/"),
    ("gradient_noise_scale", "how-to/some-variables/"),
    ("gradient_multipliers", "how-to/some-variables/"),
    ("slim.learning.create_train_op", "how-to/some-variables/"),
    ("variables_to_train", "how-to/some-variables/"),
    ("tf.train.exponential_decay", "how-to/some-variables/"),
    ("not enough values to unpack (expected 2, got 0)", "errors/apply-gradients/"),
    ("freeze layers", "how-to/some-variables/"),
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
    ("如何停止梯度", "parameters/stop_gradients/"),
    ("二阶导数怎么求", "tape/higher_order/"),
    ("雅可比矩阵", "tape/jacobian/"),
    ("梯度为什么是 None", "tape/watch/"),
    ("每个样本的梯度", "explanation/sum-over-targets/"),
    ("tf.gradients 还能用吗", "start/still-there/"),
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
    ("all gradients are None", "errors/none/"),
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


def test_pasted_words_find_the_page_first(page, base_url, subtests):
    """A message or a name that is pasted, without a key, leads to the page that settles it."""
    for words, address in PASTED:
        with subtests.test(words):
            first = paste(page, base_url, words).first
            assert f"/{address}" in first.get_attribute("href")


ERRORS = errors.every_entry()


def printed(entry):
    """Return what the first example of an error prints."""
    return read(SNIPPETS / entry.names[0]).output


def renamed(text):
    """Write `text` with other names and numbers."""
    text = re.sub(r"(?<![\w.])\d+(\.\d+)?\b", "7", text)
    return re.sub(r"(?<=['\"])[\w.:/-]+(?=['\"])|\b(True|False|None)\b", "my_own", text)


def plain(text):
    """Return the words of `text`, whatever their names, numbers and types."""
    text = re.sub(r"\b(u?int|float|complex)\d+\b|\bbool\b|\bstring\b", "my_own", renamed(text))
    return " ".join(re.findall(r"\w+", text.lower()))


def fits(entry, words):
    """Tell whether an error prints the words, or has a message that is in them."""
    return words in plain(printed(entry)) or all(plain(p) in words for p in entry.message)


def variants(entry):
    """Yield what readers paste of an error: its line, half of it, other names and numbers."""
    lines = printed(entry).splitlines()
    line = next((line for line in lines if all(part in line for part in entry.message)), "")
    kind, start, rest = (line or entry.message[0]).partition(entry.message[0])
    message = start + rest
    if error := re.search(r"\w+(Error|Exception|Warning)\b", kind):
        yield f"{error[0]}: {message}"  # the last line of a traceback
    yield message
    words = message.split()
    yield " ".join(words[: max(4, len(words) // 2)])
    if len(words) > 3:  # else the names are all that it says
        yield renamed(message)


@pytest.mark.parametrize("source", errors.error_pages(), ids=lambda source: source.uri)
def test_pasted_error_finds_its_entry_first(source, page, base_url, subtests):
    """It, or another one that prints the same words, is the find to which the Enter key leads."""
    for entry in errors.entries(source):
        for words in variants(entry):
            with subtests.test(words):
                first = paste(page, base_url, words).first.locator("..")
                found = first.locator("a:has([data-md-score])").evaluate_all(
                    "links => links.map(a => [+a.firstElementChild.dataset.mdScore, a.href])"
                )
                best = re.sub(r"\?.*#", "#", unquote(max(found)[1]))
                text = plain(re.sub(r"^\w+(Error|Exception|Warning): ", "", words))
                right = [
                    f"{base_url}/{address(where.file)}#{one.anchor}"
                    for where, one in ERRORS
                    if one == entry or fits(one, text)
                ]
                assert best in right


OLD = [(page.file, call) for page in Page.every() for call in calls.calls(page)]


@pytest.mark.parametrize("source", dict(OLD), ids=relative)
def test_old_call_finds_a_page_that_says_what_became_of_it(source, page, base_url, subtests):
    """A row's words, or its call and its argument, lead first to a page about that name."""
    for call in (call for found, call in OLD if found == source and "`" in call.old):
        of, names = (re.findall("`(.+?)`", text) for text in (call.of, call.old))
        name = re.split("[(=]", names[0])[0].split(".")[-1]
        about = re.compile(rf"^(?:#.*|\|.*`.*)\b{re.escape(name)}\b", re.M)
        with subtests.test(
            words := " ".join([*of[:1], names[0] if of else call.old.replace("`", "")])
        ):
            links = paste(page, base_url, words).evaluate_all("links => links.map(l => l.pathname)")
            told = [p for p in Page.every() if f"/{address(p.file)}" == links[0]]
            assert about.search(told[0].text)


@pytest.mark.parametrize("words", ["如何停止梯度", "二阶导数怎么求", "梯度为什么是 None"])
def test_question_in_chinese_finds_the_chinese_page_soon(page, base_url, words):
    """Behind the page that settles it, a reader sees one in the language of the question."""
    links = paste(page, base_url, words).evaluate_all("links => links.map(link => link.pathname)")
    assert "/zh/" in links[1:5]


def test_chinese_page_tells_its_language_and_says_what_others_say(page, base_url):
    """Its verdicts are those of the home page, and its messages stand where its rows lead."""
    script = """rows => rows.map(row => [
      row.querySelector("code").textContent,
      row.querySelector(".verdict")?.className ?? "",
      row.querySelector("a").href,
    ])"""
    rows = ".md-typeset tr:has(td):has(a):has(td:first-child code)"
    page.goto(base_url, wait_until="networkidle")
    home = page.locator(rows).evaluate_all(script)
    page.goto(f"{base_url}/zh/", wait_until="networkidle")
    assert page.locator("html").get_attribute("lang") == "zh"
    chinese = page.locator(rows).evaluate_all(script)
    assert [row[:2] for row in home if row[1]] == [row[:2] for row in chinese if row[1]]
    messages = [(row[0], row[2]) for row in chinese if not row[1]]
    assert len(messages) > 9
    for message, link in messages:
        shown = html.unescape(re.sub("<[^>]*>", "", page.request.get(link).text()))
        assert message in shown, f"docs/zh.md leads from {message} to {link}"


def test_search_finds_something_from_the_first_letter_on(page, base_url, folder):
    """Its engine, as it comes, breaks off at some letters, by chance: the site mends it."""
    [engine] = folder.glob("assets/javascripts/workers/search.*.js")
    assert 'e=e+s+o.id+","' in engine.read_text("utf-8")
    for letter in "abcdefghijklmnopqrstuvwxyz0123456789":
        assert paste(page, base_url, letter).count()


def test_search_shows_no_listings(folder):
    """What an example prints can be searched; its code and the labels of tabs cannot."""
    index = (folder / "search/search_index.json").read_text("utf-8")
    assert "Length mismatch. Passed" in index
    # Counted: on failure, pytest would compare two texts of megabytes for twenty minutes.
    assert index.count(r"import tensorflow.compat.v1 as tf\n") == 0
    assert index.count("TF 2 tape") == 0


@pytest.mark.parametrize("width", [390, 1440])
def test_box_on_the_home_page_searches_as_you_type(page, base_url, width):
    """The first letter opens the search, which takes over; Escape gives the page back."""
    page.set_viewport_size({"width": width, "height": 844})
    page.goto(base_url, wait_until="networkidle")
    page.get_by_role("searchbox", name="Paste your error or call").click()
    page.keyboard.type("grad_ys")
    first = page.locator(".md-search-result__item > a").first
    first.wait_for()
    assert "/parameters/grad_ys/" in first.get_attribute("href")
    assert page.locator("input[data-md-component=search-query]").input_value() == "grad_ys"
    assert not page.locator(".md-search-result .md-tags").first.is_visible()  # for the search only
    page.keyboard.press("Escape")
    page.locator(".md-search-result__item > a").first.wait_for(state="hidden")


def test_lines_that_change_are_marked(page, base_url):
    """Of the pair on the home page: the import and the tape, and no line that both have."""
    page.goto(base_url, wait_until="networkidle")
    old, new, _ = (
        page.locator(".tabbed-block").nth(place).locator("code").first for place in range(3)
    )
    marked = [new.locator(".hll").nth(place).text_content() for place in range(2)]
    assert marked[0] == "import tensorflow as tf\n"
    assert marked[1].startswith("with tf.GradientTape() as tape:")
    for line in old.locator(".hll").all():
        assert line.text_content().strip() not in new.text_content()


def test_verdict_stands_beside_its_parameter(page, base_url):
    """The navigation tells what became of a parameter, as its page does."""
    page.goto(f"{base_url}/parameters/grad_ys/", wait_until="networkidle")
    for name, verdict in (("grad_ys", "renamed"), ("gate_gradients", "gone")):
        entry = page.locator(".md-nav--primary a.md-nav__link", has_text=name)
        assert entry.locator("small").inner_text() == verdict
