"""Who reads a store at the moment, so that closing it can let them end."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager


class InUse:
    """Counts the calls that are under way, by thread. Threads share it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._by_thread: Counter[int] = Counter()

    @contextmanager
    def held(self) -> Iterator[None]:
        """One more call, until the block ends."""
        me = threading.get_ident()
        with self._changed:
            self._by_thread[me] += 1
        try:
            yield
        finally:
            with self._changed:
                self._by_thread[me] -= 1
                if not self._by_thread[me]:
                    del self._by_thread[me]
                    self._changed.notify_all()

    def wait(self, seconds: float) -> bool:
        """Until nobody else is under way, or the time is over; whether nobody is. An own call is not waited for."""
        me = threading.get_ident()
        with self._changed:
            return self._changed.wait_for(lambda: not self._by_thread.keys() - {me}, seconds)
