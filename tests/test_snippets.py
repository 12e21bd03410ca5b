"""Every example is shown on a page, and replayed on every release."""

from checks import SNIPPETS
from checks.snippets import files
from pages.page import Page
from releases.data import RELEASES, REPLAY, load_outcomes


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
    outcomes = load_outcomes()
    names = [str(path.relative_to(SNIPPETS)) for path in files()]
    stale = [n for n in names if any((n, release) not in outcomes for release in RELEASES)]
    assert not stale, f"Not replayed since they changed: {', '.join(stale)}; {REPLAY}"
