"""A small U-Net: classes by pixel with weights, a head at the bottom, momentum, polynomial rate."""

import numpy as np
import tensorflow as tf

from trials import common, optimizers

SHAPES = {
    "down/weights": (3, 3, 2, 5),
    "down_bn/scale": (5,),
    "down_bn/offset": (5,),
    "down_bn/mean": (5,),
    "down_bn/variance": (5,),
    "low/weights": (3, 3, 5, 8),
    "low/biases": (8,),
    "deep/weights": (3, 3, 8, 8),
    "deep_bn/scale": (8,),
    "deep_bn/offset": (8,),
    "deep_bn/mean": (8,),
    "deep_bn/variance": (8,),
    "up/weights": (2, 2, 5, 8),
    "up/biases": (5,),
    "pixels/weights": (1, 1, 10, 4),
    "pixels/biases": (4,),
    "image/weights": (8, 4),
    "image/biases": (4,),
}
FROZEN = tuple(k for k in SHAPES if k.endswith(("mean", "variance")))
KERNELS = tuple(k for k in SHAPES if k.endswith("weights"))
CLASSES = [0.3, 1.0, 2.0, 0.0]  # the last one is not judged
SGD = {"momentum": 0.9}
RATE = ["polynomial", 0.1, 20, 0.0, 0.9]


def data(dtype="float32", half=None, steady=False):
    """Make weights and five batches: images, labels, whether the head at the bottom counts."""
    random = np.random.RandomState(83)
    batches = []
    for flag in (1, 1, 0, 1, 0):
        labels = random.choice(4, (6, 8, 8), p=[0.5, 0.3, 0.1, 0.1])
        x = random.randn(6, 8, 8, 2) + 0.4 * labels[..., None]
        batches.append((x.astype(dtype), labels.astype("int32"), np.array(flag, dtype)))
    weights = common.draw(SHAPES, 84, dtype)
    return {"weights": weights, "batches": batches, "half": half, "steady": steady}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data, FROZEN)
    (x, labels, flag), fed = common.feeds(v1, data)
    updates = []

    def normal(y, name):
        mean, variance = v1.nn.moments(y, [0, 1, 2])
        for key, value in (("/mean", mean), ("/variance", variance)):
            updates.append((w[name + key], value))
        scale, offset = w[name + "/scale"], w[name + "/offset"]
        return v1.nn.relu(v1.nn.batch_normalization(y, mean, variance, offset, scale, 1e-3))

    one = normal(v1.nn.conv2d(x, w["down/weights"], 1, "SAME"), "down_bn")
    y = v1.nn.max_pool(one, ksize=2, strides=2, padding="SAME")
    low = v1.nn.relu(v1.nn.conv2d(y, w["low/weights"], 1, "SAME") + w["low/biases"])
    low = normal(v1.nn.conv2d(low, w["deep/weights"], 1, "SAME"), "deep_bn")
    y = v1.nn.conv2d_transpose(low, w["up/weights"], [6, 8, 8, 5], [1, 2, 2, 1]) + w["up/biases"]
    y = v1.concat([v1.nn.relu(y), one], 3)
    logits = v1.nn.conv2d(y, w["pixels/weights"], 1, "SAME") + w["pixels/biases"]
    heavy = v1.gather(v1.constant(CLASSES), labels)
    loss = v1.losses.sparse_softmax_cross_entropy(labels, logits, weights=heavy)
    shown = v1.reduce_max(v1.one_hot(labels, 4), [1, 2])
    image = v1.nn.xw_plus_b(v1.reduce_mean(low, [1, 2]), w["image/weights"], w["image/biases"])
    losses = v1.nn.sigmoid_cross_entropy_with_logits(labels=shown, logits=image)
    loss += 0.4 * flag * v1.reduce_mean(v1.reduce_sum(losses, 1))
    loss += 0.004 * v1.add_n([v1.nn.l2_loss(w[k]) for k in KERNELS])
    step = v1.train.get_or_create_global_step()
    rate = 0.1 if data["steady"] else v1.train.polynomial_decay(0.1, step, 20, 0.0, power=0.9)
    optimizer = v1.train.MomentumOptimizer(rate, 0.9)
    pairs = optimizer.compute_gradients(loss)
    train_op = optimizer.apply_gradients(pairs, global_step=step)
    ops = [v1.assign_sub(v, (v - value) * 0.1) for v, value in updates]
    return {"loss": loss, "inputs": fed, "train_op": v1.group(train_op, *ops), "gradients": pairs}


