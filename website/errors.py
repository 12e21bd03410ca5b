"""Tell under each error which TensorFlow prints it, and list the errors and the known bugs.

The section of a bug begins with a line that says what happens, where, and what to write instead.
"""

import re
from pathlib import PurePosixPath

from mkdocs.exceptions import PluginError

from pages.page import EMBED
from releases.data import RELEASES, REPLAY, stated
from releases.messages import forms
from website.render import rendered, seen_from

BUG = re.compile(r"(.+): on <!-- on (\S+) -->\. \*Instead:\* (.+)\.$", re.M)
LABELS = {"fails": "Fails", "shows": "Prints it", "works": "Works"}  # of a listing
STARTS = {"raises": "fails", "kills": "fails", "hangs": "fails", "warns": "shows"}  # of its name
LISTING = r'.+\n\n--8<-- ".+"\n+)+'
# With no word between them, what works goes above what fails.
TURNED = re.compile(rf"((?:^\*\*[FP]{LISTING})((?:^\*\*W{LISTING})", re.M)


def noted(markdown, page, site):
    """Return the Markdown of `page`, as its file has it, with a note in each of its errors.

    The note says which releases print what the error's first example shows, and what others print.
    It stands above the listings, which are labelled by what they do.

    Raises:
        PluginError: The example has not been replayed. The site is not built.
    """
    for entry in site.entries.get(page.file.src_uri, ()):
        name = entry.names[0]
        same, others = forms(name, site.outcomes, RELEASES)
        if not same:
            raise PluginError(f"There is no example {name}, or it has changed: {REPLAY}.")
        note = rendered("forms.md", same=same, others=others)
        before, after = markdown.split(entry.text)
        says, listings = listings_of(entry, site.source(page).front.get("neither", ()))
        markdown = f"{before}{says}{note}\n\n{listings}{after}"
    return markdown


def listings_of(entry, neither=()):
    """Return what an entry says above its listings, and the rest, with a label on each listing.

    Of those that follow each other, what works stands above what fails. Those named in `neither`,
    by their stems, are there to be seen and have no label.
    """
    head = entry.text[: EMBED.search(entry.text).start()]

    def labelled(embed):
        stem = PurePosixPath(embed[2]).stem
        other = "shows" if embed[2] == entry.names[0] else "works"
        kind = STARTS.get(stem.split("_")[0], other)
        label = f"{embed[1]}**{LABELS[kind]}**{{: .{kind} }}\n\n"
        return embed[0] if stem in neither else label + embed[0]

    return head, TURNED.sub(r"\2\1", EMBED.sub(labelled, entry.text[len(head) :]))


def listed(page, site, which=""):
    """Return the list of all errors, or of those that the head of `page` names as `frequent`.

    Raises:
        KeyError: There is no error of the name.
    """
    if not which:
        return rendered("errors.md", page=page, site=site)
    every = ((uri, one) for uri, entries in site.entries.items() for one in entries)
    titles = {f"{uri}#{one.anchor}": one.title for uri, one in every}
    return "\n".join(f"- [{titles[it]}]({seen_from(page, it)})" for it in page.meta[which])


def known_bugs(page, site):
    """Return the table of the bugs on `page`.

    Raises:
        ValueError: A section does not begin with its line.
    """
    found = [(s, BUG.match(s.prose[0].text)) for s in site.source(page).sections if s.level == 3]
    for section, bug in found:
        if not bug:
            says = "What happens: on <!-- on page/example.md -->. *Instead:* what to write."
            raise ValueError(f"“{section.title}” needs, right under it, a line like {says}")
    return rendered("bugs.md", bugs=found)


def how_to_reproduce(page, site, name):
    """Return on which releases a report holds, and which example above it shows that.

    Raises:
        ValueError: The example does not stand under one heading of the page.
    """
    [names] = [section.names for section in site.source(page).sections if name in section.names]
    which = ("first ", "second ", "third ")[names.index(name)] if len(names) > 1 else ""
    versions = stated("on", name, site.outcomes)
    return f"**Versions.** {versions}. **To reproduce.** The {which}example above."
