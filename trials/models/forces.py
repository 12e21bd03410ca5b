"""A potential of atoms in the plane, fitted to energies and forces, and now and then to dipoles.

The atoms around one are summed as complex waves by kind (what bonds look like from any side), and
forces are slopes of the energy, so that the loss is of the second order. Adam, rate by steps.
"""

import numpy as np
import tensorflow as tf

from trials import common, optimizers

ATOMS, KINDS, SIZE = 5, 4, 4
SHAPES = {
    "kinds/table": (KINDS, SIZE),
    "mix/real": (12, 6),
    "mix/imag": (12, 6),
    "one/weights": (10, 12),
    "one/biases": (12,),
    "two/weights": (12, 12),
    "two/biases": (12,),
    "energy/weights": (12, 1),
    "kinds/energy": (KINDS, 1),
    "charge/weights": (12, 1),
    "charge/biases": (1,),
}
KERNELS = ("one/weights", "two/weights", "energy/weights")
ADAM = {"lr": [0.005, 2, 0.7, True], "beta_1": 0.9, "beta_2": 0.99, "epsilon": 1e-7}
FORCE, L2 = 2.0, 0.01


def data(dtype="float32", half=None):
    """Make weights and five batches: kinds, places, energies, forces, trust, dipoles, a flag."""
    random = np.random.RandomState(93)
    batches = []
    for flag in (1, 1, 0, 0, 1):
        kinds = np.minimum(random.geometric(0.4, (6, ATOMS)) - 1, 3).astype("int32")
        grid = np.array([[0, 0], [1, 0], [0, 1], [1, 1], [2, 0.5]])
        places = 1.5 * grid + 0.2 * random.randn(6, ATOMS, 2)
        rows = [places, random.randn(6), 0.5 * random.randn(6, ATOMS, 2)]
        rows += [random.choice([0.5, 1.0, 2.0], 6), random.randn(6, 2), np.array(flag)]
        batches.append((kinds, *(r.astype(dtype) for r in rows)))
    return {"weights": common.draw(SHAPES, 92, dtype), "batches": batches, "half": half}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data)
    (kinds, places, energy, force, trust, dipole, flag), fed = common.feeds(v1, data)
    rows = v1.nn.embedding_lookup(w["kinds/table"], kinds)
    apart = places[:, None] - places[:, :, None]
    same = v1.eye(ATOMS, dtype=places.dtype)
    far = v1.sqrt(v1.reduce_sum(v1.square(apart), 3) + same)
    near = v1.exp(-far) * (1 - same)
    wave = v1.complex(apart[..., 0] / far, apart[..., 1] / far)
    sums = []
    for power in range(3):
        part = v1.complex(near, v1.zeros_like(near))
        for _ in range(power):
            part *= wave
        sums.append(v1.matmul(part, v1.complex(rows, v1.zeros_like(rows))))
    around = v1.reshape(v1.concat(sums, 2), [-1, 12])
    mixed = v1.matmul(around, v1.complex(w["mix/real"], w["mix/imag"]))
    seen = v1.square(v1.real(mixed)) + v1.square(v1.imag(mixed))
    y = v1.concat([seen, v1.reshape(rows, [-1, SIZE])], 1)
    y = v1.tanh(v1.nn.xw_plus_b(y, w["one/weights"], w["one/biases"]))
    y = v1.tanh(v1.nn.xw_plus_b(y, w["two/weights"], w["two/biases"]))
    each = v1.matmul(y, w["energy/weights"])
    each += v1.reshape(v1.nn.embedding_lookup(w["kinds/energy"], kinds), [-1, 1])
    total = v1.reduce_sum(v1.reshape(each, [-1, ATOMS]), 1)
    pull = -v1.gradients(total, [places])[0]
    loss = v1.reduce_mean(trust * v1.square(total - energy)) / ATOMS
    errors = v1.reduce_mean(v1.square(pull - force), [1, 2])
    loss += FORCE * v1.reduce_mean(trust * errors)
    charge = v1.nn.xw_plus_b(y, w["charge/weights"], w["charge/biases"])
    charge = v1.reshape(charge, [-1, ATOMS, 1])
    found = v1.reduce_sum(charge * places, 1)
    loss += flag * 0.3 * v1.reduce_mean(v1.reduce_sum(v1.square(found - dipole), 1))
    loss += L2 * v1.add_n([v1.nn.l2_loss(w[k]) for k in KERNELS])
    step = v1.train.get_or_create_global_step()
    rate = v1.train.exponential_decay(0.005, step, 2, 0.7, staircase=True)
    optimizer = v1.train.AdamOptimizer(rate, 0.9, 0.99, 1e-7)
    pairs = [(v1.convert_to_tensor(g), v) for g, v in optimizer.compute_gradients(loss)]
    train_op = optimizer.apply_gradients(pairs, global_step=step)
    return {"loss": loss, "inputs": fed, "train_op": train_op, "gradients": pairs}


