"""A language model of one LSTM cell in a loop: RMSProp, clipped by the global norm."""

import numpy as np
import tensorflow as tf

from trials import common, optimizers

SHAPES = {
    "embedding/table": (20, 8),
    "lstm/kernel": (16, 32),
    "lstm/biases": (32,),
    "out/weights": (8, 20),
    "out/biases": (20,),
}
RMSPROP = {"lr": 0.1, "rho": 0.9, "epsilon": 1e-10, "start": 1.0}
CLIP = ("global", 0.15)


def data(dtype="float32", half=None):
    """Make weights and five batches of tokens; many of them come again."""
    random = np.random.RandomState(5)
    batches = [(np.minimum(random.geometric(0.15, (8, 7)), 19).astype("int32"),) for _ in range(5)]
    return {"weights": common.draw(SHAPES, 6, dtype), "batches": batches, "half": half}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data)
    (tokens,), fed = common.feeds(v1, data)
    x = v1.nn.embedding_lookup(w["embedding/table"], tokens[:, :-1])
    c = h = v1.zeros([8, 8], x.dtype)
    outputs = []
    for t in range(6):
        z = v1.matmul(v1.concat([x[:, t], h], 1), w["lstm/kernel"]) + w["lstm/biases"]
        i, j, f, o = v1.split(z, 4, 1)
        c = c * v1.sigmoid(f + 1.0) + v1.sigmoid(i) * v1.tanh(j)
        h = v1.tanh(c) * v1.sigmoid(o)
        outputs.append(h)
    states = v1.reshape(v1.stack(outputs, 1), [48, 8])
    logits = v1.matmul(states, w["out/weights"]) + w["out/biases"]
    labels = v1.reshape(tokens[:, 1:], [48])
    losses = v1.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    loss = v1.reduce_mean(losses)
    optimizer = v1.train.RMSPropOptimizer(0.1, 0.9, epsilon=1e-10)
    found = optimizer.compute_gradients(loss)
    grads = [v1.convert_to_tensor(g) for g, _ in found]
    clipped, _ = v1.clip_by_global_norm(grads, 0.15)
    pairs = [(clipped[i], v) for i, (_, v) in enumerate(found)]
    train_op = optimizer.apply_gradients(pairs)
    return {"loss": loss, "inputs": fed, "train_op": train_op, "gradients": pairs}


def split_gates(weights):
    """Turn old weights into those of the port with a weight for each gate."""
    out = {k: v for k, v in weights.items() if not k.startswith("lstm")}
    for i, gate in enumerate("ijfo"):
        out["lstm/kernel_" + gate] = weights["lstm/kernel"][:, 8 * i : 8 * i + 8]
        out["lstm/biases_" + gate] = weights["lstm/biases"][8 * i : 8 * i + 8]
    return out


def join_gates(weights):
    """Turn them back."""
    out = {k: v for k, v in weights.items() if not k.startswith("lstm")}
    for leaf in ("kernel", "biases"):
        parts = [weights[f"lstm/{leaf}_{gate}"] for gate in "ijfo"]
        out["lstm/" + leaf] = np.concatenate(parts, -1)
    return out


def to_keras(weights):
    """Turn old weights into those of Keras' layer: two kernels, gates as i, f, c, o."""
    out = {k: v for k, v in weights.items() if not k.startswith("lstm")}
    i, j, f, o = np.split(weights["lstm/kernel"], 4, 1)
    both = np.concatenate([i, f, j, o], 1)
    out["lstm/kernel"], out["lstm/recurrent"] = both[:8], both[8:]
    i, j, f, o = np.split(weights["lstm/biases"], 4)
    out["lstm/biases"] = np.concatenate([i, f + 1, j, o])
    return out


def from_keras(weights):
    """Turn them back."""
    out = {k: v for k, v in weights.items() if not k.startswith("lstm")}
    i, f, j, o = np.split(np.concatenate([weights["lstm/kernel"], weights["lstm/recurrent"]]), 4, 1)
    out["lstm/kernel"] = np.concatenate([i, j, f, o], 1)
    i, f, j, o = np.split(weights["lstm/biases"], 4)
    out["lstm/biases"] = np.concatenate([i, j, f - 1, o])
    return out


