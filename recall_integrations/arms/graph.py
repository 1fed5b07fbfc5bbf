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
from functools import partial
from typing import Any

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray
from sqlalchemy import Connection, CursorResult, Engine, or_, select

from recall_integrations.arms.base import ArmRequest, ArmResult, NotAtHand
from recall_integrations.arms.second_hop import WORDS_MAX, DocumentNames, NamePostings, SecondHop, documents, said_in
from recall_integrations.database import schema
from recall_integrations.database.connections import within
from recall_integrations.database.sending import begun, bounded, numbers_joined
from recall_integrations.indexes.scope_view import Mask, Rows, ScopeView
from recall_integrations.planning.planner import anchoring
from recall_integrations.records import record
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.store.entities import ScopeEntities

HOP_FACTOR = 0.5
NEIGHBOURS = 10  # per entity that are followed
MENTIONS = 50  # memories per neighbour that are taken
HINT_FACTOR = 2.0
ENTITIES_KEPT = 4_096  # entities per scope whose mentions are kept in memory
RECENTS_KEPT = 4_096  # scopes whose entities of late are kept in memory
EDGES_MAX = 5_000  # newest edges of an entity that are followed
SIMILARITY_SHARE = 0.3  # of the score; the rest is how the memory is connected
SCOPES_KEPT, SAID_KEPT = 32, 4_096  # scopes and memories of which the words and the names of documents are kept
# An edge of an entity: number of the memory that states it, the other end, the code of its predicate, confidence.
EDGE = np.dtype([("num", np.int64), ("other", np.int64), ("predicate", np.int64), ("confidence", np.float32)])
_NO_EDGES, _NO_MENTIONS = (-1, np.empty(0, dtype=EDGE)), (-1, np.empty(0, dtype=np.int64))
RECENT_ANCHORS, RECENT_WEIGHT, RECENT_MENTIONS = 3, 0.2, 200


@record(frozen=True, slots=True, kw_only=True)
class Numbers:
    """Memories that the arm reaches, by number."""

    nums: NDArray[np.int64]  # int64 `(n,)`, rising
    values: NDArray[np.float32]  # float32 `(n,)`, how each is connected
    stated: NDArray[np.bool_]  # bool `(n,)`, whether it states an edge that is asked for
    whole: float  # sum of the weights of all anchors: a score is a share of it, or of the largest value


