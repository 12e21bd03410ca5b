"""Run cells on the TensorFlow of this Python, 3.7 to 3.13, with the standard library alone.

Each line of input is a JSON list of a recipe, a source and a place; each line of output one of the
outcome and of what was seen. The old call always runs in a graph of compat.v1, with a session.
"""

import functools
import json
import os
import sys

import numpy as np
import tensorflow as tf

from shapes import training  # noqa: F401 - it lists its recipes
from shapes.places import PLACES, SECOND, TWICE, total_of
from shapes.recipes import RECIPES, watch
from shapes.sources import SOURCES, AbsentError, flat_values

EPS = {"bfloat16": 2.0**-7, "float16": 2.0**-10, "float32": 2.0**-23, "complex64": 2.0**-23}
EPS["float64"] = EPS["complex128"] = 2.0**-52
tf.RegisterGradient("Negated")(lambda _, upstream: -upstream)  # to override one with
ROUNDINGS = 4  # by how many of its dtype old and new may differ: they add in another order


def densified(one):
    """Return a gradient as one tensor: slices added up, None as a zero."""
    return tf.zeros([]) if one is None else tf.convert_to_tensor(flat_values(one))


def begun(recipe, source):
    """Make source and optimizer, and return the step that a place runs."""
    x = source.eager(tf)
    kept = recipe.needs(tf, x)

    def step(scale=None):
        def forward(x):
            y = source.forward(tf, x)
            return y if scale is None else y * tf.cast(scale, y.dtype)

        flat = tf.nest.flatten(recipe.new(tf, forward, x, *kept))
        step.missing = [one is None for one in flat]
        return [densified(one) for one in flat]

    step.parts = [x, *kept]
    step.watch = lambda tape: watch(tape, x)
    step.whole = lambda flat: [None if no else one for no, one in zip(step.missing, flat)]
    return step


@functools.lru_cache(None)
def old_results(recipe, source, place):
    """Return what the old call gives, or the type of its exception; None stays None."""
    recipe, source, v1 = RECIPES[recipe], SOURCES[source], tf.compat.v1
    try:
        with tf.Graph().as_default(), v1.Session() as session:
            x = source.make(v1)
            results = recipe.old(v1, lambda x: source.forward(v1, x), x)
            flat = [one if one is None else densified(one) for one in tf.nest.flatten(results)]
            if place == SECOND:
                real = [one for one in flat if one is not None]
                flat = v1.gradients(total_of(v1, real), tf.nest.flatten(x)) if real else flat
                flat = [one if one is None else densified(one) for one in flat]
            session.run(v1.global_variables_initializer())
            for _ in range(1 + (place in TWICE)):
                real = iter(session.run([one for one in flat if one is not None]))
            return [one if one is None else next(real) for one in flat]
    except Exception as error:
        return error


def apart(new, old):
    """Return in which way a result is not the old one, or nothing."""
    if new is None or old is None:
        return "" if new is old else "None" if new is None else "a number for None"
    if new.shape != old.shape or new.dtype != old.dtype:
        return "another shape" if new.shape != old.shape else "another dtype"
    eps = EPS.get(new.dtype.name, 0.0)
    wide = "complex128" if new.dtype.kind == "c" else "float64"
    new, old = new.astype(wide), old.astype(wide)
    most = np.max(np.abs(old), initial=0.0)
    if np.allclose(new, old, rtol=0, atol=ROUNDINGS * eps * most, equal_nan=True):
        return ""
    if np.allclose(new, old, rtol=0, atol=1e-5 * most, equal_nan=True):
        return "the same to 5 digits"
    return "another number" if np.any(new) else "zeros"


def outcome_of_cell(recipe, source, place):
    """Return what becomes of the recipe there, and what was seen."""
    old = old_results(recipe, source, place if place in (SECOND, *TWICE) else "")
    if isinstance(old, Exception):
        return "the old call fails", repr(old)
    try:
        new = PLACES[place](tf, lambda: begun(RECIPES[recipe], SOURCES[source]))
        new = [one if one is None else densified(one).numpy() for one in new]
    except AbsentError:
        return "not there", ""
    except Exception as error:
        said = f"{type(error).__name__}: {error}"[:600]
        return f"raises {type(error).__name__}", said
    seen = f"{new} for {old!r}"
    if len(new) != len(old):
        return "another structure", seen
    return next(filter(None, map(apart, new, old)), "the same"), seen


def answer_cells(line, answers):
    """Answer a line of input and those after it, until one raises.

    An exception may leave TensorFlow changed: one in tf.map_fn does.
    """
    if not tf.executing_eagerly():
        tf.compat.v1.enable_eager_execution()
    cpus = tf.config.experimental.list_physical_devices("CPU")
    one = tf.config.experimental.VirtualDeviceConfiguration
    tf.config.experimental.set_virtual_device_configuration(cpus[0], [one(), one()])
    while line:
        outcome, seen = outcome_of_cell(*json.loads(line))
        answers.write(json.dumps([outcome, seen]) + "\n")
        if outcome.startswith("raises "):
            return
        line = sys.stdin.readline()


def fork_and_answer():
    """Answer each line of input with a line of output, in forks, which are cheap."""
    answers = os.fdopen(os.dup(1), "w", 1)
    assert tf.keras.optimizers  # so that no fork imports it again
    os.dup2(2, 1)  # what TensorFlow itself prints must not come between the answers
    for line in sys.stdin:
        child = os.fork()
        if not child:
            answer_cells(line, answers)
            os._exit(0)
        if os.waitpid(child, 0)[1]:
            os._exit(1)


if __name__ == "__main__":
    fork_and_answer()
