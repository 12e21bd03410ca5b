"""The verdict: what differs first, by how much, and whether rounding can make that."""

import itertools
import zlib
from collections import namedtuple

from .arrays import np
from .causes import likely_cause, new_chance
from .chance import random_parts
from .differences import TIMES, factor_between, relative_difference
from .forms import NotComparable, first_line
from .passes import gaps, moves, settled
from .reasons import listed_names
from .report import LOST, Gap, Report

KINDS = "loss", "gradient", "step", "state"  # within a step, the first that differs decides
REAL = "float", "bfloat", "half"
SINGLE = 2.0**-23  # optimizers keep their constants in single precision
ORDERS = 120  # of averages, that are tried
OTHER = 4  # a function adds in another order, which what was measured does not hold
COMMON = 5e-5  # the bias correction of one step, computed in single precision, is off by less


class Case(namedtuple("Case", "old new kind t wrong apart tolerance names loss_with")):
    """What differs first.

    Attributes:
        old: The record.
        new: The record of the new program, with the old one's variables.
        kind: "loss", "gradient", "step" or "state".
        t: The number of the first step in which it does.
        wrong: For each kind, whether it differs: a row for each step, a column for each weight.
        apart: For each kind, the relative differences.
        tolerance: For each kind, how far apart rounding may bring them.
        names: For each kind, what its columns are called.
        loss_with: A function that runs the new step on other weights or inputs; or None.
    """


def judged(old, new, loss_with=None):
    """Return the report on an old record and a new one with the same variables.

    Args:
        old: The `Record` of the old program.
        new: That of the new one, which began each step from the old one's weights.
        loss_with: A function that runs the new step on other weights or inputs, as
            `Comparison.loss_with` does; without it some causes are not looked for.

    Raises:
        NotComparable: The two are not of one program, or the old one is not finite.
    """
    if not new.about.get("of") or new.about["of"] != fingerprint(old):
        raise NotComparable("the second record was not made by comparing with the first one")
    check_numbers(old)
    pairs = zip(new.steps, old.steps)
    new = new._replace(steps=[one._replace(before=was.before) for one, was in pairs])
    tolerance = {kind: tolerated(kind, old, new) for kind in KINDS}
    names = {
        "loss": list(old.steps[0].losses),
        "gradient": [one.name for one in old.trained],
        "step": [one.name for one in old.trained],
        "state": [one.name for one in old.others],
    }
    matched = {one.name for one in old.others} & {
        name for names_, _, _ in new.about["matched"] for name in names_
    }
    compared = np.array(
        [one.name in matched and one.dtype.startswith(REAL) for one in old.others], bool
    )
    chance, rounding = random_parts({"old program": old, "new step": new}, names, compared)
    old = with_nearer_numbers(old, new, tolerance)
    apart = gaps(new.steps, old.steps)
    apart["step"], common = without_common(new, old, apart["step"], tolerance["step"])
    tolerance["state"] += common  # a copy of a weight that began at zero has the same factor
    silent = [name for name, one in (("old", old), ("new", new)) if one.about["silent"]]
    if silent:
        tolerance["gradient"][:] = np.inf
    lost = {kind: tolerance[kind] >= LOST for kind in KINDS}
    wrong = {kind: ~(apart[kind] <= tolerance[kind]) & ~lost[kind] for kind in KINDS}
    nones = [] if silent else other_nones(old, new, wrong)
    rounded = rounded_to_single(old, new, wrong, apart)
    apart["state"] = np.where(compared, apart["state"], 0.0)
    wrong["state"] &= compared & ~exchanged_states(old, new, tolerance["state"], matched)
    first = next(
        ((t, kind) for t in range(len(old.steps)) for kind in KINDS if wrong[kind][t].any()), None
    )
    notes = [*new.about["notes"], *rounded, *nones, *rounding]
    notes += [f"the {name} step returned no gradients: they are not compared" for name in silent]
    forms = other_form(new, tolerance, names)
    cause = None
    chance += lost_parts(lost, names)
    if chance:
        verdict, notes, cause = "not comparable", chance + notes, new_chance(old, new)
    elif first:
        if wrong["loss"].any() and not wrong["loss"][0, 0]:
            loss_with = None  # which runs the first loss, and that one agrees
        case = Case(old, new, first[1], first[0], wrong, apart, tolerance, names, loss_with)
        with np.errstate(all="ignore"):  # a side may hold infinity
            verdict = "differs"
            try:
                cause = likely_cause(case)
            except Exception as error:  # the verdict stands, also where its reason is not found
                notes.append(f"the cause could not be looked for: {first_line(error)}")
    else:
        verdict, notes = ("differs" if forms else "the same"), forms + notes
        notes += left_out(old, matched)
    rows = [
        Gap(
            kind,
            t,
            names[kind][k],
            float(apart[kind][t, k]),
            float(tolerance[kind][t, k]),
            bool(bad),
        )
        for kind in KINDS
        for (t, k), bad in np.ndenumerate(wrong[kind])
    ]
    return Report(verdict, notes, cause, rows, new.about["matched"], old, new)


