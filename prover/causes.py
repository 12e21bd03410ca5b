"""Why the two differ: patterns that are measured, and named only where they fit."""

import itertools
from collections import namedtuple

from .arrays import np
from .differences import factor_between, relative_difference, wide
from .passes import moves
from .rules import best_fit, corrections, fitted, sampled, single_changes

FIT = 2e-3  # how much of a difference a pattern may leave unexplained
ROUNDED = 5e-5  # what rounding in the bias correction may make of a rate
REPLICAS = (2, 3, 4, 8, 16)


class Cause(namedtuple("Cause", "key sure text evidence page")):
    """A likely cause: its key, how sure it is, in words, what was measured, and the page."""


def likely_cause(case):
    """Return the `Cause` of what differs first, or None where nothing fits."""
    looked = {
        "loss": LOSS,
        "gradient": GRADIENT,
        "step": STEP,
        "state": STATE,
    }[case.kind]
    for look in looked:
        cause = look(case)
        if cause:
            return cause
    return None


def steps_that_differ(case):
    """Return the numbers of the steps in which this kind differs."""
    return [t for t, row in enumerate(case.wrong[case.kind]) if row.any()]


def fits(rest, case, times=1):
    """Return whether what a pattern leaves over is small beside the difference itself."""
    apart = case.apart[case.kind]
    some = apart[np.isfinite(apart) & case.wrong[case.kind]]
    return rest <= times * max(FIT * min(float(np.max(some, initial=0)), 1), 2e-6)


# ------------------------------------------------------------------ loss


def loss_factor(case):
    """The loss is the old one times a constant, or times a number that the inputs give."""
    ratios = []
    for new, old in zip(case.new.steps, case.old.steps):
        for name, was in old.losses.items():
            now = np.asarray(new.losses.get(name))
            if now.shape != np.shape(was) or not np.all(was):
                return None
            ratios.append(np.ravel(wide(now) / wide(was)))
    ratios = np.concatenate(ratios)
    return named_factor(case, ratios, "the loss")


def named_factor(case, ratios, what):
    """Return the cause of a factor that is the same in each step, or goes with the inputs."""
    if not len(ratios) or not np.all(np.isfinite(ratios)) or not np.all(ratios):
        return None
    ratios = np.real(ratios)
    steps = case.old.steps
    factor = float(np.mean(ratios))
    if np.ptp(ratios) > abs(factor) * 1e-4:
        if len(ratios) == len(steps):
            return weights_factor(case, ratios, what)
        return None
    evidence = "%s is %.6g times the old one in each of %d steps" % (what, factor, len(steps))
    if abs(factor - 1) < 1e-3:
        return None
    whole = factor if abs(factor) > 1 else 1 / factor
    number = int(round(abs(whole)))
    near = number > 1 and abs(abs(whole) - number) < 1e-3 * number
    sizes = sizes_of(case)
    if factor < 0:
        return Cause("sign", "likely", "The sign is the other one.", evidence, "")
    if near and number in sizes:
        return Cause(
            "batch-factor",
            "likely",
            "One side takes the mean where the other takes the sum (%d is %s)."
            % (number, sizes[number]),
            evidence,
            "explanation/sum-over-targets/",
        )
    if near and number in REPLICAS:
        return Cause(
            "replica-factor",
            "likely",
            "One side counts each of %d replicas (towers)." % number,
            evidence,
            "how-to/replicas/",
        )
    if near and number >= 32 and number & (number - 1) == 0:
        return Cause(
            "loss-scale",
            "likely",
            "A loss scale of %d was not taken off." % number,
            evidence,
            "how-to/mixed-precision/",
        )
    return weights_factor(case, ratios, what)


