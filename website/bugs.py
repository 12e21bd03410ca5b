"""List the known bugs, and write the part of a report that is the same in all.

The section of a bug begins with a line that says what happens, where, and what to write instead.
"""

import re

from releases.data import stated
from website.render import rendered

BUG = re.compile(
    r"(?P<happens>.+): on <!-- on (?P<example>\S+) -->\. \*Instead:\* (?P<instead>.+)\.$", re.M
)


def known_bugs(page, site):
    """Return the table of the bugs on `page`.

    Raises:
        ValueError: A section does not begin with its line.
    """
    sections = [section for section in site.source(page).sections if section.level == 3]
    found = [(section, BUG.match(section.prose[0].text)) for section in sections]
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
