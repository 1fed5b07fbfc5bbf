"""The first or the last time of what happened several times, as recalls give it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone

import pytest

from recall_integrations import Memory, MemoryStore, QueryOptimizer
from tests.rows import each_row

NOW = datetime(2026, 6, 20, 9, tzinfo=timezone.utc)


def on(month: int, day: int) -> datetime:
    return datetime(2026, month, day, 9, tzinfo=timezone.utc)


MEMORIES = [
    Memory("Oiled the garden gate", id="oil-2", event_at=on(4, 4)),
    Memory("Oiled the garden gate", id="oil-1", event_at=on(3, 1)),
    Memory("Oiled the garden gate.", id="oil-3", event_at=on(6, 9)),
    Memory("Oiled the garden gate", id="oil-4", event_at=on(7, 9)),  # still to come
    Memory("Swimming lesson, learned to float", id="swim-1", event_at=on(2, 3)),
    Memory("Swimming lesson, a lot of kicking", id="swim-2", event_at=on(2, 10)),
    Memory("Swimming lesson with Ilse, twelve lanes", id="swim-3", event_at=on(2, 17)),
    Memory("The initial deposit for the boat is 900 euros", id="deposit-1", event_at=on(5, 3)),
    Memory("Paid 700 euros as the initial deposit for the boat", id="deposit-2", event_at=on(5, 1)),
    Memory("Ilse sells garden furniture", id="shop", event_at=on(1, 3)),
    Memory("My landlord is Dario Bell", id="landlord", event_at=on(1, 9)),
]


@pytest.fixture(scope="module")
def optimizer() -> Iterator[QueryOptimizer]:
    with MemoryStore.open() as store:
        store.remember_many(MEMORIES)
        yield QueryOptimizer(store)


@each_row(
    ("query", "first"),
    [
        ("When did I first oil the garden gate?", "oil-1"),
        ("last time I oiled the garden gate", "oil-3"),
        ("When did I last oil the garden gate?", "oil-3"),
        ("What did I do in my first swimming lesson?", "swim-1"),
        ("What happened in the latest swimming lesson?", "swim-3"),
        ("What did I do in my first swimming lesson after 5 February 2026?", "swim-2"),
        ("What is the initial deposit for the boat?", "deposit-1"),  # it is called so
        ("What is my landlord's last name?", "landlord"),
    ],
)
def test_the_one_that_is_asked_for_comes_first(optimizer: QueryOptimizer, query: str, first: str) -> None:
    hits = optimizer.recall(query, k=5, now=NOW).hits
    assert hits[0].memory.id == first
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)


def test_how_often_gives_every_time(optimizer: QueryOptimizer) -> None:
    hits = optimizer.recall("How often did I oil the garden gate?", k=4, now=NOW).hits
    assert {hit.memory.id for hit in hits} == {"oil-1", "oil-2", "oil-3", "oil-4"}
    assert not any(hit.duplicates for hit in hits)


def test_a_repeat_that_fills_up_keeps_its_score() -> None:
    with MemoryStore.open() as store:
        store.remember_many([Memory("The spare key hangs in the shed", id=f"m{i}") for i in range(3)])
        store.remember(Memory("Pancakes need buttermilk", id="other"))
        hits = QueryOptimizer(store).recall("Where is the spare key?", k=4).hits
    assert [hit.memory.id for hit in hits] == ["m0", "m1", "m2", "other"]
    assert hits[2].score > 5 * hits[3].score
