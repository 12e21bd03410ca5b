"""Survival in double precision: Cox's partial likelihood and counts of visits, smooth in the dose.

RMSProp with momentum, an inverse rate, batch normalization, a penalty of the risk's slope.
"""

import numpy as np
import tensorflow as tf

from trials import common, optimizers

SHAPES = {
    "sites/table": (6, 3),
    "first/weights": (9, 10),
    "norm/scale": (10,),
    "norm/offset": (10,),
    "norm/mean": (10,),
    "norm/variance": (10,),
    "second/weights": (10, 10),
    "second/biases": (10,),
    "risk/weights": (10, 1),
    "visits/weights": (10, 1),
    "visits/biases": (1,),
}
FROZEN = ("norm/mean", "norm/variance")
KERNELS = ("first/weights", "second/weights", "risk/weights")
RMSPROP = {"rho": 0.9, "momentum": 0.5, "epsilon": 1e-4, "start": 1.0}
RATE, L2, SMOOTH = ["inverse", 0.02, 0.3], 0.02, 0.4


def data(dtype="float64", half=None):
    """Make weights and five batches of patients, those who live longest first."""
    random = np.random.RandomState(85)
    batches = []
    for flag in (1, 0, 1, 0, 1):
        x = random.randn(24, 6).astype(dtype)
        sites = np.minimum(random.geometric(0.3, 24) - 1, 5).astype("int32")
        event = (random.uniform(size=24) < 0.6).astype(dtype)
        trust = random.choice([0.5, 1.0, 1.5], 24).astype(dtype)
        visits = random.poisson(2.0, 24).astype(dtype)
        batches.append((x, sites, event, trust, visits, np.array(flag, dtype)))
    return {"weights": common.draw(SHAPES, 86, dtype), "batches": batches, "half": half}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data, FROZEN)
    (x, sites, event, trust, visits, flag), fed = common.feeds(v1, data)
    y = v1.concat([x, v1.nn.embedding_lookup(w["sites/table"], sites)], 1)
    y = v1.matmul(y, w["first/weights"])
    mean, variance = v1.nn.moments(y, [0])
    y = v1.nn.batch_normalization(y, mean, variance, w["norm/offset"], w["norm/scale"], 1e-3)
    y = v1.nn.xw_plus_b(v1.nn.elu(y), w["second/weights"], w["second/biases"])
    y = v1.nn.selu(y)
    risk = v1.matmul(y, w["risk/weights"])[:, 0]
    alive = v1.log(v1.cumsum(v1.exp(risk)))
    loss = -v1.reduce_sum(trust * event * (risk - alive)) / v1.reduce_sum(event)
    slope = v1.gradients(risk, [x])[0][:, :2]
    loss += SMOOTH * v1.reduce_mean(v1.reduce_sum(v1.square(slope), 1))
    logs = v1.nn.xw_plus_b(y, w["visits/weights"], w["visits/biases"])[:, 0]
    loss += flag * v1.reduce_mean(v1.nn.log_poisson_loss(visits, logs))
    loss += L2 * v1.add_n([v1.nn.l2_loss(w[k]) for k in KERNELS])
    step = v1.train.get_or_create_global_step()
    rate = v1.train.inverse_time_decay(v1.constant(0.02, v1.float64), step, 1, 0.3)
    optimizer = v1.train.RMSPropOptimizer(rate, 0.9, 0.5, 1e-4)
    found = optimizer.compute_gradients(loss)
    pairs = [(v1.convert_to_tensor(g), v) for g, v in found]
    train_op = optimizer.apply_gradients(pairs, global_step=step)
    ops = [v1.assign(w["norm/mean"], 0.95 * w["norm/mean"] + 0.05 * mean)]
    ops.append(v1.assign(w["norm/variance"], 0.95 * w["norm/variance"] + 0.05 * variance))
    return {"loss": loss, "inputs": fed, "train_op": v1.group(train_op, *ops), "gradients": pairs}


