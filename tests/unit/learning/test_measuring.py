"""Figures that can be checked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from recall_integrations.learning.measuring import (
    WORTH_MAX,
    bootstrap,
    compared,
    gains_by_num,
    mean_ndcg,
    ndcg,
    weights_of,
    worth,
)
from recall_integrations.types.judged import RULES, Gain, Judged, Replay


def test_ndcg_of_an_order() -> None:
    assert ndcg((1, 2, 3), {1: 1.0}) == 1.0
    assert ndcg((2, 1, 3), {1: 1.0}) == pytest.approx(1 / math.log2(3))
    assert ndcg((2, 3, 4, 5, 6, 1), {1: 1.0}) == 0.0  # behind the fifth place
    both = {1: 1.0, 2: 0.5}
    assert ndcg((2, 1), both) == pytest.approx((0.5 + 1 / math.log2(3)) / (1 + 0.5 / math.log2(3)))
    assert ndcg((1,), {2: 0.0}) == 0.0


def test_what_was_far_down_counts_more_up_to_a_bound() -> None:
    assert [worth(Gain(num=1, gain=1, place=place)) for place in (0, 1, 3)] == [1.0, 1.0, 3.0]
    assert worth(Gain(num=1, gain=1, place=9)) == WORTH_MAX
    assert worth(Gain(num=1, gain=1, place=2, sure=0.3)) == pytest.approx(0.6)


def of(result_id: str, place: int, first: int, other: int) -> Judged:
    orders = {RULES: (first, other), "plan:precise": (other, first)}
    return Judged(
        result_id=result_id,
        at=0,
        signature="s",
        gains=(Gain(num=7, gain=1.0, place=place), Gain(num=8, gain=0.0, place=1)),
        replay=Replay(plan="balanced", orders=orders),
    )


def test_a_comparison_weighs_recalls_by_where_something_helped() -> None:
    judged = [of("a", 1, 7, 8), of("b", 3, 8, 7)]
    assert gains_by_num(judged[1]) == {7: 3.0, 8: 0.0}
    assert weights_of(judged).tolist() == [1.0, 3.0]
    gap = 1 - 1 / math.log2(3)
    assert compared(judged, "plan:precise", RULES).mean == pytest.approx((-gap + 3 * gap) / 4)
    assert mean_ndcg(judged, RULES) == (pytest.approx((1 + 3 / math.log2(3)) / 4), 2)


def test_recalls_that_say_nothing_are_left_out() -> None:
    silent = Judged(result_id="c", at=0, signature="s", gains=(Gain(num=7, gain=0.0, place=1),), replay=None)
    assert compared([silent], "plan:precise", RULES).n == 0
    assert mean_ndcg([silent], RULES) == (0.0, 0)
    assert bootstrap(np.asarray([])).n == 0 == bootstrap(np.asarray([1.0]), np.asarray([0.0])).n


def test_an_interval_holds_the_mean_and_is_the_same_every_time() -> None:
    gaps = np.random.default_rng(1).normal(0.1, 0.3, 400)
    gap = bootstrap(gaps)
    assert gap.low < gap.mean < gap.high and gap == bootstrap(gaps)
    assert gap.low > 0 and 0.8 < (gap.high - gap.low) / (2 * 1.96 * 0.3 / 20) < 1.2
    wide = bootstrap(gaps, level=0.99)
    assert wide.low < gap.low and wide.high > gap.high
    assert bootstrap(np.full(30, 0.25)).low == pytest.approx(0.25)
