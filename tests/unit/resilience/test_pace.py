from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_integrations.reranking.reranking import work_of
from recall_integrations.resilience.guard import PROBE_EVERY, Estimate, Pace, Window, median


def test_costs_grow_with_number_and_length_of_texts() -> None:
    costs = Pace()
    small, large = work_of("q", ["tea"] * 2), work_of("q", ["tea " * 100] * 20)
    assert large > 10 * small
    for ms in (10, 10, 40):
        assert costs.estimate(small) is None and costs.median_ms(1) is None
        costs.record(ms, small, 2)
    assert costs.estimate(small) == Estimate(median_ms=pytest.approx(10), p95_ms=pytest.approx(40))
    assert costs.estimate(large).median_ms == pytest.approx(10 * large / small)  # type: ignore[union-attr]
    assert costs.median_ms(4) == pytest.approx(20)


def test_a_probe_forgets_what_was_before() -> None:
    costs = Pace()
    for _ in range(50):
        costs.record(5_000, 100, 1)
    assert [costs.refused() for _ in range(2 * PROBE_EVERY)].count(True) == 2
    costs.record(10, 100, 1, probe=True)
    assert costs.estimate(100) == Estimate(median_ms=pytest.approx(10), p95_ms=pytest.approx(10))


@given(st.lists(st.tuples(st.floats(0, 5), st.floats(0, 100)), min_size=1, max_size=80), st.integers(1, 20))
def test_a_window_is_what_sorting_the_last_ones_gives(steps: list[tuple[float, float]], runs: int) -> None:
    window, now, seen = Window(recent_s=10.0, runs=runs), 0.0, []
    for later, value in steps:
        now += later
        window.add(now, value)
        seen = [*seen, (now, value)][-runs:]
        expected = sorted(v for at, v in seen if at >= now - 10.0)
        assert list(window.sorted(now)) == expected
        assert median(expected) == statistics.median(expected)
