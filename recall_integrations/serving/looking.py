"""The data of the page: a recall with its steps, names as a graph, memories in time."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import combinations
from typing import Any

import numpy as np
from sqlalchemy import Connection, func, select

from recall_integrations.adapters.rows import memory_data
from recall_integrations.counterfactual.recalls import part_data, parts_of
from recall_integrations.database import schema
from recall_integrations.delivery.as_data import explanation_data
from recall_integrations.delivery.highlights import marks
from recall_integrations.errors import NotFound
from recall_integrations.indexes.scope_view import Rows, ScopeView, of_types
from recall_integrations.indexes.times import LAST, from_micros, to_micros
from recall_integrations.optimizer import QueryOptimizer
from recall_integrations.privacy.door import Door
from recall_integrations.query.features import WEIGHTS
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import Filters, Memory, MemoryType, RecallResult, Scope

NAMES_MAX = 80  # more than this nobody can read
MEMORIES_READ = 20_000  # the newest, for who is mentioned together
AROUND_READ = 2_000  # the newest of those that mention one name
TOGETHER_MAX = 12  # names of one memory: a list of thirty says little about any two of them
PIECE = 500  # ids in one query
LINKS_EACH = 3  # links that a name may have on average

_e, _m, _r = schema.entities.c, schema.mentions.c, schema.edges.c


def names(store: MemoryStore, scope: Scope, door: Door, *, limit: int = 40, around: str = "") -> dict[str, Any]:
    """Return the names mentioned most, or those around one name, and their links."""
    scope_id = store.scope_id(scope)
    empty: dict[str, Any] = {"total": 0, "names": [], "links": [], "withheld": door.blocked}
    if scope_id is None:
        return empty
    with store.reading(), store.engine.connect() as connection:
        total = connection.execute(select(func.count()).where(_e.scope_id == scope_id)).scalar_one()
        if door.blocked:
            return {**empty, "total": int(total)}
        counted = _around_name(connection, scope_id, around, limit) if around else _most(connection, scope_id, limit)
        known = _named(connection, scope_id, list(counted))
        counted = {ent: count for ent, count in counted.items() if ent in known}
        stated = _stated(connection, scope_id, list(counted))
        together = _together(connection, scope_id, list(counted))
    links = _links(stated, together, known, door)
    shown = [
        {"id": known[ent][0], "name": door.text(known[ent][1]), "mentions": count, "declared": bool(known[ent][2])}
        for ent, count in counted.items()
    ]
    return {"total": int(total), "names": shown, "links": links, "withheld": False}


def _most(connection: Connection, scope_id: int, limit: int) -> dict[int, int]:
    count = func.count().label("count")
    query = select(_m.ent, count).where(_m.scope_id == scope_id).group_by(_m.ent).order_by(count.desc(), _m.ent)
    return {int(ent): int(n) for ent, n in connection.execute(query.limit(limit))}


def _around_name(connection: Connection, scope_id: int, around: str, limit: int) -> dict[int, int]:
    """Count the mentions of one name and of the names that its newest memories mention most."""
    ent = connection.execute(select(_e.ent).where(_e.scope_id == scope_id, _e.entity_id == around)).scalar()
    if ent is None:
        raise NotFound("There is no such name in this scope. Choose one from the list.")
    of_it = select(_m.num).where(_m.scope_id == scope_id, _m.ent == ent).order_by(_m.num.desc())
    nums = [int(num) for num in connection.execute(of_it.limit(AROUND_READ)).scalars()]
    counts: Counter[int] = Counter()
    for start in range(0, len(nums), PIECE):
        part = nums[start : start + PIECE]
        query = select(_m.ent, func.count()).where(_m.scope_id == scope_id, _m.num.in_(part)).group_by(_m.ent)
        counts.update({int(other): int(n) for other, n in connection.execute(query)})
    counts[int(ent)] = max(len(nums), counts[int(ent)])
    first = sorted(counts, key=lambda other: (other != ent, -counts[other], other))[:limit]
    return {other: counts[other] for other in first}


def _named(connection: Connection, scope_id: int, ents: Sequence[int]) -> dict[int, tuple[str, str, int]]:
    query = select(_e.ent, _e.entity_id, _e.name, _e.declared).where(_e.scope_id == scope_id, _e.ent.in_(ents))
    return {int(row.ent): (row.entity_id, row.name, row.declared) for row in connection.execute(query)}


def _stated(connection: Connection, scope_id: int, ents: Sequence[int]) -> dict[tuple[int, int], Counter[str]]:
    """Count the relations that memories state between two of the names."""
    count = func.count().label("count")
    query = (
        select(_r.src, _r.dst, _r.predicate, count)
        .where(_r.scope_id == scope_id, _r.src.in_(ents), _r.dst.in_(ents))
        .group_by(_r.src, _r.dst, _r.predicate)
        .order_by(count.desc(), _r.src, _r.dst, _r.predicate)
        .limit(LINKS_EACH * NAMES_MAX)
    )
    found: dict[tuple[int, int], Counter[str]] = defaultdict(Counter)
    for src, dst, predicate, n in connection.execute(query):
        if src != dst:
            found[int(src), int(dst)][predicate] += int(n)
    return found


def _together(connection: Connection, scope_id: int, ents: Sequence[int]) -> Counter[tuple[int, int]]:
    last = connection.execute(select(func.max(_m.num)).where(_m.scope_id == scope_id)).scalar() or 0
    newest = _m.num > last - MEMORIES_READ
    query = select(_m.num, _m.ent).where(_m.scope_id == scope_id, newest, _m.ent.in_(ents)).order_by(_m.num, _m.ent)
    of_memory: dict[int, list[int]] = defaultdict(list)
    for num, ent in connection.execute(query):
        of_memory[int(num)].append(int(ent))
    pairs: Counter[tuple[int, int]] = Counter()
    for mentioned in of_memory.values():
        if len(mentioned) <= TOGETHER_MAX:
            pairs.update(combinations(sorted(mentioned), 2))
    return pairs


def _links(
    stated: dict[tuple[int, int], Counter[str]],
    together: Counter[tuple[int, int]],
    known: dict[int, tuple[str, str, int]],
    door: Door,
) -> list[dict[str, Any]]:
    """Return links for stated relations first, then for pairs mentioned together most, `LINKS_EACH` per name."""
    links = []
    for src, dst in sorted(stated):
        words = sorted(stated[src, dst].items(), key=lambda w: (-w[1], w[0]))
        said = [door.text(word.replace("_", " ")) for word, _ in words[:3]]
        links.append((src, dst, said, True, together.get((min(src, dst), max(src, dst)), 0)))
    known_pairs = {frozenset(pair) for pair in stated}
    others = [pair for pair in together if frozenset(pair) not in known_pairs]
    others.sort(key=lambda pair: (-together[pair], pair))
    links += [(*pair, [], False, together[pair]) for pair in others[: max(0, LINKS_EACH * len(known) - len(links))]]
    keys = ("from", "to", "words", "stated", "together")
    return [dict(zip(keys, (known[src][0], known[dst][0], *rest), strict=True)) for src, dst, *rest in links]


BUCKETS = 72
LISTED = 50
TEXT_CHARS = 400  # of a memory in a list
NEIGHBOURS = 3  # before it, and after it
ACTORS = 40


def timeline(
    store: MemoryStore,
    scope: Scope,
    door: Door,
    now: datetime,
    *,
    filters: Filters | None = None,
    start: datetime | None = None,
    end: datetime | None = None,
    limit: int = LISTED,
    skip: int = 0,
) -> dict[str, Any]:
    """Count the memories of each type over time, and list the newest."""
    scope_id = store.scope_id(scope)
    if scope_id is None:
        return {"total": 0, "start": None, "end": None, "buckets": [], "memories": [], "types": [], "actors": []}
    with store.reading():
        view = store.view(scope_id)
        mask = store.reader.filter_mask(view, filters, now) if filters else None
        rows = np.flatnonzero(view.alive if mask is None else view.alive & mask)
        at = view.at[rows]
        inside = np.ones(len(rows), dtype=np.bool_)
        if start is not None:
            inside &= at >= to_micros(start)
        if end is not None:
            inside &= at < to_micros(end)
        rows, at = rows[inside], at[inside]
        low = to_micros(start) if start is not None else int(at.min(initial=to_micros(now)))
        high = to_micros(end) if end is not None else int(at.max(initial=low)) + 1
        order = np.lexsort((-rows, -at))[skip : skip + limit]
        listed = _read(store, view, rows[order], door)
        return {
            "total": len(rows),
            "start": _written(low),
            "end": _written(high),
            "buckets": _buckets(view, rows, low, max(high, low + 1)),
            "memories": [_short(memory) for memory in listed],
            "types": [kind.value for kind in MemoryType if len(rows) and bool(of_types(view, (kind,), rows).any())],
            "actors": [] if door.blocked else [door.text(name) for name in _actors(view)],
        }


def _written(micros: int) -> str:
    """Write a time; one behind the last that there is, as that."""
    return from_micros(min(micros, LAST)).isoformat()


def _buckets(view: ScopeView, rows: Rows, low: int, high: int) -> list[dict[str, Any]]:
    edges = np.linspace(low, high, BUCKETS + 1)
    place = np.clip(((view.at[rows] - low) * BUCKETS) // (high - low), 0, BUCKETS - 1)
    counts = {
        kind.value: np.bincount(place[of_types(view, (kind,), rows)], minlength=BUCKETS).tolist() for kind in MemoryType
    }
    return [
        {
            "start": _written(int(edges[i])),
            "end": _written(int(edges[i + 1])),
            "types": {kind: column[i] for kind, column in counts.items() if column[i]},
        }
        for i in range(BUCKETS)
    ]


def _actors(view: ScopeView) -> list[str]:
    text = view.text
    codes = text.actors[view.alive & (text.actors >= 0)]
    counts = np.bincount(codes, minlength=1)
    best = np.argsort(-counts, kind="stable")[:ACTORS]
    return [text.actor_names[code] for code in best.tolist() if counts[code]]


def one(store: MemoryStore, scope: Scope, memory_id: str, door: Door) -> dict[str, Any]:
    """Return a memory with its neighbours in its thread, and the names found in it."""
    memory = store.get(memory_id, scope=scope)
    scope_id = store.scope_id(scope)
    if memory is None or scope_id is None:
        raise NotFound("There is no such memory in this scope. It may have been forgotten, or have ended.")
    m = schema.memories.c
    with store.reading(), store.engine.connect() as connection:
        num = connection.execute(select(m.num).where(m.scope_id == scope_id, m.id == memory_id)).scalar()
        found = [] if num is None or door.blocked else _names(connection, scope_id, int(num))
    with store.reading():
        view = store.view(scope_id)
        row = view.rows_of([] if num is None else [int(num)])
        before, after = _around(view, row) if len(row) else (_NONE, _NONE)
        return {
            "memory": memory_data(door.memory(memory)),
            "names": [{**name, "name": door.text(name["name"])} for name in found],
            "before": [_short(m) for m in _read(store, view, before, door)],
            "after": [_short(m) for m in _read(store, view, after, door)],
        }


_NONE = np.empty(0, dtype=np.int64)


def _around(view: ScopeView, row: Rows) -> tuple[Rows, Rows]:
    """Return the rows before a row in its thread, and the rows after it, in order."""
    text = view.text
    sides: list[list[int]] = [[], []]
    for side, step in zip(sides, (text.previous, text.following), strict=True):
        at = row
        for _ in range(NEIGHBOURS):
            at = step(at)
            if at[0] < 0:
                break
            side.append(int(at[0]))
    return np.asarray(sides[0][::-1], dtype=np.int64), np.asarray(sides[1], dtype=np.int64)


def _names(connection: Any, scope_id: int, num: int) -> list[dict[str, Any]]:
    query = (
        select(_e.entity_id, _e.name, _m.role)
        .where(_m.scope_id == scope_id, _m.num == num, _e.scope_id == scope_id, _e.ent == _m.ent)
        .order_by(_e.name, _e.ent)
    )
    return [{"id": row.entity_id, "name": row.name, "role": row.role} for row in connection.execute(query)]


def _read(store: MemoryStore, view: ScopeView, rows: Rows, door: Door) -> list[Memory]:
    nums = view.nums[rows].tolist()
    found = store.fetch(view.scope_id, nums) if nums else {}
    return [door.memory(found[num]) for num in nums if num in found]


def _short(memory: Memory) -> dict[str, Any]:
    data = memory_data(memory)
    text = data["text"]
    kept = ("id", "type", "actor", "role", "channel", "event_at", "created_at", "thread", "position", "importance")
    return {
        **{key: data[key] for key in kept},
        "text": text if len(text) <= TEXT_CHARS else f"{text[:TEXT_CHARS].rstrip()}…",
        "cut": len(text) > TEXT_CHARS,
    }


QUERY_CHARS = 4_000  # of the query that are marked
DECIMALS = 3
_STAGES = {
    "parse": "read the question",
    "plan": "choose a plan",
    "ask": "ask for other words",
    "embed": "turn it into a vector",
    "arms": "search",
    "rank": "weigh the evidence",
    "rewrite": "other words",
    "rerank": "rerank",
    "arrange": "put in order",
    "deliver": "fetch and explain",
    "cache": "an answer that was kept",
}


class Span:
    """A step of a recall, as a watcher gets it (`types.watching.Step`)."""

    def __init__(self, name: str, began: float, clock: Callable[[], float] = time.perf_counter) -> None:
        self.name, self._start, self._clock = name, began, clock
        self.began_ms = (clock() - began) * 1e3
        self.took_ms: float | None = None
        self.found: int | None = None
        self.note = ""
        self.failed = False
        self.inner: list[Span] = []

    def begin(self, name: str, _inputs: Mapping[str, Any]) -> Span:
        step = Span(name, self._start, self._clock)
        self.inner.append(step)
        return step

    def end(self, outputs: Mapping[str, Any], error: BaseException | None = None) -> None:
        self.took_ms = (self._clock() - self._start) * 1e3 - self.began_ms
        self.failed = error is not None
        found = outputs.get("found")
        self.found = found if isinstance(found, int) else None
        self.note = str(outputs.get("note") or "")


def looked(
    optimizer: QueryOptimizer, query: str, scope: Scope, *, deadline_ms: float | None = None, **asked: Any
) -> dict[str, Any]:
    """Recall, and return the result as data for the page."""
    watch = Span("recall", time.perf_counter())
    result = optimizer.recall(query, scope=scope, watch=watch, **asked)
    spans = {step.name: step for stage in watch.inner for step in (stage, *stage.inner)}
    arms = frozenset(arm.name for arm in result.plan.arms if f"arm.{arm.name}" in spans)
    k = asked.get("k", 5)
    data = explanation_data(result, result.plan, scope, asked=arms, k=k)
    config = optimizer.config_of(scope)
    budget = deadline_ms or asked.get("time_budget_ms") or config.limits.time_budget_ms
    whole = result.query.original
    shown = [mark for mark in marks(result.query) if mark.start < QUERY_CHARS]
    return {
        **data,
        "query": whole[:QUERY_CHARS],
        "query_cut": len(whole) > QUERY_CHARS,
        "privacy": asked.get("privacy", "allow"),
        "marks": [{"start": m.start, "end": min(m.end, QUERY_CHARS), "role": m.role} for m in shown],
        "knobs": {  # the settings that turn features into a plan
            "weights": dict(WEIGHTS),
            "exploratory_below": config.planner.exploratory_threshold,
            "precise_from": config.planner.precise_threshold,
        },
        "axis": {
            "deadline_ms": budget,
            "stages": [_step(step, _STAGES.get(step.name, step.name.replace("_", " "))) for step in watch.inner],
            "arms": [_arm(arm.name, spans.get(f"arm.{arm.name}"), result) for arm in result.plan.arms],
        },
        "parts": [part_data(part) for part in parts_of(optimizer, result, scope, filtered=bool(asked.get("filters")))],
    }


def _step(step: Span, label: str) -> dict[str, Any]:
    return {
        "name": step.name,
        "label": label,
        "began_ms": round(step.began_ms, DECIMALS),
        "took_ms": None if step.took_ms is None else round(step.took_ms, DECIMALS),
        "failed": step.failed,
    }


def _arm(name: str, step: Span | None, result: RecallResult) -> dict[str, Any]:
    """Return an arm of the plan: its times and number of hits, or that it did not run."""
    trouble = [d for d in result.degraded if d.stage == name]
    why = f"{trouble[0].reason}: {trouble[0].detail}".rstrip(": ") if trouble else ""
    arm: dict[str, Any] = {"began_ms": None, "took_ms": None, "found": None, "note": "", "failed": False}
    if step is not None:
        arm = {**_step(step, name), "found": step.found, "note": step.note}
        del arm["label"]
    return {**arm, "name": name, "asked": step is not None, "failed": arm["failed"] or bool(why), "why": why}
