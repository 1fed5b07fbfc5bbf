"""The semantic index in the directory: it is whole, and of this history.

Chroma is not opened: the store compares what a collection holds when it first asks it, and makes it anew where it lacks
vectors.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import Connection

from recall_integrations.errors import IndexUnavailable
from recall_integrations.indexes.vectors import torn
from recall_integrations.store import index_files, journal
from recall_integrations.store.doctor.contents import Contents
from recall_integrations.store.doctor.findings import Check, counted, notice, ok, problem
from recall_integrations.store.journal import SEMANTIC
from recall_integrations.store.slices import count_after

NAME = f"{SEMANTIC} index"  # of the check
REBUILD = "`--repair` makes it anew from the database."
LATER = "They are applied at the next open or write."


def examine(connection: Connection, directory: Path, contents: Contents) -> Check:
    """Check the index."""
    try:
        return _looked_at(connection, directory, contents)
    except IndexUnavailable as e:
        return problem(NAME, str(e), REBUILD)
    except (OSError, ValueError) as e:
        return problem(NAME, f"It cannot be read: {e}.", REBUILD)


def _looked_at(connection: Connection, directory: Path, contents: Contents) -> Check:
    reached = max((until for _, until in contents.homes.values()), default=0)
    if reached or directory.exists():
        _look_at_files(connection, directory, reached)
    if (behind := journal.last_seq(connection) - journal.cursors(connection).get(SEMANTIC, 0)) > 0:
        return notice(NAME, f"It lacks the last {counted(behind, 'change')}.", LATER)
    if not contents.homes:
        return ok(NAME, "No scope needs one: all are scanned exactly.")
    if lacking := sum(count_after(connection, scope_id, until) for scope_id, (_, until) in contents.homes.items()):
        return ok(NAME, f"It is whole; {lacking:,} more vectors of large scopes are scanned until it has them.")
    return ok(NAME, "It is whole, and noted to have all vectors of large scopes.")


def _look_at_files(connection: Connection, directory: Path, reached: int) -> None:
    """Raise `IndexUnavailable` for damage that shows without opening the index."""
    if reached and not directory.is_dir():
        raise IndexUnavailable("It is missing.")
    broken, _ = index_files.broken_seal(directory)
    if broken is None and reached:
        broken = torn(directory) or _torn_database(directory)
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
