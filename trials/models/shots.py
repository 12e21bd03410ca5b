"""Few-shot classes: two inner steps with rates that are learned, both steps are judged."""

import numpy as np
import tensorflow as tf

from trials import common, optimizers

SHAPES = {
    "first/weights": (6, 12),
    "first/biases": (12,),
    "second/weights": (12, 12),
    "second/biases": (12,),
    "classes/weights": (12, 5),
    "classes/biases": (5,),
    "rates/first": (1,),
    "rates/second": (1,),
    "rates/classes": (1,),
}
FAST = [k for k in SHAPES if not k.startswith("rates")]
ADAM = {"beta_1": 0.9, "beta_2": 0.99, "epsilon": 1e-4}
RATE = ["polynomial", 0.01, 10, 0.001]
CLIP = ("value", 0.1)
TASKS, STEPS, SHARES = 3, 2, (0.3, 1.0)


def data(dtype="float32", half=None):
    """Make weights and five batches of tasks: rows to adapt to, rows to judge on."""
    random = np.random.RandomState(43)
    batches = []
    for _ in range(5):
        labels = random.randint(0, 5, (TASKS, 25)).astype("int32")
        centres = random.randn(TASKS, 5, 6)
        x = np.take_along_axis(centres, labels[..., None], 1) + 0.5 * random.randn(TASKS, 25, 6)
        x = x.astype(dtype)
        batches.append((x[:, :10], labels[:, :10], x[:, 10:], labels[:, 10:]))
    weights = common.draw(SHAPES, 44, dtype)
    for i, layer in enumerate(("first", "second", "classes")):
        weights["rates/" + layer] = np.array([0.2 + 0.1 * i], dtype)
    return {"weights": weights, "batches": batches, "half": half}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data)
    (x_a, y_a, x_b, y_b), fed = common.feeds(v1, data)
    step = v1.train.get_or_create_global_step()

    def loss_of(w, x, y):
        one = v1.nn.softplus(v1.nn.xw_plus_b(x, w["first/weights"], w["first/biases"]))
        two = v1.nn.xw_plus_b(one, w["second/weights"], w["second/biases"])
        two = v1.nn.softplus(two) + one
        out = v1.nn.xw_plus_b(two, w["classes/weights"], w["classes/biases"])
        losses = v1.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=out)
        return v1.reduce_mean(losses)

    losses = []
    for task in range(TASKS):
        fast = {k: w[k] for k in FAST}
        for share in SHARES:
            grads = v1.gradients(loss_of(fast, x_a[task], y_a[task]), [fast[k] for k in FAST])
            rates = [w["rates/" + k.partition("/")[0]] for k in FAST]
            fast = {k: fast[k] - rates[i] * grads[i] for i, k in enumerate(FAST)}
            losses.append(share * loss_of(fast, x_b[task], y_b[task]))
    loss = v1.add_n(losses) / TASKS
    rate = v1.train.polynomial_decay(0.01, step, 10, 0.001)
    optimizer = v1.train.AdamOptimizer(rate, beta2=0.99, epsilon=1e-4)
    pairs = [(v1.clip_by_value(g, -0.1, 0.1), v) for g, v in optimizer.compute_gradients(loss)]
    train_op = optimizer.apply_gradients(pairs, global_step=step)
    return {"loss": loss, "inputs": fed, "train_op": train_op, "gradients": pairs}


def losses_of(w, x, y, s):
    """Compute the losses of the rows of one task."""
    one = common.matmul(x, w["first/weights"], s) + w["first/biases"]
    one = common.point(tf.nn.softplus(one), s, "first")
    second = w["second/weights"]
    second = tf.transpose(second) if s.get("turned") else second
    two = common.matmul(one, second, s) + w["second/biases"]
    two = common.point(tf.nn.softplus(two), s, "second") + one
    out = common.matmul(two, w["classes/weights"], s) + w["classes/biases"]
    return common.cross_entropy(out, y, s)


def adapt(w, rates, x, y, s, number):
    """Return the weights after an inner step."""
    how = s.get("inner") if s.get("inner_step") in (None, number) else None
    inner = {k: v for k, v in s.items() if k not in ("stop", "drop", "noise", "reduce")}
    with tf.GradientTape() as tape:
        start = {k: tf.convert_to_tensor(w[k]) for k in FAST}
        tape.watch(start)
        losses = losses_of(start, x, y, inner)
        loss = tf.reduce_sum(losses) if s.get("inner_reduce") == "sum" else tf.reduce_mean(losses)
        if s.get("inner_targets"):
            loss = [loss, s["inner_targets"] * tf.reduce_mean(losses[:5])]
    grads = tape.gradient(loss, start)
    for k, g in list(grads.items()):
        if how == "stopped" or (how and how in k):
            grads[k] = tf.stop_gradient(g)
        if how == "numpy":
            grads[k] = tf.constant(g.numpy())
        if how == "blend":  # a part of the gradient is kept
            grads[k] = g + s["blend"] * (tf.stop_gradient(g) - g)
        if how == "outside":  # a fresh start: nothing reaches the weights before
            start[k] = tf.stop_gradient(start[k])
    sign = s.get("inner_sign", -1.0)
    return {k: start[k] + sign * rates[k.partition("/")[0]] * grads[k] for k in FAST}


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    w = common.variables(data, s)
    library = s.get("library", "keras")
    settings = {**ADAM, "lr": s.get("rate", RATE), **s.get("opt", {})}
    if isinstance(settings["lr"], list) and (
        library == "hand" or optimizers.BY_HAND & set(settings)
    ):
        home = common.keras_of("tf_keras").optimizers.schedules
        settings["lr"] = optimizers.counted(optimizers.decaying(settings["lr"], home), s)
    optimizer = optimizers.make("adam", w, settings, library)

    def loss_of(w, batch, s):
        x_a, y_a, x_b, y_b = batch
        rates = {k.partition("/")[2]: w[k] for k in w if k.startswith("rates")}
        rates = {k: common.point(tf.convert_to_tensor(v), s, "rates") for k, v in rates.items()}
        losses = []
        for task in range(TASKS):
            fast = w
            for number, share in enumerate(SHARES):
                if s.get("part") and number == 1:
                    continue
                once = s if task < s.get("inner_tasks", TASKS) else {**s, "inner": None}
                fast = adapt(fast, rates, x_a[task], y_a[task], once, number)
                judged = common.mean(losses_of(fast, x_b[task], y_b[task], s), s)
                losses.append(share * judged)
        if s.get("targets") == "tasks":
            return tf.add_n(losses)
        if s.get("rewrite"):
            return tf.reduce_mean(tf.add_n([tf.stack(losses[i::2]) for i in range(STEPS)]))
        return tf.add_n(losses) / (TASKS * s.get("divide", 1.0))

    return common.port(loss_of, w, optimizer, s, CLIP)
