"""Fusion: candidates of several arms become one scored list.

Strategies, chosen by `ranking.strategy`; any other is `weighted`:

- `rrf`: reciprocal rank fusion, `sum w / (k + rank)`, k = 60 (Cormack, Clarke and Büttcher 2009).
- `weighted`: five terms, each in [0, 1]: vector, lexical, graph, recency, importance; and boosts
  for what the plan asked of the temporal and the type arm, and for the types that the router mode prefers. Terms are
  computed for every candidate, also for those that the arm itself did not return. Arms that failed leave the sum; the
  rest is renormalised.

- `boosts`: the weighted sum of vector and lexical alone, multiplied by `1 + boost · value` for the graph,
  the time asked for, the type, recency and importance, and divided by the largest such product. A boost can lift a
  match; it can make none out of nothing.

A single source is never fused: it keeps its own order and scores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from recall_integrations.arms.base import ArmResult
from recall_integrations.arms.second_hop import Via
from recall_integrations.indexes.scope_view import Rows, ScopeView, of_types
from recall_integrations.indexes.times import to_micros
from recall_integrations.indexes.vector_column import Similarities
from recall_integrations.indexes.windows import asked_shares
from recall_integrations.records import record
from recall_integrations.types import RetrievalPlan, TemporalWindow

Number = TypeVar("Number", bound=np.generic)
_DAY = 86_400_000_000
Scores = NDArray[np.float32]
WEIGHTS = {"semantic": 0.6, "lexical": 0.65, "graph": 0.04, "recency": 0.01, "importance": 0.01}  # of the terms
WINDOW_BOOST = 0.3
LEXICAL_FLOOR = 0.4  # of the ceiling of BM25
TYPE_BOOST = 0.05
MODE = 0.02  # of the types that the router mode prefers
TIME_BIAS = 0.02  # of recency where the query asks for what is new
EXACT = 0.6  # of the share of the query's identifiers that a memory holds letter by letter
RRF_K = 60
BOOSTS = {"graph": 0.1, "temporal": 0.5, "type_filter": 0.2, "router": 0.05, "recency": 0.05, "importance": 0.05}


def nowhere(_row: int) -> None:
    """Return `None`: no second hop led to any candidate."""


@record(frozen=True, slots=True, kw_only=True)
class Fused:
    """Candidates in order."""

    rows: Rows  # rows of the view, best first, ties by id
    scores: Scores  # in [0, 1], falling
    added: Mapping[str, Scores]  # per source, its part of each candidate's score, aligned with `rows`
    # per source, its own score of each candidate (NaN where it has none), aligned with `rows`
    raw: Mapping[str, Scores]
    # per arm, the candidate's 1-based place in its list (0 where it is not in it), aligned with `rows`
    ranks: Mapping[str, NDArray[np.int32]]
    # how the second hop reached the candidate in a row of the view; `None` = it did not
    via: Callable[[int], Via | None] = nowhere

    def take(self, order: NDArray[np.int64], scores: Scores) -> Fused:
        """Return the candidates in another order, with other scores."""
        return Fused(
            rows=self.rows[order],
            scores=scores,
            added=InOrder.of(self.added, order),
            raw=InOrder.of(self.raw, order),
            ranks=InOrder.of(self.ranks, order),
            via=self.via,
        )


class OnDemand(Mapping[str, NDArray[Number]]):
    """Columns by name, each made at its first read: explanations are read of the few returned candidates."""

    def __init__(self, makes: Mapping[str, Callable[[], NDArray[Number]]]) -> None:
        self._makes = makes
        self._made: dict[str, NDArray[Number]] = {}

    def __getitem__(self, name: str) -> NDArray[Number]:
        found = self._made.get(name)
        if found is None:
            found = self._made[name] = self._makes[name]()
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._makes

    def __iter__(self) -> Iterator[str]:
        return iter(self._makes)

    def __len__(self) -> int:
        return len(self._makes)


class InOrder(Mapping[str, NDArray[Number]]):
    """Columns of candidates in another order, each put into it at its first read."""

    def __init__(self, columns: Mapping[str, NDArray[Number]], order: NDArray[np.int64]) -> None:
        self._columns, self._order = columns, order
        self._made: dict[str, NDArray[Number]] = {}

    @classmethod
    def of(cls, columns: Mapping[str, NDArray[Number]], order: NDArray[np.int64]) -> InOrder[Number]:
        """Put columns into an order; they may be in an order already."""
        if isinstance(columns, InOrder):
            return cls(columns._columns, columns._order[order])
        return cls(columns, np.asarray(order))

    def __getitem__(self, name: str) -> NDArray[Number]:
        found = self._made.get(name)
        if found is None:
            found = self._made[name] = self._columns[name][self._order]
        return found

    def parts(self, places: NDArray[np.int64]) -> list[NDArray[Number]]:
        """Return the values of each column at these places, without putting a whole column into the order."""
        where, columns = self._order[places], self._columns
        return [columns[name][where] for name in columns]

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


@record(frozen=True, slots=True, kw_only=True)
class FusionInput:
    """Input of fusion besides the arms' lists."""

    view: ScopeView  # view, plan, window, now: view, plan, window and time of the recall
    plan: RetrievalPlan
    vectors: Scores | None  # vectors of the query's readings
    similarities: Similarities | None  # their best cosine with every row, where that is known
    window: TemporalWindow | None
    now: datetime
    half_life_days: float  # age at which recency has fallen to one half
    # cosine_worth, word_worth: how much the embedding's cosines, and those of words, say; 0 = nothing
    cosine_worth: float = 1.0
    cosine_spread: float = 1.0  # how far apart the embedding's cosines are, 1 = as far as those of the bundled model
    word_worth: float = 1.0


