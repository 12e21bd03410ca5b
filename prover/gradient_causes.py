"""Why gradients differ although the loss is the same."""

import itertools

from .arrays import np
from .clip_causes import bounded_elements, clipped_otherwise, clipped_side, steady_norm
from .differences import EXACT, common_factor, factor_between, norm_of, relative_difference, wide
from .factor_causes import named_factor
from .loss_causes import added_weights, equal_axes
from .reasons import listed_names, reason
from .row_causes import repeated_rows, sides_of
from .summand_causes import other_summand

SAME_TERM = 1e-4  # the gradient of a loss, and what was computed of it in another run


def frozen_weights(case):
    """A weight that was trained is not trainable in the new program."""
    names = [case.old.weights[k].name for k in case.new.about["frozen"]]
    if not names:
        return None
    evidence = "its trainable is False there"
    return reason("not-trained", evidence, "certain", name=listed_names(names), side="new")


def missing_gradients(case):
    """Gradients are None or zero on one side alone."""
    new, old = case.new.steps[case.t].gradients, case.old.steps[case.t].gradients
    names = [one.name for one in case.old.trained]
    bad = np.flatnonzero(case.wrong["gradient"][case.t])
    alive = [[one is not None and np.any(one) for one in side] for side in (new, old)]
    cut = [k for k in bad if alive[1][k] and not alive[0][k]]
    uncut = [k for k in bad if alive[0][k] and not alive[1][k]]
    for some, side, key in ((cut, 0, "stopped"), (uncut, 1, "not-stopped")):
        if some:
            behind = [k for k, yes in enumerate(alive[side]) if yes]
            place = f"before {listed_names(names[k] for k in some)}"
            if behind and max(some) < min(behind):
                place = f"between {names[max(some)]} and {names[min(behind)]}"
            value = (new, old)[side][some[0]]
            what = "None" if value is None else "zero"
            evidence = f"{len(some)} of {len(names)} gradients are {what} there alone"
            return reason("stopped", evidence, said_as=key, place=place)
    neither = [k for k in bad if not alive[0][k] and not alive[1][k]]
    neither = [k for k in neither if (new[k] is None) != (old[k] is None)]
    if neither:
        words = {
            side: "None" if some[neither[0]] is None else "zeros"
            for side, some in (("old", old), ("new", new))
        }
        evidence = "the other numbers are the same"
        return reason("zeros-for-none", evidence, "certain", name=names[neither[0]], **words)
    return None


def other_places_of_gradients(case):
    """Two weights have each other's gradients, or steps; or one its transpose."""
    new, old = sides_of(case)
    bad = np.flatnonzero(case.wrong[case.kind][case.t])
    names, limit = ([one.name for one in case.old.trained], case.tolerance[case.kind][case.t])

    def equal(a, b, k):
        empty = [one is None or not np.any(one) for one in (a, b)]
        if any(empty) or np.shape(a) != np.shape(b) or limit[k] > 0.1:
            return all(empty)
        return relative_difference(a, b) <= max(limit[k], EXACT)

    what = "gradients" if case.kind == "gradient" else "steps"
    for a, b in itertools.combinations(bad, 2):
        some = np.any(old[a]) or np.any(old[b])  # None counts as False
        turned = all(old[k] is not None and equal(new[k], -old[k], k) for k in (a, b))
        if some and not turned and equal(new[a], old[b], b) and equal(new[b], old[a], a):
            name = f"The {what} of {names[a]} and {names[b]}"
            return reason("exchanged", "each is the other to rounding", "certain", name=name)
    for k in bad:
        for axes in equal_axes(np.shape(old[k])):
            if np.any(old[k]) and equal(new[k], np.swapaxes(old[k], *axes), k):
                name = f"The {what[:-1]} of {names[k]}"
                return reason("transposed", "turned, it is the old one", "certain", name=name)
    return None


def conjugate_gradients(case):
    """The new gradients are complex conjugates."""
    new, old = case.new.steps[case.t].gradients, case.old.steps[case.t].gradients
    for k in np.flatnonzero(case.wrong["gradient"][case.t]):
        limit = max(case.tolerance["gradient"][case.t, k], EXACT)
        if old[k] is None or new[k] is None or old[k].dtype.kind != "c":
            return None
        if relative_difference(new[k], np.conj(old[k])) > limit:
            return None
    return reason("conjugate", "conjugated, it is the old one to rounding", "certain")


