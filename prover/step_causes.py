"""Why steps differ although loss and gradients are the same."""

from .arrays import np
from .differences import factor_between, norm_of, relative_difference, wide
from .gradient_causes import other_places_of_gradients
from .passes import moves
from .rate_causes import (
    constant_rate,
    counted_otherwise,
    factors_of,
    other_correction,
    other_rates,
    said_list,
)
from .reasons import listed_names, reason
from .row_causes import lazy_rows, repeated_rows
from .rules import (
    CLIPS,
    EPSILONS,
    PLACES,
    best_fit,
    changes,
    fitted,
    left_of_steps,
    refined,
    rest_of,
    sampled,
    single_changes,
    without,
)

UNKNOWN = 0.02
KEYS = {
    "start": "accumulator-start",
    "rho": "beta",
    "beta": "beta",
    "place": "epsilon",
    "epsilon": "epsilon",
    "nesterov": "momentum",
    "centered": "optimizer",
    "clip": "clipping",
    "bound": "clipping",
    "decay": "weight-decay",
}
WORDS = {
    "start": "start of the accumulator",
    "place": "epsilon of the root",
    "clip": "clipping",
    "bound": "bound",
    "decay": "weight decay in the gradient",
}


def not_trained(case):
    """A weight stays where it is on one side."""
    for label, one, other in (("new", case.new, case.old), ("old", case.old, case.new)):
        moved = [
            [np.array([np.any(m) for m in moves(s)]) for s in side.steps] for side in (one, other)
        ]
        still = np.flatnonzero(~np.any(moved[0], 0) & np.any(moved[1], 0))
        if len(still):
            name = listed_names(case.old.trained[k].name for k in still)
            rows = [one.gradients[k] for one in case.new.steps + case.old.steps for k in still]
            if label == "old" and not any(one is not None and np.any(one) for one in rows):
                evidence = "it has no gradient but zeros, and moves on the new side alone"
                return reason("zeros-for-none", evidence, name=name, old="None", new="zeros")
            evidence = f"it stays where it is in each of {len(one.steps)} steps"
            return reason("not-trained", evidence, "certain", name=name, side=label)
    return None


def told_weights(case):
    """Return the weights whose steps differ, and whose gradients tell by which rule."""
    old = case.old
    return [
        k
        for k in range(len(old.trained))
        if all(one.gradients[k] is not None for one in old.steps)
        and old.steps[0].gradients[k].dtype.kind in "fc"
        and np.any(old.steps[0].gradients[k])
        and np.all(case.tolerance["gradient"][:, k] < 1e-2)
        and case.wrong["step"][:, k].any()
    ]


def other_rule(case):
    """The optimizer's rule, one of its constants, or its rate."""
    old, chosen = case.old, told_weights(case)
    if not chosen:
        return None
    sample, take = sampled(old, chosen)
    before, after = take(old.steps), take(case.new.steps)
    if len(sample.which) < 3:  # any rule would fit
        factors, _ = zip(*(factor_between([a], [b]) for a, b in zip(after, before)))
        return constant_rate(np.real(factors)) if len(factors) > 2 else None
    apart = max(relative_difference(a, b) for a, b in zip(after, before))
    rounding = float(np.median(case.tolerance["step"][:, chosen]))
    enough = min(np.hypot(0.05 * apart, rounding), 0.3 * apart, UNKNOWN)
    close = max(rounding / 4, min(0.02 * apart, 1e-4))  # the tolerance is wide on purpose
    kernels = np.isin(sample.which, [k for k in chosen if len(old.trained[k].shape) > 1])
    whole, rests = factors_of(after, before)
    rate = constant_rate(whole) if max(rests) <= close else None
    was, fewer, sample = fit_beside_decay(sample, before, kernels, close)
    if rate and fewer is not before:
        return rate  # with what is taken off besides
    after = [a + f - b for a, f, b in zip(after, fewer, before)]
    factors, rests = factors_of(after, fewer)
    one_factor = max(rests) <= enough
    if was.rest > max(close, min(0.2 * apart, 5e-3)):
        # Of a rule that is not known, a factor near 1 may be another constant's.
        sure = one_factor and abs(np.mean(factors) - 1) > UNKNOWN
        return (sure and constant_rate(factors)) or rates_by_weight(case, sample, after, fewer)
    decay = added_decay(case, after, fewer, sample)
    if decay:
        return decay
    return constant_or_rate(case, was, sample, (after, fewer), (enough, close), one_factor)


