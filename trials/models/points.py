"""Pose of a cloud of points: one network for each point, the largest over them, a complex turn.

Batch normalization, rows of a table for the sorts of things, a complex camera that is kept close
to an orthogonal one, now and then the class; Adam with a rate by bounds, or momentum.
"""

import numpy as np
import tensorflow as tf

from trials import common, optimizers
from trials.models.porting import averages, decayed, look, old_step, told, weigh

ROWS, POINTS, VIEWS, SORTS, ROW, SIZE, LARGE = 9, 6, 2, 5, 3, 8, 10
SHAPES = {
    "sorts/table": (SORTS, ROW),
    "camera/real": (3, VIEWS),
    "camera/imag": (3, VIEWS),
    "first/weights": (3 + ROW, SIZE),
    "norm/scale": (SIZE,),
    "norm/offset": (SIZE,),
    "norm/mean": (SIZE,),
    "norm/variance": (SIZE,),
    "second/weights": (SIZE, LARGE),
    "second/biases": (LARGE,),
    "turn/weights": (LARGE, 2 * VIEWS),
    "turn/biases": (2 * VIEWS,),
    "class/weights": (LARGE, 3),
    "class/biases": (3,),
}
FROZEN = ("norm/mean", "norm/variance")
KERNELS = ("first/weights", "second/weights", "turn/weights")
BOUNDS, RATES = [2, 4], [0.02, 0.012, 0.005]
KINDS = {
    "adam": {
        "beta_1": 0.85,
        "beta_2": 0.97,
        "epsilon": 1e-4,
        "lr": ["piecewise", BOUNDS, RATES],
    },
    "sgd": {"momentum": 0.85, "lr": 0.02},
}
SHARE, L2, TIGHT, UNIT, CLASS = 0.93, 0.01, 0.1, 0.2, 0.4


def data(dtype="float32", half=None, kind="adam"):
    """Make weights and five batches: points, sorts, what is seen, trust, classes, a flag."""
    random = np.random.RandomState(191)
    batches = []
    for flag in (1, 0, 0, 1, 1):
        sort = np.minimum(random.geometric(0.35, ROWS) - 1, SORTS - 1).astype("int32")
        x = random.randn(ROWS, POINTS, 3) + 0.3 * sort[:, None, None]
        angle = random.uniform(-2, 2, (ROWS, 1, VIEWS))
        seen = np.exp(1j * angle) * (x[..., :2] + 1j * x[..., 1:])
        trust = random.choice([0.5, 1.0, 1.6], ROWS)
        classes = random.randint(0, 3, ROWS).astype("int32")
        parts = [a.astype(dtype) for a in (x, seen.real, seen.imag, trust)]
        batches.append((parts[0], sort, *parts[1:], classes, np.array(flag, dtype)))
    weights = common.draw(SHAPES, 192, dtype)
    weights["sorts/table"] *= 2
    weights["turn/biases"] += 0.5
    return {"weights": weights, "batches": batches, "half": half, "kind": kind}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data, FROZEN)
    (x, sort, real, imag, trust, classes, flag), fed = common.feeds(v1, data)
    row = v1.nn.embedding_lookup(w["sorts/table"], sort)
    row = v1.tile(row[:, None], [1, POINTS, 1])
    y = v1.reshape(v1.concat([x, row], 2), [-1, 3 + ROW])
    y = v1.matmul(y, w["first/weights"])
    mean, variance = v1.nn.moments(y, [0])
    y = v1.nn.batch_normalization(y, mean, variance, w["norm/offset"], w["norm/scale"], 1e-3)
    y = v1.nn.xw_plus_b(v1.nn.elu(y), w["second/weights"], w["second/biases"])
    y = v1.reduce_max(v1.reshape(v1.tanh(y), [ROWS, POINTS, LARGE]), 1)
    pose = v1.nn.xw_plus_b(y, w["turn/weights"], w["turn/biases"])
    pose = v1.complex(pose[:, :VIEWS], pose[:, VIEWS:])
    camera = v1.complex(w["camera/real"], w["camera/imag"])
    flat = v1.reshape(v1.complex(x, v1.zeros_like(x)), [-1, 3])
    view = v1.reshape(v1.matmul(flat, camera), [ROWS, POINTS, VIEWS])
    wrong = v1.conj(pose)[:, None] * view - v1.complex(real, imag)
    losses = v1.reduce_mean(v1.square(v1.real(wrong)) + v1.square(v1.imag(wrong)), [1, 2])
    loss = v1.reduce_mean(trust * losses)
    gram = v1.matmul(camera, camera, adjoint_a=True)
    gram -= v1.complex(v1.eye(VIEWS), v1.zeros([VIEWS, VIEWS]))
    loss += TIGHT * v1.reduce_sum(v1.square(v1.real(gram)) + v1.square(v1.imag(gram)))
    size = v1.square(v1.real(pose)) + v1.square(v1.imag(pose))
    loss += UNIT * v1.reduce_mean(v1.square(size - 1))
    loss += L2 * v1.add_n([v1.nn.l2_loss(w[k]) for k in KERNELS])
    logits = v1.nn.xw_plus_b(y, w["class/weights"], w["class/biases"])
    losses = v1.nn.sparse_softmax_cross_entropy_with_logits(labels=classes, logits=logits)
    loss += CLASS * flag * v1.reduce_mean(losses)
    values = {"norm/mean": mean, "norm/variance": variance}
    ops = [v1.assign(w[k], SHARE * w[k] + (1 - SHARE) * v) for k, v in values.items()]
    kind = data["kind"]
    pairs, train_op = old_step(v1, loss, kind, KINDS[kind], moves=ops)
    return {"loss": loss, "inputs": fed, "train_op": train_op, "gradients": pairs}


