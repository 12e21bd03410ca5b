"""A mixture of experts with a gate for each of two tasks: clicks, and purchases where they count.

Gates that prefer few experts are punished; batch normalization, each gradient clipped by its norm,
Adam with a rate that falls as a cosine.
"""

import numpy as np
import tensorflow as tf

from trials import common, optimizers
from trials.models.flow import statistics

ROWS, EXPERTS, WIDE = 24, 3, 10
SHAPES = {
    "ads/table": (12, 4),
    "shared/weights": (10, WIDE),
    "norm/scale": (WIDE,),
    "norm/offset": (WIDE,),
    "norm/mean": (WIDE,),
    "norm/variance": (WIDE,),
    "experts/weights": (EXPERTS, WIDE, WIDE),
    "experts/biases": (EXPERTS, WIDE),
    "gates/click": (WIDE, EXPERTS),
    "gates/buy": (WIDE, EXPERTS),
    "click/weights": (WIDE, 1),
    "click/biases": (1,),
    "buy/weights": (WIDE, 1),
    "buy/biases": (1,),
}
FROZEN = ("norm/mean", "norm/variance")
KERNELS = ("shared/weights", "experts/weights", "click/weights", "buy/weights")
ADAM = {"beta_1": 0.9, "beta_2": 0.98, "epsilon": 1e-4}
RATE, CLIP, L2, BALANCE = ["cosine", 0.01, 10, 0.1], ("each", 0.1), 0.02, 0.1


def data(dtype="float32", half=None):
    """Make weights and five batches: features, ads, clicks, how sure, purchases, and a flag."""
    random = np.random.RandomState(111)
    batches = []
    for flag in (1, 0, 1, 0, 1):
        ads = np.minimum(random.geometric(0.2, ROWS) - 1, 11).astype("int32")
        rows = [random.randint(0, 2, ROWS), random.choice([0.5, 1.0, 2.0], ROWS)]
        rows = [r.astype(dtype) for r in (*rows, random.randint(0, 2, ROWS), np.array(flag))]
        batches.append((random.randn(ROWS, 6).astype(dtype), ads, *rows))
    weights = common.draw(SHAPES, 112, dtype)
    weights["ads/table"] *= 2
    return {"weights": weights, "batches": batches, "half": half}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data, FROZEN)
    (x, ads, click, sure, buy, flag), fed = common.feeds(v1, data)
    y = v1.concat([x, v1.nn.embedding_lookup(w["ads/table"], ads)], 1)
    y = v1.matmul(y, w["shared/weights"])
    mean, variance = v1.nn.moments(y, [0])
    y = v1.nn.batch_normalization(y, mean, variance, w["norm/offset"], w["norm/scale"], 1e-3)
    y = v1.tanh(y)
    each = v1.einsum("bi,eij->bej", y, w["experts/weights"]) + w["experts/biases"]
    each = v1.nn.selu(each)
    losses, balance = {}, 0.0
    for task, labels in (("click", click), ("buy", buy)):
        gate = v1.nn.softmax(v1.matmul(y, w["gates/" + task]))
        load = v1.reduce_sum(gate, 0)
        average, spread = v1.nn.moments(load, [0])
        balance += spread / (v1.square(average) + 1e-6)
        mixed = v1.reduce_sum(gate[:, :, None] * each, 1)
        logits = v1.nn.xw_plus_b(mixed, w[task + "/weights"], w[task + "/biases"])[:, 0]
        losses[task] = v1.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
    loss = v1.reduce_mean(sure * losses["click"]) + 0.5 * flag * v1.reduce_mean(losses["buy"])
    loss += BALANCE * balance + L2 * v1.add_n([v1.nn.l2_loss(w[k]) for k in KERNELS])
    step = v1.train.get_or_create_global_step()
    rate = v1.train.cosine_decay(0.01, step, 10, 0.1)
    optimizer = v1.train.AdamOptimizer(rate, 0.9, 0.98, 1e-4)
    pairs = [
        (v1.clip_by_norm(v1.convert_to_tensor(g), CLIP[1]), v)
        for g, v in optimizer.compute_gradients(loss)
    ]
    train_op = optimizer.apply_gradients(pairs, global_step=step)
    values = {"norm/mean": mean, "norm/variance": variance}
    ops = [v1.assign(w[k], 0.9 * w[k] + 0.1 * v) for k, v in values.items()]
    return {"loss": loss, "inputs": fed, "train_op": v1.group(train_op, *ops), "gradients": pairs}


