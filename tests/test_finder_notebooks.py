"""Notebooks: their cells, the commands of IPython in them, and what stands behind a magic."""

import json
import time

import pytest

from finder.find import find


def test_notebook_names_cell_and_line():
    """A notebook's findings stand at their lines of the file, and of the cell."""
    cells = [
        {"cell_type": "markdown", "source": ["tf.gradients(y, x)"]},
        {"cell_type": "code", "source": ["%matplotlib inline\n", "import tensorflow as tf"]},
        {"cell_type": "code", "source": ["!ls\n", "print 'é'\n", "g = tf.gradients(y, x)"]},
        {"cell_type": "code", "source": ["%%bash\n", "tf.gradients(y, x)"]},
        {"cell_type": "code", "source": None},
    ]
    text = json.dumps({"cells": cells}, indent=1)
    (found,) = find(text, "a.ipynb")
    assert (found["cell"], found["cell_line"], found["column"]) == (3, 3, 5)
    assert "tf.gradients" in text.split("\n")[found["line"] - 1]


def test_line_that_continues_another_is_no_command():
    """Inside brackets, a percent sign is an operator; outside, a command opens no bracket."""
    held = ["files, a.b = !ls\n", "t = %timeit -o f(x)\n", "!curl a \\\n", "  | sort (\n"]
    call = ["g = tf.gradients(y, x, name='%s'\n", "  % 'g')\n"]
    source = ["import tensorflow as tf\n", "!echo (\n", "% ls\n", *held, *call]
    cells = [{"cell_type": "code", "source": source}]
    (found,) = find(json.dumps({"cells": cells}), "a.ipynb")
    assert (found["cell_line"], found["how"]) == (8, "parsed")
    assert found["call"] == "tf.gradients(y, x, name='%s' % 'g')"
    (found,) = find("".join(source), "a.py")
    assert (found["line"], found["how"]) == (8, "mended")


@pytest.mark.parametrize(
    ("cell", "places"),
    [
        ("%time g = tf.gradients(y, x)", [(1, 11)]),
        ("if a:\n    %timeit -n 10 -r3 tf.gradients(y, x)", [(2, 23)]),
        ("r = %timeit -o tf.gradients(y, x)", [(1, 16)]),
        ("%prun -l 3 tf.gradients(y, x)", [(1, 12)]),
        ("x = tf.constant(1.0)\ny = x * x\n%time g = tf.gradients(y, x)[0]", [(3, 11)]),
        ("x = tf.constant(1.0)\ny = x * x\ng = %time tf.gradients(y, x)[0]", [(3, 11)]),
        ("%time with a as b: tf.gradients(y, x)", []),
        ("%time !tf.gradients(y, x)", []),
        ("%time\n%cd a\n%matplotlib inline\ntf.gradients(y, x)", [(4, 1)]),
        ("%cd tf.gradients(y, x)", []),
        ("\n\n%%bash\ntf.gradients(y, x)", []),
        ("%%R\ntf.gradients(y, x)", []),
        ("%%wandb\ntf.gradients(y, x)", [(2, 1)]),
        ("%%memit -r 2\n\ntf.gradients(y, x)", [(3, 1)]),
        ("%%time\n!ls\ntf.gradients(y, x)", [(3, 1)]),
        ("%%mine\nfor i in 1 2; do tf.gradients(y, x); done", []),
        ("# a\n%%time\ntf.gradients(y, x)", [(3, 1)]),
    ],
)
def test_code_behind_a_magic_is_read(cell, places):
    """What times Python, or wraps a cell of it, runs it; what is another language is left out."""
    cells = [{"cell_type": "code", "source": text} for text in ("import tensorflow as tf", cell)]
    found = find(json.dumps({"cells": cells}), "a.ipynb")
    assert [(one["cell_line"], one["column"]) for one in found] == places
    assert all(one["how"] == "parsed" and not one["hunk"] for one in found)


@pytest.mark.parametrize(
    ("line", "how"),
    [
        ("return 'lr=%s' % tf.gradients(y, x)", "parsed"),
        ("assert x, 'a=%s' % tf.gradients(y, x)", "parsed"),
        ("d['a=%d' % i] = tf.gradients(y, x)", "parsed"),
        ("label = 'a=%s' % f(\n        y,\n    ); tf.gradients(y, x)", "parsed"),
        ("print 'a=%s' % tf.gradients(y, x)", "mended"),
        ("d['k'], e[0] = !ls\n    tf.gradients(y, x)", "parsed"),
        ("t = %pwd\n    tf.gradients(y, x)", "parsed"),
    ],
)
def test_equals_sign_in_a_string_is_no_command(line, how):
    """A text with "a=%s" is formatted; what is assigned from a command stands bare."""
    code = f"import tensorflow as tf\ndef f(x, y):\n    {line}\n"
    cells = [{"cell_type": "code", "source": code}]
    (found,) = find(json.dumps({"cells": cells}), "a.ipynb")
    assert (found["rule"], found["how"]) == ("tf.gradients", how)
    (found,) = find(code + "print 'old'\n", "a.py")
    assert (found["rule"], found["how"]) == ("tf.gradients", "mended")


def test_time_of_a_notebook_grows_with_its_cells():
    """Pictures between the cells are not counted over again for each line."""

    def cost(count):
        shown = [{"data": {"image/png": ["A" * 76] * 300}}]
        cell = {"cell_type": "code", "source": ["import tensorflow as tf\n"] * 20}
        cells = [{**cell, "outputs": shown}] * count
        text = json.dumps({"cells": [*cells, {**cell, "source": "tf.gradients(y, x)"}]}, indent=0)
        start = time.process_time()
        assert len(find(text, "a.ipynb")) == 1
        return time.process_time() - start

    many, few = (min(cost(count) for _ in range(3)) for count in (200, 20))
    assert many < 30 * max(few, 0.02)
