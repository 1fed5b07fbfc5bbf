"""Tells a watcher (`recall(watch=…)`) what a recall does, a step at a time. Its errors cannot cost the answer.

Without a watcher, nothing here is made or called.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from recall_integrations.errors import RecallError
from recall_integrations.privacy.door import Door
from recall_integrations.recall.state import RecallState
from recall_integrations.resilience.failures import failures
from recall_integrations.types import Degradation
from recall_integrations.types.watching import Step

FIRST = 10  # number of candidates whose ids are told
Told = Mapping[str, Any]


class Watched:
    """A step that a watcher is told: it ends once, and errors of the watcher are kept. Threads share it."""

    def __init__(self, step: Step | None, raised: list[BaseException], door: Door) -> None:
        self._step, self._raised, self._door = step, raised, door
        self._ended, self._lock = False, threading.Lock()

    def begin(self, name: str, inputs: Told) -> Watched:
        """Begin a step inside of this one."""
        inner: Step | None = None
        if self._step is not None:
            try:
                inner = self._step.begin(name, inputs if self._door.open else {})
            except failures() as e:  # a watcher must not cost the answer; the result names it
                self._raised.append(e)
        return Watched(inner, self._raised, self._door)

    def end(self, outputs: Told, error: BaseException | None = None) -> None:
        """End the step; what comes after that, from a thread that was given up, is not told."""
        with self._lock:
            over, self._ended = self._ended, True
        if over or self._step is None:
            return
        told = outputs if self._door.open else {k: v for k, v in outputs.items() if k == "degraded"}
        try:
            if isinstance(error, Exception):
                error = self._door.error(error)
            self._step.end(told, error)
        except failures() as e:  # as above
            self._raised.append(e)


def given(stage: str, state: RecallState) -> dict[str, Any]:
    """Return a stage's input, as JSON has it."""
    made = _GIVEN.get(stage)
    return {} if made is None else made(state)


def found(stage: str, state: RecallState, degraded: tuple[Degradation, ...]) -> dict[str, Any]:
    """Return a stage's output and its problems, as JSON has them."""
    made = _FOUND.get(stage)
    outputs = {} if made is None else made(state)
    if degraded:
        outputs["degraded"] = [{"stage": d.stage, "reason": d.reason, "detail": d.detail} for d in degraded]
    return outputs


def failure(stage: str, degraded: tuple[Degradation, ...]) -> RecallError | None:
    """Return the error of a stage whose fallback was taken; `None` where it was left out on purpose."""
    said = next((d for d in degraded if d.stage == stage), None)
    return None if said is None else RecallError(f"{said.reason}: {said.detail}")


# -- of the stages that we know; those of users are told by their names ------------------------------------------------


def _asked(state: RecallState) -> dict[str, Any]:
    return {"query": state.request.text}


def _parsed(state: RecallState) -> dict[str, Any]:
    parsed = state.parsed
    if parsed is None:
        return {}
    window = parsed.temporal_window
    return {
        "language": parsed.language,
        "specificity": round(parsed.specificity, 3),
        "terms": list(parsed.terms),
        "entities": [ref.name for ref in parsed.entity_refs],
        "types": [str(hint) for hint in parsed.type_hints],
        "negations": list(parsed.negations),
        "window": None
        if window is None
        else [None if t is None else t.isoformat() for t in (window.start, window.end)],
    }


def _planned(state: RecallState) -> dict[str, Any]:
    plan = state.planned
    return {} if plan is None else {"plan": plan.name, "arms": [a.name for a in plan.arms], "reason": plan.reason}


def _arms(state: RecallState) -> dict[str, Any]:
    return {"found": {result.arm: len(result.rows) for result in state.results}}


def _candidates(state: RecallState) -> dict[str, Any]:
    fused, view = state.fused, state.view
    if fused is None or view is None:
        return {}
    rows = fused.rows[:FIRST].tolist()
    best = [
        {"id": view.ids[row], "score": float(s)} for row, s in zip(rows, fused.scores[:FIRST].tolist(), strict=True)
    ]
    return {"candidates": len(fused.rows), "best": best, "confidence": state.confidence}


def _rewritten(state: RecallState) -> dict[str, Any]:
    done = state.rewrite
    phrasings = list(state.parsed.rewrites) if done.used and state.parsed is not None else []
    return {"strategy": done.strategy, "reason": done.reason, "phrasings": phrasings}


def _reranked(state: RecallState) -> dict[str, Any]:
    done = state.rerank
    return {"reranker": done.reranker, "reason": done.reason, "scored": done.scored, **_candidates(state)}


def _delivered(state: RecallState) -> dict[str, Any]:
    hits = [{"id": hit.memory.id, "score": hit.score} for hit in state.hits]
    return {"hits": hits, "confidence": state.confidence}


def _wanted(state: RecallState) -> dict[str, Any]:
    return {"k": state.request.k, "tokens_max": state.request.tokens_max, **_candidates(state)}


_GIVEN: dict[str, Callable[[RecallState], dict[str, Any]]] = {
    "parse": _asked,
    "plan": _parsed,
    "embed": _asked,
    "arms": _planned,
    "rank": _arms,
    "rewrite": _asked,
    "rerank": _candidates,
    "arrange": _candidates,
    "deliver": _wanted,
    "cache": _asked,
}
_FOUND: dict[str, Callable[[RecallState], dict[str, Any]]] = {
    "parse": _parsed,
    "plan": _planned,
    "arms": _arms,
    "rank": _candidates,
    "rewrite": _rewritten,
    "rerank": _reranked,
    "arrange": _candidates,
    "deliver": _delivered,
    "cache": _delivered,
}