def around(rows, places, s):
    """Sum the atoms around each one, by kind and by angle."""
    hand = common.by_hand(s)
    apart = places[:, None] - places[:, :, None]
    same = tf.eye(ATOMS, dtype=places.dtype)
    far = tf.sqrt(tf.reduce_sum(common.square(apart, s), 3) + same)
    near = common.point(tf.exp(-far) * (1 - same), s, "near")
    wave = hand(tf.complex(apart[..., 0] / far, apart[..., 1] / far), "wave")
    if s.get("wave") == "conjugate":
        wave = tf.math.conj(wave)
    rows, part, sums = hand(tf.complex(rows, tf.zeros_like(rows)), "rows"), None, []
    for power in range(3):
        part = tf.complex(near, tf.zeros_like(near)) if power == 0 else part * wave
        found = tf.einsum("bij,bjc->bic", part, rows) if s.get("rewrite") else part @ rows
        sums.append(hand(found, f"sum {power}"))
    return hand(tf.reshape(tf.concat(sums, 2), [-1, 12]), "around"), hand


def energies(w, kinds, places, s):
    """Return the energy of each configuration, and the last layer of each atom."""
    rows = common.point(tf.gather(w["kinds/table"], kinds), s, "kinds")
    sums, hand = around(rows, places, s)
    mix = hand(tf.complex(*(tf.convert_to_tensor(w["mix/" + k]) for k in ("real", "imag"))), "mix")
    mixed = hand(tf.matmul(sums, mix), "mixed")
    seen = common.square(tf.math.real(mixed), s) + common.square(tf.math.imag(mixed), s)
    y = tf.concat([common.point(seen, s, "seen"), tf.reshape(rows, [-1, SIZE])], 1)
    y = tf.tanh(common.matmul(y, w["one/weights"], s) + w["one/biases"])
    y = common.point(y, s, "one")
    y = tf.tanh(common.matmul(y, w["two/weights"], s) + w["two/biases"])
    y = common.point(y, s, "two")
    each = common.matmul(y, w["energy/weights"], s)
    each += tf.reshape(tf.gather(w["kinds/energy"], kinds), [-1, 1])
    return tf.reduce_sum(tf.reshape(each, [-1, ATOMS]), 1), y


def held(pull, s):
    """Hold the forces constant, if the switch says so."""
    how = s.get("pull")
    if how == "stopped":
        return tf.stop_gradient(pull)
    if how == "numpy":
        return tf.constant(pull.numpy())
    if how == "atom":  # the first one's
        return tf.concat([tf.stop_gradient(pull[:, :1]), pull[:, 1:]], 1)
    if how == "axis":
        return tf.concat([tf.stop_gradient(pull[..., :1]), pull[..., 1:]], 2)
    if how == "blend":
        return pull + s["blend"] * (tf.stop_gradient(pull) - pull)
    return pull


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    s.setdefault("dense", True)
    w = common.variables(data, s)
    optimizer = optimizers.of_port("adam", common.trained(w, s), ADAM, s)

    def weighed(trust, s):
        how = s.get("sample_weights")
        if how == "out":
            return tf.ones_like(trust)
        if how == "one":
            return tf.concat([trust[:1] * s["one"], trust[1:]], 0)
        if how == "mean":  # brought to a mean of one
            return trust / tf.reduce_mean(trust)
        return tf.minimum(trust, s["cut"]) if how == "cut" else trust

    def loss_of(w, batch, s):
        kinds, places, energy, force, trust, dipole, flag = batch
        decays = [tf.reduce_sum(common.square(tf.convert_to_tensor(w[k]), s)) for k in KERNELS]
        decay = s.get("l2", L2) * s.get("l2_half", 0.5) * tf.add_n(decays)
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(places)
            total, y = energies(w, kinds, places, s)
        pull = s.get("pull_sign", -1.0) * held(tape.gradient(total, places), s)
        trust = weighed(trust, s)
        errors = tf.reduce_mean(common.square(pull - force, s), [1, 2])
        if s.get("reduce") == "axes":  # summed over x and y, not their mean
            errors *= 2
        forces = FORCE * common.mean(trust * errors, s)
        loss = common.mean(trust * common.square(total - energy, s), s) / ATOMS
        loss = s.get("energy_factor", 1.0) * loss + forces + decay
        if s.get("dipole") == "if" and float(flag) == 0:
            return loss
        y = common.point(y, s, "to charge")
        charge = common.matmul(y, w["charge/weights"], s) + w["charge/biases"]
        found = tf.reduce_sum(tf.reshape(charge, [-1, ATOMS, 1]) * places, 1)
        side = tf.reduce_sum(common.square(found - dipole, s), 1)
        side = flag * 0.3 * common.mean(side, {**s, "targets": None})
        if s.get("part"):
            return {"decay": decay, "forces": forces}.get(s.get("part_of"), side)
        return loss + side

    return common.port(loss_of, w, optimizer, s)
