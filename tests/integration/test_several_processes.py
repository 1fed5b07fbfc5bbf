"""Real processes over one directory or database: what any of them acknowledged all find, and it survives its end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from recall_integrations import Memory, MemoryStore, QueryOptimizer, Scope
from recall_integrations.serving import start
from recall_integrations.serving.start import Workers
from recall_integrations.store.directory import LOCK
from tests.quick import only

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
SCOPE = Scope(user_id="u1")
CHILD = """
import json, sys
from recall_integrations import Memory, MemoryStore, QueryOptimizer, Scope

scope = Scope(user_id="u1")
store = MemoryStore.open(sys.argv[1])
optimizer = QueryOptimizer(store)

def write(name, count):
    for i in range(count):
        memory = store.remember(Memory(f"{name} counted {i} swans on the lake", id=f"{name}-{i}"), scope=scope)
        print(json.dumps(memory), flush=True)

def same(name, count):
    for i in range(count):
        store.remember(Memory(f"{name} says {i}", id="one"), scope=scope)

calls = {
    "write": write,
    "same": same,
    "recall": lambda query: [hit.memory.id for hit in optimizer.recall(query, scope=scope, k=3)],
    "forget": lambda memory_id: store.forget(memory_id, scope=scope),
    "declare": lambda name, alias: store.add_entity(name, aliases=[alias], scope=scope),
    "keeps": lambda: store._parts.directory.keeps(),
    "count": lambda: store.count(scope=scope),
}
print(json.dumps("open"), flush=True)
for line in sys.stdin:
    name, *arguments = json.loads(line)
    print(json.dumps(calls[name](*arguments)), flush=True)
