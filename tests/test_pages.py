"""Three promises: every snippet is whole, is shown, and backs what the prose says."""

import functools
import json
import re

import pytest
from conftest import ROOT, SNIPPET, TOKEN
from releases import RELEASES, load, minor, version

SNIPPETS = sorted(ROOT.glob("snippets/**/*.md"))
NOTEBOOKS = sorted(ROOT.glob("docs/**/*.ipynb"))
PAGES = sorted(
    {*ROOT.glob("docs/**/*.md")} - {*ROOT.glob("docs/assets/*")} | {*NOTEBOOKS}
)
EMBED = re.compile(r'^ *--8<-- "(.+)"$', re.M)
FENCE = re.compile(r"^ *(`{3,}|~{3,}) *(\S*).*?^ *\1`*~*$", re.M | re.S)
HEADING = re.compile(r"^#+ ", re.M)

# What a page says without claiming that TensorFlow printed it: fences, embeds, the titles of
# tabs and notes, addresses, attributes, releases, issues and dates.
NOT_PROSE = re.compile(
    rf"\A---\n.*?^---$|{FENCE.pattern}|^ *(?:--8<--|===|!!!|\?\?\?)[^\n]*|\]\(\S+?\)|<[^>]+>"
    r"|\{[^}\n]*\}|\b(?:TensorFlow|TF|Python|Keras|NumPy|Chromium) \d+(?:\.\d+)*(?![\w.]*\d)"
    r"|\bv?\d+\.\d+\.\d+\b|#\d+\b|\b\d{4}-\d\d-\d\d\b",
    re.M | re.S,
)
NUMBER = r"(?<!\w-)(?<![\w.])-?\d+(?:\.\d+)?(?:e-?\d+)?(?!\w)"
ROW = rf"{NUMBER}(?:[\s.,&\\()\[\]]+{NUMBER})*"
NAME = r"\b(?:\w+(?:Error|Exception|Warning)|True|False|None)\b"
CLAIM = re.compile(
    rf'`(?P<code>[^`\n]+)`|["“](?P<quote>[^"”\n]+)["”]|(?P<row>{ROW})|(?P<name>{NAME})'
)


# A range of releases, as prose says it, and the note that ties it to what was replayed.
SAID = re.compile(
    r"\b(?P<word>since|before|from|until|up to)\s+TensorFlow (?P<release>\d\.\d+)(?!\.?\d)",
    re.I,
)
RANGE = re.compile(
    r"<!-- (?P<name>\S+\.md):(?: from (?P<first>\d\.\d+))?(?: until (?P<last>\d\.\d+))?"
    r"(?: except (?P<but>\d\.\d+))? -->"
)


def relative(path):
    """Name a file as the reader of an error would type it."""
    return str(path.relative_to(ROOT))


def blank(pattern, text):
    """Replace what matches by spaces, so that all the rest keeps its place."""
    return pattern.sub(lambda found: " " * len(found[0]), text)


def text(path):
    """Return a page as Markdown; a notebook's code stands in fences marked `cell`."""
    if path not in NOTEBOOKS:
        return path.read_text("utf-8")
    return "\n\n".join(
        source if cell["cell_type"] == "markdown" else f"```cell\n{source}\n```"
        for cell in json.loads(path.read_text("utf-8"))["cells"]
        for source in ["".join(cell["source"])]
    )


def claims(page):
    """List what the prose of `page` claims, as matches of CLAIM at their places in `page`.

    A row of numbers, such as (1, 10, 100), is one claim; so is inline code with a number.
    """
    found = CLAIM.finditer(blank(NOT_PROSE, page))
    return [c for c in found if not c["code"] or re.search(rf"\d|^{NAME}$", c["code"])]


@functools.cache
def replayed():
    """Return what the releases did with each example."""
    return load().items()


def section(page, place):
    """Return where the headings above and below `place` start."""
    headings = [h.start() for h in HEADING.finditer(blank(FENCE, page))]
    start = max((h for h in headings if h <= place), default=0)
    return start, min((h for h in headings if h > place), default=len(page))


