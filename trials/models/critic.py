"""A critic of sounds that knows their kind, with a penalty on its slope at the real ones (R1).

Learned matched filters of the spectrum; RMSProp, Adagrad or Adam, as the old program had it by a
flag; clipped by one norm.
"""

import numpy as np
import tensorflow as tf

from trials import common, optimizers
from trials.models.flow import held
from trials.models.machines import weigh

ROWS, TIME, SORTS, CHANNELS, SIZE = 12, 10, 5, 4, 6
SHAPES = {
    "sorts/table": (SORTS, SIZE),
    "match/real": (2, TIME),
    "match/imag": (2, TIME),
    "conv/weights": (3, 2, CHANNELS),
    "conv/biases": (CHANNELS,),
    "dense/weights": (TIME // 2 * CHANNELS, SIZE),
    "dense/biases": (SIZE,),
    "turn/weights": (SIZE, SIZE),
    "turn/biases": (SIZE,),
    "real/weights": (SIZE, 1),
    "real/biases": (1,),
    "pitch/weights": (SIZE, 1),
    "pitch/biases": (1,),
}
KERNELS = ("conv/weights", "dense/weights", "turn/weights")
KINDS = {
    "rmsprop": {"rho": 0.9, "epsilon": 1e-3, "start": 1.0, "lr": 0.03},
    "adagrad": {"start": 0.1, "epsilon": 0.0, "lr": [0.05, 2, 0.8, True]},
    "adam": {"beta_1": 0.5, "beta_2": 0.9, "epsilon": 1e-4, "lr": [0.01, 2, 0.8, True]},
}
CLIP, R1, L2, PITCH = ("global", 1.0), 0.5, 0.01, 0.4


def data(dtype="float32", half=None, kind="rmsprop"):
    """Make weights and five batches: real sounds, made ones, sorts, trust, pitch, a flag."""
    random = np.random.RandomState(161)
    batches = []
    for flag in (1, 0, 1, 0, 1):
        sorts = np.minimum(random.geometric(0.35, ROWS) - 1, SORTS - 1).astype("int32")
        real = np.sin(0.7 * np.arange(TIME) * (1 + sorts[:, None]))
        real = real + 0.3 * random.randn(ROWS, TIME)
        made = random.randn(ROWS, TIME)
        trust = random.choice([0.4, 1.0, 3.0], ROWS)
        pitch = random.uniform(-1, 1, ROWS)
        real, made, trust, pitch = (a.astype(dtype) for a in (real, made, trust, pitch))
        batches.append((real, made, sorts, trust, pitch, np.array(flag, dtype)))
    weights = common.draw(SHAPES, 162, dtype)
    for name in ("match/real", "match/imag", "dense/weights", "real/weights"):
        weights[name] *= 2
    return {"weights": weights, "batches": batches, "half": half, "kind": kind}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data)
    (real, made, sorts, trust, pitch, flag), fed = common.feeds(v1, data)

    def affine(y, name):
        return v1.nn.xw_plus_b(y, w[name + "/weights"], w[name + "/biases"])

    def critic(x):
        z = v1.fft(v1.complex(x, v1.zeros_like(x)))[:, None]
        z *= v1.conj(v1.complex(w["match/real"], w["match/imag"]))
        y = v1.transpose(v1.real(v1.ifft(z)), [0, 2, 1])
        y = v1.nn.conv1d(y, w["conv/weights"], stride=2, padding="SAME") + w["conv/biases"]
        y = v1.reshape(v1.nn.softplus(y), [ROWS, -1])
        y = v1.tanh(affine(v1.tanh(affine(y, "dense")), "turn"))
        sort = v1.nn.embedding_lookup(w["sorts/table"], sorts)
        return affine(y, "real")[:, 0] + v1.reduce_sum(sort * y, 1), y

    (right, y), (wrong, _) = critic(real), critic(made)
    loss = v1.reduce_mean(trust * (v1.nn.softplus(-right) + v1.nn.softplus(wrong)))
    slope = v1.gradients(right, [real])[0]
    loss += R1 * v1.reduce_mean(v1.reduce_sum(v1.square(slope), 1))
    loss += PITCH * flag * v1.reduce_mean(v1.square(affine(y, "pitch")[:, 0] - pitch))
    loss += L2 * v1.add_n([v1.nn.l2_loss(w[k]) for k in KERNELS])
    step = v1.train.get_or_create_global_step()

    def rate(first):
        return v1.train.exponential_decay(first, step, 2, 0.8, staircase=True)

    optimizer = {
        "rmsprop": lambda: v1.train.RMSPropOptimizer(0.03, 0.9, epsilon=1e-3),
        "adagrad": lambda: v1.train.AdagradOptimizer(rate(0.05), 0.1),
        "adam": lambda: v1.train.AdamOptimizer(rate(0.01), 0.5, 0.9, 1e-4),
    }[data["kind"]]()
    grads, sources = zip(*optimizer.compute_gradients(loss), strict=True)
    grads, _ = v1.clip_by_global_norm([v1.convert_to_tensor(g) for g in grads], CLIP[1])
    pairs = list(zip(grads, sources, strict=True))
    train_op = optimizer.apply_gradients(pairs, global_step=step)
    return {"loss": loss, "inputs": fed, "train_op": train_op, "gradients": pairs}


