"""A Fourier neural operator on one axis: complex weights, momentum, cosine rate, coupled decay."""

import numpy as np
import tensorflow as tf

from trials import common, optimizers

N, POINTS, CHANNELS, MODES = 16, 16, 4, 5
SHAPES = {
    "lift/weights": (2, CHANNELS),
    "lift/biases": (CHANNELS,),
    "spectral/modes": (CHANNELS, CHANNELS, MODES),
    "spectral/gain": (MODES,),
    "skip/weights": (CHANNELS, CHANNELS),
    "skip/biases": (CHANNELS,),
    "project/weights": (CHANNELS, 1),
    "project/biases": (1,),
}
COMPLEX = ("spectral/modes", "spectral/gain")
SGD = {"lr": ["cosine", 0.05, 12], "momentum": 0.8, "decay": 0.002, "skip_decay": ["biases"]}


def data(dtype="float32", half=None):
    """Make weights and five batches: functions on a grid, what the operator makes of them."""
    random = np.random.RandomState(63)
    kind = "complex128" if dtype == "float64" else "complex64"
    grid = np.arange(POINTS) / POINTS
    batches = []
    for _ in range(5):
        a = random.randn(N, 4)
        waves = [np.sin(2 * np.pi * (k + 1) * grid + k) for k in range(4)]
        slopes = [np.cos(2 * np.pi * (k + 1) * grid + k) for k in range(4)]
        trust = random.choice([0.5, 1.0, 2.0], N)
        rows = a @ np.stack(waves) + 0.3, a @ np.stack(slopes), trust
        batches.append(tuple(r.astype(dtype) for r in rows))
    weights = common.draw(SHAPES, 64, dtype)
    for name in COMPLEX:
        shape = SHAPES[name]
        weights[name] = (0.6 * (random.randn(*shape) + 1j * random.randn(*shape))).astype(kind)
    return {"weights": weights, "batches": batches, "half": half}


def old(v1, data):
    """Build the old program; momentum by hand, as the optimizers take no complex weights."""
    w = common.declare(v1, data)
    (x, y, trust), fed = common.feeds(v1, data)
    grid = v1.constant(np.tile(np.linspace(0, 1, POINTS), (N, 1)).astype(x.dtype.as_numpy_dtype))
    v = v1.reshape(v1.stack([x, grid], 2), [-1, 2])
    v = v1.nn.xw_plus_b(v, w["lift/weights"], w["lift/biases"])
    rows = v1.transpose(v1.reshape(v, [N, POINTS, CHANNELS]), [0, 2, 1])
    spectrum = v1.spectral.rfft(rows)[:, :, :MODES] * w["spectral/gain"]
    spectrum = v1.einsum("bim,iom->bom", spectrum, w["spectral/modes"])
    spectrum = v1.pad(spectrum, [[0, 0], [0, 0], [0, POINTS // 2 + 1 - MODES]])
    back = v1.transpose(v1.spectral.irfft(spectrum, [POINTS]), [0, 2, 1])
    v = v1.reshape(back, [-1, CHANNELS]) + v1.nn.xw_plus_b(v, w["skip/weights"], w["skip/biases"])
    out = v1.nn.xw_plus_b(v1.tanh(v), w["project/weights"], w["project/biases"])
    error = v1.reduce_sum(v1.square(v1.reshape(out, [N, POINTS]) - y), 1)
    relative = v1.sqrt(error) / v1.sqrt(v1.reduce_sum(v1.square(y), 1))
    loss = v1.reduce_mean(trust * relative)
    step = v1.train.get_or_create_global_step()
    rate = v1.train.cosine_decay(0.05, step, 12)
    names = list(w)
    grads = v1.gradients(loss, [w[k] for k in names])
    ops = []
    with v1.control_dependencies([*grads, rate]):
        for name, g in zip(names, grads):  # noqa: B905
            decay = 0.0 if name.endswith("biases") else 0.002
            push = v1.identity(g) + decay * w[name]
            zeros = 0 * data["weights"][name]
            kept = v1.get_variable(name + "/momentum", initializer=zeros, trainable=False)
            moved = v1.assign(kept, 0.8 * kept + push)
            ops.append(v1.assign_sub(w[name], v1.cast(rate, moved.dtype) * moved))
    with v1.control_dependencies(ops):
        train_op = v1.assign_add(step, 1)
    pairs = [(grads[i], w[k]) for i, k in enumerate(names)]
    return {"loss": loss, "inputs": fed, "train_op": train_op, "gradients": pairs}


def spectral(w, rows, s):
    """Multiply the lower modes of (batch, channels, points) by the weights."""

    def hand(x, name):
        return common.conjugated(x) if s.get("by_hand") == name else x

    gain, modes = (tf.convert_to_tensor(w[k]) for k in ("spectral/gain", "spectral/modes"))
    spectrum = hand(tf.signal.rfft(rows), "rfft")[:, :, :MODES]
    spectrum = hand(spectrum * hand(gain, "gain"), "gained")
    if s.get("turned"):
        modes = tf.transpose(modes, [1, 0, 2])
    modes = hand(modes, "modes")
    if s.get("rewrite"):
        product = tf.reduce_sum(spectrum[:, :, None] * modes[None], 1)
    else:
        product = tf.einsum("bim,iom->bom", spectrum, modes)
    product = common.point(hand(product, "product"), s, "product")
    if s.get("cut"):  # one mode less
        product = product * tf.cast(tf.range(MODES) < MODES - 1, product.dtype)
    product = tf.pad(product, [[0, 0], [0, 0], [0, POINTS // 2 + 1 - MODES]])
    return s.get("norm", 1.0) * tf.signal.irfft(hand(product, "padded"), [POINTS])


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    w = common.variables(data, s)
    settings = {**SGD, **s.get("opt", {})}
    optimizer = optimizers.make("sgd", w, settings, "hand")

    def loss_of(w, batch, s):
        def dense(x, name):
            return common.matmul(x, w[name + "/weights"], s) + w[name + "/biases"]

        x, y, trust = batch
        n = x.shape[0]
        grid = tf.linspace(tf.zeros([n], x.dtype), tf.ones([n], x.dtype), POINTS, axis=1)
        if s.get("grid") == "open":  # without the end
            grid = grid * (POINTS - 1) / POINTS
        v = dense(tf.reshape(tf.stack([x, grid], 2), [-1, 2]), "lift")
        rows = tf.transpose(tf.reshape(v, [n, POINTS, CHANNELS]), [0, 2, 1])
        rows = common.point(rows, s, "rows")
        back = tf.reshape(tf.transpose(spectral(w, rows, s), [0, 2, 1]), [-1, CHANNELS])
        v = back + common.point(dense(v, "skip"), s, "skip")
        v = common.point(tf.tanh(v), s, "hidden")
        out = tf.reshape(dense(v, "project"), [n, POINTS])
        error = tf.reduce_sum(common.square(out - y, s), 1)
        size = tf.reduce_sum(common.square(y, s), 1)
        relative = tf.sqrt(error) / tf.sqrt(size + s.get("floor", 0.0))
        relative = error / size if s.get("squared") else relative
        how = s.get("sample_weights")
        if how == "out":
            trust = tf.ones_like(trust)
        elif how == "inverse":
            trust = 1 / trust
        elif how == "cut":
            trust = tf.minimum(trust, tf.cast(s.get("limit", 1.0), x.dtype))
        if how == "sum":
            return tf.reduce_sum(trust * relative) / tf.reduce_sum(trust)
        return common.mean(trust * relative, s)

    return common.port(loss_of, w, optimizer, s)
