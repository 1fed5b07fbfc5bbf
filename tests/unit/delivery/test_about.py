"""A reply says in its reason what it is about."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from recall_integrations import Filters, Memory, MemoryStore, QueryOptimizer, RecallResult

SAID = (
    ("Sam", "My tomato plants are taking over the garden."),
    ("Priya", "How many?"),
    ("Sam", "Eleven, and I gave some away."),
    ("Priya", "The train to Lisbon leaves at noon"),
    ("Sam", "I have three meetings"),
)
QUERY = "How many tomato plants does Sam have?"
ABOUT = "about: tomato plants, two turns before"


@pytest.fixture(scope="module")
def optimizer() -> Iterator[QueryOptimizer]:
    with MemoryStore.open() as store:
        for i, (actor, text) in enumerate(SAID):
            metadata = {"shown": i != 0}
            store.remember(Memory(text, id=f"m{i}", actor=actor, thread="chat", position=i, metadata=metadata))
        made = QueryOptimizer(store)
        yield made
        made.close()


def reasons(result: RecallResult) -> dict[str | None, str]:
    return {hit.memory.id: hit.reason for hit in result.hits}


def test_the_reason_and_the_contribution_say_it(optimizer: QueryOptimizer) -> None:
    result = optimizer.recall(QUERY, k=3)
    assert ABOUT in reasons(result)["m2"]
    (part,) = [c for c in result.hits[1].contributions if c.source == "subject_match"]
    assert part.added > 0 and part.note == "tomato plants, two turns before"
    assert all("about:" not in reason for which, reason in reasons(result).items() if which != "m2")


def test_what_a_filter_hides_is_not_said(optimizer: QueryOptimizer) -> None:
    result = optimizer.recall(QUERY, k=3, filters=Filters(metadata={"shown": True}))
    assert "m2" in reasons(result)
    assert "tomato" not in reasons(result)["m2"]


def test_what_is_blocked_is_not_said(optimizer: QueryOptimizer) -> None:
    result = optimizer.recall(QUERY, k=3, privacy="block")
    assert all("tomato" not in reason for reason in reasons(result).values())
