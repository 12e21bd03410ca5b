"""What became of old calls and their arguments: the tables whose second column is "verdict".

A row of such a table is the one place of a verdict. What else needs it names the row by its key:
the first cell, behind what the table is of, as in "`compute_gradients`, `minimize`: `var_list`".
"""

import posixpath
import re
from typing import NamedTuple

from pages.page import Page

VERDICTS = {
    "same": "write it as before, and mind what stands beside it",
    "renamed": "write another name; what it checks can differ",
    "recipe": "write a few lines that do the same",
    "gone": "leave it out, or write what stands beside it",
    "lost": "what you write now does not do what it did",
}
LINK = re.compile(r"\[((?:`[^`]*`|[^]`])+)\]\(([^)\s]+)(?: \"[^\"]*\")?\)")


class Call(NamedTuple):
    """An old call or argument, its verdict and what to write instead, without links.

    `of` is what its table is of, if that says so; `page` holds the table, and `settled` tells
    more: the page to which the name links, or the same. `cells` has the whole row by its heads,
    and `key` names it.
    """

    key: str
    of: str
    old: str
    verdict: str
    write: str
    page: str
    settled: str
    cells: dict


def verdict_tables(page):
    """Return the tables of a page whose rows have verdicts."""
    return [table for table in page.tables if table.head[1:2] == ["verdict"]]


def calls(page):
    """Return the calls in the tables of a page.

    Raises:
        ValueError: A row has no verdict, or does not say what to write.
    """
    found = []
    for table in verdict_tables(page):
        of = table.head[0].removeprefix("of ") if table.head[0].startswith("of ") else ""
        for row in table.rows:
            old, verdict, write = (LINK.sub(r"\1", cell) for cell in row.cells[:3])
            if verdict not in VERDICTS or not write:
                raise ValueError(
                    f"docs/{page.uri}:{row.line}: {old} needs a verdict, one of "
                    f"{', '.join(VERDICTS)}, and behind it what to write"
                )
            link = LINK.match(row.cells[0])
            settled = posixpath.join(posixpath.dirname(page.uri), link[2]) if link else page.uri
            key = f"{of}: {old}" if of else old
            cells = dict(zip(table.head, row.cells, strict=True))
            found.append(Call(key, of, old, verdict, write, page.uri, settled, cells))
    return found


def calls_by_key():
    """Return the calls of all pages by their keys, in the order of the pages' files.

    Raises:
        ValueError: A row lacks what it needs, or two have the same key. The message says where.
    """
    found = {}
    for file in Page.files():
        # The finder asks, too, and to take all pages apart would cost it a second.
        for call in calls(Page.read(file)) if "verdict" in file.read_text("utf-8") else ():
            if call.key in found:
                raise ValueError(
                    f"docs/{call.page}: the row {call.key} stands in docs/{found[call.key].page} "
                    "too: name one of them otherwise, or what its table is of"
                )
            found[call.key] = call
    return found