def sizes_of(case):
    """Return the sizes that a mean could divide by, and what they are."""
    found = {}
    for name, value in zip(case.old.about["inputs"], case.old.steps[0].inputs):
        shape = np.shape(value)
        if len(shape) > 1:
            found[int(np.prod(shape[1:]))] = f"the number of elements of an example of {name}"
            found[int(np.prod(shape))] = f"the number of elements of {name}"
    for one in case.old.trained:
        for size in one.shape[-1:]:
            found.setdefault(int(size), f"a size of {one.name}")
    for name, value in zip(case.old.about["inputs"], case.old.steps[0].inputs):
        for size in np.shape(value)[1:]:
            found[int(size)] = f"a size of {name}"
    for name, value in zip(case.old.about["inputs"], case.old.steps[0].inputs):
        for size in np.shape(value)[:1]:
            found[int(size)] = f"the batch size, of {name}"
    return found


def weights_factor(case, ratios, what):
    """The factor goes with the sum of an input: weights of examples."""
    ratios = ratios[: len(case.old.steps)]
    for k, name in enumerate(case.old.about["inputs"]):
        values = [wide(one.inputs[k]) for one in case.old.steps]
        if any(one.ndim < 1 or one.dtype.kind == "c" for one in values):
            continue
        for label, number in (
            ("mean", [np.mean(one) for one in values]),
            ("sum", [np.sum(one) for one in values]),
            ("share of numbers that are not zero", [np.mean(one != 0) for one in values]),
            ("count of numbers that are not zero", [np.sum(one != 0) for one in values]),
        ):
            number = np.array(number, "f8")
            if not np.all(number) or np.allclose(number, np.round(number[0]), 1e-9):
                continue
            for power in (1, -1):
                if np.ptp(ratios / number**power) < 1e-4 * np.abs(ratios[0] / number[0] ** power):
                    constant = float(np.mean(ratios / number**power))
                    if np.ptp(number) > 1e-3 * abs(number[0]) or abs(constant - 1) < 1e-3:
                        return Cause(
                            "sample-weights",
                            "likely",
                            f"Weights of examples ({name}) are left out, or normalised otherwise.",
                            f"{what} goes with the {label} of {name}",
                            "explanation/sum-over-targets/",
                        )
    return None


def loss_of_each_example(case):
    """The new loss is an array, whose gradient is that of its sum."""
    for name, was in case.old.steps[0].losses.items():
        now = case.new.steps[0].losses.get(name)
        if now is not None and np.ndim(now) > np.ndim(was):
            mean, total = np.mean(wide(now)), np.sum(wide(now))
            if relative_difference(mean, was) < 1e-3 or relative_difference(total, was) < 1e-3:
                return Cause(
                    "sum-over-targets",
                    "certain",
                    f"The new loss is an array of shape {np.shape(now)}, and its gradient that of the sum.",
                    "its %s is the old loss"
                    % ("sum" if abs(total - was) < abs(mean - was) else "mean"),
                    "explanation/sum-over-targets/",
                )
    return None


def added_weights(case):
    """The new gradient has a multiple of each weight more, or less: a regularization."""
    t = 0
    new, old = case.new.steps[t], case.old.steps[t]
    found = {}
    for k, one in enumerate(case.old.trained):
        a, b, w = new.gradients[k], old.gradients[k], old.before[k]
        if a is None or b is None or not np.any(w):
            continue
        gap = wide(a) - wide(b)
        if relative_difference(a, b) <= case.tolerance["gradient"][t, k]:
            continue
        factor, rest = factor_between([gap], [w])
        if rest > 0.02 + case.tolerance["gradient"][t, k] / relative_difference(a, b):
            sign, rest = factor_between([gap], [np.sign(w)])
            if rest > 0.02:
                return None
            factor = sign
        found[one.name] = float(np.real(factor))
    if not found:
        return None
    (name, factor) = max(found.items(), key=lambda item: abs(item[1]))
    return Cause(
        "weight-decay",
        "likely",
        "A regularization (weight decay) is {} the new loss, for {}.".format(
            "in excess in" if factor > 0 else "missing from", ", ".join(sorted(found))
        ),
        "the gradient of {} has {:.4g} times the weight {}".format(
            name, abs(factor), "more" if factor > 0 else "less"
        ),
        "how-to/optimizer-steps/",
    )


