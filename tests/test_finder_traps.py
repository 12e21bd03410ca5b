"""Traps of tapes: what is watched too late, and what only looks so."""

import time

import pytest

from finder.find import find


def test_what_another_tape_watches_is_not_yet_used():
    """With two tapes, each of them watches the source first; a second time costs nothing."""
    code = (
        "import tensorflow as tf\nwith tf.GradientTape() as one, tf.GradientTape() as two:\n"
        "    {}one.watch(x)\n    two.watch(x)\n    y = x * x\n    one.watch(x)\n"
        "one.gradient(y + z, x), two.gradient(y, x)\n"
    )
    assert not find(code.format(""))
    (found,) = find(code.format("z = x * x\n    "))
    assert (found["line"], found["rule"]) == (4, "watch after use")


@pytest.mark.parametrize(
    "before",
    [
        "assert x is not None",
        "print(x.shape, len(x), id(x), str(x))",
        "if x.dtype == tf.float16:\n        pass",
        "n = len(x) + x.shape[0] + tf.shape(x)[0] + x.get_shape()[0]",
        "x = tf.cast(x, tf.float32)",
        "x = x / 255.0",
        "x -= 1.0",
        "tf.debugging.assert_rank(x, 1)\n    tf.debugging.check_numerics(x, 'x')",
        "n = tf.rank(x) + tf.zeros_like(x) + tf.stop_gradient(x * x)",
        "n = tf.convert_to_tensor(x)",
        "n = x.numpy().mean()",
        "n = tf.where(tf.not_equal(x, 0.0), 1.0, 2.0)",
        "n = tf.one_hot(tf.argmax(x), 2)",
        "tf.summary.histogram('x', x)\n    x.set_shape([2])",
        "n = x",
        "n, m = x, 1",
        "n = 2.0 if x > 0 else 1.0",
        "unused = x * x\n    n = 1.0",
        "n = x * x\n    n = 1.0",
        "def n(): return x * x",
        "n = lambda: x * x",
        "t.watch(x)\n    n = x * x",
        "x = tf.Variable(1.0)\n    n = x * x",
        "n = x * x\n    x = tf.identity(n)",
    ],
)
def test_watch_after_no_use_is_none(before):
    """Who looks at a tensor, or makes it anew, before it is watched loses nothing."""
    text = (
        f"import tensorflow as tf\nwith tf.GradientTape() as t:\n    {before}\n    t.watch(x)\n"
        "    y = tf.reduce_sum(x * x * n)\ng = t.gradient(y, x)\n"
    )
    assert not [one for one in find(text) if one["rule"] == "watch after use"]


@pytest.mark.parametrize(
    ("before", "after", "certainty"),
    [
        ("y = x * x", "g = t.gradient(y, x)", "certain"),
        ("h = tf.square(x)[0]", "    y = h + 1.0\ng = t.gradient(y, [x])", "certain"),
        (
            "h = x * x\n    h += x",
            "    y = h + 1.0\ng = t.gradient(target=y, sources=x)",
            "certain",
        ),
        ("if n:\n        y = x * x", "g = t.gradient(y, x)", "certain"),
        ("h = [x * x for _ in range(2)]", "g = t.gradient(sum(h), x)", "likely"),
        ("h = []\n    h.append(x * x)", "    y = tf.add_n(h)\ng = t.gradient(y, x)", "certain"),
        ("y = f(x)", "g = t.gradient(y, x)", "likely"),
        ("y = tf.cast(x, tf.float64)", "g = t.gradient(y, x)", "likely"),
        ("y = x * x", "    z = x + y", "likely"),
        ("for _ in n:\n      y = x * x", "g = t.gradient(y, x)", "certain"),
        ("y = x * x", "", ""),
        ("y = x * x", "    z = x + x\ng = t.gradient(z, x)", ""),
        ("y = x * x", "    y = x + x\ng = t.gradient(y, x)", ""),
        ("y = x * x", "    z = y * w\ng = t.gradient(z, w)", ""),
        (
            "y = x * x",
            "    y = x\nwith tf.GradientTape() as t:\n    y = v * v\ng = t.gradient(y, x)",
            "",
        ),
    ],
)
def test_watch_after_use_is_told_by_what_is_asked(before, after, certainty):
    """What was computed before must lead to the target of a gradient by the source."""
    text = f"import tensorflow as tf\nwith tf.GradientTape() as t:\n    {before}\n    t.watch(x)\n"
    found = [one for one in find(text + after) if one["rule"] == "watch after use"]
    assert [one["certainty"] for one in found] == [certainty] * bool(certainty)


def test_watch_in_a_loop_may_come_in_time():
    """The next round computes it again, from what is watched by then."""
    text = "import tensorflow as tf\nwith tf.GradientTape() as t:\n    for _ in n:\n"
    text += "        y = x * x\n        t.watch(x)\n        z = x * y\ng = t.gradient(z, x)\n"
    assert [one["certainty"] for one in find(text)] == ["likely"]


def test_time_of_a_block_grows_with_it():
    """A long chain under a tape costs no square of its length."""
    chain = "".join(f"    y{n + 1} = y{n} * y{n // 2}\n" for n in range(3000))
    text = f"import tensorflow as tf\nwith tf.GradientTape() as t:\n    y0 = x * x\n{chain}"
    start = time.process_time()
    (found,) = find(f"{text}    t.watch(x)\n    z = y3000\ng = t.gradient(z, x)\n")
    assert found["line"] == 3004 and time.process_time() - start < 2
