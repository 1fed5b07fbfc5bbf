"""Threads that wait while another one writes: what they write goes together, as if each had written by itself."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from sqlalchemy import select

from recall_integrations import Memory, MemoryStore, QueryOptimizer, Scope
from recall_integrations.database import schema, sending
from recall_integrations.errors import StoreError
from recall_integrations.store import batches
from recall_integrations.store.batches import Batches
from tests.postgres import Postgres

ANN, BOB, SAM = (Scope(user_id=name) for name in ("ann", "bob", "sam"))
NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
SOON_S = 60.0
Given = tuple[Scope, Sequence[Memory]]

# In the order in which they come: names that are new and known, ids that are there, threads, another language.
GIVEN: list[Given] = [
    (ANN, [Memory("Priya Raman counted 4 swans", entities=["Priya Raman"], id="m1")]),
    (BOB, [Memory("I moved to Lyon in May", actor="Bob", thread="chat"), Memory("I sold the boat", actor="Bob")]),
    (ANN, [Memory("Priya Raman met Sam at the lake", actor="Sam", thread="walk", id="m2")]),
    (SAM, [Memory("Die Gänse sind gestern nach Süden gezogen, und niemand hat sie gezählt")]),
    (ANN, [Memory("Priya Raman counted 5 swans", id="there")]),
    (ANN, [Memory("Nobody counted geese", thread="other")]),
    (BOB, [Memory("My favourite colour is green", actor="Bob")]),
]


@pytest.fixture(params=["directory", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "store") if request.param == "directory" else request.getfixturevalue("postgres_url")


def opened(place: str, prefix: str = "given") -> MemoryStore:
    """A store whose ids are numbered, that holds a memory of Ann."""
    given = iter(range(1_000))
    store = MemoryStore.open(place, clock=lambda: NOW, new_id=lambda: f"{prefix}{next(given)}")
    store.remember(Memory("Priya counted no swans", id="there", thread="walk"), scope=ANN)
    return store


@pytest.fixture
def store(place: str) -> Iterator[MemoryStore]:
    with opened(place) as found:
        yield found


@pytest.fixture
def commits(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many batches each transaction had."""
    found: list[int] = []
    commit = Batches.commit

    def noted(self: Batches, given: Any, later: Any = None) -> Any:
        written = commit(self, given, later)
        found.append(len(given))
        return written

    monkeypatch.setattr(Batches, "commit", noted)
    return found


def at_once(store: MemoryStore, given: Sequence[Given]) -> list[list[str] | BaseException]:
    """What comes of writes whose threads stand in line, in this order, before the first one has its turn."""
    said: list[list[str] | BaseException] = [[] for _ in given]

    def write(place: int) -> None:
        scope, memories = given[place]
        try:
            said[place] = list(store.remember_many(memories, scope=scope))
        except BaseException as e:
            said[place] = e

    threads = [threading.Thread(target=write, args=(place,)) for place in range(len(given))]
    line = store._writer._line
    with store._parts.write_lock:
        for place, thread in enumerate(threads):
            thread.start()
            until = time.monotonic() + SOON_S
            while len(line._waiting) <= place:
                assert time.monotonic() < until
                time.sleep(0.001)
    for thread in threads:
        thread.join(SOON_S)
        assert not thread.is_alive()
    return said


