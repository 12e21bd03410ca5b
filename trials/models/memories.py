"""A memory of lines: words bound to their roles by complex spectra, asked by descent on an energy.

Tables of words and of lines, two inner steps by which the question settles among the lines, now
and then which line it is; Adagrad, or plain descent with a falling rate; clipped by value.
"""

import numpy as np
import tensorflow as tf

from trials import common, optimizers
from trials.models.porting import decayed, held, look, old_step, told, weigh

ROWS, LINES, ROLES, WORDS, SIZE, STEPS = 9, 4, 3, 16, 6, 2
SHAPES = {
    "words/table": (WORDS, SIZE),
    "lines/table": (LINES, SIZE),
    "roles/real": (ROLES, SIZE),
    "roles/imag": (ROLES, SIZE),
    "key/real": (SIZE,),
    "key/imag": (SIZE,),
    "pace/weights": (SIZE, SIZE),
    "heat/strength": (SIZE,),
    "hidden/weights": (SIZE, SIZE),
    "hidden/biases": (SIZE,),
    "answer/weights": (SIZE, WORDS),
    "answer/biases": (WORDS,),
    "line/weights": (SIZE, LINES),
    "line/biases": (LINES,),
}
KERNELS = ("hidden/weights", "pace/weights", "answer/weights")
KINDS = {
    "adagrad": {"start": 0.2, "epsilon": 0.0, "lr": 0.08},
    "sgd": {"momentum": 0.0, "lr": ["polynomial", 0.3, 7, 0.05, 1.5]},
}
CLIP, L2, LINE = ("value", 0.3), 0.02, 0.4


def data(dtype="float32", half=None, kind="adagrad"):
    """Make weights and five batches: lines, questions, answers, trust, which line, a flag."""
    random = np.random.RandomState(201)
    batches = []
    for flag in (1, 0, 1, 1, 0):
        size = ROWS, LINES + 1, ROLES
        words = np.minimum(random.geometric(0.18, size) - 1, WORDS - 1).astype("int32")
        line = random.randint(0, LINES, ROWS).astype("int32")
        answer = words[np.arange(ROWS), line + 1, 2]
        trust = random.choice([0.6, 1.0, 1.8], ROWS).astype(dtype)
        batches.append((words[:, 1:], words[:, 0], answer, trust, line, np.array(flag, dtype)))
    weights = common.draw(SHAPES, 202, dtype)
    for name in ("words/table", "roles/real", "answer/weights"):
        weights[name] *= 2
    weights["key/real"] += 0.8
    weights["heat/strength"] += 1.0
    weights["pace/weights"] += 0.5 * np.eye(SIZE, dtype=dtype)
    return {"weights": weights, "batches": batches, "half": half, "kind": kind}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data)
    (words, asked, answer, trust, line, flag), fed = common.feeds(v1, data)
    roles = v1.conj(v1.complex(w["roles/real"], w["roles/imag"]))

    def bound(ids):
        x = v1.nn.embedding_lookup(w["words/table"], ids)
        x = v1.fft(v1.complex(x, v1.zeros_like(x))) * roles
        return v1.reduce_sum(v1.real(v1.ifft(x)), -2)

    memory = bound(words) + w["lines/table"]
    q = bound(asked)
    for _ in range(STEPS):
        near = v1.reduce_sum(memory * (w["heat/strength"] * q)[:, None], 2)
        energy = 0.5 * v1.reduce_sum(v1.square(q), 1)
        energy -= v1.reduce_logsumexp(near, 1)
        q -= v1.matmul(v1.gradients(energy, [q])[0], w["pace/weights"])
    key = v1.complex(w["key/real"], w["key/imag"])
    y = v1.fft(v1.complex(q, v1.zeros_like(q))) * v1.conj(key)
    y = v1.real(v1.ifft(y))
    y = v1.tanh(v1.nn.xw_plus_b(y, w["hidden/weights"], w["hidden/biases"]))
    logits = v1.nn.xw_plus_b(y, w["answer/weights"], w["answer/biases"])
    losses = v1.nn.sparse_softmax_cross_entropy_with_logits(labels=answer, logits=logits)
    loss = v1.reduce_mean(trust * losses)
    loss += L2 * v1.add_n([v1.nn.l2_loss(w[k]) for k in KERNELS])
    logits = v1.nn.xw_plus_b(q, w["line/weights"], w["line/biases"])
    losses = v1.nn.sparse_softmax_cross_entropy_with_logits(labels=line, logits=logits)
    loss += LINE * flag * v1.reduce_mean(losses)
    kind = data["kind"]
    pairs, train_op = old_step(v1, loss, kind, KINDS[kind], CLIP)
    return {"loss": loss, "inputs": fed, "train_op": train_op, "gradients": pairs}