def other_weights(case):
    """The loss is the old one with a weight transposed, or two of them exchanged."""
    weights = case.old.trained
    if not case.loss_with:
        return None
    was = list(case.old.steps[0].losses.values())[0]
    trials = [
        ("transposed", (k,), lambda values, k=k: values[k].T)
        for k, one in enumerate(weights)
        if len(one.shape) == 2 and one.shape[0] == one.shape[1] > 1
    ]
    trials += [
        ("exchanged", pair, None)
        for pair in itertools.combinations(range(len(weights)), 2)
        if weights[pair[0]].shape == weights[pair[1]].shape
    ]
    for key, places, turn in trials[:40]:

        def change(values, inputs, places=places, turn=turn):
            values = list(values)
            if turn:
                values[places[0]] = turn(values)
            else:
                a, b = places
                values[a], values[b] = values[b], values[a]
            return values, inputs

        now = case.loss_with(change)
        if now is not None and relative_difference(now, was) <= case.tolerance["loss"][0, 0]:
            names = " and ".join(weights[k].name for k in places)
            return Cause(
                key,
                "certain",
                "{} {} {}.".format(names, "are" if len(places) > 1 else "is", key),
                "with that undone, the new loss is the old one",
                "",
            )
    return None


def without_training_mode(case):
    """Averages that the old step moves stay where they are: batch normalization as in use."""
    old, new = case.old, case.new
    start = old.start[len(old.trained) :]
    still = [
        one.name
        for k, one in enumerate(old.others)
        if new.steps[0].state[k] is not None
        and relative_difference(old.steps[-1].state[k], start[k]) > 1e-6
        and relative_difference(new.steps[-1].state[k], start[k]) < 1e-6
    ]
    if still:
        return Cause(
            "training-flag",
            "likely",
            "The new model runs as in use, not as in training: call it with training=True.",
            "the old step moves {}, the new one does not".format(", ".join(still[:2])),
            "how-to/surprising-numbers/",
        )
    moving = [
        one.name
        for k, one in enumerate(old.others)
        if new.steps[0].state[k] is not None
        and relative_difference(old.steps[-1].state[k], start[k]) < 1e-6
        and relative_difference(new.steps[-1].state[k], start[k]) > 1e-6
    ]
    if moving:
        return Cause(
            "training-flag",
            "likely",
            "The new model runs as in training; the old one did not.",
            "the new step moves {}, the old one does not".format(", ".join(moving[:2])),
            "how-to/surprising-numbers/",
        )
    return None


def unused_input(case):
    """An input has no effect on the new loss."""
    if not case.loss_with:
        return None
    for k, name in enumerate(case.old.about["inputs"]):
        value = case.old.steps[0].inputs[k]
        if value.dtype.kind != "f" or not np.ptp(value):
            continue

        def change(weights, inputs, k=k):
            inputs = list(inputs)
            inputs[k] = (inputs[k] * 1.5 + 0.25).astype(inputs[k].dtype)
            return weights, inputs

        def same(weights, inputs):
            return weights, inputs

        now, was = case.loss_with(change), case.loss_with(same)
        if now is not None and np.array_equal(now, was):
            return Cause(
                "sample-weights" if value.ndim < 3 and value.size <= 2 * len(value) else "forward",
                "likely",
                f"The new step does not use the input {name}.",
                "with other numbers in it, the new loss stays the same",
                "",
            )
    return None


def other_forward(case):
    """Nothing else fits: the forward pass is another one."""
    return Cause(
        "forward",
        "likely",
        "The forward pass or the loss computes something else: a constant, an activation, padding.",
        "from the same weights and inputs the loss is another, and no factor, order or "
        "regularization explains it",
        "",
    )


# ------------------------------------------------------------------ gradient


def frozen_weights(case):
    """A weight that was trained is not trainable in the new program."""
    names = [case.old.weights[k].name for k in case.new.about["frozen"]]
    if names:
        return Cause(
            "not-trained",
            "certain",
            "{} cannot be trained in the new program: trainable is False.".format(", ".join(names)),
            "the variable says so",
            "how-to/some-variables/",
        )
    return None


