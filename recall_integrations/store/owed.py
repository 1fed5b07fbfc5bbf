"""Committed changes that are not yet in the lexical index, and the thread that applies them.

A memory is found in columns that follow the database, so tantivy need not have it when its write returns: its commit
takes as long as the one that makes the memory durable. A call that does ask tantivy, for a scope whose words do not fit
into memory, waits until it has everything (`Indexes.apply_owed`); else a thread applies the changes a moment after the
last write, or `close` does. The journal has them all the same: a process that was killed catches up when it opens the
store.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from recall_integrations.errors import RecallError, StoreClosed
from recall_integrations.privacy.logs import told
from recall_integrations.store.journal import Change

logger = logging.getLogger("recall_integrations")

WAIT_S = 0.3  # after the last write
WAIT_MAX_S = 3.0  # after the first one that is owed
MORE_MAX_S = 20.0  # the same, while a call writes many batches: it brings them there itself, in larger pieces
CHANGES_MAX = 20_000  # that are owed before a write brings them there itself
CHARS_MAX = 16_000_000
Owner = Callable[[], object | None]


class Owed:
    """Changes since the indexes were up to date, and the thread that applies them.

    All but the thread is guarded by the store's write lock.
    """

    def __init__(self, apply: Callable[[], object], clock: Callable[[], float] = time.monotonic) -> None:
        self._apply, self._clock = apply, clock
        self.any = False
        self._changes: list[Change] = []
        self._stems: dict[int, Sequence[str]] = {}
        self._chars = 0
        self._first = self._last = 0.0
        self._more = 0  # calls under way that write many batches
        self._owner: Owner | None = None
        self._lock = threading.Lock()
        self._running = False
        self._closing = threading.Event()

    def owned_by(self, owner: Owner) -> None:
        """Allow the thread, which works only while the owner exists, and keeps it alive meanwhile."""
        self._owner = owner

    @property
    def allowed(self) -> bool:
        """True if there is an owner that would apply changes later."""
        return self._owner is not None and not self._closing.is_set()

    @contextmanager
    def more_to_come(self) -> Iterator[None]:
        """Hold the thread back during a call that writes many batches."""
        with self._lock:
            self._more += 1
        try:
            yield
        finally:
            with self._lock:
                self._more -= 1

    @property
    def full(self) -> bool:
        """True if no more changes should be owed."""
        return self._chars > CHARS_MAX or len(self._changes) > CHANGES_MAX

    def add(self, changes: Sequence[Change], stems: Mapping[int, Sequence[str]]) -> None:
        """Add changes to the owed ones."""
        self._last = self._clock()
        if not self.any:
            self._first = self._last
        self.any = True
        self._changes.extend(changes)
        self._stems.update(stems)
        self._chars += sum(len(change.text) for change in changes if change.text is not None)
        self._start()

    def others_wrote(self) -> None:
        """Note that other processes have committed: their changes are in the journal, and owed as well."""
        self._last = self._clock()
        if not self.any:
            self._first = self._last
        self.any = True
        self._start()

    def take(self) -> tuple[list[Change], Mapping[int, Sequence[str]]]:
        """Take the owed changes in order, and stems by num; both are forgotten here.

        As in the journal, a removed memory has no text.
        """
        gone = {change.num for change in self._changes if change.op == "del"}
        found = [replace(change, text=None) if change.num in gone else change for change in self._changes]
        stems = self._stems
        self._changes, self._stems, self._chars = [], {}, 0
        return found, stems

    def close(self) -> None:
        """Start no more threads; end a waiting one."""
        self._closing.set()

    def _start(self) -> None:
        with self._lock:
            if self._running or not self.allowed:
                return
            self._running = True
        try:
            threading.Thread(target=self._run, name="recall-indexing", daemon=True).start()
        except RuntimeError:  # the process can start none: calls of the index, or `close`, apply them
            self._running = False

    def _run(self) -> None:
        while not self._closing.wait(WAIT_S):
            owner = None if self._owner is None else self._owner()
            if owner is None:
                break
            now = self._clock()
            quiet = now - self._last >= WAIT_S or now - self._first >= WAIT_MAX_S
            failed = (now - self._first >= MORE_MAX_S if self._more else quiet) and not self._tried()
            del owner  # this may close the store, so no lock may be held
            with self._lock:
                if failed or not self.any:  # failures are tried again at the next write, or call of the index
                    self._running = False
                    return
        self._running = False

    def _tried(self) -> bool:
        try:
            self._apply()
        except StoreClosed:  # closing the store applied the changes, or the next open does
            return False
        except (RecallError, OSError) as e:
            logger.warning(
                "The lexical index could not be brought up to date and will be at the next write: %s", told(e)
            )
            return False
        return True
