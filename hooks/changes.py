"""Mark in tabs of old and new code the lines that the other side does not have."""

import re
import textwrap

from checks import SNIPPETS
from checks.snippets import read
from pages.page import EMBED

TABS = re.compile(r'(?:^===\+? ".+"\n\n(?: {4}.*\n|\n)+){2,}', re.M)
LABEL = re.compile(r'^===\+? "(.+)"$', re.M)


def lines(name):
    """Return the lines of an example's code, without their indent."""
    return [line.strip() for line in read(SNIPPETS / name).code.splitlines()]


def marked(name, others):
    """Return an example as Markdown, its lines that are not among `others` highlighted."""
    code = [(n, line) for n, line in enumerate(lines(name), 1) if re.match("[^#]", line)]
    changed = [n for n, line in code if line not in others]
    text = (SNIPPETS / name).read_text("utf-8")
    return text.replace("```python", f'```python hl_lines="{" ".join(map(str, changed))}"', 1)


def compared(tabs):
    """Return a set of tabs with what changed from the first one highlighted."""
    sides = [EMBED.findall(tab) for tab in re.split(LABEL, tabs[0])[2::2]]
    codes = [{line for name in side for line in lines(name)} for side in sides]

    def embedded(embed):
        side = next(place for place, names in enumerate(sides) if embed[1] in names)
        return textwrap.indent(marked(embed[1], codes[1] if side == 0 else codes[0]), "    ")

    return EMBED.sub(embedded, tabs[0])


def on_page_markdown(markdown, page, config, files):
    """Highlight the changes in each set of tabs on `page`."""
    return TABS.sub(compared, markdown)