def missing_gradients(case):
    """Gradients are None or zero on one side alone."""
    new, old = case.new.steps[case.t].gradients, case.old.steps[case.t].gradients
    names = [one.name for one in case.old.trained]
    none, cut, uncut = [], [], []
    for k, (a, b) in enumerate(zip(new, old)):
        if case.wrong["gradient"][case.t, k]:
            if not any(np.any(one) for one in (a, b) if one is not None):
                none.append(k)
            elif a is None or not np.any(a):
                cut.append(k)
            elif b is None or not np.any(b):
                uncut.append(k)
    if cut:
        rest = [k for k in range(len(names)) if k not in cut and np.any(new[k])]
        what = "None" if new[cut[0]] is None else "zero"
        behind = [k for k in rest if k > max(cut)]
        text = "The gradient stops before it reaches {}.".format(
            ", ".join(names[k] for k in cut[:4])
        )
        if behind and not [k for k in rest if k < max(cut)]:
            text = f"The gradient stops between {names[max(cut)]} and {names[behind[0]]}."
        return Cause(
            "stopped",
            "likely",
            text + " Look for NumPy, tf.stop_gradient, a cast, a rounding, or a tensor made "
            "outside of the tape.",
            "%d of %d gradients are %s, the old ones are not" % (len(cut), len(names), what),
            "how-to/none/",
        )
    if uncut:
        return Cause(
            "stopped",
            "likely",
            "The old gradient stops before {}, the new one does not.".format(
                ", ".join(names[k] for k in uncut[:4])
            ),
            "%d gradients are None or zero in the old program alone" % len(uncut),
            "parameters/stop_gradients/",
        )
    if none:
        sides = ["None" if side[none[0]] is None else "zeros" for side in (old, new)]
        return Cause(
            "zeros-for-none",
            "certain",
            "{}: the old gradient is {}, the new one {}.".format(names[none[0]], *sides),
            "the numbers are the same otherwise",
            "parameters/unconnected_gradients/",
        )
    return None


def exchanged_gradients(case):
    """Two weights have each other's gradients, or steps; or one its transpose."""
    new, old = (
        [one.gradients for one in side.steps]
        if case.kind == "gradient"
        else list(map(moves, side.steps))
        for side in (case.new, case.old)
    )
    bad = np.flatnonzero(case.wrong[case.kind][case.t])
    names, limit = [one.name for one in case.old.trained], case.tolerance[case.kind][case.t]

    def equal(a, b, k):
        return (
            a is not None
            and b is not None
            and np.shape(a) == np.shape(b)
            and relative_difference(a, b) <= max(limit[k], 1e-6)
            and np.any(b)
        )

    for a, b in itertools.combinations(bad, 2):
        if equal(new[case.t][a], old[case.t][b], b) and equal(new[case.t][b], old[case.t][a], a):
            return Cause(
                "exchanged",
                "certain",
                f"{names[a]} and {names[b]} have each other's {case.kind}: look at the order in zip(gradients, variables).",
                "each is the other's to rounding",
                "how-to/some-variables/",
            )
    for k in bad:
        if np.ndim(old[case.t][k]) == 2 and equal(new[case.t][k], old[case.t][k].T, k):
            return Cause(
                "transposed",
                "certain",
                f"The {case.kind} of {names[k]} is the transpose of the old one.",
                "transposed, it is the old one to rounding",
                "",
            )
    return None


def conjugate_gradients(case):
    """The new gradient is the complex conjugate."""
    new, old = case.new.steps[case.t].gradients, case.old.steps[case.t].gradients
    for k in np.flatnonzero(case.wrong["gradient"][case.t]):
        if old[k] is None or new[k] is None or old[k].dtype.kind != "c":
            return None
        if relative_difference(new[k], np.conj(old[k])) > max(
            case.tolerance["gradient"][case.t, k], 1e-6
        ):
            return None
    return Cause(
        "conjugate",
        "certain",
        "The gradient is the complex conjugate of the old one.",
        "conjugated, it is the old one to rounding",
        "how-to/surprising-numbers/",
    )


