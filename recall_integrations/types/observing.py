"""One recall as others see it: its arguments, and what observers are told of it.

Events for observers of whole recalls hold numbers and reason codes, and the answer as its caller gets it.

    QueryOptimizer(store, observers=[Metrics(), Tracing()])

An observer of stages (a function of a `StageEvent`) is called for each of them; an observer of recalls once, a moment
after the answer was given, so that no caller waits for it. Only an observer that wants to know when a stage *begins*
returns a `Look` from `begin`. Where nobody observes, none of this is made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, Protocol
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from recall_integrations.records import record
from recall_integrations.types.filters import Filters
from recall_integrations.types.memory import Scope
from recall_integrations.types.query import TemporalWindow
from recall_integrations.types.result import Degradation, RecallResult


@record(frozen=True, slots=True, kw_only=True)
class Feedback:
    """Feedback that is kept.

    Args:
        result_id: id of the recall's result.
        gains: scope → memory → gain: 1 = it helped, 0 = it did not. Of one recall the surest 64 of a scope are kept.
        ignored: ids that name no memory of the scope, or one that was forgotten or replaced meanwhile.
        anew: whether the recall was not remembered any more, and its query was asked again.
        kinds: kinds of feedback: `helpful`, `wrong`, `cited`, `rating`, `asked_again`.
    """

    result_id: str
    gains: Mapping[Scope, Mapping[str, float]]
    ignored: tuple[str, ...] = ()
    anew: bool = False
    kinds: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return any(self.gains.values())


@record(frozen=True, slots=True, kw_only=True)
class ArmSeen:
    """The search of an arm in a recall."""

    name: str
    began_s: float  # `time.perf_counter()` when it began to search
    took_ms: float
    found: int | None = None  # number of candidates; `None` = it failed
    placed: int = 0  # number of hits that it found
    seeds: int = 0  # number of entities that it started from
    edges: int = 0  # number of typed edges that it followed
    by: str = ""  # way in which it looked, where there are several (`exact`, `hnsw`)


@record(frozen=True, slots=True, kw_only=True)
class PartSeen:
    """The figures of a recall in one scope."""

    level: int = 0  # how much was left out under pressure, 0 = nothing (`resilience.admission`)
    candidates: int = 0  # number of candidates that were ranked
    arms: tuple[ArmSeen, ...] = ()  # that searched, those that failed too
    hydrated: int = 0  # number of memories that were delivered out of memory
    read: int = 0  # number of memories that had to be read from the database; of recalls beside this one too


@record(frozen=True, slots=True, kw_only=True)
class RecallEvent:
    """The event that a recall has ended.

    Args:
        took_ms: milliseconds of all of it, with the wait for a place.
        privacy: `allow`, `redact` or `block`.
        k: number of hits asked for.
        scopes: a keyed digest of each scope that was asked, which says whether two recalls were of the same scope,
            and not of which.
        thresholds: the planner's thresholds, by name.
        parts: figures of each scope; empty where the answer was kept from an earlier recall.
        result: the answer as the caller gets it, so without what privacy withholds from them; `None` = there is none.
        error: error that the caller gets instead, or, with `strict`, as well.
    """

    took_ms: float
    privacy: str
    k: int
    scopes: tuple[str, ...]
    thresholds: Mapping[str, float]
    parts: tuple[PartSeen, ...]
    result: RecallResult | None
    error: BaseException | None


class Look(Protocol):
    """One recall, seen while it runs, in its thread. Its errors cost nobody the answer: the result names them."""

    def stage(self, name: str) -> None:
        """Note that a stage begins."""
        ...

    def ended(self, name: str, failed: bool, degraded: Sequence[Degradation]) -> None:
        """Note that the stage which began last has ended.

        Args:
            name: the stage's name.
            failed: whether its fallback was taken.
            degraded: its problems, as they may be told.
        """
        ...

    def over(self) -> None:
        """Note that the recall has ended. Its result is told a moment later (`RecallObserver.recalled`)."""
        ...


class RecallObserver:
    """Observes whole recalls. Threads share it. A subclass overrides the methods that it needs."""

    def attached(self, source: object) -> None:
        """Note that an optimizer which was given this observer is ready.

        Args:
            source: the optimizer, with `health()` and `flush()`. Keep no more than a weak reference.
        """

    def begin(self) -> Look | None:
        """Note that a recall begins, in its thread; return `None` if there is nothing to do before its end."""
        return None

    def recalled(self, event: RecallEvent, look: Look | None) -> None:
        """Note that a recall has ended. Called a moment later, in the order in which recalls ended, in a thread of ours
        with the context variables of the caller; errors are logged. `QueryOptimizer.flush` waits for it.

        Args:
            event: the recall's event.
            look: the return value of `begin`.
        """

    def learned(self, step: object) -> None:
        """Note that something was learned from feedback, promoted or rolled back, at once or by `optimizer.learn`.

        Args:
            step: a `learning.learner.Step`.
        """

    def judged(self, feedback: Feedback) -> None:
        """Note that somebody has said whether a recall helped (`QueryOptimizer.feedback`), and that it is kept.

        Args:
            feedback: the feedback; it holds ids of memories.
        """

    def refused(self, error: Exception) -> None:
        """Note that the arguments of a recall were refused; nothing was searched."""


class Step(Protocol):
    """A step of a recall that is under way: the recall itself, one of its stages, an arm.

    It is called when something begins or ends, in the thread in which that happens; arms work in threads of their own.
    Its errors cost nobody the answer: the result names them.
    """

    def begin(self, name: str, inputs: Mapping[str, Any]) -> Step:
        """Begin a step inside of this one.

        Args:
            name: the stage (`parse`, …, `deliver`), `cache` for an answer that was kept, `arm.<name>`, or `scope` where
                several are searched, with the stages inside.
            inputs: input of the step, as JSON has it. Empty unless `privacy="allow"`.
        """
        ...

    def end(self, outputs: Mapping[str, Any], error: BaseException | None = None) -> None:
        """End the step. Called once.

        Args:
            outputs: output of the step, as JSON has it. Unless `privacy="allow"`, only its problems (`degraded`).
            error: error with which it failed, though the recall may go on.
        """
        ...


Window = TemporalWindow | Literal[False] | None


@record(frozen=True, slots=True, kw_only=True)
class RecallRequest:
    """The checked arguments of `QueryOptimizer.recall`, whose docstring says what they mean.

    `load_wait_ms` and `llm_wait_ms` say how long it may wait beyond its time until what it needs is in memory, and for
    an LLM that rewrites; 0 where the caller says what time there is.

    A recall of several `scopes` is one recall of each, as a `part` of it: the whole applies what holds for all hits.
    """

    text: str
    k: int
    scope: Scope
    filters: Filters
    now: datetime
    time_budget_ms: float
    tokens_max: int | None
    privacy: str
    window: Window
    zone: ZoneInfo | None
    context: int
    vector: NDArray[np.float32] | None
    score_min: float | None = None
    watch: Step | None = None
    scopes: tuple[Scope, ...] = ()
    part: bool = False
    as_of: datetime | None = None
    load_wait_ms: float = 0.0
    llm_wait_ms: float = 0.0
