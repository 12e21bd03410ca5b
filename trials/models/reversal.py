"""Domain adaptation: a classifier of domains behind a reversed gradient."""

import numpy as np
import tensorflow as tf

from trials import common, optimizers

SHAPES = {
    "features/weights": (10, 12),
    "bn/scale": (12,),
    "bn/offset": (12,),
    "bn/mean": (12,),
    "bn/variance": (12,),
    "classes/weights": (12, 3),
    "classes/biases": (3,),
    "domain1/weights": (12, 12),
    "domain1/biases": (12,),
    "domain2/weights": (12, 2),
    "domain2/biases": (2,),
}
FROZEN = ("bn/mean", "bn/variance")
SGD = {"lr": 0.02, "momentum": 0.9}
FACTOR = 0.3


def data(dtype="float32", half=None, turns=False):
    """Make weights and one batch: half of it has labels.

    With `turns`, there are five, and the domains count in some of them only.
    """
    random = np.random.RandomState(9)
    x = random.randn(32, 10).astype(dtype)
    x[16:] += 0.5
    labels = random.randint(0, 3, 32).astype("int32")
    domains = (np.arange(32) >= 16).astype("int32")
    weights = common.draw(SHAPES, 10, dtype)
    weights["bn/mean"] *= 0
    batches = [(x, labels, domains)]
    if turns:
        batches = [(x, labels, domains, f) for f in np.array([1, 0, 1, 0, 0], dtype)]
    return {"weights": weights, "batches": batches, "half": half}


def old(v1, data):
    """Build the old program: an identity whose gradient is overridden."""
    try:
        v1.RegisterGradient("ReverseForTrials")(lambda op, grad: -FACTOR * grad)
    except KeyError:  # already there
        pass
    w = common.declare(v1, data, FROZEN)
    (x, labels, domains, *turn), fed = common.feeds(v1, data)
    y = v1.matmul(x, w["features/weights"])
    mean, variance = v1.nn.moments(y, [0])
    updates = [
        v1.assign_sub(w["bn/mean"], (w["bn/mean"] - mean) * 0.1),
        v1.assign_sub(w["bn/variance"], (w["bn/variance"] - variance) * 0.1),
    ]
    y = v1.nn.batch_normalization(y, mean, variance, w["bn/offset"], w["bn/scale"], 1e-5)
    y = v1.nn.elu(y)
    with v1.get_default_graph().gradient_override_map({"Identity": "ReverseForTrials"}):
        reversed_y = v1.identity(y)
    logits = v1.matmul(y, w["classes/weights"]) + w["classes/biases"]
    known = v1.cast(v1.equal(domains, 0), x.dtype)
    losses = v1.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    loss = v1.reduce_sum(losses * known) / v1.reduce_sum(known)
    z = v1.nn.elu(v1.matmul(reversed_y, w["domain1/weights"]) + w["domain1/biases"])
    logits = v1.matmul(z, w["domain2/weights"]) + w["domain2/biases"]
    losses = v1.nn.sparse_softmax_cross_entropy_with_logits(labels=domains, logits=logits)
    loss = loss + v1.reduce_mean(losses) * (turn[0] if turn else 1.0)
    optimizer = v1.train.MomentumOptimizer(0.02, 0.9)
    pairs = optimizer.compute_gradients(loss)
    with v1.control_dependencies(updates):
        train_op = optimizer.apply_gradients(pairs)
    return {"loss": loss, "inputs": fed, "train_op": train_op, "gradients": pairs}


def turn(x, s):
    """Reverse the gradient, as the port does."""
    how = s.get("reverse", -FACTOR)
    if how == "ignored":
        return tf.identity(x)
    if s.get("rewrite"):
        return how * x + tf.stop_gradient((1 - how) * x)

    @tf.custom_gradient
    def reverse(x):
        return tf.identity(x), lambda grad: how * grad

    return reverse(x)


def normalize(w, y, s):
    """Normalize over the batch and update the averages."""
    mean, variance = tf.nn.moments(y, [0])
    if s.get("training") is False:
        mean, variance = w["bn/mean"], w["bn/variance"]
    elif s.get("average") != "out":
        moved = variance * 32 / 31 if s.get("average") == "unbiased" else variance
        moved = variance + s["in_average"] if "in_average" in s else moved
        keep = 1 - s.get("bn_momentum", 0.9)
        for _ in range(2 if s.get("average") == "twice" else 1):
            w["bn/mean"].assign_sub((w["bn/mean"] - mean) * keep)
            w["bn/variance"].assign_sub((w["bn/variance"] - moved) * keep)
    scale, epsilon = w["bn/scale"], s.get("bn_epsilon", 1e-5)
    return tf.nn.batch_normalization(y, mean, variance, w["bn/offset"], scale, epsilon)


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    w = common.variables(data, s, FROZEN)
    settings = {**SGD, **s.get("opt", {})}
    optimizer = optimizers.make("sgd", w, settings, s.get("library", "keras"))

    def loss_of(w, batch, s):
        x, labels, domains = batch[:3]
        y = common.matmul(x, w["features/weights"], s)
        y = tf.nn.elu(normalize(w, y, s))
        y = common.point(y, s, "features")
        logits = common.matmul(y, w["classes/weights"], s) + w["classes/biases"]
        if s.get("reverse") == "losses":  # only the sum's sign
            back, sign = y, -FACTOR
        else:
            back, sign = turn(y, s), 1.0
        losses = common.cross_entropy(logits, labels, s)
        known = tf.cast(domains == 0, x.dtype)
        loss = tf.reduce_sum(losses * known) / tf.reduce_sum(known)
        if s.get("sample_weights") == "out":
            loss = common.mean(losses, s)
        elif s.get("sample_weights") == "length":  # divided by the batch, not by the known ones
            loss = tf.reduce_mean(losses * known)
        elif s.get("sample_weights") == "one":
            known = tf.cast(tf.range(32) < 17, x.dtype)
            loss = tf.reduce_sum(losses * known) / tf.reduce_sum(known)
        if s.get("turns") == "if" and float(batch[3]) == 0:
            return loss
        first = w["domain1/weights"]
        first = tf.transpose(first) if s.get("turned") else first
        z = tf.nn.elu(common.matmul(back, first, s) + w["domain1/biases"])
        z = common.point(z, s, "domain")
        logits = common.matmul(z, w["domain2/weights"], s) + w["domain2/biases"]
        losses = common.cross_entropy(logits, domains, s)
        if s.get("part"):
            return common.mean(losses, s)
        if len(batch) > 3:
            sign *= batch[3]
        return loss + sign * common.mean(losses, s)

    return common.port(loss_of, w, optimizer, s)
