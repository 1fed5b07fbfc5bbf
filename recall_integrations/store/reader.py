"""The reading side of a store: memories by id and number, counts, languages, sizes, and the state of large scopes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any
from weakref import WeakMethod

from sqlalchemy import Connection, Engine, func, select

from recall_integrations.database import schema
from recall_integrations.database.sending import begun
from recall_integrations.errors import VectorsAway, VectorsRefused
from recall_integrations.indexes.scope_view import Mask, ScopeView
from recall_integrations.indexes.times import stays
from recall_integrations.indexes.vectors import CollectionServer, VectorsLate
from recall_integrations.records import record
from recall_integrations.store import fetching, homes, journal, languages
from recall_integrations.store.fetching import Recent
from recall_integrations.store.parts import StoreParts
from recall_integrations.text.spoken import Spoken
from recall_integrations.types import Filters, Memory, Scope

if TYPE_CHECKING:
    from recall_integrations.store.filtering import Filtering
    from recall_integrations.store.outlines import Outline
    from recall_integrations.store.where import Conditions

# Where the vectors of a scope are.
COMPARED = "compared"  # nowhere but in the record: all of them are compared, for each recall
LOADING = "loading"  # on their way: all of them are compared until then
INDEXING = "indexing"  # there, and their index is being built: all of them are compared until then
BEHIND = "behind"  # there, but for some that came last
THERE = "there"
AWAY = "away"  # on a server that does not answer now
BEHIND_MAX = 20_001  # vectors up to which is counted how many are not there yet
_P, _S, _V = schema.pushed.c, schema.scopes.c, schema.vectors.c


@record(frozen=True, slots=True, kw_only=True)
class LargeScope:
    """A scope of PostgreSQL that is not read whole, or will not be."""

    memories: int  # number of memories
    counted: int  # number of memories in the tables that are asked for words
    whole: bool  # whether these are all, so that the tables are asked and the scope is not read
    vectors: str  # `compared`, `loading`, `indexing`, `behind`, `there` or `away`
    behind: int  # number of vectors outside the index; counted up to 20,001 where the index has most of them
    indexed: int = 0  # number of vectors in the index that is being built


def look_at_large(
    connection: Connection, local_max: int | None, server: CollectionServer | None
) -> dict[int, LargeScope]:
    """Return the large scopes by number: reads a row or two of each, and asks the server about indexes.

    `local_max`: of this node; larger scopes that no node has begun to count are included; `None` = only scopes that are
    counted. `server`: `None` = vectors are in the record alone.
    """
    query = select(_S.scope_id, _S.memories, _P.memories, _P.whole, _S.vector_home, _S.vector_until)
    joined = schema.pushed.join(schema.scopes, _P.scope_id == _S.scope_id)
    if local_max is not None:
        joined = schema.scopes.outerjoin(schema.pushed, _P.scope_id == _S.scope_id)
        query = query.where((_S.memories > local_max) | _P.scope_id.is_not(None))
    rows = connection.execute(query.select_from(joined).order_by(_S.scope_id)).all()
    built, away = _built([str(row[4]) for row in rows if homes.served(str(row[4])) and not row[5]], server)
    found: dict[int, LargeScope] = {}
    for scope_id, memories, counted, whole, home, until in rows:
        behind, where = int(memories), COMPARED
        if server is not None and homes.served(str(home)):
            late = select(_V.num).where(_V.scope_id == scope_id, _V.num > until).limit(BEHIND_MAX).subquery()
            behind = connection.execute(select(func.count()).select_from(late)).scalar_one() if until else behind
            where = (INDEXING if home in built else LOADING) if not until else BEHIND if behind else THERE
            where = AWAY if away else where
        found[int(scope_id)] = LargeScope(
            memories=int(memories),
            counted=int(counted or 0),
            whole=bool(whole),
            vectors=where,
            behind=int(behind),
            indexed=built.get(str(home), 0),
        )
    return found


def _built(loading: Sequence[str], server: CollectionServer | None) -> tuple[dict[str, int], bool]:
    """Return the collections being indexed among new ones, and whether the server is away."""
    if server is None or server.resting:
        return {}, server is not None
    try:
        return (server.building(loading) if loading else {}), False
    except VectorsLate:  # within the time of a probe
        return {}, False
    except (VectorsAway, VectorsRefused):
        return {}, True


_STATES = (THERE, BEHIND, INDEXING, LOADING, COMPARED, AWAY)
FILTERS_SHARE = 8  # of the memory for columns, so much more may go into what filters look at: an eighth
FEW = 200  # memories at once, as a recall reads them; who reads more goes through a scope, and comes but once
SCOPES_KEPT = 4_096  # whose languages are in memory
LARGE_S = 5.0  # for which is kept how large scopes are: a probe may ask every second


def _spoken(engine: Engine, scope_id: int) -> Spoken:
    with begun(engine) as connection:
        spoken = languages.asked(connection, scope_id)
    return spoken()


_COUNTED = (schema.entities, schema.aliases, schema.mentions, schema.edges, schema.vectors)


class Reader:
    """Reads the record. Threads may share one."""

    def __init__(self, parts: StoreParts) -> None:
        self._parts = parts
        self._recent = Recent(parts.revisions, parts.scopes)
        self._languages: dict[int, tuple[int, Spoken]] = {}  # by scope, the version, and the languages at it
        self._large: tuple[float, dict[str, Any]] | None = None  # time of the last look, and its result
        parts.forgets.append(WeakMethod(self._forget))

    @cached_property
    def filtering(self) -> Filtering:
        """The filters of rows, loaded on first use: most recalls have none."""
        from recall_integrations.store.filtering import Filtering, MetadataIndex

        parts = self._parts
        budget = parts.config.retrieval.cache_mb * 1_000_000 // FILTERS_SHARE
        return Filtering(parts.engine, parts.catalog, MetadataIndex(parts.engine, budget), parts.facts.get)

    def fetch(self, scope_id: int, nums: Sequence[int]) -> dict[int, Memory]:
        """Read memories by num; absent ones are left out."""
        recent = self._recent
        revision = recent.revision(scope_id)
        found = recent.get(scope_id, nums, revision)
        missing = [num for num in nums if num not in found]
        if missing:
            with self._parts.errors():
                read = fetching.by_num(self._parts.engine, scope_id, missing, self._parts.damage)
            if len(missing) <= FEW:
                recent.put(scope_id, read.items(), revision)
            found.update(read)
        return found

    def fetch_ids(self, scope_id: int, ids: Sequence[str]) -> dict[str, Memory]:
        """Read memories by id; absent and ended ones are left out."""
        with self._parts.errors():
            found = fetching.by_id(self._parts.engine, scope_id, ids, self._parts.damage)
            over = self._parts.expiry.is_over
            return {i: memory for i, memory in found.items() if memory.expires_at is None or not over(scope_id, memory)}

    def let_go(self) -> None:
        """Drop the values read for filters: those of removed memories may be among them."""
        self.__dict__.pop("filtering", None)

    def _forget(self) -> None:
        self._languages.clear()
        self.let_go()

    def filter_mask(self, view: ScopeView, filters: Filters, now: datetime) -> Mask | None:
        """Return the mask of rows that meet the filters, or `None` for all."""
        if not filters:
            return None
        with self._parts.errors():
            return self.filtering.mask(view, filters, now)

    def filters_ready(self, view: ScopeView, filters: Filters) -> bool:
        """Say whether the mask is quick enough for a recall."""
        return not filters or self.filtering.ready(view, filters)

    def conditions(self, outline: Outline, filters: Filters, now: datetime) -> Conditions:
        """Make the condition of filters: see `MemoryStore.conditions`."""
        from recall_integrations.store.where import Conditions, conditions

        if not filters:
            return Conditions(outline)
        parts = self._parts

        def entities(names: Sequence[str]) -> list[int]:
            known = parts.catalog.of(outline.scope_id)
            found = (known.ent_of.get(one) for name in names for one in known.index.lookup(name))
            return [ent for ent in found if ent is not None]

        def past(at: datetime) -> Sequence[int]:
            facts = parts.facts.get(outline.view)
            return () if facts is None else facts.past(at)

        with parts.errors():
            return conditions(outline, filters, now, self.filtering.index, entities, past)

    def absent_keys(self, view: ScopeView, filters: Filters) -> list[str]:
        """List the metadata keys of filters that no memory of the scope has."""
        if not filters:
            return []
        with self._parts.errors():
            return self.filtering.absent(view, filters)

    def languages(self, scope_id: int) -> Spoken:
        """Return the languages of the scope; read once after each write to it."""
        version = self._parts.version(scope_id)
        kept = self._languages.get(scope_id)
        if kept is None or kept[0] != version:
            if len(self._languages) >= SCOPES_KEPT:
                self._languages.clear()
            with self._parts.errors():
                kept = self._languages[scope_id] = version, _spoken(self._parts.engine, scope_id)
        return kept[1]

    def count_of(self, scope_id: int) -> int:
        """Count the memories of the scope with this number."""
        s = schema.scopes
        with self._parts.errors(), self._parts.engine.connect() as connection:
            held = int(connection.execute(select(s.c.memories).where(s.c.scope_id == scope_id)).scalar_one())
            return held - self._parts.expiry.left(scope_id)

    def scopes(self) -> list[tuple[Scope, int]]:
        """List all scopes with their number of memories, in the order they were made."""
        s = schema.scopes
        with self._parts.errors(), self._parts.engine.connect() as connection:
            rows = connection.execute(select(s).order_by(s.c.scope_id)).all()
            left = self._parts.expiry.left
            return [(Scope(r.user_id, r.agent_id, r.namespace), int(r.memories) - left(r.scope_id)) for r in rows]

    def hydration(self) -> dict[str, int]:
        """Count cached and read memories: see `MemoryStore.hydration`."""
        return {"hits": self._recent.hits, "misses": self._recent.misses}

    def figures(self) -> dict[str, Any]:
        """Return the cheap numbers: see `MemoryStore.figures`."""
        parts, s = self._parts, schema.scopes
        with parts.errors(), parts.engine.connect() as connection:
            counted = select(func.count(), func.coalesce(func.sum(s.c.memories), 0))
            scopes, memories = connection.execute(counted).one()
            changes = journal.last_seq(connection)
        return {
            "memories": int(memories),
            "scopes": int(scopes),
            "changes": changes,
            "bytes": parts.directory.size(),
            "index_lag": dict(parts.indexes.lag),
            "hydration": self.hydration(),
        }

    def large_scopes(self) -> dict[str, Any]:
        """Sum up large scopes: see `MemoryStore.large_scopes`."""
        parts = self._parts
        if parts.pushing.local_max is None:
            return {}
        kept = self._large
        if kept is None or time.monotonic() - kept[0] > LARGE_S:
            collections = parts.indexes.collections
            with parts.errors(), parts.engine.connect() as connection:
                scopes = look_at_large(connection, None, collections.outside)
            every = list(scopes.values())
            found = {
                "scopes": len(every),
                "uncounted": sum(one.memories - one.counted for one in every if not one.whole),
                "vectors": {name: count for name in _STATES if (count := sum(one.vectors == name for one in every))},
                "vectors_behind": sum(one.behind for one in every if one.vectors != COMPARED),
                "failed": collections.failed,
                # Beyond an index, only the newest 20,000 vectors are compared.
                "left_out": any(
                    one.vectors == AWAY or (one.vectors == BEHIND and one.behind >= BEHIND_MAX) for one in every
                ),
            }
            kept = self._large = (time.monotonic(), found if every else {})
        return dict(kept[1])

    def stats(self) -> dict[str, Any]:
        """Return all numbers: see `MemoryStore.stats`."""
        parts, m = self._parts, schema.memories
        with parts.errors(), parts.engine.connect() as connection:
            by_kind = select(m.c.type, func.count()).group_by(m.c.type).order_by(m.c.type)
            if not parts.expiry.none:
                by_kind = by_kind.where(stays(parts.expiry.now()))
            counted = connection.execute(by_kind)
            by_type = {str(kind): int(count) for kind, count in counted}
            span = connection.execute(select(func.min(m.c.event_at), func.max(m.c.event_at))).one()
            sizes = {
                table.name: connection.execute(select(func.count()).select_from(table)).scalar_one()
                for table in _COUNTED
            }
            local_max = parts.pushing.local_max
            large = {} if local_max is None else look_at_large(connection, local_max, parts.indexes.collections.outside)
        scopes = self.scopes()
        return {
            "path": parts.directory.name,
            "schema_version": schema.SCHEMA_VERSION,
            "embedding": parts.asking.fingerprint,
            "memories": sum(n for _, n in scopes),
            "scopes": [{"scope": str(s), "memories": n} for s, n in scopes],
            "types": by_type,
            "event_at": [None if t is None else int(t) for t in span],
            **sizes,
            "index_lag": dict(parts.indexes.lag),
            "collections_lack": parts.indexes.collections.lacking(),
            "pushed": {scope_id: asdict(one) for scope_id, one in large.items()},
            "bytes": parts.directory.size(),
            "hydration": self.hydration(),
            "notices": list(parts.indexes.notices),
        }
