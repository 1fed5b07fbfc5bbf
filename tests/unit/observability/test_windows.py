"""Counts of the last minutes, with a clock that is told the time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_integrations.observability.metrics import Window


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_what_is_older_than_the_window_is_forgotten() -> None:
    clock = Clock()
    window = Window(2, 60, 12, clock)
    window.add(1, 10)
    clock.now += 30
    window.add(2, 20)
    assert list(window.sums()[0]) == [3, 30]
    clock.now += 31
    assert list(window.sums()[0]) == [2, 20]
    clock.now += 1_000
    assert list(window.sums()[0]) == [0, 0]


def test_a_rate_is_of_the_time_that_was_seen() -> None:
    clock = Clock()
    window = Window(1, 60, 12, clock)
    clock.now += 10
    window.add(50)
    (total,), seconds = window.sums()
    assert total / seconds == pytest.approx(5)
    clock.now += 45
    (total,), seconds = window.sums()
    assert total / seconds == pytest.approx(50 / 55)


@given(st.lists(st.integers(0, 100), max_size=30))
def test_it_holds_what_came_within_the_window(steps: list[int]) -> None:
    clock = Clock()
    window = Window(1, 60, 12, clock)
    came = []
    for step in steps:
        clock.now += step
        window.add(1)
        came.append(clock.now)
    (total,), seconds = window.sums()
    # A slot of 5 s leaves as a whole.
    assert sum(t > clock.now - 55 for t in came) <= total <= sum(t > clock.now - 60 for t in came)
    assert 0 < seconds <= 60
