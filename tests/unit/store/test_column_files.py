"""Columns on disk: a start uses them where they fit, never where they do not, and they keep nothing forgotten."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import text

from recall_integrations.errors import StoreError
from recall_integrations.indexes import array_file
from recall_integrations.indexes.scope_view import ScopeView
from recall_integrations.indexes.scope_views import ScopeViews
from recall_integrations.store import column_files
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import Memory, Scope

SECRET = "xylophonist"


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scopes of a few memories have files."""
    for name in ("ROWS_MIN", "BEHIND_MIN"):
        monkeypatch.setattr(column_files, name, 5)
    monkeypatch.setattr(column_files, "FREE_MIN", 0)


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Scopes that were read from the database."""
    found: list[int] = []
    load = ScopeViews._load
    monkeypatch.setattr(ScopeViews, "_load", lambda self, i, upto: (found.append(i), load(self, i, upto))[1])
    yield found


def memories(count: int, first: int = 0) -> list[Memory]:
    return [
        Memory(text=f"The harbour report {i} was about kestrels", id=f"m{i}", actor="Sam", thread=f"t{i % 3}")
        for i in range(first, first + count)
    ]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store of ten memories, one of them to be forgotten, with a file of its columns."""
    path = tmp_path / "store"
    with MemoryStore.open(path) as store:
        store.remember_many([*memories(9), Memory(text=f"She is a {SECRET}", id="secret")])
    assert (path / "columns" / "1.columns").is_file()
    return path


def view_of(store: MemoryStore) -> ScopeView:
    scope_id = store.scope_id(Scope())
    assert scope_id is not None
    return store.view(scope_id)


def ids(view: ScopeView) -> list[str]:
    return [view.ids[row] for row in np.flatnonzero(view.alive).tolist()]


def column_file(path: Path) -> Path:
    return path / "columns" / "1.columns"


def test_a_start_reads_the_file_and_not_the_database(path: Path, loads: list[int]) -> None:
    with MemoryStore.open(path) as store:
        view = view_of(store)
        assert not loads
        column_file(path).unlink()
        store._views._let_go(None)
        fresh = view_of(store)
    assert loads
    assert ids(view) == ids(fresh)
    for name in ("nums", "at", "dated", "types", "importance", "lengths"):
        assert np.array_equal(getattr(view, name), getattr(fresh, name))
    assert view.mean_length == fresh.mean_length
    assert view.vectors is not None and fresh.vectors is not None
    assert np.array_equal(view.vectors.of(slice(None)), fresh.vectors.of(slice(None)))
    assert view.text is not None and fresh.text is not None
    assert view.text.holding("harbour")[0].tolist() == fresh.text.holding("harbour")[0].tolist()


def test_what_came_since_is_read_from_the_database(path: Path, loads: list[int]) -> None:
    with MemoryStore.open(path) as store:
        store.remember_many(memories(2, first=20))
        before = column_file(path).read_bytes()
    assert column_file(path).read_bytes() == before  # two are not worth a new file
    loads.clear()
    with MemoryStore.open(path) as store:
        assert ids(view_of(store))[-2:] == ["m20", "m21"]
    assert not loads


def test_a_write_after_a_start_copies_no_column(path: Path, loads: list[int]) -> None:
    with MemoryStore.open(path) as store:
        before = view_of(store)
        store.remember_many(memories(3, first=20))
        after = view_of(store)
    assert ids(after) == [*ids(before), "m20", "m21", "m22"]
    assert before.vectors is not None and after.vectors is not None
    assert before.text is not None and after.text is not None
    for name in ("nums", "at", "dated", "types", "importance", "lengths"):
        assert np.shares_memory(getattr(before, name), getattr(after, name)), name
    for name in ("words", "starts", "asked", "threads", "actors", "roles", "lengths", "questions"):
        assert np.shares_memory(getattr(before.text, name), getattr(after.text, name)), name
    assert np.shares_memory(before.vectors.halves, after.vectors.halves)
    assert before.vectors.codes is not None and after.vectors.codes is not None
    assert np.shares_memory(before.vectors.codes, after.vectors.codes)
    os.utime(column_file(path))  # it was touched, so it is read whole
    array_file.mapped(column_file(path))
    assert not loads


