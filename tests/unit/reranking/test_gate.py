from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_integrations.reranking.gate import (
    GateInput,
    GateSettings,
    margin,
    movement,
    regret_max,
    should_rerank,
)
from recall_integrations.reranking.history import AUDIT_EVERY, MovementHistory, work_of
from recall_integrations.resilience.guard import Estimate

UNSURE = np.array([0.5, 0.45, 0.4, 0.35, 0.3])
FALLING = st.lists(st.floats(0, 1), min_size=1, max_size=12).map(lambda p: np.array(sorted(p, reverse=True)))


def asked(**changes: object) -> GateInput:
    return GateInput(**{"allowed": True, "calibrated": UNSURE, "k": 2, **changes})  # type: ignore[arg-type]


# -- the decision


@pytest.mark.parametrize(
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
        ({"calibrated": np.array([0.9, 0.6, 0.3]), "k": 1, "movement": 0.2}, "skip.stable"),
        ({"calibrated": np.array([0.9, 0.6, 0.3]), "k": 1, "movement": 0.3 + 1e-9}, "run"),
        ({"calibrated": np.array([0.9, 0.6, 0.3]), "k": 1, "movement": 0.2, "audit": True}, "run"),
        ({"calibrated": np.array([0.9, 0.6, 0.3]), "k": 1, "movement": 0.2, "trims": True}, "run"),
        ({"remaining_ms": 0.0}, "skip.budget"),
        ({"remaining_ms": 0.0, "probe": True}, "skip.budget"),
        ({"estimate": Estimate(median_ms=51, p95_ms=60), "remaining_ms": 50}, "skip.budget"),
        ({"estimate": Estimate(median_ms=10, p95_ms=1_001)}, "skip.slow"),
        ({"estimate": Estimate(median_ms=10, p95_ms=1_000)}, "run"),
        ({"estimate": Estimate(median_ms=10, p95_ms=1_001), "probe": True}, "run"),
    ],
)
def test_the_first_no_decides(changes: dict[str, object], reason: str) -> None:
    assert should_rerank(asked(**changes), GateSettings()) == (reason == "run", reason)


def test_slowness_may_be_ignored_but_not_the_deadline() -> None:
    slow = asked(estimate=Estimate(median_ms=1_500, p95_ms=2_000), remaining_ms=2_000)
    assert should_rerank(slow, GateSettings())[1] == "skip.slow"
    assert should_rerank(slow, GateSettings(skip_when_slow=False))[0]
    assert should_rerank(asked(estimate=slow.estimate, remaining_ms=900), GateSettings(skip_when_slow=False)) == (
        False,
        "skip.budget",
    )


def test_without_risk_there_is_no_stability_test() -> None:
    still = asked(calibrated=np.array([0.9, 0.5, 0.4]), k=1, movement=0.0)
    assert should_rerank(still, GateSettings())[1] == "skip.stable"
    assert should_rerank(still, GateSettings(risk=0))[0]


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


# -- margin and movement


def test_margin_and_movement_by_hand() -> None:
    p = np.array([0.9, 0.8, 0.5, 0.1])
    assert margin(p, 2) == pytest.approx(0.1)
    assert margin(p[:1], 1) == math.inf
    swapped, deep = np.array([1, 0, 2, 3]), np.array([0, 1, 3, 2])
    assert (movement(p, swapped, 2), movement(p, deep, 2)) == (pytest.approx(0.1), 0)
    assert movement(p, np.array([3, 0, 1, 2]), 2) == pytest.approx(0.8)


@given(FALLING, st.integers(1, 15), st.randoms(use_true_random=False))
def test_an_answer_that_changed_overcame_the_margin(p, k, random) -> None:
    order = list(range(len(p)))
    random.shuffle(order)
    changed = list(range(min(k, len(p)))) != order[:k]
    moved = movement(p, np.array(order), k)
    assert moved >= margin(p, k) if changed else moved == 0


# -- what is remembered


def test_texts_beyond_what_a_model_reads_cost_no_more() -> None:
    assert work_of("q", ["x" * 10_000]) == work_of("q", ["x" * 1_000_000])


def test_the_quantile_needs_enough_movements_for_its_risk() -> None:
    history = MovementHistory(0.05)
    for i in range(18):
        history.record(i / 100)
    assert history.quantile() == math.inf
    history.record(0.9)
    assert history.quantile() == 0.9  # 20 · .95 = the 19th of 19
    for _ in range(20):
        history.record(0.0)
    assert history.quantile() == pytest.approx(0.17)  # 40 · .95 = the 38th of 39: all but 0.9
    assert MovementHistory(0.0).quantile() == math.inf


def test_a_share_is_audited_unless_nothing_is_risked() -> None:
    history = MovementHistory(0.05)
    assert [history.audit() for _ in range(2 * AUDIT_EVERY)].count(True) == 2
    never = MovementHistory(0.0)
    assert not any(never.audit() for _ in range(20))


def test_the_stability_test_keeps_its_promise() -> None:
    """Skipped though the answer would have changed: at most the risk, over recalls that are alike."""
    random = np.random.default_rng(4)
    history, wrong, skipped, recalls = MovementHistory(0.05), 0, 0, 6_000
    for _ in range(recalls):
        p = np.sort(random.beta(0.3, 1, size=10))[::-1]
        noise = p + random.normal(0, 0.1, size=10)
        moved = movement(p, np.argsort(-noise), 1)
        if history.audit():
            history.record(moved)
        elif margin(p, 1) > history.quantile():
            skipped += 1
            wrong += moved > 0
    assert skipped > 0.2 * recalls
    assert wrong <= 0.05 * recalls
