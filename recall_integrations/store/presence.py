"""The processes that have a store open: each holds a lock on a file of its own in the directory `processes`.

A lock ends with its process, however that ends; the file that is left is removed by the next process that looks.
"""

from __future__ import annotations

import os
import uuid
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

PROCESSES = "processes"  # the directory
ENTER_S = 5.0  # for somebody who looks at the file at this moment, without the write lock (`recall doctor`)


class Presence:
    """The mark of one open store. Callers of `enter` and `others` hold the write lock."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory / PROCESSES
        self._path = self._directory / f"{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self._lock = FileLock(str(self._path), thread_local=False)

    def enter(self) -> None:
        """Set the mark."""
        self._directory.mkdir(exist_ok=True)
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
            try:
                lock.acquire(timeout=0)
            except Timeout:
                found.append(int(path.name.partition("-")[0]))
            else:
                lock.release()
                path.unlink(missing_ok=True)
        return sorted(found)


def open_in(directory: Path) -> list[int]:
    """List the processes that have a store open, for a process that does not."""
    return Presence(directory).others()
