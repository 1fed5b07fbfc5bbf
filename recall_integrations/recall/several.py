"""A recall of several scopes: one recall of each, and one ranking of what they found.

Scores can be compared across scopes: each is the probability that the memory is relevant, calibrated with the
statistics of its own scope. What holds for all hits together (`k`, `tokens_max`, `ranking.abstain_below`) is applied
to the one ranking. Memories of two scopes that say the same are two hits: each says where it is from.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from recall_integrations.privacy.door import Door
from recall_integrations.ranking.calibration import within
from recall_integrations.recall.deliver import packed
from recall_integrations.recall.runner import Watched, degradation
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.types import CacheOutcome, Degradation, Hit, RecallResult
from recall_integrations.types.observing import RecallRequest

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
        detail = f"The confidence {confidence:.2f} is below ranking.abstain_below {abstain_below:g}."
        hits, problems = (), [Degradation(stage="deliver", reason="abstain", detail=detail)]
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
