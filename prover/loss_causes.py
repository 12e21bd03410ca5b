"""Why the loss differs, from the same weights and inputs."""

import itertools

from .arrays import np
from .differences import common_factor, factor_between, norm_of, relative_difference, wide
from .reasons import listed_names, reason
from .record import equal_examples

REPLICAS = (2, 4, 8, 16)
TRIALS = 40  # orders of weights that are tried


def array_of_losses(case):
    """The new loss is an array, whose gradient is that of its sum."""
    for name, was in case.old.steps[0].losses.items():
        now = case.new.steps[0].losses.get(name)
        if now is not None and np.ndim(now) > np.ndim(was):
            for word, value in (
                ("mean", np.mean(wide(now))),
                ("sum", np.sum(wide(now))),
            ):
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


def named_factor(case, ratios, what, sizes=None):
    """Return the cause of a factor that is the same in each step, or goes with the inputs.

    A mean instead of a sum is looked for among `sizes`, those of the inputs if left out.
    """
    sizes = sizes_of_inputs(case) if sizes is None else sizes
    ratios = np.real(ratios)
    factor, steps = float(np.mean(ratios)), len(case.old.steps)
    if steps < 2 or not np.all(np.isfinite(ratios)) or not np.all(ratios):
        return None
    if np.ptp(ratios) > 1e-4 * abs(factor):
        return weights_factor(case, ratios, what)
    evidence = f"{what} is {factor:.6g} times the old one in each of {steps} steps"
    if factor < 0:
        return reason("sign", evidence, place=what.capitalize())
    whole = max(factor, 1 / factor)
    less = [size for size in sizes if size > 2 and abs(whole - size / (size - 1)) < 1e-5]
    if less:
        what = sizes[less[0]]
        return reason("batch-factor", evidence, said_as="one-less", number=less[0], what=what)
    number = round(whole)
    if number < 2 or abs(whole - number) > 1e-3 * number:
        return weights_factor(case, ratios, what) or other_divisor(case, ratios, evidence)
    if number in sizes:
        return reason("batch-factor", evidence, number=number, what=sizes[number])
    if number in REPLICAS and not weights_factor(case, ratios, what):
        return reason("replica-factor", evidence, number=number)
    if number >= 32 and number & (number - 1) == 0:
        return reason("loss-scale", evidence, number=number)
    batches = [size for size, said in sizes.items() if "batch size" in said and size > 2]
    for size in batches:
        if number % size == 0:
            what = f"{number // size} times {sizes[size]}"
            return reason("batch-factor", evidence, number=number, what=what)
    return weights_factor(case, ratios, what)


def other_divisor(case, ratios, evidence):
    """A factor near 1 that never changes: the mean divides by a little more, or a little less."""
    factor, rounding = np.mean(ratios), case.tolerance["loss"]
    near = 5 * np.median(rounding) < abs(factor - 1) < 0.1
    spread = max(0.05 * abs(factor - 1), 2 * rounding.max())
    if case.kind != "loss" or not near or np.ptp(ratios) > spread:
        return None
    number = f"{1 / factor:.6g}"
    return reason("batch-factor", evidence, "possible", said_as="divisor", number=number)


def sizes_of_inputs(case):
    """Return the numbers by which a mean could divide, and what they are."""
    found = {}
    shapes = [np.shape(one) for one in case.old.steps[0].inputs]
    for name, shape in zip(case.old.about["inputs"], shapes):
        if shape:
            found.setdefault(shape[0], f"the batch size, of {name}")
            found.setdefault(int(np.prod(shape)), f"the number of elements of {name}")
            for size in (*shape[1:], int(np.prod(shape[1:]))):
                if size not in REPLICAS:
                    found.setdefault(size, f"a size of {name}")
    for name, shape in zip(case.old.about["inputs"], shapes):
        if len(shape) > 1 and shape[-1] - 1 not in REPLICAS:  # one predicts the next of them
            found.setdefault(shape[-1] - 1, f"a size of {name}, less one")
    return found


