"""The arms, and their registration: how an arm is made, when it is asked, and what its weight scales.

An arm of your own is given to `QueryOptimizer(arms=[ArmSpec(...)])`. With the name of a built-in arm it takes that
arm's place. With another name it is asked in every plan where it applies; its hits become candidates, and its score, as
a share of its ceiling, lifts the candidate by `lift` times the weight.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Engine, and_, select

from recall_integrations.arms.base import SUBSET_MAX, Arm, ArmRequest, ArmResult, InMemory
from recall_integrations.arms.graph import GraphRetriever, KeptGraph
from recall_integrations.config import ARMS, RecallConfig
from recall_integrations.database import schema
from recall_integrations.database.connections import within
from recall_integrations.database.sending import begun, bounded
from recall_integrations.errors import IndexUnavailable, InvalidArgument, VectorsAway, VectorsRefused
from recall_integrations.indexes.bm25 import Bm25, ceiling
from recall_integrations.indexes.kernels import distinct
from recall_integrations.indexes.scope_view import Mask, Rows, of_types
from recall_integrations.indexes.vectors import FETCH_MAX, OVERFETCH, CollectionLost, Neighbours
from recall_integrations.indexes.windows import asked_mask, in_micros, told_shares
from recall_integrations.planning.planner import anchoring
from recall_integrations.records import record
from recall_integrations.resilience.failures import failures
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import ArmPlan, MemoryType, ParsedQuery, RetrievalPlan


class LexicalRetriever:
    """The lexical arm: BM25 of the query's stems, with the statistics of the scope alone."""

    name = "lexical"

    def search(self, request: ArmRequest) -> ArmResult:
        """Return candidates that share a stem with the query. Scores are BM25, unbounded above."""
        view = request.view
        if not request.terms or not view.count:
            return ArmResult.empty(self.name)
        request.check_time()
        frequency = request.frequency or view.text.frequency
        bm25 = Bm25(view, request.terms, request.parsed.weaker_terms, frequency)
        rows, scores = bm25.search(request.limit, request.allowed)
        return request.result(self.name, rows, scores, ceiling=ceiling(request.terms, frequency, view.count))


SCANNED_AT_ONCE = 20_000  # rows; between them the time is looked at
SERVER_SHARE = 0.5  # of the time that is left
AWAY = "vectors.away"


