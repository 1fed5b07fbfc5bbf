"""The result cache of two nodes that share a Redis against optimizers without one: in whatever order they write and
ask, and whatever happens to Redis meanwhile, a node gives no answer that it would not have computed."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from recall_integrations import Memory, MemoryStore, QueryOptimizer, RecallConfig, Scope
from tests.property.test_result_cache_property import IDS, MODES, NAMES, NOON, QUESTIONS, SCOPES, TEXTS, asked, shown
from tests.quick import examples
from tests.redis_server import RedisServer, running

pytestmark = pytest.mark.server

NODES = st.sampled_from([0, 1])
_SERVER: list[RedisServer] = []


@pytest.fixture(scope="module", autouse=True)
def server() -> Iterator[None]:
    with running() as found:
        _SERVER.append(found)
        yield
        _SERVER.clear()


class Nodes(RuleBasedStateMachine):
    """Two nodes over one store. Of each one optimizer keeps answers and shares them, another computes them."""

    def __init__(self) -> None:
        super().__init__()
        redis = _SERVER[0]
        redis.client().flushall()
        shared = {"redis": redis.url, "timeout_ms": 5_000.0}
        given = RecallConfig.from_mapping({"mode": "cached", "shared": shared})
        self.path = tempfile.mkdtemp(prefix="recall-shared-")
        self.stores = [MemoryStore.open(Path(self.path) / "s") for _ in (0, 1)]
        self.cached = [QueryOptimizer(store, config=given) for store in self.stores]
        self.plain = [QueryOptimizer(store) for store in self.stores]
        for optimizer in self.cached:
            optimizer.flush()  # it is connected
        self.now = NOON
        self.last: tuple[str, dict[str, Any]] | None = None

    def teardown(self) -> None:
        for optimizer in self.cached:
            optimizer.flush()
            optimizer.close()
        for store in reversed(self.stores):
            store.close()
        shutil.rmtree(self.path, ignore_errors=True)

    @initialize()
    def fill(self) -> None:
        for scope in SCOPES[:2]:
            self.stores[0].remember_many(
                [Memory(t, type="fact", thread="t", metadata={"n": n < 3}) for n, t in enumerate(TEXTS)], scope=scope
            )

    @rule(node=NODES, scope=st.sampled_from(SCOPES), memory_id=st.sampled_from(IDS), text=st.sampled_from(TEXTS))
    def remember(self, node: int, scope: Scope, memory_id: str, text: str) -> None:
        self.stores[node].remember(Memory(text, id=memory_id, event_at=NOON, metadata={"n": 1}), scope=scope)

    @rule(node=NODES, scope=st.sampled_from(SCOPES), memory_id=st.sampled_from(IDS))
    def forget(self, node: int, scope: Scope, memory_id: str) -> None:
        self.stores[node].forget(memory_id, scope=scope)

    @rule(node=NODES, scope=st.sampled_from(SCOPES), name=st.sampled_from(NAMES))
    def add_entity(self, node: int, scope: Scope, name: str) -> None:
        self.stores[node].add_entity(name, scope=scope)

    @rule(seconds=st.sampled_from([1, 20, 40]))
    def go_on(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)

    @rule()
    def empty_redis(self) -> None:
        _SERVER[0].client().flushall()

    @rule(node=NODES, question=st.sampled_from(QUESTIONS), options=asked, published=st.booleans())
    def ask(self, node: int, question: str, options: dict[str, Any], published: bool) -> None:
        self.last = (question, options)
        self._ask(node, question, options, published=published)

    @precondition(lambda self: self.last is not None)
    @rule(node=NODES)
    def ask_again_on_both(self, node: int) -> None:
        assert self.last is not None
        for each in (node, 1 - node):
            self._ask(each, *self.last, published=True)

    @precondition(lambda self: self.last is not None)
    @rule(
        writer=NODES,
        node=NODES,
        memory_id=st.sampled_from(IDS),
        text=st.sampled_from(TEXTS),
        kind=st.sampled_from(["remember", "forget", "add_entity"]),
    )
    def ask_before_and_after_a_write(self, writer: int, node: int, memory_id: str, text: str, kind: str) -> None:
        assert self.last is not None
        question, options = self.last
        self._ask(node, question, options, published=False)
        if kind == "remember":
            self.remember(writer, options["scope"], memory_id, text)
        elif kind == "forget":
            self.forget(writer, options["scope"], memory_id)
        else:
            self.add_entity(writer, options["scope"], text.split(maxsplit=1)[0])
        for each in (1 - node, node):
            self._ask(each, question, options, published=True)

    @precondition(lambda self: self.last is not None)
    @rule(node=NODES)
    def ask_for_everybody(self, node: int) -> None:
        assert self.last is not None
        question, options = self.last
        for scope in SCOPES:
            for mode in MODES:
                self._ask(node, question, {**options, "scope": scope, "privacy": mode}, published=True)

    def _ask(self, node: int, query: str, options: dict[str, Any], *, published: bool) -> None:
        long: Any = {**options, "time_budget_ms": 60_000}
        found = self.cached[node].recall(query, now=self.now, **long)
        if published:
            self.cached[node].flush()
        moment = self.now
        if found.cache.hit:
            assert found.query.now is not None
            moment = found.query.now
            assert timedelta(0) <= self.now - moment <= timedelta(seconds=30)
        assert shown(found) == shown(self.plain[node].recall(query, now=moment, **long))


TestNodes = Nodes.TestCase
TestNodes.settings = settings(
    max_examples=examples(10), stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck)
)
