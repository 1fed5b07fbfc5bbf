"""What somebody who observes whole recalls is told: numbers and reason codes, and the answer as its caller gets it.

    QueryOptimizer(store, observers=[Metrics(), Tracing()])

An observer of stages (a function of a `StageEvent`) is called for each of them; one of recalls once, a moment after the
answer was given, so that no caller waits for it. Only who wants to know when a stage *begins* gives a `Look` from
`begin`. Where nobody observes, none of this is made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from recall_integrations.records import record
from recall_integrations.types.feedback import Feedback
from recall_integrations.types.result import Degradation, RecallResult


@record(frozen=True, slots=True, kw_only=True)
class ArmSeen:
    """What an arm did in a recall.

    Args:
        name: the arm.
        began_s: `time.perf_counter()` when it began to search.
        took_ms: how long it did.
        found: candidates; `None` = it failed.
        placed: of the hits, how many it found.
        seeds: entities that it started from.
        edges: typed edges that it followed.
        by: how it looked, where there are several ways (`exact`, `hnsw`).
    """

    name: str
    began_s: float
    took_ms: float
    found: int | None = None
    placed: int = 0
    seeds: int = 0
    edges: int = 0
    by: str = ""


@record(frozen=True, slots=True, kw_only=True)
class PartSeen:
    """What was computed in one scope.

    Args:
        level: how much was left out under pressure, 0 = nothing (`resilience.admission`).
        candidates: how many were ranked.
        arms: what each of them did, those that failed too.
        hydrated: memories that were delivered out of memory.
        read: memories that had to be read from the database; of recalls beside this one too.
    """

    level: int = 0
    candidates: int = 0
    arms: tuple[ArmSeen, ...] = ()
    hydrated: int = 0
    read: int = 0


@record(frozen=True, slots=True, kw_only=True)
class RecallEvent:
    """A recall has ended.

    Args:
        took_ms: all of it, with the wait for a place.
        privacy: `allow`, `redact` or `block`.
        k: hits asked for.
        scopes: a keyed digest of each scope that was asked, which says whether two recalls were of the same one, and
            not of which.
        thresholds: of the planner, by name.
        parts: what was computed, a part for each scope; none where the answer was kept from an earlier recall.
        result: the answer as the caller gets it, so without what privacy withholds from them; `None` = there is none.
        error: what the caller gets instead, or, with `strict`, as well.
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
    """One recall, seen while it runs, in its thread. What it raises costs nobody the answer: the result names it."""

    def stage(self, name: str) -> None:
        """A stage begins."""
        ...

    def ended(self, name: str, failed: bool, degraded: Sequence[Degradation]) -> None:
        """The stage that began last has ended.

        Args:
            name: of the stage.
            failed: whether its fallback was taken.
            degraded: what did not work in it, as it may be told.
        """
        ...

    def over(self) -> None:
        """The recall has ended. What became of it is told a moment later (`RecallObserver.recalled`)."""
        ...


class RecallObserver:
    """Observes whole recalls. Threads share it. What it does not need it leaves as it is here."""

    def attached(self, source: object) -> None:
        """An optimizer that was given this observer is ready.

        Args:
            source: it has `health()` and `flush()`, as `QueryOptimizer` has. Keep no more than a weak reference.
        """

    def begin(self) -> Look | None:
        """A recall begins, in its thread; `None` = there is nothing to do before its end."""
        return None

    def recalled(self, event: RecallEvent, look: Look | None) -> None:
        """It has ended. Called a moment later, in the order in which recalls ended, in a thread of ours with the
        context variables of the caller; what it raises is logged. `QueryOptimizer.flush` waits for it.

        Args:
            event: what became of it.
            look: what `begin` gave.
        """

    def learned(self, step: object) -> None:
        """Something was learned from feedback, promoted or rolled back, at once or by `optimizer.learn`.

        Args:
            step: a `learning.learner.Step`.
        """

    def judged(self, feedback: Feedback) -> None:
        """Somebody has said whether a recall helped (`QueryOptimizer.feedback`), and it is kept.

        Args:
            feedback: of whose memories what was said; it holds ids of them.
        """

    def refused(self, error: Exception) -> None:
        """The arguments of a recall were refused; nothing was searched."""
