"""The statements in circulation, and how the examples under each one decide it.

Under its heading, a statement names printed lines: `<!-- holds: LINE -->` where it holds, and
`<!-- fails: LINE -->` where it does not. The verdict follows from which of them there are.
"""

import re
from typing import NamedTuple

STATEMENT = re.compile(
    r"^### (?P<says>.+) \{(?P<anchor>#.+)\}\n\n(?P<lines>(?:<!-- (?:holds|fails): .+ -->\s*)+)",
    re.M,
)
LINE = re.compile(r"<!-- (?P<word>holds|fails): (?P<text>.+) -->")
VERDICTS = {("holds",): "true", ("fails",): "false", ("fails", "holds"): "true but"}
# A line tells by itself on which side it stands, so that the two words cannot be swapped.
POLARITY = {
    "holds": re.compile(r"True$"),
    "fails": re.compile(r"False$|None|\w+Error|SIG\w+"),
}


class Statement(NamedTuple):
    """A statement, its anchor, and its deciding lines as pairs of word and text."""

    says: str
    anchor: str
    lines: list

    @property
    def verdict(self):
        """Return true, false or true but."""
        return VERDICTS[tuple(sorted({word for word, _ in self.lines}))]

    @property
    def chip(self):
        """Return the verdict as HTML."""
        return f'<span class="verdict {self.verdict.split()[-1]}">{self.verdict}</span>'


def statements(text):
    """Return the statements of a page's Markdown."""
    return [
        Statement(f["says"], f["anchor"], LINE.findall(f["lines"]))
        for f in STATEMENT.finditer(text)
    ]


def with_chips(text):
    """Return a page's Markdown with a chip in place of the lines that decide."""
    chips = iter([statement.chip for statement in statements(text)])
    return STATEMENT.sub(
        lambda found: found[0].removesuffix(found["lines"]) + next(chips) + " ", text
    )
