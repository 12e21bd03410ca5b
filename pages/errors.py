"""The entries of the pages below docs/errors: a message, what to do, and who prints it.

A section is an entry. Its heading is the message, as code, with `…` where something is left out;
its first sentence says what to do; its first example prints the message, and another one works.
"""

from typing import NamedTuple

from checks import DOCS
from pages.page import Page, Section


class Entry(NamedTuple):
    """A message as its heading shows it, its anchor, first sentence, examples and whole section."""

    title: str
    anchor: str
    says: str
    names: list[str]
    section: Section

    @property
    def message(self):
        """Return the message in its parts, between what is left out."""
        return [part for part in self.title.strip("` ").split("…") if part.strip()]


def error_pages():
    """Return the pages that hold entries."""
    files = sorted((DOCS / "errors").glob("*.md"))
    return [Page.read(file) for file in files if file.stem != "index"]


def entries(page):
    """Return the entries of a page: its sections that begin with a sentence."""
    return [
        Entry(s.title, s.anchor, s.prose[0].text.splitlines()[0], s.names, s)
        for s in page.sections
        if s.level == 2 and s.prose and s.prose[0].line == s.line + 2
    ]


def every_entry():
    """Return all entries, each with its page."""
    return [(page, entry) for page in error_pages() for entry in entries(page)]
