"""Tells a watcher (`recall(watch=…)`) what a recall does, a step at a time. Its errors cannot cost the answer.

Without a watcher, nothing here is made or called.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import field, replace
from typing import Any

from recall_integrations.errors import InvalidArgument, RecallError, RecallTimeout
from recall_integrations.privacy.door import Door
from recall_integrations.recall.looking import Searching
from recall_integrations.recall.state import RecallState
from recall_integrations.records import record
from recall_integrations.resilience.admission import MINIMAL, RECENT_SECONDS
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.resilience.failures import failures
from recall_integrations.resilience.guard import NO_TIME, Guard, Pace
from recall_integrations.types import Degradation
from recall_integrations.types.observing import Step

FIRST = 10  # number of candidates whose ids are told
Told = Mapping[str, Any]


class Watched:
    """A step that a watcher is told: it ends once, and errors of the watcher are kept. Threads share it."""

    def __init__(self, step: Step | None, raised: list[BaseException], door: Door) -> None:
        self._step, self._raised, self._door = step, raised, door
        self._ended, self._lock = False, threading.Lock()

    def begin(self, name: str, inputs: Told) -> Watched:
        """Begin a step inside of this one."""
        inner: Step | None = None
        if self._step is not None:
            try:
                inner = self._step.begin(name, inputs if self._door.open else {})
            except failures() as e:  # a watcher must not cost the answer; the result names it
                self._raised.append(e)
        return Watched(inner, self._raised, self._door)

    def end(self, outputs: Told, error: BaseException | None = None) -> None:
        """End the step; what comes after that, from a thread that was given up, is not told."""
        with self._lock:
            over, self._ended = self._ended, True
        if over or self._step is None:
            return
        told = outputs if self._door.open else {k: v for k, v in outputs.items() if k == "degraded"}
        try:
            if isinstance(error, Exception):
                error = self._door.error(error)
            self._step.end(told, error)
        except failures() as e:  # as above
            self._raised.append(e)


def _outputs(stage: str, state: RecallState, degraded: tuple[Degradation, ...]) -> Told:
    """Return a stage's output and its problems, as JSON has them."""
    if not degraded:
        return _shown(stage, 1, state)
    problems = [{"stage": d.stage, "reason": d.reason, "detail": d.detail} for d in degraded]
    return {**_shown(stage, 1, state), "degraded": problems}


def _failure(stage: str, degraded: tuple[Degradation, ...]) -> RecallError | None:
    """Return the error of a stage whose fallback was taken; `None` where it was left out on purpose."""
    said = next((d for d in degraded if d.stage == stage), None)
    return None if said is None else RecallError(f"{said.reason}: {said.detail}")


def _parsed(state: RecallState) -> Told:
    parsed = state.parsed
    if parsed is None:
        return {}
    window = parsed.temporal_window
    return {
        "language": parsed.language,
        "specificity": round(parsed.specificity, 3),
        "terms": list(parsed.terms),
        "entities": [ref.name for ref in parsed.entity_refs],
        "types": [str(hint) for hint in parsed.type_hints],
        "negations": list(parsed.negations),
        "window": None
        if window is None
        else [None if t is None else t.isoformat() for t in (window.start, window.end)],
    }


def _candidates(state: RecallState) -> Told:
    fused, view = state.fused, state.view
    if fused is None or view is None:
        return {}
    rows, scores = fused.rows[:FIRST].tolist(), fused.scores[:FIRST].tolist()
    best = [{"id": view.ids[row], "score": float(score)} for row, score in zip(rows, scores, strict=True)]
    return {"candidates": len(fused.rows), "best": best, "confidence": state.confidence}


def _shown(stage: str, which: int, state: RecallState) -> Told:
    """Return the input (0) or the output (1) of a stage that we know; those of users are told by their names."""
    both = _TOLD.get(stage)
    return {} if both is None else both[which](state)


