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
from collections.abc import Callable, Collection
from contextlib import closing
from functools import partial
from typing import Any

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray
from sqlalchemy import Connection, CursorResult, Engine, or_, select

from recall_integrations.arms.base import ArmRequest, ArmResult
from recall_integrations.arms.second_hop.holders import WORDS_MAX, NamePostings, documents
from recall_integrations.arms.second_hop.links import SecondHop
from recall_integrations.arms.second_hop.names import DocumentNames, said_in
from recall_integrations.database import schema
from recall_integrations.indexes.scope_view import Mask, Rows, ScopeView
from recall_integrations.planning.planner import anchoring
from recall_integrations.store.fetching import texts_by_num
from recall_integrations.store.scope_entities import EdgeColumns, ScopeEntities

HOP_FACTOR = 0.5
HINT_FACTOR = 2.0
ENTITIES_KEPT = 4_096  # entities per scope whose mentions are kept in memory
EDGES_MAX = 5_000  # newest edges of an entity that are followed
SIMILARITY_SHARE = 0.3  # of the score; the rest is how the memory is connected
SCOPES_KEPT, SAID_KEPT = 32, 4_096  # scopes and memories of which the words and the names of documents are kept
RECENT_ANCHORS, RECENT_WEIGHT, RECENT_MENTIONS = 3, 0.2, 200


