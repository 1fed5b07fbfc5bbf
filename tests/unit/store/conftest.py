"""What the tests of spellers and of their corrections look at."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import select

from recall_integrations.database import schema
from recall_integrations.query.spelling import Speller
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import Scope

Row = tuple[int, str, str, int, int | None]


@pytest.fixture(scope="session")
def speller_of() -> Callable[..., Speller]:
    """The speller of a scope, which there is."""

    def find(store: MemoryStore, scope: Scope = Scope()) -> Speller:
        scope_id = store.scope_id(scope)
        assert scope_id is not None
        found = store.speller(scope_id)
        assert found is not None
        return found

    return find


@pytest.fixture(scope="session")
def table() -> Callable[[MemoryStore], list[Row]]:
    """The corrections that are stored, in order."""

    def read(store: MemoryStore) -> list[Row]:
        c = schema.corrections.c
        with store.engine.connect() as connection:
            query = select(c.scope_id, c.word, c.stem, c.uses, c.validated).order_by(c.scope_id, c.word, c.stem)
            return [tuple(row) for row in connection.execute(query)]

    return read
