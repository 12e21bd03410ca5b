"""Which summand of a loss counts otherwise, in the loss or as a target besides."""

import itertools

from .arrays import np
from .differences import norm_of, wide
from .factor_causes import named_factor
from .reasons import listed_names, reason
from .summands import WEIGHTS

REST, UNSURE = 1e-3, 0.3  # of a gap, that may be left; and where rounding is much of it


def other_summand(case):
    """Some summands of the loss have a factor, which the others do not have."""
    names = list(case.old.about.get("summands", ()))
    found = factors_of_summands(case, names) if case.kind in ("loss", "gradient") else None
    if found is None:
        return None
    said, factors = listed_names(names[k] for k in found[0]), found[1]
    steady = np.ptp(factors) < max(1e-3, 0.02 * abs(factors[0] - 1))
    evidence = (
        f"what {said} adds to a gradient is {factors[0]:.6g} times the old, the rest the same"
    )
    if case.kind == "loss":
        if all(names[k].endswith(WEIGHTS) for k in found[0]):
            how = f"the new loss has it {factors[0]:.4g} times"
            return reason("weight-decay", evidence, name="the weights", how=how)
        if abs(factors - 1).max() < 0.1 and np.ptp(factors) < 0.3 * abs(factors - 1).min():
            factors = np.full(len(case.old.steps), factors.mean())  # a count, and a little more
        return named_factor(case, factors, f"{said}, which the loss adds up,")
    if min(factors) > 1:
        more = f"the loss and {factors[0] - 1:.4g} times {said}"
        return reason("sum-over-targets", evidence, what=more)
    if steady and abs(factors[0]) < 1e-3:
        return reason("stopped", evidence, place=f"before {said}, which the loss adds up")
    if steady and abs(factors[0] + 1) < 1e-3:
        return reason("sign", evidence, place=f"The gradient of {said}")
    return None


def weighed_examples(case):
    """The gap of the gradients is made of what examples add, some more than others."""
    old, new = case.old.steps[0], case.new.steps[0]
    raw = old.terms or old.gradients
    alike = all(np.shape(a) == np.shape(b) for a, b in zip(new.gradients, raw) if a is not None)
    if case.kind != "loss" or case.t or not len(old.examples) or not alike:
        return None
    places, rows, losses, groups = old.examples

    def flat(values):
        every = zip(case.old.trained, values)
        some = [np.zeros(one.shape) if g is None else wide(g) for one, g in every]
        return np.concatenate([one.ravel() for one in some])[places]

    mine, was = flat(new.gradients), flat(raw)
    alive = (mine != 0) | (was != 0)
    table = wide(rows).T[alive]
    counted = np.flatnonzero(np.any(table, 0))
    if mine.dtype.kind == "c" or len(table) < 1.5 * max(len(counted), 2):
        return None
    more = sum(np.sum(wide(one)) for one in new.losses.values())
    more -= sum(np.sum(wide(one)) for one in old.losses.values())
    for clipped in sorted({False, case.old.about["changed"]}):
        found, limit = shares_of(case, mine[alive], was[alive], table[:, counted], clipped)
        told = abs(wide(losses)[counted] @ found - more) < max(0.05, limit) * abs(more)
        apart = 0.02 * np.abs(found).max()
        own = {n: found[groups[counted] == n] for n in groups[counted]}
        own[-1] = np.append(own.get(-1, 0), 0)  # what counts for nothing, and does not now
        if limit < 1 and told and any(np.ptp(one) > apart for one in own.values()):
            some = counted[np.abs(found) > apart]
            evidence = f"{len(some)} of {len(rows)} count otherwise, which is all that differs"
            return reason("sample-weights", evidence, said_as="weighed")
    return None


def shares_of(case, mine, was, columns, clipped):
    """Return by how much more each of some columns counts, and what rounding may make of it.

    That is 1 where they do not explain the gap.
    """
    if clipped:  # all of it has a factor besides
        columns = np.column_stack([columns, was])
    gap, sizes = mine - was, np.linalg.norm(columns, axis=0)
    limit = limit_of(case, 0, norm_of(gap))
    found, *_ = np.linalg.lstsq(columns / sizes, gap, 1e-9 if limit == REST else 0.03)
    found /= sizes
    rest = norm_of(gap - columns @ found) / norm_of(gap)
    found = found[:-1] / (1 + found[-1]) if clipped else found
    return found, limit if rest < limit else 1.0


