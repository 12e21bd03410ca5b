"""Words by what stands beside them: a sampled softmax, and tables of words and their pieces.

Pairs count by their distance, now and then the part of speech is told; Adagrad, plain descent or
Adam, as the old program had it by a flag; the rate falls in a line.
"""

import numpy as np
import tensorflow as tf

from trials import common, optimizers
from trials.models.machines import weigh

ROWS, WORDS, PIECES, SIZE, SAMPLED, EACH = 28, 24, 12, 6, 5, 3
SHAPES = {
    "words/table": (WORDS, SIZE),
    "pieces/table": (PIECES, SIZE),
    "beside/table": (WORDS, SIZE),
    "beside/biases": (WORDS,),
    "project/weights": (SIZE, SIZE),
    "project/biases": (SIZE,),
    "speech/weights": (SIZE, 4),
    "speech/biases": (4,),
}
KERNELS = ("project/weights", "speech/weights")
KINDS = {
    "adagrad": {"start": 0.1, "epsilon": 0.0},
    "sgd": {},
    "adam": {"beta_1": 0.9, "beta_2": 0.99, "epsilon": 1e-4},
}
RATES = {"adagrad": 0.1, "sgd": 0.4, "adam": 0.02}
L2, DECAY, SPEECH = 0.02, 0.02, 0.4


def rate_of(first, steps=10):
    """Return the rate: it falls in a line."""
    return ["polynomial", first, steps, 0.1 * first, 1.0]


def data(dtype="float32", half=None, kind="adagrad"):
    """Make weights and five batches: words, pieces, what is beside, what not, counts, speech."""
    random = np.random.RandomState(145)
    batches = []
    for flag in (1, 0, 1, 1, 0):
        words, beside = (np.minimum(random.geometric(0.15, ROWS) - 1, WORDS - 1) for _ in "ab")
        pieces = np.minimum(random.geometric(0.25, (ROWS, EACH)) - 1, PIECES - 1)
        wrong = random.permutation(WORDS)[:SAMPLED]
        ids = [a.astype("int32") for a in (words, pieces, beside, wrong)]
        near = random.choice([0.25, 0.5, 1.0, 2.0], ROWS).astype(dtype)
        speech = random.randint(0, 4, ROWS).astype("int32")
        batches.append((*ids, near, speech, np.array(flag, dtype)))
    weights = common.draw(SHAPES, 146, dtype)
    for name in ("words/table", "pieces/table", "beside/table"):
        weights[name] *= 2
    return {"weights": weights, "batches": batches, "half": half, "kind": kind}


def often(ids, dtype):
    """Return how often a word is expected among the sampled, by its rank."""
    return SAMPLED * np.log((ids + 2.0) / (ids + 1.0)).astype(dtype) / np.log(WORDS + 1.0)


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data)
    (words, pieces, beside, wrong, near, speech, flag), fed = common.feeds(v1, data)
    row = v1.nn.embedding_lookup(w["words/table"], words)
    parts = v1.nn.embedding_lookup(w["pieces/table"], pieces)
    y = row + v1.reduce_mean(parts, 1)
    y = v1.tanh(v1.nn.xw_plus_b(y, w["project/weights"], w["project/biases"]))
    expected = v1.constant(often(np.arange(WORDS), near.dtype.name), near.dtype)
    right = v1.gather(expected, beside)[:, None]
    losses = v1.nn.sampled_softmax_loss(
        w["beside/table"],
        w["beside/biases"],
        v1.to_int64(beside)[:, None],
        y,
        SAMPLED,
        WORDS,
        sampled_values=(v1.to_int64(wrong), right, v1.gather(expected, wrong)),
    )
    loss = v1.reduce_mean(near * losses)
    loss += DECAY * (v1.nn.l2_loss(row) + v1.nn.l2_loss(parts)) / ROWS
    loss += L2 * v1.add_n([v1.nn.l2_loss(w[k]) for k in KERNELS])
    logits = v1.nn.xw_plus_b(y, w["speech/weights"], w["speech/biases"])
    losses = v1.nn.sparse_softmax_cross_entropy_with_logits(labels=speech, logits=logits)
    loss += SPEECH * flag * v1.reduce_mean(losses)
    step, first = v1.train.get_or_create_global_step(), RATES[data["kind"]]
    rate = v1.train.polynomial_decay(first, step, 10, 0.1 * first)
    optimizer = {
        "adagrad": lambda: v1.train.AdagradOptimizer(rate, initial_accumulator_value=0.1),
        "sgd": lambda: v1.train.GradientDescentOptimizer(rate),
        "adam": lambda: v1.train.AdamOptimizer(rate, 0.9, 0.99, 1e-4),
    }[data["kind"]]()
    pairs = optimizer.compute_gradients(loss)
    train_op = optimizer.apply_gradients(pairs, global_step=step)
    pairs = [(v1.convert_to_tensor(g), v) for g, v in pairs]
    return {"loss": loss, "inputs": fed, "train_op": train_op, "gradients": pairs}