class _Connection:
    """Connects when it is first asked: mostly everything is in memory already."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._open: Connection | None = None

    def execute(self, query: Any) -> CursorResult[Any]:
        if self._open is None:
            self._open = self._engine.connect()
        return self._open.execute(query)

    def close(self) -> None:
        if self._open is not None:
            self._open.close()


class GraphRetriever:
    """Memories connected to the entities of the query."""

    name = "graph"

    def __init__(
        self, engine: Engine, entities_of: Callable[[int], ScopeEntities], *, hops: int, neighbours: int, mentions: int
    ) -> None:
        self._engine = engine
        self._entities_of = entities_of
        self._hops = hops
        self._neighbours = neighbours
        self._mentions = mentions
        self._lock = threading.Lock()
        self._recents: dict[int, tuple[int, dict[int, float]]] = {}
        self._holders: LRUCache[int, NamePostings] = LRUCache(SCOPES_KEPT)
        self._said: LRUCache[tuple[int, int], DocumentNames] = LRUCache(SAID_KEPT)

    def search(self, request: ArmRequest) -> ArmResult:
        """Candidates with a score in [0, 1]. Without a named entity, an exploratory plan starts from recent ones."""
        known = self._entities_of(request.view.scope_id)
        anchors: dict[int, float] = {}
        for ref in anchoring(request.parsed):
            ent = known.ent_of.get(ref.entity_id)
            if ent is not None:
                anchors[ent] = max(anchors.get(ent, 0.0), ref.confidence)
        view = request.view
        named = dict(anchors)
        with closing(_Connection(self._engine)) as connection:
            if not anchors and request.plan.name == "exploratory":
                anchors = self._recent(connection, request)
            if not anchors or not view.size:
                return ArmResult.empty(self.name, "no entity")
            scores = np.zeros(view.size, dtype=np.float32)
            for ent, weight in sorted(anchors.items()):
                scores[view.rows_of(self._mentions_of(connection, known, view, ent))] += weight
            request.check_time()
            stated = self._stated(connection, request, known, named)
            self._expand(connection, request, known, anchors, scores)
        scores[~view.alive] = 0
        if request.allowed is not None:
            scores[~request.allowed] = 0
        rows = np.flatnonzero(scores)
        if not len(rows):
            return ArmResult.empty(self.name, f"{len(anchors)} entities, no memory")
        values = scores[rows]
        values = values / max(float(values.max()), sum(anchors.values()))
        blended = (1 - SIMILARITY_SHARE) * values + SIMILARITY_SHARE * request.closeness(rows)
        found = request.result(self.name, rows, blended, note=f"{len(anchors)} entities")
        return ArmResult(
            arm=self.name,
            rows=found.rows,
            scores=found.scores,
            support_rows=rows,
            support_scores=values,
            stated_rows=stated,
            note=found.note,
        )

    def second_hop(
        self,
        view: ScopeView,
        texts: Callable[[Rows], list[str]],
        *,
        terms: Collection[str],
        allowed: Mask | None = None,
    ) -> SecondHop | None:
        """What leads from documents to others; `None` where there are none, or no words of them in memory, or too many.

        Args:
            view: the scope.
            texts: of rows.
            terms: stems of the query.
            allowed: rows that may be returned; `None` = all.
        """
        if view.text is None or len(view.text.words) > WORDS_MAX:
            return None
        own = documents(view) & view.alive
        if not own.any():
            return None
        holders, said_in = self._holders_of(view), partial(self._said_in, view, texts)
        return SecondHop(
            view,
            own,
            holders,
            said_in,
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
        index = self._entities_of(view.scope_id).index
        return lambda name: bool(index.lookup(name))

    def _holders_of(self, view: ScopeView) -> NamePostings:
        with self._lock:  # one thread makes it, others wait
            holders = self._holders.get(view.scope_id)
            if holders is None or not holders.serves(view):
                holders = NamePostings(view, holders if holders is not None and holders.begins(view) else None)
                self._holders[view.scope_id] = holders
            return holders

    def _said_in(self, view: ScopeView, texts: Callable[[Rows], list[str]], rows: Rows) -> list[DocumentNames]:
        """The names that rows say; kept, for the number of a memory is never given to another."""
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
        """Rising nums of the memories that mention an entity; kept in memory, new ones are read after a write."""
        version, nums = known.mentions.get(ent, (-1, np.empty(0, dtype=np.int64)))
        if version == view.version:
            return nums
        n = schema.mentions
        last = int(nums[-1]) if len(nums) else 0
        query = select(n.c.num).where(n.c.scope_id == view.scope_id, n.c.ent == ent, n.c.num > last).order_by(n.c.num)
        fresh = np.fromiter(connection.execute(query).scalars(), dtype=np.int64)
        nums = np.concatenate([nums, fresh])
        if len(known.mentions) >= ENTITIES_KEPT:
            known.mentions.clear()
        known.mentions[ent] = (view.version, nums)
        return nums

    def _recent(self, connection: Any, request: ArmRequest) -> dict[int, float]:
        """The entities that the newest memories mention most; kept until the scope changes."""
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
        if len(self._recents) >= ENTITIES_KEPT:
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
    ) -> None:
        """Walk edges from the anchors and add what they lead to."""
        view = request.view
        frontier, seen, factor = dict(anchors), set(anchors), HOP_FACTOR
        for _hop in range(self._hops):
            request.check_time()
            reached = self._follow_edges(connection, request, known, frontier, factor, scores)
            best = sorted((e for e in reached if e not in seen), key=lambda e: (-reached[e], e))[: self._neighbours]
            if not best:
                return
            newest = [self._mentions_of(connection, known, view, ent)[-self._mentions :] for ent in best]
            gains = np.repeat([min(reached[e], factor) for e in best], [len(n) for n in newest]).astype(np.float32)
            rows, gains = request.living(np.concatenate(newest), gains)
            np.add.at(scores, rows, gains)
            seen.update(best)
            frontier = {ent: min(reached[ent], 1.0) for ent in best}
            factor *= HOP_FACTOR

    def _stated(
        self, connection: Any, request: ArmRequest, known: ScopeEntities, anchors: dict[int, float]
    ) -> NDArray[np.int64]:
        """Rows that state an edge of the kind asked for, from an anchor."""
        if not request.parsed.predicate_hints or not anchors:
            return np.empty(0, dtype=np.int64)
        edges = [self._edges_of(connection, known, request.view, ent) for ent in sorted(anchors)]
        hints = [known.predicates.get(h, -1) for h in request.parsed.predicate_hints]  # known once the edges are
        nums = np.concatenate([e.nums[np.isin(e.predicates, hints)] for e in edges])
        rows, _ = request.living(nums, np.zeros(len(nums), dtype=np.float32))
        return np.unique(rows)

    def _follow_edges(
        self,
        connection: Any,
        request: ArmRequest,
        known: ScopeEntities,
        frontier: dict[int, float],
        factor: float,
        scores: NDArray[np.float32],
    ) -> dict[int, float]:
        """Score the memories that state an edge of the frontier, and say what its other ends gain."""
        found = [(self._edges_of(connection, known, request.view, e), w) for e, w in sorted(frontier.items())]
        edges = [e for e, _ in found]
        nums = np.concatenate([e.nums for e in edges])
        if not len(nums):
            return {}
        weights = np.repeat([w * factor for _, w in found], [len(e.nums) for e in edges]).astype(np.float32)
        weights *= np.concatenate([e.confidences for e in edges])
        hints = [known.predicates[h] for h in request.parsed.predicate_hints if h in known.predicates]
        if hints:
            weights[np.isin(np.concatenate([e.predicates for e in edges]), hints)] *= HINT_FACTOR
        rows, stated = request.living(nums, weights)
        np.add.at(scores, rows, 2 * stated)
        ends, places = np.unique(np.concatenate([e.others for e in edges]), return_inverse=True)
        return dict(zip(ends.tolist(), np.bincount(places, weights).tolist(), strict=True))

    @staticmethod
    def _edges_of(connection: Any, known: ScopeEntities, view: ScopeView, ent: int) -> EdgeColumns:
        """Edges of an entity, oldest first; kept in memory, new ones are read when the scope changes."""
        version, edges = known.edges.get(ent, (-1, EdgeColumns()))
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
