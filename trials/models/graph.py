"""Completion of a graph by complex embeddings (ComplEx): Adagrad, clipped globally, negatives."""

import numpy as np
import tensorflow as tf

from trials import common, optimizers

THINGS, KINDS, SIZE = 20, 5, 5
SHAPES = {
    "things/real": (THINGS, SIZE),
    "things/imag": (THINGS, SIZE),
    "kinds/real": (KINDS, SIZE),
    "kinds/imag": (KINDS, SIZE),
    "mix/weights": (SIZE, SIZE),
    "mix/biases": (SIZE,),
    "things/biases": (THINGS, 1),
}
ADAGRAD = {"lr": [0.1, 2, 0.7], "start": 0.2, "epsilon": 0.0}
L3, LIMIT = 0.02, 0.25


def data(dtype="float32", half=None):
    """Make weights and five batches: facts, three wrong ends of each, and how sure they are."""
    random = np.random.RandomState(71)
    batches = []
    for _ in range(5):
        heads, tails = np.minimum(random.geometric(0.15, (2, 24)), THINGS - 1).astype("int32")
        kinds = random.randint(0, KINDS, 24).astype("int32")
        wrong = random.randint(0, THINGS, (24, 3)).astype("int32")
        batches.append((heads, kinds, tails, wrong, random.choice([0.4, 1, 2], 24).astype(dtype)))
    weights = common.draw(SHAPES, 72, dtype)
    for name in weights:
        weights[name] *= 2
    return {"weights": weights, "batches": batches, "half": half}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data)
    (heads, kinds, tails, wrong, sure), fed = common.feeds(v1, data)

    def look(name, ids):
        real = v1.nn.embedding_lookup(w[name + "/real"], ids)
        return v1.complex(real, v1.nn.embedding_lookup(w[name + "/imag"], ids))

    h, r = look("things", heads), look("kinds", kinds)
    gate = v1.sigmoid(v1.nn.xw_plus_b(v1.real(r), w["mix/weights"], w["mix/biases"]))
    query = h * r * v1.complex(gate, v1.zeros_like(gate))
    ends = v1.concat([tails[:, None], wrong], 1)
    t = look("things", ends)
    score = v1.reduce_sum(v1.real(query[:, None] * v1.conj(t)), 2)
    score += v1.squeeze(v1.nn.embedding_lookup(w["things/biases"], ends), 2)
    right, others = v1.nn.softplus(-score[:, 0]), v1.nn.softplus(score[:, 1:])
    loss = v1.reduce_mean(sure * (right + v1.reduce_mean(others, 1)))
    sizes = [v1.pow(v1.abs(z) + 1e-6, 3.0) for z in (h, r, t[:, 0])]
    loss += L3 * v1.reduce_mean(v1.add_n([v1.reduce_sum(z, 1) for z in sizes]))
    step = v1.train.get_or_create_global_step()
    rate = v1.train.exponential_decay(0.1, step, 2, 0.7)
    optimizer = v1.train.AdagradOptimizer(rate, 0.2)
    found = optimizer.compute_gradients(loss)
    grads, _ = v1.clip_by_global_norm([v1.convert_to_tensor(g) for g, _ in found], LIMIT)
    pairs = [(grads[i], v) for i, (_, v) in enumerate(found)]
    train_op = optimizer.apply_gradients(pairs, global_step=step)
    return {"loss": loss, "inputs": fed, "train_op": train_op, "gradients": pairs}


def score_of(h, r, t, gate, s):
    """Return the scores of all ends."""

    def hand(x, name):
        return common.conjugated(x) if s.get("by_hand") == name else x

    if s.get("rewrite"):  # with real numbers only
        a, b = tf.math.real(h), tf.math.imag(h)
        c, d = tf.math.real(r) * gate, tf.math.imag(r) * gate
        real, imag = (a * c - b * d)[:, None], (a * d + b * c)[:, None]
        return tf.reduce_sum(real * tf.math.real(t) + imag * tf.math.imag(t), 2)
    gate = tf.complex(gate, tf.zeros_like(gate))
    query = hand(hand(h, "heads") * hand(r, "kinds") * gate, "query")
    query = common.point(query, s, "query")
    t = hand(t, "tails")
    product = query[:, None] * (t if s.get("tails") == "plain" else tf.math.conj(t))
    return tf.reduce_sum(tf.math.real(hand(product, "product")), 2)


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    s.setdefault("dense", True)
    w = common.variables(data, s)
    settings = {**ADAGRAD, **s.get("opt", {})}
    optimizer = optimizers.make("adagrad", w, settings, s.get("library", "keras"))

    def loss_of(w, batch, s):
        def look(name, ids):
            if s.get("one_hot"):
                hot = tf.one_hot(ids, w[name + "/real"].shape[0], dtype=w[name + "/real"].dtype)
                parts = [tf.tensordot(hot, tf.convert_to_tensor(w[name + k]), 1) for k in ENDS]
            else:
                parts = [tf.gather(w[name + k], ids) for k in ENDS]
            parts = [common.point(p, s, name + k) for p, k in zip(parts, ENDS, strict=True)]
            return tf.complex(*parts)

        heads, kinds, tails, wrong, sure = batch
        h, r = look("things", heads), look("kinds", kinds)
        kernel = tf.transpose(w["mix/weights"]) if s.get("turned") else w["mix/weights"]
        gate = common.matmul(tf.math.real(r), kernel, s) + w["mix/biases"]
        gate = common.point(tf.sigmoid(s.get("sharp", 1.0) * gate), s, "gate")
        ends = tf.concat([tails[:, None], wrong], 1)
        t = look("things", ends)
        score = score_of(h, r, t, gate, s) + tf.squeeze(tf.gather(w["things/biases"], ends), 2)
        right, others = tf.nn.softplus(-score[:, 0]), tf.nn.softplus(score[:, 1:])
        if s.get("others") == "stopped":
            others = tf.stop_gradient(others)
        others = tf.reduce_sum(others, 1) if s.get("others") == "sum" else tf.reduce_mean(others, 1)
        how = s.get("sample_weights")
        sure = tf.ones_like(sure) if how == "out" else sure
        sure = tf.sqrt(sure) if how == "root" else sure
        sure = tf.minimum(sure, tf.cast(s.get("most", 1.0), sure.dtype)) if how == "cut" else sure
        each = sure * right + others if how == "right only" else sure * (right + others)
        loss = common.mean(each, s)
        loss = tf.reduce_sum(each) / tf.reduce_sum(sure) if how == "sum" else loss
        power, kept = s.get("power", 3.0), [h, r, t[:, 0]]
        kept = kept[:2] if s.get("l3") == "no tails" else kept
        kept = [*kept, t[:, 1]] if s.get("l3") == "wrong too" else kept
        sizes = [tf.reduce_sum(tf.pow(tf.abs(z) + 1e-6, power), 1) for z in kept]
        extra = common.mean(tf.add_n(sizes), s)
        if s.get("part"):
            return L3 * extra
        return loss + s.get("l3_factor", 1.0) * L3 * extra

    return common.port(loss_of, w, optimizer, s, ("global", LIMIT))


ENDS = ("/real", "/imag")