class SemanticRetriever:
    """The semantic arm: cosine similarity, the best over the query and its rewrites.

    With `ready`, a scope's collection is asked also where its vectors can be scanned, but for what a filter leaves: as
    soon as it can be, which is waited for so many seconds.
    """

    name = "semantic"

    def __init__(
        self,
        index: Callable[[], Neighbours],
        home_of: Callable[[int], str],
        home_until: Callable[[int], int],
        *,
        ready: Callable[[float], bool] | None = None,
    ) -> None:
        self._index = index
        self._home_of = home_of
        self._home_until = home_until
        self._ready = ready

    def search(self, request: ArmRequest) -> ArmResult:
        """Return candidates by cosine, in [-1, 1]."""
        if request.vectors is None or not len(request.vectors):
            raise IndexUnavailable("The query has no vector: the embedding failed.")
        view = request.view
        if not view.size:
            return ArmResult.empty(self.name)
        if request.similarities is not None and not (self._ready and self._home_until(view.scope_id)):
            best, scores = request.similarities.top(_allowed(request), request.limit)
            return ArmResult(arm=self.name, rows=best, scores=scores, note="exact")
        rows = np.flatnonzero(view.alive if request.allowed is None else view.alive & request.allowed)
        share = len(rows) / max(1, view.size)
        # What HNSW may be asked for has to hold enough.
        few = len(rows) <= SUBSET_MAX and not (self._ready and request.allowed is None)
        if few or not self._home_until(view.scope_id) or share * FETCH_MAX < request.limit:
            return request.result(self.name, rows, self._scanned(request, rows), note="exact subset")
        try:
            found = self._approximate(request, rows, share)
        except (VectorsAway, VectorsRefused, CollectionLost) as e:
            return self._without(request, rows, str(e))
        few = len(found.rows) < min(request.limit, len(rows))
        if few and view.vectors is not None:
            # What is allowed, or still there, lies apart from what is near: of it all, the nearest, where that is no
            # reading of files.
            return request.result(self.name, rows, self._scanned(request, rows), note="exact subset")
        return found

    def _without(self, request: ArmRequest, rows: Rows, why: str) -> ArmResult:
        """Search without the server: all rows where vectors are in memory, else the newest."""
        view = request.view
        if view.vectors is None:
            rows = rows[np.searchsorted(view.nums[rows], self._home_until(view.scope_id), side="right") :]
            rows = rows[-SCANNED_AT_ONCE:]
        found = request.result(self.name, rows, self._scanned(request, rows), note="exact")
        return replace(found, without=(AWAY, why))

    def _scanned(self, request: ArmRequest, rows: Rows) -> NDArray[np.float32]:
        """Compute the cosine of each row from the vectors themselves."""
        assert request.vectors is not None
        if request.similarities is not None:
            return request.similarities.of(rows)
        best = np.empty(len(rows), dtype=np.float32)
        for start in range(0, len(rows), SCANNED_AT_ONCE):
            request.check_time()
            matrix = request.view.vectors_of(rows[start : start + SCANNED_AT_ONCE])
            if matrix is None:
                raise IndexUnavailable("The vectors of the scope are not at hand.")
            found = [np.vecdot(matrix, vector) for vector in request.vectors]
            best[start : start + SCANNED_AT_ONCE] = np.max(found, axis=0)
        return best

    def _approximate(self, request: ArmRequest, rows: Rows, selectivity: float) -> ArmResult:
        assert request.vectors is not None
        view = request.view
        fetch = request.limit if selectivity > 0.999 else int(OVERFETCH * request.limit / max(selectivity, 1e-3))
        fetch = min(max(fetch, request.limit), FETCH_MAX, view.size)
        if self._ready is not None and not self._ready(request.deadline.remaining() * SERVER_SHARE):
            raise VectorsAway("Chroma is not loaded yet.")
        index = self._index()  # which makes a damaged one anew, so how far it reaches is asked after that
        home = self._home_of(view.scope_id)
        until = self._home_until(view.scope_id)
        if self._home_of(view.scope_id) != home:  # it got another one at this moment: how far that reaches says nothing
            home, until = self._home_of(view.scope_id), 0
        newest = rows[np.searchsorted(view.nums[rows], until, side="right") :]
        scored = dict(zip(newest.tolist(), self._scanned(request, newest).tolist(), strict=True))

        def nearest(vector: NDArray[np.float32], limit: int) -> tuple[int, Rows, NDArray[np.float32]]:
            """Return the number of neighbours found, and rows and scores of the valid ones."""
            request.check_time()
            seconds = request.deadline.remaining() * SERVER_SHARE
            nums, scores = index.nearest(home, vector, limit, seconds=seconds)
            held = nums <= until  # what lies behind was scanned
            return len(nums), *request.living(nums[held], scores[held])

        for vector in request.vectors if until else ():
            near, found, scores = nearest(vector, fetch)
            most = fetch if request.allowed is not None else min(FETCH_MAX, view.size)
            if fetch < most and len(found) < min(request.limit, near):
                # Much of what is near has ended or was forgotten, and Chroma does not know of it yet.
                _, found, scores = nearest(vector, most)
            for row, score in zip(found.tolist(), scores.tolist(), strict=True):
                scored[row] = max(score, scored.get(row, -1.0))
        ordered = np.fromiter(sorted(scored), dtype=np.int64, count=len(scored))
        values = np.asarray([scored[r] for r in ordered.tolist()], dtype=np.float32)
        return request.result(self.name, ordered, values, note="hnsw")


def _allowed(request: ArmRequest) -> Mask | None:
    """Return living rows that may be returned; `None` = all."""
    view = request.view
    if view.count == view.size:
        return request.allowed
    return view.alive if request.allowed is None else view.alive & request.allowed


SCAN_MAX = 1_000  # newest memories of a window that are considered
COLUMN_MAX = 200_000  # memories whose times are looked through one by one: some tenths of a millisecond


def _window(request: ArmRequest) -> Mask:
    window = request.parsed.temporal_window
    assert window is not None
    return asked_mask(request.view, window)


def _told(request: ArmRequest) -> NDArray[np.float32]:
    """Return how much each row tells of the window."""
    window = request.parsed.temporal_window
    assert window is not None
    return told_shares(request.view.told, window)