def sum_of_losses(case):
    """The new gradient is the sum of those of several losses."""
    old, new = case.old.steps[case.t], case.new.steps[case.t]
    count = len(old.losses)
    if count < 2 or not old.terms:
        return None
    if clipped_sum(case):
        what, evidence = listed_names(old.losses), "it is the sum of those of all losses"
        return reason("sum-over-targets", evidence, "certain", what=what)
    for k in np.flatnonzero(case.wrong["gradient"][case.t]):
        terms = [old.terms[number * len(old.gradients) + k] for number in range(count)]
        mine = old.gradients[k]
        terms = [one for one in terms if one is not None and np.any(one)]
        if new.gradients[k] is None or mine is None or len(terms) < 2:
            return None
        # A factor of the gradient itself is none of another loss.
        terms = [one for one in terms if factor_between([one], [mine])[1] > 0.1]
        if not terms:
            return None
        gap = wide(new.gradients[k]) - wide(old.gradients[k])
        limit = 0.02 + 2 * case.tolerance["gradient"][case.t, k] / case.apart["gradient"][case.t, k]
        if min(factor_between([gap], [one])[1] for one in terms) > limit:
            return None
    what = listed_names(old.losses)
    evidence = "what is added to a gradient is the gradient of another loss"
    return reason("sum-over-targets", evidence, "certain", what=what)


def clipped_sum(case):
    """Return whether the new gradients that differ are those of all losses, up to one factor."""
    old, new = case.old.steps[case.t], case.new.steps[case.t].gradients
    size, bad = len(old.gradients), np.flatnonzero(case.wrong["gradient"][case.t])
    terms = [[one for one in old.terms[k::size] if one is not None] for k in bad]
    if any(new[k] is None or not some for k, some in zip(bad, terms)):
        return False
    sums, own = [sum(map(wide, some)) for some in terms], [old.gradients[k] for k in bad]
    if any(one is None for one in own):
        return False
    gap = np.hypot.reduce([norm_of(new[k] - one) for k, one in zip(bad, sums)])
    if gap < SAME_TERM * np.hypot.reduce([norm_of(one) for one in own]):
        return True
    if factor_between(sums, own)[1] < 0.05:
        return False  # that is what it was before
    return factor_between([new[k] for k in bad], sums)[1] < 1e-3


def table_of_factors(case, bad):
    """Return by what each gradient is multiplied, a row for each step; None where it is more."""
    table = []
    for t, (new, old) in enumerate(zip(case.new.steps, case.old.steps)):
        row = []
        for k in bad:
            if new.gradients[k] is None or old.gradients[k] is None:
                return None
            if not case.wrong["gradient"][t, k]:
                row.append(1.0 if np.any(old.gradients[k]) else np.nan)
                continue
            factor, rest = factor_between([new.gradients[k]], [old.gradients[k]])
            apart = relative_difference(new.gradients[k], old.gradients[k])
            # Near the limit of rounding any pattern would fit.
            limit = min(max(0.01, 3 * case.tolerance["gradient"][:, k].max() / apart), 0.3)
            if apart and rest > limit * min(apart, 1):
                return None
            row.append(float(np.real(factor)))
        table.append(row)
    table = np.array(table)
    table = table[np.isfinite(table).any(1)]  # else none that differs has a gradient in that step
    if len(table) < 2:
        return None
    return np.where(np.isfinite(table), table, np.nanmean(table, 1, keepdims=True))  # 0 of 0


def gradient_factors(case):
    """Each gradient that differs is the old one times a number."""
    bad = np.flatnonzero(case.wrong["gradient"].any(0))
    table = table_of_factors(case, bad)
    if table is None:
        return None
    first = case.old.steps[0].gradients
    sure = [
        k
        for k, one in enumerate(first)
        if one is not None and np.any(one) and case.tolerance["gradient"][0, k] < 0.1
    ]
    rest = [k for k in sure if k not in bad]
    near = 2e-3 * np.abs(table).mean()
    if not rest and np.ptp(table, 1).min() > near and case.old.about["changed"]:
        # All are clipped together: what each is multiplied by, beside that, stays the same.
        table = table / np.median(table, 1, keepdims=True)
        rest = [k for n, k in enumerate(bad) if np.abs(table[:, n] - 1).max() < near]
        table, bad = table[:, ~np.isin(bad, rest)], bad[~np.isin(bad, rest)]
        if not rest:
            return None
    if not rest and np.all(np.ptp(table, 1) <= near):
        how = clipped_side(case, table.mean(1))
        if how:
            evidence = f"in some steps each gradient has a factor, {table.min():.4g} at least"
            return reason("clipping", evidence, how=f"by a norm on the {how} side")
        if case.kind == "gradient" and np.ptp(table.mean(1)) > 1e-3 * abs(table.mean()):
            evidence = "each gradient has the same factor, another in each step, and the loss none"
            return reason("clipping", evidence, how="left out, or by the norm of something else")
        return named_factor(case, table.mean(1), "each gradient")
    if not rest or np.any(np.ptp(table, 0) > near):
        return None
    names = [one.name for one in case.old.trained]
    what = f"the gradient of {listed_names(names[k] for k in bad)}"
    if np.abs(table - 1).min() < 1e-2:
        return None
    if table[0, 0] > 0:
        if np.ptp(table) > near:
            return None
        cause = named_factor(case, table.mean(1), what, {})
        if max(bad) > min(rest) or (cause and cause.key == "loss-scale"):
            return cause
    evidence = f"{what} is {table[0, 0]:.4g} times the old one in each step, others are the same"
    imaginary = {names[k] for k in bad} <= set(case.old.about.get("imaginary", ()))
    if abs(table[0, 0] + 1) < 1e-4 and imaginary:
        return reason("conjugate", evidence, "possible")  # of a number made of two parts
    return reason("sign", evidence, place=what.capitalize())


