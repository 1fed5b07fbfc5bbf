"""The entities that a batch of memories adds to a scope: the entity of each name, and the rows for it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection

from recall_integrations.database import schema
from recall_integrations.database.inserting import insert_rows
from recall_integrations.query.entities import EntityIndex
from recall_integrations.query.entities.units import entity_id_of, key_of
from recall_integrations.records import record
from recall_integrations.store.scope_entities import ScopeEntities
from recall_integrations.types import Memory, Relation


@lru_cache(maxsize=4_096)  # most memories of a chat name the same few
def normal_name(name: str) -> str:
    """Return the form under which a name is unique in its scope: the words compared in names, single spaces."""
    return " ".join(key_of(name))


@record(slots=True)
class EntityRows:
    """Rows that a batch of memories adds in its transaction; new entities go into memory once it has committed."""

    entities: list[dict[str, Any]] = field(default_factory=list)
    mentions: list[dict[str, Any]] = field(default_factory=list)
    edges: list[dict[str, Any]] = field(default_factory=list)

    def write(self, connection: Connection) -> None:
        """Insert the rows in the caller's transaction."""
        for table, rows in (
            (schema.entities, self.entities),
            (schema.mentions, self.mentions),
            (schema.edges, self.edges),
        ):
            insert_rows(connection, table, rows)


class BatchNames:
    """Names of a batch that is about to be written."""

    def __init__(self, scope_id: int, known: ScopeEntities, key: bytes) -> None:
        self.rows = EntityRows()
        self._scope_id = scope_id
        self._known, self._key = known, key
        self._fresh: dict[str, int] = {}  # normal form -> ent, of names first seen in this batch
        self._fresh_ids: dict[str, int] = {}
        self._fresh_index = EntityIndex()

    def add(self, num: int, memory: Memory, found: Iterable[str]) -> None:
        """Add the rows of a memory: of its names and relations, of extracted names, then of known names in its text."""
        roles: dict[int, str] = {}  # ent -> the first role in which the memory names it
        if memory.actor:
            roles.setdefault(self._ent_of(memory.actor), "actor")
        for name in memory.entities:
            roles.setdefault(self._ent_of(name), "declared")
        for name in found:
            roles.setdefault(self._ent_of(name), "extracted")
        self._relate(num, memory.relations, roles)
        for mention in self._known.index.mentions(memory.text):
            roles.setdefault(self._known.ent_of[mention.entity_id], "text")
        for mention in self._fresh_index.mentions(memory.text) if self._fresh else ():
            roles.setdefault(self._fresh_ids[mention.entity_id], "text")
        self.rows.mentions.extend(
            {"scope_id": self._scope_id, "ent": ent, "num": num, "role": role} for ent, role in roles.items()
        )

    def _relate(self, num: int, relations: tuple[Relation, ...], roles: dict[int, str]) -> None:
        """Add the edges of one memory, each once."""
        seen = set()
        for relation in relations:
            source, target = self._ent_of(relation.subject), self._ent_of(relation.object)
            roles.setdefault(source, "relation")
            roles.setdefault(target, "relation")
            if (source, relation.predicate, target) in seen:
                continue
            seen.add((source, relation.predicate, target))
            self.rows.edges.append(
                {
                    "scope_id": self._scope_id,
                    "num": num,
                    "src": source,
                    "predicate": relation.predicate,
                    "dst": target,
                    "confidence": relation.confidence,
                }
            )

    def _ent_of(self, name: str) -> int:
        """Return the entity of a name: by the name itself, else by an alias that only one has, else a new one."""
        known, norm = self._known, normal_name(name)
        ent = known.by_norm.get(norm) or self._fresh.get(norm)
        if ent is None:
            holders = known.index.lookup(name)
            ent = known.ent_of[holders[0]] if len(holders) == 1 else None
        return self._new(name, norm) if ent is None else ent

    def _new(self, name: str, norm: str) -> int:
        ent = self._known.next_ent + len(self._fresh)
        entity_id = entity_id_of(name, self._key)
        self._fresh[norm] = ent
        self._fresh_ids[entity_id] = ent
        self._fresh_index.add(entity_id, name)
        self.rows.entities.append(
            {
                "scope_id": self._scope_id,
                "ent": ent,
                "entity_id": entity_id,
                "name": name,
                "norm": norm,
                "declared": 0,
            }
        )
        return ent
