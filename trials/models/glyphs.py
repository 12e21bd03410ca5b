"""A conditional GAN with a penalty of the slope at real rows: Adam against RMSProp."""

import numpy as np
import tensorflow as tf

from trials import common, optimizers

SHAPES = {
    "generator/classes/table": (6, 5),
    "generator/hidden/weights": (10, 16),
    "generator/hidden/biases": (16,),
    "generator/out/weights": (16, 8),
    "generator/out/biases": (8,),
    "critic/one/weights": (8, 14),
    "critic/one/biases": (14,),
    "critic/two/weights": (14, 14),
    "critic/two/biases": (14,),
    "critic/out/weights": (14, 1),
    "critic/classes/table": (6, 14),
}
SHADOW = {"shadow/hidden/weights": (10, 16), "shadow/out/weights": (16, 8)}
CALLS = ("generator", "critic")
KINDS = {"generator": "adam", "critic": "rmsprop"}
SETTINGS = {
    "generator": {"lr": 0.002, "beta_1": 0.5, "beta_2": 0.99, "epsilon": 1e-5},
    "critic": {"lr": 0.004, "rho": 0.95, "momentum": 0.3, "epsilon": 1e-4, "start": 1.0},
}


def data(dtype="float32", half=None, turns=False, shadow=False):
    """Make weights and five batches of real rows, their classes and noise.

    With `turns`, the generator's loss counts in some of the steps only; with `shadow`, averages of
    its kernels are kept.
    """
    random = np.random.RandomState(39)
    batches = []
    for i in range(5):
        classes = np.minimum(random.geometric(0.3, 26) - 1, 5).astype("int32")
        real = np.tanh(random.randn(26, 8) * 0.6 + 0.1 * classes[:, None]).astype(dtype)
        rows = (real, classes, random.randn(26, 5).astype(dtype))
        batches.append((*rows, np.array([1, 0, 0, 1, 0][i], dtype)) if turns else rows)
    weights = common.draw(SHAPES, 40, dtype)
    if shadow:
        weights.update({k: weights[k.replace("shadow", "generator")].copy() for k in SHADOW})
    out = {"weights": weights, "batches": batches, "half": half, "shadow": shadow}
    return {**out, "frozen": tuple(SHADOW) if shadow else ()}


def old(v1, data):
    """Build the old program; both losses see the weights before the step."""
    w = common.declare(v1, data, data["frozen"])
    (real, classes, noise, *turn), fed = common.feeds(v1, data)

    def critic(x):
        y = v1.nn.leaky_relu(v1.nn.xw_plus_b(x, w["critic/one/weights"], w["critic/one/biases"]))
        y = v1.nn.xw_plus_b(y, w["critic/two/weights"], w["critic/two/biases"])
        y = v1.nn.softplus(y)
        rows = v1.nn.embedding_lookup(w["critic/classes/table"], classes)
        return v1.matmul(y, w["critic/out/weights"])[:, 0] + v1.reduce_sum(y * rows, 1)

    y = v1.concat([noise, v1.nn.embedding_lookup(w["generator/classes/table"], classes)], 1)
    y = v1.nn.xw_plus_b(y, w["generator/hidden/weights"], w["generator/hidden/biases"])
    y = v1.nn.xw_plus_b(v1.nn.elu(y), w["generator/out/weights"], w["generator/out/biases"])
    fake, real_score = v1.tanh(y), critic(real)
    fake_score = critic(fake)
    slopes = v1.gradients(real_score, [real])[0]
    penalty = v1.reduce_mean(v1.reduce_sum(v1.square(slopes), 1))
    loss = {"critic": v1.reduce_mean(v1.nn.softplus(-real_score) + v1.nn.softplus(fake_score))}
    loss["critic"] += 0.5 * 2.0 * penalty
    loss["generator"] = v1.reduce_mean(v1.nn.softplus(-fake_score))
    if turn:
        loss["generator"] *= turn[0]
    made = {"generator": v1.train.AdamOptimizer(0.002, 0.5, 0.99, 1e-5)}
    made["critic"] = v1.train.RMSPropOptimizer(0.004, 0.95, 0.3, 1e-4)
    pairs, ops = {}, []
    for name in CALLS:
        sources = [v for k, v in w.items() if k.startswith(name)]
        found = made[name].compute_gradients(loss[name], sources)
        pairs[name] = [(v1.convert_to_tensor(g), v) for g, v in found]
    with v1.control_dependencies([g for name in CALLS for g, _ in pairs[name]]):
        for name in CALLS:
            ops.append(made[name].apply_gradients([(v1.identity(g), v) for g, v in pairs[name]]))
    with v1.control_dependencies(ops):
        for k in data["frozen"]:
            value = w[k.replace("shadow", "generator")].read_value()
            ops.append(v1.assign(w[k], w[k] * 0.9 + value * 0.1))
    both = [*pairs["generator"], *pairs["critic"]]
    return {"loss": loss, "inputs": fed, "train_op": v1.group(*ops), "gradients": both}


