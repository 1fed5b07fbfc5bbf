"""One time limit for a whole recall, handed down to its stages.

A `Deadline` is an end on a monotonic clock plus a cancel flag. A stage that may take only part of what is left asks for
a `child`: it never ends after its parent and is cancelled with it, while cancelling a child leaves the parent alone.
Nothing here interrupts a thread; work that can be stopped looks at `over` between steps or sleeps with `wait`.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from recall_integrations.errors import InvalidArgument
from recall_integrations.types.numbers import is_number, real, shown


class Deadline:
    """A moment after which an answer is no longer wanted. Thread-safe.

    Made by `Deadline.after` and `child`.
    """

    __slots__ = ("__weakref__", "_cancelled", "_clock", "_end", "_lock", "_parent", "_waiting")

    def __init__(
        self, end: float, clock: Callable[[], float] = time.monotonic, *, parent: Deadline | None = None
    ) -> None:
        self._clock = clock
        self._end = end
        self._cancelled = False
        # A parent knows nothing of its children: they ask it, and a waiter under one is noted up to the root.
        self._parent = parent
        self._lock: threading.Lock = threading.Lock() if parent is None else parent._lock
        self._waiting: tuple[threading.Event, ...] = ()

    @classmethod
    def after(cls, ms: float | None, clock: Callable[[], float] = time.monotonic) -> Deadline:
        """Return a deadline `ms` milliseconds from now; `None` = no limit, 0 = already over."""
        return cls(math.inf if ms is None else clock() + checked_ms(ms) / 1000, clock)

    def child(self, ms: float | None = None) -> Deadline:
        """Return a deadline for one step: `ms` milliseconds from now, or the end of this one if that comes first."""
        end = self._end
        if ms is not None:
            end = min(end, self._clock() + (ms if type(ms) is float and ms >= 0 else checked_ms(ms)) / 1000)
        return Deadline(end, self._clock, parent=self)

    def later(self, seconds: float) -> Deadline:
        """Return a deadline that ends so many seconds later than this one; it is cancelled with it."""
        return Deadline(self._end + seconds, self._clock, parent=self)

    def extend(self, seconds: float) -> None:
        """Let this one, and those above it, end so many seconds later: what was waited for is not counted."""
        above: Deadline | None = self
        while above is not None:
            above._end += seconds
            above = above._parent

    def remaining(self) -> float:
        """Return the seconds left, at least 0; `math.inf` without a limit; 0 once cancelled. Fits any `timeout=`."""
        if self.cancelled:
            return 0.0
        left = self._end - self._clock()
        return left if left > 0 else 0.0

    def remaining_ms(self) -> float:
        return self.remaining() * 1000

    @property
    def expired(self) -> bool:
        return self._clock() >= self._end

    @property
    def cancelled(self) -> bool:
        """True where `cancel()` was called here or on a parent."""
        above: Deadline | None = self
        while above is not None:  # a loop, not recursion: a long chain must not exhaust the stack
            if above._cancelled:
                return True
            above = above._parent
        return False

    @property
    def over(self) -> bool:
        """True where the deadline has expired or is cancelled, so that work must stop."""
        return self._clock() >= self._end or self.cancelled

    def cancel(self) -> None:
        """Stop everything under this deadline. Calling it again changes nothing."""
        with self._lock:
            self._cancelled = True
            waiting = self._waiting
        for event in waiting:
            event.set()

    def wait(self, seconds: float) -> bool:
        """Sleep up to `seconds`, but not beyond the end; wake at once when cancelled."""
        with self._waiter() as woken:
            woken.wait(min(max(0.0, seconds), self.remaining(), threading.TIMEOUT_MAX))
        return self.over

    def wait_for(self, *futures: Future[Any]) -> bool:
        """Wait until all of these are done; no longer than the end, and not once cancelled."""
        left = [future for future in futures if not future.done()]
        if not left:
            return True
        with self._waiter() as woken:

            def done(_future: Future[Any]) -> None:
                if all(future.done() for future in left):
                    woken.set()

            for future in left:
                future.add_done_callback(done)
            woken.wait(min(self.remaining(), threading.TIMEOUT_MAX))
        return all(future.done() for future in left)

    @contextmanager
    def _waiter(self) -> Iterator[threading.Event]:
        """Yield an event: either a `cancel()` here or above finds it inside of the block, or no time is left."""
        woken, line = threading.Event(), [self]
        while (above := line[-1]._parent) is not None:
            line.append(above)
        with self._lock:
            for each in line:
                each._waiting = (*each._waiting, woken)
        try:
            yield woken
        finally:
            with self._lock:
                for each in line:
                    each._waiting = tuple(event for event in each._waiting if event is not woken)

    def __repr__(self) -> str:
        state = "cancelled" if self.cancelled else f"{self.remaining() * 1000:.1f} ms left"
        return f"Deadline({state})"


def checked_ms(value: object) -> float:
    """Return a number of milliseconds from zero on, as a float."""
    ms = real(value)
    if not is_number(ms) or not ms >= 0:
        raise InvalidArgument(f"A time limit must be a number of milliseconds from 0 on, not {shown(value)}.")
    return float(ms)
