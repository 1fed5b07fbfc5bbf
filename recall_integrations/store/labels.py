"""What Chroma's own client reads beside vectors, where every scope is in Chroma: whose they are, and of which memory."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Engine, select

from recall_integrations.database import schema
from recall_integrations.database.portable import in_parts
from recall_integrations.indexes.vector_server import Labels
from recall_integrations.store import homes

MEMORY_ID = "memory_id"  # in the metadata of a vector
WITH_IDS = " with ids"  # after an embedding's fingerprint: collections with labels and those without have other names


class RecordLabels(Labels):
    """Labels read from the record."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def of_collection(self, home: str) -> dict[str, str]:
        s = schema.scopes.c
        with self._engine.connect() as connection:
            query = select(s.user_id, s.agent_id, s.namespace).where(s.scope_id == homes.scope_of(home))
            row = connection.execute(query).mappings().first()
        return {} if row is None else {str(key): str(value) for key, value in row.items()}

    def of_vectors(self, nums: Sequence[int]) -> list[dict[str, str]]:
        m = schema.memories.c
        with self._engine.connect() as connection:
            parts = (connection.execute(select(m.num, m.id).where(m.num.in_(part))).all() for part in in_parts(nums))
            ids = {num: id for part in parts for num, id in part}
        return [{MEMORY_ID: ids.get(num, "")} for num in nums]  # "": it was removed meanwhile