def critic(w, x, classes, s):
    """Compute the critic's scores."""
    y = common.matmul(x, w["critic/one/weights"], s) + w["critic/one/biases"]
    second = w["critic/two/weights"]
    second = tf.transpose(second) if s.get("turned") else second
    y = common.matmul(tf.nn.leaky_relu(y, 0.2), second, s) + w["critic/two/biases"]
    y = common.point(tf.nn.softplus(y), s, "critic")
    rows = tf.gather(w["critic/classes/table"], classes)
    return common.matmul(y, w["critic/out/weights"], s)[:, 0] + tf.reduce_sum(y * rows, 1)


def penalty_of(w, real, classes, s):
    """Return the penalty, of the first order if the switch says so."""
    how = s.get("penalty")
    with tf.GradientTape() as tape:
        tape.watch(real)
        scores = critic(w, real, classes, s)
        target = tf.reduce_mean(scores) if s.get("penalty_of") == "mean" else scores
    slopes = tape.gradient(target, real)
    if how == "stopped":
        slopes = tf.stop_gradient(slopes)
    if how == "numpy":
        slopes = tf.constant(slopes.numpy())
    if how == "row":
        slopes = tf.concat([tf.stop_gradient(slopes[:1]), slopes[1:]], 0)
    if how == "column":
        slopes = tf.concat([tf.stop_gradient(slopes[:, :1]), slopes[:, 1:]], 1)
    if how == "blend":  # only a part of the gradient is kept
        slopes += s["part"] * (tf.stop_gradient(slopes) - slopes)
    return common.mean(tf.reduce_sum(common.square(slopes, s), 1), s)


def losses_of(w, batch, s):
    """Return both losses."""
    real, classes, noise, *turn = batch
    rows = common.point(tf.gather(w["generator/classes/table"], classes), s, "classes")
    y = tf.concat([noise, rows], 1)
    y = common.matmul(y, w["generator/hidden/weights"], s) + w["generator/hidden/biases"]
    y = common.point(tf.nn.elu(y), s, "hidden")
    fake = tf.tanh(common.matmul(y, w["generator/out/weights"], s) + w["generator/out/biases"])
    fake = common.point(fake, s, "fake")
    real_score, fake_score = critic(w, real, classes, s), critic(w, fake, classes, s)
    penalty = s.get("gamma_half", 0.5) * 2.0 * penalty_of(w, real, classes, s)
    critics = tf.nn.softplus(-real_score) + tf.nn.softplus(fake_score)
    sign = s.get("generator_sign", -1.0)
    score = common.mean(tf.nn.softplus(sign * fake_score), s)
    out = {"critic": common.mean(critics, s) + s.get("penalty_sign", 1.0) * penalty}
    return {**out, "generator": score * turn[0] if turn else score}


def new(data, fault=None, **s):
    """Make the port: one tape for both losses."""
    s["fault"] = fault
    s.setdefault("dense", True)
    w = common.variables(data, s, data["frozen"])
    library = s.get("library", "keras")
    parts = {c: {k: v for k, v in common.trained(w, s).items() if k.startswith(c)} for c in CALLS}
    made = {}
    for c in CALLS:
        settings = {**SETTINGS[c], **s.get("opt_" + c, {})}
        if optimizers.BY_HAND & set(settings) or library == "hand":
            settings.setdefault("epsilon_at", "inside" if c == "critic" else "outside")
        made[c] = optimizers.make(KINDS[c], parts[c], settings, library)
    listed = [k for k in w if w[k].trainable]

    def targets_of(losses):
        how, little = s.get("targets"), s.get("little", 1.0)
        targets = {c: losses[c] * s.get("loss_factor", 1.0) for c in CALLS}
        if how in ("both", "critic"):
            targets["critic"] += little * losses["generator"]
        if how in ("both", "generator"):
            targets["generator"] += little * losses["critic"]
        return {c: t * s.get("scale", 1.0) for c, t in targets.items()}

    def step(*batch):
        batch = [tf.convert_to_tensor(b) for b in batch]
        with tf.GradientTape(persistent=True) as tape:
            losses = losses_of(w, batch, s)
            targets = targets_of(losses)
        flat = {}
        for c in CALLS:
            found = tape.gradient(targets[c], list(parts[c].values()))
            if c == s.get("turns") and float(batch[3]) == 0:
                found = [None] * len(found)
            by = 1.0 if c == s.get("scale_left") else s.get("scale", 1.0)
            by *= s.get("unscaled", 1.0)
            if by != 1.0:
                found = [g if g is None else tf.convert_to_tensor(g) / by for g in found]
            flat.update(common.after({k: found[i] for i, k in enumerate(parts[c])}, s))
        # In a tf.function, a weight may otherwise be changed before it is read.
        first = [*losses.values(), *(g for g in flat.values() if g is not None)]
        for c in CALLS:
            with tf.control_dependencies(first):
                last = {k: None if flat[k] is None else tf.identity(flat[k]) for k in parts[c]}
            common.update(made[c], last, w, s)
        for k in data["frozen"]:
            value = tf.convert_to_tensor(w[k.replace("shadow", "generator")])
            w[k].assign(0.9 * tf.convert_to_tensor(w[k]) + 0.1 * value)
        return losses, [flat.get(k) for k in listed]

    return common.finish(common.wrapped(step, s), w, list(made.values()), s)
