"""Makes hits of candidates in order: fetched, explained, withheld as privacy asks, within the token budget.

A recall of several scopes (`of_several`) is one recall of each, and one ranking of what they found. Scores can be
compared across scopes: each is the probability that the memory is relevant, calibrated with the statistics of its own
scope. What holds for all hits together (`k`, `tokens_max`, `ranking.abstain_below`) is applied to the one ranking.
Memories of two scopes that say the same are two hits: each says where it is from.
"""

from __future__ import annotations

import functools
import heapq
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recall_integrations.delivery import packing
from recall_integrations.delivery.explanation import (
    OPEN,
    PLACES,
    RECENT,
    HitWhy,
    Sheet,
    asked_words,
    coarse,
    led,
    reason,
    times_told,
)
from recall_integrations.delivery.highlights import NO_NAMES, Marking
from recall_integrations.delivery.showing import Showing, Shown, plainly, seen_query
from recall_integrations.facts.deciding import Decided, words_for
from recall_integrations.facts.timeline import PAST
from recall_integrations.indexes.scope_view import Rows, ScopeView
from recall_integrations.indexes.times import day_of, from_micros, to_micros
from recall_integrations.privacy.door import Door
from recall_integrations.query.features import IMPLICIT
from recall_integrations.ranking.arranging.moves import REWRITE
from recall_integrations.ranking.arranging.newer import Overtaken
from recall_integrations.ranking.calibration import within
from recall_integrations.ranking.features.compute import FEATURES
from recall_integrations.ranking.fusion import Fused
from recall_integrations.recall.looking import Watched
from recall_integrations.recall.runner import RecallState, Stage, Turn, degradation
from recall_integrations.records import changed
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.store.fact_tables import State
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import (
    CacheOutcome,
    Degradation,
    Hit,
    Memory,
    ParsedQuery,
    RecallResult,
    hit_explained_later,
    hit_marked_later,
    indexed_text,
)
from recall_integrations.types.observing import RecallRequest

GRAPH = "graph"
Held = tuple[str | None, datetime | None, datetime | None]  # `superseded_by`, `valid_from` and `valid_to` of a hit
NEVER_TOLD: Held = (None, None, None)


