"""A normalizing flow in double precision: couplings, a mix, batch normalization, Adam, clipped.

A penalty of the slope of the density; the rate falls by a polynomial.
"""

import numpy as np
import tensorflow as tf

from trials import common, optimizers

ROWS, SIZE = 20, 4
SHAPES = {
    "norm/scale": (SIZE,),
    "norm/offset": (SIZE,),
    "norm/mean": (SIZE,),
    "norm/variance": (SIZE,),
    "mix/weights": (SIZE, SIZE),
    "kinds/table": (5, 3),
    "one/weights": (5, 10),
    "one/biases": (10,),
    "one/out": (10, 4),
    "one/shift": (4,),
    "two/weights": (5, 10),
    "two/biases": (10,),
    "two/out": (10, 4),
    "two/shift": (4,),
}
FROZEN = ("norm/mean", "norm/variance")
KERNELS = ("one/weights", "one/out", "two/weights", "two/out")
ADAM = {"beta_1": 0.9, "beta_2": 0.99, "epsilon": 1e-5}
RATE, CLIP = ["polynomial", 0.01, 8, 0.001, 1.0], ("global", 1.5)
L2, SMOOTH = 0.02, 0.05


def data(dtype="float64", half=None):
    """Make weights and five batches: points, their kinds, and how much each counts."""
    random = np.random.RandomState(103)
    batches = []
    for _ in range(5):
        kinds = np.minimum(random.geometric(0.4, ROWS) - 1, 4)
        x = random.randn(ROWS, SIZE) @ (np.eye(SIZE) + 0.3) + 0.4 * kinds[:, None]
        trust = random.choice([0.25, 1.0, 2.0], ROWS).astype(dtype)
        batches.append((x.astype(dtype), kinds.astype("int32"), trust))
    weights = common.draw(SHAPES, 104, dtype)
    weights["mix/weights"] = (np.eye(SIZE) + 0.3 * weights["mix/weights"]).astype(dtype)
    return {"weights": weights, "batches": batches, "half": half}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data, FROZEN)
    (x, kinds, trust), fed = common.feeds(v1, data)
    mean, variance = v1.nn.moments(x, [0])
    y = v1.nn.batch_normalization(x, mean, variance, w["norm/offset"], w["norm/scale"], 1e-3)
    volume = v1.log(v1.abs(w["norm/scale"])) - 0.5 * v1.log(variance + 1e-3)
    y = v1.matmul(y, w["mix/weights"])
    volume = v1.reduce_sum(volume) + v1.linalg.slogdet(w["mix/weights"])[1]
    rows = v1.nn.embedding_lookup(w["kinds/table"], kinds)
    halves = [y[:, :2], y[:, 2:]]
    for i, name in enumerate(("one", "two")):
        h = v1.concat([halves[i], rows], 1)
        h = v1.tanh(v1.nn.xw_plus_b(h, w[name + "/weights"], w[name + "/biases"]))
        out = v1.nn.xw_plus_b(h, w[name + "/out"], w[name + "/shift"])
        size = v1.tanh(out[:, :2])
        halves[1 - i] = halves[1 - i] * v1.exp(size) + out[:, 2:]
        volume += v1.reduce_sum(size, 1)
    z = v1.concat(halves, 1)
    logs = volume - 0.5 * v1.reduce_sum(v1.square(z) + np.log(2 * np.pi), 1)
    loss = -v1.reduce_sum(trust * logs) / v1.reduce_sum(trust)
    slope = v1.gradients(logs, [x])[0]
    loss += SMOOTH * v1.reduce_mean(v1.reduce_sum(v1.square(slope), 1))
    loss += L2 * v1.add_n([v1.nn.l2_loss(w[k]) for k in KERNELS])
    step = v1.train.get_or_create_global_step()
    rate = v1.train.polynomial_decay(v1.constant(0.01, v1.float64), step, 8, 0.001)
    optimizer = v1.train.AdamOptimizer(rate, 0.9, 0.99, 1e-5)
    grads, sources = zip(*optimizer.compute_gradients(loss), strict=True)
    grads, _ = v1.clip_by_global_norm([v1.convert_to_tensor(g) for g in grads], CLIP[1])
    pairs = list(zip(grads, sources, strict=True))
    train_op = optimizer.apply_gradients(pairs, global_step=step)
    ops = [v1.assign(w["norm/mean"], 0.9 * w["norm/mean"] + 0.1 * mean)]
    ops.append(v1.assign(w["norm/variance"], 0.9 * w["norm/variance"] + 0.1 * variance))
    return {"loss": loss, "inputs": fed, "train_op": v1.group(train_op, *ops), "gradients": pairs}


