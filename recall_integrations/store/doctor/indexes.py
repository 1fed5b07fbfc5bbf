"""The indexes in the directory: they are whole, of this history, and the lexical one holds exactly the living memories.

Tantivy is opened in a directory of its own, so that opening changes nothing in the store. Chroma is not opened: the
store compares what a collection holds when it first asks it, and makes it anew where it lacks vectors.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from recall_integrations.database import schema
from recall_integrations.errors import IndexUnavailable
from recall_integrations.indexes.vectors import torn
from recall_integrations.indexes.words import LexicalIndex, damaged
from recall_integrations.store import index_files, journal
from recall_integrations.store.doctor.contents import Contents
from recall_integrations.store.doctor.findings import Check, counted, notice, ok, problem
from recall_integrations.store.journal import LEXICAL, SEMANTIC
from recall_integrations.store.slices import count_after

_REMOVALS = 20
REBUILD = "`--repair` makes it anew from the database."
LATER = "They are applied at the next open or write."
Nums = NDArray[np.int64]


def check_name(index: str) -> str:
    """Return the name of the check of an index."""
    return f"{index} index"


def examine(connection: Connection, name: str, directory: Path, contents: Contents) -> Check:
    """Check an index."""
    try:
        return (_lexical if name == LEXICAL else _semantic)(connection, directory, contents)
    except IndexUnavailable as e:
        return problem(check_name(name), str(e), REBUILD)
    except (OSError, ValueError) as e:
        return problem(check_name(name), f"It cannot be read: {e}.", REBUILD)


def _lexical(connection: Connection, directory: Path, contents: Contents) -> Check:
    check, cursor = check_name(LEXICAL), journal.cursors(connection).get(LEXICAL, 0)
    there = [*contents.living, *(num for _, num in contents.unreadable)]
    wanted = np.unique(np.asarray([num for num in there if num <= cursor], dtype=np.int64))
    if len(wanted) or directory.exists():
        _look_at_files(connection, LEXICAL, directory, cursor, bool(len(wanted)))
        _compare(connection, directory, wanted, cursor)
    held = counted(len(wanted), "memory", "memories")
    if (behind := journal.last_seq(connection) - cursor) > 0:
        says = f"It holds the {held} that it should, and lacks the last {counted(behind, 'change')}."
        return notice(check, says, LATER)
    return ok(check, f"It holds exactly the {held} that it should.")


def _semantic(connection: Connection, directory: Path, contents: Contents) -> Check:
    check = check_name(SEMANTIC)
    reached = max((until for _, until in contents.homes.values()), default=0)
    if reached or directory.exists():
        _look_at_files(connection, SEMANTIC, directory, reached, bool(reached))
    if (behind := journal.last_seq(connection) - journal.cursors(connection).get(SEMANTIC, 0)) > 0:
        return notice(check, f"It lacks the last {counted(behind, 'change')}.", LATER)
    if not contents.homes:
        return ok(check, "No scope needs one: all are scanned exactly.")
    if lacking := sum(count_after(connection, scope_id, until) for scope_id, (_, until) in contents.homes.items()):
        return ok(check, f"It is whole; {lacking:,} more vectors of large scopes are scanned until it has them.")
    return ok(check, "It is whole, and noted to have all vectors of large scopes.")


def _look_at_files(connection: Connection, name: str, directory: Path, reached: int, needed: bool) -> None:
    """Raise `IndexUnavailable` for damage that shows without opening the index."""
    if needed and not directory.is_dir():
        raise IndexUnavailable("It is missing.")
    broken, _ = index_files.broken_seal(directory)
    if broken is None and needed:
        broken = torn(directory) or _torn_database(directory) if name == SEMANTIC else damaged(directory)
    if broken is not None:
        raise IndexUnavailable(f"It is damaged: {broken}.")
    noted = journal.noted_point(directory)
    foreign = journal.foreign(connection, reached, noted)
    if foreign is not None:
        last = journal.last_seq(connection)
        more = noted.seq - last if noted is not None else 0
        lost = f" The index knows of {counted(more, 'change')} that the database does not have." if more > 0 else ""
        raise IndexUnavailable(f"It is of another history: {foreign}.{lost}")


def _torn_database(directory: Path) -> str | None:
    """Describe damage to Chroma's database, which is read as a file; `None` if there is none."""
    file = f"{(directory / 'chroma.sqlite3').absolute().as_uri()}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(file, uri=True)) as opened:
            found = [str(row[0]) for row in opened.execute("PRAGMA quick_check(3)")]
    except sqlite3.Error as e:
        return f"Chroma's database cannot be read ({e})"
    return None if found == ["ok"] else f"Chroma's database is damaged ({'; '.join(found)[:300]})"


def _compare(connection: Connection, directory: Path, should: Nums, cursor: int) -> None:
    """Raise `IndexUnavailable` where the lexical index holds wrong memories."""
    c = schema.changes.c
    ahead = connection.execute(select(c.num).where(c.seq > cursor)).scalars().all()  # applied or not
    has = _lexical_nums(directory)
    lacks, strange = np.setdiff1d(should, has), np.setdiff1d(np.setdiff1d(has, should), ahead)
    twice = len(has) - len(np.unique(has))
    said = [
        *([f"lacks {counted(len(lacks), 'memory', 'memories')}"] if len(lacks) else []),
        *([f"holds {counted(len(strange), 'memory', 'memories')} that are gone"] if len(strange) else []),
        *([f"holds {counted(twice, 'memory', 'memories')} twice"] if twice else []),
    ]
    if said:
        raise IndexUnavailable(f"It {' and '.join(said)}.")


def _lexical_nums(directory: Path) -> Nums:
    """List the nums in tantivy. Its files are linked into another directory, where it may make its locks."""
    with _elsewhere() as made:
        for file in directory.iterdir():
            if file.is_file() and not file.name.endswith(".lock"):
                try:
                    (made / file.name).symlink_to(file.absolute())
                except OSError:  # Windows lets few users make links
                    shutil.copyfile(file, made / file.name)
        return LexicalIndex(made).nums()


@contextmanager
def _elsewhere() -> Iterator[Path]:
    """Yield a temporary directory; it is removed at the end, though a closing index may still make a lock in it."""
    made = Path(tempfile.mkdtemp(prefix="recall-doctor-"))
    try:
        yield made
    finally:
        for _ in range(_REMOVALS):
            shutil.rmtree(made, ignore_errors=True)
            if not made.exists():
                break