def power(z):
    """Return the square of what a complex number measures."""
    return tf.square(tf.math.real(z)) + tf.square(tf.math.imag(z))


def seen(w, x, pose, s):
    """Return what a camera sees when the pose is turned back, and how far it is from orthogonal."""
    hand = common.by_hand(s)
    real, imag = (tf.convert_to_tensor(w["camera/" + k]) for k in ("real", "imag"))
    camera = hand(tf.complex(common.point(real, s, "real"), imag), "camera")
    if s.get("rewrite"):
        view = tf.complex(tf.matmul(x, real), tf.matmul(x, imag))
    else:
        view = tf.einsum("rpi,iv->rpv", tf.complex(x, tf.zeros_like(x)), camera)
    back = pose if s.get("plain") == "pose" else tf.math.conj(pose)
    view = hand(back[:, None] * hand(view, "view"), "product")
    other = tf.transpose(camera)
    other = other if s.get("plain") == "gram" else tf.math.conj(other)
    gram = hand(tf.matmul(other, camera), "gram")
    return view, tf.reduce_sum(power(gram - tf.eye(VIEWS, dtype=gram.dtype)))


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    s.setdefault("dense", True)
    w, kind = common.variables(data, s, FROZEN), data["kind"]
    optimizer = optimizers.of_port(kind, common.trained(w, s), KINDS[kind], s)

    def loss_of(w, batch, s):
        x, sort, real, imag, trust, classes, flag = batch
        row = common.point(look(w, "sorts/table", sort, s), s, "sorts")
        row = tf.repeat(row[:, None], POINTS, 1)
        y = tf.reshape(tf.concat([x, row], 2), [-1, 3 + ROW])
        y = common.point(common.matmul(y, w["first/weights"], s), s, "first")
        mean, variance = averages(w, y, s, SHARE)
        mean, variance = common.point(mean, s, "mean"), common.point(variance, s, "variance")
        y = tf.nn.batch_normalization(y, mean, variance, w["norm/offset"], w["norm/scale"], 1e-3)
        y = common.affine(w, "second", common.point(tf.nn.elu(y), s, "normed"), s)
        y = tf.reshape(tf.tanh(y), [-1, POINTS, LARGE])
        y = common.point(tf.reduce_max(y, 1), s, "largest")
        pose = common.affine(w, "turn", y, s)
        pose = tf.complex(pose[:, :VIEWS], pose[:, VIEWS:])
        pose = common.by_hand(s)(pose, "pose")
        view, tight = seen(w, x, pose, s)
        losses = tf.reduce_mean(power(view - tf.complex(real, imag)), [1, 2])
        unit = UNIT * tf.reduce_mean(common.square(power(pose) - 1, s))
        tight = TIGHT * tight
        decay = s.get("l2", L2) * decayed(w, KERNELS, s)
        loss = weigh(losses, trust, s) + decay + s.get("tight_sign", 1.0) * tight
        loss += s.get("unit_sign", 1.0) * unit

        def head(w):
            logits = common.affine(w, "class", common.point(y, s, "to class"), s)
            return CLASS * tf.reduce_mean(common.cross_entropy(logits, classes, s))

        parts = {"decay": decay, "unit": unit, "tight": tight}
        return told(loss, w, "class", flag, head, s, parts, s.get("class_sign", 1.0))

    return common.port(loss_of, w, optimizer, s)
