"""Learning while a store is served: with `mode: learned`, a thread checks once a minute whether learning is due.

Recalls come first: between scopes the thread rests for as long as the last one took, and after a run for nine times as
long as that took. Scopes that are done when it is stopped stay done; it goes on from there.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from recall_integrations.errors import StoreClosed, StoreLocked
from recall_integrations.privacy.logs import told
from recall_integrations.resilience.failures import failures
from recall_integrations.serving.problems import busy
from recall_integrations.types import Scope

if TYPE_CHECKING:
    from recall_integrations.learning.learner import Step
    from recall_integrations.optimizer import QueryOptimizer

logger = logging.getLogger("recall_integrations")
EVERY_S = 60.0
REST_S = (0.05, 5.0)  # the shortest and the longest rest between two scopes
FREE = 9  # how much longer than a run nothing is learned after it
LATER_S = 3_600.0  # the longest wait after it has failed again and again
STOP_S = 5.0  # that the end of a server waits for it


class _Stopping(Exception):
    """Ends a run of learning because the server stops."""


class Learning:
    """The learning thread of one server. Other threads may use this object, too.

    Args:
        optimizer: learns; its settings say at each look whether anything is to be learned.
        every_s: seconds between two looks.
        timer: monotonic seconds.
    """

    def __init__(
        self, optimizer: QueryOptimizer, *, every_s: float = EVERY_S, timer: Callable[[], float] = time.monotonic
    ) -> None:
        self._optimizer, self._every_s, self._timer = optimizer, every_s, timer
        self._one_at_a_time = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._failed = 0
        self._rested = 0.0

    @property
    def runs(self) -> bool:
        """True while the thread runs."""
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Start the thread; each look decides by itself whether anything is due."""
        if self.runs:
            return
        self._stop.clear()
        self._thread = threading.Thread(target=self._look, name="recall-learning", daemon=True)
        self._thread.start()

    def stop(self, timeout: float = STOP_S) -> None:
        """Stop the thread after the scope it is at."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout)

    def run(self, scope: Scope | None = None, *, force: bool = False) -> tuple[Step, ...]:
        """Learn now, as `QueryOptimizer.learn` does.

        Raises:
            Refused: another run is under way.
        """
        if not self._one_at_a_time.acquire(blocking=False):
            raise busy("Something is learned already. Ask again in a minute; GET /learning says how it stands.", 60)
        try:
            return self._optimizer.learn(scope, force=force)
        finally:
            self._one_at_a_time.release()

    def once(self) -> float:
        """Learn if it is due, and return the seconds until the next look. Raises nothing but `StoreClosed`."""
        if self._optimizer.config.mode != "learned" or not self._one_at_a_time.acquire(blocking=False):
            return self._every_s
        try:
            began = self._timer()
            if self._optimizer.learner().due():
                self._rested = began
                self._optimizer.learn(progress=self._rest)
            self._failed = 0
            return max(self._every_s, FREE * (self._timer() - began))
        except _Stopping:
            return 0.0
        except StoreLocked:  # another worker learns
            return self._every_s
        except StoreClosed:
            raise
        except failures() as e:
            self._failed += 1
            wait: float = min(self._every_s * 2**self._failed, max(LATER_S, self._every_s))
            logger.warning("Nothing was learned, and it is tried again in %.0f s: %s", wait, told(e))
            return wait
        finally:
            self._one_at_a_time.release()

    def _rest(self, _scope: Scope | None, _done: int, _total: int) -> None:
        """Pause between two scopes; stop the run if the server stops."""
        took = self._timer() - self._rested
        if self._stop.wait(min(max(took, REST_S[0]), REST_S[1])):
            raise _Stopping
        self._rested = self._timer()

    def _look(self) -> None:
        wait = self._every_s
        try:
            while not self._stop.wait(wait):
                wait = self.once()
        except StoreClosed:
            return
