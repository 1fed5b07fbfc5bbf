"""Entities of the scopes: the key of their ids, the name index in memory, and the rows that a batch of memories adds.

An id is a digest of a name under a random key of the store: from an unkeyed digest, a phone number that stands for a
person is found in seconds, and two stores that know the same person show it.
"""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray
from sqlalchemy import Connection, Engine, bindparam, delete, insert, select, update

from recall_integrations.database import schema
from recall_integrations.database.schema import get_meta, put_meta
from recall_integrations.database.sending import begun, send
from recall_integrations.errors import InvalidArgument
from recall_integrations.query.entities import EntityIndex
from recall_integrations.query.entities.state import entity_id_of, key_of, order_of
from recall_integrations.records import record
from recall_integrations.resilience.failures import failures
from recall_integrations.types import Memory, Relation
from recall_integrations.types.memory import names_of


@record(slots=True)
class ScopeEntities:
    """One scope's entities in memory."""

    index: EntityIndex = field(default_factory=lambda: EntityIndex(lambda _entity_id, name: order_of(name)))
    ent_of: dict[str, int] = field(default_factory=dict)  # entity_id -> ent
    by_norm: dict[str, int] = field(default_factory=dict)  # normal form of a *name* -> ent
    undeclared: set[int] = field(default_factory=set)
    id_of: dict[int, str] = field(default_factory=dict)  # ent -> entity_id
    next_ent: int = 1
    # ent -> (scope version, rising nums of the memories that mention it). Dropped with this object when entities merge.
    mentions: dict[int, tuple[int, NDArray[np.int64]]] = field(default_factory=dict)
    edges: dict[int, tuple[int, NDArray[Any]]] = field(default_factory=dict)  # likewise, as `arms.graph.EDGE`
    # (kind, entity) -> (ids of the columns, nums, their rows, number of rows of the columns).
    rows: dict[tuple[str, int], tuple[Sequence[str], NDArray[np.int64], NDArray[np.int64], int]] = field(
        default_factory=dict
    )
    predicates: dict[str, int] = field(default_factory=dict)  # predicate -> its code in the edge columns

    def put(self, ent: int, entity_id: str, name: str, norm: str, declared: bool, aliases: Iterable[str] = ()) -> None:
        self.ent_of[entity_id] = ent  # first: a reader that finds the name in the index looks here next
        self.id_of[ent] = entity_id
        self.index.add(entity_id, name, tuple(aliases), declared=declared)
        self.by_norm[norm] = ent
        (self.undeclared.discard if declared else self.undeclared.add)(ent)
        self.next_ent = max(self.next_ent, ent + 1)


KEY_META = "entity_key"
KEY_BYTES = 32


def store_key(engine: Engine) -> bytes:
    """Return the store's key. Where it is gone or damaged, make a new one, for new ids."""
    with engine.begin() as connection:
        make_key(connection)
        return kept_key(connection)


def kept_key(connection: Connection) -> bytes:
    """Return the key in the store; empty where there is none."""
    try:
        return bytes.fromhex(get_meta(connection, KEY_META) or "")
    except ValueError:
        return b""


def make_key(connection: Connection) -> None:
    """Make the key in the caller's transaction, unless there is one."""
    if not kept_key(connection):
        put_meta(connection, KEY_META, secrets.token_hex(KEY_BYTES))


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
            {"scope_id": self._scope_id, "ent": ent, "entity_id": entity_id, "name": name, "norm": norm, "declared": 0}
        )
        return ent


_E, _A = schema.entities.c, schema.aliases.c
_ALIASES = select(_A.ent, _A.alias).where(_A.scope_id == bindparam("which")).order_by(_A.norm, _A.ent)
_ENTITIES = (
    select(_E.ent, _E.entity_id, _E.name, _E.norm, _E.declared)
    .where(_E.scope_id == bindparam("which"))
    .order_by(_E.ent)
)
SCOPES_KEPT = 256
_NOTHING: Mapping[str, tuple[str, ...]] = MappingProxyType({})

Extractor = Callable[[str], Sequence[str]]  # from a text to names that it says

logger = logging.getLogger("recall_integrations")


