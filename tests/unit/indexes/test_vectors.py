"""The index of neighbours by itself: what it holds, what it lets go of, and how its failures are told."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recall_integrations.errors import IndexUnavailable
from recall_integrations.indexes.vectors import SemanticIndex, torn
from tests import in_collections

HOME = "scope-1"
EAST, NORTH, WEST = [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]


@pytest.fixture
def index(tmp_path: Path) -> Iterator[SemanticIndex]:
    made = SemanticIndex(tmp_path / "semantic")
    yield made
    made.close()


def matrix(*rows: list[float]) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.asarray(rows, dtype=np.float32)


def test_neighbours_come_with_their_cosines_nearest_first(index: SemanticIndex) -> None:
    assert not index.opened
    index.apply(HOME, [7, 8, 9], matrix(NORTH, WEST, EAST), [])
    assert index.opened
    nums, cosines = index.nearest(HOME, matrix(EAST)[0], 3)
    assert nums.tolist() == [9, 7, 8]
    assert cosines.tolist() == pytest.approx([1, 0, -1], abs=1e-6)
    index.apply(HOME, [9], matrix(NORTH), [7])
    assert sorted(index.nearest(HOME, matrix(EAST)[0], 3)[0].tolist()) == [8, 9]
    assert index.count() == 2


def test_collections_that_nobody_needs_are_removed(index: SemanticIndex) -> None:
    for home in ("one", "two", "three"):
        index.apply(home, [1, 2], matrix(EAST, NORTH), [])
    index.keep(["one", "three", "four"])
    assert sorted(in_collections.nums(index)) == ["recall-one", "recall-three"]
    index.drop("three")
    index.drop("two")
    assert sorted(in_collections.nums(index)) == ["recall-one"]
    index.apply("three", [3], matrix(WEST), [])
    assert index.nearest("three", matrix(EAST)[0], 5)[0].tolist() == [3]


def test_closed_and_asked_again_it_opens_anew(index: SemanticIndex) -> None:
    index.apply(HOME, [1], matrix(EAST), [])
    index.close()
    assert not index.opened
    assert index.nearest(HOME, matrix(EAST)[0], 1)[0].tolist() == [1]
    assert index.opened, "a collection of the client that was closed"


def test_only_a_failure_of_chroma_is_told_as_one(index: SemanticIndex) -> None:
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
            index.count()
    index._client = Failing(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        index.count()


def written(folder: Path, *, count: int = 3, capacity: int = 10, version: int = 1, header: int = 100) -> None:
    """HNSW files of `count` elements of 8 bytes, as far as `torn` reads them."""
    folder.mkdir(parents=True)
    (folder / "index_metadata.pickle").write_bytes(b"x")
    begins = struct.pack("<i4Q", version, 0, capacity, count, 8)
    (folder / "header.bin").write_bytes(begins.ljust(header, b"\0")[:header])
    (folder / "data_level0.bin").write_bytes(b"\0" * 8 * 3)
    (folder / "length.bin").write_bytes(b"\0" * 4 * 3)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, None),
        ({"count": 11, "capacity": 10}, "torn"),
        ({"count": 10, "capacity": 10}, "shorter"),
        ({"header": 99}, "torn"),
        ({"header": 20}, "cannot be read"),
        ({"count": 4}, "shorter"),
        ({"count": 4, "version": 2}, None),  # not judged
    ],
)
def test_files_that_were_being_written_are_told(tmp_path: Path, given: dict[str, int], says: str | None) -> None:
    written(tmp_path / "segment", **given)
    found = torn(tmp_path)
    assert found is None if says is None else found is not None and says in found


def test_a_file_that_is_short_or_gone_is_told_whatever_stands_before_it(tmp_path: Path) -> None:
    written(tmp_path / "a", version=2)
    written(tmp_path / "b")
    assert torn(tmp_path) is None
    (tmp_path / "b" / "length.bin").write_bytes(b"\0" * 11)
    assert "shorter" in (torn(tmp_path) or "")
    (tmp_path / "b" / "length.bin").unlink()
    assert "cannot be read" in (torn(tmp_path) or "")
    (tmp_path / "b" / "index_metadata.pickle").unlink()  # Chroma does not load the others without it
    assert torn(tmp_path) is None
