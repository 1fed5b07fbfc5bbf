"""What a query and its phrasings find becomes one order: by hand, and for anything that may come."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_integrations.ranking.arranging.arrange import Near, with_phrasings
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


def near(rows: np.ndarray) -> np.ndarray:
    """Rows up to 20 are as near the query as can be, the others not at all."""
    return np.where(rows <= 20, 0.5, 0.0)


def test_a_memory_counts_with_its_best_score() -> None:
    own = ranked([3, 5, 7], [0.6, 0.3, 0.1])
    fused, ways = with_phrasings(own, [ranked([7, 9], [0.9, 0.2]), ranked([9, 5], [0.4, 0.1])], VIEW, k=5)
    assert fused.rows.tolist() == [7, 3, 9, 5] and ways == {7: 0, 9: 1}
    assert fused.scores.tolist() == pytest.approx([0.9, 0.6, 0.4, 0.3])
    assert fused.raw["rewrite"].tolist() == pytest.approx([0.9, np.nan, 0.4, np.nan], nan_ok=True)
    assert total(fused) == sorted(total(fused), reverse=True)


def test_a_first_hit_that_a_phrasing_confirms_has_its_score() -> None:
    fused, ways = with_phrasings(ranked([3, 5], [0.2, 0.1]), [ranked([3], [0.8])], VIEW, k=5)
    assert fused.rows.tolist() == [3, 5] and ways == {3: 0}
    assert fused.scores.tolist() == pytest.approx([0.8, 0.1])


def test_log_odds_by_query_and_phrasing_are_pooled() -> None:
    own = ranked([3, 5, 7], [0.6, 0.3, 0.2])
    # log odds: 7: -1.39 + .6 * 2.94; 3: .41 + .6 * 0; 9: -6.91 + .6 * 2.94; 5: -.85 - .6 * 6.91
    fused, ways = with_phrasings(own, [ranked([7, 9, 3], [0.95, 0.95, 0.5])], VIEW, k=5, near=near)
    assert fused.rows.tolist() == [3, 7, 5, 9] and ways == {7: 0, 9: 0}
    fused, _ = with_phrasings(own, [ranked([7, 9, 3], [0.97, 0.97, 0.5])], VIEW, k=5, near=near)
    assert fused.rows.tolist() == [7, 3, 9, 5]
    assert fused.scores.tolist() == pytest.approx([0.608, 0.6, 0.3, 0.047], abs=1e-3)  # sorted along the order
    assert total(fused) == sorted(total(fused), reverse=True)


def test_what_is_far_from_the_query_needs_more_to_overtake_its_first_hit() -> None:
    for row, first in ((5, 5), (25, 3)):
        own, found = ranked([3, row], [0.6, 0.2]), [ranked([row, 3], [0.97, 0.5])]
        assert with_phrasings(own, found, VIEW, k=5, near=near)[0].rows[0] == first


def test_where_the_query_finds_nothing_its_phrasings_may() -> None:
    for careful in (None, near):
        fused, ways = with_phrasings(ranked([], []), [ranked([9], [0.5])], VIEW, k=5, near=careful)
        assert fused.rows.tolist() == [9] and ways == {9: 0} and 0 < fused.scores[0] <= 0.5


def test_phrasings_that_find_nothing_better_change_nothing() -> None:
    own = ranked([3, 5], [0.6, 0.5])
    assert with_phrasings(own, [ranked([3, 5], [0.5, 0.4])], VIEW, k=5) == (own, {})
    assert with_phrasings(own, [], VIEW, k=5) == (own, {})
    assert with_phrasings(own, [ranked([9], [0.0])], VIEW, k=5) == (own, {})


found = st.lists(st.integers(0, 39), unique=True, max_size=30).flatmap(
    lambda rows: st.lists(st.floats(0, 1, width=32), min_size=len(rows), max_size=len(rows)).map(
        lambda scores: ranked(rows, sorted(scores, reverse=True))
    )
)


@given(found, st.lists(found, max_size=3), st.integers(1, 8), st.sampled_from((None, near)))
def test_whatever_comes(own: Fused, others: list[Fused], k: int, careful: Near | None) -> None:
    fused, ways = with_phrasings(own, others, VIEW, k=k, near=careful)
    assert set(own.rows.tolist()) <= set(fused.rows.tolist()) and len(set(fused.rows.tolist())) == len(fused.rows)
    assert set(ways) <= {row for other in others for row in other.rows.tolist()}
    assert set(fused.rows.tolist()) - set(own.rows.tolist()) <= {row for other in others for row in other.rows.tolist()}
    assert (np.diff(fused.scores) <= 0).all() and ((fused.scores >= 0) & (fused.scores <= 1)).all()
    assert not len(own.scores) or fused.scores[0] >= own.scores[0]
    sums = total(fused) if len(fused.rows) else []
    assert all(a >= b - 1e-4 for a, b in itertools.pairwise(sums))
    again = with_phrasings(own, others, VIEW, k=k, near=careful)[0]
    assert again.rows.tolist() == fused.rows.tolist()
