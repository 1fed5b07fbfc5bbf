"""What is said of HNSW files that were being written."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from recall_integrations.indexes.vectors import torn


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
