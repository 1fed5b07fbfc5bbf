"""Chroma holds large scopes only, is filled beside the caller, and is never missed meanwhile."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import update

from recall_integrations.config import RecallConfig, RetrievalConfig
from recall_integrations.database import schema
from recall_integrations.errors import IndexUnavailable
from recall_integrations.optimizer import QueryOptimizer
from recall_integrations.store import chroma_files, collections, filling, journal
from recall_integrations.store.chroma_files import ChromaFiles
from recall_integrations.store.doctor import examine, repair
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import Memory, Scope
from tests import in_collections

OpenStore = Callable[..., MemoryStore]
ROOT = Path(__file__).resolve().parents[3]
LARGE, SMALL = Scope(user_id="large"), Scope(user_id="small")


def config(exact_max: int, **more: Any) -> RecallConfig:
    return RecallConfig(retrieval=RetrievalConfig(exact_max=exact_max, **more))


TEN = config(10, cache_mb=0)


@pytest.fixture(autouse=True)
def many_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collections, "SLICE", 8)
    monkeypatch.setattr(chroma_files, "AT_ONCE", 3)
    monkeypatch.setattr(filling, "QUIET_S", 0.0)


def put(store: MemoryStore, first: int, last: int, scope: Scope = LARGE) -> None:
    store.remember_many([Memory(f"note{i} about birds", id=f"m{i}") for i in range(first, last)], scope=scope)


def number(store: MemoryStore, scope: Scope = LARGE) -> int:
    scope_id = store.scope_id(scope)
    assert scope_id is not None
    return scope_id


def agrees(store: MemoryStore, scope: Scope = LARGE) -> None:
    """The collection holds exactly what stands."""
    view = store.view(number(store, scope))
    held = in_collections.nums(store)[store.indexes.home_of(number(store, scope))]
    assert held.tolist() == view.nums[view.alive].tolist()


def finds(store: MemoryStore, there: range, scope: Scope = LARGE) -> None:
    """Each of them is the nearest to its own text."""
    with closing(QueryOptimizer(store)) as optimizer:
        for i in there:
            found = optimizer.recall(f"note{i} about birds", scope=scope, k=2, time_budget_ms=60_000)
            assert found.hits[0].memory.id == f"m{i}" and not found.degraded


# -- small stores ------------------------------------------------------------------------------------------------------


def test_a_small_store_neither_loads_chroma_nor_has_a_directory_for_it(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from recall_integrations import Memory, MemoryStore, QueryOptimizer\n"
        "from recall_integrations.store.doctor import examine, repair\n"
        "for _ in range(2):\n"
        "    with MemoryStore.open(sys.argv[1]) as store:\n"
        "        store.remember_many([Memory(f'note {i}', id=f'm{i}') for i in range(20)])\n"
        "        store.forget('m3')\n"
        "        store.warm()\n"
        "        optimizer = QueryOptimizer(store)\n"
        "        assert optimizer.recall('note 7', time_budget_ms=60_000).hits\n"
        "        optimizer.close()\n"
        "        store.stats(), store.reindex()\n"
        "        assert store.indexes.settle(1) and not store.indexes.collections.server.opened\n"
        "    assert examine(sys.argv[1]).clean and repair(sys.argv[1]).clean\n"
        "assert 'chromadb' not in sys.modules, 'loaded'\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "s")], env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr[-2000:]
    assert not list((tmp_path / "s").glob("semantic*"))


def test_there_is_nothing_to_open_without_a_large_scope(store: MemoryStore) -> None:
    store.remember("hello")
    assert store.indexes.settle(60) and not store.indexes.home_of(number(store, Scope()))
    assert not store.indexes.collections.server.opened
    assert not list(store.path.glob("semantic*"))


# -- growing -----------------------------------------------------------------------------------------------------------


def test_a_scope_that_grows_is_filled_beside_the_caller(open_store: OpenStore, monkeypatch: pytest.MonkeyPatch) -> None:
    gate, real = threading.Event(), ChromaFiles.apply

    def waits(*args: Any) -> None:
        assert gate.wait(60)
        real(*args)

    monkeypatch.setattr(ChromaFiles, "apply", waits)
    store = open_store(config=TEN)
    put(store, 0, 40)
    put(store, 0, 5, SMALL)
    assert store.indexes.home_until(number(store)) == 0
    finds(store, range(0, 40, 7))  # all of them are scanned
    assert store.indexes.lag == {"semantic": 0}
    gate.set()
    assert store.indexes.settle(60)
    assert store.indexes.collections.lacking() == {number(store): 0}
    agrees(store)
    finds(store, range(0, 40, 7))
    put(store, 40, 45)
    finds(store, range(38, 45))  # the newest are scanned


def test_what_is_replaced_or_forgotten_goes(open_store: OpenStore) -> None:
    store = open_store(config=TEN)
    put(store, 0, 40)
    assert store.indexes.settle(60)
    put(store, 3, 6)
    store.forget("m9", scope=LARGE)
    assert store.indexes.settle(60)
    assert in_collections.count(store) == 39
    agrees(store)


def test_forgotten_while_it_is_filled(open_store: OpenStore, monkeypatch: pytest.MonkeyPatch) -> None:
    real, passed, gate = ChromaFiles.apply, threading.Event(), threading.Event()

    def stops_once(index: ChromaFiles, home: str, nums: list[int], *args: Any) -> None:
        real(index, home, nums, *args)
        if nums and not passed.is_set():
            passed.set()
            assert gate.wait(60)

    monkeypatch.setattr(ChromaFiles, "apply", stops_once)
    store = open_store(config=TEN)
    put(store, 0, 40)
    assert passed.wait(60)
    for i in (0, 1, 20, 39):  # given to Chroma, in the same slice, in a later one, the last
        store.forget(f"m{i}", scope=LARGE)
    put(store, 2, 4)
    gate.set()
    assert store.indexes.settle(60)
    agrees(store)
    assert in_collections.count(store) == 36


def test_what_a_close_leaves_is_filled_after_the_next_open(
    open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(config=TEN)
    put(store, 0, 40)
    assert store.indexes.settle(60)
    reached = store.indexes.home_until(number(store))
    monkeypatch.setattr(filling, "QUIET_S", 60.0)
    put(store, 40, 90)
    begun = time.monotonic()
    store.close()
    assert time.monotonic() - begun < 30
    store = open_store(config=TEN)
    assert store.stats()["notices"] == [] and store.indexes.home_until(number(store)) >= reached > 0
    finds(store, range(85, 90))
    assert store.indexes.settle(60)
    agrees(store)


def test_a_short_tail_does_not_load_chroma_at_the_next_open(
    open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(config=TEN)
    put(store, 0, 40)
    assert store.indexes.settle(60)
    monkeypatch.setattr(filling, "QUIET_S", 60.0)
    put(store, 40, 44)
    store.close()
    store = open_store(config=TEN)
    time.sleep(0.1)
    assert not store.indexes.collections.server.opened
    assert store.indexes.collections.lacking() == {number(store): 4}
    store.close()
    found = examine(store.path)
    assert found.clean and "4 more" in found["semantic index"].says


def test_a_scope_that_has_shrunk_leaves_at_the_next_open(open_store: OpenStore) -> None:
    store = open_store(config=TEN)
    put(store, 0, 12)
    assert store.indexes.settle(60)
    for i in range(3):
        store.forget(f"m{i}", scope=LARGE)
    store.close()
    store = open_store(config=TEN)
    assert store.indexes.home_of(number(store)), "9 of 10: it may grow again"
    store.forget("m3", scope=LARGE)
    store.close()
    store = open_store(config=TEN)
    assert not store.indexes.home_of(number(store))
    assert not list(store.path.glob("semantic*"))
    finds(store, range(4, 12))


def test_a_collection_that_nobody_needs_is_removed_beside_others(open_store: OpenStore) -> None:
    store = open_store(config=TEN)
    put(store, 0, 12)
    put(store, 0, 30, SMALL)
    assert store.indexes.settle(60)
    left = store.indexes.home_of(number(store))
    store.close()
    store = open_store(config=config(20, cache_mb=0))
    assert store.indexes.home_of(number(store, SMALL)) and not store.indexes.home_of(number(store))
    assert store.indexes.settle(60) and left not in in_collections.nums(store)
    agrees(store, SMALL)
    assert store.stats()["notices"] == []


def test_a_lower_limit_gives_a_collection_at_open(open_store: OpenStore) -> None:
    store = open_store()
    put(store, 0, 40)
    store.close()
    store = open_store(config=TEN)
    assert store.indexes.settle(60)
    agrees(store)


def test_growth_during_recalls_finds_what_a_scan_finds(open_store: OpenStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """At any moment: before there is a collection, while it is filled, and behind its end."""
    from recall_integrations.arms import retrievers as semantic

    monkeypatch.setattr(semantic, "SUBSET_MAX", 0)  # else so few rows are scanned, whatever there is
    store = open_store(config=TEN)
    put(store, 0, 5)
    wrong: list[str] = []
    acknowledged = [5]
    ends = threading.Event()

    def ask() -> None:
        rng = np.random.default_rng(1)
        with closing(QueryOptimizer(store)) as optimizer:
            while not ends.is_set():
                written = acknowledged[-1]
                i = int(rng.integers(written))
                found = optimizer.recall(f"note{i} about birds", scope=LARGE, k=3, time_budget_ms=60_000)
                if found.degraded or f"m{i}" not in [hit.memory.id for hit in found.hits]:
                    wrong.append(f"m{i} of {written}: {found.degraded}")

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for first in range(5, 120, 7):
        put(store, first, first + 7)
        acknowledged.append(first + 7)
    ends.set()
    for thread in threads:
        thread.join(60)
    assert wrong == []
    assert store.indexes.settle(60)
    agrees(store)


# -- failures ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    def fails(*_: object) -> None:
        raise IndexUnavailable("Chroma is not here today.")

    with monkeypatch.context() as patched:
        patched.setattr(ChromaFiles, "_opened", fails)
        yield patched


def test_chroma_that_fails_costs_no_write_and_no_recall(open_store: OpenStore, broken: pytest.MonkeyPatch) -> None:
    store = open_store(config=TEN)
    put(store, 0, 30)
    assert not store.indexes.settle(5)
    put(store, 30, 40)
    assert not store.indexes.settle(5)
    finds(store, range(0, 40, 9))
    assert [n for n in store.stats()["notices"] if "not here today" in n]
    assert store.indexes.lag == {"semantic": 0}
    broken.undo()
    put(store, 40, 41)  # tried again
    assert store.indexes.settle(60)
    agrees(store)


def test_a_failure_while_filling_is_said_once(open_store: OpenStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(config=TEN)
    put(store, 0, 30)
    assert store.indexes.settle(60)
    with monkeypatch.context() as patched:

        def full(*_: object) -> None:
            raise IndexUnavailable("Chroma failed: disk full")

        patched.setattr(ChromaFiles, "apply", full)
        for i in range(30, 34):
            put(store, i, i + 1)
            assert not store.indexes.settle(60)
        assert sum("disk full" in notice for notice in store.stats()["notices"]) == 1
        finds(store, range(28, 34))
    assert store.indexes.settle(60)
    agrees(store)


def test_damage_that_shows_in_a_recall_is_scanned_around(
    open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    from recall_integrations.arms import retrievers as semantic

    monkeypatch.setattr(semantic, "SUBSET_MAX", 0)
    store = open_store(config=TEN)
    put(store, 0, 40)
    assert store.indexes.settle(60)
    server = store.indexes.collections.server
    server.apply(store.indexes.home_of(number(store)), [], np.empty((0, 16), np.float32), [5, 6, 7, 8])
    store.close()
    store = open_store(config=TEN)
    finds(store, range(0, 40, 7))  # the first of them opens Chroma, which lacks some
    assert "rebuilt" in store.stats()["notices"][0]
    assert store.indexes.settle(60)
    agrees(store)
    assert [p.name for p in store.path.glob("semantic*")] == ["semantic.1"]


@pytest.mark.parametrize("home", ["scope-1", "0123456789ab.1.00000000.abcdef"])
def test_collections_of_an_earlier_version_or_of_a_server_are_filled_anew(open_store: OpenStore, home: str) -> None:
    store = open_store(config=TEN)
    put(store, 0, 40)
    assert store.indexes.settle(60)
    with store.engine.begin() as connection:
        connection.execute(update(schema.scopes).values(vector_home=home))
    store.close()
    store = open_store(config=TEN)
    finds(store, range(0, 40, 9))
    assert store.indexes.settle(60)
    agrees(store)
    assert store.indexes.home_of(number(store)) != home and len(in_collections.nums(store)) == 1
    assert ["earlier version" in said for said in store.stats()["notices"]] == [True] * (home == "scope-1")


# -- the journal -------------------------------------------------------------------------------------------------------


def test_the_journal_keeps_what_a_collection_has_not_seen(
    open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal.prune_applied, "__kwdefaults__", {"keep": 5})
    store = open_store(config=TEN)
    put(store, 0, 30)
    assert store.indexes.settle(60)
    store.close()
    store = open_store(config=TEN)  # pruned
    monkeypatch.setattr(filling, "QUIET_S", 60.0)
    store.forget("m3", scope=LARGE)
    put(store, 0, 9, SMALL)
    store.close()
    with monkeypatch.context() as patched:
        patched.setattr(collections.Collections, "_urgent", lambda *_: False)
        open_store(config=TEN).close()
    store = open_store(config=TEN)
    assert store.indexes.settle(60) and store.stats()["notices"] == []
    agrees(store)
    put(store, 0, 9, SMALL)
    store.close()
    store = open_store(config=TEN)  # pruned beyond the last change of the large scope
    assert store.indexes.settle(60) and store.stats()["notices"] == []
    assert in_collections.count(store) == 29


def test_repair_fills_what_is_damaged_before_it_returns(open_store: OpenStore, embedding: object) -> None:
    store = open_store(config=TEN)
    put(store, 0, 40)
    assert store.indexes.settle(60)
    store.close()
    (store.path / "semantic.0" / "chroma.sqlite3").unlink()
    assert examine(store.path)["semantic index"].state == "problem"
    found = repair(store.path, embedding=embedding)
    assert found["semantic index"].state == "mended"
    assert "all vectors" in examine(store.path)["semantic index"].says


def test_reindex_fills_before_it_returns_and_says_how_far_it_is(open_store: OpenStore) -> None:
    store = open_store(config=TEN)
    put(store, 0, 40)
    told: list[tuple[str, int, int]] = []
    store.reindex(progress=lambda *step: told.append(step))
    assert [step for step in told if step[0] == "semantic"][-1] == ("semantic", 40, 40)
    assert store.indexes.collections.lacking() == {number(store): 0}
    agrees(store)


def test_what_a_reindex_that_fails_leaves_is_filled_afterwards(
    open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(config=TEN)
    put(store, 0, 40)
    assert store.indexes.settle(60)
    real, calls = ChromaFiles.apply, [0]

    def fails(*given: Any) -> None:
        calls[0] += 1
        if calls[0] > 4:
            raise IndexUnavailable("Chroma failed: disk full")
        real(*given)

    with monkeypatch.context() as patched:
        patched.setattr(ChromaFiles, "apply", fails)
        with pytest.raises(IndexUnavailable, match="disk full"):
            store.reindex()
        finds(store, range(0, 40, 9))
    assert store.indexes.settle(60)
    agrees(store)
    finds(store, range(0, 40, 9))
