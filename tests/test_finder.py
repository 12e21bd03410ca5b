"""The finder finds what the pages teach, says what they say, and survives any text."""

import functools
import json
import random
import re
import time

import jsonschema
import pytest

from checks import DOCS, ROOT, SNIPPETS
from checks.snippets import files, read
from finder.find import find
from finder.mapping import joined, schema
from finder.rules import RULES
from pages.calls import calls_by_key
from pages.page import Page
from releases.data import load_outcomes, stated

FINDER = ROOT / "finder"
SHAPES = sorted((ROOT / "tests/finder").glob("*.txt"))
FATES = [
    (f"{rule['id']}: {name}", fate)
    for rule in RULES["rules"]
    for name, fate in [("", rule), *rule["arguments"].items()]
] + [(row["row"]["old"], row) for row in RULES["rows"]]
FATES_BY_PAGE = {}
for _, _fate in FATES:
    FATES_BY_PAGE.setdefault(_fate["page"].partition("#")[0], []).append(_fate)
TAUGHT = [
    *sorted((DOCS / "old-api").glob("[!i]*.md")),
    *(p for p in sorted((DOCS / "parameters").glob("*_*.md")) if p.stem != "ys_xs"),
    DOCS / "parameters/name.md",
]
EXPECTED = re.compile(r"#: (.+)$")
OLD = re.compile(
    r"\b(?:tf\.gradients|compat\.v1\.gradients|K\.gradients|K\.function|tf\.hessians|RegisterGradient"
    r"|gradient_override_map|ScipyOptimizerInterface|tfe\.\w*gradients\w*)\("
    r"|\.(?:compute_gradients|get_gradients|get_updates)\("
)
BARE = re.compile(r'""".*?"""|"[^"\n]*"|#.*', re.S)
# They quote old code in a string, or show that a tape has no such method.
QUOTES = {"errors/tape/raises_compute_gradients.md"}
JUNK = [
    *"()[]{}:,'\"\\\n\t @*=.;`%!?\0\r",
    '"""',
    "def f(",
    "lambda",
    "tf.gradients(",
    "é",
    "print ",
]
DEEP = {
    "brackets": "(" * 5000 + "1" + ")" * 5000,
    "sum": "1+" * 50000 + "1",
    "attributes": "a" + ".b" * 50000,
    "calls": "a" + "()" * 20000,
    "signs": "-" * 50000 + "1",
    "functions": "lambda: " * 5000 + "1",
    "bars": "a|" * 800 + "a",
    "quotes": '"' + 'a"' * 50000,
}


outcomes = functools.cache(load_outcomes)


@functools.cache
def labels():
    """Return for each example the labels of the tabs that show it."""
    found = {}
    for page in Page.every():
        for embed in page.embeds:
            if embed.tab:
                found.setdefault(embed.name, set()).add(embed.tab)
    return found


def test_mapping_fits_its_schema():
    """Who reads the mapping may rely on its form."""
    jsonschema.Draft202012Validator.check_schema(schema())
    jsonschema.validate(RULES, schema())
    ids = [rule["id"] for rule in RULES["rules"]]
    assert len(ids) == len(set(ids))


def test_mapping_holds_no_links():
    """What to write is printed in a terminal, where Markdown's links are noise."""
    assert not [name for name, fate in FATES if "](" in fate["write"]]


