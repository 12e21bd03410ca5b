"""Images from a part of their spectrum: two steps down a learned energy, then a small network.

A coil that is learned as a complex map, batch normalization, now and then a grade; RMSProp with
momentum or Adam, as the old program had it by a flag; in double precision.
"""

import numpy as np
import tensorflow as tf

from trials import common, optimizers
from trials.models.flow import held, statistics
from trials.models.pulses import weigh

ROWS, SIDE, PARTS, CHANNELS, UNROLLED = 6, 6, 3, 4, 2
SHAPES = {
    "coil/real": (SIDE, SIDE),
    "coil/imag": (SIDE, SIDE),
    "energy/weights": (3, 3, 2, PARTS),
    "energy/strength": (PARTS,),
    "in/weights": (3, 3, 1, CHANNELS),
    "norm/scale": (CHANNELS,),
    "norm/offset": (CHANNELS,),
    "norm/mean": (CHANNELS,),
    "norm/variance": (CHANNELS,),
    "out/weights": (3, 3, CHANNELS, 1),
    "out/biases": (1,),
    "grade/weights": (CHANNELS, 3),
    "grade/biases": (3,),
}
FROZEN = ("norm/mean", "norm/variance")
KERNELS = ("energy/weights", "in/weights", "out/weights")
BOUNDS, RATES = [1, 3], [0.02, 0.01, 0.005]
KINDS = {
    "rmsprop": {"rho": 0.9, "momentum": 0.5, "epsilon": 1e-3, "start": 1.0, "lr": 0.02},
    "adam": {"beta_1": 0.9, "beta_2": 0.98, "epsilon": 1e-4},
}
SHARE, L2, GRADE = 0.9, 0.01, 0.3


def data(dtype="float64", half=None, kind="rmsprop"):
    """Make weights and five batches: spectra, what was measured, images, where, grades, a flag."""
    random = np.random.RandomState(151)
    batches = []
    for flag in (1, 1, 0, 1, 0):
        grade = random.randint(0, 3, ROWS).astype("int32")
        image = np.cos(np.arange(SIDE) * (0.5 + grade[:, None, None])) + 0.3
        image = image + 0.3 * random.randn(ROWS, SIDE, SIDE)
        seen = (random.uniform(size=(ROWS, 1, SIDE)) < 0.7) * np.ones([SIDE, 1])
        spectrum = np.fft.fft2(image * np.exp(0.5j * random.randn(ROWS, 1, 1))) * seen / SIDE
        where = random.choice([0.2, 1.0, 3.0], (ROWS, SIDE, SIDE))
        parts = (spectrum.real, spectrum.imag, seen, image, where)
        batches.append((*(a.astype(dtype) for a in parts), grade, np.array(flag, dtype)))
    weights = common.draw(SHAPES, 152, dtype)
    weights["coil/real"] += 1
    weights["out/biases"] += 0.7
    return {"weights": weights, "batches": batches, "half": half, "kind": kind}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data, FROZEN)
    (real, imag, seen, image, where, grade, flag), fed = common.feeds(v1, data)
    coil, spectrum = v1.complex(w["coil/real"], w["coil/imag"]), v1.complex(real, imag)
    there = v1.complex(seen, v1.zeros_like(seen))
    x = v1.conj(coil) * v1.ifft2d(spectrum) * SIDE
    for _ in range(UNROLLED):
        parts = v1.stack([v1.real(x), v1.imag(x)], 3)
        y = v1.nn.conv2d(parts, w["energy/weights"], [1, 1, 1, 1], "SAME")
        energy = v1.reduce_sum(w["energy/strength"] * v1.log(1 + v1.square(y)))
        slope = v1.gradients(energy, [parts])[0]
        wrong = there * v1.fft2d(coil * x) / SIDE - spectrum
        x -= 0.5 * v1.conj(coil) * v1.ifft2d(wrong) * SIDE
        x -= v1.complex(slope[..., 0], slope[..., 1])
    size = v1.sqrt(v1.square(v1.real(x)) + v1.square(v1.imag(x)) + 0.01)
    y = v1.nn.conv2d(size[..., None], w["in/weights"], [1, 1, 1, 1], "SAME")
    mean, variance = v1.nn.moments(y, [0, 1, 2])
    y = v1.nn.batch_normalization(y, mean, variance, w["norm/offset"], w["norm/scale"], 1e-3)
    y = v1.nn.elu(y)
    out = v1.nn.conv2d(y, w["out/weights"], [1, 1, 1, 1], "SAME")
    out = size + v1.nn.bias_add(out, w["out/biases"])[..., 0]
    loss = v1.reduce_sum(where * v1.square(out - image)) / v1.reduce_sum(where)
    y = v1.reduce_mean(y, [1, 2])
    logits = v1.nn.xw_plus_b(y, w["grade/weights"], w["grade/biases"])
    losses = v1.nn.sparse_softmax_cross_entropy_with_logits(labels=grade, logits=logits)
    loss += GRADE * flag * v1.reduce_mean(losses)
    loss += L2 * v1.add_n([v1.nn.l2_loss(w[k]) for k in KERNELS])
    step = v1.train.get_or_create_global_step()
    if data["kind"] == "adam":
        rate = v1.train.piecewise_constant(
            step, [v1.constant(b, step.dtype) for b in BOUNDS], RATES
        )
        optimizer = v1.train.AdamOptimizer(rate, 0.9, 0.98, 1e-4)
    else:
        optimizer = v1.train.RMSPropOptimizer(0.02, 0.9, 0.5, 1e-3)
    pairs = optimizer.compute_gradients(loss)
    train_op = optimizer.apply_gradients(pairs, global_step=step)
    values = {"norm/mean": mean, "norm/variance": variance}
    ops = [v1.assign(w[k], SHARE * w[k] + (1 - SHARE) * v) for k, v in values.items()]
    return {"loss": loss, "inputs": fed, "train_op": v1.group(train_op, *ops), "gradients": pairs}


