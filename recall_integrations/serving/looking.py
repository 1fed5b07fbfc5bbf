"""The data of the page: a recall with its steps, memories in time."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import numpy as np
from sqlalchemy import select

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

_e, _m = schema.entities.c, schema.mentions.c


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
