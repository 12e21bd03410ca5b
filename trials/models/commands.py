"""Spoken commands by short spectra: complex filters, a second complex layer, power and advance.

Batch normalization over the frames, smoothed labels, now and then the pitch; a loss scale, and
momentum with a rate that falls as a cosine, or a steady one.
"""

import numpy as np
import tensorflow as tf

from trials import common, optimizers
from trials.models.flow import statistics

ROWS, TIME, HEARD, BANDS = 10, 32, 5, 6
FRAMES, WIDE = 7, 3 * BANDS
SHAPES = {
    "filters/real": (HEARD, BANDS),
    "filters/imag": (HEARD, BANDS),
    "mix/real": (BANDS, BANDS),
    "mix/imag": (BANDS, BANDS),
    "norm/scale": (WIDE,),
    "norm/offset": (WIDE,),
    "norm/mean": (WIDE,),
    "norm/variance": (WIDE,),
    "dense/weights": (WIDE, 8),
    "dense/biases": (8,),
    "words/weights": (8, 4),
    "words/biases": (4,),
    "pitch/weights": (8, 1),
    "pitch/biases": (1,),
}
FROZEN = ("norm/mean", "norm/variance")
KERNELS = ("dense/weights", "words/weights")
RATE, STEADY, SCALE = ["cosine", 0.03, 12, 0.1], 0.03, 256.0
SGD, SHARE, SMOOTH, PITCH, L2 = {"momentum": 0.9}, 0.95, 0.1, 0.3, 0.02


def data(dtype="float32", half=None, steady=False):
    """Make weights and five batches: sounds, words, trust, pitches, and a flag."""
    random = np.random.RandomState(127)
    batches = []
    for flag in (1, 0, 1, 1, 0):
        words = random.randint(0, 4, ROWS).astype("int32")
        pitch = 0.3 + 0.3 * words + 0.1 * random.randn(ROWS)
        x = np.sin(np.arange(TIME) * pitch[:, None]) + 0.4 * random.randn(ROWS, TIME)
        trust = random.choice([0.5, 1.0, 2.0], ROWS)
        rest = [a.astype(dtype) for a in (trust, pitch, np.array(flag))]
        batches.append((x.astype(dtype), words, *rest))
    weights = common.draw(SHAPES, 128, dtype)
    return {"weights": weights, "batches": batches, "half": half, "steady": steady}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data, FROZEN)
    (x, words, trust, pitch, flag), fed = common.feeds(v1, data)
    z = v1.reshape(v1.signal.stft(x, 8, 4), [-1, HEARD])
    z = v1.matmul(z, v1.complex(w["filters/real"], w["filters/imag"]))
    z = v1.complex(v1.tanh(v1.real(z)), v1.tanh(v1.imag(z)))
    z = v1.matmul(z, v1.complex(w["mix/real"], w["mix/imag"]))
    z = v1.reshape(z, [ROWS, FRAMES, BANDS])
    power = v1.log(v1.square(v1.real(z)) + v1.square(v1.imag(z)) + 0.1)[:, 1:]
    advance = z[:, 1:] * v1.conj(z[:, :-1])
    y = v1.concat([power, v1.real(advance), v1.imag(advance)], 2)
    y = v1.reshape(y, [-1, WIDE])
    mean, variance = v1.nn.moments(y, [0])
    y = v1.nn.batch_normalization(y, mean, variance, w["norm/offset"], w["norm/scale"], 1e-3)
    y = v1.nn.elu(v1.nn.xw_plus_b(y, w["dense/weights"], w["dense/biases"]))
    y = v1.reduce_mean(v1.reshape(y, [ROWS, FRAMES - 1, 8]), 1)
    logits = v1.nn.xw_plus_b(y, w["words/weights"], w["words/biases"])
    loss = v1.losses.softmax_cross_entropy(
        v1.one_hot(words, 4), logits, trust, SMOOTH, reduction=v1.losses.Reduction.MEAN
    )
    guess = v1.nn.xw_plus_b(y, w["pitch/weights"], w["pitch/biases"])[:, 0]
    loss += PITCH * flag * v1.losses.huber_loss(pitch, guess)
    loss += L2 * v1.add_n([v1.nn.l2_loss(w[k]) for k in KERNELS])
    step = v1.train.get_or_create_global_step()
    rate = STEADY if data["steady"] else v1.train.cosine_decay(0.03, step, 12, 0.1)
    optimizer = v1.train.MomentumOptimizer(rate, 0.9)
    pairs = [
        (v1.convert_to_tensor(g) / SCALE, v) for g, v in optimizer.compute_gradients(SCALE * loss)
    ]
    train_op = optimizer.apply_gradients(pairs, global_step=step)
    values = {"norm/mean": mean, "norm/variance": variance}
    ops = [v1.assign(w[k], SHARE * w[k] + (1 - SHARE) * v) for k, v in values.items()]
    return {"loss": loss, "inputs": fed, "train_op": v1.group(train_op, *ops), "gradients": pairs}


def parts(z):
    """Return the real and the imaginary part."""
    return tf.math.real(z), tf.math.imag(z)


