"""Requests to an arm, and its results."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from recall_integrations.errors import RecallError, RecallTimeout
from recall_integrations.indexes.scope_view import STORED_MAX, Mask, Rows, ScopeView
from recall_integrations.indexes.vector_column import Similarities
from recall_integrations.records import record
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.resilience.failures import failures
from recall_integrations.resilience.guard import ERROR, SUCCESS, Answer, Call, Guard
from recall_integrations.types import Degradation, ParsedQuery, RetrievalPlan
from recall_integrations.types.observing import Step

SUBSET_MAX = STORED_MAX  # rows of a large scope whose vectors are gathered to order them


@record(frozen=True, slots=True, kw_only=True)
class ArmRequest:
    """One query for one arm.

    Args:
        parsed, plan: the parsed query, and the plan for it.
        view: the scope's columns; every row an arm returns is a living row of it.
        vectors: float32 `(m, d)`: the query's vector and those of its rewrites; `None` if the embedding failed.
        similarities: each row's best cosine with them, where vectors can be scanned. The scan is made once per recall,
            because most arms and the fusion look at it.
        terms: stems to look for.
        allowed: rows that meet the filters; `None` = all.
        asked: rows of the time or the session that decides what comes first (`plan.time_filter`); `None` = there is
            none.
        limit: how many candidates are wanted.
        deadline: checked in loops; an arm that is late is abandoned.
        frequency: memories of the scope that hold a stem; `None` = ask the index.
    """

    parsed: ParsedQuery
    plan: RetrievalPlan
    view: ScopeView
    vectors: NDArray[np.float32] | None
    similarities: Similarities | None
    terms: tuple[str, ...]
    allowed: Mask | None
    limit: int
    deadline: Deadline
    frequency: Callable[[str], int] | None = None
    asked: Mask | None = None

    @property
    def vector(self) -> NDArray[np.float32] | None:
        """Vector of the query itself."""
        return self.vectors[0] if self.vectors is not None and len(self.vectors) else None

    def check_time(self) -> None:
        """Stop an arm whose answer nobody waits for any more.

        Raises:
            RecallTimeout: the deadline has passed, or the recall was cancelled.
        """
        if self.deadline.over:
            raise RecallTimeout("The deadline has passed.")

    def living(self, nums: NDArray[np.int64], scores: NDArray[np.float32]) -> tuple[Rows, NDArray[np.float32]]:
        """Return rows and scores of those nums that are in this scope, alive and allowed: the last isolation guard."""
        view = self.view
        if not view.size or not len(nums):
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
        rows = np.searchsorted(view.nums, nums)
        rows[rows == view.size] = 0
        keep = (view.nums[rows] == nums) & view.alive[rows]
        if self.allowed is not None:
            keep &= self.allowed[rows]
        return rows[keep], scores[keep]

    def closeness(self, rows: Rows) -> NDArray[np.float32]:
        """Rate how near rows are to the query, in [0, 1], by similarity, or by recency where no vectors are at hand."""
        if self.similarities is not None:
            near: NDArray[np.float32] = np.clip(self.similarities.of(rows), 0, 1)
            return near
        newest = rows[-SUBSET_MAX:]  # vectors of a large scope are gathered row by row
        similarity = self.view.similarity(newest, self.vector)
        if similarity is not None:
            padded = np.zeros(len(rows), dtype=np.float32)
            padded[len(rows) - len(newest) :] = np.clip(similarity, 0, 1)
            return padded
        at = self.view.at[rows].astype(np.float64)
        at[~self.view.dated[rows]] = at.min(initial=np.inf)
        span = max(float(at.max() - at.min()), 1.0) if len(at) else 1.0
        recency: NDArray[np.float32] = ((at - at.min(initial=np.inf)) / span).astype(np.float32)
        return recency

    def nearest(
        self, arm: str, rows: Rows, base: NDArray[np.float32] | float, share: float, *, note: str = ""
    ) -> ArmResult:
        """Return the best `limit` of rows by `base + share · closeness`, falling, ties by id.

        Args:
            arm: name of the arm.
            rows: rows of the view, rising.
            base: other part of the score, of each row or of all.
            share: factor of the closeness.
            note: note of the result.
        """
        if self.similarities is None:
            scores = np.asarray(base + share * self.closeness(rows), dtype=np.float32)
            return self.result(arm, rows, scores, note=note)
        best, scores = self.similarities.top_of(rows, self.limit, base, share)
        return ArmResult(arm=arm, rows=best, scores=scores, note=note)

    def result(
        self, arm: str, rows: Rows, scores: NDArray[np.float32], *, note: str = "", ceiling: float = 1.0
    ) -> ArmResult:
        """Return the best `limit` of `rows`, falling by score, ties by id."""
        best, best_scores = self.view.top(rows, scores, self.limit)
        return ArmResult(arm=arm, rows=best, scores=best_scores, note=note, ceiling=ceiling)


@record(frozen=True, slots=True, kw_only=True)
class ArmResult:
    """Candidates of one arm.

    Args:
        arm: name of the arm.
        rows: rows of the view, best first, ties by id, no repeats.
        scores: on the arm's own scale, falling.
        support_rows, support_scores: what the arm knows about further rows, in order of row: used to score candidates
            that other arms bring, not as candidates of their own.
        stated_rows: rows that say outright what is asked: of the graph, those that state an edge of the kind that the
            query's words point at, from an entity that it names.
        note: for the explanation ("2 entities, 14 memories").
        ceiling: the score that a perfect candidate would approach.
        seeds: entities that the arm started from, if it does so.
        edges: typed edges that it followed from them.
        without: reason and detail of a degradation within the arm; `None` = none.
    """

    arm: str
    rows: Rows
    scores: NDArray[np.float32]
    support_rows: Rows = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    support_scores: NDArray[np.float32] = field(default_factory=lambda: np.empty(0, dtype=np.float32))
    stated_rows: Rows = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    note: str = ""
    ceiling: float = 1.0
    seeds: int = 0
    edges: int = 0
    without: tuple[str, str] | None = None

    @classmethod
    def empty(cls, arm: str, note: str = "") -> ArmResult:
        """Return a result without candidates."""
        return cls(arm=arm, rows=np.empty(0, dtype=np.int64), scores=np.empty(0, dtype=np.float32), note=note)


class NotAtHand(Exception):
    """Data that an arm needs is not in memory: the arm must be asked where it may read from the store."""


class Arm(Protocol):
    """A sub-retriever. `search` runs in a worker thread, or in the caller's where it only computes; it may raise: the
    fan-out turns that into a degradation."""

    name: str

    def search(self, request: ArmRequest) -> ArmResult: ...


FIRST = 10  # of what an arm found, whose ids are told to who looks on


def _compared(request: ArmRequest) -> bool:
    return request.similarities is not None


@record(frozen=True, slots=True)
class InMemory:
    """Maker of an arm that reads nothing from the store where its data is in memory."""

    make: Callable[[], Arm]
    there: Callable[[ArmRequest], bool] = _compared  # whether its data is in memory. Default: whether the vectors are.
    # makes the arm to ask in a thread where the first raises `NotAtHand`; `None` = it never does
    beside: Callable[[], Arm] | None = None

    def __call__(self) -> Arm:
        return self.make()


def whole(make: Callable[[], Arm]) -> Arm:
    """Make the arm that may also read data from the store."""
    return make.beside() if isinstance(make, InMemory) and make.beside is not None else make()


class FanOut:
    """The arms of one recall. `start` them, as soon as what they need is there, then `collect`."""

    def __init__(
        self,
        guards: Callable[[str], Guard],
        arms: Mapping[str, Callable[[], Arm]],
        deadline: Deadline,
        timings_ms: dict[str, float],
        share: Callable[[str], float] = lambda _name: 1.0,
        step: Step | None = None,
        searching: list[tuple[str, float, float]] | None = None,
    ) -> None:
        self._guards, self._arms, self._share = guards, arms, share
        self._deadline, self._timings_ms, self._step, self._searching = deadline, timings_ms, step, searching
        self._started: dict[str, Call[ArmResult] | Answer[ArmResult]] = {}
        self._steps: dict[str, Step] = {}

    def start(self, requests: Sequence[tuple[str, ArmRequest]]) -> None:
        """Ask arms, and return when those without a thread are done."""
        alone = []
        if self._step is not None:
            for name, request in requests:
                inputs = {"terms": list(request.terms), "limit": request.limit}
                self._steps[name] = self._step.begin(f"arm.{name}", inputs)
        for name, request in requests:
            arm = self._arms[name]
            if isinstance(arm, InMemory) and arm.there(request):
                alone.append((name, request))
            else:
                self._beside(name, request)
        for name, request in alone:
            answer = self._here(name, request)
            if answer is None:
                self._beside(name, request)
            else:
                self._started[name] = answer

    def collect(self, order: Sequence[str]) -> tuple[list[ArmResult], list[Degradation]]:
        """Wait until the deadline; return results in the order of names given (not of arrival), and degradations."""
        results: list[ArmResult] = []
        degraded: list[Degradation] = []
        for name in (n for n in order if n in self._started):
            call = self._started[name]
            answer = call if isinstance(call, Answer) else self._guards(name).ended(call)
            if answer.value is None and self._steps:
                self._steps[name].end({}, answer.error or RecallError(f"{answer.code}: {answer.detail}"))
            if answer.value is not None:
                results.append(answer.value)
                if answer.value.without is not None:
                    reason, detail = answer.value.without
                    degraded.append(Degradation(stage=name, reason=reason, detail=detail))
            else:
                degraded.append(Degradation(stage=name, reason=answer.code, detail=answer.detail))
        return results, degraded

    def _beside(self, name: str, request: ArmRequest) -> None:
        limit = self._deadline.child(self._deadline.remaining_ms() * self._share(name))
        given = replace(request, deadline=limit)
        self._started[name] = self._guards(name).begin(limit, self._timed, whole, name, given)

    def _here(self, name: str, request: ArmRequest) -> Answer[ArmResult] | None:
        """Ask an arm in this thread; return `None` where its data is not in memory."""
        try:
            return Answer(reason=SUCCESS, value=self._timed(lambda make: make(), name, request))
        except NotAtHand:
            return None
        except failures() as e:  # handled with those of the other arms
            return Answer(reason=ERROR, detail=f"{type(e).__name__}: {e}", error=e)

    def _timed(self, made: Callable[[Callable[[], Arm]], Arm], name: str, request: ArmRequest) -> ArmResult:
        begin = time.perf_counter()
        try:
            found = checked(made(self._arms[name]).search(request), name, request)
            if self._steps:
                self._steps[name].end(_told(found, request))
            return found
        finally:
            ended = time.perf_counter()
            self._timings_ms[f"arm.{name}"] = (ended - begin) * 1e3
            if self._searching is not None:
                self._searching.append((name, begin, ended))


def _told(found: ArmResult, request: ArmRequest) -> dict[str, Any]:
    """Summarise an arm's result as JSON for the watcher."""
    rows, scores = found.rows[:FIRST].tolist(), found.scores[:FIRST].tolist()
    best = [{"id": request.view.ids[row], "score": score} for row, score in zip(rows, scores, strict=True)]
    return {"found": len(found.rows), "best": best, "note": found.note}


def checked(found: object, name: str, request: ArmRequest) -> ArmResult:
    """Return an arm's answer if it is a valid result; later stages rely on it."""
    if not isinstance(found, ArmResult):
        raise TypeError(f"The arm {name!r} gave {type(found).__name__}. Return an ArmResult.")
    for rows, scores in ((found.rows, found.scores), (found.support_rows, found.support_scores)):
        if len(rows) != len(scores):
            raise ValueError(f"The arm {name!r} gave {len(rows)} rows and {len(scores)} scores.")
        if not len(rows):
            continue
        # Without their sign, rows below 0 are far above all others.
        if np.maximum.reduce(np.asarray(rows, dtype=np.int64).view(np.uint64)) >= request.view.size:
            raise ValueError(f"The arm {name!r} gave rows that are not in the scope.")
        # A sum that is finite has no other numbers in it; large ones may have one that is not.
        if not (math.isfinite(np.add.reduce(scores)) or np.isfinite(scores).all()):
            raise ValueError(f"The arm {name!r} gave scores that are no finite numbers.")
    return found
