"""What the site calls equal is equal for programs that nobody chose, or a page says why not."""

import functools

import pytest
import tensorflow as tf

from pages.page import Page
from shapes import ways
from shapes.__main__ import Search, quiet, unknown_differences
from shapes.differences import gaps_of
from shapes.known import KNOWN
from shapes.programs import program_of, source_of

quiet()


def named(*drawn, asked=0, point=0):
    """Return the program of steps that are given by their names and how far back they look."""
    return program_of([(name, 0, 0) for name in drawn], False, asked, point)


def test_programs_differ_only_as_pages_say():
    """40 programs, the same each time, have no gradient that is not explained."""
    search = Search(gaps_of)
    found = [one.told() for one in unknown_differences(search, 40, "test")]
    assert not found, "\n".join(found)
    assert search.counts["the same"] > 20


def test_forgotten_explanation_is_noticed():
    """Without the row that explains it, a known difference is one that nobody knows."""
    program = named("override")
    assert not Search(gaps_of).unknown(program)
    assert Search(gaps_of, {"gradient_override_map on a tape"}).unknown(program)


def test_wrong_way_is_noticed_and_made_small(monkeypatch):
    """A tape that is wrong by a millionth for one operation is found, in one step."""

    def wrong(f, point, question):
        answers = ways.eagerly(ways.by_tapes, f, point, question)
        return [None if one is None else one * (1 + 1e-6) for one in answers]

    monkeypatch.setitem(ways.WAYS, "tape", wrong)
    search = Search(functools.partial(gaps_of, ways=("graph", "tape")))
    found = next(unknown_differences(search, 20, "test"))
    assert (found.way, found.kind, len(found.program.steps)) == ("tape", "number", 1)


def test_source_is_plain_tensorflow():
    """What is printed runs with TensorFlow alone, and has at most 20 lines."""
    program = named("assign", "split", "complex_det", asked=1)
    text, names = source_of(program), {"tf": tf}
    exec(text, names)  # noqa: S102 - our own text
    y, asked = names["f"](tf.ones([3], tf.float64), tf.Variable(tf.eye(3, dtype=tf.float64)))
    assert y.shape == [3] and asked.shape == [3] and len(text.splitlines()) <= 20


@pytest.mark.parametrize("known", [one for one in KNOWN if one.address], ids=lambda one: one.name)
def test_explanation_has_an_address(known):
    """The page that explains a known difference has the section."""
    uri, anchor = known.address.split("#")
    pages = {page.uri: page for page in Page.every()}
    assert anchor in {section.anchor for section in pages[uri].sections}
