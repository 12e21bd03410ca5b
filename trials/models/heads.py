"""Two heads of which a flag takes one, a shared layer split in parts that are not all used.

A head that is not taken has gradients of zero in the old program: Adam goes on with its
averages. A weight that nothing uses has none.
"""

import numpy as np
import tensorflow as tf

from trials import common, optimizers

SHAPES = {
    "shared/weights": (6, 15),
    "shared/biases": (15,),
    "head_a/weights": (5, 2),
    "head_a/biases": (2,),
    "head_b/weights": (5, 2),
    "head_b/biases": (2,),
    "unused/weights": (5, 2),
}
ADAM = {"lr": 0.002, "beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-8}
DECAY = 0.02


def data(dtype="float32", half=None):
    """Make weights and five batches, of one task or the other."""
    random = np.random.RandomState(13)
    batches = []
    for flag in (1, 0, 0, 1, 0):
        x, y = random.randn(24, 6).astype(dtype), random.randn(24, 2).astype(dtype)
        batches.append((x, y, np.array(flag, "int32")))
    return {"weights": common.draw(SHAPES, 14, dtype), "batches": batches, "half": half}


def old(v1, data):
    """Build the old program: Adam, and a decay of what has gradients."""
    w = common.declare(v1, data)
    (x, y, flag), fed = common.feeds(v1, data)
    both = v1.nn.softplus(v1.matmul(x, w["shared/weights"]) + w["shared/biases"])
    mean, gate, _ = v1.split(both, 3, 1)
    z = mean * v1.sigmoid(gate)
    out = v1.cond(
        v1.equal(flag, 1),
        lambda: v1.matmul(z, w["head_a/weights"]) + w["head_a/biases"],
        lambda: v1.matmul(z, w["head_b/weights"]) + w["head_b/biases"],
    )
    loss = v1.reduce_mean(v1.square(out - y))
    optimizer = v1.train.AdamOptimizer(0.002)
    pairs = optimizer.compute_gradients(loss, [w[k] for k in data["weights"]])
    gradients = [g for g, _ in pairs if g is not None]
    with v1.control_dependencies(gradients):
        decays = [
            v1.assign_sub(v, 0.002 * DECAY * v)
            for g, v in pairs
            if g is not None and v.op.name.endswith("weights")
        ]
    with v1.control_dependencies(gradients + decays):
        train_op = optimizer.apply_gradients(
            [(v1.identity(g), v) for g, v in pairs if g is not None]
        )
    return {"loss": loss, "inputs": fed, "train_op": train_op, "gradients": pairs}


class Decayed:
    """An optimizer with a decoupled decay before it."""

    def __init__(self, optimizer, names, decay, skip):
        """Take the optimizer, the names of the weights by id and the decay."""
        self.optimizer, self.names, self.decay, self.skip = optimizer, names, decay, skip

    def apply_gradients(self, pairs):
        """Decay what has a gradient, then step."""
        pairs = [(g, v) for g, v in pairs if g is not None]
        for _, v in pairs:
            if self.names[id(v)].endswith(self.skip):
                v.assign_sub(tf.cast(0.002 * self.decay, v.dtype) * tf.convert_to_tensor(v))
        self.optimizer.apply_gradients(pairs)


def take(w, z, flag, s):
    """Compute the head's output, and zeros for the other one's weights if that is asked."""
    if s.get("head") == "both" or s.get("wrap") or s.get("rewrite"):
        a = common.matmul(z, w["head_a/weights"], s) + w["head_a/biases"]
        b = common.matmul(z, w["head_b/weights"], s) + w["head_b/biases"]
        return tf.where(flag == 1, a, b)
    name = "head_a" if int(flag) == 1 else "head_b"
    if s.get("head") == "biases":  # only the biases are taken one by one
        a, b = common.matmul(z, w["head_a/weights"], s), common.matmul(z, w["head_b/weights"], s)
        return tf.where(flag == 1, a, b) + w[name + "/biases"]
    if s.get("head") == "weights":
        biases = tf.where(flag == 1, w["head_a/biases"], w["head_b/biases"])
        return common.matmul(z, w[name + "/weights"], s) + biases
    if s.get("head") == "wrong":
        name = "head_b"
    return common.matmul(z, w[name + "/weights"], s) + w[name + "/biases"]


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    s.setdefault("head", "both")
    w = common.variables(data, s)
    settings = {**ADAM, **s.get("opt", {})}
    inner = optimizers.make("adam", w, settings, s.get("library", "keras"))
    if hasattr(inner, "build") and s.get("library", "keras") in ("keras", "keras2"):
        inner.build(list(w.values()))
    decay, skip = s.get("decay", DECAY), ("weights", "biases") if s.get("all") else "weights"
    optimizer = Decayed(inner, {id(v): k for k, v in w.items()}, decay, skip)

    def loss_of(w, batch, s):
        x, y, flag = batch
        both = common.matmul(x, w["shared/weights"], s) + w["shared/biases"]
        both = tf.nn.softplus(both)
        if s.get("parts") == "exchanged":
            gate, mean, _ = tf.split(both, 3, 1)
        elif s.get("rewrite"):
            mean, gate = both[:, :5], both[:, 5:10]
        else:
            mean, gate, _ = tf.split(both, 3, 1)
        gate = common.point(gate, s, "gate")
        z = common.point(mean * tf.sigmoid(gate), s, "shared")
        if s.get("dropout"):
            z = tf.nn.dropout(z, s["dropout"], seed=3)
        errors = common.square(take(w, z, flag, s) - y, s)
        errors = tf.reduce_sum(errors, 1) if s.get("elements") else tf.reduce_mean(errors, 1)
        if s.get("unused"):
            errors += 0.0 * tf.reduce_sum(w["unused/weights"])
        return common.mean(errors, s)

    out = common.port(loss_of, w, optimizer, s)
    out["optimizer"] = inner if s.get("library", "keras") != "hand" else None
    if type(inner).__name__ == "Hand":
        out["optimizer"] = None
    return out
