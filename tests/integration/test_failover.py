"""A streaming standby takes over from a primary that is killed: nodes that stayed open go on with what it has."""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import make_url

from recall_integrations import Memory, MemoryStore, QueryOptimizer, RecallResult, Scope
from recall_integrations.errors import StoreError
from recall_integrations.store import parts
from tests.postgres import Postgres, Standby, running, standby
from tests.proxy import Proxy, through

pytestmark = pytest.mark.server

SCOPE = Scope(user_id="u1")
QUESTION = "Who counted swans on the lake?"
SOCKET = ".s.PGSQL.5432"
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"


class Servers:
    """A primary that nodes reach by a proxy, and its standby.

    Args:
        primary: of which it is.
        replica: takes over.
        proxy: in front of them.
    """

    def __init__(self, primary: Postgres, replica: Standby, proxy: Proxy) -> None:
        self.primary, self.replica, self.proxy = primary, replica, proxy
        self.own = primary.fresh()
        self.url = through(self.own, proxy)

    def wait_for_the_replica(self) -> None:
        """From now on the primary acknowledges nothing that the standby has not on disk."""
        self.primary.run("ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()")
        until(lambda: self.said("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"))
        self.primary.run("CHECKPOINT")  # by the process that has to know of it before

    def said(self, statement: str) -> object:
        """What the primary says."""
        return Standby(Path(self.home), self.primary).say(statement)

    @property
    def home(self) -> str:
        """Where the primary has its socket."""
        where = make_url(self.own).query["host"]
        assert isinstance(where, str)
        return where

    def take_over(self) -> None:
        """The standby is the primary from now on, and the proxy leads to it."""
        self.promote()
        self.lead_to_the_replica()

    def promote(self) -> None:
        assert self.replica.say("SELECT pg_promote()")

    def lead_to_the_replica(self) -> None:
        self.proxy.lead_to(f"{self.replica.home}/{SOCKET}")


@pytest.fixture
def servers() -> Iterator[Servers]:
    with ExitStack() as opened:
        primary = opened.enter_context(running())
        if primary.server is None:
            pytest.skip("somebody else's server is not killed")
        primary.set_durable("on")
        replica = opened.enter_context(standby(primary))
        where = primary.url.query["host"]
        yield Servers(primary, replica, opened.enter_context(closing(Proxy(f"{where}/{SOCKET}"))))


@pytest.fixture
def two(servers: Servers) -> Iterator[tuple[MemoryStore, MemoryStore]]:
    with MemoryStore.open(servers.url) as store, MemoryStore.open(servers.url) as other:
        yield store, other


def until(said: Callable[[], object]) -> None:
    end = time.monotonic() + 60
    while not said():
        assert time.monotonic() < end, said
        time.sleep(0.02)


def found(store: MemoryStore) -> dict[str, str]:
    """Text by id of what a recall finds when the database is there."""
    optimizer = QueryOptimizer(store)
    for _ in range(500):
        result = optimizer.recall(QUESTION, scope=SCOPE, k=50)
        if not result.degraded:
            break
        time.sleep(0.02)
    assert not result.degraded, result.degraded
    return {hit.memory.id or "": hit.memory.text for hit in result.hits}


def in_memory(store: MemoryStore) -> list[str]:
    """Ids in the columns that recalls look at."""
    scope_id = store.scope_id(SCOPE)
    assert scope_id is not None
    view = store.view(scope_id)
    return sorted(view.ids[row] for row in np.flatnonzero(view.alive).tolist())


def agree(stores: tuple[MemoryStore, ...], wanted: Mapping[str, str]) -> None:
    """All nodes have these memories, and nothing else in what they look at."""
    for store in stores:
        assert found(store) == wanted
        assert in_memory(store) == sorted(wanted) and store.count(scope=SCOPE) == len(wanted)
        assert {memory.id: memory.text for memory in store.iterate(scope=SCOPE)} == wanted


def swans(name: str, count: int) -> list[Memory]:
    return [Memory(f"{name} counted {n} swans on the lake", id=f"{name}-{n}") for n in range(count)]


def texts(*given: list[Memory]) -> dict[str, str]:
    return {memory.id or "": memory.text for memory in itertools.chain(*given)}


def remember(store: MemoryStore, memory: Memory) -> None:
    """Once more at most."""
    try:
        store.remember(memory, scope=SCOPE)
    except StoreError:
        store.remember(memory, scope=SCOPE)


