"""Show on every page which TensorFlow releases print what its examples say.

Each page gets a strip under its lead, made from docs/evidence/releases.json, and each of its
examples an anchor. `<!-- releases choice -->` asks for the choice of a release, which shows what
differs there, and `<!-- releases matrix -->` for the table of all. What other releases print is in
a file of its own, a script, since a page that is opened from a folder may load nothing else.
"""

import difflib
import itertools
import json
import re
from pathlib import Path

import jinja2
from mkdocs.structure.files import File

from checks import snippets
from pages.page import Page
from releases import data as releases
from releases.data import RELEASES, minor, span

TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True
)
PAGE, DATA, SCRIPT = "evidence/releases.md", "evidence/differs.js", "assets/releases.js"
MARKER = re.compile(r"<!-- releases (choice|matrix) -->")
WORDS = {
    "differs": ("diff", "prints something else"),
    "not available": ("error", "ends with an error"),
    "not replayed": ("?", "has changed since it was run"),
}
NOTES = TEMPLATES.get_template("differs.html").module
OUTCOMES, EXAMPLES, SHOWN = {}, {}, []


def anchor(name):
    """Return by which anchor an example is found on its page, and among those of all pages."""
    part, _, rest = name.removesuffix(".md").partition("/")
    return re.sub(r"\W+", "-", f"{part}/{rest}" if part in ("errors", "index") else rest)


def results(name):
    """Return what each release did with an example, as [((kind, text), [release])]."""
    groups = {}
    for release in RELEASES:
        outcome = OUTCOMES.get((name, release), ("not replayed", ""))
        groups.setdefault(outcome, []).append(release)
    return list(groups.items())


def changed(name, text):
    """Return the lines of an example's output that a release leaves out or prints instead."""
    expected = EXAMPLES[name].output.splitlines()
    diff = difflib.unified_diff(expected, text.splitlines(), n=1, lineterm="")
    return "\n".join(line for line in diff if not re.match(r"---|\+\+\+|@@", line))


def example(name, section, tabs):
    """Return all that the templates show of an example under the heading `section`."""
    title = re.sub(r"[`*]|\]\(.*?\)|\[", "", section.title)  # as text, without its Markdown
    if len(section.names) > 1:
        label, labels = tabs.get(name), [tabs.get(other) for other in section.names]
        title += f", {label if label and labels.count(label) == 1 else EXAMPLES[name].title}"
    kinds = [OUTCOMES.get((name, release), ("not replayed",))[0] for release in RELEASES]
    bad = [place for place, kind in enumerate(kinds) if kind != "same"]
    return {
        "name": name,
        "title": title,
        "old": EXAMPLES[name].old,
        "anchor": anchor(name),
        "runs": [(kind, len(list(run))) for kind, run in itertools.groupby(kinds)],
        "notes": [
            {
                "kind": kind,
                "words": WORDS[kind][1],
                "on": [minor(release) for release in found],
                "span": span(found),
                "text": changed(name, text) if kind == "differs" else text,
            }
            for (kind, text), found in results(name)
            if kind != "same"
        ],
        "exceptions": [
            (WORDS[kind][1], span([r for r, k in zip(RELEASES, kinds, strict=True) if k == kind]))
            for kind in dict.fromkeys(kinds)
            if kind != "same"
        ],
        "since": bad[-1] + 1 if bad else 0,
    }


def examples(page):
    """Return the examples of a page, each where it stands first."""
    shown = Page.read(Path(page.file.abs_src_path))
    tabs = {embed.name: embed.tab for embed in shown.embeds if embed.tab}
    found = {}
    for section in shown.sections:
        for name in section.names:
            found.setdefault(name, example(name, section, tabs))
    return list(found.values())


def groups(pages):
    """Return [(page, examples)], each example at the first page that shows it."""
    seen, found = set(), []
    for page in pages:
        new = [one for one in examples(page) if one["name"] not in seen]
        seen.update(one["name"] for one in new)
        if new:
            found.append((page, new))
    return found


