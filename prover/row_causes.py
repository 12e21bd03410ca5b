"""Why some rows of a weight differ: those used more than once, and those not used."""

import itertools

from .arrays import np
from .differences import EXACT, common_factor, factor_between, relative_difference, wide
from .passes import moves
from .reasons import listed_names, reason

COLUMNS = 40  # of an input, each of which may be looked up in a table of its own
SHOWN = 0.02  # of the largest gap: what is less in each row is the same
ROWS = 1e-3  # a row that is added up otherwise is apart by more, in units of the largest element


def sides_of(case):
    """Return the new and the old gradients, or the steps, of the first step that differs."""
    one, other = case.new.steps[case.t], case.old.steps[case.t]
    if case.kind == "gradient":
        return one.gradients, other.gradients
    return moves(one), moves(other)


def repeated_rows(case):
    """Only rows differ that are used more than once."""
    if case.kind == "step" and case.t:
        return None  # averages of a row tell of the steps before
    new, old = sides_of(case)
    names, step = [one.name for one in case.old.trained], case.old.steps[case.t]
    bad = list(np.flatnonzero(case.wrong[case.kind][case.t]))
    inputs = [one for one in step.inputs if one.dtype.kind in "iu" and one.size]
    # Two may be looked up in one table, and each column of one in a table of its own; or what an
    # example looks up is added up, and that of all is.
    joined = [np.append(*both) for both in itertools.combinations(inputs, 2)]
    joined += [column for one in inputs if one.ndim == 2 for column in one.T[:COLUMNS]]
    joined += [twice_in_one(one) for one in inputs if one.ndim == 2]
    guesses, inputs = len(inputs), inputs + joined
    used = [inputs if rows is None else [rows] for rows in step.rows]
    if case.kind == "gradient":
        common = common_factor(new, old)  # of what is clipped
        factors = [single_rows(*one) or common for one in zip(new, old, used)]
        new = [None if one is None else one / factor for one, factor in zip(new, factors)]
        bad = [k for k in bad if relative_difference(new[k], old[k]) > ROWS]
    stops = [side.about.get("stops", 0) for side in (case.new, case.old)]
    by_hand = "CustomGradient" in case.new.about["kinds"]
    alike = case.kind == "gradient" and stops[0] == stops[1] and not by_hand
    told = False
    for k in bad:
        least = 1 if step.rows[k] is not None else 2
        if new[k] is None or old[k] is None or np.ndim(old[k]) < least:
            return None
        if case.kind == "gradient" and any(mean_of_uses(new[k], old[k], one) for one in used[k]):
            differ = set(np.flatnonzero(np.any(wide(old[k]).reshape(len(old[k]), -1), 1)))
            told = True
            continue
        gap = np.abs(wide(new[k]) - wide(old[k])).reshape(len(old[k]), -1).max(1)
        largest, rounding = np.abs(old[k]).max(), case.tolerance[case.kind][case.t, k]
        limit = max(min(ROWS * largest, SHOWN * gap.max()), rounding * largest)
        differ = set(np.flatnonzero(gap > limit))
        if not all(np.any(new[k][row]) for row in differ):
            return None  # where slices are left out, one of them stays
        counted = [np.unique(rows, return_counts=True) for rows in used[k]]
        if not any(differ <= set(rows[count > 1]) for rows, count in counted):
            return None
        # Of a table whose rows are all used again, another one must tell.
        told = told or any(
            tells_of_uses(differ, *both, old[k], step.rows[k] is None and n >= guesses)
            or (alike and all_used_again(differ, *both, old[k]))
            for n, both in enumerate(counted)
        )
    if not told:
        return None
    evidence = f"{len(differ)} rows differ, each of them used more than once"
    return reason("repeated-rows", evidence, name=listed_names(names[k] for k in bad))


def twice_in_one(inputs):
    """Return the rows that examples use, and once more those that one example uses again."""
    rows = np.unique(inputs)
    return np.append(rows, [row for row in rows if np.sum(inputs == row, 1).max() > 1]).astype(int)


def mean_of_uses(new, old, used):
    """Return whether each row is the old one divided, or multiplied, by how often it is used."""
    rows, count = np.unique(used, return_counts=True)
    alive = [n for n, row in enumerate(rows) if row < len(old) and np.any(old[row])]
    fits = [factor_between([new[rows[n]]], [old[rows[n]]]) for n in alive]
    if np.ptp(count[alive] if alive else [0]) == 0 or max(rest for _, rest in fits) > ROWS:
        return False
    by = np.real([factor for factor, _ in fits])
    either = [by * count[alive] ** power for power in (1.0, -1.0)]
    return any(np.ptp(one) < ROWS * abs(one[0]) for one in either)


def tells_of_uses(differ, rows, count, gradient, guessed):
    """Return whether what differs are rows used more than once, and most of these.

    All of these, where it is `guessed` that these rows are looked up together.

    A row that is used once, and does not differ, tells them apart; one that is not used has none.
    """
    alive = np.flatnonzero(np.any(wide(gradient).reshape(len(gradient), -1), 1))
    several, once = (set(some) & set(alive) for some in (rows[count > 1], rows[count == 1]))
    most = differ == several and len(once) > 2 if guessed else 2 * len(differ) > len(several)
    return bool(differ and differ <= several and most and once and set(alive) <= set(rows))


def all_used_again(differ, rows, count, gradient):
    """Return whether all rows that have a gradient are used more than once, and differ."""
    alive = np.flatnonzero(np.any(wide(gradient).reshape(len(gradient), -1), 1))
    return bool(set(alive) == set(rows) == differ and len(rows) > 2 and count.min() > 1)


def single_rows(new, old, used):
    """Return the factor that all rows share which are used once, as clipping makes it; or None."""
    if new is None or old is None or np.shape(new) != np.shape(old):
        return None
    for rows in used:
        some, count = np.unique(rows, return_counts=True)
        single = some[(count == 1) & (some < len(old))] if np.ndim(old) else []
        if len(single) > 2 and np.any(old[single]):
            factor, rest = factor_between([new[single]], [old[single]])
            if rest < EXACT and factor > 0:
                return float(np.real(factor))
    return None


def lazy_rows(case):
    """Rows that have no gradient in a step stay where they are on one side alone."""
    t, step = case.t, case.old.steps[case.t]
    sides = [("new", moves(case.new.steps[t])), ("old", moves(step))]
    names = []
    for k in np.flatnonzero(case.wrong["step"][t]):
        gradient = step.gradients[k]
        if gradient is None or not np.ndim(gradient):
            return None
        dead = np.flatnonzero(~np.any(wide(gradient).reshape(len(gradient), -1), 1))
        moved = [[np.any(one[k][dead]), np.delete(wide(one[k]), dead, 0)] for _, one in sides]
        live = relative_difference(moved[0][1], moved[1][1])
        if moved[0][0] == moved[1][0] or live > 2 * case.tolerance["step"][t, k]:
            return None
        names.append(case.old.trained[k].name)
        side = sides[1 - moved[1][0]][0]
    evidence = f"in step {t + 1} they move on the other side alone, and all others move alike"
    words = {"name": listed_names(names), "side": side}
    return reason("zeros-for-none", evidence, said_as="lazy", **words)
