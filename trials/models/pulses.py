"""A quantum system learned from what is measured after pulses: states by Runge and Kutta's rule.

Double precision; Adam or plain descent, a rate by steps, one norm for all gradients, and a penalty
of how much the first outcome depends on the pulses.
"""

import numpy as np
import tensorflow as tf

from trials import common, optimizers
from trials.models.flow import held

ROWS, LEVELS, STEPS, OUT, APART = 14, 4, 3, 3, 0.4
SHAPES = {
    "chips/table": (5, LEVELS),
    "pulse/weights": (STEPS, STEPS),
    "pulse/biases": (STEPS,),
    "drift/real": (LEVELS, LEVELS),
    "drift/imag": (LEVELS, LEVELS),
    "drive/real": (LEVELS, LEVELS),
    "drive/imag": (LEVELS, LEVELS),
    "measure/real": (LEVELS, OUT),
    "measure/imag": (LEVELS, OUT),
    "readout/weights": (OUT, OUT),
    "readout/biases": (OUT,),
}
KERNELS = ("drift/real", "drift/imag", "drive/real", "drive/imag", "pulse/weights")
KINDS = {"adam": {"beta_1": 0.9, "beta_2": 0.99, "epsilon": 1e-4}, "sgd": {}}
BOUNDS = [1, 3]
RATES = {"adam": [0.02, 0.01, 0.005], "sgd": [0.3, 0.2, 0.05]}
CLIP, L2, SMOOTH = ("global", 0.25), 0.02, 0.4


def data(dtype="float64", half=None, kind="adam"):
    """Make weights and five batches: pulses, chips, shares of the outcomes, how often measured."""
    random = np.random.RandomState(129)
    batches = []
    for _ in range(5):
        pulses = random.uniform(-1, 1, (ROWS, STEPS)).astype(dtype)
        chips = np.minimum(random.geometric(0.35, ROWS) - 1, 4).astype("int32")
        shares = random.dirichlet([1.0, 1.0, 2.0], ROWS).astype(dtype)
        shots = random.choice([1.0, 2.0, 5.0], ROWS).astype(dtype)
        batches.append((pulses, chips, shares, shots))
    weights = common.draw(SHAPES, 130, dtype)
    weights["readout/weights"] = (2 * np.eye(OUT) + weights["readout/weights"]).astype(dtype)
    return {"weights": weights, "batches": batches, "half": half, "kind": kind}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data)
    (pulses, chips, shares, shots), fed = common.feeds(v1, data)
    levels = v1.nn.embedding_lookup(w["chips/table"], chips)
    strength = v1.tanh(v1.nn.xw_plus_b(pulses, w["pulse/weights"], w["pulse/biases"]))
    drift, drive = (v1.complex(w[k + "/real"], w[k + "/imag"]) for k in ("drift", "drive"))
    drift, drive = (z + v1.conj(v1.transpose(z)) for z in (drift, drive))
    still = drift + v1.matrix_diag(v1.complex(levels, v1.zeros_like(levels)))
    state = v1.complex(v1.one_hot([0] * ROWS, LEVELS, dtype=v1.float64), v1.zeros_like(levels))
    for i in range(STEPS):
        much = strength[:, i, None, None]
        energy = still + v1.complex(much, v1.zeros_like(much)) * drive

        def change(z, energy=energy):
            return -1j * v1.matmul(energy, z[:, :, None])[:, :, 0]

        one = change(state)
        two = change(state + 0.5 * APART * one)
        three = change(state + 0.5 * APART * two)
        four = change(state + APART * three)
        state += APART / 6 * (one + 2 * two + 2 * three + four)
    seen = v1.matmul(state, v1.conj(v1.complex(w["measure/real"], w["measure/imag"])))
    seen = v1.square(v1.real(seen)) + v1.square(v1.imag(seen))
    logits = v1.nn.xw_plus_b(seen, w["readout/weights"], w["readout/biases"])
    losses = v1.nn.softmax_cross_entropy_with_logits(labels=shares, logits=logits)
    loss = v1.reduce_sum(shots * losses) / v1.reduce_sum(shots)
    slope = v1.gradients(seen[:, 0], [pulses])[0]
    loss += SMOOTH * v1.reduce_mean(v1.reduce_sum(v1.square(slope), 1))
    loss += L2 * v1.add_n([v1.nn.l2_loss(w[k]) for k in KERNELS])
    step = v1.train.get_or_create_global_step()
    rates = [v1.constant(r, v1.float64) for r in RATES[data["kind"]]]
    rate = v1.train.piecewise_constant(step, BOUNDS, rates)
    if data["kind"] == "adam":
        optimizer = v1.train.AdamOptimizer(rate, 0.9, 0.99, 1e-4)
    else:
        optimizer = v1.train.GradientDescentOptimizer(rate)
    grads, sources = zip(*optimizer.compute_gradients(loss), strict=True)
    grads, _ = v1.clip_by_global_norm([v1.convert_to_tensor(g) for g in grads], CLIP[1])
    pairs = list(zip(grads, sources, strict=True))
    train_op = optimizer.apply_gradients(pairs, global_step=step)
    return {"loss": loss, "inputs": fed, "train_op": train_op, "gradients": pairs}


