"""Several stores over one directory, as processes have them: what one did, all find at their next call.

Locks of files keep two objects of a process apart as they keep processes apart, so this tries in one process what
`tests/integration/test_several_processes.py` tries with real ones.
"""

from __future__ import annotations

import shutil
import threading
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import invariant, precondition, rule

from recall_integrations.config import RecallConfig
from recall_integrations.errors import StoreClosed, StoreLocked
from recall_integrations.optimizer import QueryOptimizer
from recall_integrations.store import languages
from recall_integrations.store.indexes import Indexes
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.store.turns import OfFile, WriteTurn
from recall_integrations.types import Memory, Scope
from tests.property.test_store_stateful import NAMES, StoreMachine, scopes
from tests.quick import examples

STORES = 3


class SeveralStores(StoreMachine):
    """Each rule of the machine is done by one of the stores, and then by another."""

    def __init__(self) -> None:
        super().__init__()
        self.stores: list[MemoryStore] = []
        self.declared: dict[Scope, set[str]] = {}

    def _open(self) -> None:
        if hasattr(self, "store"):
            place = self.stores.index(self.store)
            super()._open()
            self.stores[place] = self.store
            return
        for _ in range(STORES):
            super()._open()
            self.stores.append(self.store)

    @rule(which=st.integers(0, STORES - 1))
    def another(self, which: int) -> None:
        self.store = self.stores[which]

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self._open()

    @rule()
    def reindex(self) -> None:
        """What needs the store alone is refused, and changes nothing."""
        with pytest.raises(StoreLocked, match="open in"):
            self.store.reindex()
        with pytest.raises(StoreLocked, match="open in"):
            self.store.compact()

    @rule(scope=scopes, name=st.sampled_from(NAMES))
    def declare(self, scope: Scope, name: str) -> None:
        self.store.add_entity(name, scope=scope)
        self.declared.setdefault(scope, set()).add(name)

    @invariant()
    @precondition(lambda self: len(self.stores) == STORES)
    def all_of_them_agree(self) -> None:
        current = self.store
        for store in self.stores:
            self.store = store
            super().all_ways_of_reading_agree()
            self._names_agree()
        self.store = current
        assert sum(store._parts.directory.keeps() for store in self.stores) <= 1

    def all_ways_of_reading_agree(self) -> None:
        """Asked of each."""

    def _names_agree(self) -> None:
        for scope, names in self.declared.items():
            scope_id = self.store.scope_id(scope)
            assert scope_id is not None
            for name in names:
                assert self.store.entities(scope_id).index.lookup(name)

    def teardown(self) -> None:
        for store in self.stores[1:]:
            store.close()
        if self.stores:
            self.store = self.stores[0]
            self.store.close()
            super()._open()
        super().teardown()


SeveralStores.TestCase.settings = settings(
    max_examples=examples(40),
    stateful_step_count=16,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
    phases=[Phase.generate],
)
test_stores_over_one_directory_agree = SeveralStores.TestCase


def test_answers_that_were_kept_are_forgotten_when_another_process_writes(tmp_path: Path) -> None:
    config = RecallConfig(mode="cached")
    with MemoryStore.open(tmp_path / "s") as store, MemoryStore.open(tmp_path / "s") as other:
        store.remember(Memory("the kestrel flew", id="m1"))
        optimizer = QueryOptimizer(store, config=config)
        assert [hit.memory.id for hit in optimizer.recall("kestrel")] == ["m1"]
        assert optimizer.recall("kestrel").cache.strategy == "hit"
        other.remember(Memory("a kestrel came back", id="m2"))
        found = optimizer.recall("kestrel")
        assert found.cache.strategy != "hit" and {hit.memory.id for hit in found} == {"m1", "m2"}
        other.forget("m1")
        assert [hit.memory.id for hit in optimizer.recall("kestrel")] == ["m2"]
        assert store.numbers(Scope(), ["m1", "m2"]).keys() == {"m2"}