_Show = Callable[[RecallState], Told]


def _planned(state: RecallState) -> Told:
    plan = state.planned
    return {} if plan is None else {"plan": plan.name, "arms": [a.name for a in plan.arms], "reason": plan.reason}


def _query(state: RecallState) -> Told:
    return {"query": state.request.text}


def _found(state: RecallState) -> Told:
    return {"found": {result.arm: len(result.rows) for result in state.results}}


def _hits(state: RecallState) -> Told:
    return {"hits": [{"id": hit.memory.id, "score": hit.score} for hit in state.hits], "confidence": state.confidence}


# The input and the output of each stage that we know.
_TOLD: Mapping[str, tuple[_Show, _Show]] = {
    "parse": (_query, _parsed),
    "plan": (_parsed, _planned),
    "embed": (_query, lambda _: {}),
    "arms": (_planned, _found),
    "rank": (_found, _candidates),
    "rewrite": (
        _query,
        lambda state: {
            "strategy": state.rewrite.strategy,
            "reason": state.rewrite.reason,
            "phrasings": list(state.query.rewrites) if state.rewrite.used else [],
        },
    ),
    "rerank": (
        _candidates,
        lambda state: {
            "reranker": state.rerank.reranker,
            "reason": state.rerank.reason,
            "scored": state.rerank.scored,
            **_candidates(state),
        },
    ),
    "arrange": (_candidates, _candidates),
    "deliver": (
        lambda state: {"k": state.request.k, "tokens_max": state.request.tokens_max, **_candidates(state)},
        _hits,
    ),
    "cache": (_query, _hits),
}


@record(slots=True)
class Turn:
    """A stage's turn: its deadline, and the collectors that it fills.

    Args:
        deadline: end of the stage's share of the time.
        timings_ms: steps that the stage wants timed by themselves: name → milliseconds.
        step: tells a watcher of steps inside of the stage; `None` = nobody watches.
        searching: gets each arm that searches, when it began and when it ended; `None` = nobody asks.
    """

    deadline: Deadline
    timings_ms: dict[str, float] = field(default_factory=dict)
    step: Step | None = None
    searching: list[Searching] | None = None


@record(frozen=True, slots=True, kw_only=True)
class StageEvent:
    """The event that observers are told when a stage has ended.

    Args:
        stage: the stage's name.
        began_ms: milliseconds from the begin of the recall.
        took_ms: milliseconds that it took.
        failed: whether its fallback was taken.
        degraded: its problems.
        timings_ms: steps inside of it, in milliseconds.
        state: the state after it; `None` unless `privacy="allow"`, for it holds the query and memories as they are. Do
            not keep it: it holds the columns of the scope.
    """

    stage: str
    began_ms: float
    took_ms: float
    failed: bool
    degraded: tuple[Degradation, ...]
    timings_ms: dict[str, float]
    state: RecallState | None


OUTSIDE_SHARE = 0.5  # share of the time that is left, for a stage that may hang: the others need theirs
Observer = Callable[[StageEvent], None]


class Stage(ABC):
    """One step of a recall. Threads share it.

    Attributes:
        name: its name in `degraded`, `timings_ms` and events.
        after: the stage behind which it comes, for one given to `QueryOptimizer(stages=[...])`; a stage with the name
            of a known stage takes its place.
        share: share of the time that is left, in (0, 1].
        essential: whether the recall fails if the stage fails.
        level: where more than this is left out (`RecallState.level`), the runner takes its fallback instead.
        paced: whether its fallback is taken where, by its recent runs, it does not fit into the time that is left. For
            work that cannot be stopped once it has begun.
        may_hang: for one given to `QueryOptimizer(stages=[...])`: whether it is called in a thread that may be left
            behind, as a stage that waits for something must be. A stage that only computes may say no.
    """

    name: str
    after: str = ""
    share: float = 1.0
    essential: bool = False
    level: int = MINIMAL
    paced: bool = False
    may_hang: bool = True

    def applies(self, state: RecallState) -> bool:
        """Say whether there is anything to do. Default: yes where the scope holds something."""
        return state.view is not None

    @abstractmethod
    def run(self, state: RecallState, turn: Turn) -> RecallState:
        """Return the state, extended. Whatever it raises is named in `degraded`."""

    def fallback(self, state: RecallState) -> RecallState:
        """Return the state if `run` failed. Default: the state as it was."""
        return state