@pytest.mark.parametrize(("name", "fate"), FATES, ids=[name for name, _ in FATES])
def test_mapping_leads_where_something_stands(name, fate):
    """A fate names a page and an anchor that exist, and the release that its example shows."""
    path, _, anchor = fate["page"].partition("#")
    page = DOCS / f"{path.rstrip('/')}.md"
    page = page if page.exists() else DOCS / path / "index.md"
    assert page.exists(), f"{name} leads to {fate['page']}: no such page"
    anchors = {section.anchor for section in Page.read(page).sections}
    assert not anchor or anchor in anchors, f"{name} leads to {fate['page']}: no such heading"
    if "example" in fate:
        since = stated("since", fate["example"], outcomes()).split()[-1]
        assert fate["gone_since"] == since, f"{name} is gone since {since}"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda rules, calls: calls.pop("`K.learning_phase()`"), "which no table has"),
        (lambda rules, calls: calls.update(new=calls["`tf.gradients`: `xs`"]), "no rule names"),
        (lambda rules, calls: rules["unfound"].append("`tf.gradients`: `xs`"), "take it from"),
        (lambda rules, calls: rules["rows"].update(new={}), "rows names the row new"),
        (lambda rules, calls: rules["rules"][0].pop("verdict"), "tf.gradients has no row"),
    ],
)
def test_mapping_that_does_not_fit_the_pages_stops_the_build(change, says):
    """Neither a row that no rule names nor a rule without its row goes unnoticed."""
    rules = json.loads((FINDER / "rules.json").read_text("utf-8"))
    found = calls_by_key()
    change(rules, found)
    with pytest.raises(ValueError, match=says):
        joined(rules, found)


def test_old_examples_are_found_with_the_verdict_of_their_page():
    """No old-side example of the site is overlooked, whatever it calls."""
    overlooked = []
    for path in files():
        snippet = read(path)
        findings = find(snippet.code, snippet.name)
        sides = labels().get(snippet.name, set()) - {"TF 2 tape"}
        if sides and not findings:
            overlooked.append(f"{snippet.name} stands under {sides}; nothing is found")
        called = {one for one in OLD.findall(BARE.sub("", snippet.code)) if sides or "(" in one}
        if called and not findings and snippet.name not in QUOTES:
            overlooked.append(f"{snippet.name} calls {called}; nothing is found")
    assert not overlooked, "\n".join(overlooked)


@pytest.mark.parametrize("page", TAUGHT, ids=lambda page: page.stem)
def test_old_examples_get_the_verdict_of_their_page(page):
    """What a page says of its argument or call, the finder says of the page's old examples."""
    address = f"{page.parent.name}/{page.stem}/"
    for name in [e.name for e in Page.read(page).embeds if e.tab in ("TF 1 graph", "TF 1 tfe")]:
        code = read(SNIPPETS / name).code
        if page.parent.name == "parameters" and f"{page.stem}=" not in code:
            continue
        said = [fate for found in find(code) for fate in (found, *found["arguments"])]
        verdicts = {fate["verdict"] for fate in said if fate["page"].startswith(address)}
        assert verdicts, f"{name}: no finding leads to {address}"
        stated = {fate["verdict"] for fate in FATES_BY_PAGE[address]}
        assert verdicts <= stated, f"{name}: {verdicts}, the page says {stated}"


def test_new_examples_are_left_alone():
    """What the site tells readers to write has nothing to find."""
    wrong = [
        f"{name}:{found['line']} {found['rule']}"
        for name, sides in sorted(labels().items())
        if sides == {"TF 2 tape"}
        for found in find(read(SNIPPETS / name).code, name)
    ]
    assert not wrong, "\n".join(wrong)


def expected(text):
    """Return the rules that the comments of a miniature name, by line."""
    lines = enumerate(text.split("\n"), 1)
    marks = {number: EXPECTED.search(line) for number, line in lines}
    return {number: sorted(mark[1].split(", ")) for number, mark in marks.items() if mark}


@pytest.mark.parametrize("path", SHAPES, ids=lambda path: path.stem)
def test_shapes_of_public_code(path):
    """Each line that a comment marks is found, and no other."""
    text, got = path.read_text("utf-8"), {}
    for found in find(text, "shape.py"):
        works = " works" if found["works"] else ""
        got.setdefault(found["line"], set()).add(found["rule"] + works)
    assert {line: sorted(rules) for line, rules in got.items()} == expected(text)


