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
from recall_integrations.records import record
from recall_integrations.serving.start import STOP_S

EARLY_S = 10.0  # a worker that ends sooner than this after its start has not served
EARLY_MAX = 3  # so many in a row at every place, and nothing will
PAUSE_S, PAUSE_MAX_S = 0.1, 30.0  # before another one is started where the last ones ended early
LOOK_S = 0.2
WORKER = "import sys; from recall_integrations.cli import main; main(sys.argv[1:])"


def check_possible(count: int) -> None:
    """Check that the system can share a socket between processes."""
    if count > 1 and os.name != "posix":
        raise InvalidArgument("--workers needs a POSIX system. Here, run several `recall serve` on ports of their own.")


@record(slots=True)
class _Place:
    """The place of one worker."""

    process: subprocess.Popen[bytes] | None = None  # the process that runs; `None` = none runs
    since: float = 0.0  # monotonic seconds of the last start, or attempt
    early: int = 0  # number of workers in a row that ended soon after their start


class Workers:
    """The workers of one server. Used by one thread."""

    def __init__(
        self,
        arguments: Sequence[str],
        count: int,
        listener: socket.socket,
        *,
        said: Callable[[str], None] = lambda _line: None,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self._arguments, self._listener = list(arguments), listener
        self._said, self._timer = said, timer
        self._places = [_Place() for _ in range(count)]
        self._stopping = threading.Event()

    def run(self) -> bool:
        """Keep the workers running until a signal ends them or none can serve; return whether it was SIGTERM or SIGINT.

        In the main thread.
        """
        handlers = {signal.SIGTERM: self._stop, signal.SIGINT: self._stop, signal.SIGHUP: self._again}
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        try:
            while not self._stopping.is_set() and self.look():
                self._stopping.wait(LOOK_S)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            self.end()
        return self._stopping.is_set()

    def look(self) -> bool:
        """Start the workers that are missing; say whether any of them may serve."""
        for number, place in enumerate(self._places):
            self._look(number, place)
        if all(place.early >= EARLY_MAX for place in self._places):
            self._said("Workers end as soon as they are started; the first of the lines above says why.")
            return False
        return True

    def _look(self, worker: int, place: _Place) -> None:
        now, process = self._timer(), place.process
        if process is not None:
            code = process.poll()
            if code is None:
                if now - place.since > EARLY_S:
                    place.early = 0
                return
            place.process = None
            place.early = place.early + 1 if now - place.since < EARLY_S else 0
            self._said(f"Worker {process.pid} ended with {code}; another one is started.")
        if place.early and now - place.since < min(PAUSE_S * 2**place.early, PAUSE_MAX_S):
            return
        place.since = now
        try:
            place.process = self._start(worker)
        except OSError as e:  # the system can start no more at the moment
            place.early += 1
            self._said(f"A worker could not be started: {e.strerror or e}.")

    def _start(self, worker: int) -> subprocess.Popen[bytes]:
        number = self._listener.fileno()
        name, *others = self._arguments
        own = [name, "--socket", str(number), "--worker", str(worker), "--parent", str(os.getpid()), *others]
        return subprocess.Popen([sys.executable, "-c", WORKER, *own], pass_fds=[number], start_new_session=True)

    def end(self, stop_s: float = 2 * STOP_S) -> None:
        """Let running requests end for `stop_s` seconds, then end the workers."""
        processes = [place.process for place in self._places if place.process is not None]
        for process in processes:
            if process.poll() is None:
                process.terminate()
        until = self._timer() + stop_s
        for process in processes:
            _ended(process, max(until - self._timer(), 0.1))
        for place in self._places:
            place.process = None

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        self._stopping.set()

    def _again(self, _number: int, _frame: FrameType | None) -> None:
        for place in self._places:
            if place.process is not None and place.process.poll() is None:
                place.process.send_signal(signal.SIGHUP)


def _ended(process: subprocess.Popen[bytes], timeout: float) -> None:
    """Wait for a process, and kill it when the time is over."""
    try:
        process.wait(timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
