"""Sound by causal convolutions with dilation, told the speaker, through a learned complex filter.

The optimizer is one of three, as the old program had it by a flag; clipped by value.
"""

import numpy as np
import tensorflow as tf

from trials import common, optimizers

ROWS, TIME, SIZE = 6, 16, 6
SHAPES = {
    "speakers/table": (5, SIZE),
    "start/weights": (2, 1, SIZE),
    "filter1/weights": (2, SIZE, SIZE),
    "gate1/weights": (2, SIZE, SIZE),
    "gate1/biases": (SIZE,),
    "filter2/weights": (2, SIZE, SIZE),
    "gate2/weights": (2, SIZE, SIZE),
    "gate2/biases": (SIZE,),
    "skip/weights": (SIZE, SIZE),
    "skip/biases": (SIZE,),
    "out/weights": (SIZE, 1),
    "out/biases": (1,),
    "room/real": (9,),
    "room/imag": (9,),
}
KERNELS = ("filter1/weights", "gate1/weights", "filter2/weights", "gate2/weights")
KINDS = {
    "sgd": {"momentum": 0.9, "nesterov": True},
    "adam": {"beta_1": 0.9, "beta_2": 0.98, "epsilon": 1e-4},
    "rmsprop": {"rho": 0.9, "momentum": 0.6, "epsilon": 1e-4, "start": 1.0},
}
BOUNDS, RATES = [1, 3], [0.01, 0.006, 0.002]
STEADY = {"sgd": 0.01, "adam": 0.01, "rmsprop": 0.02}
CLIP, L2, SPECTRAL = ("value", 0.2), 0.01, 0.02


def data(dtype="float32", half=None, kind="sgd", steady=False):
    """Make weights and five batches: waves, speakers, and which samples count."""
    random = np.random.RandomState(105)
    batches = []
    for _ in range(5):
        speakers = np.minimum(random.geometric(0.4, ROWS) - 1, 4).astype("int32")
        tone = np.sin(np.arange(TIME + 1) * (0.4 + 0.2 * speakers[:, None]))
        x = tone + 0.3 * random.randn(ROWS, TIME + 1)
        lengths = random.randint(8, TIME + 1, ROWS)
        mask = np.arange(TIME) < lengths[:, None]
        batches.append((x.astype(dtype), speakers, mask.astype(dtype)))
    weights = common.draw(SHAPES, 106, dtype)
    weights["room/real"] += 1
    out = {"weights": weights, "batches": batches, "half": half}
    return {**out, "kind": kind, "steady": steady or kind != "sgd"}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data)
    (x, speakers, mask), fed = common.feeds(v1, data)
    told = v1.nn.embedding_lookup(w["speakers/table"], speakers)[:, None]

    def causal(y, name, apart):
        y = v1.pad(y, [[0, 0], [apart, 0], [0, 0]])
        return v1.nn.convolution(y, w[name + "/weights"], "VALID", dilation_rate=[apart])

    y = causal(x[:, :-1, None], "start", 1)
    skips = []
    for name, apart in (("1", 1), ("2", 2)):
        gate = v1.sigmoid(causal(y, "gate" + name, apart) + w[f"gate{name}/biases"])
        turned = v1.tanh(causal(y, "filter" + name, apart) + told) * gate
        y += turned
        skips.append(turned)
    y = v1.reshape(v1.add_n(skips), [-1, SIZE])
    y = v1.nn.elu(v1.nn.xw_plus_b(y, w["skip/weights"], w["skip/biases"]))
    y = v1.reshape(v1.nn.xw_plus_b(y, w["out/weights"], w["out/biases"]), [ROWS, TIME])
    loss = v1.reduce_sum(mask * v1.square(y - x[:, 1:])) / v1.reduce_sum(mask)
    heard = v1.spectral.rfft(y) * v1.complex(w["room/real"], w["room/imag"])
    error = heard - v1.spectral.rfft(x[:, 1:])
    error = v1.square(v1.real(error)) + v1.square(v1.imag(error))
    loss += SPECTRAL * v1.reduce_mean(v1.reduce_sum(error, 1))
    loss += L2 * v1.add_n([v1.nn.l2_loss(w[k]) for k in KERNELS])
    step = v1.train.get_or_create_global_step()
    rate = STEADY[data["kind"]]
    if not data["steady"]:
        rate = v1.train.piecewise_constant(step, BOUNDS, RATES)
    optimizer = {
        "sgd": lambda: v1.train.MomentumOptimizer(rate, 0.9, use_nesterov=True),
        "adam": lambda: v1.train.AdamOptimizer(rate, 0.9, 0.98, 1e-4),
        "rmsprop": lambda: v1.train.RMSPropOptimizer(rate, 0.9, 0.6, 1e-4),
    }[data["kind"]]()
    pairs = [
        (v1.clip_by_value(v1.convert_to_tensor(g), -CLIP[1], CLIP[1]), v)
        for g, v in optimizer.compute_gradients(loss)
    ]
    train_op = optimizer.apply_gradients(pairs, global_step=step)
    return {"loss": loss, "inputs": fed, "train_op": train_op, "gradients": pairs}