def states_of(w, x, s):
    """Run the cell over the sequence."""
    c = h = tf.zeros([tf.shape(x)[0], 8], x.dtype)
    outputs = []
    gates = tf.nn.tanh if s.get("activation") == "tanh" else tf.sigmoid
    for t in range(6):
        both = tf.concat([x[:, t], h], 1)
        if "lstm/kernel" in w:
            z = common.matmul(both, w["lstm/kernel"], s) + w["lstm/biases"]
            i, j, f, o = tf.split(z, 4, 1)
        else:
            i, j, f, o = (
                common.matmul(both, w["lstm/kernel_" + g], s) + w["lstm/biases_" + g]
                for g in "ijfo"
            )
        if s.get("gates") == "keras":
            j, f = f, j
        c = c * gates(f + s.get("forget", 1.0)) + tf.sigmoid(i) * tf.tanh(j)
        h = tf.tanh(c) * tf.sigmoid(o)
        if t == s.get("cut", -1):
            c, h = tf.stop_gradient(c), tf.stop_gradient(h)
        if s.get("dropout"):
            h = tf.nn.dropout(h, s["dropout"], seed=3)
        outputs.append(h)
    return tf.stack(outputs, 1)


def of_layers(s):
    """Make the layers of Keras 3 or 2."""
    keras = common.keras_of(s["layers"])
    tokens = keras.Input((6,), dtype="int32")
    table = keras.layers.Embedding(20, 8)
    cell, out = keras.layers.LSTM(8, return_sequences=True), keras.layers.Dense(20)
    model = keras.Model(tokens, out(cell(table(tokens))))
    kernel, recurrent, bias = cell.weights
    w = {"embedding/table": table.weights[0], "lstm/kernel": kernel, "lstm/recurrent": recurrent}
    w.update({"lstm/biases": bias, "out/weights": out.kernel, "out/biases": out.bias})
    return model, w


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    model, truth = None, {}
    if s.get("layers"):
        model, w = of_layers(s)
        truth = {"load": to_keras, "read": from_keras}
    elif s.get("gates") == "split":
        w = common.variables({"weights": split_gates(data["weights"])}, s)
        truth = {"load": split_gates, "read": join_gates}
    else:
        w = common.variables(data, s)
    settings = {**RMSPROP, **s.get("opt", {})}
    optimizer = optimizers.make("rmsprop", w, settings, s.get("library", "hand"))

    def loss_of(w, batch, s):
        tokens = batch[0]
        labels = tf.reshape(tokens[:, 1:], [-1])
        if model:
            logits = tf.reshape(model(tokens[:, :-1], training=True), [-1, 20])
        else:
            table = w["embedding/table"]
            x = tf.nn.embedding_lookup(table, tokens[:, :-1])
            if s.get("rewrite"):
                x = tf.one_hot(tokens[:, :-1], 20, dtype=table.dtype) @ table
            states = states_of(w, common.point(x, s, "embedding"), s)
            states = tf.reshape(common.point(states, s, "states"), [-1, 8])
            logits = common.matmul(states, w["out/weights"], s) + w["out/biases"]
        losses = common.cross_entropy(logits, labels, s)
        if s.get("sample_weights") == "padding":  # token 19 as if it were padding
            losses *= tf.cast(labels != 19, losses.dtype)
        if s.get("sample_weights") == "counted":  # and divided by what is left
            known = tf.cast(labels != 19, losses.dtype)
            losses *= known / tf.reduce_mean(known)
        if s.get("sample_weights") == "first":  # the first words do not count
            position = tf.tile(tf.range(6), [tf.shape(tokens)[0]])
            losses *= tf.cast(position > 0, losses.dtype) * 6 / 5
        if s.get("sample_weights") == "first row":
            position = tf.range(tf.shape(losses)[0])
            losses *= tf.where(position == 0, tf.cast(s["first"], losses.dtype), 1)
        return common.mean(losses, s)

    return common.port(loss_of, w, optimizer, s, CLIP, **truth)
