"""Reads facts with a language model in the background: after writes, when it has been quiet for a second.

Where the budget of the hour is used up, or the model fails, the thread sleeps until it may go on. It ends with the
store, and waits for no answer then.
"""

from __future__ import annotations

import logging
import threading
import weakref
from typing import TYPE_CHECKING

from recall_integrations.errors import StoreClosed
from recall_integrations.privacy.logs import told
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.store.filling import Filling

if TYPE_CHECKING:
    from recall_integrations.store.fact_reading import FactReader

logger = logging.getLogger("recall_integrations")
CLOSE_S = 5.0  # for the batch that is being written
AGAIN_S = 60.0  # after a failure that says nothing of when it will be over


class FactFilling:
    """Reads facts in the background. Threads may share it. Holds `reader` weakly: a model may hold the store."""

    def __init__(self, reader: FactReader) -> None:
        self._reader = weakref.ref(reader)
        self._all = Deadline.after(None)
        self._filling = Filling(self._step, self._failed)
        self._lock = threading.Lock()
        self._later: threading.Timer | None = None

    def wake(self) -> None:
        """Say that there may be something to read."""
        self._filling.wake()

    def settle(self, timeout: float | None) -> bool:
        """Read until nothing is left: see `Filling.settle`."""
        return self._filling.settle(timeout)

    def stop(self) -> None:
        """Stop for good, without waiting for an answer that is under way."""
        self._all.cancel()
        with self._lock:
            if self._later is not None:
                self._later.cancel()
        self._filling.stop(CLOSE_S)

    def _step(self) -> bool:
        from recall_integrations.store.fact_reading import DONE, MORE, Tally

        reader = self._reader()
        if reader is None or self._all.over or self._filling.halted:
            return False
        state = reader.step(Tally(), self._all)
        if state not in (DONE, MORE) and not self._all.over:
            self._wake_later(reader.wait_s() or AGAIN_S)
        return state == MORE

    def _wake_later(self, seconds: float) -> None:
        with self._lock:
            if self._later is not None:
                self._later.cancel()
            self._later = threading.Timer(seconds, self.wake)
            self._later.daemon = True
            self._later.start()

    def _failed(self, error: BaseException) -> None:
        if not isinstance(error, StoreClosed) and not self._all.over:
            logger.warning("Facts could not be read with the language model: %s", told(error))
            self._wake_later(AGAIN_S)
