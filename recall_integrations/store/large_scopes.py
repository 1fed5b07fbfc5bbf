"""The state of scopes that no node reads whole: whether their words are counted, and where their vectors are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, func, select

from recall_integrations.database import schema
from recall_integrations.errors import VectorsAway, VectorsRefused
from recall_integrations.indexes.asked_server import CollectionServer, VectorsLate
from recall_integrations.records import record
from recall_integrations.store import homes

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


def look(connection: Connection, local_max: int | None, server: CollectionServer | None) -> dict[int, LargeScope]:
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


def summed(scopes: dict[int, LargeScope], failed: str) -> dict[str, Any]:
    """Sum up all scopes for an operator: memories not counted, vectors outside an index, and the last failure."""
    every = list(scopes.values())
    return {
        "scopes": len(every),
        "uncounted": sum(one.memories - one.counted for one in every if not one.whole),
        "vectors": {name: count for name in _STATES if (count := sum(one.vectors == name for one in every))},
        "vectors_behind": sum(one.behind for one in every if one.vectors != COMPARED),
        "failed": failed,
    }


def left_out(scopes: dict[int, LargeScope]) -> bool:
    """Say whether recalls leave out memories: beyond an index, only the newest 20,000 vectors are compared."""
    return any(one.vectors == AWAY or (one.vectors == BEHIND and one.behind >= BEHIND_MAX) for one in scopes.values())


_STATES = (THERE, BEHIND, INDEXING, LOADING, COMPARED, AWAY)
