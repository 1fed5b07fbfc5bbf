"""The directory of a store: check its path, open it beside other processes, make its tables, and measure its size.

Any number of processes have a directory open. One of them, the first, *keeps its indexes*: it alone writes Chroma's
files, and those of columns, for as long as it is there (`LOCK`). A process that writes to the database takes a turn
(`WRITING`).
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from filelock import FileLock, Timeout
from sqlalchemy import Engine, inspect

from recall_integrations.database.engine import mapped_error, note_checked, open_sqlite, refuse_new
from recall_integrations.database.schema import check_version, make_tables, version_in
from recall_integrations.database.turns import Watch
from recall_integrations.errors import (
    RecallError,
    StoreClosed,
    StoreCorrupt,
    StoreLocked,
    StorePathError,
)
from recall_integrations.owner_only import make_directory
from recall_integrations.records import record
from recall_integrations.store import entities
from recall_integrations.store.chroma_files import FORMER
from recall_integrations.store.journal import SEMANTIC
from recall_integrations.store.turns import PROCESSES, OfFile, Presence, WriteTurn, alone_by, had

if TYPE_CHECKING:
    from recall_integrations.database.turns import Committed, Flush

DATABASE = "recall.db"
REMOVALS = 5  # a thread that was left behind may write a file while the directory is emptied
COLUMNS = "columns"  # directory of the columns on disk; it is always there
LOCK = "LOCK"  # of who keeps the indexes
WRITING = "LOCK.writing"  # of who writes to the database
LEARNS = "LOCK.learning"  # of who learns
CLOSE_S = 1.0  # that closing waits for another process that writes


@record(frozen=True, slots=True, kw_only=True)
class Held:
    """An open store, with its database and what goes with it; in PostgreSQL a `nodes.Node`. Made by `hold`."""

    own_indexes: ClassVar[bool] = False  # whether derived data is this process's alone
    path: Path  # directory of derived data; without a server, of the database, too
    temporary: bool  # whether `release` removes the directory
    keeping: FileLock  # the lock of the process that keeps the indexes, or whose node has the directory
    engine: Engine  # of the database
    turn: WriteTurn  # the write lock; held when `hold` returns
    # tells when somebody has written to the database; `None` = there can be no others
    watch: Watch | Committed | None
    presence: Presence | None = None  # registers this store beside those of other processes; `None` = the same
    tenant: str | None = None  # the role of a tenant, which sees its rows only; `None` = all are seen

    def learns(self, wait_s: float) -> AbstractContextManager[None]:
        """Keep other processes from learning and from switching weights inside the block; wait so many seconds."""
        return alone_by(OfFile(self.path / LEARNS), wait_s)

    @property
    def address(self) -> str:
        """The argument with which `MemoryStore.open` opens the same store."""
        return str(self.path.resolve())

    @property
    def name(self) -> str:
        """The name of the store in messages; without a password."""
        return str(self.path)

    def mapped(self, error: BaseException) -> RecallError | None:
        """Translate an error of the database into one of this package; `None` for any other error."""
        return mapped_error(error, self.path / DATABASE)

    def make_ready(self) -> None:
        """Make the tables in an empty database; leave existing ones as they are."""
        make_ready(self.engine, self.path / DATABASE)

    def keeps(self) -> bool:
        return self.keeping.is_locked

    def try_to_keep(self) -> bool:
        """Keep the indexes from now on, if no other process does; under the write lock."""
        try:
            return had(self.keeping)
        except OSError:
            return False

    def size(self) -> int:
        return size_of(self.path)

    def keep_no_longer(self) -> None:
        self.keeping.release()

    def fills(self) -> bool:
        """Say whether this process fills collections; if no other does, it does from now on."""
        return self.keeps()

    def fills_no_longer(self) -> None:
        """Let another process fill collections; while this one keeps the indexes, none does."""

    def flush_later(self) -> Flush | None:
        """Wait for the disk when the turn is over; `None` = each commit does, as it does to a file."""
        return None

    def flush(self, later: Flush | None) -> None:
        """Make sure that all earlier commits are on disk."""

    def others(self) -> list[int]:
        """List other processes, or connections of other nodes, that have the store open; under the write lock."""
        return [] if self.presence is None else self.presence.others()

    def check_alone(self, what: str) -> None:
        """Raise if another process has the store open; under the write lock."""
        others = self.others()
        if others or not self.keeps():
            raise StoreLocked(_open_elsewhere(self.path, others, what))

    def release(self, *, noted: bool = False) -> None:
        """Release the store; a temporary one is removed. Readers get `StoreClosed` and no new connection."""
        refuse_new(self.engine, refuse_closed)  # SQLite would make the file anew
        self.turn.begun = self.turn.ending = lambda: None
        if self.watch is not None:
            self.watch.close()
        mine = self.turn.acquire(timeout=CLOSE_S)
        self.turn.close()  # a waiting thread would make the lock file anew
        try:
            self.engine.dispose()
            alone = mine and not self.others()
            if self.presence is not None:
                self.presence.leave()
            if noted and alone and not self.temporary:
                note_checked(self.path / DATABASE)
            if self.keeping.is_locked:
                self.keeping.release()
        finally:
            if mine:
                self.turn.release()
        _remove(self.path, self.temporary)


def hold(path: str | os.PathLike[str] | None, *, alone: str = "") -> Held:
    """Make the directory if it is absent, take a turn in it and open its database. The caller ends the turn."""
    if path is not None and (not isinstance(path, str | os.PathLike) or not os.fspath(path)):
        given = "empty" if isinstance(path, str) else type(path).__name__
        raise StorePathError(f"The path of a store is a directory, not {given}. Without a path it is a temporary one.")
    temporary = path is None
    # Absolute: locks and files are opened again later, and a process may change its working directory.
    directory = Path(tempfile.mkdtemp(prefix="recall-")) if path is None else Path(path).absolute()
    if not temporary:
        _check_unless_made(directory)
    turn = WriteTurn() if temporary else WriteTurn(OfFile(directory / WRITING), str(directory))
    turn.acquire()
    keeping, presence = FileLock(str(directory / LOCK), thread_local=False), None
    try:
        presence = None if temporary else Presence(directory)
        engine = _opened(directory, keeping, presence, alone)
        watch = None if temporary else Watch(directory / DATABASE)
    except BaseException:
        if presence is not None:
            presence.leave()
        if keeping.is_locked:
            keeping.release()
        turn.release()
        _remove(directory, temporary)
        raise
    return Held(
        path=directory, temporary=temporary, keeping=keeping, engine=engine, turn=turn, presence=presence, watch=watch
    )


def _opened(directory: Path, keeping: FileLock, presence: Presence | None, alone: str) -> Engine:
    """Open the database, with the locks that say who has it open."""
    others: list[int] = []
    try:
        if presence is not None:
            others = presence.others()
            check_directory(directory)  # under the turn: no process is making it now
            presence.enter()
        kept = had(keeping)
    except (OSError, Timeout) as e:
        why = getattr(e, "strerror", None) or e
        raise StorePathError(f"Cannot write to {directory}: {why}. Check its permissions.") from e
    if alone and (others or not kept):
        raise StoreLocked(_open_elsewhere(directory, others, alone))
    return open_sqlite(directory / DATABASE, checked=bool(others))


def _open_elsewhere(directory: Path, others: list[int], what: str) -> str:
    named = ", ".join(map(str, others))
    who = {0: "another process", 1: f"process {named}"}.get(len(others), f"processes {named}")
    mine = " (another MemoryStore of this one)" if os.getpid() in others else ""
    return (
        f"The store {directory} is open in {who}{mine}, and nobody else may have it {what}. "
        "Close it there and ask again."
    )


def _check_unless_made(directory: Path) -> None:
    """Check a directory; if another process is making the store, leave that to the check under the turn."""
    try:
        check_directory(directory)
    except StoreCorrupt:
        if not (directory / WRITING).exists():
            raise


def _remove(directory: Path, temporary: bool) -> None:
    for _ in range(REMOVALS if temporary else 0):
        shutil.rmtree(directory, ignore_errors=True)
        if not directory.exists():
            return


def refuse_closed(*_: Any) -> None:
    """Raise `StoreClosed`: for who would connect to the database of a store that is closed."""
    raise StoreClosed("The store was closed meanwhile. Open it again with MemoryStore.open.")


def check_directory(directory: Path) -> None:
    """Make the directory if it is absent; refuse one that is neither a store nor empty."""
    try:
        if directory.exists() and not directory.is_dir():
            raise StorePathError(
                f"{directory} is a file. Give a directory for the store, or a path that does not exist yet."
            )
        make_directory(directory)
        names = sorted(p.name for p in directory.iterdir() if not p.name.startswith("."))
        present = DATABASE in names and (directory / DATABASE).stat().st_size > 0
    except (OSError, ValueError) as e:  # ValueError: a NUL in the path
        raise StorePathError(
            f"Cannot use {str(directory)!r} as a store: {getattr(e, 'strerror', None) or e}. "
            "Check the path and its permissions."
        ) from e
    others = [n for n in names if n not in (LOCK, WRITING, LEARNS, PROCESSES, DATABASE)]
    if present or not others:
        return
    # An empty database would be filled anew and everything derived from the lost one thrown away.
    if any(n == COLUMNS or n.startswith((f"{FORMER}.", f"{SEMANTIC}.", f"{DATABASE}-")) for n in others):
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


def below(directory: Path) -> Iterator[Path]:
    """Yield all files and directories below a directory, by name. Those that vanish meanwhile are left out."""
    for folder, folders, files in os.walk(directory):
        folders.sort()
        yield from (Path(folder, name) for name in sorted((*folders, *files)))


def size_of(directory: Path) -> int:
    """Count the bytes of all files below a directory."""
    total = 0
    for path in below(directory):
        with suppress(OSError):  # index files come and go
            total += path.stat().st_size if path.is_file() else 0
    return total


def make_ready(engine: Engine, where: Path) -> None:
    """Make the tables in an empty database; leave existing ones as they are."""
    refusal = f"{where} is a database, but not one of recall-integrations. Give another directory."
    with engine.begin() as connection:  # one transaction: each statement by itself would wait for the disk
        there = set(inspect(connection).get_table_names())
        version = version_in(connection, there, f"{refusal} Nothing was changed.")
        if not version:
            version = make_tables(connection)
            entities.make_key(connection)
    check_version(version, f"The store {where}")
