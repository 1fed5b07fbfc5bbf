"""A store behind a PgBouncer that gives each transaction another connection (`pool_mode = transaction`)."""

from __future__ import annotations

import random
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import pytest
from sqlalchemy import Engine, select, text

from recall_integrations import Memory, MemoryStore, QueryOptimizer, Scope
from recall_integrations.database import schema, tenants
from recall_integrations.database.postgres import POOLED, is_pooled, open_postgres
from recall_integrations.database.turns import FILLING, OPENED, AdvisoryLock, Committed, Lease, Outside, WriteLock
from recall_integrations.errors import StoreError, StoreLocked
from tests.pgbouncer import PgBouncer, running
from tests.postgres import Postgres

SCOPE, SAM = Scope(user_id="u1"), Scope(user_id="sam")
SOON_S = 60.0


@pytest.fixture(scope="module")
def bouncer(postgres: Postgres) -> Iterator[PgBouncer]:
    with running(postgres) as found:
        yield found


@pytest.fixture
def address(bouncer: PgBouncer, postgres_url: str) -> str:
    return bouncer.address(postgres_url)


def found(store: MemoryStore, query: str = "Who counted swans on the lake?") -> list[str]:
    result = QueryOptimizer(store).recall(query, scope=SCOPE, k=50, time_budget_ms=60_000)
    return sorted(hit.memory.id or "" for hit in result.hits)


def written(store: MemoryStore, name: str, count: int) -> list[str]:
    """Ids that were acknowledged; what fails is written again under its id."""
    done = []
    for i in range(count):
        for _ in range(200):
            try:
                done.append(store.remember(Memory(f"{name} counted {i} swans", id=f"{name}-{i}"), scope=SCOPE))
                break
            except StoreError:
                time.sleep(0.05)
    return done


def at_once(*calls: Callable[[], object]) -> None:
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SOON_S)
        assert not thread.is_alive()


def entries(store: MemoryStore) -> list[int]:
    with store.engine.connect() as connection:
        return list(connection.execute(select(schema.changes.c.seq).order_by(schema.changes.c.seq)).scalars())


def test_all_of_a_store_works_and_others_see_it(address: str, postgres_url: str) -> None:
    with MemoryStore.open(address) as store, MemoryStore.open(postgres_url) as direct:
        assert is_pooled(store.engine) and not is_pooled(direct.engine)
        store.add_entity("Priya Raman", aliases=["Priya"], scope=SCOPE)
        store.remember_many([Memory(f"Priya counted {n} swans", id=f"m{n}") for n in range(20)], scope=SCOPE)
        for n in range(12):  # statements that the driver would have prepared by now
            assert (store if n % 2 else direct).remember(Memory(f"Priya counted {n} ducks", id=f"d{n}"), scope=SCOPE)
            found(store)
        store.remember(Memory("Priya counted no swans", id="m1"), scope=SCOPE)
        assert store.remember("Priya counted 3 swans", scope=SCOPE, on_duplicate="skip") == "m3"
        assert direct.forget("m2", scope=SCOPE) == 1 and store.forget("m4", scope=SCOPE) == 1
        assert store.count(scope=SCOPE) == direct.count(scope=SCOPE) == 30
        assert found(store) == found(direct)
        assert {m.id for m in store.iterate(scope=SCOPE)} == {m.id for m in direct.iterate(scope=SCOPE)}
        store.remember_many(["I moved to Lyon", "And I sold the boat"], scope=SAM, thread="chat")
        assert store.facts(SAM) == direct.facts(SAM)
        learns, waits = (one.learned for one in (store, direct))
        with learns.alone(0.1), pytest.raises(StoreLocked), waits.alone(0.1):
            pass


def test_who_has_it_open_is_known_on_both_sides(address: str, postgres_url: str) -> None:
    with MemoryStore.open(postgres_url) as direct:
        with MemoryStore.open(address) as store, MemoryStore.open(address):
            store.remember_many(["Priya counted a swan", "Sam counted a goose"], scope=SCOPE)
            for one in (store, direct):
                with pytest.raises(StoreLocked, match="is open in 2 more"):
                    one.compact()
        direct.forget(scope=SCOPE)
        direct.compact()
    with MemoryStore.open(address) as store:
        store.remember("Priya counted a swan", scope=SCOPE)
        store.forget(scope=SCOPE)
        store.compact()
        assert store.count(scope=SCOPE) == 0


