"""A store goes from a directory to a database and back, while it is used, and when it is killed."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from click.testing import CliRunner
from sqlalchemy import text

from recall_integrations import Memory, MemoryStore, QueryOptimizer, Relation, Scope
from recall_integrations.cli import main
from recall_integrations.errors import InvalidArgument, StoreError, StoreLocked, StorePathError
from recall_integrations.evaluation.moved import verify
from recall_integrations.store import moving
from recall_integrations.store.moving import move
from tests.postgres import Postgres

U1, U2 = Scope(user_id="u1"), Scope(user_id="u2", namespace="ä")
NOW = datetime(2026, 5, 1, tzinfo=timezone.utc)
ASKED = ["Who counted swans?", "my phone number", "what happened in April?", "swanns on teh lake", "Priya Raman"]


def filled(place: str | Path) -> None:
    with MemoryStore.open(place, clock=lambda: NOW) as store:
        given = [
            Memory(f"Priya counted {i} swans on the lake", id=f"m{i}", event_at=NOW - timedelta(days=i), thread="t1")
            for i in range(120)
        ]
        store.remember_many(given, scope=U1)
        store.remember(Memory("My phone number is 555-0101", id="old", event_at=NOW - timedelta(days=90)), scope=U1)
        store.remember(Memory("My phone number is 555-0202", id="new", event_at=NOW - timedelta(days=9)), scope=U1)
        store.remember(
            Memory("Sam drinks tea", relations=(Relation("Sam", "drinks", "tea"),), metadata={"n": [1]}), scope=U2
        )
        store.remember(Memory("Inbox3 is full", id="ends", expires_at=NOW + timedelta(days=1)), scope=U2)
        store.add_entity("Priya", aliases=["Priya Raman", "PR"], scope=U1)
        store.forget(["m3", "m5"], scope=U1)
        store.remember(Memory("Priya counted no swans at all", id="m7"), scope=U1)
        optimizer = QueryOptimizer(store)
        result = optimizer.recall(ASKED[0], scope=U1, now=NOW)
        optimizer.feedback(result.id, helpful=[result.hits[0].memory.id or ""], now=NOW)


def answers(place: str | Path) -> list[object]:
    with MemoryStore.open(place, clock=lambda: NOW) as store:
        optimizer = QueryOptimizer(store)
        found: list[object] = [store.counts(), store.scopes(), store.judgements.counts()]
        for query in ASKED:
            for scope in (U1, U2):
                result = optimizer.recall(query, scope=scope, now=NOW, k=8, time_budget_ms=60_000)
                found.append([(hit.memory, round(hit.score, 5)) for hit in result.hits])
        return [*found, [list(store.iterate(scope=scope)) for scope in (U1, U2)]]


@pytest.fixture
def second_url(postgres: Postgres) -> Iterator[str]:
    """Another empty database."""
    url = postgres.fresh()
    yield url
    postgres.drop(url)


def test_there_and_back(tmp_path: Path, postgres_url: str, second_url: str) -> None:
    """From a directory into a database, from that into another one, and back into a directory."""
    filled(tmp_path / "one")
    wanted = answers(tmp_path / "one")
    for source, target in itertools.pairwise((tmp_path / "one", postgres_url, second_url, tmp_path / "two")):
        moved = move(source, target)
        assert (moved.scopes, moved.memories, moved.went_on) == (2, 122, False)
        found = verify(source, target)
        assert not found.differences and not found.written and found.rows > 500
        assert answers(target) == wanted
    with MemoryStore.open(tmp_path / "two") as store:
        store.remember("Henrietta counted them, too", scope=U1)
        assert store.count(scope=U1) == 121 and store.stats()["index_lag"] == {"semantic": 0}


def test_where_pgvector_is_named_it_is_not_needed(
    tmp_path: Path, postgres_url: str, second_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(tmp_path / "one")
    monkeypatch.setenv("RECALL_VECTORS__ADDRESS", "pgvector")
    for source, target in itertools.pairwise((tmp_path / "one", postgres_url, second_url, tmp_path / "two")):
        done = CliRunner().invoke(main, ["move", str(source), str(target)])
        assert done.exit_code == 0, done.output
        assert "of 2 scopes." in done.output
    for url in (postgres_url, second_url):
        assert not holds(url, "SELECT count(*) FROM pg_extension WHERE extname = 'vector'"), "nothing was made for it"


def holds(url: str, query: str) -> object:
    """The one value that a query gives."""
    from recall_integrations.database.postgres import open_postgres

    engine = open_postgres(url)
    try:
        with engine.connect() as connection:
            return connection.execute(text(query)).scalar()
    finally:
        engine.dispose()


@pytest.mark.slow
def test_while_others_read_and_write(tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memories are written, replaced and forgotten all the while, in scopes old and new, and names are declared; who
    asks for others meanwhile gets them as ever.
    """
    monkeypatch.setattr(moving, "AT_ONCE", 7)
    filled(tmp_path / "one")
    stop, asked_again, steps = threading.Event(), threading.Event(), itertools.count()
    may_write, wrote = threading.Semaphore(0), threading.Semaphore(0)
    done: list[int] = []
    read: list[list[object]] = []
    with (
        MemoryStore.open(tmp_path / "one", clock=lambda: NOW) as store,
        contextlib.closing(QueryOptimizer(store)) as optimizer,
        ThreadPoolExecutor(2) as threads,
    ):

        def write() -> None:
            while not stop.is_set():
                if not may_write.acquire(timeout=0.1):
                    continue
                n = len(done)
                store.remember(Memory(f"Sam saw {n} kestrels", id=f"k{n % 40}"), scope=U1)
                store.remember(f"note {n}", scope=Scope(user_id=f"new{n % 3}"))
                store.forget(f"m{10 + n % 60}", scope=U1)
                if n % 5 == 0:
                    store.add_entity(f"Kestrel {n}", scope=U1)
                done.append(n)
                wrote.release()

        def recalled() -> list[object]:
            found: list[object] = []
            for query, scope in (("my phone number", U1), ("what does Sam drink?", U2)):
                result = optimizer.recall(query, scope=scope, now=NOW, k=8, time_budget_ms=60_000)
                first = 2 if scope == U1 else 1
                found += [[hit.memory.id for hit in result.hits[:first]], [one.reason for one in result.degraded]]
            return found

        def ask() -> None:
            while not stop.is_set():
                read.append(recalled())
                asked_again.set()

        def between_steps() -> None:
            """One round is written for a step, less than it brings; the first steps wait for who reads and writes."""
            may_write.release()
            if next(steps) < 10:
                asked_again.clear()
                assert asked_again.wait(60) and wrote.acquire(timeout=60)

        before = recalled()
        others = [threads.submit(write), threads.submit(ask)]
        try:
            moved = move(tmp_path / "one", postgres_url, stopped=between_steps)
            written = len(done)
        finally:
            stop.set()
        for other in others:
            other.result()
    assert written > 3 and moved.held_s < moved.seconds
    assert before[:2] == [["new", "old"], []] and before[3] == []
    assert len(read) >= 10 and all(found == before for found in read)
    again = move(tmp_path / "one", postgres_url)  # what came since
    assert again.went_on
    found = verify(tmp_path / "one", postgres_url)
    assert not found.differences and not found.written and found.scopes == 5
    with MemoryStore.open(postgres_url, clock=lambda: NOW) as store:
        here = {memory.id for memory in store.iterate(scope=U1)}
        assert not here & {"m3", "m5", "m10"} and {"k0", "old", "new"} <= here


