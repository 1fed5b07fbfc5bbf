"""What nodes share through a Redis: a real server that is killed, hung, emptied and lied to costs speed alone."""

from __future__ import annotations

import functools
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from recall_integrations import Memory, MemoryStore, QueryOptimizer, RecallConfig, RecallResult, Scope
from recall_integrations.resilience.breaker import BREAKERS_FILE
from recall_integrations.resilience.shared_file import CACHE_FILE, CONTRACT_FILE
from tests.redis_server import RedisServer, running

NOW = datetime(2026, 6, 17, 12, tzinfo=timezone.utc)
SCOPE, OTHER = Scope(user_id="u1"), Scope(user_id="u2")
QUERY = "what did Priya say about the launch?"
TIMEOUT_MS = 2_000.0  # of a machine on which tests run beside each other


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with running() as found:
        yield found


@pytest.fixture
def redis(server: RedisServer) -> RedisServer:
    if server.process is None:
        server.start()
    server.client().flushall()
    return server


def config(redis: RedisServer, timeout_ms: float = TIMEOUT_MS, **more: Any) -> RecallConfig:
    shared = {"redis": redis.url, "timeout_ms": timeout_ms}
    return RecallConfig.from_mapping({"mode": "cached", "shared": shared, **more})


def connected(optimizer: QueryOptimizer) -> QueryOptimizer:
    """It asks Redis from its first recall on."""
    optimizer.flush()
    return optimizer


class Nodes:
    """Two nodes: each opens the directory by itself and has an optimizer of its own."""

    def __init__(self, path: Path, given: RecallConfig, **more: Any) -> None:
        self.path = path
        self.stores = [MemoryStore.open(path), MemoryStore.open(path)]
        self.optimizers = [connected(QueryOptimizer(store, config=given, **more)) for store in self.stores]

    def recall(self, node: int, query: str = QUERY, scope: Scope = SCOPE, **more: Any) -> RecallResult:
        given: Any = {"k": 3, "now": NOW, "time_budget_ms": 60_000, **more}
        found = self.optimizers[node].recall(query, scope=scope, **given)
        self.optimizers[node].flush()
        return found

    def settled(self) -> None:
        """Until the vocabulary of the scope has been read, which large scopes wait for."""
        for node in (0, 1):
            self.recall(node, "tea")

    def close(self) -> None:
        for optimizer in self.optimizers:
            optimizer.close()
        for store in reversed(self.stores):
            store.close()


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as held:
        yield held


@pytest.fixture
def nodes(tmp_path: Path, redis: RedisServer, stack: ExitStack) -> Nodes:
    made = Nodes(tmp_path / "store", config(redis))
    stack.callback(made.close)
    made.stores[0].remember_many(
        [Memory("Priya said that the launch moved to June", id="m1", metadata={"n": 1.5, "tags": ["a", None]}),
         Memory("Sam drinks tea", id="m2"), Memory("Henrietta waters the garden", id="m3")],
        scope=SCOPE,
    )  # fmt: skip
    return made


def same(one: RecallResult, other: RecallResult) -> bool:
    bare = [replace(r, cache=one.cache, timings_ms={}, id="") for r in (one, other)]
    reasons = [[(h.reason, h.contributions, h.highlights) for h in r.hits] for r in bare]
    return bare[0] == bare[1] and reasons[0] == reasons[1]


def test_what_one_node_computed_the_other_is_given(nodes: Nodes) -> None:
    first, second = nodes.recall(0), nodes.recall(1)
    assert (first.cache.reason, second.cache.reason) == ("kept", "shared")
    assert same(first, second)
    assert second.cache.age_ms < 30_000
    assert nodes.recall(1).cache.reason == "same"  # it is its own now
    assert nodes.recall(1, QUERY.upper()).hits == nodes.recall(0, QUERY.upper()).hits


def test_a_write_on_any_node_is_in_every_answer_from_then_on(nodes: Nodes) -> None:
    for writer, node in ((0, 1), (1, 0), (0, 0), (1, 1)):
        for each in (0, 1):
            nodes.recall(each)
        memory_id = nodes.stores[writer].remember(Memory(f"Priya said: {writer}{node}"), scope=SCOPE)
        found = nodes.recall(node, k=9)
        assert memory_id in {hit.memory.id for hit in found.hits}
        nodes.recall(1 - node, k=9)
        nodes.stores[node].forget(memory_id, scope=SCOPE)
        found = nodes.recall(1 - node, k=9)
        assert memory_id not in {hit.memory.id for hit in found.hits}