def weights_factor(case, ratios, what):
    """The factor goes with the mean or the sum of an input: weights of examples."""
    if len(ratios) != len(case.old.steps):
        return None
    limit = min(1e-4, 0.05 * abs(ratios[0] - 1))  # where the mean is 1, it explains nothing
    for k, name in enumerate(case.old.about["inputs"]):
        first = case.old.steps[0].inputs[k]
        values = [wide(one.inputs[k]) for one in case.old.steps]
        vector = first.ndim and first.size == len(first) and first.dtype.kind == "f"
        if not vector or min(one.min() for one in values) < 0:
            continue
        for label, numbers in (
            ("mean", [one.mean() for one in values]),
            ("sum", [one.sum() for one in values]),
            ("share that is not zero", [np.mean(one != 0) for one in values]),
            ("count that is not zero", [np.sum(one != 0) for one in values]),
            ("mean of those not zero", [one[one != 0].mean() for one in values]),
        ):
            for power in (1, -1):
                rest = ratios / np.array(numbers, "f8") ** power
                steady = np.ptp(rest) < 1e-4 * abs(rest[0])
                if steady and (np.ptp(ratios) > 1e-3 * abs(ratios[0]) or abs(rest[0] - 1) < limit):
                    return reason(
                        "sample-weights",
                        f"{what} goes with the {label} of {name}",
                        name=name,
                    )
    return None


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
    """With a weight transposed, or two exchanged, the loss is the old one."""
    weights = case.old.trained
    was = next(iter(case.old.steps[0].losses.values()))
    trials = [
        ("transposed", (k, *axes))
        for k, one in enumerate(weights)
        for axes in equal_axes(one.shape)
    ]
    trials += [
        ("exchanged", pair)
        for pair in itertools.combinations(range(len(weights)), 2)
        if weights[pair[0]].shape == weights[pair[1]].shape
    ]
    for key, places in trials[:TRIALS] if case.loss_with else ():

        def change(values, inputs, places=places):
            values = list(values)
            a, b = places[0], places[-1]
            if len(places) == 3:
                values[a] = np.swapaxes(values[a], *places[1:])
            else:
                values[a], values[b] = values[b], values[a]
            return values, inputs

        now = case.loss_with(change)
        if now is not None and relative_difference(now, was) <= case.tolerance["loss"][0, 0]:
            name = " and ".join(weights[k].name for k in places[: 1 if len(places) == 3 else 2])
            return reason(
                key,
                "with that undone, the new loss is the old one",
                "certain",
                name=name,
            )
    return None


def equal_axes(shape):
    """Return the pairs of axes that an array may exchange and keep its shape."""
    pairs = itertools.combinations(range(len(shape)), 2)
    return [(a, b) for a, b in pairs if shape[a] == shape[b] > 1]


def added_weights(case):
    """The new gradient has a multiple of some weights more: a regularization."""
    new, old = case.new.steps[0], case.old.steps[0]
    pairs = [(k, a, b) for k, (a, b) in enumerate(zip(new.gradients, old.gradients))]
    pairs = [one for one in pairs if not any(g is None for g in one[1:])]
    common = common_factor(new.gradients, old.gradients)  # of what is clipped
    found = {}
    for k, a, b in pairs:
        limit = case.tolerance["gradient"][0, k]
        gap, w = wide(a) - common * wide(b), old.before[k]
        if norm_of(gap) <= limit * norm_of(b):
            continue
        factor, rest = share_of_rows(gap, w, old.rows[k])
        noise = 2 * limit * norm_of(b) / norm_of(gap)
        if rest > 0.02 + min(noise, 0.2):
            return None
        found[case.old.trained[k].name] = factor
    if not found:
        return None
    name, factor = max(found.items(), key=lambda item: abs(item[1]))
    # Less of everything else looks like more of it, where gradients are clipped.
    more = sum(np.sum(one) for one in new.losses.values()) - sum(map(np.sum, old.losses.values()))
    if more * factor < 0 if case.kind == "loss" else common != 1.0:
        return None
    how = "the new loss has it in excess" if factor > 0 else "it is missing from the new loss"
    evidence = f"the gradient of {name} differs by {abs(factor):.4g} times the weight, or its sign"
    return reason("weight-decay", evidence, name=listed_names(found), how=how)


def share_of_rows(gap, weight, rows):
    """Return the multiple of a weight, or of its sign, that a gap is, and what it leaves.

    Rows that are looked up may have one of their own each, as often as they are used.
    """
    fits = [factor_between([gap], [w]) for w in (weight, np.sign(weight))]
    if np.ndim(gap) == 2 and min(gap.shape) > 2:
        used = np.flatnonzero(gap.any(1)) if rows is None else np.unique(rows)
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


def losses_of_probes(case):
    """Return the new and the old losses of batches of equal examples; or None."""
    was = case.old.about["equal"]
    if len(was) < 2 or not case.loss_with or case.old.about["through_gradient"]:
        return None
    batches = equal_examples(case.old.steps[0].inputs)
    now = [case.loss_with(lambda weights, _, one=one: (weights, one)) for one in batches]
    if any(one is None for one in now):
        return None
    return np.array([np.mean(np.abs(wide(one))) for one in now]), np.array(was)


def probed_factors(case, probes):
    """Return the factors between which equal examples differ; or None where they do not."""
    gaps = [np.diff(one) for one in probes]
    limit = 1e3 * case.tolerance["loss"][0, 0] * np.abs(probes[1]).max()
    if len(gaps[0]) < 2 or min(np.abs(one).min() for one in gaps) < limit:
        return None
    return gaps[0] / gaps[1]