def test_what_ends_and_was_written_elsewhere_ends_here(tmp_path: Path) -> None:
    now = datetime(2026, 3, 1, tzinfo=timezone.utc)
    clock = [now]
    with (
        MemoryStore.open(tmp_path / "s", clock=lambda: clock[0]) as store,
        MemoryStore.open(tmp_path / "s", clock=lambda: clock[0]) as other,
    ):
        store.remember("tea is ready")
        assert store.count() == 1
        other.remember(Memory("the kestrel flew", id="m1", expires_at=now + timedelta(hours=1)))
        assert store.count() == 2
        clock[0] = now + timedelta(hours=2)
        assert store.count() == 1 and store.get("m1") is None


def test_a_write_of_another_process_leaves_the_columns_of_other_scopes(tmp_path: Path) -> None:
    large, small = Scope(user_id="large"), Scope(user_id="small")
    with MemoryStore.open(tmp_path / "s") as store, MemoryStore.open(tmp_path / "s") as other:
        store.remember("the kestrel flew", scope=large)
        number = store.scope_id(large)
        assert number is not None
        view = store.view(number)
        for _ in range(2):
            other.remember("tea is ready", scope=small)
            assert store.count(scope=small) and store.view(number) is view
        store.remember("more tea", scope=small)
        other.remember("and cake", scope=small)
        assert store.count(scope=small) == 4 and store.view(number) is view


def test_numbers_of_a_write_that_failed_are_not_lost_to_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with MemoryStore.open(tmp_path / "s") as store, MemoryStore.open(tmp_path / "s") as other:
        store.remember("the kestrel flew")

        def fails(*_: object, **__: object) -> None:
            raise OSError("No space left on device")

        with monkeypatch.context() as patched, pytest.raises(OSError, match="No space"):
            patched.setattr(languages, "write", fails)
            store.remember_many(["one", "two", "three"])
        other.remember("a kestrel came back")
        assert store.count() == 2 and len(QueryOptimizer(store).recall("kestrel").hits) == 2
        store.remember("and went")
        assert other.count() == store.count() == 3


def test_a_take_over_that_fails_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keeper, store = MemoryStore.open(tmp_path / "s"), MemoryStore.open(tmp_path / "s")
    with store, MemoryStore.open(tmp_path / "s") as third:
        keeper.close()

        def fails(*_: object, **__: object) -> None:
            raise OSError("No space left on device")

        with monkeypatch.context() as patched:
            patched.setattr(Indexes, "open", fails)
            store.remember("the kestrel flew")
        third.remember("a kestrel came back")
        assert third._parts.directory.keeps()  # nothing holds it up
        assert len(QueryOptimizer(store).recall("kestrel").hits) == 2
        third.close()
        store.remember("and went")
        assert store._parts.directory.keeps() and store.stats()["index_lag"] == {"semantic": 0}


def test_an_interrupt_in_a_turn_gives_it_back(tmp_path: Path) -> None:
    class Interrupted(BaseException):
        pass

    def interrupted() -> None:
        raise Interrupted

    file = tmp_path / "lock"
    turn, other = WriteTurn(OfFile(file)), WriteTurn(OfFile(file))
    for place in ("begun", "ending"):
        setattr(turn, place, interrupted)
        with pytest.raises(Interrupted), turn:
            pass
        setattr(turn, place, lambda: None)
        assert other.acquire(timeout=1)
        other.release()
        assert turn.acquire(timeout=1)
        turn.release()


def test_who_waits_for_a_turn_makes_no_file_anew_once_the_store_is_closed(tmp_path: Path) -> None:
    """The directory may be removed as soon as `close` returns."""
    store = MemoryStore.open(tmp_path / "store")
    turn, met = store._parts.write_lock, []

    def wait() -> None:
        try:
            with turn:
                met.append("had it")
        except StoreClosed:
            met.append("closed")

    with turn:
        waiting = threading.Thread(target=wait)
        waiting.start()
        time.sleep(0.05)
        store.close()
        if (tmp_path / "store").exists():  # not where the tests run on PostgreSQL
            shutil.rmtree(tmp_path / "store")
    waiting.join(10)
    assert met == ["closed"] and not (tmp_path / "store").exists()
