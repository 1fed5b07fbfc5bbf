"""The graph arm: from the entities a query names, over mentions and typed edges, one or two hops, bounded.

A memory scores by the entities it is reached through: a named entity counts with its confidence, a neighbour over an
edge with the edge's confidence times a hop factor, an edge whose predicate the query hints at more. A memory that
states such an edge scores highest. Among equals, similarity to the query decides. Expansion is capped (neighbours ×
mentions): two uncapped hops cost tens to hundreds of milliseconds on large graphs.

Among documents it also leads from the best candidates to others, over the names that they say (`second_hop`).
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray
from sqlalchemy import Connection, CursorResult, Engine, or_, select

from recall_integrations.arms.base import ArmRequest, ArmResult, NotAtHand
from recall_integrations.arms.second_hop.holders import WORDS_MAX, NamePostings, documents
from recall_integrations.arms.second_hop.links import SecondHop
from recall_integrations.arms.second_hop.names import DocumentNames, said_in
from recall_integrations.database import schema
from recall_integrations.database.answering import within
from recall_integrations.database.portable import bounded, numbers_joined
from recall_integrations.database.sending import begun
from recall_integrations.indexes.scope_view import Mask, Rows, ScopeView
from recall_integrations.planning.planner import anchoring
from recall_integrations.records import record
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.store.entities import EdgeColumns, ScopeEntities
from recall_integrations.store.fetching import texts_by_num

HOP_FACTOR = 0.5
NEIGHBOURS = 10  # per entity that are followed
MENTIONS = 50  # memories per neighbour that are taken
HINT_FACTOR = 2.0
ENTITIES_KEPT = 4_096  # entities per scope whose mentions are kept in memory
RECENTS_KEPT = 4_096  # scopes whose entities of late are kept in memory
EDGES_MAX = 5_000  # newest edges of an entity that are followed
ENDS_COUNTED = 65_536  # entities that are counted one by one; more are sorted
SIMILARITY_SHARE = 0.3  # of the score; the rest is how the memory is connected
SCOPES_KEPT, SAID_KEPT = 32, 4_096  # scopes and memories of which the words and the names of documents are kept
_NO_EDGES, _NO_MENTIONS = (-1, EdgeColumns()), (-1, np.empty(0, dtype=np.int64))
# Rows that are kept of what anchors lead to: so many, so many times those of the scope; more of a scope that is small.
REACHED_MIN, REACHED_TIMES, REACHED_OF_FEW, REACHED_FEW = 4_096, 4, 16, 262_144
_REACHED = "graph.reached"
RECENT_ANCHORS, RECENT_WEIGHT, RECENT_MENTIONS = 3, 0.2, 200


# Living rows, rising, their scores, those that state an edge, and how many edges were followed.
Reached = tuple[Rows, NDArray[np.float32], Rows, int]


@record(frozen=True, slots=True, kw_only=True)
class Numbers:
    """Memories that the arm reaches, by number.

    Args:
        nums: int64 `(n,)`, rising.
        values: float32 `(n,)`, how each is connected.
        stated: bool `(n,)`, whether it states an edge that is asked for.
        whole: sum of the weights of all anchors: a score is a share of it, or of the largest value.
    """

    nums: NDArray[np.int64]
    values: NDArray[np.float32]
    stated: NDArray[np.bool_]
    whole: float = 0.0

    def among(self, kept: NDArray[np.bool_] | NDArray[np.int64]) -> Numbers:
        """Return the memories that are kept."""
        return replace(self, nums=self.nums[kept], values=self.values[kept], stated=self.stated[kept])


class _KeptReached:
    """Cache of the rows that anchors led to in a snapshot; not safe to use from two threads.

    Args:
        known: entities of the cached rows.
        rows_max: rows cached in total.
    """

    def __init__(self, known: ScopeEntities, rows_max: int) -> None:
        self.known = known
        self.of: LRUCache[Any, Reached] = LRUCache(rows_max, getsizeof=lambda found: len(found[0]) + len(found[2]) + 8)

    def put(self, key: object, found: Reached) -> None:
        if self.of.getsizeof(found) <= self.of.maxsize:
            self.of[key] = found


class _Connection:
    """Connection that opens at its first use: mostly everything is in memory already.

    Args:
        engine: engine of the store.
        deadline: deadline of the caller.
    """

    def __init__(self, engine: Engine, deadline: Deadline) -> None:
        self._engine, self._deadline = engine, deadline
        self._opened = ExitStack()
        self._open: Connection | None = None

    def execute(self, query: Any) -> CursorResult[Any]:
        if self._open is None:
            connection = self._opened.enter_context(begun(self._engine))
            self._open = bounded(connection, self._deadline.remaining_ms())
        return self._open.execute(query)

    def close(self) -> None:
        self._opened.close()


class _Kept:
    """Stand-in for a connection where only data in memory may be read."""

    def execute(self, _query: Any) -> CursorResult[Any]:
        raise NotAtHand

    def close(self) -> None:
        """Do nothing: nothing is open."""


class GraphRetriever:
    """Memories connected to the entities of the query."""

    name = "graph"

    def __init__(
        self,
        engine: Engine,
        entities_of: Callable[[int], ScopeEntities],
        *,
        hops: int,
        neighbours: int = NEIGHBOURS,
        mentions: int = MENTIONS,
        hop_factor: float = HOP_FACTOR,
    ) -> None:
        self._engine = engine
        self._entities_of = entities_of
        self._hops = hops
        self._neighbours = neighbours
        self._mentions = mentions
        self._hop_factor = hop_factor
        self._lock = threading.Lock()
        self._recents: dict[int, tuple[int, dict[int, float]]] = {}
        self._holders: LRUCache[int, NamePostings] = LRUCache(SCOPES_KEPT)
        self._said: LRUCache[tuple[int, int], DocumentNames] = LRUCache(SAID_KEPT)

    def search(self, request: ArmRequest) -> ArmResult:
        """Return candidates scored in [0, 1]; an exploratory plan without a named entity starts from recent ones."""
        left = request.deadline.remaining_ms() / 1e3
        with within(left), closing(_Connection(self._engine, request.deadline)) as connection:
            return self.over(connection, request)

    def over(self, connection: Any, request: ArmRequest) -> ArmResult:
        """Search as `search` does, reading data that is not in memory from a connection."""
        known = self._entities_of(request.view.scope_id)
        anchors = _anchors(known, request)
        view = request.view
        named = dict(anchors)
        if not anchors and request.plan.name == "exploratory":
            anchors = self._recent(connection, request)
        if not anchors or not view.size:
            return ArmResult.empty(self.name, "no entity")
        rows, values, stated, edges = self._reached(connection, request, known, anchors, named)
        if request.allowed is not None:
            inside = request.allowed[rows]
            rows, values, stated = rows[inside], values[inside], stated[request.allowed[stated]]
        if not len(rows):
            return ArmResult.empty(self.name, f"{len(anchors)} entities, no memory")
        values = values / max(float(np.maximum.reduce(values)), sum(anchors.values()))
        connected = (1 - SIMILARITY_SHARE) * values
        found = request.nearest(self.name, rows, connected, SIMILARITY_SHARE, note=f"{len(anchors)} entities")
        return ArmResult(
            arm=self.name,
            rows=found.rows,
            scores=found.scores,
            support_rows=rows,
            support_scores=values,
            stated_rows=stated,
            note=found.note,
            seeds=len(anchors),
            edges=edges,
        )

    def numbers(self, request: ArmRequest, newest: Sequence[int]) -> Numbers:
        """Return all memories that the arm would reach, where no rows are at hand.

        Args:
            request: its view knows no rows.
            newest: numbers of the newest memories, rising.
        """
        with closing(_Connection(self._engine, request.deadline)) as connection:
            known = self._entities_of(request.view.scope_id)
            anchors = _anchors(known, request)
            named = dict(anchors)
            if not anchors and request.plan.name == "exploratory" and newest:
                anchors = self._recent(connection, replace(request, view=numbered(request.view, newest)))
            if not anchors:
                return Numbers(nums=np.empty(0, np.int64), values=np.empty(0, np.float32), stated=np.empty(0, np.bool_))
            there = self._around(connection, request, known, anchors)
            light = replace(request, view=numbered(request.view, there))
            rows, values, stated, _ = self._reached(connection, light, known, anchors, named)
            return Numbers(
                nums=light.view.nums[rows], values=values, stated=np.isin(rows, stated), whole=sum(anchors.values())
            )

    def _around(
        self, connection: Any, request: ArmRequest, known: ScopeEntities, anchors: dict[int, float]
    ) -> NDArray[np.int64]:
        """Return the numbers of memories that `_reached` may look at."""
        view = numbered(request.view, [0])
        found = [self._mentions_of(connection, known, view, ent) for ent in anchors]
        frontier, seen, factor = dict(anchors), set(anchors), self._hop_factor
        nothing = np.zeros(view.size, dtype=np.float32)
        for _hop in range(self._hops):
            found += [self._edges_of(connection, known, view, ent).nums for ent in frontier]
            within = replace(request, view=view)
            reached, _ = self._follow_edges(connection, within, known, frontier, factor, nothing, seen)
            if not reached:
                break
            found += [self._mentions_of(connection, known, view, ent)[-self._mentions :] for ent in reached]
            seen.update(reached)
            frontier = {ent: min(gain, 1.0) for ent, gain in reached.items()}
            factor *= self._hop_factor
        return np.unique(np.concatenate(found))

    def _reached(
        self,
        connection: Any,
        request: ArmRequest,
        known: ScopeEntities,
        anchors: dict[int, float],
        named: dict[int, float],
    ) -> Reached:
        """Return the rows that anchors lead to, allowed or not, from a cache: people ask about the same few, and until
        the scope changes they lead to the same.
        """
        view, hints = request.view, request.parsed.predicate_hints
        key = (
            self._hops,
            self._hop_factor,
            self._neighbours,
            self._mentions,
            hints,
            *sorted(anchors.items()),
            len(named),
        )
        with self._lock:
            kept = view.memo.get(_REACHED)
            if kept is None or kept.known is not known:  # entities were merged, or made anew
                kept = view.memo[_REACHED] = _KeptReached(known, _kept_rows_max(view.size))
            found = kept.of.get(key)
        if found is not None:
            return found
        scores = np.zeros(view.size, dtype=np.float32)
        for ent, weight in sorted(anchors.items()):
            scores[self._rows_of_mentions(connection, known, view, ent)] += weight
        request.check_time()
        stated = self._stated(connection, request, known, named)
        edges = self._expand(connection, request, known, anchors, scores)
        reached = scores != 0
        reached &= view.alive
        rows = reached.nonzero()[0]
        found = rows, scores[rows], stated, edges
        with self._lock:
            kept.put(key, found)
        return found

    def second_hop(
        self,
        view: ScopeView,
        texts: Callable[[Rows], list[str]],
        *,
        terms: Collection[str],
        allowed: Mask | None = None,
    ) -> SecondHop | None:
        """Return the links from documents to others; `None` without documents or their words, or with too many words.

        Args:
            view: the scope.
            texts: returns the texts of rows.
            terms: stems of the query.
            allowed: rows that may be returned; `None` = all.
        """
        if view.text is None or view.drawn or len(view.text.words) > WORDS_MAX:
            return None
        living: tuple[Mask, int] | None = view.memo.get("documents")
        if living is None:
            own = documents(view) & view.alive
            living = view.memo["documents"] = own, int(np.count_nonzero(own))
        own, count = living
        if not count:
            return None
        return SecondHop(
            view,
            own,
            count,
            partial(self._holders_of, view),
            partial(self._said_in, view, texts),
            terms=terms,
            allowed=allowed,
            texts=self._texts_of(view),
            is_entity=self._is_entity(view),
        )

    def _texts_of(self, view: ScopeView) -> Callable[[Rows], list[str]]:
        def texts(rows: Rows) -> list[str]:
            nums = view.nums[rows].tolist()
            found = texts_by_num(self._engine, view.scope_id, nums)
            return [found.get(num, "") for num in nums]

        return texts

    def _is_entity(self, view: ScopeView) -> Callable[[str], bool]:
        return lambda name: bool(self._entities_of(view.scope_id).index.lookup(name))

    def _holders_of(self, view: ScopeView) -> NamePostings:
        with self._lock:  # one thread makes it, others wait
            holders = self._holders.get(view.scope_id)
            if holders is None or not holders.serves(view):
                holders = NamePostings(view, holders if holders is not None and holders.begins(view) else None)
                self._holders[view.scope_id] = holders
            return holders

    def _said_in(self, view: ScopeView, texts: Callable[[Rows], list[str]], rows: Rows) -> list[DocumentNames]:
        """Return the names that rows say, and cache them: a memory's number is never given to another."""
        assert view.text is not None
        keys = [(view.scope_id, num) for num in view.nums[rows].tolist()]
        with self._lock:  # reading moves what is read, too
            found = [self._said.get(key) for key in keys]
        missing = [i for i, said in enumerate(found) if said is None]
        if missing:
            for i, text in zip(missing, texts(rows[missing]), strict=True):
                found[i] = said_in(text, view.text.lexicon)
            with self._lock:
                self._said.update((keys[i], said) for i in missing if (said := found[i]) is not None)
        return [said for said in found if said is not None]

    @staticmethod
    def _mentions_of(connection: Any, known: ScopeEntities, view: ScopeView, ent: int) -> NDArray[np.int64]:
        """Return the rising nums of the memories that mention an entity; cached, new ones are read after a write."""
        version, nums = known.mentions.get(ent, _NO_MENTIONS)
        if version == view.version:
            return nums
        n = schema.mentions
        last = int(nums[-1]) if len(nums) else 0
        query = select(n.c.num).where(n.c.scope_id == view.scope_id, n.c.ent == ent, n.c.num > last).order_by(n.c.num)
        # As one text: 10,000 rows of a result take several times as long, and keep other threads from running.
        listed = connection.execute(select(numbers_joined(query.subquery().c.num))).scalar()
        fresh = np.sort(np.fromstring(listed or "", dtype=np.int64, sep=","))
        if len(fresh):  # else the same array: rows are kept by it
            nums = np.concatenate([nums, fresh])
        if len(known.mentions) >= ENTITIES_KEPT:
            known.mentions.clear()
        known.mentions[ent] = (view.version, nums)
        return nums

    def _rows_of_mentions(self, connection: Any, known: ScopeEntities, view: ScopeView, ent: int) -> Rows:
        """Return the rows of the memories that mention an entity, forgotten ones included."""
        rows = _kept_rows(known, view, ("mentions", ent), self._mentions_of(connection, known, view, ent))
        return rows if rows.min(initial=0) >= 0 else rows[rows >= 0]

    @staticmethod
    def _rows_of_edges(known: ScopeEntities, view: ScopeView, ent: int, edges: EdgeColumns) -> Rows:
        """Return the row that states each edge; -1 where it is not in this snapshot."""
        return _kept_rows(known, view, ("edges", ent), edges.nums)

    def _recent(self, connection: Any, request: ArmRequest) -> dict[int, float]:
        """Return the entities that the newest memories mention most, cached until the scope changes."""
        n, view = schema.mentions, request.view
        version, kept = self._recents.get(view.scope_id, (-1, {}))
        if version == view.version:
            return dict(kept)
        newest = [int(v) for v in view.nums[view.alive][-RECENT_MENTIONS:]]
        if not newest:
            return {}
        query = select(n.c.ent).where(n.c.scope_id == view.scope_id, n.c.num >= newest[0])
        counts: dict[int, int] = defaultdict(int)
        for ent in connection.execute(query).scalars():
            counts[ent] += 1
        best = sorted(counts, key=lambda e: (-counts[e], e))[:RECENT_ANCHORS]
        found = dict.fromkeys(best, RECENT_WEIGHT)
        if len(self._recents) >= RECENTS_KEPT:
            self._recents.clear()
        self._recents[view.scope_id] = (view.version, found)
        return dict(found)

    def _expand(
        self,
        connection: Any,
        request: ArmRequest,
        known: ScopeEntities,
        anchors: dict[int, float],
        scores: NDArray[np.float32],
    ) -> int:
        """Walk edges from the anchors and add gains to the rows that they lead to; return the number of edges."""
        view, followed = request.view, 0
        frontier, seen, factor = dict(anchors), set(anchors), self._hop_factor
        for _hop in range(self._hops):
            request.check_time()
            reached, edges = self._follow_edges(connection, request, known, frontier, factor, scores, seen)
            followed += edges
            if not reached:
                break
            newest = [self._mentions_of(connection, known, view, ent)[-self._mentions :] for ent in reached]
            each = [min(gain, factor) for gain in reached.values()]
            gains = np.repeat(each, [len(n) for n in newest]).astype(np.float32)
            rows = _rows_in(view, np.concatenate(newest))
            there = rows >= 0
            np.add.at(scores, rows[there], gains[there])
            seen.update(reached)
            frontier = {ent: min(gain, 1.0) for ent, gain in reached.items()}
            factor *= self._hop_factor
        return followed

    def _stated(
        self, connection: Any, request: ArmRequest, known: ScopeEntities, anchors: dict[int, float]
    ) -> NDArray[np.int64]:
        """Return the rows that state an edge of the kind asked for, from an anchor."""
        if not request.parsed.predicate_hints or not anchors:
            return np.empty(0, dtype=np.int64)
        edges = [self._edges_of(connection, known, request.view, ent) for ent in sorted(anchors)]
        hints = [known.predicates.get(h, -1) for h in request.parsed.predicate_hints]  # known once the edges are
        nums = np.concatenate([e.nums[_any_of(e.predicates, hints)] for e in edges])
        return np.unique(request.view.rows_of(nums))

    def _follow_edges(
        self,
        connection: Any,
        request: ArmRequest,
        known: ScopeEntities,
        frontier: dict[int, float],
        factor: float,
        scores: NDArray[np.float32],
        seen: set[int],
    ) -> tuple[dict[int, float], int]:
        """Score the memories that state an edge of the frontier; return the other ends that gain most, with their
        gains, and the number of edges followed.
        """
        at = sorted(frontier)
        edges = [self._edges_of(connection, known, request.view, ent) for ent in at]
        rows = np.concatenate(
            [self._rows_of_edges(known, request.view, e, own) for e, own in zip(at, edges, strict=True)]
        )
        if not len(rows):
            return {}, 0
        weights = np.repeat([frontier[e] * factor for e in at], [len(e.nums) for e in edges]).astype(np.float32)
        weights *= np.concatenate([e.confidences for e in edges])
        hints = [known.predicates[h] for h in request.parsed.predicate_hints if h in known.predicates]
        if hints:
            weights[_any_of(np.concatenate([e.predicates for e in edges]), hints)] *= HINT_FACTOR
        stating = (rows >= 0) & request.view.alive[rows]
        np.add.at(scores, rows[stating], 2 * weights[stating])
        ends = _best_ends(np.concatenate([e.others for e in edges]), weights, seen, self._neighbours)
        return ends, len(weights)

    @staticmethod
    def _edges_of(connection: Any, known: ScopeEntities, view: ScopeView, ent: int) -> EdgeColumns:
        """Return the edges of an entity, oldest first, from memory; new ones are read when the scope changes."""
        version, edges = known.edges.get(ent, _NO_EDGES)
        if version == view.version:
            return edges
        g = schema.edges
        last = int(edges.nums[-1]) if len(edges.nums) else 0
        query = (
            select(g.c.num, g.c.src, g.c.dst, g.c.predicate, g.c.confidence)
            .where(g.c.scope_id == view.scope_id, or_(g.c.src == ent, g.c.dst == ent), g.c.num > last)
            .order_by(g.c.num, g.c.src, g.c.predicate, g.c.dst)
        )
        read = connection.execute(query)
        fresh = [row for row in read if isinstance(row.predicate, str) and isinstance(row.confidence, int | float)]
        if fresh:
            codes = [known.predicates.setdefault(row.predicate, len(known.predicates)) for row in fresh]
            edges = edges.extended(
                nums=[row.num for row in fresh],
                others=[row.dst if row.src == ent else row.src for row in fresh],
                predicates=codes,
                confidences=[row.confidence for row in fresh],
                keep=EDGES_MAX,
            )
        if len(known.edges) >= ENTITIES_KEPT:
            known.edges.clear()
        known.edges[ent] = (view.version, edges)
        return edges


