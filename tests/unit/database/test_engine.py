"""What SQLite databases of one process share."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import select, text
from sqlalchemy.engine.interfaces import CacheStats

from recall_integrations.database import schema
from recall_integrations.database.engine import open_sqlite, refuse_new
from recall_integrations.errors import StoreClosed


def test_what_was_compiled_for_one_store_serves_another(tmp_path: Path) -> None:
    hits, found = [], []
    for name in ("one", "other"):
        engine = open_sqlite(tmp_path / f"{name}.db")
        schema.metadata.create_all(engine)
        with engine.begin() as connection:
            connection.execute(text("INSERT INTO meta VALUES (:key, :value)"), {"key": name, "value": name})
            asked = connection.execute(select(schema.meta.c.value, text("7")).where(schema.meta.c.key == name))
            hits.append(asked.context.cache_hit)
            found.append(asked.scalar())
        engine.dispose()
    assert found == ["one", "other"]
    assert hits == [CacheStats.CACHE_MISS, CacheStats.CACHE_HIT]


def test_an_engine_that_makes_no_new_connection_leaves_the_others_alone(tmp_path: Path) -> None:
    engines = [open_sqlite(tmp_path / f"{name}.db") for name in ("first", "second", "third")]

    def refuse(*_: object) -> None:
        raise StoreClosed("closed")

    for refused in (1, 0):  # the first of a process is the one whose compiled statements are shared
        refuse_new(engines[refused], refuse)
        engines[refused].dispose()
        with pytest.raises(StoreClosed):
            engines[refused].connect()
        for other in engines[2:] if refused == 0 else (engines[0], engines[2]):
            with other.connect() as one, other.connect() as another:  # the second is a new one
                assert one.scalar(text("SELECT 1")) == another.scalar(text("SELECT 1")) == 1
    for engine in engines:
        engine.dispose()
