"""A contractive autoencoder of images behind a learned lens: a complex filter of their spectrum.

Convolutions there and back, batch normalization, marks that are given now and then. The optimizer
is Nesterov's, RMSProp or Adam, as the old program had it by a flag.
"""

import numpy as np
import tensorflow as tf

from trials import common, optimizers
from trials.models.flow import held, statistics

ROWS, SIDE, CHANNELS, CODE = 8, 6, 3, 5
FLAT = (SIDE // 2) ** 2 * CHANNELS
SHAPES = {
    "lens/real": (SIDE, SIDE),
    "lens/imag": (SIDE, SIDE),
    "in/weights": (3, 3, 1, CHANNELS),
    "norm/scale": (CHANNELS,),
    "norm/offset": (CHANNELS,),
    "norm/mean": (CHANNELS,),
    "norm/variance": (CHANNELS,),
    "code/weights": (FLAT, CODE),
    "code/biases": (CODE,),
    "turn/weights": (CODE, CODE),
    "turn/biases": (CODE,),
    "back/weights": (CODE, FLAT),
    "back/biases": (FLAT,),
    "out/weights": (3, 3, 1, CHANNELS),
    "out/biases": (1,),
    "marks/weights": (CODE, 3),
    "marks/biases": (3,),
}
FROZEN = ("norm/mean", "norm/variance")
KERNELS = ("in/weights", "code/weights", "back/weights", "out/weights")
KINDS = {
    "sgd": {"momentum": 0.9, "nesterov": True, "lr": 0.02},
    "rmsprop": {"rho": 0.9, "epsilon": 1e-3, "start": 1.0, "lr": 0.05},
    "adam": {"beta_1": 0.8, "beta_2": 0.98, "epsilon": 1e-4, "lr": 0.01},
}
SHARE, L2, SMOOTH, MARKS = 0.9, 0.01, 0.2, 0.5


def data(dtype="float32", half=None, kind="sgd"):
    """Make weights and five batches: images, which points are known, marks, and a flag."""
    random = np.random.RandomState(131)
    batches = []
    for flag in (1, 1, 0, 1, 0):
        marks = random.randint(0, 3, ROWS).astype("int32")
        waves = np.sin(np.arange(SIDE) * (1 + marks[:, None, None]))
        x = 0.5 * random.randn(ROWS, SIDE, SIDE) + waves
        known = random.uniform(size=(ROWS, SIDE, SIDE)) < 0.8
        batches.append((*(a.astype(dtype) for a in (x, known)), marks, np.array(flag, dtype)))
    weights = common.draw(SHAPES, 132, dtype)
    weights["lens/real"] += 1
    return {"weights": weights, "batches": batches, "half": half, "kind": kind}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data, FROZEN)
    (x, known, marks, flag), fed = common.feeds(v1, data)
    z = v1.fft2d(v1.complex(x, v1.zeros_like(x))) * v1.complex(w["lens/real"], w["lens/imag"])
    y = v1.real(v1.ifft2d(z))[..., None]
    y = v1.nn.conv2d(y, w["in/weights"], [1, 2, 2, 1], "SAME")
    mean, variance = v1.nn.moments(y, [0, 1, 2])
    y = v1.nn.batch_normalization(y, mean, variance, w["norm/offset"], w["norm/scale"], 1e-3)
    y = v1.reshape(v1.nn.elu(y), [ROWS, FLAT])
    y = v1.tanh(v1.nn.xw_plus_b(y, w["code/weights"], w["code/biases"]))
    code = v1.tanh(v1.nn.xw_plus_b(y, w["turn/weights"], w["turn/biases"]))
    y = v1.nn.elu(v1.nn.xw_plus_b(code, w["back/weights"], w["back/biases"]))
    y = v1.reshape(y, [ROWS, SIDE // 2, SIDE // 2, CHANNELS])
    y = v1.nn.conv2d_transpose(y, w["out/weights"], [ROWS, SIDE, SIDE, 1], [1, 2, 2, 1])
    y = v1.nn.bias_add(y, w["out/biases"])[..., 0]
    loss = v1.reduce_sum(known * v1.square(y - x)) / v1.reduce_sum(known)
    slope = v1.gradients(code, [x])[0]
    loss += SMOOTH * v1.reduce_mean(v1.reduce_sum(v1.square(slope), [1, 2]))
    logits = v1.nn.xw_plus_b(code, w["marks/weights"], w["marks/biases"])
    losses = v1.nn.sparse_softmax_cross_entropy_with_logits(labels=marks, logits=logits)
    loss += MARKS * flag * v1.reduce_mean(losses)
    loss += L2 * v1.add_n([v1.nn.l2_loss(w[k]) for k in KERNELS])
    optimizer = {
        "sgd": lambda: v1.train.MomentumOptimizer(0.02, 0.9, use_nesterov=True),
        "rmsprop": lambda: v1.train.RMSPropOptimizer(0.05, 0.9, epsilon=1e-3),
        "adam": lambda: v1.train.AdamOptimizer(0.01, 0.8, 0.98, 1e-4),
    }[data["kind"]]()
    pairs = optimizer.compute_gradients(loss)
    train_op = optimizer.apply_gradients(pairs)
    values = {"norm/mean": mean, "norm/variance": variance}
    ops = [v1.assign(w[k], SHARE * w[k] + (1 - SHARE) * v) for k, v in values.items()]
    return {"loss": loss, "inputs": fed, "train_op": v1.group(train_op, *ops), "gradients": pairs}


def seen_of(w, x, s):
    """Return the images behind the lens."""
    hand = common.by_hand(s)
    real, imag = (tf.convert_to_tensor(w["lens/" + k]) for k in ("real", "imag"))
    lens = hand(tf.complex(common.point(real, s, "lens"), imag), "lens")
    lens = tf.math.conj(lens) if s.get("lens") == "conjugate" else lens
    z = hand(hand(tf.signal.fft2d(tf.complex(x, tf.zeros_like(x))), "spectrum") * lens, "filtered")
    return tf.math.real(tf.signal.ifft2d(z))[..., None]


def drawn(w, code, s):
    """Return the images that the code stands for."""
    y = common.point(tf.nn.elu(common.affine(w, "back", code, s)), s, "back")
    y = tf.reshape(y, [-1, SIDE // 2, SIDE // 2, CHANNELS])
    y = tf.nn.conv2d_transpose(y, w["out/weights"], [ROWS, SIDE, SIDE, 1], [1, 2, 2, 1])
    return (y + w["out/biases"])[..., 0]


def weigh(errors, known, s):
    """Reduce the errors of the points to one: over those that are known."""
    how = s.get("sample_weights")
    if how == "out":
        known = tf.ones_like(known)
    if how == "later":
        known = tf.roll(known, 1, 2)
    if how == "floor":
        known = tf.maximum(known, s["floor"])
    if how == "first":
        known = tf.concat([known[:1] * s["first"], known[1:]], 0)
    total = tf.reduce_sum(known) + s.get("more", 0.0)
    total = {"rows": 1.0 * ROWS, "all": 1.0 * ROWS * SIDE**2}.get(s.get("reduce"), total)
    return tf.reduce_sum(known * errors) / total


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    w, kind = common.variables(data, s, FROZEN), data["kind"]
    optimizer = optimizers.of_port(kind, common.trained(w, s), KINDS[kind], s)

    def loss_of(w, batch, s):
        x, known, marks, flag = batch
        decays = [tf.reduce_sum(common.square(tf.convert_to_tensor(w[k]), s)) for k in KERNELS]
        decay = s.get("l2", L2) * s.get("l2_half", 0.5) * tf.add_n(decays)
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(x)
            y = tf.nn.conv2d(seen_of(w, x, s), w["in/weights"], [1, 2, 2, 1], "SAME")
            y = tf.reshape(y, [-1, CHANNELS])
            mean, variance = statistics(w, y, s, SHARE)
            scale, offset = w["norm/scale"], w["norm/offset"]
            y = tf.nn.batch_normalization(y, mean, variance, offset, scale, 1e-3)
            y = tf.reshape(tf.nn.elu(y), [-1, FLAT])
            y = common.point(
                tf.tanh(common.affine(w, "code", common.point(y, s, "in"), s)), s, "code"
            )
            code = tf.tanh(common.affine(w, "turn", y, s))
        slope = held(tape.gradient(code, x), s)
        penalty = SMOOTH * tf.reduce_mean(tf.reduce_sum(common.square(slope, s), [1, 2]))
        y = drawn(w, common.point(code, s, "to back"), s)
        loss = weigh(common.square(y - x, s), known, s)
        loss += s.get("smooth_sign", 1.0) * penalty + decay
        if s.get("head") == "if" and float(flag) == 0:
            return loss
        head = dict(w)
        if s.get("head") == "biases" and float(flag) == 0:
            head["marks/biases"] = tf.zeros([3])
        logits = common.affine(head, "marks", common.point(code, s, "to marks"), s)
        told = MARKS * flag * tf.reduce_mean(common.cross_entropy(logits, marks, s))
        if s.get("part"):
            return {"decay": decay, "slope": penalty}.get(s.get("part_of"), told)
        return loss + told

    return common.port(loss_of, w, optimizer, s)
