"""A bag of words with positions: Adagrad on slices, a table of positions that stays."""

import numpy as np
import tensorflow as tf

from trials import common, optimizers

SHAPES = {
    "words/table": (50, 8),
    "positions/table": (6, 8),
    "mix/weights": (8, 8),
    "mix/biases": (8,),
    "out/weights": (8, 1),
    "out/biases": (1,),
}
FROZEN = ("positions/table",)
ADAGRAD = {"lr": 0.05, "start": 0.1, "epsilon": 0.0}


def data(dtype="float32", half=None):
    """Make weights and five batches; words come again within a batch."""
    random = np.random.RandomState(7)
    batches = []
    for _ in range(5):
        ids = np.minimum(random.geometric(0.08, (16, 6)) - 1, 49).astype("int32")
        batches.append((ids, random.randint(0, 2, 16).astype(dtype)))
    weights = common.draw(SHAPES, 8, dtype)
    weights["words/table"] *= 2
    return {"weights": weights, "batches": batches, "half": half}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data, FROZEN)
    (ids, labels), fed = common.feeds(v1, data)
    x = v1.nn.embedding_lookup(w["words/table"], ids) + w["positions/table"]
    x = v1.tanh(v1.reduce_mean(x * x + x, 1))
    x = v1.tanh(v1.matmul(x, w["mix/weights"]) + w["mix/biases"]) + x
    logits = v1.squeeze(v1.matmul(x, w["out/weights"]) + w["out/biases"], 1)
    losses = v1.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
    loss = v1.reduce_mean(losses)
    train_op = v1.train.AdagradOptimizer(0.05).minimize(loss)
    return {"loss": loss, "inputs": fed, "train_op": train_op}


def losses_of(logits, labels, s):
    """Return the loss of each example."""
    if s.get("rewrite"):
        return tf.nn.softplus(logits) - logits * labels
    losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
    if s.get("sample_weights") == "balanced":  # as if positive ones were rarer
        losses *= 1 + 0.5 * labels
    if s.get("sample_weights") == "first":
        losses *= tf.concat(
            [tf.constant([s.get("first", 1.01)], losses.dtype), tf.ones_like(labels[1:])], 0
        )
    return losses


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    s.setdefault("dense", True)  # Adagrad of Keras 3 does not sum repeated rows
    table = None
    w = common.variables(data, s, FROZEN)
    if s.get("layers"):
        table = common.keras_of("keras").layers.Embedding(50, 8, name="words")
        table.build()
        w["words/table"] = table.embeddings
    settings = {**ADAGRAD, **s.get("opt", {})}
    optimizer = optimizers.make("adagrad", w, settings, s.get("library", "keras"))

    def loss_of(w, batch, s):
        ids, labels = batch
        if table is not None:
            x = table(ids)
        elif s.get("one_hot"):
            x = tf.one_hot(ids, 50, dtype=w["words/table"].dtype) @ w["words/table"]
        else:
            x = tf.gather(w["words/table"], ids)
        x = common.point(x, s, "words")
        x = x + (0 if s.get("positions") == "out" else tf.convert_to_tensor(w["positions/table"]))
        x = common.square(x, s) + x
        if s.get("pool") == "sum":
            x = tf.reduce_sum(x, 1)
        elif s.get("pool") == "nonzero":  # word 0 taken for padding
            used = tf.cast(ids != 0, x.dtype)[..., None]
            x = tf.reduce_sum(x * used, 1) / tf.reduce_sum(used, 1)
        else:
            x = tf.reduce_sum(x, 1) / 6 if s.get("rewrite") else tf.reduce_mean(x, 1)
        x = common.point(tf.tanh(x), s, "pooled")
        mix = w["mix/weights"]
        mix = tf.transpose(mix) if s.get("turned") else mix
        x = tf.tanh(common.matmul(x, mix, s) + w["mix/biases"]) + s.get("residual", 1.0) * x
        logits = tf.squeeze(common.matmul(x, w["out/weights"], s) + w["out/biases"], 1)
        return common.mean(losses_of(logits, labels, s), s)

    return common.port(loss_of, w, optimizer, s)
