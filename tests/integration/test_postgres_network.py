"""Two servers over one PostgreSQL of which one is killed under load, and a network that is cut between them and it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from recall_integrations import Memory, MemoryStore, QueryOptimizer, Scope
from recall_integrations.errors import StoreError
from tests.postgres import Postgres
from tests.proxy import Proxy, through

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
COMMAND = [sys.executable, "-c", "from recall_integrations.cli import main; main()"]
SCOPE = Scope(user_id="u1")
pytestmark = pytest.mark.slow


@pytest.fixture
def proxy(postgres: Postgres) -> Iterator[Proxy]:
    where = postgres.url.query.get("host")
    if not isinstance(where, str) or not where.startswith("/"):
        pytest.skip("the server has no socket here")
    with closing(Proxy(f"{where}/.s.PGSQL.{postgres.url.port or 5432}")) as made:
        yield made


def test_a_network_that_is_cut_and_comes_back(postgres_url: str, proxy: Proxy) -> None:
    with MemoryStore.open(postgres_url) as near, MemoryStore.open(through(postgres_url, proxy)) as far:
        far.remember(Memory("Priya counted the swans", id="m1"), scope=SCOPE)
        optimizer = QueryOptimizer(far)
        assert [hit.memory.id for hit in optimizer.recall("Who counted swans?", scope=SCOPE)] == ["m1"]
        proxy.cut()
        near.remember(Memory("Sam counted swans, too", id="m2"), scope=SCOPE)
        here = optimizer.recall("Who counted swans?", scope=SCOPE)
        assert [hit.memory.id for hit in here] == ["m1"] and here.degraded[0].reason == "record.away"
        with pytest.raises(StoreError, match="cannot be reached"):
            far.remember(Memory("Henrietta counted none", id="m3"), scope=SCOPE)
        proxy.refuses = False
        until = time.monotonic() + 20
        while optimizer.recall("Who counted swans?", scope=SCOPE).degraded and time.monotonic() < until:
            time.sleep(0.05)
        assert {hit.memory.id for hit in optimizer.recall("Who counted swans?", scope=SCOPE)} == {"m1", "m2"}
        far.remember(Memory("Henrietta counted none", id="m3"), scope=SCOPE)
        assert near.count(scope=SCOPE) == far.count(scope=SCOPE) == 3


def test_a_server_that_hangs_holds_no_recall(postgres_url: str, proxy: Proxy) -> None:
    far = MemoryStore.open(through(postgres_url, proxy))
    far.remember(Memory("Priya counted the swans", id="m1"), scope=SCOPE)
    optimizer = QueryOptimizer(far)

    def asked() -> tuple[list[str], float]:
        began = time.monotonic()
        result = optimizer.recall("Who counted swans?", scope=SCOPE, time_budget_ms=1_000)
        return [one.reason for one in result.degraded], time.monotonic() - began

    assert asked()[0] == []
    proxy.swallows = True
    reasons, seconds = asked()
    assert "record.away" in reasons and seconds < 10, (reasons, seconds)
    reasons, seconds = asked()  # it is known now
    assert "record.away" in reasons and seconds < 2, (reasons, seconds)
    proxy.swallows = False
    until = time.monotonic() + 30
    while asked()[0] and time.monotonic() < until:
        time.sleep(0.1)
    assert asked()[0] == []
    proxy.swallows = True
    began = time.monotonic()
    far.close()
    assert time.monotonic() - began < 30


def serving(url: str) -> tuple[subprocess.Popen[str], str]:
    arguments = ["serve", url, "--port", "0", "--no-warm"]
    server = subprocess.Popen([*COMMAND, *arguments], stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
    assert server.stderr is not None
    for line in server.stderr:
        if " at http" in line:
            threading.Thread(target=server.stderr.read, daemon=True).start()
            return server, line.split(" at ")[1].split(",")[0].split()[0]
    raise AssertionError("it does not serve")


class Caller(threading.Thread):
    """Writes and asks at one address, and once more at the other where that fails."""

    def __init__(self, name: str, addresses: list[str]) -> None:
        super().__init__(name=name)
        self.addresses, self.acknowledged, self.failed = addresses, [], []
        self.retries = 0
        self.stopped = threading.Event()

    def run(self) -> None:
        number = 0
        while not self.stopped.is_set():
            note = f"{self.name} counted {number} swans on the lake"
            number += 1
            if self.post("/remember", {"memories": [{"text": note, "id": f"{self.name}-{number}"}]}) is not None:
                self.acknowledged.append(f"{self.name}-{number}")
            found = self.post("/recall", {"query": note, "k": 3})
            if found is not None and f"{self.name}-{number}" not in [hit["id"] for hit in found["hits"]]:
                self.failed.append(f"{note} was not found")

    def post(self, path: str, body: dict[str, object]) -> dict[str, list[dict[str, str]]] | None:
        first, second = self.addresses
        try:
            return self.answer(first + path, body)
        except httpx.HTTPError:
            self.retries += 1
        try:
            return self.answer(second + path, body)
        except httpx.HTTPError as e:
            self.failed.append(f"{path} at {second}: {e!r}")
            return None

    @staticmethod
    def answer(url: str, body: dict[str, object]) -> dict[str, list[dict[str, str]]]:
        answer = httpx.post(url, json=body, timeout=60)
        answer.raise_for_status()
        return dict(answer.json())


def test_one_of_two_servers_is_killed_under_load(postgres_url: str) -> None:
    servers = [serving(postgres_url) for _ in range(2)]
    one, other = (address for _, address in servers)
    callers = [Caller("Priya", [one, other]), Caller("Sam", [other, one])]
    try:
        for caller in callers:
            caller.start()
        until = time.monotonic() + 30
        while min(len(caller.acknowledged) for caller in callers) < 10 and time.monotonic() < until:
            time.sleep(0.05)
        servers[0][0].send_signal(signal.SIGKILL)
        had = [len(caller.acknowledged) for caller in callers]
        until = time.monotonic() + 30
        while any(len(c.acknowledged) < n + 10 for c, n in zip(callers, had, strict=True)) and time.monotonic() < until:
            time.sleep(0.05)
    finally:
        for caller in callers:
            caller.stopped.set()
        for caller in callers:
            caller.join(60)
        for server, _ in servers:
            server.kill()
            server.wait(30)
    assert [caller.failed for caller in callers] == [[], []]
    assert callers[0].retries and all(n >= 10 for n in had)
    with MemoryStore.open(postgres_url) as store:
        there = {memory.id for memory in store.iterate()}
    assert {memory_id for caller in callers for memory_id in caller.acknowledged} <= there
