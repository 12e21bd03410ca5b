"""What a page asks for by a comment is there, or the build stops and says what to do."""

from types import SimpleNamespace

import pytest
from mkdocs.exceptions import PluginError

from checks import DOCS
from pages.page import Page
from website.markers import DRAWN, MARKERS, expanded


def page_and_site(text="# Title\n"):
    """Return a page with this Markdown, as MkDocs has it, and a site of no other."""
    uri = "evidence/known-bugs.md"
    page = SimpleNamespace(file=SimpleNamespace(src_uri=uri), meta={"frequent": ["errors/a.md#b"]})
    parsed = Page.parse(text, uri)
    shared = {"examples": {}, "entries": {}, "statements": {}, "calls": {}, "nine": []}
    return page, SimpleNamespace(
        pages={}, outcomes={}, replayed={}, source=lambda _: parsed, **shared
    )


@pytest.mark.parametrize(
    "marker",
    [
        "<!-- nothing -->",
        "<!-- holds: stands under no statement -->",
        "<!-- count nothing -->",
        "<!-- count -->",
        "<!-- since -->",
        "<!-- since no/example.md -->",
        "<!-- cases of nothing -->",
        "<!-- errors frequent -->",
        "<!-- verdict nothing -->",
        "<!-- became -->",
        "<!-- reproduce no/example.md -->",
        "<!-- bugs -->",
    ],
)
def test_marker_for_what_there_is_not_stops_the_build(marker):
    """The message names the file and the marker."""
    page, site = page_and_site("# Title\n\n### A bug\n\nIt begins in another way.\n")
    with pytest.raises(PluginError, match=r"docs/evidence/known-bugs.md: .*") as error:
        expanded(f"text {marker} text", page, site)
    assert marker in str(error.value)
    if marker in ("<!-- nothing -->", "<!-- holds: stands under no statement -->"):
        assert all(word in str(error.value) for word in MARKERS)


def test_marker_is_written_once_it_is_its_turn():
    """Pictures stay markers until the page is drawn, for its Markdown has none."""
    page, site = page_and_site()
    assert expanded("<!-- count examples --> examples", page, site) == "0 examples"
    for word in DRAWN:
        assert expanded(f"<!-- {word} a -->", page, site) == f"<!-- {word} a -->"
        with pytest.raises(PluginError):
            expanded(f"<!-- {word} a -->", page, site, drawn=True)


def test_every_marker_is_asked_for():
    """What no page asks for is deleted."""
    asked = {
        marker.word
        for file in DOCS.rglob("*.md")
        if "assets" not in file.parts
        for marker in Page.read(file).markers
    }
    assert not MARKERS.keys() - asked
