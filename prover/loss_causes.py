"""Why the loss differs, from the same weights and inputs."""

import itertools

from .arrays import np
from .differences import common_factor, factor_between, norm_of, relative_difference, wide
from .example_causes import (
    factor_of_examples,
    one_or_all_examples,
    other_examples_count,
    unused_input,
    weights_alone,
)
from .factor_causes import named_factor
from .reasons import listed_names, reason
from .summand_causes import other_summand, weighed_examples

TRIALS = 60  # weights and inputs that are tried otherwise


def array_of_losses(case):
    """The new loss is an array, whose gradient is that of its sum."""
    for name, was in case.old.steps[0].losses.items():
        now = case.new.steps[0].losses.get(name)
        if now is not None and np.ndim(now) > np.ndim(was):
            for word, value in (("mean", np.mean(wide(now))), ("sum", np.sum(wide(now)))):
                if relative_difference(value, was) < 1e-3:
                    what = f"the new loss is an array of shape {np.shape(now)}"
                    evidence = f"its {word} is the old loss"
                    return reason("sum-over-targets", evidence, "certain", what=what)
    return None


def loss_factor(case):
    """The loss is the old one times a number."""
    ratios = []
    for new, old in zip(case.new.steps, case.old.steps):
        for name, was in old.losses.items():
            now = new.losses.get(name)
            if np.shape(now) != np.shape(was) or not np.all(was):
                return None
            ratios.append(np.mean(wide(now)) / np.mean(wide(was)))
    return named_factor(case, ratios, "the loss")


def other_mode(case):
    """Averages that one side moves stay where they are on the other: the mode of the model."""
    start = case.old.start[len(case.old.trained) :]
    for mover, stayer, which in (
        (case.old, case.new, "the new one as in use, the old one as in training"),
        (case.new, case.old, "the new one as in training, the old one as in use"),
    ):
        names = [
            one.name
            for k, one in enumerate(case.old.others)
            if mover.steps[-1].state[k] is not None
            and stayer.steps[-1].state[k] is not None
            and relative_difference(mover.steps[-1].state[k], start[k]) > 1e-6
            and relative_difference(stayer.steps[-1].state[k], start[k]) < 1e-6
        ]
        if names:
            evidence = f"{listed_names(names)} moves on one side alone"
            return reason("training-flag", evidence, which=which)
    return None


def other_places(case):
    """With a weight transposed or negated, or two exchanged, the loss is the old one."""
    was = next(iter(case.old.steps[0].losses.values()))
    for key, name, change in undoings(case)[:TRIALS] if case.loss_with else ():
        now = case.loss_with(change)
        same = now is not None and relative_difference(now, was) <= case.tolerance["loss"][0, 0]
        if same and again_undone(case, change):
            evidence = "with that undone, the new loss is the old one"
            said = {"sign": "negated", "conjugate": "conjugated"}.get(key)
            return reason(key, evidence, "certain", said_as=said, name=name)
    return None


def again_undone(case, change):
    """Return whether what undoes the first loss undoes the second one, too: no chance."""
    if len(case.old.steps) < 2:
        return True
    step, rest = case.old.steps[1], case.old.start[len(case.old.trained) :]

    def second(*_):
        return change([*step.before, *rest], step.inputs)

    now = case.loss_with(second)
    was, other = (next(iter(side.steps[1].losses.values())) for side in (case.old, case.new))
    limit = max(case.tolerance["loss"][1, 0], 0.05 * relative_difference(other, was))
    return now is not None and relative_difference(now, was) <= limit


