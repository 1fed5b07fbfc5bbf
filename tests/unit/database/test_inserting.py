"""Rows that go to the driver as they are say the same as those that SQLAlchemy writes."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, insert, select, text

from recall_integrations.database import schema
from recall_integrations.database.sending import insert_rows


@pytest.fixture
def engine() -> Engine:
    engine = create_engine("sqlite://")
    schema.metadata.create_all(engine)
    return engine


def memory(num: int, **fields: Any) -> dict[str, Any]:
    return {
        "scope_id": 1, "num": num, "id": f"m{num}", "text": "ünï", "type": "fact", "actor": None, "role": None,
        "channel": "", "event_at": None, "expires_at": None, "created_at": 7, "importance": 0.5, "thread": None,
        "position": None, "entities": [], "relations": [], "refs": [], "metadata": {}, **fields,
    }  # fmt: skip


ROWS = [
    memory(1),
    memory(2, entities=["Ünï", 'q"'], relations=[["a", "knows", "b", 0.5]], metadata={"k": [1, None, {"x": "é"}]}),
    memory(3, metadata={"": 0}, refs=["doc:x"], position=2**40, event_at=-5),
]


def test_the_same_is_stored(engine: Engine) -> None:
    raw = text("SELECT * FROM memories ORDER BY num")
    with engine.begin() as connection:
        insert_rows(connection, schema.memories, ROWS)
        found = connection.execute(raw).all()
        assert [dict(row) for row in connection.execute(select(schema.memories)).mappings()] == ROWS
        connection.execute(schema.memories.delete())
        connection.execute(insert(schema.memories), ROWS)
        assert connection.execute(raw).all() == found


def test_no_rows_and_bytes(engine: Engine) -> None:
    with engine.begin() as connection:
        insert_rows(connection, schema.vectors, [])
        insert_rows(connection, schema.vectors, [{"vector": b"\x00\x01", "num": 2, "scope_id": 1}])
        assert connection.execute(select(schema.vectors)).all() == [(1, 2, b"\x00\x01")]
        assert type(connection.execute(select(schema.vectors.c.vector)).scalar_one()) is bytes


def test_a_row_that_lacks_a_column_is_refused(engine: Engine) -> None:
    with engine.begin() as connection, pytest.raises(KeyError):
        insert_rows(connection, schema.vectors, [{"scope_id": 1, "num": 2}])
