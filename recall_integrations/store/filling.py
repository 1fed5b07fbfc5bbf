"""Threads that work in the background: started when there is work, gone when there is none.

A failure ends the thread; the work is tried again when it is woken the next time.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from recall_integrations.resilience.failures import failures

QUIET_S = 1.0  # without another wake, until work begins that is not urgent


class Filling:
    """Calls `step` in a thread of its own as long as it returns that there is more. Threads may share one.

    `most_s`: seconds since the first wake after which it waits for quiet no longer.
    """

    def __init__(
        self, step: Callable[[], bool], failed: Callable[[BaseException], None], *, most_s: float = math.inf
    ) -> None:
        self._step, self._failed, self._most_s = step, failed, most_s
        self._changed = threading.Condition(threading.RLock())  # reentrant: the collector may stop it in any thread
        self._thread: threading.Thread | None = None
        self._due = self._first = 0.0  # when a step begins, and when it was first woken for that
        self._woken = False
        self._waited_for = 0
        self._holding = 0
        self._stopped = False

    @property
    def halted(self) -> bool:
        """True if a step should end now: the filling is stopped, or held."""
        return self._stopped or self._holding > 0

    @property
    def hurried(self) -> bool:
        """True if somebody waits for the end."""
        return self._waited_for > 0

    @property
    def mine(self) -> bool:
        """True if the current thread is the one that fills."""
        return threading.current_thread() is self._thread

    def wake(self, *, urgent: bool = False, after: float | None = None) -> None:
        """Report work. Urgent work begins at once, other work when it has been quiet for `QUIET_S`."""
        with self._changed:
            if self._stopped:
                return
            now = time.monotonic()
            self._first = self._first if self._woken else now
            self._woken = True
            pause = 0.0 if urgent or self.hurried or now - self._first > self._most_s else QUIET_S
            before, self._due = self._due, now + (pause if after is None else after)
            self._begin()
            if self._due < before:
                self._changed.notify_all()

    def settle(self, timeout: float | None) -> bool:
        """Do all the work, and wait for it, for `timeout` seconds; say whether the thread has ended by then."""
        end = None if timeout is None else time.monotonic() + timeout
        with self._changed:
            self._waited_for += 1
            try:
                self.wake(urgent=True)
                while self._thread is not None:
                    left = None if end is None else end - time.monotonic()
                    if left is not None and left <= 0:
                        return False
                    self._changed.wait(left)
                return not self.halted
            finally:
                self._waited_for -= 1

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep steps from running inside the block."""
        with self._changed:
            self._holding += 1
            while self._thread is not None and not self.mine:
                self._changed.notify_all()
                self._changed.wait(0.1)
        try:
            yield
        finally:
            with self._changed:
                self._holding -= 1
                if self._woken and not self._stopped:
                    self._begin()

    def stop(self, timeout: float) -> bool:
        """Stop for good, and wait `timeout` seconds for the step under way; say whether none runs any more."""
        end = time.monotonic() + timeout
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
            while self._thread is not None and not self.mine and (left := end - time.monotonic()) > 0:
                self._changed.wait(left)
            return self._thread is None or self.mine

    def _begin(self) -> None:
        if self._thread is None and not self.halted:
            thread = threading.Thread(target=self._run, name="recall-filling", daemon=True)
            with suppress(RuntimeError):  # the process can start none: the next wake tries again
                thread.start()
                self._thread = thread

    def _run(self) -> None:
        while self._next():
            try:
                more = self._step()
            except failures() as e:
                self._failed(e)
                more = False
            with self._changed:
                self._woken = self._woken or more

    def _next(self) -> bool:
        """Wait until there is something to do; return false at the end of the thread."""
        with self._changed:
            while self._woken and not self.halted and (left := self._due - time.monotonic()) > 0:
                self._changed.wait(left)
            if self._woken and not self.halted:
                self._woken = False
                return True
            self._thread = None
            self._changed.notify_all()
            return False
