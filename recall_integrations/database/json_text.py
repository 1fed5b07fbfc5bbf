"""JSON as it is kept: the text that was written, in either database.

PostgreSQL's own types would not do: `jsonb` orders keys anew and refuses `\\u0000`, and the driver decodes both, where
most that read them want the text. It has no index on what is inside; filters have columns of their own.
"""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import JSON, VARCHAR, Dialect, TypeDecorator
from sqlalchemy.types import TypeEngine


class JsonText(TypeDecorator[Any]):
    """JSON in a column of text, written as SQLAlchemy's `JSON` writes it in SQLite."""

    impl = VARCHAR(collation="C")
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str:
        return json.dumps(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        return None if value is None else json.loads(value)


def json_type() -> TypeEngine[Any]:
    """The type of a column of JSON."""
    return JSON().with_variant(JsonText(), "postgresql")
