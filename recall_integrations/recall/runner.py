"""The knowledge of one recall, its stages, and the runner that takes it through them.

Every stage reads the state and returns an extended one; no state is changed.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import field, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from recall_integrations.arms.base import ArmResult
from recall_integrations.errors import InvalidArgument, RecallError, RecallTimeout
from recall_integrations.facts.deciding import Decided
from recall_integrations.indexes.scope_view import Mask, ScopeView
from recall_integrations.indexes.vector_column import Similarities
from recall_integrations.learning.versions import BY_RULES, Served
from recall_integrations.planning.planner import Asked
from recall_integrations.privacy.door import Door
from recall_integrations.ranking.arranging.newer import Overtaken
from recall_integrations.ranking.fusion import Fused
from recall_integrations.recall.looking import Looked, Searching, failure, outputs, shown, watched
from recall_integrations.records import changed, record
from recall_integrations.resilience.admission import MINIMAL, RECENT_SECONDS
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.resilience.failures import failures
from recall_integrations.resilience.guard import NO_TIME, Guard, Pace
from recall_integrations.rewriting.asking import Asking
from recall_integrations.types import (
    CacheOutcome,
    Contribution,
    Degradation,
    Hit,
    Note,
    ParsedQuery,
    RerankOutcome,
    RetrievalPlan,
    RewriteOutcome,
)
from recall_integrations.types.observing import RecallRequest, Step

T = TypeVar("T")


def _held_by_none(_term: str) -> int:
    return 0


@record(frozen=True, kw_only=True)  # without slots, which make `changed` take three times as long
class RecallState:
    """The knowledge of one recall so far, in the order in which the stages find it out.

    Args:
        request: the checked arguments.
        door: what may leave the recall; whatever goes to the caller or to a service goes through it.
        level: how much is left out, 0 = nothing (`resilience.admission`).
        looked: tells observers of whole recalls about this one; `None` = there are none.
        served: the version learned from use that answers this recall; default: the rules.
        cache: whether the answer comes from the result cache; then no stage is run.
        loading: whether the scope's columns are still being read, so that there is no view.
        parsed: the query as understood (`parse`); `query` returns the same or raises.
        unread: what a counterfactual forgets of the query, by names of rules.
        frequency: counts the memories of the scope that hold a stem (`parse`).
        planned: the plan (`plan`); `plan` returns the same or raises.
        view: the scope's columns; `None` where nothing was ever remembered in it (`plan`).
        allowed: rows that meet the filters; `None` = all (`plan`).
        searched: rows that the arms look at; `None` = all (`plan`).
        wanted: rows of the types asked for, which come first where they are too few to search them alone.
        asked: the time or the session that decides; `None` = none does (`plan`).
        held: what facts decide (`facts`); `None` = nothing.
        trust: factor of all probabilities, below 1 where nothing lies in what was asked for (`plan`).
        asking: the question that the LLM is asked (`ask`); `None` = there is none.
        rewrite: outcome of the rewrites (`rewrite`).
        phrased: row → the phrasing that lifted it (`rewrite`).
        vectors: vectors of the query and its readings (`embed`), float32 `(m, d)`.
        similarities: each row's best cosine with them, where vectors can be scanned.
        results: what each arm found (`arms`).
        fused: the candidates, best first (`rank`); `candidates` returns the same or raises.
        confidence: probability that one of the first k is relevant; `None` = not known (`rank`).
        reranked: row → the reranker's contribution (`rerank`).
        rerank: outcome of the reranker.
        denied: rows that are about a negated term (`arrange`).
        folded: row → rows that repeat it (`arrange`).
        overtaken: older row → the newer one about the same thing that comes before it (`arrange`).
        hits: the answer (`deliver`).
        degraded: the problems.
        notes: notes that explain the answer.
    """

    request: RecallRequest
    door: Door = field(default_factory=Door)
    level: int = 0
    looked: Looked | None = None
    served: Served = BY_RULES
    cache: CacheOutcome = field(default_factory=CacheOutcome)
    loading: bool = False
    parsed: ParsedQuery | None = None
    unread: frozenset[str] = frozenset()
    frequency: Callable[[str], int] = _held_by_none
    planned: RetrievalPlan | None = None
    view: ScopeView | None = None
    allowed: Mask | None = None
    searched: Mask | None = None
    wanted: Mask | None = None
    asked: Asked | None = None
    held: Decided | None = None
    trust: float = 1.0
    asking: Asking | None = None
    rewrite: RewriteOutcome = field(default_factory=RewriteOutcome)
    phrased: Mapping[int, str] = field(default_factory=dict)
    vectors: NDArray[np.float32] | None = None
    similarities: Similarities | None = None
    results: tuple[ArmResult, ...] = ()
    fused: Fused | None = None
    confidence: float | None = None
    reranked: Mapping[int, Contribution] = field(default_factory=dict)
    rerank: RerankOutcome = field(default_factory=RerankOutcome)
    denied: frozenset[int] = frozenset()
    folded: Mapping[int, Sequence[int]] = field(default_factory=dict)
    overtaken: Mapping[int, Overtaken] = field(default_factory=dict)
    hits: tuple[Hit, ...] = ()
    degraded: tuple[Degradation, ...] = ()
    notes: tuple[Note, ...] = ()

    @property
    def query(self) -> ParsedQuery:
        """The query as understood. Raises `InvalidArgument` before `parse`."""
        return _there(self.parsed, "parsed", "parse")

    @property
    def plan(self) -> RetrievalPlan:
        """The plan of the query. Raises `InvalidArgument` before `plan`."""
        return _there(self.planned, "planned", "plan")

    @property
    def scope(self) -> ScopeView:
        """The scope's columns. Raises `InvalidArgument` before `plan`, and where nothing was ever remembered."""
        return _there(self.view, "view", "plan")

    @property
    def candidates(self) -> Fused:
        """The candidates, best first. Raises `InvalidArgument` before `rank`."""
        return _there(self.fused, "fused", "rank")

    def degraded_by(self, *more: Degradation) -> RecallState:
        """Return the state with more problems."""
        return changed(self, degraded=(*self.degraded, *more)) if more else self


