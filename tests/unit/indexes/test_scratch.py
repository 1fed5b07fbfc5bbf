"""Arrays that need not stay in memory: they hold what is put in, and leave nothing behind."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from recall_integrations.indexes import array_file
from recall_integrations.indexes.array_file import Scratch, held, mapping_of
from recall_integrations.indexes.columns import postings_of
from recall_integrations.indexes.vector_column import VectorColumn


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scratch:
    monkeypatch.setattr(array_file, "SMALLEST", 1_000)
    return Scratch(tmp_path)


def test_a_large_array_has_a_file_without_a_name(files: Scratch, tmp_path: Path) -> None:
    made = files.empty((100, 10), np.int64)
    made[:] = 7
    assert made.shape == (100, 10)
    assert made.dtype == np.int64
    assert mapping_of(made) is not None
    assert held(made) == 0
    assert not list(tmp_path.iterdir())
    assert mapping_of(files.empty(10, np.int64)) is None
    assert held(Scratch().empty(1_000, np.int64)) == 8_000


def test_a_full_disk_leaves_it_in_memory(files: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(array_file, "FREE_MIN", 1 << 60)
    assert mapping_of(files.empty(1_000, np.int64)) is None


def test_grown_and_moved_arrays_hold_the_same(files: Scratch) -> None:
    own = np.arange(1_000)
    assert mapping_of(files.moved(own)) is not None
    assert np.array_equal(files.moved(own), own)
    assert np.array_equal(files.grown(own, 500, 2_000)[:500], own[:500])
    kept = postings_of(0, 500, [(np.zeros(500, dtype=np.int32), np.arange(500))])
    moved = kept.moved(files)
    assert np.array_equal(moved.of(0)[0], kept.of(0)[0])
    assert moved.bytes < kept.bytes


def test_vectors_in_a_file_are_those_in_memory(files: Scratch) -> None:
    rows = np.random.default_rng(1).normal(size=(300, 16)).astype(np.float16)
    column, plain = VectorColumn(16, 64, scratch=files), VectorColumn(16, 64)
    for part in np.array_split(rows, 3):
        column.append(part)
        plain.append(part)
    assert np.array_equal(column.snapshot().of(slice(None)), plain.snapshot().of(slice(None)))
    assert mapping_of(column.snapshot().halves) is not None
    assert plain.snapshot().mapped is None
