"""Counts of the last minutes, for gauges of the present. Threads share them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence


class Window:
    """Sums over the recent past, kept in slots of time.

    Args:
        counts: number of sums.
        seconds: how far back they go.
        slots: number of parts of that time; a slot is forgotten as a whole.
        clock: monotonic seconds.
    """

    def __init__(
        self, counts: int, seconds: float = 60.0, slots: int = 12, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._width, self._clock = seconds / slots, clock
        self._sums = [[0.0] * counts for _ in range(slots)]
        self._turns = [-1] * slots
        self._began = clock()
        self._lock = threading.Lock()

    def add(self, *values: float) -> None:
        """Add to the current sums."""
        turn = int(self._clock() / self._width)
        place = turn % len(self._sums)
        with self._lock:
            if self._turns[place] != turn:
                self._turns[place], self._sums[place] = turn, [0.0] * len(values)
            sums = self._sums[place]
            for i, value in enumerate(values):
                sums[i] += value

    def sums(self) -> tuple[Sequence[float], float]:
        """Return the sums, and the seconds that they cover."""
        now = self._clock()
        turn, slots = int(now / self._width), len(self._sums)
        with self._lock:
            recent = [own for own, at in zip(self._sums, self._turns, strict=True) if turn - slots < at <= turn]
            total = [sum(column) for column in zip(*recent, strict=True)] or [0.0] * len(self._sums[0])
        covered = now - (turn - slots + 1) * self._width
        return total, max(self._width / slots, min(covered, now - self._began))