CHILD = """
import sys
from recall_integrations.store import moving
moving.AT_ONCE = 5
print("moving", flush=True)
moving.move(sys.argv[1], sys.argv[2])
"""


@pytest.mark.slow
def test_it_is_killed_and_goes_on(tmp_path: Path, postgres_url: str) -> None:
    filled(tmp_path / "one")
    wanted = answers(tmp_path / "one")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    killed = 0
    for after in (0.15, 0.05, 0.3, 0.1):
        command = [sys.executable, "-c", CHILD, str(tmp_path / "one"), postgres_url]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as child:
            assert child.stdout is not None and child.stdout.readline() == "moving\n"
            time.sleep(after)
            child.send_signal(signal.SIGKILL)
            killed += child.wait(30) < 0
    assert killed
    if move_is_under_way(postgres_url):
        with pytest.raises(StoreError, match="not whole yet"):
            MemoryStore.open(postgres_url)
        assert move(tmp_path / "one", postgres_url).went_on
    else:  # it was killed before it had begun, or after the end
        with contextlib.suppress(InvalidArgument):
            move(tmp_path / "one", postgres_url)
    assert not verify(tmp_path / "one", postgres_url).differences
    assert answers(postgres_url) == wanted


def move_is_under_way(url: str) -> bool:
    from recall_integrations.database.postgres import open_postgres

    engine = open_postgres(url)
    with engine.connect() as connection:
        made = connection.execute(text("SELECT to_regclass('meta') IS NOT NULL")).scalar()
        there = made and connection.execute(text("SELECT count(*) FROM meta WHERE key = 'moving'")).scalar()
    engine.dispose()
    return bool(there)