def _anchors(known: ScopeEntities, request: ArmRequest) -> dict[int, float]:
    """Return the entities that the query starts from, each with the confidence of its surest mention."""
    anchors: dict[int, float] = {}
    for ref in anchoring(request.parsed):
        ent = known.ent_of.get(ref.entity_id)
        if ent is not None:
            anchors[ent] = max(anchors.get(ent, 0.0), ref.confidence)
    return anchors


def numbered(view: ScopeView, nums: Sequence[int] | NDArray[np.int64]) -> ScopeView:
    """Return a view of the scope that knows only the numbers of its rows, which rise."""
    own = np.asarray(nums, dtype=np.int64)
    none = np.zeros(len(own), dtype=np.int64)
    return replace(
        view,
        nums=own,
        ids=[""] * len(own),
        at=none,
        dated=none.astype(np.bool_),
        types=none.astype(np.int8),
        importance=none.astype(np.float32),
        alive=np.ones(len(own), dtype=np.bool_),
        text=None,
    )


def _kept_rows_max(size: int) -> int:
    """Return the rows cached of anchors in a scope of this size: three megabytes, or what four sets take."""
    return max(REACHED_MIN, REACHED_TIMES * size, min(REACHED_OF_FEW * size, REACHED_FEW))


class KeptGraph:
    """The graph arm over its caches in memory: mostly all that is asked for, until the scope changes."""

    name = "graph"

    def __init__(self, arm: GraphRetriever) -> None:
        self._arm = arm

    def search(self, request: ArmRequest) -> ArmResult:
        """Return candidates as the arm itself does.

        Raises:
            NotAtHand: it would have to read from the store.
        """
        return self._arm.over(_Kept(), request)