def fit_beside_decay(sample, steps, kernels, close):
    """Return the rule of steps, the steps less a share of each weight, and the sample for it.

    Where no rule explains the steps, each may take a share of the kernels off, or of all weights,
    which is in none of the rule's averages; or that of the kernels is added to the gradients.
    """
    was = best_fit(sample, steps, close)
    if was.rest <= close:
        return was, steps, sample
    some = [[one * kernels for one in sample.weights], sample.weights]
    for beside in some[: 1 if kernels.all() else 2]:
        fit = best_fit(sample._replace(beside=beside), steps, close)
        if fit.rest < 0.3 * was.rest:
            gaps = left_of_steps(fit.rule, sample, steps, fit.rates)[0]
            fewer = [a - b + without(b, w) for a, b, w in zip(steps, gaps, beside)]
            return fit, fewer, sample
    coupled = sample._replace(weights=some[0])
    fit = best_fit(coupled, steps, close, decay=0.001)
    return (fit, steps, coupled) if fit.rest < 0.3 * was.rest else (was, steps, sample)


def constant_or_rate(case, was, sample, steps, limits, one_factor):
    """Tell a constant of a rule from its rate, and both from another rule."""
    (after, before), (enough, close) = steps, limits
    factors, rests = factors_of(after, before)
    unchanged = fitted(was.rule, sample, after, was.rates)
    clips = () if case.old.about["changed"] else CLIPS  # then these are what the optimizer gets
    found = single_changes(was, sample, after, clips)
    best = min(one.rest for one in found.values())
    constant, left = counted_otherwise(factors, was), factor_between(after, before)[1]
    # Rates that are free in each step explain more than a constant, unless it is that constant.
    if constant and abs(factors[0] - 1) < 0.1 and 0.3 * left < best < 3 * left:
        # As well as the old rule explains the old steps; a ratio has the rounding of both.
        if best < min(1.3 * was.rest, 0.6 * left):
            constant, one_factor = None, False
        elif left > min(1.9 * was.rest, 0.6 * best):
            return None  # a constant of the rule explains as much as another rate
    if one_factor and (best > 0.3 * max(rests) if constant else best > max(2 * max(rests), 2e-5)):
        return constant or other_correction(factors, was) or other_rates(case, factors)
    places = PLACES[:2] if was.rule.name == "Momentum" else [was.rule.place]
    moved = [fitted(was.rule._replace(place=one), sample, after) for one in places]
    free = min(moved, key=rest_of)  # a rate that stands in the average changes it
    ratio = np.array(free.rates) / np.array(was.rates)
    limit = min(2 * was.rest, 0.5 * best, 0.1 * unchanged.rest)
    if free.rest < limit and np.ptp(ratio) > 10 * free.rest:
        cause = constant_of_other_form(was, sample, steps, enough)
        evidence = f"the rates are {said_list(ratio)} times the old ones"
        return cause or reason("schedule", evidence)
    cause = changed_constant(was, unchanged, found, min(enough, 5e-3))
    if cause or one_factor or best < 0.1 * unchanged.rest:  # or several constants explain it alike
        return cause
    cause = rates_by_weight(case, sample, after, before)
    if cause:
        return cause
    now = best_fit(sample, after, close, was.rule.name)
    enough = max(2 * was.rest, 1e-5, 0.05 * unchanged.rest)
    if now.rest > enough:  # another rule: a stronger claim, for which more must be explained
        enough = max(2 * was.rest, 1e-5, 0.005 * unchanged.rest)
        now = best_fit(sample, after, close)
    if now.rest > min(enough, 1.2 * best):  # one constant alone explains more
        return None
    return other_constants(was, unchanged, now, sample, after)


def constant_of_other_form(was, sample, steps, enough):
    """Return the cause that a constant is another in a form that explains the old steps as well.

    Epsilon outside of a root and another one inside are alike, at rates of their own.
    """
    (after, before), rule = steps, was.rule
    if rule.name not in ("RMSProp", "Adam"):
        return None
    for place in (one for one in PLACES[:2] if one != rule.place):
        fits = changes(rule._replace(place=place), "epsilon", EPSILONS, sample, before)
        fits = sorted(fits, key=rest_of)[:3]
        fit = min((refined(one, sample, before, ["epsilon"]) for one in fits), key=rest_of)
        if fit.rest < 2 * was.rest + 1e-6:
            found = single_changes(fit, sample, after, ())
            unchanged = fitted(fit.rule, sample, after, fit.rates)
            return changed_constant(fit, unchanged, found, min(enough, 5e-3))
    return None


