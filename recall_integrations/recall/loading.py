"""Reads into memory what a recall needs of a scope, beside the recall: for a large scope that takes seconds."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager, nullcontext

from recall_integrations.resilience.bulkhead import Bulkhead, Busy
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.store.memory_store import MemoryStore

SCOPES_AT_ONCE = 4


class Loader:
    """Reads scopes in threads of its own. Threads share it."""

    def __init__(
        self,
        store: MemoryStore,
        prepare: Callable[[], object],
        waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._store, self._prepare, self._waiting = store, prepare, waiting
        self._threads = Bulkhead("load", SCOPES_AT_ONCE, hanging_max=0)
        self._lock = threading.RLock()  # a call may end before its callback is attached
        self._under_way: dict[int, Future[None]] = {}

    def loaded(self, scope_id: int, deadline: Deadline) -> bool:
        """Say whether the scope is in memory now. If not, a thread reads it for a later recall."""
        if self._store.in_memory(scope_id):
            return True
        with self._lock:
            loading = self._under_way.get(scope_id)
            begins = loading is None or loading.done()
            if loading is None or begins:
                loading = self._under_way[scope_id] = self._threads.submit(self._load, scope_id)
        if begins:
            loading.add_done_callback(lambda ended: self._over(scope_id, ended))
        with self._waiting():
            if not deadline.wait_for(loading):
                return False
        error = loading.exception()
        if isinstance(error, Busy):
            return False  # as many scopes as may be are being read; the next recall asks again
        if error is not None:
            raise error
        return True

    def _over(self, scope_id: int, ended: Future[None]) -> None:
        with self._lock:
            if self._under_way.get(scope_id) is ended:
                del self._under_way[scope_id]

    def _load(self, scope_id: int) -> None:
        with _nothing_collected():
            self._store.entities(scope_id)
            self._store.languages(scope_id)
            self._store.outline(scope_id)
            self._prepare()


@contextmanager
def _nothing_collected() -> Iterator[None]:
    """Stop Python's garbage collection inside: what is loaded stays, and a walk over all objects takes 80 ms.

    Where two threads are inside at once, the first to leave starts it again.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
