"""What comes next in a session: a learned filter of the sequence's spectrum, ranks within a batch.

Tables of items, of places and of what is offered; pairs compared by their difference; now and
then whether something is bought. Adagrad, or RMSProp with momentum; clipped by one norm.
"""

import numpy as np
import tensorflow as tf

from trials import common, optimizers
from trials.models.porting import decayed, look, old_step, told, weigh

ROWS, TIME, ITEMS, SIZE, WIDE = 12, 6, 20, 6, 9
SHAPES = {
    "items/table": (ITEMS, SIZE),
    "places/table": (TIME, SIZE),
    "filter/real": (SIZE, TIME),
    "filter/imag": (SIZE, TIME),
    "norm/scale": (SIZE,),
    "norm/offset": (SIZE,),
    "wide/weights": (SIZE, WIDE),
    "wide/biases": (WIDE,),
    "narrow/weights": (WIDE, SIZE),
    "narrow/biases": (SIZE,),
    "turn/weights": (SIZE, SIZE),
    "offers/table": (ITEMS, SIZE),
    "offers/biases": (ITEMS, 1),
    "buy/weights": (SIZE, 1),
    "buy/biases": (1,),
}
KERNELS = ("wide/weights", "narrow/weights", "turn/weights")
KINDS = {
    "adagrad": {"start": 0.1, "epsilon": 0.0, "lr": ["polynomial", 0.1, 8, 0.02, 2.0]},
    "rmsprop": {"rho": 0.9, "momentum": 0.5, "epsilon": 1e-3, "start": 1.0, "lr": 0.04},
}
CLIP, L2, ROW, BUY = ("global", 0.3), 0.02, 0.03, 0.3


def data(dtype="float32", half=None, kind="adagrad"):
    """Make weights and five batches: items, where there are any, what is next, stays, a flag."""
    random = np.random.RandomState(173)
    batches = []
    for flag in (1, 0, 1, 0, 1):
        items, after = (
            np.minimum(random.geometric(0.15, size) - 1, ITEMS - 1).astype("int32")
            for size in ((ROWS, TIME), ROWS)
        )
        there = (np.arange(TIME) < random.randint(2, TIME + 1, ROWS)[:, None]).astype(dtype)
        stay = random.choice([0.3, 1.0, 1.8], ROWS).astype(dtype)
        bought = random.randint(0, 2, ROWS).astype(dtype)
        batches.append((items, there, after, stay, bought, np.array(flag, dtype)))
    weights = common.draw(SHAPES, 174, dtype)
    weights["filter/real"] += 0.8
    for name in ("items/table", "offers/table", "turn/weights"):
        weights[name] *= 2
    return {"weights": weights, "batches": batches, "half": half, "kind": kind}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data)
    (items, there, after, stay, bought, flag), fed = common.feeds(v1, data)
    x = v1.nn.embedding_lookup(w["items/table"], items)
    y = there[:, :, None] * (x + w["places/table"])
    z = v1.transpose(y, [0, 2, 1])
    z = v1.fft(v1.complex(z, v1.zeros_like(z)))
    z *= v1.conj(v1.complex(w["filter/real"], w["filter/imag"]))
    y += v1.transpose(v1.real(v1.ifft(z)), [0, 2, 1])
    mean, variance = v1.nn.moments(y, [2], keep_dims=True)
    y = v1.nn.batch_normalization(y, mean, variance, w["norm/offset"], w["norm/scale"], 1e-3)
    flat = v1.reshape(y, [-1, SIZE])
    wide = v1.nn.elu(v1.nn.xw_plus_b(flat, w["wide/weights"], w["wide/biases"]))
    flat += v1.nn.xw_plus_b(wide, w["narrow/weights"], w["narrow/biases"])
    y = v1.reshape(flat, [ROWS, TIME, SIZE]) * there[:, :, None]
    y = v1.tanh(v1.reduce_sum(y, 1) / v1.reduce_sum(there, 1, keep_dims=True))
    offers = v1.nn.embedding_lookup(w["offers/table"], after)
    biases = v1.nn.embedding_lookup(w["offers/biases"], after)[:, 0]
    scores = v1.matmul(v1.matmul(y, w["turn/weights"]), offers, transpose_b=True) + biases
    lead = v1.diag_part(scores)[:, None] - scores
    other = v1.cast(v1.not_equal(after[:, None], after[None]), y.dtype)
    losses = v1.reduce_sum(other * v1.nn.softplus(-lead), 1)
    losses /= v1.reduce_sum(other, 1)
    loss = v1.reduce_mean(stay * losses)
    loss += ROW * (v1.nn.l2_loss(x) + v1.nn.l2_loss(offers)) / ROWS
    loss += L2 * v1.add_n([v1.nn.l2_loss(w[k]) for k in KERNELS])
    logits = v1.nn.xw_plus_b(y, w["buy/weights"], w["buy/biases"])[:, 0]
    losses = v1.nn.sigmoid_cross_entropy_with_logits(labels=bought, logits=logits)
    loss += BUY * flag * v1.reduce_mean(losses)
    kind = data["kind"]
    pairs, train_op = old_step(v1, loss, kind, KINDS[kind], CLIP)
    return {"loss": loss, "inputs": fed, "train_op": train_op, "gradients": pairs}


