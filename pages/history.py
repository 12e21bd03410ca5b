"""When a page and its examples came and last changed, as git tells it."""

import subprocess
from collections import Counter, defaultdict
from typing import NamedTuple

from checks import ROOT


class Days(NamedTuple):
    """The days on which a file was added and last changed, as git writes them."""

    added: str
    changed: str


class News(NamedTuple):
    """What came on a day: pages, and how many examples to pages that were there before."""

    pages: list[str]
    examples: dict[str, int]


def git_says(folder, *arguments):
    """Return what git prints about `folder`, or nothing where there is no git or repository."""
    command = ["git", "-C", folder, "-c", "core.quotePath=false", *arguments]
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""


def days_of_files(folder=ROOT):
    """Return the days of each file: {path: Days}.

    A shallow clone does not have them, and what it does have would be wrong: it counts as none.
    """
    if git_says(folder, "rev-parse", "--is-shallow-repository") != "false\n":
        return {}
    days, day = {}, None
    log = ["log", "--reverse", "--find-renames", "--relative", "--name-status", "--format=%cs"]
    for line in git_says(folder, *log, "--", "docs", "snippets").splitlines():
        kind, *paths = line.split("\t")
        if paths:
            before = days.pop(paths[0], Days(day, day))
            if kind != "D":
                days[paths[-1]] = before._replace(changed=day)
        else:
            day = line or day
    return days


def example_days(page, days):
    """Return the days of the examples that `page` embeds and git knows."""
    return [days[f"snippets/{name}"] for name in page.names if f"snippets/{name}" in days]


def day_changed(page, days):
    """Return the day on which `page` or one of its examples changed last, or None."""
    own = days.get(f"docs/{page.uri}")
    return own and max(found.changed for found in (own, *example_days(page, days)))


def news_by_day(pages, days):
    """Return what came on each day, newest first: {day: News}.

    Examples that came with their page, or before it, do not count.
    """
    found = defaultdict(lambda: News([], Counter()))
    for page in pages:
        if own := days.get(f"docs/{page.uri}"):
            found[own.added].pages.append(page.uri)
            for example in example_days(page, days):
                if example.added > own.added:
                    found[example.added].examples[page.uri] += 1
    return dict(sorted(found.items(), reverse=True))
