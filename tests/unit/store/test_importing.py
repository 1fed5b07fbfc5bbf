from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recall_integrations import MemoryStore
from recall_integrations.errors import InvalidArgument, InvalidMemory
from recall_integrations.store.importing import BadEntry, Importer
from recall_integrations.types import Scope


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with MemoryStore.open() as opened:
        yield opened


def write(path: Path, *rows: Any) -> Path:
    path.write_text("".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in rows), encoding="utf-8")
    return path


def run(store: MemoryStore, path: Path, scope: Scope | None = None, **options: Any) -> tuple[int, int, int]:
    importer = Importer(store, batch_size=options.pop("batch_size", 1_000))
    importer.read(path, scope or Scope(), **options)
    return importer.report.new, importer.report.replaced, importer.report.unchanged


def test_a_second_run_changes_nothing(store: MemoryStore, tmp_path: Path) -> None:
    rows = [{"text": f"memory {i}", "thread": "t"} for i in range(5)] + [
        {"text": "with id", "id": "a", "importance": 1}
    ]
    path = write(tmp_path / "m.jsonl", *rows)
    assert run(store, path, batch_size=2) == (6, 0, 0)
    scope_id = store.scope_id(Scope())
    assert scope_id is not None
    version = store.version(scope_id)
    assert run(store, path) == (0, 0, 6)
    assert (store.count(), store.version(scope_id)) == (6, version)


def test_an_edited_row_with_an_id_replaces(store: MemoryStore, tmp_path: Path) -> None:
    run(store, write(tmp_path / "m.jsonl", {"id": "a", "text": "old"}, {"id": "b", "text": "stays"}))
    assert run(store, write(tmp_path / "m.jsonl", {"id": "a", "text": "new"}, {"id": "b", "text": "stays"})) == (
        0,
        1,
        1,
    )
    memory = store.get("a")
    assert memory is not None and memory.text == "new"


@pytest.mark.parametrize(
    "change",
    [
        {"type": "fact"},
        {"actor": "Sam"},
        {"event_at": "2026-03-01T12:00:00Z"},
        {"created_at": "2026-03-01T12:00:00Z"},
        {"importance": 0.7},
        {"entities": ["Sam"]},
        {"relations": [["a", "b", "c"]]},
        {"thread": "t"},
        {"refs": ["r"]},
        {"metadata": {"k": 1}},
    ],
)
def test_every_field_counts_as_a_change(store: MemoryStore, tmp_path: Path, change: dict[str, Any]) -> None:
    run(store, write(tmp_path / "m.jsonl", {"id": "a", "text": "x"}))
    path = write(tmp_path / "m.jsonl", {"id": "a", "text": "x", **change})
    assert run(store, path) == (0, 1, 0)
    assert run(store, path) == (0, 0, 1)


def test_rows_without_id_are_found_again_when_lines_move(store: MemoryStore, tmp_path: Path) -> None:
    run(store, write(tmp_path / "m.jsonl", {"text": "one"}, {"text": "two"}))
    assert run(store, write(tmp_path / "m.jsonl", {"text": "zero"}, {"text": "one"}, "", {"text": "two"})) == (1, 0, 2)


def test_equal_rows_without_id_are_all_kept(store: MemoryStore, tmp_path: Path) -> None:
    path = write(tmp_path / "m.jsonl", {"text": "ok"}, {"text": "ok"}, {"text": "ok"})
    assert run(store, path) == (3, 0, 0)
    assert run(store, path) == (0, 0, 3)


def test_rows_go_to_their_scopes(store: MemoryStore, tmp_path: Path) -> None:
    path = write(
        tmp_path / "m.jsonl",
        {"text": "x", "id": "a", "user_id": "u1"},
        {"text": "y", "id": "a", "user_id": "u2"},
        {"text": "z", "id": "a"},
    )
    assert run(store, path, Scope("default", "agent")) == (3, 0, 0)
    texts = [store.get("a", scope=s) for s in (Scope("u1", "agent"), Scope("u2", "agent"), Scope("default", "agent"))]
    assert [m and m.text for m in texts] == ["x", "y", "z"]


def test_a_bad_row_stops_before_anything_is_stored(store: MemoryStore, tmp_path: Path) -> None:
    path = write(tmp_path / "m.jsonl", {"text": "one"}, "", {"txt": "two"}, {"text": "three"})
    importer = Importer(store)
    with pytest.raises(InvalidMemory, match=r"m\.jsonl, line 3: unknown key 'txt'\. Did you mean 'text'\?"):
        importer.read(path, Scope())
    assert (store.count(), importer.report.new) == (0, 0)


def test_bad_rows_can_be_skipped_and_are_listed(store: MemoryStore, tmp_path: Path) -> None:
    path = write(tmp_path / "m.jsonl", "{", {"text": "one", "id": "a"}, {"text": "two", "id": "a"}, {"text": "three"})
    importer = Importer(store)
    importer.read(path, Scope(), skip_bad=True)
    assert importer.report.new == 2
    assert [bad.where for bad in importer.report.bad] == ["line 1", "line 3"]
    assert importer.report.bad[1] == BadEntry(where="line 3", problem="the id 'a' was given to line 2 already")
    memory = store.get("a")
    assert memory is not None and memory.text == "one"


def test_an_import_that_broke_off_continues(store: MemoryStore, tmp_path: Path) -> None:
    path = write(tmp_path / "m.jsonl", *({"text": f"memory {i}", "thread": "t"} for i in range(10)))
    read = 0

    def stop(count: int) -> None:
        nonlocal read
        read += count
        if read > 7:
            raise KeyboardInterrupt

    importer = Importer(store, batch_size=2)
    with pytest.raises(KeyboardInterrupt):
        importer.read(path, Scope(), advance=stop)
    stored = store.count()
    assert 0 < stored < 10
    assert importer.report.rows == stored
    assert run(store, path) == (10 - stored, 0, stored)
    places = [store.fetch(1, range(1, 100))[n].position for n in sorted(store.fetch(1, range(1, 100)))]
    assert places == list(range(10))


def test_a_line_ends_at_a_line_feed_and_nowhere_else(store: MemoryStore, tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"text": "a\xe2\x80\xa8b", "id": "1"}\r\n{"text": "c", "id": "2"}')
    assert run(store, path) == (2, 0, 0)
    memory = store.get("1")
    assert memory is not None and memory.text == "a\u2028b"


def test_every_memory_is_told_of(store: MemoryStore, tmp_path: Path) -> None:
    path = write(tmp_path / "m.jsonl", {"text": "one"}, "", "{", {"text": "two"})
    seen: list[int] = []
    Importer(store).read(path, Scope(), skip_bad=True, advance=seen.append)
    assert sum(seen) == 2


def test_a_file_that_cannot_be_read_is_an_error(store: MemoryStore, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="Cannot read"):
        Importer(store).read(tmp_path / "none.jsonl", Scope())
