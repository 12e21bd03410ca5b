"""What became of old calls and their arguments: the tables whose second column is "verdict".

A row of such a table is the one place of a verdict. What else needs it names the row by its key:
the first cell, behind what the table is of, as in "`compute_gradients`, `minimize`: `var_list`".
"""

import posixpath
import re
from typing import NamedTuple

from checks import DOCS

VERDICTS = {
    "same": "write it as before, and mind what stands beside it",
    "renamed": "write another name; what it checks can differ",
    "recipe": "write a few lines that do the same",
    "gone": "leave it out, or write what stands beside it",
    "lost": "what you write now does not do what it did",
}
TABLE = re.compile(
    r"^\|(?P<head>[^|\n]+\| verdict \|.*)\|\n\|[-|]+\|\n(?P<rows>(?:\|.*(?:\n|\Z))+)", re.M
)
LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")


class Call(NamedTuple):
    """An old call or argument, its verdict and what to write instead, without links.

    `of` is what its table is of, if that says so; `page` holds the table, and `settled` tells
    more: the page to which the name links, or the same. `cells` has the whole row by its heads.
    """

    of: str
    old: str
    verdict: str
    write: str
    page: str
    settled: str
    cells: dict

    @property
    def key(self):
        """Return the name of its row."""
        return f"{self.of}: {self.old}" if self.of else self.old


def cells_of(line):
    """Return the cells of a table's line."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def calls(text, page=""):
    """Return the calls in the tables of the Markdown of `page`, its path below docs/.

    Raises:
        ValueError: A row has not as many cells as the head, or its verdict is none.
    """
    found = []
    for table in TABLE.finditer(text):
        heads = cells_of(table["head"])
        of = heads[0].removeprefix("of ") if heads[0].startswith("of ") else ""
        for line in table["rows"].splitlines():
            cells = cells_of(line)
            if len(cells) != len(heads) or cells[1] not in VERDICTS:
                raise ValueError(
                    f"docs/{page}: {line}\nneeds {len(heads)} cells, and as the second of them "
                    f"its verdict, one of {', '.join(VERDICTS)}"
                )
            old, verdict, write = (LINK.sub(r"\1", cell) for cell in cells[:3])
            link = LINK.match(cells[0])
            settled = posixpath.join(posixpath.dirname(page), link[2]) if link else page
            cells = dict(zip(heads, cells, strict=True))
            found.append(Call(of, old, verdict, write, page, settled, cells))
    return found


def calls_by_key():
    """Return the calls of all pages by their keys, in the order of the pages' files.

    Raises:
        ValueError: A row lacks what it needs, or two have the same key. The message says where.
    """
    found = {}
    for file in sorted(DOCS.rglob("*.md")):
        for call in calls(file.read_text("utf-8"), file.relative_to(DOCS).as_posix()):
            if call.key in found:
                raise ValueError(
                    f"docs/{call.page}: the row {call.key} stands in docs/{found[call.key].page} "
                    "too: name one of them otherwise, or what its table is of"
                )
            found[call.key] = call
    return found


def tables(text):
    """Return the tables of a page's Markdown whose rows have verdicts."""
    return [table[0].rstrip() for table in TABLE.finditer(text)]