def mixed_of(w, y, each, task, s):
    """Return the experts' mixture for a task, and how unevenly the gate chooses."""
    gate = tf.nn.softmax(common.matmul(y, w["gates/" + task], s))
    gate = common.point(gate, s, "gate " + task)
    load = tf.reduce_sum(gate, 0)
    load = tf.stop_gradient(load) if s.get("halt") == "load" else load
    average = tf.reduce_mean(load)
    uneven = tf.reduce_mean(common.square(load - average, s)) / (tf.square(average) + 1e-6)
    if s.get("rewrite"):
        return tf.einsum("be,bej->bj", gate, each), uneven
    return tf.reduce_sum(gate[:, :, None] * each, 1), uneven


def weigh(losses, sure, s):
    """Reduce the losses of the clicks to one."""
    how = s.get("sample_weights")
    if how == "out":
        sure = tf.ones_like(sure)
    if how == "sum":
        return tf.reduce_sum(sure * losses) / tf.reduce_sum(sure)
    if how == "one":
        sure = tf.concat([sure[:-1], sure[-1:] * s["one"]], 0)
    if how == "root":
        sure = tf.sqrt(sure)
    if how == "floor":
        sure = tf.maximum(sure, s["floor"])
    return common.mean(sure * losses, s)


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    s.setdefault("dense", True)
    w = common.variables(data, s, FROZEN)
    optimizer = optimizers.of_port("adam", common.trained(w, s), {**ADAM, "lr": RATE}, s)

    def entropy(labels, logits):
        if s.get("rewrite"):
            return tf.nn.softplus(logits) - labels * logits
        return tf.nn.sigmoid_cross_entropy_with_logits(labels, logits)

    def loss_of(w, batch, s):
        x, ads, click, sure, buy, flag = batch
        rows = common.point(tf.gather(w["ads/table"], ads), s, "ads")
        y = common.matmul(tf.concat([x, rows], 1), w["shared/weights"], s)
        mean, variance = statistics(w, y, s)
        scale, offset = w["norm/scale"], w["norm/offset"]
        y = tf.nn.batch_normalization(y, mean, variance, offset, scale, 1e-3)
        y = common.point(tf.tanh(y), s, "shared")
        if s.get("experts") == "listed":
            weights, biases = (tf.unstack(w["experts/" + k]) for k in ("weights", "biases"))
            each = [y @ a + b for a, b in zip(weights, biases, strict=True)]
            each = tf.stack(each, 1)
        else:
            each = tf.einsum("bi,eij->bej", y, w["experts/weights"]) + w["experts/biases"]
        each = common.point(tf.nn.selu(each), s, "experts")
        decays = [tf.reduce_sum(common.square(tf.convert_to_tensor(w[k]), s)) for k in KERNELS]
        decay = s.get("l2", L2) * s.get("l2_half", 0.5) * tf.add_n(decays)
        mixed, uneven = {}, {}
        for task in ("click", "buy"):
            mixed[task], uneven[task] = mixed_of(w, y, each, task, s)
        balance = s.get("balance_sign", 1.0) * BALANCE * (uneven["click"] + uneven["buy"])
        logits = common.matmul(mixed["click"], w["click/weights"], s) + w["click/biases"]
        loss = weigh(entropy(click, logits[:, 0]), sure, s) + balance + decay
        if s.get("head") == "if" and float(flag) == 0:
            return loss
        head = dict(w)
        if s.get("head") == "biases" and float(flag) == 0:
            head["buy/biases"] = tf.zeros([1])
        logits = common.matmul(mixed["buy"], head["buy/weights"], s) + head["buy/biases"]
        bought = 0.5 * flag * tf.reduce_mean(entropy(buy, logits[:, 0]))
        if s.get("part"):
            return {"decay": decay, "balance": balance}.get(s.get("part_of"), bought)
        return loss + bought

    return common.port(loss_of, w, optimizer, s, CLIP)