def undoings(case):
    """Return what may be undone: the cause, what it is called, and how the step is run then."""
    weights, inputs = case.old.trained, case.old.steps[0].inputs
    found = []

    def add(key, name, change, place=0):
        def changed(values, batch):
            both = [list(values), list(batch)]
            change(both[place])
            return both

        found.append((key, name, changed))

    def apply(k, function):
        def change(values):
            values[k] = function(values[k])

        return change

    def exchange(a, b):
        def change(values):
            values[a], values[b] = values[b], values[a]

        return change

    for k, one in enumerate(weights):
        for axes in equal_axes(one.shape):
            turn = apply(k, lambda value, axes=axes: np.swapaxes(value, *axes))
            add("transposed", one.name, turn)
    complex_parts = "Complex" in case.old.about["kinds"]
    shapes = [None, *(one.shape for one in weights), None]
    for k, one in enumerate(weights):
        if one.dtype.startswith("complex"):
            add("conjugate", one.name, apply(k, np.conj))
        part = complex_parts and one.shape in (shapes[k], shapes[k + 2])
        add("conjugate" if part else "sign", one.name, apply(k, np.negative))
    # Exchanged parts are the conjugate turned by a right angle, which a loss may not see.
    for a, b in itertools.combinations(range(len(weights)), 2):
        if weights[a].shape == weights[b].shape:
            add("exchanged", f"{weights[a].name} and {weights[b].name}", exchange(a, b))
    for k, one in enumerate(inputs):
        if one.dtype.kind == "c":
            add("conjugate", case.old.about["inputs"][k], apply(k, np.conj), 1)
        if one.dtype.kind == "f" and one.ndim and np.min(one) < 0 < np.max(one):
            add("sign", case.old.about["inputs"][k], apply(k, np.negative), 1)
    return found


def equal_axes(shape):
    """Return the pairs of axes that an array may exchange and keep its shape."""
    pairs = itertools.combinations(range(len(shape)), 2)
    return [(a, b) for a, b in pairs if shape[a] == shape[b] > 1]


def cut_and_rounded(case):
    """The loss is another, and gradients are missing on the new side: a cast or a rounding."""
    new, old = case.new.steps[0].gradients, case.old.steps[0].gradients
    alive = [[one is not None and np.any(one) for one in side] for side in (new, old)]
    cut = [k for k, (a, b) in enumerate(zip(*alive)) if b and not a]
    left = [k for k, a in enumerate(alive[0]) if a and cut and k > max(cut)]
    if not left:
        return None
    names = [one.name for one in case.old.trained]
    place = f"between {names[max(cut)]} and {names[min(left)]}"
    evidence = (
        f"{len(cut)} of {len(names)} gradients are missing there alone, and the loss is another"
    )
    return reason("stopped", evidence, place=place)


def added_weights(case):
    """The new gradient has a multiple of some weights more: a regularization."""
    new, old = case.new.steps[0], case.old.steps[0]
    pairs = [(k, a, b) for k, (a, b) in enumerate(zip(new.gradients, old.gradients))]
    pairs = [one for one in pairs if not any(g is None for g in one[1:])]
    common = common_factor(new.gradients, old.gradients)  # of what is clipped
    found, each = {}, False
    for k, a, b in pairs:
        limit = case.tolerance["gradient"][0, k]
        gap, w = wide(a) - common * wide(b), old.before[k]
        if norm_of(gap) <= limit * norm_of(b):
            continue
        if case.old.about["changed"] and np.size(b) > 3:
            if factor_between([a], [b])[1] < 1e-6:
                continue  # clipped by its own norm
            own = factor_across(a, b, w)
            gap, each = (wide(a) / own - wide(b), True) if own else (gap, each)
        factor, rest = share_of_rows(gap, w, old.rows[k])
        noise = 2 * limit * norm_of(b) / norm_of(gap)
        if rest > 0.02 + min(noise, 0.2):
            return None
        found[case.old.trained[k].name] = factor
    if not any(np.size(g) > 3 for k, g, _ in pairs if case.old.trained[k].name in found):
        return None  # of one number, any other one is a multiple
    name, factor = max(found.items(), key=lambda item: abs(item[1]))
    # Less of everything else looks like more of it, where gradients are clipped.
    more = sum(np.sum(one) for one in new.losses.values()) - sum(map(np.sum, old.losses.values()))
    if more * factor < 0 if case.kind == "loss" else common != 1.0 and not each:
        return None
    how = "the new loss has it in excess" if factor > 0 else "it is missing from the new loss"
    evidence = f"the gradient of {name} differs by {abs(factor):.4g} times the weight, or its sign"
    return reason("weight-decay", evidence, name=listed_names(found), how=how)


