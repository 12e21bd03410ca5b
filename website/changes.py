"""Mark in tabs of old and new code the lines that the other side does not have."""

import re
import textwrap

from checks import SNIPPETS
from pages.page import EMBED


def lines_of(name, site):
    """Return the lines of an example's code, without their indent."""
    return [line.strip() for line in site.examples[name].code.splitlines()]


def marked(name, others, site):
    """Return an example as Markdown, its lines that are not among `others` highlighted."""
    numbered = enumerate(lines_of(name, site), 1)
    changed = [str(n) for n, line in numbered if re.match("[^#]", line) and line not in others]
    text = (SNIPPETS / name).read_text("utf-8")
    return text.replace("```python", f'```python hl_lines="{" ".join(changed)}"', 1)


def highlighted(markdown, page, site):
    """Return a page's Markdown with what changed from the first of its tabs highlighted.

    Where tabs do not stand side by side, the tape's is open, which readers came for.
    """
    shown = {}
    for tabs in site.source(page).tabs:
        codes = [{line for e in tab.embeds for line in lines_of(e.name, site)} for tab in tabs]
        for place, tab in enumerate(tabs if len(tabs) > 1 else ()):
            # The first is compared with the second, and each other one with the first.
            shown |= {e: marked(e.name, codes[0 if place else 1], site) for e in tab.embeds}
    embeds = iter(site.source(page).embeds)  # in the same order as here

    def embedded(found):
        embed = next(embeds)
        return textwrap.indent(shown[embed], found[1]) if embed in shown else found[0]

    return re.sub('^=== (?="TF 2 tape")', "===+ ", EMBED.sub(embedded, markdown), flags=re.M)
