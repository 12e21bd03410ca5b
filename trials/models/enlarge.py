"""Images made larger: a residual network, pixels out of channels, a learned filter against blur.

Judged by points and by the features of a fixed network; batch normalization, rows for cameras,
now and then how sharp it is; RMSProp with momentum, or Adam, as the old program had it by a flag.
"""

import numpy as np
import tensorflow as tf

from trials import common, optimizers
from trials.models.porting import averages, decayed, look, old_step, told, weigh

ROWS, SIDE, CHANNELS, CAMERAS, SEEN = 6, 4, 4, 3, 5
SHAPES = {
    "in/weights": (3, 3, 1, CHANNELS),
    "norm/scale": (CHANNELS,),
    "norm/offset": (CHANNELS,),
    "norm/mean": (CHANNELS,),
    "norm/variance": (CHANNELS,),
    "cameras/table": (CAMERAS, CHANNELS),
    "deep/weights": (3, 3, CHANNELS, CHANNELS),
    "deep/biases": (CHANNELS,),
    "up/weights": (3, 3, CHANNELS, 4),
    "up/biases": (4,),
    "blur/real": (2 * SIDE, 2 * SIDE),
    "blur/imag": (2 * SIDE, 2 * SIDE),
    "fixed/weights": (3, 3, 1, SEEN),
    "sharp/weights": (CHANNELS, 1),
    "sharp/biases": (1,),
}
FROZEN = ("norm/mean", "norm/variance", "fixed/weights")
KERNELS = ("in/weights", "deep/weights", "up/weights")
KINDS = {
    "rmsprop": {"rho": 0.9, "momentum": 0.7, "epsilon": 1e-3, "start": 1.0, "lr": 0.02},
    "adam": {"beta_1": 0.9, "beta_2": 0.97, "epsilon": 1e-4, "lr": ["inverse", 0.01, 0.4]},
}
SHARE, L2, LOOKS, SHARP = 0.95, 0.02, 0.5, 0.3


def data(dtype="float32", half=None, kind="rmsprop"):
    """Make weights and five batches: small images, cameras, large ones, trust, sharpness."""
    random = np.random.RandomState(181)
    batches = []
    for flag in (1, 0, 0, 1, 1):
        camera = np.minimum(random.geometric(0.5, ROWS) - 1, CAMERAS - 1).astype("int32")
        large = np.sin(np.arange(2 * SIDE) * (0.4 + 0.3 * camera[:, None, None]))
        large = 0.5 * large + 0.4 * random.randn(ROWS, 2 * SIDE, 2 * SIDE)
        small = large.reshape(ROWS, SIDE, 2, SIDE, 2).mean((2, 4))
        trust = random.choice([0.4, 1.0, 2.0], ROWS)
        sharp = random.uniform(-1, 1, ROWS)
        parts = [a.astype(dtype) for a in (small, large, trust, sharp)]
        batches.append((parts[0], camera, *parts[1:], np.array(flag, dtype)))
    weights = common.draw(SHAPES, 182, dtype)
    weights["blur/real"] += 1
    weights["fixed/weights"] *= 2
    return {"weights": weights, "batches": batches, "half": half, "kind": kind}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data, FROZEN)
    (small, camera, large, trust, sharp, flag), fed = common.feeds(v1, data)
    small = small[..., None]
    y = v1.nn.conv2d(small, w["in/weights"], [1, 1, 1, 1], "SAME")
    mean, variance = v1.nn.moments(y, [0, 1, 2])
    y = v1.nn.batch_normalization(y, mean, variance, w["norm/offset"], w["norm/scale"], 1e-3)
    y += v1.nn.embedding_lookup(w["cameras/table"], camera)[:, None, None]
    deep = v1.nn.conv2d(v1.nn.elu(y), w["deep/weights"], [1, 1, 1, 1], "SAME")
    y += v1.tanh(v1.nn.bias_add(deep, w["deep/biases"]))
    up = v1.nn.conv2d(y, w["up/weights"], [1, 1, 1, 1], "SAME")
    up = v1.depth_to_space(v1.nn.bias_add(up, w["up/biases"]), 2)
    up += v1.image.resize_nearest_neighbor(small, [2 * SIDE, 2 * SIDE])
    up = up[..., 0]
    z = v1.fft2d(v1.complex(up, v1.zeros_like(up)))
    z *= v1.conj(v1.complex(w["blur/real"], w["blur/imag"]))
    made = v1.real(v1.ifft2d(z))

    def seen(image):
        image = v1.nn.conv2d(image[..., None], w["fixed/weights"], [1, 2, 2, 1], "SAME")
        return v1.nn.softplus(image)

    losses = v1.reduce_mean(v1.sqrt(v1.square(made - large) + 0.01), [1, 2])
    losses += LOOKS * v1.reduce_mean(v1.square(seen(made) - seen(large)), [1, 2, 3])
    loss = v1.reduce_mean(trust * losses)
    loss += L2 * v1.add_n([v1.nn.l2_loss(w[k]) for k in KERNELS])
    y = v1.reduce_mean(y, [1, 2])
    guess = v1.nn.xw_plus_b(y, w["sharp/weights"], w["sharp/biases"])[:, 0]
    loss += SHARP * flag * v1.reduce_mean(v1.square(guess - sharp))
    values = {"norm/mean": mean, "norm/variance": variance}
    ops = [v1.assign(w[k], SHARE * w[k] + (1 - SHARE) * v) for k, v in values.items()]
    kind = data["kind"]
    pairs, train_op = old_step(v1, loss, kind, KINDS[kind], moves=ops)
    return {"loss": loss, "inputs": fed, "train_op": train_op, "gradients": pairs}


