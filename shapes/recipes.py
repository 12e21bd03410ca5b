"""The recipes of this site: what to write instead of an old call, as a pair of functions.

`old(tf, f, x)` is the old call, with compat.v1 in a graph; `new(tf, f, x)` what is written now.
Both return the results, in one order; `f` computes a tensor from the source `x`, of its shape.
What `needs` makes beforehand, such as an optimizer, is passed to `new` as well.
"""

import collections

Recipe = collections.namedtuple("Recipe", "home old new needs source")
RECIPES = {}
EXAMPLES = [1.0, 2.0, 3.0]
# Where the site says why something else comes out: of a recipe on a shape, of a shape, of a recipe.
EXPLAINED = {
    "stop_gradients | under an outer tape: another number": (
        "parameters/stop_gradients.md#the-second-derivative-is-none"
    ),
    "a variable, trainable=False: None": "how-to/none.md#a-variable-that-is-not-trainable",
    "a variable, trainable=False: zeros": "how-to/none.md#a-variable-that-is-not-trainable",
    "tf.vectorized_map: another number": "evidence/known-bugs.md#state-in-vectorized_map",
    "map_fn | bfloat16: None": "how-to/loops.md#tfmap_fn-tfscan-tffoldl",
    "implicit_gradients: another structure": (
        "old-api/tfe.md#a-gradient-is-none-or-a-variable-is-missing"
    ),
    "py_function | under an outer tape: another number": "how-to/none.md#tfpy_function",
    "a mirrored variable: another number": "how-to/replicas.md#a-step-outside-of-strategyrun",
    # There the old call is wrong.
    "while_loop | under an outer tape: another number": (
        "errors/control-flow.md#second-order-gradient-for-while-loops-not-supported"
    ),
    "recompute_grad_captured: None": ("how-to/custom-gradient.md#what-a-block-takes-from-outside"),
}


def recipe(home, old, needs=lambda tf, x: [], source="a variable"):
    """Return a decorator that lists a recipe by its function's name.

    Args:
        home: The page and heading below docs/ to which the recipe belongs.
        old: The old call, as a function or the name of a recipe that has the same one.
        needs: What makes the optimizer or the like, in a list.
        source: With which source it runs in every place.
    """

    def listed(new):
        call = RECIPES[old].old if isinstance(old, str) else old
        RECIPES[new.__name__] = Recipe(home, call, new, needs, source)
        return new

    return listed


def flat(tf, x):
    """Return the sources in a list."""
    return tf.nest.flatten(x)


def gradients_of(tf, y, x):
    """Return the old call."""
    return tf.gradients(y, flat(tf, x))


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


def vectors(tf, x):
    """Return a vector for each source, of its shape."""
    return [tf.stop_gradient(one + one) for one in flat(tf, x)]


def shifted(tf, x, slopes):
    """Return what stands for x after a step along its gradient."""
    moved = [one if g is None else one - g / 8 for one, g in zip(flat(tf, x), slopes)]
    return tf.nest.pack_sequence_as(x, moved)


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


@recipe("parameters/stop_gradients.md#subtract-the-path", "stop_gradients")
def subtracted_path(tf, f, x):
    """Subtract what goes through b."""
    with tf.GradientTape(persistent=True) as tape:
        watch(tape, x)
        b = f(x)
        y = b * f(x)
    total, by_b = tape.gradient(y, [flat(tf, x), b])
    through = tape.gradient(b, flat(tf, x), output_gradients=by_b)
    return [one - other for one, other in zip(total, through)]


@recipe("tape/constructor.md", lambda tf, f, x: [gradients_of(tf, f(x) ** n, x) for n in (1, 2)])
def asked_again(tf, f, x):
    """Keep the tape for a second target."""
    with tf.GradientTape(persistent=True) as tape:
        watch(tape, x)
        y = f(x)
        squares = y**2
    return [tape.gradient(y, x), tape.gradient(squares, x)]


@recipe("parameters/index.md", "gradients")
def tf_gradients_in_function(tf, f, x):
    """Keep tf.gradients, in a tf.function."""
    return tf.gradients(f(x), flat(tf, x))


@recipe("old-api/tfe.md#implicit_gradients-and-implicit_value_and_gradients", "gradients")
def implicit_gradients(tf, f, x):
    """Ask for all variables that were read."""
    with tf.GradientTape() as tape:
        y = f(x)
    return tape.gradient(y, tape.watched_variables())