def scaled_gradients(case):
    """All gradients have one factor, the same in each step, and the loss has none."""
    table = table_of_factors(case, range(len(case.old.trained)))
    if case.kind != "gradient" or table is None or np.ptp(table) > 0.02 * abs(table - 1).min():
        return None
    norms = np.array([[norm_of(g) for g in one.gradients] for one in case.new.steps])
    whole = np.hypot.reduce(norms, 1)
    if np.all(np.ptp(norms, 0) < 1e-4 * norms[0]) or np.ptp(whole) < 1e-4 * whole[0]:
        return None  # all are clipped, and in each step
    number = f"{table.mean():.6g}"
    evidence = f"it is {number} for each of them in each step, and the loss is the same"
    return reason("replica-factor", evidence, said_as="scaled", number=number)


def overridden_gradient(case):
    """The old graph overrides a gradient, and the gradients upstream differ."""
    if not case.old.about["overridden"]:
        return None
    bad = np.flatnonzero(case.wrong["gradient"][case.t])
    good = np.flatnonzero(~case.wrong["gradient"][case.t])
    if len(good) and max(bad) > min(good):
        return None  # what differs stands behind it, too
    names = [case.old.trained[k].name for k in bad]
    evidence = f"the old graph overrides the gradient of {case.old.about['overridden']}"
    return reason("sign", evidence, place=f"The gradient of {listed_names(names)}")


def first_order(case):
    """The old loss is computed from a gradient, and the new gradient does not go through it."""
    through, step = case.old.about["through_gradient"], case.old.steps[case.t]
    if not through or not step.direct:
        return None
    gaps, parts, whole, losses = [], [], [], list(step.losses)
    size, new = len(step.gradients), case.new.steps[case.t].gradients
    for k in np.flatnonzero(case.wrong["gradient"][case.t]):
        old, terms = step.gradients[k], (step.terms if len(losses) > 1 else step.gradients)[k::size]
        near = [n for n, one in enumerate(terms) if relative_difference(one, old) < SAME_TERM]
        if not near or old is None or new[k] is None or losses[near[0]] not in through:
            return None
        direct = step.direct[near[0] * size + k]
        parts.append(wide(np.zeros_like(old) if direct is None else direct) - old)
        gaps.append(wide(new[k]) - old)
        whole.append(wide(old))
    # Of a gradient in a loop, TensorFlow does not tell the part.
    share, rest = factor_between(gaps, parts) if any(map(np.any, parts)) else (1.0, 0.0)
    if np.real(share) < 0 and rest < 1e-3:
        evidence = "what is added to a gradient goes through the inner one"
        what = "the loss and, once more, a part of it that is computed from a gradient"
        return reason("sum-over-targets", evidence, what=what)
    scaled = factor_between(gaps, whole)[1] < min(0.3, 0.5 * rest)
    small = case.apart["gradient"][case.t].max() < 1e-2
    others = np.flatnonzero(~case.wrong["gradient"][case.t])
    strict = small or share < 0.02 or any(goes_through(step, k) for k in others)
    most = 0.05 if strict else 0.95
    if scaled or not 0 < np.real(share) < 1.5 or rest > most:
        return None  # what differs is not the part that goes through the gradient
    if abs(share - 1) < 1e-3 and 0 < rest < 1e-2:
        evidence = "with the inner gradient held constant, the old gradient is the new one"
        return reason("first-order", evidence, "certain")
    evidence = "the loss is the same, and what is missing goes through a gradient, as it seems"
    return reason("first-order", evidence, "possible")


