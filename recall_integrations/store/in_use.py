"""The calls that read a store at the moment, so that closing it can let them end."""

from __future__ import annotations

import threading
from types import TracebackType


class InUse:
    """Counts the calls under way, by thread. Threads share it. A `with` block counts as one call more."""

    def __init__(self) -> None:
        # Every recall takes the lock itself, twice: going through a condition takes twice as long.
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._by_thread: dict[int, int] = {}
        self._waiting = 0

    def __enter__(self) -> None:
        me = threading.get_ident()
        with self._lock:
            self._by_thread[me] = self._by_thread.get(me, 0) + 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        me = threading.get_ident()
        with self._lock:
            left = self._by_thread[me] - 1
            if left:
                self._by_thread[me] = left
            else:
                del self._by_thread[me]
                if self._waiting:
                    self._changed.notify_all()

    @property
    def mine(self) -> bool:
        """True if a call of this thread is under way."""
        return threading.get_ident() in self._by_thread

    def wait(self, seconds: float) -> bool:
        """Wait until no other thread has a call under way, or the time is over; say whether none has."""
        me = threading.get_ident()
        with self._changed:
            self._waiting += 1
            try:
                return self._changed.wait_for(lambda: not self._by_thread.keys() - {me}, seconds)
            finally:
                self._waiting -= 1
