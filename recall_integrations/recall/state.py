"""The knowledge of one recall so far. Every stage reads the state and returns an extended one; no state is changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from recall_integrations.arms.base import ArmResult
from recall_integrations.errors import InvalidArgument
from recall_integrations.facts.deciding import Decided
from recall_integrations.indexes.scope_view import Mask, ScopeView
from recall_integrations.indexes.vector_column import Similarities
from recall_integrations.learning.versions import BY_RULES, Served
from recall_integrations.planning.planner import Asked
from recall_integrations.privacy.door import Door
from recall_integrations.ranking.arranging.newer import Overtaken
from recall_integrations.ranking.fusion import Fused
from recall_integrations.recall.looking import Looked
from recall_integrations.records import changed, record
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
from recall_integrations.types.request import RecallRequest

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
