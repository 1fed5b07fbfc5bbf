"""Recalls that are pressed for time, or made inside of others."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from recall_integrations import Memory, MemoryStore, QueryOptimizer
from recall_integrations.recall import StageEvent


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with MemoryStore.open() as opened:
        opened.remember_many([Memory(f"tea number {i}", id=f"m{i}") for i in range(20)])
        yield opened


def test_an_observer_that_recalls_takes_no_place_for_good(store: MemoryStore) -> None:
    def recalls(event: StageEvent) -> None:
        if event.stage == "plan" and event.state.request.text == "outer":
            seen.append(optimizer.recall("tea", k=1, time_budget_ms=60_000).degraded)

    seen: list[object] = []
    optimizer = QueryOptimizer(store, observers=[recalls])
    for _ in range(5):
        assert optimizer.recall("outer", k=1, time_budget_ms=60_000).degraded == ()
    assert seen == [()] * 5


def test_under_pressure_a_recall_is_made_smaller_and_says_so(store: MemoryStore) -> None:
    optimizer = QueryOptimizer(store)
    for _ in range(10):
        optimizer.recall("tea", time_budget_ms=60_000)
    pressed = optimizer.recall("tea number 3", k=10, time_budget_ms=0.01)
    assert pressed.degradation_steps == ("reduced_top_k", "simplified_scoring", "minimal")
    assert 1 <= len(pressed.hits) <= 3
    few = optimizer.recall("tea number 3", k=2, time_budget_ms=0.01)
    assert few.degradation_steps == ("simplified_scoring", "minimal")  # k is as small as it would be made
    assert len(few.hits) == 2
    assert optimizer.recall("tea number 3", k=10, time_budget_ms=60_000).degraded == ()
