"""Update rules: which optimizer makes the steps that were recorded, and with which constants."""

import itertools
from collections import namedtuple

from .arrays import np
from .differences import wide
from .passes import SURE, moves

SAMPLE = 300  # elements of each weight that are looked at
BETAS = (0.9, 0.0, 0.5, 0.8, 0.95, 0.99)
RHOS = (0.999, 0.99, 0.9, 0.95, 0.98, 0.995, 0.9995, 0.9999)
EPSILONS = (1e-7, 1e-8, 1e-10, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 0.0)
STARTS = (0.0, 0.1, 1.0, 1e-3, 1e-2)
PLACES = (
    "outside",
    "inside",
    "corrected",
)  # of epsilon: of the root; scaled as Adam's paper has it
CLIPS = ("none", "global norm", "norm of each", "value")
WIDTHS = (0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 3e-4, 1e-4, 3e-5, 1e-5)  # in which it is moved
DECAYS = [10 ** (k / 4 - 6) for k in range(25)]


class Optimizer(
    namedtuple(
        "Optimizer",
        "name beta rho epsilon place start nesterov clip bound decay",
        defaults=(),
    )
):
    """An optimizer without its rate.

    Attributes:
        name: "SGD", "Momentum", "Adagrad", "RMSProp" or "Adam".
        beta: The decay rate of the average of gradients, or the momentum.
        rho: That of the average of squares.
        epsilon: The constant that keeps the root from zero.
        place: Where it stands, one of `PLACES`; of momentum, whether the rate stands in it.
        start: Where the accumulator of squares starts.
        nesterov: Whether momentum looks ahead.
        clip: How gradients are clipped, one of `CLIPS`.
        bound: At which norm or value.
        decay: How much of each weight is added to its gradient.
    """


PLAIN = Optimizer("SGD", 0.0, 0.0, 0.0, "outside", 0.0, False, "none", 1.0, 0.0)
FAMILIES = (
    (PLAIN, {}),
    (
        PLAIN._replace(name="Momentum", beta=0.9),
        {"beta": (*BETAS, 0.01), "nesterov": (False, True), "place": PLACES[:2]},
    ),
    (
        PLAIN._replace(name="Adagrad", start=0.1, epsilon=1e-7),
        {"start": STARTS, "epsilon": EPSILONS, "place": PLACES[:2]},
    ),
    (
        PLAIN._replace(name="RMSProp", rho=0.9, epsilon=1e-7),
        {
            "rho": RHOS,
            "epsilon": EPSILONS,
            "place": PLACES[:2],
            "start": STARTS[:3],
            "beta": (0.0, 0.9, 0.8, 0.95, 0.5, 0.01),
        },
    ),
    (
        PLAIN._replace(name="Adam", beta=0.9, rho=0.999, epsilon=1e-7),
        {"beta": BETAS, "rho": RHOS, "epsilon": EPSILONS, "place": PLACES},
    ),
)


class Sample(namedtuple("Sample", "gradients weights norms which")):
    """Some elements of all weights, step by step.

    Attributes:
        gradients: An array for each step, of the elements' gradients.
        weights: An array for each step, of the elements before it.
        norms: For each step the norm of each weight's whole gradient.
        which: For each element, the number of its weight.
    """


class Fit(namedtuple("Fit", "rule rest rates")):
    """A rule, the part of the steps that it leaves unexplained, and its rate in each step."""


def sampled(record, chosen):
    """Return a `Sample` of some weights of a record, and the function that samples steps."""
    random, places = np.random.RandomState(0), {}
    for k in chosen:
        values = [wide(one.gradients[k]).ravel() for one in record.steps]
        sizes = np.abs(values)
        alive = np.flatnonzero(np.all(sizes > SURE * np.sqrt(np.mean(sizes**2)), 0))
        places[k] = np.sort(random.permutation(alive)[:SAMPLE])

    def take(arrays):
        return np.concatenate([wide(arrays[k]).ravel()[places[k]] for k in chosen])

    which = np.concatenate([np.full(len(places[k]), k) for k in chosen])
    norms = [
        {k: np.linalg.norm(wide(one.gradients[k]).ravel()) for k in chosen} for one in record.steps
    ]
    gradients = [take(one.gradients) for one in record.steps]
    sample = Sample(gradients, [take(one.before) for one in record.steps], norms, which)
    return sample, lambda steps: [take(moves(one)) for one in steps]


