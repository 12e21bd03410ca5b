"""How gradients are clipped."""

import itertools

from .arrays import np
from .differences import EXACT, factor_between, norm_of, relative_difference, wide
from .factor_causes import named_factor
from .reasons import reason
from .rules import PLAIN, clipped

SAME = 1e-4  # of gradients that are clipped alike, and what is left of rounding
SUBSETS = 4000  # sets of variables whose norm is looked at


def clipped_side(case, factors):
    """Return the side that clips all gradients in some steps, as their factors tell; or None."""
    gaps = np.abs(factors - 1)
    same = gaps < 0.02 * gaps.max()
    if not same.any() or same.all():
        return None
    norms = {
        side: np.array(
            [np.sqrt(sum(norm_of(g) ** 2 for g in one.gradients if g is not None)) for one in steps]
        )
        for side, steps in (("new", case.new.steps), ("old", case.old.steps))
    }
    side = "new" if factors[~same].max() < 1 else "old"
    clipped = norms[side][~same]
    steady = np.ptp(clipped) < 1e-4 * clipped[0] and norms[side][same].max() < 1.001 * clipped[0]
    one_way = factors[~same].max() < 1 or factors[~same].min() > 1
    return side if steady and one_way else None


def steady_norm(case):
    """One side's gradients have a norm, or a largest element, that stays the same."""
    steps = [t for t, row in enumerate(case.wrong["gradient"]) if row.any()]
    places = [
        k
        for k in range(len(case.old.trained))
        if all(one.steps[t].gradients[k] is not None for t in steps for one in (case.old, case.new))
    ]
    if len(steps) < 2 or not places:
        return None

    def table(record, measure):
        rows = ([wide(record.steps[t].gradients[k]) for k in places] for t in steps)
        return np.array([[measure(one) for one in row] for row in rows])

    both_sides = [np.array(table(record, norm_of)) for record in (case.new, case.old)]
    factors = both_sides[0][0] / both_sides[1][0]
    alike = np.ptp(factors) < 1e-2 * factors[0]
    still = [np.ptp(one, 0) < 1e-5 * one[0] for one in both_sides]
    whole = [np.sqrt(np.sum(one**2, 1)) for one in both_sides]
    more = np.array([np.size(case.old.steps[0].gradients[k]) > 1 for k in places])
    if np.any(more & still[0] & still[1] & (abs(factors - 1) < 1e-5)) or (
        max(np.ptp(one) / one[0] for one in whole) < 1e-5
        and abs(whole[0][0] / whole[1][0] - 1) < 1e-5
    ):
        return None  # both clip, and alike

    for n, side in enumerate(("new", "old")):
        bound, own = whole[1 - n][0], both_sides[n]
        at_it = np.abs(own / bound - 1) < 1e-5
        below = own.max() < (1 + 1e-5) * bound and at_it.any(1).all() and at_it.sum() > len(own)
        if np.ptp(whole[1 - n]) < 1e-5 * bound and below:
            evidence = f"some have the norm {bound:.6g} by themselves, which all have on the other"
            return reason("clipping", evidence, how=f"each by its own norm on the {side} side")

    def largest(one):
        return np.abs(one).max()

    for label, side, other in (("new", case.new, case.old), ("old", case.old, case.new)):
        tops, free = table(side, largest), table(other, largest)
        top, first = tops.max(1), [wide(side.steps[steps[0]].gradients[k]) for k in places]
        equal = [np.sum(np.abs(np.abs(one) - top[0]) < EXACT * top[0]) for one in first]
        varies = np.ptp(free, 0) > 1e-3 * free[0]
        bound = np.ptp(top) < EXACT * top[0] and free.max() > (1 + EXACT) * top[0]
        if bound and sum(n for n, some in zip(equal, varies) if some) > 1:
            evidence = f"the largest element is {top[0]:.6g} in each of {len(steps)} steps"
            return reason("clipping", evidence, how=f"by value on the {label} side")
        norms, free = table(side, norm_of) ** 2, table(other, norm_of) ** 2
        every = range(len(places))
        sizes = [len(places), *range(1, len(places))]
        subsets = (some for size in sizes for some in itertools.combinations(every, size))
        for some in itertools.islice(subsets, SUBSETS):
            norm, open_ = (np.sqrt(one[:, list(some)].sum(1)) for one in (norms, free))
            steady = np.ptp(norm) < 1e-5 * norm[0]
            both = alike and np.ptp(open_) < 1e-5 * open_[0] and abs(open_[0] / norm[0] - 1) > 0.3
            apart = abs(open_ - norm).max() > 1e-4 * norm[0]
            # Clipped is the side with the smaller norms; a factor of both is no clipping.
            if steady and apart and not both and norm[0] <= 1.01 * open_.min():
                which = "all" if len(some) == len(places) else len(some)
                evidence = f"the norm of {which} variables is {norm[0]:.6g} in {len(steps)} steps"
                return reason("clipping", evidence, how=f"by a norm on the {label} side")
    return None


