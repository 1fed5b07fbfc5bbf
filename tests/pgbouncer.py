"""A PgBouncer in front of the PostgreSQL of the tests: one process, in transaction mode, as people run it."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from sqlalchemy import make_url

from tests.needs import program
from tests.postgres import Postgres

READY_S = 20.0


class PgBouncer:
    """One that runs.

    Args:
        binary: what is run.
        folder: with its settings.
        port: on loopback.
        user: number of the user that it runs as, where this process is root's: as root it refuses to run.
    """

    def __init__(self, binary: str, folder: Path, port: int, user: int) -> None:
        self._binary, self._folder, self.port, self._user = binary, folder, port, user
        self._process: subprocess.Popen[bytes] | None = None

    def address(self, url: str, *, query: str = "", user: str = "postgres") -> str:
        """A database of the server, by way of it."""
        return f"postgresql://{user}@127.0.0.1:{self.port}/{make_url(url).database}{query}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        as_whom = {"user": self._user} if os.geteuid() == 0 else {}
        with (self._folder / "said").open("ab") as said:
            self._process = subprocess.Popen(
                [self._binary, str(self._folder / "pgbouncer.ini")],
                stdout=said,
                stderr=said,
                cwd="/",
                **as_whom,  # type: ignore[call-overload]
            )
        until = time.monotonic() + READY_S
        while time.monotonic() < until:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return
            time.sleep(0.02)
        raise AssertionError((self._folder / "said").read_text())

    def kill(self) -> None:
        """End it at once, with all connections through it."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(10)


@contextmanager
def running(
    postgres: Postgres, *, mode: str = "transaction", more: str = "", users: Sequence[str] = ()
) -> Iterator[PgBouncer]:
    """One in front of a server, until the end of the block. Skips the test where there is none; in CI it fails.

    Args:
        postgres: the server.
        mode: `transaction`, `session` or `statement`.
        more: lines of its settings.
        users: whom it lets in besides the owner of the server.
    """
    binary = program("pgbouncer", "/usr/sbin/pgbouncer", why="needs PgBouncer: apt-get install pgbouncer")
    host = postgres.url.query.get("host") or postgres.url.host
    folder = Path(tempfile.mkdtemp(prefix="recall-pgbouncer-"))
    folder.chmod(0o777)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (folder / "pgbouncer.ini").write_text(
        f"[databases]\n* = host={host} port={postgres.url.port or 5432}\n"
        f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
        f"auth_type = trust\nauth_file = {folder / 'users'}\npool_mode = {mode}\ndefault_pool_size = 12\n{more}\n"
    )
    (folder / "users").write_text("".join(f'"{user}" ""\n' for user in ("postgres", *users)))
    for path in folder.iterdir():
        path.chmod(0o644)
    # The socket of the server is in a directory that its own user may look into.
    socket_of = Path(str(host)) / f".s.PGSQL.{postgres.url.port or 5432}"
    bouncer = PgBouncer(binary, folder, port, socket_of.stat().st_uid if socket_of.exists() else 65_534)
    bouncer.start()
    try:
        yield bouncer
    finally:
        bouncer.kill()
        shutil.rmtree(folder, ignore_errors=True)
