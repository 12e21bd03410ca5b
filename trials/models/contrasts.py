"""Contrastive predictive coding of complex signals: which future belongs to which past.

A complex filter, batch normalization of the logarithms, a leaky context, rows of a table for who
speaks, now and then a word; RMSProp or Adagrad with falling rates; clipped by one norm.
"""

import numpy as np
import tensorflow as tf

from trials import common, optimizers
from trials.models.porting import averages, decayed, look, old_step, told, weigh

ROWS, TIME, BANDS, SIZE, SPEAKERS, AHEAD = 10, 6, 4, 6, 5, 2
SHAPES = {
    "filter/real": (BANDS, SIZE),
    "filter/imag": (BANDS, SIZE),
    "norm/scale": (SIZE,),
    "norm/offset": (SIZE,),
    "norm/mean": (SIZE,),
    "norm/variance": (SIZE,),
    "speakers/table": (SPEAKERS, SIZE),
    "input/weights": (SIZE, SIZE),
    "input/biases": (SIZE,),
    "leak/strength": (SIZE,),
    "near/weights": (SIZE, SIZE),
    "far/weights": (SIZE, SIZE),
    "word/weights": (SIZE, 3),
    "word/biases": (3,),
}
FROZEN = ("norm/mean", "norm/variance")
KERNELS = ("input/weights", "near/weights", "far/weights")
KINDS = {
    "rmsprop": {"rho": 0.85, "epsilon": 1e-3, "start": 1.0, "lr": [0.03, 2, 0.8]},
    "adagrad": {"start": 0.15, "epsilon": 0.0, "lr": ["inverse", 0.08, 0.3]},
}
CLIP, SHARE, L2, BACK, STILL, WORD = ("global", 3.0), 0.88, 0.02, 0.5, 0.1, 0.3


def data(dtype="float32", half=None, kind="rmsprop"):
    """Make weights and five batches: signals, who speaks, trust, words, a flag."""
    random = np.random.RandomState(193)
    batches = []
    for flag in (1, 0, 1, 0, 1):
        start = random.randn(ROWS, 1, BANDS) + 1j * random.randn(ROWS, 1, BANDS)
        turn = np.exp(1j * random.uniform(-1, 1, (ROWS, 1, BANDS)) * np.arange(TIME)[:, None])
        heard = start * turn
        heard += 0.3 * (random.randn(*heard.shape) + 1j * random.randn(*heard.shape))
        speaker = np.minimum(random.geometric(0.4, ROWS) - 1, SPEAKERS - 1).astype("int32")
        trust = random.choice([0.4, 1.0, 1.9], ROWS)
        word = random.randint(0, 3, ROWS).astype("int32")
        parts = [a.astype(dtype) for a in (heard.real, heard.imag, trust)]
        batches.append((*parts[:2], speaker, parts[2], word, np.array(flag, dtype)))
    weights = common.draw(SHAPES, 194, dtype)
    for name in ("speakers/table", "near/weights", "far/weights"):
        weights[name] *= 2
    return {"weights": weights, "batches": batches, "half": half, "kind": kind}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data, FROZEN)
    (real, imag, speaker, trust, word, flag), fed = common.feeds(v1, data)
    kernel = v1.conj(v1.complex(w["filter/real"], w["filter/imag"]))
    z = v1.matmul(v1.reshape(v1.complex(real, imag), [-1, BANDS]), kernel)
    y = v1.log(v1.square(v1.real(z)) + v1.square(v1.imag(z)) + 0.1)
    mean, variance = v1.nn.moments(y, [0])
    y = v1.nn.batch_normalization(y, mean, variance, w["norm/offset"], w["norm/scale"], 1e-3)
    row = v1.nn.embedding_lookup(w["speakers/table"], speaker)
    y = v1.reshape(y, [ROWS, TIME, SIZE])
    leak = v1.sigmoid(w["leak/strength"])
    context = row
    for t in range(TIME - AHEAD):
        new = v1.nn.xw_plus_b(y[:, t], w["input/weights"], w["input/biases"])
        context = leak * context + (1 - leak) * v1.tanh(new)
    losses = 0.0
    for ahead, name in ((1, "near"), (2, "far")):
        guess = v1.matmul(context, w[name + "/weights"])
        scores = v1.matmul(guess, y[:, TIME - AHEAD - 1 + ahead], transpose_b=True)
        right = v1.diag_part(scores)
        losses += v1.reduce_logsumexp(scores, 1) - right
        losses += BACK * (v1.reduce_logsumexp(scores, 0) - right)
    loss = v1.reduce_mean(trust * losses)
    z = v1.reshape(z, [ROWS, TIME, SIZE])
    steady = v1.reduce_mean(v1.conj(z[:, :-1]) * z[:, 1:], 1)
    loss -= STILL * v1.reduce_mean(v1.real(steady))
    loss += L2 * v1.add_n([v1.nn.l2_loss(w[k]) for k in KERNELS])
    logits = v1.nn.xw_plus_b(context, w["word/weights"], w["word/biases"])
    losses = v1.nn.sparse_softmax_cross_entropy_with_logits(labels=word, logits=logits)
    loss += WORD * flag * v1.reduce_mean(losses)
    values = {"norm/mean": mean, "norm/variance": variance}
    ops = [v1.assign(w[k], SHARE * w[k] + (1 - SHARE) * v) for k, v in values.items()]
    kind = data["kind"]
    pairs, train_op = old_step(v1, loss, kind, KINDS[kind], CLIP, ops)
    return {"loss": loss, "inputs": fed, "train_op": train_op, "gradients": pairs}