def test_nodes_go_on_with_the_replica_that_takes_over(
    servers: Servers, two: tuple[MemoryStore, MemoryStore], caplog: pytest.LogCaptureFixture
) -> None:
    store, other = two
    first, second = swans("Priya", 3), swans("Sam", 3)
    store.remember_many(first, scope=SCOPE)
    other.remember_many(second, scope=SCOPE)
    agree(two, texts(first, second))
    servers.replica.caught_up()
    servers.primary.kill()
    here = QueryOptimizer(store).recall(QUESTION, scope=SCOPE, k=50)  # all of it is in memory
    assert len(here.hits) == 6 and here.degraded[0].reason == "record.away", here.degraded
    with pytest.raises(StoreError, match="cannot be reached"):
        other.remember("Nobody takes it", scope=SCOPE)
    with caplog.at_level(logging.WARNING):
        servers.take_over()
        third, fourth = swans("Henrietta", 2), swans("Bob", 2)
        for one, more in zip(third, fourth, strict=True):
            remember(store, one)
            remember(other, more)
        store.forget("Priya-1", scope=SCOPE)
        wanted = texts([first[0], first[2]], second, third, fourth)
        agree(two, wanted)
    assert "does not go on" not in caplog.text  # it is the same history
    with MemoryStore.open(servers.url) as later:
        agree((later,), wanted)


def test_a_replica_that_is_waited_for_takes_over_under_load(
    servers: Servers, two: tuple[MemoryStore, MemoryStore]
) -> None:
    """What was acknowledged is there, once, though the primary was killed in the middle of many writes."""
    servers.wait_for_the_replica()
    taken_over, ended = threading.Event(), threading.Event()
    acknowledged: list[str] = []
    failed: list[StoreError] = []

    def write(node: MemoryStore, name: str) -> None:
        for n in itertools.count():
            if ended.is_set():
                return
            memory = Memory(f"{name} counted {n} swans on the lake", id=f"{name}-{n}")
            try:
                acknowledged.append(node.remember(memory, scope=SCOPE))
            except StoreError:
                taken_over.wait(60)
                try:
                    acknowledged.append(node.remember(memory, scope=SCOPE))
                except StoreError as e:
                    failed.append(e)
                    return

    nodes = [(node, f"t{place}") for place, node in enumerate([*two, *two])]
    threads = [threading.Thread(target=write, args=given) for given in nodes]
    for thread in threads:
        thread.start()
    try:
        until(lambda: len(acknowledged) >= 40)
        servers.primary.kill()
        servers.take_over()
        taken_over.set()
        before = len(acknowledged)
        until(lambda: len(acknowledged) >= before + 40 or failed)
    finally:
        taken_over.set()
        ended.set()
        for thread in threads:
            thread.join(60)
    assert not failed
    for node in two:
        there = [memory.id or "" for memory in node.iterate(scope=SCOPE)]
        assert sorted(there) == sorted(acknowledged) and len(set(there)) == len(there)
        assert found(node).keys() <= set(there) and in_memory(node) == sorted(there)


def test_a_replica_takes_over_that_never_got_the_last_writes(
    servers: Servers, two: tuple[MemoryStore, MemoryStore], caplog: pytest.LogCaptureFixture
) -> None:
    """Nodes forget what it has not, and give its numbers to what comes after it, and to nothing else."""
    store, other = two
    first, lost = swans("Priya", 3), swans("Sam", 3)
    store.remember_many(first, scope=SCOPE)
    servers.replica.caught_up()
    servers.replica.kill()  # to pause what it replays loses nothing: it replays what it got before it takes over
    store.remember_many(lost, scope=SCOPE)
    other.forget("Priya-1", scope=SCOPE)
    agree(two, texts([first[0], first[2]], lost))
    servers.primary.kill()
    servers.replica.start()
    with caplog.at_level(logging.WARNING):
        servers.take_over()
        # As many entries as were lost, before the other node looks: by their numbers nothing seems to have happened.
        new = [Memory(f"Henrietta counted {n} geese on the lake", id=f"Henrietta-{n}") for n in range(4)]
        for memory in new:
            remember(other, memory)
        agree(two, texts(first, new))
    assert caplog.text.count("does not go on from what was read of it") == 2
    assert store.get("Sam-0", scope=SCOPE) is None is other.get("Sam-0", scope=SCOPE)
    remember(store, lost[0])
    agree(two, texts(first, new, lost[:1]))


@contextmanager
def a_write_that_is_lost(servers: Servers, store: MemoryStore, other: MemoryStore) -> Iterator[list[object]]:
    """Others see what a node writes, no standby has it, and the machine of the primary goes before it is acknowledged.

    At the end of the block another server answers; what comes of the write is in the list then.
    """
    servers.wait_for_the_replica()
    servers.replica.caught_up()
    servers.replica.kill()
    came: list[object] = []

    def write() -> None:
        try:
            came.append(store.remember(Memory("Sam counted 0 swans on the lake", id="Sam-0"), scope=SCOPE))
        except StoreError as e:
            came.append(e)

    thread = threading.Thread(target=write)
    thread.start()
    until(lambda: servers.said(WAITING))
    assert "Sam-0" in found(other) and not came
    servers.proxy.swallows = True  # the cable is cut at the same moment: the node waits for an answer yet
    servers.primary.kill()
    servers.replica.start()
    servers.promote()
    servers.lead_to_the_replica()
    yield came
    thread.join(60)
    assert not thread.is_alive()


