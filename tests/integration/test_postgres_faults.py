"""Nodes whose PostgreSQL fails them: it is killed, the network is cut, a replica takes over that lacked something."""

from __future__ import annotations

import gc
import logging
import threading
import time
from collections.abc import Iterator

import pytest
from sqlalchemy import create_engine, event, make_url, text

from recall_integrations import Memory, MemoryStore, QueryOptimizer, Scope
from recall_integrations.database import sending, turns
from recall_integrations.database.postgres import open_postgres
from recall_integrations.errors import RecallError, StoreError
from recall_integrations.store import parts
from tests.postgres import Postgres, running

SCOPE, SAM = Scope(user_id="u1"), Scope(user_id="sam")


def ids(store: MemoryStore, query: str = "Who counted swans on the lake?") -> list[str]:
    """What is found when the database is there: for a moment after it was lost, an answer says that it was away."""
    optimizer = QueryOptimizer(store)
    for _ in range(100):
        result = optimizer.recall(query, scope=SCOPE, k=50)
        if "record.away" not in {one.reason for one in result.degraded}:
            break
        time.sleep(0.02)
    return sorted(hit.memory.id or "" for hit in result.hits)


def written(store: MemoryStore, name: str, count: int) -> list[str]:
    """Ids that were acknowledged; what fails is written again under its id."""
    done = []
    for i in range(count):
        for _ in range(50):
            try:
                done.append(store.remember(Memory(f"{name} counted {i} swans", id=f"{name}-{i}"), scope=SCOPE))
                break
            except StoreError:
                time.sleep(0.02)
    return done


@pytest.fixture
def two(postgres_url: str) -> Iterator[tuple[MemoryStore, MemoryStore]]:
    with MemoryStore.open(postgres_url) as store, MemoryStore.open(postgres_url) as other:
        yield store, other


def test_connections_are_cut_while_two_nodes_write(
    postgres: Postgres, postgres_url: str, two: tuple[MemoryStore, MemoryStore]
) -> None:
    done: dict[str, list[str]] = {}
    threads = [
        threading.Thread(target=lambda name=name, store=store: done.update({name: written(store, name, 25)}))
        for name, store in zip(("Priya", "Sam"), two, strict=True)
    ]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        postgres.cut(postgres_url)  # also of who has the turn, in the middle of a write
        time.sleep(0.15)
    wanted = [f"{name}-{i}" for name in ("Priya", "Sam") for i in range(25)]
    assert done == {name: [f"{name}-{i}" for i in range(25)] for name in ("Priya", "Sam")}
    for store in two:
        assert {memory.id for memory in store.iterate(scope=SCOPE)} == set(wanted)
        assert store.count(scope=SCOPE) == 50 and ids(store) == sorted(wanted)
    with MemoryStore.open(postgres_url) as third:
        assert ids(third) == sorted(wanted)


def test_a_node_whose_connection_was_cut_is_still_known_to_others(
    postgres: Postgres, postgres_url: str, two: tuple[MemoryStore, MemoryStore]
) -> None:
    store, other = two
    postgres.cut(postgres_url)
    assert store.count() == other.count() == 0
    with pytest.raises(StoreError, match="is open in 1 more"):
        store.compact()


def test_what_is_forgotten_while_a_node_is_cut_off_it_does_not_show(
    postgres: Postgres, postgres_url: str, two: tuple[MemoryStore, MemoryStore]
) -> None:
    store, other = two
    store.remember_many([Memory(f"Priya counted {i} swans", id=f"m{i}") for i in range(3)], scope=SCOPE)
    assert ids(other) == ["m0", "m1", "m2"]
    store.forget("m1", scope=SCOPE)
    postgres.cut(postgres_url)
    assert ids(other) == ids(store) == ["m0", "m2"]


def test_a_replica_takes_over_that_lacked_the_last_writes(
    postgres: Postgres, two: tuple[MemoryStore, MemoryStore], caplog: pytest.LogCaptureFixture
) -> None:
    store, other = two
    url = make_url(store._parts.directory.address)
    store.remember_many([Memory(f"Priya counted {i} swans", id=f"m{i}") for i in range(3)], scope=SCOPE)
    assert ids(other) == ids(store) == ["m0", "m1", "m2"]
    behind = postgres.fresh_of(url)  # what the replica has
    store.remember_many([Memory(f"Sam counted {i} swans", id=f"lost{i}") for i in range(3)], scope=SCOPE)
    store.remember(Memory("Sam has a scope of his own"), scope=Scope(user_id="lost"))
    store.forget("m1", scope=SCOPE)
    assert ids(other) == ids(store) == ["lost0", "lost1", "lost2", "m0", "m2"]
    postgres.take_over(behind, url)
    with caplog.at_level(logging.WARNING):
        assert ids(other) == ["m0", "m1", "m2"]
    assert "does not go on from what was read of it" in caplog.text
    # The same numbers are given again, to other memories.
    other.remember_many([Memory(f"Henrietta counted {i} swans", id=f"new{i}") for i in range(4)], scope=SCOPE)
    wanted = ["m0", "m1", "m2", "new0", "new1", "new2", "new3"]
    assert ids(store) == ids(other) == wanted and store.count(scope=SCOPE) == 7
    store.remember(Memory("Sam counted no swans", id="sam"), scope=SCOPE)
    assert ids(other) == ids(store) == [*wanted, "sam"]
    assert {scope for scope, _ in store.scopes()} == {SCOPE}