def ways_of(rule, sample):
    """Return where a rule goes in each step: what the rate is multiplied with."""
    size = len(sample.which)
    mean, square, found = np.zeros(size), np.full(size, float(rule.start)), []
    for t, (gradient, weights) in enumerate(zip(sample.gradients, sample.weights)):
        g = clipped(rule, gradient, sample.norms[t], sample.which) + rule.decay * weights
        if rule.name == "Adam":
            mean = rule.beta * mean + (1 - rule.beta) * g
        if rule.name in ("Adam", "RMSProp"):
            square = rule.rho * square + (1 - rule.rho) * g * g
        elif rule.name == "Adagrad":
            square = square + g * g
        with np.errstate(all="ignore"):
            part = mean if rule.name == "Adam" else g
            if rule.name in ("Adam", "RMSProp", "Adagrad"):
                scale = np.sqrt(1 - rule.rho ** (t + 1)) if rule.place == "corrected" else 1.0
                inside = rule.place == "inside"
                root = np.sqrt(square + rule.epsilon * inside)
                part = part / (root + scale * rule.epsilon * (not inside))
        if rule.name == "Momentum" and not rate_inside(rule):
            mean = rule.beta * mean + part
            part = part + rule.beta * mean if rule.nesterov else mean
        found.append(part)
    return found


def rate_inside(rule):
    """Return whether momentum adds up steps, each with the rate of its time."""
    inside = rule.name == "Momentum" and rule.place == "inside" and not rule.nesterov
    return rule.name == "RMSProp" or inside


def own_moves(rule, steps):
    """Return steps without what momentum keeps of the one before, whatever the rates."""
    if not rate_inside(rule) or not rule.beta:
        return steps
    return [one - rule.beta * last for one, last in zip(steps, [0.0, *steps])]


def clipped(rule, gradient, norms, which):
    """Return a gradient as a rule clips it."""
    if rule.clip == "none":
        return gradient
    if rule.clip == "value":
        return np.clip(gradient, -rule.bound, rule.bound)
    if rule.clip == "global norm":
        whole = np.sqrt(sum(norm**2 for norm in norms.values()))
        return gradient * min(1.0, rule.bound / whole)
    factors = {k: min(1.0, rule.bound / norm) if norm else 1.0 for k, norm in norms.items()}
    return gradient * np.array([factors[k] for k in which])


def fitted(rule, sample, steps, known=None):
    """Return how well a rule explains steps, with known rates or one of its own for each."""
    rest = whole = 0.0
    rates = []
    moved = zip(ways_of(rule, sample), own_moves(rule, steps), steps)
    for t, (way, step, whole_step) in enumerate(moved):
        with np.errstate(all="ignore"):
            rate = known[t] if known else -np.dot(way, step) / np.dot(way, way)
            gap = step + rate * way
        rest, whole = rest + np.dot(gap, gap), whole + np.dot(whole_step, whole_step)
        rates.append(rate)
    rest = np.sqrt(rest / whole) if whole else np.inf
    return Fit(rule, float(rest) if np.isfinite(rest) else np.inf, rates)


def best_fit(sample, steps, enough, only=""):
    """Return the simplest rule that explains steps, or the best one; of one name, if `only`."""
    found = []
    for rule, constants in FAMILIES:
        if only not in ("", rule.name):
            continue
        every = itertools.product(*constants.values())
        fits = (fitted(rule._replace(**dict(zip(constants, one))), sample, steps) for one in every)
        best = min(fits, key=rest_of)
        while best.rest > 1e-6:  # where one has moved, another may
            rest, best = best.rest, refined(best, sample, steps, list(constants))
            if best.rest > 0.7 * rest:
                break
        for name in constants:  # what nothing depends on is as it mostly is
            usual = fitted(best.rule._replace(**{name: getattr(rule, name)}), sample, steps)
            best = usual if usual.rest <= 1.2 * best.rest + 1e-7 else best
        found.append(best)
    least = min(map(rest_of, found))
    # With rates of its own for each step a wrong rule may come near: near enough is not best.
    enough = min(enough, max(1.5 * least, 1e-6))
    return next((one for one in found if one.rest <= enough), min(found, key=rest_of))


