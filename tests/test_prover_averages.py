"""Averages and copies of weights, train ops that nothing orders, and feeds in any order."""

import numpy as np
import pytest
import tensorflow as tf

from prover.compare import compare
from prover.forms import NotComparable
from prover.record import record

v1 = tf.compat.v1
X = np.random.RandomState(1).normal(size=(6, 3)).astype("f4")
TAU = 0.05


def recorded(path, train_ops_of, optimizer=v1.train.AdamOptimizer):
    """Record a graph with a weight, a bias that begins at zero, and a copy that follows it."""
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder("float32", [None, 3])
        w = v1.get_variable("w", [3, 1], initializer=v1.constant_initializer(0.3))
        b = v1.get_variable("b", [1], initializer=v1.zeros_initializer())
        copy = v1.get_variable("copy", [1], initializer=v1.zeros_initializer(), trainable=False)
        loss = tf.reduce_mean((x @ w + b - 1.0) ** 2)
        train = optimizer(0.002).minimize(loss)
        follow = copy.assign((1 - TAU) * copy + TAU * b)
        session.run(v1.global_variables_initializer())
        record(path, session, loss, {x: X}, train_ops_of(train, follow))


def in_a_list(train, follow):
    """Return the ops as many old programs hold them: copies in a list of their own."""
    return [train, [follow]]


def ported(make, follow=True):
    """Return a step with Keras 3 variables, weights and optimizer."""
    layer = tf.keras.layers.Dense(1, name="layer")
    layer.build([None, 3])
    copy = tf.Variable([0.0], trainable=False, name="copy")
    optimizer, weights = make(0.002), layer.trainable_variables
    held = weights if hasattr(optimizer, "build") else [one.value for one in weights]

    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((layer(x) - 1.0) ** 2)
        gradients = tape.gradient(loss, held)
        optimizer.apply_gradients(zip(gradients, held, strict=True))
        if follow:
            copy.assign((1 - TAU) * copy + TAU * layer.bias)
        return loss, gradients

    return step, [*weights, *([copy] if follow else [])], optimizer


def precise(rate):
    """Return Keras's Adam with the epsilon of v1's."""
    return tf.keras.optimizers.Adam(rate, epsilon=1e-8)


def test_v1_optimizer_gets_what_keras_variables_hold(tmp_path):
    """RMSProp of v1 asks a variable for what those of Keras 3 lack."""
    recorded(path := str(tmp_path / "old.npz"), in_a_list, v1.train.RMSPropOptimizer)
    report = compare(path, *ported(v1.train.RMSPropOptimizer))
    assert report.verdict == "the same", str(report)


def test_advice_for_a_graph_is_about_its_order(tmp_path):
    """An old graph that draws nothing, and differs from itself, has operations that race."""
    path, seen = str(tmp_path / "old.npz"), iter(range(10000))

    def raced(train, follow):
        late = v1.py_func(lambda value: value + np.float32(next(seen)), [follow], "float32")
        w = v1.trainable_variables()[0]
        return [train, w.assign_add(tf.ones([3, 1]) * late)]

    recorded(path, raced)
    report = compare(path, *ported(precise))
    assert report.verdict == "not comparable", str(report)
    assert "may run in either order: give a list of train ops" in report.notes[0]


def test_copy_of_a_weight_may_be_off_as_the_weight_is(tmp_path):
    """Adam's first step is rounded by more than a copy that begins at zero."""
    recorded(path := str(tmp_path / "old.npz"), in_a_list)
    report = compare(path, *ported(precise))
    assert report.verdict == "the same", str(report)
    assert not report.notes


def test_copy_that_is_left_out_is_told(tmp_path):
    """The weights are the same, and the line says what nobody looked at."""
    recorded(path := str(tmp_path / "old.npz"), in_a_list)
    report = compare(path, *ported(precise, follow=False))
    assert report.verdict == "the same", str(report)
    assert report.notes == [
        "the old step moves copy, and no variable that you pass holds it: not compared"
    ]


