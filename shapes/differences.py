"""Where the ways to ask differ: `gaps_of(program, questions)` finds it, in numbers or kind."""

from typing import NamedTuple

import numpy as np

from shapes.programs import POINTS, Program, source_of
from shapes.ways import CHEAP, QUESTIONS, VECTORS, Outcome, answered

# How far two right answers may be apart, as a part of the larger one, and by how much a point is
# moved to see what rounding does there; for programs of double and of single precision.
CLOSE = {"double": 1e-9, "single": 1e-4}
NUDGE = {"double": 1e-13, "single": 1e-6}
MEASURED = "finite differences"
# Behind these, what is differentiated is not what is computed, and the graph decides.
ON_PURPOSE = {
    *("stop", "stop_one", "custom", "custom_two", "custom_keyword", "custom_number"),
    *("custom_branch", "pass_through", "override", "loop_closed", "half", "integer", "argmax"),
    *("from_integer", "gather_integer"),
}


class Difference(NamedTuple):
    """Two ways that answer a question about a program differently.

    Attributes:
        program: The `Program`.
        question: A key of `QUESTIONS`.
        way: The way that differs from the first one of the question, the graph.
        kind: "none" where one has zeros and one None, "lost" where it has None and other numbers,
            "error", "shape", "dtype", "nan" or "number".
        graph: The `Outcome` of the graph.
        other: The `Outcome` of the way.
    """

    program: Program
    question: str
    way: str
    kind: str
    graph: Outcome
    other: Outcome

    def told(self):
        """Return it as text, with its program."""
        x, w = (point.tolist() for point in POINTS[self.program.point])
        return (
            f"{self.question}: {self.way} differs from the graph ({self.kind})\n"
            f"{source_of(self.program)}# x = {x}\n# w = {w}\n"
            f"# graph: {self.graph}\n# {self.way}: {self.other}\n"
        )


def precision(program):
    """Return whether a program computes in single or in double precision."""
    return "single" if "float32" in source_of(program) or "resize" in str(program) else "double"


def gap_between(one, other, close):
    """Return in which kind two answers for a source differ, or "" if they do not."""
    if one is None and other is None:
        return ""
    if one is None or other is None:
        value = one if other is None else other
        return "none" if not np.any(value[np.isfinite(value)]) else "lost"  # 0 by infinity is NaN
    if one.shape != other.shape:
        return "shape"
    if one.dtype != other.dtype:
        return "dtype"
    if not np.array_equal(np.isfinite(one), np.isfinite(other)):
        return "nan"
    known = np.isfinite(one)
    scale = max(np.abs(one[known]).max(initial=0), np.abs(other[known]).max(initial=0), 1e-3)
    return "number" if np.abs(one - other)[known].max(initial=0) > close * scale else ""


def gap(graph, other, close):
    """Return in which kind two outcomes differ first, or "" if they do not."""
    if graph.error or other.error:
        return "error" if bool(graph.error) != bool(other.error) else ""
    # A way may answer for fewer sources than the graph.
    pairs = zip(graph.values, other.values, strict=False)
    return next((kind for one, two in pairs if (kind := gap_between(one, two, close))), "")


def slopes_of(graph):
    """Return what finite differences would measure, from the gradient of a graph."""
    return Outcome(
        tuple(
            np.array(0.0 if one is None else np.sum(one * VECTORS[one.shape]))
            for one in graph.values[:2]
        )
    )


def gap_to_measured(graph, other, question):
    """Return whether a graph's gradient differs from finite differences that are sure."""
    if other.error or None in [one if one is None else 0 for one in other.values]:
        return ""  # nothing was measured: it bends, or is not finite
    if graph.error:
        return "error"
    slopes = slopes_of(graph)
    slopes = slopes if question == "gradient" else Outcome(slopes.values[:1])
    return gap(slopes, other, 1e-3)


def drift(program, question, way):
    """Return how far an answer moves, as a part of it, if a point moves by almost nothing."""
    size, answers = NUDGE[precision(program)], []
    for seed in range(4):
        random = np.random.RandomState(seed)
        point = [
            one * (1 + size * (seed > 0) * random.uniform(-1, 1, one.shape))
            + size * (seed > 0) * random.uniform(-1, 1, one.shape)
            for one in POINTS[program.point]
        ]
        answers.append(answered(program, question, way, point))
    worst, first = 0.0, answers[0]
    for other in answers[1:]:
        for one, two in zip(first.values, other.values, strict=False):
            if one is None or two is None:
                continue
            if not np.array_equal(np.isfinite(one), np.isfinite(two)):
                return np.inf
            known = np.isfinite(one)
            scale = max(np.abs(one[known]).max(initial=0), 1e-3)
            worst = max(worst, np.abs(one - two)[known].max(initial=0) / scale)
    return worst


def is_finite(program):
    """Return whether a program has a value where it is asked: else it has no derivative there."""
    return all(np.isfinite(one).all() for one in answered(program, "gradient", "value").values)


def gaps_of(program, ways=(*CHEAP, MEASURED), questions=("gradient",)):
    """Return each `Difference` between the graph and other ways to ask about a program.

    A difference in numbers counts where it is more than what a point moved by almost nothing
    does to the graph's own answer: no way can be asked to round like another.
    """
    found, close = [], CLOSE[precision(program)]
    for question in questions:
        graph, *others = (way for way in QUESTIONS[question] if way in ways)
        first = answered(program, question, graph)
        for way in others:
            if way == MEASURED and (program.names & ON_PURPOSE or precision(program) == "single"):
                continue
            other = answered(program, question, way)
            if way == MEASURED:
                kind = gap_to_measured(first, other, question)
            elif way.startswith("forward") and question == "second":
                kind = gap(Outcome(first.values[:1], first.error), other, close)
            else:
                kind = gap(first, other, close)
            if kind in ("number", "nan"):
                moved = drift(program, question, graph)
                sure = moved < 1e-3 if way == MEASURED else gap(first, other, moved)
                kind = kind if sure and is_finite(program) else ""
            if kind:
                found.append(Difference(program, question, way, kind, first, other))
    return found
