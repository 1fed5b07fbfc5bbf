"""The directory of a store: whether a path can be one, holding it for this process, and how large it is."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from sqlalchemy import Engine, event

from recall_integrations.database.engine import note_checked, open_sqlite
from recall_integrations.errors import StoreClosed, StoreCorrupt, StoreLocked, StorePathError
from recall_integrations.records import record
from recall_integrations.store.journal import LEXICAL, SEMANTIC

DATABASE = "recall.db"
REMOVALS = 5  # a thread that was left behind may write a file while the directory is emptied
LOCK = "LOCK"


@record(frozen=True, slots=True, kw_only=True)
class HeldDirectory:
    """A directory that no other process can open, and its database. Made by `hold`.

    Args:
        path: where it is.
        temporary: whether it is removed at `release`.
        lock: keeps others out.
        engine: of the database.
    """

    path: Path
    temporary: bool
    lock: FileLock
    engine: Engine

    def release(self, *, noted: bool = False) -> None:
        """Let others in; a temporary directory is removed. Who still reads gets `StoreClosed` and no new connection.

        Args:
            noted: whether what the database looks like now is noted, so that the next open need not read it whole.
        """
        event.listen(self.engine, "do_connect", _closed)  # SQLite would make the file anew
        self.engine.dispose()
        if noted and not self.temporary:
            note_checked(self.path / DATABASE)
        _let_go(self.path, self.lock, self.temporary)


def hold(path: str | os.PathLike[str] | None) -> HeldDirectory:
    """Make the directory if it is absent, lock it and open its database.

    Args:
        path: `None` = a temporary one.

    Raises:
        StorePathError, StoreCorrupt: as `check_directory`, or it cannot be written to.
        StoreLocked: another process, or another object of this one, has it open.
    """
    if path is not None and (not isinstance(path, str | os.PathLike) or not os.fspath(path)):
        given = "empty" if isinstance(path, str) else type(path).__name__
        raise StorePathError(f"The path of a store is a directory, not {given}. Without a path it is a temporary one.")
    directory, temporary = (Path(tempfile.mkdtemp(prefix="recall-")), True) if path is None else (Path(path), False)
    if not temporary:
        check_directory(directory)
    lock = FileLock(str(directory / LOCK), thread_local=False)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise StoreLocked(
            f"The store {directory} is open in another process (or another MemoryStore of this one). Close that, "
            "or share one MemoryStore between threads, or give each process a path of its own."
        ) from None
    except OSError as e:
        raise StorePathError(f"Cannot write to {directory}: {e.strerror or e}. Check its permissions.") from e
    try:
        engine = open_sqlite(directory / DATABASE)
    except BaseException:
        _let_go(directory, lock, temporary)
        raise
    return HeldDirectory(path=directory, temporary=temporary, lock=lock, engine=engine)


def _let_go(directory: Path, lock: FileLock, temporary: bool) -> None:
    lock.release()
    for _ in range(REMOVALS if temporary else 0):
        shutil.rmtree(directory, ignore_errors=True)
        if not directory.exists():
            return


def _closed(*_: Any) -> None:
    raise StoreClosed("The store was closed meanwhile. Open it again with MemoryStore.open.")


def check_directory(directory: Path) -> None:
    """Make the directory if it is absent; refuse what is not a store and not empty.

    Raises:
        StorePathError: a file, not accessible, or a directory of other things.
        StoreCorrupt: indexes without their database.
    """
    try:
        if directory.exists() and not directory.is_dir():
            raise StorePathError(
                f"{directory} is a file. Give a directory for the store, or a path that does not exist yet."
            )
        directory.mkdir(parents=True, exist_ok=True)
        names = sorted(p.name for p in directory.iterdir() if not p.name.startswith("."))
        present = DATABASE in names and (directory / DATABASE).stat().st_size > 0
    except (OSError, ValueError) as e:  # ValueError: a NUL in the path
        raise StorePathError(
            f"Cannot use {str(directory)!r} as a store: {getattr(e, 'strerror', None) or e}. "
            "Check the path and its permissions."
        ) from e
    others = [n for n in names if n not in (LOCK, DATABASE)]
    if present or not others:
        return
    # An empty database would be filled anew and everything derived from the lost one thrown away.
    if any(n.startswith((f"{LEXICAL}.", f"{SEMANTIC}.", f"{DATABASE}-")) for n in others):
        raise StoreCorrupt(
            f"{directory} holds recall indexes but no {DATABASE} (or an empty one): the database, which the indexes "
            "are derived from, is missing. Restore it from a backup, or remove the directory to start an empty store. "
            "Nothing was touched."
        )
    if DATABASE in names:
        return
    raise StorePathError(
        f"{directory} holds other files ({', '.join(others[:3])}) and no recall store. Give an empty or new directory."
    )


def size_of(directory: Path) -> int:
    """Bytes of all files below it."""
    total = 0
    for path in directory.rglob("*"):
        with suppress(OSError):  # index files come and go
            total += path.stat().st_size if path.is_file() else 0
    return total
