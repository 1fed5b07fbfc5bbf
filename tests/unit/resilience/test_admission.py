from __future__ import annotations

import threading

import pytest

from recall_integrations.resilience.admission import (
    FULL,
    LEVELS,
    MINIMAL,
    RECENT_SECONDS,
    RUNS_MIN,
    SIMPLE,
    Admission,
    Admitted,
)
from recall_integrations.resilience.deadline import Deadline


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def took(admission: Admission, clock: Clock, ms: float, budget_ms: float = 1e6, times: int = RUNS_MIN) -> list[int]:
    """The levels of so many recalls that take so long."""
    levels = []
    for _ in range(times):
        with admission.admitted(Deadline.after(budget_ms, clock)) as given:
            clock.now += ms / 1e3
        levels.append(given.level)
    return levels


def usual_ms(admission: Admission, clock: Clock) -> float:
    with admission.admitted(Deadline.after(1e6, clock)) as given:
        return given.usual_ms


def level(admission: Admission, clock: Clock, budget_ms: float) -> int:
    return took(admission, clock, 0.0, budget_ms, times=1)[0]


def test_steps_are_those_of_the_degradation_path() -> None:
    assert [Admitted(n).steps for n in range(LEVELS)] == [
        (),
        ("reduced_top_k",),
        ("reduced_top_k",),
        ("reduced_top_k", "simplified_scoring"),
        ("reduced_top_k", "simplified_scoring", "minimal"),
    ]
    assert [Admitted(n).k(10) for n in range(LEVELS)] == [10, 5, 3, 3, 3]
    assert [Admitted(n).k(2) for n in range(LEVELS)] == [2] * LEVELS


def test_until_something_is_known_all_is_done() -> None:
    clock = Clock()
    assert took(Admission(1, clock), clock, 10, budget_ms=1) == [FULL] * RUNS_MIN


def test_the_first_level_that_fits() -> None:
    clock = Clock()
    admission = Admission(1, clock)
    took(admission, clock, 100)
    assert usual_ms(admission, clock) == pytest.approx(100)
    assert [level(admission, clock, ms) for ms in (101, 96, 91, 61, 20)] == [FULL, 1, 2, SIMPLE, MINIMAL]


def test_a_better_level_needs_room() -> None:
    clock = Clock()
    admission = Admission(1, clock)
    took(admission, clock, 100)
    assert level(admission, clock, 62) == SIMPLE
    assert [level(admission, clock, ms) for ms in (101, 110, 131)] == [SIMPLE, SIMPLE, FULL]


def test_what_is_old_says_nothing() -> None:
    clock = Clock()
    admission = Admission(1, clock)
    took(admission, clock, 100)
    assert level(admission, clock, 20) == MINIMAL
    clock.now += RECENT_SECONDS + 1
    assert level(admission, clock, 20) == FULL


def test_a_recall_that_waits_for_others_needs_no_place_and_its_wait_does_not_count() -> None:
    clock = Clock()
    admission = Admission(1, clock)
    inside = threading.Event()
    for _ in range(RUNS_MIN):
        with admission.admitted(Deadline.after(1e6, clock)):
            clock.now += 0.01
            with admission.waiting():
                other = threading.Thread(target=lambda: _enters(admission, clock, inside))
                other.start()
                other.join(30)
                assert inside.is_set()
                inside.clear()
                clock.now += 0.5
    assert usual_ms(admission, clock) == pytest.approx(10)


def _enters(admission: Admission, clock: Clock, inside: threading.Event) -> None:
    with admission.admitted(Deadline.after(1e6, clock)):
        clock.now += 0.01
        inside.set()


def test_without_a_place_in_time_the_least_is_done() -> None:
    clock = Clock()
    admission = Admission(1, clock)
    seen: list[int] = []

    def late() -> None:
        with admission.admitted(Deadline.after(1)) as given:
            seen.append(given.level)

    with admission.admitted(Deadline.after(1e6, clock)):
        other = threading.Thread(target=late)
        other.start()
        other.join(30)
    assert seen == [MINIMAL]
    assert level(admission, clock, 1e6) == FULL  # its place was given back


def test_places_are_given_back_whatever_happens() -> None:
    clock = Clock()
    admission = Admission(1, clock)
    for _ in range(3):
        with pytest.raises(KeyError), admission.admitted(Deadline.after(1e6, clock)):
            raise KeyError
        with (
            pytest.raises(KeyError),
            admission.admitted(Deadline.after(1e6, clock)),
            admission.waiting(),
        ):
            raise KeyError
    assert level(admission, clock, 1e6) == FULL


def test_a_recall_inside_of_a_recall_has_its_place() -> None:
    clock = Clock()
    admission = Admission(1, clock)
    with admission.admitted(Deadline.after(1e6, clock)):
        for _ in range(3):
            with admission.admitted(Deadline.after(1e6, clock)) as inner:
                assert inner.level == FULL
    with admission.admitted(Deadline.after(1e6, clock)) as given:
        assert given.level == FULL


def test_who_is_cancelled_waits_for_no_place() -> None:
    admission, deadline, left = Admission(1), Deadline.after(None), threading.Event()

    def waits() -> None:
        with admission.admitted(deadline) as given:
            assert given.level == MINIMAL
        left.set()

    with admission.admitted(Deadline.after(None)):
        threading.Thread(target=waits).start()
        deadline.cancel()
        assert left.wait(30)


def test_after_waiting_a_place_is_waited_for_as_long_as_the_recall_has_time() -> None:
    admission, inside, go_on = Admission(1), threading.Event(), threading.Event()

    def takes_the_place() -> None:
        with admission.admitted(Deadline.after(None)):
            inside.set()
            go_on.wait(30)

    other = threading.Thread(target=takes_the_place)
    with admission.admitted(Deadline.after(60_000)):
        with admission.waiting():
            other.start()
            assert inside.wait(30)
            threading.Timer(0.05, go_on.set).start()
        assert go_on.is_set()
    other.join(30)
