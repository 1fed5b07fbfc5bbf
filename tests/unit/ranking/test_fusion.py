"""Fusion on numbers that can be checked by hand."""

from __future__ import annotations

from datetime import datetime, timezone

import numpy as np
import pytest

from recall_integrations.arms.base import ArmResult
from recall_integrations.indexes.scope_view import ScopeView
from recall_integrations.indexes.times import to_micros
from recall_integrations.indexes.vector_column import VectorColumn
from recall_integrations.ranking import fusion
from recall_integrations.ranking.fusion import BOOSTS, FusionInput, fuse, lifted
from recall_integrations.types import ArmPlan, RetrievalPlan, TemporalWindow
from tests.columns import without_words
from tests.rows import each_row

NOW = datetime(2026, 6, 1, tzinfo=timezone.utc)
RRF = "rrf"


def weigh(monkeypatch: pytest.MonkeyPatch, **weights: float) -> None:
    """Give the terms of the weighted sum round weights; those that are not named have none."""
    monkeypatch.setattr(fusion, "WEIGHTS", {**dict.fromkeys(fusion.WEIGHTS, 0.0), **weights})


def view(n: int = 5, vectors=None, at=None) -> ScopeView:
    return ScopeView(
        scope_id=1,
        version=1,
        seq=n,
        nums=np.arange(1, n + 1, dtype=np.int64),
        ids=[f"m{i}" for i in range(n)],
        at=np.full(n, to_micros(NOW), dtype=np.int64) if at is None else np.asarray(at, dtype=np.int64),
        dated=np.ones(n, dtype=np.bool_),
        text=without_words(n),
        types=np.zeros(n, dtype=np.int8),
        importance=np.full(n, 0.5, dtype=np.float32),
        alive=np.ones(n, dtype=np.bool_),
        vectors=None if vectors is None else VectorColumn.of(vectors),
    )


def arm(name: str, rows: list[int], scores: list[float]) -> ArmResult:
    return ArmResult(arm=name, rows=np.asarray(rows, dtype=np.int64), scores=np.asarray(scores, dtype=np.float32))


def given(plan_arms=(), *, columns=None, vectors=None, window=None) -> FusionInput:
    plan = RetrievalPlan(name="balanced", arms=tuple(plan_arms))
    columns = columns or view()
    return FusionInput(
        view=columns,
        plan=plan,
        vectors=vectors,
        similarities=columns.scan(vectors),
        window=window,
        now=NOW,
        half_life_days=30,
    )


def test_rrf_by_hand():
    fused = fuse([arm("semantic", [0, 1], [0.9, 0.8]), arm("lexical", [1, 2], [9.0, 1.0])], given(), RRF)
    best = 2 / 61
    assert [int(r) for r in fused.rows] == [1, 0, 2]
    assert fused.scores == pytest.approx([(1 / 62 + 1 / 61) / best, (1 / 61) / best, (1 / 62) / best])


def test_rrf_uses_the_weights_of_the_plan():
    arms = [ArmPlan(name="semantic", weight=1.0), ArmPlan(name="lexical", weight=3.0)]
    fused = fuse([arm("semantic", [0], [0.9]), arm("lexical", [1], [9.0])], given(arms), RRF)
    assert [int(r) for r in fused.rows] == [1, 0]
    assert fused.scores == pytest.approx([3 / 4, 1 / 4])


@pytest.mark.parametrize("config", [RRF, "weighted"])
def test_a_single_source_keeps_its_own_order_and_scores(config):
    fused = fuse([arm("semantic", [3, 1, 2], [0.91, 0.4, 0.1]), arm("graph", [], [])], given(), config)
    assert [int(r) for r in fused.rows] == [3, 1, 2]
    assert fused.scores == pytest.approx([0.91, 0.4, 0.1])


@pytest.mark.parametrize("config", [RRF, "weighted"])
def test_ties_are_broken_by_id(config):
    fused = fuse([arm("semantic", [2, 0], [0.5, 0.5]), arm("lexical", [0, 2], [1.0, 1.0])], given(), config)
    ids = [given().view.ids[r] for r in fused.rows]
    assert fused.scores[0] == fused.scores[1]
    assert ids == sorted(ids)