def fuse(results: Sequence[ArmResult], given: FusionInput, strategy: str = "weighted") -> Fused:
    """Fuse by a strategy."""
    filled = [r for r in results if len(r.rows)]
    rows = np.unique(np.concatenate([r.rows for r in filled])) if filled else np.empty(0, dtype=np.int64)
    ranks = {r.arm: arm_ranks(r, rows) for r in filled}
    if len(filled) == 1:
        raw, added = _own(filled[0], rows)
    elif strategy == "rrf":
        raw = {r.arm: scattered(rows, r.rows, r.scores, np.nan) for r in filled}
        added = _rrf({r.arm: _places(r, rows, ranks[r.arm]) for r in filled}, given.plan, RRF_K)
    else:
        raw, added = _weighted(filled, rows, given)
        if strategy == "boosts":
            added = _boosted(raw, added)
    total = np.zeros(len(rows), dtype=np.float32)
    for part in added.values():
        total += part
    total = np.clip(total, 0, 1)
    order = given.view.order_by_id(rows, total) if len(rows) else np.empty(0, dtype=np.int64)
    return Fused(rows=rows, scores=total, added=added, raw=raw, ranks=ranks).take(order, total[order])


def lifted(view: ScopeView, fused: Fused, source: str, values: Scores, weight: float) -> Fused:
    """Add `weight · values` to the scores as one more source, renormalised to [0, 1], and sort again."""
    if not values.any():
        return fused
    share = weight / (1 + weight)
    added = {name: part * (1 - share) for name, part in fused.added.items()}
    scores = (fused.scores * (1 - share) + share * values).astype(np.float32)
    more = Fused(
        rows=fused.rows,
        scores=scores,
        added={**added, source: share * values},
        raw={**fused.raw, source: values},
        ranks=fused.ranks,
    )
    order = view.order_by_id(fused.rows, scores)
    return more.take(order, scores[order])


def _weight(plan: RetrievalPlan, arm: str) -> float:
    planned = plan.arm(arm)
    return 1.0 if planned is None else planned.weight


def scattered(rows: Rows, some: Rows, values: Scores, default: float) -> Scores:
    """Lay out `values` of `some` rows along the sorted `rows`; `default` elsewhere."""
    out = np.full(len(rows), default, dtype=np.float32)
    if not len(rows) or not len(some):
        return out
    at = np.minimum(rows.searchsorted(some), len(rows) - 1)
    known = rows[at] == some
    out[at[known]] = values[known]
    return out


def arm_ranks(result: ArmResult, rows: Rows) -> NDArray[np.int32]:
    """Return 1-based places in the arm's list along the sorted `rows`; 0 = not in it."""
    places = np.arange(1, len(result.rows) + 1, dtype=np.float32)
    return scattered(rows, result.rows, places, 0).astype(np.int32)


def _places(result: ArmResult, rows: Rows, ranks: NDArray[np.int32]) -> Scores:
    """Return the places that RRF counts, 0 = none: the arm's ranks; or, where the arm supports more rows than it lists,
    the place of each by its support, equals sharing the mean of their places. Many memories mention the same person:
    their order in the graph arm's list is that of another arm, and must not count twice.
    """
    if not len(result.support_rows):
        return ranks.astype(np.float32)
    own = scattered(rows, result.support_rows, result.support_scores, np.nan)
    rising = np.sort(result.support_scores)
    below, upto = np.searchsorted(rising, own, "left"), np.searchsorted(rising, own, "right")
    places = len(rising) - upto + (upto - below + 1) / 2
    return np.where(np.isnan(own), 0, places).astype(np.float32)


def _own(result: ArmResult, rows: Rows) -> tuple[dict[str, Scores], dict[str, Scores]]:
    raw = scattered(rows, result.rows, result.scores, np.nan)
    own = np.nan_to_num(raw)
    if result.arm == "lexical":  # BM25 has no upper bound; this keeps its order
        own = own / (own + 10.0)
    return {result.arm: raw}, {result.arm: np.clip(own, 0, 1)}


