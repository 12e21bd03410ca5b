"""A scorer of applications that must not tell groups apart: Nesterov's momentum, clipped."""

import numpy as np
import tensorflow as tf

from trials import common, optimizers

SHAPES = {
    "region/table": (12, 4),
    "dense1/weights": (14, 24),
    "dense1/biases": (24,),
    "dense2/weights": (24, 24),
    "dense2/biases": (24,),
    "score/weights": (24, 1),
    "score/biases": (1,),
    "group/weights": (24, 3),
    "group/biases": (3,),
}
KERNELS = ("dense1/weights", "dense2/weights", "score/weights")
SGD = {"momentum": 0.9, "nesterov": True}
BOUNDS, RATES = [1, 3], [0.2, 0.1, 0.02]
CLIP = ("global", 0.25)


def data(dtype="float32", half=None, turns=False, steady=False):
    """Make weights and five batches.

    With `turns`, the groups count in some of the steps only; with `steady`, the rate stays.
    """
    random = np.random.RandomState(31)
    batches = []
    for i in range(5):
        region = np.minimum(random.geometric(0.2, 40) - 1, 11).astype("int32")
        rows = (random.randn(40, 10).astype(dtype), region, random.randint(0, 2, 40).astype(dtype))
        weights = random.choice([0.2, 1.0, 3.0], 40).astype(dtype)
        rows = (*rows, weights, random.randint(0, 3, 40).astype("int32"))
        batches.append((*rows, np.array([1, 0, 1, 1, 0][i], dtype)) if turns else rows)
    out = {"weights": common.draw(SHAPES, 32, dtype), "batches": batches, "half": half}
    return {**out, "steady": steady}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data)
    (x, region, y, weights, group, *turn), fed = common.feeds(v1, data)
    step = v1.train.get_or_create_global_step()
    x = v1.concat([x, v1.nn.embedding_lookup(w["region/table"], region)], 1)
    one = v1.nn.selu(v1.nn.xw_plus_b(x, w["dense1/weights"], w["dense1/biases"]))
    two = v1.nn.selu(v1.nn.xw_plus_b(one, w["dense2/weights"], w["dense2/biases"]))
    score = v1.nn.xw_plus_b(two, w["score/weights"], w["score/biases"])[:, 0]
    losses = v1.nn.weighted_cross_entropy_with_logits(labels=y, logits=score, pos_weight=2.0)
    loss = v1.reduce_sum(weights * losses) / v1.reduce_sum(weights)
    turned = v1.stop_gradient(1.3 * two) - 0.3 * two
    logits = v1.nn.xw_plus_b(turned, w["group/weights"], w["group/biases"])
    second = v1.nn.sparse_softmax_cross_entropy_with_logits(labels=group, logits=logits)
    loss += v1.reduce_mean(second) * (turn[0] if turn else 1.0)
    loss += 0.003 * v1.add_n([v1.nn.l2_loss(w[k]) for k in KERNELS])
    rate = 0.2 if data["steady"] else v1.train.piecewise_constant(step, BOUNDS, RATES)
    optimizer = v1.train.MomentumOptimizer(rate, 0.9, use_nesterov=True)
    grads, sources = zip(*optimizer.compute_gradients(loss), strict=True)
    grads, _ = v1.clip_by_global_norm([v1.convert_to_tensor(g) for g in grads], 0.25)
    pairs = list(zip(grads, sources, strict=True))
    train_op = optimizer.apply_gradients(pairs, global_step=step)
    return {"loss": loss, "inputs": fed, "train_op": train_op, "gradients": pairs}


def weigh(losses, weights, s):
    """Reduce the losses of the applications to one."""
    how = s.get("sample_weights")
    if how == "out":
        return common.mean(losses, s)
    if how == "rows":
        return tf.reduce_mean(weights * losses)
    if how == "one":
        weights = tf.concat([weights[:1] * s["one"], weights[1:]], 0)
    if how == "floor":
        weights = tf.maximum(weights, s["floor"])
    if how == "root":
        weights = tf.sqrt(weights)
    total = tf.reduce_sum(weights)
    if how == "constant":
        total += s["constant"]
    if s.get("rewrite"):
        return tf.reduce_sum(losses * (weights / total))
    return tf.reduce_sum(weights * losses) / (total * s.get("divide", 1.0))


def turned(x, s):
    """Return x; its gradient is turned round."""
    factor = s.get("turn_factor", -0.3)
    if s.get("rewrite"):

        @tf.custom_gradient
        def turn(x):
            return tf.identity(x), lambda g: factor * g

        return turn(x)
    return tf.stop_gradient((1 - factor) * x) + factor * x


def penalty(w, s):
    """Return the penalty of the kernels."""
    names = [k for k in KERNELS if k != s.get("l2_without")] + list(s.get("l2_with", ()))
    terms = [tf.reduce_sum(common.square(tf.convert_to_tensor(w[k]), s)) for k in names]
    return s.get("l2", 0.003) * s.get("l2_half", 0.5) * tf.add_n(terms)


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    s.setdefault("dense", True)
    w = common.variables(data, s)
    library = s.get("library", "hand")
    schedule = ["piecewise", s.get("bounds", BOUNDS), s.get("rates", RATES)]
    if library == "hand":
        home = common.keras_of("tf_keras").optimizers.schedules
        schedule = optimizers.counted(optimizers.decaying(schedule, home), s)
    lr = 0.2 if data["steady"] else schedule
    settings = {**SGD, "lr": lr, **s.get("opt", {})}
    optimizer = optimizers.make("sgd", w, settings, library)

    def layer(w, name, x, s):
        return common.matmul(x, w[name + "/weights"], s) + w[name + "/biases"]

    def loss_of(w, batch, s):
        x, region, y, weights, group, *turn = batch
        if s.get("part"):
            return penalty(w, s)
        rows = common.point(tf.gather(w["region/table"], region), s, "region")
        one = common.point(tf.nn.selu(layer(w, "dense1", tf.concat([x, rows], 1), s)), s, "dense1")
        two = common.point(tf.nn.selu(layer(w, "dense2", one, s)), s, "dense2")
        score = layer(w, "score", common.point(two, s, "to score"), s)[:, 0]
        losses = tf.nn.weighted_cross_entropy_with_logits(y, score, 2.0)
        loss = weigh(losses, weights, s) + penalty(w, s)
        if turn and s.get("turns") == "if" and float(turn[0]) == 0:
            return loss
        final = dict(w)
        if turn and s.get("turns") == "bias" and float(turn[0]) == 0:
            final["group/biases"] = tf.zeros([3])
        logits = layer(final, "group", turned(common.point(two, s, "to group"), s), s)
        groups = common.cross_entropy(logits, group, s)
        return loss + common.mean(groups, s) * (turn[0] if turn else 1.0)

    return common.port(loss_of, w, optimizer, s, CLIP)
