"""Recent activity: an observer that keeps a bounded number of recalls."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from recall_integrations.recall.runner import StageEvent
from recall_integrations.resilience.guard import Health
from recall_integrations.types import Scope

KEPT = 2_000  # recalls
WINDOW_S = 300.0
POINTS = 60
HIDDEN = "not told (privacy)"


class _Seen(NamedTuple):
    """A recall that has ended."""

    at: float
    total_ms: float
    plan: str
    cached: bool
    degraded: tuple[str, ...]
    scope: Scope | None


class Live:
    """An observer that notes recalls as they end. Give it to `QueryOptimizer(observers=[live])`. Threads share it.

    It keeps no text: only the end of each recall, its time, its plan, its degradations and its scope.

    Args:
        clock: monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: deque[_Seen] = deque(maxlen=KEPT)
        self._lock = threading.Lock()
        self.since = clock()
        self.observing = False

    def __call__(self, event: StageEvent) -> None:
        """Note a recall that ended with its last stage, or was found in the cache."""
        self.observing = True
        if event.stage not in ("deliver", "cache"):
            return
        state = event.state  # none where what was asked may not be seen
        troubles = event.degraded if state is None else state.degraded
        seen = _Seen(
            at=self._clock(),
            total_ms=event.began_ms + event.took_ms,
            plan=HIDDEN if state is None else state.plan.name,
            cached=event.stage == "cache",
            degraded=tuple(f"{trouble.stage}: {trouble.reason}" for trouble in troubles),
            scope=None if state is None else state.request.scope,
        )
        with self._lock:
            self._seen.append(seen)

    def data(self, health: Iterable[Health], reaches: Callable[[Scope], bool] | None = None) -> dict[str, Any]:
        """Return figures of the last five minutes.

        Args:
            health: of the optimizer's parts.
            reaches: says whether recalls of a scope are counted; `None` = all are. A caller with scopes of its own sees
                no recalls of other scopes, and none without a scope.
        """
        now = self._clock()
        with self._lock:
            recent = [one for one in self._seen if now - one.at <= WINDOW_S]
        if reaches is not None:
            recent = [one for one in recent if one.scope is not None and reaches(one.scope)]
        hits = sum(one.cached for one in recent)
        return {
            "observed": self.observing,
            "window_s": WINDOW_S,
            "up_s": round(now - self.since, 1),
            "recalls": len(recent),
            "p50_ms": _quantile([one.total_ms for one in recent], 0.5),
            "p95_ms": _quantile([one.total_ms for one in recent], 0.95),
            "points": _points(recent, now),
            "plans": dict(Counter(one.plan for one in recent).most_common()),
            "cache": {"hits": hits, "share": round(hits / len(recent), 4) if recent else None},
            "degraded": dict(Counter(code for one in recent for code in one.degraded).most_common(20)),
            "parts": [
                {
                    "name": part.component,
                    "breaker": part.breaker,
                    "failures": part.failures,
                    "active": part.active,
                    "hanging": part.hanging,
                    "median_ms": None if part.median_ms is None else round(part.median_ms, 2),
                }
                for part in health
            ],
        }


def _points(recent: list[_Seen], now: float) -> list[dict[str, Any]]:
    """Return count and quantiles of the recalls in each part of the window (a twelfth of a minute), oldest first."""
    step = WINDOW_S / POINTS
    parts: list[list[float]] = [[] for _ in range(POINTS)]
    for one in recent:
        parts[min(POINTS - 1, max(0, POINTS - 1 - int((now - one.at) / step)))].append(one.total_ms)
    return [{"count": len(part), "p50_ms": _quantile(part, 0.5), "p95_ms": _quantile(part, 0.95)} for part in parts]


def _quantile(values: list[float], share: float) -> float | None:
    """Return the smallest value that at least `share` of the values do not exceed."""
    if not values:
        return None
    ordered = sorted(values)
    return round(ordered[min(len(ordered) - 1, max(0, -(-int(share * 1000) * len(ordered) // 1000) - 1))], 3)
