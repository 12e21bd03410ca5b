"""A classifier of three layers with weighted examples, trained with Adam."""

import numpy as np
import tensorflow as tf

from trials import common, optimizers

SHAPES = {
    "hidden1/weights": (12, 16),
    "hidden1/biases": (16,),
    "hidden2/weights": (16, 16),
    "hidden2/biases": (16,),
    "softmax/weights": (16, 5),
    "softmax/biases": (5,),
}
ADAM = {"lr": 0.001, "beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-8}


def data(dtype="float32", half=None):
    """Make weights and five batches."""
    random = np.random.RandomState(1)
    batches = []
    for _ in range(5):
        x = random.randn(64, 12).astype(dtype)
        labels = random.randint(0, 5, 64).astype("int32")
        batches.append((x, labels, random.choice([0.0, 0.5, 1.0, 2.0], 64).astype(dtype)))
    return {"weights": common.draw(SHAPES, 2, dtype), "batches": batches, "half": half}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data)
    (x, labels, weights), fed = common.feeds(v1, data)
    one = v1.nn.leaky_relu(common.matmul(x, w["hidden1/weights"], data) + w["hidden1/biases"], 0.2)
    two = common.matmul(one, w["hidden2/weights"], data) + w["hidden2/biases"]
    two = v1.nn.leaky_relu(two, 0.2) + one
    logits = common.matmul(two, w["softmax/weights"], data) + w["softmax/biases"]
    losses = v1.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    loss = v1.reduce_mean(weights * losses)
    train_op = v1.train.AdamOptimizer(0.001).minimize(loss)
    return {"loss": loss, "inputs": fed, "train_op": train_op}


def activation(x, s):
    """Apply the port's activation."""
    how = s.get("activation", 0.2)
    if how == "gelu":
        return tf.nn.gelu(x)
    if how == "relu":
        return tf.nn.relu(x)
    return tf.maximum(x, how * x) if s.get("rewrite") else tf.nn.leaky_relu(x, how)


def weigh(losses, weights, s):
    """Reduce the losses of the examples to one."""
    how = s.get("sample_weights")
    if how == "out":
        return common.mean(losses, s)
    if how == "sum":
        return tf.reduce_sum(weights * losses) / tf.reduce_sum(weights)
    if how == "nonzero":
        return tf.reduce_sum(weights * losses) / tf.math.count_nonzero(weights, dtype=losses.dtype)
    if how == "one":  # the last example counts fully
        weights = tf.concat([weights[:-1], weights[-1:] * 0 + 1], 0)
    if how == "clipped":
        weights = tf.minimum(weights, s.get("cut", 1.999))
    return common.mean(weights * losses, s)


def logits_of(w, x, s):
    """Compute the logits with plain operations."""
    second = w["hidden2/weights"]
    one = activation(common.matmul(x, w["hidden1/weights"], s) + w["hidden1/biases"], s)
    one = common.point(one, s, "hidden1")
    if s.get("dropout"):
        one = tf.nn.dropout(one, s["dropout"], seed=3)
    second = tf.transpose(second) if s.get("turned") else second
    two = activation(common.matmul(one, second, s) + w["hidden2/biases"], s)
    two = common.point(two, s, "hidden2")
    two = two if s.get("residual") == "out" else two + s.get("residual", 1.0) * one
    return common.matmul(two, w["softmax/weights"], s) + w["softmax/biases"]


def of_layers(library, s):
    """Make the layers of Keras, and which weight is which."""
    keras = common.keras_of(library)
    dtype = s.get("policy")
    layers = [keras.layers.Dense(n, dtype=dtype) for n in (16, 16, 5)]
    x = keras.Input((12,))
    if library == "keras":
        act = keras.layers.LeakyReLU(0.2, dtype=dtype)
    else:
        act = keras.layers.LeakyReLU(alpha=0.2, dtype=dtype)
    one = act(layers[0](x))
    two = keras.layers.Add(dtype=dtype)([act(layers[1](one)), one])
    model = keras.Model(x, layers[2](two))
    scopes = ["hidden1", "hidden2", "softmax"]
    if s.get("order") == "reversed":
        scopes, layers = scopes[::-1], layers[::-1]
    w = {}
    for scope, layer in zip(scopes, layers, strict=True):
        w[scope + "/weights"], w[scope + "/biases"] = layer.kernel, layer.bias
    return model, w


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    model = None
    if s.get("layers"):
        model, w = of_layers(s["layers"], s)
    else:
        w = common.variables(data, s)
    settings = {**ADAM, **s.get("opt", {})}
    optimizer = optimizers.make("adam", w, settings, s.get("library", "keras"))

    def loss_of(w, batch, s):
        x, labels, weights = batch
        logits = tf.cast(model(x), x.dtype) if model else logits_of(w, x, s)
        return weigh(common.cross_entropy(logits, labels, s), weights, s)

    out = common.port(loss_of, w, optimizer, s)
    if s.get("given") == "model":
        out["variables"] = model
    return out
