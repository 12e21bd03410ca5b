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
BELOW = "beta", "rho"  # these are near 1: their distance from it is moved
DECAYS = [10 ** (k / 4 - 6) for k in range(25)]


class Optimizer(
    namedtuple(
        "Optimizer",
        "name beta rho epsilon place start nesterov clip bound decay centered",
        defaults=(False,),
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
        centered: Whether RMSProp takes the square of the average off the average of squares.
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
        PLAIN._replace(name="RMSProp", rho=0.9, epsilon=1e-3, place="inside", centered=True),
        {
            "rho": (0.9, 0.95, 0.99),
            "epsilon": (1e-10, 1e-7, 1e-5, 1e-3, 1e-2),
            "place": PLACES[:2],
            "start": (0.0, 1.0),
            "beta": (0.0, 0.9, 0.95, 0.5),
        },
    ),
    (
        PLAIN._replace(name="Adam", beta=0.9, rho=0.999, epsilon=1e-7),
        {"beta": BETAS, "rho": RHOS, "epsilon": EPSILONS, "place": PLACES},
    ),
)


class Sample(namedtuple("Sample", "gradients weights norms which beside", defaults=(None,))):
    """Some elements of all weights, step by step.

    Attributes:
        gradients: An array for each step, of the elements' gradients.
        weights: An array for each step, of the elements before it.
        norms: For each step the norm of each weight's whole gradient.
        which: For each element, the number of its weight.
        beside: An array for each step, of which the step may hold any share besides; or None.
    """


class Fit(namedtuple("Fit", "rule rest rates")):
    """A rule, the part of the steps that it leaves unexplained, and its rate in each step."""


def sampled(record, chosen):
    """Return a `Sample` of some weights of a record, and the function that samples steps."""
    random, places = np.random.RandomState(0), {}
    for k in chosen:
        values = [parts_of(one.gradients[k]) for one in record.steps]
        sizes = np.abs(values)
        alive = np.flatnonzero(np.all(sizes > SURE * np.sqrt(np.mean(sizes**2)), 0))
        places[k] = np.sort(random.permutation(alive)[:SAMPLE])

    def take(arrays):
        return np.concatenate([parts_of(arrays[k])[places[k]] for k in chosen])

    which = np.concatenate([np.full(len(places[k]), k) for k in chosen])
    norms = [
        {k: np.linalg.norm(wide(one.gradients[k]).ravel()) for k in chosen} for one in record.steps
    ]
    gradients = [take(one.gradients) for one in record.steps]
    sample = Sample(gradients, [take(one.before) for one in record.steps], norms, which)
    return sample, lambda steps: [take(moves(one)) for one in steps]


def parts_of(values):
    """Return the elements of an array as a vector; of complex ones, both parts."""
    return wide(values).ravel().view("f8")


def ways_of(rule, sample):
    """Return where a rule goes in each step: what the rate is multiplied with."""
    size = len(sample.which)
    mean, square, found = np.zeros(size), np.full(size, float(rule.start)), []
    for t, (gradient, weights) in enumerate(zip(sample.gradients, sample.weights)):
        g = clipped(rule, gradient, sample.norms[t], sample.which) + rule.decay * weights
        if rule.name == "Adam" or rule.centered:
            beta = rule.rho if rule.centered else rule.beta
            mean = beta * mean + (1 - beta) * g
        if rule.name in ("Adam", "RMSProp"):
            square = rule.rho * square + (1 - rule.rho) * g * g
        elif rule.name == "Adagrad":
            square = square + g * g
        with np.errstate(all="ignore"):
            part = mean if rule.name == "Adam" else g
            if rule.name in ("Adam", "RMSProp", "Adagrad"):
                scale = np.sqrt(1 - rule.rho ** (t + 1)) if rule.place == "corrected" else 1.0
                inside = rule.place == "inside"
                middle = mean * mean if rule.centered else 0.0
                root = np.sqrt(square - middle + rule.epsilon * inside)
                part = part / (root + scale * rule.epsilon * (not inside))
        if rule.name == "Momentum" and not rate_inside(rule):
            mean = rule.beta * mean + part
            part = part + rule.beta * mean if rule.nesterov else mean
        found.append(part)
    return found


def rate_inside(rule):
    """Return whether momentum adds up steps, each with the rate of its time."""
    return rule.name == "RMSProp" or (rule.name == "Momentum" and rule.place == "inside")


def own_moves(rule, steps):
    """Return steps without what momentum keeps of the one before, whatever the rates."""
    if not rate_inside(rule) or not rule.beta:
        return steps
    if not rule.nesterov:
        return [one - rule.beta * last for one, last in zip(steps, [0.0, *steps])]
    found, kept = [], 0.0
    for step in steps:  # which is beta times what is kept, with the newest part in it, and that
        part = (step - rule.beta**2 * kept) / (1 + rule.beta)
        kept = rule.beta * kept + part
        found.append(part)
    return found


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


