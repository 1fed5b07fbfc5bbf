from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import Engine, func, insert, select

from recall_integrations.database import schema
from recall_integrations.database.engine import open_sqlite
from recall_integrations.store import journal
from recall_integrations.store.directory import make_ready
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import Memory


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    engine = open_sqlite(tmp_path / "recall.db")
    make_ready(engine, tmp_path / "recall.db")
    return engine


def put(seq: int, op: str = "put") -> journal.Change:
    return journal.Change(seq=seq, scope_id=1, op=op, num=seq, text=None, actor=None)


def test_numbers_survive_pruning(engine: Engine) -> None:
    with engine.begin() as connection:
        assert journal.last_seq(connection) == 0
        journal.append(connection, [put(1), put(2), put(3)])
        assert journal.last_seq(connection) == 3
        journal.prune(connection, 3)
        assert journal.last_seq(connection) == 3
        journal.append(connection, [put(4)])
        journal.prune(connection, 3)
        assert journal.last_seq(connection) == 4
    assert [c.seq for c in journal.pending(engine, 0, 10)] == [4]


def test_cursors_move(engine: Engine) -> None:
    with engine.begin() as connection:
        assert journal.cursors(connection) == {}
        journal.move(connection, "another", 5)
        journal.move(connection, journal.SEMANTIC, 2)
        journal.move(connection, "another", 7)
        assert journal.cursors(connection) == {"another": 7, "semantic": 2}


def test_pending_in_order_with_what_still_stands(engine: Engine) -> None:
    row = {
        "scope_id": 1, "num": 3, "id": "m", "text": "hello", "type": "fact", "actor": "Sam", "created_at": 1,
        "importance": 0.5, "entities": [], "relations": [], "refs": [], "metadata": {},
    }  # fmt: skip
    with engine.begin() as connection:
        journal.append(connection, [put(1), put(2, "del"), put(3)])
        connection.execute(insert(schema.memories).values(**row))
    changes = journal.pending(engine, 0, 10)
    assert [(c.seq, c.op, c.content) for c in changes] == [(1, "put", None), (2, "del", None), (3, "put", "Sam: hello")]
    assert [c.seq for c in journal.pending(engine, 1, 1)] == [2]
    assert journal.pending(engine, 3, 10) == []


def test_a_store_writes_one_entry_per_change(store: MemoryStore) -> None:
    store.remember_many([Memory("x", id="a"), Memory("x", id="b")])
    store.remember(Memory("y", id="a"))
    store.forget("b")
    changes = journal.pending(store.engine, 0, 100)
    assert [(c.seq, c.op, c.num) for c in changes] == [
        (1, "put", 1),
        (2, "put", 2),
        (3, "del", 1),
        (4, "put", 4),
        (5, "del", 2),
    ]
    with store.engine.connect() as connection:
        assert set(journal.cursors(connection).values()) == {5}


def test_pruned_store_goes_on(store: MemoryStore) -> None:
    store.remember(Memory("x", id="a"))
    with store.engine.begin() as connection:
        journal.prune(connection, journal.last_seq(connection))
    store.remember(Memory("y", id="b"))
    store.remember(Memory("z", id="a"))
    scope_id = store.scope_id(store.scopes()[0][0])
    assert scope_id is not None
    view = store.view(scope_id)
    assert sorted(view.ids[r] for r in range(view.size) if view.alive[r]) == ["a", "b"]


def test_applied_entries_go_once_many_have_gathered(store: MemoryStore) -> None:
    store.remember_many([f"memory {i}" for i in range(30)])
    with store.engine.begin() as connection:
        journal.prune_applied(connection, keep=100)
        assert connection.execute(select(func.count()).select_from(schema.changes)).scalar_one() == 30
        newest = journal.last_seq(connection)
        journal.prune_applied(connection, keep=10)
        assert connection.execute(select(func.count()).select_from(schema.changes)).scalar_one() == 0
        assert journal.last_seq(connection) == newest


@pytest.mark.parametrize(
    ("applied", "keep", "pruned"), [(30, 30, False), (30, 29, True), (20, 20, False), (20, 19, True)]
)
def test_entries_go_once_there_are_more_than_are_kept(engine: Engine, applied: int, keep: int, pruned: bool) -> None:
    """Entries whose vectors are not made stay."""
    with engine.begin() as connection:
        journal.append(connection, [put(i) for i in range(101, 141)])
        journal.move(connection, journal.SEMANTIC, 100 + applied)
        journal.prune_applied(connection, keep=keep)
    first = 101 + applied if pruned else 101
    assert [c.seq for c in journal.pending(engine, 0, 100)] == list(range(first, 141))


def test_nothing_goes_that_an_index_never_applied(engine: Engine) -> None:
    with engine.begin() as connection:
        journal.append(connection, [put(i) for i in range(1, 41)])
        journal.prune_applied(connection, keep=1)
        journal.move(connection, "another", 40)
        journal.prune_applied(connection, keep=1)
    assert len(journal.pending(engine, 0, 100)) == 40


def test_ten_thousand_entries_are_kept_unless_told_otherwise(engine: Engine) -> None:
    with engine.begin() as connection:
        journal.move(connection, journal.SEMANTIC, 10_001)
        journal.append(connection, [put(i) for i in range(2, 10_002)])
        journal.prune_applied(connection)
        assert connection.execute(select(func.count()).select_from(schema.changes)).scalar_one() == 10_000
        journal.append(connection, [put(1)])
        journal.prune_applied(connection)
        assert connection.execute(select(func.count()).select_from(schema.changes)).scalar_one() == 0
