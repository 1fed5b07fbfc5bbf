"""Turns to write: one thread of one process at a time.

Threads of a process take turns under a lock in memory; the first of them takes the lock file, and gives it
back when the last of them is done. It is held for a write, not for the life of a process.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Protocol

from filelock import FileLock, Timeout

from recall_integrations.errors import StoreClosed, StoreLocked, StorePathError

WAIT_S = 60.0  # for a write of another process; a batch of thousands takes a second or two
POLL_S = 0.002  # between two looks at whether another process is done


class Lock(Protocol):
    """A reentrant lock."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Take the lock within `timeout` seconds, below 0 = without limit; say whether it was taken."""

    def release(self) -> None:
        """Release the lock, once for each time that it was taken."""

    def __enter__(self) -> bool: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Outer(Protocol):
    """A lock that other processes see."""

    def acquire(self, timeout: float) -> bool:
        """Take the lock within `timeout` seconds; say whether it was taken."""

    def release(self) -> None:
        """Release the lock."""


class OfFile:
    """A lock file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = FileLock(str(path), thread_local=False)

    def acquire(self, timeout: float) -> bool:
        """Take the lock within `timeout` seconds; say whether it was taken."""
        try:
            self._lock.acquire(timeout=timeout, poll_interval=POLL_S)
        except Timeout:
            return False
        except OSError as e:
            where = self._path.parent
            raise StorePathError(f"Cannot write to {where}: {e.strerror or e}. Check its permissions.") from e
        return True

    def release(self) -> None:
        """Release the lock."""
        self._lock.release()


def _nothing() -> None:
    return None


class WriteTurn:
    """The write lock of a store. Reentrant; threads share it.

    `outer`: the lock that other processes see; `None` = no other process can have the store.
    """

    def __init__(self, outer: Outer | None = None, where: str = "") -> None:
        self._lock = threading.RLock()
        self._outer, self._where = outer, where
        self._depth = 0
        self._owner = 0  # the thread that has it
        self._closed = False
        self.begun: Callable[[], None] = _nothing
        self.ending: Callable[[], None] = _nothing

    @property
    def mine(self) -> bool:
        """True if this thread has the turn."""
        return self._depth > 0 and self._owner == threading.get_ident()

    def close(self) -> None:
        """Begin no more turns: a thread that waits for one gets `StoreClosed`, and the lock file is not made anew."""
        self._closed = True
        self.begun = self.ending = _nothing

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Take the turn; say whether it was taken."""
        timeout = timeout if blocking else 0.0
        end = time.monotonic() + timeout
        if not self._lock.acquire(timeout=timeout if timeout < 0 else max(timeout, 0.0)):
            return False
        try:
            if not self._depth and not self._others_out(timeout if timeout < 0 else max(end - time.monotonic(), 0.0)):
                self._lock.release()
                return False
            self._depth += 1
            self._owner = threading.get_ident()
        except BaseException:  # an interrupt may come at any place
            if not self._depth and self._outer is not None:
                self._outer.release()
            self._lock.release()
            raise
        return True

    def _others_out(self, timeout: float) -> bool:
        if self._closed:
            raise StoreClosed("The store was closed meanwhile. Open it again with MemoryStore.open.")
        if self._outer is None:
            return True
        if not self._outer.acquire(WAIT_S if timeout < 0 else timeout):
            if timeout >= 0:
                return False
            raise StoreLocked(
                f"Another process has been writing to {self._where} for more than {WAIT_S:g} s. "
                "Nothing was changed; try again when it is done."
            )
        try:
            self.begun()
        except BaseException:
            self._outer.release()
            raise
        return True

    def release(self) -> None:
        """Release the turn, once for each time that it was taken."""
        try:
            if self._depth == 1 and self._outer is not None:
                try:
                    self.ending()
                finally:
                    self._outer.release()
        finally:  # an interrupt may come at any place
            self._depth -= 1
            self._lock.release()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()