def filtered(w, heard, s):
    """Return the signals behind the complex filter."""
    hand = common.by_hand(s)
    real, imag = (tf.convert_to_tensor(w["filter/" + k]) for k in ("real", "imag"))
    kernel = hand(tf.complex(real, common.point(imag, s, "imag")), "filter")
    kernel = kernel if s.get("plain") == "filter" else tf.math.conj(kernel)
    if s.get("rewrite"):
        a, b, c, d = tf.math.real(heard), tf.math.imag(heard), real, -imag
        parts = [tf.einsum("rtb,bs->rts", u, v) for u in (a, b) for v in (c, d)]
        return tf.complex(parts[0] - parts[3], parts[1] + parts[2])
    return hand(tf.einsum("rtb,bs->rts", heard, kernel), "filtered")


def paired(guess, other, s):
    """Return for each row how badly it finds its other, and is found by it."""
    other = common.point(other, s, "future")
    if s.get("rewrite"):
        scores = tf.reduce_sum(guess[:, None] * other[None], 2)
        labels = tf.range(ROWS)
        ours = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, scores)
        return ours, tf.nn.sparse_softmax_cross_entropy_with_logits(labels, tf.transpose(scores))
    scores = common.matmul(guess, tf.transpose(other), s)
    right = tf.linalg.diag_part(scores)
    if s.get("halt") == "others":  # what does not belong gets no gradient
        same = tf.eye(ROWS, dtype=scores.dtype)
        scores = same * scores + (1 - same) * tf.stop_gradient(scores)
    return tf.reduce_logsumexp(scores, 1) - right, tf.reduce_logsumexp(scores, 0) - right


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    s.setdefault("dense", True)
    w, kind = common.variables(data, s, FROZEN), data["kind"]
    optimizer = optimizers.of_port(kind, common.trained(w, s), KINDS[kind], s)

    def loss_of(w, batch, s):
        real, imag, speaker, trust, word, flag = batch
        z = filtered(w, tf.complex(real, imag), s)
        y = tf.math.log(tf.square(tf.math.real(z)) + tf.square(tf.math.imag(z)) + 0.1)
        y = common.point(y, s, "log")
        mean, variance = averages(w, y, s, SHARE)
        y = tf.nn.batch_normalization(y, mean, variance, w["norm/offset"], w["norm/scale"], 1e-3)
        context = common.point(look(w, "speakers/table", speaker, s), s, "speakers")
        leak = tf.sigmoid(tf.convert_to_tensor(w["leak/strength"]))
        for t in range(TIME - AHEAD):
            if s.get("truncated") == t:  # what was before gets no gradient
                context = tf.stop_gradient(context)
            now = tf.tanh(common.affine(w, "input", y[:, t], s))
            context = leak * context + (1 - leak) * common.point(now, s, "now")
        context = common.point(context, s, "context")
        near = paired(common.matmul(context, w["near/weights"], s), y[:, TIME - AHEAD], s)
        far = paired(common.matmul(context, w["far/weights"], s), y[:, TIME - AHEAD + 1], s)
        back = BACK * (near[1] + far[1])
        losses = near[0] + far[0] + s.get("back_sign", 1.0) * back
        before = z[:, :-1] if s.get("plain") == "steady" else tf.math.conj(z[:, :-1])
        steady = tf.reduce_mean(common.by_hand(s)(before * z[:, 1:], "steady"), 1)
        still = -STILL * tf.reduce_mean(tf.math.real(steady))
        decay = s.get("l2", L2) * decayed(w, KERNELS, s)
        loss = weigh(losses, trust, s) + decay + s.get("still_sign", 1.0) * still

        def head(w):
            logits = common.affine(w, "word", common.point(context, s, "to word"), s)
            return WORD * tf.reduce_mean(common.cross_entropy(logits, word, s))

        parts = {"decay": decay, "still": still, "back": tf.reduce_mean(trust * back)}
        return told(loss, w, "word", flag, head, s, parts, s.get("word_sign", 1.0))

    return common.port(loss_of, w, optimizer, s, CLIP)