@recipe("old-api/tfe.md#gradients_function-and-value_and_gradients_function", "gradients")
def gradients_function(tf, f, x):
    """Watch the arguments, as tensors."""
    arguments = [tf.convert_to_tensor(one) for one in flat(tf, x)]
    with tf.GradientTape() as tape:
        tape.watch(arguments)
        y = f(tf.nest.pack_sequence_as(x, arguments))
    return tape.gradient(y, arguments)


def old_clip(tf, f, x):
    """Clip by the norm of all."""
    return tf.clip_by_global_norm(tf.gradients(f(x), flat(tf, x)), 0.5)


@recipe("how-to/clip-gradients.md", old_clip)
def clip_by_global_norm(tf, f, x):
    """Clip by the norm of all."""
    tape, y = taped(tf, f, x)
    return tf.clip_by_global_norm(tape.gradient(y, flat(tf, x)), 0.5)


def old_clip_each(tf, f, x):
    """Clip each by its norm."""
    return [g if g is None else tf.clip_by_norm(g, 0.5) for g in gradients_of(tf, f(x), x)]


@recipe("how-to/clip-gradients.md#each-gradient-by-itself", old_clip_each)
def clip_by_norm(tf, f, x):
    """Clip each by its norm."""
    tape, y = taped(tf, f, x)
    slopes = tape.gradient(y, flat(tf, x))
    return [g if g is None else tf.clip_by_norm(g, 0.5) for g in slopes]


def old_jacobian(tf, f, x):
    """Stack the gradients of each element."""
    y = f(x)
    rows = [tf.gradients(one, flat(tf, x)) for one in tf.unstack(tf.reshape(y, [-1]))]
    rows = rows or [[tf.zeros([0, *one.shape], one.dtype) for one in flat(tf, x)]]
    whole = [None if None in some else tf.stack(some) for some in zip(*rows)]
    shapes = [y.shape.concatenate(one.shape) for one in flat(tf, x)]
    return [j if j is None else tf.reshape(j, shape) for j, shape in zip(whole, shapes)]


@recipe("tape/jacobian.md", old_jacobian)
def jacobian(tf, f, x):
    """Ask for the Jacobian."""
    tape, y = taped(tf, f, x)
    return tape.jacobian(y, x)


@recipe("tape/jacobian.md", "jacobian")
def jacobian_without_pfor(tf, f, x):
    """Ask for the Jacobian row by row."""
    tape, y = taped(tf, f, x, persistent=True)
    return tape.jacobian(y, x, experimental_use_pfor=False)


def old_parallel_for(tf, f, x):
    """Take the private function."""
    from tensorflow.python.ops.parallel_for import gradients as private  # noqa: PLC0415

    return private.jacobian(f(x), flat(tf, x))


@recipe("old-api/parallel_for.md", old_parallel_for)
def parallel_for(tf, f, x):
    """Take tape.jacobian for parallel_for.gradients.jacobian."""
    tape, y = taped(tf, f, x)
    return tape.jacobian(y, flat(tf, x))


def old_batch_jacobian(tf, f, x):
    """Take the gradients of each column, and put them beside each other."""
    y = f(x)
    columns = tf.unstack(tf.reshape(y, [y.shape[0], -1]), axis=1)
    stacked = tf.stack([tf.gradients(one, x)[0] for one in columns], axis=1)
    return [tf.reshape(stacked, y.shape.concatenate(x.shape[1:]))]


@recipe("tape/jacobian.md#one-jacobian-for-each-example", old_batch_jacobian, source="rank 2")
def batch_jacobian(tf, f, x):
    """Ask for a Jacobian of each example."""
    tape, y = taped(tf, f, x)
    return tape.batch_jacobian(y, x)


def old_per_example(tf, f, x):
    """Take the gradients of each example's loss."""
    rows = [gradients_of(tf, f(x) * tf.cast(n, f(x).dtype), x) for n in EXAMPLES]
    return [None if None in some else tf.stack(some) for some in zip(*rows)]


@recipe("how-to/per-example-gradients.md", old_per_example)
def per_example_by_jacobian(tf, f, x):
    """Take the Jacobian of the losses."""
    with tf.GradientTape() as tape:
        watch(tape, x)
        y = f(x)
        losses = tf.stack([tf.reduce_sum(y * tf.cast(n, y.dtype)) for n in EXAMPLES])
    return tape.jacobian(losses, x)


@recipe(
    "how-to/per-example-gradients.md#with-tfvectorized_map-or-one-call-each",
    "per_example_by_jacobian",
)
def per_example_by_vectorized_map(tf, f, x):
    """Map a function that records one example."""

    def of_one(n):
        with tf.GradientTape() as tape:
            watch(tape, x)
            y = f(x)
            loss = y * tf.cast(n, y.dtype)
        return tape.gradient(loss, x)

    return tf.vectorized_map(of_one, tf.constant(EXAMPLES))