def rates_by_weight(case, sample, after, before):
    """Some weights step by a constant factor more than others."""
    found = {}
    for k in np.unique(sample.which):
        mine = sample.which == k
        factors, rests = zip(*(factor_between([a[mine]], [b[mine]]) for a, b in zip(after, before)))
        limit = 3 * np.max(case.tolerance["step"][:, k])
        gap = abs(np.mean(factors) - 1)
        left = max(limit, min(1e-4, 0.1 * gap))
        if max(rests) > left or np.ptp(factors) > max(limit, min(1e-3, 0.05 * gap)):
            return None
        found[k] = float(np.mean(factors))
    others = {k: one for k, one in found.items() if abs(one - 1) > 1e-4}
    numbers = list(others.values())
    if not others or np.ptp(numbers) > 0.05 * abs(np.mean(numbers) - 1) or mine.sum() < 2:
        return None
    names = listed_names(case.old.trained[k].name for k in others)
    factor = f"{next(iter(others.values())):.6g}"
    evidence = "it is the same factor in each step, and the others step as they did"
    return reason("learning-rate", evidence, of=f" of {names}", factor=factor)


def changed_constant(was, unchanged, found, enough):
    """Return the cause that one constant of the rule is another, if one alone explains it."""
    if found.get("place", unchanged).rule.epsilon != was.rule.epsilon:
        if found["epsilon"].rest < 1.3 * found["place"].rest:  # one constant, and not two
            found = {name: one for name, one in found.items() if name != "place"}
    (name, best), *others = sorted(found.items(), key=lambda item: item[1].rest)
    # As well as the old rule explains the old steps, and as no other constant does.
    alone = best.rest < min(1.3 * was.rest, 0.4 * unchanged.rest, 0.6 * others[0][1].rest)
    if not alone and best.rest > min(
        0.2 * unchanged.rest, max(np.hypot(enough, was.rest) * 2, 0.05 * unchanged.rest)
    ):
        return None
    if alone:
        return rule_cause([name], was, best, unchanged.rest)
    near = {KEYS[n] for n, one in found.items() if one.rest < 3 * best.rest}
    return None if near != {KEYS[name]} else rule_cause([name], was, best, unchanged.rest)


def other_constants(was, unchanged, now, sample, steps):
    """Return the cause that the rule is another, or several of its constants are."""
    ratio = np.array(now.rates) / np.array(was.rates)
    if now.rule.name == was.rule.name != "Adam" and np.ptp(ratio) > 2e-4 * abs(ratio[0]):
        return reason("schedule", f"the rates are {said_list(ratio)} times the old ones")
    if {now.rule.name, was.rule.name} == {"SGD", "Momentum"}:
        return rule_cause(["beta"], was, now, unchanged.rest)
    if now.rule.name != was.rule.name:
        evidence = (
            f"{was.rule.name} leaves {unchanged.rest:.2g} of the new steps unexplained, "
            f"{now.rule.name} {now.rest:.2g}"
        )
        return reason("optimizer", evidence, old=was.rule.name, new=now.rule.name)
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
    return rule_cause(names, was, best, unchanged.rest) if names else None


