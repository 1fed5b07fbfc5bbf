"""Whether anybody has committed anything to an SQLite database since one last looked."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import suppress
from pathlib import Path


class Watch:
    """A connection of its own, which is asked nothing else. Threads share it; a look takes some microseconds.

    Args:
        path: of the database file.
    """

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(path, timeout=30, check_same_thread=False, isolation_level=None)
        self._cursor = self._connection.cursor()

    def version(self) -> int:
        """Another number than before if anything was committed meanwhile, here or in another process.

        https://www.sqlite.org/pragma.html#pragma_data_version

        Raises:
            sqlite3.Error: the database cannot be read, or this was closed.
        """
        with self._lock:
            return int(self._cursor.execute("PRAGMA data_version").fetchone()[0])

    def close(self) -> None:
        """Let the database go. Closing twice is harmless."""
        with self._lock, suppress(sqlite3.Error):
            self._connection.close()