def factors_of_summands(case, names):
    """Return the fewest summands whose gradients have one factor, and it in each step; or None."""
    steps = [t for t, row in enumerate(case.wrong["gradient"]) if row.any()]
    tables = [table_of_step(case, t, len(names)) for t in steps]
    if len(names) < 2 or len(steps) < 2 or any(one is None for one in tables):
        return None
    ways = itertools.product(sorted({False, case.old.about["changed"]}), range(1, len(names)))
    for clipped, size in ways:
        fits = []
        for some in itertools.combinations(range(len(names)), size):
            # What is switched off in a step, times 0, tells nothing there.
            on = [n for n, t in enumerate(steps) if all(case.old.steps[t].worth[k] for k in some)]
            both = [fit_of(case, steps[n], tables[n], some, clipped) for n in on]
            if len(on) < 2 or not max(rest for _, rest in both) < 1:
                continue
            factors = [factor for factor, _ in both]
            # Where all is clipped together, less of one is more of the others: the loss tells.
            if not clipped or case.kind != "loss" or in_loss(case, steps[on[0]], some, factors):
                fits.append((max(rest for _, rest in both), some, 1 + np.array(factors)))
        if fits:
            return min(fits, key=lambda fit: fit[0])[1:]
    return None


def in_loss(case, t, some, factors):
    """Return whether some summands, that much more, make the loss of a step the new one."""
    new, old = (
        sum(np.sum(wide(one)) for one in side.steps[t].losses.values())
        for side in (case.new, case.old)
    )
    more = factors[0] * sum(float(case.old.steps[t].worth[k]) for k in some)
    return abs(more - (new - old)) < 0.05 * abs(new - old)


def table_of_step(case, t, count):
    """Return the new and the old gradients of a step, and those of each summand; or None."""
    new, old = case.new.steps[t], case.old.steps[t]
    raw = old.terms or old.gradients
    size = len(old.gradients)
    places = [k for k in range(size) if new.gradients[k] is not None and raw[k] is not None]
    shapes = [np.shape(new.gradients[k]) == np.shape(raw[k]) for k in places]
    if not places or not all(shapes) or any(new.gradients[k].dtype.kind == "c" for k in places):
        return None

    def flat(values):
        some = [np.zeros_like(raw[k]) if values[k] is None else values[k] for k in places]
        return np.concatenate([wide(one).ravel() for one in some])

    mine, was = flat(new.gradients), flat(raw)
    parts = [flat(old.summands[n * size : (n + 1) * size]) for n in range(count)]
    alike = norm_of(sum(parts) - was) < 1e-4 * norm_of(was)
    return (mine, was, parts) if alike else None  # else the loss is no sum of these


def fit_of(case, t, table, some, clipped):
    """Return by how much more some summands count, and what that leaves, of what may be left."""
    mine, was, parts = table
    more = sum(parts[k] for k in some)
    if not clipped:
        gap = mine - was
        factor = more @ gap / (more @ more)
        return factor, norm_of(gap - factor * more) / norm_of(gap) / limit_of(case, t, norm_of(gap))
    both = np.stack([was, more], 1)
    (common, factor), *_ = np.linalg.lstsq(both, mine, None)
    alone = norm_of(mine - was * (was @ mine) / (was @ was))
    rest = norm_of(mine - both @ (common, factor)) / alone
    return factor / common, rest / limit_of(case, t, alone)


def limit_of(case, t, gap):
    """Return which share of a gap of a step's gradients may be left, as rounding may make it."""
    known = zip(case.tolerance["gradient"][t], case.old.steps[t].gradients)
    sizes = [limit * norm_of(g) for limit, g in known if g is not None]
    rounding = np.hypot.reduce([one for one in sizes if np.isfinite(one)])
    return max(REST, min(UNSURE, rounding / gap if gap else 0.0))
