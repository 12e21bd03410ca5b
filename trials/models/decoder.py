"""A transformer that tells on: a causal decoder whose table of words is also its last layer.

Smoothed labels, words that count more or less, now and then a topic; Adam with a rate that falls
as the inverse of time, clipped by one norm.
"""

import numpy as np
import tensorflow as tf

from trials import common, optimizers
from trials.models.pulses import weigh

ROWS, TIME, WORDS, SIZE, HEADS, WIDE = 8, 6, 16, 6, 2, 10
SHAPES = {
    "words/table": (WORDS, SIZE),
    "places/table": (TIME, SIZE),
    "attend/weights": (SIZE, 3 * SIZE),
    "attend/biases": (3 * SIZE,),
    "mix/weights": (SIZE, SIZE),
    "mix/biases": (SIZE,),
    "norm1/scale": (SIZE,),
    "norm1/offset": (SIZE,),
    "wide/weights": (SIZE, WIDE),
    "wide/biases": (WIDE,),
    "narrow/weights": (WIDE, SIZE),
    "narrow/biases": (SIZE,),
    "norm2/scale": (SIZE,),
    "norm2/offset": (SIZE,),
    "topic/weights": (SIZE, 3),
    "topic/biases": (3,),
}
KERNELS = ("attend/weights", "mix/weights", "wide/weights", "narrow/weights")
ADAM = {"beta_1": 0.9, "beta_2": 0.98, "epsilon": 1e-4}
RATE, CLIP = ["inverse", 0.02, 0.5], ("global", 0.5)
L2, TOPIC, SMOOTH = 0.01, 0.3, 0.1


