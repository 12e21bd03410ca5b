"""The prover finds faults of each kind and names them, and calls right ports the same."""

import json

import numpy as np
import pytest
import tensorflow as tf

from prover.compare import compare
from prover.record import record
from trials.__main__ import LATER, TABLE, as_wanted, kept, outcome_of, table_of

SAID = kept()  # fails where the lists have changed since they were tried
FAULTS = [one for one in SAID if "cause" in one and as_wanted(one)]
PORTS = [one for one in SAID if "cause" not in one and as_wanted(one)]
# Of each cause the first fault that was named, and of each model the first right port.
SOME = [
    *{one["cause"]: one for one in reversed(FAULTS)}.values(),
    *{one["model"]: one for one in reversed(PORTS)}.values(),
]
# What the lists after these have taught: beside a clipping, where rows are all used again, what a
# summand of the loss tells, and what one example.
TAUGHT = (
    "gru: weight-decay: 0.01001",
    "machines: the stay skipped where it does not count, which Adagrad does not mind",
    "mixture: epsilon: 0.0015",
    "sessions: repeated-rows: what repeats within a session counts once",
    "sessions: sign: of the gradients of the places",
    "sessions: weight-decay: of rows, 0.0301",
    "sources: sum-over-targets: the noisy loss beside it, times 0.0002",
    "towers: repeated-rows: the last use wins",
    "towers: sample-weights: one pair's times 1.002",
    "waves: batch-factor: errors divided by the sounds",
    "waves: replica-factor: gradients times 1.0005",
    "beams: weight-decay: 0.02003, momentum",
    "detector: batch-factor: divided by all cells",
    "detector: batch-factor: the count of things plus 0.03",
    "forces: repeated-rows: the last atom of a kind wins",
    "hazards: sum-over-targets: list of the loss and the slope's penalty",
    "tagger: batch-factor: sum over the sentences",
    "tagger: first-order: 0.03 of the worst noise stopped",
    "unitary: loss-scale: the optimizer unscales by 512, but not scaled",
    "unitary: replica-factor: gradients summed over 2 replicas before they are clipped",
)
SOME += [
    one for path in LATER for one in json.loads(path.read_text("utf-8")) if one["name"] in TAUGHT
]


@pytest.fixture(scope="module")
def kept_records(tmp_path_factory):
    """Return a folder in which the old program of each model is recorded once."""
    return tmp_path_factory.mktemp("records")


@pytest.mark.parametrize("one", SOME, ids=[one["name"] for one in SOME])
def test_prover_says_what_is_true(one, kept_records):
    """Of a fault the cause, of a right port that it is the same."""
    said = outcome_of(one, kept_records)
    assert as_wanted(dict(one, said=said)), said


def test_page_shows_the_figures():
    """The table is made from the outcomes, and says when."""
    shown = TABLE.read_text("utf-8")
    assert shown.startswith(table_of(SAID)), "The table is old: python -m trials"


@pytest.mark.parametrize("when", ["before each train op", "before the first", "elsewhere"])
def test_losses_of_two_train_ops_may_be_read_at_either_time(when, tmp_path):
    """The second loss counts before its own train op, as the old step did, or before all."""
    v1, path = tf.compat.v1, str(tmp_path / "old.npz")
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [3])
        a, b = (v1.get_variable(n, initializer=np.float32([1, 2, 3])) for n in "ab")
        losses = {"a": v1.reduce_sum(x * a**2), "b": v1.reduce_sum(a * b * x)}
        sgd = v1.train.GradientDescentOptimizer(0.1)
        by_hand = v1.assign_sub(b, 0.1 * v1.gradients(losses["b"], b)[0])  # no operation itself
        ops = [sgd.minimize(losses["a"], None, [a]), by_hand]
        session.run(v1.global_variables_initializer())
        record(path, session, losses, {x: np.float32([1, 0.5, 2])}, ops)
    a, b = (tf.Variable([1.0, 2.0, 3.0], name=n) for n in "ab")

    def step(x):
        with tf.GradientTape() as tape:
            first = tf.reduce_sum(x * a**2)
        by_a, early = tape.gradient(first, a), tf.reduce_sum(a * b * x)
        a.assign_sub(0.1 * by_a)
        with tf.GradientTape() as tape:
            second = tf.reduce_sum(a * b * x)
        by_b = tape.gradient(second, b)
        b.assign_sub(0.1 * by_b)
        losses = {"before each train op": second, "before the first": early}
        return {"a": first, "b": losses.get(when, second + early)}, [by_a, by_b]

    report = compare(path, step, [a, b])
    assert report.verdict == ("differs" if when == "elsewhere" else "the same"), str(report)
    assert not report.cause or report.cause.key not in ("exchanged", "sample-weights"), str(report)


