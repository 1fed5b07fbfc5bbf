"""Start and stop of a server: the work of `recall serve`.

open the store ─▶ make the optimizer ─▶ listen ─▶ serve ─▶ SIGTERM: running requests end ─▶ close the store
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, Any

from recall_integrations.errors import InvalidArgument, MissingExtra, RecallError, extra
from recall_integrations.serving.app import create_app
from recall_integrations.serving.served import Served
from recall_integrations.serving.tokens import Tokens

if TYPE_CHECKING:
    from recall_integrations.observability.metrics import Metrics
    from recall_integrations.observability.tracing import Tracing
    from recall_integrations.store.memory_store import MemoryStore

PARENT_S = 1.0  # between two looks at whether the process that started a worker is there
STOP_S = 15  # what runs may end within that
BACKLOG = 2_048
KEEP_ALIVE_S = 30  # that a connection may wait for the next request


def check_installed() -> None:
    """Check that the packages of the extra are installed, before anything else is done."""
    with extra("serve", "Serving over HTTP"):
        import fastapi  # noqa: F401 - whether it is there
        import uvicorn  # noqa: F401


def observers_of(store: MemoryStore) -> tuple[Metrics | None, Tracing | None]:
    """Return what counts for `/metrics`, and what makes spans; each `None` where its extra is not installed."""
    from recall_integrations.observability.metrics import Metrics
    from recall_integrations.observability.tracing import Tracing

    metrics = tracing = None
    with suppress(MissingExtra):
        metrics = Metrics()
        metrics.watch(store)
    with suppress(MissingExtra):
        tracing = Tracing()
    return metrics, tracing


def check_access(host: str, tokens: Tokens | None) -> None:
    """Check that a server may listen on `host`."""
    from recall_integrations.config.checking import is_loopback

    known = None if tokens is None else tokens.list()
    if known is None and not is_loopback(host):
        raise InvalidArgument(
            f"Whoever reaches {host} could read and change these memories. Make tokens (recall token add FILE --scope "
            "u1) and serve with --tokens FILE, or listen on 127.0.0.1."
        )
    if tokens is not None and not known:
        raise InvalidArgument(
            f"{tokens.path} holds no token, so nobody could ask. Make one: recall token add {tokens.path} --scope u1"
        )


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens; the server answers requests from now on as soon as it is ready.

    Args:
        host: name or address.
        port: 0 = a free one.

    Raises:
        InvalidArgument: another process has the port, or there is no such address.
    """
    try:
        family, kind, proto, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        found = socket.socket(family, kind, proto)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(BACKLOG)
    except OSError as e:
        raise InvalidArgument(f"Cannot listen on {host}, port {port}: {e.strerror or e}. Choose another.") from e
    return found


def end_with_parent(parent: int) -> None:
    """End this worker in order when the process `parent`, which started it, is gone.

    SIGHUP is ignored until the worker serves: it reads its settings now anyway.
    """
    signal.signal(signal.SIGHUP, signal.SIG_IGN)

    def look() -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_S)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=look, name="recall-parent", daemon=True).start()


def address_of(listener: socket.socket) -> str:
    """Return the address of a server as a browser takes it."""
    host, port = listener.getsockname()[:2]
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{shown}:{port}"


def serve(
    served: Served,
    listener: socket.socket,
    *,
    reload: Callable[[], str] | None = None,
    said: Callable[[str], None] = lambda _line: None,
    stop_s: float = STOP_S,
) -> None:
    """Answer requests until SIGTERM or SIGINT, then let running requests end. Handles signals in the main thread only.

    Args:
        served: the store, which stays open, and its settings.
        listener: the socket that listens.
        reload: called after SIGHUP, in a thread; returns a line for `said`.
        said: gets lines for the one who started the server.
        stop_s: seconds that running requests may take to end.

    Raises:
        MissingExtra: the packages of the extra `serve` are not installed.
    """
    server = server_of(served, stop_s)
    served.learning.start()
    try:
        with _signals(reload, said):
            server.run(sockets=[listener])
    finally:
        served.learning.stop()
    served.ready = False


def server_of(served: Served, stop_s: float = STOP_S) -> Any:
    """Return the server (`uvicorn.Server`), for callers that run it outside of the main thread."""
    with extra("serve", "Serving over HTTP"):
        import uvicorn

    config = uvicorn.Config(
        create_app(served),
        log_config=None,
        log_level="warning",
        access_log=False,  # it would hold what is asked for
        server_header=False,
        http="h11",  # httptools takes headers without end, from whoever reaches the server
        proxy_headers=False,  # whoever asks could name another address
        lifespan="off",
        ws="none",
        timeout_graceful_shutdown=max(1, round(stop_s)),
        timeout_keep_alive=KEEP_ALIVE_S,
        backlog=BACKLOG,
    )
    return uvicorn.Server(config)