def left_of_steps(rule, sample, steps, known=None):
    """Return what a rule leaves of each step, and the rates: known ones, or those that fit best."""
    rates, gaps = [], []
    sides = ways_of(rule, sample), own_moves(rule, steps)
    if sample.beside:
        sides = [[without(*both) for both in zip(side, sample.beside)] for side in sides]
    for t, (way, step) in enumerate(zip(*sides)):
        with np.errstate(all="ignore"):
            rates.append(known[t] if known else -np.dot(way, step) / np.dot(way, way))
            gaps.append(step + rates[-1] * way)
    return gaps, rates


def without(values, other):
    """Return a vector less its part along another one."""
    return values - other * (np.dot(values, other) / (np.dot(other, other) or 1.0))


def fitted(rule, sample, steps, known=None):
    """Return how well a rule explains steps, with known rates or one of its own for each."""
    gaps, rates = left_of_steps(rule, sample, steps, known)
    rest, whole = (sum(np.dot(one, one) for one in some) for some in (gaps, steps))
    rest = np.sqrt(rest / whole) if whole else np.inf
    return Fit(rule, float(rest) if np.isfinite(rest) else np.inf, rates)


def refined(fit, sample, steps, names, old=None):
    """Return a fit whose constants have been moved together, by Levenberg's and Marquardt's way.

    One by one, they stick in a narrow valley: another momentum is made up for by another epsilon.
    """
    names = [n for n in names if type(getattr(fit.rule, n)) is float and getattr(fit.rule, n) > 0]

    def rule_at(point):
        values = np.exp(point)
        moved = {n: float(1 - v if n in BELOW else v) for n, v in zip(names, values)}
        return fit.rule._replace(**moved)

    def fit_at(point):
        here = rule_at(point)
        return min(changes(here, "name", [here.name], sample, steps, old), key=rest_of)

    def left(point):
        best = fit_at(point)
        return np.concatenate(left_of_steps(best.rule, sample, steps, best.rates)[0])

    values = [getattr(fit.rule, n) for n in names]
    point = np.log([1 - v if n in BELOW else v for n, v in zip(names, values)])
    gap, damping = left(point), 1e-3
    while names and np.all(np.isfinite(gap)) and damping < 1e3:
        slope = np.stack([left(point + 1e-6 * one) - gap for one in np.eye(len(names))], 1) / 1e-6
        gram = slope.T @ slope
        with np.errstate(all="ignore"):
            damped = gram + damping * np.diag(np.diag(gram) + 1e-30)
            to = point - np.clip(np.linalg.solve(damped, slope.T @ gap), -1, 1)
            new = left(to)
        gain = np.dot(gap, gap) - np.dot(new, new)
        if gain > 1e-4 * np.dot(gap, gap):
            point, gap, damping = to, new, damping / 5
        else:
            damping *= 5
    return min(fit, fit_at(point), key=rest_of)


def best_fit(sample, steps, enough, only="", decay=0.0):
    """Return the simplest rule that explains steps, or the best one; of one name, if `only`."""
    found = []
    for rule, constants in FAMILIES:
        if only not in ("", rule.name) or (rule.centered and min(map(rest_of, found)) <= enough):
            continue
        every = (dict(zip(constants, one)) for one in itertools.product(*constants.values()))
        fits = (fitted(rule._replace(decay=decay, **one), sample, steps) for one in every)
        nearest = {}  # for each form of the rule
        for one in sorted(fits, key=rest_of):
            nearest.setdefault((one.rule.place, one.rule.nesterov), one)
        best = min(nearest.values(), key=rest_of)
        if best.rest > 1e-6:
            moved = [*constants, "decay"]
            tried = (refined(one, sample, steps, moved) for one in nearest.values())
            best = min(tried, key=rest_of)
        for name in constants:  # what nothing depends on is as it mostly is
            usual = fitted(best.rule._replace(**{name: getattr(rule, name)}), sample, steps)
            best = usual if usual.rest <= 1.2 * best.rest + 1e-7 else best
        found.append(usual_constants(best, constants, sample, steps))
    least = min(map(rest_of, found))
    # With rates of its own for each step a wrong rule may come near: near enough is not best.
    enough = min(enough, max(1.5 * least, 1e-6))
    return next((one for one in found if one.rest <= enough), min(found, key=rest_of))


def usual_constants(fit, constants, sample, steps):
    """Return a fit with constants as people write them, where these explain the steps as well."""
    near = {}
    for name, values in constants.items():
        value = getattr(fit.rule, name)
        if type(value) is float and value > 0:
            near[name] = min(values, key=lambda one, value=value: abs(one - value))
    usual = fitted(fit.rule._replace(**near), sample, steps)
    return usual if usual.rest <= 1.3 * fit.rest + 1e-7 else fit


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
