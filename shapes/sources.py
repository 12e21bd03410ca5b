"""The sources that readers have: of each, how it is made and what is computed from it.

A source is a pair of functions: `make(tf)` returns it, as the graph and eager code have it, and
`forward(tf, x)` a tensor of the same shape. Where a graph has not the like of it, a third one
makes it for eager code.
"""

import collections
import functools

Source = collections.namedtuple("Source", "make forward eager")
FOUR = [0.5, -1.25, 2.0, 0.75]


class AbsentError(Exception):
    """This release has no such thing."""


def smooth(tf, x):
    """Return a tensor of x's shape, with a second derivative that is not constant."""
    return tf.sin(x) * x


def flat_values(x):
    """Return the values of a ragged tensor, and anything else as it is."""
    return getattr(x, "flat_values", x)


def variable(shape=(4,), dtype="float32", **options):
    """Return what makes a variable of this shape and dtype."""

    def make(tf):
        count = 1
        for size in shape:
            count *= size
        value = tf.reshape(tf.constant((FOUR * 4)[:count]), shape)
        return tf.Variable(tf.cast(value, dtype), **options)

    return make


def keras_variable(tf):
    """Return a variable of Keras 3."""
    if not hasattr(tf.keras, "Variable"):
        raise AbsentError
    return tf.keras.Variable(FOUR)


@functools.lru_cache(None)
def two_replicas(tf):
    """Return the strategy of two processors, always the same: others must not be mixed."""
    return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


def mirrored(tf):
    """Return a variable with a copy on each of two processors."""
    with two_replicas(tf).scope():
        return variable()(tf)


def ragged(tf):
    """Return rows of different lengths."""
    return tf.RaggedTensor.from_row_lengths(tf.constant(FOUR), [3, 1])


def of_pair(tf, x):
    """Return what is computed from two sources, in a list or a dict."""
    a, b = x.values() if isinstance(x, dict) else x
    return tf.sin(a) * b


def source(make, forward=smooth, eager=None):
    """Return a Source."""
    return Source(make, forward, eager or make)


SOURCES = {
    "a variable": source(variable()),
    "a Keras 3 variable": source(variable(), eager=keras_variable),
    "a mirrored variable": source(variable(), eager=mirrored),
    "a variable, trainable=False": source(variable(trainable=False)),
    "a constant": source(lambda tf: tf.constant(FOUR)),
    "a list": source(lambda tf: [variable()(tf), variable()(tf)], of_pair),
    "a dict": source(lambda tf: {"a": variable()(tf), "b": variable()(tf)}, of_pair),
    "one without elements": source(variable((0,))),
    "rank 0": source(variable(())),
    "rank 2": source(variable((2, 2))),
    "rank 3": source(variable((2, 1, 3))),
    "rank 4": source(variable((2, 1, 2, 2))),
    "unused": source(variable(), lambda tf, x: tf.sin(tf.constant(FOUR))),
    "used twice": source(variable(), lambda tf, x: tf.sin(x) * x + tf.exp(x)),
    "behind tf.split, a part unused": source(
        variable(), lambda tf, x: smooth(tf, tf.tile(tf.split(x, 2)[0], [2]))
    ),
    "tf.gather, a row twice": source(
        variable((4, 2)), lambda tf, x: smooth(tf, tf.gather(x, [0, 2, 2, 3]))
    ),
    "ragged": source(
        lambda tf: tf.constant(FOUR), lambda tf, x: smooth(tf, flat_values(x)), ragged
    ),
    "complex64": source(
        variable(dtype="complex64"), lambda tf, x: tf.math.real(x * x * tf.complex(1.0, 2.0))
    ),
    "float16": source(variable(dtype="float16")),
    "bfloat16": source(variable(dtype="bfloat16")),
    "float64": source(variable(dtype="float64")),
    "int32": source(variable(dtype="int32"), lambda tf, x: x * x),
    "int32, cast to floats": source(
        variable(dtype="int32"), lambda tf, x: smooth(tf, tf.cast(x, "float32"))
    ),
}