class Runner:
    """Takes recalls through stages. Threads share it."""

    def __init__(
        self, stages: Sequence[Stage], observers: Sequence[Observer] = (), outside: Mapping[str, Guard] | None = None
    ) -> None:
        self.stages, self._observers = tuple(stages), tuple(observers)
        self._outside = outside or {}
        self._paces = {stage.name: Pace(RECENT_SECONDS) for stage in self.stages if stage.paced}

    def run(self, state: RecallState, deadline: Deadline) -> tuple[RecallState, dict[str, float]]:
        """Run the stages; return the last state and the milliseconds by name of stage and step, with `total`."""
        clock = time.perf_counter
        begin = clock()
        timings: dict[str, float] = {}
        raised: list[BaseException] = []
        watch, looked = _watched(state, raised), state.looked
        for stage in self.stages:
            if not stage.applies(state):
                continue
            before, share, started = len(state.degraded), stage.share, clock()
            turn = Turn(deadline if share == 1 else deadline.child(deadline.remaining_ms() * share), {})
            if looked is not None:
                turn.searching = []
                looked.stage(stage.name)
            step = None if watch is None else watch.begin(stage.name, _shown(stage.name, 0, state))
            turn.step = step
            try:
                state, failed = self._through(stage, state, turn)
            except BaseException as e:
                if step is not None:
                    step.end({}, e)
                raise
            if step is not None:
                problems = state.door.degradations(state.degraded[before:])
                step.end(_outputs(stage.name, state, problems), _failure(stage.name, problems) if failed else None)
            took = (clock() - started) * 1e3
            timings[stage.name] = took
            if turn.timings_ms:
                timings.update(turn.timings_ms)
            if looked is not None:
                looked.ended(stage.name, state, failed, state.degraded[before:], turn.searching or [])
            if self._observers:
                event = StageEvent(
                    stage=stage.name,
                    began_ms=(started - begin) * 1e3,
                    took_ms=took,
                    failed=failed,
                    degraded=state.door.degradations(state.degraded[before:]),
                    timings_ms=turn.timings_ms,
                    state=state if state.door.open else None,
                )
                state = self._told(state, event)
        timings["total"] = (clock() - begin) * 1e3
        if raised:
            state = state.degraded_by(degradation("observer", raised[0]))
        return state, timings

    def _through(self, stage: Stage, state: RecallState, turn: Turn) -> tuple[RecallState, bool]:
        """Run a stage; return the state after it, and whether that is its fallback."""
        if state.level > stage.level:
            return stage.fallback(state), True
        pace = self._paces.get(stage.name) if stage.paced else None
        if pace is not None and (usual := pace.low_ms()) is not None and usual > turn.deadline.remaining_ms():
            detail = f"It takes {usual:.1f} ms; there are {turn.deadline.remaining_ms():.1f}."
            return stage.fallback(state.degraded_by(Degradation(stage=stage.name, reason=NO_TIME, detail=detail))), True
        if stage.name in self._outside:
            return self._beside(stage, state, turn)
        began = 0.0 if pace is None else time.perf_counter()
        try:
            after = _extended(stage, state, turn)
        except failures() as e:
            if stage.essential:
                raise _essential(stage, e) from e
            return stage.fallback(state.degraded_by(degradation(stage.name, e))), True
        if pace is not None:
            pace.record((time.perf_counter() - began) * 1e3)
        return after, False

    def _beside(self, stage: Stage, state: RecallState, turn: Turn) -> tuple[RecallState, bool]:
        """Run a stage as `_through` does, in a thread that may be left behind."""
        own = turn.deadline.child(turn.deadline.remaining_ms() * OUTSIDE_SHARE)
        answer = self._outside[stage.name].call(own, _extended, stage, state, replace(turn, deadline=own))
        if answer.value is not None:
            return answer.value, False
        if stage.essential:
            late = RecallTimeout(f"Without the stage {stage.name!r} there is no answer. {answer.detail}")
            raise late if answer.error is None else _essential(stage, answer.error) from answer.error
        return stage.fallback(
            state.degraded_by(Degradation(stage=stage.name, reason=answer.code, detail=answer.detail))
        ), True

    def tell(self, stage: str, state: RecallState, took_ms: float) -> RecallState:
        """Tell observers of what was done before the stages; return the state with the errors that they raised."""
        raised: list[BaseException] = []
        watch = _watched(state, raised)
        if watch is not None:
            watch.begin(stage, _shown(stage, 0, state)).end(_shown(stage, 1, state))
        if raised:
            state = state.degraded_by(degradation("observer", raised[0]))
        if not self._observers:
            return state
        seen = state if state.door.open else None
        event = StageEvent(
            stage=stage, began_ms=0.0, took_ms=took_ms, failed=False, degraded=(), timings_ms={}, state=seen
        )
        return self._told(state, event)

    def _told(self, state: RecallState, event: StageEvent) -> RecallState:
        for observer in self._observers:
            try:
                observer(event)
            except failures() as e:  # noqa: PERF203 - an observer must not cost the answer; the result names it
                state = state.degraded_by(degradation("observer", e))
        return state


