"""Tell a page what its repository knows: when it changed, where its source is, what is new.

`<!-- history -->` asks for the days on which pages and examples came, newest first.
"""

import datetime
import posixpath
from pathlib import Path

from pages import history
from pages.page import Page

MARKER = "<!-- history -->"
DAYS, PAGES = {}, []


def on_config(config):
    """Lead to the source of a page; without a repository, MkDocs would warn of such a setting."""
    if config.repo_url:
        config.edit_uri = "edit/main/docs/"


def on_nav(nav, config, files):
    """Read the history again at each build, and the order of the pages."""
    DAYS.clear()
    DAYS.update(history.days_of_files())
    PAGES[:] = nav.pages


def written(day):
    """Write a day as readers do: 5 March 2026."""
    day = datetime.date.fromisoformat(day)
    return f"{day.day} {day:%B %Y}"


def news(page):
    """Return what came on each day: pages, and examples on pages that were there before."""
    shown = {one.file.src_uri: Page.read(Path(one.file.abs_src_path)) for one in PAGES}

    def link(uri, note=""):
        address = posixpath.relpath(uri, posixpath.dirname(page.file.src_uri))
        return f"- [{shown[uri].title}]({address}){note}"

    lines = []
    for day, (new, more) in history.news_by_day(shown.values(), DAYS).items():
        lines += ["", f"## {written(day)}"]
        if new:
            lines += ["", "**New pages**", "", *map(link, new)]
        if more:
            lines += ["", "**New examples**", ""]
            lines += [link(at, f": {n} example{'s' * (n > 1)}") for at, n in more.items()]
    if not lines:
        return "This copy of the site was built without its history, so it cannot say what is new."
    return "\n".join(lines)


def on_page_markdown(markdown, page, config, files):
    """Date `page`, and list what is new where it asks for it."""
    if day := history.day_changed(Page.read(Path(page.file.abs_src_path)), DAYS):
        page.update_date = day
        page.meta["changed"] = day, written(day)
    return markdown.replace(MARKER, news(page)) if MARKER in markdown else markdown
