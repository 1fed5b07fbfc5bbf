"""The best of many sums are the same, whether all are added up or only those that can be among them."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from recall_integrations.indexes.bm25 import Entries, best_rows
from tests.quick import examples

WORDS = st.lists(
    st.tuples(st.floats(1e-6, 20), st.floats(0.01, 1), st.integers(1, 6)),  # weight, share of rows, largest count
    min_size=1,
    max_size=6,
)


@settings(max_examples=examples(150), deadline=None)
@given(WORDS, st.integers(1, 400), st.integers(1, 60), st.integers(1, 3), st.booleans(), st.integers(0, 1 << 20))
@example([(5.0, 1.0, 1), (1e-6, 1.0, 1)], 400, 10, 2, False, 1)  # all are equal
def test_the_best_and_what_is_as_good_are_found(
    words: list[tuple[float, float, int]], size: int, limit: int, parts: int, masked: bool, seed: int
) -> None:
    random = np.random.default_rng(seed)
    norms = random.choice([1.2, 1.5, 4.0], size)
    allowed = random.random(size) < 0.5 if masked else None

    def k(rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return norms[rows]

    expected, lists = np.zeros(size), []
    for weight, share, most in words:
        rows = np.flatnonzero(random.random(size) < share).astype(np.int32)
        counts = random.integers(1, most + 1, len(rows)).astype(np.int32)
        expected[rows] += weight * counts / (counts + norms[rows])
        pieces = list(zip(np.array_split(rows, parts), np.array_split(counts, parts), strict=True))
        lists.append(Entries(pieces, weight, int(counts.max(initial=0)), k, 1.2))
    if allowed is not None:
        expected[~allowed] = 0
    found, sums = best_rows(lists, size, limit, allowed)
    assert np.array_equal(found, np.unique(found))
    assert np.array_equal(sums, expected[found])
    positive = np.flatnonzero(expected)
    last = np.float32(np.sort(expected[positive])[-limit]) if len(positive) >= limit else np.float32(0)
    wanted = positive[expected[positive].astype(np.float32) >= last]
    assert set(wanted.tolist()) <= set(found.tolist())
    assert allowed is None or allowed[found].all()


def test_what_cannot_be_among_the_best_is_not_read() -> None:
    rare = np.arange(0, 1_000_000, 10_000, dtype=np.int32)
    all_rows = np.arange(1_000_000, dtype=np.int32)

    ones = np.ones(1_000_000, dtype=np.int32)
    calls: list[int] = []

    def counted(rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        calls.append(len(rows))
        return np.full(len(rows), 1.2)

    lists = [
        Entries([(all_rows, ones)], 1.0, 1, counted, 1.2),
        Entries([(rare, ones[: len(rare)])], 15.0, 1, counted, 1.2),
    ]
    found, _ = best_rows(lists, 1_000_000, 40, None)
    assert len(found) == len(rare)
    assert max(calls) == len(rare)
