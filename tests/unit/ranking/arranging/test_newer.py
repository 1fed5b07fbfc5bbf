"""Of two memories that contradict each other, the newer one first."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from recall_integrations import Memory, MemoryStore, QueryOptimizer
from recall_integrations.ranking.arranging.newer import asks_present

MARCH = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "query",
    ["what is my marathon time?", "How many plants are there now?", "is the door blue?", "which tool do we use?"],
)
def test_it_asks_how_things_are(query: str) -> None:
    assert asks_present(query)


@pytest.mark.parametrize(
    "query",
    ["what was my marathon time?", "marathon time", "where did we go?", "what is the first thing I said?", ""],
)
def test_it_does_not(query: str) -> None:
    assert not asks_present(query)


def found(query: str, *texts: str, days: tuple[int, ...] = (0, 30, 60), actor: str | None = None) -> list[str]:
    with MemoryStore.open() as store:
        for i, (text, day) in enumerate(zip(texts, days, strict=False)):
            store.remember(Memory(text, id=f"m{i}", event_at=MARCH + timedelta(days=day), actor=actor))
        hits = QueryOptimizer(store).recall(query, k=3, now=MARCH + timedelta(days=90)).hits
        return [str(hit.memory.id) for hit in hits]


RUN = "The marathon training plan says 42 kilometres on Sunday"
LESS = "The marathon training plan says 35 kilometres on Sunday"


def test_nearly_the_same_words_with_another_value() -> None:
    query = "how many kilometres is the marathon training plan for Sunday?"
    assert found(query, RUN, LESS)[0] == "m1"
    assert found(query, LESS, RUN, days=(30, 0))[0] == "m0"


def test_the_past_is_left_alone() -> None:
    query = "how many kilometres was the marathon training plan for Sunday?"
    with MemoryStore.open() as store:
        store.remember(Memory(RUN, id="m0", event_at=MARCH))
        store.remember(Memory(LESS, id="m1", event_at=MARCH + timedelta(days=30)))
        result = QueryOptimizer(store).recall(query, k=3, now=MARCH + timedelta(days=90))
    assert not any(part.source == "newer" for hit in result for part in hit.contributions)