def spread(y, s):
    """Make pixels out of channels."""
    if s.get("rewrite"):
        y = tf.reshape(y, [-1, SIDE, SIDE, 2, 2])
        return tf.reshape(tf.transpose(y, [0, 1, 3, 2, 4]), [-1, 2 * SIDE, 2 * SIDE])
    return tf.nn.depth_to_space(y, 2)[..., 0]


def cleared(w, y, s):
    """Return the images behind the filter."""
    hand = common.by_hand(s)
    real, imag = (tf.convert_to_tensor(w["blur/" + k]) for k in ("real", "imag"))
    blur = hand(tf.complex(common.point(real, s, "blur"), imag), "blur")
    blur = blur if s.get("plain") == "blur" else tf.math.conj(blur)
    z = hand(tf.signal.fft2d(tf.complex(y, tf.zeros_like(y))), "spectrum")
    return tf.math.real(tf.signal.ifft2d(hand(z * blur, "product")))


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    s.setdefault("dense", True)
    w, kind = common.variables(data, s, FROZEN), data["kind"]
    optimizer = optimizers.of_port(kind, common.trained(w, s), KINDS[kind], s)

    def loss_of(w, batch, s):
        small, camera, large, trust, sharp, flag = batch
        y = tf.nn.conv2d(small[..., None], w["in/weights"], 1, "SAME")
        mean, variance = averages(w, y, s, SHARE)
        scale, offset = w["norm/scale"], w["norm/offset"]
        y = tf.nn.batch_normalization(y, mean, variance, offset, scale, 1e-3)
        rows = common.point(look(w, "cameras/table", camera, s), s, "cameras")
        y = common.point(y + rows[:, None, None], s, "normal")
        deep = tf.nn.conv2d(tf.nn.elu(y), w["deep/weights"], 1, "SAME")
        y += common.point(tf.tanh(deep + w["deep/biases"]), s, "deep")
        up = spread(tf.nn.conv2d(y, w["up/weights"], 1, "SAME") + w["up/biases"], s)
        up += tf.repeat(tf.repeat(small, 2, 1), 2, 2)
        made = common.point(cleared(w, common.point(up, s, "up"), s), s, "made")

        def seen(image):
            kernel = tf.convert_to_tensor(w["fixed/weights"])
            return tf.nn.softplus(tf.nn.conv2d(image[..., None], kernel, 2, "SAME"))

        looks = tf.stop_gradient(seen(made)) if s.get("halt") == "looks" else seen(made)
        looks = LOOKS * tf.reduce_mean(common.square(looks - seen(large), s), [1, 2, 3])
        losses = tf.reduce_mean(tf.sqrt(common.square(made - large, s) + 0.01), [1, 2])
        decay = s.get("l2", L2) * decayed(w, KERNELS, s)
        loss = weigh(losses + s.get("looks_sign", 1.0) * looks, trust, s) + decay
        y = common.point(tf.reduce_mean(y, [1, 2]), s, "to sharp")

        def head(w):
            guess = common.affine(w, "sharp", y, s)[:, 0]
            return SHARP * tf.reduce_mean(common.square(guess - sharp, s))

        parts = {"decay": decay, "looks": tf.reduce_mean(trust * looks)}
        return told(loss, w, "sharp", flag, head, s, parts, s.get("sharp_sign", 1.0))

    return common.port(loss_of, w, optimizer, s)