class Delivery:
    """Makes hits. Threads may share one."""

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
        self, state: RecallState, fused: Fused, deadline: Deadline
    ) -> tuple[tuple[Hit, ...], list[Degradation]]:
        """Return the best k of the candidates as hits, and the problems: `budget.tokens` where they did not all fit."""
        view, parsed, request, door = state.scope, state.query, state.request, state.door
        showing = Shown(door, deadline, self._showing)
        memories = self._fetch(view, fused.rows, request)
        places = np.asarray([place for place, _ in memories], dtype=np.int64)
        rows = fused.rows[places].tolist()
        around, problems = self._around(state, rows, showing)
        ways = self._ways(view, fused, rows, door, showing)
        phrased = state.phrased if door.open else {row: door.said(text) for row, text in state.phrased.items()}
        sheet = Sheet(fused, places, state.reranked, {GRAPH: ways, REWRITE: phrased})
        said = _said(view, rows, parsed, door)
        why_any = functools.partial(
            reason,
            parsed,
            apart=self._recent_is_rare(view, sheet, request),
            names=not door.blocked,
            numbers=door.open,
            own=self._own,
            labels=self._labels,
            asked=functools.cache(lambda: asked_words(parsed)),
        )
        marking = self._marking(parsed, view) if door.open else None
        states = self._states(state, rows)
        by = dict(zip(rows, [held[0] for held in states], strict=True))
        told = times_told(view, parsed, rows) if door.open else {}  # a date is taken from the text
        zone = None if parsed.now is None else parsed.now.tzinfo
        hits = []
        for i, ((_, memory), row, score) in enumerate(zip(memories, rows, fused.scores[places].tolist(), strict=True)):
            shown = showing.of(memory)
            words = said[i] if shown.text == memory.text else None
            when = state.asked.words if state.asked is not None and state.asked.mask[row] else ""
            when = when or self._holds(view, row, state.held, zone) or _later(view, row, state.overtaken, by, zone)
            own = {"said": words, "way": ways.get(row, ""), "when": when, "tells": told.get(row, ""), "score": score}
            why = HitWhy(sheet, i, functools.partial(why_any, demoted=row in state.denied, **own))
            about: dict[str, Any] = {"memory": shown, "context": around.get(row, ()), "scope": request.scope}
            about["duplicates"] = tuple(view.ids[j] for j in state.folded.get(row, ()))
            about.update(zip(("superseded_by", "valid_from", "valid_to"), states[i], strict=True))
            if door.open:
                hits.append(hit_explained_later(why, marking, score=score, **about))
            else:  # what privacy withholds from the reason is withheld now, not when somebody reads it
                about |= {"reason": why.reason(shown), "contributions": coarse(why.contributions())}
                hits.append(Hit(score=round(score, PLACES), **about))
        if not door.open and not door.blocked:
            hits = self._redacted(hits, parsed, view, door)
        kept, dropped = packed(hits, request.tokens_max)
        return kept, [*problems, *showing.problems, *self._damaged(view), *dropped]

    def _redacted(self, hits: list[Hit], parsed: ParsedQuery, view: ScopeView, door: Door) -> list[Hit]:
        """Return hits with redacted reasons, and with the words marked that the redacted query shows."""
        if self._own or not plainly(parsed, door):
            hits = [replace(hit, reason=door.said(hit.reason)) for hit in hits]
        seen = self._marking(seen_query(parsed, door), view, door)
        return [hit_marked_later(hit, seen) for hit in hits]

    def _states(self, state: RecallState, rows: list[int]) -> list[Held]:
        """Return for each hit what ended it, and when it held: by the facts, else by the newer hit before it."""
        view, request = state.scope, state.request
        facts = self._store.facts_in(view)
        nums = view.nums[rows].tolist() if rows else []
        if not facts or not facts.tell(nums):
            known = [NEVER_TOLD] * len(rows)
        else:
            at = to_micros(request.as_of or request.now)
            key = None if state.held is None else state.held.key
            known = [self._held(view, facts.state_of(num, at, key)) for num in nums]
        if not state.overtaken:
            return known
        # Where two people share a name, facts say that nothing is superseded.
        return [
            held if facts and facts.tell([num]) else _no_longer(view, row, state.overtaken, held)
            for row, num, held in zip(rows, nums, known, strict=True)
        ]

    @staticmethod
    def _held(view: ScopeView, state: State | None) -> Held:
        if state is None:
            return NEVER_TOLD
        by = None if state.ended_by is None else _id_of(view, state.ended_by)
        start = None if state.start is None or state.start == PAST else from_micros(state.start)
        return by, start, None if state.stop is None else from_micros(state.stop)

    @staticmethod
    def _holds(view: ScopeView, row: int, decided: Decided | None, zone: tzinfo | None) -> str:
        """Return the words of a reason for what a hit says of the slot that is asked for."""
        num = int(view.nums[row])
        if decided is None or (num not in decided.first and num not in decided.beneath):
            return ""

        def id_of(one: int) -> str:
            return _id_of(view, one) or "another memory"

        return words_for(num, decided.stretches, id_of, decided.at, zone)

    def _marking(self, parsed: ParsedQuery, view: ScopeView, door: Door = OPEN) -> Marking:
        """Return the maker of highlights for the query as it may be seen.

        The names that entities go by here are taken now: whoever reads highlights later need not hold the scope.
        """
        names = NO_NAMES
        if any(ref.stage != IMPLICIT and ref.entity_id for ref in parsed.entity_refs):
            index = self._store.entities(view.scope_id).index
            listed = {ref.name: index.names(ref.entity_id) for ref in parsed.entity_refs if ref.stage != IMPLICIT}
            names = {name: [n for n in also if door.said(n) == n] for name, also in listed.items()}
        return Marking(parsed, names, redacted=not door.open)

    def _recent_is_rare(self, view: ScopeView, sheet: Sheet, request: RecallRequest) -> bool:
        """Say whether at most half of the scope is recent: after an import of today, everything is."""
        if not any(score >= RECENT for score in sheet.scores("recency")):
            return False
        days = -math.log2(RECENT) * self._half_life_days
        recent = view.dated & (view.at >= to_micros(request.now) - days * 86_400e6)
        return 2 * int(np.count_nonzero(recent & view.alive)) <= view.count

    def _damaged(self, view: ScopeView) -> list[Degradation]:
        damaged = self._store.damaged(view.scope_id)
        return [Degradation(stage="store", reason="memory.damaged", detail=damaged)] if damaged else []

    def texts(self, view: ScopeView, rows: Rows) -> list[str]:
        """Return candidates as they were indexed, actor in front: "not Sam" is about what Sam said as well."""
        return [indexed_text(m.text, m.actor) if m is not None else "" for m in self._memories(view, rows)]

    def memories(self, view: ScopeView, rows: Rows) -> list[tuple[int, Memory]]:
        """Return rows with their memories, without those that are gone."""
        if not len(rows):
            return []
        found = zip(rows.tolist(), self._memories(view, rows), strict=True)
        return [(row, memory) for row, memory in found if memory is not None]

    def shown_texts(self, view: ScopeView, rows: Rows, door: Door, deadline: Deadline) -> list[str]:
        """Return texts of candidates as a service may see them; empty where there is no time to redact them."""
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
        """Return how another document led to hits, by row; the other document is named as it is shown."""
        found = {row: via for row in rows if (via := fused.via(row)) is not None}
        nums = {via.row: int(view.nums[via.row]) for via in found.values()}
        memories = self._store.fetch(view.scope_id, list(nums.values())) if nums and not door.blocked else {}
        shown = {row: showing.of(memories[num]) for row, num in nums.items() if num in memories}
        return {row: led(via, shown.get(via.row), door) for row, via in found.items()}

    def _fetch(self, view: ScopeView, rows: Rows, request: RecallRequest) -> list[tuple[int, Memory]]:
        """Return the first k candidates that are still in the store, as `(place, memory)`.

        A memory that was replaced since the columns were read comes in its new version. Where there are filters it is
        left out, as the new version may not meet them.
        """
        found: list[tuple[int, Memory]] = []
        start, k = 0, request.k
        while len(found) < k and start < len(rows):
            part = rows[start : start + k - len(found)]
            nums = view.nums[part].tolist()
            memories = self._store.fetch(view.scope_id, nums)
            if len(memories) == len(part):
                found.extend((start + i, memories[num]) for i, num in enumerate(nums))
                break
            gone = [view.ids[row] for row, num in zip(part.tolist(), nums, strict=True) if num not in memories]
            newer = self._store.reader.fetch_ids(view.scope_id, gone) if gone and not request.filters else {}
            versions = [memories.get(n) or newer.get(view.ids[r]) for r, n in zip(part.tolist(), nums, strict=True)]
            found.extend((start + i, memory) for i, memory in enumerate(versions) if memory is not None)
            start += len(part)
        return found

    def _around(
        self, state: RecallState, rows: list[int], showing: Shown
    ) -> tuple[dict[int, tuple[Memory, ...]], list[Degradation]]:
        """Return the neighbours of hits in their threads, as far as the filters let them through."""
        view, allowed, request = state.scope, state.allowed, state.request
        if not request.context or not rows:
            return {}, []
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
    """Return the words of the query that each hit holds; `None` where nobody knows, or nothing may be said of it."""
    if door.blocked:
        return [None] * len(rows)
    held: Sequence[set[str] | None] = view.text.held(rows, parsed.terms)
    return held


