"""Requests to an arm, and its results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from recall_integrations.errors import RecallTimeout
from recall_integrations.indexes.scope_view import STORED_MAX, Mask, Rows, ScopeView
from recall_integrations.indexes.vector_column import Similarities
from recall_integrations.records import record
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.types import ParsedQuery, RetrievalPlan

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
