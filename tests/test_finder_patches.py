"""A patch of the finder holds without looking: the program prints what it printed."""

import json
import re
from pathlib import Path

import pytest

from checks import relative
from checks.compare import same
from checks.other_tensorflow import here
from checks.snippets import files, read
from finder.compat import compat_edits
from finder.files import fixed_text
from finder.find import find


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
    """A hunk is given where it can be, so the test above has something to run."""
    assert len(PATCHED) > 30


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


def made_old(code):
    """Return a program of the compat module as it was for TensorFlow 1."""
    code = re.sub(r"^\n?tf\.disable_v2_behavior\(\).*\n", "", code, flags=re.M)
    return code.replace("import tensorflow.compat.v1 as tf", "import tensorflow as tf")


def compat_or_none(code):
    """Return `code` for the compat module, or None where that is unsure or nothing is to do."""
    try:
        edits = compat_edits(code)
    except ValueError:
        return None
    return fixed_text(code, edits) if edits else None


OLD = [
    (path, made)
    for path in files()
    # Where eager code or control flow of TensorFlow 2 raises, the two lines make it work.
    if ".tf1" not in path.name
    if path.parent.parent.name != "errors" and not path.name.startswith("raises_")
    if "import tensorflow.compat.v1 as tf\n" in (code := read(path).code)
    if (made := compat_or_none(made_old(code)))
]


@pytest.mark.parametrize(
    ("path", "made"), OLD, ids=lambda one: relative(one) if isinstance(one, Path) else ""
)
def test_program_of_graphs_runs_on_with_two_lines(path, made):
    """With --compat, a program of TensorFlow 1 prints on TensorFlow 2 what it printed."""
    assert "import tensorflow.compat.v1 as tf\n\ntf.disable_v2_behavior()\n" in made
    outputs, error = here()(made, path.name)
    assert not error
    assert same(read(path).output, outputs)


def test_many_programs_run_on():
    """The test above has something to run."""
    assert len(OLD) > 100


COMPAT = "import tensorflow as tf\ns = tf.Session()\n"


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("import tensorflow as tf\nprint(tf.abs(1))\n", None),
        (COMPAT + "tf.contrib.layers.l2_regularizer(1.0)\n", "it uses tf.contrib"),
        (COMPAT + "with tf.GradientTape() as tape: pass\n", "it uses tf.GradientTape"),
        (COMPAT + "tf.pywrap_tensorflow.NewCheckpointReader(f)\n", "it uses tf.pywrap_tensorflow"),
        (COMPAT + "tf.python.client.timeline\n", "it uses tf.python"),
        ("import tf_slim\n" + COMPAT, "it uses tf_slim"),
        (COMPAT + "from tensorflow.python.ops import math_ops\n", "imported otherwise"),
        ("import numpy, tensorflow as tf\ntf.Session()\n", "imported otherwise"),
        ("try:\n    import tensorflow as tf\nfinally: pass\ntf.Session()\n", "imported otherwise"),
        (COMPAT + "print 1\n", "not Python 3"),
        (COMPAT.replace("tf\n", "tf; import os\n"), "imported otherwise"),
    ],
)
def test_program_that_would_not_run_on_is_left(code, says):
    """Where more than two lines is needed, --compat says why, and changes nothing."""
    if says is None:
        assert compat_edits(code) == []
        return
    with pytest.raises(ValueError, match=says):
        compat_edits(code)
