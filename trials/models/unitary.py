"""A unitary recurrent net: complex rows of symbols, Fourier transforms, modReLU, RMSProp."""

import numpy as np
import tensorflow as tf

from trials import common, optimizers

SIZE, TIME, SYMBOLS = 8, 5, 7
SHAPES = {
    "symbols/real": (SYMBOLS, SIZE),
    "symbols/imag": (SYMBOLS, SIZE),
    "phases/one": (SIZE,),
    "phases/two": (SIZE,),
    "reflect/real": (SIZE,),
    "reflect/imag": (SIZE,),
    "mix/real": (SIZE, SIZE),
    "mix/imag": (SIZE, SIZE),
    "modulus/biases": (SIZE,),
    "dense/weights": (16, 16),
    "dense/biases": (16,),
    "out/weights": (16, SYMBOLS),
    "out/biases": (SYMBOLS,),
}
RMSPROP = {"rho": 0.9, "epsilon": 1e-6, "start": 1.0}
RATE, L2, CLIP = [0.05, 3, 0.6], 0.01, ("value", 0.05)


def data(dtype="float32", half=None):
    """Make weights and five batches of symbols, what should follow, and how much it counts."""
    random = np.random.RandomState(89)
    batches = []
    for _ in range(5):
        symbols = np.minimum(random.geometric(0.35, (10, TIME)) - 1, 6).astype("int32")
        follow = random.randint(0, SYMBOLS, (10, TIME)).astype("int32")
        counts = random.choice([0.0, 0.5, 1.0], (10, TIME)).astype(dtype)
        batches.append((symbols, follow, counts))
    weights = common.draw(SHAPES, 90, dtype)
    for name in ("phases/one", "phases/two", "reflect/real", "reflect/imag"):
        weights[name] *= 8
    return {"weights": weights, "batches": batches, "half": half}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data)
    (symbols, follow, counts), fed = common.feeds(v1, data)

    def turn(h, name):
        return h * v1.complex(v1.cos(w[name]), v1.sin(w[name]))

    real = v1.nn.embedding_lookup(w["symbols/real"], symbols)
    x = v1.complex(real, v1.nn.embedding_lookup(w["symbols/imag"], symbols))
    mix = v1.complex(w["mix/real"], w["mix/imag"])
    v = v1.complex(w["reflect/real"], w["reflect/imag"])[:, None]
    norm = v1.reduce_sum(v1.square(v1.abs(v)))
    h, states = v1.zeros([10, SIZE], v1.complex64), []
    for t in range(TIME):
        h = v1.fft(turn(h, "phases/one"))
        seen = v1.matmul(v1.matmul(h, v1.conj(v)), v, transpose_b=True)
        h = h - seen * v1.cast(2.0 / norm, v1.complex64)
        h = v1.ifft(turn(h, "phases/two")) + v1.matmul(x[:, t], mix)
        size = v1.sqrt(v1.square(v1.real(h)) + v1.square(v1.imag(h)) + 1e-5)
        scale = v1.nn.softplus(size + w["modulus/biases"]) / size
        h = v1.complex(v1.real(h) * scale, v1.imag(h) * scale)
        states.append(h)
    h = v1.reshape(v1.stack(states, 1), [-1, SIZE])
    y = v1.concat([v1.real(h), v1.imag(h)], 1)
    y = v1.tanh(v1.nn.xw_plus_b(y, w["dense/weights"], w["dense/biases"]))
    logits = v1.nn.xw_plus_b(y, w["out/weights"], w["out/biases"])
    losses = v1.nn.sparse_softmax_cross_entropy_with_logits(
        labels=v1.reshape(follow, [-1]), logits=logits
    )
    flat = v1.reshape(counts, [-1])
    loss = v1.reduce_sum(losses * flat) / (v1.reduce_sum(flat) + 1e-8)
    loss += L2 * (v1.nn.l2_loss(w["dense/weights"]) + v1.nn.l2_loss(w["out/weights"]))
    step = v1.train.get_or_create_global_step()
    rate = v1.train.exponential_decay(0.05, step, 3, 0.6)
    optimizer = v1.train.RMSPropOptimizer(rate, 0.9, epsilon=1e-6)
    pairs = [
        (v1.clip_by_value(v1.convert_to_tensor(g), -CLIP[1], CLIP[1]), v)
        for g, v in optimizer.compute_gradients(loss)
    ]
    train_op = optimizer.apply_gradients(pairs, global_step=step)
    return {"loss": loss, "inputs": fed, "train_op": train_op, "gradients": pairs}


