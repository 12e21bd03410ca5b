"""Users and items as factors, biases of both, regularised; Adam on slices, clipped each."""

import numpy as np
import tensorflow as tf

from trials import common, optimizers

SHAPES = {
    "users/table": (30, 6),
    "items/table": (40, 6),
    "users/biases": (30, 1),
    "items/biases": (40, 1),
    "mean": (1,),
}
ADAM = {"lr": 0.01, "beta_1": 0.9, "beta_2": 0.99, "epsilon": 1e-6}
L2 = 0.01
CLIP = ("each", 0.2)


def data(dtype="float32", half=None, several=False):
    """Make weights and one batch in which users and items come again; or several batches."""
    random = np.random.RandomState(15)
    users = random.randint(0, 30, 40).astype("int32")
    items = np.minimum(random.geometric(0.06, 40), 39).astype("int32")
    ratings = (random.randn(40) + 1).astype(dtype)
    confidence = random.uniform(0.2, 2, 40).astype(dtype)
    weights = common.draw(SHAPES, 16, dtype)
    batch = (users, items, ratings, confidence)
    batches = [batch]
    for _ in range(4 if several else 0):
        users = random.randint(0, 30, 40).astype("int32")
        items = np.minimum(random.geometric(0.06, 40), 39).astype("int32")
        batches.append((users, items, (random.randn(40) + 1).astype(dtype), confidence))
    return {"weights": weights, "batches": batches, "half": half}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data)
    (users, items, ratings, confidence), fed = common.feeds(v1, data)
    u = v1.nn.embedding_lookup(w["users/table"], users)
    i = v1.nn.embedding_lookup(w["items/table"], items)
    out = v1.reduce_sum(u * i, 1) + w["mean"]
    out = out + v1.squeeze(v1.gather(w["users/biases"], users), 1)
    out = out + v1.squeeze(v1.gather(w["items/biases"], items), 1)
    loss = v1.reduce_mean(confidence * v1.square(out - ratings))
    loss = loss + 0.01 * v1.reduce_mean(v1.reduce_sum(u * u, 1) + v1.reduce_sum(i * i, 1))
    optimizer = v1.train.AdamOptimizer(0.01, 0.9, 0.99, 1e-6)
    pairs = [
        (v1.clip_by_norm(v1.convert_to_tensor(g), 0.2), v)
        for g, v in optimizer.compute_gradients(loss)
    ]
    train_op = optimizer.apply_gradients(pairs)
    return {"loss": loss, "inputs": fed, "train_op": train_op, "gradients": pairs}


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    w = common.variables(data, s)
    settings = {**ADAM, **s.get("opt", {})}
    optimizer = optimizers.make("adam", w, settings, s.get("library", "keras"))

    def loss_of(w, batch, s):
        users, items, ratings, confidence = batch
        u, i = tf.gather(w["users/table"], users), tf.gather(w["items/table"], items)
        u, i = common.point(u, s, "users"), common.point(i, s, "items")
        product = tf.einsum("bf,bf->b", u, i) if s.get("rewrite") else tf.reduce_sum(u * i, 1)
        out = product + w["mean"]
        out += tf.squeeze(tf.gather(w["users/biases"], users), 1)
        if s.get("biases") != "out":
            out += tf.squeeze(tf.gather(w["items/biases"], items), 1)
        errors, how = common.square(out - ratings, s), s.get("sample_weights")
        if how == "sum":
            loss = tf.reduce_sum(confidence * errors) / tf.reduce_sum(confidence)
        elif how == "squared":  # weighted twice
            loss = common.mean(confidence * confidence * errors, s)
        elif how == "half":  # kept in half precision
            kept = tf.cast(tf.cast(confidence, "float16"), confidence.dtype)
            loss = common.mean(kept * errors, s)
        elif how == "root":
            loss = common.mean(tf.sqrt(confidence) * errors, s)
        elif how == "out":
            loss = common.mean(errors, s)
        elif how == "one":
            ones = tf.concat([confidence[:1] * s.get("first", 1.01), confidence[1:]], 0)
            loss = common.mean(ones * errors, s)
        else:
            loss = common.mean(confidence * errors, s)
        if s.get("l2") == "tables":  # of all rows, as Keras' regularizer
            rows = [tf.convert_to_tensor(w[k + "/table"]) for k in ("users", "items")]
            return loss + L2 * sum(tf.reduce_sum(r * r) for r in rows)
        extra = tf.reduce_sum(common.square(u, s), 1) + tf.reduce_sum(common.square(i, s), 1)
        if s.get("l2") == "users":
            extra = tf.reduce_sum(common.square(u, s), 1)
        extra = tf.reduce_mean(extra) if "reduce" in s else common.mean(extra, s)
        if s.get("part"):
            return L2 * extra
        return loss + s.get("l2_factor", 1.0) * L2 * extra

    return common.port(loss_of, w, optimizer, s, CLIP)
