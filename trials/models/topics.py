"""A topic model of documents: mixed topics out of words, drawn by noise, decoded to counts.

Batch normalization of what is decoded, rows of tables for words and journals, now and then a
rating; Adagrad, or Adam with a rate that falls in a line.
"""

import numpy as np
import tensorflow as tf

from trials import common, optimizers
from trials.models.porting import averages, decayed, look, old_step, told, weigh

DOCS, LEN, WORDS, JOURNALS, ROW, SIZE, TOPICS = 9, 7, 20, 4, 5, 8, 4
SHAPES = {
    "words/table": (WORDS, ROW),
    "journals/table": (JOURNALS, TOPICS),
    "hidden/weights": (ROW, SIZE),
    "hidden/biases": (SIZE,),
    "place/weights": (SIZE, TOPICS),
    "place/biases": (TOPICS,),
    "width/weights": (SIZE, TOPICS),
    "width/biases": (TOPICS,),
    "mix/weights": (TOPICS, TOPICS),
    "topics/weights": (TOPICS, WORDS),
    "norm/scale": (WORDS,),
    "norm/offset": (WORDS,),
    "norm/mean": (WORDS,),
    "norm/variance": (WORDS,),
    "rating/weights": (TOPICS, 1),
    "rating/biases": (1,),
}
FROZEN = ("norm/mean", "norm/variance")
KERNELS = ("hidden/weights", "mix/weights", "topics/weights")
KINDS = {
    "adagrad": {"start": 0.1, "epsilon": 0.0, "lr": 0.06},
    "adam": {
        "beta_1": 0.95,
        "beta_2": 0.99,
        "epsilon": 1e-3,
        "lr": ["polynomial", 0.03, 6, 0.005, 1.0],
    },
}
SHARE, L2, PRIOR, RATING = 0.9, 0.02, 0.5, 0.4


def data(dtype="float32", half=None, kind="adagrad"):
    """Make weights and five batches: words, which there are, journals, noise, trust, ratings."""
    random = np.random.RandomState(197)
    batches = []
    for flag in (1, 0, 1, 0, 1):
        words = np.minimum(random.geometric(0.15, (DOCS, LEN)) - 1, WORDS - 1).astype("int32")
        there = np.arange(LEN) < random.randint(3, LEN + 1, DOCS)[:, None]
        journal = np.minimum(random.geometric(0.4, DOCS) - 1, JOURNALS - 1).astype("int32")
        noise, trust = random.randn(DOCS, TOPICS), random.choice([0.5, 1.0, 1.7], DOCS)
        parts = [a.astype(dtype) for a in (there, noise, trust, random.randn(DOCS))]
        batches.append((words, parts[0], journal, *parts[1:], np.array(flag, dtype)))
    weights = common.draw(SHAPES, 198, dtype)
    for name in ("words/table", "journals/table", "topics/weights"):
        weights[name] *= 2
    return {"weights": weights, "batches": batches, "half": half, "kind": kind}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data, FROZEN)
    (words, there, journal, noise, trust, rating, flag), fed = common.feeds(v1, data)
    x = v1.nn.embedding_lookup(w["words/table"], words)
    x = v1.reduce_sum(there[:, :, None] * x, 1) / v1.reduce_sum(there, 1, keep_dims=True)
    y = v1.nn.softplus(v1.nn.xw_plus_b(x, w["hidden/weights"], w["hidden/biases"]))
    place = v1.nn.xw_plus_b(y, w["place/weights"], w["place/biases"])
    width = v1.nn.xw_plus_b(y, w["width/weights"], w["width/biases"])
    theta = v1.nn.softmax(v1.matmul(place + v1.exp(0.5 * width) * noise, w["mix/weights"]))
    y = v1.matmul(theta, w["topics/weights"])
    mean, variance = v1.nn.moments(y, [0])
    y = v1.nn.batch_normalization(y, mean, variance, w["norm/offset"], w["norm/scale"], 1e-3)
    y = v1.nn.log_softmax(y)
    counts = v1.reduce_sum(there[:, :, None] * v1.one_hot(words, WORDS, dtype=y.dtype), 1)
    losses = -v1.reduce_sum(counts * y, 1)
    prior = v1.nn.embedding_lookup(w["journals/table"], journal)
    apart = v1.exp(width) + v1.square(place - prior) - 1 - width
    losses += PRIOR * 0.5 * v1.reduce_sum(apart, 1)
    loss = v1.reduce_mean(trust * losses)
    loss += L2 * v1.add_n([v1.nn.l2_loss(w[k]) for k in KERNELS])
    guess = v1.nn.xw_plus_b(theta, w["rating/weights"], w["rating/biases"])[:, 0]
    loss += RATING * flag * v1.reduce_mean(v1.square(guess - rating))
    values = {"norm/mean": mean, "norm/variance": variance}
    ops = [v1.assign(w[k], SHARE * w[k] + (1 - SHARE) * v) for k, v in values.items()]
    kind = data["kind"]
    pairs, train_op = old_step(v1, loss, kind, KINDS[kind], moves=ops)
    return {"loss": loss, "inputs": fed, "train_op": train_op, "gradients": pairs}