def causal(w, y, name, apart, s):
    """Convolve with what was before, one way or the other."""
    kernel = w[name + "/weights"]
    before = tf.pad(y, [[0, 0], [apart, 0], [0, 0]])
    if s.get("shifted"):
        parts = [tf.tensordot(z, kernel[i], 1) for i, z in enumerate((before[:, :-apart], y))]
        return parts[0] + parts[1]
    return tf.nn.convolution(before, kernel, padding="VALID", dilations=[apart])


def sound(w, x, speakers, s):
    """Return what should come after each sample."""
    told = common.point(tf.gather(w["speakers/table"], speakers), s, "speakers")
    y, skips = common.point(causal(w, x[:, :, None], "start", 1, s), s, "start"), []
    for name, apart in (("1", 1), ("2", 2)):
        gate = tf.sigmoid(causal(w, y, "gate" + name, apart, s) + w[f"gate{name}/biases"])
        gate = common.point(gate, s, "gate" + name)
        turned = tf.tanh(causal(w, y, "filter" + name, apart, s) + told[:, None]) * gate
        y += turned
        if s.get("cut") == name:
            y = tf.stop_gradient(y)
        skips.append(common.point(turned, s, "skip" + name))
    y = tf.reshape(tf.add_n(skips), [-1, SIZE])
    y = common.matmul(y, w["skip/weights"], s) + w["skip/biases"]
    y = common.point(tf.nn.elu(y), s, "skips")
    y = common.matmul(y, w["out/weights"], s) + w["out/biases"]
    return tf.reshape(y, [-1, TIME])


def spectral(w, y, goal, s):
    """Return the error of the spectrum behind the filter."""
    hand = common.by_hand(s)
    real, imag = (tf.convert_to_tensor(w["room/" + k]) for k in ("real", "imag"))
    room = hand(tf.complex(real, imag), "room")
    room = tf.math.conj(room) if s.get("room") == "conjugate" else room
    heard = hand(hand(tf.signal.rfft(y), "spectrum") * room, "heard")
    error = heard - tf.signal.rfft(goal)
    if s.get("rewrite"):
        size = tf.math.real(error * tf.math.conj(error))
    else:
        size = tf.square(tf.math.real(error)) + tf.square(tf.math.imag(error))
    return SPECTRAL * tf.reduce_mean(tf.reduce_sum(size, 1))


def weigh(errors, mask, s):
    """Reduce the errors of the samples to one."""
    how = s.get("sample_weights")
    if how == "out":
        mask = tf.ones_like(mask)
    if how == "floor":
        mask = tf.maximum(mask, s["floor"])
    if how == "first":  # the first sound's
        mask = tf.concat([mask[:1] * s["first"], mask[1:]], 0)
    if how == "later":  # one sample too late
        mask = tf.concat([mask[:, :1], mask[:, :-1]], 1)
    total = tf.reduce_sum(mask) + s.get("more", 0.0)
    total = {"all": 1.0 * ROWS * TIME, "rows": 1.0 * ROWS}.get(s.get("reduce"), total)
    return tf.reduce_sum(mask * errors) / total


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    s.setdefault("dense", True)
    w, kind = common.variables(data, s), data["kind"]
    library = s.get("library", "keras" if data["steady"] else "hand")
    lr = s.get("rate", STEADY[kind])
    if not data["steady"] and "rate" not in s:
        lr = ["piecewise", s.get("bounds", BOUNDS), s.get("rates", RATES)]
        if library == "hand":
            home = common.keras_of("tf_keras").optimizers.schedules
            lr = optimizers.counted(optimizers.decaying(lr, home), s)
    settings = {**KINDS[kind], "lr": lr, **s.get("opt", {})}
    if kind == "rmsprop" and library == "hand":
        settings.setdefault("epsilon_at", "inside")
    optimizer = optimizers.make(kind, common.trained(w, s), settings, library)

    def loss_of(w, batch, s):
        x, speakers, mask = batch
        decays = [tf.reduce_sum(common.square(tf.convert_to_tensor(w[k]), s)) for k in KERNELS]
        decay = s.get("l2", L2) * s.get("l2_half", 0.5) * tf.add_n(decays)
        y = common.point(sound(w, x[:, :-1], speakers, s), s, "sound")
        errors = s.get("spectral", 1.0) * spectral(w, y, x[:, 1:], s)
        if s.get("part"):
            return decay if s.get("part_of") == "decay" else errors
        return weigh(common.square(y - x[:, 1:], s), mask, s) + errors + decay

    return common.port(loss_of, w, optimizer, s, CLIP)