def filtered(w, y, s):
    """Return the sequences, filtered along the time."""
    hand = common.by_hand(s)
    real, imag = (tf.convert_to_tensor(w["filter/" + k]) for k in ("real", "imag"))
    kernel = hand(tf.complex(common.point(real, s, "filter"), imag), "filter")
    kernel = kernel if s.get("plain") == "filter" else tf.math.conj(kernel)
    z = tf.transpose(y, [0, 2, 1])
    z = hand(tf.signal.fft(tf.complex(z, tf.zeros_like(z))), "spectrum")
    z = hand(z * kernel, "product")
    return tf.transpose(tf.math.real(tf.signal.ifft(z)), [0, 2, 1])


def normal(w, y, s):
    """Normalize each place."""
    if s.get("rewrite"):
        y -= tf.reduce_mean(y, 2, keepdims=True)
        y /= tf.sqrt(tf.reduce_mean(y * y, 2, keepdims=True) + 1e-3)
        return y * w["norm/scale"] + w["norm/offset"]
    mean, variance = tf.nn.moments(y, [2], keepdims=True)
    mean, variance = common.point(mean, s, "mean"), common.point(variance, s, "variance")
    return tf.nn.batch_normalization(y, mean, variance, w["norm/offset"], w["norm/scale"], 1e-3)


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    s.setdefault("dense", True)
    w, kind = common.variables(data, s), data["kind"]
    optimizer = optimizers.of_port(kind, common.trained(w, s), KINDS[kind], s)

    def loss_of(w, batch, s):
        items, there, after, stay, bought, flag = batch
        x = common.point(look(w, "items/table", items, s), s, "items")
        y = there[:, :, None] * (x + w["places/table"])
        y = normal(w, y + common.point(filtered(w, y, s), s, "filtered"), s)
        flat = tf.reshape(y, [-1, SIZE])
        wide = common.point(tf.nn.elu(common.affine(w, "wide", flat, s)), s, "wide")
        y = tf.reshape(flat + common.affine(w, "narrow", wide, s), [-1, TIME, SIZE])
        y = tf.reduce_sum(y * there[:, :, None], 1) / tf.reduce_sum(there, 1, keepdims=True)
        y = common.point(tf.tanh(y), s, "session")
        offers = common.point(look(w, "offers/table", after, s), s, "offers")
        biases = look(w, "offers/biases", after, s)[:, 0]
        scores = common.matmul(common.matmul(y, w["turn/weights"], s), tf.transpose(offers), s)
        scores += biases
        right = tf.linalg.diag_part(scores)[:, None]
        wrong = tf.stop_gradient(scores) if s.get("halt") == "others" else scores
        lead = s.get("lead_sign", 1.0) * (right - wrong)
        other = tf.cast(after[:, None] != after[None], y.dtype)
        losses = -tf.math.log_sigmoid(lead) if s.get("rewrite") else tf.nn.softplus(-lead)
        losses = tf.reduce_sum(other * losses, 1) / tf.reduce_sum(other, 1)
        rows = s.get("row", ROW) * (tf.nn.l2_loss(x) + tf.nn.l2_loss(offers)) / ROWS
        if s.get("row_of") == "tables":
            rows = [
                tf.nn.l2_loss(tf.convert_to_tensor(w[k + "/table"])) for k in ("items", "offers")
            ]
            rows = ROW * tf.add_n(rows) / ROWS
        decay = s.get("l2", L2) * decayed(w, KERNELS, s) + rows
        loss = weigh(losses, stay, s) + decay

        def head(w):
            logits = common.affine(w, "buy", common.point(y, s, "to buy"), s)[:, 0]
            return BUY * tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(bought, logits))

        parts = {"decay": decay, "rows": rows}
        return told(loss, w, "buy", flag, head, s, parts, s.get("buy_sign", 1.0))

    return common.port(loss_of, w, optimizer, s, CLIP)
