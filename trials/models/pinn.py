"""A physics-informed net for Burgers' equation, its coefficient learned: second derivatives."""

import numpy as np
import tensorflow as tf

from trials import common, optimizers

SHAPES = {
    "layer1/weights": (2, 8),
    "layer1/biases": (8,),
    "layer2/weights": (8, 8),
    "layer2/biases": (8,),
    "out/weights": (8, 1),
    "out/biases": (1,),
    "viscosity": (1,),
}
ADAM = {"lr": ["polynomial", 0.01, 12, 0.001, 2.0], "beta_1": 0.9, "beta_2": 0.95, "epsilon": 1e-6}
START = 5.0


def data(dtype="float32", half=None, physics=1.0):
    """Make weights and five batches: points, their weights, the start, if physics counts."""
    random = np.random.RandomState(69)
    batches = []
    for flag in (1, 0, 1, 1, 0):
        points = random.uniform(-1, 1, (20, 2))
        weights = random.choice([0.3, 1.0, 1.7], 20)
        start = np.stack([random.uniform(-1, 1, 12), np.zeros(12)], 1)
        start[8:] = np.stack([[-1, 1, -1, 1], random.uniform(0, 1, 4)], 1)  # the sides
        values = -np.sin(np.pi * start[:, :1])
        rows = points, weights, start, values, np.array(flag)
        batches.append(tuple(r.astype(dtype) for r in rows))
    weights = common.draw(SHAPES, 70, dtype)
    weights["viscosity"] = np.array([0.4], dtype)
    return {"weights": weights, "batches": batches, "half": half, "physics": physics}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data)
    (points, weights, start, values, flag), fed = common.feeds(v1, data)

    def net(x):
        one = v1.tanh(v1.nn.xw_plus_b(x, w["layer1/weights"], w["layer1/biases"]))
        two = v1.tanh(v1.nn.xw_plus_b(one, w["layer2/weights"], w["layer2/biases"]))
        return v1.nn.xw_plus_b(two, w["out/weights"], w["out/biases"])

    u = net(points)
    slopes = v1.gradients(u, points)[0]
    u_x, u_t = slopes[:, :1], slopes[:, 1:]
    u_xx = v1.gradients(u_x, points)[0][:, :1]
    residual = v1.squeeze(u_t + u * u_x - w["viscosity"] * u_xx, 1)
    physics = v1.reduce_mean(weights * v1.square(residual))
    begin = v1.reduce_mean(v1.square(net(start) - values))
    loss = data["physics"] * flag * physics + START * begin
    step = v1.train.get_or_create_global_step()
    rate = v1.train.polynomial_decay(0.01, step, 12, 0.001, power=2.0)
    optimizer = v1.train.AdamOptimizer(rate, 0.9, 0.95, 1e-6)
    train_op = optimizer.minimize(loss, global_step=step)
    return {"loss": loss, "inputs": fed, "train_op": train_op}


def net(w, x, s):
    """Return the solution at the points."""
    second = w["layer2/weights"]
    second = tf.transpose(second) if s.get("turned") else second
    one = tf.tanh(common.matmul(x, w["layer1/weights"], s) + w["layer1/biases"])
    one = common.point(one, s, "layer1")
    two = s.get("gain", 1.0) * (common.matmul(one, second, s) + w["layer2/biases"])
    two = tf.sin(two) if s.get("activation") == "sin" else tf.tanh(two)
    two = common.point(two, s, "layer2")
    return common.matmul(two, w["out/weights"], s) + w["out/biases"]


def halted(x, how):
    """Hold a derivative constant, wholly or in part."""
    if how == "stopped":
        return tf.stop_gradient(x)
    if how == "numpy":
        return tf.constant(x.numpy())
    half = x.shape[0] // 2
    return tf.concat([tf.stop_gradient(x[:half]), x[half:]], 0)


def derivatives(w, x, s):
    """Return the solution and its derivatives by x, by t, and twice by x."""
    if s.get("derivatives") == "by hand":  # as the layers are few
        one = tf.tanh(common.matmul(x, w["layer1/weights"], s) + w["layer1/biases"])
        two = tf.tanh(common.matmul(one, w["layer2/weights"], s) + w["layer2/biases"])
        rows, slope = tf.convert_to_tensor(w["layer1/weights"]), 1 - one * one
        d_x, d_t = slope * rows[0], slope * rows[1]
        d_xx = -2 * one * slope * rows[0] ** 2
        e_x, e_t, e_xx = (common.matmul(d, w["layer2/weights"], s) for d in (d_x, d_t, d_xx))
        slope = 1 - two * two
        last = [slope * e_x, slope * e_t, slope * e_xx - 2 * two * slope * e_x**2]
        last = [common.matmul(d, w["out/weights"], s) for d in last]
        return common.matmul(two, w["out/weights"], s) + w["out/biases"], *last
    with tf.GradientTape(watch_accessed_variables=False) as outer:
        outer.watch(x)
        with tf.GradientTape(watch_accessed_variables=False) as inner:
            inner.watch(x)
            u = net(w, x, s)
        slopes = inner.gradient(u, x)
        u_x = slopes[:, :1]
    return u, u_x, slopes[:, 1:], outer.gradient(u_x, x)[:, :1]


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    w = common.variables(data, s)
    settings = {**ADAM, **s.get("opt", {})}
    optimizer = optimizers.make("adam", w, settings, s.get("library", "keras"))

    def loss_of(w, batch, s):
        points, weights, start, values, flag = batch
        begin = common.mean(common.square(net(w, start, s) - values, s), s)
        if s.get("start") == "half":  # as l2_loss
            begin = 0.5 * begin
        begin = s.get("start_weight", START) * begin
        if s.get("physics") == "if" and float(flag) == 0:
            return begin
        u, u_x, u_t, u_xx = derivatives(w, points, s)
        parts = {"u": u, "u_x": u_x, "u_t": u_t, "u_xx": u_xx}
        for name in s.get("halt", ()):
            parts[name] = halted(parts[name], s.get("halt_how", "stopped"))
        u, u_x, u_t, u_xx = parts.values()
        flow = u * u_x if s.get("flow") != "out" else u_x
        viscosity = s.get("viscosity_sign", 1.0) * tf.convert_to_tensor(w["viscosity"])
        if s.get("viscosity") == "exp":
            viscosity = tf.exp(viscosity)
        residual = tf.squeeze(u_t + flow - viscosity * u_xx, 1)
        how = s.get("sample_weights")
        weights = tf.ones_like(weights) if how == "out" else weights
        weights = weights * weights if how == "squared" else weights
        weights = weights * s.get("heavy", 1.001) if how == "heavy" else weights
        if how == "floor":
            weights = tf.maximum(weights, tf.cast(s.get("floor", 0.301), weights.dtype))
        if how == "inside":  # the residual is weighed, not its square
            squares = common.square(weights * residual, s)
        else:
            squares = weights * common.square(residual, s)
        physics = common.mean(squares, s)
        if how == "sum":
            physics = tf.reduce_sum(squares) / tf.reduce_sum(weights)
        if s.get("part"):
            return physics if s.get("part_of") != "start" else begin
        return data["physics"] * s.get("physics_factor", 1.0) * flag * physics + begin

    return common.port(loss_of, w, optimizer, s)
