"""Opening the SQLite system of record. What only SQLite understands is here (pragmas, `sqlite_master`), and in one
table option of `schema`; all other SQL of the store is SQLAlchemy's.
"""

from __future__ import annotations

import json
import logging
import math
import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import (
    URL,
    ColumnElement,
    Connection,
    Dialect,
    Engine,
    NullPool,
    create_engine,
    event,
    literal_column,
    text,
)
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.util import LRUCache

from recall_integrations.database.connections import translated
from recall_integrations.errors import StoreCorrupt, StoreError, StorePathError, StoreVersionError
from recall_integrations.owner_only import make_file
from recall_integrations.patterns import regex

logger = logging.getLogger("recall_integrations")
CHECK_MAX = 1_000_000_000  # bytes; two to ten seconds
CHECKED = ".checked"  # behind the name of a database: its size and time of change when it was last closed
FAULTS_MAX = 50  # that are named of a damaged database
_MAGIC = b"SQLite format 3\x00"
_shared: dict[str, Dialect] = {}
_own: WeakKeyDictionary[Engine, Dialect] = WeakKeyDictionary()
_compiled: LRUCache[Any, Any] = LRUCache(2_000)  # statements: four times what SQLAlchemy keeps of an engine
_DAMAGE = regex(r"malformed|not a database|corrupt|file is encrypted|disk image", re.IGNORECASE)
_BLOCK = 1 << 20
AGAIN_S = 5.0  # longest second look
_OF_INDEXES = regex(
    r"missing from index|non-unique entry in index|wrong # of entries in index|values differ from index"
)


def open_sqlite(path: Path, *, checked: bool = False) -> Engine:
    """Return an engine on the database file at `path`, made if absent: WAL, full durability, for all threads."""
    check_header(path)
    try:
        make_file(path)  # its WAL gets the same mode
    except OSError as e:
        raise StorePathError(f"Cannot open {path}: {e.strerror or e}. Check that the directory is writable.") from e
    if not checked:
        check_content(path)
    engine = create_engine(
        URL.create("sqlite", database=str(path)),  # not as text: a path may hold "?" or "%"
        connect_args={"check_same_thread": False, "timeout": 30},
        pool_size=16,
        max_overflow=16,
        hide_parameters=True,  # an error is logged and shown; what was asked and remembered is not
    )
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    try:
        with mapped_errors(path), engine.connect() as connection:
            connection.execute(text("SELECT count(*) FROM sqlite_master")).scalar()
    except BaseException:
        engine.dispose()
        raise
    _own[engine] = engine.dialect  # by which it connects, whatever it compiles with
    # Statements that another store of this process has compiled are taken: a fifth of the life of a small store.
    engine.dialect = _shared.setdefault("sqlite", engine.dialect)
    engine.update_execution_options(compiled_cache=_compiled)
    return engine


def refuse_new(engine: Engine, refuse: Callable[..., Any]) -> None:
    """Let an engine make no new connection: `refuse` raises instead. Other engines make theirs."""
    event.listen(_own.get(engine, engine.dialect), "do_connect", refuse)


def check_header(path: Path) -> None:
    """Refuse a file that is not SQLite before SQLite sees it: opening may write to it."""
    try:
        with path.open("rb") as file:
            head = file.read(len(_MAGIC))
    except FileNotFoundError:
        return
    except OSError as e:
        raise StorePathError(f"Cannot read {path}: {e.strerror or e}. Check its permissions.") from e
    if head and head != _MAGIC:
        raise StoreCorrupt(
            f"{path} is not an SQLite database. It was left untouched; restore it from a backup, "
            "or move it away to start an empty store."
        )