def _id_of(view: ScopeView, num: int) -> str | None:
    """Return the id of a memory of the scope; `None` where it is gone."""
    rows = view.rows_of([num])
    return view.ids[int(rows[0])] if len(rows) else None


def _later(
    view: ScopeView,
    row: int,
    overtaken: Mapping[int, Overtaken],
    superseded_by: Mapping[int, str | None],
    zone: tzinfo | None,
) -> str:
    """Say of two hits about the same thing which one is newer; empty where no pair has changed places."""
    over = overtaken.get(row)
    if over is not None:
        sure = "no longer so" if superseded_by.get(row) == view.ids[over.by] else "may no longer be so"
        return f"{sure}: {_told(view, over.by, row, zone)} came later"
    older = [old for old, one in overtaken.items() if one.by == row]
    return f"newer than {_told(view, older[0], row, zone)}" if older else ""


def _told(view: ScopeView, row: int, beside: int, zone: tzinfo | None) -> str:
    """Name a memory with the day on which it was told, where that is known and tells it from the one beside it."""
    name = view.ids[row]
    if not view.dated[row] or view.at[row] == view.at[beside]:
        return name
    return f"{name} of {day_of(int(view.at[row]), zone)}"


def _no_longer(view: ScopeView, row: int, overtaken: Mapping[int, Overtaken], known: Held) -> Held:
    """Return what facts know of when a hit held; else what the newer memory before it says."""
    over = overtaken.get(row)
    if over is None or not over.surely or known != NEVER_TOLD:
        return known
    until = from_micros(int(view.at[over.by])) if view.dated[over.by] else None
    return view.ids[over.by], None, until