def factor_of_examples(case):
    """Between batches of equal examples, losses differ by a factor: what is constant has none."""
    probes = losses_of_probes(case)
    factors = None if probes is None else probed_factors(case, probes)
    if factors is None:
        return None
    near = abs(factors[0] - 1)
    if np.ptp(factors) > min(1e-3 * abs(factors[0]), 0.05 * near):
        return None
    # Near 1, the weight of one example does the same: then its share of a batch is any.
    was, now = (
        np.array([np.sum(next(iter(one.losses.values()))) for one in side.steps])
        for side in (case.old, case.new)
    )
    share = (now / was - 1) / (factors.mean() - 1)
    if near < 0.1 and (share.min() < 0.9 or share.max() > 1.01):
        return None
    what = "of batches of equal examples the loss, less a constant part,"
    return named_factor(case, np.full(len(case.old.steps), factors.mean()), what)


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


def unused_input(case):
    """An input has no effect on the new loss."""
    for k, name in enumerate(case.old.about["inputs"]):
        value = case.old.steps[0].inputs[k]
        vector = value.ndim and value.size == len(value)
        if not case.loss_with or value.dtype.kind != "f" or not vector or not np.ptp(value):
            continue

        def change(weights, inputs, k=k):
            return weights, [one * 1.5 + 0.25 if k == n else one for n, one in enumerate(inputs)]

        now, was = (case.loss_with(one) for one in (change, lambda *both: both))
        if now is not None and np.array_equal(now, was):
            return reason("sample-weights", "the new loss does not depend on it", name=name)
    return None


def one_or_all_examples(case):
    """A batch of equal examples tells the forward pass from what weighs examples."""
    probes = losses_of_probes(case)
    if probes is None:
        return None
    factors = probed_factors(case, probes)
    # What is clipped does not tell a factor of the gradients from another forward pass.
    if case.old.about["changed"] and (factors is None or np.ptp(factors) < 0.05 * abs(factors[0])):
        return None
    sides = [[g for g in side.steps[0].gradients if g is not None] for side in (case.new, case.old)]
    if [np.shape(one) for one in sides[0]] == [np.shape(one) for one in sides[1]] and sides[0]:
        gaps = [wide(a) - wide(b) for a, b in zip(*sides)]
        if factor_between(gaps, sides[1])[1] < 0.2:
            return None  # much like a factor, and not quite: a part of the loss has one, perhaps
    apart = [relative_difference(a, b) for a, b in zip(*probes)]
    weighed = power_of_weights(case, probes)
    if weighed:
        return weighed
    whole, limit = np.nanmax(case.apart["loss"][0]), case.tolerance["loss"][0, 0]
    if whole < 30 * limit or 0.01 * whole < min(apart) < 0.1 * whole:
        return None  # too near to rounding to tell one from the other
    if min(apart) <= 0.01 * whole:
        evidence = "with one example in the place of each, the loss is the old one"
        return reason("sample-weights", evidence, said_as="weighed")
    masks = [
        one for one in case.old.steps[0].inputs if np.ndim(one) and set(np.unique(one)) <= {0, 1}
    ]
    if masks or any(
        np.ndim(one) > 1 and one.dtype.kind in "iu" for one in case.old.steps[0].inputs
    ):
        return None  # places within an example may be weighed: equal examples do not tell
    what = "a constant, an activation, a padding, a path"
    evidence = "batches of equal examples, too, have another loss, and no factor explains it"
    return reason("forward", evidence, "possible", what=what)


def power_of_weights(case, probes):
    """The loss of equal examples goes with a power of their weight, which it did not."""
    new, old = probes
    batches = equal_examples(case.old.steps[0].inputs)
    for name, *values in zip(case.old.about["inputs"], *batches):
        if not all(
            np.ndim(one) and one.size == len(one) and one.dtype.kind == "f" for one in values
        ):
            continue
        weights = np.array([float(one.ravel()[0]) for one in values])
        if min(weights) <= 0 or np.ptp(weights) < 1e-2:
            continue
        for power in (1.0, -0.5, -1.0):
            by = weights**power  # what is constant in the loss has no weight
            constant, _ = factor_between([new - by * old], [1 - by])
            gap = norm_of(new - by * old - constant * (1 - by))
            if gap < min(0.01 * norm_of(new - old), 1e-4 * norm_of(old)):
                evidence = f"the loss of equal examples is {name}**{power:g} times the old one"
                return reason("sample-weights", evidence, name=name)
    return None


LOSS = (
    array_of_losses,
    loss_factor,
    other_mode,
    other_places,
    added_weights,
    factor_of_a_part,
    factor_beside_decay,
    factor_of_examples,
    unused_input,
    one_or_all_examples,
)