@contextmanager
def _signals(reload: Callable[[], str] | None, said: Callable[[str], None]) -> Iterator[None]:
    """Let a signal end the server and not the process, inside of the block: the store is closed after it.

    Uvicorn raises the signal again when it has stopped, for the handler before.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stopped(_number: int, _frame: FrameType | None) -> None: ...

    one_at_a_time = threading.Lock()  # else what was read first could be set last

    def renew() -> None:
        try:
            with one_at_a_time:
                if reload is not None:
                    said(reload())
        except RecallError as e:
            said(f"Settings stay as they were: {e}")
        except Exception as e:  # noqa: BLE001 - whoever sent the signal has no other way to know
            said(f"Settings stay as they were: {type(e).__name__}: {e}")

    def again(_number: int, _frame: FrameType | None) -> None:
        threading.Thread(target=renew, name="recall-reload", daemon=True).start()

    handlers: dict[int, Any] = {signal.SIGTERM: stopped, signal.SIGINT: stopped}
    if os.name == "posix" and reload is not None:
        handlers[signal.SIGHUP] = again
    with _handled(handlers):
        yield


@contextmanager
def _handled(handlers: dict[int, Any]) -> Iterator[None]:
    """Let handlers have their signals, inside of the block."""
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


EARLY_S = 10.0  # a worker that ends sooner than this after its start has not served
EARLY_MAX = 3  # so many in a row at every place, and nothing will
PAUSE_S = 1.0  # between two starts at one place
LOOK_S = 0.2
WORKER = "import sys; from recall_integrations.cli import main; main(sys.argv[1:])"


def check_possible(count: int) -> None:
    """Check that the system can share a socket between processes."""
    if count > 1 and os.name != "posix":
        raise InvalidArgument("--workers needs a POSIX system. Here, run several `recall serve` on ports of their own.")


class Workers:
    """The workers of one server. Used by one thread."""

    def __init__(
        self,
        arguments: Sequence[str],
        count: int,
        listener: socket.socket,
        *,
        said: Callable[[str], None] = lambda _line: None,
    ) -> None:
        self._arguments, self._listener, self._said = list(arguments), listener, said
        self._processes: list[subprocess.Popen[bytes] | None] = [None] * count
        self._since = [-EARLY_S] * count  # monotonic seconds of the last start at each place
        self._early = 0  # workers in a row that ended soon after their start
        self._stopping = threading.Event()

    def run(self) -> bool:
        """Keep the workers running until a signal ends them or none can serve; return whether it was SIGTERM or SIGINT.

        In the main thread.
        """
        try:
            with _handled({signal.SIGTERM: self._stop, signal.SIGINT: self._stop, signal.SIGHUP: self._again}):
                while not self._stopping.is_set() and self.look():
                    self._stopping.wait(LOOK_S)
        finally:
            self.end()
        return self._stopping.is_set()

    def look(self) -> bool:
        """Start the workers that are missing; say whether any of them may serve."""
        now = time.monotonic()
        for worker, process in enumerate(self._processes):
            age = now - self._since[worker]
            if process is not None and process.poll() is None:
                self._early = 0 if age > EARLY_S else self._early
                continue
            if process is not None:
                self._said(f"Worker {process.pid} ended with {process.returncode}; another one is started.")
                self._processes[worker] = None
                self._early += age < EARLY_S
            if age > PAUSE_S:
                self._since[worker] = now
                try:
                    self._processes[worker] = self._start(worker)
                except OSError as e:  # the system can start no more at the moment
                    self._early += 1
                    self._said(f"A worker could not be started: {e.strerror or e}.")
        if self._early < EARLY_MAX * len(self._processes):
            return True
        self._said("Workers end as soon as they are started; the first of the lines above says why.")
        return False

    def _start(self, worker: int) -> subprocess.Popen[bytes]:
        number = self._listener.fileno()
        own = {"SOCKET": number, "NUMBER": worker, "PARENT": os.getpid()}  # hidden options of `recall serve`
        environment = {**os.environ, **{f"_RECALL_WORKER_{name}": str(value) for name, value in own.items()}}
        command = [sys.executable, "-c", WORKER, *self._arguments]
        return subprocess.Popen(command, pass_fds=[number], start_new_session=True, env=environment)

    def end(self, stop_s: float = 2 * STOP_S) -> None:
        running = [process for process in self._processes if process is not None]
        for process in running:
            if process.poll() is None:
                process.terminate()
        until = time.monotonic() + stop_s
        for process in running:
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(until - time.monotonic(), 0.1))
            process.kill()  # of one that has ended, nothing
            process.wait()
        self._processes = [None] * len(self._processes)

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        self._stopping.set()

    def _again(self, _number: int, _frame: FrameType | None) -> None:
        for process in self._processes:
            if process is not None and process.poll() is None:
                process.send_signal(signal.SIGHUP)
