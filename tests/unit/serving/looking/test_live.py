"""What is going on, from an observer: bounded, without text, and of others only what they may know."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from recall_integrations import MemoryStore, QueryOptimizer, RecallConfig, Scope
from recall_integrations.resilience.guard import Health
from recall_integrations.serving import looking as module
from recall_integrations.serving.looking import HIDDEN, Live

ONE, OTHER = Scope("one"), Scope("other")


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def live(clock: Clock) -> Live:
    return Live(clock)


@pytest.fixture
def recall(live: Live, embedding: object) -> Iterator[Callable[..., object]]:
    with MemoryStore.open(embedding=embedding) as store:
        for scope in (ONE, OTHER):
            store.remember("Priya likes tea", scope=scope)
        yield QueryOptimizer(store, observers=[live], config=RecallConfig(mode="cached")).recall


def test_recalls_are_counted_with_plan_time_and_cache(live: Live, recall: Callable[..., object]) -> None:
    for _ in range(3):
        recall("who likes tea?", scope=ONE)
    data = live.data([])
    assert (data["recalls"], data["cache"]["hits"]) == (3, 2)
    assert sum(data["plans"].values()) == 3
    assert 0 < data["p50_ms"] <= data["p95_ms"]
    assert sum(point["count"] for point in data["points"]) == 3
    assert data["observed"]


def test_who_reaches_one_scope_sees_recalls_of_it_only(live: Live, recall: Callable[..., object]) -> None:
    recall("tea", scope=ONE)
    recall("tea", scope=OTHER)
    recall("tea", scope=OTHER, privacy="redact")
    assert live.data([])["recalls"] == 3
    assert live.data([], lambda scope: scope == OTHER)["recalls"] == 1
    assert live.data([])["plans"][HIDDEN] == 1


def test_what_is_old_is_left_out_and_no_more_than_so_many_are_kept(
    live: Live, recall: Callable[..., object], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    recall("tea", scope=ONE)
    clock.now += module.WINDOW_S + 1
    assert live.data([])["recalls"] == 0
    assert live.data([])["p50_ms"] is None
    monkeypatch.setattr(module, "KEPT", 3)
    few = Live(clock)
    for _ in range(2_100):
        few(_event())
    assert few.data([])["recalls"] == 3


def test_parts_are_told_without_what_failed_in_them(live: Live) -> None:
    health = Health(
        component="rewrite", breaker="open", failures=3, why="said: secret", active=1, hanging=1, median_ms=2.0
    )
    (part,) = live.data([health])["parts"]
    assert part["breaker"] == "open"
    assert "secret" not in str(part)


def _event() -> object:
    from recall_integrations.recall.runner import StageEvent

    return StageEvent(stage="deliver", began_ms=1.0, took_ms=1.0, failed=False, degraded=(), timings_ms={}, state=None)
