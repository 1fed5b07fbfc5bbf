from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_integrations.reranking.reranking import (
    GateInput,
    regret_max,
    should_rerank,
    work_of,
)
from recall_integrations.resilience.guard import Estimate
from tests.rows import each_row

SETTINGS = (0.02, 1_000.0)  # least regret, longest wait
UNSURE = np.array([0.5, 0.45, 0.4, 0.35, 0.3])
FALLING = st.lists(st.floats(0, 1), min_size=1, max_size=12).map(lambda p: np.array(sorted(p, reverse=True)))


def asked(**changes: object) -> GateInput:
    return GateInput(**{"allowed": True, "calibrated": UNSURE, "k": 2, **changes})  # type: ignore[arg-type]


# -- the decision


@each_row(
    ("changes", "reason"),
    [
        ({}, "run"),
        ({"allowed": False}, "skip.plan"),
        ({"calibrated": UNSURE[:2]}, "skip.few"),
        ({"calibrated": UNSURE[:0]}, "skip.few"),
        ({"open_breaker": True}, "skip.breaker"),
        ({"ready": False}, "skip.cold"),
        ({"calibrated": np.array([1.0, 1.0, 0.0, 0.0])}, "skip.certain"),
        ({"calibrated": np.array([0.001, 0.0005, 0.0])}, "skip.certain"),
        ({"remaining_ms": 0.0}, "skip.budget"),
        ({"remaining_ms": 0.0, "probe": True}, "skip.budget"),
        ({"estimate": Estimate(median_ms=51, p95_ms=60), "remaining_ms": 50}, "skip.budget"),
        ({"estimate": Estimate(median_ms=10, p95_ms=1_001)}, "skip.slow"),
        ({"estimate": Estimate(median_ms=10, p95_ms=1_000)}, "run"),
        ({"estimate": Estimate(median_ms=10, p95_ms=1_001), "probe": True}, "run"),
    ],
)
def test_the_first_no_decides(changes: dict[str, object], reason: str) -> None:
    assert should_rerank(asked(**changes), *SETTINGS) == (reason == "run", reason)


def test_a_slow_reranker_is_left_out() -> None:
    slow = asked(estimate=Estimate(median_ms=1_500, p95_ms=2_000), remaining_ms=2_000)
    assert should_rerank(slow, *SETTINGS)[1] == "skip.slow"
    assert should_rerank(asked(estimate=slow.estimate, remaining_ms=900), *SETTINGS) == (
        False,
        "skip.budget",
    )


# -- regret


def test_regret_by_hand() -> None:
    # Expected relevant: 1. Perfect: one hit at place one. Now: .5 there and .5 at place two (1/log2 3 = .6309).
    assert regret_max(np.array([0.5, 0.5]), 2) == pytest.approx(1 - 0.5 - 0.5 * 0.6309, abs=1e-4)
    assert regret_max(np.array([0.5, 0.5]), 1) == pytest.approx(0.5)


@given(FALLING, st.integers(1, 15), st.randoms(use_true_random=False))
def test_no_reranker_adds_more_than_the_regret(p, k, random) -> None:
    """Independent or all together: whatever is relevant, the best order gains no more on average."""

    def weight(i: int) -> float:
        return 1 / math.log2(i + 2)

    now = sum(weight(i) * p[i] for i in range(min(k, len(p))))
    ideal = [sum(weight(i) for i in range(min(k, r))) for r in range(len(p) + 1)]
    counts = np.array([1.0])  # of relevant candidates, if they are independent
    for x in p:
        counts = np.convolve(counts, [1 - x, x])
    together = np.zeros(len(p) + 1)  # if one uniform number decides for all
    edges = [1.0, *p.tolist(), 0.0]
    for r in range(len(p) + 1):
        together[r] = edges[r] - edges[r + 1]
    for distribution in (counts, together):
        assert float(distribution @ ideal) - now <= regret_max(p, k) + 1e-9


# -- what is remembered


def test_texts_beyond_what_a_model_reads_cost_no_more() -> None:
    assert work_of("q", ["x" * 10_000]) == work_of("q", ["x" * 1_000_000])