def test_who_has_it_open_keeps_no_table_from_others(address: str, postgres_url: str) -> None:
    """It is a transaction that stays open: what is read in it is given back at once."""
    engine = open_postgres(postgres_url)
    with MemoryStore.open(address) as store:
        store.remember("Priya counted a swan", scope=SCOPE)
        found(store)
        with engine.begin() as connection:
            connection.execute(text("SET LOCAL lock_timeout = 2000"))
            for table in schema.metadata.sorted_tables:
                connection.execute(text(f"LOCK TABLE {table.name} IN ACCESS EXCLUSIVE MODE"))
        with engine.connect() as connection:
            held = connection.execute(
                text("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND objid = :key"),
                {"key": OPENED},
            )
            assert held.scalar_one() == 1
    engine.dispose()


def test_a_cut_connection_is_still_known_to_others(address: str, postgres: Postgres, postgres_url: str) -> None:
    with MemoryStore.open(address) as store, MemoryStore.open(postgres_url) as direct:
        store.remember("Priya counted a swan", scope=SCOPE)
        postgres.cut(postgres_url)
        assert store.count(scope=SCOPE) == direct.count(scope=SCOPE) == 1
        for one in (store, direct):
            with pytest.raises(StoreLocked, match="is open in 1 more"):
                one.compact()


@pytest.fixture
def engines(address: str) -> Iterator[tuple[Engine, Engine]]:
    with MemoryStore.open(address) as store:
        store.remember("Priya counted a swan", scope=SCOPE)
    one, other = open_postgres(address), open_postgres(address)
    yield one, other
    one.dispose()
    other.dispose()


@pytest.mark.parametrize("known", [True, False])
def test_one_writes_at_a_time_even_where_the_pooler_is_not_known(engines: tuple[Engine, Engine], known: bool) -> None:
    one, other = (engine.execution_options(**{POOLED: known}) for engine in engines)
    had: list[int] = []
    most: list[int] = []

    def write(engine: Engine, name: int) -> None:
        with closing(Outside(engine)) as outside:
            lock = WriteLock(outside)
            for _ in range(15):
                assert lock.acquire(SOON_S)
                had.append(name)
                most.append(len(had))
                time.sleep(random.random() / 500)
                had.remove(name)
                lock.give_back()

    at_once(*(lambda n=n: write((one, other)[n % 2], n) for n in range(4)))
    assert len(most) == 60 and set(most) == {1}


def test_what_was_committed_is_said_with_the_turn(engines: tuple[Engine, Engine]) -> None:
    one, other = engines
    with closing(Outside(one)) as turns, closing(Outside(other, shares=OPENED)) as outside:
        lock = WriteLock(turns)
        watch = Committed(outside, lock)
        for _ in range(2):
            assert lock.acquire(1)
            before = watch.turn_ends()
            assert before == watch.now() and before.head is not None and before.head[0] == 1
        with other.begin() as connection:
            connection.execute(text("INSERT INTO changes SELECT 7, scope_id, op, 7, 'x' FROM changes"))
        assert lock.acquire(1)
        now = lock.begun()
        assert now is not None and now.head == (7, "x") and watch.now() == now
        with pytest.raises(StoreError), closing(Outside(other)) as third:
            AdvisoryLock(third, OPENED)._outside.say("SELECT no_such_thing()", OPENED)
        lock.release()


def test_who_waited_too_long_stands_in_no_line(engines: tuple[Engine, Engine]) -> None:
    with closing(Outside(engines[0])) as one, closing(Outside(engines[1])) as other:
        first, second = WriteLock(one), WriteLock(other)
        assert first.acquire(0) and not second.acquire(0.1) and not second.acquire(0)
        first.release()
        assert second.acquire(0)
        second.give_back()
        assert first.acquire(0)