def statistics(w, y, s, momentum=0.9):
    """Return the mean and the variance to normalize by, and move the averages."""
    rows, share, how = y.shape[0], 1 - s.get("bn_momentum", momentum), s.get("average")
    mean, variance = tf.nn.moments(y, [0])
    if s.get("rewrite"):  # as TensorFlow does it, which matters to the second order
        variance = tf.reduce_mean(common.square(y - tf.stop_gradient(mean), s), 0)
    values = {"norm/mean": mean, "norm/variance": variance}
    if how == "corrected":
        values["norm/variance"] = variance * (rows / (rows - 1))
    if how == "root":
        values["norm/variance"] = tf.sqrt(variance)
    if how == "mean only":
        del values["norm/variance"]
    if how == "exchanged":
        share = 1 - share
    if how == "out" or bool(s.get("part")) != (s.get("targets") == "parts"):
        values = {}  # of a loss that is computed twice, the averages move once
    for _ in range(2 if how == "twice" else 1):
        for name, value in values.items():
            now = tf.convert_to_tensor(w[name])
            w[name].assign((1 - share) * now + share * value)
    if s.get("inference"):
        return tf.convert_to_tensor(w["norm/mean"]), tf.convert_to_tensor(w["norm/variance"])
    if s.get("bn_stop"):
        return tf.stop_gradient(mean), tf.stop_gradient(variance)
    return mean, variance


def held(slope, s):
    """Hold the slope constant, if the switch says so."""
    how = s.get("slope")
    if how == "stopped":
        return tf.stop_gradient(slope)
    if how == "numpy":
        return tf.constant(slope.numpy())
    if how == "column":
        return tf.concat([tf.stop_gradient(slope[:, :1]), slope[:, 1:]], 1)
    if how == "row":
        return tf.concat([tf.stop_gradient(slope[:1]), slope[1:]], 0)
    if how == "blend":
        return slope + s["blend"] * (tf.stop_gradient(slope) - slope)
    return slope


def density(w, x, kinds, s):
    """Return the logarithm of the density at each point."""
    mean, variance = statistics(w, x, s)
    scale, epsilon = w["norm/scale"], s.get("bn_epsilon", 1e-3)
    y = tf.nn.batch_normalization(x, mean, variance, w["norm/offset"], scale, epsilon)
    volume = tf.math.log(tf.abs(scale)) - 0.5 * tf.math.log(variance + epsilon)
    y, mix = common.matmul(y, w["mix/weights"], s), tf.convert_to_tensor(w["mix/weights"])
    if s.get("halt") == "volume":
        mix = tf.stop_gradient(mix)
    if s.get("rewrite"):
        turn = tf.math.log(tf.abs(tf.linalg.det(mix)))
    else:
        turn = tf.linalg.slogdet(mix)[1]
    volume = tf.reduce_sum(volume) + s.get("turn_sign", 1.0) * turn
    rows = common.point(tf.gather(w["kinds/table"], kinds), s, "kinds")
    halves = [y[:, :2], y[:, 2:]]
    for i, name in enumerate(("one", "two")):
        h = tf.concat([halves[i], rows], 1)
        h = common.matmul(h, w[name + "/weights"], s) + w[name + "/biases"]
        h = common.point(tf.tanh(h), s, name)
        out = common.matmul(h, w[name + "/out"], s) + w[name + "/shift"]
        size = common.point(tf.tanh(out[:, :2]), s, "size " + name)
        halves[1 - i] = halves[1 - i] * tf.exp(size) + out[:, 2:]
        volume += tf.reduce_sum(size, 1)
    z = common.point(tf.concat(halves, 1), s, "z")
    if s.get("rewrite"):
        return volume - 0.5 * tf.reduce_sum(z * z, 1) - 0.5 * SIZE * np.log(2 * np.pi)
    return volume - 0.5 * tf.reduce_sum(tf.square(z) + np.log(2 * np.pi), 1)


def weigh(logs, trust, s):
    """Reduce the densities of the points to one loss."""
    how = s.get("sample_weights")
    if how == "out":
        trust = tf.ones_like(trust)
    if how == "one":
        trust = tf.concat([trust[:7], trust[7:8] * s["one"], trust[8:]], 0)
    if how == "root":
        trust = tf.sqrt(trust)
    if how == "floor":
        trust = tf.maximum(trust, s["floor"])
    total = tf.reduce_sum(trust) + s.get("more", 0.0)
    total = {"rows": 20.0, "sum": 1.0}.get(s.get("reduce"), total)
    if s.get("rewrite"):
        return -tf.tensordot(trust / total, logs, 1)
    return -tf.reduce_sum(trust * logs) / total


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    s.setdefault("dense", True)
    w = common.variables(data, s, FROZEN)
    optimizer = optimizers.of_port("adam", common.trained(w, s), {**ADAM, "lr": RATE}, s)

    def loss_of(w, batch, s):
        x, kinds, trust = batch
        names = [k for k in KERNELS if k != s.get("l2_without")]
        decays = [tf.reduce_sum(common.square(tf.convert_to_tensor(w[k]), s)) for k in names]
        decay = s.get("l2", L2) * s.get("l2_half", 0.5) * tf.add_n(decays)
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(x)
            logs = density(w, x, kinds, s)
        slope = held(tape.gradient(logs, x), s)
        penalty = SMOOTH * common.mean(tf.reduce_sum(common.square(slope, s), 1), {})
        penalty *= s.get("smooth_sign", 1.0)
        if s.get("part"):
            return decay if s.get("part_of") == "decay" else penalty
        return weigh(logs, trust, s) + penalty + decay

    return common.port(loss_of, w, optimizer, s, CLIP)
