"""A tiny training program, old and new, to record and to compare."""

from typing import NamedTuple

import numpy as np


def recorded_port(path, record, tf, **changes):
    """Record a tiny program in a graph; TensorFlow 1.15.5 runs this text on Python 3.7, too.

    Args:
        path: The file to write.
        record: The function under test.
        tf: `tensorflow.compat.v1`.
        changes: The program's `size`, the `grow` of its loss, and arguments of `record`.
    """
    import numpy  # noqa: PLC0415 (the text runs alone)

    size, grow = changes.pop("size", 4), changes.pop("grow", 1.0)
    random = numpy.random.RandomState(0)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [8, 3], "x")
        goal = tf.placeholder(tf.float32, [8, 1], "goal")
        start = random.normal(size=(3, size)).astype("f4"), random.normal(size=(size, 1))
        w = tf.get_variable("w", initializer=start[0])
        v = tf.get_variable("v", initializer=start[1].astype("f4"))
        loss = tf.reduce_mean((tf.tanh(x @ w) @ v - goal) ** 2) * grow
        train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
        feeds = [
            {x: random.normal(size=(8, 3)), goal: random.normal(size=(8, 1))} for _ in range(2)
        ]
        session.run(tf.global_variables_initializer())
        changes.setdefault("steps", 3)
        return record(path, session, loss, feeds, train, **changes)


class NewPort(NamedTuple):
    """The same program with a tape: what `compare` takes."""

    step: object
    variables: list
    optimizer: object


def new_port(size=4, rate=0.1, answer=None, dtype="float32"):
    """Return the tiny program with a tape.

    Args:
        size: That of its inner layer.
        rate: That of its optimizer.
        answer: A function of loss and gradients that the step returns in their stead.
        dtype: That of its weights.
    """
    import tensorflow as tf  # noqa: PLC0415 (the tests of the command line do without)

    w = tf.Variable(np.zeros((3, size), dtype), name="w")
    v = tf.Variable(np.zeros((size, 1), dtype), name="v")
    optimizer = tf.keras.optimizers.SGD(rate, momentum=0.9)

    def step(x, goal):
        x, goal = (tf.cast(one, dtype) for one in (x, goal))
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((tf.tanh(x @ w) @ v - goal) ** 2)
        gradients = tape.gradient(loss, [w, v])
        optimizer.apply_gradients(zip(gradients, [w, v], strict=True))
        return answer(loss, gradients) if answer else (loss, gradients)

    return NewPort(step, [w, v], optimizer)
