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
    log = ["log", "--reverse", "--find-renames", "--relative", "--name-status", "--format=@%cs"]
    for line in git_says(folder, *log, "--", "docs", "snippets").splitlines():
        if line.startswith("@"):
            day = line[1:]
        elif line:
            kind, path, *renamed = line.split("\t")
            before = days.pop(path, Days(day, day))
            if kind != "D":
                days[renamed[0] if renamed else path] = before._replace(changed=day)
    return days


def page_days(page, days):
    """Return the days of `page`, or None where git does not know it."""
    return days.get(f"docs/{page.uri}")


def example_days(page, days):
    """Return the days of the examples that `page` embeds and git knows."""
    names = (f"snippets/{name}" for name in page.names)
    return [days[name] for name in names if name in days]


def day_changed(page, days):
    """Return the day on which `page` or one of its examples changed last, or None."""
    own = page_days(page, days)
    return own and max(found.changed for found in (own, *example_days(page, days)))


def news_by_day(pages, days):
    """Return what came on each day, newest first: {day: News}.

    Examples that came with their page, or before it, do not count.
    """
    found = defaultdict(lambda: News([], {}))
    for page in pages:
        if own := page_days(page, days):
            found[own.added].pages.append(page.uri)
            added = (example.added for example in example_days(page, days))
            for day, count in Counter(day for day in added if day > own.added).items():
                found[day].examples[page.uri] = count
    return dict(sorted(found.items(), reverse=True))
