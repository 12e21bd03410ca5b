"""A Wasserstein GAN with a penalty of the critic's gradient: two losses, two optimizers."""

import numpy as np
import tensorflow as tf

from trials import common, optimizers

SHAPES = {
    "generator/layer1/weights": (4, 12),
    "generator/layer1/biases": (12,),
    "generator/layer2/weights": (12, 3),
    "generator/layer2/biases": (3,),
    "critic/layer1/weights": (3, 12),
    "critic/layer1/biases": (12,),
    "critic/layer2/weights": (12, 12),
    "critic/layer2/biases": (12,),
    "critic/layer3/weights": (12, 1),
}
ADAM = {"lr": 0.001, "beta_1": 0.5, "beta_2": 0.9, "epsilon": 1e-8}
CALLS = ("generator", "critic")


def data(dtype="float32", half=None, turns=False):
    """Make weights and five batches: real rows, noise, and where the penalty is taken.

    With `turns`, the generator's loss counts in some of the steps only.
    """
    random = np.random.RandomState(17)
    batches = []
    for _ in range(5):
        real = random.randn(32, 3) * [1, 0.5, 2] + [0.5, -1, 0]
        rows = real, random.randn(32, 4), random.uniform(size=(32, 1))
        batches.append(tuple(r.astype(dtype) for r in rows))
    if turns:
        flags = np.array([1, 0, 1, 0, 0], dtype)
        batches = [(*batch, flags[i]) for i, batch in enumerate(batches)]
    return {"weights": common.draw(SHAPES, 18, dtype), "batches": batches, "half": half}


def old(v1, data):
    """Build the old program; both losses see the weights before the step."""
    w = common.declare(v1, data)
    (real, noise, alpha, *turn), fed = common.feeds(v1, data)

    def critic(x):
        for layer in ("critic/layer1", "critic/layer2"):
            x = v1.matmul(x, w[layer + "/weights"]) + w[layer + "/biases"]
            x = v1.nn.leaky_relu(x, 0.2)
        return v1.matmul(x, w["critic/layer3/weights"])

    y = v1.tanh(v1.matmul(noise, w["generator/layer1/weights"]) + w["generator/layer1/biases"])
    fake = v1.matmul(y, w["generator/layer2/weights"]) + w["generator/layer2/biases"]
    between = real + alpha * (fake - real)
    slopes = v1.gradients(critic(between), [between])[0]
    norms = v1.sqrt(v1.reduce_sum(v1.square(slopes), 1) + 1e-12)
    penalty = v1.reduce_mean(v1.square(norms - 1.0))
    score = v1.reduce_mean(critic(fake))
    loss = {
        "critic": score - v1.reduce_mean(critic(real)) + 10.0 * penalty,
        "generator": -score * turn[0] if turn else -score,
    }
    pairs, ops = [], []
    for name in CALLS:
        optimizer = v1.train.AdamOptimizer(0.001, 0.5, 0.9, name=name + "_adam")
        sources = [v for k, v in w.items() if k.startswith(name)]
        pairs.append((optimizer, optimizer.compute_gradients(loss[name], sources)))
    with v1.control_dependencies([g for _, part in pairs for g, _ in part]):
        for optimizer, part in pairs:
            ops.append(optimizer.apply_gradients([(v1.identity(g), v) for g, v in part]))
    gradients = [pair for _, part in pairs for pair in part]
    train_op = v1.group(*ops)
    return {"loss": loss, "inputs": fed, "train_op": train_op, "gradients": gradients}


def critic(w, x, s):
    """Compute the critic's scores."""
    for layer in ("critic/layer1", "critic/layer2"):
        kernel = w[layer + "/weights"]
        if layer == s.get("turned"):
            kernel = tf.transpose(kernel)
        x = common.matmul(x, kernel, s) + w[layer + "/biases"]
        x = tf.nn.leaky_relu(x, s.get("activation", 0.2))
    return common.matmul(x, w["critic/layer3/weights"], s)


