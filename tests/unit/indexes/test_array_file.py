"""Files of arrays: what was written comes back mapped, and whatever happened to a file is noticed."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from recall_integrations.indexes import array_file
from recall_integrations.indexes.array_file import Unfit
from recall_integrations.indexes.vector_column import Mapped, VectorRows

ARRAYS = {
    "numbers": np.arange(1_000, dtype=np.int64),
    "halves": np.linspace(0, 1, 640, dtype=np.float16).reshape(10, 64),
    "flags": np.asarray([True, False, True]),
    "none": np.empty(0, dtype=np.int32),
}
TAGS = {"scope": 7, "digest": "ab", "seq": 12}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "7.columns"
    array_file.place(array_file.draft(path, TAGS, ARRAYS), path)
    return path


def test_arrays_and_tags_come_back(path: Path) -> None:
    opened = array_file.mapped(path)
    assert opened.tags == TAGS == array_file.read_tags(path)
    assert opened.size == path.stat().st_size
    for name, array in ARRAYS.items():
        assert opened.arrays[name].dtype == array.dtype
        assert np.array_equal(opened.arrays[name], array)
    os.utime(path)  # it was touched, so it is read whole
    array_file.mapped(path)
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_writing_to_an_array_changes_neither_the_file_nor_another_mapping(path: Path) -> None:
    opened, other = array_file.mapped(path), array_file.mapped(path)
    opened.arrays["numbers"][:] = -1
    assert other.arrays["numbers"][5] == 5
    os.utime(path)  # it was touched, so it is read whole
    array_file.mapped(path)


def test_room_behind_an_array_takes_what_is_appended_and_no_disk(tmp_path: Path) -> None:
    path, room = tmp_path / "7.columns", {"numbers": 1_000_000, "halves": 5}
    array_file.place(array_file.draft(path, TAGS, ARRAYS, room), path)
    opened = array_file.mapped(path)
    for name, array in ARRAYS.items():
        assert np.array_equal(opened.arrays[name], array)
        assert len(opened.buffers[name]) == len(array) + room.get(name, 0)
    opened.buffers["numbers"][1_000:1_003] = [7, 8, 9]
    assert np.array_equal(opened.buffers["numbers"][:1_003], [*range(1_000), 7, 8, 9])
    assert np.array_equal(opened.arrays["halves"], ARRAYS["halves"])
    os.utime(path)  # it was touched, so it is read whole
    array_file.mapped(path)
    if os.name == "posix" and (blocks := getattr(path.stat(), "st_blocks", None)) is not None:
        assert blocks * 512 < 1_000_000


def test_arrays_outlive_their_file(path: Path) -> None:
    opened = array_file.mapped(path)
    path.unlink()
    assert opened.arrays["numbers"].sum() == 499_500


@pytest.mark.parametrize("kept", [0, 10, 23, 24, 100, 2_000, -1])
def test_a_truncated_file_is_unfit(path: Path, kept: int) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:kept])
    with pytest.raises(Unfit):
        array_file.mapped(path)


def test_every_flipped_byte_of_what_is_used_is_noticed(path: Path) -> None:
    data = path.read_bytes()
    noticed = 0
    for at in range(0, len(data), 37):
        changed = bytearray(data)
        changed[at] ^= 0x10
        path.write_bytes(bytes(changed))
        os.utime(path, ns=(1, 1))
        try:
            opened = array_file.mapped(path)
        except Unfit:
            noticed += 1
        else:  # a byte between two arrays, or of the time of change itself
            assert all(np.array_equal(opened.arrays[name], array) for name, array in ARRAYS.items())
    assert noticed > 0.9 * len(range(0, len(data), 37))


def test_a_copy_is_read_whole_once(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "copy"
    copy.write_bytes(path.read_bytes())
    os.utime(copy, ns=(5, 5))
    calls: list[int] = []
    verify = array_file._verify
    monkeypatch.setattr(array_file, "_verify", lambda *a: (calls.append(1), verify(*a))[1])
    array_file.mapped(copy)
    array_file.mapped(copy)
    array_file.mapped(path)
    assert calls == [1]


def test_a_foreign_file_is_unfit(tmp_path: Path) -> None:
    path = tmp_path / "foreign"
    for data in (b"", b"SQLite format 3\x00" + bytes(500), b"{}", os.urandom(4_000)):
        path.write_bytes(data)
        with pytest.raises(Unfit):
            array_file.read_tags(path)


def test_what_cannot_be_written_leaves_what_was_there(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        array_file.draft(path, {"seq": 13}, ARRAYS)
    assert array_file.read_tags(path) == TAGS
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_what_was_let_go_is_read_again(path: Path) -> None:
    opened = array_file.mapped(path)
    for name, array in ARRAYS.items():
        found = opened.arrays[name]
        assert (found == array).all()
        array_file.let_go(found)
        assert (found == array).all(), name


def test_only_mapped_arrays_are_let_go() -> None:
    own = np.zeros(100_000)
    own += 1
    assert not array_file.let_go(own)
    assert (own == 1).all()


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="what is resident is read from /proc")
def test_rows_that_are_read_here_and_there_do_not_stay(tmp_path: Path) -> None:
    path = tmp_path / "8.columns"
    halves = np.random.default_rng(0).random((40_000, 64)).astype(np.float16)
    array_file.place(array_file.draft(path, TAGS, {"vectors.halves": halves}), path)
    opened = array_file.mapped(path)
    most = 500_000  # of 5 MB
    rows = VectorRows(halves=opened.arrays["vectors.halves"], mapped=Mapped(opened.arrays["vectors.halves"], most))
    for wanted in np.random.default_rng(1).integers(0, len(halves), (200, 20)):
        assert (rows.of(wanted) == halves[wanted].astype(np.float32)).all()
    assert resident(path) < 3 * most
    assert (rows.of(slice(None)) == halves.astype(np.float32)).all()
    del opened


def resident(path: Path) -> int:
    """Bytes of a mapped file that are in this process's memory."""
    found, own = 0, False
    for line in Path("/proc/self/smaps").read_text(encoding="utf-8").splitlines():
        if "-" in line.split()[0]:
            own = line.endswith(path.name)
        elif own and line.startswith("Rss:"):
            found += int(line.split()[1]) * 1_024
    return found
