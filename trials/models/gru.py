"""A recurrent reader with gates, attention and masks: which class a text has, now and then stars.

Losses count by class, over those that count at all; Adam, a rate by stairs, clipped by one norm.
"""

import numpy as np
import tensorflow as tf

from trials import common, optimizers

ROWS, TIME, WORDS, SIZE, UNITS = 12, 7, 14, 5, 6
SHAPES = {
    "words/table": (WORDS, SIZE),
    "gates/weights": (SIZE + UNITS, 2 * UNITS),
    "gates/biases": (2 * UNITS,),
    "candidate/weights": (SIZE + UNITS, UNITS),
    "candidate/biases": (UNITS,),
    "attend/weights": (UNITS, UNITS),
    "attend/biases": (UNITS,),
    "attend/score": (UNITS, 1),
    "classes/weights": (UNITS, 3),
    "classes/biases": (3,),
    "stars/weights": (UNITS, 1),
    "stars/biases": (1,),
}
KERNELS = ("gates/weights", "candidate/weights", "attend/weights", "classes/weights")
ADAM = {"beta_1": 0.9, "beta_2": 0.98, "epsilon": 1e-4}
RATE, CLIP = [0.01, 2, 0.7, True], ("global", 0.4)
L2, STARS = 0.01, 0.3


def data(dtype="float32", half=None):
    """Make weights and five batches: words, what is text, classes, counts, stars, a flag."""
    random = np.random.RandomState(121)
    batches = []
    for flag in (1, 0, 1, 1, 0):
        words = np.minimum(random.geometric(0.2, (ROWS, TIME)) - 1, WORDS - 1).astype("int32")
        lengths = random.randint(3, TIME + 1, ROWS)
        mask = (np.arange(TIME) < lengths[:, None]).astype(dtype)
        classes = random.randint(0, 3, ROWS).astype("int32")
        counts = random.choice([0.0, 0.5, 1.0, 2.0], ROWS).astype(dtype)
        stars = random.uniform(-1, 1, ROWS).astype(dtype)
        batches.append((words, mask, classes, counts, stars, np.array(flag, dtype)))
    weights = common.draw(SHAPES, 122, dtype)
    for name in ("words/table", "attend/weights", "attend/score"):
        weights[name] *= 3
    return {"weights": weights, "batches": batches, "half": half}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data)
    (words, mask, classes, counts, stars, flag), fed = common.feeds(v1, data)
    x = v1.nn.embedding_lookup(w["words/table"], words)
    h, states = v1.zeros([ROWS, UNITS]), []
    for t in range(TIME):
        both = v1.concat([x[:, t], h], 1)
        gates = v1.sigmoid(v1.nn.xw_plus_b(both, w["gates/weights"], w["gates/biases"]))
        reset, keep = v1.split(gates, 2, axis=1)
        both = v1.concat([x[:, t], reset * h], 1)
        new = v1.tanh(v1.nn.xw_plus_b(both, w["candidate/weights"], w["candidate/biases"]))
        there = mask[:, t : t + 1]
        h = there * (keep * h + (1 - keep) * new) + (1 - there) * h
        states.append(h)
    y = v1.reshape(v1.stack(states, 1), [-1, UNITS])
    score = v1.tanh(v1.nn.xw_plus_b(y, w["attend/weights"], w["attend/biases"]))
    score = v1.reshape(v1.matmul(score, w["attend/score"]), [ROWS, TIME])
    share = v1.nn.softmax(score - 1e9 * (1 - mask))
    read = v1.reduce_sum(share[:, :, None] * v1.stack(states, 1), 1)
    logits = v1.nn.xw_plus_b(read, w["classes/weights"], w["classes/biases"])
    loss = v1.losses.sparse_softmax_cross_entropy(classes, logits, counts)
    guess = v1.nn.xw_plus_b(read, w["stars/weights"], w["stars/biases"])[:, 0]
    loss += STARS * flag * v1.reduce_mean(v1.square(guess - stars))
    loss += L2 * v1.add_n([v1.nn.l2_loss(w[k]) for k in KERNELS])
    step = v1.train.get_or_create_global_step()
    rate = v1.train.exponential_decay(0.01, step, 2, 0.7, staircase=True)
    optimizer = v1.train.AdamOptimizer(rate, 0.9, 0.98, 1e-4)
    grads, sources = zip(*optimizer.compute_gradients(loss), strict=True)
    grads, _ = v1.clip_by_global_norm([v1.convert_to_tensor(g) for g in grads], CLIP[1])
    pairs = list(zip(grads, sources, strict=True))
    train_op = optimizer.apply_gradients(pairs, global_step=step)
    return {"loss": loss, "inputs": fed, "train_op": train_op, "gradients": pairs}


