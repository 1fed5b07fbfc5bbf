"""A way to a server that takes time: between nodes and a PostgreSQL on this machine, in both directions."""

from __future__ import annotations

import queue
import socket
import threading
import time
from contextlib import suppress

CHUNK = 1 << 16


class Way:
    """Hands on what goes to a server and what it answers, each a while later; a context manager.

    Args:
        socket_path: of the server's socket.
        ms: that a message and its answer take longer, together.

    Attributes:
        port: on loopback, where nodes connect.
        ways: to the server and back so far: what was sent before an answer came counts once.
    """

    def __init__(self, socket_path: str, ms: float) -> None:
        self._path, self._later_s = socket_path, ms / 2e3
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._ends: list[socket.socket] = []
        self._lock = threading.Lock()
        self.ways = 0
        self._answered: set[socket.socket] = set()  # since something was sent

    def __enter__(self) -> Way:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for end in (self._listening, *self._ends):
            with suppress(OSError):
                end.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                far = socket.socket(socket.AF_UNIX)
                far.connect(self._path)
                self._ends += [near, far]
                self._answered.add(near)
                for source, target, counted in ((near, far, True), (far, near, False)):
                    pending: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()
                    threading.Thread(target=self._read, args=(source, pending, near, counted), daemon=True).start()
                    threading.Thread(target=self._write, args=(target, pending), daemon=True).start()

    def _read(
        self, source: socket.socket, pending: queue.SimpleQueue[tuple[float, bytes]], near: socket.socket, counted: bool
    ) -> None:
        data = b" "
        while data:
            try:
                data = source.recv(CHUNK)
            except OSError:
                data = b""
            with self._lock:
                if counted and near in self._answered:
                    self._answered.remove(near)
                    self.ways += 1
                elif not counted:
                    self._answered.add(near)
            pending.put((time.perf_counter() + self._later_s, data))

    def _write(self, target: socket.socket, pending: queue.SimpleQueue[tuple[float, bytes]]) -> None:
        with suppress(OSError):
            while True:
                at, data = pending.get()
                if (left := at - time.perf_counter()) > 0:
                    time.sleep(left)
                if not data:
                    target.shutdown(socket.SHUT_RDWR)
                    return
                target.sendall(data)
