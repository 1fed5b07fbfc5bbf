"""How a pooler in front of PostgreSQL is known. Behind a real one: `tests/integration/test_pgbouncer.py`."""

from __future__ import annotations

from typing import Any

import pytest

from recall_integrations import Memory, MemoryStore
from recall_integrations.database.postgres import is_pooled, open_postgres
from recall_integrations.errors import StoreError


def test_the_servers_own_address_is_none(postgres_url: str) -> None:
    engine = open_postgres(postgres_url)
    with engine.connect() as connection:
        raw: Any = connection.connection.dbapi_connection
        assert raw.prepare_threshold == 5
    assert not is_pooled(engine) and not is_pooled(engine.execution_options(other=1))
    engine.dispose()


def test_one_that_invents_numbers_is_known_at_the_first_connection(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from psycopg import ConnectionInfo

    monkeypatch.setattr(ConnectionInfo, "backend_pid", property(lambda _: -7))
    engine = open_postgres(postgres_url)
    for _ in range(2):
        with engine.connect() as one, engine.connect() as two:
            raws: list[Any] = [connection.connection.dbapi_connection for connection in (one, two)]
            assert [raw.prepare_threshold for raw in raws] == [None, None]
        assert is_pooled(engine) and is_pooled(engine.execution_options(other=1))
        engine.dispose()  # connections that are made afterwards prepare nothing, either
    with pytest.raises(StoreError, match="hands on no `options`"):
        open_postgres(f"{postgres_url}&options=-csearch_path%3Dmemories")


def test_one_that_cannot_be_told_lets_nobody_be_alone(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It gave the lock of who has the store open to somebody else's connection."""
    with MemoryStore.open(postgres_url) as store:
        store.remember(Memory("Priya counted swans", id="m1"))
        store.forget("m1")
        outside = store._parts.directory.outside  # type: ignore[attr-defined]
        outside.ask("SELECT pg_advisory_unlock_all()")
        with pytest.raises(StoreError, match="Give the server's own address"):
            store.compact()