def affine(w, name, x, h, s):
    """Multiply what comes in and what is kept: as one, or each with its part of the kernel."""
    kernel = w[name + "/weights"]
    if s.get("apart"):
        return x @ kernel[:SIZE] + h @ kernel[SIZE:] + w[name + "/biases"]
    return common.matmul(tf.concat([x, h], 1), kernel, s) + w[name + "/biases"]


def states_of(w, x, mask, s):
    """Return what is kept after each word."""
    h, states = tf.zeros([x.shape[0], UNITS], x.dtype), []
    for t in range(TIME):
        gates = common.point(tf.sigmoid(affine(w, "gates", x[:, t], h, s)), s, "gates")
        reset, keep = tf.split(gates, 2, axis=1)
        candidate = tf.tanh(affine(w, "candidate", x[:, t], reset * h, s))
        moved = h + (1 - keep) * (candidate - h) if s.get("rewrite") else None
        moved = keep * h + (1 - keep) * candidate if moved is None else moved
        if s.get("rewrite"):
            h = tf.where(mask[:, t : t + 1] > 0, moved, h)
        else:
            h = mask[:, t : t + 1] * moved + (1 - mask[:, t : t + 1]) * h
        if s.get("cut") == t:  # the state is carried on as a number
            h = tf.stop_gradient(h)
        states.append(h)
    return tf.stack(states, 1)


def read_of(w, words, mask, s):
    """Return what attention takes of the states."""
    x = common.point(tf.gather(w["words/table"], words), s, "words")
    states = common.point(states_of(w, x, mask, s), s, "states")
    y = tf.reshape(states, [-1, UNITS])
    y = tf.tanh(common.matmul(y, w["attend/weights"], s) + w["attend/biases"])
    score = tf.reshape(common.matmul(y, w["attend/score"], s), [-1, TIME])
    if s.get("rewrite"):
        share = tf.exp(score) * mask
        share /= tf.reduce_sum(share, 1, keepdims=True)
    else:
        share = tf.nn.softmax(score - 1e9 * (1 - mask))
    share = common.point(share, s, "share")
    if s.get("rewrite"):
        return tf.einsum("rt,rth->rh", share, states)
    return tf.reduce_sum(share[:, :, None] * states, 1)


def weigh(losses, counts, s):
    """Reduce the losses of the classes to one: over those that count at all."""
    how = s.get("sample_weights")
    total = tf.reduce_sum(tf.cast(counts > 0, counts.dtype)) + s.get("more", 0.0)
    if how == "out":
        counts = tf.cast(counts > 0, counts.dtype)
    if how == "one":  # the first text that counts twice
        counts = tf.where(tf.range(ROWS) == tf.argmax(counts, output_type="int32"), s["one"], 1)
        counts *= s["counts"]
    if how == "root":
        counts = tf.sqrt(counts)
    if how == "cut":
        counts = tf.minimum(counts, s["cut"])
    total = {"rows": 1.0 * ROWS, "sum": 1.0}.get(s.get("reduce"), total)
    total = tf.reduce_sum(counts) if how == "sum" else total
    return tf.reduce_sum(counts * losses) / total


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    s.setdefault("dense", True)
    w = common.variables(data, s)
    optimizer = optimizers.of_port("adam", common.trained(w, s), {**ADAM, "lr": RATE}, s)

    def loss_of(w, batch, s):
        words, mask, classes, counts, stars, flag = batch
        decays = [tf.reduce_sum(common.square(tf.convert_to_tensor(w[k]), s)) for k in KERNELS]
        decay = s.get("l2", L2) * s.get("l2_half", 0.5) * tf.add_n(decays)
        read = common.point(read_of(w, words, mask, s), s, "read")
        logits = common.matmul(read, w["classes/weights"], s) + w["classes/biases"]
        losses = common.cross_entropy(logits, classes, s)
        loss = weigh(losses, counts, {**s, "counts": counts}) + decay
        if s.get("head") == "if" and float(flag) == 0:
            return loss
        head = dict(w)
        if s.get("head") == "biases" and float(flag) == 0:
            head["stars/biases"] = tf.zeros([1])
        guess = common.matmul(common.point(read, s, "to stars"), head["stars/weights"], s)
        guess = (guess + head["stars/biases"])[:, 0]
        error = STARS * flag * tf.reduce_mean(common.square(guess - stars, s))
        if s.get("part"):
            return decay if s.get("part_of") == "decay" else error
        return loss + s.get("stars", 1.0) * error

    return common.port(loss_of, w, optimizer, s, CLIP)
