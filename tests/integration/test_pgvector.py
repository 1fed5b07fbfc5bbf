"""Large scopes in pgvector, in the PostgreSQL of the store: the same answers, and nothing that is left behind."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray
from sqlalchemy import Connection, create_engine, make_url, text

from recall_integrations import Filters, Memory, MemoryStore, QueryOptimizer, RecallConfig, Scope
from recall_integrations.arms import retrievers as semantic
from recall_integrations.cli import main
from recall_integrations.config import RetrievalConfig, VectorsConfig
from recall_integrations.database import postgres as store_tables
from recall_integrations.database import tenants
from recall_integrations.database.postgres import open_postgres
from recall_integrations.errors import ConfigError, VectorsAway, VectorsRefused
from recall_integrations.evaluation.moved import verify
from recall_integrations.indexes import pg_tables, pg_vectors, vectors
from recall_integrations.indexes.pg_tables import CATALOGUE, PREFIX, table_of
from recall_integrations.indexes.pg_vectors import PgVectors
from recall_integrations.indexes.vectors import CollectionBusy, CollectionLost, Loaded
from recall_integrations.store import collections, filling, homes
from recall_integrations.store.moving import move
from recall_integrations.types import RecallResult
from tests import pgbouncer
from tests.conftest import NOW
from tests.postgres import Postgres

SCOPE, OTHER = Scope(user_id="large"), Scope(user_id="other")
WAIT_S = 60.0
HOME = "3f9a0c5d17e2.17.b09c1a44.5e20f1"
HERE = VectorsConfig(address="pgvector")
WHO = "Priya Sam Ann Tom Lena Omar Yuki Noor".split()
DID = "counted painted moved sold bought lost found described".split()
WHAT = "swans trains apples lanterns kettles maps bicycles tulips violins invoices".split()
WHERE = "Lisbon Oslo Rome Kyoto Lima Cairo Perth Quito".split()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small scopes are large, and nobody waits for long."""
    monkeypatch.setattr(semantic, "SUBSET_MAX", 0)
    monkeypatch.setattr(collections, "SLICE", 64)
    monkeypatch.setattr(collections, "PAUSE_MAX_S", 0.5)
    monkeypatch.setattr(collections, "LEASE_S", 0.2)
    monkeypatch.setattr(collections, "FRESH_S", 0.05)
    monkeypatch.setattr(vectors, "OPEN_S", 0.3)
    monkeypatch.setattr(filling, "QUIET_S", 0.0)


def config(*, exact_max: int = 10, address: str = "pgvector", **more: Any) -> RecallConfig:
    return RecallConfig(
        retrieval=RetrievalConfig(exact_max=exact_max, cache_mb=0), vectors=VectorsConfig(address=address, **more)
    )


def put(store: MemoryStore, first: int, last: int, scope: Scope = SCOPE) -> None:
    store.remember_many([Memory(f"note{i} about birds", id=f"m{i}") for i in range(first, last)], scope=scope)


def number(store: MemoryStore, scope: Scope = SCOPE) -> int:
    found = store.scope_id(scope)
    assert found is not None
    return found


def home(store: MemoryStore, scope: Scope = SCOPE) -> str:
    return store.indexes.home_of(number(store, scope))


def asked(store: MemoryStore, i: int, *, ms: float = 60_000) -> RecallResult:
    with closing(QueryOptimizer(store)) as optimizer:
        return optimizer.recall(f"note{i} about birds", scope=SCOPE, k=2, time_budget_ms=ms)


def finds(store: MemoryStore, *there: int) -> None:
    """Each of them is the nearest to its own text, and nothing was done without."""
    for i in there:
        found = asked(store, i)
        assert found.hits and found.hits[0].memory.id == f"m{i}" and not found.degraded


def until(holds: Callable[[], Any], seconds: float = WAIT_S) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


