"""A factorization machine beside a deep network: clicks on sparse fields, now and then the stay.

Four tables for pairs, four for what counts alone, tags as an average; Adagrad on slices, or Adam.
"""

import numpy as np
import tensorflow as tf

from trials import common, optimizers

ROWS, SIZE, TAGS = 24, 5, 3
FIELDS = {"users": 18, "items": 22, "hours": 6, "tags": 10}
SHAPES = {
    **{f"{k}/table": (n, SIZE) for k, n in FIELDS.items()},
    **{f"{k}/alone": (n, 1) for k, n in FIELDS.items()},
    "deep1/weights": (4 * SIZE, 8),
    "deep1/biases": (8,),
    "deep2/weights": (8, 8),
    "deep2/biases": (8,),
    "click/weights": (8, 1),
    "click/biases": (1,),
    "stay/weights": (8, 1),
    "stay/biases": (1,),
}
KERNELS = ("deep1/weights", "deep2/weights")
KINDS = {
    "adagrad": {"start": 0.1, "epsilon": 0.0},
    "adam": {"beta_1": 0.9, "beta_2": 0.98, "epsilon": 1e-4},
}
RATES = {"adagrad": [0.05, 3, 0.7], "adam": [0.01, 3, 0.7]}
L2, DECAY, STAY = 0.02, 0.01, 0.4


def data(dtype="float32", half=None, kind="adagrad"):
    """Make weights and five batches: fields, tags that count, clicks, trust, stays, a flag."""
    random = np.random.RandomState(125)
    batches = []
    for flag in (1, 0, 1, 0, 1):
        users = np.minimum(random.geometric(0.15, ROWS) - 1, 17)
        items = np.minimum(random.geometric(0.12, ROWS) - 1, 21)
        hours = random.randint(0, 6, ROWS)
        tags = np.minimum(random.geometric(0.25, (ROWS, TAGS)) - 1, 9)
        ids = [a.astype("int32") for a in (users, items, hours, tags)]
        given = np.arange(TAGS) < random.randint(1, TAGS + 1, ROWS)[:, None]
        rest = [given, random.randint(0, 2, ROWS), random.choice([0.4, 1.0, 3.0], ROWS)]
        rest = [*rest, random.uniform(0, 2, ROWS), np.array(flag)]
        batches.append((*ids, *(a.astype(dtype) for a in rest)))
    weights = common.draw(SHAPES, 126, dtype)
    for name in FIELDS:
        weights[name + "/table"] *= 3
    return {"weights": weights, "batches": batches, "half": half, "kind": kind}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data)
    (*ids, given, click, trust, stay, flag), fed = common.feeds(v1, data)
    rows, alone = [], []
    for name, field in zip(FIELDS, ids, strict=True):
        for kind, out in (("table", rows), ("alone", alone)):
            found = v1.nn.embedding_lookup(w[f"{name}/{kind}"], field)
            if name == "tags":
                total = v1.reduce_sum(given, 1, keepdims=True)
                found = v1.reduce_sum(given[:, :, None] * found, 1) / total
            out.append(found)
    pairs = v1.stack(rows, 1)
    pairs = v1.square(v1.reduce_sum(pairs, 1)) - v1.reduce_sum(v1.square(pairs), 1)
    y = v1.concat(rows, 1)
    y = v1.nn.elu(v1.nn.xw_plus_b(y, w["deep1/weights"], w["deep1/biases"]))
    y = v1.nn.elu(v1.nn.xw_plus_b(y, w["deep2/weights"], w["deep2/biases"]))
    logits = v1.nn.xw_plus_b(y, w["click/weights"], w["click/biases"]) + v1.add_n(alone)
    logits = logits[:, 0] + 0.5 * v1.reduce_sum(pairs, 1)
    losses = v1.nn.sigmoid_cross_entropy_with_logits(labels=click, logits=logits)
    loss = v1.reduce_mean(trust * losses)
    loss += DECAY * v1.add_n([v1.nn.l2_loss(r) for r in rows]) / ROWS
    loss += L2 * v1.add_n([v1.nn.l2_loss(w[k]) for k in KERNELS])
    guess = v1.nn.xw_plus_b(y, w["stay/weights"], w["stay/biases"])[:, 0]
    loss += STAY * flag * v1.reduce_mean(v1.square(guess - stay))
    step = v1.train.get_or_create_global_step()
    if data["kind"] == "adam":
        rate = v1.train.exponential_decay(0.01, step, 3, 0.7)
        optimizer = v1.train.AdamOptimizer(rate, 0.9, 0.98, 1e-4)
    else:
        rate = v1.train.exponential_decay(0.05, step, 3, 0.7)
        optimizer = v1.train.AdagradOptimizer(rate, initial_accumulator_value=0.1)
    pairs = optimizer.compute_gradients(loss)
    train_op = optimizer.apply_gradients(pairs, global_step=step)
    pairs = [(v1.convert_to_tensor(g), v) for g, v in pairs]
    return {"loss": loss, "inputs": fed, "train_op": train_op, "gradients": pairs}


