"""`recall.db` put back alone, or without its WAL: the indexes beside it are of another history, and are made anew."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from pathlib import Path

import pytest

from recall_integrations.config import RecallConfig, RetrievalConfig
from recall_integrations.optimizer import QueryOptimizer
from recall_integrations.store import journal
from recall_integrations.store.directory import DATABASE
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import Memory, Scope
from tests import in_collections
from tests.columns import saying

NOW = datetime(2026, 5, 1, tzinfo=timezone.utc)
SCOPE = Scope(user_id="u")
LARGE = RecallConfig(retrieval=RetrievalConfig(exact_max=5, cache_mb=0))  # vectors come from the collections
SMALL = RecallConfig()
Open = Callable[[], MemoryStore]


@pytest.fixture(params=[pytest.param(SMALL, marks=pytest.mark.slow), LARGE], ids=["in memory", "by the indexes"])
def opened(request: pytest.FixtureRequest, tmp_path: Path, embedding: object) -> Open:
    return lambda: MemoryStore.open(tmp_path / "store", embedding=embedding, config=request.param, clock=lambda: NOW)


def put(store: MemoryStore, names: Sequence[str]) -> None:
    store.remember_many([Memory(f"the {name} hovers", id=name) for name in names], scope=SCOPE)
    assert store.indexes.settle(60)


def back_up(directory: Path, to: Path) -> None:
    """Copy the database while it is open, with what is in its WAL."""
    to.mkdir(exist_ok=True)
    for name in (DATABASE, f"{DATABASE}-wal"):
        if (directory / name).is_file():
            shutil.copy2(directory / name, to / name)


def put_back(backup: Path, directory: Path) -> None:
    for name in (DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm"):
        (directory / name).unlink(missing_ok=True)
        if (backup / name).is_file():
            shutil.copy2(backup / name, directory / name)


def holds(store: MemoryStore, there: Sequence[str], gone: Sequence[str]) -> None:
    """Every memory by every arm, and none of those that are gone."""
    scope_id = store.scope_id(SCOPE)
    assert scope_id is not None
    view, home = store.view(scope_id), store.indexes.home_of(scope_id)
    assert store.indexes.settle(60)
    for name in there:
        assert [view.ids[r] for r in view.rows_of(saying(store, scope_id, name))] == [name], name
        if not home:
            continue
        nums, cosines = store.indexes.neighbours.nearest(home, store.embedding.embed_query(f"the {name} hovers"), 1)
        assert [view.ids[r] for r in view.rows_of(nums)] == [name] and cosines[0] > 0.99, name
    for name in gone:
        assert not saying(store, scope_id, name)
    assert store.stats()["vectors"] == view.count == len(there)
    assert not home or in_collections.count(store) == len(there)
    optimizer = QueryOptimizer(store)
    for name in there:
        result = optimizer.recall(f"{name} hovers", scope=SCOPE, now=NOW, k=3, time_budget_ms=60_000)
        assert result.hits[0].memory.id == name and not result.degraded
    optimizer.close()


FIRST = [f"early{i}bird" for i in range(8)]
LATER = [f"late{i}owl" for i in range(8)]
OTHER = [f"other{i}crow" for i in range(8)]


def rebuilt(store: MemoryStore) -> set[str]:
    return {str(notice).split()[1] for notice in store.stats()["notices"] if "of another history" in notice}


def semantic(store: MemoryStore) -> set[str]:
    """The semantic index, where there is a large scope."""
    return {"semantic"} if store.indexes.home_of(store.scope_id(SCOPE) or 0) else set()


@pytest.mark.parametrize("while_open", [False, True], ids=["closed", "with its WAL"])
def test_a_backup_put_back_knows_nothing_that_came_later(opened: Open, tmp_path: Path, while_open: bool) -> None:
    backup = tmp_path / "backup"
    store = opened()
    put(store, FIRST)
    if while_open:
        back_up(store.path, backup)
    store.close()
    if not while_open:
        back_up(store.path, backup)
    with opened() as store:
        put(store, LATER)
        store.forget(FIRST[0], scope=SCOPE)
        directory = store.path
    put_back(backup, directory)
    with opened() as store:
        holds(store, FIRST, LATER)
        put(store, OTHER)
        holds(store, [*FIRST, *OTHER], LATER)
    with opened() as store:
        assert not store.stats()["notices"]
        holds(store, [*FIRST, *OTHER], LATER)


def test_another_continuation_of_equal_length(opened: Open, tmp_path: Path) -> None:
    """The numbers agree in everything: how many memories, which numbers they have, how far the indexes have come."""
    with opened() as store:
        put(store, FIRST)
        directory = store.path
    shutil.copytree(directory, tmp_path / "before")
    with opened() as store:
        put(store, LATER)
    back_up(directory, tmp_path / "other")
    shutil.rmtree(directory)
    shutil.move(tmp_path / "before", directory)
    with opened() as store:
        put(store, OTHER)
        holds(store, [*FIRST, *OTHER], LATER)
    put_back(tmp_path / "other", directory)
    with opened() as store:
        assert rebuilt(store) == semantic(store)
        holds(store, [*FIRST, *LATER], OTHER)


def test_the_last_writes_are_lost_with_the_wal(opened: Open, tmp_path: Path) -> None:
    """A database whose WAL went: what was written to it last is gone, and the indexes must not bring it back."""
    backup = tmp_path / "backup"
    with opened() as store:
        put(store, FIRST)
        directory = store.path
    back_up(directory, backup)
    store = opened()
    put(store, LATER)
    assert store.indexes.settle(60)
    store.indexes.close(sealed=False)
    store.close()
    put_back(backup, directory)
    with opened() as store:
        assert len(store.stats()["notices"]) == len(semantic(store))
        holds(store, FIRST, LATER)


def test_an_older_index_put_back(opened: Open, tmp_path: Path) -> None:
    """The other way round: what the database believes to be applied is not there."""
    with opened() as store:
        put(store, FIRST)
        directory = store.path
        if not semantic(store):
            assert not list(directory.glob("semantic.*"))
            return
    shutil.copytree(directory / "semantic.0", tmp_path / "kept")
    with opened() as store:
        put(store, LATER)
        for name in FIRST:
            store.forget(name, scope=SCOPE)  # as many as before
        assert store.indexes.settle(60)
    shutil.rmtree(directory / "semantic.0")
    shutil.copytree(tmp_path / "kept", directory / "semantic.0")
    with opened() as store:
        assert rebuilt(store) == {"semantic"}
        holds(store, LATER, FIRST)


def test_pruning_keeps_what_the_indexes_are_known_by(opened: Open) -> None:
    with opened() as store:
        put(store, FIRST)
        with store.engine.begin() as connection:
            journal.prune(connection, journal.last_seq(connection))
    with opened() as store:
        assert not store.stats()["notices"]
        put(store, LATER)
    with opened() as store:
        assert not store.stats()["notices"]
        holds(store, [*FIRST, *LATER], OTHER)


def test_a_mark_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    assert journal.noted_point(tmp_path) is None
    for said in ("", "[1]", '["1", "a"]', "{}", "\x00", "null"):
        (tmp_path / journal.MARK).write_text(said)
        assert journal.noted_point(tmp_path) is None
    journal.note_point(tmp_path, journal.Point(7, "ab"))
    assert journal.noted_point(tmp_path) == journal.Point(7, "ab")


def test_a_digest_is_of_all_that_came_before() -> None:
    def ends(*texts: str) -> str:
        said = ""
        for seq, text in enumerate(texts, start=1):
            said = journal.digest_of(said, seq, 1, "put", seq, text)
        return said

    assert ends("a", "b") == ends("a", "b")
    assert len({ends(), ends("a"), ends("a", "b"), ends("x", "b"), ends("a", "x"), ends("\ud800", "b")}) == 6
