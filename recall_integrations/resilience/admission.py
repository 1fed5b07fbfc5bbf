"""Decides who may compute now, and how much: a recall that cannot be made in time is made smaller instead.

    a recall ─▶ waits for a place ─▶ what is left of its time ─▶ the first level that fits ─▶ the stages
                                     0  all of it
                                     1  k 5                  `reduced_top_k`
                                     2  k 3                  `reduced_top_k`
                                     3  the arms' own scores  `simplified_scoring`
                                     4  vectors alone         `minimal`

Recent recalls at each level tell how long it takes, and so what fits. A level is left again only where the one before
it fits with some room, so that recalls do not go back and forth.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager

from recall_integrations.records import record
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.resilience.guard import Window


class Places:
    """Gives a number of places to threads in order. Threads share it."""

    def __init__(self, count: int) -> None:
        self._lock = threading.Lock()
        self._free = count
        self._waiting: deque[Future[None]] = deque()  # each is done when its place is given

    def acquire(self, deadline: Deadline) -> bool:
        """Wait for a place; say whether there was one in time."""
        with self._lock:
            if self._free:  # then nobody waits
                self._free -= 1
                return True
            mine: Future[None] = Future()
            self._waiting.append(mine)
        deadline.wait_for(mine)
        with self._lock:
            if mine.done():
                return True
            self._waiting.remove(mine)
        return False

    def release(self) -> None:
        """Leave a place: the thread that has waited longest has it now."""
        with self._lock:
            if self._waiting:
                self._waiting.popleft().set_result(None)
            else:
                self._free += 1


TOP_K = (5, 3)  # k at the levels 1 and 2; the last one from there on
FULL, SIMPLE, MINIMAL = 0, 3, 4
LEVELS = MINIMAL + 1
# Time of a level, as a share of the whole recall, until some were seen: fewer hits save little, ranking is half.
SHARES = (1.0, 0.95, 0.9, 0.6, 0.35)
RUNS, RUNS_MIN = 64, 5  # recent recalls that a level is judged by, and how few say nothing
RECENT_SECONDS = 10.0  # older recalls say nothing of how busy the machine is
ROOM = 1.3  # a better level must fit that many times


@record(frozen=True, slots=True)
class Admitted:
    """The admission of a recall."""

    level: int  # 0 = all of it … 4 = next to nothing
    usual_ms: float = 0.0  # milliseconds that a whole recall takes these days; 0 = not known

    @property
    def steps(self) -> tuple[str, ...]:
        """Reductions of this level, in words of the degradation path."""
        steps = ("reduced_top_k", "simplified_scoring", "minimal")
        return steps[: (0, 1, 1, 2, 3)[self.level]]

    def k(self, wanted: int) -> int:
        """Return the number of hits to look for."""
        return wanted if self.level == FULL else min(wanted, TOP_K[min(self.level, len(TOP_K)) - 1])


class Admission:
    """Gives recalls places and levels. Threads share it."""

    def __init__(self, places: int | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._places = Places(places or max(2, os.cpu_count() or 2))
        self._clock = clock
        self._lock = threading.Lock()
        # When recalls of each level ended, and how long they took.
        self._took = tuple(Window(RECENT_SECONDS, RUNS) for _ in range(LEVELS))
        self._level = FULL
        self._mine = threading.local()

    @contextmanager
    def admitted(self, deadline: Deadline) -> Iterator[Admitted]:
        """Give this thread a place inside; without one in time, only the least is done.

        A recall inside of a recall, as an observer may make one, has the place of the outer one.
        """
        mine = self._mine
        if getattr(mine, "held", False):
            yield self._chosen(deadline.remaining_ms())
            return
        mine.held = self._places.acquire(deadline)
        given = self._chosen(deadline.remaining_ms()) if mine.held else Admitted(MINIMAL)
        mine.away, mine.deadline = 0.0, deadline
        started = self._clock()
        try:
            yield given
        finally:
            if mine.held:
                self._places.release()
            mine.held, mine.deadline = False, None
            ended = self._clock()
            with self._lock:
                self._took[given.level].add(ended, (ended - started - mine.away) * 1e3)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Give up the thread's place inside, while it waits for somebody else; it gets one again before it goes on."""
        mine = self._mine
        if not getattr(mine, "held", False):
            yield
            return
        began = self._clock()
        self._places.release()
        mine.held = False
        try:
            yield
        finally:
            mine.held = self._places.acquire(mine.deadline)
            mine.away += self._clock() - began

    def _chosen(self, left_ms: float) -> Admitted:
        with self._lock:
            whole = self._usual(FULL)
            usual = whole or 0.0
            for level in range(LEVELS):
                takes = whole if level == FULL else self._usual(level)
                room = ROOM if level < self._level else 1.0
                if takes is None or takes * room <= left_ms or level == MINIMAL:
                    self._level = level
                    return Admitted(level, usual)
        raise AssertionError("The last level always fits.")

    def _usual(self, level: int) -> float | None:
        """Return what a recall of a level takes, in ms, by the 95th percentile of recent ones; where too few were seen,
        by those of another level; `None` = not known.
        """
        known = self._p95(level)
        if known is not None:
            return known
        for other in range(LEVELS):
            known = self._p95(other)
            if known is not None:
                return known * SHARES[level] / SHARES[other]
        return None

    def _p95(self, level: int) -> float | None:
        seen = self._took[level].sorted(self._clock())
        return seen[int(0.95 * (len(seen) - 1))] if len(seen) >= RUNS_MIN else None
