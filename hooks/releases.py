"""Show on every page which TensorFlow releases print what its examples say.

docs/evidence/releases.json holds what `nox -s releases` saw. Each page gets a strip under its
heading, made from the data; `<!-- releases -->` asks for the whole matrix. A result counts only
as long as the example is the one that was replayed.
"""

import difflib
import hashlib
import itertools
import json
import posixpath
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
SNIPPETS = ROOT / "snippets"
DATA = ROOT / "docs/evidence/releases.json"
EMBED = re.compile(r'^ *--8<-- "(.+\.md)"$', re.M)
OUTPUT = re.compile(r"(?<=```output\n).*?(?=^```$)", re.M | re.S)


def version(release):
    """Return a release's numbers, to sort by."""
    return tuple(map(int, release.split(".")))


def digest(text):
    """Return the hash that ties a result to an example's code and output."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def snippets():
    """Return the text of each example by the name that pages embed."""
    files = sorted(SNIPPETS.glob("*/*.md"))
    return {str(f.relative_to(SNIPPETS)): f.read_text("utf-8") for f in files}


def load(file=DATA):
    """Return the outcomes in `file` that are not stale: {(name, release): (kind, text)}."""
    stored = json.loads(file.read_text("utf-8")) if file.exists() else {}
    hashes = {name: digest(text) for name, text in snippets().items()}
    return {
        (name, release): (kind, text)
        for name, results in stored.items()
        if results["hash"] == hashes.get(name)
        for kind, texts in results["outcomes"].items()
        for text, releases in texts.items()
        for release in releases
    }


RELEASES = sorted(
    (recipe.stem for recipe in ROOT.glob("requirements/releases/*.txt")), key=version
)
OUTCOMES, PAGES = {}, []


def embedded(markdown):
    """Return the names of the examples that a page shows, each once."""
    return list(dict.fromkeys(EMBED.findall(markdown)))


def on_nav(nav, config, files):
    """Read the data again at each build, and the order of the pages."""
    OUTCOMES.clear()
    OUTCOMES.update(load())
    PAGES[:] = nav.pages


def minor(release):
    """Return how readers call a release: 2.4 for 2.4.4."""
    return ".".join(release.split(".")[:2])


def span(releases):
    """Write releases as ranges: 1.13 … 2.3, 2.6."""
    places = [RELEASES.index(release) for release in releases]
    runs = itertools.groupby(enumerate(places), lambda pair: pair[1] - pair[0])
    ends = [[minor(RELEASES[place]) for _, place in run] for _, run in runs]
    return ", ".join(
        run[0] if len(run) == 1 else f"{run[0]} … {run[-1]}" for run in ends
    )


def results(name):
    """Return what each release did with an example, as [((kind, text), [release])]."""
    groups = {}
    for release in RELEASES:
        outcome = OUTCOMES.get((name, release), ("not replayed", ""))
        groups.setdefault(outcome, []).append(release)
    return list(groups.items())


def example(name):
    """Return all that the templates show of an example."""
    expected = "".join(
        OUTPUT.findall((SNIPPETS / name).read_text("utf-8"))
    ).splitlines()
    notes, others = [], {}
    for (kind, text), releases in results(name):
        if kind == "same":
            continue
        others.setdefault(kind, []).extend(releases)
        if kind == "not replayed":
            continue
        if kind == "differs":
            diff = difflib.unified_diff(expected, text.splitlines(), n=1, lineterm="")
            lines = [line for line in diff if not re.match(r"---|\+\+\+|@@", line)]
        else:
            lines = [text]
        notes.append((kind, span(releases), "\n".join(lines)))
    kinds = [OUTCOMES.get((name, r), ("not replayed",))[0] for r in RELEASES]
    bad = [place for place, kind in enumerate(kinds) if kind != "same"]
    return {
        "title": name.split("/")[1].split(".")[0].replace("_", " ")
        + " (TF 1)" * (".tf1" in name),
        "anchor": re.sub(r"\W+", "-", name.removesuffix(".md")),
        "runs": [(kind, len(list(run))) for kind, run in itertools.groupby(kinds)],
        "exceptions": [
            (kind, span(sorted(r, key=version))) for kind, r in others.items()
        ],
        "notes": notes,
        "since": bad[-1] + 1 if bad else 0,
    }


def on_page_markdown(markdown, page, config, files):
    """Put the strip under the heading of `page`, and the matrix where it is asked for."""
    templates = config.theme.get_env()
    if "<!-- releases -->" in markdown:
        pages = [
            (shown, [example(name) for name in names])
            for shown in PAGES
            if (names := embedded(Path(shown.file.abs_src_path).read_text("utf-8")))
        ]
        seen = set()
        for shown in (shown for _, examples in pages for shown in examples):
            # Its notes stand under the first page that shows it.
            shown["first"] = shown["anchor"] not in seen
            seen.add(shown["anchor"])
        table = templates.get_template("releases.html").render(
            pages=pages, releases=[minor(release) for release in RELEASES]
        )
        markdown = markdown.replace("<!-- releases -->", table)
    elif names := embedded(markdown):
        # An example for TensorFlow 1 says so by its name, and is none for TensorFlow 2.
        now = [example(name) for name in names if ".tf1" not in name]
        then = [example(name) for name in names if ".tf1" in name]
        since = max((shown["since"] for shown in now), default=0)
        strip = templates.get_template("replayed.html").render(
            now=now,
            then=then,
            replayed=span(RELEASES),
            since=minor(RELEASES[since]) if since < len(RELEASES) else None,
            matrix=posixpath.relpath("evidence/releases/", page.url or "."),
        )
        markdown = re.sub(
            r"^# .*$",
            lambda heading: f"{heading[0]}\n\n{strip}",
            markdown,
            count=1,
            flags=re.M,
        )
    return markdown
