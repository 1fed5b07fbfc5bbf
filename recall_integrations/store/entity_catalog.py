"""Entities of the scopes: the tables, and the in-memory name index that resolves words to them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray
from sqlalchemy import Connection, Engine, delete, insert, select, update

from recall_integrations.database import schema
from recall_integrations.extraction import GRAPH_KINDS, Extracted, Extractor
from recall_integrations.query.entities import EntityIndex
from recall_integrations.query.entities.units import entity_id_of, key_of
from recall_integrations.types import Memory

SCOPES_KEPT = 256
EXTRACTED_CONFIDENCE_MIN = 0.8
EXTRACTED_MAX = 12  # names per memory

logger = logging.getLogger("recall_integrations")


def normal_name(name: str) -> str:
    """The form under which a name is unique in its scope: the words that names are compared by, single spaces."""
    return " ".join(key_of(name))


def _no_numbers() -> NDArray[np.int64]:
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeColumns:
    """Edges of one entity as columns, oldest first: the memory that states it, the other end, predicate, confidence."""

    nums: NDArray[np.int64] = field(default_factory=_no_numbers)
    others: NDArray[np.int64] = field(default_factory=_no_numbers)
    predicates: NDArray[np.int64] = field(default_factory=_no_numbers)
    confidences: NDArray[np.float32] = field(default_factory=lambda: np.empty(0, dtype=np.float32))

    def extended(
        self, *, nums: list[int], others: list[int], predicates: list[int], confidences: list[float], keep: int
    ) -> EdgeColumns:
        """With newer edges appended, the newest `keep` of them all."""
        return EdgeColumns(
            nums=np.concatenate([self.nums, np.asarray(nums, dtype=np.int64)])[-keep:],
            others=np.concatenate([self.others, np.asarray(others, dtype=np.int64)])[-keep:],
            predicates=np.concatenate([self.predicates, np.asarray(predicates, dtype=np.int64)])[-keep:],
            confidences=np.concatenate([self.confidences, np.asarray(confidences, dtype=np.float32)])[-keep:],
        )


@dataclass(slots=True)
class ScopeEntities:
    """One scope's entities in memory."""

    index: EntityIndex = field(default_factory=EntityIndex)
    ent_of: dict[str, int] = field(default_factory=dict)  # entity_id -> ent
    by_norm: dict[str, int] = field(default_factory=dict)  # normal form of a *name* -> ent
    undeclared: set[int] = field(default_factory=set)
    id_of: dict[int, str] = field(default_factory=dict)  # ent -> entity_id
    next_ent: int = 1
    # ent -> (scope version, rising nums of the memories that mention it). Dropped with this object when entities merge.
    mentions: dict[int, tuple[int, NDArray[np.int64]]] = field(default_factory=dict)
    edges: dict[int, tuple[int, EdgeColumns]] = field(default_factory=dict)  # likewise
    predicates: dict[str, int] = field(default_factory=dict)  # predicate -> its code in the edge columns

    def put(self, ent: int, entity_id: str, name: str, norm: str, declared: bool, aliases: Iterable[str] = ()) -> None:
        """Add or extend an entity."""
        self.ent_of[entity_id] = ent  # first: who finds the name in the index looks here next
        self.id_of[ent] = entity_id
        self.index.add(entity_id, name, tuple(aliases))
        self.by_norm[norm] = ent
        (self.undeclared.discard if declared else self.undeclared.add)(ent)
        self.next_ent = max(self.next_ent, ent + 1)


@dataclass(slots=True)
class EntityRows:
    """What a batch of memories adds: rows for the transaction, and what goes into memory once it has committed."""

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
            if rows:
                connection.execute(insert(table), rows)