def rule_cause(names, was, best, unchanged):
    """Return the cause that constants of the optimizer are others, the most telling one first."""
    adam = was.rule.name == "Adam"
    words = dict(WORDS, beta="beta_1" if adam else "momentum", rho="beta_2" if adam else "rho")
    inside = best.rule.place == was.rule.place == "inside"
    if was.rule.name == "Adagrad" and inside and set(names) <= {"start", "epsilon", "place"}:
        names, was, best = ["start"], as_start(was), as_start(best)
        words["start"] = "start of the accumulator, and epsilon inside the root, together"
    elif was.rule.name == "Adagrad" and names == ["start"]:
        words["start"] += ", or epsilon inside the root, which counts with it"
    parts = []
    if names == ["place"] and best.rule.epsilon != was.rule.epsilon:
        names = ["place", "epsilon"]
    for name in names:
        digits = 3 if name == "epsilon" else 4
        old, new = (
            str(value) if isinstance(value, (str, bool)) else f"{value:.{digits}g}"
            for value in (getattr(was.rule, name), getattr(best.rule, name))
        )
        if name == "clip" and new != "none":
            new += f" {best.rule.bound:.4g}"
        parts.append(f"{words.get(name, name)}: {old} in the old step, {new} in the new one")
    key = "momentum" if names[0] == "beta" and not adam else KEYS[names[0]]
    if was.rule.name in ("SGD", "Momentum") and names[0] == "place":
        key, parts = (
            "momentum",
            [
                f"the rate stands {was.rule.place} the average of gradients in the old step, and "
                f"{best.rule.place} in the new one"
            ],
        )
    if names[0] == "place" and "corrected" in (was.rule.place, best.rule.place):
        key = "bias-correction"
    said = "; ".join(parts)
    evidence = (
        f"{best.rest:.2g} of the new steps stays unexplained; as in the old step, {unchanged:.2g}"
    )
    return reason(key, evidence, said_as="constant", rule=was.rule.name, changes=said)


def as_start(fit):
    """Return a fit of Adagrad with an epsilon inside the root as the start, which it equals."""
    rule = fit.rule
    return fit._replace(rule=rule._replace(start=rule.start + rule.epsilon, epsilon=0.0))


def waiting_step(case):
    """In some steps one side moves nothing: its rate is zero there."""
    still = [
        np.array([not any(np.any(move) for move in moves(one)) for one in side.steps])
        for side in (case.new, case.old)
    ]
    alone = np.flatnonzero(still[0] != still[1])
    if not len(alone) or still[0].all() or still[1].all():
        return None
    side = "new" if still[0][alone[0]] else "old"
    return reason("schedule", f"on the {side} side nothing moves in step {alone[0] + 1}")


def added_decay(case, new, old, sample):
    """Each step takes a share of some weights off."""
    moving = [t for t, (a, b) in enumerate(zip(new, old)) if np.any(a) or np.any(b)]
    new, old, weights = ([side[t] for t in moving] for side in (new, old, sample.weights))
    gaps, limit = [a - b for a, b in zip(new, old)], case.tolerance["step"].max(0)
    moved = [
        k
        for k in np.unique(sample.which)
        if any(
            norm_of(gap[sample.which == k]) > limit[k] * norm_of(b[sample.which == k])
            for gap, b in zip(gaps, old)
        )
    ]
    some = np.isin(sample.which, moved)
    if not moved:
        return None
    shares, rests = zip(*(factor_between([gap[some]], [w[some]]) for gap, w in zip(gaps, weights)))
    noise = [norm_of(b[some]) / (norm_of(gap[some]) or 1) for gap, b in zip(gaps, old)]
    noise = max(limit[k] for k in moved) * max(noise)
    if max(rests) > min(0.05 + noise, 0.3) or min(shares) < 0 < max(shares):
        return None
    names = listed_names(case.old.trained[k].name for k in moved)
    how = f"each step takes {abs(shares[0]):.4g} of it {'less' if shares[0] > 0 else 'more'}"
    evidence = f"that leaves {max(rests):.2g} of the difference unexplained"
    return reason("weight-decay", evidence, name=names, how=how)


def other_averages(case):
    """Averages move at another pace."""
    k = int(np.flatnonzero(case.wrong["state"][case.t])[0])
    name, start = (case.old.others[k].name, wide(case.old.start[len(case.old.trained) + k]))
    now, was = (wide(side.steps[0].state[k]) - start for side in (case.new, case.old))
    evidence = f"{name} is apart by {case.apart['state'][case.t, k]:.2g}"
    if np.any(was):
        evidence = f"in the first step it moves {factor_between([now], [was])[0]:.5g} times as far"
    if name in case.new.about["thawed"] and not np.any(was):
        return reason("not-trained", "the new step trains it", "certain", name=name, side="old")
    weights = "ExponentialMovingAverage" in name
    return reason("moving-average" if weights else "batch-norm-average", evidence, name=name)


STEP = (not_trained, waiting_step, lazy_rows, other_places_of_gradients, repeated_rows, other_rule)
STATE = (other_averages,)