@contextmanager
def beside(url: str) -> Iterator[Connection]:
    """A connection of somebody else, who commits each statement."""
    engine = create_engine(make_url(url).set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT")
    try:
        with engine.connect() as connection:
            yield connection
    finally:
        engine.dispose()


def tables(url: str) -> set[str]:
    """Those of collections, without the list of them."""
    with beside(url) as connection:
        found = connection.execute(text(f"SELECT relname FROM pg_class WHERE relkind = 'r' AND relname ~ '^{PREFIX}'"))
        return {str(name) for name in found.scalars()}


def listed(url: str) -> set[str]:
    """The collections in the list."""
    with beside(url) as connection:
        return {str(one) for one in connection.execute(text(f"SELECT home FROM {CATALOGUE}")).scalars()}


def held(url: str, store: MemoryStore) -> list[int]:
    with beside(url) as connection:
        found = connection.execute(text(f"SELECT num FROM {table_of(home(store))} ORDER BY num")).scalars()
        return [int(num) for num in found]


def agrees(url: str, store: MemoryStore) -> None:
    """Filled to the end, the collection holds what stands, and nothing else; and there is no other one."""
    assert store.indexes.settle(WAIT_S), store.stats()["notices"]
    view = store.view(number(store))
    assert held(url, store) == view.nums[view.alive].tolist()
    assert tables(url) == {table_of(home(store))} and listed(url) == {home(store)}


def said(rng: random.Random) -> str:
    who, did, what, where = (rng.choice(words) for words in (WHO, DID, WHAT, WHERE))
    return f"{who} {did} {rng.randint(2, 900)} {what} in {where} {rng.choice(['today', 'for a friend', 'again', ''])}"


# -- the collections themselves ----------------------------------------------------------------------------------------


def index_of(url: str) -> str:
    """How the index of a collection was made; empty = there is none."""
    with beside(url) as connection:
        found = connection.execute(text(f"SELECT indexdef FROM pg_indexes WHERE indexname = '{table_of(HOME)}_i'"))
        return str(found.scalar() or "")


@pytest.fixture
def server(postgres_url: str) -> Iterator[PgVectors]:
    with closing(PgVectors(postgres_url, HERE)) as made:
        made.check()
        yield made


def drawn(count: int, width: int = 32) -> NDArray[np.float32]:
    found = np.random.default_rng(count).normal(size=(count, width))
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    return found.astype(np.float16).astype(np.float32)


def test_a_collection_from_its_beginning_to_its_end(server: PgVectors, postgres_url: str) -> None:
    with pytest.raises(CollectionLost):
        server.look(HOME)
    with pytest.raises(CollectionLost):
        server.mark(HOME, "3f9a0c5d17e2", 1, "x")
    server.make(HOME, "3f9a0c5d17e2")
    server.make(HOME, "3f9a0c5d17e2")
    seen = server.look(HOME)
    assert (seen.dimension, seen.seq, seen.digest) == (None, 0, "")
    assert server.count(HOME) == 0 and not len(server.nums(HOME))
    server.apply(HOME, [], np.empty((0, 1), dtype=np.float32), [3])
    assert not tables(postgres_url), "it is made when vectors come"
    vectors = drawn(120)
    assert server.loaded(HOME) == Loaded()
    server.load(HOME, range(1, 101), vectors[:100], [])
    server.note(HOME, 100)
    assert server.loaded(HOME) == Loaded(upto=100)
    assert not index_of(postgres_url), "it is made when all is there"
    assert not server.index(HOME, lambda: False) and not server.index(HOME, lambda: False)
    assert server.loaded(HOME) == Loaded(upto=100, indexed=True)
    assert "USING hnsw" in index_of(postgres_url) and "ef_construction='200'" in index_of(postgres_url)
    server.apply(HOME, range(101, 121), vectors[100:], [])
    server.mark(HOME, "3f9a0c5d17e2", 7, "abc")
    seen = server.look(HOME)
    assert (seen.dimension, seen.seq, seen.digest) == (32, 7, "abc")
    assert server.count(HOME) == 120 and server.nums(HOME).tolist() == list(range(1, 121))
    nums, cosines = server.nearest(HOME, 3 * vectors[4], 10)
    exact = vectors @ vectors[4]
    assert nums[0] == 5 and len(nums) == 10 and (np.diff(cosines) <= 0).all()
    assert cosines == pytest.approx(exact[nums - 1], abs=2e-3)
    server.apply(HOME, [7], vectors[4:5], [5])  # another in its place, and one that goes
    assert server.nearest(HOME, vectors[4], 1)[0].tolist() == [7] and server.count(HOME) == 119
    server.drop(HOME)
    server.drop(HOME)
    assert not tables(postgres_url) and not listed(postgres_url)
    with pytest.raises(CollectionLost):
        server.nearest(HOME, vectors[4], 1)
    assert server.health().breaker == "closed" and server.health().failures == 0


def test_zero_vectors_are_nobodys_neighbours(server: PgVectors) -> None:
    server.make(HOME, "s")
    vectors = drawn(20)
    vectors[3] = 0
    server.apply(HOME, range(1, 21), vectors, [])
    nums, cosines = server.nearest(HOME, vectors[0], 20)
    assert sorted(nums.tolist()) == [n for n in range(1, 21) if n != 4] and np.isfinite(cosines).all()
    for nothing in (np.zeros(32, dtype=np.float32), np.full(32, np.nan, dtype=np.float32)):
        assert not len(server.nearest(HOME, nothing, 5)[0])
    assert server.count(HOME) == 20


def test_equal_ones_come_by_their_number(server: PgVectors) -> None:
    server.make(HOME, "s")
    server.apply(HOME, [9, 3, 6], np.repeat(drawn(1), 3, axis=0), [])
    assert server.nearest(HOME, drawn(1)[0], 3)[0].tolist() == [3, 6, 9]


def test_vectors_of_another_length_are_of_another_collection(server: PgVectors) -> None:
    server.make(HOME, "s")
    server.apply(HOME, [1, 2], drawn(2), [])
    with pytest.raises(CollectionLost, match="32 numbers, not 16"):
        server.apply(HOME, [3], drawn(1, 16), [])
    with pytest.raises(CollectionLost, match="different halfvec dimensions"):
        server.nearest(HOME, drawn(1, 16)[0], 1)
    with pytest.raises(VectorsRefused, match=r"4,001 numbers, and pgvector indexes 4,000 at most.*Chroma"):
        server.apply(HOME, [3], drawn(1, 4_001), [])


def test_the_longest_vectors(server: PgVectors) -> None:
    server.make(HOME, "s")
    vectors = drawn(3, 4_000)
    server.apply(HOME, [1, 2, 3], vectors, [])
    assert server.nearest(HOME, vectors[1], 1)[0].tolist() == [2]


def test_what_is_lost_of_a_collection_is_noticed(server: PgVectors, postgres_url: str) -> None:
    for lost in (f"DROP INDEX {table_of(HOME)}_i", f"DROP TABLE {table_of(HOME)}", f"TRUNCATE {CATALOGUE}"):
        server.drop(HOME)
        server.make(HOME, "s")
        server.apply(HOME, [1], drawn(1), [])
        assert server.look(HOME).dimension == 32
        server.index(HOME, lambda: False)
        assert server.look(HOME).dimension == 32
        with beside(postgres_url) as connection:
            connection.execute(text(lost))
        with pytest.raises(CollectionLost):
            server.look(HOME)


def test_names_of_tables_are_names() -> None:
    assert table_of(HOME) == "recall_nearest_3f9a0c5d17e2_17_b09c1a44_5e20f1"
    longest = f"{homes.new('f' * 12, 2**63 - 1, 'x')}"
    for name in (HOME, longest, 'a"; DROP TABLE memories; --', "A.B", "", "a_b", "a.b\n"):
        assert len(table_of(name)) <= 61 and table_of(name).replace("_", "").isalnum() and table_of(name).islower()
    assert len({table_of(name) for name in ("a.b", "a_b", "A.B")}) == 3


@pytest.mark.slow
def test_more_than_a_search_gives_at_once(server: PgVectors, postgres_url: str) -> None:
    """`hnsw.ef_search` ends at 1,000; where the index is asked, and not the table read."""
    server.make(HOME, "s")
    vectors = drawn(3_000, 64)
    server.load(HOME, range(1, 3_001), vectors, [])
    server.index(HOME, lambda: False)
    with beside(postgres_url) as connection:
        connection.execute(text(f"ANALYZE {table_of(HOME)}"))
        connection.execute(text(f"ALTER DATABASE {make_url(postgres_url).database} SET enable_seqscan = off"))
        connection.execute(text(f"ALTER DATABASE {make_url(postgres_url).database} SET enable_sort = off"))
    with closing(PgVectors(postgres_url, HERE)) as other:
        nums, cosines = other.nearest(HOME, vectors[8], 1_900)
        assert len(nums) == len(set(nums.tolist())) == 1_900 and (np.diff(cosines) <= 0).all()
        found = 0
        for query in drawn(20, 64):
            near = other.nearest(HOME, query, 30)[0]
            found += len(set(near.tolist()) & set((np.argsort(-(vectors @ query))[:30] + 1).tolist()))
        assert found > 0.95 * 20 * 30


def test_a_request_that_takes_too_long_is_ended(server: PgVectors, postgres_url: str) -> None:
    server.make(HOME, "s")
    server.apply(HOME, [1], drawn(1), [])
    with beside(postgres_url) as connection, connection.execution_options(isolation_level="READ COMMITTED").begin():
        connection.execute(text(f"LOCK TABLE {table_of(HOME)} IN ACCESS EXCLUSIVE MODE"))
        for seconds in (0.2, 0.4, 0.4, 0.4):
            began = time.monotonic()
            with pytest.raises(VectorsAway, match="in time"):
                server.nearest(HOME, drawn(1)[0], 1, seconds=seconds)
            assert time.monotonic() - began < seconds + 0.5
        assert server.health().failures == 3, "who had too little time says nothing of the server"
        with pytest.raises(VectorsAway, match="failed lately"):
            server.nearest(HOME, drawn(1)[0], 1)
        assert server.resting > 0
    until(lambda: not server.resting)
    assert server.nearest(HOME, drawn(1)[0], 1)[0].tolist() == [1]


def test_connections_that_were_cut_cost_no_answer(server: PgVectors, postgres: Postgres, postgres_url: str) -> None:
    server.make(HOME, "s")
    server.apply(HOME, [1], drawn(1), [])
    postgres.cut(postgres_url)
    assert server.nearest(HOME, drawn(1)[0], 1)[0].tolist() == [1]
    assert server.health().failures == 0


def test_the_extension_in_another_schema(postgres_url: str) -> None:
    """Two stores in schemas of one database: there is one extension, which is not in the path of both."""
    with beside(postgres_url) as connection:
        for name in ("one", "two", "apart"):
            connection.execute(text(f"CREATE SCHEMA {name}"))
        connection.execute(text("CREATE EXTENSION vector SCHEMA apart"))
    for name in ("one", "two"):
        address = f"{postgres_url}{'&' if '?' in postgres_url else '?'}options=-csearch_path%3D{name}"
        with closing(PgVectors(address, HERE)) as server:
            server.check()
            server.make(HOME, "s")
            server.apply(HOME, [1, 2], drawn(2), [])
            assert server.nearest(HOME, drawn(2)[1], 1)[0].tolist() == [2]
            server.drop(HOME)


# -- the first filling -------------------------------------------------------------------------------------------------


def never() -> bool:
    return False


def while_it_is_built(url: str, does: str) -> None:
    """From now on, who makes an index in a database does this first."""
    with beside(url) as connection:
        connection.exec_driver_sql(
            "CREATE OR REPLACE FUNCTION first() RETURNS event_trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN IF tg_tag = 'CREATE INDEX' THEN {does} END IF; END $$"
        )
        connection.exec_driver_sql("DROP EVENT TRIGGER IF EXISTS first")
        connection.exec_driver_sql("CREATE EVENT TRIGGER first ON ddl_command_start EXECUTE FUNCTION first()")


def building(url: str) -> int:
    """How many make an index now."""
    with beside(url) as connection:
        asked = (
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'CREATE INDEX%'"
        )
        return int(connection.execute(text(f"{asked} AND state = 'active'")).scalar_one())


def loaded(server: PgVectors, count: int = 20) -> None:
    server.make(HOME, "s")
    server.load(HOME, range(1, count + 1), drawn(count), [])
    server.note(HOME, count)


def test_no_timeout_ends_an_index_that_is_built(postgres_url: str) -> None:
    with beside(postgres_url) as connection:
        for name in ("statement_timeout", "transaction_timeout"):
            connection.execute(text(f"ALTER DATABASE {make_url(postgres_url).database} SET {name} = '300ms'"))
    with closing(PgVectors(postgres_url, VectorsConfig(address="pgvector", timeout_ms=250))) as server:
        server.check()
        loaded(server)
        while_it_is_built(postgres_url, "PERFORM pg_sleep(0.7);")
        assert not server.index(HOME, never) and index_of(postgres_url)
        assert server.health().failures == 0 and server.nearest(HOME, drawn(20)[4], 1)[0].tolist() == [5]


def test_an_index_that_nobody_waits_for_is_not_built(server: PgVectors, postgres_url: str) -> None:
    loaded(server)
    while_it_is_built(postgres_url, "PERFORM pg_sleep(60);")
    began = time.monotonic()
    with pytest.raises(VectorsAway):
        server.index(HOME, lambda: building(postgres_url) > 0)
    until(lambda: not building(postgres_url))
    assert time.monotonic() - began < 30, "the server notices that nobody is there any more"
    assert not index_of(postgres_url) and server.health().failures == 0
    while_it_is_built(postgres_url, "NULL;")
    until(lambda: server.loaded(HOME) == Loaded(upto=20))
    assert not server.index(HOME, never) and index_of(postgres_url)


def test_only_one_builds_an_index(server: PgVectors, postgres_url: str) -> None:
    """A node that lost its lease while it builds goes on, and who has it now leaves that collection alone."""
    loaded(server)
    with beside(postgres_url) as connection, connection.execution_options(isolation_level="READ COMMITTED").begin():
        assert pg_tables.is_free(connection, HOME)
        for asks in (lambda: server.loaded(HOME), lambda: server.index(HOME, never)):
            with pytest.raises(CollectionBusy, match="by another node"):
                asks()
    assert server.loaded(HOME) == Loaded(upto=20) and server.health().failures == 0


def test_with_little_room_it_is_built_alone(
    server: PgVectors, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers share memory, of which containers have little: then without them, and in the memory that the user has."""
    none = "RAISE EXCEPTION 'could not resize shared memory segment' USING ERRCODE = '53100';"
    alone = "current_setting('max_parallel_maintenance_workers') = '0'"
    own = "current_setting('maintenance_work_mem') = (SELECT reset_val || 'kB' FROM pg_settings WHERE name = "
    own += "'maintenance_work_mem')"
    monkeypatch.setattr(pg_tables, "BESIDE", 5_000_000)  # which does not fit
    with beside(postgres_url) as connection:
        connection.execute(
            text(f"ALTER DATABASE {make_url(postgres_url).database} SET maintenance_work_mem = '3333kB'")
        )
    with closing(PgVectors(postgres_url, HERE)) as other:
        loaded(other)
        while_it_is_built(postgres_url, f"IF NOT ({alone} AND {own}) THEN {none} END IF;")
        other.index(HOME, never)
        assert index_of(postgres_url)
        other.drop(HOME)
        loaded(other)
        while_it_is_built(postgres_url, none)
        with pytest.raises(VectorsAway, match="could not resize shared memory"):
            other.index(HOME, never)
    while_it_is_built(postgres_url, "NULL;")
    server.index(HOME, never)
    assert index_of(postgres_url)


def test_until_its_index_is_there_a_scope_answers_as_without(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted, real, go_on = counting(monkeypatch), PgVectors.index, threading.Event()

    def waits(*given: Any) -> str:
        assert go_on.wait(WAIT_S)
        return real(*given)

    monkeypatch.setattr(PgVectors, "index", waits)
    with (
        MemoryStore.open(postgres_url, config=config()) as store,
        MemoryStore.open(postgres_url, config=config()) as two,
    ):
        put(store, 0, 40)
        until(lambda: tables(postgres_url) and len(held(postgres_url, store)) == 40)
        for node in (store, two):
            finds(node, 7, 39)
        put(two, 40, 60)
        for i in range(10):
            two.forget(f"m{i}", scope=SCOPE)
        finds(two, 45)
        finds(store, 12, 59)
        assert not counted and store.stats()["collections_lack"] == {number(store): 50}
        go_on.set()
        agrees(postgres_url, store)
        finds(store, 12, 59)
        assert counted and not any(asked(two, i).hits[0].memory.id == f"m{i}" for i in range(10))


@pytest.mark.parametrize(
    ("ends", "at", "again"),
    [("load", 2, 86), ("note", 1, 86), ("index", 1, 0), ("_reach", 1, 0)],
    ids=[
        "in its second slice",
        "when a slice was noted",
        "when the index was built",
        "when it was noted in the record",
    ],
)
def test_a_node_goes_on_where_another_ended(
    ends: str, at: int, again: int, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner: Any = PgVectors if hasattr(PgVectors, ends) else collections.Collections
    real, load, calls = getattr(owner, ends), PgVectors.load, list[int]()

    def killed(*given: Any) -> Any:
        calls.append(1)
        done = real(*given) if len(calls) <= at else None
        if len(calls) >= at:
            raise VectorsAway("killed")
        return done

    with monkeypatch.context() as patched:
        patched.setattr(owner, ends, killed)
        with MemoryStore.open(postgres_url, config=config()) as one:
            put(one, 0, 150)
            until(lambda: any("killed" in said for said in one.stats()["notices"]))
    nums: list[int] = []

    def noticed(self: PgVectors, name: str, given: Any, *more: Any) -> None:
        nums.extend(given)
        load(self, name, given, *more)

    monkeypatch.setattr(PgVectors, "load", noticed)
    with MemoryStore.open(postgres_url, config=config()) as two:
        two.forget("m3", scope=SCOPE)
        agrees(postgres_url, two)
        finds(two, 7, 149)
    assert len(nums) == again, "what was noted is not loaded again"


def test_who_closes_does_not_wait_for_an_index_that_is_built(postgres_url: str) -> None:
    with MemoryStore.open(postgres_url, config=config()) as store:
        while_it_is_built(postgres_url, "PERFORM pg_sleep(100);")
        put(store, 0, 40)
        until(lambda: building(postgres_url))
        began = time.monotonic()
    assert time.monotonic() - began < 8


def test_what_the_journal_does_not_tell_any_more_is_not_indexed(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = PgVectors.index

    def after_more(self: PgVectors, name: str, given_up: Callable[[], bool]) -> None:
        self.load(name, [9_999], drawn(1, 256), [])  # which the record does not have
        return real(self, name, given_up)

    monkeypatch.setattr(PgVectors, "index", after_more)
    monkeypatch.setattr(collections, "pruned_upto", lambda _connection: 10_000)
    with MemoryStore.open(postgres_url, config=config()) as store:
        put(store, 0, 40)
        agrees(postgres_url, store)
        finds(store, 7)


# -- a store -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def both(postgres: Postgres) -> Iterator[tuple[str, str]]:
    """Two databases with the same memories."""
    rng, url = random.Random(3), postgres.fresh()
    memories = [Memory(said(rng), id=f"m{n}", type=rng.choice(["fact", "event"])) for n in range(300)]
    with MemoryStore.open(url, clock=lambda: NOW) as store:
        store.remember_many(memories, scope=SCOPE)
        for n in range(20, 50):
            store.forget(f"m{n}", scope=SCOPE)
    copy = postgres.fresh_of(url)
    yield url, copy
    postgres.drop(url)
    postgres.drop(copy)


def counting(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    counted: list[int] = []
    real = PgVectors.nearest

    def noticed(*given: Any, **more: Any) -> Any:
        counted.append(1)
        return real(*given, **more)

    monkeypatch.setattr(PgVectors, "nearest", noticed)
    return counted


@pytest.mark.slow
def test_answers_are_those_of_an_exact_scan(both: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    counted = counting(monkeypatch)
    rng = random.Random(4)
    pairs = [(said(rng), filters) for filters in (None, Filters(types=["fact"])) for _ in range(12)]
    exact = RecallConfig(retrieval=RetrievalConfig(exact_max=50, cache_mb=0))  # all are compared
    near = replace(exact, vectors=HERE)
    with (
        MemoryStore.open(both[0], config=near, clock=lambda: NOW) as ours,
        MemoryStore.open(both[1], config=exact, clock=lambda: NOW) as theirs,
    ):
        assert ours.indexes.settle(WAIT_S) and theirs.indexes.settle(WAIT_S)
        one, other = QueryOptimizer(ours, config=near), QueryOptimizer(theirs, config=exact)
        given: dict[str, Any] = {"scope": SCOPE, "now": NOW, "k": 6, "time_budget_ms": 30_000}
        for query, filters in pairs:
            found, wanted = (each.recall(query, filters=filters, **given) for each in (one, other))
            assert [hit.memory.id for hit in found.hits] == [hit.memory.id for hit in wanted.hits], query
            assert [hit.score for hit in found.hits] == pytest.approx([hit.score for hit in wanted.hits], abs=2e-3)
            assert not found.degraded
    assert len(counted) >= len(pairs)


@pytest.mark.slow
def test_a_large_scope_is_there_and_nothing_is_left_of_what_is_forgotten(postgres_url: str) -> None:
    with MemoryStore.open(postgres_url, vectors="pgvector", config=config(address="")) as store:
        put(store, 0, 40)
        put(store, 0, 5, OTHER)
        finds(store, 7, 39)
        agrees(postgres_url, store)
        assert not home(store, OTHER), "it is small"
        name = home(store)
        for i in range(10):
            store.forget(f"m{i}", scope=SCOPE)
        put(store, 20, 25)  # replaced: other numbers
        agrees(postgres_url, store)
        finds(store, 22, 39)
    with MemoryStore.open(postgres_url, config=config()) as store:
        finds(store, 12, 22)
        agrees(postgres_url, store)
        assert home(store) == name and not store.stats()["notices"]
        store.compact()
        agrees(postgres_url, store)
        assert home(store) != name
        store.forget(scope=SCOPE)
        assert store.indexes.settle(WAIT_S)
        assert not tables(postgres_url) and not listed(postgres_url)


def test_what_is_forgotten_without_it_goes_when_it_is_used_again(postgres_url: str) -> None:
    with MemoryStore.open(postgres_url, config=config()) as store:
        put(store, 0, 40)
        put(store, 0, 20, OTHER)
        assert store.indexes.settle(WAIT_S) and len(tables(postgres_url)) == 2
        with closing(PgVectors(postgres_url, HERE)) as server:
            server.make("3f9a0c5d17e2.99.b09c1a44.5e20f1", "s")  # of which the record knows nothing
            server.apply("3f9a0c5d17e2.99.b09c1a44.5e20f1", [1], drawn(1), [])
    with MemoryStore.open(postgres_url, config=config(address="")) as store:
        store.forget("m3", scope=SCOPE)
        store.forget(scope=OTHER)
        finds(store, 7)
    with MemoryStore.open(postgres_url, config=config()) as store:
        agrees(postgres_url, store)


def test_reindex_and_another_embedding_have_other_collections(postgres_url: str) -> None:
    def letters(texts: list[str]) -> NDArray[np.float32]:
        counts = np.asarray([[text.count(chr(97 + i)) + 0.1 for i in range(26)] for text in texts], dtype=np.float32)
        found: NDArray[np.float32] = counts / np.linalg.norm(counts, axis=1, keepdims=True)
        return found

    with MemoryStore.open(postgres_url, config=config()) as store:
        put(store, 0, 40)
        agrees(postgres_url, store)
        before = home(store)
        store.reindex()
        assert home(store) != before
        agrees(postgres_url, store)
        before = home(store)
    with MemoryStore.open(postgres_url, config=config(), embedding=letters, reindex=True) as store:
        agrees(postgres_url, store)
        assert home(store) != before
        assert store.indexes.neighbours.nearest(home(store), np.ones(26, dtype=np.float32), 1)[0].size == 1


def take_some(connection: Connection, table: str) -> None:
    connection.execute(text(f"DELETE FROM {table} WHERE num <= 20"))


def drop_it(connection: Connection, table: str) -> None:
    connection.execute(text(f"DROP TABLE {table}"))


def other_vectors(connection: Connection, table: str) -> None:
    connection.execute(
        text(f"UPDATE {table} t SET vector = l2_normalize(t.vector - o.vector) FROM {table} o WHERE o.num = 41 - t.num")
    )


def another_length(connection: Connection, table: str) -> None:
    connection.execute(text(f"ALTER TABLE {table} ALTER COLUMN vector TYPE halfvec(3) USING '[1,2,3]'"))


def another_history(connection: Connection, table: str) -> None:
    connection.execute(text(f"UPDATE {CATALOGUE} SET digest = repeat('0', 32)"))


@pytest.mark.slow
@pytest.mark.parametrize("breaks", [take_some, drop_it, other_vectors, another_length, another_history])
def test_a_collection_that_is_not_what_it_was_is_made_anew(
    postgres_url: str, breaks: Callable[[Connection, str], None]
) -> None:
    with MemoryStore.open(postgres_url, config=config()) as store:
        put(store, 0, 40)
        agrees(postgres_url, store)
        before = home(store)
    with beside(postgres_url) as connection:
        breaks(connection, table_of(before))
    with MemoryStore.open(postgres_url, config=config()) as store:
        until(lambda: asked(store, 7).hits[0].memory.id == "m7" and not asked(store, 7).degraded)
        agrees(postgres_url, store)
        finds(store, 7, 30)
        assert home(store) != before and any("rebuilt" in said for said in store.stats()["notices"])


def test_a_copy_of_a_database_goes_its_own_way(postgres: Postgres, postgres_url: str) -> None:
    with MemoryStore.open(postgres_url, config=config()) as store:
        put(store, 0, 40)
        agrees(postgres_url, store)
    copied = postgres.fresh_of(postgres_url)
    try:
        with (
            MemoryStore.open(postgres_url, config=config()) as store,
            MemoryStore.open(copied, config=config()) as copy,
        ):
            put(store, 100, 110)
            copy.forget("m5", scope=SCOPE)
            put(copy, 200, 205)
            agrees(copied, copy)
            agrees(postgres_url, store)
            finds(store, 5, 105)
            finds(copy, 203, 7)
    finally:
        postgres.drop(copied)


def test_nodes_share_it_and_one_goes_on_where_another_ended(postgres_url: str) -> None:
    with MemoryStore.open(postgres_url, config=config()) as two:
        with MemoryStore.open(postgres_url, config=config()) as one:
            put(one, 0, 40)
            finds(two, 7)
            put(two, 40, 60)
            finds(one, 50)
            agrees(postgres_url, one)
            assert home(one) == home(two)
            put(one, 60, 200)
        agrees(postgres_url, two)
        finds(two, 7, 199)


def test_one_that_hangs_holds_no_recall_and_no_write(postgres_url: str) -> None:
    with MemoryStore.open(postgres_url, config=config()) as store:
        put(store, 0, 40)
        agrees(postgres_url, store)
        finds(store, 7)
        with beside(postgres_url) as connection, connection.execution_options(isolation_level="READ COMMITTED").begin():
            connection.execute(text(f"LOCK TABLE {table_of(home(store))} IN ACCESS EXCLUSIVE MODE"))
            for _ in range(2):
                began = time.monotonic()
                found = asked(store, 7, ms=1_000)
                assert time.monotonic() - began < 2
                assert found.hits[0].memory.id == "m7" and "vectors.away" in [d.reason for d in found.degraded]
            began = time.monotonic()
            put(store, 40, 45)
            assert time.monotonic() - began < 5
        until(lambda: not asked(store, 7).degraded)
        agrees(postgres_url, store)
        finds(store, 43)


def test_cut_off_it_is_there_again(postgres: Postgres, postgres_url: str) -> None:
    with MemoryStore.open(postgres_url, config=config()) as store:
        put(store, 0, 40)
        agrees(postgres_url, store)
        postgres.cut(postgres_url)
        until(lambda: not asked(store, 7).degraded)
        put(store, 40, 45)
        agrees(postgres_url, store)
        finds(store, 7, 43)


def test_an_extension_that_goes_and_comes_back(postgres_url: str) -> None:
    with MemoryStore.open(postgres_url, config=config()) as store:
        put(store, 0, 40)
        agrees(postgres_url, store)
        with beside(postgres_url) as connection:
            connection.execute(text("DROP EXTENSION vector CASCADE"))
        assert asked(store, 7).hits[0].memory.id == "m7"
        until(lambda: any("CREATE EXTENSION vector" in said for said in store.stats()["notices"]))
        assert asked(store, 7).hits[0].memory.id == "m7"
        with beside(postgres_url) as connection:
            connection.execute(text("CREATE EXTENSION vector"))
        until(lambda: not asked(store, 7).degraded)
        agrees(postgres_url, store)
        finds(store, 7)


# -- what is refused ---------------------------------------------------------------------------------------------------


@contextmanager
def role(postgres: Postgres, name: str) -> Iterator[None]:
    postgres.run(f"CREATE ROLE {name} LOGIN")
    try:
        yield
    finally:
        postgres.run(f"DROP ROLE {name}")


def test_a_directory_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"for a store in PostgreSQL.*Leave it out, or give the address of a Chroma"):
        MemoryStore.open(tmp_path / "s", config=config())
    with pytest.raises(ConfigError, match="for a store in PostgreSQL"):
        MemoryStore.open(vectors="pgvector")
    assert not (tmp_path / "s").exists()


def test_who_may_not_make_the_extension_is_told_what_to_do(postgres: Postgres) -> None:
    with role(postgres, "app_of_pgvector"):
        url = postgres.fresh()
        try:
            postgres.run(f"ALTER DATABASE {make_url(url).database} OWNER TO app_of_pgvector")
            address = make_url(url).set(username="app_of_pgvector").render_as_string(hide_password=False)
            with pytest.raises(VectorsRefused, match=r"Run CREATE EXTENSION vector in that database as a superuser"):
                MemoryStore.open(address, config=config())
            with beside(url) as connection:
                assert connection.execute(text("SELECT to_regclass('memories')")).scalar() is None, "nothing was made"
                connection.execute(text("CREATE EXTENSION vector"))
            with MemoryStore.open(address, config=config()) as store:
                put(store, 0, 20)
                agrees(url, store)
                finds(store, 7)
        finally:
            postgres.drop(url)


def test_a_server_without_pgvector_is_refused(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pg_vectors, "EXTENSION", "vector_of_nobody")
    with pytest.raises(VectorsRefused, match=r"has no pgvector. Install it there.*then run CREATE EXTENSION vector"):
        MemoryStore.open(postgres_url, config=config())


def test_one_that_is_too_old_is_refused(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pg_vectors, "LEAST", (99, 0))
    with pytest.raises(VectorsRefused, match=r"of version 0\.8, and 99\.0 or later.*ALTER EXTENSION vector UPDATE"):
        MemoryStore.open(postgres_url, config=config())


def test_one_that_searches_once(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before 0.8 there is no `hnsw.iterative_scan`."""
    monkeypatch.setattr(pg_vectors, "ITERATIVE", (99, 0))
    with MemoryStore.open(postgres_url, config=config()) as store:
        put(store, 0, 40)
        agrees(postgres_url, store)
        finds(store, 7)


def test_a_tenant_has_no_part_in_it(postgres: Postgres, postgres_url: str) -> None:
    with role(postgres, "ann_of_pgvector"):
        address = make_url(postgres_url).set(username="ann_of_pgvector").render_as_string(hide_password=False)
        try:
            with MemoryStore.open(postgres_url, config=config()) as store:
                put(store, 0, 40)
                agrees(postgres_url, store)
                names = [CATALOGUE, table_of(home(store))]
                with closing_engine(postgres_url) as engine:
                    tenants.isolate(engine, "ann_of_pgvector", "large")
                    with engine.connect() as connection:
                        assert not list(tenants.lacking(connection))
                with pytest.raises(ConfigError, match=r"role of a tenant.*leave out `vectors\.address`"):
                    MemoryStore.open(address, config=config())
                with MemoryStore.open(address) as hers:
                    assert QueryOptimizer(hers).recall("note7 about birds", scope=SCOPE).hits
                with beside(postgres_url) as owner, beside(address) as tenant:
                    for name in names:
                        may = "SELECT has_table_privilege('ann_of_pgvector', :name, 'SELECT, INSERT, UPDATE, DELETE')"
                        assert not owner.execute(text(may), {"name": name}).scalar()
                        owner.execute(text(f"GRANT SELECT ON {name} TO ann_of_pgvector"))
                        assert tenant.execute(text(f"SELECT count(*) FROM {name}")).scalar() == 0, "a second wall"
        finally:
            postgres.run(f"ALTER DATABASE {make_url(postgres_url).database} ALLOW_CONNECTIONS true")
            with beside(postgres_url) as owner:
                owner.execute(text("DROP OWNED BY ann_of_pgvector"))


def test_another_user_spoils_nothing(postgres: Postgres, postgres_url: str) -> None:
    """Whoever may read the tables by a default grant, and is shown no row, does not take collections for lost."""
    with role(postgres, "other_of_pgvector"):
        address = make_url(postgres_url).set(username="other_of_pgvector").render_as_string(hide_password=False)
        with beside(postgres_url) as owner:
            try:
                with closing(PgVectors(postgres_url, HERE)) as server, closing(PgVectors(address, HERE)) as other:
                    server.check()
                    server.make(HOME, "s")
                    server.apply(HOME, [1], drawn(1), [])
                    with pytest.raises(VectorsRefused, match="give all nodes the same user"):
                        other.look(HOME)
                    owner.execute(text("GRANT ALL ON ALL TABLES IN SCHEMA public TO other_of_pgvector"))
                    with pytest.raises(VectorsRefused, match="give all nodes the same user"):
                        other.look(HOME)
            finally:
                owner.execute(text("DROP OWNED BY other_of_pgvector"))


def test_one_that_was_closed_is_not_opened_again(server: PgVectors) -> None:
    server.close()
    with pytest.raises(VectorsAway, match="closed"):
        server.look(HOME)


@contextmanager
def closing_engine(url: str) -> Iterator[Any]:
    engine = open_postgres(url)
    try:
        yield engine
    finally:
        engine.dispose()


# -- beside the tables of the store ------------------------------------------------------------------------------------


def test_the_tables_are_checked_and_moved_without_it(postgres: Postgres, postgres_url: str) -> None:
    with MemoryStore.open(postgres_url, config=config()) as store:
        put(store, 0, 40)
        agrees(postgres_url, store)
        assert CliRunner().invoke(main, ["db", "check", postgres_url]).exit_code == 0
        with closing_engine(postgres_url) as engine:
            assert store_tables.check_tables(engine).ready
    target = postgres.fresh()
    try:
        move(postgres_url, target)
        assert not verify(postgres_url, target).differences
        assert not tables(target)
        with MemoryStore.open(target, config=config()) as store:
            agrees(target, store)
            finds(store, 7)
    finally:
        postgres.drop(target)


@pytest.mark.slow
def test_behind_a_pooler_that_gives_each_transaction_another_connection(postgres: Postgres, postgres_url: str) -> None:
    with (
        pgbouncer.running(postgres) as pooler,
        MemoryStore.open(pooler.address(postgres_url), config=config()) as store,
    ):
        put(store, 0, 60)
        agrees(postgres_url, store)
        for _ in range(8):  # often enough for a statement to be prepared, if one were
            finds(store, 7, 59)
        store.forget("m7", scope=SCOPE)
        agrees(postgres_url, store)
