"""A dueling double DQN: weights of a replay, a target net that follows, Adam, each clipped."""

import numpy as np
import tensorflow as tf

from trials import common, optimizers

N, CELLS, ACTIONS = 20, 12, 3
SHAPES = {
    "cells/table": (CELLS, 6),
    "online/fc/weights": (9, 10),
    "online/fc/biases": (10,),
    "online/value/weights": (10, 1),
    "online/value/biases": (1,),
    "online/advantage/weights": (10, ACTIONS),
    "online/advantage/biases": (ACTIONS,),
}
FROZEN = tuple(k.replace("online", "target") for k in SHAPES if k.startswith("online"))
ADAM = {"lr": 0.005, "beta_1": 0.9, "beta_2": 0.995, "epsilon": 1.5e-4}
GAMMA, TAU, LIMIT = 0.9, 0.1, 0.25


def data(dtype="float32", half=None):
    """Make weights and five batches of a replay; cells come again within a batch."""
    random = np.random.RandomState(67)
    batches = []
    for _ in range(5):
        cells = np.minimum(random.geometric(0.25, (2, N, 3)), CELLS - 1).astype("int32")
        x = random.randn(2, N, 3).astype(dtype)
        actions = random.randint(0, ACTIONS, N).astype("int32")
        rewards = (1.2 * random.randn(N) + 0.3).astype(dtype)
        going = random.choice([0.0, 1.0], N, p=[0.2, 0.8]).astype(dtype)
        weights = random.choice([0.2, 0.5, 0.8, 1.0], N).astype(dtype)
        rows = cells[0], x[0], actions, rewards, cells[1], x[1], going, weights
        batches.append(rows)
    shapes = {**SHAPES, **{k: SHAPES[k.replace("target", "online")] for k in FROZEN}}
    return {"weights": common.draw(shapes, 68, dtype), "batches": batches, "half": half}


def old(v1, data):
    """Build the old program; both nets share the table, so the target stops its gradient."""
    w = common.declare(v1, data, FROZEN)
    (cells, x, actions, rewards, cells2, x2, going, weights), fed = common.feeds(v1, data)

    def q(cells, x, net):
        def dense(x, name):
            name = net + "/" + name
            return v1.nn.xw_plus_b(x, w[name + "/weights"], w[name + "/biases"])

        e = v1.reduce_sum(v1.nn.embedding_lookup(w["cells/table"], cells), 1)
        h = v1.nn.elu(dense(v1.concat([e, x], 1), "fc"))
        a = dense(h, "advantage")
        return dense(h, "value") + a - v1.reduce_mean(a, 1, keepdims=True)

    chosen = v1.one_hot(actions, ACTIONS, dtype=x.dtype)
    value = v1.reduce_sum(q(cells, x, "online") * chosen, 1)
    best = v1.one_hot(v1.argmax(q(cells2, x2, "online"), 1), ACTIONS, dtype=x.dtype)
    after = v1.reduce_sum(q(cells2, x2, "target") * best, 1)
    error = v1.stop_gradient(rewards + GAMMA * going * after) - value
    size = v1.abs(error)
    huber = v1.where(size < 1.0, 0.5 * v1.square(error), size - 0.5)
    loss = v1.reduce_mean(weights * huber)
    optimizer = v1.train.AdamOptimizer(0.005, 0.9, 0.995, 1.5e-4)
    found = optimizer.compute_gradients(loss)
    pairs = [(v1.clip_by_norm(v1.convert_to_tensor(g), LIMIT), v) for g, v in found]
    with v1.control_dependencies([optimizer.apply_gradients(pairs)]):
        follow = []
        for name in FROZEN:
            step = w[name.replace("target", "online")].read_value() - w[name]
            follow.append(v1.assign_add(w[name], TAU * step))
    return {"loss": loss, "inputs": fed, "train_op": v1.group(*follow), "gradients": pairs}


