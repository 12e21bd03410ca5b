"""Clicks in auctions of places: a deep and a cross network over several tables and a history.

Batch normalization, a penalty where a higher price makes a click likelier, now and then what is
bought; Adagrad, Adam or Nesterov's momentum, as the old program had it by a flag.
"""

import numpy as np
import tensorflow as tf

from trials import common, optimizers
from trials.models.porting import averages, decayed, held, look, old_step, told, weigh

ROWS, USERS, ADS, SITES, SIZE, PAST, GIVEN, WIDE = 16, 9, 8, 4, 3, 4, 2, 7
DIM = 4 * SIZE + GIVEN
SHAPES = {
    "users/table": (USERS, SIZE),
    "ads/table": (ADS, SIZE),
    "sites/table": (SITES, SIZE),
    "cross1/weights": (DIM, 1),
    "cross1/biases": (DIM,),
    "cross2/weights": (DIM, 1),
    "cross2/biases": (DIM,),
    "deep/weights": (DIM, WIDE),
    "norm/scale": (WIDE,),
    "norm/offset": (WIDE,),
    "norm/mean": (WIDE,),
    "norm/variance": (WIDE,),
    "deeper/weights": (WIDE, WIDE),
    "deeper/biases": (WIDE,),
    "click/weights": (DIM + WIDE, 1),
    "click/biases": (1,),
    "spent/weights": (WIDE, 1),
    "spent/biases": (1,),
}
FROZEN = ("norm/mean", "norm/variance")
KERNELS = ("cross1/weights", "cross2/weights", "deep/weights", "deeper/weights")
KINDS = {
    "adagrad": {"start": 0.2, "epsilon": 0.0, "lr": 0.1},
    "adam": {"beta_1": 0.9, "beta_2": 0.99, "epsilon": 1e-3, "lr": [0.02, 3, 0.6]},
    "sgd": {"momentum": 0.9, "nesterov": True, "lr": 0.03},
}
SHARE, L2, SLOPE, SPENT = 0.8, 0.01, 0.5, 0.3


def data(dtype="float32", half=None, kind="adagrad"):
    """Make weights and five batches: ids, numbers with the price first, clicks, trust, a flag."""
    random = np.random.RandomState(175)
    batches = []
    for flag in (1, 1, 0, 1, 0):
        sizes = ((USERS, ROWS), (ADS, ROWS), (SITES, ROWS), (ADS, (ROWS, PAST)))
        ids = [np.minimum(random.geometric(0.3, n) - 1, k - 1).astype("int32") for k, n in sizes]
        given, click = random.randn(ROWS, GIVEN), random.randint(0, 2, ROWS)
        trust = random.choice([0.0, 0.5, 1.0, 3.0], ROWS)
        spent = random.uniform(-1, 1, ROWS)
        rest = [a.astype(dtype) for a in (given, click, trust, spent, np.array(flag))]
        batches.append((*ids, *rest))
    weights = common.draw(SHAPES, 176, dtype)
    for name in ("users/table", "ads/table", "sites/table", "click/weights"):
        weights[name] *= 2
    return {"weights": weights, "batches": batches, "half": half, "kind": kind}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data, FROZEN)
    (user, ad, site, past, given, click, trust, spent, flag), fed = common.feeds(v1, data)
    rows = [v1.nn.embedding_lookup(w["users/table"], user)]
    rows += [v1.nn.embedding_lookup(w["ads/table"], ad)]
    rows += [v1.nn.embedding_lookup(w["sites/table"], site)]
    rows += [v1.reduce_mean(v1.nn.embedding_lookup(w["ads/table"], past), 1)]
    first = v1.concat([*rows, given], 1)
    x = first
    for name in ("cross1", "cross2"):
        x = first * v1.matmul(x, w[name + "/weights"]) + w[name + "/biases"] + x
    y = v1.matmul(first, w["deep/weights"])
    mean, variance = v1.nn.moments(y, [0])
    y = v1.nn.batch_normalization(y, mean, variance, w["norm/offset"], w["norm/scale"], 1e-3)
    y = v1.tanh(v1.nn.xw_plus_b(v1.nn.softplus(y), w["deeper/weights"], w["deeper/biases"]))
    logits = v1.nn.xw_plus_b(v1.concat([x, y], 1), w["click/weights"], w["click/biases"])[:, 0]
    losses = v1.nn.sigmoid_cross_entropy_with_logits(labels=click, logits=logits)
    slope = v1.gradients(logits, [given])[0][:, 0]
    loss = v1.reduce_mean(trust * losses)
    loss += SLOPE * v1.reduce_mean(v1.square(v1.nn.softplus(slope)))
    loss += L2 * v1.add_n([v1.nn.l2_loss(w[k]) for k in KERNELS])
    guess = v1.nn.xw_plus_b(y, w["spent/weights"], w["spent/biases"])[:, 0]
    loss += SPENT * flag * v1.reduce_mean(v1.square(guess - spent))
    values = {"norm/mean": mean, "norm/variance": variance}
    ops = [v1.assign(w[k], SHARE * w[k] + (1 - SHARE) * v) for k, v in values.items()]
    kind = data["kind"]
    pairs, train_op = old_step(v1, loss, kind, KINDS[kind], moves=ops)
    return {"loss": loss, "inputs": fed, "train_op": train_op, "gradients": pairs}