class EntityCatalog:
    """All scopes' entities. Writers hold the store's write lock; readers may run beside them."""

    def __init__(self, engine: Engine, extractor: Extractor | None = None) -> None:
        self._engine = engine
        self._extractor = extractor
        self._lock = threading.Lock()
        self._kept: LRUCache[int, ScopeEntities] = LRUCache(SCOPES_KEPT)

    def of(self, scope_id: int) -> ScopeEntities:
        """The scope's entities, loaded on first use; the least recently used scopes leave memory."""
        with self._lock:
            found = self._kept.get(scope_id)
            if found is None:
                found = self._kept[scope_id] = self._load(scope_id)
            return found

    def drop(self, scope_id: int) -> None:
        """Forget what is in memory, after a write that failed half-way."""
        with self._lock:
            self._kept.pop(scope_id, None)

    def _load(self, scope_id: int) -> ScopeEntities:
        e, a = schema.entities, schema.aliases
        loaded = ScopeEntities()
        with self._engine.connect() as connection:
            aliases: dict[int, list[str]] = {}
            for ent, alias in connection.execute(select(a.c.ent, a.c.alias).where(a.c.scope_id == scope_id)):
                aliases.setdefault(ent, []).append(alias)
            query = select(e.c.ent, e.c.entity_id, e.c.name, e.c.norm, e.c.declared).where(e.c.scope_id == scope_id)
            for ent, entity_id, name, norm, declared in connection.execute(query.order_by(e.c.ent)):
                loaded.put(ent, entity_id, name, norm, bool(declared), sorted(aliases.get(ent, ())))
        return loaded

    def rows_for(self, scope_id: int, items: Sequence[tuple[int, Memory]]) -> EntityRows:
        """Rows for memories that are about to be written as `(num, memory)`.

        Declared names win: an exact name, then an alias that only one entity has, else a new entity. Then come the
        names and relations that the extractor finds, if there is one, and at last the text is scanned for names that
        the scope knows, those of this batch included.
        """
        known = self.of(scope_id)
        rows = EntityRows()
        fresh: dict[str, int] = {}  # normal form -> ent, of names first seen in this batch
        fresh_ids: dict[str, int] = {}
        fresh_index = EntityIndex()
        for num, memory in items:
            roles: dict[int, str] = {}

            def resolve(name: str, role: str, roles: dict[int, str] = roles) -> int:
                norm = normal_name(name)
                ent = known.by_norm.get(norm) or fresh.get(norm)
                if ent is None:
                    found = known.index.lookup(name)
                    ent = known.ent_of[found[0]] if len(found) == 1 else None
                if ent is None:
                    ent = known.next_ent + len(fresh)
                    fresh[norm] = ent
                    entity_id = entity_id_of(name)
                    fresh_ids[entity_id] = ent
                    fresh_index.add(entity_id, name)
                    rows.entities.append(
                        {
                            "scope_id": scope_id,
                            "ent": ent,
                            "entity_id": entity_id,
                            "name": name,
                            "norm": norm,
                            "declared": 0,
                        }
                    )
                roles.setdefault(ent, role)
                return ent

            if memory.actor:
                resolve(memory.actor, "actor")
            for name in memory.entities:
                resolve(name, "declared")
            found = self._extract(memory)
            for entity in found.entities:
                resolve(entity.name, "extracted")
            edge_keys = set()
            for relation in (*memory.relations, *found.relations):
                key = (resolve(relation.subject, "relation"), relation.predicate, resolve(relation.object, "relation"))
                if key not in edge_keys:
                    edge_keys.add(key)
                    rows.edges.append(
                        {
                            "scope_id": scope_id,
                            "num": num,
                            "src": key[0],
                            "predicate": key[1],
                            "dst": key[2],
                            "confidence": relation.confidence,
                        }
                    )
            for mention in known.index.mentions(memory.text):
                roles.setdefault(known.ent_of[mention.entity_id], "text")
            for mention in fresh_index.mentions(memory.text) if fresh else ():
                roles.setdefault(fresh_ids[mention.entity_id], "text")
            rows.mentions.extend(
                {"scope_id": scope_id, "ent": ent, "num": num, "role": role} for ent, role in roles.items()
            )
        return rows

    def _extract(self, memory: Memory) -> Extracted:
        """What the extractor is sure of. One that fails costs its findings, not the memory."""
        if self._extractor is None:
            return Extracted()
        try:
            found = self._extractor.extract(memory)
            sure = [e for e in found.entities if e.confidence >= EXTRACTED_CONFIDENCE_MIN and e.kind in GRAPH_KINDS]
            sure.sort(key=lambda e: (-e.confidence, e.span))
            return Extracted(entities=tuple(sure[:EXTRACTED_MAX]), relations=tuple(found.relations))
        except Exception as e:  # noqa: BLE001 - users bring extractors; the memory is worth more than its names
            logger.warning("The extractor failed on a memory and was passed over: %s", type(e).__name__)
            return Extracted()

    def committed(self, scope_id: int, rows: EntityRows) -> None:
        """Take new entities into memory after their transaction has committed."""
        known = self.of(scope_id)
        for row in rows.entities:
            if row["ent"] not in known.id_of:
                known.put(row["ent"], row["entity_id"], row["name"], row["norm"], bool(row["declared"]))

    def declare(
        self, connection: Connection, scope_id: int, name: str, aliases: Sequence[str]
    ) -> tuple[int, list[int]]:
        """Write an entity and its aliases in the caller's transaction; return its `ent` and those merged into it.

        An alias that is the name of an entity nobody declared (it was only seen in a memory) takes that one over.
        """
        known = self.of(scope_id)
        e, a = schema.entities, schema.aliases
        norm = normal_name(name)
        ent = known.by_norm.get(norm)
        if ent is None:
            ent = known.next_ent
            row = {
                "scope_id": scope_id,
                "ent": ent,
                "entity_id": entity_id_of(name),
                "name": name,
                "norm": norm,
                "declared": 1,
            }
            connection.execute(insert(e).values(**row))
        else:
            connection.execute(update(e).where(e.c.scope_id == scope_id, e.c.ent == ent).values(declared=1, name=name))
        merged = []
        have = set(connection.execute(select(a.c.norm).where(a.c.scope_id == scope_id, a.c.ent == ent)).scalars())
        for alias in aliases:
            alias_norm = normal_name(alias)
            other = known.by_norm.get(alias_norm)
            if other is not None and other != ent and other in known.undeclared:
                self._merge(connection, scope_id, other, ent)
                merged.append(other)
            if alias_norm not in have and alias_norm != norm:
                have.add(alias_norm)
                connection.execute(insert(a).values(scope_id=scope_id, norm=alias_norm, ent=ent, alias=alias))
        return ent, merged

    @staticmethod
    def _merge(connection: Connection, scope_id: int, source: int, target: int) -> None:
        n, g, e, a = schema.mentions, schema.edges, schema.entities, schema.aliases
        already = select(n.c.num).where(n.c.scope_id == scope_id, n.c.ent == target)
        theirs = (n.c.scope_id == scope_id) & (n.c.ent == source)
        connection.execute(delete(n).where(theirs, n.c.num.in_(already)))
        connection.execute(update(n).where(theirs).values(ent=target))
        touched = (g.c.scope_id == scope_id) & ((g.c.src == source) | (g.c.dst == source))
        moved = [dict(row) for row in connection.execute(select(g).where(touched)).mappings()]
        connection.execute(delete(g).where(touched))
        for row in moved:
            row.update({side: target for side in ("src", "dst") if row[side] == source})
            same = [g.c[key] == row[key] for key in ("scope_id", "num", "src", "predicate", "dst")]
            if connection.execute(select(g.c.num).where(*same)).first() is None:
                connection.execute(insert(g).values(**row))
        connection.execute(delete(a).where(a.c.scope_id == scope_id, a.c.ent == source))
        connection.execute(delete(e).where(e.c.scope_id == scope_id, e.c.ent == source))