def test_what_is_stopped_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moving, "AT_ONCE", 10)
    filled(tmp_path / "one")
    calls = iter(range(100))

    def stopped() -> None:
        if next(calls) == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        move(tmp_path / "one", tmp_path / "two", stopped=stopped)
    with pytest.raises(StoreError, match="not whole yet"):
        MemoryStore.open(tmp_path / "two")
    with MemoryStore.open(tmp_path / "one", clock=lambda: NOW) as store:  # meanwhile
        store.forget(["m0", "m119"], scope=U1)
        store.remember(Memory("Sam came back", id="m1"), scope=U1)
    told = []
    moved = move(tmp_path / "one", tmp_path / "two", progress=lambda *said: told.append(said))
    assert moved.went_on and told[0][0] == "Copying memories" and told[0][1] >= 2
    assert not verify(tmp_path / "one", tmp_path / "two").differences
    assert answers(tmp_path / "one") == answers(tmp_path / "two")


def test_stores_are_not_mixed(tmp_path: Path, postgres_url: str) -> None:
    filled(tmp_path / "one")
    with MemoryStore.open(postgres_url) as store:
        store.remember("something else")
    with pytest.raises(InvalidArgument, match="holds memories already"):
        move(tmp_path / "one", postgres_url)
    for place in (tmp_path / "empty", postgres_url):
        with MemoryStore.open(place), pytest.raises(StoreLocked, match="while a store is moved to it"):
            move(tmp_path / "one", place)
    with MemoryStore.open(postgres_url) as store:
        assert store.count() == 1
    with pytest.raises(InvalidArgument, match="is the source"):
        move(tmp_path / "one", tmp_path / "one")
    with pytest.raises(InvalidArgument, match="is the source"):
        move(postgres_url, postgres_url)
    with pytest.raises(StorePathError, match="no store"):
        move(tmp_path / "nothing", tmp_path / "two")
    assert not (tmp_path / "nothing").exists() and not (tmp_path / "two").exists()
    with pytest.raises(InvalidArgument, match="directory or an address"):
        move(7, tmp_path / "two")  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def moved(tmp_path_factory: pytest.TempPathFactory, postgres: Postgres) -> Iterator[tuple[Path, str]]:
    """A store, and a database that it was moved to."""
    source, place = tmp_path_factory.mktemp("moved") / "one", postgres.fresh()
    filled(source)
    move(source, place)
    assert not verify(source, place).differences
    yield source, place
    postgres.drop(place)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE memories SET text = 'Priya counted 13 ducks' WHERE id = 'm4'",
        "DELETE FROM words WHERE num = (SELECT num FROM memories WHERE id = 'm4')",
        "UPDATE vectors SET vector = substring(vector from 3) || substring(vector for 2) WHERE num = 9",
        "DELETE FROM aliases",
    ],
)
def test_a_difference_is_found(statement: str, moved: tuple[Path, str], postgres: Postgres) -> None:
    from recall_integrations.database.postgres import open_postgres

    source, place = moved
    copy = postgres.fresh_of(place)
    engine = open_postgres(copy)
    with engine.begin() as connection:
        assert connection.execute(text(statement)).rowcount
    engine.dispose()
    assert verify(source, copy).differences
    found = CliRunner().invoke(main, ["move", str(source), copy, "--verify-only"])
    assert found.exit_code == 1 and "Not the same" in found.output
    postgres.drop(copy)