def found(w, spectrum, seen, s):
    """Return the sizes of the image's points, after the steps down the energy."""
    hand = common.by_hand(s)
    parts = [tf.convert_to_tensor(w["coil/" + k]) for k in ("real", "imag")]
    coil = hand(tf.complex(common.point(parts[0], s, "coil"), parts[1]), "coil")
    back = coil if s.get("plain") == "back" else tf.math.conj(coil)
    there = tf.complex(seen, tf.zeros_like(seen))
    x = (coil if s.get("plain") == "first" else tf.math.conj(coil)) * tf.signal.ifft2d(spectrum)
    x *= SIDE
    for i in range(UNROLLED):
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            parts = tf.stack([tf.math.real(x), tf.math.imag(x)], 3)
            tape.watch(parts)
            y = tf.nn.conv2d(parts, w["energy/weights"], 1, "SAME")
            high = tf.math.log1p(y * y) if s.get("rewrite") else tf.math.log(1 + tf.square(y))
            energy = tf.reduce_sum(w["energy/strength"] * high)
        slope = held(tape.gradient(energy, parts), s)
        wrong = there * hand(tf.signal.fft2d(coil * x) / SIDE, "spectrum") - spectrum
        x -= 0.5 * back * tf.signal.ifft2d(hand(wrong, "wrong")) * SIDE
        x -= tf.complex(slope[..., 0], slope[..., 1])
        x = tf.stop_gradient(x) if s.get("cut") == i else x
    x = hand(x, "image")
    return tf.sqrt(tf.square(tf.math.real(x)) + tf.square(tf.math.imag(x)) + 0.01)


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    w, kind = common.variables(data, s, FROZEN), data["kind"]
    rates = ["piecewise", s.get("bounds", BOUNDS), s.get("rates", RATES)]
    optimizer = optimizers.of_port(kind, common.trained(w, s), {"lr": rates, **KINDS[kind]}, s)

    def loss_of(w, batch, s):
        real, imag, seen, image, where, grade, flag = batch
        decays = [tf.reduce_sum(common.square(tf.convert_to_tensor(w[k]), s)) for k in KERNELS]
        decay = s.get("l2", L2) * s.get("l2_half", 0.5) * tf.add_n(decays)
        size = common.point(found(w, tf.complex(real, imag), seen, s), s, "size")
        y = tf.nn.conv2d(size[..., None], w["in/weights"], 1, "SAME")
        mean, variance = statistics(w, tf.reshape(y, [-1, CHANNELS]), s, SHARE)
        scale, offset = w["norm/scale"], w["norm/offset"]
        y = tf.nn.elu(tf.nn.batch_normalization(y, mean, variance, offset, scale, 1e-3))
        y = common.point(y, s, "normal")
        out = size + (tf.nn.conv2d(y, w["out/weights"], 1, "SAME") + w["out/biases"])[..., 0]
        loss = weigh(common.square(out - image, s), where, s) + decay
        if s.get("head") == "if" and float(flag) == 0:
            return loss
        head = dict(w)
        if s.get("head") == "biases" and float(flag) == 0:
            head["grade/biases"] = tf.zeros([3], tf.float64)
        y = common.point(tf.reduce_mean(y, [1, 2]), s, "to grade")
        logits = common.matmul(y, head["grade/weights"], s) + head["grade/biases"]
        graded = GRADE * flag * tf.reduce_mean(common.cross_entropy(logits, grade, s))
        if s.get("part"):
            return decay if s.get("part_of") == "decay" else graded
        return loss + s.get("grade_sign", 1.0) * graded

    return common.port(loss_of, w, optimizer, s)
