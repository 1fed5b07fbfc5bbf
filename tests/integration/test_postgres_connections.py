"""How many connections to PostgreSQL a process has, and what is said where all of them are in use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import create_engine, make_url, text

from recall_integrations import Memory, MemoryStore, QueryOptimizer, RecallConfig, Scope
from recall_integrations.config import PostgresConfig
from recall_integrations.database import postgres
from recall_integrations.errors import StoreError
from tests.postgres import Postgres

SCOPE = Scope(user_id="u1")


def opened(address: str) -> MemoryStore:
    return MemoryStore.open(address, config=RecallConfig(postgres=PostgresConfig(pool_size=1)))


@contextmanager
def none_free(store: MemoryStore) -> Iterator[None]:
    """Inside, somebody else uses all connections of the store's pool."""
    engine = store._parts.engine
    with engine.connect(), engine.connect():
        yield


def test_what_all_are_in_use_for_says_which_setting_it_is(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "POOL_TIMEOUT_S", 0.1)
    with opened(postgres_url) as store:
        store.remember(Memory("Priya counted the swans", id="m1"), scope=SCOPE)
        with none_free(store):
            for call in (
                lambda: list(store.iterate(scope=SCOPE)),
                lambda: store.remember(Memory("Sam counted none", id="m2"), scope=SCOPE),
            ):
                with pytest.raises(StoreError, match=r"in use.*`postgres\.pool_size`"):
                    call()
        store.remember(Memory("Sam counted none", id="m2"), scope=SCOPE)
        assert [memory.id for memory in store.iterate(scope=SCOPE)] == ["m1", "m2"]


def test_no_recall_waits_for_one_longer_than_its_time_allows(postgres_url: str) -> None:
    with MemoryStore.open(postgres_url) as other, opened(postgres_url) as store:
        other.remember(Memory("Priya counted the swans", id="m1"), scope=SCOPE)
        optimizer = QueryOptimizer(store)
        assert [hit.memory.id for hit in optimizer.recall("Who counted swans?", scope=SCOPE)] == ["m1"]
        other.remember(Memory("Sam counted swans, too", id="m2"), scope=SCOPE)
        with none_free(store):
            here = optimizer.recall("Who counted swans?", scope=SCOPE, time_budget_ms=300)
            assert [hit.memory.id for hit in here] == ["m1"]
            away = [one for one in here.degraded if one.reason == "record.away"]
            assert away and "`postgres.pool_size`" in away[0].detail
        assert {hit.memory.id for hit in optimizer.recall("Who counted swans?", scope=SCOPE)} == {"m1", "m2"}


def test_a_process_has_as_many_as_the_page_says(postgres: Postgres, postgres_url: str) -> None:
    there = text("SELECT count(*) FROM pg_stat_activity WHERE datname = :name")
    with opened(postgres_url) as store, none_free(store):
        engine = create_engine(postgres.url)
        with engine.connect() as connection:
            found = connection.execute(there, {"name": make_url(postgres_url).database}).scalar()
        engine.dispose()
    assert found == 2 * 1 + 1 + 1  # the pool, who has it open, the turn
