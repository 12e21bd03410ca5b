"""Every recipe was run over the shapes that readers have, and what differs there is explained."""

import pytest

from checks import DOCS
from pages.page import Page
from shapes.kept import NEAR, QUIET, RELEASES, cells_of, explained, load_cells
from shapes.recipes import EXPLAINED, RECIPES
from shapes.training import RACE

OUTCOMES = load_cells()
# An error explains itself, or its entry does; what is silent, or ends the program, needs a section.
LOUD = "raises "
HOMES = {one.home for one in RECIPES.values()} | {*EXPLAINED.values()}


def unexplained(recipe):
    """Return what a recipe silently does otherwise than the old call, without a section."""
    return {
        f"{cell.recipe} | {cell.source} | {cell.place}: {outcome}"
        for (cell, _), outcome in OUTCOMES.items()
        if cell.recipe == recipe and outcome not in {*QUIET, NEAR}
        if not outcome.startswith(LOUD) and not explained(cell, outcome)
    }


@pytest.mark.parametrize("recipe", RECIPES)
def test_recipe_was_run_on_every_shape(recipe):
    """What has changed since it ran counts for nothing; an older release runs it whole, or not."""
    cells = set(cells_of(recipe))
    for release in RELEASES:
        missing = [cell for cell in cells if (cell, release) not in OUTCOMES]
        if release == RELEASES[-1] or len(missing) < len(cells):
            assert not missing, (
                f"{recipe} on TensorFlow {release}: not run since it changed, `nox -s shapes`: "
                f"{[cell[1:] for cell in missing[:5]]}"
            )


@pytest.mark.parametrize("recipe", RECIPES)
def test_what_differs_is_explained(recipe):
    """Another number, None, zeros or the end of a process without a section would be a trap."""
    found = unexplained(recipe)
    assert not found, f"Name in EXPLAINED the sections that say why, or write them: {found}"


@pytest.mark.parametrize(
    "home", sorted({one.home for one in RECIPES.values()} | {*EXPLAINED.values()})
)
def test_section_of_a_recipe_is_there(home):
    """A recipe belongs to a heading, and so does what explains an outcome."""
    uri, _, anchor = home.partition("#")
    anchors = [section.anchor for section in Page.read(DOCS / uri).sections]
    assert not anchor or anchor in anchors, f"There is no {home}"


def test_explanation_is_needed():
    """A section that explains no outcome is deleted from EXPLAINED."""
    used = {explained(cell, outcome) for (cell, _), outcome in OUTCOMES.items()}
    assert not {*EXPLAINED.values()} - used - {RACE}  # which is seen in some runs only