def test_finding_depends_on_no_other_line():
    """However far an alias is from its name, what is asked below changes nothing above."""
    aliases = "".join(f"a{number} = a{number - 1}\n" for number in range(2, 13))
    code = f"import tensorflow as tf\na1 = tf.gradients\n{aliases}"
    lines = [[found["line"] for found in find(code + tail)] for tail in ("", "a3(y, x)\n")]
    assert lines == [[2], [2, 14]]
    assert [found["line"] for found in find(code + "a3(y, x)\na12(y, x)\n")][:2] == [2, 14]


def test_words_mean_the_same_in_every_run():
    """A name in a line that is no Python is one name, wherever the memory is reused."""
    lines = [f"oops oops {head}.gradients(y, x)\n" for head in ("a", "b", "tf") * 100]
    cells = [{"cell_type": "code", "source": ["import tensorflow as tf\n", *lines]}]
    assert len(find(json.dumps({"cells": cells}), "a.ipynb")) == 100


def test_tape_of_somebody_else_is_not_certain():
    """A class of that name need not take what TensorFlow's takes."""
    text = "with GradientTape() as {0}:\n    pass\n{0}.gradient(ys=y, xs=x, name='n')\n"
    ours, theirs = "from tensorflow import GradientTape\n", "from mine import GradientTape\n"
    assert find(ours + text.format("t"))[0]["certainty"] == "certain"
    assert find(theirs + text.format("tape"))[0]["certainty"] == "likely"
    assert not find(theirs + text.format("t"))


def test_argument_that_is_none_is_not_silent():
    """Nothing was stopped, so nothing changes."""
    (found,) = find("import tensorflow as tf\ntf.gradients(y, [x], stop_gradients=None)\n")
    assert not found["silent"]


def test_class_may_come_from_a_call():
    """A base that is called, such as a mixin of an object, costs nothing else."""
    code = "import tensorflow as tf\nclass A: pass\nclass B(A()): pass\n"
    assert find(code + "B().minimize(tf.gradients(y, x))\n")[0]["line"] == 4