class _Connection:
    """Connection that opens at its first use, as mostly all is in memory already; without an engine it never opens."""

    def __init__(self, engine: Engine | None, deadline: Deadline) -> None:
        self._engine, self._deadline = engine, deadline
        self._opened = ExitStack()
        self._open: Connection | None = None

    def execute(self, query: Any) -> CursorResult[Any]:
        if self._engine is None:
            raise NotAtHand
        if self._open is None:
            connection = self._opened.enter_context(begun(self._engine))
            self._open = bounded(connection, self._deadline.remaining_ms())
        return self._open.execute(query)

    def close(self) -> None:
        self._opened.close()


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
        edges: Collection[str] = (),  # types of edges that are followed; empty = all
    ) -> None:
        self._engine, self._entities_of = engine, entities_of
        self._hops, self._hop_factor, self._neighbours, self._mentions = hops, hop_factor, neighbours, mentions
        self._followed = frozenset(edges)
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
        named = set(anchors)
        if not anchors and request.plan.name == "exploratory":
            anchors = self._recent(connection, view, view.nums[view.alive][-RECENT_MENTIONS:].tolist())
        if not anchors or not view.size:
            return ArmResult.empty(self.name, "no entity")
        found, edges = self._walked(connection, request, known, anchors, named)
        rows = np.minimum(view.nums.searchsorted(found.nums), view.size - 1)
        there = (view.nums[rows] == found.nums) & view.alive[rows]
        if request.allowed is not None:
            there &= request.allowed[rows]
        rows, values, stated = rows[there], found.values[there], rows[there & found.stated]
        if not len(rows):
            return ArmResult.empty(self.name, f"{len(anchors)} entities, no memory")
        values = values / max(float(np.maximum.reduce(values)), found.whole)
        connected = (1 - SIMILARITY_SHARE) * values
        best = request.nearest(self.name, rows, connected, SIMILARITY_SHARE, note=f"{len(anchors)} entities")
        return ArmResult(
            arm=self.name,
            rows=best.rows,
            scores=best.scores,
            support_rows=rows,
            support_scores=values,
            stated_rows=stated,
            note=best.note,
            seeds=len(anchors),
            edges=edges,
        )

    def _walked(
        self,
        connection: Any,
        request: ArmRequest,
        known: ScopeEntities,
        anchors: dict[int, float],
        named: Collection[int],
    ) -> tuple[Numbers, int]:
        """Return the memories that anchors lead to, living and allowed or not, and the number of edges followed."""
        view, hints, followed = request.view, request.parsed.predicate_hints, 0
        own = [(self._mentions_of(connection, known, view, ent), weight) for ent, weight in sorted(anchors.items())]
        nums, gains = [each for each, _ in own], [np.full(len(each), weight, np.float32) for each, weight in own]
        stated = [np.empty(0, dtype=np.int64)]
        frontier, seen, factor = dict(anchors), set(anchors), self._hop_factor
        for hop in range(self._hops):
            request.check_time()
            at = sorted(frontier)
            own_edges = [self._permitted(known, self._edges_of(connection, known, view, ent)) for ent in at]
            asked = [known.predicates[hint] for hint in hints if hint in known.predicates]  # known once the edges are
            if not hop and asked:
                stated += [
                    e["num"][np.isin(e["predicate"], asked)]
                    for ent, e in zip(at, own_edges, strict=True)
                    if ent in named
                ]
            edges = np.concatenate([np.empty(0, dtype=EDGE), *own_edges])
            if not len(edges):
                break
            weights = np.repeat([frontier[ent] * factor for ent in at], [*map(len, own_edges)]).astype(np.float32)
            weights *= edges["confidence"]
            if asked:
                weights[np.isin(edges["predicate"], asked)] *= HINT_FACTOR
            nums.append(edges["num"])
            gains.append(2 * weights)  # a memory that states an edge scores highest
            followed += len(weights)
            reached = _best_ends(edges["other"], weights, seen, self._neighbours)
            for ent, gain in reached.items():
                nums.append(self._mentions_of(connection, known, view, ent)[-self._mentions :])
                gains.append(np.full(len(nums[-1]), min(gain, factor), np.float32))
            seen.update(reached)
            frontier = {ent: min(gain, 1.0) for ent, gain in reached.items()}
            factor *= self._hop_factor
        distinct, place = np.unique(np.concatenate(nums), return_inverse=True)
        values = np.zeros(len(distinct), dtype=np.float32)
        np.add.at(values, place, np.concatenate(gains))
        some = values != 0
        distinct, values = distinct[some], values[some]
        states = np.isin(distinct, np.concatenate(stated))
        return Numbers(nums=distinct, values=values, stated=states, whole=sum(anchors.values())), followed

    def _permitted(self, known: ScopeEntities, edges: NDArray[Any]) -> NDArray[Any]:
        """Return the edges of the types that are followed."""
        if not self._followed:
            return edges
        followed = [code for name, code in known.predicates.items() if name in self._followed]
        return edges[np.isin(edges["predicate"], followed)]

    def second_hop(
        self,
        view: ScopeView,
        texts: Callable[[Rows], list[str]],
        terms: Collection[str],
        allowed: Mask | None = None,
    ) -> SecondHop | None:
        """Return the links from documents to others; `None` where there are no documents or too many words."""
        if len(view.text.words) > WORDS_MAX:
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
        )

    def _holders_of(self, view: ScopeView) -> NamePostings:
        with self._lock:  # one thread makes it, others wait
            holders = self._holders.get(view.scope_id)
            if holders is None or not holders.serves(view):
                holders = NamePostings(view, holders if holders is not None and holders.begins(view) else None)
                self._holders[view.scope_id] = holders
            return holders

    def _said_in(self, view: ScopeView, texts: Callable[[Rows], list[str]], rows: Rows) -> list[DocumentNames]:
        """Return the names that rows say, and cache them: a memory's number is never given to another."""
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

    def _recent(self, connection: Any, view: ScopeView, newest: Sequence[int]) -> dict[int, float]:
        """Return the entities that the newest memories mention most, cached until the scope changes."""
        n = schema.mentions
        version, kept = self._recents.get(view.scope_id, (-1, {}))
        if version == view.version:
            return dict(kept)
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

    @staticmethod
    def _edges_of(connection: Any, known: ScopeEntities, view: ScopeView, ent: int) -> NDArray[Any]:
        """Return the edges of an entity, oldest first, from memory; new ones are read when the scope changes."""
        version, edges = known.edges.get(ent, _NO_EDGES)
        if version == view.version:
            return edges
        g = schema.edges
        last = int(edges["num"][-1]) if len(edges) else 0
        query = (
            select(g.c.num, g.c.src, g.c.dst, g.c.predicate, g.c.confidence)
            .where(g.c.scope_id == view.scope_id, or_(g.c.src == ent, g.c.dst == ent), g.c.num > last)
            .order_by(g.c.num, g.c.src, g.c.predicate, g.c.dst)
        )
        read = connection.execute(query)
        fresh = [row for row in read if isinstance(row.predicate, str) and isinstance(row.confidence, int | float)]
        if fresh:
            codes = [known.predicates.setdefault(row.predicate, len(known.predicates)) for row in fresh]
            rows = [
                (row.num, row.dst if row.src == ent else row.src, code, row.confidence)
                for row, code in zip(fresh, codes, strict=True)
            ]
            edges = np.concatenate([edges, np.array(rows, dtype=EDGE)])[-EDGES_MAX:]
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


class KeptGraph:
    """The graph arm over its caches in memory: mostly all that is asked for, until the scope changes."""

    name = "graph"

    def __init__(self, arm: GraphRetriever) -> None:
        self._arm = arm

    def search(self, request: ArmRequest) -> ArmResult:
        """Return candidates as the arm itself does."""
        return self._arm.over(_Connection(None, request.deadline), request)


def _best_ends(
    others: NDArray[np.int64], weights: NDArray[np.float32], seen: Collection[int], limit: int
) -> dict[int, float]:
    """Return the `limit` unseen ends that gain most by edges, best first, ties by their number."""
    ends, places = np.unique(others, return_inverse=True)
    new = ~np.isin(ends, list(seen))
    ends, gains = ends[new], np.bincount(places, weights)[new]
    order = (-gains).argsort(kind="stable")[:limit]  # ends rise
    return dict(zip(ends[order].tolist(), gains[order].tolist(), strict=True))
