"""How well a text answers a question, both read together."""

from __future__ import annotations

import numpy as np
import pytest

from recall_integrations.facts.latest import latest_model
from recall_integrations.facts.latest.attention import FARTHEST, TOLD
from recall_integrations.facts.latest.matching import NAMES, Matching

QUESTION = "which gym do I go to?"
TEXTS = ["Joined Ironworks this week, the one behind the station.", "The gym bag is blue", "", "☃ ☃", "word " * 200]


def matching() -> Matching:
    """What ships."""
    return latest_model().comparing.matching


def test_a_text_is_read_the_same_whatever_it_is_read_beside() -> None:
    together = matching().matched(QUESTION, TEXTS)
    alone = [matching().matched(QUESTION, [text])[0] for text in TEXTS]
    assert together == pytest.approx(alone, abs=1e-4) and np.isfinite(together).all()
    assert together.dtype == np.float32 and np.abs(together).max() <= FARTHEST


def test_what_is_kept_of_a_text_changes_nothing() -> None:
    first = Matching(matching().weights, matching().length)
    cold = first.matched(QUESTION, TEXTS)
    first.matched("who is my dentist?", TEXTS[::-1])
    assert np.array_equal(first.matched(QUESTION, TEXTS), cold)


def test_order_of_words_counts() -> None:
    """A sum of vectors cannot tell these from each other."""
    one, other = matching().matched("who took over from Ana?", ["Ben took over from Ana", "Ana took over from Ben"])
    assert one != pytest.approx(other, abs=1e-3)


def test_a_long_text_is_read_at_its_beginning() -> None:
    words = " ".join(["My gym is Ironworks.", *["rain"] * TOLD])
    assert matching().matched(QUESTION, [words])[0] == matching().matched(QUESTION, [f"{words} and a dog"])[0]


@pytest.mark.parametrize(
    ("question", "answer", "other"),
    [
        ("what do I drive?", "Traded the Golf for a Zoe", "A drive along the coast would be lovely"),
        ("where do I live?", "We settled in Porto after the wedding", "A live concert, where nobody sat down"),
        ("who leads the parser team?", "Jun handed the parser over to Wiebke", "The parser broke again on Monday"),
        ("who is my dentist?", "First appointment with Dr. Lindqvist, she is gentle", "The dentist's street is closed"),
    ],
)
def test_what_ships_looks_beyond_words_that_are_shared(question: str, answer: str, other: str) -> None:
    answers, mentions = matching().matched(question, [answer, other])
    assert answers > mentions + 0.5


def test_weights_are_named_and_of_half_precision() -> None:
    assert tuple(matching().weights) == NAMES
    assert {one.dtype for one in matching().weights.values()} == {np.dtype(np.float16)}