def test_one_fills_a_server_of_vectors(engines: tuple[Engine, Engine], postgres: Postgres, postgres_url: str) -> None:
    first, second = (Lease(Outside(engine, stays=True), FILLING) for engine in engines)
    assert first.mine() and not second.mine() and first.mine()
    first.give_back()
    assert second.mine() and not first.mine()
    postgres.cut(postgres_url)
    assert second.mine() or second.mine()
    second.close()
    assert first.mine()
    first.close()


def test_a_role_of_a_tenant_sees_what_is_its_own(postgres: Postgres, postgres_url: str) -> None:
    role = f"ann_{uuid.uuid4().hex[:8]}"
    with MemoryStore.open(postgres_url) as store:
        store.remember("Priya counted a swan", scope=SCOPE)
        store.remember("Sam counted a goose", scope=SAM)
    postgres.run(f"CREATE ROLE {role} LOGIN")
    try:
        with ExitStack() as stack:
            own = stack.enter_context(running(postgres, users=[role]))
            engine = open_postgres(own.address(postgres_url))
            tenants.isolate(engine, role, "sam")
            engine.dispose()
            store = stack.enter_context(MemoryStore.open(own.address(postgres_url, user=role)))
            assert store._parts.directory.tenant == role
            assert (store.count(scope=SAM), store.count(scope=SCOPE)) == (1, 0)
            store.remember("Sam counted two geese", scope=SAM)
            with pytest.raises(StoreError, match="takes nothing from this user"):
                store.remember("not mine", scope=SCOPE)
            with pytest.raises(StoreError, match="role of a tenant"):
                store.compact()
    finally:
        postgres.drop(postgres_url)
        postgres.run(f"DROP ROLE {role}")


def test_what_a_pooler_does_not_hand_on_is_refused(bouncer: PgBouncer, postgres: Postgres, postgres_url: str) -> None:
    options = "?options=-csearch_path%3Dmemories"
    with pytest.raises(StoreError, match=r"does not take `options` of the address.*ALTER ROLE"):
        MemoryStore.open(bouncer.address(postgres_url, query=options))
    ignores = "ignore_startup_parameters = options"
    refused = "hands on no `options`.*ALTER ROLE"
    with running(postgres, more=ignores) as ignoring, pytest.raises(StoreError, match=refused):
        MemoryStore.open(ignoring.address(postgres_url, query=options))
    engine = open_postgres(postgres_url)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT to_regclass('memories')")).scalar() is None
    engine.dispose()


def test_it_works_in_session_mode_too(postgres: Postgres, postgres_url: str) -> None:
    with (
        running(postgres, mode="session", more="default_pool_size = 40") as sessions,
        MemoryStore.open(sessions.address(postgres_url)) as store,
        MemoryStore.open(postgres_url) as other,
    ):
        store.remember("Priya counted a swan", scope=SCOPE)
        other.remember("Sam counted a swan", scope=SCOPE)
        assert store.count(scope=SCOPE) == other.count(scope=SCOPE) == 2 and len(found(store)) == 2


def test_nodes_that_write_at_once_lose_nothing(postgres: Postgres, postgres_url: str) -> None:
    """Over few connections of the server, while these are cut, and the pooler is killed."""
    with running(postgres, more="default_pool_size = 8") as few:
        address = few.address(postgres_url)
        with MemoryStore.open(address) as one, MemoryStore.open(address) as two:
            done: dict[str, list[str]] = {}

            def write(store: MemoryStore, name: str) -> None:
                done[name] = written(store, name, 8)

            def hinder() -> None:
                for turn in range(3):
                    time.sleep(0.3)
                    postgres.cut(postgres_url)
                    if turn == 1:
                        few.kill()
                        few.start()

            names = ["Priya", "Sam", "Bob", "Ann"]
            at_once(hinder, *(lambda n=n, s=s: write(s, n) for n, s in zip(names, (one, one, two, two), strict=True)))
            wanted = sorted(f"{name}-{i}" for name in names for i in range(8))
            assert sorted(i for ids in done.values() for i in ids) == wanted
            for store in (one, two):
                assert sorted(m.id or "" for m in store.iterate(scope=SCOPE)) == wanted
                assert store.count(scope=SCOPE) == 32
            assert len(entries(one)) >= 32  # one that was written twice was replaced
    with MemoryStore.open(postgres_url) as third:
        assert found(third) == wanted
