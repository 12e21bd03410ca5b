"""What each TensorFlow release did with each example, in a file for each folder of examples.

A file maps each example to its digest and, for each outcome and text, to the releases: what was
printed where that `differs`, the error's last line where the example is `not available`.
"""

import itertools
import json

from checks import ROOT
from checks.snippets import load_examples

DATA = ROOT / "releases/printed"
REPLAY = "replay it with `python3 noxfile.py -s releases`"


class StaleError(Exception):
    """A range cannot be told: the example is unknown, not replayed, or not the same in a row."""


def version(release):
    """Return a release's numbers, to sort by."""
    return tuple(map(int, release.split(".")))


def minor(release):
    """Return how readers call a release: 2.4 for 2.4.4."""
    return ".".join(release.split(".")[:2])


RELEASES = sorted((r.stem for r in ROOT.glob("requirements/releases/*.txt")), key=version)


def stored(folder=DATA):
    """Return what the files below `folder` hold, by example.

    Raises:
        ValueError: A file is no JSON; the message names it.
    """
    found = {}
    for file in sorted(folder.rglob("*.json")):
        try:
            found |= json.loads(file.read_text("utf-8"))
        except json.JSONDecodeError as error:
            raise ValueError(f"{file}: {error}. Delete the file and {REPLAY}.") from None
    return found


def load_outcomes(folder=DATA, examples=None):
    """Return the outcomes below `folder` that are not stale: {(name, release): (kind, text)}."""
    digests = {name: one.digest for name, one in (examples or load_examples()).items()}
    return {
        (name, release): (kind, text)
        for name, results in stored(folder).items()
        if results["digest"] == digests.get(name)
        for kind, texts in results["outcomes"].items()
        for text, releases in texts.items()
        for release in releases.split()
    }


def save(outcomes, digests):
    """Write `outcomes` over the data, each file in one step that cannot be interrupted half-way.

    `digests` are those of the examples as they were replayed, which the files may no longer be.
    """
    files = {}
    for (name, release), (kind, text) in sorted(
        outcomes.items(), key=lambda item: (item[0][0], version(item[0][1]))
    ):
        data = files.setdefault(DATA / f"{name.rpartition('/')[0]}.json", {})
        entry = data.setdefault(name, {"digest": digests[name], "outcomes": {}})
        texts = entry["outcomes"].setdefault(kind, {})
        texts[text] = f"{texts.get(text, '')} {release}".strip()
    for file, data in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        draft = file.with_suffix(".draft")
        draft.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", "utf-8")
        draft.replace(file)
    for file in set(DATA.rglob("*.json")) - set(files):  # its examples are gone, or have moved
        file.unlink()


def span(releases):
    """Write releases as ranges: 1.13 … 2.3, 2.6."""
    places = [RELEASES.index(release) for release in releases]
    runs = itertools.groupby(enumerate(places), lambda pair: pair[1] - pair[0])
    ends = [[minor(RELEASES[place]) for _, place in run] for _, run in runs]
    return ", ".join(run[0] if len(run) == 1 else f"{run[0]} … {run[-1]}" for run in ends)


def stated(word, name, outcomes):
    """Say since, until or on which TensorFlow the example `name` prints what its page shows.

    Raises:
        StaleError: The data do not tell; the message says why and what to do.
    """
    kinds = [outcomes.get((name, release), (None,))[0] for release in RELEASES]
    if None in kinds:
        raise StaleError(f"There is no example {name}, or it has changed: {REPLAY}.")
    same = [release for release, kind in zip(RELEASES, kinds, strict=True) if kind == "same"]
    others = [release for release in RELEASES if release not in same]
    if word == "on" and same:
        return f"TensorFlow {span(same)}"
    later = [r for r in same if word == "since" and all(version(r) > version(o) for o in others)]
    earlier = [r for r in same if word == "until" and all(version(r) < version(o) for o in others)]
    if not others or not later + earlier:
        raise StaleError(f"{name} prints the same on {span(same) or 'no release'}: not “{word}”.")
    return f"TensorFlow {minor((later or earlier[::-1])[0])}"