def test_weighted_by_hand(monkeypatch):
    weigh(monkeypatch, semantic=0.6, lexical=0.3, importance=0.1)
    columns = view(2, vectors=np.asarray([[1.0, 0.0], [0.5, 0.75]], dtype=np.float32))
    query = np.asarray([[1.0, 0.0]], dtype=np.float32)
    fused = fuse(
        [arm("semantic", [0], [1.0]), arm("lexical", [1, 0], [4.0, 1.0])], given(columns=columns, vectors=query)
    )
    assert [int(r) for r in fused.rows] == [0, 1]
    # row 0: .6·1 + .3·(1/4) + .1·.5 ; row 1, which semantic did not return: .6·.5 + .3·1 + .1·.5
    assert fused.scores == pytest.approx([0.725, 0.65], abs=1e-6)
    assert fused.raw["semantic"] == pytest.approx([1.0, 0.5])


def test_weights_of_arms_that_failed_are_left_out(monkeypatch):
    columns = view(2, vectors=np.eye(2, dtype=np.float32))
    query = np.asarray([[1.0, 0.0]], dtype=np.float32)
    weigh(monkeypatch, semantic=0.6, lexical=0.3, graph=0.5)
    fused = fuse([arm("semantic", [0], [1.0]), arm("lexical", [0], [2.0])], given(columns=columns, vectors=query))
    assert fused.scores[0] == pytest.approx(1.0)


def test_recency_halves_at_its_half_life(monkeypatch):
    day = 86_400_000_000
    columns = view(2, vectors=np.ones((2, 1), dtype=np.float32), at=[to_micros(NOW), to_micros(NOW) - 30 * day])
    weigh(monkeypatch, recency=1.0)
    both = [arm("semantic", [0, 1], [1.0, 1.0]), arm("lexical", [0, 1], [1.0, 1.0])]
    fused = fuse(both, given(columns=columns, vectors=np.ones((1, 1), dtype=np.float32)))
    assert fused.scores == pytest.approx([1.0, 0.5])


def test_a_window_lifts_what_lies_in_it():
    day = 86_400_000_000
    columns = view(2, vectors=np.ones((2, 1), dtype=np.float32), at=[to_micros(NOW) - 90 * day, to_micros(NOW)])
    window = TemporalWindow(start=datetime(2026, 5, 31, tzinfo=timezone.utc), end=None, span=(0, 1), confidence=0.9)
    both = [arm("semantic", [0, 1], [1.0, 1.0]), arm("lexical", [0, 1], [1.0, 1.0])]
    inputs = given(columns=columns, vectors=np.ones((1, 1), dtype=np.float32), window=window)
    assert [int(r) for r in fuse(both, inputs, "weighted").rows] == [1, 0]


def test_nothing_from_anywhere():
    fused = fuse([arm("semantic", [], [])], given(), "weighted")
    assert len(fused.rows) == 0 and len(fused.scores) == 0


def test_rrf_gives_equals_the_mean_of_their_places():
    graph = ArmResult(
        arm="graph",
        rows=np.asarray([2, 0], dtype=np.int64),
        scores=np.asarray([0.9, 0.8], dtype=np.float32),
        support_rows=np.asarray([0, 1, 2, 3], dtype=np.int64),
        support_scores=np.asarray([0.5, 0.5, 1.0, 0.5], dtype=np.float32),
    )
    fused = fuse([graph, arm("lexical", [1, 0], [2.0, 1.0])], given(), RRF)
    best = 2 / 61
    expected = {0: 1 / 63 + 1 / 62, 1: 1 / 63 + 1 / 61, 2: 1 / 61}  # rows 0, 1 and 3 share places 2 to 4
    got = dict(zip(fused.rows.tolist(), fused.scores.tolist(), strict=True))
    assert got == pytest.approx({row: value / best for row, value in expected.items()})


def test_boosts_by_hand(monkeypatch):
    """All boosts together are the scale: what matches fully and has every boost would score 1."""
    columns = view(2, vectors=np.asarray([[1.0, 0.0], [0.5, 0.75]], dtype=np.float32))
    query = np.asarray([[1.0, 0.0]], dtype=np.float32)
    weigh(monkeypatch, semantic=0.6, lexical=0.3, importance=0.1)
    config = "boosts"
    both = [arm("semantic", [0], [1.0]), arm("lexical", [1, 0], [4.0, 1.0])]
    fused = fuse(both, given(columns=columns, vectors=query), config)
    assert {name for name in BOOSTS if name in fused.added} == {"recency", "importance"}
    whole = 1.05 * 1.05
    # bases .6·1 + .3·(1/4) and .6·.5 + .3·1; both are of now (recency 1) and of importance .5
    assert [int(r) for r in fused.rows] == [0, 1]
    assert fused.scores == pytest.approx([0.675 * 1.05 * 1.025 / whole, 0.6 * 1.05 * 1.025 / whole], rel=1e-5)
    assert fused.added["semantic"] == pytest.approx([0.6 / whole, 0.3 / whole], rel=1e-5)
    assert fused.added["recency"] == pytest.approx([0.05 * 0.675 / whole, 0.05 * 0.6 / whole], rel=1e-5)