def test_recalls_go_on_while_a_write_waits_for_a_replica_that_is_away(
    servers: Servers, two: tuple[MemoryStore, MemoryStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those of the node that writes: they find what is known, and say that others may have written more."""
    monkeypatch.setattr(parts, "LOOK_MAX_S", 0.5)
    store, _ = two
    first, second = swans("Priya", 2), swans("Sam", 1)
    store.remember_many(first, scope=SCOPE)
    agree(two, texts(first))
    servers.wait_for_the_replica()
    servers.replica.caught_up()
    servers.replica.kill()
    write = threading.Thread(target=store.remember, args=(second[0],), kwargs={"scope": SCOPE})
    write.start()
    until(lambda: servers.said(WAITING))
    answers: list[RecallResult] = []
    asked = threading.Thread(target=lambda: answers.append(QueryOptimizer(store).recall(QUESTION, scope=SCOPE, k=50)))
    asked.start()
    asked.join(60)
    assert not asked.is_alive() and write.is_alive()
    assert texts(first).keys() <= {hit.memory.id for hit in answers[0].hits}
    (said,) = answers[0].degraded
    assert said.reason == "record.away" and "waits for a standby" in said.detail
    servers.replica.start()
    write.join(60)
    assert not write.is_alive()
    agree(two, texts(first, second))
    assert not QueryOptimizer(store).recall(QUESTION, scope=SCOPE).degraded


def test_what_the_replica_had_not_got_is_written_once_more(
    servers: Servers, two: tuple[MemoryStore, MemoryStore]
) -> None:
    """It is acknowledged when the server that took over has it, and not because that one has nothing to wait for."""
    store, other = two
    first = swans("Priya", 2)
    store.remember_many(first, scope=SCOPE)
    agree(two, texts(first))
    with a_write_that_is_lost(servers, store, other) as came:
        pass
    assert came == ["Sam-0"]
    agree(two, texts(first, swans("Sam", 1)))


def test_its_number_is_given_to_another_memory(
    servers: Servers, two: tuple[MemoryStore, MemoryStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also the node that wrote it forgets it, where it is not written once more."""
    store, other = two
    first = swans("Priya", 2)
    store.remember_many(first, scope=SCOPE)
    agree(two, texts(first))
    monkeypatch.setattr(parts, "tried_again", lambda write, **_: write())
    with a_write_that_is_lost(servers, store, other) as came:
        pass
    assert [type(one) for one in came] == [StoreError]
    monkeypatch.undo()
    assert found(store) == texts(first)  # as far as it believes to have written
    new = [Memory("Henrietta counted 7 geese on the lake", id="Henrietta-0")]
    remember(other, new[0])
    agree(two, texts(first, new))


@pytest.mark.parametrize("asked", [{}, {"target_session_attrs": "read-write"}])
def test_an_address_that_leads_to_a_replica_too_early(servers: Servers, asked: dict[str, str]) -> None:
    url = make_url(servers.url).update_query_dict(asked).render_as_string(hide_password=False)
    first, more = swans("Priya", 3), swans("Sam", 2)
    with MemoryStore.open(url) as store, MemoryStore.open(url) as other:
        store.remember_many(first, scope=SCOPE)
        agree((store, other), texts(first))
        servers.replica.caught_up()
        servers.primary.kill()
        servers.lead_to_the_replica()
        result = QueryOptimizer(store).recall(QUESTION, scope=SCOPE, k=50)
        assert {hit.memory.id for hit in result.hits} == texts(first).keys()
        with pytest.raises(StoreError, match="cannot be reached" if asked else "takes no writes: it is a replica"):
            other.remember("Nobody takes it", scope=SCOPE)
        servers.promote()
        for node, memory in zip((store, other), more, strict=True):
            remember(node, memory)
        agree((store, other), texts(first, more))


@pytest.mark.parametrize("form", ["host twice", "commas"])
def test_several_hosts_in_the_address(servers: Servers, form: str) -> None:
    """The one that takes writes is found, whatever the order, and with no proxy."""
    hosts = [str(servers.replica.home), servers.home]
    host: str | list[str] = hosts if form == "host twice" else ",".join(hosts)
    asked: dict[str, str | list[str]] = {"host": host, "target_session_attrs": "read-write"}
    url = make_url(servers.own).update_query_dict(asked).render_as_string(hide_password=False)
    first, more = swans("Priya", 3), swans("Sam", 2)
    servers.replica.caught_up()
    with MemoryStore.open(url) as store, MemoryStore.open(url) as other:
        store.remember_many(first, scope=SCOPE)
        agree((store, other), texts(first))
        servers.replica.caught_up()
        servers.primary.kill()
        servers.promote()
        for node, memory in zip((store, other), more, strict=True):
            remember(node, memory)
        agree((store, other), texts(first, more))
