"""What batches of equal examples tell, and inputs that are changed: what weighs examples."""

from .arrays import np
from .differences import EXACT, factor_between, norm_of, relative_difference, wide
from .factor_causes import named_factor
from .reasons import reason
from .record import probes_of


def losses_probed(case, begin):
    """Return by name the new and the old loss of each probe whose name begins so; or None."""
    was = case.old.about.get("probed", {})
    names = [name for name in was if name.startswith(begin)]
    if not names or not case.loss_with or case.kind != "loss":
        return None
    batches, found = probes_of(case.old.steps[0].inputs), {}
    for name in names:
        now = case.loss_with(lambda weights, _, name=name: (weights, batches[name]))
        if now is None:
            return None
        found[name] = np.mean(np.abs(wide(now))), was[name]
    return found


def losses_of_equal_examples(case):
    """Return the new and the old losses of batches of equal examples; or None."""
    found = losses_probed(case, "all ") or {}
    known = [both for both in found.values() if np.all(np.isfinite(both))]  # a mask may leave none
    return tuple(map(np.array, zip(*known))) if len(known) > 1 else None


def weights_alone(case):
    """With ones for an input the loss is the old one: only what that weighs is another."""
    found = losses_probed(case, ("given", "ones "))
    if not found:
        return None
    now, was = found.pop("given")
    limit = max(case.tolerance["loss"][:, 0].max(), EXACT) * was
    for name, (new, old) in found.items():
        if 5 * limit < abs(now - was) and abs(new - old) < min(limit, 0.1 * abs(now - was)):
            evidence = "with ones in its place, the loss is the old one"
            weights = case.old.about["inputs"][int(name.split()[1])]
            return reason("sample-weights", evidence, name=weights)
    return None


def other_examples_count(case):
    """Examples in other places, or what a mask hides, change the new loss, and not the old one."""
    found = losses_probed(case, ("given", "moved", "shown"))
    if not found or case.old.about["through_gradient"]:
        return None  # an example whose inner gradient is another changes the loss as well
    now, was = found.pop("given")
    limit = max(case.tolerance["loss"][:, 0].max(), EXACT) * was
    said = {"moved": "where examples change places", "shown": "without what a mask hides"}
    for name, (new, old) in found.items():
        if abs(old - was) > limit:
            continue
        if abs(new - now) > max(2 * limit, 0.02 * abs(now - was)):
            change = f"{said[name]}, the new loss changes by {abs(new / now - 1):.2g} of itself"
            evidence = f"{change}, and the old one does not"
            return reason("sample-weights", evidence, said_as="weighed")
    return None


def probed_factors(case, probes):
    """Return the factors between which equal examples differ; or None where they do not."""
    gaps = [np.diff(one) for one in probes]
    limit = 1e3 * case.tolerance["loss"][0, 0] * np.abs(probes[1]).max()
    if len(gaps[0]) < 2 or min(np.abs(one).min() for one in gaps) < limit:
        return None
    return gaps[0] / gaps[1]


def factor_of_examples(case):
    """Between batches of equal examples, losses differ by a factor: what is constant has none."""
    probes = losses_of_equal_examples(case)
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


def unused_input(case):
    """An input has no effect on the new loss."""
    for k, name in enumerate(case.old.about["inputs"]):
        value = case.old.steps[0].inputs[k]
        weights = value.ndim and value.dtype.kind == "f" and np.ptp(value) and np.min(value) >= 0
        if not case.loss_with or not weights:
            continue

        def change(weights, inputs, k=k):
            return weights, [one * 1.5 + 0.25 if k == n else one for n, one in enumerate(inputs)]

        now, was = (case.loss_with(one) for one in (change, lambda *both: both))
        if now is not None and np.array_equal(now, was):
            return reason("sample-weights", "the new loss does not depend on it", name=name)
    return None


def power_of_weights(case, probes):
    """The loss of equal examples goes with a power of their weight, which it did not."""
    new, old = probes
    every = probes_of(case.old.steps[0].inputs)
    batches = [every[name] for name in every if name.startswith("all ")]
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


def one_or_all_examples(case):
    """A batch of equal examples tells the forward pass from what weighs examples."""
    probes = losses_of_equal_examples(case)
    if probes is None or case.old.about["through_gradient"]:
        return None
    factors = probed_factors(case, probes)
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
    if min(apart) <= max(3 * limit, 1e-4 * whole):
        evidence = "with one example in the place of each, the loss is the old one"
        return reason("sample-weights", evidence, said_as="weighed")
    # What is clipped does not tell a factor of the gradients from another forward pass.
    if case.old.about["changed"] and (factors is None or np.ptp(factors) < 0.05 * abs(factors[0])):
        return None
    masks = [
        one for one in case.old.steps[0].inputs if np.ndim(one) and set(np.unique(one)) <= {0, 1}
    ]
    if masks or any(
        np.ndim(one) > 1 and one.dtype.kind in "iu" for one in case.old.steps[0].inputs
    ):
        return None  # places within an example may be weighed: equal examples do not tell
    if case.old.others:
        return None  # or it is normalized by other averages
    what = "a constant, an activation, a padding, a path"
    evidence = "batches of equal examples, too, have another loss, and no factor explains it"
    return reason("forward", evidence, "possible", what=what)