def test_writes_of_other_scopes_do_not_matter(path: Path, loads: list[int]) -> None:
    with MemoryStore.open(path) as store:
        store.remember("something else", scope=Scope(user_id="other"))
    loads.clear()
    with MemoryStore.open(path) as store:
        assert len(ids(view_of(store))) == 10
    assert not loads


def test_a_file_that_lacks_much_is_made_anew(path: Path) -> None:
    with MemoryStore.open(path) as store:
        store.remember_many(memories(9, first=20))
    assert array_file.mapped(column_file(path)).arrays["nums"].shape == (19,)


def test_what_is_forgotten_is_in_no_file_any_more(path: Path) -> None:
    def everywhere() -> bytes:
        return b"".join(p.read_bytes() for p in (path / "columns").iterdir())

    assert SECRET.encode() in everywhere()
    with MemoryStore.open(path) as store:
        view_of(store)
        assert store.forget("secret")
        assert SECRET.encode() not in everywhere()
    assert column_file(path).is_file()  # anew
    assert SECRET.encode() not in everywhere()
    assert b"secret" not in everywhere()


def test_what_is_replaced_is_forgotten(path: Path) -> None:
    with MemoryStore.open(path) as store:
        store.remember(Memory(text="She plays the piano", id="secret"))
        assert not column_file(path).exists()
    assert SECRET.encode() not in column_file(path).read_bytes()


def test_a_file_that_was_there_when_the_process_died_is_swept(path: Path, tmp_path: Path) -> None:
    aside = shutil.copy2(column_file(path), tmp_path / "aside")
    with MemoryStore.open(path) as store:
        store.forget("secret")
    shutil.copy2(aside, column_file(path))
    (path / "columns" / "1.columns.new").write_bytes(b"half of it")
    with MemoryStore.open(path) as store:
        assert not list((path / "columns").iterdir())
        assert "secret" not in ids(view_of(store))


