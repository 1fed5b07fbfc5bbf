"""What SQLite databases of one process share."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import select, text
from sqlalchemy.engine.interfaces import CacheStats

from recall_integrations.database import schema
from recall_integrations.database.engine import open_sqlite


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
