"""The line in which nodes wait for their turn to write, and what the lock says of what was committed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing

import pytest
from sqlalchemy import Engine, make_url, text

from benchmarks.scale.way import Way
from recall_integrations import Memory, MemoryStore, QueryOptimizer, Scope
from recall_integrations.database import turns
from recall_integrations.database.postgres import open_postgres
from recall_integrations.database.turns import Committed, Outside, Reached, WriteLock
from recall_integrations.errors import StoreClosed, StoreError
from tests.postgres import Postgres
from tests.rows import each_row

SCOPE, SAM = Scope(user_id="u1"), Scope(user_id="sam")
SOON_S = 20.0


@pytest.fixture
def engine(postgres_url: str) -> Iterator[Engine]:
    """Of a store that holds a memory."""
    with MemoryStore.open(postgres_url) as store:
        store.remember("Priya counted a swan", scope=SCOPE)
    opened = open_postgres(postgres_url)
    yield opened
    opened.dispose()


def waiting(engine: Engine) -> int:
    """How many stand in line."""
    query = text("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
    with engine.connect() as connection:
        return int(connection.execute(query).scalar_one())


def stand(engine: Engine, count: int) -> None:
    """Wait until so many stand in line."""
    end = time.monotonic() + SOON_S
    while waiting(engine) != count:
        assert time.monotonic() < end, waiting(engine)
        time.sleep(0.005)


def test_who_waits_first_has_it_first(engine: Engine) -> None:
    locks = [WriteLock(Outside(engine)) for _ in range(5)]
    first, had = locks.pop(), []
    assert first.acquire(1)

    def turn(place: int) -> None:
        assert locks[place].acquire(SOON_S)
        had.append(place)
        locks[place].release()

    threads = [threading.Thread(target=turn, args=(place,)) for place in range(4)]
    for place, thread in enumerate(threads):
        thread.start()
        stand(engine, place + 1)
    first.release()
    for thread in threads:
        thread.join(SOON_S)
    assert had == [0, 1, 2, 3] and waiting(engine) == 0


def test_who_waited_too_long_has_it_not_and_stands_in_no_line(engine: Engine) -> None:
    with closing(Outside(engine)) as one, closing(Outside(engine)) as other:
        first, second = WriteLock(one), WriteLock(other)
        assert first.acquire(0)
        began = time.monotonic()
        assert not second.acquire(0) and not second.acquire(0.2)
        assert 0.2 <= time.monotonic() - began < SOON_S and waiting(engine) == 0
        first.release()
        assert second.acquire(0)
        second.release()
        assert first.acquire(0)


def test_it_is_asked_again_from_time_to_time(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "WAIT_S", 0.02)
    with closing(Outside(engine)) as one, closing(Outside(engine)) as other:
        first, second, had = WriteLock(one), WriteLock(other), []
        assert first.acquire(0)
        thread = threading.Thread(target=lambda: had.append(second.acquire(SOON_S)))
        thread.start()
        time.sleep(0.2)
        assert not had
        first.release()
        thread.join(SOON_S)
        assert had == [True]


def test_a_limit_of_the_user_for_statements_does_not_count_in_the_line(postgres_url: str) -> None:
    limited = open_postgres(f"{postgres_url}&options=-c%20statement_timeout%3D50")
    with closing(Outside(limited)) as one, closing(Outside(limited)) as other:
        first, second, had = WriteLock(one), WriteLock(other), []
        assert first.acquire(0)
        thread = threading.Thread(target=lambda: had.append(second.acquire(SOON_S)))
        thread.start()
        stand(limited, 1)
        time.sleep(0.2)
        assert thread.is_alive()
        first.release()
        thread.join(SOON_S)
        said = [other.ask(f"SHOW {name}_timeout") for name in ("statement", "lock")]
        assert had == [True] and said == ["50ms", "10s"]  # and no more the line's own second
    limited.dispose()


def test_who_waits_for_a_store_that_is_closed_is_told_so(engine: Engine) -> None:
    with closing(Outside(engine)) as one, closing(Outside(engine)) as other:
        first, second = WriteLock(one), WriteLock(other)
        assert first.acquire(0)
        raised: list[BaseException] = []

        def wait() -> None:
            try:
                second.acquire(SOON_S)
            except StoreClosed as e:
                raised.append(e)

        thread = threading.Thread(target=wait)
        thread.start()
        stand(engine, 1)
        began = time.monotonic()
        other.close()
        thread.join(SOON_S)
        assert len(raised) == 1 and time.monotonic() - began < SOON_S / 2


def test_a_table_that_somebody_locks_leaves_nobody_with_the_lock(engine: Engine) -> None:
    """What is asked with the lock waits too: if it is given up, the lock is free again."""
    with closing(Outside(engine)) as one, closing(Outside(engine)) as other:
        first = WriteLock(one)
        assert first.acquire(0)
        first.give_back()  # from here on it says what is committed
        one.ask("SELECT set_config('lock_timeout', '50ms', false)")
        with engine.begin() as holder:
            holder.execute(text("LOCK TABLE changes IN ACCESS EXCLUSIVE MODE"))
            thread = threading.Thread(target=first.acquire, args=(0.3,))
            thread.start()
            time.sleep(0.1)
            holder.execute(text("SELECT 1"))
        thread.join(SOON_S)
        first.release()
        assert WriteLock(other).acquire(0)


def test_a_connection_that_was_cut_is_made_anew_for_the_next_turn(engine: Engine, postgres: Postgres) -> None:
    with closing(Outside(engine)) as one:
        lock = WriteLock(one)
        assert lock.acquire(0)
        lock.give_back()
        postgres.cut(engine.url)
        engine.dispose()
        assert lock.acquire(0) and lock.begun() is not None
        postgres.cut(engine.url)
        engine.dispose()
        with pytest.raises(StoreError, match="cannot be reached"):
            lock.give_back()  # it was lost, and with it what it was to say
        lock.release()
        assert lock.acquire(0)


def test_what_is_committed_is_said_with_the_lock(engine: Engine, postgres_url: str) -> None:
    with closing(Outside(engine)) as one, closing(Outside(engine)) as other, MemoryStore.open(postgres_url) as store:
        lock = WriteLock(one)
        watch = Committed(other, lock)
        assert lock.acquire(0) and lock.begun() is None  # before the first turn is over there may be no tables
        before = watch.turn_ends()
        assert before == watch.turn_began() == watch.turn_ends() and before == watch.now()
        assert before.head is not None and before.head[0] == before.semantic == 1
        store.remember("Sam counted a swan", scope=SAM)
        assert lock.acquire(0)
        now = lock.begun()
        assert now is not None and now == watch.turn_began() and now.version != before.version
        assert now.head is not None and now.head[0] == now.semantic == 2
        assert lock.begun() is None
        assert lock.give_back() == now and lock.give_back() is None


def test_it_is_read_in_a_snapshot_of_its_own(postgres_url: str) -> None:
    """Also where the database begins transactions with one: what was committed while one waited is known."""
    with MemoryStore.open(postgres_url) as store:
        store.remember("Priya counted a swan", scope=SCOPE)
        engine = open_postgres(f"{postgres_url}&options=-c%20default_transaction_isolation%3Dserializable")
        with closing(Outside(engine)) as one, closing(Outside(engine)) as other:
            first, second = WriteLock(one), WriteLock(other)
            for lock in (first, second):
                assert lock.acquire(0)
                lock.give_back()
            assert first.acquire(0)
            found: list[Reached | None] = []
            thread = threading.Thread(target=lambda: (second.acquire(SOON_S), found.append(second.begun())))
            thread.start()
            stand(engine, 1)
            with engine.begin() as connection:
                connection.execute(text("INSERT INTO changes SELECT 7, scope_id, op, 7, 'x' FROM changes"))
            first.release()
            thread.join(SOON_S)
            assert found[0] is not None and found[0].head == (7, "x")
        engine.dispose()


@each_row(
    ("said", "head", "semantic"),
    [
        ("57 a1b2 | 57 | 57", (57, "a1b2"), 57),
        ("57  | 57 | 40", (57, ""), 40),
        ("| 0 | 0", None, 0),
        ("| |", None, 0),
        ("9 what | a | tenant wrote | 9 | 9", (9, "what | a | tenant wrote"), 9),
    ],
)
def test_what_the_database_says_of_itself(said: str, head: tuple[int, str] | None, semantic: int) -> None:
    reached = Reached.read(said)
    assert (reached.head, reached.semantic) == (head, semantic)
    assert reached == Reached.read(said) and reached.version != Reached.read(f"8{said}").version


class Far:
    """A store to which each way is counted.

    Args:
        way: to its server.
        store: opened over it.
    """

    def __init__(self, way: Way, store: MemoryStore) -> None:
        self._way, self.store = way, store

    def ways(self, act: Callable[[], object]) -> int:
        """How often it waits for the server."""
        before = self._way.ways
        act()
        return self._way.ways - before


@pytest.fixture
def far(postgres: Postgres, postgres_url: str) -> Iterator[Far]:
    where = postgres.url.query.get("host")
    if not isinstance(where, str) or not where.startswith("/"):
        pytest.skip("the server has no socket here")
    with Way(f"{where}/.s.PGSQL.{postgres.url.port or 5432}", 0) as way:
        address = f"postgresql://postgres@127.0.0.1:{way.port}/{make_url(postgres_url).database}"
        with MemoryStore.open(address) as store:
            yield Far(way, store)


def median(found: Sequence[int]) -> int:
    """Beside what is counted the thread that looks every second may ask, too."""
    return sorted(found)[len(found) // 2]


def test_how_often_a_recall_waits_for_the_server(far: Far, postgres_url: str) -> None:
    said = [f"Priya counted {n} geese on the {n}th of May near Berlin" for n in range(1, 29)]
    scopes = [Scope(user_id=f"u{n}") for n in range(5)]
    optimizer = QueryOptimizer(far.store)

    def recall(scope: Scope, what: str = "geese") -> int:
        asked = f"How many {what} did Priya count?"
        return far.ways(lambda: optimizer.recall(asked, scope=scope, time_budget_ms=60_000))

    with MemoryStore.open(postgres_url) as near:
        for scope in (SCOPE, *scopes):
            near.remember_many(said, scope=scope)
        recall(SCOPE)
        cold = [recall(scope) for scope in scopes]
        warm = [recall(SCOPE, f"red {n} geese") for n in range(5)]
        others, written = [], []
        for n in range(5):
            near.remember(f"Sam counted {n} cranes", scope=SAM)
            others.append(recall(SCOPE, f"grey {n} geese"))
            near.remember(f"Priya counted {n} cranes", scope=SCOPE)
            written.append(recall(SCOPE, f"white {n} geese"))
    assert median(warm) <= 3 and median(others) <= 5 and median(written) <= 15 and median(cold) <= 17


def test_how_often_a_write_waits_for_the_server(far: Far, postgres_url: str) -> None:
    """A network makes each of these a millisecond or more, and others cannot write meanwhile."""
    store, ways = far.store, far.ways
    store.remember("Priya counted a swan", scope=SCOPE)
    store.remember("Priya counted two swans", scope=SCOPE)
    with MemoryStore.open(postgres_url) as near:

        def written(memory: Memory) -> int:
            return ways(lambda: there.append(store.remember(memory, scope=SCOPE)))

        there: list[str] = []
        alone = [written(Memory(f"Priya counted {n} geese")) for n in range(20)]
        replaced = [written(Memory(f"Priya counted {n} ducks", id="m1")) for n in range(10)]
        after_others = []
        for n in range(10):
            near.remember(f"Sam counted {n} geese", scope=SAM)
            after_others.append(written(Memory(f"Priya counted {n} cranes")))
        assert not {store.forget(one, scope=SCOPE) for one in there[:5]} - {1}
        gone = [ways(lambda one=one: store.forget(one, scope=SCOPE)) for one in there[5:15]]
    # The lock, the rows and the commit, and the lock again.
    assert (median(alone), median(replaced), median(after_others)) == (3, 5, 4)
    assert median(gone) <= 8
