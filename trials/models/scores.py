"""An energy by score matching, in double precision: slopes and curvatures of a learned energy.

Rows of a table for sorts, a part that takes noise away again, now and then a level; Adam with a
cosine rate, or Nesterov's momentum; each gradient clipped by its own norm.
"""

import numpy as np
import tensorflow as tf

from trials import common, optimizers
from trials.models.porting import decayed, held, look, old_step, told, weigh

ROWS, DIMS, SORTS, ROW, SIZE, NOISE = 10, 3, 4, 3, 8, 0.5
SHAPES = {
    "sorts/table": (SORTS, ROW),
    "first/weights": (DIMS + ROW, SIZE),
    "first/biases": (SIZE,),
    "second/weights": (SIZE, SIZE),
    "second/biases": (SIZE,),
    "energy/weights": (SIZE, 1),
    "well/depth": (DIMS,),
    "well/place": (DIMS,),
    "level/weights": (SIZE, 1),
    "level/biases": (1,),
}
KERNELS = ("first/weights", "second/weights", "energy/weights")
KINDS = {
    "adam": {"beta_1": 0.9, "beta_2": 0.95, "epsilon": 1e-3, "lr": ["cosine", 0.02, 9, 0.2]},
    "sgd": {"momentum": 0.75, "nesterov": True, "lr": 0.02},
}
CLIP, L2, CLEAN, LEVEL = ("each", 0.5), 0.02, 0.6, 0.3


def data(dtype="float64", half=None, kind="adam"):
    """Make weights and five batches: places, sorts, noise, trust, levels, a flag."""
    random = np.random.RandomState(195)
    batches = []
    for flag in (1, 0, 1, 1, 0):
        sort = np.minimum(random.geometric(0.4, ROWS) - 1, SORTS - 1).astype("int32")
        x = random.randn(ROWS, DIMS) * (0.6 + 0.2 * sort[:, None]) + 0.3
        noise = NOISE * random.randn(ROWS, DIMS)
        trust, level = random.choice([0.3, 1.0, 2.1], ROWS), random.randn(ROWS)
        parts = [a.astype(dtype) for a in (x, noise, trust, level)]
        batches.append((parts[0], sort, *parts[1:], np.array(flag, dtype)))
    weights = common.draw(SHAPES, 196, dtype)
    for name in ("sorts/table", "energy/weights", "second/weights"):
        weights[name] *= 2
    weights["well/depth"] += 0.6
    return {"weights": weights, "batches": batches, "half": half, "kind": kind}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data)
    (x, sort, noise, trust, level, flag), fed = common.feeds(v1, data)
    row = v1.nn.embedding_lookup(w["sorts/table"], sort)

    def hidden(z):
        y = v1.nn.xw_plus_b(v1.concat([z, row], 1), w["first/weights"], w["first/biases"])
        return v1.nn.softplus(v1.nn.xw_plus_b(v1.tanh(y), w["second/weights"], w["second/biases"]))

    def slope(z):
        energy = v1.matmul(hidden(z), w["energy/weights"])[:, 0]
        energy += 0.5 * v1.reduce_sum(w["well/depth"] * v1.square(z - w["well/place"]), 1)
        return v1.gradients(energy, [z])[0]

    here = slope(x)
    curve = v1.add_n([v1.gradients(here[:, i], [x])[0][:, i] for i in range(DIMS)])
    losses = 0.5 * v1.reduce_sum(v1.square(here), 1) - curve
    noisy = x + noise
    wrong = slope(noisy) - noise / NOISE**2
    losses += CLEAN * NOISE**2 * v1.reduce_sum(v1.square(wrong), 1)
    loss = v1.reduce_mean(trust * losses)
    loss += L2 * v1.add_n([v1.nn.l2_loss(w[k]) for k in KERNELS])
    guess = v1.nn.xw_plus_b(hidden(x), w["level/weights"], w["level/biases"])[:, 0]
    loss += LEVEL * flag * v1.reduce_mean(v1.square(guess - level))
    kind = data["kind"]
    pairs, train_op = old_step(v1, loss, kind, KINDS[kind], CLIP)
    return {"loss": loss, "inputs": fed, "train_op": train_op, "gradients": pairs}


def hidden(w, z, row, s):
    """Return what the network sees at a place."""
    if s.get("rewrite"):  # split kernels
        kernel = tf.convert_to_tensor(w["first/weights"])
        y = tf.matmul(z, kernel[:DIMS]) + tf.matmul(row, kernel[DIMS:]) + w["first/biases"]
    else:
        y = common.affine(w, "first", tf.concat([z, row], 1), s)
    y = common.affine(w, "second", common.point(tf.tanh(y), s, "first"), s)
    if s.get("rewrite"):
        return tf.maximum(y, 0) + tf.math.log1p(tf.exp(-tf.abs(y)))
    return common.point(tf.nn.softplus(y), s, "second")


def slope_at(w, z, row, s):
    """Return the slope of the energy at a place."""
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(z)
        y = common.matmul(hidden(w, z, row, s), w["energy/weights"], s)[:, 0]
        far = z - common.point(tf.convert_to_tensor(w["well/place"]), s, "place")
        y += s.get("well_sign", 1.0) * 0.5 * tf.reduce_sum(w["well/depth"] * tf.square(far), 1)
    return tape.gradient(y, z)


def curved(w, x, row, s):
    """Return the slope, and the sum of the second derivatives."""
    with tf.GradientTape(persistent=True, watch_accessed_variables=False) as tape:
        tape.watch(x)
        slope = slope_at(w, x, row, s)
        parts = [tf.reduce_sum(slope[:, i]) for i in range(DIMS)]
    curves = [tape.gradient(part, x)[:, i] for i, part in enumerate(parts)]
    if s.get("curve_of") is not None:  # of one dimension only, constant
        curves[s["curve_of"]] = held(curves[s["curve_of"]], s, "one_curve")
    return slope, held(tf.add_n(curves), s, "curve")


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    s.setdefault("dense", True)
    w, kind = common.variables(data, s), data["kind"]
    optimizer = optimizers.of_port(kind, common.trained(w, s), KINDS[kind], s)

    def loss_of(w, batch, s):
        x, sort, noise, trust, level, flag = batch
        row = common.point(look(w, "sorts/table", sort, s), s, "sorts")
        here, curve = curved(w, x, row, s)
        if s.get("slope_of", "here") == "here":
            here = held(here, s)
        losses = 0.5 * tf.reduce_sum(common.square(here, s), 1) - s.get("curve_sign", 1.0) * curve
        there = slope_at(w, x + noise, row, s)
        if s.get("slope_of", "noisy") == "noisy":
            there = held(there, s)
        wrong = there - s.get("noise_sign", 1.0) * noise / NOISE**2
        clean = CLEAN * NOISE**2 * tf.reduce_sum(common.square(wrong, s), 1)
        decay = s.get("l2", L2) * decayed(w, KERNELS, s)
        loss = weigh(losses + clean, trust, s) + decay

        def head(w):
            y = common.point(hidden(w, x, row, s), s, "to level")
            guess = common.affine(w, "level", y, s)[:, 0]
            return LEVEL * tf.reduce_mean(common.square(guess - level, s))

        parts = {"decay": decay, "clean": tf.reduce_mean(trust * clean)}
        return told(loss, w, "level", flag, head, s, parts, s.get("level_sign", 1.0))

    return common.port(loss_of, w, optimizer, s, CLIP)
