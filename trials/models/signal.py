"""A complex filter bank with a mask of real and imaginary parts, by gradient descent."""

import numpy as np
import tensorflow as tf

from trials import common, optimizers

SHAPES = {"bank1": (8, 8), "shift1": (8,), "bank2": (8, 2), "mask/real": (8,), "mask/imag": (8,)}
SGD = {"lr": 0.05}


def data(dtype="float32", half=None):
    """Make weights and one batch of signals."""
    random = np.random.RandomState(21)
    kind = "complex128" if dtype == "float64" else "complex64"

    def both(*shape):
        return ((random.randn(*shape) + 1j * random.randn(*shape)) / 1.5).astype(kind)

    weights = common.draw(SHAPES, 22, dtype)
    for name in ("bank1", "shift1", "bank2"):
        weights[name] = 0.5 * both(*SHAPES[name])
    return {"weights": weights, "batches": [(both(24, 8), both(24, 2))], "half": half}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data)
    (x, y), fed = common.feeds(v1, data)
    z = v1.matmul(x, w["bank1"]) + w["shift1"]
    size = v1.abs(z)
    z = z * v1.complex(v1.tanh(size), v1.zeros_like(size))
    z = z * v1.complex(1.0 + w["mask/real"], w["mask/imag"])
    out = v1.matmul(v1.fft(z), w["bank2"]) / 4.0
    loss = v1.reduce_mean(v1.square(v1.abs(out - y)))
    sources = list(w.values())  # the optimizers of later releases take no complex weights
    grads = v1.gradients(loss, sources)
    with v1.control_dependencies(grads):
        train_op = v1.group(*[v1.assign_sub(v, 0.05 * grads[i]) for i, v in enumerate(sources)])
    pairs = [(grads[i], v) for i, v in enumerate(sources)]
    return {"loss": loss, "inputs": fed, "train_op": train_op, "gradients": pairs}


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    w = common.variables(data, s)
    settings = {**SGD, **s.get("opt", {})}
    optimizer = optimizers.make("sgd", w, settings, s.get("library", "hand"))

    def conjugated(x, name):
        """Conjugate the gradient of x, if that is asked for by its name."""
        return common.conjugated(x) if s.get("by_hand") == name else x

    def loss_of(w, batch, s):
        x, y = batch
        bank = tf.convert_to_tensor(w["bank1"])
        bank = tf.transpose(bank) if s.get("turned") else bank
        bank = tf.linalg.adjoint(bank) if s.get("adjoint") else bank
        z = common.matmul(x, bank, s) + w["shift1"]
        z = conjugated(z, "bank")
        size = tf.abs(z)
        gain = tf.nn.sigmoid(size) if s.get("activation") == "sigmoid" else tf.tanh(size)
        gain = common.point(gain, s, "gain")
        z = z * tf.complex(gain, tf.zeros_like(size))
        real, imag = tf.convert_to_tensor(w["mask/real"]), tf.convert_to_tensor(w["mask/imag"])
        z = conjugated(z * conjugated(tf.complex(1.0 + real, imag), "mask"), "masked")
        z = common.point(z, s, "masked")
        z = conjugated(tf.signal.fft(z), "fft") / s.get("norm", 4.0)
        out = conjugated(common.matmul(z, w["bank2"], s), "out")
        error = out - y
        if s.get("rewrite"):
            errors = common.square(tf.math.real(error), s) + common.square(tf.math.imag(error), s)
        elif s.get("only_real"):
            errors = tf.square(tf.math.real(error))
        else:
            errors = tf.square(tf.abs(error))
        errors = tf.reduce_sum(errors, 1) if s.get("elements") else tf.reduce_mean(errors, 1)
        return common.mean(errors, s)

    return common.port(loss_of, w, optimizer, s)