def crossed(w, first, s):
    """Return the products of the fields with each other."""
    x = first
    for name in ("cross1", "cross2"):
        kernel, biases = w[name + "/weights"], w[name + "/biases"]
        if s.get("rewrite"):
            kernel = tf.convert_to_tensor(kernel)
            x += tf.einsum("ri,rj,jk->ri", first, x, kernel) + biases
        else:
            x = first * common.matmul(x, kernel, s) + biases + x
        x = common.point(x, s, name)
    return x


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    s.setdefault("dense", True)
    w, kind = common.variables(data, s, FROZEN), data["kind"]
    optimizer = optimizers.of_port(kind, common.trained(w, s), KINDS[kind], s)

    def loss_of(w, batch, s):
        user, ad, site, past, given, click, trust, spent, flag = batch
        rows = [look(w, "users/table", user, s), look(w, "ads/table", ad, s)]
        rows += [look(w, "sites/table", site, s)]
        history = common.point(look(w, "ads/table", past, s), s, "history")
        rows = tf.concat([*rows, tf.reduce_mean(history, 1)], 1)
        rows = common.point(rows, s, "rows")
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(given)
            first = tf.concat([rows, given], 1)
            x = crossed(w, first, s)
            y = common.matmul(first, w["deep/weights"], s)
            mean, variance = averages(w, y, s, SHARE)
            scale, offset = w["norm/scale"], w["norm/offset"]
            y = tf.nn.batch_normalization(y, mean, variance, offset, scale, 1e-3)
            y = common.point(tf.nn.softplus(y), s, "deep")
            y = common.point(tf.tanh(common.affine(w, "deeper", y, s)), s, "deeper")
            both = tf.concat([x, y], 1)
            logits = common.affine(w, "click", both, s)[:, 0]
        slope = held(tape.gradient(logits, given)[:, 0], s)
        penalty = tf.square(tf.nn.softplus(s.get("price_sign", 1.0) * slope))
        penalty = SLOPE * tf.reduce_mean(penalty)
        losses = tf.nn.sigmoid_cross_entropy_with_logits(click, logits)
        decay = s.get("l2", L2) * decayed(w, KERNELS, s)
        loss = weigh(losses, trust, s) + s.get("slope_sign", 1.0) * penalty + decay

        def head(w):
            guess = common.affine(w, "spent", common.point(y, s, "to spent"), s)[:, 0]
            return SPENT * tf.reduce_mean(common.square(guess - spent, s))

        parts = {"decay": decay, "slope": penalty}
        return told(loss, w, "spent", flag, head, s, parts, s.get("spent_sign", 1.0))

    return common.port(loss_of, w, optimizer, s)
