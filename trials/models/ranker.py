"""A two-tower recommender: in-batch softmax, weighted, L2 on rows looked up, Adagrad, clipping."""

import numpy as np
import tensorflow as tf

from trials import common, optimizers

N = 16
SHAPES = {
    "user/emb": (10, 8),
    "item/emb": (14, 8),
    "tower/w": (12, 8),
    "tower/b": (8,),
    "proj/w": (8, 8),
    "proj/b": (8,),
}
LIMIT, RATE, L2, TEMP = 0.3, 0.1, 0.01, 0.5


def data(dtype="float32"):
    """Make weights and five batches."""
    random = np.random.RandomState(41)
    batches = []
    for _ in range(5):
        users = random.randint(0, 10, N).astype("int32")
        items = random.randint(1, 14, N).astype("int32")
        history = random.randint(0, 14, (N, 3)).astype("int32")
        history[:, 0] = random.randint(1, 14, N)
        x = random.randn(N, 4).astype(dtype)
        batches.append((users, items, history, x, random.choice([0.0, 0.5, 1, 3], N).astype(dtype)))
    return {"weights": common.draw(SHAPES, 42, dtype), "batches": batches, "half": None}


def old(v1, data):
    """Build the old program."""
    w = data["weights"]
    places, fed = common.feeds(v1, data)
    users, items, history, x, weights = places
    step = v1.Variable(0, trainable=False, name="global_step", dtype=v1.int64)
    made = {}
    for scope, leaf in (k.split("/") for k in w):
        with v1.variable_scope(scope):
            made[scope, leaf] = v1.get_variable(leaf, initializer=w[scope + "/" + leaf])
    u = v1.nn.embedding_lookup(made["user", "emb"], users)
    i = v1.nn.embedding_lookup(made["item", "emb"], items)
    h = v1.nn.embedding_lookup(made["item", "emb"], history)
    mask = v1.expand_dims(v1.cast(v1.not_equal(history, 0), x.dtype), -1)
    h = v1.reduce_sum(h * mask, 1) / v1.reduce_sum(mask, 1)
    net = v1.concat([u + h, x], axis=1)
    net = v1.nn.elu(v1.nn.xw_plus_b(net, made["tower", "w"], made["tower", "b"]))
    net = v1.nn.xw_plus_b(net, made["proj", "w"], made["proj", "b"])
    net = v1.nn.l2_normalize(net, 1, epsilon=1e-12)
    logits = v1.matmul(net, i, transpose_b=True) / TEMP
    v1.losses.sparse_softmax_cross_entropy(v1.range(N), logits, weights=weights)
    penalty = v1.nn.l2_loss(u) + v1.nn.l2_loss(i) + v1.nn.l2_loss(made["proj", "w"])
    v1.losses.add_loss(L2 * penalty, v1.GraphKeys.REGULARIZATION_LOSSES)
    loss = v1.losses.get_total_loss()
    rate = v1.train.exponential_decay(RATE, step, 2, 0.8, staircase=True)
    opt = v1.train.AdagradOptimizer(rate, initial_accumulator_value=0.1)
    grads, tvars = zip(*opt.compute_gradients(loss), strict=True)
    grads, _ = v1.clip_by_global_norm(grads, LIMIT)
    train_op = opt.apply_gradients(zip(grads, tvars, strict=True), global_step=step)
    pairs = list(zip(grads, tvars, strict=True))
    return {"loss": loss, "inputs": fed, "train_op": train_op, "gradients": pairs}


