"""A recall as the page shows it: the output of `recall explain --json`, with start and duration of each step."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from recall_integrations.config import RecallConfig
from recall_integrations.counterfactual.recalls import part_data, parts_of
from recall_integrations.delivery.as_data import explanation_data
from recall_integrations.delivery.marks import marks
from recall_integrations.optimizer import QueryOptimizer
from recall_integrations.query.features import WEIGHTS
from recall_integrations.types import RecallResult, Scope

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
    """A step of a recall, as a watcher gets it (`types.watching.Step`).

    Args:
        name: of the step.
        began: monotonic seconds at which the recall began.
        clock: monotonic seconds.
    """

    def __init__(self, name: str, began: float, clock: Callable[[], float] = time.perf_counter) -> None:
        self.name, self._start, self._clock = name, began, clock
        self.began_ms = (clock() - began) * 1e3
        self.took_ms: float | None = None
        self.found: int | None = None
        self.note = ""
        self.failed = False
        self.inner: list[Span] = []

    def begin(self, name: str, _inputs: Mapping[str, Any]) -> Span:
        """Begin a step inside of this one."""
        step = Span(name, self._start, self._clock)
        self.inner.append(step)
        return step

    def end(self, outputs: Mapping[str, Any], error: BaseException | None = None) -> None:
        """End the step."""
        self.took_ms = (self._clock() - self._start) * 1e3 - self.began_ms
        self.failed = error is not None
        found = outputs.get("found")
        self.found = found if isinstance(found, int) else None
        self.note = str(outputs.get("note") or "")


def looked(
    optimizer: QueryOptimizer, query: str, scope: Scope, *, deadline_ms: float | None = None, **asked: Any
) -> dict[str, Any]:
    """Recall, and return the result as data for the page.

    Args:
        optimizer: answers the recall.
        query: the question.
        scope: the scope to search.
        deadline_ms: shown as the time budget; default the one that is given.
        asked: further arguments of `QueryOptimizer.recall`.

    Raises:
        RecallError: as `QueryOptimizer.recall`.
    """
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
        "knobs": _knobs(config),
        "axis": {
            "deadline_ms": budget,
            "stages": [_step(step, _STAGES.get(step.name, step.name.replace("_", " "))) for step in watch.inner],
            "arms": [_arm(arm.name, spans.get(f"arm.{arm.name}"), result) for arm in result.plan.arms],
        },
        "parts": [part_data(part) for part in parts_of(optimizer, result, scope, filtered=bool(asked.get("filters")))],
    }


def _knobs(config: RecallConfig) -> dict[str, Any]:
    """Return the settings that turn features into a plan."""
    return {
        "weights": dict(WEIGHTS),
        "exploratory_below": config.planner.exploratory_threshold,
        "precise_from": config.planner.precise_threshold,
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
    if step is None:
        return {"name": name, "asked": False, "began_ms": None, "took_ms": None, "found": None, "failed": bool(why),
                "why": why, "note": ""}  # fmt: skip
    shown = _step(step, name)
    return {
        "name": name,
        "asked": True,
        "began_ms": shown["began_ms"],
        "took_ms": shown["took_ms"],
        "found": step.found,
        "failed": step.failed or bool(why),
        "why": why,
        "note": step.note,
    }