def _there(value: T | None, name: str, stage: str) -> T:
    if value is None:
        raise InvalidArgument(f"`{name}` is not known yet. Put the stage after {stage!r}.")
    return value


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


class FunctionStage(Stage):
    """A stage of one function of the state, which only computes."""

    may_hang = False

    def __init__(
        self, name: str, after: str, function: Callable[[RecallState], RecallState], *, essential: bool = False
    ) -> None:
        self.name, self.after, self.essential, self._function = name, after, essential, function

    def applies(self, state: RecallState) -> bool:
        return self.essential or super().applies(state)

    def run(self, state: RecallState, _turn: Turn) -> RecallState:
        return self._function(state)


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
        watch, looked = watched(state, raised), state.looked
        for stage in self.stages:
            if not stage.applies(state):
                continue
            before, share, started = len(state.degraded), stage.share, clock()
            turn = Turn(deadline if share == 1 else deadline.child(deadline.remaining_ms() * share), {})
            if looked is not None:
                turn.searching = []
                looked.stage(stage.name)
            step = None if watch is None else watch.begin(stage.name, shown(stage.name, 0, state))
            turn.step = step
            try:
                state, failed = self._through(stage, state, turn)
            except BaseException as e:
                if step is not None:
                    step.end({}, e)
                raise
            if step is not None:
                problems = state.door.degradations(state.degraded[before:])
                step.end(outputs(stage.name, state, problems), failure(stage.name, problems) if failed else None)
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
        watch = watched(state, raised)
        if watch is not None:
            watch.begin(stage, shown(stage, 0, state)).end(shown(stage, 1, state))
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


def degradation(stage: str, error: BaseException) -> Degradation:
    """Return the problem of a stage, with the code of the error."""
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