def test_a_replica_gives_the_same_numbers_to_other_memories(
    postgres: Postgres, two: tuple[MemoryStore, MemoryStore]
) -> None:
    """As many entries are written after as were lost: by their number, nothing seems to have happened."""
    store, other = two
    url = make_url(store._parts.directory.address)
    store.remember(Memory("Priya counted 3 swans", id="m0"), scope=SCOPE)
    behind = postgres.fresh_of(url)
    store.remember(Memory("Sam counted 9 swans", id="lost"), scope=SCOPE)
    assert ids(other) == ids(store) == ["lost", "m0"]
    postgres.take_over(behind, url)
    other.remember(Memory("Henrietta counted 7 swans", id="new"), scope=SCOPE)
    assert ids(other) == ids(store) == ["m0", "new"]


def test_stores_in_two_schemas_of_a_database_share_no_lock(postgres: Postgres) -> None:
    address = postgres.fresh()
    engine = open_postgres(address)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE SCHEMA one")
        connection.exec_driver_sql('CREATE SCHEMA "Two"')
    engine.dispose()
    of = [make_url(address).update_query_dict({"options": f"-csearch_path={name}"}) for name in ("one", '"Two"')]
    one, two = (MemoryStore.open(url.render_as_string(hide_password=False)) for url in of)
    with one, two:
        two.remember(Memory("Priya counted the swans", id="m0"))
        with one._parts.write_lock:
            assert not one._parts.directory.others()
            two.remember(Memory("Sam counted the geese", id="m1"))
        one.compact()
        assert (one.count(), two.count()) == (0, 2)


