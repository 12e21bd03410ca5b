"""When a page and its examples came and last changed, as git tells it."""

import subprocess
from collections import Counter

from checks import DOCS, ROOT
from checks.snippets import embeds, markdown

WATCHED = ["docs", "snippets"]


def git(folder, *arguments):
    """Return what git prints about `folder`, or nothing where there is no git or repository."""
    command = ["git", "-C", folder, "-c", "core.quotePath=false", *arguments]
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""


def load(folder=ROOT):
    """Return the days on which each file was added and last changed: {path: (added, changed)}.

    A shallow clone does not have them, and what it does have would be wrong: it counts as none.
    """
    if git(folder, "rev-parse", "--is-shallow-repository") != "false\n":
        return {}
    days, day = {}, None
    log = ["log", "--reverse", "--find-renames", "--relative", "--name-status", "--format=@%cs"]
    for line in git(folder, *log, "--", *WATCHED).splitlines():
        if line.startswith("@"):
            day = line[1:]
        elif line:
            kind, path, *renamed = line.split("\t")
            added, _ = days.pop(path, (day, day))
            if kind != "D":
                days[renamed[0] if renamed else path] = added, day
    return days


def own(page, days):
    """Return the days of `page`, or None where git does not know it."""
    return days.get(f"docs/{page.relative_to(DOCS).as_posix()}")


def examples(page, days):
    """Return the days of the examples that `page` embeds and git knows."""
    names = (f"snippets/{name}" for name in embeds(markdown(page)))
    return [days[name] for name in names if name in days]


def changed(page, days):
    """Return the day on which `page` or one of its examples changed last, or None."""
    found = own(page, days)
    return found and max(day for _, day in (found, *examples(page, days)))


def news(pages, days):
    """Return what came on each day, newest first.

    Returns:
        {day: (the pages that came, {page: how many examples came to it})}, where examples that
        came with their page, or before it, do not count.
    """
    found = {}
    for page in filter(lambda page: own(page, days), pages):
        came = own(page, days)[0]
        found.setdefault(came, ([], {}))[0].append(page)
        more = Counter(day for day, _ in examples(page, days) if day > came)
        for day, count in more.items():
            found.setdefault(day, ([], {}))[1][page] = count
    return dict(sorted(found.items(), reverse=True))
