"""A language model that is late, wrong or broken costs nothing but its answer."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

from recall_integrations.privacy.door import Door
from recall_integrations.query.entities import EntityIndex
from recall_integrations.query.entities.fallback import STAGE, EntityFallback
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.resilience.guard import RUNS_MIN, Bulkhead, Busy
from recall_integrations.types import Degradation, EntityRef

Made = Callable[..., EntityFallback]
Ask = Callable[..., tuple[tuple[EntityRef, ...], list[str]]]
THRESHOLD = 0.85
OFF_SECONDS = 60.0
TWO_SAMS = "what did Sam say about the backend deploy"


def test_a_late_answer_is_there_for_the_next_query(
    office: EntityIndex, made: Made, ask: Ask, scripted: Any, later: Any
) -> None:
    model = scripted("2")
    fallback = made(model, later)
    assert ask(fallback, TWO_SAMS, office, budget_ms=1) == (office.resolve(TWO_SAMS), ["timeout"])
    later.run()
    refs, problems = ask(fallback, TWO_SAMS, office, budget_ms=0)
    assert ([r.name for r in refs], problems) == (["Sam Roe"], [])


def test_without_time_nothing_begins(office: EntityIndex, made: Made, ask: Ask, scripted: Any) -> None:
    model = scripted("1")
    assert ask(made(model), TWO_SAMS, office, budget_ms=0)[1] == ["skip.budget"]
    assert model.prompts == []


def test_it_is_skipped_where_recent_calls_took_longer(
    office: EntityIndex, made: Made, ask: Ask, scripted: Any, clock: Any
) -> None:
    model = scripted("1", clock=clock, cost=0.8)
    fallback = made(model, clock=clock)
    for i in range(RUNS_MIN):
        assert ask(fallback, f"{TWO_SAMS} {i}", office, budget_ms=900)[1] == []
    assert ask(fallback, TWO_SAMS, office, budget_ms=100)[1] == ["skip.budget"]
    assert ask(fallback, TWO_SAMS, office, budget_ms=900)[1] == []
    assert len(model.prompts) == RUNS_MIN + 1


def test_the_longest_wait_bounds_the_budget(
    office: EntityIndex, made: Made, ask: Ask, scripted: Any, clock: Any
) -> None:
    fallback = made(scripted("1", clock=clock, cost=0.8), clock=clock, timeout_ms=500)
    for i in range(RUNS_MIN):
        ask(fallback, f"{TWO_SAMS} {i}", office, budget_ms=math.inf)
    assert ask(fallback, TWO_SAMS, office, budget_ms=math.inf)[1] == ["skip.budget"]


@pytest.mark.parametrize("failure", [ValueError("Sam Lee lives here"), TimeoutError(), SystemExit(1), "gibberish"])
def test_three_failures_in_a_row_switch_it_off_for_a_minute(
    office: EntityIndex, failure: Any, made: Made, ask: Ask, scripted: Any, clock: Any
) -> None:
    model = scripted(failure)
    fallback = made(model, clock=clock)
    reason = ["failure.answer"] if isinstance(failure, str) else ["error"]
    for _ in range(3):
        assert ask(fallback, TWO_SAMS, office) == (office.resolve(TWO_SAMS), reason)
    clock.now += OFF_SECONDS - 1
    assert ask(fallback, TWO_SAMS, office)[1] == ["skip.breaker"]
    assert len(model.prompts) == 3
    clock.now += 1
    assert ask(fallback, TWO_SAMS, office)[1] == reason  # one trial
    assert ask(fallback, TWO_SAMS, office)[1] == ["skip.breaker"]
    clock.now += OFF_SECONDS
    model.answers = ["1"]
    assert ask(fallback, TWO_SAMS, office)[1] == []
    model.answers = [failure]
    assert [ask(fallback, f"{TWO_SAMS} now", office)[1] for _ in range(3)] == [reason] * 3


def test_an_answer_between_failures_ends_the_row(office: EntityIndex, made: Made, ask: Ask, scripted: Any) -> None:
    model = scripted(ValueError(), ValueError(), "1", ValueError(), ValueError(), "2")
    fallback = made(model)
    assert [ask(fallback, f"{TWO_SAMS} {i}", office)[1] for i in range(6)] == [
        ["error"],
        ["error"],
        [],
        ["error"],
        ["error"],
        [],
    ]


def test_remembered_answers_are_given_while_it_is_off(
    office: EntityIndex, made: Made, ask: Ask, scripted: Any, clock: Any
) -> None:
    model = scripted("2", ValueError())
    fallback = made(model, clock=clock)
    ask(fallback, TWO_SAMS, office)
    for _ in range(4):
        ask(fallback, TWO_SAMS + " now", office)
    assert [r.name for r in ask(fallback, TWO_SAMS, office)[0]] == ["Sam Roe"]


def test_late_calls_are_failures_even_if_they_answer(
    office: EntityIndex, made: Made, ask: Ask, scripted: Any, later: Any, clock: Any
) -> None:
    fallback = made(scripted("1"), later, clock=clock, timeout_ms=1)
    for what in ("deploy", "budget", "garden"):
        assert ask(fallback, f"what did Sam say about the {what}", office)[1] == ["timeout"]
        later.run()
    assert ask(fallback, "what did Sam say about the roof", office)[1] == ["skip.breaker"]


def test_calls_that_had_little_time_are_none(
    office: EntityIndex, made: Made, ask: Ask, scripted: Any, later: Any, clock: Any
) -> None:
    fallback = made(scripted("1"), later, clock=clock)
    for what in ("deploy", "budget", "garden", "roof", "shed"):
        assert ask(fallback, f"what did Sam say about the {what}", office, budget_ms=1)[1] == ["timeout"]


def test_a_failure_is_told_without_names(office: EntityIndex, made: Made, scripted: Any) -> None:
    fallback = made(scripted(ValueError("prompt was: Sam Lee")))
    _, problems = fallback.resolve(
        TWO_SAMS,
        office.resolve(TWO_SAMS),
        office,
        scope_id=1,
        threshold=THRESHOLD,
        deadline=Deadline.after(None),
        door=Door(),
    )
    assert problems == (Degradation(stage=STAGE, reason="error", detail="The language model raised ValueError."),)


@pytest.mark.parametrize(
    ("error", "reasons"), [(Busy("all taken"), ["skip.busy"] * 4), (None, ["error"] * 3 + ["skip.breaker"])]
)
def test_a_call_that_never_began(
    office: EntityIndex, made: Made, ask: Ask, scripted: Any, error: Any, reasons: list[str]
) -> None:
    class Refusing:
        active = hanging = 0

        def submit(self, *_: Any) -> Future[Any]:
            future: Future[Any] = Future()
            if error is None:
                future.cancel()
            else:
                future.set_exception(error)
            return future

    fallback = made(scripted("1"), Refusing())
    assert [ask(fallback, TWO_SAMS, office)[1] for _ in range(4)] == [[reason] for reason in reasons]


def test_with_real_threads_a_hung_model_holds_nobody(office: EntityIndex, made: Made, ask: Ask) -> None:
    release = threading.Event()
    threads = Bulkhead("test-model", 1, hanging_max=0)

    def hangs(_prompt: str) -> str:
        release.wait()
        return "2"

    fallback = made(hangs, threads)
    assert ask(fallback, TWO_SAMS, office, budget_ms=1)[1] == ["timeout"]
    assert threads.hanging == 1
    assert ask(fallback, TWO_SAMS + " now", office, budget_ms=1)[1] == ["skip.busy"]  # no more may hang
    release.set()
    while threads.hanging:
        time.sleep(0.001)
    refs, problems = ask(fallback, TWO_SAMS, office, budget_ms=60_000)  # finds the late answer
    assert ([r.name for r in refs], problems) == (["Sam Roe"], [])