def normal(w, y, name, s):
    """Normalize over the batch, and move the averages."""
    y = common.point(y, s, name)
    how = s.get("average") if s.get("average_of") in (None, name) else None
    mean, variance = tf.nn.moments(y, [0, 1, 2])
    if s.get("rewrite"):
        mean = tf.reduce_mean(y, [0, 1, 2])
        variance = tf.reduce_mean(y * y, [0, 1, 2]) - mean * mean
    rows, share = y.shape[1] * y.shape[2] * 6, 1 - s.get("bn_momentum", 0.9)
    values = {"/mean": mean, "/variance": variance}
    if how == "corrected":  # as the fused operation of Keras 2
        values["/variance"] = variance * (rows / (rows - 1))
    if how == "root":
        values["/variance"] = tf.sqrt(variance)
    if how == "exchanged":
        share = 1 - share
    if how == "out" or bool(s.get("part")) != (s.get("targets") == "parts"):
        values = {}  # of a loss that is computed twice, the averages move once
    for key, value in values.items():
        w[name + key].assign_sub((w[name + key] - value) * share)
    if s.get("inference") in (name, "both"):
        mean, variance = (tf.convert_to_tensor(w[name + k]) for k in ("/mean", "/variance"))
    if s.get("bn_stop") == name:
        mean, variance = tf.stop_gradient(mean), tf.stop_gradient(variance)
    scale, offset = w[name + "/scale"], w[name + "/offset"]
    y = tf.nn.batch_normalization(y, mean, variance, offset, scale, s.get("bn_epsilon", 1e-3))
    return tf.nn.relu(y)


def of_layers(library, s):
    """Make the layers of Keras, and which weight is which."""
    keras = common.keras_of(library)
    old_one = {"fused": False} if library == "tf_keras" and not s.get("fused") else {}
    norm = {"momentum": s.get("bn_momentum", 0.9), "epsilon": 1e-3, **old_one}
    layers, bare = keras.layers, {"padding": "same", "use_bias": False}
    made = {
        "down": layers.Conv2D(5, 3, **bare),
        "down_bn": layers.BatchNormalization(**norm),
        "low": layers.Conv2D(8, 3, padding="same", activation="relu"),
        "deep": layers.Conv2D(8, 3, **bare),
        "deep_bn": layers.BatchNormalization(**norm),
        "up": layers.Conv2DTranspose(5, 2, 2, activation="relu"),
        "pixels": layers.Conv2D(4, 1),
        "image": layers.Dense(4),
    }
    x = keras.Input((8, 8, 2))
    one = layers.ReLU()(made["down_bn"](made["down"](x)))
    low = made["deep"](made["low"](layers.MaxPooling2D(2)(one)))
    low = layers.ReLU()(made["deep_bn"](low))
    y = layers.Concatenate()([made["up"](low), one])
    image = made["image"](layers.GlobalAveragePooling2D()(low))
    model, w = keras.Model(x, [made["pixels"](y), image]), {}
    parts = {"weights": "kernel", "biases": "bias", "scale": "gamma", "offset": "beta"}
    parts |= {"mean": "moving_mean", "variance": "moving_variance"}
    for name in SHAPES:
        layer, _, leaf = name.partition("/")
        w[name] = getattr(made[layer], parts[leaf])
    return model, w


