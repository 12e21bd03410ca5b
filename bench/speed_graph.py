"""The models of bench/speed.py, and their training in a graph, which TensorFlow 1.15.5 runs, too.

As a process of its own, it answers each line, the model and one of `WAYS`, with seconds, or with
the sum of the gradients' absolute values, from which bench/speed.py sees that they are the same.
"""

import sys
import time

import numpy as np
import tensorflow.compat.v1 as tf

WAYS = "session.run", "make_callable", "first call", "gradients"
BATCH = {"small": 32, "long": 32, "large": 256}
WIDTH = {"small": 32, "long": 32, "large": 512}
RATE = 1e-4


def start(model):
    """Return the first weights of a model, and a batch of inputs and labels."""
    random, width = np.random.RandomState(0), WIDTH[model]
    shape, layers = ((width,), 20) if model == "long" else ((width, width), 3)
    weights = [random.randn(*shape).astype("float32") / width**0.5 for _ in range(layers)]
    if model == "long":
        weights = [1 + weight for weight in weights]  # or the gradients vanish
    x, labels = random.randn(2, BATCH[model], width).astype("float32")
    return weights, x, labels


def outputs(model, weights, x):
    """Return the outputs of 3 dense layers, or in the long model of 20 element-wise ones."""
    for weight in weights:
        x = tf.tanh(x * weight if model == "long" else tf.matmul(x, weight))
    return x


def loss(model, weights, x, labels):
    """Return the mean squared error."""
    return tf.reduce_mean((outputs(model, weights, x) - labels) ** 2)


def seconds(call, least=0.05):
    """Return the mean time of a call, over calls that take `least` seconds."""
    begin, calls, passed = time.perf_counter(), 0, 0
    while passed <= least:
        call()
        calls += 1
        passed = time.perf_counter() - begin
    return passed / calls


class Trained:
    """A model in a graph, with a session."""

    def __init__(self, model):
        """Make the variables; what asks for the gradients is not yet there."""
        self.model, self.session = model, tf.Session(graph=tf.Graph())
        weights, *self.batch = start(model)
        with self.session.graph.as_default():
            self.places = [tf.placeholder(tf.float32, (None, WIDTH[model])) for _ in range(2)]
            self.weights = [
                tf.get_variable(f"weight_{i}", initializer=weight)
                for i, weight in enumerate(weights)
            ]
            self.session.run(tf.global_variables_initializer())

    def first(self):
        """Ask for the gradients, and run the first step."""
        with self.session.graph.as_default():
            target = loss(self.model, self.weights, *self.places)
            grads = tf.gradients(target, self.weights)
            updates = [
                tf.assign_sub(weight, RATE * grad)
                for weight, grad in zip(self.weights, grads)  # noqa: B905
            ]
            self.fetches = [target, tf.group(*updates)]
        self.run()
        return grads

    def total(self):
        """Return the sum of the absolute values of the first gradients."""
        grads = self.first()
        self.session.run([weight.initializer for weight in self.weights])
        grads = self.session.run(grads, dict(zip(self.places, self.batch)))  # noqa: B905
        return sum(np.abs(grad).sum(dtype="float64") for grad in grads)

    def run(self):
        """Run a step by session.run."""
        [x, labels], [batch, truth] = self.places, self.batch
        self.session.run(self.fetches, {x: batch, labels: truth})

    def callable(self):
        """Return what runs a step by make_callable."""
        run = self.session.make_callable(self.fetches, self.places)
        return lambda: run(*self.batch)


def main():
    """Answer each line until there is none."""
    ready = {model: Trained(model) for model in BATCH}
    for trained in ready.values():
        trained.first()
    ways = {
        (model, way): call
        for model, trained in ready.items()
        for way, call in zip(WAYS, (trained.run, trained.callable()))  # noqa: B905
    }
    for line in sys.stdin:
        model, way = line.rstrip().split(": ")
        if way == "gradients":
            print(Trained(model).total(), flush=True)
        elif way == "first call":
            print(seconds(Trained(model).first, 0), flush=True)
        else:
            print(seconds(ways[model, way]), flush=True)


if __name__ == "__main__":
    main()
