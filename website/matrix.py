"""Show on every page which TensorFlow releases print what its examples say.

Each page gets a strip under its lead, made from releases/printed/, and each of its
examples an anchor. `<!-- releases choice -->` asks for the choice of a release, which shows what
differs there, and `<!-- releases matrix -->` for the table of all. What other releases print is in
a file of its own, a script, since a page that is opened from a folder may load nothing else.
"""

import json
import re

from releases.data import RELEASES, minor
from releases.outcomes import anchor
from website.render import TEMPLATES, full_title, rendered

PAGE = "evidence/releases.md"


def first_shown(site):
    """Return the pages with their examples, each example at the first page that shows it."""
    seen, groups = set(), []
    for uri, examples in site.replayed.items():
        if new := [one for one in examples if one.name not in seen]:
            groups.append((site.pages[uri], new))
        seen.update(one.name for one in new)
    return groups


def differences(site):
    """Return the script with what other releases print: {its path: what it holds}."""
    words, base = TEMPLATES.get_template("differs.html").module, site.pages[PAGE].file
    groups, notes = first_shown(site), []
    everything = [one for _, examples in groups for one in examples]
    for page, one in ((page, one) for page, examples in groups for one in examples):
        address = f"{page.file.url_relative_to(base)}#{one.anchor}"
        for note in one.notes:
            # That an example for TensorFlow 1 needs it is said once, by its page.
            on = [minor(r) for r in note.releases if not one.old or r.startswith("1.")]
            says = words.note(address, one, note)
            notes.append({"page": full_title(page), "anchor": one.anchor, "on": on, "html": says})
    summaries = {}
    for release in RELEASES:
        kinds = [o.kinds[release] for o in everything if not o.old or release.startswith("1.")]
        name, old = minor(release), len(everything) - len(kinds)
        summaries[name] = words.summary(name, kinds, old)
    data = json.dumps({"summaries": summaries, "notes": notes}, ensure_ascii=False)
    return {"evidence/differs.js": f"var differs = {data};\n"}


def choice_or_matrix(page, site, part):
    """Return the choice of a release, or the matrix of all examples and releases."""
    return rendered("releases.html", page=page, site=site, part=part, groups=first_shown(site))


def with_strip(markdown, page, site):
    """Return a page's Markdown with a strip where its lead ends: where releases differ."""
    if not (found := site.replayed.get(page.file.src_uri)):
        return markdown
    # An example for TensorFlow 1 says so by its name, and is none for TensorFlow 2.
    found = [one for one in found if not one.old]
    differ = {r for one in found for r, kind in one.kinds.items() if kind != "same"}
    since = RELEASES[max(map(RELEASES.index, differ), default=-1) + 1 :]
    matrix = site.pages[PAGE].file.url_relative_to(page.file)
    strip = rendered("replayed.html", page=page, examples=found, since=since, matrix=matrix)
    return re.sub(r"\s*(^(?=## )|\Z)", lambda _: f"\n\n{strip}\n\n", markdown, count=1, flags=re.M)


def anchored(html, page, site):
    """Return a page's HTML with an anchor for each example, where it stands first."""
    names = [embed.name for embed in site.source(page).embeds]
    ids = (f' id="{anchor(it)}"' if it not in names[:at] else "" for at, it in enumerate(names))
    return re.sub('<div class="language-python highlight"', lambda it: it[0] + next(ids, ""), html)
