"""A residual network of tiles with fused batch normalization: RMSProp as Inception had it."""

import numpy as np
import tensorflow as tf

from trials import common, optimizers

SHAPES = {
    "stem/weights": (5, 5, 3, 6),
    "stem_bn/scale": (6,),
    "stem_bn/offset": (6,),
    "stem_bn/mean": (6,),
    "stem_bn/variance": (6,),
    "block/weights": (3, 3, 6, 6),
    "block_bn/offset": (6,),
    "block_bn/mean": (6,),
    "block_bn/variance": (6,),
    "dense/weights": (54, 16),
    "dense/biases": (16,),
    "logits/weights": (16, 7),
    "logits/biases": (7,),
}
FROZEN = tuple(k for k in SHAPES if k.endswith(("mean", "variance")))
KERNELS = tuple(k for k in SHAPES if k.endswith("weights"))
RATE = [0.05, 2, 0.94, True]
RMSPROP = {"rho": 0.9, "momentum": 0.9, "epsilon": 0.01, "start": 1.0}


def data(dtype="float32", half=None):
    """Make weights and five batches."""
    random = np.random.RandomState(33)
    batches = []
    for _ in range(5):
        x = (random.randn(10, 12, 12, 3) * [1, 0.7, 0.4] + 0.2).astype(dtype)
        batches.append((x, random.randint(0, 7, 10).astype("int32")))
    weights = common.draw(SHAPES, 34, dtype)
    for name in FROZEN:
        weights[name] = weights[name] * 0 + (1 if name.endswith("variance") else 0)
    return {"weights": weights, "batches": batches, "half": half}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data, FROZEN)
    (x, labels), fed = common.feeds(v1, data)
    step = v1.train.get_or_create_global_step()
    updates = []

    def normal(y, name):
        scale = w.get(name + "/scale", v1.ones([6], y.dtype))
        y, mean, variance = v1.nn.fused_batch_norm(
            y, scale, w[name + "/offset"], epsilon=0.001, is_training=True
        )
        for key, value in (("/mean", mean), ("/variance", variance)):
            average = w[name + key]
            updates.append(v1.assign_sub(average, (average - value) * 0.05))
        return y

    y = v1.nn.conv2d(x, w["stem/weights"], strides=[1, 2, 2, 1], padding="SAME")
    y = v1.nn.relu(normal(y, "stem_bn"))
    z = v1.nn.conv2d(y, w["block/weights"], strides=[1, 1, 1, 1], padding="SAME")
    y = v1.nn.relu(normal(z, "block_bn") + y)
    y = v1.nn.avg_pool(y, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")
    y = v1.nn.xw_plus_b(v1.reshape(y, [-1, 54]), w["dense/weights"], w["dense/biases"])
    logits = v1.nn.xw_plus_b(v1.nn.tanh(y), w["logits/weights"], w["logits/biases"])
    loss = v1.losses.softmax_cross_entropy(v1.one_hot(labels, 7), logits, label_smoothing=0.1)
    loss += 0.002 * v1.add_n([v1.nn.l2_loss(w[k]) for k in KERNELS])
    rate = v1.train.exponential_decay(0.05, step, 2, 0.94, staircase=True)
    optimizer = v1.train.RMSPropOptimizer(rate, decay=0.9, momentum=0.9, epsilon=0.01)
    with v1.control_dependencies(updates):
        train_op = optimizer.minimize(loss, global_step=step)
    return {"loss": loss, "inputs": fed, "train_op": train_op}


def averages(w, name, mean, variance, s):
    """Update the moving averages as the port does."""
    how, rows = s.get("average"), s.get("average_rows", 360)
    if s.get("average_of") not in (None, name):
        how = None
    if how == "out":
        return
    if how != "biased":  # the fused operation corrects
        variance = variance * (rows / (rows - 1))
    share = 1 - s.get("bn_momentum", 0.95)
    if how == "turned":
        share = 1 - share
    for _ in range(2 if how == "twice" else 1):
        if how != "variance only":
            average = w[name + "/mean"]
            average.assign_sub((average - mean) * share)
        if how != "mean only":
            average = w[name + "/variance"]
            average.assign_sub((average - variance) * share)


def normal(w, y, name, s):
    """Normalize over the batch, or by the averages where the flag is wrong."""
    y = common.point(y, s, name)
    off = s.get("inference") in (name, "both")
    if not off:
        mean, variance = tf.nn.moments(y, [0, 1, 2])
        if s.get("rewrite"):
            mean = tf.reduce_mean(tf.reduce_mean(y, [1, 2]), 0)
            variance = tf.reduce_mean(tf.reduce_mean(common.square(y - mean, s), [1, 2]), 0)
        averages(w, name, mean, variance, s)
    if off or s.get("normalized_by") == name:
        mean, variance = (tf.convert_to_tensor(w[name + k]) for k in ("/mean", "/variance"))
    part = s.get("blend", 0.0)  # renormalization, partly by the averages
    if part:
        mean += part * (w[name + "/mean"] - mean)
        variance += part * (w[name + "/variance"] - variance)
    if s.get("bn_stop") == name:
        mean, variance = tf.stop_gradient(mean), tf.stop_gradient(variance)
    return tf.nn.batch_normalization(
        y, mean, variance, w[name + "/offset"], w.get(name + "/scale"), 0.001
    )


def of_layers(library, s):
    """Make the layers of Keras, and which weight is which."""
    keras = common.keras_of(library)
    conv = {"padding": "same", "use_bias": False}
    stem, block = keras.layers.Conv2D(6, 5, 2, **conv), keras.layers.Conv2D(6, 3, **conv)
    settings = {"momentum": s.get("bn_momentum", 0.95), "epsilon": 0.001}
    norms = [keras.layers.BatchNormalization(scale=k, **settings) for k in (True, False)]
    dense = keras.layers.Dense(16, activation="tanh")
    out = keras.layers.Dense(7)
    x = keras.Input((12, 12, 3))
    y = keras.layers.ReLU()(norms[0](stem(x)))
    y = keras.layers.ReLU()(keras.layers.Add()([norms[1](block(y)), y]))
    y = keras.layers.Flatten()(keras.layers.AveragePooling2D(2)(y))
    model = keras.Model(x, out(dense(y)))
    w = {
        "stem/weights": stem.kernel,
        "block/weights": block.kernel,
        "stem_bn/scale": norms[0].gamma,
    }
    for name, layer in (("stem_bn", norms[0]), ("block_bn", norms[1])):
        w[name + "/offset"] = layer.beta
        w[name + "/mean"], w[name + "/variance"] = layer.moving_mean, layer.moving_variance
    for name, layer in (("dense", dense), ("logits", out)):
        w[name + "/weights"], w[name + "/biases"] = layer.kernel, layer.bias
    return model, w


def penalty(w, s):
    """Return the penalty of the kernels."""
    names = [k for k in KERNELS if k != s.get("l2_without")] + list(s.get("l2_with", ()))
    terms = [tf.reduce_sum(common.square(tf.convert_to_tensor(w[k]), s)) for k in names]
    return s.get("l2", 0.002) * s.get("l2_half", 0.5) * tf.add_n(terms)


def network(w, x, s):
    """Compute the logits."""
    y = tf.nn.conv2d(x, w["stem/weights"], 2, "SAME")
    y = common.point(tf.nn.relu(normal(w, y, "stem_bn", s)), s, "stem")
    z = tf.nn.conv2d(y, w["block/weights"], 1, "SAME")
    y = tf.nn.relu(normal(w, z, "block_bn", s) + common.point(y, s, "skip"))
    y = tf.reshape(tf.nn.avg_pool2d(y, 2, 2, "VALID"), [-1, 54])
    y = tf.tanh(common.matmul(y, w["dense/weights"], s) + w["dense/biases"])
    y = common.point(y, s, "dense")
    return common.matmul(y, w["logits/weights"], s) + w["logits/biases"]


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    model = None
    if s.get("layers"):
        model, w = of_layers(s["layers"], s)
    else:
        w = common.variables(data, s, FROZEN)
    library = s.get("library", "keras")
    settings = {**RMSPROP, "lr": s.get("rate", RATE), **s.get("opt", {})}
    if library == "hand":
        home = common.keras_of("tf_keras").optimizers.schedules
        settings["lr"] = optimizers.counted(optimizers.decaying(settings["lr"], home), s)
        settings.setdefault("epsilon_at", "inside")
    trained = {k: v for k, v in w.items() if v.trainable}
    optimizer = optimizers.make("rmsprop", trained, settings, library)

    def loss_of(w, batch, s):
        x, labels = batch
        if s.get("part"):
            return penalty(w, s)
        if model:
            logits = model(x, training=s.get("training", True))
        else:
            logits = network(w, x, s)
        smooth = tf.one_hot(labels, 7, dtype=logits.dtype) * 0.9 + 0.1 / 7
        if s.get("rewrite"):
            losses = -tf.reduce_sum(smooth * tf.nn.log_softmax(logits), 1)
        else:
            losses = tf.nn.softmax_cross_entropy_with_logits(smooth, logits)
        if s.get("sample_weights") == "one":
            losses *= tf.concat([[tf.cast(s["one"], losses.dtype)], tf.ones_like(losses[1:])], 0)
        return common.mean(losses, s) + penalty(w, s)

    return common.port(loss_of, w, optimizer, s)
