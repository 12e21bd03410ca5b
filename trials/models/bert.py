"""A transformer block for masked words: BERT's optimizer, uncorrected, decay decoupled, warm-up."""

import numpy as np
import tensorflow as tf

from trials import common, optimizers
from trials.models.bert_parts import dense, encode, words_loss

N, LENGTH, SIZE, WORDS, HEADS = 8, 6, 8, 18, 2
SHAPES = {
    "words/table": (WORDS, SIZE),
    "positions/table": (LENGTH, SIZE),
    "query/weights": (SIZE, SIZE),
    "query/biases": (SIZE,),
    "key/weights": (SIZE, SIZE),
    "value/weights": (SIZE, SIZE),
    "value/biases": (SIZE,),
    "attention/weights": (SIZE, SIZE),
    "attention/biases": (SIZE,),
    "norm1/scale": (SIZE,),
    "norm1/offset": (SIZE,),
    "inner/weights": (SIZE, 12),
    "inner/biases": (12,),
    "outer/weights": (12, SIZE),
    "outer/biases": (SIZE,),
    "norm2/scale": (SIZE,),
    "norm2/offset": (SIZE,),
    "words/biases": (WORDS,),
    "next/weights": (SIZE, 2),
    "next/biases": (2,),
}
RATE, WARM, STEPS, DECAY, LIMIT = 0.01, 2, 20, 0.02, 0.7
ADAM = {"beta_1": 0.9, "beta_2": 0.98, "epsilon": 1e-6, "corrected": "none", "decay": DECAY}
ADAM.update(decoupled=True, skip_decay=["biases", "norm"])