def check_content(path: Path) -> None:
    """Refuse a damaged database, or another program's, before anything writes to it (a leftover WAL would be).

    It is read whole unless it has the size and time of change that `note_checked` noted, or is larger than `CHECK_MAX`:
    damage in it is found when it is met then, and by `recall doctor`.
    """
    try:
        size = path.stat().st_size
        # Without a WAL to read, `immutable` leaves no files beside the database.
        mode = "mode=ro" if has_wal(path) else "mode=ro&immutable=1"
    except OSError:
        return  # there is none yet
    if not size:
        return
    whole = size <= CHECK_MAX and not _is_as_noted(path)
    check = "PRAGMA quick_check(3)" if whole else "SELECT 'ok' FROM sqlite_master LIMIT 1"
    try:
        tables, fault = _looked(path, mode, check)
        if fault:  # a second look at the same bytes: what a disk could not read once may be whole
            logger.warning("%s is read once more: %s", path, fault)
            tables, fault = _looked(path, mode, check)
    except sqlite3.DatabaseError:
        return  # not readable this way: opening it for writing says why
    if fault:
        raise _corrupt(path, fault)
    if tables and not {"meta", "memories"} <= tables:
        raise StoreVersionError(
            f"{path} is a database, but not one of recall-integrations. Give another directory. Nothing was changed."
        )


def _looked(path: Path, mode: str, check: str, within_s: float = math.inf) -> tuple[set[str], str]:
    """Return the tables of a database, and the damage that a check finds in it within so many seconds; empty = none."""
    end = time.monotonic() + within_s
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, timeout=30)) as connection:
            connection.set_progress_handler(lambda: time.monotonic() > end, 10_000)
            tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            found = [str(row[0]) for row in connection.execute(check)]
    except sqlite3.DatabaseError as e:
        if not _DAMAGE.search(str(e)):
            raise
        return set(), str(e)
    return tables, "" if found in (["ok"], []) else "; ".join(found)[:300]


def note_checked(path: Path) -> None:
    """Note what the file of a database that was just closed looks like: it need not be read whole before it changes."""
    note = path.with_name(path.name + CHECKED)
    try:
        if has_wal(path):  # somebody still has it open: what is in there goes into the file yet
            note.unlink(missing_ok=True)
            return
        draft = note.with_name(f"{note.name}.new")
        draft.write_text(json.dumps(_looks(path)), encoding="ascii")
        draft.replace(note)
    except OSError:  # a full disk: it is read whole at the next open
        return


def _is_as_noted(path: Path) -> bool:
    try:
        if has_wal(path):  # it was not closed
            return False
        noted = json.loads(path.with_name(path.name + CHECKED).read_text(encoding="ascii"))
        return bool(noted == _looks(path))
    except (OSError, ValueError, RecursionError):
        return False


def has_wal(path: Path) -> bool:
    """Say whether there is more of a database in its log."""
    wal = path.with_name(f"{path.name}-wal")
    return wal.is_file() and wal.stat().st_size > 0


def _looks(path: Path) -> list[int]:
    state = path.stat()
    return [state.st_size, state.st_mtime_ns]


def _prepare(connection: sqlite3.Connection, _record: Any) -> None:
    connection.isolation_level = None  # SQLAlchemy's documented recipe: we emit BEGIN ourselves
    cursor = connection.cursor()
    for pragma in (
        "journal_mode=WAL",
        "synchronous=FULL",  # acknowledged means on disk, also after a power cut
        "busy_timeout=30000",
        "cache_size=-4000",  # kilobytes, of each connection
        "mmap_size=0",  # scattered reads of a mapped file make 16 pages resident for each that is read
        "temp_store=MEMORY",
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin(connection: Any) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get("writes") else "BEGIN")


def mapped_errors(path: Path) -> AbstractContextManager[None]:
    """Turn SQLAlchemy's errors, and those of the driver, into ours."""
    return translated(partial(mapped_error, path=path))


def mapped_error(error: BaseException, path: Path) -> StoreError | None:
    """Return our error for one of SQLAlchemy or of the driver; `None` for any other."""
    if not isinstance(error, SQLAlchemyError | sqlite3.Error):
        return None
    cause = getattr(error, "orig", None) or error
    if _DAMAGE.search(str(cause)):
        return _seen_twice(path, cause)
    if "unable to open" in str(cause) or "readonly" in str(cause):
        return StorePathError(f"Cannot open {path}: {cause}. Check that the directory is writable.")
    return StoreError(f"The database {path} refused an operation: {cause}.")