def left_out(old, matched):
    """Return a line on the averages and copies that the old step moves, and nothing new holds."""
    ends = zip(old.others, old.start[len(old.trained) :], old.steps[-1].state)
    moved = [one for one, start, end in ends if np.any(start != end)]
    names = [one.name for one in moved if one.name not in matched and one.dtype.startswith(REAL)]
    said = "the old step moves {}, and no variable that you pass holds it: not compared"
    return [said.format(listed_names(names))] if names else []


def rounded_to_single(old, new, wrong, apart):
    """Take differences in double precision as none which single precision makes; return a note."""
    gaps_ = [np.where(wrong[kind], apart[kind], 0.0) for kind in ("loss", "gradient")]
    most = max(np.max(one, initial=0.0) for one in gaps_)
    if max(old.about["unit"], new.about["unit"]) >= SINGLE or not 0 < most <= SINGLE:
        return []
    for kind, gap in zip(("loss", "gradient"), gaps_):
        wrong[kind] &= gap == 0  # None on one side alone
    return [
        f"in double precision a difference of {most:.2g} is left: a number is kept in single "
        "precision on one side, as tf.cast(0.1, tf.float64) keeps it"
    ]


def other_nones(old, new, wrong):
    """Mark gradients that are None on one side alone; return a line on those that no step minds."""
    idle, harmless = idle_weights(old) & idle_weights(new), []
    for k, weight in enumerate(old.trained):
        both = [(a.gradients[k], b.gradients[k]) for a, b in zip(new.steps, old.steps)]
        # What neither program trains needs no gradient in the new one.
        needed = np.array([not idle[k] or mine is not None for mine, _ in both])
        other = needed & [(mine is None) != (was is None) for mine, was in both]
        wrong["gradient"][:, k] &= needed
        if wrong["step"][:, k].any():
            wrong["gradient"][:, k] |= other
        elif other.any() and not wrong["gradient"][:, k].any():
            harmless.append(weight.name)
    said = "None on one side and zeros on the other, and the optimizer takes the same step"
    return [f"the gradient of {listed_names(harmless)} is {said}"] if harmless else []


def idle_weights(record):
    """Return which weights no step moves, where it moves others."""
    moved = np.any([[np.any(move) for move in moves(one)] for one in record.steps], 0)
    return ~moved & np.any(moved)


def exchanged_states(old, new, tolerance, matched):
    """Return which averages differ only because those of one shape were matched in order.

    The loss does not tell which is which: an order in which all are the same is taken.
    """
    found = np.zeros(tolerance.shape, bool)
    groups = {}
    for k, one in enumerate(old.others):
        if one.name in matched:
            groups.setdefault(one.shape, []).append(k)
    for group in groups.values():
        for order in itertools.islice(itertools.permutations(group), ORDERS):
            fit = [
                relative_difference(one.state[b], was.state[a]) <= tolerance[t, a]
                for t, (one, was) in enumerate(zip(new.steps, old.steps))
                for a, b in zip(group, order)
            ]
            if len(group) > 1 and all(fit):
                found[:, group] = True
                break
    return found


