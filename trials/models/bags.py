"""Bags of which only the whole has a label: gated attention pools what is in a bag.

Batch normalization, rows of a table for the places they are from, a penalty of the slope at what
is put in, now and then how severe; RMSProp with momentum, or Adam; clipped by one norm.
"""

import numpy as np
import tensorflow as tf

from trials import common, optimizers
from trials.models.porting import averages, decayed, held, look, old_step, told, weigh

BAGS, PIECES, DIMS, PLACES, SIZE, GATES = 8, 5, 4, 4, 7, 6
SHAPES = {
    "places/table": (PLACES, DIMS),
    "first/weights": (DIMS, SIZE),
    "norm/scale": (SIZE,),
    "norm/offset": (SIZE,),
    "norm/mean": (SIZE,),
    "norm/variance": (SIZE,),
    "second/weights": (SIZE, SIZE),
    "second/biases": (SIZE,),
    "ask/weights": (SIZE, GATES),
    "ask/biases": (GATES,),
    "gate/weights": (SIZE, GATES),
    "gate/biases": (GATES,),
    "attend/weights": (GATES, 1),
    "label/weights": (SIZE, 1),
    "label/biases": (1,),
    "severe/weights": (SIZE, 1),
    "severe/biases": (1,),
}
FROZEN = ("norm/mean", "norm/variance")
KERNELS = ("first/weights", "second/weights", "label/weights")
KINDS = {
    "rmsprop": {"rho": 0.9, "momentum": 0.6, "epsilon": 0.01, "start": 1.0, "lr": 0.015},
    "adam": {"beta_1": 0.9, "beta_2": 0.98, "epsilon": 1e-4, "lr": ["inverse", 0.015, 0.5]},
}
CLIP, SHARE, L2, SLOPE, EVEN, SEVERE = ("global", 0.4), 0.85, 0.02, 0.5, 0.1, 0.3


def data(dtype="float32", half=None, kind="rmsprop"):
    """Make weights and five batches: pieces, which there are, places, labels, trust, severity."""
    random = np.random.RandomState(199)
    batches = []
    for flag in (1, 0, 1, 0, 0):
        place = np.minimum(random.geometric(0.4, (BAGS, PIECES)) - 1, PLACES - 1).astype("int32")
        x = random.randn(BAGS, PIECES, DIMS) + 0.2 * place[:, :, None]
        there = np.arange(PIECES) < random.randint(2, PIECES + 1, BAGS)[:, None]
        label, trust = random.randint(0, 2, BAGS), random.choice([0.5, 1.0, 2.2], BAGS)
        parts = [a.astype(dtype) for a in (x, there, label, trust, random.rand(BAGS))]
        batches.append((*parts[:2], place, *parts[2:], np.array(flag, dtype)))
    weights = common.draw(SHAPES, 200, dtype)
    for name in ("places/table", "attend/weights", "label/weights"):
        weights[name] *= 2
    return {"weights": weights, "batches": batches, "half": half, "kind": kind}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data, FROZEN)
    (x, there, place, label, trust, severe, flag), fed = common.feeds(v1, data)
    y = v1.reshape(x + v1.nn.embedding_lookup(w["places/table"], place), [-1, DIMS])
    y = v1.matmul(y, w["first/weights"])
    mean, variance = v1.nn.moments(y, [0])
    y = v1.nn.batch_normalization(y, mean, variance, w["norm/offset"], w["norm/scale"], 1e-3)
    y = v1.tanh(v1.nn.xw_plus_b(v1.nn.elu(y), w["second/weights"], w["second/biases"]))
    ask = v1.tanh(v1.nn.xw_plus_b(y, w["ask/weights"], w["ask/biases"]))
    gate = v1.sigmoid(v1.nn.xw_plus_b(y, w["gate/weights"], w["gate/biases"]))
    scores = v1.reshape(v1.matmul(ask * gate, w["attend/weights"]), [BAGS, PIECES])
    share = v1.nn.softmax(scores - 1e4 * (1 - there))
    pooled = v1.reduce_sum(share[:, :, None] * v1.reshape(y, [BAGS, PIECES, SIZE]), 1)
    logits = v1.nn.xw_plus_b(pooled, w["label/weights"], w["label/biases"])[:, 0]
    losses = v1.nn.sigmoid_cross_entropy_with_logits(labels=label, logits=logits)
    loss = v1.reduce_mean(trust * losses)
    slope = v1.gradients(logits, [x])[0]
    loss += SLOPE * v1.reduce_mean(v1.reduce_sum(v1.square(slope), [1, 2]))
    loss += EVEN * v1.reduce_mean(v1.reduce_sum(v1.square(share), 1))
    loss += L2 * v1.add_n([v1.nn.l2_loss(w[k]) for k in KERNELS])
    guess = v1.sigmoid(v1.nn.xw_plus_b(pooled, w["severe/weights"], w["severe/biases"]))[:, 0]
    loss += SEVERE * flag * v1.reduce_mean(v1.abs(guess - severe))
    values = {"norm/mean": mean, "norm/variance": variance}
    ops = [v1.assign(w[k], SHARE * w[k] + (1 - SHARE) * v) for k, v in values.items()]
    kind = data["kind"]
    pairs, train_op = old_step(v1, loss, kind, KINDS[kind], CLIP, ops)
    return {"loss": loss, "inputs": fed, "train_op": train_op, "gradients": pairs}


