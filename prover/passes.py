"""Runs of a program: once to record, once more to see chance, and moved by rounding."""

from .arrays import np
from .differences import TIMES, norm_of, relative_difference
from .forms import Step, as_stored, nudged

SURE = 1e-4  # of a gradient's size: an element below it has few digits that are not rounding
TRIES = 3  # runs with weights and inputs moved by one unit in the last place


def run_pass(program, start, weights_before, batches, rounding=None):
    """Run the steps of a program once, and return a `Step` for each.

    Args:
        program: A `GraphProgram` or `StepProgram`.
        start: The value of each variable before the first step.
        weights_before: A function of the number of a step and the weights after the step before it,
            that returns the weights to start that step from.
        batches: The inputs of each step.
        rounding: A `RandomState` that moves weights and inputs by one unit in the last place.
    """
    program.load(start)
    program.fresh()
    trained = sum(one.trainable for one in program.weights())
    after, steps = start[:trained], []
    for t, batch in enumerate(batches):
        before, inputs = weights_before(t, after), batch
        if rounding is not None:
            before = [shaken(one, program.unit, rounding) for one in before]
            inputs = [shaken_data(one, program.unit, rounding) for one in inputs]
        program.load(before)
        before = program.read()[:trained]  # as rounded to the type of the variables
        result = program.run(inputs)
        every = program.read()
        after = every[:trained]
        given = result.gradients
        gradients, rows = zip(*map(dense, given if given is not None else [None] * trained))
        steps.append(
            Step(
                inputs,
                result.losses,
                list(result.early),
                list(gradients),
                [
                    None if same_array(a, g) else as_stored(a)
                    for a, g in zip(result.applied, gradients)
                ],
                [dense(one)[0] for row in result.terms for one in row],
                [dense(one)[0] for row in result.direct for one in row],
                [dense(one)[0] for row in result.summands for one in row],
                list(result.worth),
                list(rows),
                before,
                after,
                every[trained:],
            )
        )
    return steps


def same_array(one, other):
    """Return whether what the optimizer got is nothing, or the gradient itself."""
    return one is None or (other is not None and np.array_equal(one, other))


def dense(gradient):
    """Return a gradient as an array, and the rows of its slices or None."""
    if gradient is None:
        return None, None
    if not hasattr(gradient, "values"):
        array = gradient.numpy() if hasattr(gradient, "numpy") else gradient
        return as_stored(np.array(array)), None
    values, rows, shape = (
        np.array(one.numpy() if hasattr(one, "numpy") else one)
        for one in (gradient.values, gradient.indices, gradient.dense_shape)
    )
    values = as_stored(values)
    whole = np.zeros(shape, values.dtype)
    np.add.at(whole, rows, values)
    return whole, rows


def shaken(values, unit, random):
    """Return an array of real or complex numbers, each moved up or down by one unit."""
    if values is None or values.dtype.kind not in "fc":
        return values
    moved = values * (1 + unit * random.choice([-1.0, 1.0], size=np.shape(values)))
    return np.asarray(moved).astype(values.dtype)


def shaken_data(values, unit, random):
    """Return an input shaken, without values that occur twice: a program may compare with them."""
    if values is None or values.dtype.kind not in "fc" or not np.ndim(values):
        return shaken(values, unit, random)
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    alone = counts[places].reshape(values.shape) == 1
    return np.where(alone, shaken(values, unit, random), values)


def run_passes(program, start, weights_before, batches):
    """Run a program as it is, again, and moved by rounding; return steps and noise."""
    steps = run_pass(program, start, weights_before, batches)
    again = gaps(run_pass(program, start, weights_before, batches), steps)
    noise = {"twice " + name: one for name, one in again.items()}
    seeds = map(np.random.RandomState, range(TRIES))
    runs = [run_pass(program, start, weights_before, batches, random) for random in seeds]
    every = [gaps(one, steps) for one in runs]
    barely = np.all([zero_but_for_rounding(one, program.unit) for one in runs], 0)
    for name in every[0]:
        most = np.max([one[name] for one in every], 0)
        # What was exactly zero by luck tells nothing; what infinity comes of else, is told apart.
        lucky = barely if name in ("gradient", "step") else False
        noise[name] = np.where(np.isfinite(most) | lucky, most, 0)
    written = [written_noise(one, program.unit) for one in steps]
    noise["step"] = np.maximum(np.maximum(noise["step"], written), program.rates)
    return steps, noise


def zero_but_for_rounding(steps, unit, share=1.0):
    """Return of which gradients a share is as little as rounding leaves of a sum that is zero."""
    sizes = [[0 if one is None else norm_of(one) for one in step.gradients] for step in steps]
    most = TIMES * unit * np.max(sizes, 1, keepdims=True, initial=0)
    with np.errstate(invalid="ignore"):
        return share * np.array(sizes) <= most


def written_noise(step, unit):
    """Return by how much a move differs because each weight is rounded when it is written."""
    found = []
    for after, move in zip(step.after, moves(step)):
        share = min(1.0, 0.4 + 2 / max(after.size, 1) ** 0.5)  # of many, errors cancel
        size = norm_of(move)
        found.append(share * unit * norm_of(after) / size / TIMES if size else 0.0)
    return found


def gaps(steps, others):
    """Return the relative differences of two runs, as `Record.noise` has them."""
    found = {}
    for name, parts in (
        ("loss", lambda step: list(step.losses.values())),
        ("gradient", lambda step: step.gradients),
        ("step", None),
        ("state", lambda step: step.state),
    ):
        found[name] = np.array(
            [
                [
                    relative_difference(a, b)
                    for a, b in (zip(parts(one), parts(other)) if parts else settled(one, other))
                ]
                for one, other in zip(steps, others)
            ]
        )
    return found


def settled(step, other):
    """Return the moves of two steps, without elements whose gradient is rounding, mostly.

    An optimizer that divides by the size of a gradient makes a whole step of it.
    """
    for one, two, gradient, weight in zip(moves(step), moves(other), other.gradients, other.before):
        # A step below the last digits of the weight is none, on both sides; infinity is one.
        sure = not max(norm_of(one), norm_of(two)) <= norm_of(np.spacing(np.abs(weight)))
        if gradient is not None and gradient.shape == one.shape:
            size = np.abs(gradient)
            least = SURE * np.sqrt(np.mean(size.astype("f8") ** 2))
            sure = sure & ((size == 0) | (size > least))
        yield one * sure, two * sure


def moves(step):
    """Return by how much each weight was moved by a step."""
    return [
        after.astype("c16" if after.dtype.kind == "c" else "f8") - before
        for before, after in zip(step.before, step.after)
    ]


def first_weights(start, trained):
    """Return the function that gives the weights before each step, where a record begins."""
    return lambda t, after: nudged(after if t else start[:trained], t)