def clipped_first_order(case):
    """As `first_order`, where all gradients are clipped together: they have a factor besides."""
    step, new = case.old.steps[case.t], case.new.steps[case.t].gradients
    known = zip(step.gradients, step.terms, step.direct, new)
    rows = [one for one in known if not any(g is None for g in one)]
    if not case.old.about["changed"] or len(step.losses) > 1 or not rows or not step.direct:
        return None
    old, whole, direct, new = zip(*rows)
    if factor_between(old, whole)[1] > SAME_TERM:
        return None  # clipped otherwise
    whole, direct, new = (
        np.concatenate([wide(g).ravel() for g in one]) for one in (whole, direct, new)
    )
    both = np.stack([whole, direct - whole], 1)
    found = np.linalg.lstsq(both, new, None)[0]
    share = np.real(found[1] / found[0])
    alone = factor_between([new], [whole])[1]
    if not 0 < share < 1.5 or norm_of(new - both @ found) > 0.05 * alone * norm_of(new):
        return None
    evidence = f"{share:.3g} of what goes through the inner gradient is missing, beside a clipping"
    return reason("first-order", evidence)


def by_hand_conjugate(case):
    """The new program has a gradient written by hand, of complex numbers."""
    kinds = {side: set(one.about["kinds"]) for side, one in (("old", case.old), ("new", case.new))}
    by_hand = "CustomGradient" in kinds["new"] and "IdentityN" not in kinds["old"]
    losses = case.old.steps[case.t].losses
    # A loss that is computed from a gradient differs with it.
    same = [name for name in losses if name not in case.old.about["through_gradient"]]
    wrong = dict(zip(losses, case.wrong["loss"][case.t]))
    large = case.kind == "loss" or case.apart["gradient"][case.t].max() > 1e-2
    if not by_hand or not large or "Conj" not in kinds["old"] or any(wrong[n] for n in same):
        return None
    evidence = "the old program conjugates, and the new one has a gradient written by hand"
    return reason("conjugate", evidence, "possible")


def goes_through(step, k):
    """Return whether a part of a weight's gradient goes through another gradient."""
    size, own = len(step.gradients), step.gradients[k]
    terms, direct = (some[k::size] for some in (step.terms or step.gradients, step.direct))
    return any(
        relative_difference(some, own) > SAME_TERM
        for term, some in zip(terms, direct)
        if relative_difference(term, own) < SAME_TERM
    )


def partly_stopped(case):
    """On one side alone a gradient is stopped, on one of several ways."""
    old, new = case.old.steps[case.t].gradients, case.new.steps[case.t].gradients
    common, limit = common_factor(new, old), case.tolerance["gradient"][case.t]
    bad = [
        k
        for k in np.flatnonzero(case.wrong["gradient"][case.t])
        if new[k] is None
        or relative_difference(wide(new[k]) / common, old[k]) > max(limit[k], SAME_TERM)
    ]
    good = [k for k, g in enumerate(old) if g is not None and k not in bad and limit[k] < 0.1]
    stops = [side.about.get("stops", 0) for side in (case.new, case.old)]
    in_function = not any("tf.function" in one for one in case.new.about["notes"])
    little = case.apart["gradient"][case.t].max() < 1e-2  # a way that is cut leaves more
    if not bad or little or (in_function and stops[0] == stops[1]):
        return None
    if case.old.about["changed"] and common == 1.0:
        return None  # what is clipped hides which is longer
    evidence = f"stop_gradient or the like stands there {stops[0]} times, before {stops[1]}"
    if len(case.old.about["through_gradient"]) == len(case.old.steps[case.t].losses):
        return None
    if any(goes_through(case.old.steps[case.t], k) for k in bad):
        return None  # it may be the way through that gradient
    names = [one.name for one in case.old.trained]
    place = f"on one of several ways before {listed_names(names[k] for k in bad)}"
    if good and max(bad) < min(good):
        place = f"on one of several ways between {names[max(bad)]} and {names[min(good)]}"
    if not in_function:
        evidence = "the new step runs eagerly alone, as one does that leaves TensorFlow"
    key = "stopped" if not in_function or stops[0] > stops[1] else "not-stopped"
    sizes = [np.hypot.reduce([norm_of(g[k]) for k in bad if g[k] is not None]) for g in (new, old)]
    if (sizes[0] < sizes[1]) != (key == "stopped"):
        return None  # a part that is left out makes a gradient shorter, mostly
    return reason("stopped", evidence, "possible", said_as=key, place=place)


GRADIENT = (
    frozen_weights,
    other_places_of_gradients,
    sum_of_losses,
    missing_gradients,
    conjugate_gradients,
    repeated_rows,
    clipped_otherwise,
    gradient_factors,
    bounded_elements,
    scaled_gradients,
    steady_norm,
    added_weights,
    overridden_gradient,
    first_order,
    clipped_first_order,
    other_summand,
    partly_stopped,
    by_hand_conjugate,
)
