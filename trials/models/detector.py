"""A detector: a focal loss for what is where, a Huber loss for its box, now and then its heading.

Batch normalization, rows of a table for the cameras; momentum at a steady rate or RMSProp with
momentum at a falling one, as the old program had it by a flag; clipped by one norm.
"""

import numpy as np
import tensorflow as tf

from trials import common, optimizers
from trials.models.flow import statistics

ROWS, SIDE, CHANNELS, THINGS, CAMERAS = 8, 8, 4, 3, 5
CELLS = (SIDE // 2) ** 2
SHAPES = {
    "cameras/table": (CAMERAS, CHANNELS),
    "first/weights": (3, 3, 2, CHANNELS),
    "norm/scale": (CHANNELS,),
    "norm/offset": (CHANNELS,),
    "norm/mean": (CHANNELS,),
    "norm/variance": (CHANNELS,),
    "second/weights": (3, 3, CHANNELS, CHANNELS),
    "second/biases": (CHANNELS,),
    "things/weights": (CHANNELS, THINGS),
    "things/biases": (THINGS,),
    "box/weights": (CHANNELS, 4),
    "box/biases": (4,),
    "heading/weights": (CHANNELS, 1),
    "heading/biases": (1,),
}
FROZEN = ("norm/mean", "norm/variance")
KERNELS = ("first/weights", "second/weights", "things/weights", "box/weights")
KINDS = {
    "sgd": {"momentum": 0.9, "lr": 0.02},
    "rmsprop": {
        "rho": 0.9,
        "momentum": 0.8,
        "epsilon": 0.01,
        "start": 1.0,
        "lr": [0.02, 2, 0.8, True],
    },
}
CLIP, SHARE, L2, FOCUS, ALPHA = ("global", 1.0), 0.95, 0.02, 2.0, 0.25
BOX, HEADING, PRIOR = 0.5, 0.3, -2.0


def data(dtype="float32", half=None, kind="sgd"):
    """Make weights and five batches: images, cameras, things, boxes, trust, headings, a flag."""
    random = np.random.RandomState(165)
    batches = []
    for flag in (1, 0, 1, 1, 0):
        x = random.randn(ROWS, SIDE, SIDE, 2)
        cameras = np.minimum(random.geometric(0.4, ROWS) - 1, CAMERAS - 1).astype("int32")
        things = random.randint(0, THINGS + 5, (ROWS, CELLS))
        things = np.where(things < THINGS, things, -1).astype("int32")
        box = 1.5 * random.randn(ROWS, CELLS, 4)
        trust = random.choice([0.3, 1.0, 2.0], (ROWS, 1))
        heading = random.uniform(-1, 1, ROWS)
        x, box, trust, heading = (a.astype(dtype) for a in (x, box, trust, heading))
        batches.append((x, cameras, things, box, trust, heading, np.array(flag, dtype)))
    weights = common.draw(SHAPES, 166, dtype)
    weights["things/biases"] += PRIOR
    weights["cameras/table"] *= 2
    return {"weights": weights, "batches": batches, "half": half, "kind": kind}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data, FROZEN)
    (x, cameras, things, box, trust, heading, flag), fed = common.feeds(v1, data)
    y = v1.nn.conv2d(x, w["first/weights"], [1, 2, 2, 1], "SAME")
    mean, variance = v1.nn.moments(y, [0, 1, 2])
    y = v1.nn.batch_normalization(y, mean, variance, w["norm/offset"], w["norm/scale"], 1e-3)
    y = v1.nn.elu(y + v1.nn.embedding_lookup(w["cameras/table"], cameras)[:, None, None])
    y = v1.nn.conv2d(y, w["second/weights"], [1, 1, 1, 1], "SAME")
    y = v1.nn.elu(v1.nn.bias_add(y, w["second/biases"]))
    cells = v1.reshape(y, [-1, CHANNELS])
    logits = v1.nn.xw_plus_b(cells, w["things/weights"], w["things/biases"])
    logits, there = v1.reshape(logits, [ROWS, CELLS, THINGS]), v1.cast(things >= 0, x.dtype)
    labels, p = v1.one_hot(things, THINGS, dtype=x.dtype), v1.sigmoid(logits)
    losses = v1.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
    losses *= (labels * (1 - p) + (1 - labels) * p) ** FOCUS
    losses = v1.reduce_sum(losses * (labels * ALPHA + (1 - labels) * (1 - ALPHA)), 2)
    guess = v1.nn.xw_plus_b(cells, w["box/weights"], w["box/biases"])
    far = v1.abs(v1.reshape(guess, [ROWS, CELLS, 4]) - box)
    far = v1.reduce_sum(v1.where(far < 1, 0.5 * v1.square(far), far - 0.5), 2)
    loss = v1.reduce_sum(trust * (losses + BOX * there * far)) / v1.reduce_sum(there)
    y = v1.reduce_mean(y, [1, 2])
    guess = v1.nn.xw_plus_b(y, w["heading/weights"], w["heading/biases"])[:, 0]
    loss += HEADING * flag * v1.reduce_mean(v1.square(guess - heading))
    loss += L2 * v1.add_n([v1.nn.l2_loss(w[k]) for k in KERNELS])
    step = v1.train.get_or_create_global_step()
    if data["kind"] == "rmsprop":
        rate = v1.train.exponential_decay(0.02, step, 2, 0.8, staircase=True)
        optimizer = v1.train.RMSPropOptimizer(rate, 0.9, 0.8, 0.01)
    else:
        optimizer = v1.train.MomentumOptimizer(0.02, 0.9)
    grads, sources = zip(*optimizer.compute_gradients(loss), strict=True)
    grads, _ = v1.clip_by_global_norm([v1.convert_to_tensor(g) for g in grads], CLIP[1])
    pairs = list(zip(grads, sources, strict=True))
    train_op = optimizer.apply_gradients(pairs, global_step=step)
    values = {"norm/mean": mean, "norm/variance": variance}
    ops = [v1.assign(w[k], SHARE * w[k] + (1 - SHARE) * v) for k, v in values.items()]
    return {"loss": loss, "inputs": fed, "train_op": v1.group(train_op, *ops), "gradients": pairs}