def packed(hits: Sequence[Hit], tokens_max: int | None) -> tuple[tuple[Hit, ...], list[Degradation]]:
    """Return the hits that fit into so many tokens, `None` = all; and the problem if some did not, or not whole."""
    if tokens_max is None:
        return tuple(hits), []
    chosen = packing.pack(hits, tokens_max)
    said = [f"{chosen.dropped} hits did not fit"] * (chosen.dropped > 0) + ["the best one was cut to fit"] * chosen.cut
    if not said:
        return chosen.kept, []
    detail = f"{' and '.join(said)} into {tokens_max} tokens."
    return chosen.kept, [Degradation(stage="pack", reason="budget.tokens", detail=detail[0].upper() + detail[1:])]


def _abstained(confidence: float, least: float) -> Degradation:
    detail = f"The confidence {confidence:.2f} is below ranking.abstain_below {least:g}."
    return Degradation(stage="deliver", reason="abstain", detail=detail)


class Deliver(Stage):
    """Fetches, explains, withholds and packs the hits."""

    name = "deliver"
    essential = True

    def __init__(self, delivery: Delivery, abstain_below: float, score_min: float = 0.0) -> None:
        self._delivery, self._abstain_below, self._score_min = delivery, abstain_below, score_min

    def run(self, state: RecallState, turn: Turn) -> RecallState:
        """Return the state with `hits` and `confidence`."""
        confidence, fused = state.confidence, state.candidates
        if not state.door.open:  # before a threshold of the caller's, which would find exact scores by halves
            fused = replace(fused, scores=fused.scores.round(PLACES))
            confidence = None if confidence is None else round(confidence, PLACES)
        sure = confidence if confidence is not None else float(fused.scores.max(initial=0))
        if sure < self._abstain_below and not state.request.part:
            return state.degraded_by(_abstained(sure, self._abstain_below))
        fused, left_out = self._sure_enough(fused, state.request)
        hits, problems = self._delivery.deliver(state, fused, turn.deadline)
        if confidence is not None:  # the token budget may have dropped some
            confidence = within(confidence, (hit.score for hit in hits))
        return changed(state, hits=hits, confidence=confidence).degraded_by(*left_out, *problems)

    def _sure_enough(self, fused: Fused, request: RecallRequest) -> tuple[Fused, list[Degradation]]:
        """Return the candidates with at least the score asked for, and a problem where some of the best have less."""
        least = self._score_min if request.score_min is None else request.score_min
        if not least:
            return fused, []
        enough = np.flatnonzero(fused.scores >= np.float32(least))
        wanted = min(request.k, len(fused.rows))
        less = wanted - min(wanted, len(enough))
        kept = fused.take(enough, fused.scores[enough])
        detail = f"{less} of the {wanted} best score below {least:g}."
        return kept, [Degradation(stage="deliver", reason="score_min", detail=detail)] if less else []