def losses_of(w, batch, s):
    """Return the loss of the ranking and the penalty."""
    users, items, history, x, weights = batch
    u, i = tf.gather(w["user/emb"], users), tf.gather(w["item/emb"], items)
    h = tf.gather(w["item/emb"], history)
    mask = tf.cast(history != 0, x.dtype)[..., None]
    if s.get("mask") == "out":
        mask = tf.ones_like(mask)
    h = tf.reduce_sum(h * mask, 1) / tf.reduce_sum(mask, 1)
    h = tf.stop_gradient(h) if s.get("halt") == "history" else h
    z = tf.concat([u + h, x], 1) @ tf.convert_to_tensor(w["tower/w"]) + w["tower/b"]
    z = (tf.nn.selu if s.get("act") == "selu" else tf.nn.elu)(z)
    if s.get("dropout"):
        z = tf.nn.dropout(z, s["dropout"], seed=5)
    kernel = tf.convert_to_tensor(w["proj/w"])
    z = tf.matmul(z, kernel, transpose_b=bool(s.get("turned"))) + w["proj/b"]
    z = z / tf.sqrt(tf.reduce_sum(z * z, 1, keepdims=True) + s.get("norm_eps", 0.0))
    target = tf.stop_gradient(i) if s.get("halt") == "items" else i
    logits = tf.einsum("bd,cd->bc", z, target) / s.get("temp", TEMP)
    ce = -tf.linalg.diag_part(tf.nn.log_softmax(logits))
    how = s.get("weigh")
    if how == "out":
        weights = tf.ones_like(weights)
    elif how == "cap":
        weights = tf.minimum(weights, tf.cast(s.get("cap", 1.0), x.dtype))
    count = tf.math.count_nonzero(weights, dtype=x.dtype)
    if how == "sum":
        count = tf.reduce_sum(weights)
    count = {"sum": 1.0, "all": float(N)}.get(s.get("reduce"), count)
    rank = tf.reduce_sum(ce * weights) / count
    penalised = [u, i, tf.convert_to_tensor(w["proj/w"])]
    if s.get("l2_on") == "dense":
        penalised = penalised[2:]
    if s.get("l2_on") == "bias":
        penalised.append(tf.convert_to_tensor(w["proj/b"]))
    penalty = tf.add_n([tf.reduce_sum(p * p) for p in penalised]) * s.get("l2", L2) / 2
    return rank, penalty


def rate_of(s):
    """Return the rate by the count of steps."""
    steps, decay, first = s.get("steps", 2), s.get("decay", 0.8), s.get("lr", RATE)

    def rate(count):
        n = tf.cast(count + s.get("ahead", 0), tf.float64) / steps
        n = n if s.get("smooth") else tf.floor(n)
        return first * tf.pow(tf.cast(decay, tf.float64), n)

    return rate


def new(data, fault=None, **s):
    """Make the port."""
    w = common.variables(data, s)
    opt = {"start": 0.1, "epsilon": 1e-7, **s.get("opt", {})}
    library = s.get("library", "hand")
    if library == "hand":
        opt = {**opt, "epsilon": opt["epsilon"] if "opt" in s else 0.0}
        names = {id(v): k for k, v in w.items()}
        optimizer = optimizers.Hand("adagrad", names, rate_of(s), **opt)
    else:
        home = common.keras_of(library).optimizers
        rate = home.schedules.ExponentialDecay(RATE, 2, 0.8, staircase=True)
        optimizer = optimizers.of_keras(
            home.legacy if library == "legacy" else home, "adagrad", rate, opt, list(w.values())
        )
    chosen = common.trained(w, s)
    listed = [k for k in w if w[k].trainable]

    def step(*batch):
        with tf.GradientTape() as tape:
            rank, penalty = losses_of(w, batch, s)
            loss = rank + penalty
            target = loss * s.get("scale", 1.0)
            if s.get("targets"):
                target = [loss, rank if s["targets"] == "rank" else penalty]
        grads = dict(zip(chosen, tape.gradient(target, list(chosen.values())), strict=True))
        if "rows" in s:
            grads = {k: common._rows(g, s["rows"]) for k, g in grads.items()}
        if s.get("early_dense"):
            grads = {k: tf.convert_to_tensor(g) for k, g in grads.items()}
        how = s.get("clip", "global")
        if how == "global":
            clipped, _ = tf.clip_by_global_norm(list(grads.values()), s.get("limit", LIMIT))
            grads = dict(zip(grads, clipped, strict=True))
        grads = {k: tf.convert_to_tensor(g) for k, g in grads.items()}
        if how == "each":
            grads = {k: tf.clip_by_norm(g, LIMIT) for k, g in grads.items()}
        rest = {k: v for k, v in s.items() if k in ("factor", "only", "exchange", "transpose")}
        grads = common.after(grads, rest)
        common.update(optimizer, grads, w, s)
        return loss, [grads.get(k) for k in listed]

    return common.finish(common.wrapped(step, s), w, optimizer, s)
