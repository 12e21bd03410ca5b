"""Tell under each error which TensorFlow prints it, and list the errors and the known bugs.

The section of a bug begins with a line that says what happens, where, and what to write instead.
"""

import re
from itertools import groupby

from mkdocs.exceptions import PluginError

from pages.page import EMBED
from releases.data import RELEASES, REPLAY, stated
from releases.messages import forms
from website.render import rendered, seen_from

BUG = re.compile(r"(.+): on <!-- on (\S+) -->\. \*Instead:\* (.+)\.$", re.M)

RUN = re.compile(r'(?:^--8<-- ".+\.md"\n+)+', re.M)  # of listings, with no word between them
LABELS = {"fails": "Fails", "shows": "Prints it", "works": "Works"}  # of a listing


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
        says, listings = listings_of(entry)
        markdown = f"{before}{says}{note}\n\n{listings}{after}"
    return markdown


def listings_of(entry):
    """Return what an entry says above its listings, and the rest, with a label on each listing.

    Of those that follow each other, what works stands above what fails. Where a sentence leads to
    one, the sentence says what it does.
    """
    head = entry.text[: EMBED.search(entry.text).start()]

    def kind(name):
        shows = "shows" if name == entry.names[0] else "works"
        return "fails" if re.search(r"/(raises|kills|hangs)_", name) else shows

    def listing(name):
        return f'**{LABELS[kind(name)]}**{{: .{kind(name)} }}\n\n--8<-- "{name}"\n\n'

    def ordered(run):
        names, done = re.findall('"(.+)"', run[0]), []
        for works, group in groupby(names, lambda name: kind(name) == "works"):
            at = max(len(done) - 1, 0) if works else len(done)
            done.insert(at, "".join(map(listing, group)))
        alone = all(kind(name) == "works" for name in names)
        return run[0] if alone else "".join(done)

    return head, RUN.sub(ordered, entry.text[len(head) :])


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