def check_numbers(old):
    """Raise NotComparable where the record itself is not finite."""
    for t, step in enumerate(old.steps):
        for name, values in [
            *step.losses.items(),
            *zip([w.name for w in old.trained], step.gradients),
        ]:
            if values is not None and not np.all(np.isfinite(values)):
                raise NotComparable(
                    f"the record itself holds NaN or infinity: {name} in step {t + 1}. Record a "
                    "step whose numbers are finite"
                )


def tolerated(kind, old, new):
    """Return how far apart rounding may bring the two: a row for each step."""
    unit = max(old.about["unit"], new.about["unit"])
    # Of several losses, all but the first are computed after a step.
    if kind in ("step", "state") or len(old.steps[0].losses) > 1:
        unit = max(unit, SINGLE)
    measured = np.maximum(old.noise[kind], new.noise[kind])
    return TIMES * measured + TIMES * unit


def lost_parts(lost, names):
    """Return a line where rounding alone moves a loss so far that nothing can be told."""
    for name, bad in zip(names["loss"], lost["loss"].any(0)):
        if bad:
            return [f"rounding alone moves {name} by more than half: nothing can be told from it"]
    return []


def with_nearer_numbers(old, new, tolerance):
    """Return the record with the other numbers that it holds, where the new ones are those.

    These are the gradients as the optimizer got them, and the losses before the first train op.
    """
    for kind, part, other in (("gradient", "gradients", "applied"), ("loss", "losses", "early")):
        steps = []
        for one in old.steps:
            was = getattr(one, part)
            values = was.values() if kind == "loss" else was
            found = [a if b is None else b for a, b in zip(values, getattr(one, other))]
            found = dict(zip(was, found)) if kind == "loss" else found
            steps.append(one._replace(**{part: found}))
        counts = [
            np.sum(gaps(new.steps, some)[kind] > tolerance[kind]) for some in (old.steps, steps)
        ]
        old = old._replace(steps=steps) if counts[1] < counts[0] else old
    return old


def without_common(new, old, apart, tolerance):
    """Return differences of steps, less a factor of each weight that rounding can explain.

    And, for each step, how far the factors up to it were off that were needed.
    """
    found, most = apart.copy(), np.zeros((len(old.steps), 1))
    for t, (one, was) in enumerate(zip(new.steps, old.steps)):
        for k, (a, b) in enumerate(settled(one, was)):
            factor, _ = factor_between([a], [b])
            if abs(factor - 1) < COMMON:
                found[t, k] = min(found[t, k], relative_difference(a / factor, b))
                if found[t, k] <= tolerance[t, k] < apart[t, k]:
                    most[t] = max(most[t], abs(factor - 1))
    return found, np.maximum.accumulate(most)


def other_form(new, tolerance, names):
    """Return a line where the step computes something else in a tf.function, or outside."""
    for kind in KINDS:
        apart = new.noise.get("other " + kind)
        bad = apart is not None and apart > OTHER * tolerance[kind]
        if np.any(bad):
            t, k = np.argwhere(bad)[0]
            return [
                "eagerly and in a tf.function the new step computes different numbers: the "
                f"{kind} of {names[kind][k]} in step {t + 1} is apart by {apart[t, k]:.2g}. A "
                "Keras optimizer in a tf.function may change a weight before it is read: call it "
                "under tf.control_dependencies([loss, *gradients])"
            ]
    return []


def fingerprint(record):
    """Return a number that tells one record from another."""
    every = [*record.start, *(value for step in record.steps for value in step.inputs)]
    return zlib.crc32(b"".join(np.ascontiguousarray(one).tobytes() for one in every))
