"""The reading side of a store: memories by id and number, counts, languages, sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import func, select

from recall_integrations.database import schema
from recall_integrations.store import fetching, languages
from recall_integrations.store.directory import size_of
from recall_integrations.store.parts import StoreParts
from recall_integrations.text.spoken import Spoken
from recall_integrations.types import Memory, Scope

SCOPES_KEPT = 4_096  # whose languages are in memory

_COUNTED = (schema.entities, schema.aliases, schema.mentions, schema.edges, schema.vectors, schema.corrections)


class Reader:
    """Reads the record. Threads may share one."""

    def __init__(self, parts: StoreParts) -> None:
        self._parts = parts
        self._languages: dict[int, tuple[int, Spoken]] = {}  # of each scope the version, and what was read at it

    def fetch(self, scope_id: int, nums: Sequence[int]) -> dict[int, Memory]:
        """Memories by num; those that are gone are left out."""
        with self._parts.errors():
            return fetching.by_num(self._parts.engine, scope_id, nums, self._parts.damage)

    def fetch_ids(self, scope_id: int, ids: Sequence[str]) -> dict[str, Memory]:
        """Memories by id; those that are gone are left out."""
        with self._parts.errors():
            return fetching.by_id(self._parts.engine, scope_id, ids, self._parts.damage)

    def languages(self, scope_id: int) -> Spoken:
        """In which languages the scope is written; read once after each write to it."""
        version = self._parts.version(scope_id)
        kept = self._languages.get(scope_id)
        if kept is None or kept[0] != version:
            if len(self._languages) >= SCOPES_KEPT:
                self._languages.clear()
            with self._parts.errors(), self._parts.engine.connect() as connection:
                kept = self._languages[scope_id] = version, languages.read(connection, scope_id)
        return kept[1]

    def count_of(self, scope_id: int) -> int:
        """How many memories the scope with this number holds."""
        s = schema.scopes
        with self._parts.errors(), self._parts.engine.connect() as connection:
            return int(connection.execute(select(s.c.memories).where(s.c.scope_id == scope_id)).scalar_one())

    def scopes(self) -> list[tuple[Scope, int]]:
        """All scopes with their number of memories, in the order they were made."""
        s = schema.scopes
        with self._parts.errors(), self._parts.engine.connect() as connection:
            rows = connection.execute(select(s).order_by(s.c.scope_id)).all()
        return [(Scope(r.user_id, r.agent_id, r.namespace), int(r.memories)) for r in rows]

    def stats(self) -> dict[str, Any]:
        """See `MemoryStore.stats`."""
        parts, m = self._parts, schema.memories
        with parts.errors(), parts.engine.connect() as connection:
            counted = connection.execute(select(m.c.type, func.count()).group_by(m.c.type))
            by_type = {str(kind): int(count) for kind, count in counted}
            span = connection.execute(select(func.min(m.c.event_at), func.max(m.c.event_at))).one()
            sizes = {
                table.name: connection.execute(select(func.count()).select_from(table)).scalar_one()
                for table in _COUNTED
            }
        scopes = self.scopes()
        return {
            "path": str(parts.path),
            "schema_version": schema.SCHEMA_VERSION,
            "embedding": parts.asking.fingerprint,
            "memories": sum(n for _, n in scopes),
            "scopes": [{"scope": str(s), "memories": n} for s, n in scopes],
            "types": by_type,
            "event_at": [None if t is None else int(t) for t in span],
            **sizes,
            "index_lag": dict(parts.indexes.lag),
            "bytes": size_of(parts.path),
            "notices": list(parts.indexes.notices),
        }