def look(w, name, ids, s):
    """Look rows up, one way or the other."""
    if s.get("one_hot"):
        table = tf.convert_to_tensor(w[name])
        return tf.tensordot(tf.one_hot(ids, table.shape[0], dtype=table.dtype), table, 1)
    return tf.gather(w[name], ids)


def sampled(w, y, beside, wrong, s):
    """Return the loss of each pair: the right word among the sampled ones."""
    expected = tf.constant(often(np.arange(WORDS), y.dtype.name), y.dtype)
    if s.get("rewrite"):
        return tf.nn.sampled_softmax_loss(
            tf.convert_to_tensor(w["beside/table"]),
            tf.convert_to_tensor(w["beside/biases"]),
            tf.cast(beside, tf.int64)[:, None],
            y,
            SAMPLED,
            WORDS,
            sampled_values=(
                tf.cast(wrong, tf.int64),
                tf.gather(expected, beside)[:, None],
                tf.gather(expected, wrong),
            ),
        )
    biases = tf.convert_to_tensor(w["beside/biases"])
    if "rows" in s:  # those faults are for slices of tables
        biases = 1.0 * biases
    rows, others = (look(w, "beside/table", ids, s) for ids in (beside, wrong))
    others = tf.stop_gradient(others) if s.get("halt") == "wrong" else others
    right = tf.reduce_sum(y * common.point(rows, s, "beside"), 1) + tf.gather(biases, beside)
    right -= tf.math.log(tf.gather(expected, beside))
    logits = tf.matmul(y, others, transpose_b=True) + tf.gather(biases, wrong)
    logits -= tf.math.log(tf.gather(expected, wrong))
    hits = tf.cast(beside[:, None] == wrong, y.dtype)
    logits = tf.concat([right[:, None], logits - 1e9 * hits], 1)
    return tf.reduce_logsumexp(logits, 1) - s.get("right", 1.0) * right


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    s.setdefault("dense", True)
    w, kind = common.variables(data, s), data["kind"]
    settings = {**KINDS[kind], "lr": rate_of(RATES[kind])}
    optimizer = optimizers.of_port(kind, common.trained(w, s), settings, s)

    def loss_of(w, batch, s):
        words, pieces, beside, wrong, near, speech, flag = batch
        decays = [tf.reduce_sum(common.square(tf.convert_to_tensor(w[k]), s)) for k in KERNELS]
        decay = s.get("l2", L2) * s.get("l2_half", 0.5) * tf.add_n(decays)
        row = common.point(look(w, "words/table", words, s), s, "words")
        parts = common.point(look(w, "pieces/table", pieces, s), s, "pieces")
        decayed = [row] if s.get("decay_of") == "words" else [row, parts]
        if s.get("decay_of") == "tables":
            decayed = [tf.convert_to_tensor(w[k + "/table"]) for k in ("words", "pieces")]
        decay += s.get("decay", DECAY) * tf.add_n([tf.nn.l2_loss(r) for r in decayed]) / ROWS
        y = tf.tanh(common.affine(w, "project", row + tf.reduce_mean(parts, 1), s))
        y = common.point(y, s, "project")
        loss = weigh(sampled(w, y, beside, wrong, s), near, s) + decay
        if s.get("head") == "if" and float(flag) == 0:
            return loss
        head = dict(w)
        if s.get("head") == "biases" and float(flag) == 0:
            head["speech/biases"] = tf.zeros([4])
        logits = common.affine(head, "speech", common.point(y, s, "to speech"), s)
        spoken = SPEECH * flag * tf.reduce_mean(common.cross_entropy(logits, speech, s))
        if s.get("part"):
            return decay if s.get("part_of") == "decay" else spoken
        return loss + s.get("speech_sign", 1.0) * spoken

    return common.port(loss_of, w, optimizer, s)