def _most(told: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return the rows that tell of the window, the best `SCAN_MAX` of them."""
    rows = np.flatnonzero(told)
    if len(rows) > SCAN_MAX:
        rows = np.sort(rows[np.argsort(told[rows], kind="stable")[-SCAN_MAX:]])
    return rows


class TemporalRetriever:
    """Memories inside the query's window, or of the session that it asks for."""

    name = "temporal"

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def search(self, request: ArmRequest) -> ArmResult:
        """Return candidates with a score in [0, 1]: half for being inside, half by similarity (or recency)."""
        window = request.parsed.temporal_window
        view = request.view
        if (window is None and request.asked is None) or not view.size:
            return ArmResult.empty(self.name, "no window")
        told: NDArray[np.float32] | None = None
        own: Mask | None = None
        if window is not None and request.asked is None and request.allowed is None and view.size > COLUMN_MAX:
            with within(request.deadline.remaining_ms() / 1e3), begun(self._engine) as connection:
                bounded(connection, request.deadline.remaining_ms())
                nums = [num for each in in_micros(window) for num in self._scan(connection, view.scope_id, *each)]
            rows = view.rows_of(sorted(nums))
            told = _told(request)
            rows = np.union1d(rows, _most(told))
        else:  # where there is a filter, also of large scopes: it may leave out all of the newest
            own = _window(request) if request.asked is None else request.asked
            inside = view.alive & own
            if request.allowed is not None:
                inside &= request.allowed
            rows = np.flatnonzero(inside)
            if len(rows) > SCAN_MAX:
                newest = np.argsort(view.at[rows], kind="stable")[-SCAN_MAX:]
                rows = np.sort(rows[newest])
            if request.asked is None:
                told = _told(request)
                if request.allowed is not None:
                    told *= request.allowed
                rows = distinct(np.concatenate([rows, _most(told)]))
        if not len(rows):
            return ArmResult.empty(self.name, "nothing in the window")
        note = f"{len(rows)} in the window"
        if told is None or not told.any():
            return request.nearest(self.name, rows, 0.5, 0.5, note=note)
        own = (_window(request) if own is None else own)[rows]
        base = np.where(own, 0.5, 0.5 * told[rows]).astype(np.float32)
        return request.nearest(self.name, rows, base, 0.5, note=note + f", {int((~own).sum())} by what they tell")

    @staticmethod
    def _scan(connection: Any, scope_id: int, start: int | None, end: int | None) -> list[int]:
        """Scan two ranges of one index `(scope_id, event_at, created_at, num)`."""
        m = schema.memories
        found: list[int] = []
        told = and_(m.c.event_at.is_(None), m.c.type != MemoryType.CHUNK.value)
        for column, only in ((m.c.event_at, m.c.event_at.is_not(None)), (m.c.created_at, told)):
            bounds = [m.c.scope_id == scope_id, only]
            if start is not None:
                bounds.append(column >= start)
            if end is not None:
                bounds.append(column < end)
            order = (m.c.event_at.desc(), m.c.created_at.desc(), m.c.num.desc())  # the index read backwards: no sort
            found.extend(
                connection.execute(select(m.c.num).where(and_(*bounds)).order_by(*order).limit(SCAN_MAX)).scalars()
            )
        return found


class TypeFilterRetriever:
    """Memories of the hinted types."""

    name = "type_filter"

    def search(self, request: ArmRequest) -> ArmResult:
        """Return candidates with a score in [0, 1]: half for the type, half by similarity (or recency)."""
        hints, view = request.plan.type_hints, request.view
        if not hints or not view.size:
            return ArmResult.empty(self.name, "no type hint")
        mask = view.alive & of_types(view, hints)
        if request.allowed is not None:
            mask &= request.allowed
        rows = np.flatnonzero(mask)
        if not len(rows):
            return ArmResult.empty(self.name, "no memory of that type")
        return request.nearest(self.name, rows, 0.5, 0.5, note=f"{len(rows)} of type {', '.join(hints)}")


MakeArm = Callable[[], Arm]
LIFT = 2.0  # what the best match of an arm of one's own adds; a date that is asked for adds as much


def _applies(_parsed: ParsedQuery, _plan: RetrievalPlan) -> bool:
    return True


@record(frozen=True, slots=True, kw_only=True)
class ArmSpec:
    """Registration of an arm.

    Args:
        name: in plans, results and settings; letters, digits and "_".
        make: from the store and the settings, what makes the arm for a call. Opening an index belongs into that second
            step: if it fails, the arm is left out and named in `degraded`.
        applies: whether a query gives it anything to look for.
        weight: in the plans that ask it; scales `evidence`.
        evidence: what its weight scales besides the ranking features of which it is the `arm`. Default: its own score.
        lift: of one's own arm: what its best match adds to a candidate's rank score.
        reason: of one's own arm: why a hit of it is there, in words ("near the place asked for").
        by_words: whether it needs no vectors, and may begin before they are there.
        by_vector: whether there is nothing to look for without the query's vector.
        by_names: whether a sure window of an entity plan limits it (`window_filter`).
    """

    name: str
    make: Callable[[MemoryStore, RecallConfig], MakeArm]
    applies: Callable[[ParsedQuery, RetrievalPlan], bool] = _applies
    weight: float = 1.0
    evidence: tuple[str, ...] = ()
    lift: float = LIFT
    reason: str = ""
    by_words: bool = False
    by_vector: bool = False
    by_names: bool = False


def _semantic(store: MemoryStore, _config: RecallConfig) -> MakeArm:
    indexes, ready = store.indexes, store.indexes.ready if store.config.vectors.all_in_chroma else None
    return InMemory(
        lambda: SemanticRetriever(lambda: indexes.neighbours, indexes.home_of, indexes.home_until, ready=ready),
        lambda request: request.similarities is not None and ready is None,
    )


def _lexical(_store: MemoryStore, _config: RecallConfig) -> MakeArm:
    return InMemory(LexicalRetriever, lambda _request: True)


def _graph(store: MemoryStore, config: RecallConfig) -> MakeArm:
    settings = config.retrieval
    hops, factor, edges = settings.graph_hops, settings.graph_hop_factor, settings.graph_edges
    arm = GraphRetriever(store.engine, store.entities, hops=hops, hop_factor=factor, edges=edges)
    return InMemory(lambda: KeptGraph(arm), beside=lambda: arm)


BUILT_IN: tuple[ArmSpec, ...] = (
    ArmSpec(name="semantic", make=_semantic, by_vector=True),
    ArmSpec(name="lexical", make=_lexical, applies=lambda parsed, _plan: bool(parsed.terms), by_words=True),
    ArmSpec(
        name="graph",
        make=_graph,
        applies=lambda parsed, plan: plan.name == "exploratory" or bool(anchoring(parsed)),
        evidence=("edge",),
        by_names=True,
    ),
    ArmSpec(
        name="temporal",
        make=lambda store, _config: InMemory(partial(TemporalRetriever, store.engine)),
        applies=lambda parsed, plan: parsed.temporal_window is not None or plan.time_filter,
    ),
    ArmSpec(
        name="type_filter",
        make=lambda _store, _config: InMemory(TypeFilterRetriever),
        applies=lambda _parsed, plan: bool(plan.type_hints),
    ),
)


def registered(own: Iterable[ArmSpec] = ()) -> tuple[ArmSpec, ...]:
    """Return the built-in arms and one's own. One with the name of a built-in arm takes its place."""
    specs = {spec.name: spec for spec in BUILT_IN}
    named: set[str] = set()
    for spec in own:
        if not isinstance(spec, ArmSpec):
            raise InvalidArgument(f"arms must be ArmSpec objects, not {type(spec).__name__}.")
        if not spec.name.isidentifier():
            raise InvalidArgument(f"The name of an arm must be letters, digits and '_', not {spec.name!r}.")
        if spec.name in named:
            raise InvalidArgument(f"There are two arms {spec.name!r}. Give one of them another name.")
        named.add(spec.name)
        specs[spec.name] = spec
    return tuple(specs.values())


def own_lifts(arms: Iterable[ArmSpec]) -> dict[str, float]:
    """Return the lift of the best match of each arm of one's own, by its name."""
    return {spec.name: spec.lift for spec in arms if spec.name not in ARMS}


def worth_asking(arm: ArmPlan, parsed: ParsedQuery, plan: RetrievalPlan, arms: tuple[ArmSpec, ...] = BUILT_IN) -> bool:
    """Say whether the query gives an arm of the plan anything to look for; one's own are in a plan only then."""
    spec = next((s for s in arms if s.name == arm.name), None)
    return spec is None or spec.applies(parsed, plan)


def _wanted(spec: ArmSpec, parsed: ParsedQuery, plan: RetrievalPlan) -> bool:
    """Say whether one's own arm applies. One that fails to say stays in the plan: asking it names the fault."""
    try:
        return spec.applies(parsed, plan)
    except failures():  # raised again by the stage `arms`, which names it in `degraded`
        return True


def with_own(plan: RetrievalPlan, parsed: ParsedQuery, arms: tuple[ArmSpec, ...], limit: int) -> RetrievalPlan:
    """Return a plan that asks one's own arms as well, where they apply."""
    own = [s for s in arms if s.name not in ARMS and _wanted(s, parsed, plan)]
    if not own:
        return plan
    asked = (ArmPlan(name=s.name, weight=s.weight, limit=limit) for s in own)
    names = ", ".join(s.name for s in own)
    return replace(plan, arms=(*plan.arms, *asked), reason=f"{plan.reason}; asks {names} too")