def data(dtype="float32", half=None):
    """Make weights and five batches: words, what they count, topics, a flag."""
    random = np.random.RandomState(141)
    batches = []
    for flag in (1, 0, 1, 0, 1):
        words = np.minimum(random.geometric(0.2, (ROWS, TIME + 1)) - 1, WORDS - 1)
        there = np.arange(TIME) < random.randint(3, TIME + 1, ROWS)[:, None]
        counts = there * random.choice([0.5, 1.0, 2.0], (ROWS, 1))
        topic = random.randint(0, 3, ROWS).astype("int32")
        batches.append((words.astype("int32"), counts.astype(dtype), topic, np.array(flag, dtype)))
    weights = common.draw(SHAPES, 142, dtype)
    for name in ("words/table", "attend/weights"):
        weights[name] *= 2
    return {"weights": weights, "batches": batches, "half": half}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data)
    (words, counts, topic, flag), fed = common.feeds(v1, data)

    def affine(y, name):
        return v1.nn.xw_plus_b(y, w[name + "/weights"], w[name + "/biases"])

    def norm(y, name):
        mean, variance = v1.nn.moments(y, [1], keep_dims=True)
        offset, scale = w[name + "/offset"], w[name + "/scale"]
        return v1.nn.batch_normalization(y, mean, variance, offset, scale, 1e-6)

    x = v1.nn.embedding_lookup(w["words/table"], words[:, :-1]) * SIZE**0.5 + w["places/table"]
    x = v1.reshape(x, [-1, SIZE])
    y = v1.reshape(affine(x, "attend"), [ROWS, TIME, 3, HEADS, SIZE // HEADS])
    ask, key, value = v1.unstack(v1.transpose(y, [2, 0, 3, 1, 4]))
    score = v1.matmul(ask, key, transpose_b=True) / (SIZE // HEADS) ** 0.5
    share = v1.nn.softmax(score - 1e9 * np.triu(np.ones([TIME, TIME], score.dtype.name), 1))
    y = v1.reshape(v1.transpose(v1.matmul(share, value), [0, 2, 1, 3]), [-1, SIZE])
    x = norm(x + affine(y, "mix"), "norm1")
    x = norm(x + affine(v1.nn.elu(affine(x, "wide")), "narrow"), "norm2")
    logits = v1.matmul(x, w["words/table"], transpose_b=True)
    labels = v1.one_hot(v1.reshape(words[:, 1:], [-1]), WORDS, dtype=x.dtype)
    labels = (1 - SMOOTH) * labels + SMOOTH / WORDS
    losses = v1.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits)
    loss = v1.reduce_sum(v1.reshape(counts, [-1]) * losses) / v1.reduce_sum(counts)
    logits = affine(v1.reduce_mean(v1.reshape(x, [ROWS, TIME, SIZE]), 1), "topic")
    losses = v1.nn.sparse_softmax_cross_entropy_with_logits(labels=topic, logits=logits)
    loss += TOPIC * flag * v1.reduce_mean(losses)
    loss += L2 * v1.add_n([v1.nn.l2_loss(w[k]) for k in KERNELS])
    step = v1.train.get_or_create_global_step()
    rate = v1.train.inverse_time_decay(0.02, step, 1, 0.5)
    optimizer = v1.train.AdamOptimizer(rate, 0.9, 0.98, 1e-4)
    grads, sources = zip(*optimizer.compute_gradients(loss), strict=True)
    grads, _ = v1.clip_by_global_norm([v1.convert_to_tensor(g) for g in grads], CLIP[1])
    pairs = list(zip(grads, sources, strict=True))
    train_op = optimizer.apply_gradients(pairs, global_step=step)
    return {"loss": loss, "inputs": fed, "train_op": train_op, "gradients": pairs}


def norm(w, name, y, s):
    """Normalize each row."""
    mean = tf.reduce_mean(y, 1, keepdims=True)
    variance = tf.reduce_mean(common.square(y - mean, s), 1, keepdims=True)
    mean, variance = (common.point(v, s, name) for v in (mean, variance))
    y = (y - mean) * tf.math.rsqrt(variance + 1e-6)
    return y * w[name + "/scale"] + w[name + "/offset"]


def attended(w, x, s):
    """Return what each word takes of those before it."""
    parts = tf.reshape(common.affine(w, "attend", x, s), [-1, TIME, 3, HEADS, SIZE // HEADS])
    ask, key, value = tf.unstack(parts, axis=2)
    ask, key = (common.point(y, s, k) for y, k in ((ask, "ask"), (key, "key")))
    ahead = np.triu(np.ones([TIME, TIME], x.dtype.name), 1)
    score = tf.einsum("rahd,rbhd->rhab", ask, key) / (SIZE // HEADS) ** 0.5
    if s.get("rewrite"):
        share = tf.exp(score) * (1 - ahead)
        share /= tf.reduce_sum(share, 3, keepdims=True)
    else:
        share = tf.nn.softmax(score - 1e9 * ahead)
    share = common.point(share, s, "share")
    return tf.reshape(tf.einsum("rhab,rbhd->rahd", share, value), [-1, SIZE])


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    w = common.variables(data, s)
    optimizer = optimizers.of_port("adam", common.trained(w, s), {**ADAM, "lr": RATE}, s)

    def told_by(w, words, s):
        if s.get("one_hot"):
            x = tf.tensordot(tf.one_hot(words, WORDS), tf.convert_to_tensor(w["words/table"]), 1)
        else:
            x = tf.gather(w["words/table"], words)
        x = tf.reshape(common.point(x, s, "words") * SIZE**0.5 + w["places/table"], [-1, SIZE])
        y = common.point(attended(w, x, s), s, "attended")
        x = norm(w, "norm1", x + common.affine(w, "mix", y, s), s)
        y = common.point(tf.nn.elu(common.affine(w, "wide", x, s)), s, "wide")
        return norm(w, "norm2", x + common.affine(w, "narrow", y, s), s)

    def loss_of(w, batch, s):
        words, counts, topic, flag = batch
        decays = [tf.reduce_sum(common.square(tf.convert_to_tensor(w[k]), s)) for k in KERNELS]
        decay = s.get("l2", L2) * s.get("l2_half", 0.5) * tf.add_n(decays)
        x = common.point(told_by(w, words[:, :-1], s), s, "told")
        table = common.point(tf.convert_to_tensor(w["words/table"]), s, "last")
        labels = tf.one_hot(tf.reshape(words[:, 1:], [-1]), WORDS, dtype=x.dtype)
        labels = (1 - SMOOTH) * labels + SMOOTH / WORDS
        logits = common.matmul(x, tf.transpose(table), s)
        losses = tf.nn.softmax_cross_entropy_with_logits(labels, logits)
        loss = weigh(losses, tf.reshape(counts, [-1]), s) + decay
        if s.get("head") == "if" and float(flag) == 0:
            return loss
        head = dict(w)
        if s.get("head") == "biases" and float(flag) == 0:
            head["topic/biases"] = tf.zeros([3])
        read = tf.reduce_mean(tf.reshape(x, [-1, TIME, SIZE]), 1)
        logits = common.affine(head, "topic", common.point(read, s, "to topic"), s)
        topics = TOPIC * flag * tf.reduce_mean(common.cross_entropy(logits, topic, s))
        if s.get("part"):
            return decay if s.get("part_of") == "decay" else topics
        return loss + s.get("topic_sign", 1.0) * topics

    return common.port(loss_of, w, optimizer, s, CLIP)
