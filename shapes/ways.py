"""The ways to ask for a derivative of a program that the site calls equal.

`answered(program, question, way)` asks in one way. A question is "gradient", "second" (the gradient
of a gradient), "jacobian", or "jvp", a Jacobian-vector product. The first way of each is that of
a graph, with which the others are compared; "finite differences" are a way, too.
"""

import contextlib
import functools
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from shapes.programs import POINTS, source_of

v1 = tf.compat.v1
RANDOM = np.random.RandomState(3)
# The vector in a product, for a target or source of each size; unequal, so that no sum hides it.
VECTORS = {shape: RANDOM.uniform(0.5, 1.5, shape) for shape in ((3,), (3, 3))}
CHEAP = "graph", "tape", "tape in a function"
# What would kill this process is asked in another one.
DEADLY = {"compiled": {"array_grows"}}
DIED = "the process died"


class Outcome(NamedTuple):
    """What was answered: for each source an array or None; or the message of an exception."""

    values: tuple = ()
    error: str = ""


def vector_for(target):
    """Return the vector of a product with a target; None if that is not real."""
    return tf.constant(VECTORS[(3,) * target.shape.rank]) if target.dtype.is_floating else None


def results_of(f, *arguments):
    """Return a program's target, and the value by which it is differentiated as well, if any."""
    y, *more = y if isinstance(y := f(*arguments), tuple) else (y,)
    y.set_shape([3] * y.shape.rank)  # a graph may not know it, where values decide
    return y, more


def walked(f, x, w, question):
    """Ask `tf.gradients`."""
    y, more = results_of(f, x, w)
    v = vector_for(y)
    if question == "gradient":
        return tf.gradients(y, [x, w, *more], v)
    if question == "jacobian":
        flat = tf.reshape(y, [-1])
        rows = [tf.gradients(flat[k], x)[0] for k in range(flat.shape[0])]
        rows = [tf.zeros_like(x) if row is None else row for row in rows]
        return [tf.reshape(tf.stack(rows), [*y.shape, 3])]
    u = tf.ones_like(y)
    (g,) = tf.gradients(y, x, v if question == "second" else u)
    if question == "second":
        return tf.gradients(g, [x, w], vector_for(g)) if g is not None else [None, None]
    return tf.gradients(g, u, tf.constant(VECTORS[3,])) if g is not None else [None]


def by_tapes(f, x, w, question, persistent=False):
    """Ask a tape, or two that are nested."""
    with tf.GradientTape(persistent=persistent) as outer:
        outer.watch(x)
        with tf.GradientTape(persistent=persistent) as tape:
            tape.watch(x)
            y, more = results_of(f, x, w)
        v = vector_for(y)
        if question in ("second", "jvp"):
            u = tf.ones_like(y)
            outer.watch(u)
            g = tape.gradient(y, x, v if question == "second" else u)
    if question == "gradient":
        return tape.gradient(y, [x, w, *more], v)
    if question == "jacobian":
        rows = tape.jacobian(y, x, experimental_use_pfor=not persistent)
        return [tf.zeros([*y.shape, 3], x.dtype) if rows is None else rows]
    if g is None:
        return [None, None] if question == "second" else [None]
    if question == "second":
        return outer.gradient(g, [x, w], vector_for(g))
    return [outer.gradient(g, u, tf.constant(VECTORS[3,]))]


def forward(f, x, w, question):
    """Ask a `ForwardAccumulator`, for a second derivative one around a tape."""
    with tf.autodiff.ForwardAccumulator(x, tf.constant(VECTORS[3,])) as accumulator:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y, _ = results_of(f, x, w)
        if question == "jvp":
            return [accumulator.jvp(y)]
        g = tape.gradient(y, x, vector_for(y))
        return [None if g is None else accumulator.jvp(g)]


def eagerly(ask, f, point, question):
    """Return the answer of a way to ask, in eager code."""
    return ask(f, tf.constant(point[0]), tf.Variable(point[1]), question)


def in_function(ask, f, point, question, **compiled):
    """Return the answer of a way to ask, in a `tf.function`."""
    w = tf.Variable(point[1])
    asked = tf.function(lambda x: ask(f, x, w, question), autograph=False, **compiled)
    return asked(tf.constant(point[0]))


def around_function(ask, f, point, question):
    """Return the answer of a way to ask, around a `tf.function` that computes the target."""
    w = tf.Variable(point[1])
    called = tf.function(lambda x: f(x, w), autograph=False)
    # What the function has computed on its way, a tape around it does not know.
    return ask(lambda x, w: results_of(called, x)[0], tf.constant(point[0]), w, question)


