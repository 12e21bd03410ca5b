"""A receiver of radio symbols with complex kernels: bits, and now and then the channel itself.

Batch normalization of what the kernels find, a penalty of the slope by the received signal, a loss
scale, momentum, a rate that falls smoothly.
"""

import numpy as np
import tensorflow as tf

from trials import common, optimizers
from trials.models.flow import held, statistics

ROWS, SIZE, FOUND = 18, 6, 7
SHAPES = {
    "pilots/real": (5, SIZE),
    "pilots/imag": (5, SIZE),
    "sweep/real": (SIZE, FOUND),
    "sweep/imag": (SIZE, FOUND),
    "bend/real": (FOUND, FOUND),
    "bend/imag": (FOUND, FOUND),
    "norm/scale": (14,),
    "norm/offset": (14,),
    "norm/mean": (14,),
    "norm/variance": (14,),
    "dense/weights": (14, 12),
    "dense/biases": (12,),
    "bits/weights": (12, 4),
    "bits/biases": (4,),
    "channel/weights": (12, 2),
    "channel/biases": (2,),
}
FROZEN = ("norm/mean", "norm/variance")
KERNELS = ("dense/weights", "bits/weights", "channel/weights")
SGD = {"momentum": 0.9}
RATE, STEADY, CLIP = [0.02, 4, 0.5], 0.02, ("global", 1.5)
SCALE, CHANNEL, SMOOTH, L2, SHARE = 128.0, 0.4, 0.3, 0.02, 0.95


def data(dtype="float32", half=None, steady=False):
    """Make weights and five batches: signals, pilots, bits, trust, channels, and a flag."""
    random = np.random.RandomState(109)
    batches = []
    for flag in (1, 1, 0, 1, 0):
        pilots = np.minimum(random.geometric(0.4, ROWS) - 1, 4).astype("int32")
        bits = random.randint(0, 2, (ROWS, 4))
        rows = [random.randn(ROWS, SIZE) + bits[:, :1], random.randn(ROWS, SIZE) - bits[:, 1:2]]
        after = [bits, random.choice([0.2, 1.0, 1.6], ROWS), random.randn(ROWS, 2), np.array(flag)]
        rows = [r.astype(dtype) for r in (*rows, *after)]
        batches.append((*rows[:2], pilots, *rows[2:]))
    weights = common.draw(SHAPES, 110, dtype)
    for name in ("pilots/real", "pilots/imag"):
        weights[name] *= 2
    return {"weights": weights, "batches": batches, "half": half, "steady": steady}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data, FROZEN)
    (real, imag, pilots, bits, trust, channel, flag), fed = common.feeds(v1, data)
    rows = [v1.nn.embedding_lookup(w["pilots/" + k], pilots) for k in ("real", "imag")]
    z = v1.complex(real, imag) * v1.conj(v1.complex(*rows))
    z = v1.matmul(z, v1.complex(w["sweep/real"], w["sweep/imag"]))
    z = v1.complex(v1.tanh(v1.real(z)), v1.tanh(v1.imag(z)))
    z = v1.matmul(z, v1.complex(w["bend/real"], w["bend/imag"]))
    y = v1.concat([v1.real(z), v1.imag(z)], 1)
    mean, variance = v1.nn.moments(y, [0])
    y = v1.nn.batch_normalization(y, mean, variance, w["norm/offset"], w["norm/scale"], 1e-3)
    y = v1.nn.softplus(v1.nn.xw_plus_b(y, w["dense/weights"], w["dense/biases"]))
    logits = v1.nn.xw_plus_b(y, w["bits/weights"], w["bits/biases"])
    losses = v1.nn.sigmoid_cross_entropy_with_logits(labels=bits, logits=logits)
    losses = v1.reduce_mean(losses, 1)
    loss = v1.reduce_sum(trust * losses) / v1.reduce_sum(trust)
    slope = v1.gradients(logits, [real])[0]
    loss += SMOOTH * v1.reduce_mean(v1.reduce_sum(v1.square(slope), 1))
    found = v1.nn.xw_plus_b(y, w["channel/weights"], w["channel/biases"])
    error = v1.reduce_sum(v1.square(found - channel), 1)
    loss += CHANNEL * flag * v1.reduce_mean(error)
    loss += L2 * v1.add_n([v1.nn.l2_loss(w[k]) for k in KERNELS])
    step = v1.train.get_or_create_global_step()
    rate = STEADY if data["steady"] else v1.train.exponential_decay(0.02, step, 4, 0.5)
    optimizer = v1.train.MomentumOptimizer(rate, 0.9)
    grads, sources = zip(*optimizer.compute_gradients(SCALE * loss), strict=True)
    grads = [v1.convert_to_tensor(g) / SCALE for g in grads]
    grads, _ = v1.clip_by_global_norm(grads, CLIP[1])
    pairs = list(zip(grads, sources, strict=True))
    train_op = optimizer.apply_gradients(pairs, global_step=step)
    values = {"norm/mean": mean, "norm/variance": variance}
    ops = [v1.assign(w[k], SHARE * w[k] + (1 - SHARE) * v) for k, v in values.items()]
    return {"loss": loss, "inputs": fed, "train_op": v1.group(train_op, *ops), "gradients": pairs}


