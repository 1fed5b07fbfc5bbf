"""Locks of a store: turns to write, the processes that have it open, and the calls that read it at the moment.

Threads of a process take turns under a lock in memory; the first of them takes the lock file, and gives it back when
the last of them is done. A process that has the store open holds a lock on a file of its own in `processes`, which ends
with it.
"""

from __future__ import annotations

import os
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from recall_integrations.errors import StoreClosed, StoreLocked, StorePathError
from recall_integrations.owner_only import make_directory

if TYPE_CHECKING:
    from recall_integrations.database.turns import AdvisoryLock

WAIT_S = 60.0  # for a write of another process; a batch of thousands takes a second or two
POLL_S = 0.002  # between two looks at whether another process is done


def had(lock: FileLock, timeout: float = 0.0) -> bool:
    """Take a lock within `timeout` seconds; say whether it was taken."""
    try:
        lock.acquire(timeout=timeout, poll_interval=POLL_S)
    except Timeout:
        return False
    return True


class OfFile:
    """A lock file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = FileLock(str(path), thread_local=False)

    def acquire(self, timeout: float) -> bool:
        try:
            return had(self._lock, timeout)
        except OSError as e:
            where = self._path.parent
            raise StorePathError(f"Cannot write to {where}: {e.strerror or e}. Check its permissions.") from e

    def release(self) -> None:
        self._lock.release()


def _nothing() -> None:
    return None


class WriteTurn:
    """The write lock of a store. Reentrant; threads share it.

    `outer`: the lock that other processes see; `None` = no other process can have the store.
    """

    def __init__(self, outer: OfFile | AdvisoryLock | None = None, where: str = "") -> None:
        self._lock = threading.RLock()
        self._outer, self._where = outer, where
        self._depth = 0
        self._owner = 0  # the thread that has it
        self._closed = False
        self.begun: Callable[[], None] = _nothing
        self.ending: Callable[[], None] = _nothing

    @property
    def mine(self) -> bool:
        return self._depth > 0 and self._owner == threading.get_ident()

    def close(self) -> None:
        """Begin no more turns: a thread that waits for one gets `StoreClosed`, and the lock file is not made anew."""
        self._closed = True
        self.begun = self.ending = _nothing

    def acquire(self, timeout: float = -1) -> bool:
        """Take the turn within `timeout` seconds, below 0 = without limit; say whether it was taken."""
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

    def __exit__(self, *_: object) -> None:
        self.release()


@contextmanager
def alone_by(lock: OfFile | AdvisoryLock, wait_s: float) -> Iterator[None]:
    """Hold the lock of the process that learns inside the block."""
    if not lock.acquire(wait_s):
        raise StoreLocked("Another process is learning from this store. Try again when it is done.")
    try:
        yield
    finally:
        lock.release()


PROCESSES = "processes"  # the directory
ENTER_S = 5.0  # for somebody who looks at the file at this moment, without the write lock (`recall doctor`)


class Presence:
    """The mark of one open store. Callers of `enter` and `others` hold the write lock."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory / PROCESSES
        self._path = self._directory / f"{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self._lock = FileLock(str(self._path), thread_local=False)

    def enter(self) -> None:
        make_directory(self._directory)
        self._lock.acquire(timeout=ENTER_S)

    def leave(self) -> None:
        """Remove the mark. Leaving twice is harmless."""
        if self._lock.is_locked:
            self._lock.release()
            self._path.unlink(missing_ok=True)
            with suppress(OSError):  # others are there
                self._directory.rmdir()

    def others(self) -> list[int]:
        """List other processes that have the store open, rising; with this one, if it has the store open twice."""
        found = []
        for path in sorted(self._directory.glob("*-*")):
            if path == self._path:
                continue
            lock = FileLock(str(path), thread_local=False)
            if had(lock):
                lock.release()
                path.unlink(missing_ok=True)
            else:
                found.append(int(path.name.partition("-")[0]))
        return sorted(found)


def open_in(directory: Path) -> list[int]:
    """List the processes that have a store open, for a process that does not."""
    return Presence(directory).others()


class InUse:
    """Counts the calls under way, by thread. Threads share it. A `with` block counts as one call more."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._by_thread: Counter[int] = Counter()

    def __enter__(self) -> None:
        with self._changed:
            self._by_thread[threading.get_ident()] += 1

    def __exit__(self, *_: object) -> None:
        me = threading.get_ident()
        with self._changed:
            self._by_thread[me] -= 1
            if not self._by_thread[me]:
                del self._by_thread[me]
                self._changed.notify_all()

    @property
    def mine(self) -> bool:
        """True if a call of this thread is under way."""
        return threading.get_ident() in self._by_thread

    def wait(self, seconds: float) -> bool:
        """Wait until no other thread has a call under way, or the time is over; say whether none has."""
        me = threading.get_ident()
        with self._changed:
            return self._changed.wait_for(lambda: not self._by_thread.keys() - {me}, seconds)
