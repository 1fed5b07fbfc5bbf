"""Scopes that no node reads whole: an outline of each, and the rows that a recall has drawn, with their neighbours.

Ranking computes from a few hundred rows, and the statistics of the outline, what it would compute from all of them.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Engine, select, text

from recall_integrations.database import schema
from recall_integrations.database.sending import reading
from recall_integrations.indexes import bm25, lexicon
from recall_integrations.indexes.columns import UNIT, TextColumns
from recall_integrations.indexes.columns_builder import ColumnsBuilder
from recall_integrations.indexes.kind import Kind, kind_of
from recall_integrations.indexes.scope_view import ScopeView
from recall_integrations.indexes.scope_views import ScopeViews
from recall_integrations.indexes.times import ends
from recall_integrations.records import record
from recall_integrations.store import pushing
from recall_integrations.store.pushing import NOBODY
from recall_integrations.text.analyser import PIVOT
from recall_integrations.types.roles import NO_ROLE

SCOPES_MAX = 64  # whose outlines are in memory
TERMS_MAX = 100_000  # frequencies that are kept with one
BEFORE, AFTER = 5, 3  # places of a thread that ranking looks at, around what arms found
REPLIED = 6  # after the best by words: replies stand up to four places behind, and have neighbours of their own
Numbers = NDArray[np.int64]

# One row for each actor and role, whatever the threads are: read from place to place in the index.
_ACTORS = text(
    "WITH RECURSIVE spoken AS ("
    "(SELECT actor, role FROM speakers WHERE scope_id = :scope_id ORDER BY actor, role LIMIT 1) UNION ALL "
    "SELECT following.actor, following.role FROM spoken CROSS JOIN LATERAL ("
    "SELECT s.actor, s.role FROM speakers s WHERE s.scope_id = :scope_id AND (s.actor, s.role) > "
    "(spoken.actor, spoken.role) ORDER BY s.actor, s.role LIMIT 1) following) SELECT actor, role FROM spoken"
)
_LEFT = text(
    "SELECT actor, role, sum(held) FROM speakers WHERE scope_id = :scope_id "
    "AND actor = ANY(CAST(:actors AS text[])) GROUP BY actor, role"
)
_SPOKEN_IN = text(
    "SELECT DISTINCT thread FROM speakers WHERE scope_id = :scope_id "
    "AND actor = ANY(CAST(:actors AS text[])) AND thread = ANY(CAST(:threads AS text[]))"
)
_SHOWN = "b.num <= :upto AND (b.expires_at IS NULL OR b.expires_at > :ended)"
_BESIDE = text(
    "SELECT m.num AS of, beside.num, beside.step FROM memories m CROSS JOIN LATERAL ("
    "(SELECT b.num, -row_number() OVER (ORDER BY b.position DESC, b.num DESC) AS step FROM memories b "
    "WHERE b.scope_id = m.scope_id AND b.thread = m.thread AND b.position <= m.position "
    f"AND (b.position < m.position OR b.num < m.num) AND {_SHOWN} "
    "ORDER BY b.position DESC, b.num DESC LIMIT :before) UNION ALL "
    "(SELECT b.num, row_number() OVER (ORDER BY b.position, b.num) AS step FROM memories b "
    "WHERE b.scope_id = m.scope_id AND b.thread = m.thread AND b.position >= m.position "
    f"AND (b.position > m.position OR b.num > m.num) AND {_SHOWN} "
    "ORDER BY b.position, b.num LIMIT :after)) beside "
    "WHERE m.scope_id = :scope_id AND m.num = ANY(CAST(:nums AS bigint[])) AND m.thread IS NOT NULL "
    f"AND {_SHOWN.replace('b.', 'm.')}"
)


class Frequencies:
    """Counts of living memories of a scope by stem. Threads may share it."""

    def __init__(self, engine: Engine, scope_id: int, less: Mapping[str, int]) -> None:
        self._engine, self._scope_id, self._less = engine, scope_id, less
        self._known: dict[str, int] = {}

    def __call__(self, terms: Sequence[str]) -> Mapping[str, int]:
        known = self._known
        missing = [term for term in dict.fromkeys(terms) if term not in known]
        if missing:
            with reading(self._engine) as connection:
                held = bm25.held_pushed(connection, self._scope_id, missing)
            if len(known) > TERMS_MAX:
                known = self._known = {}
            known.update({term: held.get(term, 0) - self._less.get(term, 0) for term in missing})
        return known


@record(frozen=True, slots=True, kw_only=True)
class Outline:
    """A scope as a whole."""

    view: ScopeView  # without rows, with the statistics of the whole scope
    ended: int  # time up to which ended memories are left out, in microseconds
    gone: tuple[int, ...]  # numbers of ended memories that are still in the tables
    actors: tuple[str, ...]  # the speakers of the scope

    @property
    def scope_id(self) -> int:
        """Number of the scope."""
        return self.view.scope_id

    @property
    def upto(self) -> int:
        """The last change that is shown."""
        return self.view.seq


class Outlines:
    """Outlines of the scopes that no node reads whole, and rows of them. Threads may share it."""

    def __init__(
        self,
        engine: Engine,
        views: ScopeViews,
        *,
        is_pushed: Callable[[int], bool],
        shown: Callable[[int], tuple[int, int]],
        ended: Callable[[int], int],
    ) -> None:
        self._engine, self._views = engine, views
        self._is_pushed, self._shown, self._ended = is_pushed, shown, ended
        self._lock = threading.Lock()
        self._kept: OrderedDict[int, tuple[int, int, Outline]] = OrderedDict()

    def of(self, scope_id: int) -> Outline | None:
        """Return the outline of a scope; `None` where it is read whole."""
        if not self._is_pushed(scope_id):
            return None
        version, upto = self._shown(scope_id)
        ended = self._ended(scope_id)
        with self._lock:
            kept = self._kept.get(scope_id)
            if kept is not None and kept[:2] == (version, ended):
                self._kept.move_to_end(scope_id)
                return kept[2]
        with self._engine.connect() as connection:
            made = self._made(connection, scope_id, version, upto, ended)
        if made is not None:
            with self._lock:
                self._kept[scope_id] = version, ended, made
                while len(self._kept) > SCOPES_MAX:
                    self._kept.popitem(last=False)
        return made

    def has(self, scope_id: int) -> bool:
        """Say whether the outline of a scope is in memory, in any version: bringing it forward takes milliseconds."""
        return scope_id in self._kept

    def drawn(
        self,
        connection: Connection,
        outline: Outline,
        found: Sequence[int],
        context: int = 0,
        first: Sequence[int] = (),
    ) -> ScopeView:
        """Read the rows of some memories, and of those around them in their threads."""
        before, after = max(BEFORE, context + 2), max(AFTER, context + 2)
        given = {"scope_id": outline.scope_id, "upto": outline.upto, "ended": outline.ended, "before": before}
        steps: dict[int, dict[int, int]] = {}
        for nums, reach in ((sorted(set(found) - set(first)), after), (list(first), max(after, REPLIED))):
            for of, num, step in connection.execute(_BESIDE, {**given, "nums": nums, "after": reach}) if nums else ():
                steps.setdefault(int(of), {})[int(step)] = int(num)
        every = sorted({*found, *(num for around in steps.values() for num in around.values())})
        view = self._views.drawn(
            connection, outline.scope_id, outline.view.version, outline.upto, every, outline.actors
        )
        own, columns = outline.view, view.text
        assert columns is not None and own.text is not None
        links = linked(view.nums, steps)
        columns = replace(
            columns,
            before=links[0],
            after=links[1],
            kind=own.text.kind,
            mean_log_length=own.text.mean_log_length,
            actor_words=own.text.actor_words,
            role_actors=own.text.role_actors,
            counted=own.text.counted,
            spoken_in=own.text.spoken_in,
        )
        view = replace(view, text=columns, mean_length=own.mean_length)
        view.memo["count"] = own.count
        return view

    def _made(self, connection: Connection, scope_id: int, version: int, upto: int, ended: int) -> Outline | None:
        p = schema.pushed
        row = connection.execute(select(p).where(p.c.scope_id == scope_id)).mappings().first()
        if row is None or not row["whole"]:
            return None
        gone = pushing.read_rows(connection, scope_id, ends(upto=ended)) if ended else []
        sums = dict(row)
        for name, less in pushing.sums_without(connection, scope_id, gone).items():
            sums[name] -= less
        spoken = {(str(actor), int(role)) for actor, role in connection.execute(_ACTORS, {"scope_id": scope_id})}
        if gone:
            spoken -= _silent(connection, scope_id, gone)
        actors = tuple(sorted({actor for actor, _ in spoken} - {NOBODY}))
        counted = Frequencies(self._engine, scope_id, Counter(term for one in gone for term in one.stems))
        columns = _speaking(actors, spoken)
        columns = replace(
            columns,
            kind=_kind(sums),
            mean_log_length=sums["log_length"] / UNIT / sums["memories"] if sums["memories"] else 0.0,
            counted=counted,
            spoken_in=self._spoken_in(scope_id),
        )
        view = _blank(
            scope_id, version, upto, columns, sums["length"] / sums["memories"] if sums["memories"] else PIVOT
        )
        view.memo["count"] = sums["memories"]
        return Outline(view=view, ended=ended, gone=tuple(one.num for one in gone), actors=actors)

    def _spoken_in(self, scope_id: int) -> Callable[[Sequence[str], Sequence[str]], Collection[str]]:
        def spoken_in(actors: Sequence[str], threads: Sequence[str]) -> Collection[str]:
            if not threads:
                return frozenset()
            values = {"scope_id": scope_id, "actors": list(actors), "threads": list(threads)}
            with reading(self._engine) as connection:
                return frozenset(connection.execute(_SPOKEN_IN, values).scalars())

        return spoken_in


def _kind(sums: Mapping[str, Any]) -> Kind:
    names = ("roles", "named", "short", "pairs", "crowd", "threaded")
    return kind_of(sums["memories"], **{name: sums[name] for name in names})


def _silent(connection: Connection, scope_id: int, gone: Iterable[pushing.Pushed]) -> set[tuple[str, int]]:
    """Return the actors and roles of which only ended memories are left."""
    less = Counter((one.actor, one.role) for one in gone)
    rows = connection.execute(_LEFT, {"scope_id": scope_id, "actors": sorted({actor for actor, _ in less})})
    return {(actor, role) for actor, role, held in rows if int(held) <= less.get((actor, role), 0)}


def _speaking(actors: Sequence[str], spoken: Collection[tuple[str, int]]) -> TextColumns:
    """Make text columns without rows that know the speakers."""
    builder = ColumnsBuilder(lexicon.shared())
    builder.know(actors)
    words: dict[int, tuple[int, ...]] = {}
    roles: dict[int, tuple[int, ...]] = {}
    codes = {name: code for code, name in enumerate(actors)}
    for name in actors:
        for number in builder.stems_of_actor[codes[name]]:
            words[number] = (*words.get(number, ()), codes[name])
    for name, role in sorted(spoken):
        if name != NOBODY and role != NO_ROLE:
            roles[role] = (*roles.get(role, ()), codes[name])
    return replace(builder.snapshot(), actor_words=words, role_actors=roles)


def _blank(scope_id: int, version: int, upto: int, columns: TextColumns, mean_length: float) -> ScopeView:
    """Make a view without rows."""
    none = np.empty(0, dtype=np.int64)
    return ScopeView(
        scope_id=scope_id,
        version=version,
        seq=upto,
        nums=none,
        ids=(),
        at=none,
        dated=none.astype(np.bool_),
        types=none.astype(np.int8),
        importance=none.astype(np.float32),
        alive=none.astype(np.bool_),
        vectors=None,
        text=columns,
        mean_length=mean_length,
        drawn=True,
    )


def linked(nums: Numbers, steps: Mapping[int, Mapping[int, int]]) -> NDArray[np.int64]:
    """Return the row before and the row after each row, `(2, rows)`, -1 = none, or further away than was read."""
    links = np.full((2, len(nums)), -1, dtype=np.int64)
    there = frozenset(nums.tolist())  # without memories removed between two statements
    pairs: set[tuple[int, int]] = set()
    for num, around in steps.items():
        chain = [*(around[step] for step in sorted(step for step in around if step < 0)), num]
        chain += [around[step] for step in sorted(step for step in around if step > 0)]
        pairs.update(pairwise([one for one in chain if one in there]))
    if pairs:
        first, second = np.asarray(sorted(pairs), dtype=np.int64).T.reshape(2, -1)
        before, after = (np.searchsorted(nums, side) for side in (first, second))
        links[1, before], links[0, after] = after, before
    return links