def repeated_rows(case):
    """Only rows differ that are used more than once."""
    new, old = case.new.steps[case.t], case.old.steps[case.t]
    bad = np.flatnonzero(case.wrong[case.kind][case.t])
    names = [one.name for one in case.old.trained]
    for k in bad:
        pair = (
            (new.gradients, old.gradients) if case.kind == "gradient" else (moves(new), moves(old))
        )
        a, b = pair[0][k], pair[1][k]
        rows = old.rows[k]
        if rows is None:
            rows = next((v for v in old.inputs if v.dtype.kind in "iu" and v.size), None)
        if a is None or b is None or np.ndim(b) < 2 or rows is None:
            return None
        gap = np.abs(wide(a) - wide(b)).reshape(len(b), -1).max(1)
        size = np.abs(wide(b)).max() or 1
        differ = set(np.flatnonzero(gap > max(1e-6, case.tolerance[case.kind][case.t, k]) * size))
        numbers, counts = np.unique(rows, return_counts=True)
        twice = {int(n) for n, count in zip(numbers, counts) if count > 1}
        if not differ or not differ <= twice:
            return None
    return Cause(
        "repeated-rows",
        "likely",
        f"Rows of {names[bad[0]]} that are used more than once are not added up.",
        "%d rows differ, and each of them is used more than once" % len(differ),
        "tape/gradient/",
    )


def gradient_factors(case):
    """Each gradient is the old one times a number."""
    bad = sorted(
        {k for t in steps_that_differ(case) for k in np.flatnonzero(case.wrong["gradient"][t])}
    )
    factors = {}
    for t in range(len(case.old.steps)):
        new, old = case.new.steps[t].gradients, case.old.steps[t].gradients
        for k in bad:
            if new[k] is None or old[k] is None:
                return None
            factor, rest = factor_between([new[k]], [old[k]])
            if not fits(rest, case) and rest > 3 * case.tolerance["gradient"][t, k]:
                return None
            factors[t, k] = float(np.real(factor))
    every = [
        k
        for k in range(len(case.old.trained))
        if case.old.steps[0].gradients[k] is not None
        and np.any(case.old.steps[0].gradients[k])
        and case.tolerance["gradient"][0, k] < 0.1
    ]
    by_step = np.array([[factors[t, k] for k in bad] for t in range(len(case.old.steps))])
    clip = clipped_side(case)
    if clip:
        return clip
    if np.ptp(by_step) <= 1e-3 * abs(by_step.mean()) or np.all(
        np.ptp(by_step, 1) <= 1e-3 * np.abs(by_step.mean(1))
    ):
        if set(every) <= set(bad):
            return named_factor(case, by_step.mean(1), "each gradient")
    constant = np.all(np.ptp(by_step, 0) <= 2e-3 * np.abs(by_step.mean(0)))
    if constant and not set(every) <= set(bad):
        rest = [k for k in every if k not in bad]
        names = [one.name for one in case.old.trained]
        return Cause(
            "sign",
            "likely",
            f"A rule for the gradient between {names[bad[-1]]} and {names[rest[0]]} is left out or another: a reversal, an "
            "override or a custom gradient.",
            f"the gradient of {names[bad[0]]} is {by_step[0, 0]:.4g} times the old one, that of {names[rest[0]]} the same",
            "old-api/custom-gradients/",
        )
    return None


def clipped_side(case):
    """One side's gradients have a norm, or a largest value, that stays the same."""
    for label, side, other in (("new", case.new, case.old), ("old", case.old, case.new)):
        few = steps_that_differ(case)
        values = [[g for g in side.steps[t].gradients if g is not None] for t in few]
        rest = [[g for g in other.steps[t].gradients if g is not None] for t in few]
        norms = [[np.linalg.norm(wide(g).ravel()) for g in row] for row in values]
        freer = [[np.linalg.norm(wide(g).ravel()) for g in row] for row in rest]
        tops = [[np.abs(g).max() for g in row] for row in values]
        count = len(norms[0])
        subsets = [tuple(range(count))] + [
            one
            for size in range(1, min(count, 12))
            for one in itertools.combinations(range(count), size)
        ][:4000]
        steady = 1e-5
        for some in subsets:
            whole = [np.sqrt(sum(row[k] ** 2 for k in some)) for row in norms]
            open_ = [np.sqrt(sum(row[k] ** 2 for k in some)) for row in freer]
            if (
                len(few) > 1
                and np.ptp(whole) < steady * whole[0]
                and np.ptp(open_) > 1e-3 * open_[0]
            ):
                which = (
                    "all variables"
                    if len(some) == count
                    else "%d of %d variables" % (len(some), count)
                )
                return Cause(
                    "clipping",
                    "likely",
                    f"Gradients are clipped on the {label} side, or otherwise than on the other.",
                    "there the norm of %s is %.6g in each of %d steps"
                    % (which, whole[0], len(few)),
                    "how-to/clip-gradients/",
                )
        largest = [max(row) for row in tops]
        if len(few) > 1 and np.ptp(largest) < 1e-6 * largest[0]:
            return Cause(
                "clipping",
                "likely",
                f"Gradients are clipped by value on the {label} side.",
                "there the largest is %.6g in each of %d steps" % (largest[0], len(few)),
                "how-to/clip-gradients/",
            )
    return None


