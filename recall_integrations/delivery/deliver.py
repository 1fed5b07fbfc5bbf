"""From candidates in order to hits: fetched, explained, withheld where privacy asks for it, within the token budget."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from recall_integrations.delivery import packing
from recall_integrations.delivery.explanation import OPEN, RECENT, led, reason
from recall_integrations.delivery.showing import Showing, Shown
from recall_integrations.delivery.withholding import plainly
from recall_integrations.indexes.scope_view import Mask, Rows, ScopeView
from recall_integrations.indexes.times import to_micros
from recall_integrations.planning.when import Asked
from recall_integrations.privacy.door import Door
from recall_integrations.ranking.arranging.moves import REWRITE
from recall_integrations.ranking.features.registry import FEATURES
from recall_integrations.ranking.fusion import Fused
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import Contribution, Degradation, Hit, Memory, ParsedQuery, indexed_text
from recall_integrations.types.request import RecallRequest

GRAPH = "graph"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Candidates in the order in which they are to be returned, and what became of them on the way.

    Args:
        fused: the candidates.
        reranked: row → what the reranker made of it.
        denied: rows that are about a negated term.
        folded: row → rows that repeat it.
        asked: the time or the session that decided; `None` = none did.
        phrased: row → the phrasing of the query that lifted it.
    """

    fused: Fused
    reranked: Mapping[int, Contribution] = field(default_factory=dict)
    denied: frozenset[int] = frozenset()
    folded: Mapping[int, Sequence[int]] = field(default_factory=dict)
    asked: Asked | None = None
    phrased: Mapping[int, str] = field(default_factory=dict)