def test_boosts_make_no_match_out_of_nothing():
    columns = view(2, vectors=np.asarray([[1.0, 0.0], [0.0, 1.0]], dtype=np.float32))
    query = np.asarray([[1.0, 0.0]], dtype=np.float32)
    both = [arm("semantic", [0, 1], [1.0, 0.0]), arm("lexical", [0], [4.0])]
    fused = fuse(both, given(columns=columns, vectors=query), "boosts")
    assert [int(r) for r in fused.rows] == [0, 1]
    assert fused.scores[1] == 0 < fused.scores[0] < 1


@pytest.mark.parametrize("name", ["semantic", "lexical"])
def test_boosts_lift_what_one_arm_alone_matched(name):
    graph = ArmResult(
        arm="graph",
        rows=np.asarray([1], dtype=np.int64),
        scores=np.asarray([1.0], dtype=np.float32),
        support_rows=np.asarray([1], dtype=np.int64),
        support_scores=np.asarray([1.0], dtype=np.float32),
    )
    fused = fuse([arm(name, [0, 1], [0.8, 0.8]), graph], given(), "boosts")
    assert [int(r) for r in fused.rows] == [1, 0]
    assert fused.scores[0] / fused.scores[1] == pytest.approx(1 + BOOSTS["graph"])


def test_without_vectors_the_cosines_are_those_that_the_arm_returned(monkeypatch):
    weigh(monkeypatch, semantic=0.6, lexical=0.4)
    fused = fuse([arm("semantic", [0, 2], [0.9, 0.4]), arm("lexical", [1, 0], [4.0, 1.0])], given())
    assert dict(zip(fused.rows.tolist(), fused.scores.tolist(), strict=True)) == pytest.approx(
        {0: 0.6 * 0.9 + 0.4 / 4, 1: 0.4, 2: 0.6 * 0.4}
    )
    np.testing.assert_allclose(fused.raw["semantic"], [0.9, np.nan, 0.4])


@each_row("strategy", ["rrf", "weighted", "boosts"])
def test_contributions_sum_to_the_score_also_after_a_lift(strategy):
    columns = view(4, vectors=np.asarray([[1.0, 0.0], [0.6, 0.8], [0.8, 0.6], [0.0, 1.0]], dtype=np.float32))
    query = np.asarray([[1.0, 0.0]], dtype=np.float32)
    both = [arm("semantic", [0, 2], [1.0, 0.8]), arm("lexical", [1, 3, 0], [4.0, 2.0, 1.0])]
    fused = fuse(both, given(columns=columns, vectors=query), strategy)
    assert sum(fused.added.values()) == pytest.approx(fused.scores, rel=1e-5)
    by_row = {0: 0.0, 1: 0.0, 2: 0.5, 3: 1.0}
    values = np.asarray([by_row[int(row)] for row in fused.rows], dtype=np.float32)
    before = dict(zip(fused.rows.tolist(), fused.scores.tolist(), strict=True))
    after = lifted(columns, fused, "exact", values, 3.0)
    assert sum(after.added.values()) == pytest.approx(after.scores, rel=1e-5)
    wanted = {row: (before[row] + 3 * by_row[row]) / 4 for row in by_row}  # still in [0, 1]
    assert dict(zip(after.rows.tolist(), after.scores.tolist(), strict=True)) == pytest.approx(wanted, rel=1e-5)
    assert (np.diff(after.scores) <= 0).all() and int(after.rows[0]) == 3
    assert [by_row[int(row)] for row in after.rows] == after.raw["exact"].tolist()
    assert after.added["exact"] == pytest.approx([0.75 * by_row[int(row)] for row in after.rows])


def test_a_lift_of_nothing_is_no_lift():
    fused = fuse([arm("semantic", [0, 1], [0.9, 0.8])], given(), RRF)
    assert lifted(view(), fused, "exact", np.zeros(2, dtype=np.float32), 3.0) is fused