def penalty_of(w, real, fake, alpha, s):
    """Return the penalty, of the first order if the switch says so."""
    between = real + alpha * (fake - real)
    if s.get("order_of_penalty") == "outside":  # the tape pauses
        between = tf.stop_gradient(between)
    with tf.GradientTape() as tape:
        tape.watch(between)
        scores = critic(w, between, s)
        target = common.mean(scores, s) if s.get("targets") == "mean" else scores
    slopes = tape.gradient(target, between)
    if s.get("order_of_penalty") == "stopped":
        slopes = tf.stop_gradient(slopes)
    if s.get("order_of_penalty") == "part":
        slopes = tf.concat([tf.stop_gradient(slopes[:1]), slopes[1:]], 0)
    if s.get("order_of_penalty") == "column":
        slopes = tf.concat([tf.stop_gradient(slopes[:, :1]), slopes[:, 1:]], 1)
    if s.get("order_of_penalty") == "numpy":
        slopes = tf.constant(slopes.numpy())
    inside = s.get("inside", 1e-12)
    norms = tf.sqrt(tf.reduce_sum(common.square(slopes, s), 1) + inside)
    over = tf.nn.relu(norms - 1.0) if s.get("penalty") == "one-sided" else norms - 1.0
    return common.mean(common.square(over, s), s)


def losses_of(w, batch, s):
    """Return both losses."""
    real, noise, alpha = batch[:3]
    y = common.matmul(noise, w["generator/layer1/weights"], s) + w["generator/layer1/biases"]
    y = common.point(tf.tanh(y), s, "hidden")
    fake = common.matmul(y, w["generator/layer2/weights"], s) + w["generator/layer2/biases"]
    fake = common.point(fake, s, "fake")
    penalty = penalty_of(w, real, fake, alpha, s)
    score = common.mean(critic(w, fake, s), s)
    value = score - common.mean(critic(w, real, s), s)
    value = s.get("critic_sign", 1.0) * value + s.get("weight", 10.0) * penalty
    score *= s.get("generator_sign", 1.0) * (batch[3] if len(batch) > 3 else 1.0)
    return {"critic": value, "generator": -score}


def new(data, fault=None, **s):
    """Make the port: one tape for both losses, or one each."""
    s["fault"] = fault
    w = common.variables(data, s)
    settings, library = {**ADAM, **s.get("opt", {})}, s.get("library", "keras")
    parts = {c: {k: v for k, v in common.trained(w, s).items() if k.startswith(c)} for c in CALLS}
    made = {c: optimizers.make("adam", parts[c], settings, library) for c in CALLS}
    if s.get("opt_generator"):
        changed = {**settings, **s["opt_generator"]}
        made["generator"] = optimizers.make("adam", parts["generator"], changed, library)
    listed = [k for k in w if w[k].trainable]

    def step(*batch):
        batch = [tf.convert_to_tensor(b) for b in batch]
        with tf.GradientTape(persistent=True) as tape:
            losses = losses_of(w, batch, s)
            targets = {c: losses[c] * s.get("loss_factor", 1.0) for c in CALLS}
            if s.get("targets") == "both":
                targets = {c: sum(losses.values()) for c in CALLS}
            if s.get("targets") == "critic too":
                targets["critic"] = sum(losses.values())
            if s.get("targets") == "generator too":
                targets["generator"] = sum(losses.values())
            if s.get("targets") == "a little":
                targets["generator"] += s.get("little", 0.001) * losses["critic"]
            if s.get("targets") == "a little of the generator's":
                targets["critic"] += s.get("little", 0.001) * losses["generator"]
        grads = {}
        for c in CALLS:
            found = tape.gradient(targets[c], list(parts[c].values()))
            if c == s.get("turns") and float(batch[3]) == 0:
                found = [None] * len(found)
            if s.get("unscaled"):  # though the loss was not scaled
                found = [g / s["unscaled"] for g in found]
            grads[c] = common.after({k: found[i] for i, k in enumerate(parts[c])}, s)
        flat = {**grads["generator"], **grads["critic"]}
        # In a tf.function, a weight may otherwise be changed before it is read.
        first = [*losses.values(), *(g for g in flat.values() if g is not None)]
        for c in CALLS:
            with tf.control_dependencies(first):
                last = {k: g if g is None else tf.identity(g) for k, g in grads[c].items()}
            common.update(made[c], last, w, s)
        return losses, [flat.get(k) for k in listed]

    return common.finish(common.wrapped(step, s), w, list(made.values()), s)