def drawn(w, x, noise, s):
    """Return how topics are mixed, and the place and the width they are drawn by."""
    y = common.point(tf.nn.softplus(common.affine(w, "hidden", x, s)), s, "hidden")
    place = common.point(common.affine(w, "place", y, s), s, "place")
    width = common.point(common.affine(w, "width", y, s), s, "width")
    spread = tf.exp(0.5 * width)
    spread = tf.stop_gradient(spread) if s.get("halt") == "spread" else spread
    drawing = place + s.get("drawn", 1.0) * spread * noise
    logits = common.matmul(drawing, w["mix/weights"], s)
    if s.get("rewrite"):
        shares = tf.exp(logits - tf.stop_gradient(tf.reduce_max(logits, 1, keepdims=True)))
        return shares / tf.reduce_sum(shares, 1, keepdims=True), place, width
    return tf.nn.softmax(logits), place, width


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    s.setdefault("dense", True)
    w, kind = common.variables(data, s, FROZEN), data["kind"]
    optimizer = optimizers.of_port(kind, common.trained(w, s), KINDS[kind], s)

    def loss_of(w, batch, s):
        words, there, journal, noise, trust, rating, flag = batch
        x = common.point(look(w, "words/table", words, s), s, "words")
        length = tf.reduce_sum(there, 1)
        x = tf.reduce_sum(there[:, :, None] * x, 1) / length[:, None]
        theta, place, width = drawn(w, x, noise, s)
        theta = common.point(theta, s, "mixed")
        y = common.point(common.matmul(theta, w["topics/weights"], s), s, "decoded")
        mean, variance = averages(w, y, s, SHARE)
        variance = common.point(variance, s, "variance")
        y = tf.nn.batch_normalization(y, mean, variance, w["norm/offset"], w["norm/scale"], 1e-3)
        if s.get("rewrite"):  # one cross entropy for each word
            labels = tf.one_hot(words, WORDS, dtype=y.dtype)
            each = tf.nn.softmax_cross_entropy_with_logits(labels, tf.repeat(y[:, None], LEN, 1))
            losses = tf.reduce_sum(there * each, 1)
        else:
            counts = there[:, :, None] * tf.one_hot(words, WORDS, dtype=y.dtype)
            losses = -tf.reduce_sum(tf.reduce_sum(counts, 1) * tf.nn.log_softmax(y), 1)
        prior = common.point(look(w, "journals/table", journal, s), s, "journals")
        apart = tf.exp(width) + common.square(place - prior, s) - 1 - width
        apart = PRIOR * 0.5 * tf.reduce_sum(apart, 1)
        if s.get("by_length"):  # each document counts as its length
            trust *= (length / tf.reduce_mean(length)) ** s["by_length"]
        decay = s.get("l2", L2) * decayed(w, KERNELS, s)
        loss = weigh(losses + s.get("prior_sign", 1.0) * apart, trust, s) + decay

        def head(w):
            guess = common.affine(w, "rating", common.point(theta, s, "to rating"), s)[:, 0]
            return RATING * tf.reduce_mean(common.square(guess - rating, s))

        parts = {"decay": decay, "prior": tf.reduce_mean(trust * apart)}
        return told(loss, w, "rating", flag, head, s, parts, s.get("rating_sign", 1.0))

    return common.port(loss_of, w, optimizer, s)