@pytest.mark.parametrize(
    ("code", "replacement"),
    [
        (
            "tf.gradients(loss, params, grad_ys=v)",
            "tape.gradient(loss, params, output_gradients=v)",
        ),
        ("tf.gradients(ys=[a, b],\n  xs=f(x),  # all\n)", "tape.gradient([a, b], f(x))"),
        ("K.gradients(m(x)[:, 0], x)", "tape.gradient(m(x)[:, 0], x)"),
        (
            "tf.train.AdamOptimizer().compute_gradients(loss, var_list=v)",
            "list(zip(tape.gradient(loss, v), v))",
        ),
        (
            "self.opt.minimize(lambda: f(x, 1), global_step=s, var_list=v)",
            "self.opt.apply_gradients(zip(tape.gradient(f(x, 1), v), v))",
        ),
        ("opt.compute_gradients(y, w)", "list(zip(tape.gradient(y, w), w))"),
        (
            "w = tf.Variable(1.0)\ntf.train.Optimizer().compute_gradients(y, w)",
            "list(zip(tape.gradient(y, [w]), [w]))",
        ),
        (
            "w = [tf.Variable(v) for v in start]\ntf.train.Optimizer().compute_gradients(y, w[:2])",
            "list(zip(tape.gradient(y, w[:2]), w[:2]))",
        ),
        ("tf.gradients(y, x, grad_ys=[[1.0, 2.0]])", ""),
        ("tf.gradients([y, z], x, grad_ys=[v, None])", ""),
        ("tf.gradients(y, x, name=next(names))", ""),
        ("tf.gradients(y, x, gate_gradients=(n := 5))", ""),
        ("tf.gradients(*both)", ""),
        (
            "for var in tf.trainable_variables():\n    opt.compute_gradients(loss, var)",
            "list(zip(tape.gradient(loss, [var]), [var]))",
        ),
        (
            "[opt.minimize(loss, var_list=v) for v in model.weights]",
            "opt.apply_gradients(zip(tape.gradient(loss, [v]), [v]))",
        ),
        ("for var in parts:\n    opt.compute_gradients(loss, var)", ""),
        (
            "a = [v for v in model.weights]\ndef f(v):\n    opt.compute_gradients(loss, v)",
            "list(zip(tape.gradient(loss, v), v))",
        ),
        (
            "for variables in groups:\n    opt.compute_gradients(loss, variables)",
            "list(zip(tape.gradient(loss, variables), variables))",
        ),
        ("opt.minimize(loss, var_list=tf.trainable_variables()[0])", ""),
        ("opt.minimize(loss, var_list=tf.get_collection('vars', 'net'))", ""),
        ("tf.gradients(y, tf.compat.v1.global_variables()[1:])", ""),
        ("tf.gradients(tf.contrib.layers.fully_connected(x, 2), x)", ""),
        (
            "opt.compute_gradients(loss, v, grad_loss=None)",
            "list(zip(tape.gradient(loss, v), v))",
        ),
        (
            "opt.minimize(loss, var_list=None, grad_loss=None, global_step=None)",
            "opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), "
            "model.trainable_variables))",
        ),
        ("tf.gradients(y, x, grad_ys=None, stop_gradients=None)", "tape.gradient(y, x)"),
        ("tf.gradients(y, x, stop_gradients=x)", ""),
        ("tf.gradients(tf.gradients(y, x)[0], x)", ""),
        ("tf.gradients(y\nif a else b, x)", "tape.gradient(y if a else b, x)"),
        ("tf.gradients(f('( a )  b'), x)", "tape.gradient(f('( a )  b'), x)"),
        (
            "def loss(): pass\ntf.keras.optimizers.SGD().minimize(loss, [v])",
            "optimizer.apply_gradients(zip(tape.gradient(loss(), [v]), [v]))",
        ),
        (
            "opt = tf.keras.optimizers.SGD()\nopt.minimize(loss, [v], tape=t)",
            "opt.apply_gradients(zip(t.gradient(loss, [v]), [v]))",
        ),
        ("tf.train.Optimizer().minimize(lambda y: y, var_list=v)", ""),
        ("tf.train.Optimizer().compute_gradients(y, v, other=1)", ""),
        ("tf.train.AdamOptimizer.apply_gradients(opt, pairs)", ""),
        ("opt = tf.keras.optimizers.SGD()\nopt.get_updates(params, [], loss)", ""),
        (
            "def f(**more):\n    return tf.train.Optimizer().compute_gradients(y, v, **more)",
            "",
        ),
        (
            "opts[0].\\\n    compute_gradients(y, v)",
            "list(zip(tape.gradient(y, v), v))",
        ),
        ("tf.gradients(f(lambda a, b: a), x)", "tape.gradient(f(lambda a, b: a), x)"),
        (
            "tf.train.Optimizer().apply_gradients((-g, v) for g, v in pairs if g in kept)",
            "optimizer.apply_gradients((-g, v) for g, v in pairs if g in kept)",
        ),
        (
            "o = tf.keras.optimizers.SGD()\no.minimize(loss, lambda: net.weights)",
            "o.apply_gradients(zip(tape.gradient(loss(), net.weights), net.weights))",
        ),
        (
            "def f(v=None):\n    tf.train.Optimizer().compute_gradients(y, v)",
            "list(zip(tape.gradient(y, v or model.trainable_variables), "
            "v or model.trainable_variables))",
        ),
        ("opt.minimize(y, var_list=tf.get_default_graph().get_collection('vars'))", ""),
        ("opt.minimize(y, var_list=graph.get_collection('vars'))", ""),
        ("tf.gradients(session.graph.get_tensor_by_name('loss:0'), x)", ""),
        ("tf.gradients(y, get_tensors_of(z))", "tape.gradient(y, get_tensors_of(z))"),
    ],
)
def test_replacement_holds_the_readers_expressions(code, replacement):
    """What to write is the reader's own code, where it can be given."""
    assert find("import tensorflow as tf\n" + code)[0]["replacement"] == replacement


