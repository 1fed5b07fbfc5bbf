"""What a reranker's scores weigh beside those of the ranking, learned from recalls without labels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_integrations.reranking.reranking import Trust, reordered
from tests.rows import each_row

SCORES = st.floats(-50, 50)


def recalls(trust: Trust, noise: float, meaning: float, count: int = 60) -> float:
    """Let the trust see recalls of ten candidates of which the first answers in four of five; return its weight."""
    random, weight = np.random.default_rng(0), 0.0
    for number in range(count):
        odds = np.asarray([3.0, *[0.05] * 9])
        right = 0 if number % 5 else 4
        scores = random.normal(0, noise, 10)
        scores[right] += meaning
        weight = trust.weight(odds, scores - scores.mean())
    return weight


def test_scores_without_a_meaning_lose_their_weight() -> None:
    told, silent = recalls(Trust(), noise=0.3, meaning=1), recalls(Trust(), noise=0.3, meaning=0)
    assert told > 5 > 1 > silent >= 0


def test_scores_that_say_the_opposite_weigh_nothing() -> None:
    assert recalls(Trust(), noise=0.3, meaning=-1) == 0


def test_a_perfect_reranker_decides_against_a_sure_ranking() -> None:
    trust = Trust()
    recalls(trust, noise=0, meaning=1)
    calibrated = np.asarray([0.9, 0.1, 0.05, 0.05])
    assert reordered(calibrated, [0, 0, 0, 1], trust).tolist() == [3, 0, 1, 2]


def test_a_reranker_that_guesses_moves_nothing_that_is_sure() -> None:
    trust = Trust()
    recalls(trust, noise=0.3, meaning=0)
    calibrated = np.asarray([0.9, 0.1, 0.05, 0.05])
    assert reordered(calibrated, [0, 0.2, 0.1, 0.3], trust)[0] == 0


def test_a_new_reranker_orders_what_the_ranking_cannot_tell_apart() -> None:
    assert reordered(np.full(3, 0.2), [2021, 2024, 2023], Trust()).tolist() == [1, 2, 0]


def test_what_was_dropped_goes_last_and_what_was_not_seen_stays() -> None:
    calibrated = np.full(4, 0.2)
    assert reordered(calibrated, [None, 1, 2, 3], Trust()).tolist() == [3, 2, 1, 0]
    assert reordered(calibrated, [1, 2, None, None], Trust(), frozenset({2, 3})).tolist() == [1, 0, 2, 3]


@pytest.mark.parametrize("score", [0.0, -3.5])
def test_equal_scores_keep_the_order(score: float) -> None:
    assert reordered(np.asarray([0.5, 0.4, 0.3]), [score] * 3, Trust()).tolist() == [0, 1, 2]


@given(st.lists(st.tuples(st.floats(0, 1), st.none() | SCORES), min_size=1, max_size=12))
def test_every_candidate_comes_once(candidates: list[tuple[float, float | None]]) -> None:
    calibrated = np.sort(np.asarray([p for p, _ in candidates]))[::-1]
    order = reordered(calibrated, [score for _, score in candidates], Trust())
    assert sorted(order.tolist()) == list(range(len(candidates)))


@each_row("sentinel", [-1e9, 1e300, -1e308])
def test_a_score_out_of_all_proportion_is_forgotten(sentinel: float) -> None:
    trust, calibrated = Trust(), np.asarray([0.5, 0.2, 0.1, 0.1])
    for scores in (*[[1, 0, 0, 0]] * 5, [1, 0, 0, sentinel], *[[1, 0, 0, 0]] * 5):
        reordered(calibrated, scores, trust)
    assert reordered(calibrated, [0, 1, 0, 0], trust).tolist() == [1, 0, 2, 3]


def test_the_sentinel_itself_decides_in_its_own_recall() -> None:
    assert reordered(np.asarray([0.5, 0.2, 0.1]), [-1e9, 0, 0], Trust()).tolist() == [1, 2, 0]
