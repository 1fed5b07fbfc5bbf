"""Large scopes on a server with the limits of Chroma Cloud: no request is larger; one that was is not sent again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from recall_integrations import Memory, MemoryStore, QueryOptimizer, RecallConfig, Scope
from recall_integrations.arms import retrievers as semantic
from recall_integrations.config import RetrievalConfig, VectorsConfig, sections
from recall_integrations.indexes.vector_server import VectorServer
from recall_integrations.indexes.vectors import home_name
from recall_integrations.store import collections, filling
from recall_integrations.types import RecallResult
from tests.scripted_chroma import Limited

SCOPE, OTHER = Scope(user_id="large"), Scope(user_id="other")
COUNT = 700
WAIT_S = 60.0


@pytest.fixture
def limited() -> Iterator[Limited]:
    with closing(Limited()) as found:
        yield found


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small scopes are large, and nobody waits until it is quiet."""
    monkeypatch.setattr(semantic, "SUBSET_MAX", 0)
    monkeypatch.setattr(filling, "QUIET_S", 0.0)


def config(server: Limited, **more: Any) -> RecallConfig:
    return RecallConfig(
        retrieval=RetrievalConfig(exact_max=10, cache_mb=0), vectors=VectorsConfig(address=server.address, **more)
    )


def put(store: MemoryStore, count: int, scope: Scope = SCOPE) -> None:
    store.remember_many(
        [Memory(f"note{i} about birds", id=f"m{i}", metadata={"fifth": i % 5}) for i in range(count)], scope=scope
    )


def asked(store: MemoryStore, i: int, **more: Any) -> RecallResult:
    with closing(QueryOptimizer(store)) as optimizer:
        return optimizer.recall(f"note{i} about birds", scope=SCOPE, k=2, time_budget_ms=60_000, **more)


def degraded(result: RecallResult) -> list[tuple[str, str]]:
    return [(one.stage, one.reason) for one in result.degraded]


def held(server: Limited, store: MemoryStore, scope: Scope = SCOPE) -> list[int]:
    """The numbers on the server."""
    return server.held(name_of(store, scope))


def stands(store: MemoryStore, scope: Scope = SCOPE) -> list[int]:
    """The numbers of the record."""
    view = store.view(number(store, scope))
    found: list[int] = view.nums[view.alive].tolist()
    return found


def number(store: MemoryStore, scope: Scope) -> int:
    found = store.scope_id(scope)
    assert found is not None
    return found


def name_of(store: MemoryStore, scope: Scope) -> str:
    return home_name(store.indexes.home_of(number(store, scope)))


def an_hour_later(store: MemoryStore) -> None:
    """What was refused was refused an hour ago."""
    over = store.indexes.collections._over  # type: ignore[union-attr]
    over.update({home: replace(one, at=one.at - collections.OVER_S) for home, one in over.items()})


def fill_on(store: MemoryStore) -> None:
    """What the thread does when it is woken; nobody waits for the collections."""
    store.indexes.collections.filling.settle(WAIT_S)


def test_at_chroma_cloud_no_request_is_larger_than_it_takes(
    limited: Limited, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sections, "CLOUD", "127.0.0.1")
    with MemoryStore.open(tmp_path / "s", config=config(limited)) as store:
        put(store, COUNT)
        assert store.indexes.settle(WAIT_S), store.stats()["notices"]
        assert held(limited, store) == stands(store) and len(stands(store)) == COUNT
        assert max(limited.sizes("upsert")) == 300 and sum(limited.sizes("upsert")) >= COUNT
        for i in (3, 333, 698):
            found = asked(store, i)
            assert found.hits[0].memory.id == f"m{i}" and not found.degraded
        few = asked(store, 333, filters={"fifth": 3})
        assert few.hits[0].memory.id == "m333" and not few.degraded
        assert max(limited.sizes("query")) == 300, "more is wanted where a filter leaves a fifth"
        assert store.forget(filters={"fifth": {"$in": [0, 1, 2]}}, scope=SCOPE) == 420
        assert store.indexes.settle(WAIT_S)
        assert held(limited, store) == stands(store) and len(stands(store)) == 280
        assert not limited.refused and not store.stats()["notices"]
        name = store.indexes.home_of(number(store, SCOPE))
    with closing(VectorServer(config(limited).vectors)) as server:
        assert len(server.nums(name)) == 280 and set(limited.sizes("get")) == {300} and not limited.refused


def test_a_write_that_is_too_large_is_said_and_not_tried_again(
    limited: Limited, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with MemoryStore.open(tmp_path / "s", config=config(limited)) as store:
        put(store, COUNT)
        assert not store.indexes.settle(WAIT_S), "it does not wait for what cannot be"
        (notice,) = (one for one in store.stats()["notices"] if "had 500" in one)
        assert "Have the limit raised there" in notice and "scanned meanwhile" in notice
        before = limited.refused
        store.remember(Memory("one more about birds", id="more"), scope=SCOPE)
        fill_on(store)
        assert limited.refused == before, "a write does not send it again"
        assert "had 500" in store.indexes.collections.failed
        found = asked(store, 333)
        assert found.hits[0].memory.id == "m333" and not found.degraded, "what the server lacks is scanned"
        assert not store.indexes.settle(WAIT_S) and limited.refused == before + 1, "who waits for it has it tried, once"
        an_hour_later(store)
        store.remember(Memory("the last about birds", id="last"), scope=SCOPE)
        fill_on(store)
        assert limited.refused == before + 2, "after an hour a write has it tried again"
        assert sum("had 500" in one for one in store.stats()["notices"]) == 1
    monkeypatch.setattr(sections, "BATCH_MAX", 300)
    with MemoryStore.open(tmp_path / "s", config=config(limited)) as store:
        assert store.indexes.settle(WAIT_S), store.stats()["notices"]
        assert held(limited, store) == stands(store) and len(stands(store)) == COUNT + 2
        assert not store.indexes.collections.failed


def test_a_scope_that_is_too_large_holds_up_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sections, "BATCH_MAX", 300)
    with (
        closing(Limited(collection_most=500)) as limited,
        MemoryStore.open(config=config(limited)) as store,
    ):
        put(store, COUNT)
        put(store, 100, OTHER)
        assert not store.indexes.settle(WAIT_S)
        assert held(limited, store, OTHER) == stands(store, OTHER), "it is filled all the same"
        (notice,) = store.stats()["notices"]
        assert "'Collection size (records)'" in notice and "Have the limit raised there" in notice
        limited.collection_most = 1_000_000
        assert store.indexes.settle(WAIT_S) and held(limited, store) == stands(store)
        assert not store.indexes.collections.failed


def test_a_recall_that_asks_for_too_much_says_so(limited: Limited, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sections, "BATCH_MAX", 300)
    with MemoryStore.open(config=config(limited)) as store:
        put(store, COUNT)
        assert store.indexes.settle(WAIT_S)
        for _ in range(4):
            found = asked(store, 333, filters={"fifth": 3})
            assert degraded(found) == [("semantic", "vectors.away")]
            assert "Have the limit raised there" in found.degraded[0].detail
        assert not asked(store, 333).degraded, "one that asks for less is answered"
