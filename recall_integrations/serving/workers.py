"""Several processes that serve one store at one address: `recall serve --workers N`.

    this process listens ─▶ N workers take requests from its socket, each with the store open for itself
      a worker that dies ─▶ another one      SIGTERM ─▶ all of them end what runs      SIGHUP ─▶ all read settings again

A recall computes in Python, which one process does on one processor at a time; more of them use the others.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from types import FrameType

from recall_integrations.errors import InvalidArgument
from recall_integrations.serving.start import STOP_S

EARLY_S = 10.0  # a worker that ends sooner than this after its start has not served
EARLY_MAX = 3  # so many in a row, and nothing will
LOOK_S = 0.2
WORKER = "import sys; from recall_integrations.cli import main; main(sys.argv[1:])"


def check_possible(count: int) -> None:
    """Whether a system can share a socket between processes.

    Raises:
        InvalidArgument: it cannot.
    """
    if count > 1 and os.name != "posix":
        raise InvalidArgument("--workers needs a POSIX system. Here, run several `recall serve` on ports of their own.")


class Workers:
    """The workers of one server. Used by one thread.

    Args:
        arguments: of `recall`, for a worker; the socket is added.
        count: how many.
        listener: the socket that they share.
        said: gets lines for whoever started it.
        timer: monotonic seconds.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        count: int,
        listener: socket.socket,
        *,
        said: Callable[[str], None] = lambda _line: None,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self._arguments, self._count, self._listener = list(arguments), count, listener
        self._said, self._timer = said, timer
        self._running: dict[int, tuple[subprocess.Popen[bytes], float]] = {}
        self._stopping = threading.Event()
        self._early = 0

    @property
    def pids(self) -> tuple[int, ...]:
        """Of the workers that run, by place."""
        return tuple(process.pid for _, (process, _) in sorted(self._running.items()))

    def run(self) -> bool:
        """Keep them running until SIGTERM or SIGINT; whether they ever served. In the main thread."""
        handlers = {signal.SIGTERM: self._stop, signal.SIGINT: self._stop, signal.SIGHUP: self._again}
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        try:
            while not self._stopping.is_set() and self._early < EARLY_MAX:
                self.look()
                self._stopping.wait(LOOK_S)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            self.end()
        return self._stopping.is_set()

    def look(self) -> None:
        """Start the workers that are not there."""
        for place in range(self._count):
            known = self._running.get(place)
            if known is not None and known[0].poll() is None:
                if self._timer() - known[1] > EARLY_S:
                    self._early = 0
                continue
            if known is not None:
                process, since = known
                self._early = self._early + 1 if self._timer() - since < EARLY_S else 0
                if self._early >= EARLY_MAX:
                    self._said(f"Workers end as soon as they are started (the last one with {process.returncode}).")
                    return
                self._said(f"Worker {process.pid} ended with {process.returncode}; another one is started.")
            self._running[place] = (self._start(), self._timer())

    def _start(self) -> subprocess.Popen[bytes]:
        number = self._listener.fileno()
        name, *others = self._arguments
        command = [sys.executable, "-c", WORKER, name, "--socket", str(number), *others]
        return subprocess.Popen(command, pass_fds=[number], start_new_session=True)

    def end(self, stop_s: float = 2 * STOP_S) -> None:
        """Let what runs end, for so many seconds, then end it."""
        processes = [process for process, _ in self._running.values()]
        for process in processes:
            if process.poll() is None:
                process.terminate()
        until = self._timer() + stop_s
        for process in processes:
            _ended(process, max(until - self._timer(), 0.1))
        self._running.clear()

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        self._stopping.set()

    def _again(self, _number: int, _frame: FrameType | None) -> None:
        for process, _ in self._running.values():
            if process.poll() is None:
                process.send_signal(signal.SIGHUP)


def _ended(process: subprocess.Popen[bytes], timeout: float) -> None:
    """Wait for a process, and end it when the time is over."""
    try:
        process.wait(timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
