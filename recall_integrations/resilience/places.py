"""Places that are given in the order in which threads asked for them.

A semaphore gives a place to the thread that asks at the moment it is free, which is nearly always the one that has just
left it: of sixteen threads that ask without a pause, some waited for seconds while others never did.
"""

from __future__ import annotations

import threading
from collections import deque

from recall_integrations.resilience.deadline import Deadline

STEP_SECONDS = 0.02  # seconds until a thread whose recall is cancelled leaves


class Places:
    """Gives a number of places to threads in order. Threads share it.

    Args:
        count: number of threads that hold a place at once.
    """

    def __init__(self, count: int) -> None:
        self._lock = threading.Lock()
        self._free = count
        self._waiting: deque[threading.Lock] = deque()  # each is released when its place is given

    def acquire(self, deadline: Deadline) -> bool:
        """Wait for a place; say whether there was one in time."""
        with self._lock:
            if self._free:  # then nobody waits
                self._free -= 1
                return True
            mine = threading.Lock()
            mine.acquire()
            self._waiting.append(mine)
        while not deadline.over:  # in steps, so that a cancelled recall leaves
            if mine.acquire(timeout=max(0.0, min(deadline.remaining(), STEP_SECONDS))):
                return True
        with self._lock:
            if mine.acquire(blocking=False):  # given in this very moment
                return True
            self._waiting.remove(mine)
        return False

    def release(self) -> None:
        """Leave a place: the thread that has waited longest has it now."""
        with self._lock:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._free += 1
