"""A mixture density network in double precision: prices by place, now and then whether it is sold.

RMSProp, centered and with momentum, a rate that falls by a polynomial, batch normalization, and a
penalty of the slope of what is expected.
"""

import numpy as np
import tensorflow as tf

from trials import common, optimizers
from trials.models.flow import held, statistics

ROWS, WIDE, PARTS = 20, 9, 3
SHAPES = {
    "places/table": (6, 3),
    "first/weights": (7, WIDE),
    "norm/scale": (WIDE,),
    "norm/offset": (WIDE,),
    "norm/mean": (WIDE,),
    "norm/variance": (WIDE,),
    "second/weights": (WIDE, WIDE),
    "second/biases": (WIDE,),
    "shares/weights": (WIDE, PARTS),
    "shares/biases": (PARTS,),
    "means/weights": (WIDE, PARTS),
    "means/biases": (PARTS,),
    "widths/weights": (WIDE, PARTS),
    "widths/biases": (PARTS,),
    "sold/weights": (WIDE, 1),
    "sold/biases": (1,),
}
FROZEN = ("norm/mean", "norm/variance")
HEADS = ("shares", "means", "widths")
KERNELS = ("first/weights", "second/weights", *(k + "/weights" for k in HEADS))
RMSPROP = {"rho": 0.9, "momentum": 0.6, "epsilon": 1e-3, "start": 1.0, "centered": True}
RATE, SHARE = ["polynomial", 0.02, 8, 0.002, 2.0], 0.9
L2, SMOOTH, SOLD = 0.02, 0.3, 0.5


def data(dtype="float64", half=None):
    """Make weights and five batches: features, places, prices, how sure, whether sold, a flag."""
    random = np.random.RandomState(123)
    batches = []
    for flag in (1, 1, 0, 0, 1):
        x = random.randn(ROWS, 4).astype(dtype)
        places = np.minimum(random.geometric(0.3, ROWS) - 1, 5).astype("int32")
        price = (x[:, 0] * random.choice([-1, 1], ROWS) + 0.2 * random.randn(ROWS)).astype(dtype)
        sure = random.choice([0.3, 1.0, 1.8], ROWS).astype(dtype)
        sold = random.randint(0, 2, ROWS).astype(dtype)
        batches.append((x, places, price, sure, sold, np.array(flag, dtype)))
    weights = common.draw(SHAPES, 124, dtype)
    weights["places/table"] *= 2
    return {"weights": weights, "batches": batches, "half": half}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data, FROZEN)
    (x, places, price, sure, sold, flag), fed = common.feeds(v1, data)
    y = v1.concat([x, v1.nn.embedding_lookup(w["places/table"], places)], 1)
    y = v1.matmul(y, w["first/weights"])
    mean, variance = v1.nn.moments(y, [0])
    y = v1.nn.batch_normalization(y, mean, variance, w["norm/offset"], w["norm/scale"], 1e-3)
    y = v1.nn.elu(v1.nn.xw_plus_b(v1.tanh(y), w["second/weights"], w["second/biases"]))
    shares, means, widths = (v1.nn.xw_plus_b(y, w[k + "/weights"], w[k + "/biases"]) for k in HEADS)
    apart = (price[:, None] - means) * v1.exp(-widths)
    dense = v1.nn.log_softmax(shares) - 0.5 * v1.square(apart) - widths - 0.5 * np.log(2 * np.pi)
    loss = -v1.reduce_mean(sure * v1.reduce_logsumexp(dense, 1))
    expected = v1.reduce_sum(v1.nn.softmax(shares) * means, 1)
    slope = v1.gradients(expected, [x])[0]
    loss += SMOOTH * v1.reduce_mean(v1.reduce_sum(v1.square(slope), 1))
    logits = v1.nn.xw_plus_b(y, w["sold/weights"], w["sold/biases"])[:, 0]
    losses = v1.nn.sigmoid_cross_entropy_with_logits(labels=sold, logits=logits)
    loss += SOLD * flag * v1.reduce_mean(losses)
    loss += L2 * v1.add_n([v1.nn.l2_loss(w[k]) for k in KERNELS])
    step = v1.train.get_or_create_global_step()
    rate = v1.train.polynomial_decay(v1.constant(0.02, v1.float64), step, 8, 0.002, power=2.0)
    optimizer = v1.train.RMSPropOptimizer(rate, 0.9, 0.6, 1e-3, centered=True)
    pairs = [(v1.convert_to_tensor(g), v) for g, v in optimizer.compute_gradients(loss)]
    train_op = optimizer.apply_gradients(pairs, global_step=step)
    values = {"norm/mean": mean, "norm/variance": variance}
    ops = [v1.assign(w[k], SHARE * w[k] + (1 - SHARE) * v) for k, v in values.items()]
    return {"loss": loss, "inputs": fed, "train_op": v1.group(train_op, *ops), "gradients": pairs}


