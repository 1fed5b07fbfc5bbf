"""Words that only make a question polite neither count as missing nor are embedded."""

from __future__ import annotations

import pytest

from recall_integrations import MemoryStore, QueryOptimizer
from recall_integrations.query.features import without_courtesies


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ("hi, can you tell me when the library closes", "when the library closes"),
        ("When does the library close? Thanks!", "When does the library close"),
        ("so, the landlord?", "the landlord?"),
        ("well water quality", "well water quality"),
        ("hi-fi brand", "hi-fi brand"),
        ("thanks!", "thanks!"),
        ("", ""),
    ],
)
def test_what_is_asked_without_courtesies(query: str, asked: str) -> None:
    assert without_courtesies(query) == asked


def test_a_polite_question_scores_as_a_plain_one() -> None:
    with MemoryStore.open() as store:
        store.remember_many(["The library closes at nine.", "The pool opens at six."])
        optimizer = QueryOptimizer(store)
        plain, polite = (optimizer.recall(q) for q in ("library hours", "hi, can you tell me library hours? thanks!"))
        assert polite.query.terms == plain.query.terms
        assert polite.hits[0].score == pytest.approx(plain.hits[0].score, abs=0.05)
        store.remember("Hi, said the parrot")
        assert "hi" in optimizer.parse("hi, can you tell me library hours?").terms  # a memory says it