def sum_of_losses(case):
    """The new gradient is the sum of those of several losses."""
    old = case.old.steps[case.t]
    count = len(old.losses)
    if count < 2 or not old.terms:
        return None
    size = len(old.gradients)
    for k in np.flatnonzero(case.wrong["gradient"][case.t]):
        terms = [old.terms[number * size + k] for number in range(count)]
        terms = [one for one in terms if one is not None]
        new = case.new.steps[case.t].gradients[k]
        if new is None or len(terms) < 2 or relative_difference(new, sum(map(wide, terms))) > 1e-4:
            return None
    return Cause(
        "sum-over-targets",
        "certain",
        "The gradient is that of the sum of {}.".format(", ".join(old.losses)),
        "the gradients of each, added up, are the new ones",
        "explanation/sum-over-targets/",
    )


def first_order(case):
    """The old loss is computed from a gradient, and the new one is not differentiated through."""
    if not case.old.about["through_gradient"]:
        return None
    return Cause(
        "first-order",
        "possible",
        "The old program differentiates through a gradient, the new one seems not to: the inner "
        "gradient is taken outside of the outer tape, or assigned to a variable, or stopped.",
        "the loss is the same, and it is computed from a gradient",
        "how-to/train-through-a-gradient/",
    )


def partly_stopped(case):
    """From some layer back all gradients differ, those after it do not."""
    bad = np.flatnonzero(case.wrong["gradient"][case.t])
    every = [
        k for k, g in enumerate(case.old.steps[case.t].gradients) if g is not None and np.any(g)
    ]
    good = [k for k in every if k not in bad and case.tolerance["gradient"][case.t, k] < 0.1]
    names = [one.name for one in case.old.trained]
    if good and max(bad) < min(good):
        return Cause(
            "stopped",
            "possible",
            f"Between {names[max(bad)]} and {names[min(good)]} one of several ways of the gradient is cut or changed.",
            "all gradients up to there differ, those after it do not",
            "how-to/none/",
        )
    return None


# ------------------------------------------------------------------ step


def not_trained(case):
    """A weight stays where it is on one side."""
    for label, one, other in (("new", case.new, case.old), ("old", case.old, case.new)):
        still = [
            k
            for k in range(len(case.old.trained))
            if all(not np.any(moves(step)[k]) for step in one.steps)
            and any(np.any(moves(step)[k]) for step in other.steps)
        ]
        if still:
            names = ", ".join(case.old.trained[k].name for k in still)
            return Cause(
                "not-trained",
                "certain",
                f"The {label} step does not train {names}: it is not in the list that the optimizer gets.",
                "it stays where it is in each of %d steps" % len(one.steps),
                "how-to/some-variables/",
            )
    return None


