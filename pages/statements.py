"""The statements in circulation, and how the examples under each one decide it.

Under its heading, a statement names printed lines: `<!-- holds: LINE -->` where it holds, and
`<!-- fails: LINE -->` where it does not. The verdict follows from which of them there are.
"""

import re
from typing import NamedTuple

from pages.page import Marker, Section

VERDICTS = {("holds",): "true", ("fails",): "false", ("fails", "holds"): "true but"}
# A line tells by itself on which side it stands, so that the two words cannot be swapped.
POLARITY = {
    "holds": re.compile(r"True$"),
    "fails": re.compile(r"False$|None|\w+Error|SIG\w+"),
}


class Statement(NamedTuple):
    """A statement: its section, the markers that name its deciding lines, and its verdict."""

    section: Section
    lines: list[Marker]
    verdict: str


def statements(page):
    """Return the statements of a page."""
    found = []
    for section in page.sections:
        if lines := [marker for marker in section.markers if marker.word in POLARITY]:
            verdict = VERDICTS[tuple(sorted({line.word for line in lines}))]
            found.append(Statement(section, lines, verdict))
    return found
