"""The prover finds faults of each kind and names them, and calls right ports the same."""

import json

import pytest

from trials.__main__ import LISTS, OUTCOMES, as_wanted, outcome_of, table_of

SAID = json.loads(OUTCOMES.read_text("utf-8"))
FAULTS = [one for one in SAID if "cause" in one and as_wanted(one)]
PORTS = [one for one in SAID if "cause" not in one and as_wanted(one)]
# Of each cause the first fault that was named, and of each model the first right port.
SOME = [
    *{one["cause"]: one for one in reversed(FAULTS)}.values(),
    *{one["model"]: one for one in reversed(PORTS)}.values(),
]


@pytest.fixture(scope="module")
def kept_records(tmp_path_factory):
    """Return a folder in which the old program of each model is recorded once."""
    return tmp_path_factory.mktemp("records")


@pytest.mark.parametrize("one", SOME, ids=[one["name"] for one in SOME])
def test_prover_says_what_is_true(one, kept_records):
    """Of a fault the cause, of a right port that it is the same."""
    said = outcome_of(one, kept_records)
    assert as_wanted(dict(one, said=said)), said


def test_outcomes_are_those_of_the_lists():
    """What was tried is what the lists hold today."""
    tried = [{name: one[name] for name in one if name != "said"} for one in SAID]
    listed = [one for path in LISTS.values() for one in json.loads(path.read_text("utf-8"))]
    assert tried == listed, "The lists have changed: python -m trials"


def test_page_shows_the_figures():
    """The table is made from the outcomes, and says when."""
    shown = (OUTCOMES.parent / "figures.txt").read_text("utf-8")
    assert shown.startswith(table_of(SAID)), "The table is old: python -m trials"
