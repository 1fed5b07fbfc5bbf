"""What a guard makes of a component that works, fails, hangs, gives nothing, or is slow."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from recall_integrations.errors import EmbeddingError, RecallTimeout
from recall_integrations.resilience.breaker import Breaker, Shelf
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.resilience.guard import RUNS_MIN, Bulkhead, Guard
from tests.rows import each_row

LONG = Deadline.after(None)


@pytest.fixture
def hangs() -> Iterator[Callable[[], None]]:
    release = threading.Event()
    yield lambda: release.wait(60) and None
    release.set()


def raising(error: BaseException) -> Callable[[], None]:
    def run() -> None:
        raise error

    return run


def test_a_result() -> None:
    guard = Guard("x")
    answer = guard.call(LONG, lambda a, b: a + b, 1, 2)
    assert (answer.reason, answer.value, answer.begun, answer.code) == ("success", 3, True, "success")
    health = guard.health()
    assert (health.component, health.breaker, health.failures) == ("x", "closed", 0)
    assert (health.active, health.hanging) == (0, 0)


@each_row("error", [ValueError("no"), SystemExit(1), KeyboardInterrupt(), asyncio.CancelledError()])
def test_whatever_it_raises_is_an_answer(error: BaseException) -> None:
    guard = Guard("x")
    answers = [guard.call(LONG, raising(error)) for _ in range(4)]
    assert [a.reason for a in answers] == ["error"] * 3 + ["skip.breaker"]
    assert answers[0].error is error and answers[0].code == "error"
    assert type(error).__name__ in answers[3].detail and "tried again in 300 s" in answers[3].detail


def test_an_error_of_ours_has_its_code() -> None:
    assert Guard("x").call(LONG, raising(EmbeddingError("no"))).code == "embedding_error"


def test_nothing_useful_is_a_failure() -> None:
    guard = Guard("x")
    reasons = [guard.call(LONG, str, empty=lambda text: not text).reason for _ in range(4)]
    assert reasons == ["empty"] * 3 + ["skip.breaker"]


def test_one_that_hangs_is_left_behind_and_counted(hangs: Callable[[], None]) -> None:
    guard = Guard("x", limit_ms=5)
    reasons = [guard.call(LONG, hangs).reason for _ in range(4)]
    assert reasons == ["timeout"] * 3 + ["skip.breaker"]
    assert guard.health().hanging == 3 and guard.health().active == 0


def test_a_caller_with_little_time_says_nothing_about_the_component(hangs: Callable[[], None]) -> None:
    guard = Guard("x")
    reasons = [guard.call(Deadline.after(5), hangs).reason for _ in range(5)]
    assert reasons[:RUNS_MIN] == ["timeout"] * RUNS_MIN
    assert set(reasons[RUNS_MIN:]) == {"skip.budget"}  # by its pace, not its breaker
    assert guard.breaker.state == "closed"


def test_an_arm_that_gives_up_by_itself_is_late_and_has_not_failed() -> None:
    guard = Guard("x")
    assert [guard.call(Deadline.after(500), raising(RecallTimeout("late"))).code for _ in range(3)] == ["timeout"] * 3
    assert guard.breaker.state == "closed"


def test_without_time_nothing_begins() -> None:
    assert Guard("x").call(Deadline.after(0), raising(AssertionError())).reason == "skip.budget"


def test_too_many_at_once(hangs: Callable[[], None]) -> None:
    guard = Guard("x", threads=Bulkhead("x", 1))
    begun = guard.begin(LONG, hangs)
    answer = guard.call(LONG, str)
    assert answer.reason == "skip.busy" and "under way" in answer.detail
    assert guard.breaker.state == "closed" and begun is not answer


def test_who_left_is_no_failure(hangs: Callable[[], None]) -> None:
    guard, deadline = Guard("x", breaker=Breaker("x", failures_max=1)), Deadline.after(None)
    begun = guard.begin(deadline, hangs)
    assert not hasattr(begun, "reason")
    threading.Timer(0.01, deadline.cancel).start()
    assert guard.ended(begun).reason == "cancelled"  # type: ignore[arg-type]
    assert guard.breaker.state == "closed" and guard.health().hanging == 1


def test_a_trial_that_nobody_waited_for_is_made_by_the_next(hangs: Callable[[], None]) -> None:
    now = [0.0]
    guard = Guard("x", breaker=Breaker("x", failures_max=1, open_s=10, clock=lambda: now[0]))
    assert guard.call(LONG, raising(ValueError())).reason == "error"
    assert guard.call(LONG, str).reason == "skip.breaker"
    now[0] = 10
    deadline = Deadline.after(None)
    begun = guard.begin(deadline, hangs)
    deadline.cancel()
    assert guard.ended(begun).reason == "cancelled"  # type: ignore[arg-type]
    assert guard.call(LONG, str).reason == "success"
    assert guard.breaker.state == "closed"


def test_what_raises_is_tried_again_within_its_time() -> None:
    calls: list[int] = []

    def third_time() -> str:
        calls.append(1)
        if len(calls) < 3:
            raise ConnectionError
        return "there"

    assert Guard("x", attempts=3).call(LONG, third_time).value == "there"
    calls.clear()
    assert Guard("x", attempts=2).call(LONG, third_time).reason == "error"
    assert len(calls) == 2


def test_a_wait_is_surrounded(hangs: Callable[[], None]) -> None:
    seen: list[str] = []

    @contextmanager
    def waiting() -> Iterator[None]:
        seen.append("in")
        yield
        seen.append("out")

    Guard("x", limit_ms=5, waiting=waiting).call(LONG, hangs)
    assert seen == ["in", "out"]


def test_guards_of_one_shelf_know_of_each_other() -> None:
    shelf = Shelf()
    first, second = (Guard("x", breaker=Breaker("x", shelf=shelf)) for _ in range(2))
    for _ in range(3):
        first.call(LONG, raising(ValueError()))
    assert second.call(LONG, str).reason == "skip.breaker"


def test_a_clock_that_jumps_back_an_hour_makes_no_pause_longer() -> None:
    now = [10_000.0]
    guard = Guard("x", breaker=Breaker("x", failures_max=1, open_s=300, clock=lambda: now[0]))
    assert guard.call(LONG, raising(ValueError())).reason == "error"
    now[0] -= 3_600
    assert guard.call(LONG, str).reason == "skip.breaker"
    now[0] += 300
    assert guard.call(LONG, str).reason == "success"
