"""Why the two differ: patterns that are measured, and named only where they fit."""

from .clip_causes import without_bounded
from .gradient_causes import GRADIENT, by_hand_conjugate
from .loss_causes import LOSS
from .reasons import reason
from .step_causes import STATE, STEP

LOOKED_FOR = {
    "loss": (by_hand_conjugate, *LOSS),
    "gradient": GRADIENT,
    "step": STEP,
    "state": STATE,
}


def likely_cause(case):
    """Return the `Cause` of what differs first, or None where nothing fits."""
    cause = next(filter(None, (look(case) for look in LOOKED_FOR[case.kind])), None)
    free = None if cause or case.kind == "step" else without_bounded(case)
    return cause if free is None else likely_cause(free)


def new_chance(old, new):
    """Return the `Cause` that the new step draws random numbers, and the old one does not."""
    drawn = {
        side: [op for op in one.about["kinds"] if "Random" in op]
        for side, one in (("old", old), ("new", new))
    }
    if not drawn["new"] or drawn["old"]:
        return None
    evidence = f"the new step has {', '.join(drawn['new'])}, the old one nothing of the kind"
    return reason("training-flag", evidence, which="dropout or noise is on in the new one alone")