def _seen_twice(path: Path, cause: object) -> StoreError:
    """Return the error of damage that was met, unless a second look finds none: SQLite says the same of both."""
    with suppress(sqlite3.DatabaseError, OSError):
        if path.stat().st_size <= CHECK_MAX and not _looked(path, "mode=ro", "PRAGMA quick_check(1)", AGAIN_S)[1]:
            return StoreError(
                f"A part of the database {path} could not be read ({cause}), and a second look finds it whole. Try "
                "again; if it comes back, look after the disk."
            )
    return _corrupt(path, cause)


def _corrupt(path: Path, cause: object) -> StoreError:
    try:
        with path.open("rb", buffering=0) as file:
            while path.stat().st_size <= CHECK_MAX and file.read(_BLOCK):
                pass
    except OSError as e:
        return StorePathError(
            f"Cannot read {path} ({e.strerror or e}; {cause}). That says nothing of damage: look after the disk or the "
            "mount, and try again."
        )
    return StoreCorrupt(
        f"The database {path} is damaged ({cause}). It was left untouched; restore it from a backup, "
        "or try `sqlite3 recall.db .recover` on a copy."
    )


@contextmanager
def read_only(path: Path, *, alone: bool) -> Iterator[Connection]:
    """Yield a connection that cannot change the database, which has to exist; invalid UTF-8 comes with surrogates.

    With `alone` nothing else is read or written beside the file, so no WAL counts, and no file is made.
    """
    uri = f"{path.absolute().as_uri()}?{'mode=ro&immutable=1' if alone else 'mode=ro'}"

    def connect() -> sqlite3.Connection:
        made = sqlite3.connect(uri, uri=True, timeout=30, check_same_thread=False)
        made.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
        return made

    engine = create_engine("sqlite://", creator=connect, poolclass=NullPool, hide_parameters=True)
    try:
        with engine.connect() as connection:
            connection.execute(text("SELECT count(*) FROM sqlite_master")).scalar()
            yield connection
    finally:
        engine.dispose()


def damage(connection: Connection) -> list[str]:
    """Return the faults that SQLite finds in the database, a sentence each; reads it whole, a second per gigabyte."""
    found = [str(row[0]) for row in connection.execute(text(f"PRAGMA integrity_check({FAULTS_MAX})"))]
    loose = connection.execute(text("PRAGMA foreign_key_check")).fetchmany(FAULTS_MAX)
    broken = [f"a row of {row[0]} refers to a row of {row[2]} that is not there" for row in loose]
    return [*(said for said in found if said != "ok"), *broken]


def of_its_indexes_only(faults: Sequence[str]) -> bool:
    """Say whether `remake_indexes` mends all faults that `damage` found: the rows themselves are whole."""
    return bool(faults) and all(_OF_INDEXES.search(said) for said in faults)


def remake_indexes(connection: Connection) -> None:
    """Make the database's own indexes anew, in the caller's transaction."""
    connection.execute(text("REINDEX"))


def write_anew(engine: Engine, path: Path) -> None:
    """Write the database anew without what was deleted from it, and empty its log. It takes as much disk again."""
    with mapped_errors(path), closing(engine.raw_connection()) as connection:
        cursor = connection.cursor()
        try:
            cursor.execute("PRAGMA temp_store=FILE")  # it copies the whole database there
            cursor.execute("VACUUM")
            busy = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        finally:
            cursor.execute("PRAGMA temp_store=MEMORY")
    if busy is not None and busy[0]:
        raise StoreError(f"The log of {path} could not be emptied: somebody reads an old state of it. Try again.")


def undecoded(column: str) -> ColumnElement[Any]:
    """Return a column whose text comes as bytes, so that text that is no UTF-8 can be read too."""
    return literal_column(f"CASE typeof({column}) WHEN 'text' THEN CAST({column} AS BLOB) ELSE {column} END")