class Delivery:
    """Threads may share one.

    Args:
        store: where the memories are.
        half_life_days: of recency.
        own: of each arm of the user's own, why what it finds is there.
        labels: what ranking features say of a hit (`FeatureSet.labels`).
        showing: where long texts are redacted.
    """

    def __init__(
        self,
        store: MemoryStore,
        half_life_days: float,
        own: Mapping[str, str] | None = None,
        labels: Mapping[str, str] = FEATURES.labels,
        showing: Showing | None = None,
    ) -> None:
        self._store, self._half_life_days = store, half_life_days
        self._own, self._labels = own or {}, labels
        self._showing = showing or Showing()

    def deliver(
        self,
        parsed: ParsedQuery,
        view: ScopeView,
        allowed: Mask | None,
        found: Found,
        request: RecallRequest,
        deadline: Deadline,
        door: Door = OPEN,
    ) -> tuple[tuple[Hit, ...], list[Degradation]]:
        """The best k as hits, and what did not work: `budget.tokens` where some did not fit.

        Args:
            parsed: the query.
            view: the scope.
            allowed: rows that may be returned; `None` = all.
            found: the candidates.
            request: what was asked for.
            deadline: of the recall.
            door: what everything goes through.
        """
        showing = Shown(door, deadline, self._showing)
        fused = found.fused
        memories = self._fetch(view, fused.rows, request.k)
        places = [place for place, _ in memories]
        rows = fused.rows[places].tolist()
        around, problems = self._around(view, allowed, rows, request, showing)
        ways = self._ways(view, fused, rows, door, showing)
        phrased = {row: door.said(text) for row, text in found.phrased.items()}
        made_of = contributions(fused, places, found.reranked, {GRAPH: ways, REWRITE: phrased})
        said = _said(view, rows, parsed, door)
        showing.look(memory for _, memory in memories)
        apart = self._recent_is_rare(view, made_of, request)
        hits = []
        for i, (place, memory) in enumerate(memories):
            row, shown = rows[i], showing.of(memory)
            why = reason(
                parsed,
                shown,
                made_of[place],
                demoted=row in found.denied,
                names=not door.blocked,
                said=said[i] if shown.text == memory.text else None,
                way=ways.get(row, ""),
                when=_when(found, row),
                apart=apart,
                own=self._own,
                labels=self._labels,
            )
            hits.append(self._hit(view, fused, place, found, shown, why, made_of[place], around))
        if self._own or not plainly(parsed, door):
            hits = _seen(hits, door)
        kept, dropped = _packed(hits, request.tokens_max)
        return kept, [*problems, *showing.problems, *self._damaged(view), *dropped]

    @staticmethod
    def _hit(
        view: ScopeView,
        fused: Fused,
        place: int,
        found: Found,
        shown: Memory,
        why: str,
        parts: tuple[Contribution, ...],
        around: Mapping[int, tuple[Memory, ...]],
    ) -> Hit:
        row = int(fused.rows[place])
        return Hit(
            memory=shown,
            score=float(fused.scores[place]),
            reason=why,
            contributions=parts,
            duplicates=tuple(view.ids[j] for j in found.folded.get(row, ())),
            context=around.get(row, ()),
        )

    def _recent_is_rare(
        self, view: ScopeView, made_of: Mapping[int, Sequence[Contribution]], request: RecallRequest
    ) -> bool:
        """Whether at most half of the scope is recent: of what was imported today, everything is."""
        if not any(part.source == "recency" and part.score >= RECENT for parts in made_of.values() for part in parts):
            return False
        days = -math.log2(RECENT) * self._half_life_days
        recent = view.dated & (view.at >= to_micros(request.now) - days * 86_400e6)
        return 2 * int((recent & view.alive).sum()) <= int(view.alive.sum())

    def _damaged(self, view: ScopeView) -> list[Degradation]:
        damaged = self._store.damaged(view.scope_id)
        return [Degradation(stage="store", reason="memory.damaged", detail=damaged)] if damaged else []

    def texts(self, view: ScopeView, rows: Rows) -> list[str]:
        """Candidates as they were indexed, actor in front: "not Sam" is about what Sam said as well."""
        return [indexed_text(m.text, m.actor) if m is not None else "" for m in self._memories(view, rows)]

    def shown_texts(self, view: ScopeView, rows: Rows, door: Door, deadline: Deadline) -> list[str]:
        """The same, as a service may see them; empty where there is no time to redact them."""
        showing, found = Shown(door, deadline, self._showing), []
        for memory in self._memories(view, rows):
            text = "" if memory is None or deadline.over else showing.text(memory.text)
            actor = None if memory is None or memory.actor is None else door.text(memory.actor)  # each by itself
            found.append(indexed_text(text, actor) if text else "")
        return found

    def _memories(self, view: ScopeView, rows: Rows) -> list[Memory | None]:
        nums = view.nums[rows].tolist()
        memories = self._store.fetch(view.scope_id, nums)
        return [memories.get(num) for num in nums]

    def _ways(self, view: ScopeView, fused: Fused, rows: list[int], door: Door, showing: Shown) -> dict[int, str]:
        """How another document led to hits, by row; the other is named as it is shown."""
        found = {row: via for row in rows if (via := fused.via(row)) is not None}
        nums = {via.row: int(view.nums[via.row]) for via in found.values()}
        memories = self._store.fetch(view.scope_id, list(nums.values())) if nums and not door.blocked else {}
        shown = {row: showing.of(memories[num]) for row, num in nums.items() if num in memories}
        return {row: led(via, shown.get(via.row), door) for row, via in found.items()}

    def _fetch(self, view: ScopeView, rows: Rows, k: int) -> list[tuple[int, Memory]]:
        """The first k candidates that are still in the store, as `(place, memory)`."""
        found: list[tuple[int, Memory]] = []
        start = 0
        while len(found) < k and start < len(rows):
            part = rows[start : start + k - len(found)]
            nums = view.nums[part].tolist()
            memories = self._store.fetch(view.scope_id, nums)
            gone = [view.ids[row] for row, num in zip(part.tolist(), nums, strict=True) if num not in memories]
            newer = self._store.fetch_ids(view.scope_id, gone) if gone else {}  # replaced since the columns were read
            versions = [memories.get(n) or newer.get(view.ids[r]) for r, n in zip(part.tolist(), nums, strict=True)]
            found.extend((start + i, memory) for i, memory in enumerate(versions) if memory is not None)
            start += len(part)
        return found

    def _around(
        self, view: ScopeView, allowed: Mask | None, rows: list[int], request: RecallRequest, showing: Shown
    ) -> tuple[dict[int, tuple[Memory, ...]], list[Degradation]]:
        """The neighbours of hits in their threads, as far as the filters let them through."""
        if not request.context or not rows:
            return {}, []
        if view.text is None:
            detail = "The words and threads of this scope are not in memory (ranking.features, retrieval.cache_mb)."
            return {}, [Degradation(stage="context", reason="unavailable", detail=detail)]
        before = after = np.asarray(rows, dtype=np.int64)
        steps: list[NDArray[np.int64]] = []
        for _ in range(request.context):
            before, after = view.text.previous(before), view.text.following(after)
            steps = [before, *steps, after]
        table = np.stack(steps, axis=1)
        if allowed is not None:
            table = np.where((table >= 0) & allowed[np.maximum(table, 0)], table, -1)
        nums = view.nums[np.unique(table[table >= 0])].tolist()
        memories = self._store.fetch(view.scope_id, nums)
        found = {}
        for row, beside in zip(rows, table.tolist(), strict=True):
            there = (memories.get(int(view.nums[i])) for i in beside if i >= 0)
            found[row] = tuple(showing.of(m) for m in there if m is not None)
        return found, []