def evidence(page, place):
    """Return the snippets, or a notebook's cells, between the headings around `place`.

    A note of a range counts as its example, with what each release printed.
    """
    start, end = section(page, place)
    files = [ROOT / "snippets" / name for name in EMBED.findall(page[start:end])]
    cells = [f[0] for f in FENCE.finditer(page[start:end]) if f[2] == "cell"]
    for note in RANGE.finditer(page, start, end):
        files.append(ROOT / "snippets" / note["name"])
        cells += [printed for (n, _), (_, printed) in replayed() if n == note["name"]]
    return "\n".join(cells + [f.read_text("utf-8") for f in files if f.exists()])


def numbers(text):
    """Spell the numbers in `text` one way, so that 5, 5. and 5.0 are the same."""
    return "".join(f" {float(number)}" for number in re.findall(NUMBER, text)) + " "


def supported(claim, text):
    """Tell whether the snippets in `text` print or write what `claim` says."""
    stated = (claim["code"] or claim["quote"] or claim[0]).strip()
    if claim["row"]:
        return any(numbers(stated) in numbers(row) for row in re.findall(ROW, text))
    if re.fullmatch(
        NAME, stated
    ):  # printed or passed on, but not as in persistent=True
        return re.search(rf"(?<!=)\b{stated}\b", text)
    return " ".join(stated.split()) in " ".join(text.split())


def unsupported(page):
    """List line and text of the claims that no snippet under the same heading shows."""
    return [
        (page.count("\n", 0, claim.start()) + 1, claim[0])
        for claim in claims(page)
        if not supported(claim, evidence(page, claim.start()))
    ]


@pytest.mark.parametrize("path", [*SNIPPETS, ROOT / "README.md"], ids=relative)
def test_snippet_is_one_fence_and_its_output(path):
    """One plain python fence, then one output fence; nothing a reader could not rerun."""
    text = path.read_text("utf-8")
    fences = SNIPPET.findall(text)
    name = relative(path)
    assert len(fences) == text.count("```python") == 1, (
        f"{name}: write one plain ```python fence"
    )
    assert fences[0][1], (
        f"{name}: no output; write it with: python3 noxfile.py -s snippets -- --update {name}"
    )
    assert path.name == "README.md" or SNIPPET.fullmatch(text.rstrip()), (
        f"{name}: a snippet is a ```python and an ```output fence at the margin; move the rest "
        "to the page that embeds it"
    )
    assert str(ROOT) not in text, (
        f"{name}: prints a path of this machine; print less of it"
    )
    assert "np." not in fences[0][1], (
        f"{name}: NumPy 1 prints this otherwise; print the values"
    )
    for number in TOKEN.finditer(fences[0][1]):
        digits = re.sub(r"e.*|[-+.]", "", number["float"] or "").strip("0")
        assert len(digits) <= 5, f"{name}: round {number[0]}; print at most five digits"
        assert not 0 < abs(float(number["float"] or 0)) < 1e-7, (
            f"{name}: {number[0]} is noise"
        )


@pytest.mark.parametrize("path", PAGES, ids=relative)
def test_page_embeds_snippets_only(path):
    """Every embed exists, and no Python stands in the page itself, where nothing runs it."""
    page = text(path)
    for name in EMBED.findall(page):
        assert (ROOT / "snippets" / name).exists(), (
            f"{relative(path)} embeds {name}: create snippets/{name} or mend the name"
        )
    admitted = ["console", *(["cell"] if path in NOTEBOOKS else ["text", "mermaid"])]
    python = [f[0] for f in FENCE.finditer(page) if f[2] not in admitted]
    assert not python, (
        f"{relative(path)} holds code; move it to snippets/ and embed it:\n{python[0]}"
    )


@pytest.mark.parametrize("path", NOTEBOOKS, ids=relative)
def test_notebook_is_kept_without_outputs(path):
    """What a notebook prints is made when the site is built, and never older than that."""
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        assert not cell.get("outputs") and not cell.get("execution_count"), (
            f"{relative(path)} holds outputs; clear them: .nox/docs/bin/jupyter nbconvert "
            f"--clear-output --inplace {relative(path)}"
        )


