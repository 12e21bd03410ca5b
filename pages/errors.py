"""The entries of the pages below docs/errors: a message, what to do, and who prints it.

A section is an entry. Its heading is the message, as code, with `…` where something is left out;
its first sentence says what to do; its first example prints the message, and another one works.
"""

from pages.page import Page


def error_pages():
    """Return the pages that hold entries."""
    pages = [page for page in Page.every() if page.uri.startswith("errors/")]
    return [page for page in pages if page.file.stem != "index"]


def entries(page):
    """Return the entries of a page: its sections that begin with a sentence."""
    return [s for s in page.sections if s.level == 2 and s.prose and s.prose[0].line == s.line + 2]


def every_entry():
    """Return all entries, each with its page."""
    return [(page, entry) for page in error_pages() for entry in entries(page)]


def message_of(entry):
    """Return the message of an entry in its parts, between what is left out."""
    return [part for part in entry.title.strip("` ").split("…") if part.strip()]