def old_second(tf, f, x):
    """Take the gradients of the gradients."""
    return tf.gradients(gradients_of(tf, f(x), x), flat(tf, x))


@recipe("tape/higher_order.md", old_second)
def second_derivative(tf, f, x):
    """Nest the tapes."""
    with tf.GradientTape() as outer:
        watch(outer, x)
        with tf.GradientTape() as inner:
            watch(inner, x)
            y = f(x)
        slopes = inner.gradient(y, flat(tf, x))
    return outer.gradient(slopes, x)


@recipe("how-to/hvp.md", lambda tf, f, x: tf.hessians(tf.reduce_sum(f(x)), flat(tf, x)))
def hessians(tf, f, x):
    """Take the Jacobian of the gradient, by each source."""
    with tf.GradientTape(persistent=True) as outer:
        watch(outer, x)
        with tf.GradientTape() as inner:
            watch(inner, x)
            loss = tf.reduce_sum(f(x))
        slopes = inner.gradient(loss, flat(tf, x))
    return [outer.jacobian(g, one) for g, one in zip(slopes, flat(tf, x))]


def old_product(tf, f, x):
    """Take the gradients of the gradients, times a vector."""
    slopes = gradients_of(tf, f(x), x)
    return tf.gradients(slopes, flat(tf, x), grad_ys=vectors(tf, x))


@recipe("how-to/hvp.md", old_product)
def hessian_vector_product(tf, f, x):
    """Nest the tapes, and pass the vector to the outer one."""
    with tf.GradientTape() as outer:
        watch(outer, x)
        with tf.GradientTape() as inner:
            watch(inner, x)
            y = f(x)
        slopes = inner.gradient(y, flat(tf, x))
    return outer.gradient(slopes, flat(tf, x), output_gradients=vectors(tf, x))


@recipe("tape/higher_order.md#with-tfautodiffforwardaccumulator", "hessian_vector_product")
def product_by_forward_mode(tf, f, x):
    """Go forward over a tape."""
    with tf.autodiff.ForwardAccumulator(flat(tf, x), vectors(tf, x)) as forward:
        tape, y = taped(tf, f, x)
        slopes = tape.gradient(y, flat(tf, x))
    return forward.jvp(slopes)


def old_forward(tf, f, x):
    """Take the gradients of the gradients by a dummy."""
    y = f(x)
    dummy = tf.ones_like(y)
    slopes = tf.gradients(y, flat(tf, x), grad_ys=dummy)
    return tf.gradients(slopes, dummy, grad_ys=vectors(tf, x))


@recipe("how-to/jvp.md#fwd_gradients-two-gradients-and-a-dummy", old_forward)
def fwd_gradients(tf, f, x):
    """Ask two tapes, the outer one for the dummy."""
    tape, y = taped(tf, f, x)
    dummy = tf.ones_like(y)
    with tf.GradientTape() as outer:
        outer.watch(dummy)
        slopes = tape.gradient(y, flat(tf, x), output_gradients=dummy)
    return outer.gradient(slopes, dummy, output_gradients=vectors(tf, x))


@recipe("how-to/jvp.md", "fwd_gradients")
def jvp(tf, f, x):
    """Take a ForwardAccumulator."""
    with tf.autodiff.ForwardAccumulator(flat(tf, x), vectors(tf, x)) as forward:
        y = f(x)
    return [forward.jvp(y)]


def old_penalty(tf, f, x):
    """Take the gradients of what the gradients' norms are from 1."""
    norms = [tf.norm(g) for g in gradients_of(tf, f(x), x)]
    return tf.gradients([(one - 1) ** 2 for one in norms], flat(tf, x))


@recipe("how-to/train-through-a-gradient.md#gradient-penalty-wgan-gp", old_penalty)
def gradient_penalty(tf, f, x):
    """Compute the penalty under the outer tape."""
    with tf.GradientTape() as outer:
        watch(outer, x)
        tape, y = taped(tf, f, x)
        norms = [tf.norm(g) for g in tape.gradient(y, flat(tf, x))]
        penalties = [(one - 1) ** 2 for one in norms]
    return outer.gradient(penalties, x)


def old_maml(tf, f, x):
    """Take the gradients through a step."""
    return tf.gradients(f(shifted(tf, x, gradients_of(tf, f(x), x))), flat(tf, x))