def normal(w, y, s):
    """Normalize over the batch, and move the averages."""
    mean, variance = tf.nn.moments(y, [0])
    if s.get("rewrite"):
        variance = tf.reduce_mean(common.square(y - tf.reduce_mean(y, 0), s), 0)
    share, how = 1 - s.get("bn_momentum", 0.95), s.get("average")
    kept = variance * (24 / 23) if how == "corrected" else variance
    if bool(s.get("part")) != (s.get("targets") == "parts"):
        how = "out"  # of a loss that is computed twice, the averages move once
    for _ in range({"out": 0, "twice": 2}.get(how, 1)):
        for name, value in (("norm/mean", mean), ("norm/variance", kept)):
            if how != "mean only" or name == "norm/mean":
                now = tf.convert_to_tensor(w[name])
                w[name].assign((1 - share) * now + share * value)
    if s.get("inference"):
        mean, variance = (tf.convert_to_tensor(w[k]) for k in FROZEN)
    if s.get("bn_stop"):
        mean, variance = tf.stop_gradient(mean), tf.stop_gradient(variance)
    return tf.nn.batch_normalization(
        y, mean, variance, w["norm/offset"], w["norm/scale"], s.get("bn_epsilon", 1e-3)
    )


def heads_of(w, x, sites, s):
    """Return the risk and the logarithm of the visits."""
    rows = common.point(tf.gather(w["sites/table"], sites), s, "sites")
    y = common.matmul(tf.concat([x, rows], 1), w["first/weights"], s)
    y = common.point(tf.nn.elu(normal(w, y, s)), s, "first")
    y = common.matmul(y, w["second/weights"], s) + w["second/biases"]
    y = common.point(tf.nn.selu(y), s, "second")
    risk = common.matmul(common.point(y, s, "to risk"), w["risk/weights"], s)[:, 0]
    logs = common.matmul(common.point(y, s, "to visits"), w["visits/weights"], s)
    return risk, (logs + w["visits/biases"])[:, 0]


def likelihood(risk, event, trust, s):
    """Return Cox's partial likelihood, negative."""
    how = s.get("sample_weights")
    if how == "out":
        trust = tf.ones_like(trust)
    if how == "one":
        trust = tf.concat([trust[:5], trust[5:6] * s["one"], trust[6:]], 0)
    if how == "squared":
        trust = trust * trust
    if how == "floor":
        trust = tf.maximum(trust, s["floor"])
    if s.get("rewrite"):
        size = tf.shape(risk)[0]
        lower = tf.linalg.band_part(tf.ones([size, size], risk.dtype), -1, 0)
        most = tf.stop_gradient(tf.reduce_max(risk))
        alive = tf.math.log(tf.linalg.matvec(lower, tf.exp(risk - most))) + most
    else:
        alive = tf.math.log(tf.cumsum(tf.exp(risk)))
    if s.get("halt") == "alive":
        alive = tf.stop_gradient(alive)
    total = tf.reduce_sum(trust * event if how == "sum" else event) + s.get("more", 0.0)
    if s.get("reduce") == "patients":
        total = 24.0
    if s.get("reduce") == "sum":
        total = 1.0
    return s.get("cox_sign", -1.0) * tf.reduce_sum(trust * event * (risk - alive)) / total


def smooth(slope, s):
    """Return the penalty of the slopes, of the first order if the switch says so."""
    how = s.get("slope")
    if how == "stopped":
        slope = tf.stop_gradient(slope)
    if how == "numpy":
        slope = tf.constant(slope.numpy())
    if how == "one input":
        slope = tf.concat([tf.stop_gradient(slope[:, :1]), slope[:, 1:]], 1)
    if how == "blend":
        slope += s["blend"] * (tf.stop_gradient(slope) - slope)
    size = tf.reduce_sum(common.square(slope, s), 1)
    return s.get("smooth_sign", 1.0) * SMOOTH * tf.reduce_mean(size)


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    s.setdefault("dense", True)
    w = common.variables(data, s, FROZEN)
    optimizer = optimizers.of_port("rmsprop", common.trained(w, s), {**RMSPROP, "lr": RATE}, s)

    def loss_of(w, batch, s):
        x, sites, event, trust, visits, flag = batch
        decays = [tf.reduce_sum(common.square(tf.convert_to_tensor(w[k]), s)) for k in KERNELS]
        decay = s.get("l2", L2) * s.get("l2_half", 0.5) * tf.add_n(decays)
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(x)
            risk, logs = heads_of(w, x, sites, s)
        penalty = smooth(tape.gradient(risk, x)[:, :2], s)
        loss = likelihood(risk, event, trust, s) + penalty + decay
        if s.get("head") == "if" and float(flag) == 0:
            return loss
        counts = tf.exp(logs) - visits * logs if s.get("rewrite") else None
        counts = tf.nn.log_poisson_loss(visits, logs) if counts is None else counts
        counts = flag * s.get("counts", 1.0) * tf.reduce_mean(counts)
        if s.get("part"):
            return {"decay": decay, "slope": penalty}.get(s.get("part_of"), counts)
        return loss + counts

    return common.port(loss_of, w, optimizer, s)