def record(store: MemoryStore) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of all tables."""
    with store.engine.connect() as connection:
        return {
            table.name: sorted(map(tuple, connection.execute(select(table))), key=repr)
            for table in schema.metadata.sorted_tables
            if table is not schema.meta
        }


def test_it_is_as_if_each_had_written_by_itself(store: MemoryStore, commits: list[int], tmp_path: Path) -> None:
    together = at_once(store, GIVEN)
    assert commits == [7]
    del commits[:]
    with opened(str(tmp_path / "alone")) as alone:
        assert [list(alone.remember_many(memories, scope=scope)) for scope, memories in GIVEN] == together
        # Ids of entities have a key of their store, and cursors are of indexes that a node of PostgreSQL has not.
        wanted, found = record(alone), record(store)
        for name in (
            "memories",
            "words",
            "vectors",
            "changes",
            "mentions",
            "edges",
            "languages",
            "facts",
            "told_times",
        ):
            assert found[name] == wanted[name], name
        assert [row[:6] for row in found["scopes"]] == [row[:6] for row in wanted["scopes"]]
        for scope in (ANN, BOB, SAM):
            number, other = store.scope_id(scope), alone.scope_id(scope)
            assert number is not None and other is not None and store.version(number) == alone.version(other)
        assert {m.id for m in store.iterate(scope=ANN)} == {"m1", "m2", "there", "given3"}
        found_by = [hit.memory.text for hit in QueryOptimizer(store).recall("Who counted swans?", scope=ANN).hits]
        assert "Priya Raman counted 5 swans" in found_by
    assert commits == [1] * 8


def test_what_has_to_see_another_one_is_written_after_it(store: MemoryStore, commits: list[int]) -> None:
    given: list[Given] = [(ANN, [Memory(f"Priya counted {n} swans", id="same")]) for n in range(3)]
    given += [(ANN, [Memory(f"and {n} geese", thread="walk")]) for n in range(3)]
    assert at_once(store, given)[:3] == [["same"]] * 3
    assert commits == [1, 1, 2, 1, 1]
    assert [m.text for m in store.iterate(scope=ANN) if m.id == "same"] == ["Priya counted 2 swans"]
    walk = [m for m in store.iterate(scope=ANN) if m.thread == "walk"]
    assert sorted((m.position, m.text[:3]) for m in walk) == [(0, "Pri"), (1, "and"), (2, "and"), (3, "and")]


def test_messages_that_are_there_are_left_alone(store: MemoryStore) -> None:
    message = HumanMessage("I counted the swans", id="x1")
    assert at_once(store, [(ANN, [message]), GIVEN[0], (ANN, [message]), (ANN, [message])]) == [  # type: ignore[list-item]
        ["x1"],
        ["m1"],
        ["x1"],
        ["x1"],
    ]
    assert store.count(scope=ANN) == 3 and len(_changes(store)) == 3


@pytest.mark.parametrize("bad", [0, 3, 6])
def test_a_bad_one_has_its_own_error_and_fails_no_other(
    store: MemoryStore, commits: list[int], monkeypatch: pytest.MonkeyPatch, bad: int
) -> None:
    rows_of = Batches._rows_of

    def failing(self: Batches, part: Any, *given: Any) -> Any:
        if part.batch.memories[0] is GIVEN[bad][1][0]:
            raise RuntimeError("it cannot be kept")
        return rows_of(self, part, *given)

    monkeypatch.setattr(Batches, "_rows_of", failing)
    said = at_once(store, GIVEN)
    assert isinstance(said[bad], RuntimeError) and str(said[bad]) == "it cannot be kept"
    assert [n for n, one in enumerate(said) if isinstance(one, BaseException)] == [bad]
    assert commits == [1] * 6
    kept = [m.id for scope in (ANN, BOB, SAM) for m in store.iterate(scope=scope)]
    wanted = {i for one in said if not isinstance(one, BaseException) for i in one}
    assert set(kept) == wanted | {"there"} and len(kept) == len(set(kept))


@pytest.mark.parametrize("bad", [0, 1])
def test_what_the_database_refuses_fails_no_other(
    store: MemoryStore, commits: list[int], monkeypatch: pytest.MonkeyPatch, bad: int
) -> None:
    rows_of = Batches._rows_of

    def spoilt(self: Batches, part: Any, places: Any, tables: Any) -> Any:
        found = rows_of(self, part, places, tables)
        if part.batch.memories[0] is GIVEN[bad][1][0]:
            tables[schema.memories][-1]["text"] = None
        return found

    monkeypatch.setattr(Batches, "_rows_of", spoilt)
    said = at_once(store, GIVEN[:3])
    assert isinstance(said[bad], StoreError) and "refused" in str(said[bad])
    assert commits == [1, 1] and isinstance(said[1 - bad], list) and said[2] == ["m2"]


def test_large_ones_and_other_wishes_go_by_themselves(store: MemoryStore, commits: list[int]) -> None:
    large = [Memory(f"Priya counted {n} swans") for n in range(sending.FEW + 1)]
    assert [len(ids) for ids in at_once(store, [GIVEN[0], GIVEN[1], (ANN, large), GIVEN[3]])] == [1, 2, 5, 1]  # type: ignore[arg-type]
    assert commits == [2, 1, 1]


def test_who_waits_for_a_store_that_is_closed_is_told_so(place: str) -> None:
    store = opened(place)
    said: list[Any] = []

    def write(n: int) -> None:
        try:
            said.append(store.remember(f"Priya counted {n} swans", scope=ANN))
        except StoreError as e:
            said.append(e)

    threads = [threading.Thread(target=write, args=(n,)) for n in range(3)]
    with store._parts.write_lock:
        for thread in threads:
            thread.start()
        while len(store._writer._line._waiting) < 3:
            time.sleep(0.001)
        store.close()
    for thread in threads:
        thread.join(SOON_S)
    assert len(said) == 3 and all(isinstance(one, StoreError) and "closed" in str(one) for one in said)


def test_a_callback_that_writes_waits_for_nobody(place: str) -> None:
    """What gives ids is asked in the turn to write."""
    opened_store: list[MemoryStore] = []

    def new_id() -> str:
        if len(given) < 2:
            given.append("more")
            opened_store[0].remember(Memory("Written by the way", id="by"), scope=BOB)
        given.append("id")
        return f"id{len(given)}"

    given: list[str] = []
    with MemoryStore.open(place, new_id=new_id) as store:
        opened_store.append(store)
        store.remember("Priya counted swans", scope=ANN)
        assert store.count(scope=ANN) == store.count(scope=BOB) == 1


@pytest.mark.parametrize("moment", ["statement", "commit"])
def test_whose_connection_is_cut_are_all_written_once(
    postgres: Postgres, postgres_url: str, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    with opened(postgres_url) as store, MemoryStore.open(postgres_url) as other:
        cut: list[str] = []

        def now(call: Callable[..., Any]) -> Callable[..., Any]:
            def cutting(*given: Any, **more: Any) -> Any:
                if not cut:
                    cut.append(moment)
                    postgres.cut(postgres_url)
                return call(*given, **more)

            return cutting

        if moment == "commit":
            monkeypatch.setattr(sending.Together, "commit", now(sending.Together.commit))
        else:
            monkeypatch.setattr(batches, "insert_rows", now(batches.insert_rows))
        said = at_once(store, GIVEN)
        assert cut and not any(isinstance(one, BaseException) for one in said), said
        kept = [m.id for scope in (ANN, BOB, SAM) for m in other.iterate(scope=scope)]
        assert sorted(kept) == sorted({"there", *(i for one in said for i in one)})  # type: ignore[union-attr]
        for scope in (ANN, BOB, SAM):
            assert store.count(scope=scope) == other.count(scope=scope)


def _changes(store: MemoryStore) -> list[Any]:
    with store.engine.connect() as connection:
        return list(connection.execute(select(schema.changes).order_by(schema.changes.c.seq)))


def test_the_turn_is_lost_in_the_middle_of_a_group(
    postgres: Postgres, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another node writes in between: of the group nothing is there, and each is done once more."""
    from recall_integrations.database import turns

    with opened(postgres_url) as store, MemoryStore.open(postgres_url) as other:
        for scope in (BOB, SAM):  # whose rows are there: who makes one waits for who makes it, too
            store.remember(Memory("A scope", id="first"), scope=scope)
        insert, lost = batches.insert_rows, []

        def beside(*given: Any, **more: Any) -> None:
            if not lost:
                lost.append(True)
                postgres.run(
                    "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted "
                    f"AND objid = {turns.WRITING}"
                )
                other.remember(Memory("Sam counted two swans", id="sams"), scope=SAM)
            insert(*given, **more)

        monkeypatch.setattr(batches, "insert_rows", beside)
        said = at_once(store, GIVEN)
        assert lost and not any(isinstance(one, BaseException) for one in said), said
        kept = [m.id for scope in (ANN, BOB, SAM) for m in other.iterate(scope=scope)]
        written = {i for one in said for i in one}  # type: ignore[union-attr]
        assert sorted(kept) == sorted(["first", "first", *{"there", "sams", *written}])