class Followed:
    """An optimizer after which the target net follows."""

    def __init__(self, inner, w, s):
        """Take the optimizer, the weights and the switches."""
        self.inner, self.w, self.s = inner, w, s

    def apply_gradients(self, pairs):
        """Step, then move the target net."""
        tau = self.s.get("tau", TAU)
        before = {k: tf.identity(v) for k, v in self.w.items()}
        self.inner.apply_gradients(pairs)
        for name in FROZEN:
            online = name.replace("target", "online")
            value = before[online] if self.s.get("follows") == "before" else self.w[online]
            self.w[name].assign_add(tf.cast(tau, before[name].dtype) * (value - before[name]))


def q_of(w, cells, x, net, s):
    """Return the values of the actions."""

    def dense(x, name):
        kernel = w[f"{net}/{name}/weights"]
        return common.matmul(x, kernel, s) + w[f"{net}/{name}/biases"]

    e = tf.gather(w["cells/table"], cells)
    e = tf.reduce_mean(e, 1) if s.get("pool") == "mean" else tf.reduce_sum(e, 1)
    e = common.point(e, s, "cells") if net == "online" else e
    h = tf.nn.elu(dense(tf.concat([e, x], 1), "fc"))
    h = common.point(h, s, "hidden") if net == "online" else h
    a = dense(h, "advantage")
    middle = tf.reduce_mean(a, 1, keepdims=True)
    middle = tf.reduce_max(a, 1, keepdims=True) if s.get("dueling") == "max" else middle
    middle = tf.stop_gradient(middle) if s.get("dueling") == "stopped" else middle
    return dense(h, "value") + (a if s.get("dueling") == "plain" else a - middle)


def huber_of(error, s):
    """Return Huber's loss."""
    delta = s.get("delta", 1.0)
    size = tf.abs(error)
    if s.get("loss") == "squares":
        return 0.5 * error * error
    if s.get("rewrite"):
        small = tf.minimum(size, 1.0)
        return 0.5 * small * small + (size - small)
    half = s.get("half_of", 0.5)
    return tf.where(size < delta, half * tf.square(error), delta * (size - 0.5 * delta))


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    w = common.variables(data, s, FROZEN)
    settings = {**ADAM, **s.get("opt", {})}
    chosen = {k: v for k, v in w.items() if v.trainable}
    inner = optimizers.make("adam", chosen, settings, s.get("library", "keras"))
    if hasattr(inner, "build") and s.get("library", "keras") in ("keras", "keras2"):
        inner.build(list(chosen.values()))

    def loss_of(w, batch, s):
        cells, x, actions, rewards, cells2, x2, going, weights = batch
        value = tf.gather(q_of(w, cells, x, "online", s), actions, axis=1, batch_dims=1)
        net = "target" if s.get("double") == "out" else "online"
        best = tf.argmax(q_of(w, cells2, x2, net, s), 1)
        net = "online" if s.get("bootstrap") == "online" else "target"
        after = tf.gather(q_of(w, cells2, x2, net, s), best, axis=1, batch_dims=1)
        going = tf.ones_like(going) if s.get("terminal") == "out" else going
        target = rewards + s.get("gamma", GAMMA) * going * after
        error = (target if s.get("target") == "not stopped" else tf.stop_gradient(target)) - value
        how = s.get("sample_weights")
        weights = tf.ones_like(weights) if how == "out" else weights
        weights = weights / tf.reduce_max(weights) if how == "most" else weights
        weights = tf.pow(weights, s.get("power", 2.0)) if how == "power" else weights
        if how == "early":  # the error is weighed, not its loss
            return common.mean(huber_of(weights * error, s), s)
        if how == "sum":
            return tf.reduce_sum(weights * huber_of(error, s)) / tf.reduce_sum(weights)
        return common.mean(weights * huber_of(error, s), s)

    out = common.port(loss_of, w, Followed(inner, w, s), s, ("each", LIMIT))
    out["optimizer"] = None if type(inner).__name__ == "Hand" else inner
    return out
