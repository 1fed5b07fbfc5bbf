"""Chroma in a directory by itself: what it holds, what it lets go of, and how its failures are told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recall_integrations.errors import IndexUnavailable, VectorsAway
from recall_integrations.indexes.vectors import CollectionLost
from recall_integrations.store.chroma_files import ChromaFiles
from recall_integrations.store.memory_store import MemoryStore

HOME, OTHER = "files.1.a.b", "files.2.a.b"
EAST, NORTH, WEST = [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]


@pytest.fixture
def index(store: MemoryStore, tmp_path: Path) -> Iterator[ChromaFiles]:
    made = ChromaFiles(store.engine, tmp_path / "files")
    yield made
    made.close()


def matrix(*rows: list[float]) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.asarray(rows, dtype=np.float32)


def put(index: ChromaFiles, home: str, nums: list[int], *rows: list[float]) -> None:
    index.make(home, "files")
    index.apply(home, nums, matrix(*rows), [])


def test_neighbours_come_with_their_cosines_nearest_first(index: ChromaFiles) -> None:
    assert not index.opened
    put(index, HOME, [7, 8, 9], NORTH, WEST, EAST)
    assert index.opened
    nums, cosines = index.nearest(HOME, matrix(EAST)[0], 3)
    assert nums.tolist() == [9, 7, 8]
    assert cosines.tolist() == pytest.approx([1, 0, -1], abs=1e-6)
    index.apply(HOME, [9], matrix(NORTH), [7])  # one replaced, one removed
    index.apply(HOME, [], matrix(NORTH)[:0], [99])  # never there
    assert sorted(index.nearest(HOME, matrix(EAST)[0], 3)[0].tolist()) == [8, 9]
    assert index.count(HOME) == 2 and index.nums(HOME).tolist() == [8, 9]


def test_a_collection_that_is_dropped_is_lost(index: ChromaFiles) -> None:
    put(index, HOME, [1, 2], EAST, NORTH)
    put(index, OTHER, [3], WEST)
    assert index.homes() == [HOME, OTHER]
    index.drop(HOME)
    index.drop(HOME)
    assert index.homes() == [OTHER]
    with pytest.raises(CollectionLost):
        index.nearest(HOME, matrix(EAST)[0], 1)
    put(index, HOME, [4], WEST)
    assert index.nearest(HOME, matrix(EAST)[0], 5)[0].tolist() == [4]


def test_a_directory_that_is_left_goes(index: ChromaFiles) -> None:
    put(index, HOME, [1], EAST)
    before = index.path
    index.empty()
    assert index.path != before and not before.exists() and not index.path.exists()
    assert index.homes() == []


def test_closed_it_stays_closed_and_is_read_again(index: ChromaFiles, store: MemoryStore, tmp_path: Path) -> None:
    put(index, HOME, [1], EAST)
    index.close()
    index.close()
    with pytest.raises(IndexUnavailable, match="closed"):
        index.count(HOME)
    index.seal()
    again = ChromaFiles(store.engine, tmp_path / "files")
    assert again.problem(0) == "" and again.count(HOME) == 1
    again.close()


def test_only_a_failure_of_chroma_is_told_as_one(index: ChromaFiles) -> None:
    """A panic of its core is no `Exception`; an interrupt is none either, and is nobody's failure."""
    panic = type("PanicException", (BaseException,), {})

    class Failing:
        def __init__(self, error: BaseException) -> None:
            self.error = error

        def list_collections(self) -> list[Any]:
            raise self.error

    for error in (RuntimeError("disk"), panic("core")):
        index._client = Failing(error)
        with pytest.raises(IndexUnavailable, match=str(error)):
            index.homes()
    index._client = Failing(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        index.homes()
    index._client = None


def test_an_empty_directory_that_cannot_be_opened_is_no_damage(
    index: ChromaFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError("disk full")

    with monkeypatch.context() as patched:
        patched.setattr("chromadb.config.System.start", full)
        for _ in range(2):
            with pytest.raises(VectorsAway, match="disk full"):
                index.check()
            assert not index.path.exists()
    index.check()


def test_what_is_no_directory_is_damage_and_another_width_an_error(
    index: ChromaFiles, store: MemoryStore, tmp_path: Path
) -> None:
    (tmp_path / "files").mkdir()
    index.path.write_text("x")
    with pytest.raises(CollectionLost, match="damaged"):
        index.check()
    index.empty()
    put(index, HOME, [1], [1.0, 0.0, 0.0, 0.0])
    with pytest.raises(IndexUnavailable):
        index.nearest(HOME, np.ones(7, dtype=np.float32), 1)