def pooled(w, x, there, s):
    """Return what is in the bags, pooled, and how much each piece counts."""
    y = common.point(common.matmul(tf.reshape(x, [-1, DIMS]), w["first/weights"], s), s, "first")
    mean, variance = averages(w, y, s, SHARE)
    y = tf.nn.batch_normalization(y, mean, variance, w["norm/offset"], w["norm/scale"], 1e-3)
    y = tf.tanh(common.affine(w, "second", common.point(tf.nn.elu(y), s, "normed"), s))
    y = common.point(y, s, "second")
    if s.get("rewrite"):  # one kernel for both
        kernel, biases = (
            tf.concat([tf.convert_to_tensor(w[k + leaf]) for k in ("ask/", "gate/")], -1)
            for leaf in ("weights", "biases")
        )
        ask, gate = tf.split(tf.matmul(y, kernel) + biases, 2, 1)
    else:
        ask, gate = common.affine(w, "ask", y, s), common.affine(w, "gate", y, s)
    gate = common.point(tf.sigmoid(gate), s, "gate")
    scores = common.matmul(tf.tanh(ask) * gate, w["attend/weights"], s)
    scores = tf.reshape(scores, [BAGS, PIECES])
    share = common.point(tf.nn.softmax(scores - 1e4 * (1 - there)), s, "share")
    y = tf.reshape(y, [BAGS, PIECES, SIZE])
    if s.get("rewrite"):
        return tf.einsum("bp,bps->bs", share, y), share
    return tf.reduce_sum(share[:, :, None] * y, 1), share


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    s.setdefault("dense", True)
    w, kind = common.variables(data, s, FROZEN), data["kind"]
    optimizer = optimizers.of_port(kind, common.trained(w, s), KINDS[kind], s)

    def loss_of(w, batch, s):
        x, there, place, label, trust, severe, flag = batch
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(x)
            row = common.point(look(w, "places/table", place, s), s, "places")
            y, share = pooled(w, x + row, there, s)
            y = common.point(y, s, "pooled")
            logits = common.affine(w, "label", y, s)[:, 0]
        slope = held(tape.gradient(logits, x), s)
        slope = SLOPE * tf.reduce_mean(tf.reduce_sum(common.square(slope, s), [1, 2]))
        losses = tf.nn.sigmoid_cross_entropy_with_logits(label, logits)
        if s.get("rewrite"):
            losses = tf.nn.softplus(logits) - label * logits
        even = EVEN * tf.reduce_mean(tf.reduce_sum(common.square(share, s), 1))
        decay = s.get("l2", L2) * decayed(w, KERNELS, s)
        if s.get("balance"):  # those that have the label count more
            trust *= 1 + s["balance"] * label
        loss = weigh(losses, trust, s) + decay + s.get("slope_sign", 1.0) * slope
        loss += s.get("even_sign", 1.0) * even

        def head(w):
            guess = tf.sigmoid(common.affine(w, "severe", common.point(y, s, "to severe"), s))
            return SEVERE * tf.reduce_mean(tf.abs(guess[:, 0] - severe))

        parts = {"decay": decay, "slope": slope, "even": even}
        return told(loss, w, "severe", flag, head, s, parts, s.get("severe_sign", 1.0))

    return common.port(loss_of, w, optimizer, s, CLIP)
