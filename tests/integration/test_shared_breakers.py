"""States of breakers that nodes tell each other, over a real Redis; their clocks are an hour apart."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator

import pytest

from recall_integrations.resilience.breaker import Breaker, MemoryShelf, Pass
from recall_integrations.sharing.breakers import SharedShelf
from recall_integrations.sharing.shared import Shared
from tests.fake_redis import shared
from tests.redis_server import RedisServer, running

OPEN_S = 10.0


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


class Node:
    """A node with a clock of its own, which looks whenever it is asked."""

    def __init__(self, redis: RedisServer, skew: float, secret: bytes) -> None:
        self.now, ticks = 1_000_000.0 + skew, itertools.count(0, 10)
        self.shared: Shared = shared(redis.client(), secret=secret)
        clock: Callable[[], float] = lambda: self.now  # noqa: E731
        self._shelf = SharedShelf(
            MemoryShelf(), self.shared, {"rewrite"}, OPEN_S, clock=clock, timer=lambda: float(next(ticks))
        )
        self.breaker = self.of("rewrite:model")

    def of(self, name: str) -> Breaker:
        return Breaker(name, open_s=OPEN_S, clock=lambda: self.now, shelf=self._shelf)

    def enter(self) -> Pass | None:
        given = self.breaker.enter()
        self.shared.link.flush()
        return given

    def broken(self) -> None:
        for _ in range(3):
            given = self.enter()
            assert given is not None
            self.breaker.failed(given, "LlmError")
            self.shared.link.flush()


@pytest.fixture
def nodes(redis: RedisServer) -> tuple[Node, Node]:
    secret = os.urandom(32)  # what the last test left to be put there is another store's
    return Node(redis, 0.0, secret), Node(redis, 3_600.0, secret)


def after(nodes: tuple[Node, Node], seconds: float) -> None:
    for node in nodes:
        node.now += seconds


def test_what_is_open_on_one_is_open_on_the_other(nodes: tuple[Node, Node]) -> None:
    one, other = nodes
    one.broken()
    assert other.enter() is None
    assert other.breaker.state == "open"
    assert other.breaker.known.why == "LlmError"
    assert other.breaker.left_s == pytest.approx(one.breaker.left_s, abs=2)


def test_one_node_makes_the_trial_and_both_go_by_it(nodes: tuple[Node, Node]) -> None:
    one, other = nodes
    one.broken()
    assert other.enter() is None
    after(nodes, OPEN_S + 3)
    given = other.enter()
    assert given == Pass(trial=True)
    assert one.enter() is None
    assert given is not None
    other.breaker.succeeded(given)
    other.shared.link.flush()
    assert one.enter() == other.enter() == Pass()


def test_two_that_try_at_once_are_one(nodes: tuple[Node, Node]) -> None:
    one, other = nodes
    one.broken()
    other.enter()
    after(nodes, OPEN_S + 3)
    given = [node.breaker.enter() for node in nodes]  # before either has told the other
    assert sorted(each is None for each in given) == [False, True]


def test_a_trial_that_fails_keeps_both_away(nodes: tuple[Node, Node]) -> None:
    one, other = nodes
    one.broken()
    other.enter()
    after(nodes, OPEN_S + 3)
    given = one.enter()
    assert given is not None
    one.breaker.failed(given, "TimeoutError")
    one.shared.link.flush()
    assert other.enter() is None
    assert other.breaker.known.why == "TimeoutError"


def test_a_trial_that_nobody_waited_for_is_the_next_ones(nodes: tuple[Node, Node]) -> None:
    one, other = nodes
    one.broken()
    other.enter()
    after(nodes, OPEN_S + 3)
    given = one.enter()
    assert given is not None
    one.breaker.released(given)
    one.shared.link.flush()
    assert other.enter() == Pass(trial=True)


def test_what_is_a_nodes_own_is_not_told(nodes: tuple[Node, Node]) -> None:
    one, other = nodes
    mine, theirs = one.of("arm.lexical"), other.of("arm.lexical")
    for _ in range(3):
        given = mine.enter()
        assert given is not None
        mine.failed(given)
    one.shared.link.flush()
    assert mine.enter() is None
    assert theirs.enter() == Pass()


def test_without_redis_each_knows_its_own(redis: RedisServer, nodes: tuple[Node, Node]) -> None:
    one, other = nodes
    redis.kill()
    one.broken()
    assert one.enter() is None
    assert other.enter() == Pass()
    after(nodes, OPEN_S + 1)
    assert one.enter() == Pass(trial=True)


@pytest.mark.parametrize("value", [b"", b"x", b"1 2 ", b"1 x {}", b"1 2 " + b"0" * 40])
def test_what_is_damaged_is_not_believed(redis: RedisServer, nodes: tuple[Node, Node], value: bytes) -> None:
    one, other = nodes
    one.broken()
    client = redis.client()
    name = one.shared.sealing.key("breakers")  # of these nodes: what the last test left may be there as well
    assert client.hlen(name)
    for field in client.hkeys(name):
        if field != b"n":
            client.hset(name, field, value)
    assert other.enter() == Pass()
    assert 0 < client.pttl(name) <= (2 * OPEN_S + 60) * 1e3