def test_an_answer_of_before_the_end_of_a_memory_is_none_after_it(tmp_path: Path, redis: RedisServer) -> None:
    moment = [NOW]
    stores = [MemoryStore.open(tmp_path / "s", clock=lambda: moment[0]) for _ in (0, 1)]
    optimizers = [connected(QueryOptimizer(store, config=config(redis))) for store in stores]
    stores[0].remember(Memory("Priya is at the launch", expires_at=NOW + timedelta(seconds=5)), scope=SCOPE)
    assert optimizers[0].recall(QUERY, scope=SCOPE, now=NOW).hits
    optimizers[0].flush()
    assert optimizers[1].recall(QUERY, scope=SCOPE, now=NOW).cache.reason == "shared"
    moment[0] += timedelta(seconds=6)
    for optimizer in (optimizers[1], optimizers[1], *optimizers):  # what the other put there is still there for it
        assert not optimizer.recall(QUERY, scope=SCOPE, now=NOW + timedelta(seconds=6)).hits
    for store in reversed(stores):
        store.close()


def test_scopes_and_stores_have_nothing_in_common(nodes: Nodes, redis: RedisServer, tmp_path: Path) -> None:
    nodes.recall(0)
    nodes.stores[0].remember(Memory("Priya said nothing", id="o1"), scope=OTHER)
    assert [hit.memory.id for hit in nodes.recall(1, scope=OTHER).hits] == ["o1"]
    with MemoryStore.open(tmp_path / "another") as store:
        store.remember(Memory("Priya is elsewhere", id="e1"), scope=SCOPE)
        assert QueryOptimizer(store, config=config(redis)).recall(QUERY, scope=SCOPE, now=NOW).cache.reason == "kept"


def test_every_key_expires_and_says_nothing(nodes: Nodes, redis: RedisServer) -> None:
    nodes.recall(0)
    client = redis.client()
    keys = client.keys()
    assert len(keys) >= 2
    for key in keys:
        assert 0 < client.pttl(key) <= 30_000
        assert key.decode().startswith("recall:result")
        assert not {"Priya", "u1", "launch"} & set(key.decode().split(":"))


@pytest.mark.parametrize("mode", ["redact", "block"])
def test_what_a_mode_withholds_is_not_there(nodes: Nodes, redis: RedisServer, mode: str) -> None:
    secret = "+1 415 555 2671"
    nodes.stores[0].remember(Memory(f"Priya has {secret}", id="s", actor="priya@example.com"), scope=SCOPE)
    nodes.recall(0, f"who has {secret}?", privacy=mode)
    shared = nodes.recall(1, f"who has {secret}?", privacy=mode)
    assert shared.cache.reason == "shared"
    client = redis.client()
    held = b" ".join(client.get(key) for key in client.keys("recall:result:*"))
    assert held
    # Longer parts than a digest or a score may hold by chance.
    assert not [word for word in ("415 555", "555 2671", "4155552671", "priya@example.com") if word.encode() in held]
    assert mode == "redact" or b"Priya" not in held


def test_what_is_forgotten_is_removed_a_moment_later(nodes: Nodes, redis: RedisServer) -> None:
    nodes.recall(0)
    nodes.recall(1)
    nodes.stores[0].forget("m1", scope=SCOPE)
    nodes.optimizers[0].flush()
    assert redis.client().keys() == []


@pytest.mark.parametrize("value", [b"", b"nonsense", b"\0" * 500, None])
def test_what_is_damaged_is_as_if_it_were_not_there(nodes: Nodes, redis: RedisServer, value: bytes | None) -> None:
    nodes.recall(0)
    client = redis.client()
    for key in client.keys("recall:result:*"):
        held = client.get(key)
        client.set(key, held[:-1] + bytes([held[-1] ^ 1]) if value is None else value, px=10_000)
    assert nodes.recall(1).cache.reason == "kept"


def test_one_of_another_kind_under_our_name_costs_a_pause(nodes: Nodes, redis: RedisServer) -> None:
    nodes.recall(0)
    client = redis.client()
    for key in client.keys("recall:result:*"):
        client.delete(key)
        client.rpush(key, "a")
    assert nodes.recall(1).hits


