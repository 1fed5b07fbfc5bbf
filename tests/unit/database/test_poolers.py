"""A pooler in front of PostgreSQL, which is refused where it is known."""

from __future__ import annotations

import pytest

from recall_integrations import Memory, MemoryStore
from recall_integrations.database.postgres import open_postgres
from recall_integrations.errors import StoreError


def test_one_that_invents_the_number_of_the_process_is_refused(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from psycopg import ConnectionInfo

    open_postgres(postgres_url).dispose()
    monkeypatch.setattr(ConnectionInfo, "backend_pid", property(lambda _: -7))
    with pytest.raises(StoreError, match="behind a pooler"):
        open_postgres(postgres_url)


def test_one_that_cannot_be_told_lets_nobody_be_alone(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It gave the lock of who has the store open to somebody else's connection."""
    with MemoryStore.open(postgres_url) as store:
        store.remember(Memory("Priya counted swans", id="m1"))
        store.forget("m1")
        outside = store._parts.directory.outside  # type: ignore[attr-defined]
        outside.ask("SELECT pg_advisory_unlock_all()")
        with pytest.raises(StoreError, match="Give the server's own address"):
            store.compact()