def other_rule(case):
    """The optimizer's rule, one of its constants, or its rate."""
    old, new = case.old, case.new
    chosen = [
        k
        for k in range(len(old.trained))
        if all(
            one.gradients[k] is not None and one.gradients[k].dtype.kind == "f" for one in old.steps
        )
        and np.any(old.steps[0].gradients[k])
        and np.all(case.tolerance["gradient"][:, k] < 1e-2)
    ]
    if not chosen:
        return None
    sample, take = sampled(old, chosen)
    if len(sample.which) < 3:
        return None
    before, after = take(old.steps), take(new.steps)
    whole = [factor_between([a], [b]) for a, b in zip(after, before)]
    factors = np.array([factor for factor, _ in whole])
    apart = max(relative_difference(a, b) for a, b in zip(after, before))
    rounding = float(np.median(case.tolerance["step"][:, chosen]))
    enough = np.hypot(0.05 * apart, rounding)
    close = max(3 * rounding, min(0.02 * apart, 1e-3))
    was = best_fit(sample, before, close)
    if max(rest for _, rest in whole) <= enough:
        return named_rates(case, factors, was)
    if was.rest <= max(close, min(0.2 * apart, 5e-3)):
        unchanged = fitted(was.rule, sample, after)
        cause = changed_rule(was, unchanged, single_changes(was, sample, after), min(enough, 5e-3))
        if cause:
            return cause
        cause = added_decay(after, before, sample)
        if cause:
            return cause
        now = best_fit(sample, after, close)
        if now.rest <= max(close, 5e-3) and now.rule.name == was.rule.name:
            return changed_constants(was, now, sample, after)
        if now.rest <= max(close, 5e-3):
            return Cause(
                "optimizer",
                "likely",
                f"The old step is that of {was.rule.name}, the new one that of {now.rule.name}.",
                f"{was.rule.name} leaves {unchanged.rest:.2g} of the new steps unexplained, {now.rule.name} {now.rest:.2g}",
                "how-to/optimizer-steps/",
            )
    return None


def changed_rule(was, unchanged, found, enough):
    """Return the cause that one constant of the rule is another, if one alone explains it."""
    order = sorted(found.items(), key=lambda item: item[1].rest)
    name, best = order[0]
    if best.rest > 0.2 * unchanged.rest or best.rest > np.hypot(enough, was.rest) * 2:
        return None
    near = [KEYS[n] for n, one in order[1:] if one.rest < 1.5 * best.rest]
    if set(near) - {KEYS[name]}:
        return None
    return rule_cause([name], was, best, unchanged.rest)


def changed_constants(was, now, sample, steps):
    """Return the cause that several constants of the rule are others: those that are needed."""
    best, effects = now, {}
    for name in KEYS:
        if getattr(now.rule, name) != getattr(was.rule, name):
            back = best.rule._replace(**{name: getattr(was.rule, name)})
            fit = fitted(back, sample, steps)
            if fit.rest <= 2 * now.rest + 1e-6:  # nothing depends on it: it need not be named
                best = fit
            else:
                effects[name] = fit.rest
    names = sorted(effects, key=effects.get, reverse=True)
    return rule_cause(names, was, best, fitted(was.rule, sample, steps).rest) if names else None


KEYS = {
    "beta": "beta",
    "rho": "beta",
    "epsilon": "epsilon",
    "place": "epsilon",
    "start": "accumulator-start",
    "nesterov": "momentum",
    "clip": "clipping",
    "decay": "weight-decay",
}


def rule_cause(names, was, best, unchanged):
    """Return the cause that constants of the optimizer are others, the most telling one first."""
    adam = was.rule.name == "Adam"
    words = {
        "beta": "beta_1" if adam else "momentum",
        "rho": "beta_2" if adam else "rho",
        "place": "place of epsilon, of the root",
        "start": "start of the accumulator",
        "clip": "clipping",
        "decay": "weight decay in the gradient",
    }
    parts = []
    for name in names:
        old, new = (
            value if isinstance(value, (str, bool)) else f"{value:.6g}"
            for value in (getattr(was.rule, name), getattr(best.rule, name))
        )
        if name == "clip":
            old, new = (
                f"{r.clip} {r.bound:.4g}" if r.clip != "none" else "none"
                for r in (was.rule, best.rule)
            )
        parts.append(f"{words.get(name, name)}: {old} in the old step, {new} in the new one")
    key = "momentum" if names[0] == "beta" and not adam else KEYS[names[0]]
    return Cause(
        key,
        "likely",
        "{} with another constant. {}.".format(was.rule.name, "; ".join(parts).capitalize()),
        "{:.2g} of the new steps stays unexplained with {}, {:.2g} without".format(
            best.rest, "them" if len(names) > 1 else "it", unchanged
        ),
        "how-to/optimizer-steps/",
    )


