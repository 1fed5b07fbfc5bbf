"""Columns of large scopes on disk: a file each, derived like the indexes, mapped when the scope is first read.

A file that does not fit (version, embedding, damage, history) is removed. It holds the words of its memories, so it is
removed before the transaction that removes one of them commits. The last use of a file is its access time, set here:
mounts record no reads, or all of them.
"""

from __future__ import annotations

import logging
import shutil
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select
from sqlalchemy.exc import SQLAlchemyError

from recall_integrations.database import schema
from recall_integrations.errors import RecallError, StoreClosed
from recall_integrations.indexes import array_file, kept_columns, lexicon
from recall_integrations.indexes.array_file import Arrays, Opened, Unfit
from recall_integrations.indexes.columns import WORDS_MAX
from recall_integrations.indexes.lexicon import DATE_WORDS
from recall_integrations.owner_only import make_directory
from recall_integrations.privacy.door import told
from recall_integrations.store import journal
from recall_integrations.store.directory import COLUMNS, Held
from recall_integrations.store.filling import Filling
from recall_integrations.text import ANALYSER_VERSION
from recall_integrations.text.analyser import PIVOT
from recall_integrations.types import MemoryType
from recall_integrations.types.roles import ROLE_CODES

SUFFIX = ".columns"
FORMAT = 3  # raise it when what is kept of a scope, or what it means, changes
ROWS_MIN = 1_000  # memories from which a scope has a file: fewer are read from the database in some 20 ms
BEHIND_MIN, BEHIND_SHARE = 1_000, 20  # a file is made anew when it lacks so many memories, and this part of them all
PAUSE_S = 2.0  # after a scope was read and before it is written: the first recalls have the processor to themselves
FREE_MIN = 50_000_000  # bytes that stay free on the disk
WAIT_S = 0.1
CLOSE_S = 5.0  # a file that is being written is waited for when the store is closed
BUILT_MAX = 200_000  # memories that `close` reads to make files of scopes that were only written to

logger = logging.getLogger("recall_integrations")
Gather = Callable[[int], "tuple[Mapping[str, int], Arrays] | None"]


