"""The entries of the pages below docs/errors: a message, what to do, and who prints it.

A section is an entry. Its heading is the message, as code, with `…` where something is left out;
its first sentence says what to do; its first example prints the message, and another one works.
"""

import re
from typing import NamedTuple

from checks import DOCS, SNIPPETS
from checks.snippets import markdown, read
from pages import claims

FOLDER = DOCS / "errors"
SECTION = re.compile(r"^## (?P<title>.+)\n\n(?P<says>.+)\n(?:.*\n)*?(?=^## |\Z)", re.M)
# Calls on the way to an error, as in a traceback, and advice on what TensorFlow itself calls.
BESIDES = re.compile(
    r"^(?:>>>| {4}(?! *\w+Error: )).*\n"
    r"|^From .* is deprecated .*\nInstructions for updating:\n.*$",
    re.M,
)
# What the example uses and the release lacks says nothing about the message.
LACKS = re.compile(r"ModuleNotFoundError|ImportError|AttributeError: (?:partially )?module ")


class Entry(NamedTuple):
    """A message as its heading shows it, its anchor, first sentence, examples and whole text."""

    title: str
    anchor: str
    says: str
    names: list
    text: str

    @property
    def message(self):
        """Return the message in its parts, between what is left out."""
        return [part for part in self.title.strip("` ").split("…") if part.strip()]


def pages():
    """Return the files that hold entries."""
    return [page for page in sorted(FOLDER.glob("*.md")) if page.stem != "index"]


def entries(page):
    """Return the entries of the page in the file `page`."""
    found = {section.title: section for section in claims.sections(page)}
    return [
        Entry(s["title"], found[s["title"]].anchor, s["says"], found[s["title"]].names, s[0])
        for s in SECTION.finditer(markdown(page))
    ]


def every():
    """Return all entries, each with the file of its page."""
    return [(page, entry) for page in pages() for entry in entries(page)]


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