def factor_across(new, old, weight):
    """Return the factor of a matrix whose rows have shares of a weight's rows besides; or None."""
    if np.ndim(old) != 2 or min(np.shape(old)) < 3:
        return None
    with np.errstate(all="ignore"):
        along = wide(weight) / np.linalg.norm(wide(weight), axis=1, keepdims=True)
    sides = [wide(one) - along * np.sum(along * wide(one), 1, keepdims=True) for one in (new, old)]
    factor, rest = factor_between([sides[0]], [sides[1]])
    return float(np.real(factor)) if rest < 1e-4 and np.real(factor) > 0 else None


def share_of_rows(gap, weight, rows):
    """Return the multiple of a weight, or of its sign, that a gap is, and what it leaves.

    Rows that are looked up may have one of their own each, as often as they are used.
    """
    fits = [factor_between([gap], [w]) for w in (weight, np.sign(weight))]
    if np.ndim(gap) == 2 and min(gap.shape) > 2:
        sizes = np.linalg.norm(gap, axis=1)
        used = np.flatnonzero(sizes > 1e-3 * sizes.max())  # some may be looked up otherwise
        each = np.real([factor_between([gap[r]], [weight[r]])[0] for r in used])
        rest = gap.copy()
        rest[used] -= each[:, None] * wide(weight)[used]
        left = norm_of(rest) / norm_of(gap)
        if each.min() * each.max() > 0 and (rows is not None or left < 0.02):
            fits.append((each[np.argmax(np.abs(each))], left))
    factor, rest = min(fits, key=lambda fit: fit[1])
    return float(np.real(factor)), rest


def factor_of_a_part(case):
    """Some gradients are the old ones times a number: one term of the loss is."""
    found = {}
    for k, one in enumerate(case.old.trained):
        sides = [[s.gradients[k] for s in side.steps] for side in (case.new, case.old)]
        if np.prod(one.shape) < 4 or any(g is None or not np.any(g) for s in sides for g in s):
            continue
        fits = [factor_between([a], [b]) for a, b in zip(*sides)]
        factors = np.real([factor for factor, _ in fits])
        steady = np.ptp(factors) < 1e-3 * abs(factors.mean())
        if steady and max(rest for _, rest in fits) < 1e-3 and abs(factors.mean() - 1) > 5e-3:
            found[one.name] = factors
    if not found:
        return None
    factors = np.mean(list(found.values()), 0)
    return named_factor(case, factors, f"the gradient of {listed_names(found)}")


def factor_beside_decay(case):
    """Gradients are a factor times the old ones, and a share of each weight: one term has it."""
    factors = []
    for k in range(len(case.old.trained)):
        sides = [[s.gradients[k] for s in side.steps] for side in (case.new, case.old)]
        if any(g is None or not np.any(g) for s in sides for g in s):
            return None
        new, old = (np.concatenate([wide(one).ravel() for one in side]) for side in sides)
        weights = np.concatenate([wide(one.before[k]).ravel() for one in case.old.steps])
        if len(new) < 12 or new.dtype.kind == "c":
            continue
        both = np.stack([old, weights], 1)
        found = np.linalg.lstsq(both, new, None)[0]
        rounding = case.tolerance["gradient"][:, k].max() * norm_of(old)
        if norm_of(new - both @ found) > min(1e-3 * norm_of(new), 0.05 * norm_of(new - old)):
            if norm_of(new - old) < 20 * rounding:
                continue
            return None
        factors.append(found[0])
    if not factors or np.ptp(factors) > min(1e-3, 0.1 * abs(factors[0] - 1)) * abs(factors[0]):
        return None
    what = "each gradient, less that of a regularization,"
    return named_factor(case, np.full(len(case.old.steps), np.mean(factors)), what)


LOSS = (
    array_of_losses,
    weights_alone,
    other_examples_count,
    loss_factor,
    other_mode,
    other_places,
    other_summand,
    weighed_examples,
    cut_and_rounded,
    added_weights,
    factor_of_a_part,
    factor_beside_decay,
    factor_of_examples,
    unused_input,
    one_or_all_examples,
)
