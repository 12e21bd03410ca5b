"""Record a small program on whatever TensorFlow runs this text; Python 3.7 reads it, too.

`python recording.py KIND FILE.npz` needs prove_gradients.py beside it. Each kind has a process of
its own, because eager execution is switched on or off for good.
"""

import sys

import numpy as np

KINDS = "session", "monitored", "pipeline", "eager", "function"
SHAPES = {"emb": (10, 6), "a/w": (6, 16), "a/b": (16,), "c/w": (16, 1), "c/b": (1,)}


def batches():
    """Return inputs, goals and rows for each of five steps."""
    random = np.random.RandomState(0)
    return [
        (
            random.randn(32, 6).astype("f4"),
            random.randn(32, 1).astype("f4"),
            random.randint(0, 8, 32).astype("i4"),
        )
        for _ in range(5)
    ]


def first_weights():
    """Return the weights by name."""
    random = np.random.RandomState(1)
    return {name: 0.3 * random.randn(*shape).astype("f4") for name, shape in SHAPES.items()}


def loss_of(tf, w, x, y, rows):
    """Return the loss of weights by name."""
    hidden = tf.matmul(x + tf.nn.embedding_lookup(w["emb"], rows), w["a/w"]) + w["a/b"]
    return tf.reduce_mean((tf.matmul(tf.tanh(hidden), w["c/w"]) + w["c/b"] - y) ** 2)


def record_graph(kind, path, tf, record):
    """Record a graph in a session, in a monitored one, or with an input pipeline."""
    with tf.Graph().as_default():
        count = tf.train.get_or_create_global_step()
        if kind == "pipeline":
            whole = tuple(np.concatenate(one) for one in zip(*batches()))
            data = tf.data.Dataset.from_tensor_slices(whole).batch(32).repeat()
            inputs = places = tf.data.make_one_shot_iterator(data).get_next()
        else:
            places = [tf.placeholder(one.dtype, one.shape) for one in batches()[0]]
            inputs = [dict(zip(places, one)) for one in batches()]
        w = {n: tf.get_variable(n, initializer=one) for n, one in first_weights().items()}
        loss = loss_of(tf, w, *places)
        rate = tf.train.exponential_decay(0.01, count, 1, 0.9)
        train = tf.train.AdamOptimizer(rate).minimize(loss, global_step=count)
        if kind == "monitored":
            with tf.train.MonitoredSession() as session:
                record(path, session, loss, inputs, train)
        else:
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                record(path, session, loss, inputs, train)


def record_eager(path, tf, record_step):
    """Record eager code, with `tf.contrib.eager` where there is one."""
    tf.enable_eager_execution()
    try:
        from tensorflow.contrib import eager as tfe
    except ImportError:
        tfe = None
    make = tfe.Variable if tfe else tf.Variable
    w = {n: make(one, name=n) for n, one in first_weights().items()}
    count = tf.train.get_or_create_global_step()
    optimizer = tf.train.AdamOptimizer(lambda: 0.01 * 0.9 ** float(count.numpy()))

    def step(*batch):
        if tfe:
            both = tfe.implicit_value_and_gradients(lambda: loss_of(tf, w, *batch))()
            loss, order = both[0], {id(one): gradient for gradient, one in both[1]}
            gradients = [order[id(one)] for one in w.values()]
        else:
            with tf.GradientTape() as tape:
                loss = loss_of(tf, w, *batch)
            gradients = tape.gradient(loss, list(w.values()))
        optimizer.apply_gradients(zip(gradients, w.values()), global_step=count)
        return loss, gradients

    record_step(path, step, [*w.values(), count], batches(), optimizer)


def record_function(path, tf, record_step):
    """Record a K.function, with the updates of a Keras optimizer."""
    tf.disable_eager_execution()
    keras, first = tf.keras.backend, first_weights()
    x, y, rows = (tf.placeholder(one.dtype, one.shape) for one in batches()[0])
    w = {n: tf.get_variable(n, initializer=one) for n, one in first.items()}
    loss = loss_of(tf, w, x, y, rows)
    optimizer = tf.keras.optimizers.Adam(0.01, epsilon=1e-8)
    updates = optimizer.get_updates(loss=loss, params=list(w.values()))
    gradients = [tf.convert_to_tensor(one) for one in keras.gradients(loss, list(w.values()))]
    function = keras.function([x, y, rows], [loss] + gradients, updates)  # noqa: RUF005
    session = keras.get_session()
    session.run(tf.global_variables_initializer())

    def step(*batch):
        found = function(list(batch))
        return found[0], found[1:]

    record_step(path, step, list(w.values()), batches(), optimizer, session=session)


def main(kind, path):
    """Record one kind of program."""
    import prove_gradients
    import tensorflow.compat.v1 as tf

    if kind == "eager":
        record_eager(path, tf, prove_gradients.record_step)
    elif kind == "function":
        record_function(path, tf, prove_gradients.record_step)
    else:
        record_graph(kind, path, tf, prove_gradients.record)


if __name__ == "__main__":
    main(*sys.argv[1:])