@pytest.mark.parametrize(("first", "reverse"), [(0, False), (0, True), (1, False), (2, False)])
def test_numbered_names_may_mislead(first, reverse, tmp_path):
    """Where layers got other numbers, the list tells which is which, and else their names do."""
    v1, path = tf.compat.v1, str(tmp_path / "old.npz")
    starts = np.random.RandomState(0).randn(3, 2, 2).astype(np.float32)
    x = np.float32([[1, 0.5], [2, -1], [0.25, 3]])

    def loss_of(x, kernels):
        for kernel in kernels:
            x = tf.tanh(tf.matmul(x, kernel))
        return tf.reduce_mean(x**2)

    with tf.Graph().as_default(), v1.Session() as session:
        names = "dense/kernel", "dense_1/kernel", "dense_2/kernel"
        kernels = [v1.get_variable(n, initializer=v) for n, v in zip(names, starts, strict=True)]
        place = v1.placeholder(tf.float32, [None, 2])
        loss = loss_of(place, kernels)
        train = v1.train.GradientDescentOptimizer(0.1).minimize(loss)
        session.run(v1.global_variables_initializer())
        record(path, session, loss, {place: x}, train)
    numbers = ["" if k == 0 else f"_{k}" for k in range(first, first + 3)]
    kernels = [tf.Variable(tf.zeros([2, 2]), name=f"dense{k}/kernel") for k in numbers]
    weights = kernels[::-1] if reverse else kernels

    def step(x):
        with tf.GradientTape() as tape:
            loss = loss_of(x, kernels)
        gradients = tape.gradient(loss, weights)
        for weight, gradient in zip(weights, gradients, strict=True):
            weight.assign_sub(0.1 * gradient)
        return loss, gradients

    report = compare(path, step, weights)
    assert report.verdict == "the same", str(report)


@pytest.mark.parametrize(("factor", "verdict"), [(0.1, "the same"), (0.1 * (1 + 1e-6), "differs")])
def test_single_precision_within_double(factor, verdict, tmp_path):
    """In double precision, what a cast of 0.1 loses is said and is no difference; more is one."""
    v1, path = tf.compat.v1, str(tmp_path / "old.npz")
    with tf.Graph().as_default(), v1.Session() as session:
        w = v1.get_variable("w", initializer=np.array([1.0, 2.0, 3.0]))
        loss = factor * tf.reduce_sum(w**3)
        session.run(v1.global_variables_initializer())
        record(path, session, loss, {}, v1.train.GradientDescentOptimizer(0.1).minimize(loss))
    w = tf.Variable(np.zeros(3), name="w")

    def step():
        with tf.GradientTape() as tape:
            loss = tf.cast(0.1, w.dtype) * tf.reduce_sum(w**3)
        gradient = tape.gradient(loss, w)
        w.assign_sub(0.1 * gradient)
        return loss, [gradient]

    report = compare(path, step, [w])
    assert report.verdict == verdict, str(report)
    assert any("is kept in single" in note for note in report.notes) == (verdict == "the same")