def _extended(stage: Stage, state: RecallState, turn: Turn) -> RecallState:
    after: object = stage.run(state, turn)
    if not isinstance(after, RecallState):
        raise InvalidArgument(
            f"The stage {stage.name!r} gave {type(after).__name__}. Return the state: replace(state, …)."
        )
    return after


def _essential(stage: Stage, error: BaseException) -> Exception:
    """Return the error that a recall raises where there is no answer without a stage."""
    if isinstance(error, Exception):
        return error
    return RecallError(f"The stage {stage.name!r} raised {type(error).__name__}: {error}")


def _watched(state: RecallState, raised: list[BaseException]) -> Watched | None:
    """Return the watcher of a recall; `None` = nobody watches."""
    watch = state.request.watch
    return None if watch is None else Watched(watch, raised, state.door)


def degradation(stage: str, error: BaseException, reason: str | None = None) -> Degradation:
    """Return the problem of a stage, with `reason` or the code of the error."""
    if reason is None:
        timed_out = isinstance(error, TimeoutError | FutureTimeout)  # two classes before Python 3.11
        reason = error.code.lower() if isinstance(error, RecallError) else "timeout" if timed_out else "error"
    return Degradation(stage=stage, reason=reason, detail=f"{type(error).__name__}: {error}")


def arranged(known: Sequence[Stage], own: Sequence[Stage]) -> list[Stage]:
    """Return the known stages with the user's among them: in place of one of the same name, or behind `after`."""
    stages = list(known)
    for stage in own:
        names = [s.name for s in stages]
        if not isinstance(stage, Stage) or not getattr(stage, "name", ""):
            raise InvalidArgument(f"stages must be recall.Stage objects with a name, not {stage!r}.")
        if not 0 < stage.share <= 1:
            raise InvalidArgument(f"The share of the stage {stage.name!r} must be above 0 and at most 1.")
        if stage.name in names:
            stages[names.index(stage.name)] = stage
        elif stage.after in names:
            stages.insert(names.index(stage.after) + 1, stage)
        else:
            raise InvalidArgument(f"The stage {stage.name!r} must say `after` which it comes: {', '.join(names)}.")
    return stages