def in_session(ask, f, point, question, old=False):
    """Return the answer of a way to ask, in a graph and a session; `old` for the loops of TF 1."""
    with loops_of_tf1() if old else contextlib.nullcontext(), tf.Graph().as_default():
        x, w = v1.placeholder(tf.float64, [3]), tf.Variable(point[1])
        asked = [without_slices(one) for one in ask(f, x, w, question)]
        with v1.Session() as session:
            session.run(w.initializer)
            known = iter(session.run([one for one in asked if one is not None], {x: point[0]}))
    return [None if one is None else next(known) for one in asked]


@contextlib.contextmanager
def loops_of_tf1():
    """Switch branches and loops to those of TensorFlow 1."""
    v1.disable_control_flow_v2()
    try:
        yield
    finally:
        v1.enable_control_flow_v2()


def measured(f, point, question):
    """Return the derivatives of a program along `VECTORS` by finite differences, or None.

    It is None where differences of two steps, or those of both sides, do not agree.
    """
    slopes = []
    for by in (0, 1) if question == "gradient" else (0,):

        def moved(step, by=by):
            x, w = (point[k] + step * VECTORS[point[k].shape] * (k == by) for k in (0, 1))
            if question == "gradient":
                y, _ = results_of(f, tf.constant(x), tf.Variable(w))
            else:
                (y, *_) = by_tapes(f, tf.constant(x), tf.Variable(w), "gradient")
            if y is None:
                return 0.0
            y = y.numpy()
            return np.sum(np.real(y) * VECTORS[y.shape])

        middle, steps = moved(0.0), (2e-3, 1e-3)
        sides = [[moved(step), moved(-step)] for step in steps]
        wide, fine = ((a - b) / (2 * step) for (a, b), step in zip(sides, steps, strict=True))
        bends = [(a + b - 2 * middle) / step for (a, b), step in zip(sides, steps, strict=True)]
        slope = (4 * fine - wide) / 3
        # Where it is smooth, half the step bends half as much, and both slopes are nearly right.
        close = min(1e-4 * (1 + abs(slope)), 1e-3 * max(abs(slope), 1e-3))
        smooth = abs(fine - wide) < close and (
            abs(bends[1]) < 0.6 * abs(bends[0]) + 1e-5 * (1 + abs(slope))
        )
        slopes.append(np.array(slope) if smooth and np.isfinite(slope) else None)
    return slopes


def value(f, point, question):
    """Return what a program computes, whatever the question."""
    return results_of(f, tf.constant(point[0]), tf.Variable(point[1]))[:1]


WAYS = {
    "graph": functools.partial(in_session, walked),
    "tape": functools.partial(eagerly, by_tapes),
    "tape in a function": functools.partial(in_function, by_tapes),
    "tf.gradients in a function": functools.partial(in_function, walked),
    "persistent": functools.partial(eagerly, functools.partial(by_tapes, persistent=True)),
    "around a function": functools.partial(around_function, by_tapes),
    "compiled": functools.partial(in_function, by_tapes, jit_compile=True),
    "graph of TF 1": functools.partial(in_session, walked, old=True),
    "forward": functools.partial(eagerly, forward),
    "forward in a function": functools.partial(in_function, forward),
    "finite differences": measured,
    "value": value,
}
FORWARD = "forward", "forward in a function"
QUESTIONS = {
    "gradient": [way for way in WAYS if way not in (*FORWARD, "value")],
    "second": [*CHEAP, "around a function", "compiled", "forward", "finite differences"],
    "jacobian": [*CHEAP, "persistent", "compiled"],
    "jvp": [*CHEAP, *FORWARD],
}


def without_slices(answer):
    """Return an answer without slices."""
    return tf.convert_to_tensor(answer) if isinstance(answer, tf.IndexedSlices) else answer


def answered(program, question, way, point=None):
    """Return what a way answers to a question about a program."""
    if program.names & DEADLY.get(way, set()) and not multiprocessing.parent_process():
        return answered_by_child(program, question, way)
    namespace = {"tf": tf}
    exec(source_of(program), namespace)  # noqa: S102 - what it runs is drawn from our own table
    try:
        answers = WAYS[way](namespace["f"], point or POINTS[program.point], question)
        return Outcome(
            tuple(one if one is None else np.asarray(without_slices(one)) for one in answers)
        )
    except Exception as error:  # whatever TensorFlow raises is what it answers
        # A map or scan that raises leaves this behind, and recompute_grad fails ever after.
        v1.get_variable_scope()._caching_device = None
        lines = f"{type(error).__name__}: {error}".splitlines()
        # What is indented says where each operation of a graph was defined.
        return Outcome(error="\n".join(line for line in lines if line[:2] != "  ")[:2000])


def answered_by_child(program, question, way):
    """Return what a way answers, from a process of its own, which may die."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, context) as pool:
        try:
            return pool.submit(answered, program, question, way).result()
        except BrokenProcessPool:
            return Outcome(error=DIED)