def called(page):
    """Return a page's title with that of its section in the navigation."""
    return (f"{page.ancestors[0].title}: " if page.ancestors else "") + page.title


def summary(release):
    """Say how many examples do what on a release."""
    found = [one for _, examples in SHOWN for one in examples]
    needed = [] if release.startswith("1.") else [one["name"] for one in found if one["old"]]
    names = [one["name"] for one in found if one["name"] not in needed]
    kinds = [OUTCOMES.get((name, release), ("not replayed",))[0] for name in names]
    counts = {kind: kinds.count(kind) for kind in ("same", *WORDS)}
    return str(NOTES.summary(minor(release), counts, len(needed)))


def data(page):
    """Return what other releases print, for the script on `page`."""

    def note(shown, one, note):
        address = f"{shown.file.url_relative_to(page.file)}#{one['anchor']}"
        # That an example for TensorFlow 1 needs it is said once, by its page.
        on = [r for r in note["on"] if not one["old"] or r.startswith("1.")]
        html = str(NOTES.note(address, one, note))
        return {"page": called(shown), "anchor": one["anchor"], "on": on, "html": html}

    everything = ((shown, one) for shown, found in SHOWN for one in found)
    notes = [note(shown, one, n) for shown, one in everything for n in one["notes"]]
    return {"summaries": {minor(r): summary(r) for r in RELEASES}, "notes": notes}


def on_nav(nav, config, files):
    """Read the data and the examples again at each build, and write what differs into a file."""
    OUTCOMES.clear()
    OUTCOMES.update(releases.load())
    EXAMPLES.clear()
    EXAMPLES.update(snippets.load())
    SHOWN[:] = groups(nav.pages)
    page = next(page for page in nav.pages if page.file.src_uri == PAGE)
    script = f"var differs = {json.dumps(data(page), ensure_ascii=False)};\n"
    files.append(File.generated(config, DATA, content=script))


def strip(page, files):
    """Return the line that sums up the examples of a page, and where releases differ."""
    # An example for TensorFlow 1 says so by its name, and is none for TensorFlow 2.
    found = [one for one in examples(page) if not one["old"]]
    since = max((one["since"] for one in found), default=0)
    return TEMPLATES.get_template("replayed.html").render(
        examples=[one for one in found if one["notes"]],
        replayed=span(RELEASES),
        since=span(RELEASES[since:]) if since < len(RELEASES) else None,
        matrix=files.get_file_from_path(PAGE).url_relative_to(page.file),
    )


def on_page_markdown(markdown, page, config, files):
    """Put the strip where the lead of `page` ends, and choice and matrix where it asks for them."""

    def part(marker):
        return TEMPLATES.get_template("releases.html").render(
            part=marker[1],
            groups=[
                (called(shown), shown.file.url_relative_to(page.file), examples)
                for shown, examples in SHOWN
            ],
            releases=[minor(release) for release in RELEASES],
            short={kind: words[0] for kind, words in WORDS.items()},
            data=files.get_file_from_path(DATA).url_relative_to(page.file),
            script=files.get_file_from_path(SCRIPT).url_relative_to(page.file),
        )

    markdown = MARKER.sub(part, markdown)
    if not Page.parse(markdown, page.file.src_uri).names:
        return markdown
    lead, *rest = re.split(r"^(?=## )", markdown, maxsplit=1, flags=re.M)
    return f"{lead.rstrip()}\n\n{strip(page, files)}\n\n{''.join(rest)}"


def on_page_content(html, page, config, files):
    """Give each example of `page` an anchor, where it stands first."""
    source = Path(page.file.abs_src_path)  # what a later hook expands is still an embed there
    names, seen = iter([embed.name for embed in Page.read(source).embeds]), set()

    def anchored(listing):
        name = next(names, None)
        if name is None or name in seen:
            return listing[0]
        seen.add(name)
        return f'{listing[0]} id="{anchor(name)}"'

    return re.sub('<div class="language-python highlight"', anchored, html)