def test_arguments_are_named_by_position_keyword_and_dict():
    """Each argument passed gets its verdict, from wherever it comes."""
    code = (
        "import tensorflow as tf\nmore = {'stop_gradients': b}\nmore['gate_gradients'] = True\n"
        "tf.gradients(y, x, v, 'name', True, **more)\n"
    )
    (found,) = find(code)
    verdicts = {one["name"]: one["verdict"] for one in found["arguments"]}
    assert verdicts == {
        "ys": "renamed",
        "xs": "renamed",
        "grad_ys": "renamed",
        "name": "gone",
        "colocate_gradients_with_ops": "lost",
        "stop_gradients": "recipe",
        "gate_gradients": "gone",
    }
    assert (found["verdict"], found["silent"], found["certainty"]) == ("renamed", True, "certain")


def sources():
    """Return texts to break: the miniatures, and examples of the site."""
    return [path.read_text("utf-8") for path in SHAPES] + [read(p).code for p in files()[::20]]


def broken(text, chance):
    """Return `text` cut, doubled or sprinkled with what breaks parsers."""
    for _ in range(chance.choice([1, 2, 8])):
        at = chance.randrange(len(text) + 1)
        end = at + chance.choice([1, 20, 200])
        junk = chance.choice(JUNK) * chance.choice([1, 1, 40])
        parts = [text[:at], text[:at] + text[end:], text[:at] + junk + text[at:]]
        text = chance.choice([*parts, text[:end] + text[at:]])
    return text


def test_survives_any_text():
    """Cut and broken files give findings or none, and never a traceback."""
    chance, texts = random.Random(14), sources()  # noqa: S311
    for _ in range(400):
        text = broken(chance.choice(texts), chance)
        start = time.process_time()
        assert all(found["line"] > 0 for found in find(text, "broken.py")), text
        assert time.process_time() - start < 2, text


@pytest.mark.parametrize("name", DEEP)
def test_survives_depth(name):
    """What is too deep for the parser costs a line, not the file."""
    text = f"import tensorflow as tf\nx = {DEEP[name]}\ny = tf.gradients(loss, x)\n"
    assert find(text, "deep.py")[-1]["line"] == 3
    for hint in (DEEP[name], json.dumps(DEEP[name])):
        text = f"import tensorflow as tf\nx: {hint} = 1\ny = tf.gradients(loss, x)\nx.minimize(y)\n"
        assert find(text, "deep.py")[-1]["line"] == 3


@pytest.mark.parametrize("line", ["    oops oops\n", "    return y\n"])
def test_time_grows_with_the_file(line):
    """Ten times the lines take about ten times the time, in broken files too."""
    one = "def f(x):\n    y = tf.gradients(x, x)\n" + line

    def cost(count):
        start = time.process_time()
        assert len(find("import tensorflow as tf\n" + one * count)) == count
        return time.process_time() - start

    # A busy machine makes one run slow, and not each of three.
    many, few = (min(cost(count) for _ in range(3)) for count in (3000, 300))
    assert many < 30 * max(few, 0.02)


def test_corpus_names_files_and_lines_alone():
    """What was read in public code is told by place; its text is not ours to keep."""
    corpus = json.loads((ROOT / "tests/finder/corpus.json").read_text("utf-8"))
    assert len(corpus) >= 60
    for one in corpus:
        assert set(one) == {"repository", "path", "commit", "held", "lines", "optional"}
        assert re.fullmatch("[0-9a-f]{40}", one["commit"]) and one["lines"] == sorted(one["lines"])