def _kept_rows(known: ScopeEntities, view: ScopeView, key: tuple[str, int], nums: NDArray[np.int64]) -> Rows:
    """Return the row of each num, -1 where it is not in the snapshot. Rows stay valid while columns only grow."""
    kept = known.rows.get(key)
    if kept is not None and kept[0] is view.ids and kept[1] is nums:
        rows, size = kept[2:]
        return rows if size <= view.size else np.where(rows < view.size, rows, -1)
    if not view.size:
        return np.full(len(nums), -1, dtype=np.int64)
    rows = _rows_in(view, nums)
    if not len(nums) or nums[-1] <= view.nums[-1]:  # else it was read after the snapshot: a later one has more of it
        if len(known.rows) >= 2 * ENTITIES_KEPT:
            known.rows.clear()
        known.rows[key] = (view.ids, nums, rows, view.size)
    return rows


def _any_of(values: NDArray[np.int64], wanted: Sequence[int]) -> Mask:
    """Flag values that are one of a few; `numpy.isin` takes longer for so few."""
    found: Mask = values == wanted[0]
    for other in wanted[1:]:
        found |= values == other
    return found


def _rows_in(view: ScopeView, nums: NDArray[np.int64]) -> Rows:
    """Return the row of each num, forgotten ones included; -1 where it is not in the (non-empty) snapshot."""
    rows = np.minimum(view.nums.searchsorted(nums), view.size - 1)
    rows[view.nums[rows] != nums] = -1
    return rows


def _best_ends(
    others: NDArray[np.int64], weights: NDArray[np.float32], seen: Collection[int], limit: int
) -> dict[int, float]:
    """Return the `limit` unseen ends that gain most by edges, best first, ties by their number."""
    if int(np.maximum.reduce(others)) < ENDS_COUNTED:
        counts = np.bincount(others)
        counts[[ent for ent in seen if ent < len(counts)]] = 0
        ends = counts.nonzero()[0]
        gains = np.bincount(others, weights)[ends]
    else:
        ends, places = np.unique(others, return_inverse=True)
        new = ~np.isin(ends, list(seen))
        ends, gains = ends[new], np.bincount(places, weights)[new]
    order = (-gains).argsort(kind="stable")[:limit]  # ends rise
    return dict(zip(ends[order].tolist(), gains[order].tolist(), strict=True))
