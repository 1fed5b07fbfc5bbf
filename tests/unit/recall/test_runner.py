"""The runner does for a stage what no stage does for itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timezone

import pytest

from recall_integrations import MemoryStore, QueryOptimizer
from recall_integrations.errors import InvalidArgument, RecallTimeout
from recall_integrations.recall import RecallState, Runner, Stage, StageEvent, Turn
from recall_integrations.recall.runner import arranged
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.types import Degradation, Filters, Scope
from recall_integrations.types.request import RecallRequest

NOW = datetime(2026, 6, 1, tzinfo=timezone.utc)
REQUEST = RecallRequest(
    text="tea",
    k=1,
    scope=Scope(),
    filters=Filters(),
    now=NOW,
    time_budget_ms=100.0,
    tokens_max=None,
    privacy="allow",
    window=None,
    zone=None,
    context=0,
    vector=None,
)


class Step(Stage):
    """Notes its name in `trust`'s place: what it was given is kept."""

    def __init__(self, name: str, does: Callable[[RecallState, Turn], RecallState] | None = None, **fields: object):
        self.name = name
        self._does = does
        for field, value in fields.items():
            setattr(self, field, value)

    def applies(self, _state: RecallState) -> bool:
        return True

    def run(self, state: RecallState, turn: Turn) -> RecallState:
        return state if self._does is None else self._does(state, turn)


class Late(Step):
    def fallback(self, state: RecallState) -> RecallState:
        return replace(state, trust=0.5)


def fails(error: Exception) -> Callable[[RecallState, Turn], RecallState]:
    def run(_state: RecallState, _turn: Turn) -> RecallState:
        raise error

    return run


def run(*stages: Stage, observers: tuple[Callable[[StageEvent], None], ...] = (), ms: float | None = None):
    return Runner(stages, observers).run(RecallState(request=REQUEST), Deadline.after(ms))


def test_stages_run_in_order_and_are_timed() -> None:
    order: list[str] = []
    steps = [Step(n, lambda s, _t, n=n: (order.append(n), s)[1]) for n in ("a", "b", "c")]
    _, timings = run(*steps)
    assert order == ["a", "b", "c"]
    assert list(timings) == ["a", "b", "c", "total"]
    assert timings["total"] >= timings["a"] >= 0


@pytest.mark.parametrize(
    ("error", "reason"),
    [(RuntimeError("boom"), "error"), (RecallTimeout("late"), "timeout"), (TimeoutError(), "timeout")],
)
def test_what_fails_is_named_and_its_fallback_taken(error: Exception, reason: str) -> None:
    state, _ = run(Late("a", fails(error)), Step("b", lambda s, _t: replace(s, confidence=s.trust)))
    assert [(d.stage, d.reason) for d in state.degraded] == [("a", reason)]
    assert (state.trust, state.confidence) == (0.5, 0.5)


def test_what_is_essential_raises() -> None:
    with pytest.raises(RuntimeError, match="boom"):
        run(Step("a", fails(RuntimeError("boom")), essential=True))


def test_a_share_is_of_the_time_that_is_left() -> None:
    left: dict[str, float] = {}

    def note(name: str) -> Callable[[RecallState, Turn], RecallState]:
        def step(state: RecallState, turn: Turn) -> RecallState:
            left[name] = turn.deadline.remaining_ms()
            return state

        return step

    run(Step("half", note("half"), share=0.5), Step("all", note("all")), ms=60_000)
    assert 25_000 < left["half"] <= 30_000 < 55_000 < left["all"] <= 60_000


def test_a_stage_that_does_not_apply_is_left_out() -> None:
    class Never(Step):
        def applies(self, _state: RecallState) -> bool:
            return False

    state, timings = run(Never("a", fails(RuntimeError("boom"))))
    assert state.degraded == () and list(timings) == ["total"]


def test_observers_are_told_what_happened() -> None:
    events: list[StageEvent] = []

    def steps(state: RecallState, turn: Turn) -> RecallState:
        turn.timings_ms["arm.x"] = 1.5
        return state.degraded_by(Degradation(stage="x", reason="timeout", detail="late"))

    _, timings = run(Step("a", steps), Late("b", fails(RuntimeError("boom"))), observers=(events.append,))
    assert [(e.stage, e.failed, [d.stage for d in e.degraded]) for e in events] == [
        ("a", False, ["x"]),
        ("b", True, ["b"]),
    ]
    assert events[0].timings_ms == {"arm.x": 1.5} and timings["arm.x"] == 1.5
    assert 0 <= events[0].began_ms <= events[1].began_ms


def test_an_observer_that_raises_is_named_and_costs_nothing_else() -> None:
    def broken(_event: StageEvent) -> None:
        raise ValueError("no disk")

    state, _ = run(Step("a"), Step("b", lambda s, _t: replace(s, trust=0.25)), observers=(broken,))
    assert state.trust == 0.25
    assert [(d.stage, d.detail) for d in state.degraded] == [("observer", "ValueError: no disk")] * 2


def test_own_stages_are_placed_or_take_a_place() -> None:
    known = [Step("a"), Step("b"), Step("c")]
    own, other = Step("x", after="a"), Step("b")
    placed = arranged(known, [own, other])
    assert [s.name for s in placed] == ["a", "x", "b", "c"]
    assert placed[1] is own and placed[2] is other


@pytest.mark.parametrize(
    ("stage", "message"),
    [
        (Step("x"), "must say `after`"),
        (Step("x", after="nowhere"), "must say `after`"),
        (Step(""), "with a name"),
        ("x", "with a name"),
        (Step("x", after="a", share=0), "share"),
        (Step("x", after="a", share=1.5), "share"),
    ],
)
def test_a_stage_without_a_place_is_an_error(stage: object, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        arranged([Step("a")], [stage])  # type: ignore[list-item]


def test_what_is_not_known_yet_says_where_it_comes_from() -> None:
    state = RecallState(request=REQUEST)
    for name, stage in (("query", "parse"), ("plan", "plan"), ("scope", "plan"), ("candidates", "rank")):
        with pytest.raises(InvalidArgument, match=f"after '{stage}'"):
            getattr(state, name)


def test_a_recall_goes_through_the_stages_it_shows() -> None:
    told: list[str] = []
    with MemoryStore.open() as store:
        store.remember("Tea is in the shed")
        optimizer = QueryOptimizer(store, observers=[lambda event: told.append(event.stage)])
        result = optimizer.recall("tea", now=NOW)
        assert told == [stage.name for stage in optimizer.stages]
        assert set(told) <= set(result.timings_ms)
        told.clear()
        optimizer.recall("tea", scope=Scope(user_id="nobody"), now=NOW)
        assert told == ["parse", "plan", "rewrite"]  # nothing was ever remembered there
        optimizer.close()
