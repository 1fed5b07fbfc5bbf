"""Recalls that are answered by streaming replicas: never older than what was acknowledged, whatever a replica does."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import event

from recall_integrations import Memory, MemoryStore, PostgresConfig, QueryOptimizer, RecallConfig, Scope
from recall_integrations.database.replicas import Replica
from recall_integrations.observability.metrics import Metrics
from tests.postgres import Postgres, Standby, running, standby

SCOPE, SAM = Scope(user_id="u1"), Scope(user_id="sam")
QUESTION = "Who counted swans on the lake?"
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def primary() -> Iterator[Postgres]:
    """A server that no other test uses."""
    with running() as server:
        yield server


@pytest.fixture(scope="module")
def replica(primary: Postgres) -> Iterator[Standby]:
    with standby(primary) as made:
        yield made


@pytest.fixture
def url(primary: Postgres, replica: Standby) -> Iterator[str]:
    made = primary.fresh()
    yield made
    replica.resume()
    primary.drop(made)


def settings(*replicas: str, **more: float) -> RecallConfig:
    return RecallConfig(postgres=PostgresConfig(replicas=" ".join(replicas), **more))


def until(said: Callable[[], object]) -> None:
    end = time.monotonic() + 20
    while not said():
        assert time.monotonic() < end, said
        time.sleep(0.01)


def of(store: MemoryStore) -> Replica:
    """The one replica of a node, when it has answered."""
    replicas = store._parts.replicas
    assert replicas is not None
    (one,) = replicas.each
    until(lambda: one.ready)
    return one


def ids(store: MemoryStore, scope: Scope = SCOPE) -> list[str]:
    result = QueryOptimizer(store).recall(QUESTION, scope=scope, k=50, time_budget_ms=60_000)
    assert not result.degraded, result.degraded
    return sorted(hit.memory.id or "" for hit in result.hits)


def cold(store: MemoryStore) -> None:
    """Nothing of any scope is in memory."""
    parts = store._parts
    parts.views.drop()
    parts.catalog.drop()
    parts.facts.drop()
    store._reader._recent = type(store._reader._recent)(parts.revisions, parts.scopes)


def swans(*names: str) -> list[Memory]:
    return [Memory(f"{name} counted swans on the lake", id=name) for name in names]


def test_what_recalls_read_comes_from_the_replica(url: str, replica: Standby) -> None:
    with MemoryStore.open(url) as other, MemoryStore.open(url, config=settings(replica.address)) as store:
        other.remember_many(swans("Priya", "Sam"), scope=SCOPE)
        replica.caught_up()
        one, read = of(store), []
        event.listen(store._parts.engine, "before_cursor_execute", lambda _c, _u, sql, *_: read.append(sql))
        assert ids(store) == ["Priya", "Sam"]
        assert one.reads >= 3 and not one.late and not one.failed
        assert not [sql for sql in read if "FROM memories" in sql or "vectors.vector" in sql], read
        reads = one.reads
        other.remember_many(swans("Henrietta"), scope=SCOPE)
        replica.caught_up()
        store._parts.up_to_date()  # what the journal has that is new, and nothing else
        assert one.reads > reads
        assert ids(store) == ["Henrietta", "Priya", "Sam"]
        assert store.get("Priya", scope=SCOPE) == other.get("Priya", scope=SCOPE)
        health = {each.component: each for each in store.health()}
        assert health[one.component].breaker == "closed" and health[one.component].median_ms
        assert str(replica.home) in one.component


def test_what_was_acknowledged_is_found_though_the_replica_lags(url: str, replica: Standby) -> None:
    """Its own writes and those of others: the primary is read until the replica has them."""
    with MemoryStore.open(url) as other, MemoryStore.open(url, config=settings(replica.address)) as store:
        other.remember_many(swans("Priya", "Sam"), scope=SCOPE)
        replica.caught_up()
        one = of(store)
        assert ids(store) == ["Priya", "Sam"] and one.reads
        replica.pause()
        other.forget("Sam", scope=SCOPE)
        other.remember_many(swans("Henrietta"), scope=SCOPE)
        reads = one.reads
        assert ids(store) == ["Henrietta", "Priya"]
        store.remember_many(swans("Bob"), scope=SCOPE)
        for _ in range(3):
            cold(store)
            assert ids(store) == ["Bob", "Henrietta", "Priya"]
            assert store.get("Sam", scope=SCOPE) is None
            time.sleep(0.12)
        assert one.reads == reads and one.late and not one.failed and one.ready
        assert "lags" in one.health().why and one.health().breaker == "closed"
        replica.resume()
        replica.caught_up()
        cold(store)
        until(lambda: ids(store) == ["Bob", "Henrietta", "Priya"] and cold(store) is None and one.reads > reads)


def test_a_replica_that_is_killed_costs_no_answer(url: str, primary: Postgres) -> None:
    with standby(primary) as own, MemoryStore.open(url, config=settings(own.address)) as store:
        store.remember_many(swans("Priya", "Sam"), scope=SCOPE)
        own.caught_up()
        one = of(store)
        assert ids(store) == ["Priya", "Sam"] and one.reads
        own.kill()
        for _ in range(5):
            cold(store)
            assert ids(store) == ["Priya", "Sam"]
        assert one.failed and not one.ready and one.health().breaker != "closed" and one.health().why
        metrics = Metrics()
        watched = QueryOptimizer(store, observers=[metrics])
        watched.recall(QUESTION, scope=SCOPE)
        shown = [line for line in metrics.text().decode().splitlines() if "recall_breaker_state{" in line]
        assert 'recall_breaker_state{component="replica",state="closed"} 0.0' in shown, shown
        store.remember_many(swans("Henrietta"), scope=SCOPE)
        own.start()
        own.caught_up()
        until(lambda: one.ready)  # it was looked for beside the recalls
        assert one.health().breaker == "closed" and not one.health().failures
        reads = one.reads
        cold(store)
        assert ids(store) == ["Henrietta", "Priya", "Sam"] and one.reads > reads


def test_a_replica_that_hangs_is_waited_for_once(url: str, replica: Standby) -> None:
    with MemoryStore.open(url, config=settings(replica.address, replica_timeout_ms=50)) as store:
        store.remember_many(swans("Priya", "Sam"), scope=SCOPE)
        replica.caught_up()
        one = of(store)
        assert ids(store) == ["Priya", "Sam"] and one.reads
        with replica.hanging():
            store.remember_many(swans("Henrietta"), scope=SCOPE)
            for _ in range(5):
                cold(store)
                assert ids(store) == ["Henrietta", "Priya", "Sam"]
            assert one.failed >= 1 and not one.ready
        until(lambda: one.ready)


def test_a_replica_that_was_promoted_is_none_any_more(url: str, primary: Postgres) -> None:
    """It has all that the node knows, and what others write there besides is another history."""
    with standby(primary) as own, MemoryStore.open(url, config=settings(own.address)) as store:
        store.remember_many(swans("Priya", "Sam"), scope=SCOPE)
        own.caught_up()
        one = of(store)
        assert ids(store) == ["Priya", "Sam"] and one.reads
        own.say("SELECT pg_promote()")
        with MemoryStore.open(own.url(url)) as there:
            there.forget("Sam", scope=SCOPE)
        time.sleep(1.1)  # a connection is asked again after a second
        reads = one.reads
        cold(store)
        assert ids(store) == ["Priya", "Sam"] and one.reads == reads
        assert "no replica" in one.health().why
        store.remember_many(swans("Henrietta"), scope=SCOPE)
        time.sleep(0.12)
        cold(store)
        assert ids(store) == ["Henrietta", "Priya", "Sam"] and one.reads == reads


def test_a_replica_of_another_history_is_not_read(url: str, primary: Postgres, replica: Standby) -> None:
    """The same numbers were given to other memories there, as after a failover."""
    instead = primary.fresh()
    with MemoryStore.open(instead) as there:
        there.remember_many(swans("Nobody", "Never", "None"), scope=SCOPE)
    address = f"postgresql:///{instead.rpartition('/')[2].partition('?')[0]}?host={replica.home}"
    with MemoryStore.open(url, config=settings(address)) as store:
        store.remember_many(swans("Priya", "Sam"), scope=SCOPE)
        replica.caught_up()
        one = of(store)
        cold(store)
        assert ids(store) == ["Priya", "Sam"] and not one.reads and "another history" in one.health().why
    primary.drop(instead)


def test_replicas_answer_alone_for_as_long_as_is_allowed() -> None:
    with running() as own:
        if own.server is None:
            pytest.skip("somebody else's server is not killed")
        own.set_durable("on")
        with standby(own) as replica:
            address = own.fresh()
            config = settings(replica.address, stale_max_s=3_600)
            with MemoryStore.open(address, config=config) as store, MemoryStore.open(address) as without:
                store.remember_many(swans("Priya", "Sam"), scope=SCOPE)
                store.remember_many(swans("Henrietta"), scope=SAM)
                replica.caught_up()
                one = of(store)
                assert ids(store) == ids(without) == ["Priya", "Sam"]
                own.kill()
                cold(store)
                cold(without)
                result = QueryOptimizer(store).recall(QUESTION, scope=SAM, k=5, time_budget_ms=60_000)
                assert [hit.memory.id for hit in result.hits] == ["Henrietta"]
                said = {each.reason: each.detail for each in result.degraded}
                assert "record.away" in said and one.name in said["record.away"], said
                with pytest.raises(Exception, match="cannot be reached"):
                    store.remember("nobody takes it", scope=SCOPE)
                store._parts.followed.seen_at -= 3_600  # longer than is allowed
                reads = one.reads
                cold(store)
                with pytest.raises(Exception, match="cannot be reached"):
                    QueryOptimizer(store).recall(QUESTION, scope=SAM, k=5, time_budget_ms=60_000)
                assert one.reads == reads
                own.start()
                until(lambda: not store.away or store.count() < 0)
                assert ids(store) == ["Priya", "Sam"]
