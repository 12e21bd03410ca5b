"""Facts of a graph as complex embeddings, turned by a complex kernel: Adagrad on slices."""

import numpy as np
import tensorflow as tf

from trials import common, optimizers

SHAPES = {
    "entities/real/table": (40, 6),
    "entities/imag/table": (40, 6),
    "relations/real/table": (7, 6),
    "relations/imag/table": (7, 6),
    "relations/biases": (7,),
    "turn/real": (6, 6),
    "turn/imag": (6, 6),
}
ADAGRAD = {"lr": 0.1, "start": 0.05, "epsilon": 0.0}


def data(dtype="float32", half=None):
    """Make weights and five batches of facts, true or not, and how sure they are."""
    random = np.random.RandomState(37)
    batches = []
    for _ in range(5):
        ids = np.minimum(random.geometric(0.1, (28, 2)) - 1, 39)
        kinds = np.minimum(random.geometric(0.3, 28) - 1, 6)
        facts = np.stack([ids[:, 0], kinds, ids[:, 1]], 1).astype("int32")
        true = random.choice([-1.0, 1.0], 28).astype(dtype)
        batches.append((facts, true, random.uniform(0.3, 1.5, 28).astype(dtype)))
    weights = common.draw(SHAPES, 38, dtype)
    for name in SHAPES:
        if name.endswith("table"):
            weights[name] *= 4
    return {"weights": weights, "batches": batches, "half": half}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data)
    (facts, true, sure), fed = common.feeds(v1, data)

    def look(name, ids):
        parts = [v1.nn.embedding_lookup(w[f"{name}/{k}/table"], ids) for k in ("real", "imag")]
        return v1.complex(*parts), v1.add_n([v1.nn.l2_loss(p) for p in parts])

    subject, a = look("entities", facts[:, 0])
    relation, b = look("relations", facts[:, 1])
    target, c = look("entities", facts[:, 2])
    subject = v1.matmul(subject, v1.complex(w["turn/real"], w["turn/imag"]))
    score = v1.reduce_sum(v1.real(subject * relation * v1.conj(target)), 1)
    score += v1.gather(w["relations/biases"], facts[:, 1])
    loss = v1.reduce_mean(sure * v1.nn.softplus(-true * score)) + 0.01 * (a + b + c) / 28.0
    train_op = v1.train.AdagradOptimizer(0.1, initial_accumulator_value=0.05).minimize(loss)
    return {"loss": loss, "inputs": fed, "train_op": train_op}


def weigh(losses, sure, s):
    """Reduce the losses of the facts to one."""
    how = s.get("sample_weights")
    if how == "out":
        return common.mean(losses, s)
    if how == "sum":
        return tf.reduce_sum(losses * sure) / tf.reduce_sum(sure)
    if how == "one":
        sure = tf.concat([sure[:-1], sure[-1:] * s["one"]], 0)
    if how == "cut":
        sure = tf.minimum(sure, s["cut"])
    if how == "root":
        sure = tf.sqrt(sure)
    if how == "shifted":
        sure = tf.roll(sure, 1, 0)
    return common.mean(losses * sure, s)


def gather(table, ids, s):
    """Look rows up, one way or the other."""
    if s.get("one_hot"):
        return tf.one_hot(ids, table.shape[0], dtype=table.dtype) @ tf.convert_to_tensor(table)
    return tf.gather(table, ids)


def penalty_of(parts, w, s):
    """Return the penalty of the rows that were looked up."""
    how = s.get("l2_of", "rows")
    named = [*parts["subject"], *parts["relation"], *parts["target"]]
    if how == "no relations":
        named = [*parts["subject"], *parts["target"]]
    if how == "tables":
        named = [tf.convert_to_tensor(v) for k, v in w.items() if k.endswith("table")]
    if how == "kernel too":
        named += [tf.convert_to_tensor(w["turn/real"]), tf.convert_to_tensor(w["turn/imag"])]
    total = tf.add_n([tf.reduce_sum(common.square(p, s)) for p in named])
    return s.get("l2", 0.01) * s.get("l2_half", 0.5) * total / s.get("l2_rows", 28)


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    s.setdefault("dense", True)
    w = common.variables(data, s)
    settings = {**ADAGRAD, **s.get("opt", {})}
    optimizer = optimizers.make("adagrad", w, settings, s.get("library", "keras"))

    hand = common.by_hand(s)

    def loss_of(w, batch, s):
        facts, true, sure = batch
        parts, z = {}, {}
        places = {"subject": ("entities", 0), "relation": ("relations", 1)}
        for role, (name, i) in {**places, "target": ("entities", 2)}.items():
            rows = [gather(w[f"{name}/{k}/table"], facts[:, i], s) for k in ("real", "imag")]
            parts[role] = rows = [common.point(r, s, role) for r in rows]
            z[role] = hand(tf.complex(*rows), role)
            if s.get("by_hand") == "one " + role:
                z[role] = tf.concat([common.conjugated(z[role][:1]), z[role][1:]], 0)
        if s.get("part"):
            return penalty_of(parts, w, s)
        real, imag = tf.convert_to_tensor(w["turn/real"]), tf.convert_to_tensor(w["turn/imag"])
        kernel = hand(tf.complex(real, imag), "kernel")
        kernel = tf.math.conj(kernel) if s.get("kernel") == "conjugate" else kernel
        subject = hand(tf.matmul(z["subject"], kernel), "product")
        other = z["target"] if s.get("target") == "plain" else tf.math.conj(z["target"])
        if s.get("rewrite"):
            one = tf.math.real(subject * z["relation"]) * tf.math.real(z["target"])
            two = tf.math.imag(subject * z["relation"]) * tf.math.imag(z["target"])
            score = tf.reduce_sum(one + two, 1)
        else:
            score = tf.reduce_sum(tf.math.real(subject * z["relation"] * other), 1)
        biases = w["relations/biases"]
        if "rows" in s:  # those faults are for slices of matrices
            biases = 1.0 * tf.convert_to_tensor(biases)
        score = common.point(score, s, "score") + tf.gather(biases, facts[:, 1])
        losses = tf.nn.softplus(-true * s.get("truth_sign", 1.0) * score)
        return weigh(losses, sure, s) + penalty_of(parts, w, s)

    return common.port(loss_of, w, optimizer, s)
