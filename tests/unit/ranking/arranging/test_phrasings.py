"""Max-score merging of a query's phrasings, by hand and for anything that may come."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_integrations.ranking.arranging.arrange import with_phrasings
from recall_integrations.ranking.fusion import Fused
from tests.unit.ranking.arranging.test_moves import total, view

VIEW = view([[1.0, 0.0]] * 40)


def ranked(rows: Sequence[int], scores: Sequence[float]) -> Fused:
    values = np.asarray(scores, dtype=np.float32)
    return Fused(
        rows=np.asarray(rows, dtype=np.int64),
        scores=values,
        added={"bm25": values * 10 - 2},
        raw={"bm25": values},
        ranks={"lexical": np.arange(1, len(rows) + 1, dtype=np.int32)},
    )


def test_a_memory_counts_with_its_best_score() -> None:
    own = ranked([3, 5, 7], [0.6, 0.3, 0.1])
    fused, ways = with_phrasings(
        own, [ranked([7, 9], [0.5, 0.2]), ranked([9, 5], [0.4, 0.1])], VIEW, k=5, trust=0.8, keep_first=1
    )
    assert fused.rows.tolist() == [3, 7, 9, 5]
    assert fused.scores.tolist() == pytest.approx([0.6, 0.4, 0.32, 0.3])
    assert ways == {7: 0, 9: 1}
    assert fused.raw["rewrite"].tolist() == pytest.approx([np.nan, 0.5, 0.4, np.nan], nan_ok=True)
    assert total(fused) == sorted(total(fused), reverse=True)


def test_nothing_is_put_above_the_first_hit() -> None:
    own = ranked([3, 5], [0.2, 0.1])
    fused, _ = with_phrasings(own, [ranked([9, 5], [0.99, 0.98])], VIEW, k=5, trust=1.0, keep_first=1)
    assert fused.rows.tolist() == [3, 5, 9] and fused.scores.tolist() == pytest.approx([0.2, 0.2, 0.2])


def test_where_the_query_finds_nothing_its_phrasings_may() -> None:
    fused, ways = with_phrasings(ranked([], []), [ranked([9], [0.5])], VIEW, k=5, trust=0.8, keep_first=1)
    assert fused.rows.tolist() == [9] and fused.scores.tolist() == pytest.approx([0.4]) and ways == {9: 0}


def test_phrasings_that_find_nothing_better_change_nothing() -> None:
    own = ranked([3, 5], [0.6, 0.5])
    assert with_phrasings(own, [ranked([5, 9], [0.5, 0.0])], VIEW, k=5, trust=0.8, keep_first=1) == (own, {})
    assert with_phrasings(own, [], VIEW, k=5, trust=0.8, keep_first=1) == (own, {})
    assert with_phrasings(own, [ranked([9], [0.9])], VIEW, k=5, trust=0.0, keep_first=1) == (own, {})


found = st.lists(st.integers(0, 39), unique=True, max_size=30).flatmap(
    lambda rows: st.lists(st.floats(0, 1, width=32), min_size=len(rows), max_size=len(rows)).map(
        lambda scores: ranked(rows, sorted(scores, reverse=True))
    )
)


@given(found, st.lists(found, max_size=3), st.integers(1, 8), st.integers(1, 5), st.floats(0, 1))
def test_whatever_comes(own: Fused, others: list[Fused], k: int, keep_first: int, trust: float) -> None:
    fused, ways = with_phrasings(own, others, VIEW, k=k, trust=trust, keep_first=keep_first)
    assert fused.rows.tolist()[:keep_first][: len(own.rows)] == own.rows.tolist()[:keep_first]
    assert set(own.rows.tolist()) <= set(fused.rows.tolist()) and len(set(fused.rows.tolist())) == len(fused.rows)
    assert set(fused.rows.tolist()) - set(own.rows.tolist()) <= set(ways)
    assert (np.diff(fused.scores) <= 0).all() and ((fused.scores >= 0) & (fused.scores <= 1)).all()
    before = dict(zip(own.rows.tolist(), own.scores.tolist(), strict=True))
    assert all(score >= before.get(row, 0) for row, score in zip(fused.rows.tolist(), fused.scores, strict=True))
    kept = [row for row in fused.rows.tolist() if row not in ways]
    assert kept == [row for row in own.rows.tolist() if row not in ways]  # in their own order
    sums = total(fused) if len(fused.rows) else []
    assert all(a >= b - 1e-4 for a, b in itertools.pairwise(sums))
    again = with_phrasings(own, others, VIEW, k=k, trust=trust, keep_first=keep_first)[0]
    assert again.rows.tolist() == fused.rows.tolist()
