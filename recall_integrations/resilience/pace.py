"""How long calls of a component take, so that one that does not fit into the time that is left is not begun."""

from __future__ import annotations

import math
import statistics
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

RUNS = 64  # recent runs that it goes by
RUNS_MIN = 3  # fewer say nothing: one may have been cold
PROBE_EVERY = 20  # of the refusals for slowness, so that at most one recall in 20 waits for a slow component in vain


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a call will take, by the recent ones, in milliseconds: lower quartile, median and 95th percentile."""

    median_ms: float
    p95_ms: float
    low_ms: float = 0.0


class Pace:
    """Milliseconds per unit of work of the recent runs, and what the next will take. Threads share it.

    Args:
        recent_s: what is older counts no more; `inf` = all of the last 64. For what has no probes: a slow hour must not
            be held against it for ever.
        clock: monotonic seconds.
    """

    def __init__(self, recent_s: float = math.inf, clock: Callable[[], float] = time.monotonic) -> None:
        self._recent_s, self._clock = recent_s, clock
        self._lock = threading.Lock()
        self._rates: deque[tuple[float, float]] = deque(maxlen=RUNS)
        self._pieces: deque[float] = deque(maxlen=RUNS)
        self._refused = 0

    def record(self, ms: float, work: float = 1.0, pieces: int = 1, *, probe: bool = False) -> None:
        """A run ended. A probe says how things are now, so what was before it is forgotten."""
        if work <= 0 or pieces <= 0:
            return
        with self._lock:
            if probe:
                self._rates.clear()
                self._pieces.clear()
            for _ in range(RUNS_MIN if probe else 1):
                self._rates.append((self._clock(), ms / work))
                self._pieces.append(ms / pieces)

    def estimate(self, work: float = 1.0) -> Estimate | None:
        """For this much work; `None` after fewer than three runs."""
        since = self._clock() - self._recent_s
        with self._lock:
            rates = sorted(rate for at, rate in self._rates if at >= since)
        if len(rates) < RUNS_MIN:
            return None
        high = rates[math.ceil(0.95 * (len(rates) - 1))]
        low = rates[(len(rates) - 1) // 4]
        return Estimate(median_ms=work * statistics.median(rates), p95_ms=work * high, low_ms=work * low)

    def median_ms(self, pieces: int = 1) -> float | None:
        """What so many pieces of the usual size take; `None` after fewer than three runs."""
        with self._lock:
            return pieces * statistics.median(self._pieces) if len(self._pieces) >= RUNS_MIN else None

    def refused(self) -> bool:
        """A call would be refused for its time. Whether to let it run all the same, as a probe."""
        with self._lock:
            self._refused += 1
            return self._refused % PROBE_EVERY == 0
