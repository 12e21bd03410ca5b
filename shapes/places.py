"""The places where readers ask for gradients: each runs a step there and returns its results.

A place gets `begin`, which makes source and optimizer and returns a step. `step()` returns a list
of tensors, `step(scale)` those with a forward pass times `scale`, and `step.whole` that list with
None where there was no gradient; `step.parts` is what the step keeps.
"""

import tempfile
import threading

from shapes.sources import AbsentError, two_replicas

PLACES = {}
SECOND = "under an outer tape"
TWICE = "called twice", "tf.map_fn", "tf.vectorized_map"  # so does the old call


def listed_as(name):
    """Return a decorator that lists a place by what readers call it."""

    def listed(run):
        PLACES[name] = run
        return run

    return listed


def total_of(tf, tensors):
    """Return the sum over all elements of tensors."""
    return tf.add_n([tf.reduce_sum(tf.cast(tf.math.real(one), "float64")) for one in tensors])


def traced(tf, step):
    """Return what a step returns: shapes and dtypes."""
    return tf.function(step).get_concrete_function().structured_outputs


@listed_as("eager")
def run_eagerly(tf, begin):
    """Line by line."""
    step = begin()
    return step.whole(step())


@listed_as("tf.function")
def run_in_function(tf, begin):
    """Traced, then run."""
    step = begin()
    return step.whole(tf.function(step)())


@listed_as("jit_compile=True")
def run_compiled(tf, begin):
    """By XLA."""
    step = begin()
    try:
        compiled = tf.function(step, jit_compile=True)
    except TypeError:
        try:
            compiled = tf.function(step, experimental_compile=True)
        except TypeError:
            raise AbsentError from None
    return step.whole(compiled())


@listed_as("in a loop of a graph")
def run_in_loop(tf, begin):
    """In a while loop of one round."""
    step = begin()
    like = traced(tf, step)
    if not all(one.shape.is_fully_defined() for one in like):
        raise AbsentError  # nothing could stand for them before the first round

    def looped():
        start = [tf.zeros(one.shape, one.dtype) for one in like]
        go_on, body = lambda i, *_: i < 1, lambda i, *_: (i + 1, *step())
        return tf.while_loop(go_on, body, (tf.constant(0), *start))[1:]

    return step.whole(tf.function(looped)())


@listed_as("in a branch of a graph")
def run_in_branch(tf, begin):
    """In a branch that the graph takes."""
    step = begin()
    traced(tf, step)  # or an optimizer would make its variables in the branch

    def zeros():
        return [tf.zeros_like(one) for one in step()]

    return step.whole(tf.function(lambda go: tf.cond(go, step, zeros))(tf.constant(True)))


@listed_as("tf.map_fn")
def run_in_map_fn(tf, begin):
    """For each of two elements, which scale the forward pass."""
    step = begin()
    like = [one.dtype for one in traced(tf, step)]
    mapped = tf.function(lambda: tf.map_fn(step, tf.ones([2]), dtype=like))
    return step.whole([one[1] for one in mapped()])


@listed_as("tf.vectorized_map")
def run_in_vectorized_map(tf, begin):
    """For each of two elements, which scale the forward pass, at once."""
    step = begin()
    mapped = tf.function(lambda: tf.vectorized_map(step, tf.ones([2])))
    return step.whole([one[1] for one in mapped()])


@listed_as("two replicas")
def run_on_replicas(tf, begin):
    """On each of two processors; the first one's results."""
    strategy = two_replicas(tf)
    with strategy.scope():
        step = begin()
    run = getattr(strategy, "run", None) or strategy.experimental_run_v2
    results = tf.function(lambda: run(step))()
    return step.whole([strategy.experimental_local_results(one)[0] for one in results])


@listed_as("under an outer tape")
def run_under_tape(tf, begin):
    """Return the gradient of the sum of what the step returns: a second derivative."""
    step = begin()
    with tf.GradientTape() as outer:
        step.watch(outer)
        total = total_of(tf, step())
    return tf.nest.flatten(outer.gradient(total, step.parts[0]))


@listed_as("called twice")
def run_twice(tf, begin):
    """The second result of a function."""
    step = begin()
    function = tf.function(step)
    function()
    return step.whole(function())


@listed_as("in another thread")
def run_in_thread(tf, begin):
    """What is made here runs in another thread."""
    step, found = begin(), []

    def work():
        try:
            found.append(step())
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if isinstance(found[0], Exception):
        raise found[0]
    return step.whole(found[0])


@listed_as("saved and loaded")
def run_loaded(tf, begin):
    """A function of a saved model."""
    step, module = begin(), tf.Module()
    module.parts, module.step = step.parts, tf.function(step, input_signature=[])
    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(module, folder)
        loaded = tf.compat.v2.saved_model.load(folder)  # it holds the variables
        return step.whole(loaded.step())
