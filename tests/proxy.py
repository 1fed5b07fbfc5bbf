"""A proxy between nodes and PostgreSQL, by which tests cut, hold and turn around what goes over a network."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

from sqlalchemy import make_url


class Proxy:
    """Between nodes and the server, on loopback: hands on, or swallows, or refuses.

    Args:
        path: of the server's socket.

    Attributes:
        swallows: whether nothing arrives, and nobody is told of an end: as if the machine were gone.
        refuses: whether it lets nobody in.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self._ends: list[socket.socket] = []
        self.swallows = self.refuses = False
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):  # it was closed
            while True:
                near, _ = self._listening.accept()
                far = None if self.refuses else self._reached()
                if far is None:
                    near.close()
                    continue
                self._ends += [near, far]
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=self._hand_on, args=(one, other), daemon=True).start()

    def _reached(self) -> socket.socket | None:
        """A connection to the server; `None` where it is away."""
        far = socket.socket(socket.AF_UNIX)
        try:
            far.connect(self._path)
        except OSError:
            far.close()
            return None
        return far

    def _hand_on(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(65_536):
                if not self.swallows:
                    other.sendall(data)
        if self.swallows:
            return
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

    def lead_to(self, path: str) -> None:
        """Whoever comes from now on gets to another server; what went to the one before is ended."""
        self._path = path
        self.cut()
        self.swallows = self.refuses = False

    def close(self) -> None:
        """Let go of all."""
        self.cut()
        self._listening.close()


def through(url: str, proxy: Proxy) -> str:
    """The address of a database by way of the proxy."""
    address = make_url(url).difference_update_query(["host"]).set(host="127.0.0.1", port=proxy.port)
    return address.render_as_string(hide_password=False)
