"""Intervals, the test of signs, and how many labels are needed."""

from __future__ import annotations

import numpy as np
import pytest

from recall_integrations.evaluation.metrics import (
    chance,
    deviation,
    interval,
    intervals,
    labels_needed,
)


def test_an_interval_holds_the_mean_and_narrows_with_more_questions() -> None:
    few, many = interval([0.0, 1.0] * 10), interval([0.0, 1.0] * 1_000)
    assert few.low < few.mean == many.mean == 0.5 < few.high
    assert many.high - many.low < (few.high - few.low) / 5


def test_intervals_are_the_same_for_the_same_seed_only() -> None:
    values = np.random.default_rng(3).random((40, 2))
    assert intervals(values, seed=1) == intervals(values, seed=1)
    assert intervals(values, seed=1) != intervals(values, seed=2)


def test_an_interval_is_as_wide_as_theory_says() -> None:
    values = np.random.default_rng(0).normal(size=400)
    found = interval(values.tolist())
    assert (found.high - found.low) / 2 == pytest.approx(1.96 * values.std() / 20, rel=0.06)


def test_without_questions_there_is_nothing() -> None:
    assert intervals(np.empty((0, 2)))[1].high == 0


def test_the_chance_of_a_handful_is_counted_exactly() -> None:
    assert chance([0.0] * 50) == 1
    assert chance([0.5] * 4 + [0.0] * 50) == pytest.approx(2 / 16)
    assert chance([0.5] * 6) == pytest.approx(2 / 64)
    assert chance([1.0, -1.0]) == 1


def test_the_chance_of_many_is_drawn() -> None:
    assert chance([0.1] * 40) < 0.001
    assert chance([0.1, -0.1] * 20) == 1


def test_the_bootstrap_alone_would_have_called_four_better_ones_a_gain() -> None:
    gaps = [0.5] * 4 + [0.0] * 46
    assert interval(gaps).low > 0
    assert chance(gaps) > 0.05


def test_labels_needed() -> None:
    assert labels_needed(0.3, 0.05) == pytest.approx((2.801585 * 0.3 / 0.05) ** 2, abs=1)
    assert labels_needed(0.0, 0.05) == 2


def test_as_many_labels_as_are_needed_see_the_effect_four_times_out_of_five() -> None:
    rng = np.random.default_rng(5)
    count = labels_needed(0.3, 0.1)
    seen = 0
    for _ in range(200):
        gaps = rng.normal(0.1, 0.3, count)
        seen += gaps.mean() - 1.96 * gaps.std(ddof=1) / count**0.5 > 0
    assert 0.7 < seen / 200 < 0.9


def test_the_deviation_of_one_is_none() -> None:
    assert deviation([0.4]) == 0
    assert deviation([0.0, 1.0]) == pytest.approx(0.7071, abs=1e-4)
