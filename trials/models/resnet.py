"""A small residual network on two towers, batch normalization, Momentum with a piecewise rate."""

import numpy as np
import tensorflow as tf

from trials import common, optimizers

N, WD, SMOOTH, KEEP = 16, 0.002, 0.1, 0.9
SHAPES = {"stem/conv": (3, 3, 3, 6), "block/conv": (3, 3, 6, 6), "fc/w": (6, 4), "fc/b": (4,)}
for _s in ("stem", "block"):
    for _l in ("beta", "scale", "mean", "variance"):
        SHAPES[f"{_s}/{_l}"] = (6,)
FROZEN = [k for k in SHAPES if k.endswith(("mean", "variance"))]


def data(dtype="float32"):
    """Make weights and five batches."""
    random = np.random.RandomState(51)
    batches = [
        (random.randn(N, 6, 6, 3).astype(dtype), random.randint(0, 4, N).astype("int32"))
        for _ in range(5)
    ]
    return {"weights": common.draw(SHAPES, 52, dtype), "batches": batches, "half": None}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data, FROZEN)
    (x, labels), fed = common.feeds(v1, data)
    step = v1.train.get_or_create_global_step()
    rate = v1.train.piecewise_constant(step, [1, 3], [0.1, 0.05, 0.01])
    opt = v1.train.MomentumOptimizer(rate, 0.9)

    def bn(y, scope):
        mean, variance = v1.nn.moments(y, [0, 1, 2])
        for k, new in (("mean", mean), ("variance", variance)):
            v = w[f"{scope}/{k}"]
            v1.add_to_collection(v1.GraphKeys.UPDATE_OPS, v1.assign_sub(v, (v - new) * (1 - KEEP)))
        return v1.nn.batch_normalization(
            y, mean, variance, w[scope + "/beta"], w[scope + "/scale"], 1e-3
        )

    towers, losses, updates = [], [], None
    for part, target in zip(v1.split(x, 2), v1.split(labels, 2), strict=True):
        y = v1.nn.relu(bn(v1.nn.conv2d(part, w["stem/conv"], strides=1, padding="SAME"), "stem"))
        z = bn(v1.nn.conv2d(y, w["block/conv"], strides=1, padding="SAME"), "block")
        y = v1.reduce_mean(v1.nn.relu(z + y), [1, 2])
        logits = v1.nn.xw_plus_b(y, w["fc/w"], w["fc/b"])
        hot = v1.one_hot(target, 4, dtype=x.dtype)
        loss = v1.losses.softmax_cross_entropy(hot, logits, label_smoothing=SMOOTH)
        kernels = [v for v in v1.trainable_variables() if v.op.name.endswith(("conv", "/w"))]
        loss += WD * v1.add_n([v1.nn.l2_loss(v) for v in kernels])
        if updates is None:
            updates = v1.get_collection(v1.GraphKeys.UPDATE_OPS)
        towers.append(opt.compute_gradients(loss))
        losses.append(loss)
    pairs = [(v1.add_n([g for g, _ in p]) / 2, p[0][1]) for p in zip(*towers, strict=True)]
    with v1.control_dependencies([g for g, _ in pairs]), v1.control_dependencies(updates):
        train_op = opt.apply_gradients(pairs, global_step=step)
    loss = v1.add_n(losses) / 2
    return {"loss": loss, "inputs": fed, "train_op": train_op, "gradients": pairs}


def tower(w, x, labels, first, s):
    """Return the loss of one tower."""

    def bn(y, scope):
        mean = tf.reduce_mean(y, [0, 1, 2])
        variance = tf.reduce_mean(tf.math.squared_difference(y, mean), [0, 1, 2])
        m, v = w[scope + "/mean"], w[scope + "/variance"]
        if s.get("inference") in ("all", scope):
            mean, variance = tf.convert_to_tensor(m), tf.convert_to_tensor(v)
        elif (first or s.get("updates") == "both") and s.get("updates") != "out":
            keep = s.get("keep", KEEP)
            wide = variance * (288 / 287 if s.get("updates") == "unbiased" else 1.0)
            m.assign(m * keep + mean * (1 - keep))
            v.assign(v * keep + wide * (1 - keep))
        y = (y - mean) * tf.math.rsqrt(variance + s.get("eps", 1e-3))
        return y * w[scope + "/scale"] + w[scope + "/beta"]

    y = tf.nn.relu(bn(tf.nn.conv2d(x, w["stem/conv"], 1, "SAME"), "stem"))
    z = bn(tf.nn.conv2d(y, w["block/conv"], 1, "SAME"), "block")
    y = tf.stop_gradient(y) if s.get("halt") else y
    y = tf.nn.relu(z) + y if s.get("early_relu") else tf.nn.relu(z + y)
    y = tf.reduce_mean(y, [1, 2])
    logits = y @ tf.convert_to_tensor(w["fc/w"]) + w["fc/b"]
    smooth = s.get("smooth", SMOOTH)
    hot = tf.one_hot(labels, 4, dtype=x.dtype) * (1 - smooth) + smooth / 4
    ce = -tf.reduce_sum(hot * tf.nn.log_softmax(logits), 1)
    loss = tf.reduce_sum(ce) / (s.get("divide", N // 2))
    ends = ("conv", "/w", *tuple(s.get("more", ())))
    decayed = [tf.convert_to_tensor(v) for k, v in w.items() if k.endswith(ends)]
    return loss + s.get("wd", WD) / 2 * tf.add_n([tf.reduce_sum(v * v) for v in decayed])


def new(data, fault=None, **s):
    """Make the port."""
    w = common.variables(data, s, FROZEN)
    bounds, rates = s.get("bounds", [1, 3]), s.get("rates", [0.1, 0.05, 0.01])

    def rate(count):
        n = tf.cast(count, tf.int64)
        return tf.where(n <= bounds[0], rates[0], tf.where(n <= bounds[1], rates[1], rates[2]))

    names = {id(v): k for k, v in w.items()}
    settings = {"momentum": 0.9, **s.get("opt", {})}
    if s.get("library"):
        home = common.keras_of(s["library"]).optimizers
        optimizer = home.SGD(home.schedules.PiecewiseConstantDecay(bounds, rates), **settings)
    else:
        optimizer = optimizers.Hand("sgd", names, rate, **settings)
    chosen = common.trained(w, s)
    listed = [k for k in w if w[k].trainable]

    def step(x, labels):
        parts = zip(tf.split(x, 2), tf.split(labels, 2), strict=True)
        with tf.GradientTape() as tape:
            losses = [tower(w, a, b, i == 0, s) for i, (a, b) in enumerate(parts)]
            loss = tf.add_n(losses) / 2
            target = losses if s.get("targets") == "towers" else loss * s.get("scale", 1.0)
        grads = dict(zip(chosen, tape.gradient(target, list(chosen.values())), strict=True))
        rest = {k: v for k, v in s.items() if k in ("factor", "only", "exchange", "clip")}
        grads = common.after(grads, rest)
        common.update(optimizer, grads, w, s)
        return loss, [grads.get(k) for k in listed]

    return common.finish(common.wrapped(step, s), w, optimizer, s)