def test_who_lags_behind_a_shortened_journal_reads_anew(
    two: tuple[MemoryStore, MemoryStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "KEPT_ENTRIES", 10)
    monkeypatch.setattr("recall_integrations.indexes.scope_views._PRUNED_MIN", 0)
    store, other = two
    store.remember_many([Memory(f"Priya counted {i} swans", id=f"m{i}") for i in range(5)], scope=SCOPE)
    assert ids(other) == [f"m{i}" for i in range(5)]
    store.forget("m1", scope=SCOPE)
    for i in range(30):  # the other one looks at none of it: it is asked nothing, and its scope is not read
        store.remember(Memory(f"Sam drinks tea number {i}", id=f"t{i}"), scope=Scope(user_id="u2"))
    assert ids(other) == ids(store) == ["m0", "m2", "m3", "m4"]
    other.remember(Memory("Sam counted one swan", id="m9"), scope=SCOPE)
    assert ids(other) == ids(store) == ["m0", "m2", "m3", "m4", "m9"]
    assert other.count(scope=Scope(user_id="u2")) == 30


@pytest.mark.parametrize("again", [False, True])
def test_the_turn_is_lost_in_the_middle_of_a_write(
    postgres: Postgres, two: tuple[MemoryStore, MemoryStore], monkeypatch: pytest.MonkeyPatch, again: bool
) -> None:
    """Another node writes in between: nothing of the one write is there, and it is done once more in its own turn."""
    store, other = two
    store.remember(Memory("Priya counted a swan", id="m0"), scope=SCOPE)
    store.remember(Memory("Sam counted a swan", id="m0"), scope=SAM)
    assert ids(other) == ["m0"]
    appended = parts.journal.append

    def beside(*given: object, **more: object) -> object:
        monkeypatch.setattr("recall_integrations.store.journal.append", appended)
        postgres.run(
            "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted "
            f"AND objid = {turns.WRITING}"
        )
        other.remember(Memory("Sam counted two swans", id="m1"), scope=SAM)
        return appended(*given, **more)  # type: ignore[arg-type]

    monkeypatch.setattr("recall_integrations.store.journal.append", beside)
    if not again:
        monkeypatch.setattr(parts, "tried_again", lambda write, **_: write())
        with pytest.raises(RecallError, match="again and again|refused"):
            store.remember(Memory("Henrietta counted three swans", id="m2"), scope=SCOPE)
        assert ids(store) == ids(other) == ["m0"]
        assert store.count(scope=SAM) == other.count(scope=SAM) == 2
    store.remember(Memory("Henrietta counted three swans", id="m2"), scope=SCOPE)
    assert store.count(scope=SAM) == other.count(scope=SAM) == 2
    assert ids(store) == ids(other) == ["m0", "m2"]


@pytest.mark.parametrize("place", ["statement", "commit"])
def test_a_write_whose_connection_is_cut_is_done_once_more(
    postgres: Postgres,
    postgres_url: str,
    two: tuple[MemoryStore, MemoryStore],
    monkeypatch: pytest.MonkeyPatch,
    place: str,
) -> None:
    """The caller sees nothing of it, and what is there is there once; only what counts is not done twice."""
    store, other = two
    store.remember(Memory("Priya counted a swan", id="m0"), scope=SCOPE)
    cut: list[str] = []
    written, here = store._parts.engine, threading.current_thread()

    def now(*_: object) -> None:
        # Not what the store does in the background: that would be cut while the others write, or are looked at.
        if len(cut) == len(done) and threading.current_thread() is here:
            cut.append(place)
            postgres.cut(postgres_url)

    done: list[str] = []
    if place == "commit":
        committed = sending.Together.commit

        def commit(together: sending.Together) -> None:
            now()
            committed(together)

        monkeypatch.setattr(sending.Together, "commit", commit)
    event.listen(written, "commit" if place == "commit" else "begin", now)
    done_by = {
        "remember": lambda: store.remember(Memory("Sam counted two swans"), scope=SCOPE),
        "in one message": lambda: store.remember_many(["Sam counted two ducks", "and a goose"], scope=SCOPE),
        "remember_many": lambda: store.remember_many(
            [Memory(f"Sam counted {n} geese") for n in range(3, 9)], scope=SCOPE
        ),
        "add_entity": lambda: store.add_entity("Priya Raman", aliases=["Priya"], scope=SCOPE),
    }
    for name, write in done_by.items():
        write()
        done.append(name)
    assert len(cut) == len(done)
    done.append("no more of them")
    assert len(ids(store)) == store.count(scope=SCOPE) == other.count(scope=SCOPE) == 10
    assert ids(other) == ids(store)


def test_the_server_works_on_nothing_that_nobody_waits_for(
    postgres: Postgres, two: tuple[MemoryStore, MemoryStore]
) -> None:
    store, other = two
    store.remember_many([Memory(f"He counted {i} swans", id=f"m{i}", actor="Priya") for i in range(20)], scope=SCOPE)
    optimizer = QueryOptimizer(other)

    def asked() -> list[str]:
        result = optimizer.recall("What did Priya count?", scope=SCOPE, time_budget_ms=500)
        return [one.stage for one in result.degraded]

    assert asked() == []
    store.remember(Memory("He counted no swans", actor="Priya"), scope=SCOPE)
    engine = create_engine(postgres.url.set(database=make_url(store._parts.directory.address).database))
    waiting = text("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
    with engine.connect() as holder, engine.connect() as looking:
        holder.execute(text("LOCK TABLE mentions IN ACCESS EXCLUSIVE MODE"))
        assert asked() == ["graph"]
        until = time.monotonic() + 10
        while looking.execute(waiting).scalar() and time.monotonic() < until:
            time.sleep(0.02)
        assert looking.execute(waiting).scalar() == 0
    engine.dispose()
    assert asked() == []


@pytest.fixture
def own() -> Iterator[Postgres]:
    """A server that no other test uses."""
    with running() as server:
        if server.server is None:
            pytest.skip("somebody else's server is not killed")
        server.set_durable("on")
        yield server


@pytest.mark.slow
def test_the_server_is_killed_and_comes_back(own: Postgres, recwarn: pytest.WarningsRecorder) -> None:
    url = own.fresh()
    with MemoryStore.open(url) as store, MemoryStore.open(url) as other:
        acknowledged = written(store, "Priya", 5)
        assert ids(other) == acknowledged
        QueryOptimizer(store).recall("Who counted swans?", scope=SCOPE)
        own.kill()
        with pytest.raises(StoreError, match="cannot be reached"):
            other.remember(Memory("Sam counted a swan", id="Sam-0"), scope=SCOPE)
        with pytest.raises(StoreError, match="cannot be reached"):
            store.count(scope=SCOPE)
        here = QueryOptimizer(store).recall("Who counted swans?", scope=SCOPE)  # all of it is in memory
        assert here.hits and here.degraded[0].reason == "record.away", here.degraded
        assert "cannot be reached" in here.degraded[0].detail
        own.start()
        assert ids(other) == ids(store) == acknowledged  # with no retry of the caller
        acknowledged += written(other, "Sam", 3)
        assert ids(store) == sorted(acknowledged)


@pytest.mark.slow
def test_what_was_acknowledged_is_there_after_a_kill(own: Postgres) -> None:
    """Nothing else writes the server's log out meanwhile, so it is the turn that has waited for the disk."""
    own.run("ALTER SYSTEM SET wal_writer_delay = 10000", "SELECT pg_reload_conf()")
    url, acknowledged = own.fresh(), []
    for round_ in range(3):
        with MemoryStore.open(url) as store, MemoryStore.open(url) as other:
            for n in range(3):
                for name, node in (("Priya", store), ("Sam", other)):
                    acknowledged += written(node, f"{name}-{round_}-{n}", 1)
            node.remember_many([f"Sam counted {n} geese in round {round_}" for n in range(20)], scope=SAM)
            own.kill()
        own.start()
        with MemoryStore.open(url) as third:
            assert sorted(memory.id or "" for memory in third.iterate(scope=SCOPE)) == sorted(acknowledged)
            assert third.count(scope=SAM) == 20 * (round_ + 1)


@pytest.mark.slow
def test_threads_that_write_together_while_the_server_is_killed(own: Postgres) -> None:
    """In the middle of what they write in one transaction, and while they wait for the disk."""
    url, acknowledged = own.fresh(), []
    with MemoryStore.open(url) as store, MemoryStore.open(url) as other:
        store.remember("The first one", scope=SAM)
        ended = threading.Event()

        def write(node: MemoryStore, name: str) -> None:
            for n in range(1_000):
                if ended.is_set():
                    return
                acknowledged.extend(written(node, f"{name}-{n}", 1))

        nodes = [(node, f"t{place}") for place, node in enumerate([store, other] * 6)]
        threads = [threading.Thread(target=write, args=given) for given in nodes]
        for thread in threads:
            thread.start()
        for _ in range(2):
            before = len(acknowledged)
            while len(acknowledged) < before + 40:
                time.sleep(0.01)
            own.kill()
            own.start()
        ended.set()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()
        with MemoryStore.open(url) as third:
            there = [memory.id for memory in third.iterate(scope=SCOPE)]
        assert len(there) == len(set(there)) and sorted(map(str, there)) == sorted(acknowledged)
        for node in (store, other):
            assert node.count(scope=SCOPE) == len(there)


@pytest.mark.slow
def test_what_others_saw_and_the_disk_did_not(own: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server is killed before it is on disk: others forget what they saw, and the writer writes it once more."""
    own.run("ALTER SYSTEM SET wal_writer_delay = 10000", "SELECT pg_reload_conf()")
    url = own.fresh()
    with MemoryStore.open(url) as store, MemoryStore.open(url) as other:
        assert written(store, "Priya", 2) == ids(other) == ["Priya-0", "Priya-1"]
        monkeypatch.setattr(turns, "FLUSH", "SELECT pg_sleep(60)")
        acknowledged: list[str] = []
        thread = threading.Thread(target=lambda: acknowledged.extend(written(store, "Sam", 1)))
        thread.start()
        until = time.monotonic() + 20
        while "Sam-0" not in ids(other) and time.monotonic() < until:
            time.sleep(0.02)
        assert ids(other) == ["Priya-0", "Priya-1", "Sam-0"] and not acknowledged
        own.kill()
        monkeypatch.undo()
        own.start()
        with MemoryStore.open(url) as third:
            seen = {memory.id for memory in third.iterate(scope=SCOPE)}
            assert {"Priya-0", "Priya-1"} <= seen
        thread.join(60)
        assert acknowledged == ["Sam-0"]
        for node in (store, other):
            assert ids(node) == ["Priya-0", "Priya-1", "Sam-0"] and node.count(scope=SCOPE) == 3


@pytest.mark.slow
def test_a_store_is_let_go_while_the_server_is_away(own: Postgres, capsys: pytest.CaptureFixture[str]) -> None:
    store, left = MemoryStore.open(own.fresh()), MemoryStore.open(own.fresh())
    written(store, "Priya", 2)
    written(left, "Priya", 2)
    ids(left, "who countd swns on teh lake?")
    own.kill()
    store.close()
    store.close()
    del left
    gc.collect()
    assert "Traceback" not in capsys.readouterr().err
    own.start()


def test_a_closed_store_is_called_by_its_address(two: tuple[MemoryStore, MemoryStore]) -> None:
    store, _ = two
    name = store._parts.directory.name
    store.close()
    with pytest.raises(RecallError, match="is closed") as raised:
        store.count()
    assert name in str(raised.value)