def named_rates(case, factors, was):
    """Return the cause of steps that are the old ones times a number."""
    first, spread = factors[0], np.ptp(factors)
    page = "how-to/optimizer-steps/"
    said = "the new steps are {} times the old ones".format(
        ", ".join(f"{one:.5g}" for one in factors)
    )
    if spread <= 0.02 * abs(first - 1) + ROUNDED:
        return Cause(
            "learning-rate",
            "likely",
            f"The learning rate is {first:.6g} times the old one.",
            said,
            page,
        )
    if was.rule.name == "Adam":
        expected = np.array(corrections(was.rule, len(factors)))
        for power in (1, -1):
            rest = factors / expected**power
            if np.ptp(rest) < 1e-3 * abs(rest[0]):
                return Cause(
                    "bias-correction",
                    "likely",
                    "Adam's bias correction is left out on the %s side."
                    % ("new" if power < 0 else "old"),
                    said,
                    page,
                )
    sizes = [
        [np.sqrt(sum(np.sum(wide(m) ** 2) for m in moves(one))) for one in side.steps]
        for side in (case.new, case.old)
    ]
    for label, mine, other in (("new", *sizes), ("old", *sizes[::-1])):
        if np.ptp(mine) < 1e-4 * mine[0] and np.ptp(other) > 1e-3 * other[0]:
            return Cause(
                "clipping",
                "likely",
                f"The {label} step clips by the global norm, or by another.",
                f"its steps all have the same norm, {mine[0]:.5g}",
                "how-to/clip-gradients/",
            )
    return Cause(
        "schedule",
        "likely",
        "The learning rate follows another schedule, or counts its steps otherwise.",
        said,
        page,
    )


def added_decay(new, old, sample):
    """Return the cause that each step takes a share of the weight off."""
    gaps = [a - b for a, b in zip(new, old)]
    shares, rests = zip(*(factor_between([a], [b]) for a, b in zip(gaps, sample.weights)))
    if max(rests) < 0.05:
        return Cause(
            "weight-decay",
            "likely",
            "The weight decay is another.",
            "the new step takes {:.4g} of each weight {}".format(
                abs(shares[0]), "less" if shares[0] > 0 else "more"
            ),
            "how-to/optimizer-steps/",
        )
    return None


# ------------------------------------------------------------------ state


def other_averages(case):
    """Averages move at another pace."""
    old, new, trained = case.old, case.new, len(case.old.trained)
    k = int(np.flatnonzero(case.wrong["state"][case.t])[0])
    name, start = old.others[k].name, wide(old.start[trained + k])
    now, was = (wide(side.steps[0].state[k]) - start for side in (new, old))
    factor, rest = factor_between([now], [was]) if np.any(was) else (np.inf, 1)
    weights = "ExponentialMovingAverage" in name
    evidence = "{} is apart by {:.2g}".format(name, case.apart["state"][case.t, k])
    if rest < 1e-3:
        evidence = f"in the first step {name} moves {factor:.5g} times as far"
    return Cause(
        "moving-average" if weights else "batch-norm-average",
        "likely",
        f"The average {name} moves at another pace: another momentum, updated twice or never, or the "
        "variance of a batch with or without Bessel's correction.",
        evidence,
        "how-to/surprising-numbers/",
    )


LOSS = (
    loss_of_each_example,
    loss_factor,
    without_training_mode,
    other_weights,
    added_weights,
    unused_input,
    other_forward,
)
GRADIENT = (
    frozen_weights,
    missing_gradients,
    exchanged_gradients,
    conjugate_gradients,
    sum_of_losses,
    repeated_rows,
    gradient_factors,
    added_weights,
    clipped_side,
    first_order,
    partly_stopped,
)
STEP = (not_trained, exchanged_gradients, repeated_rows, other_rule)
STATE = (other_averages,)
