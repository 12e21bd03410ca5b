"""What stations will measure, in quantiles: a filter of the spectrum and causal convolutions.

Batch normalization, a penalty on how the forecast follows its input, now and then whether it
rains; Nesterov's momentum or Adam, as the old program had it by a flag.
"""

import numpy as np
import tensorflow as tf

from trials import common, optimizers
from trials.models.flow import held, statistics
from trials.models.machines import weigh

ROWS, TIME, STATIONS, SIZE, CHANNELS = 14, 12, 7, 3, 5
SHAPES = {
    "stations/table": (STATIONS, SIZE),
    "filter/real": (TIME,),
    "filter/imag": (TIME,),
    "near/weights": (3, 1, CHANNELS),
    "near/biases": (CHANNELS,),
    "far/weights": (3, CHANNELS, CHANNELS),
    "norm/scale": (CHANNELS,),
    "norm/offset": (CHANNELS,),
    "norm/mean": (CHANNELS,),
    "norm/variance": (CHANNELS,),
    "mix/weights": (TIME // 2 * CHANNELS + SIZE, 6),
    "mix/biases": (6,),
    "quantiles/weights": (6, 3),
    "quantiles/biases": (3,),
    "rain/weights": (6, 1),
    "rain/biases": (1,),
}
FROZEN = ("norm/mean", "norm/variance")
KERNELS = ("near/weights", "far/weights", "mix/weights")
KINDS = {
    "sgd": {"momentum": 0.9, "nesterov": True, "lr": 0.02},
    "adam": {"beta_1": 0.9, "beta_2": 0.98, "epsilon": 1e-4, "lr": [0.01, 3, 0.7]},
}
SHARE, L2, SMOOTH, RAIN = 0.9, 0.01, 0.3, 0.4
LEVELS = np.array([0.1, 0.5, 0.9])


def data(dtype="float32", half=None, kind="sgd"):
    """Make weights and five batches: what was, where, what will be, trust, rain, a flag."""
    random = np.random.RandomState(155)
    batches = []
    for flag in (1, 0, 1, 1, 0):
        where = np.minimum(random.geometric(0.3, ROWS) - 1, STATIONS - 1).astype("int32")
        waves = np.sin(0.5 * np.arange(TIME + 1) + where[:, None])
        x = waves + 0.5 * random.randn(ROWS, TIME + 1)
        trust = random.choice([0.3, 1.0, 2.5], ROWS)
        rain = random.randint(0, 2, ROWS)
        x, after, trust, rain = (a.astype(dtype) for a in (x[:, :-1], x[:, -1], trust, rain))
        batches.append((x, where, after, trust, rain, np.array(flag, dtype)))
    weights = common.draw(SHAPES, 156, dtype)
    weights["filter/real"] += 1
    weights["stations/table"] *= 3
    return {"weights": weights, "batches": batches, "half": half, "kind": kind}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data, FROZEN)
    (x, where, after, trust, rain, flag), fed = common.feeds(v1, data)
    z = v1.fft(v1.complex(x, v1.zeros_like(x)))
    z *= v1.conj(v1.complex(w["filter/real"], w["filter/imag"]))
    y = v1.pad(v1.real(v1.ifft(z))[:, :, None], [[0, 0], [2, 0], [0, 0]])
    y = v1.nn.conv1d(y, w["near/weights"], stride=1, padding="VALID")
    y = v1.pad(v1.tanh(y + w["near/biases"]), [[0, 0], [2, 0], [0, 0]])
    y = v1.nn.conv1d(y, w["far/weights"], stride=2, padding="VALID")
    mean, variance = v1.nn.moments(y, [0, 1])
    y = v1.nn.batch_normalization(y, mean, variance, w["norm/offset"], w["norm/scale"], 1e-3)
    y = v1.reshape(v1.nn.softplus(y), [ROWS, -1])
    y = v1.concat([y, v1.nn.embedding_lookup(w["stations/table"], where)], 1)
    y = v1.tanh(v1.nn.xw_plus_b(y, w["mix/weights"], w["mix/biases"]))
    told = v1.nn.xw_plus_b(y, w["quantiles/weights"], w["quantiles/biases"])
    error = after[:, None] - told
    level = LEVELS.astype(x.dtype.name)
    losses = v1.reduce_sum(v1.maximum(level * error, (level - 1) * error), 1)
    loss = v1.reduce_mean(trust * losses)
    slope = v1.gradients(told[:, 1], [x])[0]
    loss += SMOOTH * v1.reduce_mean(v1.reduce_sum(v1.square(slope), 1))
    logits = v1.nn.xw_plus_b(y, w["rain/weights"], w["rain/biases"])[:, 0]
    losses = v1.nn.sigmoid_cross_entropy_with_logits(labels=rain, logits=logits)
    loss += RAIN * flag * v1.reduce_mean(losses)
    loss += L2 * v1.add_n([v1.nn.l2_loss(w[k]) for k in KERNELS])
    step = v1.train.get_or_create_global_step()
    if data["kind"] == "adam":
        rate = v1.train.exponential_decay(0.01, step, 3, 0.7)
        optimizer = v1.train.AdamOptimizer(rate, 0.9, 0.98, 1e-4)
    else:
        optimizer = v1.train.MomentumOptimizer(0.02, 0.9, use_nesterov=True)
    pairs = [(v1.convert_to_tensor(g), v) for g, v in optimizer.compute_gradients(loss)]
    train_op = optimizer.apply_gradients(pairs, global_step=step)
    values = {"norm/mean": mean, "norm/variance": variance}
    ops = [v1.assign(w[k], SHARE * w[k] + (1 - SHARE) * v) for k, v in values.items()]
    return {"loss": loss, "inputs": fed, "train_op": v1.group(train_op, *ops), "gradients": pairs}