def states_of(w, symbols, s):
    """Run the cell over the symbols."""
    hand = common.by_hand(s)

    def both(name, take=tf.convert_to_tensor):
        real, imag = (take(w[f"{name}/{part}"]) for part in ("real", "imag"))
        real, imag = common.point(real, s, name), common.point(imag, s, name + "/imag")
        return hand(tf.complex(real, imag), name)

    def turn(h, name):
        angle = tf.convert_to_tensor(w[name]) * s.get("angle_sign", 1.0)
        if s.get("rewrite"):
            a, b, c, d = tf.math.real(h), tf.math.imag(h), tf.cos(angle), tf.sin(angle)
            return tf.complex(a * c - b * d, a * d + b * c)
        return h * hand(tf.complex(tf.cos(angle), tf.sin(angle)), name)

    x, mix, v = (
        both("symbols", lambda table: tf.gather(table, symbols)),
        both("mix"),
        both("reflect"),
    )
    if s.get("mixed") == "adjoint":
        mix = tf.math.conj(mix)
    norm = tf.reduce_sum(tf.square(tf.abs(v)))
    norm = tf.stop_gradient(norm) if s.get("halt") == "norm" else norm
    h, states = tf.zeros([tf.shape(symbols)[0], SIZE], tf.complex64), []
    for t in range(TIME):
        h = hand(tf.signal.fft(turn(h, "phases/one")), "spectrum")
        seen = tf.reduce_sum(h * (v if s.get("reflect") == "plain" else tf.math.conj(v)), 1)
        h -= seen[:, None] * v * tf.cast(2.0 / norm, tf.complex64)
        fed = hand(tf.tensordot(x[:, t], mix, 1), "fed")
        h = tf.signal.ifft(turn(h, "phases/two")) + fed
        if s.get("by_hand") == f"state {t}":
            h = common.conjugated(h)
        real, imag = tf.math.real(h), tf.math.imag(h)
        size = tf.sqrt(common.square(real, s) + common.square(imag, s) + 1e-5)
        scale = tf.nn.softplus(size + w["modulus/biases"]) / size
        scale = common.point(scale, s, "scale")
        h = tf.complex(real * scale, imag * scale)
        if t == s.get("cut"):
            h = tf.stop_gradient(h)
        states.append(h)
    return tf.reshape(tf.stack(states, 1), [-1, SIZE])


def weigh(losses, counts, s):
    """Reduce the losses of the symbols to one."""
    how = s.get("sample_weights")
    if how == "out":
        counts = tf.ones_like(counts)
    if how == "mask":  # as if they were only zeros and ones
        counts = tf.cast(counts > 0, counts.dtype)
    if how == "half":
        counts = tf.where(counts == 0.5, s["half_is"] * tf.ones_like(counts), counts)
    if how == "floor":
        counts = tf.maximum(counts, s["floor"])
    total = tf.reduce_sum(counts) + s.get("more", 1e-8)
    if s.get("reduce") == "rows":
        total = 10.0
    if s.get("reduce") == "all":
        total = 10.0 * TIME
    if s.get("reduce") == "sum":
        total = 1.0
    return tf.reduce_sum(losses * counts) / total


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    s.setdefault("dense", True)
    w = common.variables(data, s)
    optimizer = optimizers.of_port("rmsprop", common.trained(w, s), {**RMSPROP, "lr": RATE}, s)

    def loss_of(w, batch, s):
        symbols, follow, counts = batch
        kernels = [tf.convert_to_tensor(w[k]) for k in ("dense/weights", "out/weights")]
        decay = tf.add_n([tf.reduce_sum(common.square(k, s)) for k in kernels])
        decay *= s.get("l2", L2) * s.get("l2_half", 0.5)
        h = states_of(w, symbols, s)
        ends = [tf.math.real(h), tf.math.imag(h)]
        y = tf.concat(ends[::-1] if s.get("ends") == "exchanged" else ends, 1)
        y = common.matmul(common.point(y, s, "states"), w["dense/weights"], s) + w["dense/biases"]
        y = common.point(tf.tanh(y), s, "dense")
        logits = common.matmul(y, w["out/weights"], s) + w["out/biases"]
        losses = common.cross_entropy(logits, tf.reshape(follow, [-1]), s)
        if s.get("part"):
            return decay if s.get("part_of") == "decay" else tf.reduce_mean(losses)
        return weigh(losses, tf.reshape(counts, [-1]), s) + decay

    return common.port(loss_of, w, optimizer, s, CLIP)