def test_a_server_that_is_emptied_is_filled_again(nodes: Nodes, redis: RedisServer) -> None:
    nodes.recall(0)
    redis.client().flushall()
    assert nodes.recall(1).cache.reason == "kept"
    assert redis.client().keys("recall:result:*")


def test_a_server_that_is_killed_costs_no_answer(
    nodes: Nodes, redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    whole = nodes.recall(0)
    redis.kill()
    with caplog.at_level(logging.WARNING, "recall_integrations"):
        for n in range(5):
            assert nodes.recall(1, f"{QUERY} {n}").hits
    assert len([r for r in caplog.records if "cannot be used" in r.getMessage()]) == 1
    assert nodes.recall(1).hits == whole.hits
    redis.start()
    again = Nodes(nodes.path, config(redis))  # nobody waits for the pause to end
    try:
        assert (again.recall(0).cache.reason, again.recall(1).cache.reason) == ("kept", "shared")
    finally:
        again.close()


@pytest.mark.slow
def test_one_that_was_away_is_found_again(nodes: Nodes, redis: RedisServer) -> None:
    nodes.recall(0)
    redis.kill()
    nodes.recall(1, "what about tea?")
    nodes.recall(0, "what about the garden?")
    redis.start()
    time.sleep(2.5)
    nodes.recall(0, "who drinks tea?")
    assert nodes.recall(1, "who drinks tea?").cache.reason == "shared"


def test_a_server_that_hangs_costs_its_time_once(tmp_path: Path, redis: RedisServer, stack: ExitStack) -> None:
    nodes = Nodes(tmp_path / "store", config(redis, timeout_ms=300))
    stack.callback(nodes.close)
    nodes.stores[0].remember(Memory("Priya said that the launch moved"), scope=SCOPE)
    nodes.recall(0)
    nodes.recall(1)
    redis.hang()
    try:
        took = []
        for n in range(10):
            began = time.perf_counter()
            assert nodes.optimizers[0].recall(f"{QUERY} {n}", scope=SCOPE, now=NOW).hits
            took.append(time.perf_counter() - began)
        assert sum(one > 0.29 for one in took) <= 1
    finally:
        redis.go_on()


def test_a_wrong_password_costs_nothing_and_is_not_said(
    nodes: Nodes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with running(password="the-right-one") as guarded, MemoryStore.open(tmp_path / "other") as store:
        store.remember("Priya said that the launch moved", scope=SCOPE)
        url = guarded.url.replace("the-right-one", "s3cret-word")
        given = RecallConfig.from_mapping({"mode": "cached", "shared": {"redis": url, "timeout_ms": TIMEOUT_MS}})
        with caplog.at_level(logging.DEBUG):
            optimizer = QueryOptimizer(store, config=given)
            assert optimizer.recall(QUERY, scope=SCOPE).hits
            optimizer.flush()
        said = " ".join([*(r.getMessage() for r in caplog.records), repr(optimizer.health()), repr(optimizer.config)])
        assert "AuthenticationError" in said or "ResponseError" in said
        assert "s3cret-word" not in said
        right = RecallConfig.from_mapping(
            {"mode": "cached", "shared": {"redis": guarded.url, "timeout_ms": TIMEOUT_MS}}
        )
        ones = [connected(QueryOptimizer(store, config=right)) for _ in (0, 1)]
        for one in ones:
            last = one.recall(QUERY, scope=SCOPE, now=NOW)
            one.flush()
        assert last.cache.reason == "shared"


def test_clocks_of_nodes_need_not_agree(tmp_path: Path, redis: RedisServer) -> None:
    """A node whose clock is a minute ahead is given nothing that is too old by its own, and one behind nothing of
    later; both are given what is right."""
    with MemoryStore.open(tmp_path / "s") as store:
        store.remember("Priya said that the launch moved", scope=SCOPE)
        for skew in (-3_600, -60, -1, 20, 60, 3_600):
            redis.client().flushall()
            early, late = (
                connected(QueryOptimizer(store, config=config(redis), clock=functools.partial(_as_it_is, moment)))
                for moment in (NOW, NOW + timedelta(seconds=skew))
            )
            early.recall(QUERY, scope=SCOPE)
            early.flush()
            found = late.recall(QUERY, scope=SCOPE)
            near = 0 <= skew <= 30
            assert found.cache.reason == ("shared" if near else "kept")
            assert found.query.now == (NOW if near else NOW + timedelta(seconds=skew))
            late.flush()  # what it puts there is put before the next ones begin


def _as_it_is(moment: datetime) -> datetime:
    return moment


@pytest.mark.slow
def test_nothing_acknowledged_is_missing_from_an_answer_that_is_given_again(nodes: Nodes) -> None:
    """Both nodes write and ask as fast as they can; what a write has returned is in every later answer.

    Threads that all begin with a write compute beside each other, and none is given what another computed. So two of
    them ask less often, writing pauses for longer than a recall takes, and it goes on until an answer was shared.
    """
    acknowledged, found, began = [0], [], time.monotonic()

    def going() -> bool:
        passed = time.monotonic() - began
        return passed < 6 or (passed < 50 and not any(reason == "shared" for reason, _, _ in found))

    def write() -> None:
        n = 0
        while going():
            n += 1
            nodes.stores[n % 2].remember(Memory(f"Priya said {n}", id="v", metadata={"n": n}), scope=OTHER)
            acknowledged[0] = n
            time.sleep((0, 0.002, 0.02, 0.1, 0, 0.002, 0.02, 0.5)[n % 8])

    def ask(optimizer: QueryOptimizer, pause_s: float) -> None:
        while going():
            time.sleep(pause_s)
            least = acknowledged[0]
            result = optimizer.recall("what did Priya say?", scope=OTHER, now=NOW, k=1, time_budget_ms=60_000)
            if result.cache.hit:
                found.append((result.cache.reason, least, result.hits[0].memory.metadata["n"] if result.hits else -1))

    given = config_of(nodes)
    asking = [*nodes.optimizers, *(connected(QueryOptimizer(store, config=given)) for store in nodes.stores)]
    nodes.stores[0].remember(Memory("Priya said 0", id="v", metadata={"n": 0}), scope=OTHER)
    rhythms = zip(asking, (0, 0, 0.03, 0.15), strict=True)
    threads = [threading.Thread(target=write), *(threading.Thread(target=ask, args=one) for one in rhythms)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [one for one in found if one[2] < one[1]] == []
    assert "shared" in {reason for reason, _, _ in found}


def config_of(nodes: Nodes) -> RecallConfig:
    return nodes.optimizers[0].config


CHILD = """
import sys
from datetime import datetime, timezone
from recall_integrations import *
store = MemoryStore.open(sys.argv[1])
given = {"mode": "cached", "cache": {"ttl_seconds": 600}, "shared": {"redis": sys.argv[2], "timeout_ms": 5000}}
given["limits"] = {"time_budget_ms": 60_000, "rerank_budget_ms": 60_000}
optimizer = QueryOptimizer(store, config=RecallConfig.from_mapping(given))
optimizer.flush()  # it is connected
for _ in range(50):
    now = datetime(2026, 6, 17, 12, tzinfo=timezone.utc)
    found = optimizer.recall(sys.argv[3], scope=Scope(user_id="u1"), k=3, now=now, time_budget_ms=60_000)
    if found.cache.reason == "shared": break
print(found.cache.reason, [hit.memory.id for hit in found.hits])
store.close()
"""


@pytest.mark.slow
def test_two_processes(nodes: Nodes, redis: RedisServer, stack: ExitStack) -> None:
    """The second begins while the first one's answer may be given: where machines are busy that takes half a minute."""
    limits = {"time_budget_ms": 60_000, "rerank_budget_ms": 60_000}  # as above: what they share, they share by settings
    lasting = config(redis, cache={"ttl_seconds": 600}, limits=limits)
    first = connected(QueryOptimizer(nodes.stores[0], config=lasting))
    stack.callback(first.close)
    whole = first.recall(QUERY, scope=SCOPE, k=3, now=NOW, time_budget_ms=60_000)
    first.flush()
    said = [sys.executable, "-c", CHILD, str(nodes.stores[0].path), redis.url, QUERY]
    done = subprocess.run(said, capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.split(maxsplit=1) == ["shared", f"{[hit.memory.id for hit in whole.hits]}\n"]


# -- phrasings, rates, breakers --------------------------------------------------------------------------------------

ASKING: dict[str, Any] = {"rewriting": {"ask": "vague"}, "mode": "rule"}
VAGUE = "that thing about where all of our data goes to"


def apart(path: Path) -> None:
    """Nodes have no file in common: what they have of each other comes by Redis."""
    for name in (BREAKERS_FILE, CACHE_FILE, CONTRACT_FILE):
        (path / name).unlink(missing_ok=True)


class Model:
    """A language model that counts how often it is asked."""

    def __init__(self) -> None:
        self.calls, self.fails, self.wait = 0, False, threading.Event()
        self.wait.set()
        self.model, self.base_url = "fake-model", "http://127.0.0.1:1"

    def __call__(self, _prompt: str) -> str:
        self.calls += 1
        self.wait.wait(10)
        if self.fails:
            raise RuntimeError("no answer")
        return "the database backend where data goes\nwhere is the data stored"


def two(tmp_path: Path, redis: RedisServer, model: Model, stack: ExitStack, **more: Any) -> list[QueryOptimizer]:
    """Optimizers of two nodes over one store, each with its own directory for what it derives."""
    given = config(redis, **{**ASKING, **more})
    store = stack.enter_context(MemoryStore.open(tmp_path / "s"))
    store.remember_many([Memory("We took Postgres as the database backend for data"), Memory("Tea is ready")])
    made = [connected(QueryOptimizer(store, llm=model, config=given)) for _ in (0, 1)]
    for one in made:
        stack.callback(one.close)
    return made


def test_phrasings_that_one_node_was_told_another_uses(tmp_path: Path, redis: RedisServer, stack: ExitStack) -> None:
    model = Model()
    one, other = two(tmp_path, redis, model, stack)
    assert one.recall(VAGUE, time_budget_ms=60_000).rewrite.reason == "success"
    apart(one.store.path)
    found = other.recall(VAGUE, time_budget_ms=60_000)
    assert (found.rewrite.strategy, found.rewrite.reason) == ("cache", "cache_hit")
    assert model.calls == 1


def test_two_nodes_that_ask_the_same_at_once_ask_once(tmp_path: Path, redis: RedisServer, stack: ExitStack) -> None:
    model = Model()
    both = two(tmp_path, redis, model, stack)
    model.wait.clear()
    found: list[RecallResult] = []
    threads = [
        threading.Thread(target=lambda one: found.append(one.recall(VAGUE, time_budget_ms=60_000)), args=(one,))
        for one in both
    ]
    for thread in threads:
        thread.start()
    time.sleep(0.3)
    model.wait.set()
    for thread in threads:
        thread.join(30)
    assert {result.rewrite.reason for result in found} == {"success"}
    assert model.calls == 1


def test_a_breaker_that_opens_on_one_node_is_open_on_the_other(
    tmp_path: Path, redis: RedisServer, stack: ExitStack
) -> None:
    model = Model()
    model.fails = True
    one, other = two(tmp_path, redis, model, stack, breakers={"open_s": 2.0})
    for n in range(3):
        one.recall(f"{VAGUE} {n}", time_budget_ms=60_000)
    assert model.calls == 3
    one.flush()
    apart(one.store.path)
    assert other.recall(VAGUE, time_budget_ms=60_000).rewrite.reason == "circuit_open"
    assert model.calls == 3


def test_servers_count_together_and_each_by_itself_without_redis(
    tmp_path: Path, redis: RedisServer, stack: ExitStack
) -> None:
    from starlette.testclient import TestClient

    from recall_integrations.serving.app import create_app
    from recall_integrations.serving.limits import Limits
    from recall_integrations.serving.served import Served

    store = stack.enter_context(MemoryStore.open(tmp_path / "s"))
    store.remember("Tea is ready")
    optimizers = [connected(QueryOptimizer(store, config=config(redis))) for _ in (0, 1)]
    servers = [Served(store=store, optimizer=one, limits=Limits(rate=2)) for one in optimizers]
    clients = [TestClient(create_app(served), base_url="http://localhost") for served in servers]
    said = [client.get("/health/live").status_code for _ in range(4) for client in clients]
    assert 4 <= said.count(200) <= 6
    assert 429 in said
    redis.kill()
    said = [client.get("/health/live").status_code for client in clients]
    assert set(said) <= {200, 429}