def test_the_command(tmp_path: Path, postgres_url: str) -> None:
    filled(tmp_path / "one")
    done = CliRunner().invoke(main, ["move", str(tmp_path / "one"), postgres_url])
    assert done.exit_code == 0, done.output
    assert "Moved 122 memories of 2 scopes" in done.output and "The same at both places" in done.output
    again = CliRunner().invoke(main, ["move", str(tmp_path / "one"), postgres_url])
    assert again.exit_code == 0 and "begun before" in again.output
    with MemoryStore.open(postgres_url) as store:
        store.remember("the app writes here now")
    again = CliRunner().invoke(main, ["move", str(tmp_path / "one"), postgres_url])
    assert again.exit_code == 1 and "holds memories already" in again.output
    absent = CliRunner().invoke(main, ["move", str(tmp_path / "none"), postgres_url])
    assert absent.exit_code == 1 and "There is no store" in absent.output


def test_what_cannot_be_compared_is_not_the_same(tmp_path: Path) -> None:
    filled(tmp_path / "one")
    filled(tmp_path / "two")
    with pytest.raises(InvalidArgument, match="another store"):
        verify(tmp_path / "one", tmp_path / "two")
    with MemoryStore.open(tmp_path / "empty"):
        pass
    with pytest.raises(InvalidArgument, match="another store|holds nothing"):
        verify(tmp_path / "one", tmp_path / "empty")
    move(tmp_path / "one", tmp_path / "three")
    with MemoryStore.open(tmp_path / "one") as store:
        for scope in (U1, U2):
            store.remember("one more", scope=scope)
    found = verify(tmp_path / "one", tmp_path / "three")
    assert found.written == 2 and "nothing could be compared" in found.differences[0]


def test_a_journal_that_was_shortened_meanwhile_does_no_harm(tmp_path: Path) -> None:
    from sqlalchemy import create_engine

    from recall_integrations.store import journal

    filled(tmp_path / "one")
    asked = []

    def stopped() -> None:
        asked.append(1)
        if len(asked) > 2:  # all is copied
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        move(tmp_path / "one", tmp_path / "two", stopped=stopped)
    with MemoryStore.open(tmp_path / "one") as store:
        store.forget("m1", scope=U1)
        store.remember(Memory("Sam is new", id="new one"), scope=U1)
    engine = create_engine(f"sqlite:///{tmp_path / 'one' / 'recall.db'}")
    with engine.begin() as connection:
        journal.prune(connection, journal.last_seq(connection))
    engine.dispose()
    assert move(tmp_path / "one", tmp_path / "two").went_on  # by what differs, whatever the journal still tells
    assert not verify(tmp_path / "one", tmp_path / "two").differences


def test_a_new_directory_is_no_damaged_one(tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path / "one") as store:
        store.remember("Priya counted swans")
    done = CliRunner().invoke(main, ["move", str(tmp_path / "one"), str(tmp_path / "two"), "--no-verify"])
    assert done.exit_code == 0 and "Moved 1 memory of 1 scope in" in done.output
    with MemoryStore.open(tmp_path / "two") as store:
        assert store.stats()["notices"] == []
        assert [hit.memory.text for hit in QueryOptimizer(store).recall("swans").hits] == ["Priya counted swans"]