def focal(logits, labels, s):
    """Return the focal loss of each cell."""
    p = tf.sigmoid(logits)
    if s.get("rewrite"):
        right, wrong = tf.nn.softplus(-logits), tf.nn.softplus(logits)
        right *= ALPHA * common.square(1 - p, s) * labels
        return tf.reduce_sum(right + (1 - ALPHA) * p * p * wrong * (1 - labels), 2)
    losses = tf.nn.sigmoid_cross_entropy_with_logits(labels, logits)
    focus = (labels * (1 - p) + (1 - labels) * p) ** FOCUS
    losses *= tf.stop_gradient(focus) if s.get("halt") == "focus" else focus
    return tf.reduce_sum(losses * (labels * ALPHA + (1 - labels) * (1 - ALPHA)), 2)


def huber(error, s):
    """Return the Huber loss of each box."""
    far = tf.abs(error)
    if s.get("rewrite"):
        near = tf.minimum(far, 1.0)
        return tf.reduce_sum(near * (far - 0.5 * near), 2)
    return tf.reduce_sum(tf.where(far < 1, 0.5 * tf.square(far), far - 0.5), 2)


def weigh(losses, there, trust, s):
    """Reduce the losses of the cells to one: over those that have a thing."""
    how = s.get("sample_weights")
    if how == "out":
        trust = tf.ones_like(trust)
    if how == "one":
        trust = tf.concat([trust[:2], trust[2:3] * s["one"], trust[3:]], 0)
    if how == "cut":
        trust = tf.minimum(trust, s["cut"])
    if how == "shifted":
        trust = tf.roll(trust, 1, 0)
    total = tf.reduce_sum(there) + s.get("more", 0.0)
    total = {"rows": 1.0 * ROWS, "cells": 1.0 * ROWS * CELLS}.get(s.get("reduce"), total)
    return tf.reduce_sum(trust * losses) / total


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    s.setdefault("dense", True)
    w, kind = common.variables(data, s, FROZEN), data["kind"]
    optimizer = optimizers.of_port(kind, common.trained(w, s), KINDS[kind], s)

    def loss_of(w, batch, s):
        x, cameras, things, box, trust, heading, flag = batch
        decays = [tf.reduce_sum(common.square(tf.convert_to_tensor(w[k]), s)) for k in KERNELS]
        decay = s.get("l2", L2) * s.get("l2_half", 0.5) * tf.add_n(decays)
        y = tf.nn.conv2d(x, w["first/weights"], 2, "SAME")
        mean, variance = statistics(w, tf.reshape(y, [-1, CHANNELS]), s, SHARE)
        scale, offset = w["norm/scale"], w["norm/offset"]
        y = tf.nn.batch_normalization(y, mean, variance, offset, scale, 1e-3)
        rows = common.point(tf.gather(w["cameras/table"], cameras), s, "cameras")
        y = common.point(tf.nn.elu(y + rows[:, None, None]), s, "first")
        y = tf.nn.conv2d(y, w["second/weights"], 1, "SAME") + w["second/biases"]
        y = common.point(tf.nn.elu(y), s, "second")
        cells = tf.reshape(y, [-1, CHANNELS])
        logits = tf.reshape(common.affine(w, "things", cells, s), [-1, CELLS, THINGS])
        losses = focal(logits, tf.one_hot(things, THINGS, dtype=x.dtype), s)
        guess = common.affine(w, "box", common.point(cells, s, "to box"), s)
        there = tf.cast(things >= 0, x.dtype)
        boxes = BOX * there * huber(tf.reshape(guess, [-1, CELLS, 4]) - box, s)
        loss = weigh(losses + s.get("box_sign", 1.0) * boxes, there, trust, s) + decay
        if s.get("head") == "if" and float(flag) == 0:
            return loss
        head = dict(w)
        if s.get("head") == "biases" and float(flag) == 0:
            head["heading/biases"] = tf.zeros([1])
        y = common.point(tf.reduce_mean(y, [1, 2]), s, "to heading")
        error = common.square(common.affine(head, "heading", y, s)[:, 0] - heading, s)
        error = HEADING * flag * tf.reduce_mean(error)
        if s.get("part"):
            return decay if s.get("part_of") == "decay" else error
        return loss + error

    return common.port(loss_of, w, optimizer, s, CLIP)