def data(dtype="float32", half=None):
    """Make weights and five batches; the next sentence counts in some of them."""
    random = np.random.RandomState(65)
    batches = []
    for flag in (1, 0, 1, 0, 0):
        words = np.minimum(random.geometric(0.2, (N, LENGTH)) + 1, WORDS - 1)
        lengths = random.randint(3, LENGTH + 1, N)
        words = np.where(np.arange(LENGTH) < lengths[:, None], words, 0)
        labels = np.where(words > 0, random.randint(2, WORDS, (N, LENGTH)), 0)
        chosen = random.uniform(size=(N, LENGTH)) < 0.6
        chosen[:, 0] = True
        seen = np.where(chosen, 1, words) * (words > 0)
        weights = (chosen & (words > 0)).astype(dtype)
        rows = seen.astype("int32"), labels.astype("int32"), weights
        batches.append((*rows, random.randint(0, 2, N).astype("int32"), np.array(flag, dtype)))
    return {"weights": common.draw(SHAPES, 66, dtype), "batches": batches, "half": half}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data)
    (words, labels, weights, following, flag), fed = common.feeds(v1, data)

    def dense(x, name):
        out = v1.matmul(x, w[name + "/weights"])
        return out if name == "key" else out + w[name + "/biases"]  # a bias of keys does nothing

    def norm(x, name):
        mean, variance = v1.nn.moments(x, [1], keep_dims=True)
        return v1.nn.batch_normalization(
            x, mean, variance, w[name + "/offset"], w[name + "/scale"], 1e-6
        )

    def split(x):
        return v1.transpose(v1.reshape(x, [N, LENGTH, HEADS, SIZE // HEADS]), [0, 2, 1, 3])

    x = v1.nn.embedding_lookup(w["words/table"], words) + w["positions/table"]
    x = v1.reshape(x, [-1, SIZE])
    q, k, v = split(dense(x, "query")), split(dense(x, "key")), split(dense(x, "value"))
    scores = v1.matmul(q, k, transpose_b=True) / 2.0
    pad = v1.cast(v1.equal(words, 0), x.dtype)[:, None, None, :]
    mixed = v1.matmul(v1.nn.softmax(scores - 10000.0 * pad), v)
    mixed = v1.reshape(v1.transpose(mixed, [0, 2, 1, 3]), [-1, SIZE])
    x = norm(x + dense(mixed, "attention"), "norm1")
    y = dense(x, "inner")
    y = 0.5 * y * (1.0 + v1.erf(y / np.sqrt(2.0)))
    x = norm(x + dense(y, "outer"), "norm2")
    logits = v1.matmul(x, w["words/table"], transpose_b=True) + w["words/biases"]
    flat = v1.reshape(labels, [-1])
    losses = v1.nn.sparse_softmax_cross_entropy_with_logits(labels=flat, logits=logits)
    counts = v1.reshape(weights, [-1])
    loss = v1.reduce_sum(losses * counts) / (v1.reduce_sum(counts) + 1e-5)
    second = dense(v1.reshape(x, [N, LENGTH, SIZE])[:, 0], "next")
    second = v1.nn.sparse_softmax_cross_entropy_with_logits(labels=following, logits=second)
    loss += flag * v1.reduce_mean(second)
    step = v1.train.get_or_create_global_step()
    rate = v1.train.polynomial_decay(RATE, step, STEPS, 0.0)
    count = v1.cast(step, rate.dtype)
    rate = v1.where(count < WARM, RATE * count / WARM, rate)
    tvars = v1.trainable_variables()
    grads, _ = v1.clip_by_global_norm(v1.gradients(loss, tvars), LIMIT)
    ops = []
    with v1.control_dependencies([*grads, rate]):
        for g, p in zip(grads, tvars):  # noqa: B905
            zeros = 0 * data["weights"][p.op.name]
            m = v1.get_variable(p.op.name + "/adam_m", initializer=zeros, trainable=False)
            n = v1.get_variable(p.op.name + "/adam_v", initializer=zeros, trainable=False)
            m = v1.assign(m, 0.9 * m + 0.1 * g)
            n = v1.assign(n, 0.98 * n + 0.02 * v1.square(g))
            change = m / (v1.sqrt(n) + 1e-6)
            if "norm" not in p.op.name and "biases" not in p.op.name:
                change += DECAY * p
            ops.append(v1.assign_sub(p, v1.cast(rate, g.dtype) * change))
    with v1.control_dependencies(ops):
        train_op = v1.assign_add(step, 1)
    pairs = list(zip(grads, tvars))  # noqa: B905
    return {"loss": loss, "inputs": fed, "train_op": train_op, "gradients": pairs}


def rate_of(s):
    """Return the rate by the count of steps."""
    warm, steps, peak = s.get("warm", WARM), s.get("steps", STEPS), s.get("rate", RATE)

    def rate(count):
        count = tf.cast(count, tf.float64) + s.get("ahead", 0)
        fall = peak * (1 - tf.minimum(count / steps, 1)) ** s.get("power", 1)
        if s.get("falls") == "after":  # as newer libraries have it: from the end of the warm-up
            fall = peak * (steps - count) / (steps - warm)
        return tf.where(count < warm, peak * count / max(warm, 1e-9), fall)

    return rate


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    w = common.variables(data, s)
    names = {id(v): k for k, v in w.items()}
    rate = RATE if s.get("schedule") == "out" else rate_of(s)
    optimizer = optimizers.Hand("adam", names, rate, **{**ADAM, **s.get("opt", {})})

    def loss_of(w, batch, s):
        words, labels, weights, following, flag = batch
        x = encode(w, words, s)
        loss = words_loss(w, x, labels, weights, s)
        if s.get("next") == "if" and float(flag) == 0:
            return loss
        first = tf.reshape(x, [words.shape[0], -1, SIZE])[:, 0]
        first = tf.stop_gradient(first) if s.get("halt") == "first" else first
        second = common.cross_entropy(dense(w, first, "next", s), following, s)
        if s.get("part"):
            return common.mean(second, s)
        flag = tf.ones_like(flag) if s.get("next") == "always" else flag
        return loss + flag * common.mean(second, s)

    return common.port(loss_of, w, optimizer, s, ("global", LIMIT))
