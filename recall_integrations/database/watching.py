"""A watch on a SQLite database, which tells whether anybody has committed anything, and what it tells."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

VECTORS = "semantic"  # the cursor of the index of vectors


class Reached(NamedTuple):
    """The state that a store has reached."""

    version: int  # another number than before if anything was written meanwhile
    # number and digest of the last entry of its journal; `None` = not said, or it has none
    head: tuple[int, str] | None = None
    semantic: int = 0  # up to which entry vectors are made

    @classmethod
    def read(cls, said: str) -> Reached:
        """Parse number and digest of the last entry, the sum of all cursors, and that of vectors, with `|` between."""
        entry, total, vectors = (part.strip() for part in said.rsplit("|", 2))
        # With the digest: a replica that took over may have given the same numbers to other memories.
        digest = hashlib.blake2b(f"{entry} {total}".encode(), digest_size=8).digest()
        seq, _, own = entry.partition(" ")
        head = (int(seq), own) if seq.isdecimal() else None
        return cls(int.from_bytes(digest, "big"), head, int(vectors) if vectors else 0)


class Watch:
    """A connection of its own, which is asked nothing else. Threads share it; a look takes some microseconds."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(path, timeout=30, check_same_thread=False, isolation_level=None)
        self._cursor = self._connection.cursor()

    def version(self) -> int:
        """Return another number than before if anything was committed meanwhile, here or in another process.

        https://www.sqlite.org/pragma.html#pragma_data_version
        """
        with self._lock:
            return int(self._cursor.execute("PRAGMA data_version").fetchone()[0])

    def now(self) -> Reached:
        """Return what is committed; as `version`."""
        return Reached(self.version())

    def turn_began(self) -> Reached:
        """Return what is committed at the beginning of a turn to write; as `version`."""
        return Reached(self.version())

    def turn_ends(self) -> Reached:
        """Return what is committed at the end of a turn to write; as `version`."""
        return Reached(self.version())

    def close(self) -> None:
        """Close the connection to the database. Closing twice is harmless."""
        with self._lock, suppress(sqlite3.Error):
            self._connection.close()
