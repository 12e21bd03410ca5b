"""Each replacement that the finder can give is executed, where the old call cannot be any more."""

import re

import numpy as np
import pytest
import tensorflow as tf

from finder.find import find
from finder.rules import RULE

OPTIONAL = re.compile(r"\[\[.*?\{(\w+)\}.*?\]\]")
FROM = "from tensorflow.python.ops.parallel_for.gradients import"
V1 = "opt = tf.compat.v1.train.GradientDescentOptimizer(0.1)"
KERAS = "opt = tf.keras.optimizers.SGD(0.1)"
SCALED = "opt = tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.SGD(0.1))"
ZERO = "unconnected_gradients=tf.UnconnectedGradients.ZERO"
# Of y = x * x at [1, 2]: the gradient, and with the weights v = [3, 5].
PLAIN, WEIGHTED = [2, 4], [6, 20]
# Before and after a step of 0.1 along either.
STEP, WEIGHTED_STEP = [0.8, 1.6], [0.4, 0.0]
CASES = [
    ("", "tf.gradients(y, x)", PLAIN),
    ("", "tf.gradients(y, x, grad_ys=v)", WEIGHTED),
    ("", f"tf.gradients(y, unused, {ZERO})", [0, 0]),
    (V1, "opt.compute_gradients(y)", [(PLAIN, [1, 2])]),
    (V1, "opt.compute_gradients(y, [x])", [(PLAIN, [1, 2])]),
    (V1, "opt.compute_gradients(y, [x], grad_loss=v)", [(WEIGHTED, [1, 2])]),
    (V1, "opt.minimize(y, global_step=step)", STEP),
    (V1, "opt.minimize(y, var_list=[x])", STEP),
    (V1, "opt.minimize(y, var_list=[x], grad_loss=v)", WEIGHTED_STEP),
    (V1, "opt.apply_gradients(pairs, global_step=step, name='train')", STEP),
    (V1, "opt.apply_gradients((g, v) for g, v in pairs)", STEP),
    (KERAS, "opt.minimize(loss, [x])", STEP),
    (KERAS, "opt.minimize(loss, [x], grad_loss=v)", WEIGHTED_STEP),
    (KERAS, "opt.minimize(loss, lambda: [x])", STEP),
    (f"{KERAS}\ndef listed(): return [x]", "opt.minimize(loss, listed)", STEP),
    (KERAS, "opt.compute_gradients(loss, [x])", [(PLAIN, [1, 2])]),
    (KERAS, "opt.compute_gradients(loss, [x], grad_loss=v)", [(WEIGHTED, [1, 2])]),
    (KERAS, "opt.apply_gradients(pairs, name='train')", STEP),
    (KERAS, "opt.get_gradients(y, [x])", [PLAIN]),
    (KERAS, "opt.get_updates(y, [x])", STEP),
    (SCALED, "opt.get_scaled_loss(y)", [2.0**15, 4 * 2.0**15]),
    (SCALED, "opt.get_unscaled_gradients(pairs)", [(PLAIN, [1, 2])]),
    ("", "K.gradients(y, x)", PLAIN),
    (f"{FROM} jacobian", "jacobian(y, x)", [[2, 0], [0, 4]]),
    (f"{FROM} jacobian", "jacobian(y, x, use_pfor=False)", [[2, 0], [0, 4]]),
    (f"{FROM} jacobian", "jacobian(y, x, parallel_iterations=8)", [[2, 0], [0, 4]]),
    (f"{FROM} batch_jacobian", "batch_jacobian(rows * rows, rows)", [[[2, 0], [0, 4]]]),
    (
        f"{FROM} batch_jacobian",
        "batch_jacobian(rows * rows, rows, use_pfor=False)",
        [[[2, 0], [0, 4]]],
    ),
    (
        f"{FROM} batch_jacobian",
        "batch_jacobian(rows * rows, rows, parallel_iterations=8)",
        [[[2, 0], [0, 4]]],
    ),
]


def found_in(made, call):
    """Return what the finder says of a call, of an optimizer that is made so."""
    return find(f"import tensorflow as tf\n{made}\n{call}\n")[0]


def numbers(value):
    """Return the numbers of tensors, variables and lists of them."""
    if isinstance(value, (list, tuple)):
        return [numbers(one) for one in value]
    return np.asarray(tf.convert_to_tensor(value)).tolist()


@pytest.mark.parametrize(("made", "call", "expected"), CASES, ids=[call for _, call, _ in CASES])
def test_replacement_computes_what_the_call_did(made, call, expected):
    """It is written into the tape's block; a step is seen by where it leaves the variable."""
    x, unused = tf.Variable([1.0, 2.0]), tf.Variable([1.0, 2.0])
    rows = tf.Variable([[1.0, 2.0]])
    names = {"tf": tf, "x": x, "rows": rows, "unused": unused, "v": tf.constant([3.0, 5.0])}
    names["model"] = type("Model", (), {"trainable_variables": [x]})
    names["loss"] = lambda: x * x
    exec(made, names)  # noqa: S102
    if made == SCALED:
        names["opt"].build([x])
    with tf.GradientTape(persistent=True) as tape:
        names.update(tape=tape, y=x * x, pairs=[(tf.constant([2.0, 4.0]), x)])
        text = found_in(made, call)["replacement"]
        result = eval(text, names)  # noqa: S307
    moves = ".apply_gradients(" in text
    assert np.allclose(numbers(x if moves else result), expected)


def test_every_replacement_has_a_case():
    """Each rule's code is executed plain, and with each part that may be left out."""
    tried = set()
    for made, call, _ in CASES:
        found = found_in(made, call)
        parts = OPTIONAL.findall(RULE[found["rule"]].code)
        given = {one["name"] for one in found["arguments"]}
        tried |= {(found["rule"], part) for part in ["", *parts] if part in given or not part}
    there_are = {
        (name, part)
        for name, rule in RULE.items()
        if rule.code
        for part in ["", *OPTIONAL.findall(rule.code)]
    }
    assert there_are <= tried