def matched(w, x, s):
    """Return how the sounds match the filters, at each time."""
    hand = common.by_hand(s)
    one, two = (tf.convert_to_tensor(w["match/" + k]) for k in ("real", "imag"))
    match = hand(tf.complex(common.point(one, s, "match"), two), "match")
    match = match if s.get("plain") == "match" else tf.math.conj(match)
    z = tf.signal.fft(tf.complex(x, tf.zeros_like(x)))
    z = hand(hand(z, "spectrum")[:, None] * match, "product")
    return tf.transpose(tf.math.real(tf.signal.ifft(z)), [0, 2, 1])


def judged(w, x, sorts, s):
    """Return how real the sounds are, and what is known of them."""
    y = tf.nn.conv1d(matched(w, x, s), w["conv/weights"], stride=2, padding="SAME")
    y = common.point(tf.nn.softplus(y + w["conv/biases"]), s, "conv")
    y = tf.tanh(common.affine(w, "dense", tf.reshape(y, [-1, TIME // 2 * CHANNELS]), s))
    y = common.point(tf.tanh(common.affine(w, "turn", common.point(y, s, "dense"), s)), s, "turn")
    if s.get("one_hot"):
        sort = tf.one_hot(sorts, SORTS, dtype=y.dtype) @ tf.convert_to_tensor(w["sorts/table"])
    else:
        sort = tf.gather(w["sorts/table"], sorts)
    sort = common.point(sort, s, "sorts")
    known = tf.einsum("rd,rd->r", sort, y) if s.get("rewrite") else tf.reduce_sum(sort * y, 1)
    return common.affine(w, "real", y, s)[:, 0] + known, y


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    s.setdefault("dense", True)
    w, kind = common.variables(data, s), data["kind"]
    optimizer = optimizers.of_port(kind, common.trained(w, s), KINDS[kind], s)

    def loss_of(w, batch, s):
        real, made, sorts, trust, pitch, flag = batch
        decays = [tf.reduce_sum(common.square(tf.convert_to_tensor(w[k]), s)) for k in KERNELS]
        decay = s.get("l2", L2) * s.get("l2_half", 0.5) * tf.add_n(decays)
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(real)
            right, y = judged(w, real, sorts, s)
        slope = held(tape.gradient(right, real), s)
        penalty = R1 * tf.reduce_mean(tf.reduce_sum(common.square(slope, s), 1))
        wrong, _ = judged(w, made, sorts, s)
        wrong = tf.stop_gradient(wrong) if s.get("halt") == "made" else wrong
        losses = tf.nn.softplus(-s.get("right_sign", 1.0) * right) + tf.nn.softplus(wrong)
        loss = weigh(losses, trust, s) + s.get("slope_sign", 1.0) * penalty + decay
        if s.get("head") == "if" and float(flag) == 0:
            return loss
        head = dict(w)
        if s.get("head") == "biases" and float(flag) == 0:
            head["pitch/biases"] = tf.zeros([1])
        guess = common.affine(head, "pitch", common.point(y, s, "to pitch"), s)[:, 0]
        heard = PITCH * flag * tf.reduce_mean(common.square(guess - pitch, s))
        if s.get("part"):
            return {"decay": decay, "slope": penalty}.get(s.get("part_of"), heard)
        return loss + heard

    return common.port(loss_of, w, optimizer, s, CLIP)
