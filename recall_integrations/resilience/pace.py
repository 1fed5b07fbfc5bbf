"""Measures how long calls of a component take, so that a call that does not fit into the time left is not begun."""

from __future__ import annotations

import math
import threading
import time
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Sequence

from recall_integrations.records import record

RUNS = 64  # recent runs that it goes by
RUNS_MIN = 3  # fewer say nothing: one may have been cold
PROBE_EVERY = 20  # refusals for slowness, so that at most one recall in 20 waits for a slow component in vain


@record(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Time that a call will take, by the recent ones, in milliseconds: median, 95th percentile and lower quartile."""

    median_ms: float
    p95_ms: float
    low_ms: float = 0.0


class Window:
    """Numbers of the last while, kept in order, so that a quantile of them costs nothing. Not thread-safe.

    Args:
        recent_s: seconds after which a number counts no more.
        runs: no more than this many of the last numbers count.
    """

    __slots__ = ("_by_time", "_recent_s", "_runs", "_sorted")

    def __init__(self, recent_s: float = math.inf, runs: int = RUNS) -> None:
        self._recent_s, self._runs = recent_s, runs
        self._by_time: deque[tuple[float, float]] = deque()
        self._sorted: list[float] = []

    def add(self, now: float, value: float) -> None:
        """Add a number of this moment; moments come in order."""
        if len(self._by_time) >= self._runs:
            self._drop()
        self._by_time.append((now, value))
        insort(self._sorted, value)

    def sorted(self, now: float) -> Sequence[float]:
        """Return the numbers that count at a moment, smallest first."""
        while self._by_time and self._by_time[0][0] < now - self._recent_s:
            self._drop()
        return self._sorted

    def clear(self) -> None:
        """Forget all numbers."""
        self._by_time.clear()
        self._sorted.clear()

    def _drop(self) -> None:
        del self._sorted[bisect_left(self._sorted, self._by_time.popleft()[1])]


def median(rising: Sequence[float]) -> float:
    """Return the median of numbers in order."""
    half = len(rising) // 2
    return rising[half] if len(rising) % 2 else (rising[half - 1] + rising[half]) / 2


class Pace:
    """Milliseconds per unit of work of the recent runs, to estimate the next. Threads share it.

    Args:
        recent_s: seconds after which a run counts no more; `inf` = all of the last 64 count. For components without
            probes: a slow hour must not be held against them for ever.
        clock: monotonic seconds.
    """

    def __init__(self, recent_s: float = math.inf, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._rates, self._pieces = Window(recent_s), Window()
        self._refused = 0

    def record(self, ms: float, work: float = 1.0, pieces: int = 1, *, probe: bool = False) -> None:
        """Note a run that ended. A probe says how things are now, so that earlier runs are forgotten."""
        if work <= 0 or pieces <= 0:
            return
        with self._lock:
            if probe:
                self._rates.clear()
                self._pieces.clear()
            for _ in range(RUNS_MIN if probe else 1):
                self._rates.add(self._clock(), ms / work)
                self._pieces.add(0.0, ms / pieces)

    def estimate(self, work: float = 1.0) -> Estimate | None:
        """Return the estimate for this much work; `None` after fewer than three runs."""
        with self._lock:
            rates = self._rates.sorted(self._clock())
            if len(rates) < RUNS_MIN:
                return None
            high = rates[math.ceil(0.95 * (len(rates) - 1))]
            low, middle = rates[(len(rates) - 1) // 4], median(rates)
        return Estimate(median_ms=work * middle, p95_ms=work * high, low_ms=work * low)

    def low_ms(self) -> float | None:
        """Return `estimate().low_ms`, without the rest of it."""
        with self._lock:
            rates = self._rates.sorted(self._clock())
            return rates[(len(rates) - 1) // 4] if len(rates) >= RUNS_MIN else None

    def median_ms(self, pieces: int = 1) -> float | None:
        """Return the milliseconds that so many pieces of the usual size take; `None` after fewer than three runs."""
        with self._lock:
            known = self._pieces.sorted(0.0)
            return pieces * median(known) if len(known) >= RUNS_MIN else None

    def refused(self) -> bool:
        """Count a call that would be refused for its time; say whether to let it run all the same, as a probe."""
        with self._lock:
            self._refused += 1
            return self._refused % PROBE_EVERY == 0
