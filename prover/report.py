"""What is printed: the verdict, the cause, the evidence, and how weights were matched."""

import json
import textwrap
from collections import namedtuple

from .arrays import np
from .forms import written_whole
from .picture import drawn

STATUS = {"the same": 0, "differs": 1, "not comparable": 2}
PHRASES = {"loss": "the loss", "gradient": "the gradient", "step": "the step", "state": "the value"}
LOST = 0.5  # where rounding can make as much, nothing is compared
BASE = ""  # where the site's pages stand


class Gap(namedtuple("Gap", "kind t name apart tolerance wrong")):
    """One comparison: what, in which step (from zero), of which variable, and how far apart."""


class Report(
    namedtuple(
        "Report",
        "verdict notes cause rows matched old new",
        defaults=([], None, [], [], None, None),
    )
):
    """The verdict and what it rests on.

    Attributes:
        verdict: "the same", "differs" or "not comparable".
        notes: Lines that say what else is to be known; first of all why nothing is comparable.
        cause: The `Cause`, or None where nothing fits.
        rows: A `Gap` for each number or array that was compared.
        matched: For each pair of variables the old names, the new ones, and how it was found.
        old: The `Record` of the old program.
        new: The `Record` of the new one.
    """

    @property
    def status(self):
        """The exit status: 0 the same, 1 differs, 2 not comparable."""
        return STATUS[self.verdict]

    @property
    def largest(self):
        """The largest relative difference among those that rounding explains."""
        return max(
            [row.apart for row in self.rows if row.tolerance < LOST and not row.wrong], default=0
        )

    @property
    def numbers(self):
        """How many numbers were compared."""
        if not self.old:
            return 0
        sizes = {one.name: int(np.prod(one.shape)) for one in self.old.weights}
        return sum(sizes.get(row.name, 1) for row in self.rows if row.tolerance < LOST)

    def __str__(self):
        """Return the report as text."""
        lines = [self.headline()]
        lines += ["  " + line for line in self.notes]
        bad = [row for row in self.rows if row.wrong]
        if self.verdict == "differs" and bad:
            first = min(bad, key=lambda row: (row.t, list(PHRASES).index(row.kind)))
            lines += [f"  First in step {first.t + 1}: {told(first)}"]
            some = [r for r in bad if r.kind == first.kind and r.t == first.t and r is not first]
            lines += [f"  {told(row)}" for row in some[:4]]
            if len(some) > 4:
                lines.append(f"  and {len(some) - 4} more of this step")
        if self.cause:
            lines.append(f"Cause ({self.cause.sure}): {self.cause.text}")
            lines += [f"  measured: {self.cause.evidence}", f"  see {BASE}{self.cause.page}"]
        elif self.verdict == "differs":
            lines.append("No cause that this file knows fits what it measured.")
        for olds, news, how in self.matched:
            lines.append(f"  {' + '.join(olds)} = {' + '.join(news)} ({how})")
        return "\n".join(map(wrapped, lines))

    def headline(self):
        """Return the verdict in one line."""
        if self.verdict == "the same":
            return (
                f"THE SAME: largest relative difference {self.largest:.2g}, of {self.numbers:,} "
                f"numbers, over {len(self.old.steps)} steps"
            )
        return self.verdict.upper()

    def json(self):
        """Return the report as JSON."""
        found = {
            "verdict": self.verdict,
            "notes": self.notes,
            "cause": self.cause and self.cause._asdict(),
            "largest": self.largest,
            "numbers": self.numbers,
            "matched": self.matched,
            "rows": [row._asdict() for row in self.rows if row.wrong],
        }
        return json.dumps(found, indent=1, default=str)

    def picture(self, path):
        """Write both loss curves, and the differences by weight and step, as an SVG."""
        with written_whole(path) as part, open(part, "w", encoding="utf-8") as file:
            file.write(drawn(self))


def wrapped(line):
    """Return a line in lines that a terminal holds, those after the first further in."""
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    return textwrap.fill(
        line, 78, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def told(row):
    """Return one difference in words."""
    apart = "is infinite" if np.isinf(row.apart) else f"is apart by {row.apart:.2g}"
    return f"{PHRASES[row.kind]} of {row.name} {apart} (rounding explains {row.tolerance:.2g})"