@pytest.mark.parametrize("damage", ["truncated", "flipped", "foreign", "scope", "format", "embedding", "later"])
def test_a_file_that_does_not_fit_is_removed(path: Path, loads: list[int], damage: str) -> None:
    file = column_file(path)
    data = bytearray(file.read_bytes())
    opened = array_file.mapped(file)
    tags, arrays = dict(opened.tags), opened.arrays
    if damage == "truncated":
        file.write_bytes(data[: len(data) // 2])
    elif damage == "flipped":
        data[data.index(arrays["vectors.halves"].tobytes())] ^= 1
        file.write_bytes(data)
        os.utime(file, ns=(1, 1))
    elif damage == "foreign":
        file.write_bytes(b"something else" * 100)
    else:
        other = {"scope": {"scope": 2}, "format": {"format": 0}, "embedding": {"embedding": "x"}, "later": {"seq": 99}}
        array_file.place(array_file.draft(file, {**tags, **other[damage]}, arrays), file)
    with MemoryStore.open(path) as store:
        assert len(ids(view_of(store))) == 10
    assert loads
    assert array_file.mapped(file).tags["seq"] == tags["seq"]  # made anew at the end


def test_a_file_in_the_place_of_the_folder_costs_no_recall(path: Path) -> None:
    shutil.rmtree(path / "columns")
    (path / "columns").write_text("not a folder")
    with MemoryStore.open(path) as store:
        assert len(ids(view_of(store))) == 10
        store.forget("secret")
        assert "secret" not in ids(view_of(store))


def test_a_database_that_was_put_back_does_not_get_what_came_after(
    path: Path, tmp_path: Path, loads: list[int]
) -> None:
    backup = shutil.copy2(path / "recall.db", tmp_path / "backup")
    with MemoryStore.open(path) as store:
        store.remember_many(memories(9, first=20))
    for name in ("recall.db-wal", "recall.db-shm"):
        (path / name).unlink(missing_ok=True)
    shutil.copy2(backup, path / "recall.db")
    loads.clear()
    with MemoryStore.open(path) as store:
        assert len(ids(view_of(store))) == 10
    assert loads


def test_a_full_disk_is_only_noted(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(array_file, "draft", full)
    with MemoryStore.open(path) as store:
        store.forget("secret")
    assert "could not be kept on disk" in caplog.text
    with MemoryStore.open(path) as store:
        assert len(ids(view_of(store))) == 9


def test_a_scope_that_was_read_is_kept_in_the_background(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    column_file(path).unlink()
    monkeypatch.setattr(column_files, "PAUSE_S", 0.01)
    placed = threading.Event()
    place = array_file.place
    monkeypatch.setattr(array_file, "place", lambda *a: (place(*a), placed.set()))
    with MemoryStore.open(path) as store:
        view_of(store)
        assert placed.wait(10)
        assert column_file(path).is_file()


def test_what_is_forgotten_while_a_file_is_written_is_not_in_it(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draft = array_file.draft
    with MemoryStore.open(path) as store:
        view_of(store)

        def slow(*arguments: object) -> Path:
            store.forget("secret")
            return draft(*arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(array_file, "draft", slow)
        assert not store._views.save(1)
        assert not list((path / "columns").iterdir())
        monkeypatch.setattr(array_file, "draft", draft)
    assert SECRET.encode() not in column_file(path).read_bytes()


def test_temporary_stores_and_small_scopes_have_no_file(tmp_path: Path) -> None:
    with MemoryStore.open() as store:
        store.remember_many(memories(9))
        view_of(store)
        assert not store._views.save(1)
    with MemoryStore.open(tmp_path / "small") as store:
        store.remember_many(memories(3))
    assert list((tmp_path / "small" / "columns").iterdir()) == []


def test_vectors_made_anew_are_not_those_of_the_file(path: Path, loads: list[int]) -> None:
    with MemoryStore.open(path) as store:
        store.reindex()
        assert not column_file(path).exists()
        view_of(store)
    assert loads


def test_an_unchanged_database_is_not_read_whole(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from recall_integrations.database import engine

    assert engine._is_as_noted(path / "recall.db")
    with MemoryStore.open(path) as store:
        store.remember("one more")
        assert not engine._is_as_noted(path / "recall.db")
    assert engine._is_as_noted(path / "recall.db")
    data = bytearray((path / "recall.db").read_bytes())
    data[len(data) // 2 : len(data) // 2 + 4_096] = bytes(4_096)
    (path / "recall.db").write_bytes(data)
    os.utime(path / "recall.db", ns=(1, 1))
    with pytest.raises(StoreError):
        MemoryStore.open(path)


def test_damage_is_named_at_every_start(path: Path) -> None:
    with MemoryStore.open(path) as store:
        with store.engine.begin() as connection:
            connection.execute(text("UPDATE vectors SET vector = x'00' WHERE num = 2"))
        store._views.drop()
        view_of(store)
        assert store.damaged(1)
    assert not column_file(path).exists()


def kept(path: Path) -> list[str]:
    return sorted(file.name for file in (path / "columns").iterdir())


def taken(path: Path) -> int:
    return sum(column_files._on_disk(file.stat()) for file in (path / "columns").iterdir())


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """A store of two scopes with a file each; the second was written later."""
    with MemoryStore.open(tmp_path / "two") as store:
        for name in "ab":
            store.remember_many(memories(10), scope=Scope(user_id=name))
    assert kept(tmp_path / "two") == ["1.columns", "2.columns"]
    return tmp_path / "two"


def third(store: MemoryStore) -> None:
    """A third scope has a file."""
    store.remember_many(memories(10), scope=Scope(user_id="c"))
    store.view(3)
    assert store._views.save(3)
