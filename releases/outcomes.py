"""What each TensorFlow release did with the examples of a page."""

import difflib
import itertools
import re
from typing import NamedTuple

from releases.data import RELEASES


class Note(NamedTuple):
    """What an example does on some releases: a kind, and what it prints there instead."""

    kind: str
    text: str
    releases: list[str]


class Replayed(NamedTuple):
    """An example as a page shows it, and what the releases did, of one kind in `runs` of some."""

    name: str
    title: str
    old: bool
    anchor: str
    kinds: dict[str, str]
    runs: list[tuple[str, int]]
    notes: list[Note]


def anchor(name):
    """Return by which anchor an example is found on its page, and among those of all pages."""
    part, _, rest = name.removesuffix(".md").partition("/")
    return re.sub(r"\W+", "-", f"{part}/{rest}" if part in ("errors", "index") else rest)


def lines_that_differ(text, expected):
    """Return the lines of an output that a release leaves out or prints instead."""
    diff = difflib.unified_diff(expected.splitlines(), text.splitlines(), n=1, lineterm="")
    return "\n".join(line for line in diff if not re.match(r"---|\+\+\+|@@", line))


def title_of(embed, section, example):
    """Return the title of an example: its section, and what tells it apart there."""
    title = re.sub(r"[`*]|\]\(.*?\)|\[", "", section.title)  # as text, without its Markdown
    tabs = [other.tab for other in section.embeds]
    apart = embed.tab if embed.tab and tabs.count(embed.tab) == 1 else example.title
    return f"{title}, {apart}" if len(tabs) > 1 else title


def replayed(embed, section, example, outcomes):
    """Return what the releases did with an example that a section shows."""
    results, notes = {}, []
    for release in RELEASES:
        outcome = outcomes.get((example.name, release), ("not replayed", ""))
        results.setdefault(outcome, []).append(release)
    kinds = {release: kind for (kind, _), some in results.items() for release in some}
    runs = itertools.groupby(kinds[release] for release in RELEASES)
    for (kind, text), some in results.items():
        if kind != "same":
            differs = kind == "differs" and lines_that_differ(text, example.output)
            notes.append(Note(kind, differs or text, some))
    runs = [(kind, len(list(run))) for kind, run in runs]
    title, known_as = title_of(embed, section, example), anchor(example.name)
    return Replayed(example.name, title, example.old, known_as, kinds, runs, notes)


def outcomes_on(page, examples, outcomes):
    """Return what the releases did with the examples of a page, each where it stands first."""
    found = {}
    for section in page.sections:
        for embed in section.embeds:
            if embed.name not in found:
                example = examples[embed.name]
                found[embed.name] = replayed(embed, section, example, outcomes)
    return list(found.values())
