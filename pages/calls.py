"""What became of old calls and their arguments: the tables whose second column is "verdict"."""

import re
from typing import NamedTuple

TABLE = re.compile(
    r"^\| (?P<of>[^|\n]+) \| verdict \|.*\n\|[-|]+\|\n(?P<rows>(?:\|.*(?:\n|\Z))+)", re.M
)
ROW = re.compile(r"^\| (?P<old>[^|\n]+) \| (?P<verdict>[^|\n]+) \| (?P<write>[^|\n]+) \|.*$", re.M)
LINK = re.compile(r"\[([^\]]+)\]\([^)\s]+\)")
VERDICTS = ("same", "renamed", "recipe", "gone", "lost")


class Call(NamedTuple):
    """An old call or argument, what it belongs to, its verdict, and what to write instead."""

    of: str
    old: str
    verdict: str
    write: str


def calls(text):
    """Return the calls in the tables of a page's Markdown, without the links.

    Raises:
        ValueError: A row is not made of cells, or its verdict is none.
    """
    found = []
    for table in TABLE.finditer(text):
        of = table["of"].removeprefix("of ") if table["of"].startswith("of ") else ""
        for line in table["rows"].splitlines():
            row = ROW.match(line)
            if not row or row["verdict"] not in VERDICTS:
                raise ValueError(f"{line}\nneeds a verdict, one of {', '.join(VERDICTS)}")
            cells = (LINK.sub(r"\1", cell) for cell in (of, *row.groups()))
            found.append(Call(*cells))
    return found


def tables(text):
    """Return the tables of a page's Markdown whose rows have verdicts."""
    return [table[0].rstrip() for table in TABLE.finditer(text)]


def chip(verdict):
    """Return a verdict as HTML."""
    return f'<span class="verdict {verdict}">{verdict}</span>'


def with_chips(text):
    """Return a page's Markdown with a chip in place of each word that is a verdict."""

    def row(found):
        return found[0].replace(f"| {found['verdict']} |", f"| {chip(found['verdict'])} |", 1)

    def table(found):
        return found[0].removesuffix(found["rows"]) + ROW.sub(row, found["rows"])

    return TABLE.sub(table, text)