def _said(view: ScopeView, rows: list[int], parsed: ParsedQuery, door: Door) -> Sequence[set[str] | None]:
    """Which words of the query each hit holds; `None` where nobody knows, or nothing may be said of it."""
    if view.text is None or door.blocked:
        return [None] * len(rows)
    held: Sequence[set[str] | None] = view.text.held(rows, parsed.terms)
    return held


def _seen(hits: Sequence[Hit], door: Door) -> list[Hit]:
    """With their reasons as they may be seen: looked at together, for each by itself costs more."""
    if door.open or door.blocked:
        return list(hits)
    reasons = door.said_each([hit.reason for hit in hits])
    return [replace(hit, reason=why) for hit, why in zip(hits, reasons, strict=True)]


def _when(found: Found, row: int) -> str:
    """What a hit has to do with the time or the session that was asked for, in words."""
    return found.asked.words if found.asked is not None and found.asked.mask[row] else ""


def contributions(
    fused: Fused, places: Sequence[int], reranked: Mapping[int, Contribution], notes: Mapping[str, Mapping[int, str]]
) -> dict[int, tuple[Contribution, ...]]:
    """What each source added, by place; the columns are read once for all of them.

    `notes`: source → row → what is noted of it. What `reranked` says of a row stands for what the candidates say of the
    reranker.
    """
    at = np.asarray(places, dtype=np.int64)
    sources = {**fused.added, **fused.raw}
    names = sorted(sources)
    nothing = np.zeros(len(places))
    values = np.asarray(
        [
            [column[name][at] if name in column else nothing for name in names]
            for column in (sources, fused.added, fused.ranks)
        ]
    ).reshape(3, len(names), len(places))
    effective = values.any(axis=0) & ~np.isnan(values[0])
    scores, added, ranks = values.tolist()
    found = {}
    for i, (place, row) in enumerate(zip(places, fused.rows[at].tolist(), strict=True)):
        judged = reranked.get(row)
        parts = [
            Contribution(
                source=names[n],
                rank=int(ranks[n][i]) or None,
                score=scores[n][i],
                added=added[n][i],
                note=notes[names[n]].get(row, "") if names[n] in notes else "",
            )
            for n in np.flatnonzero(effective[:, i]).tolist()
            if judged is None or names[n] != judged.source
        ]
        if judged is not None:
            parts.append(judged)
        found[place] = tuple(sorted(parts, key=_most_first))
    return found


def _most_first(part: Contribution) -> tuple[float, str]:
    return -part.added, part.source


def _packed(hits: Sequence[Hit], tokens_max: int | None) -> tuple[tuple[Hit, ...], list[Degradation]]:
    """The hits that fit into so many tokens, `None` = all; and that some did not."""
    if tokens_max is None:
        return tuple(hits), []
    kept, dropped = packing.pack(hits, tokens_max)
    if not dropped:
        return tuple(kept), []
    detail = f"{dropped} hits did not fit into {tokens_max} tokens."
    return tuple(kept), [Degradation(stage="pack", reason="budget.tokens", detail=detail)]
