"""The entries of the pages below docs/errors: a message, what to do, and who prints it.

A section is an entry. Its heading is the message, as code, with `…` where something is left out;
its first sentence says what to do; its first example prints the message, and another one works.
"""

import re
from typing import NamedTuple

from checks import DOCS, SNIPPETS
from checks.snippets import read
from pages.page import Page, Section

# Calls on the way to an error, as in a traceback, and advice on what TensorFlow itself calls.
BESIDES = re.compile(
    r"^(?:>>>| {4}(?! *\w+Error: )).*\n"
    r"|^From .* is deprecated .*\nInstructions for updating:\n.*$",
    re.M,
)
# What the example uses and the release lacks says nothing about the message.
LACKS = re.compile(r"ModuleNotFoundError|ImportError|AttributeError: (?:partially )?module ")


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


def forms(name, outcomes, releases):
    """Return on which of `releases` the example `name` prints what it shows, and what others print.

    The others come as {text: [release]}, without those that lack what the example uses.
    """
    example = read(SNIPPETS / name)
    expected, same, others = example.output.splitlines(), [], {}
    for release in releases:
        kind, text = outcomes.get((name, release), (None, ""))
        lines = BESIDES.sub("", text).splitlines()
        new = "\n".join(line for line in lines if line.strip() and line not in expected)
        # In TensorFlow 1, what is not written for its graphs may end for a reason of its own.
        ended = kind == "not available" and release.startswith("1.") and not example.graph
        if kind == "same":
            same.append(release)
        elif new and not ended and not LACKS.match(new):
            others.setdefault(new, []).append(release)
    return same, others