@recipe("how-to/train-through-a-gradient.md#maml-fast-weights", old_maml)
def maml(tf, f, x):
    """Take the step under the outer tape, with tensors."""
    with tf.GradientTape() as outer:
        watch(outer, x)
        tape, y = taped(tf, f, x)
        loss = f(shifted(tf, x, tape.gradient(y, flat(tf, x))))
    return outer.gradient(loss, x)


def looped(tf, y):
    """Return y after three rounds of a loop."""
    body = lambda i, y: (i + 1, y * y)  # noqa: E731
    return tf.while_loop(lambda i, y: i < 3, body, (tf.constant(0), y))[1]


@recipe("how-to/loops.md", lambda tf, f, x: gradients_of(tf, looped(tf, f(x)), x))
def while_loop(tf, f, x):
    """Record the loop."""
    tape, y = taped(tf, lambda x: looped(tf, f(x)), x)
    return tape.gradient(y, x)


def mapped(tf, f, x):
    """Return f(x) times each of some numbers, by map_fn."""
    y = f(x)
    return tf.map_fn(lambda n: y * tf.cast(n, y.dtype), tf.constant(EXAMPLES), dtype=y.dtype)


@recipe(
    "how-to/loops.md#tfmap_fn-tfscan-tffoldl",
    lambda tf, f, x: gradients_of(tf, mapped(tf, f, x), x),
)
def map_fn(tf, f, x):
    """Record the map."""
    tape, y = taped(tf, lambda x: mapped(tf, f, x), x)
    return tape.gradient(y, x)


def old_reversal(tf, f, x):
    """Override the gradient of Identity."""
    y = f(x)
    with tf.get_default_graph().gradient_override_map({"Identity": "Negated"}):
        y = tf.identity(y)
    return tf.gradients(y, flat(tf, x))


def reversed_gradient(tf):
    """Return the identity, with a negated gradient."""
    return tf.custom_gradient(lambda y: (tf.identity(y), lambda upstream: -upstream))


@recipe("old-api/custom-gradients.md#a-tape-ignores-gradient_override_map", old_reversal)
def custom_gradient(tf, f, x):
    """Take tf.custom_gradient for an override."""
    tape, y = taped(tf, lambda x: reversed_gradient(tf)(f(x)), x)
    return tape.gradient(y, x)


def old_rounding(tf, f, x):
    """Override the gradient of Round."""
    with tf.get_default_graph().gradient_override_map({"Round": "Identity"}):
        y = tf.round(f(x))
    return tf.gradients(y * y, flat(tf, x))


@recipe("old-api/custom-gradients.md#straight-through-rounding", old_rounding)
def straight_through(tf, f, x):
    """Add what is stopped."""
    with tf.GradientTape() as tape:
        watch(tape, x)
        y = f(x)
        y = y + tf.stop_gradient(tf.round(y) - y)
        squares = y * y
    return tape.gradient(squares, x)


@recipe("how-to/custom-gradient.md#tfgrad_pass_through", "straight_through")
def grad_pass_through(tf, f, x):
    """Take tf.grad_pass_through."""
    with tf.GradientTape() as tape:
        watch(tape, x)
        y = tf.grad_pass_through(tf.round)(f(x))
        squares = y * y
    return tape.gradient(squares, x)


@recipe(
    "how-to/custom-gradient.md#tfrecompute_grad",
    lambda tf, f, x: gradients_of(tf, tf.exp(f(x)) * f(x), x),
)
def recompute_grad(tf, f, x):
    """Recompute a block of its argument."""
    block = tf.recompute_grad(lambda y: tf.exp(y) * y)
    tape, y = taped(tf, lambda x: block(f(x)), x)
    return tape.gradient(y, x)


@recipe("how-to/custom-gradient.md#what-a-block-takes-from-outside", "gradients")
def recompute_grad_captured(tf, f, x):
    """Recompute a block that takes the source from outside."""
    block = tf.recompute_grad(lambda one: one * f(x))
    tape, y = taped(tf, lambda x: block(tf.ones_like(f(x))), x)
    return tape.gradient(y, x)


@recipe(
    "old-api/custom-gradients.md#an-own-gradient-for-py_func",
    lambda tf, f, x: gradients_of(tf, f(x) * f(x), x),
)
def py_function(tf, f, x):
    """Take tf.py_function for py_func."""

    def squared(x):
        y = f(x)
        return tf.reshape(tf.py_function(lambda y: y * y, [y], y.dtype), y.shape)

    tape, y = taped(tf, squared, x)
    return tape.gradient(y, x)