def turned(x, kernel, s, name):
    """Return x, its spectrum multiplied with the conjugate of a kernel."""
    kernel = kernel if s.get("plain") == name else tf.math.conj(kernel)
    hand = common.by_hand(s)
    spectrum = hand(tf.signal.fft(tf.complex(x, tf.zeros_like(x))), name + "'s spectrum")
    return tf.math.real(tf.signal.ifft(hand(spectrum * kernel, name + "'s product")))


def bound(w, ids, s, name):
    """Return words bound to their roles, added up."""
    x = common.point(look(w, "words/table", ids, s), s, name)
    real, imag = (tf.convert_to_tensor(w["roles/" + k]) for k in ("real", "imag"))
    roles = common.by_hand(s)(tf.complex(common.point(real, s, "roles"), imag), "roles")
    return tf.reduce_sum(turned(x, roles, s, "roles"), -2)


def settled(w, q, memory, s):
    """Return the question after the inner steps."""
    heat = common.point(tf.convert_to_tensor(w["heat/strength"]), s, "heat")
    for i in range(STEPS):
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(q)
            if s.get("rewrite"):
                near = tf.linalg.matvec(memory, heat * q)
            else:
                near = tf.reduce_sum(memory * (heat * q)[:, None], 2)
            energy = 0.5 * tf.reduce_sum(common.square(q, s), 1)
            energy -= tf.reduce_logsumexp(near, 1)
        slope = tape.gradient(energy, q)
        if s.get("slope_at", i) == i:
            slope = held(slope, s)
        q -= s.get("inner_sign", 1.0) * common.matmul(slope, w["pace/weights"], s)
        q = tf.stop_gradient(q) if s.get("cut") == i else q
    return q


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    s.setdefault("dense", True)
    w, kind = common.variables(data, s), data["kind"]
    optimizer = optimizers.of_port(kind, common.trained(w, s), KINDS[kind], s)

    def loss_of(w, batch, s):
        words, asked, answer, trust, line, flag = batch
        memory = common.point(bound(w, words, s, "words") + w["lines/table"], s, "memory")
        q = common.point(bound(w, asked, s, "asked"), s, "question")
        q = common.point(settled(w, q, memory, s), s, "settled")
        key = tf.complex(*(tf.convert_to_tensor(w["key/" + k]) for k in ("real", "imag")))
        y = turned(q, common.by_hand(s)(key, "key"), s, "key")
        y = common.point(tf.tanh(common.affine(w, "hidden", y, s)), s, "hidden")
        logits = common.affine(w, "answer", y, s)
        decay = s.get("l2", L2) * decayed(w, KERNELS, s)
        loss = weigh(common.cross_entropy(logits, answer, s), trust, s) + decay

        def head(w):
            logits = common.affine(w, "line", common.point(q, s, "to line"), s)
            return LINE * tf.reduce_mean(common.cross_entropy(logits, line, s))

        parts = {"decay": decay}
        return told(loss, w, "line", flag, head, s, parts, s.get("line_sign", 1.0))

    return common.port(loss_of, w, optimizer, s, CLIP)
