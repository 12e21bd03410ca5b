"""Steps that are the old ones times a number, or one in each step: a rate, or what acts as one."""

from .arrays import np
from .differences import factor_between, norm_of
from .passes import moves
from .reasons import reason
from .rules import corrections

ROUNDED = 5e-5  # what rounding in the bias correction may make of a rate


def constant_rate(factors):
    """All steps are the old ones times the same number."""
    if np.ptp(factors) > 0.02 * abs(factors[0] - 1) + ROUNDED:
        return None
    if np.mean(factors) < 0:
        return reason("sign", said_factors(factors), place="Each step")
    whole = max(np.mean(factors), 1 / np.mean(factors))
    number = round(whole)
    if number >= 32 and number & (number - 1) == 0 and abs(whole - number) < 2e-3 * number:
        said_as = "loss-scale" if np.mean(factors) > 1 else "unscaled"
        return reason("loss-scale", said_factors(factors), said_as=said_as, number=number)
    factor = f"{np.mean(factors):.6g}"
    return reason("learning-rate", said_factors(factors), of="", factor=factor)


def counted_otherwise(factors, was):
    """As `constant_rate`; of a rate that decays by that number in each step, its count is off."""
    cause, decay = constant_rate(factors), np.array(was.rates[1:]) / was.rates[:-1]
    if not cause or len(decay) < 2 or np.ptp(decay) > 1e-3 or abs(decay[0] - 1) < 1e-3:
        return cause
    if min(abs(np.mean(factors) / decay.mean() ** power - 1) for power in (1, -1)) > 1e-3:
        return cause
    evidence = f"{said_factors(factors)}, and each old rate {decay.mean():.5g} times the one before"
    return reason("schedule", evidence)


def other_correction(factors, was):
    """The steps are the old ones times what Adam's bias correction is, or would be a step later."""
    if was.rule.name != "Adam":
        return None
    late = np.array(corrections(was.rule, len(factors) + 1))
    for side, expected in (("new", late[1:] / late[:-1]), ("old", late[:-1] / late[1:])):
        if np.abs(factors / expected - 1).max() < 1e-3:
            words = {"said_as": "counted", "side": side}
            return reason("bias-correction", said_factors(factors), **words)
    one, two = (
        [1 - rate ** (t + 1) for t in range(len(factors))] for rate in (was.rule.beta, was.rule.rho)
    )
    for expected in (np.sqrt(two) / one, 1 / np.array(one), np.sqrt(two)):
        for power, side in ((1, "old"), (-1, "new")):
            rest = factors / expected**power
            if np.ptp(expected) > 1e-3 and np.ptp(rest) < 5e-3 * abs(rest[0]):
                return reason("bias-correction", said_factors(factors), side=side)
    return None


def other_rates(case, factors):
    """The steps are the old ones times a number that changes: clipping, or a schedule."""
    changes_ = np.abs(factors - 1)
    if 0.1 > changes_.max() < 2 * changes_.min():
        return None  # near a constant, which it is not
    sizes = {
        side: [np.hypot.reduce([norm_of(m) for m in moves(one)]) for one in steps]
        for side, steps in (("new", case.new.steps), ("old", case.old.steps))
    }
    for side, other in (("new", "old"), ("old", "new")):
        if np.ptp(sizes[side]) < 1e-4 * sizes[side][0] < np.ptp(sizes[other]):
            evidence = f"all steps have the norm {sizes[side][0]:.5g} there"
            return reason("clipping", evidence, how=f"by a norm on the {side} side")
    return reason("schedule", said_factors(factors))


def factors_of(after, before):
    """Return by what each step is multiplied, and what that leaves; without steps of zero."""
    moved = [(a, b) for a, b in zip(after, before) if np.any(a) or np.any(b)]
    factors, rests = zip(*(factor_between([a], [b]) for a, b in moved))
    return np.real(factors), rests


def said_factors(factors):
    """Return in words how steps compare."""
    return f"the new steps are {said_list(factors)} times the old ones"


def said_list(numbers):
    """Return numbers in words."""
    return ", ".join(f"{one:.5g}" for one in numbers)
