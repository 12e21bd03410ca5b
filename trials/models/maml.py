"""Meta-learning of sine waves: one inner step on each of four tasks, second order."""

import numpy as np
import tensorflow as tf

from trials import common, optimizers

SHAPES = {
    "layer1/weights": (1, 14),
    "layer1/biases": (14,),
    "layer2/weights": (14, 14),
    "layer2/biases": (14,),
    "out/weights": (14, 1),
    "out/biases": (1,),
}
ADAM = {"lr": 0.001, "beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-8}
TASKS, INNER = 4, 0.05


def data(dtype="float32", half=None):
    """Make weights and five batches of tasks: rows to adapt to, rows to judge on."""
    random = np.random.RandomState(19)
    batches = []
    for _ in range(5):
        x = random.uniform(-3, 3, (TASKS, 20, 1))
        y = random.uniform(0.5, 2, (TASKS, 1, 1)) * np.sin(x + random.uniform(0, 3, (TASKS, 1, 1)))
        rows = x[:, :10], y[:, :10], x[:, 10:], y[:, 10:]
        batches.append(tuple(r.astype(dtype) for r in rows))
    return {"weights": common.draw(SHAPES, 20, dtype), "batches": batches, "half": half}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data)
    (x_a, y_a, x_b, y_b), fed = common.feeds(v1, data)

    def loss_of(w, x, y):
        one = v1.tanh(v1.matmul(x, w["layer1/weights"]) + w["layer1/biases"])
        two = v1.tanh(v1.matmul(one, w["layer2/weights"]) + w["layer2/biases"])
        out = v1.matmul(two, w["out/weights"]) + w["out/biases"]
        return v1.reduce_mean(v1.square(out - y))

    losses, names = [], list(w)
    for task in range(TASKS):
        inner = loss_of(w, x_a[task], y_a[task])
        grads = v1.gradients(inner, [w[k] for k in names])
        fast = {k: w[k] - 0.05 * grads[i] for i, k in enumerate(names)}
        losses.append(loss_of(fast, x_b[task], y_b[task]))
    loss = v1.reduce_mean(v1.stack(losses))
    train_op = v1.train.AdamOptimizer(0.001).minimize(loss)
    return {"loss": loss, "inputs": fed, "train_op": train_op}


def task_loss(w, x, y, s):
    """Compute the loss of one task."""
    activation = tf.nn.relu if s.get("activation") == "relu" else tf.tanh
    one = activation(common.matmul(x, w["layer1/weights"], s) + w["layer1/biases"])
    one = common.point(one, s, "layer1")
    second = w["layer2/weights"]
    second = tf.transpose(second) if s.get("turned") else second
    two = activation(common.matmul(one, second, s) + w["layer2/biases"])
    two = common.point(two, s, "layer2")
    out = common.matmul(two, w["out/weights"], s) + w["out/biases"]
    return common.mean(common.square(out - y, s), s)


def adapt(w, x, y, s):
    """Return the weights after the inner step."""
    how, names = s.get("inner"), list(w)
    with tf.GradientTape() as tape:
        loss = task_loss(w, x, y, s)
        if s.get("targets") == "halves":  # a target for each half, which the tape sums
            loss = [task_loss(w, x[:5], y[:5], s), task_loss(w, x[5:], y[5:], s)]
    grads = tape.gradient(loss, [w[k] for k in names])
    if how == "stopped":
        grads = [tf.stop_gradient(g) for g in grads]
    if how == "numpy":
        grads = [tf.constant(g.numpy()) for g in grads]
    part = {"biases": "biases", "last": "out/biases", "layer 1": "layer1"}.get(how)
    part = {"layer 2": "layer2", "out": "out/", "weights": "weights"}.get(how, part)
    if part:
        grads = [tf.stop_gradient(g) if part in names[i] else g for i, g in enumerate(grads)]
    rate = s.get("inner_rate", INNER)
    return {k: tf.convert_to_tensor(w[k]) - rate * grads[i] for i, k in enumerate(names)}


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    w = common.variables(data, s)
    settings = {**ADAM, **s.get("opt", {})}
    optimizer = optimizers.make("adam", w, settings, s.get("library", "keras"))

    def loss_of(w, batch, s):
        x_a, y_a, x_b, y_b = batch
        losses = []
        for task in range(TASKS):
            if s.get("first_order_tasks", 0) > task:
                fast = adapt(w, x_a[task], y_a[task], {**s, "inner": "stopped"})
            else:
                fast = adapt(w, x_a[task], y_a[task], s)
            losses.append(task_loss(fast, x_b[task], y_b[task], s))
        if s.get("targets") == "tasks":
            return tf.add_n(losses)
        if s.get("targets") == "inner too":
            inner = [task_loss(w, x_a[t], y_a[t], s) for t in range(TASKS)]
            return (tf.add_n(losses) + tf.add_n(inner)) / TASKS
        return tf.reduce_mean(tf.stack(losses))

    return common.port(loss_of, w, optimizer, s)
