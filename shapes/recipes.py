"""The recipes of this site: what to write instead of an old call, as a pair of functions.

`old(tf, f, x)` is the old call, with compat.v1 in a graph; `new(tf, f, x)` what is written now.
Both return the results, in one order; `f` computes a tensor from the source `x`, of its shape.
What `needs` makes beforehand, such as an optimizer, is passed to `new` as well.
"""

import collections

Recipe = collections.namedtuple("Recipe", "home old new needs")
RECIPES = {}
# Where the site says why something else comes out: of a recipe, of a source or place, or of both.
EXPLAINED = {
    "a variable, trainable=False: None": "how-to/none.md#a-variable-that-is-not-trainable",
    "a variable, trainable=False: zeros": "how-to/none.md#a-variable-that-is-not-trainable",
    "stop_gradients | under an outer tape: another number": (
        "parameters/stop_gradients.md#the-second-derivative-is-none"
    ),
    "minimize | two replicas: another number": (
        "how-to/replicas.md#the-gradient-is-twice-as-large-with-two-gpus"
    ),
    "tf.vectorized_map: another number": "evidence/known-bugs.md#state-in-vectorized_map",
}


def recipe(home, old, needs=lambda tf, x: []):
    """Return a decorator that lists a recipe by its function's name.

    Args:
        home: The page and heading below docs/ to which the recipe belongs.
        old: The old call, as a function or the name of a recipe that has the same one.
        needs: What makes the optimizer or the like, in a list.
    """

    def listed(new):
        call = RECIPES[old].old if isinstance(old, str) else old
        RECIPES[new.__name__] = Recipe(home, call, new, needs)
        return new

    return listed


def flat(tf, x):
    """Return the sources in a list."""
    return tf.nest.flatten(x)


def watch(tape, x):
    """Watch the tensors, as a reader must; a tape watches variables by itself."""
    every = x.values() if isinstance(x, dict) else x if isinstance(x, list) else [x]
    tape.watch([one for one in every if not hasattr(one, "assign")])


def taped(tf, f, x, **options):
    """Return a tape and what it recorded."""
    with tf.GradientTape(**options) as tape:
        watch(tape, x)
        y = f(x)
    return tape, y


def after(tf, step, x):
    """Return the sources as they are after a step of an old optimizer."""
    with tf.control_dependencies([step]):
        return [one.read_value() for one in flat(tf, x)]


def updated(tf, x):
    """Return the sources as they are now."""
    return [tf.identity(tf.convert_to_tensor(one)) for one in flat(tf, x)]


def sgd(tf, x):
    """Return a Keras optimizer of gradient descent."""
    return [tf.keras.optimizers.SGD(0.1)]


@recipe("parameters/ys_xs.md", lambda tf, f, x: tf.gradients(f(x), flat(tf, x)))
def gradients(tf, f, x):
    """Take tape.gradient for tf.gradients(ys, xs)."""
    tape, y = taped(tf, f, x)
    return tape.gradient(y, x)


def old_grad_ys(tf, f, x):
    """Multiply by a vector."""
    y = f(x)
    return tf.gradients(y, flat(tf, x), grad_ys=y * y)


@recipe("parameters/grad_ys.md", old_grad_ys)
def grad_ys(tf, f, x):
    """Pass output_gradients for grad_ys."""
    with tf.GradientTape() as tape:
        watch(tape, x)
        y = f(x)
    return tape.gradient(y, x, output_gradients=y * y)


def old_several_ys(tf, f, x):
    """Add up the gradients of two targets."""
    y = f(x)
    return tf.gradients([y, y * y], flat(tf, x))


@recipe("parameters/ys_xs.md#targets-are-added-up", old_several_ys)
def several_ys(tf, f, x):
    """Pass a list of targets, which the tape must have recorded."""
    with tf.GradientTape() as tape:
        watch(tape, x)
        y = f(x)
        squares = y * y
    return tape.gradient([y, squares], x)


def old_stop(tf, f, x):
    """Stop at a tensor of the graph."""
    b = f(x)
    return tf.gradients(b * f(x), flat(tf, x), stop_gradients=[b])


@recipe("parameters/stop_gradients.md#tfstop_gradient-around-b", old_stop)
def stop_gradients(tf, f, x):
    """Stop while recording."""
    with tf.GradientTape() as tape:
        watch(tape, x)
        y = tf.stop_gradient(f(x)) * f(x)
    return tape.gradient(y, x)


@recipe("parameters/stop_gradients.md#stop-recording-around-b", "stop_gradients")
def stop_recording(tf, f, x):
    """Do not record what is stopped."""
    with tf.GradientTape() as tape:
        watch(tape, x)
        with tape.stop_recording():
            b = f(x)
        y = b * f(x)
    return tape.gradient(y, x)


@recipe("parameters/stop_gradients.md#open-the-tape-after-b", "stop_gradients")
def tape_opened_later(tf, f, x):
    """Record only what follows."""
    b = f(x)
    with tf.GradientTape() as tape:
        watch(tape, x)
        y = b * f(x)
    return tape.gradient(y, x)


@recipe(
    "parameters/unconnected_gradients.md",
    lambda tf, f, x: tf.gradients(f(x), flat(tf, x), unconnected_gradients="zero"),
)
def unconnected_gradients(tf, f, x):
    """Ask for zeros."""
    tape, y = taped(tf, f, x)
    return tape.gradient(y, x, unconnected_gradients="zero")


def old_minimize(tf, f, x):
    """Take a step of gradient descent."""
    loss = tf.reduce_sum(f(x))
    step = tf.train.GradientDescentOptimizer(0.1).minimize(loss, var_list=flat(tf, x))
    return after(tf, step, x)


@recipe("old-api/optimizers.md", old_minimize, needs=sgd)
def minimize(tf, f, x, optimizer):
    """Record, and apply the gradients."""
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(f(x))
    variables = flat(tf, x)
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return updated(tf, x)
