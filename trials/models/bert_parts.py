"""The forward pass of the transformer's ports."""

import tensorflow as tf

from trials import common


def dense(w, x, name, s):
    """Apply a dense layer to rows."""
    kernel = w[name + "/weights"]
    kernel = tf.transpose(kernel) if s.get("turned") == name else kernel
    out = common.matmul(x, kernel, s)
    return out if name == "key" else out + w[name + "/biases"]


def norm(w, x, name, s):
    """Normalize each row."""
    mean = tf.reduce_mean(x, 1, keepdims=True)
    if s.get("rewrite"):
        variance = tf.reduce_mean(x * x, 1, keepdims=True) - mean * mean
    else:
        variance = tf.reduce_mean(tf.math.squared_difference(x, mean), 1, keepdims=True)
    if s.get("norm") == "unbiased":
        size = x.shape[1]
        variance = variance * size / (size - 1)
    if s.get("norm") == "stopped":
        mean, variance = tf.stop_gradient(mean), tf.stop_gradient(variance)
    root = tf.math.rsqrt(variance + s.get("norm_epsilon", 1e-6))
    return (x - mean) * root * w[name + "/scale"] + w[name + "/offset"]


def attend(w, x, words, s):
    """Mix the words of each row by attention; padding is not looked at."""
    n, length = words.shape
    size = x.shape[1]
    heads = s.get("heads", 2)

    def split(x):
        return tf.transpose(tf.reshape(x, [n, length, heads, size // heads]), [0, 2, 1, 3])

    q, k, v = (split(dense(w, x, name, s)) for name in ("query", "key", "value"))
    k = tf.stop_gradient(k) if s.get("halt") == "key" else k
    scores = s.get("temperature", 0.5) * tf.matmul(q, k, transpose_b=True)
    pad = tf.cast(words == 0, x.dtype)[:, None, None, :]
    if s.get("mask") == "out":
        pad = tf.zeros_like(pad)
    if s.get("rewrite"):
        weights = tf.exp(scores - tf.reduce_max(scores, -1, keepdims=True)) * (1 - pad)
        weights = weights / tf.reduce_sum(weights, -1, keepdims=True)
    else:
        weights = tf.nn.softmax(scores - s.get("far", 10000.0) * pad)
    if s.get("dropout"):
        weights = tf.nn.dropout(weights, s["dropout"], seed=4)
    weights = tf.stop_gradient(weights) if s.get("halt") == "weights" else weights
    mixed = tf.reshape(tf.transpose(tf.matmul(weights, v), [0, 2, 1, 3]), [-1, size])
    return dense(w, common.point(mixed, s, "mixed"), "attention", s)


def encode(w, words, s):
    """Return the rows after the block."""
    x = tf.gather(w["words/table"], words) + tf.convert_to_tensor(w["positions/table"])
    x = tf.reshape(common.point(x, s, "words"), [-1, x.shape[-1]])
    if s.get("place") == "before":  # normalized before, as newer blocks are
        x = x + attend(w, norm(w, x, "norm1", s), words, s)
        y = dense(w, norm(w, x, "norm2", s), "inner", s)
        return x + dense(w, tf.nn.gelu(y), "outer", s)
    x = common.point(norm(w, x + attend(w, x, words, s), "norm1", s), s, "attended")
    y = dense(w, x, "inner", s)
    gelu = tf.nn.gelu(y, approximate=s.get("gelu") == "tanh")
    y = tf.nn.relu(y) if s.get("gelu") == "relu" else gelu
    return common.point(norm(w, x + dense(w, y, "outer", s), "norm2", s), s, "encoded")


def words_loss(w, x, labels, weights, s):
    """Return the loss of the words that are masked; the table is that of the input."""
    table = tf.convert_to_tensor(w["words/table"])
    table = tf.stop_gradient(table) if s.get("halt") == "table" else table
    logits = tf.matmul(x, table, transpose_b=True) + w["words/biases"]
    losses = common.cross_entropy(logits, tf.reshape(labels, [-1]), s)
    counts = tf.reshape(weights, [-1])
    how = s.get("sample_weights")
    if how == "words":  # all words count, not only those masked
        counts = tf.cast(tf.reshape(labels, [-1]) > 0, x.dtype)
    if how == "out":
        counts = tf.ones_like(counts)
    if how == "some":  # those that are not masked count a little
        counts = tf.maximum(counts, s["some"])
    total = tf.reduce_sum(counts) + s.get("plus", 1e-5)
    if how == "length":
        total = tf.cast(tf.size(counts), x.dtype)
    if how == "rows":  # a mean of each row's mean
        shape = weights.shape
        counts = tf.reshape(counts, shape)
        rows = tf.reduce_sum(tf.reshape(losses, shape) * counts, 1) / tf.reduce_sum(counts, 1)
        return tf.reduce_mean(rows)
    if how == "sum":
        total = 1.0
    return tf.reduce_sum(losses * counts) / total
