"""A store in PostgreSQL, as one process has it: a node.

The record is on the server; any number of nodes share it. Derived data (columns in memory and on disk) is in a
directory of the node. A temporary one is removed with it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from filelock import FileLock, Timeout
from sqlalchemy import Engine, event

from recall_integrations.config import PostgresConfig
from recall_integrations.database import tenants
from recall_integrations.database.postgres import make_ready, mapped_errors, open_postgres
from recall_integrations.database.postgres_errors import mapped_error, shown
from recall_integrations.database.schema import TENANT
from recall_integrations.database.turns import (
    FILLING,
    FLUSH,
    LEARNING,
    LOCKS,
    MAY_FLUSH,
    OPENED,
    AdvisoryLock,
    Committed,
    Flush,
    Lease,
    Outside,
    WriteLock,
)
from recall_integrations.errors import RecallError, StoreError, StoreLocked, StorePathError
from recall_integrations.owner_only import make_directory
from recall_integrations.store import journal
from recall_integrations.store.directory import LOCK, Held, refuse_closed
from recall_integrations.store.turns import WriteTurn, alone_by


@dataclass(frozen=True, slots=True, kw_only=True)
class Node(Held):
    """An open store in PostgreSQL. Made by `join`."""

    own_indexes: ClassVar[bool] = True
    outside: Outside  # marks the store as open by this node, at every call: a node that was cut off marks it again
    turns: Outside  # the connection that has the write lock
    lease: Lease  # of the node that writes to a server of vectors
    lock: WriteLock  # the lock that `turn` takes
    flushes: bool  # whether this user may wait for the disk after a turn

    @property
    def address(self) -> str:
        return self.engine.url.render_as_string(hide_password=False)

    @property
    def name(self) -> str:
        return shown(self.engine.url)

    @contextmanager
    def learns(self, wait_s: float) -> Iterator[None]:
        outside = Outside(self.engine)  # the lock ends with this node's connection
        try:
            with alone_by(AdvisoryLock(outside, LEARNING), wait_s):
                yield
        finally:
            outside.close()

    def keeps(self) -> bool:
        """Return false: no node keeps Chroma's files; vectors are read from the record."""
        return False

    def try_to_keep(self) -> bool:
        return False

    def keep_no_longer(self) -> None:
        return

    def mapped(self, error: BaseException) -> RecallError | None:
        return mapped_error(error, self.engine.url)

    def make_ready(self) -> None:
        make_ready(self.engine)

    def size(self) -> int:
        found = self.outside.ask("SELECT pg_database_size(current_database())")
        return int(str(found))

    def fills(self) -> bool:
        return self.lease.mine()

    def fills_no_longer(self) -> None:
        self.lease.give_back()

    def flush_later(self) -> Flush | None:
        return self.lock.flush_later() if self.flushes else None

    def flush(self, later: Flush | None) -> None:
        if later is None or later.done:
            return
        with mapped_errors(self.engine), self.engine.connect() as connection:
            asked = connection.execution_options(isolation_level="AUTOCOMMIT")
            # Not where a backup was put back, or a replica took over that lacked entries.
            there = journal.point(asked, later.upto[0]) == later.upto
            if there:
                asked.exec_driver_sql(FLUSH)
        if not there:
            raise StoreError(
                f"What was written to {self.name} is not there: the connection was lost before it was on disk, and the "
                "server that answers now has it not. Write it once more."
            ) from later.lost
        later.done = True

    def others(self) -> list[int]:
        found = str(
            self.outside.ask(
                "SELECT concat(bool_or(pid = pg_backend_pid()), '|', "
                f"string_agg(DISTINCT pid::text, ',') FILTER (WHERE pid <> pg_backend_pid())) {LOCKS}",
                key=OPENED,
            )
        )
        mine, _, others = found.partition("|")
        if mine != "t":
            raise StoreError(
                f"Nobody can tell who else has the store {self.name} open: something in front of the server gives each "
                "transaction another connection, and hides it. Give the server's own address, or that of a PgBouncer."
            )
        return sorted(map(int, others.split(","))) if others else []

    def check_alone(self, what: str) -> None:
        if self.tenant:
            raise StoreError(
                f"The store {self.name} is open as the role of a tenant, which sees a part of it. Open it as the owner "
                f"of its tables {what}."
            )
        if others := self.others():
            more = "1 more process" if len(others) == 1 else f"{len(others)} more processes"
            raise StoreLocked(
                f"The store {self.name} is open in {more}, and nobody else may have it {what}. "
                "Close it there and ask again."
            )

    def release(self, *, noted: bool = False) -> None:
        event.listen(self.engine, "do_connect", refuse_closed, insert=True)
        self.outside.close()
        self.turns.close()
        self.lease.close()
        self.engine.dispose()
        self.keeping.release()
        if self.temporary:
            shutil.rmtree(self.path, ignore_errors=True)


def join(url: str, directory: str | os.PathLike[str] | None = None, settings: PostgresConfig | None = None) -> Node:
    """Open a store in PostgreSQL beside other nodes, and take a turn in it. The caller ends the turn."""
    temporary = directory is None
    path = Path(tempfile.mkdtemp(prefix="recall-node-") if directory is None else directory)
    keeping = FileLock(str(path / LOCK), thread_local=False)
    engine: Engine | None = None
    try:
        make_directory(path)
        keeping.acquire(timeout=0)
        settings = settings or PostgresConfig()
        engine = open_postgres(
            url,
            pool_size=settings.pool_size,
            isolation="REPEATABLE READ",  # as SQLite: one state for all statements
        )
        outside = Outside(engine, shares=OPENED)
        turns = Outside(engine)
        with mapped_errors(engine), engine.connect() as connection:
            tenant = tenants.role_under_policies(connection)
            flushes = bool(connection.exec_driver_sql(MAY_FLUSH).scalar())
        if tenant is not None:
            engine = engine.execution_options(**{TENANT: tenant})
        lock = WriteLock(turns)
        turn = WriteTurn(lock, shown(engine.url))
        turn.acquire()
        outside.ask("SELECT 1")
    except BaseException as e:
        if engine is not None:
            engine.dispose()
        if keeping.is_locked:
            keeping.release()
        if temporary:
            shutil.rmtree(path, ignore_errors=True)
        if isinstance(e, Timeout):
            raise StoreLocked(f"Another node has the directory {path}. Give each node one of its own.") from None
        if isinstance(e, OSError):
            raise StorePathError(f"Cannot use {path}: {e.strerror or e}. Check its permissions.") from e
        raise
    return Node(
        path=path,
        temporary=temporary,
        keeping=keeping,
        engine=engine,
        turn=turn,
        watch=Committed(outside, lock),
        outside=outside,
        turns=turns,
        lease=Lease(Outside(engine, stays=True), FILLING),
        lock=lock,
        flushes=flushes,
        tenant=tenant,
    )