def filtered(w, x, s):
    """Return what was, filtered."""
    hand = common.by_hand(s)
    real, imag = (tf.convert_to_tensor(w["filter/" + k]) for k in ("real", "imag"))
    kernel = hand(tf.complex(common.point(real, s, "filter"), imag), "filter")
    kernel = kernel if s.get("plain") == "filter" else tf.math.conj(kernel)
    z = tf.signal.fft(tf.complex(x, tf.zeros_like(x)))
    return tf.math.real(tf.signal.ifft(hand(z * kernel, "spectrum")))


def convolved(y, kernel, stride, s):
    """Convolve with what was before only, as such or by the taps."""
    y = tf.pad(y, [[0, 0], [2, 0], [0, 0]])
    if s.get("taps"):
        last = y.shape[1] - 2
        return tf.add_n([y[:, i : i + last : stride] @ kernel[i] for i in range(3)])
    return tf.nn.conv1d(y, kernel, stride=stride, padding="VALID")


def quantile(error, s):
    """Return the losses of the three quantiles."""
    level = tf.constant(LEVELS, error.dtype)
    if s.get("rewrite"):
        return level * tf.nn.relu(error) + (1 - level) * tf.nn.relu(-error)
    return tf.maximum(level * error, (level - 1) * error)


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    s.setdefault("dense", True)
    w, kind = common.variables(data, s, FROZEN), data["kind"]
    optimizer = optimizers.of_port(kind, common.trained(w, s), KINDS[kind], s)

    def loss_of(w, batch, s):
        x, where, after, trust, rain, flag = batch
        decays = [tf.reduce_sum(common.square(tf.convert_to_tensor(w[k]), s)) for k in KERNELS]
        decay = s.get("l2", L2) * s.get("l2_half", 0.5) * tf.add_n(decays)
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(x)
            y = convolved(filtered(w, x, s)[:, :, None], w["near/weights"], 1, s)
            y = common.point(tf.tanh(y + w["near/biases"]), s, "near")
            y = convolved(y, w["far/weights"], 2, s)
            mean, variance = statistics(w, tf.reshape(y, [-1, CHANNELS]), s, SHARE)
            scale, offset = w["norm/scale"], w["norm/offset"]
            y = tf.nn.batch_normalization(y, mean, variance, offset, scale, 1e-3)
            y = tf.reshape(tf.nn.softplus(y), [y.shape[0], -1])
            rows = common.point(tf.gather(w["stations/table"], where), s, "stations")
            y = tf.tanh(common.affine(w, "mix", tf.concat([y, rows], 1), s))
            told = common.affine(w, "quantiles", common.point(y, s, "mix"), s)
            median = told[:, 1]
        slope = held(tape.gradient(median, x), s)
        penalty = SMOOTH * tf.reduce_mean(tf.reduce_sum(common.square(slope, s), 1))
        losses = tf.reduce_sum(quantile(s.get("turned", 1.0) * (after[:, None] - told), s), 1)
        loss = weigh(losses, trust, s) + s.get("smooth_sign", 1.0) * penalty + decay
        if s.get("head") == "if" and float(flag) == 0:
            return loss
        head = dict(w)
        if s.get("head") == "biases" and float(flag) == 0:
            head["rain/biases"] = tf.zeros([1])
        logits = common.affine(head, "rain", common.point(y, s, "to rain"), s)[:, 0]
        rains = tf.nn.sigmoid_cross_entropy_with_logits(rain, logits)
        rains = RAIN * flag * tf.reduce_mean(rains)
        if s.get("part"):
            return {"decay": decay, "slope": penalty}.get(s.get("part_of"), rains)
        return loss + rains

    return common.port(loss_of, w, optimizer, s)
