"""After `compact`, no file of the store holds anything of what was forgotten."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from recall_integrations import Filters, Memory, MemoryStore, QueryOptimizer, RecallConfig, Relation, Scope
from recall_integrations.config import RetrievalConfig
from recall_integrations.database.engine import write_anew
from recall_integrations.errors import StoreClosed, StoreLocked
from recall_integrations.store.doctor import examine
from recall_integrations.store.doctor.findings import PUT_ASIDE
from tests.quick import only

START = datetime(2026, 1, 1, tzinfo=timezone.utc)
USER, STAYS = Scope("u1-zyxomma", "a"), Scope("u2-stays")
SMALL_SCANS = RecallConfig(retrieval=RetrievalConfig(exact_max=20))

# What only the forgotten memories hold: words, an id, metadata, names, an alias, a thread, a channel, the user.
SECRETS = (
    *("xylophantic", "ident-quorbal", "metawumble", "metakeyfrop", "blorpius", "zorbulent", "aliaswick", "threadnarf"),
    *("channelgleek", "actorvroom", "predicateplim", "refsnarp", "u1-zyxomma"),
)


def secret(i: int, **fields: Any) -> Memory:
    return Memory(
        f"Xylophantic tea number {i} was drunk with Zorbulent",
        id=f"ident-quorbal-{i}",
        actor="Actorvroom",
        entities=["Blorpius"],
        relations=[Relation("Blorpius", "predicateplim", "Zorbulent")],
        thread="threadnarf",
        channel="channelgleek",
        refs=["refsnarp"],
        metadata={"metakeyfrop": "metawumble"},
        **fields,
    )


def plain(count: int) -> list[Memory]:
    return [Memory(f"Milk number {i} was bought", id=f"m{i}", actor="Priya") for i in range(count)]


def needles(vectors: list[bytes]) -> list[bytes]:
    return [*(word[1:].encode() for word in SECRETS), *vectors]  # without the first letter: it may be a capital


def found_in(directory: Path, wanted: list[bytes]) -> set[tuple[str, bytes]]:
    files = [path for path in directory.rglob("*") if path.is_file()]
    return {(str(p.relative_to(directory)), needle) for p in files for needle in wanted if needle in p.read_bytes()}


def vectors_of(store: MemoryStore, scope: Scope) -> list[bytes]:
    """Of each memory of a scope, its vector as the database has it and as Chroma has it."""
    import numpy as np

    with store.engine.connect() as connection:
        rows = connection.execute(text("SELECT vector FROM vectors WHERE scope_id = :s"), {"s": store.scope_id(scope)})
        halves = [bytes(row[0]) for row in rows]
    return [*halves, *(np.frombuffer(half, dtype="<f2").astype("<f4").tobytes() for half in halves)]


FORGET: dict[str, Callable[[MemoryStore], int]] = {
    "user": lambda store: store.forget(user_id=USER.user_id),
    "scope": lambda store: store.forget(scope=USER),
}


@pytest.mark.parametrize("how", FORGET)
@pytest.mark.parametrize("count", only([40, 1_100], 40))
def test_nothing_of_a_user_is_in_any_file(tmp_path: Path, how: str, count: int) -> None:
    """Chroma holds both scopes; at 1,100 memories there are files of columns as well."""
    path = tmp_path / "store"
    with MemoryStore.open(path, config=SMALL_SCANS) as store:
        store.add_entity("Blorpius", aliases=["Aliaswick"], scope=USER)
        store.remember_many([secret(i) for i in range(count)], scope=USER)
        store.remember_many(plain(30), scope=STAYS)
        assert QueryOptimizer(store).recall("xylophantik tea of Aliaswick", scope=USER, time_budget_ms=30_000).hits
        assert store.indexes.settle(60)
        wanted = needles(vectors_of(store, USER))
    assert {needle for _, needle in found_in(path, wanted)} >= set(wanted[: len(SECRETS)])
    with MemoryStore.open(path, config=SMALL_SCANS) as store:
        assert QueryOptimizer(store).recall("tea", scope=USER, time_budget_ms=30_000).hits
        assert FORGET[how](store) == count
        done = store.compact()
        assert done.rebuilt
        assert done.bytes_after < done.bytes_before
        assert found_in(path, wanted) == set()
        assert len(QueryOptimizer(store).recall("milk", scope=STAYS, k=5, time_budget_ms=30_000).hits) == 5
        assert store.scopes() == [(STAYS, 30)]
    assert found_in(path, wanted) == set()
    assert not [check for check in examine(path).checks if check.state == "problem"]


def test_names_that_others_hold_stay(tmp_path: Path) -> None:
    path = tmp_path / "store"
    with MemoryStore.open(path) as store:
        store.remember_many([secret(1), Memory("Tea for two", entities=["Blorpius"], id="stays")])
        store.add_entity("Declared Name")
        store.forget("ident-quorbal-1")
        store.compact()
        known = store.entities(store.scope_id(Scope()) or 0)
        assert sorted(known.by_norm) == ["blorpius", "declared name"]
        assert found_in(path, [b"orbulent", b"ctorvroom"]) == set()
        hits = QueryOptimizer(store).recall("what about Blorpius").hits
        assert [hit.memory.id for hit in hits] == ["stays"]


def test_what_ended_goes_too(tmp_path: Path) -> None:
    now, path = [START], tmp_path / "store"
    with MemoryStore.open(path, clock=lambda: now[0]) as store:
        store.remember_many([secret(i, expires_at=START + timedelta(hours=1)) for i in range(700)])
        store.remember("stays")
        now[0] += timedelta(hours=1)
        assert store.compact().ended == 700
        assert store.count() == 1
        assert found_in(path, needles([])[:-1]) == set()


def test_a_second_time_has_nothing_to_do(tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path / "store") as store:
        store.remember_many(plain(5))
        store.forget("m1")
        assert store.compact().rebuilt
        assert not store.compact().rebuilt
        store.remember(Memory("Other milk", id="m2"))  # replaced: what it said before is to go
        assert store.compact().rebuilt


@pytest.mark.parametrize("then", ["stopped", "written to"])
def test_names_without_memories_go_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, then: str) -> None:
    path = tmp_path / "store"
    with MemoryStore.open(path) as store:
        store.remember("stays")
        store.add_entity("Blorpius", aliases=["Aliaswick"], scope=USER)
        store.forget(scope=USER)
        if then == "written to":
            store.remember("tea again", scope=USER)
        else:
            with monkeypatch.context() as patched:
                patched.setattr("recall_integrations.store.renewal.write_anew", stopped)
                with pytest.raises(KeyboardInterrupt):
                    store.compact()
        assert found_in(path, [b"lorpius", b"liaswick"])
        assert store.compact().rebuilt
        assert found_in(path, [b"lorpius", b"liaswick"]) == set()
        assert not store.compact().rebuilt


def stopped(*_: Any) -> None:
    raise KeyboardInterrupt


def test_a_number_of_a_scope_is_never_given_again(tmp_path: Path) -> None:
    path = tmp_path / "store"
    with MemoryStore.open(path) as store:
        store.remember_many(plain(3), scope=STAYS)
        store.remember_many([secret(i) for i in range(3)], scope=USER)
        number = store.scope_id(USER)
        store.forget(scope=USER)
        store.compact()
        assert store.scope_id(USER) is None
        assert store.count(scope=USER) == 0
        store.remember("somebody else's tea", scope=Scope("u3"))
        assert store.scope_id(Scope("u3")) not in (None, number)
        store.remember("tea again", scope=USER)
        assert len(QueryOptimizer(store).recall("tea", scope=USER, time_budget_ms=30_000).hits) == 1
    with MemoryStore.open(path) as store:
        assert dict(store.scopes()) == {STAYS: 3, Scope("u3"): 1, USER: 1}


def test_recalls_go_on_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with MemoryStore.open(tmp_path / "store") as store:
        store.remember_many(plain(20))
        store.forget(filters=Filters(actors=["nobody"]))
        store.forget("m1")
        optimizer = QueryOptimizer(store)

        def beside(*args: Any) -> None:
            assert len(optimizer.recall("milk", k=5).hits) == 5
            write_anew(*args)

        monkeypatch.setattr("recall_integrations.store.renewal.write_anew", beside)
        assert store.compact().rebuilt


def test_what_a_repair_put_aside_is_named(tmp_path: Path) -> None:
    path = tmp_path / "store"
    with MemoryStore.open(path) as store:
        store.remember_many(plain(5))
        store.forget("m1")
        aside = path / PUT_ASIDE
        aside.write_text("{}")
        assert store.compact().left == (aside,)


def test_open_elsewhere_or_closed_is_said(tmp_path: Path) -> None:
    store = MemoryStore.open(tmp_path / "store")
    with store, MemoryStore.open(tmp_path / "store") as other, pytest.raises(StoreLocked, match="is open in process"):
        other.compact()
    with pytest.raises(StoreClosed):
        store.compact()


def test_the_database_is_whole_afterwards(tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path / "store") as store:
        store.remember_many(plain(300))
        store.forget([f"m{i}" for i in range(250)])
        store.compact()
    with sqlite3.connect(tmp_path / "store" / "recall.db") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("PRAGMA freelist_count").fetchone() == (0,)