def times(z, kernel, s):
    """Multiply complex matrices, as such or by their parts."""
    if s.get("rewrite"):
        a, b, c, d = *parts(z), *parts(kernel)
        return tf.complex(a @ c - b @ d, a @ d + b @ c)
    return z @ kernel


def heard_in(w, x, s):
    """Return the features of the frames."""
    hand = common.by_hand(s)

    def pair(name):
        one, two = (tf.convert_to_tensor(w[f"{name}/{k}"]) for k in ("real", "imag"))
        return hand(tf.complex(common.point(one, s, name), two), name)

    if s.get("framed"):
        window = tf.signal.hann_window(8, dtype=x.dtype)
        z = tf.signal.rfft(tf.stack([x[:, i : i + 8] for i in range(0, 25, 4)], 1) * window)
    else:
        z = tf.signal.stft(x, 8, 4)
    z = times(tf.reshape(z, [-1, HEARD]), pair("filters"), s)
    z = hand(tf.complex(*(tf.tanh(part) for part in parts(z))), "filtered")
    z = hand(times(z, pair("mix"), s), "mixed")
    z = tf.reshape(z, [-1, FRAMES, BANDS])
    size = tf.square(tf.math.real(z)) + tf.square(tf.math.imag(z))
    power = common.point(tf.math.log(size + 0.1)[:, 1:], s, "power")
    before = z[:, :-1]
    before = tf.stop_gradient(before) if s.get("halt") == "before" else before
    before = before if s.get("advance") == "plain" else tf.math.conj(before)
    advance = hand(z[:, 1:] * before, "advance")
    return tf.reshape(tf.concat([power, *parts(advance)], 2), [-1, WIDE])


def entropy(logits, words, s):
    """Return the losses of the words, with smoothed labels."""
    labels = tf.one_hot(words, 4, dtype=logits.dtype) * (1 - SMOOTH) + SMOOTH / 4
    if s.get("rewrite"):
        return tf.reduce_logsumexp(logits, 1) - tf.reduce_sum(labels * logits, 1)
    return tf.nn.softmax_cross_entropy_with_logits(labels, logits)


def weigh(losses, trust, s):
    """Reduce the losses of the words to one: over the sum of the weights."""
    how = s.get("sample_weights")
    if how == "out":
        trust = tf.ones_like(trust)
    if how == "one":
        trust = tf.concat([trust[:-2], trust[-2:-1] * s["one"], trust[-1:]], 0)
    if how == "floor":
        trust = tf.maximum(trust, s["floor"])
    if how == "squared":
        trust = trust * trust
    total = tf.reduce_sum(trust) + s.get("more", 0.0)
    total = {"rows": 1.0 * ROWS, "sum": 1.0}.get(s.get("reduce"), total)
    return tf.reduce_sum(trust * losses) / total


def huber(error, s):
    """Return Huber's loss."""
    if s.get("rewrite"):
        near = tf.minimum(tf.abs(error), 1.0)
        return 0.5 * near * near + tf.abs(error) - near
    return tf.where(tf.abs(error) < 1, 0.5 * tf.square(error), tf.abs(error) - 0.5)


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    s.setdefault("dense", True)
    s.setdefault("scale", SCALE)
    s.setdefault("library", "keras" if data["steady"] else "hand")
    w = common.variables(data, s, FROZEN)
    settings = {**SGD, "lr": STEADY if data["steady"] else RATE}
    optimizer = optimizers.of_port("sgd", common.trained(w, s), settings, s)

    def affine(w, name, y, s):
        y = common.matmul(common.point(y, s, "to " + name), w[name + "/weights"], s)
        return y + w[name + "/biases"]

    def loss_of(w, batch, s):
        x, words, trust, pitch, flag = batch
        decays = [tf.reduce_sum(common.square(tf.convert_to_tensor(w[k]), s)) for k in KERNELS]
        decay = s.get("l2", L2) * s.get("l2_half", 0.5) * tf.add_n(decays)
        y = heard_in(w, x, s)
        mean, variance = statistics(w, y, s, SHARE)
        scale, offset = w["norm/scale"], w["norm/offset"]
        y = tf.nn.batch_normalization(y, mean, variance, offset, scale, 1e-3)
        y = tf.nn.elu(affine(w, "dense", y, s))
        y = common.point(tf.reduce_mean(tf.reshape(y, [-1, FRAMES - 1, 8]), 1), s, "dense")
        loss = weigh(entropy(affine(w, "words", y, s), words, s), trust, s) + decay
        if s.get("head") == "if" and float(flag) == 0:
            return loss
        head = dict(w)
        if s.get("head") == "biases" and float(flag) == 0:
            head["pitch/biases"] = tf.zeros([1])
        error = affine(head, "pitch", y, s)[:, 0] - pitch
        error = PITCH * flag * tf.reduce_mean(huber(error, s))
        if s.get("part"):
            return decay if s.get("part_of") == "decay" else error
        return loss + s.get("pitch_sign", 1.0) * error

    return common.port(loss_of, w, optimizer, s)