class ColumnFiles:
    """The files of one store. Threads share it."""

    def __init__(
        self,
        held: Held,
        *,
        embedding: Callable[[], str],
        whole: Callable[[], bool],
    ) -> None:
        self._held, self._engine, self._directory = held, held.engine, held.path / COLUMNS
        self._write_lock = held.turn  # taken before `_lock`
        self._embedding = embedding
        self._whole = whole
        self._lasting = not held.temporary
        self._lock = threading.RLock()  # held for a moment, and never while a file is written
        self._writing = threading.Lock()  # one file at a time
        self._changes: dict[int, int] = {}  # of each scope, how often its file was removed
        self._removals = 0  # of all files together
        self._closing = threading.Event()
        self._closed = False  # no file is put in its place any more: the directory may be somebody else's
        self._wanted: dict[int, Callable[[int], object]] = {}  # what saves a scope in the background
        self._saving = Filling(self._save_next, lambda error: logger.warning("Columns are not kept: %s", told(error)))

    @property
    def _mine(self) -> bool:
        return self._held.keeps() or self._held.own_indexes

    # -- reading ---------------------------------------------------------------------------------------------------

    def load(self, connection: Connection, scope_id: int, upto: int) -> Opened | None:
        """Map the file of a scope, of the change `tags["seq"]` and the version `tags["version"]`; `None` = no file."""
        path = self.path(scope_id)
        try:
            opened = array_file.mapped(path)
            self._check(connection, scope_id, opened.tags, upto)
        except FileNotFoundError:
            return None
        except (Unfit, OSError) as e:
            self.refuse(scope_id, e)
            return None
        return opened

    def refuse(self, scope_id: int, why: Exception) -> None:
        """Log that a file cannot be used, and remove it."""
        logger.info("The columns of scope %d are read from the database: %s", scope_id, told(why))
        self.remove(scope_id)

    def _check(self, connection: Connection, scope_id: int, tags: Mapping[str, Any], upto: int) -> None:
        """Raise `Unfit` unless the file is of this scope, this history and this version of everything."""
        known = {**self._tags(scope_id), "version": tags.get("version"), "seq": tags.get("seq")}
        other = sorted(name for name, value in known.items() if tags.get(name) != value)
        if other or not isinstance(tags["seq"], int) or not isinstance(tags["version"], int):
            raise Unfit(f"it was made for another {', '.join(other) or 'version'}")
        if tags["seq"] > upto:
            raise Unfit(f"it is of change {tags['seq']:,}, the database knows of {upto:,}")
        point = journal.point(connection, tags["seq"])
        if point is None or point.digest != tags.get("digest"):
            raise Unfit(f"its change {tags['seq']:,} is not that of the journal, or not in it any more")

    def _tags(self, scope_id: int) -> dict[str, Any]:
        constants = (sorted(DATE_WORDS), [t.value for t in MemoryType], list(ROLE_CODES.items()), PIVOT, WORDS_MAX)
        return {
            "format": FORMAT,
            "scope": scope_id,
            "embedding": self._embedding(),
            "words": lexicon.shared().fingerprint,
            "analyser": ANALYSER_VERSION,
            "constants": blake2b(repr(constants).encode(), digest_size=8).hexdigest(),
        }

    def path(self, scope_id: int) -> Path:
        return self._directory / f"{scope_id}{SUFFIX}"

    # -- writing ---------------------------------------------------------------------------------------------------

    def due(self, scope_id: int, *, rows: int) -> bool:
        """Say whether a scope with `rows` memories needs a newer file than it has."""
        if rows < ROWS_MIN or not self._lasting or not self._mine:
            return False
        try:
            seq = array_file.read_tags(self.path(scope_id)).get("seq")
        except (Unfit, OSError):
            return True
        if not isinstance(seq, int):
            return True
        with self._engine.connect() as connection:
            return journal.count_after(connection, seq, scope_id) > max(BEHIND_MIN, rows // BEHIND_SHARE)

    def save(self, scope_id: int, gather: Gather) -> bool:
        """Write the file of a scope; say whether it is written. A failure is only logged."""
        with self._writing:
            try:
                return self._save(scope_id, gather)
            except StoreClosed:
                return False
            except (OSError, SQLAlchemyError, RecallError, ValueError) as e:
                logger.warning("The columns of scope %d could not be kept on disk: %s", scope_id, told(e))
                return False

    def _has_turn(self) -> bool:
        """Take the write lock; say whether it was taken: who closes the store holds it, and waits for this thread."""
        while not self._write_lock.acquire(timeout=WAIT_S):
            if self._closing.is_set():
                return False
        return True

    def _save(self, scope_id: int, gather: Gather) -> bool:
        if not self._has_turn():
            return False
        try:
            before = self._removals, self._changes.get(scope_id, 0)
            may = self._lasting and self._mine and not self._closed and self._whole()
            found = gather(scope_id) if may else None
        finally:
            self._write_lock.release()
        if found is None:
            return False
        at, arrays = found
        with self._engine.connect() as connection:
            point = journal.point(connection, at["seq"])
        if point is None:
            return False
        make_directory(self._directory)
        size = sum(array.nbytes for array in arrays.values())
        if shutil.disk_usage(self._directory).free < size + FREE_MIN:
            logger.info("The columns of scope %d are not kept on disk: it is nearly full.", scope_id)
            return False
        path = self.path(scope_id)
        tags = {**self._tags(scope_id), **at, "digest": point.digest}
        beside = array_file.draft(path, tags, arrays, kept_columns.room_of(arrays))
        return self._placed(scope_id, beside, at["seq"], before)

    def _placed(self, scope_id: int, beside: Path, seq: int, before: tuple[int, int]) -> bool:
        """Put a draft in its place, unless one of its memories was forgotten meanwhile, here or in another process."""
        if not self._has_turn():
            beside.unlink(missing_ok=True)
            return False
        try:
            with self._engine.connect() as connection:
                stale = _forgotten_since(connection, scope_id, seq)
            with self._lock:
                if stale or self._closed or before != (self._removals, self._changes.get(scope_id, 0)):
                    beside.unlink(missing_ok=True)
                    return False
                array_file.place(beside, self.path(scope_id))
        finally:
            self._write_lock.release()
        return True

    def save_later(self, scope_id: int, save: Callable[[int], object]) -> None:
        """Call `save` with the scope in the background, after a pause."""
        with self._lock:
            idle = not self._wanted
            self._wanted[scope_id] = save
        if idle and self._lasting:
            self._saving.wake(after=PAUSE_S)

    def _save_next(self) -> bool:
        with self._lock:
            scope_id = next(iter(self._wanted))
            save = self._wanted.pop(scope_id)
            more = bool(self._wanted)
        save(scope_id)
        if more:
            self._saving.wake(after=PAUSE_S)
        return False

    # -- what was forgotten ----------------------------------------------------------------------------------------

    def remove(self, scope_id: int | None = None) -> None:
        """Remove the file of a scope, or all files: something in it must not be read any more."""
        with self._lock:
            if scope_id is not None:
                self._changes[scope_id] = self._changes.get(scope_id, 0) + 1
                with suppress(FileNotFoundError, NotADirectoryError):
                    self.path(scope_id).unlink()
                return
            self._removals += 1
            for path in self._files():
                path.unlink(missing_ok=True)

    def sweep(self, connection: Connection) -> None:
        """Remove drafts, and files that may hold memories removed since; make the directory if it is absent."""
        with suppress(OSError):  # on a full disk, say: no file will be kept
            make_directory(self._directory)
        for path in self._files():
            if not self._is_current(connection, path):
                path.unlink(missing_ok=True)

    @staticmethod
    def _is_current(connection: Connection, path: Path) -> bool:
        tags, s = _tags_of(connection, path), schema.scopes.c
        if tags is None:
            return False
        version = connection.execute(select(s.version).where(s.scope_id == tags["scope"])).scalar()
        forgotten = _forgotten_since(connection, int(tags["scope"]), int(tags["seq"]))
        return version == tags["version"] or (version is not None and not forgotten)

    def _files(self) -> list[Path]:
        try:
            return [path for path in self._directory.iterdir() if path.is_file()]
        except OSError:
            return []

    def stop(self) -> None:
        """Stop writing in the background, and wait for a file that is being written."""
        self._closing.set()
        self._saving.stop(CLOSE_S)

    def close(self) -> None:
        """Stop writing. Closing twice is harmless."""
        self.stop()
        with self._lock:
            self._closed = True


def _forgotten_since(connection: Connection, scope_id: int, seq: int) -> bool:
    c = schema.changes.c
    gone = select(c.num).where(c.scope_id == scope_id, c.seq > seq, c.op == "del").limit(1)
    return connection.execute(gone).first() is not None


def _tags_of(connection: Connection, path: Path) -> Mapping[str, Any] | None:
    """Return the tags of a file of columns of this database's history; `None` for any other file."""
    try:
        tags = array_file.read_tags(path)
        scope_id, seq = int(tags["scope"]), int(tags["seq"])
        point = journal.point(connection, seq)
        known = path.name == f"{scope_id}{SUFFIX}" and point is not None and point.digest == tags["digest"]
    except (Unfit, OSError, KeyError, TypeError, ValueError, OverflowError):
        return None
    return tags if known and "version" in tags else None
