"""How far to trust each source of labels, learned through a step of descent on clean examples.

The trust of the sources, the penalty and the first weights are learned at once by RMSProp with
momentum; what is clean is judged behind a step, so that the loss is of the second order. Now and
then, a head tells from a source's row whether it is a crowd.
"""

import numpy as np
import tensorflow as tf

from trials import common, optimizers

ROWS, CLEAN = 24, 10
SHAPES = {
    "dense1/weights": (6, 9),
    "dense1/biases": (9,),
    "dense2/weights": (9, 9),
    "dense2/biases": (9,),
    "classes/weights": (9, 3),
    "classes/biases": (3,),
    "sources/table": (6, 4),
    "trust/weights": (4, 1),
    "penalty/logs": (2,),
    "crowd/weights": (4, 2),
    "crowd/biases": (2,),
}
INNER = tuple(SHAPES)[:6]
RMSPROP = {"rho": 0.9, "momentum": 0.5, "epsilon": 1e-3, "start": 1.0}
RATE, FAR, NOISY, CROWD, L2 = ["inverse", 0.02, 0.4], 0.5, 0.3, 0.2, 0.05


def data(dtype="float32", half=None):
    """Make weights and five batches: examples, labels, sources; clean ones, weights; a flag."""
    random = np.random.RandomState(107)
    batches = []
    for flag in (1, 0, 1, 1, 0):
        source = np.minimum(random.geometric(0.35, ROWS) - 1, 5)
        rows = [random.randn(ROWS, 6).astype(dtype), random.randint(0, 3, ROWS), source]
        rows += [random.randn(CLEAN, 6).astype(dtype), random.randint(0, 3, CLEAN)]
        rows = [r.astype("int32") if r.dtype.kind == "i" else r for r in rows]
        heavy = random.choice([0.5, 1.0, 3.0], CLEAN).astype(dtype)
        batches.append((*rows, heavy, np.array(flag, dtype)))
    weights = common.draw(SHAPES, 108, dtype)
    weights["sources/table"] *= 2
    weights["penalty/logs"] -= 3
    return {"weights": weights, "batches": batches, "half": half}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data)
    (x, y, source, clean, labels, heavy, flag), fed = common.feeds(v1, data)

    def losses_of(w, x, y):
        x = v1.tanh(v1.nn.xw_plus_b(x, w["dense1/weights"], w["dense1/biases"]))
        x = v1.tanh(v1.nn.xw_plus_b(x, w["dense2/weights"], w["dense2/biases"]))
        logits = v1.nn.xw_plus_b(x, w["classes/weights"], w["classes/biases"])
        return v1.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)

    rows = v1.nn.embedding_lookup(w["sources/table"], source)
    trust = v1.sigmoid(v1.matmul(rows, w["trust/weights"]))[:, 0]
    noisy = v1.reduce_mean(trust * losses_of(w, x, y))
    size = v1.stack([v1.nn.l2_loss(w[f"dense{i}/weights"]) for i in (1, 2)])
    noisy += v1.reduce_sum(v1.exp(w["penalty/logs"]) * size)
    slopes = v1.gradients(noisy, [w[k] for k in INNER])
    ahead = {k: w[k] - FAR * g for k, g in zip(INNER, slopes, strict=True)}
    loss = v1.reduce_sum(heavy * losses_of(ahead, clean, labels)) / v1.reduce_sum(heavy)
    loss += NOISY * noisy
    loss += L2 * (v1.nn.l2_loss(w["trust/weights"]) + v1.nn.l2_loss(w["classes/weights"]))
    losses = v1.nn.sparse_softmax_cross_entropy_with_logits(
        labels=v1.cast(source < 3, v1.int32),
        logits=v1.nn.xw_plus_b(rows, w["crowd/weights"], w["crowd/biases"]),
    )
    loss += CROWD * flag * v1.reduce_mean(losses)
    step = v1.train.get_or_create_global_step()
    rate = v1.train.inverse_time_decay(0.02, step, 1, 0.4)
    optimizer = v1.train.RMSPropOptimizer(rate, 0.9, 0.5, 1e-3)
    pairs = [(v1.convert_to_tensor(g), v) for g, v in optimizer.compute_gradients(loss)]
    train_op = optimizer.apply_gradients(pairs, global_step=step)
    return {"loss": loss, "inputs": fed, "train_op": train_op, "gradients": pairs}