def _rrf(places: Mapping[str, Scores], plan: RetrievalPlan, k: int) -> dict[str, Scores]:
    """Compute weighted reciprocal ranks, divided by those of the first place in every list."""
    weights = {arm: _weight(plan, arm) for arm in places}
    best = max(sum(weights.values()) / (k + 1), 1e-9)
    return {
        arm: np.where(place > 0, weights[arm] / (k + np.maximum(place, 1)) / best, 0).astype(np.float32)
        for arm, place in places.items()
    }


def _weighted(
    results: Sequence[ArmResult], rows: Rows, given: FusionInput
) -> tuple[dict[str, Scores], dict[str, Scores]]:
    by_arm = {r.arm: r for r in results}
    view, plan = given.view, given.plan
    raw: dict[str, Scores] = {}
    terms: dict[str, tuple[float, Scores]] = {}

    def weight(arm: str, base: float) -> float:
        return base * _weight(plan, arm)

    if "semantic" in by_arm:
        own, cosine = by_arm["semantic"], cosines(given, rows)
        if cosine is None:
            cosine = scattered(rows, own.rows, own.scores, np.nan)
        raw["semantic"] = cosine
        terms["semantic"] = (weight("semantic", WEIGHTS["semantic"]), np.clip(np.nan_to_num(cosine), 0, 1))
    if "lexical" in by_arm:
        own = by_arm["lexical"]
        raw["lexical"] = scattered(rows, own.rows, own.scores, np.nan)
        # Against the best candidate, but a best that says little of the query must not count as a full match.
        top = max(float(own.scores.max(initial=0)), LEXICAL_FLOOR * own.ceiling)
        terms["lexical"] = (weight("lexical", WEIGHTS["lexical"]), np.nan_to_num(raw["lexical"]) / max(top, 1e-6))
    if "graph" in by_arm:
        own = by_arm["graph"]
        raw["graph"] = scattered(rows, own.support_rows, own.support_scores, np.nan)
        terms["graph"] = (weight("graph", WEIGHTS["graph"]), np.clip(np.nan_to_num(raw["graph"]), 0, 1))
    if given.window is not None:
        inside = asked_shares(view, given.window)[rows]
        raw["temporal"] = inside
        terms["temporal"] = (weight("temporal", WINDOW_BOOST) * given.window.confidence, inside)
    if "type_filter" in by_arm:
        hinted = of_types(view, plan.type_hints, rows).astype(np.float32)
        raw["type_filter"] = hinted
        terms["type_filter"] = (weight("type_filter", TYPE_BOOST), hinted)
    if plan.prefers:
        raw["router"] = of_types(view, plan.prefers, rows).astype(np.float32)
        terms["router"] = (MODE, raw["router"])
    age = np.maximum(to_micros(given.now) - view.at[rows], 0) / _DAY
    raw["recency"] = (np.exp2(-age / given.half_life_days) * view.dated[rows]).astype(np.float32)
    terms["recency"] = (TIME_BIAS if plan.time_bias else WEIGHTS["recency"], raw["recency"])
    raw["importance"] = view.importance[rows]
    terms["importance"] = (WEIGHTS["importance"], raw["importance"])
    whole = sum(w for w, _ in terms.values())
    return raw, {name: (w / max(whole, 1e-9)) * values for name, (w, values) in terms.items()}


def _boosted(raw: Mapping[str, Scores], added: Mapping[str, Scores]) -> dict[str, Scores]:
    """Turn the terms of the weighted sum into a base and boosts."""
    own = [name for name in ("semantic", "lexical") if name in added]
    boosts = {name: weight for name, weight in BOOSTS.items() if name in added and own}
    if not boosts:
        return dict(added)
    base = sum((added[name] for name in own), np.zeros_like(added[own[0]]))
    whole = float(np.prod([1 + weight for weight in boosts.values()]))
    # Base and boosts share [0, 1]: without any boost the best candidate has 1 / whole.
    parts = {name: added[name] / whole for name in own}
    score = base / whole
    for name, weight in boosts.items():
        parts[name] = score * np.float32(weight) * np.clip(np.nan_to_num(raw[name]), 0, 1)
        score = score + parts[name]
    return parts


def cosines(given: FusionInput, rows: Rows) -> Scores | None:
    """Return the best cosine of each row with the query's readings; `None` where no vectors are at hand."""
    if given.similarities is not None:
        return given.similarities.of(rows)
    best: Scores | None = None
    for vector in () if given.vectors is None else given.vectors:
        cosine = given.view.similarity(rows, vector)
        if cosine is None:
            return None
        best = cosine if best is None else np.maximum(best, cosine)
    return best
