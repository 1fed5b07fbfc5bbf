"""The runner, with stages that are told what to do."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

import pytest

from recall_integrations.errors import EmbeddingError, InvalidArgument
from recall_integrations.recall.runner import Runner, Stage, StageEvent, Turn, arranged, degradation
from recall_integrations.recall.state import RecallState
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.types import Degradation, Filters, Scope
from recall_integrations.types.request import RecallRequest

NOW = datetime(2026, 6, 15, tzinfo=timezone.utc)
REQUEST = RecallRequest(
    text="q",
    k=5,
    scope=Scope(),
    filters=Filters(),
    now=NOW,
    time_budget_ms=1_000,
    tokens_max=None,
    privacy="allow",
    window=None,
    zone=None,
    context=0,
    vector=None,
)
STATE = RecallState(request=REQUEST)


class Told(Stage):
    """Does what it is told, wherever the recall stands."""

    def __init__(self, name: str, does: Callable[[RecallState, Turn], RecallState] | None = None, **given: Any) -> None:
        self.name, self._does = name, does or (lambda state, _turn: state)
        for key, value in given.items():
            setattr(self, key, value)

    def applies(self, _state: RecallState) -> bool:
        return True

    def run(self, state: RecallState, turn: Turn) -> RecallState:
        return self._does(state, turn)


class Idle(Stage):
    """As a stage is that says nothing of when it applies."""

    name = "idle"

    def run(self, state: RecallState, _turn: Turn) -> RecallState:
        raise AssertionError("there is nothing to do")


class Falls(Told):
    def fallback(self, state: RecallState) -> RecallState:
        return replace(state, trust=0.25)


def trusting(value: float) -> Callable[[RecallState, Turn], RecallState]:
    return lambda state, _turn: replace(state, trust=state.trust * value)


def failing(error: BaseException) -> Callable[[RecallState, Turn], RecallState]:
    def run(_state: RecallState, _turn: Turn) -> RecallState:
        raise error

    return run


def test_stages_follow_each_other_and_each_is_timed() -> None:
    def steps(state: RecallState, turn: Turn) -> RecallState:
        turn.timings_ms["arm.x"] = 7.0
        return replace(state, trust=state.trust + 1)

    state, timings = Runner([Told("a", trusting(0.5)), Told("b", steps)]).run(STATE, Deadline.after(None))
    assert state.trust == 1.5
    assert list(timings) == ["a", "b", "arm.x", "total"]
    assert timings["arm.x"] == 7.0
    assert 0 <= timings["a"] + timings["b"] <= timings["total"] < 60_000


def test_a_stage_does_nothing_where_the_scope_holds_nothing() -> None:
    state, timings = Runner([Idle()]).run(STATE, Deadline.after(None))
    assert state is STATE and list(timings) == ["total"]


def test_a_stage_that_fails_takes_its_fallback_and_is_named() -> None:
    stages = [Told("a", trusting(0.5)), Falls("b", failing(ValueError("no"))), Told("c", trusting(2))]
    state, timings = Runner(stages).run(STATE, Deadline.after(None))
    assert state.trust == 0.5  # .25 of the fallback, twice
    assert state.degraded == (Degradation(stage="b", reason="error", detail="ValueError: no"),)
    assert set(timings) == {"a", "b", "c", "total"}


def test_without_a_fallback_the_state_stays_and_without_an_essential_stage_there_is_no_answer() -> None:
    state, _ = Runner([Told("a", failing(ValueError("no"))), Told("b", trusting(0.5))]).run(STATE, Deadline.after(None))
    assert (state.trust, len(state.degraded)) == (0.5, 1)
    with pytest.raises(ValueError, match="no"):
        Runner([Told("a", failing(ValueError("no")), essential=True)]).run(STATE, Deadline.after(None))


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ValueError("x"), "error"),
        (TimeoutError("x"), "timeout"),
        (FutureTimeout("x"), "timeout"),
        (EmbeddingError("x"), EmbeddingError("x").code.lower()),
    ],
)
def test_the_reason_says_what_went_wrong(error: BaseException, reason: str) -> None:
    assert degradation("s", error) == Degradation(stage="s", reason=reason, detail=f"{type(error).__name__}: x")
    assert degradation("s", error, "given").reason == "given"


def test_a_stage_has_its_share_of_the_time_that_is_left() -> None:
    moment = [100.0]
    deadline = Deadline.after(1_000, lambda: moment[0])
    left: list[float] = []

    def look(state: RecallState, turn: Turn) -> RecallState:
        left.append(turn.deadline.remaining_ms())
        moment[0] += 0.5
        return state

    Runner([Told("a", look, share=0.5), Told("b", look, share=0.5), Told("c", look)]).run(STATE, deadline)
    assert left == pytest.approx([500, 250, 0])


def test_a_stage_that_may_take_all_the_time_has_the_deadline_of_the_recall() -> None:
    deadline, given = Deadline.after(1_000), []

    def look(state: RecallState, turn: Turn) -> RecallState:
        given.append(turn.deadline is deadline)
        return state

    Runner([Told("a", look), Told("b", look, share=0.5)]).run(STATE, deadline)
    assert given == [True, False]


def test_observers_are_told_of_every_stage_in_order() -> None:
    events: list[StageEvent] = []

    def steps(state: RecallState, turn: Turn) -> RecallState:
        turn.timings_ms["arm.x"] = 7.0
        return state.degraded_by(Degradation(stage="arm", reason="timeout"))

    stages = [Told("a", steps), Idle(), Falls("b", failing(ValueError("no")))]
    state, timings = Runner(stages, [events.append]).run(STATE, Deadline.after(None))
    first, second = events
    assert (first.stage, first.failed, second.stage, second.failed) == ("a", False, "b", True)
    assert [d.stage for d in first.degraded] == ["arm"]
    assert [d.stage for d in second.degraded] == ["b"]  # its own only
    assert first.timings_ms == {"arm.x": 7.0} and second.timings_ms == {}
    assert (first.took_ms, second.took_ms) == (timings["a"], timings["b"])
    assert 0 <= first.began_ms <= first.began_ms + first.took_ms <= second.began_ms
    assert second.began_ms + second.took_ms <= timings["total"]
    assert second.state == state and first.state.trust == 1.0


def test_an_observer_that_fails_costs_nothing_and_is_named() -> None:
    told: list[str] = []

    def broken(_event: StageEvent) -> None:
        raise ValueError("no")

    stages = [Told("a", trusting(0.5)), Told("b", trusting(0.5))]
    state, _ = Runner(stages, [broken, lambda event: told.append(event.stage)]).run(STATE, Deadline.after(None))
    assert told == ["a", "b"]
    assert state.trust == 0.25
    assert state.degraded == (Degradation(stage="observer", reason="error", detail="ValueError: no"),) * 2


def test_a_stage_of_ones_own_comes_behind_the_one_it_names_or_in_the_place_of_its_namesake() -> None:
    known = [Told("a"), Told("b"), Told("c")]
    mine, other = Told("mine", after="a"), Told("b")
    assert [s.name for s in arranged(known, [mine])] == ["a", "mine", "b", "c"]
    assert [s.name for s in arranged(known, [Told("last", after="c")])] == ["a", "b", "c", "last"]
    replaced = arranged(known, [mine, other, Told("next", after="mine")])
    assert [s.name for s in replaced] == ["a", "mine", "next", "b", "c"]
    assert replaced[3] is other
    assert [s.name for s in known] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("stage", "says"),
    [
        (object(), "Stage objects"),
        (Told(""), "with a name"),
        (Told("x"), "after"),
        (Told("x", after="nowhere"), "a, b"),
        (Told("x", after="a", share=0), "share"),
        (Told("x", after="a", share=1.01), "share"),
    ],
)
def test_a_stage_that_has_no_place_is_refused(stage: Any, says: str) -> None:
    with pytest.raises(InvalidArgument, match=says):
        arranged([Told("a"), Told("b")], [stage])