def found_of(w, kind, ids, given, s):
    """Look the fields up in their tables of one kind; of the tags, take the average."""
    out = []
    for name, field in zip(FIELDS, ids, strict=True):
        table = w[f"{name}/{kind}"]
        if "rows" in s and kind == "alone":  # those faults are for slices of the large tables
            table = 1.0 * tf.convert_to_tensor(table)
        if s.get("one_hot"):
            hot = tf.one_hot(field, FIELDS[name], dtype=given.dtype)
            found = tf.tensordot(hot, tf.convert_to_tensor(table), 1)
        else:
            found = tf.gather(table, field)
        if name == "tags":
            share = given / tf.reduce_sum(given, 1, keepdims=True)
            found = tf.reduce_sum(share[:, :, None] * found, 1)
        out.append(common.point(found, s, f"{name} {kind}"))
    return out


def paired(rows, s):
    """Return what the fields do in pairs: by the square of the sum, or pair by pair."""
    if s.get("paired") == "each":
        pairs = [(a, b) for i, a in enumerate(rows) for b in rows[i + 1 :]]
        return tf.add_n([tf.reduce_sum(a * b, 1) for a, b in pairs])
    stacked = tf.stack(rows, 1)
    total = tf.square(tf.reduce_sum(stacked, 1))
    own = tf.reduce_sum(tf.square(stacked), 1)
    if s.get("halt") == "squares":
        own = tf.stop_gradient(own)
    return 0.5 * tf.reduce_sum(total - own, 1)


def weigh(losses, trust, s):
    """Reduce the losses of the clicks to one."""
    how = s.get("sample_weights")
    if how == "out":
        trust = tf.ones_like(trust)
    if how == "sum":
        return tf.reduce_sum(trust * losses) / tf.reduce_sum(trust)
    if how == "one":
        trust = tf.concat([trust[:7], trust[7:8] * s["one"], trust[8:]], 0)
    if how == "cut":
        trust = tf.minimum(trust, s["cut"])
    if how == "shifted":
        trust = tf.roll(trust, 1, 0)
    return common.mean(trust * losses, s)


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    s.setdefault("dense", True)
    w, kind = common.variables(data, s), data["kind"]
    settings = {**KINDS[kind], "lr": RATES[kind]}
    optimizer = optimizers.of_port(kind, common.trained(w, s), settings, s)

    def loss_of(w, batch, s):
        *ids, given, click, trust, stay, flag = batch
        decays = [tf.reduce_sum(common.square(tf.convert_to_tensor(w[k]), s)) for k in KERNELS]
        decay = s.get("l2", L2) * s.get("l2_half", 0.5) * tf.add_n(decays)
        rows, alone = (found_of(w, k, ids, given, s) for k in ("table", "alone"))
        if s.get("decay_of") == "tables":
            decayed = [tf.convert_to_tensor(w[k + "/table"]) for k in FIELDS]
        else:
            decayed = rows[:-1] if s.get("decay_of") == "no tags" else rows
        decay += s.get("decay", DECAY) * tf.add_n([tf.nn.l2_loss(r) for r in decayed]) / ROWS
        y = tf.concat([common.point(r, s, "to deep") for r in rows], 1)
        y = common.point(tf.nn.elu(common.affine(w, "deep1", y, s)), s, "deep1")
        y = common.point(tf.nn.elu(common.affine(w, "deep2", y, s)), s, "deep2")
        logits = (common.affine(w, "click", y, s) + tf.add_n(alone))[:, 0]
        logits += s.get("pair_sign", 1.0) * common.point(paired(rows, s), s, "pairs")
        if s.get("rewrite"):
            losses = tf.nn.softplus(logits) - click * logits
        else:
            losses = tf.nn.sigmoid_cross_entropy_with_logits(click, logits)
        loss = weigh(losses, trust, s) + decay
        if s.get("head") == "if" and float(flag) == 0:
            return loss
        head = dict(w)
        if s.get("head") == "biases" and float(flag) == 0:
            head["stay/biases"] = tf.zeros([1])
        guess = common.affine(head, "stay", common.point(y, s, "to stay"), s)[:, 0]
        error = STAY * flag * tf.reduce_mean(common.square(guess - stay, s))
        if s.get("part"):
            return decay if s.get("part_of") == "decay" else error
        return loss + error

    return common.port(loss_of, w, optimizer, s)