def test_feeds_are_taken_by_their_placeholders(tmp_path):
    """In whatever order each dictionary names them, and by names, too."""
    with tf.Graph().as_default(), v1.Session() as session:
        x, y = (v1.placeholder("float32", [2], name) for name in "xy")
        w = v1.get_variable("w", [2], initializer=v1.constant_initializer(0.3))
        train = v1.train.AdamOptimizer(0.1).minimize(loss := tf.reduce_sum((w * x - y) ** 2))
        session.run(v1.global_variables_initializer())
        feeds = [{x: [1.0, 2.0], y: [3.0, 4.0]}, {y: [5.0, 6.0], x: [7.0, 8.0]}]
        made = record(str(tmp_path / "old.npz"), session, loss, feeds, train)
        named = [{f"{k.op.name}:0": v for k, v in one.items()} for one in feeds]
        again = record(str(tmp_path / "old.npz"), session, loss, [named[0], feeds[1]], train)
    for one in (made, again):
        assert [x.tolist() for x in one.steps[1].inputs] == [[7.0, 8.0], [5.0, 6.0]]
        assert [x.dtype.name for x in one.steps[0].inputs] == ["float32"] * 2


@pytest.mark.parametrize("kind", ["one", "pair"])
def test_what_an_iterator_gives_is_recorded(kind, tmp_path):
    """A single tensor, and features in a dictionary beside a label."""
    with tf.Graph().as_default(), v1.Session() as session:
        data = v1.data.Dataset.from_tensor_slices(({"x": [1.0, 2.0, 3.0]}, [3.0, 2.0, 1.0]))
        data = data.map(lambda x, y: x["x"]) if kind == "one" else data
        given = v1.data.make_one_shot_iterator(data.repeat().batch(2)).get_next()
        x, y = (given, 1.0) if kind == "one" else (given[0]["x"], given[1])
        w = v1.get_variable("w", [], initializer=v1.constant_initializer(0.3))
        train = v1.train.AdamOptimizer(0.1).minimize(loss := tf.reduce_sum((w * x - y) ** 2))
        session.run(v1.global_variables_initializer())
        made = record(str(tmp_path / "old.npz"), session, loss, given, train)
    fed = [one.tolist() for one in made.steps[1].inputs]
    assert fed == [[3.0, 1.0], [1.0, 3.0]][: 1 + (kind == "pair")]


def test_sparse_placeholder_is_told(tmp_path):
    """Its tensors can be fed, each by itself."""
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.sparse_placeholder("float32", [2, 3])
        w = v1.get_variable("w", [3, 1], initializer=v1.constant_initializer(0.3))
        loss = tf.reduce_sum(tf.sparse.sparse_dense_matmul(x, w) ** 2)
        train = v1.train.AdamOptimizer(0.1).minimize(loss)
        session.run(v1.global_variables_initializer())
        fed = v1.SparseTensorValue([[0, 1], [1, 2]], [1.0, 2.0], [2, 3])
        with pytest.raises(NotComparable, match="of a sparse or ragged placeholder"):
            record(str(tmp_path / "old.npz"), session, loss, {x: fed}, train)
        feed = {x.indices: fed.indices, x.values: fed.values}
        made = record(str(tmp_path / "old.npz"), session, loss, feed, train)
    assert [one.dtype.name for one in made.steps[0].inputs] == ["int64", "float32"]


def test_feeds_of_other_placeholders_are_told(tmp_path):
    """What only a later dictionary feeds would be left out of the record."""
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder("float32", [2], "x")
        rate = v1.placeholder_with_default(1.0, [], "rate")
        w = v1.get_variable("w", [2], initializer=v1.constant_initializer(0.3))
        train = v1.train.GradientDescentOptimizer(rate).minimize(loss := tf.reduce_sum(w * x))
        session.run(v1.global_variables_initializer())
        feeds = [{x: [1.0, 2.0]}, {x: [1.0, 2.0], rate: 0.5}]
        with pytest.raises(NotComparable, match="do not all name the same placeholders"):
            record(str(tmp_path / "old.npz"), session, loss, feeds, train)
    assert not list(tmp_path.iterdir())