store.close()
"""


class Other:
    """Another process with the store open."""

    def __init__(self, place: str) -> None:
        pipe = subprocess.PIPE
        command = [sys.executable, "-c", CHILD, place]
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=ENVIRONMENT)

    def tell(self, *what: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()

    def line(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def rest(self) -> list[Any]:
        """What it says until the end of what it was told, or its own."""
        assert self.process.stdout is not None
        lines: list[Any] = []
        for line in self.process.stdout:
            if line == "null\n":
                break
            lines.append(json.loads(line))
        return lines

    def ask(self, *what: Any) -> Any:
        self.tell(*what)
        return self.line()

    def end(self) -> None:
        if self.process.poll() is None:
            assert self.process.stdin is not None
            self.process.stdin.close()
            self.process.wait(30)


PLACES = ("directory", "postgres")


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "store" if request.param == "directory" else request.getfixturevalue("postgres_url"))


@pytest.fixture
def others(place: str) -> Iterator[list[Other]]:
    """Processes that begin at once with an empty place."""
    started = [Other(place) for _ in range(3)]
    assert [one.line() for one in started] == ["open"] * 3
    yield started
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
        one.process.wait(30)


def test_what_one_does_the_others_find_at_their_next_call(others: list[Other], place: str) -> None:
    first, second, third = others
    first.tell("write", "Priya", 2)
    assert [first.line(), first.line(), first.line()] == ["Priya-0", "Priya-1", None]
    assert sorted(second.ask("recall", "How many swans did Priya count?")) == ["Priya-0", "Priya-1"]
    assert third.ask("forget", "Priya-0") == 1
    assert first.ask("recall", "How many swans did Priya count?") == ["Priya-1"]
    second.ask("declare", "Priya Raman", "PR")
    assert third.ask("recall", "What did PR count?") == ["Priya-1"]
    assert sum(one.ask("keeps") for one in others) == ("://" not in place)


@pytest.mark.parametrize("place", only(PLACES, "directory"), indirect=True)
def test_all_write_at_once_and_nothing_is_lost(others: list[Other], place: str) -> None:
    for number, one in enumerate(others):
        one.tell("write", f"P{number}", 30)
    for one in others:
        assert len(one.rest()) == 30
    for one in others:
        one.tell("same", f"process {one.process.pid}", 10)
    assert [one.line() for one in others] == [None] * 3
    assert [one.ask("count") for one in others] == [91] * 3
    with MemoryStore.open(place) as store:
        wanted = {f"P{number}-{i}" for number in range(3) for i in range(30)} | {"one"}
        assert {memory.id for memory in store.iterate(scope=SCOPE)} == wanted
        assert len(store.list(scope=SCOPE, limit=100)) == 91
    for one in others:
        one.end()
    with MemoryStore.open(place) as store:
        assert store.stats()["notices"] == [] and store.stats()["index_lag"] == {"semantic": 0}


@pytest.mark.parametrize("place", only(PLACES, "postgres"), indirect=True)
def test_one_is_killed_while_all_write(others: list[Other], place: str) -> None:
    acknowledged = set()
    for number, one in enumerate(others):
        one.tell("write", f"P{number}", 40)
    for one in others:  # each is in the middle of it
        acknowledged.update(one.line() for _ in range(5))
    keeper = others[0]
    if "://" not in place:  # the one that keeps the indexes
        keeper = next(one for one in others if one.process.pid == _holder(Path(place) / LOCK))
    keeper.process.send_signal(signal.SIGKILL)
    for one in others:
        acknowledged.update(one.rest())
    alive = [one for one in others if one is not keeper]
    alive[0].tell("write", "after", 1)  # the others may have been done before it was killed
    acknowledged.update(alive[0].rest())
    if "://" not in place:
        assert sum(one.ask("keeps") for one in alive) == 1  # one of them has taken over
    assert all(one.ask("count") >= len(acknowledged) for one in alive)
    for one in alive:
        one.end()
    with MemoryStore.open(place) as store:
        there = {memory.id for memory in store.iterate(scope=SCOPE)}
        assert acknowledged <= there and len(there) <= len(acknowledged) + 1  # one may have been written and not told


def _holder(lock: Path) -> int:
    """The process that holds a lock, as the system tells."""
    inode = str(lock.stat().st_ino)
    for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
        fields = line.split()
        if fields[1] == "FLOCK" and fields[5].rsplit(":", 1)[-1] == inode:
            return int(fields[4])
    raise AssertionError("nobody holds it")


@pytest.mark.slow
def test_commands_work_beside_an_app(place: str) -> None:
    with MemoryStore.open(place) as store:
        store.remember(Memory("The zeppelin landed in Riga", id="m1"))
        command = [sys.executable, "-c", "from recall_integrations.cli import main; main()"]

        def recall(*arguments: str) -> str:
            done = subprocess.run([*command, *arguments], capture_output=True, text=True, env=ENVIRONMENT, check=False)
            assert done.returncode == 0, done.stderr
            return done.stdout

        assert "zeppelin" in recall("search", place, "Where did the zeppelin land?")
        assert "1" in recall("stats", place)
        assert json.loads(recall("export", place, "-"))["id"] == "m1"
        recall("forget", place, "m1", "--yes")
        assert store.count() == 0
        assert not QueryOptimizer(store).recall("zeppelin").hits


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="workers share a socket")
def test_four_workers_share_one_memory(place: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", "from recall_integrations.cli import main; main()"]
    arguments = ["serve", place, "--port", "0", "--workers", "4", "--no-warm"]
    kept = tmp_path / "node"
    if "://" in place:
        arguments += ["--directory", str(kept)]
    pipe = subprocess.PIPE
    with subprocess.Popen([*command, *arguments], stdout=pipe, stderr=pipe, text=True, env=ENVIRONMENT) as server:
        try:
            assert server.stderr is not None
            said = server.stderr.readline()
            assert "4 workers" in said
            address = said.split(" at ")[1].split(",")[0]
            workers: set[int] = set()
            for i in range(60):  # new connections: whoever is free takes them
                given = {"memories": [{"text": f"Note {i} about quinces", "id": f"n{i}"}]}
                httpx.post(f"{address}/remember", json=given, timeout=60).raise_for_status()
                found = httpx.post(f"{address}/recall", json={"query": f"note {i} about quinces", "k": 3}, timeout=60)
                found.raise_for_status()
                assert f"n{i}" in [hit["id"] for hit in found.json()["hits"]], found.json()
            workers = _children(server.pid)
            assert len(workers) == 4
            os.kill(min(workers), signal.SIGKILL)
            until = time.monotonic() + 30
            while len(_children(server.pid) - workers) < 1 and time.monotonic() < until:
                time.sleep(0.1)
            assert len(_children(server.pid)) == 4  # another one was started
            httpx.get(f"{address}/health/live", timeout=60).raise_for_status()
            server.terminate()
            assert server.wait(60) == 0
            assert not _children(server.pid)
            assert not kept.exists() or {path.name for path in kept.iterdir()} == {f"worker-{n}" for n in range(4)}
            assert kept.exists() == ("://" in place)
        finally:
            server.kill()
    with MemoryStore.open(place) as store:
        assert store.count() == 60


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="workers share a socket")
def test_workers_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "from recall_integrations.cli import main; main()"]
    arguments = ["serve", str(tmp_path / "store"), "--port", "0", "--workers", "2"]
    with subprocess.Popen([*command, *arguments], stderr=subprocess.PIPE, text=True, env=ENVIRONMENT) as server:
        assert server.stderr is not None
        address = server.stderr.readline().split(" at ")[1].split(",")[0]
        httpx.get(f"{address}/health/live", timeout=60).raise_for_status()
        workers = _children(server.pid)
        assert len(workers) == 2
        server.kill()
    until = time.monotonic() + 30
    while any(map(_runs, workers)) and time.monotonic() < until:
        time.sleep(0.1)
    assert not any(map(_runs, workers))


@pytest.mark.slow
def test_workers_that_cannot_serve_are_not_started_for_ever(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no store")
    listener = start.listening("127.0.0.1", 0)
    said: list[str] = []
    with closing(listener):
        workers = Workers(["serve", "--", str(tmp_path / "file")], 2, listener, said=said.append)
        assert workers.run() is False
    assert "end as soon as they are started" in said[-1]


def _runs(pid: int) -> bool:
    """Whether a process is there and has not ended, whoever has to take notice of that."""
    try:
        return (
            Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[0] != "Z"
        )
    except OSError:
        return False


def _children(pid: int) -> set[int]:
    """Processes that this one has started, that run."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        if fields[1] == str(pid) and fields[0] != "Z":
            found.add(int(path.parent.name))
    return found
