"""Every example is whole, readable, shown on a page, and replayed on every release."""

import re

import pytest

from checks import DOCS, ROOT, SNIPPETS, relative
from checks.compare import TOKEN, digits
from checks.snippets import files, read
from pages.page import Page
from releases.data import RELEASES, REPLAY, load

LABEL = re.compile(r"(?!\b(?:None|True|False|nan|inf)\b)\b[^\W\d_]{2,}|\S:( |$)")


CASES = {name for page in DOCS.glob("cases/*.md") for name in Page.read(page).names}


def unlabelled(output):
    """Return the lines of an output that do not say what they are; a matrix has one label."""
    lines, wrong, still_open = output.splitlines(), [], 0
    for above, line in zip(["", *lines], lines, strict=False):
        if not (still_open or LABEL.search(line) or above.endswith(":") or len(lines) == 1):
            wrong.append(line)
        still_open += sum(map(line.count, "[({")) - sum(map(line.count, "])}"))
    return wrong


@pytest.mark.parametrize("path", [*files(), ROOT / "README.md"], ids=relative)
def test_example_is_whole_and_readable(path):
    """One python fence and what it prints: labelled, rounded, and nothing of this machine."""
    snippet, name = read(path), relative(path)
    assert not unlabelled(snippet.output), (
        f"{name} prints lines that do not say what they are: {unlabelled(snippet.output)}"
    )
    assert str(ROOT) not in snippet.output, f"{name}: prints a path of this machine"
    # A case runs in float64, so that old and new agree in six.
    most = 6 if snippet.name in CASES else 5
    assert "np." not in snippet.output, f"{name}: NumPy 1 prints this otherwise; print the values"
    for number in TOKEN.finditer(snippet.output):
        assert len(digits(number["float"] or "")) <= most, (
            f"{name}: round {number[0]}; print at most {most} digits"
        )
        assert not 0 < abs(float(number["float"] or 0)) < 1e-7, f"{name}: {number[0]} is noise"


def test_every_example_is_embedded():
    """An example that no page shows is evidence that no reader sees."""
    shown = {name for page in Page.every() for name in page.names}
    orphans = {str(path.relative_to(SNIPPETS)) for path in files()} - shown
    assert not orphans, "\n".join(
        f'No page shows snippets/{name}: embed it with --8<-- "{name}", or delete the file'
        for name in sorted(orphans)
    )


def test_every_example_was_replayed():
    """No page shows what an older form of an example printed on another release."""
    outcomes = load()
    names = [str(path.relative_to(SNIPPETS)) for path in files()]
    stale = [n for n in names if any((n, release) not in outcomes for release in RELEASES)]
    assert not stale, f"Not replayed since they changed: {', '.join(stale)}; {REPLAY}"
