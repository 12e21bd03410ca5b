"""A small convolutional network with batch normalization, trained with momentum."""

import numpy as np
import tensorflow as tf

from trials import common, optimizers

SHAPES = {
    "conv1/weights": (3, 3, 2, 8),
    "bn1/scale": (8,),
    "bn1/offset": (8,),
    "bn1/mean": (8,),
    "bn1/variance": (8,),
    "conv2/weights": (3, 3, 8, 8),
    "conv2/biases": (8,),
    "logits/weights": (8, 4),
    "logits/biases": (4,),
}
FROZEN = ("bn1/mean", "bn1/variance")
SGD = {"lr": 0.05, "momentum": 0.9}


def data(dtype="float32", half=None):
    """Make weights and one batch."""
    random = np.random.RandomState(3)
    x = (random.randn(16, 8, 8, 2) + 0.3).astype(dtype)
    labels = random.randint(0, 4, 16).astype("int32")
    weights = common.draw(SHAPES, 4, dtype)
    weights["bn1/mean"] *= 0
    weights["bn1/variance"] = weights["bn1/variance"] * 0 + 1
    return {"weights": weights, "batches": [(x, labels)], "half": half}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data, FROZEN)
    (x, labels), fed = common.feeds(v1, data)
    y = v1.nn.conv2d(x, w["conv1/weights"], strides=[1, 2, 2, 1], padding="SAME")
    mean, variance = v1.nn.moments(y, [0, 1, 2])
    updates = [
        v1.assign_sub(w["bn1/mean"], (w["bn1/mean"] - mean) * 0.01),
        v1.assign_sub(w["bn1/variance"], (w["bn1/variance"] - variance) * 0.01),
    ]
    y = v1.nn.batch_normalization(y, mean, variance, w["bn1/offset"], w["bn1/scale"], 1e-3)
    y = v1.nn.leaky_relu(y, 0.2)
    y = v1.nn.conv2d(y, w["conv2/weights"], strides=[1, 2, 2, 1], padding="SAME")
    y = v1.nn.relu(y + w["conv2/biases"])
    y = v1.reduce_mean(y, [1, 2])
    logits = v1.matmul(y, w["logits/weights"]) + w["logits/biases"]
    losses = v1.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    loss = v1.reduce_mean(losses)
    with v1.control_dependencies(updates):
        train_op = v1.train.MomentumOptimizer(0.05, 0.9).minimize(loss)
    return {"loss": loss, "inputs": fed, "train_op": train_op}


def averages(w, mean, variance, count, s):
    """Update the moving averages as the port does."""
    how = s.get("average")
    if how == "out":
        return
    keep = 1 - s.get("bn_momentum", 0.99)
    if how == "unbiased":
        variance = variance * count / (count - 1)
    if how == "epsilon":  # what is under the root
        variance = variance + 1e-3
    if how == "deviation":
        variance = tf.sqrt(variance)
    for _ in range(2 if how == "twice" else 1):
        w["bn1/mean"].assign_sub((w["bn1/mean"] - mean) * keep)
        if how == "turned":  # the old value's share and the new one's
            keep = 1 - keep
        if how != "mean":
            w["bn1/variance"].assign_sub((w["bn1/variance"] - variance) * keep)


def normalize(w, y, s):
    """Normalize over the batch; `training` off takes the moving averages."""
    mean, variance = tf.nn.moments(y, [0, 1, 2])
    if s.get("rewrite"):
        mean = tf.reduce_mean(y, [0, 1, 2])
        variance = tf.reduce_mean(common.square(y, s), [0, 1, 2]) - mean * mean
    if s.get("bn_stop"):
        mean, variance = tf.stop_gradient(mean), tf.stop_gradient(variance)
    if s.get("training") == "mixed":  # updated, but the averages are taken
        averages(w, mean, variance, 16 * 16, s)
    if s.get("training") in (False, "mixed"):
        mean, variance = w["bn1/mean"], w["bn1/variance"]
    else:
        averages(w, mean, variance, 16 * 16, s)
    scale = w["bn1/scale"]
    return tf.nn.batch_normalization(
        y, mean, variance, w["bn1/offset"], scale, s.get("bn_epsilon", 1e-3)
    )


def convolve(x, kernel, s):
    """Convolve with stride 2, padded as TensorFlow or as others do."""
    if s.get("padding") == "before":
        x = tf.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]])
        return tf.nn.conv2d(x, kernel, 2, "VALID")
    if s.get("padding") == "reflect":
        x = tf.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]], "REFLECT")
        return tf.nn.conv2d(x, kernel, 2, "VALID")
    wide = x.dtype
    return tf.cast(tf.nn.conv2d(common.cast(x, s), common.cast(kernel, s), 2, "SAME"), wide)


def of_layers(library, s):
    """Make the layers of Keras, and which weight is which."""
    keras = common.keras_of(library)
    leaky = {"negative_slope" if library == "keras" else "alpha": 0.2}
    leaky = keras.layers.LeakyReLU(**leaky)
    x = keras.Input((8, 8, 2))
    two = keras.layers.Conv2D(8, 3, 2, padding="same", activation="relu")
    one = keras.layers.Conv2D(8, 3, 2, padding="same", use_bias=False)
    bn = keras.layers.BatchNormalization(
        momentum=s.get("bn_momentum", 0.99), epsilon=s.get("bn_epsilon", 1e-3)
    )
    if library != "keras":
        bn.fused = False
    out = keras.layers.Dense(4)
    y = keras.layers.GlobalAveragePooling2D()(two(leaky(bn(one(x)))))
    model = keras.Model(x, out(y))
    w = {"conv1/weights": one.kernel, "bn1/scale": bn.gamma, "bn1/offset": bn.beta}
    w.update({"bn1/mean": bn.moving_mean, "bn1/variance": bn.moving_variance})
    w.update({"conv2/weights": two.kernel, "conv2/biases": two.bias})
    w.update({"logits/weights": out.kernel, "logits/biases": out.bias})
    if s.get("order") == "reversed":
        w = {k: w[k] for k in reversed(list(w))}
    return model, w


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    model = None
    if s.get("layers"):
        model, w = of_layers(s["layers"], s)
    else:
        w = common.variables(data, s, FROZEN)
    settings = {**SGD, **s.get("opt", {})}
    optimizer = optimizers.make("sgd", w, settings, s.get("library", "keras"))

    def logits_of(w, x, s):
        y = normalize(w, convolve(x, w["conv1/weights"], s), s)
        y = common.point(tf.nn.leaky_relu(y, s.get("activation", 0.2)), s, "conv1")
        if s.get("dropout"):
            y = tf.nn.dropout(y, s["dropout"], seed=3)
        y = tf.nn.relu(convolve(y, w["conv2/weights"], s) + w["conv2/biases"])
        y = common.point(tf.reduce_mean(y, [1, 2]), s, "pool")
        return common.matmul(y, w["logits/weights"], s) + w["logits/biases"]

    def loss_of(w, batch, s):
        x, labels = batch
        if model:
            logits = model(x) if s.get("training") == "left out" else model(x, training=True)
        else:
            logits = logits_of(w, x, s)
        losses = common.cross_entropy(logits, labels, s)
        if s.get("sample_weights") == "classes":  # the last class weighs more
            losses *= tf.where(labels == 3, tf.cast(s.get("last", 2.0), x.dtype), 1)
        return common.mean(losses, s)

    return common.port(loss_of, w, optimizer, s)
