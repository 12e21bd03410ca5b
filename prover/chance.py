"""Chance: whether a program differs from itself by more than rounding can make."""

from .arrays import np
from .differences import TIMES
from .passes import SURE, written_noise, zero_but_for_rounding
from .report import LOST

CHANCE = 256  # units in the last place by which a run may differ from itself


def random_parts(sides, names, compared):
    """Return a line for each side that differs from itself when it is run again, and notes.

    Args:
        sides: The record of each side, by what it is called.
        names: For each kind, what its columns are called.
        compared: Which states are compared.
    """
    lines, notes = [], []
    for side, one in sides.items():
        bad, rounded = chance_of(one)
        bad["state"] &= compared
        found = [(t, kind, k) for kind, some in bad.items() for t, k in np.argwhere(some)]
        if found:
            t, kind, k = min(found, key=lambda place: place[0])
            drawn = [op for op in one.about["kinds"] if "Random" in op or "Multinomial" in op]
            apart = one.noise["twice " + kind][t, k]
            lines.append(
                f"the {side} differs from itself: run twice from the same weights, the {kind} "
                f"of {names[kind][k]} in step {t + 1} is apart by {apart:.2g}. "
                + advice(drawn, side == "old program" and one.about["kinds"])
            )
        notes += [
            f"the gradient of {names['gradient'][k]} is nothing but rounding beside the others: "
            f"the {side} run again gives another one"
            for k in np.flatnonzero(rounded.any(0))
        ]
    return lines, notes


def chance_of(record):
    """Return for each kind what differs from itself, and the gradients that are but rounding."""
    unit = record.about["unit"]
    most = min(CHANCE * unit, LOST / TIMES)  # more would let any difference pass for rounding
    twice = {kind: record.noise["twice " + kind] for kind in ("loss", "gradient", "step", "state")}
    bad = {kind: some > most for kind, some in twice.items()}
    rounded = bad["gradient"] & zero_but_for_rounding(record.steps, unit, twice["gradient"])
    bad["gradient"] &= ~rounded
    # A weight is rounded when it is written; and an optimizer that divides by the size of a
    # gradient makes of its smallest elements as much as of others, in this step and later.
    made = np.maximum.accumulate(twice["gradient"], 0) / SURE
    written = [TIMES * np.array(written_noise(one, unit)) for one in record.steps]
    bad["step"] &= ~(twice["step"] <= np.maximum(made, written))
    return bad, rounded


def advice(drawn, graph):
    """Return what to do about chance, which in a graph can be the order of two operations."""
    if drawn:
        return f"It draws {', '.join(drawn)}: switch dropout and noise off, or feed what is drawn"
    if graph:
        return (
            "Two train ops, or two updates of one average, may run in either order: give a list of "
            "train ops, or order them by tf.control_dependencies"
        )
    return (
        "If the step keeps state, such as an optimizer, pass it as optimizer= or among the "
        "variables; else switch off what is random, or call "
        "tf.config.experimental.enable_op_determinism()"
    )
