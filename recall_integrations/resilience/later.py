"""Does work that nobody waits for: in order, a moment later, in a thread that ends when there is none.

The work of observers takes as long as a tenth of a recall. Amid the work of recalls each of these calls finds the
processor's caches filled with other things; many in a row take a third of the time, and no caller waits for them.
"""

from __future__ import annotations

import functools
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable

from recall_integrations.resilience import forking

PAUSE_SECONDS = 0.05  # seconds between two rounds
ROUNDS_MAX = 40  # rounds without work, after which the thread ends
WAITING_MAX = 1_024  # calls that wait; a thread that brings one more does them itself
Call = Callable[[], object]


class Later:
    """Does calls in their order. They must not raise. Threads share it.

    Calls that wait are done too when this object goes, and when the process ends as it should.
    """

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._work = work = _Work()
        weakref.finalize(self, work.do)  # when this goes, or the process ends

    def add(self, call: Call) -> None:
        """Add a call. Return at once."""
        if not self._work.own:
            self._begin()
        work = self._work
        work.waiting.append(call)
        if len(work.waiting) > WAITING_MAX:
            work.do()
        elif not work.running:
            work.start()

    def flush(self) -> None:
        """Do the calls that wait, and wait for those that are being done."""
        self._work.do()


class _Work:
    """The waiting calls of one process: a forked child has the parent's, whose lock a thread of the parent may hold."""

    def __init__(self) -> None:
        self._depth = forking.depth()
        self.waiting: deque[Call] = deque()
        self.running = False
        self._doing = threading.RLock()  # a call may bring others
        self._starting = threading.Lock()

    @property
    def own(self) -> bool:
        """True where it belongs to this process."""
        return self._depth == forking.depth()

    def start(self) -> None:
        with self._starting:
            if self.running:
                return
            self.running = True
        try:
            threading.Thread(target=self._rounds, name="recall-observers", daemon=True).start()
        except RuntimeError:  # no thread can be started: the process ends, or has too many
            self.running = False
            self.do()

    def do(self, pause: Callable[[], None] | None = None) -> None:
        """Do all calls that wait; a thread that comes meanwhile waits for that."""
        if not self.own:
            return
        with self._doing:
            while self.waiting:
                call = self.waiting.popleft()
                call()
                if pause is not None:
                    pause()

    def _rounds(self) -> None:
        idle = 0
        breathe = functools.partial(time.sleep, 0)  # recalls come first
        while True:
            time.sleep(PAUSE_SECONDS)
            idle = 0 if self.waiting else idle + 1
            self.do(breathe)
            if idle < ROUNDS_MAX:
                continue
            self.running = False
            if not self.waiting:  # a thread that adds a call from here on sees that nothing runs
                return
            self.running, idle = True, 0
