"""Read a store's database without changing a byte of its directory."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from recall_integrations.database.engine import check_header, read_only
from recall_integrations.errors import StoreError
from recall_integrations.store.directory import DATABASE

WAL, SHARED_MEMORY = f"{DATABASE}-wal", f"{DATABASE}-shm"
REFUSALS = (StoreError, SQLAlchemyError, sqlite3.Error, OSError)


@contextmanager
def reading(directory: Path, *, held: bool) -> Iterator[Connection]:
    """Yield a connection that only reads, with the contents of the WAL. Text that is no UTF-8 comes with surrogates.

    Where SQLite cannot read it in place (a WAL in a directory that may not be written to), a copy is read.
    """
    check_header(directory / DATABASE)
    wal = (directory / WAL).is_file() and (directory / WAL).stat().st_size > 0
    before = (directory / SHARED_MEMORY).exists()
    with ExitStack() as stack:
        if not held and not before:
            stack.callback((directory / SHARED_MEMORY).unlink, missing_ok=True)
        try:
            connection = stack.enter_context(read_only(directory / DATABASE, alone=not (held or wal)))
        except (SQLAlchemyError, sqlite3.OperationalError):
            if not wal or held:
                raise
            copied = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="recall-doctor-")))
            for name in (DATABASE, WAL):
                shutil.copy2(directory / name, copied / name)
            connection = stack.enter_context(read_only(copied / DATABASE, alone=False))
        yield connection
