"""Entities of the scopes: the tables, and the in-memory name index that resolves words to them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

from cachetools import LRUCache
from sqlalchemy import Connection, Engine, bindparam, delete, insert, select, update

from recall_integrations.database import schema
from recall_integrations.database.sending import begun, send
from recall_integrations.errors import InvalidArgument
from recall_integrations.query.entities.units import entity_id_of
from recall_integrations.resilience.failures import failures
from recall_integrations.store.entity_rows import BatchNames, EntityRows, normal_name
from recall_integrations.store.scope_entities import ScopeEntities
from recall_integrations.types import Memory
from recall_integrations.types.memory import names_of

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
        self._last: tuple[int, ScopeEntities] | None = None  # the scope that was used last, and its entities

    def of(self, scope_id: int) -> ScopeEntities:
        """Return the scope's entities, loaded on first use; the least recently used scopes leave memory."""
        last = self._last
        if last is not None and last[0] == scope_id:  # fast path, without the lock
            return last[1]
        with self._lock:
            found = self._kept.get(scope_id)
            if found is not None:
                self._last = scope_id, found
                return found
            loading = self._loading.setdefault(scope_id, threading.Lock())
        with loading:  # one thread loads a scope, others of the same scope wait, other scopes go on
            with self._lock:
                found, drops = self._kept.get(scope_id), self._drops
            if found is not None:
                return found
            found = self._load(scope_id)
            with self._lock:
                self._last = None
                if self._drops == drops:  # else the rows may be out of date: good for this call only
                    self._kept[scope_id] = found
                self._loading.pop(scope_id, None)
        return found

    def has(self, scope_id: int) -> bool:
        """Say whether the scope's entities are in memory."""
        with self._lock:
            return scope_id in self._kept

    def drop(self, scope_id: int | None = None) -> None:
        """Drop the entities of a scope, or of all, from memory: they may be out of date."""
        with self._lock:
            self._drops += 1
            self._last = None
            if scope_id is None:
                self._kept.clear()
            else:
                self._kept.pop(scope_id, None)

    def left(self, scope_id: int) -> None:
        """Drop the entities of a scope whose columns have left memory: they still hold, but are not needed here."""
        with self._lock:
            self._kept.pop(scope_id, None)
            if self._last is not None and self._last[0] == scope_id:
                self._last = None

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
                "entity_id": entity_id_of(name, self.key),
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