def network(w, x, s):
    """Return the logits of the pixels and of the image."""
    one = normal(w, tf.nn.conv2d(x, w["down/weights"], 1, "SAME"), "down_bn", s)
    y = tf.nn.max_pool2d(one, 2, 2, "SAME")
    low = tf.nn.relu(tf.nn.conv2d(y, w["low/weights"], 1, "SAME") + w["low/biases"])
    low = common.point(low, s, "low")
    low = normal(w, tf.nn.conv2d(low, w["deep/weights"], 1, "SAME"), "deep_bn", s)
    up = tf.nn.conv2d_transpose(common.point(low, s, "to up"), w["up/weights"], [6, 8, 8, 5], 2)
    up = tf.nn.relu(up + w["up/biases"])
    y = tf.concat([common.point(up, s, "up"), common.point(one, s, "skip")], 3)
    flat = common.matmul(tf.reshape(y, [-1, 10]), tf.reshape(w["pixels/weights"], [10, 4]), s)
    pixels = tf.reshape(flat, [6, 8, 8, 4]) + w["pixels/biases"]
    below = common.point(tf.reduce_mean(low, [1, 2]), s, "image")
    return pixels, common.matmul(below, w["image/weights"], s) + w["image/biases"]


def weigh(losses, labels, s):
    """Reduce the losses of the pixels as `tf.losses` does: by the weights that are not zero."""
    how, classes = s.get("sample_weights"), list(CLASSES)
    if how == "class":
        classes[s["class"][0]] = s["class"][1]
    heavy = tf.gather(tf.constant(classes, losses.dtype), labels)
    if how == "out":  # but what is not judged stays so
        heavy = tf.where(heavy > 0, tf.ones_like(heavy), heavy)
    if how == "root":
        heavy = tf.sqrt(heavy)
    total = tf.reduce_sum(tf.cast(heavy > 0, losses.dtype)) + s.get("more", 0.0)
    if how == "sum":
        total = tf.reduce_sum(heavy)
    if s.get("reduce") == "all":
        total = tf.cast(tf.size(heavy), losses.dtype)
    if s.get("reduce") == "images":
        total = 6.0
    return tf.reduce_sum(losses * heavy) / total


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    if s.get("layers"):
        model, w = of_layers(s["layers"], s)
    else:
        model, w = None, common.variables(data, s, FROZEN)
    library, lr = s.get("library", "hand"), s.get("rate", RATE)
    if data["steady"]:
        lr = s.get("steady", 0.1)
    elif library == "hand" and isinstance(lr, list):
        home = common.keras_of("tf_keras").optimizers.schedules
        lr = optimizers.counted(optimizers.decaying(lr, home), s)
    settings = {**SGD, "lr": lr, **s.get("opt", {})}
    optimizer = optimizers.make("sgd", common.trained(w, s), settings, library)

    def loss_of(w, batch, s):
        x, labels, flag = batch
        names = [k for k in KERNELS if k != s.get("l2_without")]
        names += [k for k in SHAPES if k.endswith(s.get("l2_with", "none"))]
        decays = [tf.reduce_sum(common.square(tf.convert_to_tensor(w[k]), s)) for k in names]
        decay = s.get("l2", 0.004) * s.get("l2_half", 0.5) * tf.add_n(decays)
        logits, image = model(x, training=s.get("training", True)) if model else network(w, x, s)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
        loss = weigh(losses, labels, s) + decay
        shown = tf.reduce_max(tf.one_hot(labels, 4), [1, 2])
        losses = tf.nn.sigmoid_cross_entropy_with_logits(shown, image)
        second = tf.reduce_sum(losses, 1)
        second = 0.4 * flag * common.mean(second, s)
        if s.get("part"):
            return decay if s.get("part_of") == "decay" else second
        if s.get("head") == "if" and float(flag) == 0:
            return loss
        return loss + second

    return common.port(loss_of, w, optimizer, s)
