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
AUX = {"aux/weights": (16, 5), "aux/biases": (5,)}
FILTER = {"filter/real": (7,), "filter/imag": (7,)}
ADAM = {"lr": 0.001, "beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-8}


def data(dtype="float32", half=None, aux=False, slope=0.0, spectral=False):
    """Make weights and five batches.

    With `aux`, a second head counts in some of the steps; with `slope`, the slope of the losses
    by the inputs is punished; with `spectral`, the inputs are filtered first.
    """
    random = np.random.RandomState(1)
    batches = []
    for _ in range(5):
        x = random.randn(64, 12).astype(dtype)
        labels = random.randint(0, 5, 64).astype("int32")
        batches.append((x, labels, random.choice([0.0, 0.5, 1.0, 2.0], 64).astype(dtype)))
    if aux:
        flags = np.array([0.3, 0, 0, 0.3, 0], dtype)
        batches = [(*batch, flags[i]) for i, batch in enumerate(batches)]
    shapes = {**SHAPES, **(AUX if aux else {}), **(FILTER if spectral else {})}
    out = {"weights": common.draw(shapes, 2, dtype), "batches": batches, "half": half}
    return {**out, "aux": aux, "slope": slope, "spectral": spectral}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data)
    (x, labels, weights, *rest), fed = common.feeds(v1, data)
    first = x
    if data["spectral"]:
        gain = v1.complex(1.0 + w["filter/real"], w["filter/imag"])
        x = v1.spectral.irfft(v1.spectral.rfft(x) * gain, [12])
    one = v1.nn.leaky_relu(common.matmul(x, w["hidden1/weights"], data) + w["hidden1/biases"], 0.2)
    two = common.matmul(one, w["hidden2/weights"], data) + w["hidden2/biases"]
    two = v1.nn.leaky_relu(two, 0.2) + one
    logits = common.matmul(two, w["softmax/weights"], data) + w["softmax/biases"]
    losses = v1.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    loss = v1.reduce_mean(weights * losses)
    if data["aux"]:
        logits = v1.matmul(one, w["aux/weights"]) + w["aux/biases"]
        second = v1.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        loss = loss + rest[0] * v1.reduce_mean(second)
    if data["slope"]:
        slopes = v1.gradients(losses, [first])[0]
        loss = loss + data["slope"] * v1.reduce_mean(v1.reduce_sum(v1.square(slopes), 1))
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
    if how == "squared":  # weighted twice
        weights = weights * weights
    if how == "shifted":  # those of the examples before
        weights = tf.roll(weights, 1, 0)
    if how == "floor":  # none weighs nothing
        weights = tf.maximum(weights, s.get("floor", 0.001))
    if how == "clipped":
        weights = tf.minimum(weights, s.get("cut", 1.999))
    return common.mean(weights * losses, s)


def logits_of(w, x, s):
    """Compute the logits with plain operations; and the values that a second head takes."""
    x = filtered(w, x, s) if "filter/real" in w else x
    second = w["hidden2/weights"]
    one = activation(common.matmul(x, w["hidden1/weights"], s) + w["hidden1/biases"], s)
    one = common.point(one, s, "hidden1")
    if s.get("dropout"):
        one = tf.nn.dropout(one, s["dropout"], seed=3)
    second = tf.transpose(second) if s.get("turned") else second
    two = activation(common.matmul(one, second, s) + w["hidden2/biases"], s)
    two = common.point(two, s, "hidden2")
    two = two if s.get("residual") == "out" else two + s.get("residual", 1.0) * one
    return common.matmul(two, w["softmax/weights"], s) + w["softmax/biases"], one


def filtered(w, x, s):
    """Filter the inputs by their frequencies."""

    def hand(x, name):
        """Conjugate the gradient of x, if that is asked for by its name."""
        return common.conjugated(x) if s.get("by_hand") == name else x

    real, imag = tf.convert_to_tensor(w["filter/real"]), tf.convert_to_tensor(w["filter/imag"])
    gain = hand(tf.complex(1.0 + real, imag), "gain")
    z = hand(tf.signal.rfft(x) * gain, "product")
    return tf.signal.irfft(z, [12])


def slope_of(losses, x, tape, s):
    """Return the squared slope of the losses by the inputs, of the first order if asked."""
    how = s.get("slope_order")
    slopes = tape.gradient(losses, x)
    if how == "stopped":
        slopes = tf.stop_gradient(slopes)
    if how == "numpy":
        slopes = tf.constant(slopes.numpy())
    if how == "row":
        slopes = tf.concat([tf.stop_gradient(slopes[:1]), slopes[1:]], 0)
    return tf.reduce_mean(tf.reduce_sum(slopes * slopes, 1))


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
        x, labels, weights = batch[:3]
        if data["slope"]:
            with tf.GradientTape() as tape:
                tape.watch(x)
                logits, one = logits_of(w, x, s)
                losses = common.cross_entropy(logits, labels, s)
            slope = slope_of(losses, x, tape, s)
            if s.get("part"):
                return slope
            return weigh(losses, weights, s) + data["slope"] * s.get("slope_factor", 1.0) * slope
        if model:
            logits = tf.cast(model(x), x.dtype)
        else:
            logits, one = logits_of(w, x, s)
        loss = weigh(common.cross_entropy(logits, labels, s), weights, s)
        if data["aux"] and not (s.get("aux") == "if" and float(batch[3]) == 0):
            logits = common.matmul(one, w["aux/weights"], s) + w["aux/biases"]
            second = tf.reduce_mean(common.cross_entropy(logits, labels, s))
            if s.get("part"):
                return second
            loss += batch[3] * second
        return loss

    out = common.port(loss_of, w, optimizer, s)
    if s.get("given") == "model":
        out["variables"] = model
    return out
