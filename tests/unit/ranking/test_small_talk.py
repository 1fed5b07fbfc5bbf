"""Scores of queries that ask for nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from recall_integrations import MemoryStore, QueryOptimizer
from tests.rows import each_row


@pytest.fixture
def optimizer() -> Iterator[QueryOptimizer]:
    with MemoryStore.open() as store:
        store.remember_many(["The landlord is called Mr. Obafemi.", "The weather station is on the roof."])
        yield QueryOptimizer(store)


@each_row("line", ["alright, cheers, bye", "thank you so much", "haha, that's hilarious", "see you later"])
def test_what_asks_for_nothing_finds_nothing(optimizer: QueryOptimizer, line: str) -> None:
    result = optimizer.recall(line)
    assert max((hit.score for hit in result.hits), default=0) < 0.1
    assert result.confidence is not None and result.confidence < 0.1


def test_a_word_of_small_talk_that_a_memory_says_is_asked_for(optimizer: QueryOptimizer) -> None:
    first = optimizer.recall("weather").hits[0]
    assert first.memory.text == "The weather station is on the roof."
    assert first.score > 0.4
