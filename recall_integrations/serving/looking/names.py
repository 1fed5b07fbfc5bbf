"""The names of a scope as a graph: the names mentioned most, and the links between them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

from sqlalchemy import Connection, func, select

from recall_integrations.database import schema
from recall_integrations.errors import NotFound
from recall_integrations.privacy.door import Door
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import Scope

NAMES_MAX = 80  # more than this nobody can read
MEMORIES_READ = 20_000  # the newest, for who is mentioned together
AROUND_READ = 2_000  # the newest of those that mention one name
TOGETHER_MAX = 12  # names of one memory: a list of thirty says little about any two of them
LINKS_EACH = 3  # links that a name may have on average

_e, _m, _r = schema.entities.c, schema.mentions.c, schema.edges.c


def names(store: MemoryStore, scope: Scope, door: Door, *, limit: int = 40, around: str = "") -> dict[str, Any]:
    """Return the names mentioned most, or those around one name, and their links."""
    scope_id = store.scope_id(scope)
    empty: dict[str, Any] = {"total": 0, "names": [], "links": [], "withheld": door.blocked}
    if scope_id is None:
        return empty
    with store.reading(), store.engine.connect() as connection:
        total = connection.execute(select(func.count()).where(_e.scope_id == scope_id)).scalar_one()
        if door.blocked:
            return {**empty, "total": int(total)}
        counted = _around(connection, scope_id, around, limit) if around else _most(connection, scope_id, limit)
        known = _named(connection, scope_id, list(counted))
        counted = {ent: count for ent, count in counted.items() if ent in known}
        stated = _stated(connection, scope_id, list(counted))
        together = _together(connection, scope_id, list(counted))
    links = _links(stated, together, known, door)
    shown = [
        {"id": known[ent][0], "name": door.text(known[ent][1]), "mentions": count, "declared": bool(known[ent][2])}
        for ent, count in counted.items()
    ]
    return {"total": int(total), "names": shown, "links": links, "withheld": False}


def _most(connection: Connection, scope_id: int, limit: int) -> dict[int, int]:
    """Count the memories of each of the `limit` names that most memories mention."""
    count = func.count().label("count")
    query = select(_m.ent, count).where(_m.scope_id == scope_id).group_by(_m.ent).order_by(count.desc(), _m.ent)
    return {int(ent): int(n) for ent, n in connection.execute(query.limit(limit))}


def _around(connection: Connection, scope_id: int, around: str, limit: int) -> dict[int, int]:
    """Count the mentions of one name and of the names that its newest memories mention most."""
    ent = connection.execute(select(_e.ent).where(_e.scope_id == scope_id, _e.entity_id == around)).scalar()
    if ent is None:
        raise NotFound("There is no such name in this scope. Choose one from the list.")
    of_it = select(_m.num).where(_m.scope_id == scope_id, _m.ent == ent).order_by(_m.num.desc())
    nums = [int(num) for num in connection.execute(of_it.limit(AROUND_READ)).scalars()]
    counts: Counter[int] = Counter()
    for part in _pieces(nums):
        query = select(_m.ent, func.count()).where(_m.scope_id == scope_id, _m.num.in_(part)).group_by(_m.ent)
        counts.update({int(other): int(n) for other, n in connection.execute(query)})
    counts[int(ent)] = max(len(nums), counts[int(ent)])
    first = sorted(counts, key=lambda other: (other != ent, -counts[other], other))[:limit]
    return {other: counts[other] for other in first}


def _named(connection: Connection, scope_id: int, ents: Sequence[int]) -> dict[int, tuple[str, str, int]]:
    query = select(_e.ent, _e.entity_id, _e.name, _e.declared).where(_e.scope_id == scope_id, _e.ent.in_(ents))
    return {int(row.ent): (row.entity_id, row.name, row.declared) for row in connection.execute(query)}


def _stated(connection: Connection, scope_id: int, ents: Sequence[int]) -> dict[tuple[int, int], Counter[str]]:
    """Count the relations that memories state between two of the names."""
    count = func.count().label("count")
    query = (
        select(_r.src, _r.dst, _r.predicate, count)
        .where(_r.scope_id == scope_id, _r.src.in_(ents), _r.dst.in_(ents))
        .group_by(_r.src, _r.dst, _r.predicate)
        .order_by(count.desc(), _r.src, _r.dst, _r.predicate)
        .limit(LINKS_EACH * NAMES_MAX)
    )
    found: dict[tuple[int, int], Counter[str]] = defaultdict(Counter)
    for src, dst, predicate, n in connection.execute(query):
        if src != dst:
            found[int(src), int(dst)][predicate] += int(n)
    return found


def _together(connection: Connection, scope_id: int, ents: Sequence[int]) -> Counter[tuple[int, int]]:
    """Count the newest memories that mention both names of a pair."""
    last = connection.execute(select(func.max(_m.num)).where(_m.scope_id == scope_id)).scalar() or 0
    newest = _m.num > last - MEMORIES_READ
    query = select(_m.num, _m.ent).where(_m.scope_id == scope_id, newest, _m.ent.in_(ents)).order_by(_m.num, _m.ent)
    of_memory: dict[int, list[int]] = defaultdict(list)
    for num, ent in connection.execute(query):
        of_memory[int(num)].append(int(ent))
    pairs: Counter[tuple[int, int]] = Counter()
    for mentioned in of_memory.values():
        if len(mentioned) <= TOGETHER_MAX:
            pairs.update(combinations(sorted(mentioned), 2))
    return pairs


def _links(
    stated: dict[tuple[int, int], Counter[str]],
    together: Counter[tuple[int, int]],
    known: dict[int, tuple[str, str, int]],
    door: Door,
) -> list[dict[str, Any]]:
    """Return links for stated relations first, then for pairs mentioned together most, `LINKS_EACH` per name."""
    links = []
    for (src, dst), words in sorted(stated.items()):
        said = [door.text(word.replace("_", " ")) for word, _ in sorted(words.items(), key=lambda w: (-w[1], w[0]))]
        pair = (min(src, dst), max(src, dst))
        links.append({"from": known[src][0], "to": known[dst][0], "words": said[:3], "stated": True,
                      "together": together.get(pair, 0)})  # fmt: skip
    told = {frozenset(pair) for pair in stated}
    others = [pair for pair in together if frozenset(pair) not in told]
    others.sort(key=lambda pair: (-together[pair], pair))
    for one, other in others[: max(0, LINKS_EACH * len(known) - len(links))]:
        links.append({"from": known[one][0], "to": known[other][0], "words": [], "stated": False,
                      "together": together[one, other]})  # fmt: skip
    return links


def _pieces(nums: Sequence[int], size: int = 500) -> Iterable[Sequence[int]]:
    return (nums[start : start + size] for start in range(0, len(nums), size))