@pytest.mark.parametrize("path", PAGES, ids=relative)
def test_prose_claims_what_a_snippet_shows(path):
    """Every number, exception and quoted message stands in a snippet under its heading."""
    wrong = [
        f"{relative(path)}:{line} says {claim}, which no snippet under the same heading prints"
        " or writes: embed the snippet that shows it, or correct the sentence"
        for line, claim in unsupported(text(path))
    ]
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)


@pytest.mark.parametrize("path", PAGES, ids=relative)
def test_stated_range_is_what_the_releases_printed(path):
    """An example prints the same on the stated releases, and on no other that was replayed."""
    page, outcomes = text(path), dict(replayed())
    for note in RANGE.finditer(page):
        first = version(note["first"] or minor(RELEASES[0]))
        last = version(note["last"] or minor(RELEASES[-1]))
        for release in RELEASES:
            kind, _ = outcomes.get((note["name"], release), (None, ""))
            stated = first <= version(minor(release)) <= last
            stated = stated and minor(release) != note["but"]
            assert kind is None or stated == (kind == "same"), (
                f"{relative(path)} says {note[0]}, and on TensorFlow {release} the example is "
                f"{kind}: correct the range, or replay it with `python3 noxfile.py -s releases`"
            )
    for said in SAID.finditer(page):
        start, end = section(page, said.start())
        notes = [note.groupdict() for note in RANGE.finditer(page, start, end)]
        end = "last" if said["word"].lower() in ("until", "up to") else "first"
        assert said["release"] in [note[end] for note in notes], (
            f"{relative(path)} says {said[0]}: name the example that shows it under the same "
            f"heading, as in <!-- page/name.md: from {said['release']} -->"
        )


def test_every_snippet_is_embedded():
    """A snippet that no page shows is evidence that no reader sees."""
    embedded = {name for page in PAGES for name in EMBED.findall(text(page))}
    orphans = {str(s.relative_to(ROOT / "snippets")) for s in SNIPPETS} - embedded
    assert not orphans, "\n".join(
        f'No page shows snippets/{name}: embed it with --8<-- "{name}", or delete the file'
        for name in sorted(orphans)
    )


def test_parameter_table_agrees_with_the_signatures():
    """Names, order, defaults and TensorFlow 2's share are what `inspect` printed."""
    rows = json.loads((ROOT / "docs/parameters/parameters.json").read_text("utf-8"))
    text = (ROOT / "snippets/parameters/signatures.md").read_text("utf-8")
    printed = text.split("output\n")[1].split("gradients_v2")
    for signature, kept in zip(
        printed, ([*rows], [r for r in rows if r["in_tf2"]]), strict=True
    ):
        stated = [
            r["parameter"] + (f"={r['default']}" if r["default"] else "") for r in kept
        ]
        assert re.findall(r"^    (.+)$", signature, re.M) == stated


SYMPTOMS = re.findall(
    r"^\| `([^`]* [^`]*)`.* \| \[.+\]\((.+?\.md)",
    (ROOT / "docs/index.md").read_text("utf-8"),
    re.M,
)


@pytest.mark.parametrize(("message", "page"), SYMPTOMS)
def test_symptom_is_printed_on_the_page_that_settles_it(message, page):
    """A reader who follows a message from the home page meets it again where it leads."""
    embeds = EMBED.findall((ROOT / "docs" / page).read_text("utf-8"))
    shown = "".join((ROOT / "snippets" / embed).read_text("utf-8") for embed in embeds)
    assert message in shown, (
        f"docs/index.md sends {message} to {page}, which does not show it"
    )


def test_stated_release_is_the_one_that_ran():
    """The release that the README and the site name is the locked one."""
    locked = re.search(
        r"^tensorflow==(\S+)",
        (ROOT / "requirements/snippets.txt").read_text("utf-8"),
        re.M,
    )[1]
    for name in ("README.md", "mkdocs.yml", "docs/evidence/method.md"):
        assert f"TensorFlow {locked}" in (ROOT / name).read_text("utf-8"), (
            f"{name} does not name TensorFlow {locked}, which requirements/snippets.txt locks"
        )