def rest_of(fit):
    """Return what a fit leaves unexplained."""
    return fit.rest


def changes(rule, name, values, sample, steps, old=None):
    """Return the fits of a rule with another value of one constant, at the rates of an old fit."""
    rules = [rule._replace(**{name: value}) for value in values]
    known = [same_rates(old, one) if old else [None] for one in rules]
    return [fitted(one, sample, steps, some) for one, more in zip(rules, known) for some in more]


def same_rates(old, rule):
    """Return the rates of an old fit; for Adam as they are, and with another bias correction."""
    if rule.name != "Adam":
        return [list(old.rates)]
    before, after = (np.array(corrections(one, len(old.rates))) for one in (old.rule, rule))
    return [list(old.rates), list(np.array(old.rates) / before * after)]


def refined(fit, sample, steps, names, old=None):
    """Return a fit whose constants have been moved, one by one, to where it explains most."""
    for name in names:
        value = getattr(fit.rule, name)
        if isinstance(value, float) and value > 0:
            below = name in (
                "beta",
                "rho",
            )  # these are near 1: their distance from it is moved
            for width in WIDTHS:
                better = None
                while better is None or better.rest < 0.999 * fit.rest:
                    fit, value = better or fit, getattr((better or fit).rule, name)
                    some = np.exp(np.linspace(-width, width, 9)) * (1 - value if below else value)
                    some = [1 - one if below else one for one in some]
                    tried = changes(fit.rule, name, some, sample, steps, old)
                    better = min([fit, *tried], key=rest_of)
                fit = better
    return fit


def single_changes(old, sample, steps, clips=CLIPS):
    """Return the best fit of steps by a rule with one constant changed, for each constant.

    Args:
        old: The `Fit` of the old steps.
        sample: The `Sample` that both sides share.
        steps: The new steps.
        clips: How the new optimizer may clip.

    Returns:
        A dictionary from the name of the constant to a `Fit`.
    """
    rule, found = old.rule, {}
    constants = dict(next(more for one, more in FAMILIES if one.name == rule.name))
    if rule.name == "Adam":  # whose squares start at zero, mostly
        constants["start"] = [10.0**-k for k in range(1, 14)]
    if rule.name == "SGD":
        rule, constants = rule._replace(name="Momentum"), {"beta": (*BETAS, 0.01)}
    for name, values in constants.items():
        fits, moved = changes(rule, name, values, sample, steps, old), [name]
        if name == "place" and rule.name in ("Adam", "RMSProp"):  # mostly with another epsilon
            others = [rule._replace(place=one) for one in values if one != rule.place]
            epsilons, moved = (*constants["epsilon"], rule.epsilon), ["epsilon"]
            fits = [
                fit for one in others for fit in changes(one, *moved, epsilons, sample, steps, old)
            ]
        # Beside nothing a little may be the best, and cannot be reached from there.
        fits = sorted(fits, key=rest_of)[:4]
        found[name] = min((refined(one, sample, steps, moved, old) for one in fits), key=rest_of)
    largest = max(max(one.values()) for one in sample.norms)
    for clip in clips:
        if clip != rule.clip:
            bounds = [largest * 0.8**k for k in range(40)] if clip != "none" else [1.0]
            clips = rule._replace(clip=clip)
            fits = changes(clips, "bound", bounds, sample, steps, old)
            best = refined(min(fits, key=rest_of), sample, steps, ["bound"], old)
            found["clip"] = min(best, found.get("clip", best), key=rest_of)
    fit = min(changes(rule, "decay", DECAYS, sample, steps, old), key=rest_of)
    found["decay"] = refined(fit, sample, steps, ["decay"], old)
    return found


def corrections(rule, steps):
    """Return the factor by which Adam's bias correction multiplies the rate in each step."""
    return [np.sqrt(1 - rule.rho ** (t + 1)) / (1 - rule.beta ** (t + 1)) for t in range(steps)]
