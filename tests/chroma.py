"""A Chroma server for tests: the command `chroma run` on loopback, with its files in a directory of its own."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx

from tests.needs import required

START_S = 60.0
COMMAND = Path(sys.executable).with_name("chroma")


class Chroma:
    """A server. Made by `running`.

    Args:
        path: of its files.
        port: it listens at, also after it was killed and started again.
    """

    def __init__(self, path: Path, port: int) -> None:
        self.path, self.port = path, port
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        command = [str(COMMAND), "run", "--path", str(self.path), "--host", "127.0.0.1", "--port", str(self.port)]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen(command, cwd=self.path, start_new_session=True, **quiet)  # type: ignore[call-overload]
        until = time.monotonic() + START_S
        while time.monotonic() < until:
            with suppress(httpx.HTTPError):
                if httpx.get(f"{self.address}/api/v2/heartbeat", timeout=5).status_code == 200:
                    return
            time.sleep(0.05)
        raise AssertionError("the Chroma server did not start")

    def kill(self) -> None:
        """End it as a power cut does."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(10)
            self._process = None

    def stand_still(self, still: bool) -> None:
        """Stop it where it is, or let it go on: connections are accepted, and nothing is answered."""
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGSTOP if still else signal.SIGCONT)


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as made:
        return int(made.getsockname()[1])


@contextmanager
def running() -> Iterator[Chroma]:
    """A server, until the end of the block. Skips the test where there is none; in CI it fails."""
    if not COMMAND.exists():
        required("needs the command `chroma`, which comes with chromadb: pip install chromadb")
    home = Path(tempfile.mkdtemp(prefix="recall-chroma-"))
    found = Chroma(home, free_port())
    try:
        found.start()
        yield found
    finally:
        found.kill()
        shutil.rmtree(home, ignore_errors=True)


class Proxy:
    """Before a server, on loopback: hands on, or swallows what comes, or refuses.

    Args:
        port: of the server.
    """

    def __init__(self, port: int) -> None:
        self._to = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listening.getsockname()[1])
        self.swallows = self.refuses = False
        self._ends: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                if self.refuses:
                    near.close()
                    continue
                try:
                    far = socket.create_connection(("127.0.0.1", self._to))
                except OSError:
                    near.close()
                    continue
                self._ends += [near, far]
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=self._hand_on, args=(one, other), daemon=True).start()

    def _hand_on(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(65_536):
                if not self.swallows:
                    other.sendall(data)
        for end in (one, other):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def cut(self) -> None:
        """End what goes through it, and let nothing more through."""
        self.refuses = True
        for end in self._ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        self._ends.clear()

    def close(self) -> None:
        self.cut()
        self._listening.close()
