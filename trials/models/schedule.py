"""A regression with L2 regularisation, a decaying rate and Adam with epsilon 1e-3."""

import numpy as np
import tensorflow as tf

from trials import common, optimizers

SHAPES = {
    "layer1/weights": (8, 10),
    "layer1/biases": (10,),
    "layer2/weights": (10, 10),
    "layer2/biases": (10,),
    "out/weights": (10, 2),
    "out/biases": (2,),
}
ADAM = {"beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-3}
RATE, DECAY, L2 = 0.01, 0.8, 0.002


def data(dtype="float32", half=None):
    """Make weights and five batches."""
    random = np.random.RandomState(11)
    turn, batches = random.randn(8, 2), []
    for _ in range(5):
        x = random.randn(32, 8)
        batches.append((x.astype(dtype), np.tanh(x @ turn).astype(dtype)))
    return {"weights": common.draw(SHAPES, 12, dtype), "batches": batches, "half": half}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data)
    (x, y), fed = common.feeds(v1, data)
    step = v1.get_variable("global_step", [], v1.int64, v1.zeros_initializer(), trainable=False)
    one = v1.nn.elu(v1.matmul(x, w["layer1/weights"]) + w["layer1/biases"])
    two = v1.nn.elu(v1.matmul(one, w["layer2/weights"]) + w["layer2/biases"])
    out = v1.matmul(two, w["out/weights"]) + w["out/biases"]
    loss = v1.reduce_mean(v1.reduce_sum(v1.square(out - y), 1))
    for name in sorted(w):
        if name.endswith("weights"):
            loss = loss + 0.002 * v1.nn.l2_loss(w[name])
    rate = v1.train.exponential_decay(0.01, step, 2, 0.8, staircase=True)
    optimizer = v1.train.AdamOptimizer(rate, epsilon=1e-3)
    train_op = optimizer.minimize(loss, global_step=step)
    return {"loss": loss, "inputs": fed, "train_op": train_op}


def rate_of(s):
    """Return the rate: a number or a function of the count of steps."""
    how = s.get("schedule")
    if how == "out":
        return RATE
    late = {"early": 1, "late": -1}.get(how, 0)
    decay, steps = s.get("schedule_decay", DECAY), s.get("steps", 2)

    def rate(count):
        count = tf.cast(count, tf.float64) * (2 if how == "twice" else 1) + late
        power = count / steps if how == "smooth" else tf.floor(count / steps)
        value = RATE * s.get("rate_factor", 1.0) * decay**power
        if how == "floor":  # not below an end
            value = tf.maximum(value, s["floor"])
        return tf.cast(value, tf.float32)

    return rate


def as_keras(rate, library):
    """Turn the rate into a schedule of Keras."""
    if not callable(rate):
        return rate
    keras = common.keras_of(library)

    class Schedule(keras.optimizers.schedules.LearningRateSchedule):
        def __call__(self, step):
            return rate(step)

    return Schedule()


def penalty(w, s):
    """Return the regularisation."""
    how, total = s.get("l2"), 0.0
    if how == "out":
        return total
    names = [k for k in w if k.endswith("weights") or how == "biases"]
    if how == "first out":
        names.remove("layer1/weights")
    if how == "last out":
        names.remove("out/weights")
    for name in names:
        value = tf.convert_to_tensor(w[name])
        term = tf.reduce_sum(common.square(value, s))
        total += term * (1.0 if how == "no half" else 0.5)
    return s.get("l2_factor", 1.0) * L2 * total


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    w = common.variables(data, s)
    library = s.get("library", "keras")
    if library == "exponential":
        lr = common.keras_of("keras").optimizers.schedules.ExponentialDecay(
            RATE, 2, DECAY, staircase=True
        )
        library = "keras"
    else:
        lr = rate_of(s) if library == "hand" else as_keras(rate_of(s), library)
    settings = {**ADAM, "lr": lr, **s.get("opt", {})}
    if optimizers.BY_HAND & set(settings):
        settings["lr"] = s.get("opt", {}).get("lr", rate_of(s))
    optimizer = optimizers.make("adam", w, settings, library)

    def loss_of(w, batch, s):
        x, y = batch
        one = common.matmul(x, w["layer1/weights"], s) + w["layer1/biases"]
        one = common.point(activate(one, s), s, "layer1")
        second = w["layer2/weights"]
        second = tf.transpose(second) if s.get("turned") else second
        two = activate(common.matmul(one, second, s) + w["layer2/biases"], s)
        two = common.point(two, s, "layer2")
        out = common.matmul(two, w["out/weights"], s) + w["out/biases"]
        errors = common.square(out - y, s)
        errors = tf.reduce_mean(errors, 1) if s.get("elements") else tf.reduce_sum(errors, 1)
        if s.get("part"):
            return penalty(w, s)
        return common.mean(errors, s) + penalty(w, s)

    return common.port(loss_of, w, optimizer, s)


def activate(x, s):
    """Apply the port's activation."""
    how = s.get("activation", "elu")
    return {
        "elu": tf.nn.elu,
        "selu": tf.nn.selu,
        "celu": lambda x: s.get("gain", 1.001) * tf.nn.elu(x),
    }[how](x)