def real(x):
    """Return x as a complex number."""
    return tf.complex(x, tf.zeros_like(x))


def seen_of(w, pulses, chips, s):
    """Return how often each outcome is seen, before the readout."""
    hand = common.by_hand(s)

    def pair(name):
        one, two = (tf.convert_to_tensor(w[f"{name}/{k}"]) for k in ("real", "imag"))
        return hand(tf.complex(common.point(one, s, name), two), name)

    def whole(z, name):
        if s.get("plain") == name:
            return z + tf.transpose(z)
        return z + (tf.linalg.adjoint(z) if s.get("rewrite") else tf.math.conj(tf.transpose(z)))

    levels = common.point(tf.gather(w["chips/table"], chips), s, "chips")
    strength = common.matmul(pulses, w["pulse/weights"], s) + w["pulse/biases"]
    strength = common.point(tf.tanh(strength), s, "strength")
    drift, drive = (whole(pair(k), k) for k in ("drift", "drive"))
    still = drift + tf.linalg.diag(real(levels))
    state = real(tf.one_hot(tf.zeros_like(chips), LEVELS, dtype=pulses.dtype))
    turn = tf.constant(s.get("turn_by", -1) * 1j, state.dtype)
    for i in range(STEPS):
        energy = still + real(strength[:, i, None, None]) * drive

        def change(z, energy=energy):
            if s.get("rewrite"):
                return turn * tf.einsum("bij,bj->bi", energy, z)
            return turn * tf.matmul(energy, z[:, :, None])[:, :, 0]

        one = change(state)
        two = change(state + 0.5 * APART * one)
        three = change(state + 0.5 * APART * two)
        four = change(state + APART * three)
        state += APART / 6 * (one + 2 * two + 2 * three + four)
        state = tf.stop_gradient(state) if s.get("cut") == i else state
    measure = pair("measure")
    measure = measure if s.get("plain") == "measure" else tf.math.conj(measure)
    seen = hand(state, "state") @ measure
    seen = hand(seen, "seen")
    if s.get("rewrite"):
        return tf.math.real(seen * tf.math.conj(seen))
    return tf.square(tf.math.real(seen)) + tf.square(tf.math.imag(seen))


def weigh(losses, shots, s):
    """Reduce the losses to one: over all that was measured."""
    how = s.get("sample_weights")
    if how == "out":
        shots = tf.ones_like(shots)
    if how == "one":
        shots = tf.concat([shots[:5], shots[5:6] * s["one"], shots[6:]], 0)
    if how == "cut":
        shots = tf.minimum(shots, s["cut"])
    if how == "root":
        shots = tf.sqrt(shots)
    total = tf.reduce_sum(shots) + s.get("more", 0.0)
    total = {"rows": 1.0 * ROWS, "sum": 1.0}.get(s.get("reduce"), total)
    return tf.reduce_sum(shots * losses) / total


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    s.setdefault("dense", True)
    w, kind = common.variables(data, s), data["kind"]
    rates = ["piecewise", s.get("bounds", BOUNDS), s.get("rates", RATES[kind])]
    settings = {**KINDS[kind], "lr": rates}
    optimizer = optimizers.of_port(kind, common.trained(w, s), settings, s)

    def loss_of(w, batch, s):
        pulses, chips, shares, shots = batch
        decays = [tf.reduce_sum(common.square(tf.convert_to_tensor(w[k]), s)) for k in KERNELS]
        decay = s.get("l2", L2) * s.get("l2_half", 0.5) * tf.add_n(decays)
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(pulses)
            seen = seen_of(w, pulses, chips, s)
            first = seen[:, 0]
        slope = held(tape.gradient(first, pulses), s)
        penalty = SMOOTH * tf.reduce_mean(tf.reduce_sum(common.square(slope, s), 1))
        seen = common.point(seen, s, "seen")
        logits = common.matmul(seen, w["readout/weights"], s) + w["readout/biases"]
        if s.get("rewrite"):
            losses = tf.reduce_logsumexp(logits, 1) - tf.reduce_sum(shares * logits, 1)
        else:
            losses = tf.nn.softmax_cross_entropy_with_logits(shares, logits)
        if s.get("part"):
            return decay if s.get("part_of") == "decay" else penalty
        return weigh(losses, shots, s) + s.get("smooth_sign", 1.0) * penalty + decay

    return common.port(loss_of, w, optimizer, s, CLIP)