class EntityCatalog:
    """The entities of all scopes. Writers hold the store's write lock; readers may run beside them."""

    def __init__(self, engine: Engine, extractor: Extractor | None = None) -> None:
        self.key = b""
        self._engine = engine
        self._extractor = extractor
        self._lock = threading.Lock()
        self._kept: LRUCache[int, ScopeEntities] = LRUCache(SCOPES_KEPT)
        self._loading: dict[int, threading.Lock] = {}
        self._drops = 0

    def of(self, scope_id: int) -> ScopeEntities:
        """Return the scope's entities, loaded on first use; the least recently used scopes leave memory."""
        with self._lock:
            found = self._kept.get(scope_id)
            if found is not None:
                return found
            loading = self._loading.setdefault(scope_id, threading.Lock())
        with loading:  # one thread loads a scope, others of the same scope wait, other scopes go on
            with self._lock:
                found, drops = self._kept.get(scope_id), self._drops
            if found is not None:
                return found
            found = self._load(scope_id)
            with self._lock:
                if self._drops == drops:  # else the rows may be out of date: good for this call only
                    self._kept[scope_id] = found
                self._loading.pop(scope_id, None)
        return found

    def has(self, scope_id: int) -> bool:
        with self._lock:
            return scope_id in self._kept

    def drop(self, scope_id: int | None = None) -> None:
        """Drop the entities of a scope, or of all, from memory: they may be out of date."""
        with self._lock:
            self._drops += 1
            if scope_id is None:
                self._kept.clear()
            else:
                self._kept.pop(scope_id, None)

    def left(self, scope_id: int) -> None:
        """Drop the entities of a scope whose columns have left memory: they still hold, but are not needed here."""
        with self._lock:
            self._kept.pop(scope_id, None)

    def _load(self, scope_id: int) -> ScopeEntities:
        loaded = ScopeEntities()
        with begun(self._engine) as connection:
            others = send(connection, _ALIASES, {"which": scope_id})
            entities = send(connection, _ENTITIES, {"which": scope_id})
        aliases: dict[int, list[str]] = {}
        for ent, alias in others.rows():
            if isinstance(alias, str):  # another is damaged: the entity has a name less
                aliases.setdefault(ent, []).append(alias)
        for ent, entity_id, name, norm, declared in entities.rows():
            if not all(isinstance(part, str) and part for part in (entity_id, name, norm)):
                logger.warning("Entity %s is damaged and passed over.", ent)
                continue
            loaded.put(ent, entity_id, name, norm, bool(declared), sorted(aliases.get(ent, ())))
        return loaded

    def extracted(self, texts: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Return the extractor's names, by text; empty without one. The caller holds no lock: it may hang."""
        return {} if self._extractor is None else {text: _names(self._extractor, text) for text in texts}

    def rows_for(
        self, scope_id: int, items: Sequence[tuple[int, Memory]], found: Mapping[str, tuple[str, ...]] = _NOTHING
    ) -> EntityRows:
        """Make rows for memories that are about to be written as `(num, memory)`; `found`: see `extracted`.

        Declared names win: an exact name, then an alias that only one entity has, else a new entity. Then come the
        names that the extractor gives, if there is one, and at last the text is scanned for names that the scope knows,
        those of this batch included.
        """
        names = BatchNames(scope_id, self.of(scope_id), self.key)
        for num, memory in items:
            names.add(num, memory, found.get(memory.text, ()))
        return names.rows

    def committed(self, scope_id: int, rows: EntityRows) -> None:
        """Take new entities into memory after their transaction has committed."""
        known = self.of(scope_id)
        for row in rows.entities:
            if row["ent"] not in known.id_of:
                known.put(row["ent"], row["entity_id"], row["name"], row["norm"], bool(row["declared"]))

    def declare(self, connection: Connection, scope_id: int, name: str, aliases: Sequence[str]) -> int:
        """Write an entity and its aliases in the caller's transaction; return its `ent`.

        An alias that is the name of an entity nobody declared (it was only seen in a memory) takes that one over.
        """
        known = self.of(scope_id)
        e, a = schema.entities, schema.aliases
        norm = normal_name(name)
        ent = known.by_norm.get(norm)
        if ent is None:
            ent = known.next_ent
            row = insert(e).values(scope_id=scope_id, ent=ent, entity_id=entity_id_of(name, self.key), name=name)
            connection.execute(row.values(norm=norm, declared=1))
        else:
            connection.execute(update(e).where(e.c.scope_id == scope_id, e.c.ent == ent).values(declared=1, name=name))
        have = set(connection.execute(select(a.c.norm).where(a.c.scope_id == scope_id, a.c.ent == ent)).scalars())
        for alias in aliases:
            alias_norm = normal_name(alias)
            other = known.by_norm.get(alias_norm)
            if other is not None and other != ent and other in known.undeclared:
                self._merge(connection, scope_id, other, ent)
            if alias_norm not in have and alias_norm != norm:
                have.add(alias_norm)
                connection.execute(insert(a).values(scope_id=scope_id, norm=alias_norm, ent=ent, alias=alias))
        return ent

    @staticmethod
    def _merge(connection: Connection, scope_id: int, source: int, target: int) -> None:
        n, g, e, a = schema.mentions, schema.edges, schema.entities, schema.aliases
        already = select(n.c.num).where(n.c.scope_id == scope_id, n.c.ent == target)
        theirs = (n.c.scope_id == scope_id) & (n.c.ent == source)
        connection.execute(delete(n).where(theirs, n.c.num.in_(already)))
        connection.execute(update(n).where(theirs).values(ent=target))
        touched = (g.c.scope_id == scope_id) & ((g.c.src == source) | (g.c.dst == source))
        moved = [dict(row) for row in connection.execute(select(g).where(touched).order_by(*g.primary_key)).mappings()]
        connection.execute(delete(g).where(touched))
        for row in moved:
            row.update({side: target for side in ("src", "dst") if row[side] == source})
            same = [g.c[key] == row[key] for key in ("scope_id", "num", "src", "predicate", "dst")]
            if connection.execute(select(g.c.num).where(*same)).first() is None:
                connection.execute(insert(g).values(**row))
        connection.execute(delete(a).where(a.c.scope_id == scope_id, a.c.ent == source))
        connection.execute(delete(e).where(e.c.scope_id == scope_id, e.c.ent == source))


def _names(extractor: Extractor, text: str) -> tuple[str, ...]:
    """Return the extractor's names of a text. An extractor that fails costs its names, not the memory."""
    try:
        return names_of(extractor(text), "What the extractor gives", InvalidArgument)
    except failures() as e:
        logger.warning("The extractor failed on a memory and was passed over: %s", type(e).__name__)
        return ()
