"""What a scan returns is what comparing all rows would have returned, whatever the vectors are."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from recall_integrations.indexes import kernels
from recall_integrations.indexes.vector_column import (
    Similarities,
    VectorColumn,
    VectorRows,
    lower_bound,
)
from tests.rows import each_row

Rows = NDArray[np.int64]
Scores = NDArray[np.float32]


def best(rows: Rows, scores: Scores, limit: int) -> tuple[Rows, Scores]:
    """Falling, ties by row."""
    order = np.lexsort((rows, -scores))[:limit]
    return rows[order], scores[order]


def unit(rows: NDArray[np.floating]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def dense(n: int, d: int) -> NDArray[np.float32]:
    return unit(np.random.default_rng(n + d).standard_normal((n, d)))


def counted(n: int, d: int) -> NDArray[np.float32]:
    """Bags of words: few distinct values, whose rounding errors all point the same way."""
    return unit(np.random.default_rng(n).poisson(0.3, (n, d)).astype(np.float64))


def peaked(n: int, d: int) -> NDArray[np.float32]:
    """One large component, as many embeddings have."""
    rows = np.random.default_rng(n).standard_normal((n, d))
    rows[:, 3] = 40
    return unit(rows)


def repeated(n: int, d: int) -> NDArray[np.float32]:
    """Many rows that are the same, and some that are 0."""
    rows = dense(n, d)[np.random.default_rng(1).integers(0, min(20, n), n)]
    rows[::7] = 0
    return rows


def near(n: int, d: int) -> NDArray[np.float32]:
    """All within a hair of each other."""
    return unit(dense(1, d) + 1e-3 * dense(n, d))


@pytest.fixture(params=["simsimd", "numpy"])
def kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "numpy":
        monkeypatch.setattr(kernels, "_simsimd", None)
    elif kernels._simsimd is None:
        pytest.skip("no wheel for this machine")
    return str(request.param)


def by_hand(rows: NDArray[np.float32], queries: NDArray[np.float32]) -> Scores:
    halves = rows.astype(np.float16).astype(np.float32)
    return np.max([np.vecdot(halves, query) for query in queries], axis=0).astype(np.float32)


@each_row("made", [dense, counted, peaked, repeated, near])
@each_row("size", [(3, 5), (40, 8), (900, 64), (5_000, 256), (700, 1_536)])
def test_a_scan_finds_what_comparing_all_finds(
    kernel: str, made: Callable[[int, int], NDArray[np.float32]], size: tuple[int, int]
) -> None:
    n, d = size
    rows = made(n, d)
    queries = np.concatenate([rows[:1], dense(2, d)[1:]])
    similarities = Similarities(VectorColumn.of(rows), queries, best)
    exact = by_hand(rows, queries)
    everything = np.arange(n)
    assert np.array_equal(similarities.of(everything), exact)
    assert np.abs(similarities.roughly(everything) - exact).max() <= similarities.margin
    rng = np.random.default_rng(0)
    masks = [None, rng.random(n) < 0.5, rng.random(n) < 0.05, everything < n // 3, np.zeros(n, dtype=np.bool_)]
    for allowed in masks:
        possible = everything if allowed is None else np.flatnonzero(allowed)
        for limit in (1, 10, 70):
            wanted = best(possible, exact[possible], limit)
            found = similarities.top(allowed, limit)
            assert np.array_equal(found[0], wanted[0]) and np.array_equal(found[1], wanted[1])
            known = rng.random(len(possible), dtype=np.float32)
            for base in (0.5, known):
                blended = (base + 0.3 * np.clip(exact[possible], 0, 1)).astype(np.float32)
                wanted = best(possible, blended, limit)
                found = similarities.top_of(possible, limit, base, 0.3)
                assert np.array_equal(found[0], wanted[0]) and np.array_equal(found[1], wanted[1])


def test_snapshots_stay_as_they_are(kernel: str) -> None:
    rows = dense(500, 16).astype(np.float16)
    column = VectorColumn(16)
    column.append(rows[:10])
    first = column.snapshot()
    column.append(rows[10:])
    assert len(first) == 10 and np.array_equal(first.halves, rows[:10])
    whole: VectorRows = column.snapshot()
    assert np.array_equal(whole.halves, rows) and whole.codes is not None and len(whole.codes) == 500
    assert column.bytes >= 500 * (16 * 2 + 16 + 4) and not first.of(np.arange(0)).size


def test_no_row_is_compared_exactly_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, queries = dense(50, 16), dense(2, 16)
    found, asked = Similarities(VectorColumn.of(rows), queries, best), []
    cosines = VectorRows.cosines

    def counted(self: VectorRows, rows: Rows, queries: NDArray[np.float32]) -> Scores:
        asked.extend(rows.tolist())
        return cosines(self, rows, queries)

    monkeypatch.setattr(VectorRows, "cosines", counted)
    exact = np.max(VectorColumn.of(rows).of(slice(None)) @ queries.T, axis=1)
    for wanted in ([3, 1, 4], [], [1, 5, 9, 3], [9, 4, 4], list(range(50))):
        at = np.asarray(wanted, dtype=np.int64)
        assert found.of(at) == pytest.approx(exact[at], abs=1e-6)
    assert sorted(asked) == list(range(50))


def test_without_codes_there_is_no_scan() -> None:
    vectors = VectorColumn.of(dense(10, 8), scanned=False)
    assert not vectors.scanned and vectors.of(np.asarray([3])).shape == (1, 8)
    with pytest.raises(ValueError, match="scanned"):
        Similarities(vectors, dense(1, 8), best)


def test_kernels_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    for n, d in ((0, 8), (1, 1), (1, 256), (7, 3), (5_000, 256), (300, 1_000)):
        codes = rng.integers(-127, 128, (n, d), dtype=np.int8)
        query = rng.integers(-127, 128, d, dtype=np.int8)
        rows, several = rng.integers(0, max(n, 1), n // 2), codes[:3]
        products = kernels.products_of(codes, rows, several)
        assert (products == several.astype(np.int64) @ codes[rows].astype(np.int64).T).all()
        fast = kernels.dots(codes, query)
        with monkeypatch.context() as patched:
            patched.setattr(kernels, "_simsimd", None)
            slow = kernels.dots(codes, query)
            assert (kernels.products_of(codes, rows, several) == products).all()
        assert np.array_equal(fast, slow)
        assert np.array_equal(slow, codes.astype(np.int64) @ query.astype(np.int64))
        assert fast.dtype == slow.dtype == np.float32


def test_halves_are_widened_exactly() -> None:
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    finite = every[np.isfinite(every)]
    wide = kernels.widened(finite)
    assert np.array_equal(wide, finite.astype(np.float32)) and np.array_equal(np.signbit(wide), np.signbit(finite))


def test_lower_bound_is_reached_often_enough() -> None:
    rng = np.random.default_rng(0)
    for n in (1, 5, 100, 1_000, 12_345):
        scores = rng.standard_normal(n).astype(np.float32)
        for limit in (1, 3, 60, 5_000):
            bound = lower_bound(scores, limit)
            assert bound == -np.inf if limit >= n else limit <= (scores >= bound).sum() <= max(2 * limit, limit + 20)
    assert lower_bound(np.ones(100, dtype=np.float32), 10) == 1
    assert lower_bound(np.ones(100, dtype=np.float32), 0) == -np.inf
