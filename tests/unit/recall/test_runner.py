"""The runner, with stages that are told what to do."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import replace
from typing import Any

import pytest

from recall_integrations.errors import EmbeddingError, InvalidArgument, RecallTimeout
from recall_integrations.recall.runner import RecallState, Runner, Stage, StageEvent, Turn, arranged, degradation
from recall_integrations.resilience.admission import RECENT_SECONDS
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.resilience.guard import RUNS_MIN, Guard, Pace
from recall_integrations.types import Degradation
from tests.rows import each_row


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


def test_stages_follow_each_other_and_each_is_timed(begun: RecallState) -> None:
    def steps(state: RecallState, turn: Turn) -> RecallState:
        turn.timings_ms["arm.x"] = 7.0
        return replace(state, trust=state.trust + 1)

    state, timings = Runner([Told("a", trusting(0.5)), Told("b", steps)]).run(begun, Deadline.after(None))
    assert state.trust == 1.5
    assert list(timings) == ["a", "b", "arm.x", "total"]
    assert timings["arm.x"] == 7.0
    assert 0 <= timings["a"] + timings["b"] <= timings["total"] < 60_000


def test_a_stage_does_nothing_where_the_scope_holds_nothing(begun: RecallState) -> None:
    state, timings = Runner([Idle()]).run(begun, Deadline.after(None))
    assert state is begun and list(timings) == ["total"]


def test_a_stage_that_fails_takes_its_fallback_and_is_named(begun: RecallState) -> None:
    stages = [Told("a", trusting(0.5)), Falls("b", failing(ValueError("no"))), Told("c", trusting(2))]
    state, timings = Runner(stages).run(begun, Deadline.after(None))
    assert state.trust == 0.5  # .25 of the fallback, twice
    assert state.degraded == (Degradation(stage="b", reason="error", detail="ValueError: no"),)
    assert set(timings) == {"a", "b", "c", "total"}


def test_without_a_fallback_the_state_stays_and_without_an_essential_stage_there_is_no_answer(
    begun: RecallState,
) -> None:
    state, _ = Runner([Told("a", failing(ValueError("no"))), Told("b", trusting(0.5))]).run(begun, Deadline.after(None))
    assert (state.trust, len(state.degraded)) == (0.5, 1)
    with pytest.raises(ValueError, match="no"):
        Runner([Told("a", failing(ValueError("no")), essential=True)]).run(begun, Deadline.after(None))


@each_row(
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


def test_a_stage_has_its_share_of_the_time_that_is_left(begun: RecallState) -> None:
    moment = [100.0]
    deadline = Deadline.after(1_000, lambda: moment[0])
    left: list[float] = []

    def look(state: RecallState, turn: Turn) -> RecallState:
        left.append(turn.deadline.remaining_ms())
        moment[0] += 0.5
        return state

    Runner([Told("a", look, share=0.5), Told("b", look, share=0.5), Told("c", look)]).run(begun, deadline)
    assert left == pytest.approx([500, 250, 0])


def test_a_stage_that_may_take_all_the_time_has_the_deadline_of_the_recall(begun: RecallState) -> None:
    deadline, given = Deadline.after(1_000), []

    def look(state: RecallState, turn: Turn) -> RecallState:
        given.append(turn.deadline is deadline)
        return state

    Runner([Told("a", look), Told("b", look, share=0.5)]).run(begun, deadline)
    assert given == [True, False]


def test_observers_are_told_of_every_stage_in_order(begun: RecallState) -> None:
    events: list[StageEvent] = []

    def steps(state: RecallState, turn: Turn) -> RecallState:
        turn.timings_ms["arm.x"] = 7.0
        return state.degraded_by(Degradation(stage="arm", reason="timeout"))

    stages = [Told("a", steps), Idle(), Falls("b", failing(ValueError("no")))]
    state, timings = Runner(stages, [events.append]).run(begun, Deadline.after(None))
    first, second = events
    assert (first.stage, first.failed, second.stage, second.failed) == ("a", False, "b", True)
    assert [d.stage for d in first.degraded] == ["arm"]
    assert [d.stage for d in second.degraded] == ["b"]  # its own only
    assert first.timings_ms == {"arm.x": 7.0} and second.timings_ms == {}
    assert (first.took_ms, second.took_ms) == (timings["a"], timings["b"])
    assert 0 <= first.began_ms <= first.began_ms + first.took_ms <= second.began_ms
    assert second.began_ms + second.took_ms <= timings["total"]
    assert second.state == state and first.state.trust == 1.0


def test_an_observer_that_fails_costs_nothing_and_is_named(begun: RecallState) -> None:
    told: list[str] = []

    def broken(_event: StageEvent) -> None:
        raise ValueError("no")

    stages = [Told("a", trusting(0.5)), Told("b", trusting(0.5))]
    state, _ = Runner(stages, [broken, lambda event: told.append(event.stage)]).run(begun, Deadline.after(None))
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


@each_row(
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


# -- what is left out, and what may hang


def test_a_stage_is_left_out_where_more_is_left_out_than_it_bears(begun: RecallState) -> None:
    asked = Falls("a", failing(AssertionError()), level=1)
    for level in (1, 2):
        state, _ = Runner([asked]).run(replace(begun, level=level), Deadline.after(None))
        assert state.trust == 0.25
        assert bool(state.degraded) is (level == 1)  # then it was tried; who leaves it out has said so already


def test_what_does_not_fit_into_the_time_is_not_begun(begun: RecallState) -> None:
    def takes_ten_ms(state: RecallState, _turn: Turn) -> RecallState:
        threading.Event().wait(0.01)
        return state

    stage = Falls("a", takes_ten_ms, paced=True)
    runner = Runner([stage])
    for _ in range(RUNS_MIN):
        assert runner.run(begun, Deadline.after(None))[0].degraded == ()
    state, _ = runner.run(begun, Deadline.after(1, lambda: 0.0))
    assert state.trust == 0.25
    assert [(d.stage, d.reason) for d in state.degraded] == [("a", "skip.budget")]


def test_a_stage_that_hangs_is_left_behind(begun: RecallState) -> None:
    release = threading.Event()

    def hangs(state: RecallState, _turn: Turn) -> RecallState:
        release.wait(60)
        return state

    guard = Guard("stage.own", limit_ms=5)
    runner = Runner([Falls("own", hangs), Told("next", trusting(0.5))], outside={"own": guard})
    state, timings = runner.run(begun, Deadline.after(None))
    release.set()
    assert state.trust == 0.125 and set(timings) == {"own", "next", "total"}
    assert [(d.stage, d.reason) for d in state.degraded] == [("own", "timeout")]


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(1), KeyboardInterrupt(), asyncio.CancelledError()])
def test_what_a_stage_of_ones_own_raises_is_named(begun: RecallState, error: BaseException) -> None:
    runner = Runner([Falls("own", failing(error))], outside={"own": Guard("stage.own")})
    state, _ = runner.run(begun, Deadline.after(None))
    assert state.trust == 0.25 and [d.stage for d in state.degraded] == ["own"]


def test_an_essential_stage_of_ones_own_raises_what_it_raises(begun: RecallState) -> None:
    runner = Runner([Told("own", failing(EmbeddingError("no")), essential=True)], outside={"own": Guard("stage.own")})
    with pytest.raises(EmbeddingError):
        runner.run(begun, Deadline.after(None))


def test_an_essential_stage_of_ones_own_that_hangs_is_an_error_and_no_empty_answer(begun: RecallState) -> None:
    release = threading.Event()

    def hangs(state: RecallState, _turn: Turn) -> RecallState:
        release.wait(60)
        return state

    runner = Runner([Told("own", hangs, essential=True)], outside={"own": Guard("stage.own", limit_ms=5)})
    with pytest.raises(RecallTimeout, match="own"):
        runner.run(begun, Deadline.after(None))
    release.set()


def test_what_was_slow_once_is_tried_again_after_a_while(begun: RecallState, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("recall_integrations.recall.runner.Pace", lambda recent_s: Pace(recent_s, lambda: now[0]))
    slow = [True]

    def does(state: RecallState, _turn: Turn) -> RecallState:
        threading.Event().wait(0.02 if slow[0] else 0)
        return state

    runner = Runner([Falls("a", does, paced=True)])
    for _ in range(RUNS_MIN):
        runner.run(begun, Deadline.after(None))
    slow[0] = False
    assert runner.run(begun, Deadline.after(5, lambda: 0.0))[0].degraded
    now[0] += RECENT_SECONDS + 1
    assert not runner.run(begun, Deadline.after(5, lambda: 0.0))[0].degraded
