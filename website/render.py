"""Fill templates, with what they may call."""

import posixpath
import re
from datetime import date

import jinja2

from pages.calls import VERDICTS
from pages.claims import home
from releases.data import RELEASES, minor, span


def verdict_chip(verdict, words=""):
    """Return a verdict as HTML, or other words for it."""
    return f'<span class="verdict {verdict.split()[-1]}">{words or verdict}</span>'


def spelled(day):
    """Write a day as readers do: 5 March 2026."""
    return f"{date.fromisoformat(day):%d %B %Y}".lstrip("0")


def seen_from(page, path):
    """Return the address of what is at `path`, below docs/, as links on `page` have it."""
    return posixpath.relpath(path, posixpath.dirname(page.file.src_uri) or ".")


def full_title(page):
    """Return a page's title with that of its section in the navigation."""
    return (f"{page.ancestors[0].title}: " if page.ancestors else "") + page.title


def codespan(text):
    """Return text as inline code, whatever it holds."""
    ticks = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    pad = " " if ticks > "`" else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def stop(message):
    """Stop a template.

    Raises:
        KeyError: Always, with the message.
    """
    raise KeyError(message)


TEMPLATES = jinja2.Environment(
    loader=jinja2.PackageLoader("website"),
    autoescape=jinja2.select_autoescape(["html"]),
    trim_blocks=True,
    undefined=jinja2.StrictUndefined,
)
TEMPLATES.filters |= {"codespan": codespan, "minor": minor}
TEMPLATES.globals |= {"RELEASES": RELEASES, "VERDICTS": VERDICTS}
for shared in (full_title, home, seen_from, span, spelled, stop, verdict_chip):
    TEMPLATES.globals[shared.__name__] = shared


def rendered(template, **data):
    """Return a template filled with data."""
    return TEMPLATES.get_template(template).render(**data)