Answer = Callable[[RecallRequest, Deadline], RecallResult]


def of_several(
    request: RecallRequest, deadline: Deadline, answer: Answer, door: Door, abstain_below: float
) -> RecallResult:
    """Answer a request with several scopes."""
    began, scopes, parts = time.perf_counter(), request.scopes, []
    for i, scope in enumerate(scopes):
        own = deadline.child(deadline.remaining_ms() / (len(scopes) - i))
        one = replace(request, scope=scope, scopes=(), part=True, tokens_max=None)
        parts.append(_before_eyes(one, own, answer, door))
    hits = tuple(islice(_merged([part.hits for part in parts]), request.k))
    # The best confidence of any scope: as if the others were not there.
    confidence = max(part.confidence or 0.0 for part in parts)
    problems: list[Degradation] = []
    if hits and confidence < abstain_below:
        hits, problems = (), [_abstained(confidence, abstain_below)]
    else:
        hits, problems = packed(hits, request.tokens_max)
    named = [door.text(str(scope)) or f"scope {i + 1}" for i, scope in enumerate(scopes)]
    timings = _added(parts)
    timings["total"] = round((time.perf_counter() - began) * 1e3, 3)
    return replace(
        parts[0],
        hits=hits,
        cache=_outcome(parts),
        degraded=(*_degraded(parts, named), *problems),
        notes=tuple(note for part in parts for note in part.notes),
        timings_ms=timings,
        confidence=within(confidence, (hit.score for hit in hits)),
        parts=tuple(replace(part, hits=()) for part in parts),
    )


def _before_eyes(request: RecallRequest, deadline: Deadline, answer: Answer, door: Door) -> RecallResult:
    """Answer for one scope; to a watcher it is a step, with the stages inside."""
    if request.watch is None:
        return answer(request, deadline)
    raised: list[BaseException] = []
    step = Watched(request.watch, raised, door).begin("scope", {"scope": str(request.scope)})
    try:
        found = answer(replace(request, watch=step), deadline)
    except BaseException as e:
        step.end({}, e)
        raise
    step.end({"hits": [{"id": hit.memory.id, "score": hit.score} for hit in found.hits]})
    told = (degradation("observer", raised[0]),) if raised else ()
    return replace(found, degraded=(*found.degraded, *told))


def _merged(lists: Sequence[Sequence[Hit]]) -> Iterator[Hit]:
    """Merge lists of hits by falling score, ties by id and then by scope; each list stays in its order."""

    def placed(hits: Sequence[Hit]) -> Iterator[tuple[float, str, str, Hit]]:
        for hit in hits:
            yield -hit.score, hit.memory.id or "", str(hit.scope), hit

    found = heapq.merge(*map(placed, lists), key=lambda item: item[:3])
    return (hit for *_, hit in found)


def _degraded(parts: Iterable[RecallResult], named: Sequence[str]) -> Iterator[Degradation]:
    """Yield the problems, each with the scope in which it arose."""
    for name, part in zip(named, parts, strict=True):
        for problem in part.degraded:
            yield replace(problem, detail=f"{name}: {problem.detail}" if problem.detail else name)


def _added(parts: Iterable[RecallResult]) -> dict[str, float]:
    timings: dict[str, float] = {}
    for part in parts:
        for name, ms in part.timings_ms.items():
            timings[name] = round(timings.get(name, 0.0) + ms, 3)
    return timings


def _outcome(parts: Sequence[RecallResult]) -> CacheOutcome:
    """Return a hit of the cache where all parts were hits, as old as the oldest; else the first other outcome."""
    missed = next((part.cache for part in parts if not part.cache.hit), None)
    return missed or max((part.cache for part in parts), key=lambda outcome: outcome.age_ms)
