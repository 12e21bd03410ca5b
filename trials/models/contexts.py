"""Tasks told by a code: two inner steps on the code alone, which scales and shifts a hidden layer.

The code starts at a learned place plus a row for the task's group; how fast each part moves is
learned; now and then the task's kind. Adam by stairs, or momentum; gradients clipped by value.
"""

import numpy as np
import tensorflow as tf

from trials import common, optimizers
from trials.models.porting import decayed, held, look, old_step, told, weigh

TASKS, SHOTS, CODE, SIZE, GROUPS = 8, 5, 4, 7, 4
SHAPES = {
    "code/start": (CODE,),
    "code/pace": (CODE,),
    "groups/table": (GROUPS, CODE),
    "first/weights": (2, SIZE),
    "first/biases": (SIZE,),
    "scale/weights": (CODE, SIZE),
    "scale/biases": (SIZE,),
    "shift/weights": (CODE, SIZE),
    "shift/biases": (SIZE,),
    "second/weights": (SIZE, SIZE),
    "second/biases": (SIZE,),
    "out/weights": (SIZE, 1),
    "out/biases": (1,),
    "kind/weights": (CODE, 3),
    "kind/biases": (3,),
}
KERNELS = ("scale/weights", "shift/weights", "second/weights")
BOUNDS = [1, 3]
KINDS = {
    "adam": {"beta_1": 0.7, "beta_2": 0.9, "epsilon": 1e-3},
    "sgd": {"momentum": 0.7, "lr": 0.05},
}
RATES = ["piecewise", BOUNDS, [0.03, 0.02, 0.01]]
CLIP, L2, KIND, INNER = ("value", 0.3), 0.02, 0.3, 2


def data(dtype="float32", half=None, kind="adam"):
    """Make weights and five batches: groups, shown and asked points, trust, kinds, a flag."""
    random = np.random.RandomState(179)
    batches = []
    for flag in (1, 0, 1, 0, 1):
        group = np.minimum(random.geometric(0.4, TASKS) - 1, GROUPS - 1).astype("int32")
        size = random.uniform(0.3, 1, (TASKS, 1)) * (1 + 0.3 * group[:, None])
        x = random.uniform(-2, 2, (2, TASKS, SHOTS, 2))
        y = size * np.sin(x[..., 0]) + 0.3 * x[..., 1]
        trust = random.choice([0.5, 1.0, 2.0], TASKS)
        kinds = random.randint(0, 3, TASKS).astype("int32")
        parts = [a.astype(dtype) for a in (x[0], y[0], x[1], y[1], trust)]
        batches.append((group, *parts, kinds, np.array(flag, dtype)))
    weights = common.draw(SHAPES, 180, dtype)
    weights["code/pace"] += 0.4
    weights["groups/table"] *= 2
    return {"weights": weights, "batches": batches, "half": half, "kind": kind}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data)
    (group, x, y, x2, y2, trust, kinds, flag), fed = common.feeds(v1, data)

    def judged(code, x, y):
        h = v1.nn.xw_plus_b(v1.reshape(x, [-1, 2]), w["first/weights"], w["first/biases"])
        scale = 1 + v1.nn.xw_plus_b(code, w["scale/weights"], w["scale/biases"])
        shift = v1.nn.xw_plus_b(code, w["shift/weights"], w["shift/biases"])
        h = v1.tanh(v1.reshape(h, [TASKS, SHOTS, SIZE])) * scale[:, None] + shift[:, None]
        h = v1.reshape(h, [-1, SIZE])
        h = v1.nn.elu(v1.nn.xw_plus_b(h, w["second/weights"], w["second/biases"]))
        guess = v1.nn.xw_plus_b(h, w["out/weights"], w["out/biases"])
        return v1.reduce_mean(v1.square(v1.reshape(guess, [TASKS, SHOTS]) - y), 1)

    code = w["code/start"] + v1.nn.embedding_lookup(w["groups/table"], group)
    for _ in range(INNER):
        code -= w["code/pace"] * v1.gradients(judged(code, x, y), [code])[0]
    loss = v1.reduce_mean(trust * judged(code, x2, y2))
    loss += L2 * v1.add_n([v1.nn.l2_loss(w[k]) for k in KERNELS])
    logits = v1.nn.xw_plus_b(code, w["kind/weights"], w["kind/biases"])
    losses = v1.nn.sparse_softmax_cross_entropy_with_logits(labels=kinds, logits=logits)
    loss += KIND * flag * v1.reduce_mean(losses)
    kind = data["kind"]
    pairs, train_op = old_step(v1, loss, kind, {"lr": RATES, **KINDS[kind]}, CLIP)
    return {"loss": loss, "inputs": fed, "train_op": train_op, "gradients": pairs}


def judged(w, code, x, y, s):
    """Return the error of each task, told its code."""
    scale = common.point(1 + common.affine(w, "scale", code, s), s, "scale")
    shift = common.point(common.affine(w, "shift", code, s), s, "shift")
    if s.get("rewrite"):
        h = tf.einsum("tsi,ij->tsj", x, tf.convert_to_tensor(w["first/weights"]))
        h = tf.tanh(h + w["first/biases"]) * scale[:, None] + shift[:, None]
        h = tf.einsum("tsi,ij->tsj", h, tf.convert_to_tensor(w["second/weights"]))
        h = tf.nn.elu(h + w["second/biases"])
        guess = tf.einsum("tsi,i->ts", h, tf.convert_to_tensor(w["out/weights"])[:, 0])
        guess += w["out/biases"]
    else:
        h = tf.tanh(common.affine(w, "first", tf.reshape(x, [-1, 2]), s))
        h = tf.reshape(common.point(h, s, "first"), [-1, SHOTS, SIZE])
        h = tf.reshape(h * scale[:, None] + shift[:, None], [-1, SIZE])
        h = common.point(tf.nn.elu(common.affine(w, "second", h, s)), s, "second")
        guess = tf.reshape(common.affine(w, "out", h, s), [-1, SHOTS])
    return tf.reduce_mean(common.square(guess - y, s), 1)


def found(w, group, x, y, s):
    """Return the codes after the inner steps."""
    row = common.point(look(w, "groups/table", group, s), s, "groups")
    code = w["code/start"] + row
    for i in range(INNER):
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(code)
            wrong = judged(w, code, x, y, s)
        slope = tape.gradient(wrong, code)
        if s.get("slope_at", i) == i:
            slope = held(slope, s)
        pace = common.point(tf.convert_to_tensor(w["code/pace"]), s, "pace")
        code = code - s.get("inner_sign", 1.0) * pace * slope
        code = tf.stop_gradient(code) if s.get("cut") == i else code
    return common.point(code, s, "code")


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    s.setdefault("dense", True)
    w, kind = common.variables(data, s), data["kind"]
    settings = {"lr": RATES, **KINDS[kind]}
    optimizer = optimizers.of_port(kind, common.trained(w, s), settings, s)

    def loss_of(w, batch, s):
        group, x, y, x2, y2, trust, kinds, flag = batch
        code = found(w, group, x, y, s)
        decay = s.get("l2", L2) * decayed(w, KERNELS, s)
        asked = weigh(judged(w, code, x2, y2, s), trust, s)
        loss = asked + decay

        def head(w):
            logits = common.affine(w, "kind", common.point(code, s, "to kind"), s)
            return KIND * tf.reduce_mean(common.cross_entropy(logits, kinds, s))

        parts = {"decay": decay}
        return told(loss, w, "kind", flag, head, s, parts, s.get("kind_sign", 1.0))

    return common.port(loss_of, w, optimizer, s, CLIP)