def clipped_otherwise(case):
    """Before it is clipped, each gradient is the old one times a number; or the bound is another.

    The old ones are known without a clipping: that, and the bound, tell how they are clipped.
    """
    places = [k for k in range(len(case.old.trained)) if not lacks(case, k)]
    if not case.old.about["changed"] or not places or len(case.old.steps[0].losses) > 1:
        return None
    old, raw, new = (
        [[wide(getattr(one, part)[k]).ravel() for k in places] for one in side.steps]
        for side, part in ((case.old, "gradients"), (case.old, "terms"), (case.new, "gradients"))
    )
    measures = {"value": largest_element, "norm of each": largest_norm, "global norm": whole_norm}
    near = min(SAME, 0.05 * gap_of(old, new))
    for clip, largest in measures.items():
        was, now = (max(map(largest, side)) for side in (old, new))
        if gap_of(raw, old) < SAME or gap_of(clipped_to(raw, clip, was), old) > near:
            continue
        if gap_of(clipped_to(raw, clip, now), new) < near:
            how = (
                f"by {clip}, at {now:.4g}"
                if gap_of(raw, new) > near
                else "left out on the new side"
            )
            return reason("clipping", f"at {was:.4g} on the old side, by {clip}", how=how)
        factor = largest_factor(raw, new, was if clip == "value" else np.inf)
        if gap_of(clipped_to(raw, clip, was, factor), new) < near:
            what = "before it is clipped, each gradient"
            cause = named_factor(case, np.full(len(old), factor), what)
            number, evidence = f"{factor:.6g}", f"{what} is {factor:.6g} times the old one"
            return cause or reason("replica-factor", evidence, said_as="scaled", number=number)
    return None


def lacks(case, k):
    """Return whether a weight has no gradient on a side, or no unclipped one is known."""
    return any(
        k >= len(one) or one[k] is None or one[k].dtype.kind == "c" or not one[k].size
        for old, new in zip(case.old.steps, case.new.steps)
        for one in (old.gradients, old.terms, new.gradients)
    )


def clipped_to(steps, clip, bound, factor=1.0):
    """Return the gradients of some steps times a factor, clipped in one of the ways of `rules`."""
    rule, found = PLAIN._replace(clip=clip, bound=bound), []
    for gradients in steps:
        norms = {k: factor * norm_of(g) for k, g in enumerate(gradients)}
        both = enumerate(gradients)
        with np.errstate(all="ignore"):  # a norm may be 0
            found.append([clipped(rule, factor * g, norms, np.full(len(g), k)) for k, g in both])
    return found


def largest_element(gradients):
    """Return the largest element of gradients, in size."""
    return max(np.abs(g).max() for g in gradients)


def largest_norm(gradients):
    """Return the largest norm of gradients."""
    return max(map(norm_of, gradients))


def whole_norm(gradients):
    """Return the norm of all gradients together."""
    return np.hypot.reduce(list(map(norm_of, gradients)))


def gap_of(some, others):
    """Return how far gradients of some steps are from those, at most."""
    pairs = [both for one, other in zip(some, others) for both in zip(one, other)]
    return max(relative_difference(*both) for both in pairs)


def largest_factor(old, new, bound):
    """Return the largest factor between gradients, of elements that no bound holds."""
    factors = []
    for a, b in zip([g for one in old for g in one], [g for one in new for g in one]):
        free = np.maximum(np.abs(a), np.abs(b)) < (1 - SAME) * bound
        if np.any(a[free]):
            factors.append(factor_between([b[free]], [a[free]]))
    most = min(SAME, 0.05 * max([abs(factor - 1) for factor, _ in factors], default=0))
    return max((float(np.real(factor)) for factor, rest in factors if rest < most), default=1.0)


def bound_of(gradients):
    """Return the largest element of some gradients, if several have it; or None."""
    every = [np.abs(wide(g)).ravel() for g in gradients if g is not None]
    every = np.concatenate(every) if every else np.zeros(1)
    top = every.max()
    return top if np.sum(every > (1 - EXACT) * top) > 2 else None


def without_bounded(case):
    """Return the case with zeros in place of what a bound holds, also of weights; or None."""
    records, bounds = [case.new, case.old], [bound_of(case.old.steps[case.t].gradients)]
    if not case.old.about["changed"] or not bounds[0]:
        return None
    free = []
    for steps in zip(*(one.steps for one in records)):
        both = zip(*(one.gradients for one in steps))
        free.append([free_places(pair, bounds[0]) for pair in both])
    for n, one in enumerate(records):
        steps = [masked(*both) for both in zip(one.steps, free)]
        records[n] = one._replace(steps=steps, about=dict(one.about, changed=False))
    return case._replace(new=records[0], old=records[1], loss_with=None)


def free_places(gradients, bound):
    """Return where no gradient of a weight is at a bound; or 1, where these tell nothing."""
    if any(g is None for g in gradients) or len({*map(np.shape, gradients)}) > 1:
        return 1
    return np.all([np.abs(wide(g)) < (1 - EXACT) * bound for g in gradients], 0)


def masked(step, free):
    """Return a step with zeros for some elements of its gradients and weights."""
    gradients = [None if g is None else g * one for g, one in zip(step.gradients, free)]
    before = [w * one for w, one in zip(step.before, free)]
    whole = zip(step.summands, itertools.cycle(free))
    summands = [None if g is None else g * one for g, one in whole]
    return step._replace(gradients=gradients, before=before, terms=[], summands=summands)


def bounded_elements(case):
    """Only elements differ that one side holds at a bound."""
    for label, side, other in (("new", case.new, case.old), ("old", case.old, case.new)):
        held, beyond, largest = [], [], 0.0
        for t, (one, free) in enumerate(zip(side.steps, other.steps)):
            for k, both in enumerate(zip(one.gradients, free.gradients)):
                if (
                    any(g is None or not np.size(g) for g in both)
                    or len({*map(np.shape, both)}) > 1
                ):
                    continue
                a, b = (np.abs(wide(g)) for g in both)
                differ = np.abs(a - b) > case.tolerance["gradient"][t, k] * b.max()
                held, beyond = np.append(held, a[differ]), np.append(beyond, b[differ])
                largest = max(largest, a.max())
        if not len(held) or np.ptp(held) > EXACT * largest or held[0] < (1 - EXACT) * largest:
            continue
        if np.all(beyond > held):
            evidence = f"{len(held)} elements differ, and are {largest:.6g} there, the largest"
            return reason("clipping", evidence, how=f"by value on the {label} side")
    return None