def density(shares, means, widths, price, s):
    """Return the logarithm of the mixture's density."""
    if s.get("rewrite"):
        apart = (price[:, None] - means) / tf.exp(widths)
        parts = tf.nn.softmax(shares) * tf.exp(-0.5 * apart**2)
        return tf.math.log(tf.reduce_sum(parts * tf.exp(-widths), 1)) - 0.5 * np.log(2 * np.pi)
    apart = (price[:, None] - means) * tf.exp(-widths)
    dense = tf.nn.log_softmax(shares) - 0.5 * tf.square(apart) - widths
    return tf.reduce_logsumexp(dense - 0.5 * np.log(2 * np.pi), 1)


def weigh(losses, sure, s):
    """Reduce the losses of the prices to one."""
    how = s.get("sample_weights")
    if how == "out":
        sure = tf.ones_like(sure)
    if how == "sum":
        return tf.reduce_sum(sure * losses) / tf.reduce_sum(sure)
    if how == "one":
        sure = tf.concat([sure[:3], sure[3:4] * s["one"], sure[4:]], 0)
    if how == "floor":
        sure = tf.maximum(sure, s["floor"])
    if how == "squared":
        sure = sure * sure
    return common.mean(sure * losses, s)


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    s.setdefault("dense", True)
    w = common.variables(data, s, FROZEN)
    optimizer = optimizers.of_port("rmsprop", common.trained(w, s), {**RMSPROP, "lr": RATE}, s)

    def affine(w, name, y, s):
        y = common.matmul(common.point(y, s, "to " + name), w[name + "/weights"], s)
        return common.point(y + w[name + "/biases"], s, name)

    def loss_of(w, batch, s):
        x, places, price, sure, sold, flag = batch
        decays = [tf.reduce_sum(common.square(tf.convert_to_tensor(w[k]), s)) for k in KERNELS]
        decay = s.get("l2", L2) * s.get("l2_half", 0.5) * tf.add_n(decays)
        if s.get("l2_of") == "biases too":
            more = [tf.reduce_sum(tf.square(w[k + "/biases"])) for k in ("second", *HEADS)]
            decay += 0.5 * L2 * tf.add_n(more)
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(x)
            rows = common.point(tf.gather(w["places/table"], places), s, "places")
            y = common.matmul(tf.concat([x, rows], 1), w["first/weights"], s)
            mean, variance = statistics(w, y, s, SHARE)
            scale, offset = w["norm/scale"], w["norm/offset"]
            y = tf.nn.batch_normalization(y, mean, variance, offset, scale, 1e-3)
            y = common.point(tf.tanh(y), s, "first")
            y = tf.nn.elu(affine(w, "second", y, s))
            shares, means, widths = (affine(w, k, y, s) for k in HEADS)
            expected = tf.reduce_sum(tf.nn.softmax(shares) * means, 1)
        slope = held(tape.gradient(expected, x), s)
        penalty = SMOOTH * tf.reduce_mean(tf.reduce_sum(common.square(slope, s), 1))
        loss = weigh(-density(shares, means, widths, price, s), sure, s)
        loss += s.get("smooth_sign", 1.0) * penalty + decay
        if s.get("head") == "if" and float(flag) == 0:
            return loss
        head = dict(w)
        if s.get("head") == "biases" and float(flag) == 0:
            head["sold/biases"] = tf.zeros([1], x.dtype)
        logits = affine(head, "sold", y, s)[:, 0]
        losses = tf.nn.softplus(logits) - sold * logits if s.get("rewrite") else None
        if losses is None:
            losses = tf.nn.sigmoid_cross_entropy_with_logits(sold, logits)
        bought = SOLD * flag * tf.reduce_mean(losses)
        if s.get("part"):
            return {"decay": decay, "slope": penalty}.get(s.get("part_of"), bought)
        return loss + bought

    return common.port(loss_of, w, optimizer, s)
