"""What a sentence claims is found, and what its example does not show is noticed."""

import pytest

from pages import claims
from pages.page import Page


@pytest.mark.parametrize(
    "word",
    [
        *("raises", "gives zeros", "gives NaN", "dies", "hangs", "warns", "is complex"),
        *("runs under XLA", "takes `jit_compile`", "runs on replicas", "reads a frozen layer"),
        *("has dropout", "is None", "runs in threads", "goes on with a warning", "means ones"),
    ],
)
def test_word_claims_an_outcome(word):
    """Another outcome or place is noticed, where no example under its heading shows it."""
    text = f'## One\n\nThis call {word}.\n\n--8<-- "index/tape.md"\n'
    [wrong] = claims.unsupported_claims(Page.parse(text, "index.md"))
    assert wrong.text in word


@pytest.mark.parametrize(
    ("words", "noticed"),
    [
        ("This raises:", ["raises"]),
        ("**This raises.**", []),
        ("That is how [this raises](errors/tape.md#keyerror-bpyfunc_0).", []),
        ("That is how [this raises](explanation/sum-over-targets.md).", ["raises"]),
    ],
)
def test_words_fit_the_examples_beside_them(words, noticed):
    """What only another example of the section shows is noticed, and what a link promises."""
    near, far = "index/tape.md", "errors/tape/raises_watch_input.md"
    text = f'## One\n\n{words}\n\n--8<-- "{near}"\n\nHere:\n\n--8<-- "{far}"\n'
    found = claims.unsupported_claims(Page.parse(text, "index.md"))
    assert [claim.text for claim in found] == noticed


@pytest.mark.parametrize("words", ["gives zeros", "is None", "has ones"])
def test_result_in_words_must_be_printed(words):
    """That an example writes `tf.zeros_like` or tests for None is not enough."""
    text = f'## One\n\nThe call {words}:\n\n--8<-- "evidence/known-bugs/zeros_for_none.md"\n'
    [wrong] = claims.unsupported_claims(Page.parse(text, "index.md"))
    assert wrong.result


def test_link_promises_what_its_section_prints():
    """That the section linked to has a 0 in its code is not enough."""
    linked = "cases/actor-critic.md#a-product-in-place-of-output_gradients"
    text = f'## One\n\nIt [gives zeros]({linked}):\n\n--8<-- "how-to/none/round.md"\n'
    [wrong] = claims.unsupported_claims(Page.parse(text, "index.md"))
    assert wrong.inside == linked
