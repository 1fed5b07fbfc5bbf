"""Memories that end: out of everything at that moment, and removed for good by a later write."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from recall_integrations import Memory, MemoryStore, QueryOptimizer, RecallConfig, Scope
from recall_integrations.errors import InvalidMemory

START = datetime(2026, 1, 1, tzinfo=timezone.utc)
HOUR = timedelta(hours=1)


class Clock:
    def __init__(self) -> None:
        self.now, self.asked = START, 0

    def __call__(self) -> datetime:
        self.asked += 1
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[MemoryStore]:
    with MemoryStore.open(tmp_path / "store", clock=clock) as opened:
        yield opened


def told(hours: float, memory_id: str, say: str = "Tea was drunk") -> Memory:
    return Memory(f"{say} {memory_id}", id=memory_id, expires_at=START + hours * HOUR)


def found(store: MemoryStore, query: str = "tea", config: RecallConfig | None = None) -> set[str | None]:
    return {hit.memory.id for hit in QueryOptimizer(store, config=config).recall(query, k=50).hits}


def rows(store: MemoryStore) -> int:
    with store.engine.connect() as connection:
        return int(connection.execute(text("SELECT count(*) FROM memories")).scalar_one())


def test_a_memory_is_out_of_everything_from_that_moment_on(store: MemoryStore, clock: Clock) -> None:
    store.remember_many([Memory("Tea stays", id="stays"), told(1, "one"), told(2, "two")])
    assert found(store) == {"stays", "one", "two"}
    clock.now = START + HOUR
    assert found(store) == {"stays", "two"}
    assert store.get("one") is None
    assert store.count() == 2
    assert store.scopes() == [(Scope(), 2)]
    assert store.stats()["types"] == {"observation": 2}
    assert rows(store) == 3  # reading wrote nothing
    clock.now = START + 2 * HOUR
    assert found(store) == {"stays"}


def test_what_was_written_after_another_ended_ends_too(store: MemoryStore, clock: Clock) -> None:
    store.remember_many([Memory("Tea stays", id="stays"), told(1, "one")])
    clock.now = START + HOUR
    assert found(store) == {"stays"}
    store.remember(told(1.01, "late"))
    assert found(store) == {"stays", "late"}
    clock.now = START + 2 * HOUR
    assert found(store) == {"stays"}


def test_a_kept_answer_does_not_outlive_a_memory_in_it(store: MemoryStore, clock: Clock) -> None:
    store.remember_many([Memory("Tea stays", id="stays"), told(1, "one")])
    optimizer = QueryOptimizer(store, config=RecallConfig(mode="cached"))
    for _ in range(2):
        result = optimizer.recall("tea", now=START)
    assert result.cache.strategy == "hit"
    assert len(result.hits) == 2
    clock.now = START + HOUR
    for _ in range(3):
        assert [hit.memory.id for hit in optimizer.recall("tea", now=START).hits] == ["stays"]
    assert optimizer.recall("tea", now=START).cache.strategy == "hit"


def test_writes_remove_what_has_ended_now_and_then(store: MemoryStore, clock: Clock) -> None:
    store.remember_many([Memory("Tea stays", id="stays"), told(1, "one")])
    clock.now = START + HOUR
    store.remember("Another")
    assert rows(store) == 2
    assert store.count() == 2
    store.remember_many([told(1.001, "two")])
    clock.now = START + 1.002 * HOUR
    store.remember("Yet another")  # less than a minute after the last time
    assert rows(store) == 4
    clock.now = START + 2 * HOUR
    store.forget("stays")
    assert rows(store) == 2


def test_what_has_ended_is_forgotten_without_having_been_there(store: MemoryStore, clock: Clock) -> None:
    store.remember_many([told(1, "one"), told(1, "two")])
    clock.now = START + HOUR
    assert store.forget("one") == 0


def test_an_ended_id_may_be_used_again(store: MemoryStore, clock: Clock) -> None:
    store.remember(told(1, "one"))
    clock.now = START + HOUR
    assert found(store) == set()
    store.remember(Memory("Tea again", id="one"))
    assert found(store) == {"one"}
    assert store.count() == 1


def test_a_message_that_ended_is_stored_again_when_it_is_said_again(store: MemoryStore, clock: Clock) -> None:
    message = {"role": "user", "content": "Tea at five, as every Thursday", "id": "m1"}
    store.remember(Memory.from_message(message, thread="t", id="m1", expires_at=START + HOUR))
    clock.now = START + HOUR
    store.remember_many([message], thread="t")
    assert found(store) == {"m1"}


def test_it_lasts_over_an_opening_and_in_files_of_columns(tmp_path: Path, clock: Clock) -> None:
    many = [Memory(f"Tea number {i} was drunk", id=f"m{i}") for i in range(1_200)]
    with MemoryStore.open(tmp_path / "s", clock=clock) as store:
        store.remember_many([*many, told(1, "one"), told(2, "two")])
    assert list((tmp_path / "s" / "columns").glob("*"))
    clock.now = START + HOUR
    with MemoryStore.open(tmp_path / "s", clock=clock) as store:
        assert store.count() == 1_201
        assert "one" not in found(store, "Tea was drunk one")
        assert "two" in found(store, "Tea was drunk two")
        clock.now = START + 2 * HOUR
        assert "two" not in found(store, "Tea was drunk two")
    with MemoryStore.open(tmp_path / "s", clock=clock) as store:
        assert store.count() == 1_200
        assert "two" not in found(store, "Tea was drunk two")
        store.remember("x")
        assert rows(store) == 1_201


@pytest.mark.parametrize("arm", ["semantic", "lexical", "graph", "temporal", "type_filter"])
def test_no_arm_finds_it(store: MemoryStore, clock: Clock, arm: str) -> None:
    store.remember_many(
        Memory(
            f"Priya drank tea number {i}",
            id=f"m{i}",
            actor="Priya",
            event_at=START,
            expires_at=START + HOUR if i % 2 else None,
        )
        for i in range(20)
    )
    optimizer = QueryOptimizer(store)
    query = "what tea did Priya drink on 1 January 2026"
    assert len(optimizer.recall(query, k=20, now=START + HOUR).hits) == 20
    clock.now = START + HOUR
    result = optimizer.recall(query, k=20, now=START + HOUR)
    assert {hit.memory.id for hit in result.hits} == {f"m{i}" for i in range(0, 20, 2)}
    by_arm = [hit for hit in result.hits if any(c.source == arm for c in hit.contributions)]
    assert all(hit.memory.expires_at is None for hit in by_arm)


def test_without_any_that_end_nobody_looks_at_the_clock(store: MemoryStore, clock: Clock) -> None:
    store.remember_many([Memory("Tea stays", id="stays")])
    store.remember(told(1, "one"), scope=Scope("other"))
    optimizer = QueryOptimizer(store)
    optimizer.recall("tea", now=START)
    asked = clock.asked
    optimizer.recall("tea", now=START)
    store.get("stays")
    store.count()
    assert clock.asked == asked


@pytest.mark.parametrize("at", [START, START - HOUR])
def test_one_that_has_passed_is_refused_before_anything_is_changed(store: MemoryStore, at: datetime) -> None:
    with pytest.raises(InvalidMemory, match=r"Item 1: Memory\.expires_at .* has passed"):
        store.remember_many([Memory("a"), Memory("b", expires_at=at)])
    assert store.count() == 0


def test_a_naive_one_is_refused() -> None:
    with pytest.raises(InvalidMemory, match=r"Memory\.expires_at is naive"):
        Memory("a", expires_at=datetime(2026, 1, 1))


def test_it_is_given_back_as_it_was(store: MemoryStore) -> None:
    store.remember(told(1, "one"))
    memory = store.get("one")
    assert memory is not None
    assert memory.expires_at == START + HOUR


@pytest.mark.parametrize("garbage", ["'{'", "x'ff00fe'", "-1.5", "9223372036854775807"])
def test_a_damaged_end_ends_nothing_and_removes_nothing(tmp_path: Path, clock: Clock, garbage: str) -> None:
    with MemoryStore.open(tmp_path / "store", clock=clock) as store:
        store.remember_many([Memory("Tea stays", id="stays"), told(1, "one"), told(2, "two")])
        with store.engine.begin() as connection:
            connection.execute(text(f"UPDATE memories SET expires_at = {garbage} WHERE id = 'one'"))
    with MemoryStore.open(tmp_path / "store", clock=clock) as store:
        clock.now = START + 3 * HOUR
        result = QueryOptimizer(store).recall("tea", k=50)
        assert {hit.memory.id for hit in result.hits} == {"stays"}
        assert [d.reason for d in result.degraded] == ["memory.damaged"]
        assert store.get("one") is None
        for _ in range(2):
            store.remember("Tea stays", on_duplicate="skip")
            clock.now += HOUR
        store.compact()
        assert rows(store) == 2  # of the damaged one, its text may be saved yet
        store.remember(told(9, "one"))
        assert found(store) == {"stays", "one"}


def test_what_is_written_after_the_clock_went_back_is_there(store: MemoryStore, clock: Clock) -> None:
    store.remember_many([Memory("Tea stays", id="stays"), told(1, "one"), told(50, "two")])
    clock.now = START + 100 * HOUR  # wrongly
    assert found(store) == {"stays"}
    clock.now = START + 2 * HOUR
    store.remember(told(3, "three"))
    assert found(store) == {"stays", "two", "three"}
    assert store.count() == len(store.list()) == 3
    assert store.get("three") is not None
    clock.now = START + 4 * HOUR
    assert found(store) == {"stays", "two"}
    store.compact()
    assert store.count() == rows(store) == 2


def test_one_may_end_before_1970(store: MemoryStore, clock: Clock) -> None:
    clock.now = datetime(1960, 1, 1, tzinfo=timezone.utc)
    store.remember(Memory("Tea was drunk", id="old", expires_at=clock.now + HOUR))
    assert found(store) == {"old"}
    clock.now += 2 * HOUR
    assert found(store) == set()


def test_files_of_columns_lack_nothing_when_the_clock_went_back(tmp_path: Path, clock: Clock) -> None:
    with MemoryStore.open(tmp_path / "store", clock=clock) as store:
        store.remember_many(Memory(f"Milk {i}", id=f"m{i}") for i in range(1_100))
        store.remember(told(50, "two"))
        clock.now = START + 100 * HOUR
        assert "two" not in found(store)
    assert list((tmp_path / "store" / "columns").iterdir())
    clock.now = START + 2 * HOUR
    with MemoryStore.open(tmp_path / "store", clock=clock) as store:
        assert store.get("two") is not None
        assert "two" in found(store)


def test_what_ends_while_others_are_removed_is_not_counted(
    store: MemoryStore, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.remember_many([Memory("Tea stays", id="stays"), told(1, "one"), told(2, "two")])
    clock.now = START + HOUR
    expiry = store._parts.expiry
    done = expiry.removed

    def removed(scope_id: int, **given: Any) -> None:
        clock.now = START + 2 * HOUR
        assert found(store) == {"stays"}
        done(scope_id, **given)

    monkeypatch.setattr(expiry, "removed", removed)
    store.remember_many([])
    monkeypatch.undo()
    assert store.count() == len(store.list()) == 1
    clock.now = START + 3 * HOUR
    store.remember_many([])
    assert rows(store) == 1
