"""Small programs, drawn at random over the table `operations.txt`.

`programs()` draws a `Program`; `source_of` prints it as plain TensorFlow, a function of a vector
`x` and a matrix `w`, which is a variable. Any list of drawn steps makes a program, so that one is
made smaller by leaving steps out.
"""

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
from hypothesis import strategies

TABLE = Path(__file__).with_name("operations.txt")
KINDS = {"R": "VM", "N": "ZC"}
# How a value is made of one of another kind, where an operation asks for what is not there.
MADE = {"Z": "complex", "C": "complex", "I": "integer"}
REAL = {"Z": "real", "C": "real_matrix", "I": "from_integer"}
LETTERS = "abcjmnpqszlo"  # what the table does not use inside a text
RANDOM = np.random.RandomState(7)
# Where a gradient is asked for: anywhere, at zeros and ties, and where eigenvalues are equal.
POINTS = (
    (RANDOM.uniform(0.3, 1.4, 3), RANDOM.uniform(0.2, 1.5, (3, 3)) + np.eye(3)),
    (RANDOM.uniform(-1.5, 1.5, 3), RANDOM.uniform(-1.5, 1.5, (3, 3))),
    (np.array([0.0, 1.0, 1.0]), np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.0], [0.5, 0.5, -1.0]])),
    (np.array([1.0, 1.0, -2.0]), np.eye(3)),
)


class Operation(NamedTuple):
    """A row of the table: the kinds that it takes, the kind that it gives, and its text."""

    takes: str
    gives: str
    text: str


class DrawnStep(NamedTuple):
    """An operation by its name, and its arguments by their place among a program's values."""

    name: str
    takes: tuple


class Value(NamedTuple):
    """What a program has computed: its kind and its name in the source."""

    kind: str
    name: str


class Program(NamedTuple):
    """A computation and where its gradient is asked for.

    Attributes:
        steps: Each `DrawnStep` takes values by their place; 0 is `x`, 1 is `w`.
        values: A `Value` for each place.
        target: The place of the value that is differentiated.
        asked: The place of a value by which it is differentiated as well, or None.
        point: Which of `POINTS`.
    """

    steps: tuple
    values: tuple
    target: int
    asked: int | None
    point: int

    @property
    def names(self):
        """The names of its operations."""
        return {step.name for step in self.steps}


def operations():
    """Return the table: an `Operation` for each name."""
    lines = (line for line in TABLE.read_text("utf-8").splitlines() if line[0] != "#")
    rows = (re.split(r" {2,}", line, maxsplit=3) for line in lines)
    return {name: Operation(takes.replace(" ", ""), *rest) for name, takes, *rest in rows}


OPERATIONS = operations()


class Builder:
    """A program that grows step by step: `steps`, `values`, and `step_of` each value."""

    def __init__(self):
        """Begin with `x` and `w`."""
        self.steps, self.values, self.step_of = [], [Value("V", "x"), Value("M", "w")], {}

    def found(self, kinds, back):
        """Return the place of a value of some kinds, `back` values ago; made if there is none."""
        places = [k for k, value in enumerate(self.values) if value.kind in kinds][::-1]
        if not places:
            self.add(MADE[kinds[0]], [0, 0], "M" if kinds == "C" else "V")
            places = [len(self.values) - 1]
        return places[back % len(places)]

    def add(self, name, backs, first=""):
        """Append an operation that takes what is found so far back; `first` narrows R or N."""
        operation, takes, bound = OPERATIONS[name], [], {}
        for kind, back in zip(operation.takes, [*backs, 0, 0], strict=False):
            kinds = bound.get(kind) or first or KINDS.get(kind, kind)
            takes.append(self.found(kinds, back))
            bound[kind] = self.values[takes[-1]].kind
        gives = bound.get(operation.gives, operation.gives)
        gives = "C" if name == "complex" and bound["R"] == "M" else gives
        used = {value.name for value in self.values}
        letter = next(one for one in LETTERS if one not in used)
        for more in ("", "_rest") if "{rest}" in operation.text else ("",):
            self.step_of[len(self.values)] = len(self.steps)
            self.values.append(Value(gives, letter + more))
        self.steps.append(DrawnStep(name, tuple(takes)))


def program_of(drawn, whole, asked, point):
    """Return the program of drawn steps, without those that its target does not need.

    Args:
        drawn: For each step the name of an operation and how far back its arguments are.
        whole: Whether a complex or integer result is the target as it is.
        asked: How far back a value stands by which to differentiate as well; 0 is for none.
        point: Which of `POINTS`.
    """
    built = Builder()
    for name, *backs in drawn:
        built.add(name, backs)
    target = built.step_of and min(k for k, v in built.step_of.items() if v == len(built.steps) - 1)
    kind = built.values[target].kind
    if kind in REAL and not whole:
        built.add(REAL[kind], [0, 0])
        target = len(built.values) - 1
    between = [k for k in built.step_of if k != target]
    asked = between[-asked] if 0 < asked <= len(between) else None
    if asked is not None and built.values[asked].kind == "I":
        asked = None  # an integer has no gradient on any side
    needed, kept = {target, asked}, []
    for at, step in reversed(list(enumerate(built.steps))):
        if step.name == "assign" or needed & {k for k, s in built.step_of.items() if s == at}:
            kept.insert(0, at)
            needed |= set(step.takes)
    places = [k for k in range(len(built.values)) if k < 2 or built.step_of[k] in kept]
    moved = {old: new for new, old in enumerate(places)}
    steps = tuple(
        DrawnStep(built.steps[at].name, tuple(moved[k] for k in built.steps[at].takes))
        for at in kept
    )
    values = tuple(built.values[k] for k in places)
    return Program(steps, values, moved[target], moved.get(asked), point)


def programs(names=tuple(OPERATIONS), most=7):
    """Return a strategy that draws programs over some operations."""
    back = strategies.sampled_from((0, 0, 0, 1, 1, 2, 3))
    steps = strategies.tuples(strategies.sampled_from(names), back, back)
    return strategies.builds(
        program_of,
        strategies.lists(steps, min_size=1, max_size=most),
        strategies.integers(0, 7).map(lambda k: k == 7),
        strategies.integers(0, 5).map(lambda k: max(0, k - 2)),
        strategies.integers(0, len(POINTS) - 1),
    )


def source_of(program):
    """Return a program as the text of a function `f(x, w)`, of TensorFlow and nothing else."""
    lines, place = ["def f(x, w):"], 2
    for step in program.steps:
        text = OPERATIONS[step.name].text
        names = {"y": program.values[place].name}
        earlier = ", ".join(value.name for value in program.values[:place])
        if "{rest}" in text:
            names["rest"] = program.values[place + 1].name
        if "{y}" not in text:
            head, bar, last = text.rpartition(" | ")
            text = f"{head}{bar}{{y}} = {last}"
        arguments = [program.values[k].name for k in step.takes]
        lines += text.format(*arguments, earlier=earlier, **names).split(" | ")
        place += len(names)
    asked = "" if program.asked is None else f", {program.values[program.asked].name}"
    lines.append(f"return {program.values[program.target].name}{asked}")
    return "\n    ".join(lines) + "\n"