def found_in(w, real, imag, pilots, s):
    """Return what the complex kernels find in the signals."""
    hand = common.by_hand(s)

    def pair(name, take=tf.convert_to_tensor):
        one, two = (take(w[f"{name}/{k}"]) for k in ("real", "imag"))
        return hand(tf.complex(common.point(one, s, name), two), name)

    def times(z, kernel):
        if s.get("rewrite"):
            a, b, c, d = *parts(z), *parts(kernel)
            return tf.complex(a @ c - b @ d, a @ d + b @ c)
        return z @ kernel

    def parts(z):
        return tf.math.real(z), tf.math.imag(z)

    rows = pair("pilots", lambda table: tf.gather(table, pilots))
    rows = rows if s.get("pilots") == "plain" else tf.math.conj(rows)
    z = times(tf.complex(real, imag) * rows, pair("sweep"))
    z = hand(tf.complex(*(tf.tanh(part) for part in parts(z))), "swept")
    bend = pair("bend")
    z = hand(times(z, tf.math.conj(bend) if s.get("bend") == "conjugate" else bend), "bent")
    return common.point(tf.concat(parts(z), 1), s, "found")


def weigh(losses, trust, s):
    """Reduce the losses of the symbols to one."""
    how = s.get("sample_weights")
    if how == "out":
        trust = tf.ones_like(trust)
    if how == "one":
        trust = tf.concat([trust[:2], trust[2:3] * s["one"], trust[3:]], 0)
    if how == "floor":
        trust = tf.maximum(trust, s["floor"])
    if how == "squared":
        trust = trust * trust
    total = tf.reduce_sum(trust) + s.get("more", 0.0)
    total = {"rows": 1.0 * ROWS, "sum": 1.0}.get(s.get("reduce"), total)
    return tf.reduce_sum(trust * losses) / total


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    s.setdefault("dense", True)
    s.setdefault("scale", SCALE)
    w = common.variables(data, s, FROZEN)
    library = s.get("library", "keras" if data["steady"] else "hand")
    lr = s.get("rate", STEADY if data["steady"] else RATE)
    if library == "hand" and isinstance(lr, list):
        home = common.keras_of("tf_keras").optimizers.schedules
        lr = optimizers.counted(optimizers.decaying(lr, home), s)
    settings = {**SGD, "lr": lr, **s.get("opt", {})}
    optimizer = optimizers.make("sgd", common.trained(w, s), settings, library)

    def loss_of(w, batch, s):
        real, imag, pilots, bits, trust, channel, flag = batch
        decays = [tf.reduce_sum(common.square(tf.convert_to_tensor(w[k]), s)) for k in KERNELS]
        decay = s.get("l2", L2) * s.get("l2_half", 0.5) * tf.add_n(decays)
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(real)
            y = found_in(w, real, imag, pilots, s)
            mean, variance = statistics(w, y, s, SHARE)
            scale, offset = w["norm/scale"], w["norm/offset"]
            y = tf.nn.batch_normalization(y, mean, variance, offset, scale, 1e-3)
            y = common.matmul(y, w["dense/weights"], s) + w["dense/biases"]
            y = common.point(tf.nn.softplus(y), s, "dense")
            logits = common.matmul(y, w["bits/weights"], s) + w["bits/biases"]
        slope = held(tape.gradient(logits, real), s)
        penalty = SMOOTH * tf.reduce_mean(tf.reduce_sum(common.square(slope, s), 1))
        if s.get("rewrite"):
            losses = tf.nn.softplus(logits) - bits * logits
        else:
            losses = tf.nn.sigmoid_cross_entropy_with_logits(bits, logits)
        loss = weigh(tf.reduce_mean(losses, 1), trust, s)
        loss += s.get("smooth_sign", 1.0) * penalty + decay
        if s.get("head") == "if" and float(flag) == 0:
            return loss
        head = dict(w)
        if s.get("head") == "biases" and float(flag) == 0:
            head["channel/biases"] = tf.zeros([2])
        found = common.matmul(common.point(y, s, "to channel"), head["channel/weights"], s)
        error = common.square(found + head["channel/biases"] - channel, s)
        error = CHANNEL * flag * tf.reduce_mean(tf.reduce_sum(error, 1))
        if s.get("part"):
            return {"decay": decay, "slope": penalty}.get(s.get("part_of"), error)
        return loss + error

    return common.port(loss_of, w, optimizer, s, CLIP)