def losses_of(w, x, y, s, where):
    """Return the loss of each example; `where` names what a switch may act on."""
    x = tf.tanh(common.matmul(x, w["dense1/weights"], s) + w["dense1/biases"])
    x = common.point(x, s, where + " first")
    x = tf.tanh(common.matmul(x, w["dense2/weights"], s) + w["dense2/biases"])
    x = common.point(x, s, where + " second")
    return common.cross_entropy(
        common.matmul(x, w["classes/weights"], s) + w["classes/biases"], y, s
    )


def held(slopes, s):
    """Hold slopes of the step constant, if the switch says so."""

    def one(name, slope):
        how = s.get("inner")
        if how == "stopped" and s.get("inner_of", "") in name:
            return tf.stop_gradient(slope)
        if how == "numpy":
            return tf.constant(slope.numpy())
        if how == "blend":
            return slope + s["blend"] * (tf.stop_gradient(slope) - slope)
        return slope * s.get("inner_sign", 1.0)

    return {name: one(name, slope) for name, slope in slopes.items()}


def weigh(losses, heavy, s):
    """Reduce the losses of the clean examples to one."""
    how = s.get("sample_weights")
    if how == "out":
        heavy = tf.ones_like(heavy)
    if how == "one":
        heavy = tf.concat([heavy[:3], heavy[3:4] * s["one"], heavy[4:]], 0)
    if how == "cut":
        heavy = tf.minimum(heavy, s["cut"])
    if how == "root":
        heavy = tf.sqrt(heavy)
    total = tf.reduce_sum(heavy) + s.get("more", 0.0)
    total = {"rows": 1.0 * CLEAN, "sum": 1.0}.get(s.get("reduce"), total)
    return tf.reduce_sum(heavy * losses) / total


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    s.setdefault("dense", True)
    w = common.variables(data, s)
    optimizer = optimizers.of_port("rmsprop", common.trained(w, s), {**RMSPROP, "lr": RATE}, s)

    def noisy_of(w, x, y, source, s):
        rows = common.point(tf.gather(w["sources/table"], source), s, "sources")
        trust = tf.sigmoid(common.matmul(rows, w["trust/weights"], s))[:, 0]
        trust = common.point(trust, s, "trust")
        noisy = tf.reduce_mean(trust * losses_of(w, x, y, s, "noisy"))
        sizes = [0.5 * tf.reduce_sum(common.square(w[f"dense{i}/weights"], s)) for i in (1, 2)]
        factors = tf.exp(tf.convert_to_tensor(w["penalty/logs"]))
        if s.get("halt") == "penalty":
            factors = tf.stop_gradient(factors)
        return noisy + tf.reduce_sum(factors * tf.stack(sizes)), rows

    def loss_of(w, batch, s):
        x, y, source, clean, labels, heavy, flag = batch
        w = {k: tf.convert_to_tensor(v) for k, v in w.items()}
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch([w[k] for k in INNER])
            noisy, rows = noisy_of(w, x, y, source, s)
        slopes = held(tape.gradient(noisy, {k: w[k] for k in INNER}), s)
        ahead = {k: w[k] - s.get("far", FAR) * slopes[k] for k in INNER}
        names = ["trust/weights", "classes/weights"]
        names = [k for k in names if k != s.get("l2_without")]
        decay = tf.add_n([tf.reduce_sum(common.square(w[k], s)) for k in names])
        decay *= s.get("l2", L2) * s.get("l2_half", 0.5)
        loss = weigh(losses_of(ahead, clean, labels, s, "clean"), heavy, s)
        loss += s.get("noisy", NOISY) * noisy + decay
        if s.get("head") == "if" and float(flag) == 0:
            return loss
        head = dict(w)
        if s.get("head") == "biases" and float(flag) == 0:
            head["crowd/biases"] = tf.zeros([2])
        logits = common.matmul(rows, head["crowd/weights"], s) + head["crowd/biases"]
        crowd = common.cross_entropy(logits, tf.cast(source < 3, tf.int32), s)
        crowd = CROWD * flag * tf.reduce_mean(crowd)
        if s.get("part"):
            return {"decay": decay, "crowd": crowd}.get(s.get("part_of"), noisy)
        return loss + crowd

    return common.port(loss_of, w, optimizer, s)
