"""Another session is idle in a transaction in which it locked a table: calls wait for a bounded time and say why."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import create_engine, make_url, text

from recall_integrations import Memory, MemoryStore, QueryOptimizer, Scope
from recall_integrations.database import postgres, turns
from recall_integrations.errors import StoreError

HERE = Scope(user_id="u1")
WAITED = r"waited \d\.\d s for a lock of another session"


@contextmanager
def locked(url: str, table: str) -> Iterator[None]:
    """Hold a lock of a table by a session that does nothing."""
    engine = create_engine(make_url(url).set(drivername="postgresql+psycopg"))
    try:
        with engine.connect() as connection:
            connection.execute(text(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE"))
            yield
    finally:
        engine.dispose()


@pytest.fixture
def store(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryStore]:
    monkeypatch.setattr(postgres, "LOCK_S", 1.5)  # of 10 seconds
    monkeypatch.setattr(turns, "LOCK_S", 1.5)
    monkeypatch.setattr(turns, "WAIT_S", 0.2)
    with MemoryStore.open(postgres_url) as store:
        store.remember_many([Memory(f"Priya counted {i} swans", id=f"m{i}") for i in range(5)], scope=HERE)
        yield store


CALLS: dict[str, Callable[[MemoryStore], Any]] = {
    "remember": lambda store: store.remember("The lake is frozen", scope=HERE),
    "forget": lambda store: store.forget("m1", scope=HERE),
    "list": lambda store: store.list(scope=HERE),
}


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("remember", "changes"),
        ("remember", "memories"),
        ("remember", "scopes"),
        ("forget", "changes"),
        ("forget", "memories"),
        ("list", "memories"),
    ],
)
def test_a_call_says_that_it_waited_for_a_lock(postgres_url: str, store: MemoryStore, table: str, name: str) -> None:
    call = CALLS[name]
    with locked(postgres_url, table):
        began = time.monotonic()
        with pytest.raises(StoreError, match=WAITED):
            call(store)
        assert time.monotonic() - began < 5
    assert call(store)  # nothing is left of it


def test_a_recall_answers_from_memory_and_says_why(postgres_url: str, store: MemoryStore) -> None:
    optimizer = QueryOptimizer(store)
    optimizer.recall("swans", scope=HERE)
    with locked(postgres_url, "changes"):
        began = time.monotonic()
        result = optimizer.recall("how many swans did Priya count?", scope=HERE, time_budget_ms=1_000)
        assert time.monotonic() - began < 1.5
    assert result.hits
    (away,) = [d for d in result.degraded if d.stage == "store"]
    assert away.reason == "record.away" and "waited 0.5 s for a lock of another session" in away.detail
    optimizer.close()


def test_the_limit_of_the_user_is_kept(postgres_url: str) -> None:
    engine = postgres.open_postgres(f"{postgres_url}&options=-c%20lock_timeout%3D70")
    other = postgres.open_postgres(postgres_url)
    for made, wanted in ((engine, "70ms"), (other, "10s")):
        with made.connect() as connection, made.connect() as second:
            said = [one.exec_driver_sql("SHOW lock_timeout").scalar() for one in (connection, second)]
            assert said == [wanted] * 2
        made.dispose()
