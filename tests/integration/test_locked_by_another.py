"""Another program holds the database: writes wait for it, also those that read first, and reads do not."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from recall_integrations import Memory, MemoryStore, QueryOptimizer, RecallConfig, Scope

HELD_S = 0.5
WRITES: dict[str, Callable[[MemoryStore], object]] = {
    "first of a scope": lambda store: store.remember("The cat is called Otto", scope=Scope(user_id="new")),
    "another": lambda store: store.remember("The dog is called Rex"),
    "again": lambda store: store.remember(Memory("The standup is at ten", id="m1")),
    "forget": lambda store: store.forget(["m1"]),
    "forget all": lambda store: store.forget(scope=Scope()),
    "names": lambda store: store.add_entity("Otto", aliases=["the cat"], scope=Scope(user_id="names")),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_write_waits_for_another_program(tmp_path: Path, write: Callable[[MemoryStore], object]) -> None:
    with MemoryStore.open(tmp_path / "store") as store:
        store.remember(Memory("The standup is at nine", id="m1"))
        path = tmp_path / "store" / "recall.db"
        with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
            other.execute("BEGIN IMMEDIATE")
            release = threading.Timer(HELD_S, other.execute, ["ROLLBACK"])
            release.start()
            write(store)
            release.join()


def test_opening_and_learned_recalls_wait_for_nobody(tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path / "store") as store:
        store.remember(Memory("The standup is at nine", id="m1"))
    with closing(sqlite3.connect(tmp_path / "store" / "recall.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")  # until the end
        with MemoryStore.open(tmp_path / "store") as store:
            optimizer = QueryOptimizer(store, config=RecallConfig(mode="learned"))
            for _ in range(3):
                result = optimizer.recall("when is the standup?", time_budget_ms=5_000)
                assert [hit.memory.id for hit in result.hits] == ["m1"] and not result.degraded
                time.sleep(0.4)  # what is learned is looked at once a second
