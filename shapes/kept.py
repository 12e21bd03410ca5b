"""What came out of every recipe over the shapes that readers have: shapes/cells.json.

It holds, for each recipe and outcome, which cells have it on which releases, and the digests of
the code that was run. What has changed since is stale, and is not loaded.
"""

import ast
import collections
import functools
import hashlib
import itertools
import json
import zlib
from typing import NamedTuple

from checks import ROOT
from releases.data import version
from shapes import training  # noqa: F401 - it lists its recipes
from shapes.places import PLACES
from shapes.recipes import EXPLAINED, RECIPES
from shapes.sources import SOURCES

HERE = ROOT / "shapes"
DATA = HERE / "cells.json"
RELEASES = ["1.15.5", "2.4.4", "2.10.1", "2.16.2", "2.21.0"]
MOST = 60  # cells of a recipe
SAME = "the same"
NEAR = "the same to 5 digits"
QUIET = {SAME, "the old call fails", "not there"}  # nothing to compare, or no such thing


class Cell(NamedTuple):
    """A recipe, with a source, at a place."""

    recipe: str
    source: str
    place: str


def cells_of(recipe):
    """Return the cells of a recipe; of the pairs, which come last, another part for each recipe."""
    places, usual = list(PLACES), RECIPES[recipe].source
    first = [*itertools.product(SOURCES, places[:2]), *((usual, one) for one in places[2:])]
    pairs = list(itertools.product([one for one in SOURCES if one != usual], places[2:]))
    start = zlib.crc32(recipe.encode())
    rest = [pairs[(start + 37 * i) % len(pairs)] for i in range(MOST - len(first))]
    return [Cell(recipe, *pair) for pair in first + rest]


@functools.cache
def code_of(file):
    """Return what a file of this room, or two, define at its top, by name: the tree of each."""
    found = {}
    texts = [(HERE / one).read_text("utf-8") for one in file.split()]
    for node in ast.parse("\n".join(texts)).body:
        names = [getattr(node, "name", "")]
        if isinstance(node, ast.Assign):
            names = [one.id for one in ast.walk(node.targets[0]) if isinstance(one, ast.Name)]
        found |= dict.fromkeys(filter(None, names), node)
    return found


def parts_that_run(node):
    """Return the parts of a definition that run: no docstring, nor the page of a recipe."""
    if not isinstance(node, ast.FunctionDef):
        return [node]
    calls = [call for call in node.decorator_list if isinstance(call, ast.Call)]
    given = [part for call in calls for part in [*call.args[1:], *call.keywords]]
    return [node.args, *given, *node.body[ast.get_docstring(node) is not None :]]


def digest_of(file, node):
    """Return a digest of some code of a file, and of all that it names there."""
    code, seen, texts = code_of(file), [node], []
    for one in seen:
        for part in parts_that_run(one):
            texts.append(ast.unparse(part))
            for inner in ast.walk(part):
                # A recipe names another one, whose old call it has, by a string.
                name = getattr(inner, "id", "") or getattr(inner, "value", "")
                if isinstance(name, str) and code.get(name) not in (None, *seen):
                    seen.append(code[name])
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:8]


@functools.cache
def digests():
    """Return the digest of each recipe, source and place, and of the worker that runs them."""
    worker = ast.unparse(ast.parse((HERE / "cell_worker.py").read_text("utf-8")))
    sources = code_of("sources.py")["SOURCES"].value
    found = {"the worker": hashlib.sha256(worker.encode()).hexdigest()[:8]}
    both = "recipes.py training.py"
    found |= {key: digest_of(both, code_of(both)[key]) for key in RECIPES}
    for key, node in zip(SOURCES, sources.values, strict=True):
        found[key] = digest_of("sources.py", node)
    for key, run in PLACES.items():
        found[key] = digest_of("places.py", code_of("places.py")[run.__name__])
    return found


def load_cells(file=DATA):
    """Return the outcomes that are not stale: {(cell, release): outcome}."""
    stored = json.loads(file.read_text("utf-8")) if file.exists() else {"digests": {}, "cells": {}}
    now, then = digests(), stored["digests"]
    if then.get("the worker") != now["the worker"]:
        return {}
    return {
        (cell, release): outcome
        for recipe, outcomes in stored["cells"].items()
        for outcome, cells in outcomes.items()
        for shape, releases in cells.items()
        for cell in [Cell(recipe, *shape.split(" | "))]
        if all(one in now and then.get(one) == now[one] for one in cell)
        for release in releases.split()
    }


def save_cells(outcomes):
    """Write the outcomes with the digests of the code as it is now."""
    data = {}
    for (cell, release), outcome in sorted(
        outcomes.items(), key=lambda item: (item[0][0], version(item[0][1]))
    ):
        if cell in cells_of(cell.recipe):
            same = data.setdefault(cell.recipe, {}).setdefault(outcome, {})
            shape = " | ".join(cell[1:])
            same[shape] = f"{same.get(shape, '')} {release}".strip()
    text = json.dumps({"digests": digests(), "cells": data}, indent=0, sort_keys=True)
    DATA.write_text(f"{text}\n", "utf-8")


class Unlike(NamedTuple):
    """Shapes where a recipe gives something else: what, where that is explained, and on which."""

    shapes: str
    outcome: str
    link: str
    releases: list[str]


def explained(cell, outcome):
    """Return the section that says why a cell has this outcome, or nothing."""
    shapes = cell[1:]
    keys = [f"{cell.recipe} | {one}: {outcome}" for one in shapes]
    keys += [*(f"{one}: {outcome}" for one in shapes), f"{cell.recipe}: {outcome}"]
    return next((EXPLAINED[key] for key in keys if key in EXPLAINED), "")


def unlike(recipe, outcomes):
    """Return the rows of a recipe: what its cells give that is not what the old call gives."""
    found = collections.defaultdict(list)
    for (cell, release), outcome in outcomes.items():
        if cell.recipe == recipe and outcome not in QUIET:
            found[cell, outcome].append(release)
    rows, usual, places = collections.defaultdict(list), RECIPES[recipe].source, list(PLACES)
    for (cell, outcome), releases in found.items():
        of_source = [found.get((Cell(recipe, cell.source, p), outcome)) for p in places[:2]]
        of_place = found.get((Cell(recipe, usual, cell.place), outcome))
        label = f"{cell.source}, {cell.place}"
        if cell.source == usual:
            label = cell.place
        elif of_source[0] == of_source[1] == releases:
            label = cell.source
        elif of_place == releases:
            continue
        of_row = rows[outcome, explained(cell, outcome), " ".join(releases)]
        if label not in of_row:
            of_row.append(label)
    return [Unlike("; ".join(v), o, link, on.split()) for (o, link, on), v in rows.items()]


def counts_of(recipe, outcomes):
    """Return on how many shapes a recipe gives the same, of how many, and on which releases."""
    kinds = collections.defaultdict(set)
    for (cell, _), outcome in outcomes.items():
        if cell.recipe == recipe:
            kinds[cell].add(outcome)
    told = [some for some in kinds.values() if some - (QUIET - {SAME})]
    on = {release for cell, release in outcomes if cell.recipe == recipe}
    return sum(some <= QUIET for some in told), len(told), sorted(on, key=version)
