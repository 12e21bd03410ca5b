"""A Hamiltonian network of springs with friction, in double precision: slopes of a learned energy.

Rows of a table for the sorts of springs, what follows by the midpoint rule, now and then the
period; Adam with a cosine rate, or RMSProp; each gradient clipped by its own norm.
"""

import numpy as np
import tensorflow as tf

from trials import common, optimizers
from trials.models.porting import decayed, held, look, old_step, told, weigh

ROWS, SORTS, ROW, SIZE, STEP = 10, 4, 3, 8, 0.2
SHAPES = {
    "sorts/table": (SORTS, ROW),
    "first/weights": (4 + ROW, SIZE),
    "first/biases": (SIZE,),
    "second/weights": (SIZE, SIZE),
    "second/biases": (SIZE,),
    "energy/weights": (SIZE, 1),
    "spring/strength": (4,),
    "friction/strength": (2,),
    "shift/strength": (2,),
    "period/weights": (SIZE, 2),
    "period/biases": (2,),
}
KERNELS = ("first/weights", "second/weights", "energy/weights")
KINDS = {
    "adam": {"beta_1": 0.9, "beta_2": 0.98, "epsilon": 1e-4, "lr": ["cosine", 0.03, 8, 0.1]},
    "rmsprop": {"rho": 0.8, "momentum": 0.6, "epsilon": 0.01, "start": 1.0, "lr": 0.02},
}
CLIP, L2, NEXT, PERIOD = ("each", 1.0), 0.01, 2.0, 0.2


def data(dtype="float64", half=None, kind="adam"):
    """Make weights and five batches: states, sorts, their changes, what follows, trust, periods."""
    random = np.random.RandomState(177)
    batches = []
    for flag in (1, 0, 1, 0, 0):
        sort = np.minimum(random.geometric(0.4, ROWS) - 1, SORTS - 1).astype("int32")
        state, stiff = random.randn(ROWS, 4), 0.5 + sort[:, None]
        change = np.concatenate([state[:, 2:], -stiff * state[:, :2] - 0.2 * state[:, 2:]], 1)
        after = state + STEP * change + 0.05 * random.randn(ROWS, 4)
        trust = random.choice([0.25, 1.0, 2.0], ROWS)
        period = random.randn(ROWS, 2)
        parts = [a.astype(dtype) for a in (state, change, after, trust, period)]
        batches.append((parts[0], sort, *parts[1:], np.array(flag, dtype)))
    weights = common.draw(SHAPES, 178, dtype)
    weights["sorts/table"] *= 2
    weights["spring/strength"] += 0.5
    return {"weights": weights, "batches": batches, "half": half, "kind": kind}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data)
    (state, sort, change, after, trust, period, flag), fed = common.feeds(v1, data)
    row = v1.nn.embedding_lookup(w["sorts/table"], sort)

    def hidden(z):
        y = v1.concat([z, row], 1)
        y = v1.tanh(v1.nn.xw_plus_b(y, w["first/weights"], w["first/biases"]))
        return v1.tanh(v1.nn.xw_plus_b(y, w["second/weights"], w["second/biases"]))

    def moving(z):
        energy = v1.matmul(hidden(z), w["energy/weights"])[:, 0]
        energy += v1.reduce_sum(w["spring/strength"] * v1.square(z), 1)
        slope = v1.gradients(energy, [z])[0]
        pull = -slope[:, :2] - w["friction/strength"] * z[:, 2:] + w["shift/strength"]
        return v1.concat([slope[:, 2:], pull], 1)

    now = moving(state)
    then = state + STEP * moving(state + 0.5 * STEP * now)
    losses = v1.reduce_sum(v1.square(now - change), 1)
    losses += NEXT * v1.reduce_sum(v1.square(then - after), 1) / STEP
    loss = v1.reduce_mean(trust * losses)
    loss += L2 * v1.add_n([v1.nn.l2_loss(w[k]) for k in KERNELS])
    guess = v1.nn.xw_plus_b(hidden(state), w["period/weights"], w["period/biases"])
    loss += PERIOD * flag * v1.reduce_mean(v1.square(guess - period))
    kind = data["kind"]
    pairs, train_op = old_step(v1, loss, kind, KINDS[kind], CLIP)
    return {"loss": loss, "inputs": fed, "train_op": train_op, "gradients": pairs}


def hidden(w, z, row, s):
    """Return what the network sees in a state."""
    if s.get("rewrite"):  # split kernels
        kernel = tf.convert_to_tensor(w["first/weights"])
        y = tf.matmul(z, kernel[:4]) + tf.matmul(row, kernel[4:]) + w["first/biases"]
    else:
        y = common.affine(w, "first", tf.concat([z, row], 1), s)
    y = common.point(tf.tanh(y), s, "first")
    return common.point(tf.tanh(common.affine(w, "second", y, s)), s, "second")


def moving(w, z, row, s, name):
    """Return how a state moves: the slopes of the energy, turned, and friction."""
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(z)
        energy = common.matmul(hidden(w, z, row, s), w["energy/weights"], s)[:, 0]
        energy += tf.reduce_sum(w["spring/strength"] * common.square(z, s), 1)
    slope = tape.gradient(energy, z)
    if s.get("slope_of", name) == name:
        slope = held(slope, s)
    friction = common.point(w["friction/strength"] * z[:, 2:], s, "friction")
    pull = -slope[:, :2] - s.get("friction_sign", 1.0) * friction
    return tf.concat([slope[:, 2:], pull + w["shift/strength"]], 1)


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    s.setdefault("dense", True)
    w, kind = common.variables(data, s), data["kind"]
    optimizer = optimizers.of_port(kind, common.trained(w, s), KINDS[kind], s)

    def loss_of(w, batch, s):
        state, sort, change, after, trust, period, flag = batch
        row = common.point(look(w, "sorts/table", sort, s), s, "sorts")
        now = moving(w, state, row, s, "now")
        half = common.point(state + 0.5 * STEP * now, s, "half")
        then = state + STEP * moving(w, half, row, s, "half")
        losses = tf.reduce_sum(common.square(now - change, s), 1)
        follow = NEXT * tf.reduce_sum(common.square(then - after, s), 1) / STEP
        decay = s.get("l2", L2) * decayed(w, KERNELS, s)
        loss = weigh(losses + s.get("next_sign", 1.0) * follow, trust, s) + decay

        def head(w):
            y = common.point(hidden(w, state, row, s), s, "to period")
            guess = common.affine(w, "period", y, s)
            return PERIOD * tf.reduce_mean(common.square(guess - period, s))

        parts = {"decay": decay, "next": tf.reduce_mean(trust * follow)}
        return told(loss, w, "period", flag, head, s, parts, s.get("period_sign", 1.0))

    return common.port(loss_of, w, optimizer, s, CLIP)
