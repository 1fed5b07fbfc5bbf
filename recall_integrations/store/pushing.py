"""Scopes that no node reads whole: the tables that count them, kept by writes, and who fills these (docs/postgres.md).

Nodes should have one `local_max`, and may not: then the least holds, as a scope that one gives back and another pushes
again would be counted without end. So `pushed.whole` holds the limit of the count, and no node gives back a scope that
has not shrunk below that, nor one that is being counted. The node that began to count it may, and one that has opened
the store with no other there: so the limit can be raised.
"""

from __future__ import annotations

import logging
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, Engine, case, delete, func, select, text, update

from recall_integrations.database import schema
from recall_integrations.database.sending import insert_rows, reading, send
from recall_integrations.errors import StoreClosed
from recall_integrations.indexes import word_rows
from recall_integrations.indexes.bm25 import rounded
from recall_integrations.indexes.columns import UNIT
from recall_integrations.indexes.kind import SPEAKING, shortness
from recall_integrations.indexes.word_rows import Cut
from recall_integrations.privacy.logs import told
from recall_integrations.store.filling import Filling
from recall_integrations.text.analyser import PIVOT
from recall_integrations.types import Memory
from recall_integrations.types.roles import ROLE_CODES, Role, role_of

if TYPE_CHECKING:
    from recall_integrations.store.parts import StoreParts
    from recall_integrations.store.removing import Removing

NOBODY, NO_THREAD = "", ""  # in `speakers`, whose keys hold no null
SUMS = ("memories", "length", "log_length", "words", "roles", "named", "short", "pairs", "crowd", "threaded")
TOGETHER = 2_000  # postings that one statement inserts; more are copied
TABLES = (schema.postings, schema.terms, schema.speakers, schema.pushed)

_ADD_TERMS = text(
    "INSERT INTO terms (scope_id, term, held) "
    "SELECT :scope_id, given.term, given.added FROM unnest(CAST(:terms AS text[]), CAST(:added AS bigint[])) "
    "AS given(term, added) ON CONFLICT (scope_id, term) DO UPDATE SET held = terms.held + excluded.held"
)
_ADD_SPEAKERS = text(
    "INSERT INTO speakers (scope_id, actor, role, thread, held) "
    "SELECT :scope_id, given.actor, given.role, given.thread, given.added FROM unnest("
    "CAST(:actors AS text[]), CAST(:roles AS int[]), CAST(:threads AS text[]), CAST(:added AS bigint[])) "
    "AS given(actor, role, thread, added) "
    "ON CONFLICT (scope_id, actor, role, thread) DO UPDATE SET held = speakers.held + excluded.held"
)
_NO_TERMS = text("DELETE FROM terms WHERE scope_id = :scope_id AND held <= 0 AND term = ANY(CAST(:terms AS text[]))")
_NO_SPEAKERS = text(
    "DELETE FROM speakers WHERE scope_id = :scope_id AND held <= 0 AND actor = ANY(CAST(:actors AS text[]))"
)
_ADD_POSTINGS = text(
    "INSERT INTO postings (scope_id, term, num, count, length) "
    "SELECT :scope_id, given.term, given.num, given.count, given.length FROM unnest("
    "CAST(:terms AS text[]), CAST(:nums AS bigint[]), CAST(:counts AS int[]), CAST(:lengths AS int[])) "
    "AS given(term, num, count, length)"
)
_TAKE = text(
    "DELETE FROM postings USING unnest(CAST(:terms AS text[]), CAST(:nums AS bigint[])) AS gone(term, num) "
    "WHERE postings.scope_id = :scope_id AND postings.term = gone.term AND postings.num = gone.num"
)
_SPOKEN = text(
    "SELECT thread, actor, sum(held) FROM speakers "
    "WHERE scope_id = :scope_id AND thread = ANY(CAST(:threads AS text[])) GROUP BY thread, actor"
)
_COUNT = text(
    "UPDATE pushed SET "
    + ", ".join(f"{name} = {name} + :{name}" for name in SUMS)
    + ", until = greatest(until, :until) WHERE scope_id = :scope_id"
)


class Pushed(NamedTuple):
    """The counted properties of a memory."""

    num: int
    stems: Mapping[str, int]  # count of each stem
    length: int  # stems of the actor's name and the text, as BM25 counts them
    words: int  # number of content words that are kept
    told: int  # number of content words, kept or not
    actor: str
    role: int  # as in `ROLE_CODES`
    thread: str


def pushed(num: int, cut: Mapping[str, Any], actor: str | None, role: str | None, thread: str | None) -> Pushed:
    """Make the `Pushed` of a memory that was cut into words."""
    return Pushed(
        num=num,
        stems=Counter(word_rows.stems_of(cut)),
        length=cut["stems"],
        words=cut["words"].count("\n") + 1 if cut["words"] else 0,
        told=cut["length"],
        actor=actor or NOBODY,
        role=ROLE_CODES[Role(role) if role is not None else role_of(actor)],
        thread=thread or NO_THREAD,
    )


def read_rows(connection: Connection, scope_id: int, *where: Any, limit: int | None = None) -> list[Pushed]:
    """Read memories of a scope in the order of their numbers; words that the table lacks are cut now."""
    m, w = schema.memories.c, schema.words.c
    query = select(m.num, m.actor, m.role, m.thread, w.words, w.more, w.stems, w.length)
    query = query.select_from(word_rows.joined(schema.memories)).where(m.scope_id == scope_id, *where)
    rows = connection.execute(query.order_by(m.num).limit(limit)).all()
    missing = [row.num for row in rows if row.words is None]
    cut_now = {row["num"]: row for row in word_rows.cut_anew(connection, scope_id, missing)}
    return [
        pushed(
            row.num,
            cut_now.get(row.num) or {"words": row[4], "more": row[5], "stems": row[6], "length": row[7]},
            row.actor,
            row.role,
            row.thread,
        )
        for row in rows
    ]


def add_rows(connection: Connection, scope_id: int, memories: Sequence[Pushed]) -> None:
    """Count new memories, with numbers above all counted ones, in the caller's transaction."""
    if not memories:
        return
    lengths = rounded(np.asarray([memory.length for memory in memories], dtype=np.int64)).tolist()
    rows = [
        {"scope_id": scope_id, "term": term, "num": memory.num, "count": count, "length": length}
        for memory, length in zip(memories, lengths, strict=True)
        for term, count in memory.stems.items()
    ]
    if len(rows) > TOGETHER:
        insert_rows(connection, schema.postings, rows)
    elif rows:
        columns = {f"{name}s": [row[name] for row in rows] for name in ("term", "num", "count", "length")}
        send(connection, _ADD_POSTINGS, {"scope_id": scope_id, **columns})
    _counted(connection, scope_id, memories, 1)


def take_rows(connection: Connection, scope_id: int, memories: Sequence[Pushed]) -> None:
    """Subtract counted memories that are about to be removed, in the caller's transaction."""
    if not memories:
        return
    pairs = [(term, memory.num) for memory in memories for term in memory.stems]
    if pairs:
        terms, nums = zip(*pairs, strict=True)
        send(connection, _TAKE, {"scope_id": scope_id, "terms": list(terms), "nums": list(nums)})
    _counted(connection, scope_id, memories, -1)


def begin_count(connection: Connection, scope_id: int) -> None:
    """Begin to count a scope, from nothing."""
    clear_counts(connection, scope_id)
    row = {"scope_id": scope_id, "until": 0, "whole": 0, **dict.fromkeys(SUMS, 0)}
    connection.execute(schema.pushed.insert().values(**row))


def clear_counts(connection: Connection, scope_id: int | None = None) -> None:
    """Remove all counts of a scope; `None` = of all."""
    for table in TABLES:
        gone = delete(table)
        connection.execute(gone if scope_id is None else gone.where(table.c.scope_id == scope_id))


def _counted(connection: Connection, scope_id: int, memories: Sequence[Pushed], sign: int) -> None:
    held = Counter(term for memory in memories for term in memory.stems)
    terms = sorted(held)  # in a fixed order, so that no two writers wait for each other
    scope = {"scope_id": scope_id}
    if terms:
        send(connection, _ADD_TERMS, {**scope, "terms": terms, "added": [sign * held[term] for term in terms]})
    spoken = Counter((memory.actor, memory.role, memory.thread) for memory in memories)
    threads = _of_threads(connection, scope_id, {thread for _, _, thread in spoken if thread})
    before = _thread_sums(threads)
    for (actor, _, thread), count in spoken.items():
        if thread:
            own = threads.setdefault(thread, Counter())
            own[actor] += sign * count
    after = _thread_sums(threads)
    keys = sorted(spoken)
    actors, roles, names = (list(part) for part in zip(*keys, strict=True))
    added = [sign * spoken[key] for key in keys]
    send(connection, _ADD_SPEAKERS, {**scope, "actors": actors, "roles": roles, "threads": names, "added": added})
    if sign < 0:
        send(connection, _NO_TERMS, {**scope, "terms": terms})
        send(connection, _NO_SPEAKERS, {**scope, "actors": sorted(set(actors))})
    sums = {name: sign * value for name, value in _sums(memories).items()}
    sums.update({name: after[name] - before[name] for name in after})
    until = max(memory.num for memory in memories) if sign > 0 else 0
    send(connection, _COUNT, {**scope, **sums, "until": until})


def sums_without(connection: Connection, scope_id: int, memories: Sequence[Pushed]) -> dict[str, int]:
    """Return the amount by which counted memories raise each sum of `pushed`."""
    if not memories:
        return {}
    threads = _of_threads(connection, scope_id, {memory.thread for memory in memories if memory.thread})
    before = _thread_sums(threads)
    for memory in memories:
        if memory.thread:
            threads[memory.thread][memory.actor] -= 1
    after = _thread_sums(threads)
    return {**_sums(memories), **{name: before[name] - after[name] for name in before}}


def _of_threads(connection: Connection, scope_id: int, threads: Iterable[str]) -> dict[str, Counter[str]]:
    """Count the memories of each actor in each thread."""
    found: dict[str, Counter[str]] = {}
    if names := sorted(threads):
        for thread, actor, held in send(connection, _SPOKEN, {"scope_id": scope_id, "threads": names}).rows():
            found.setdefault(thread, Counter())[actor] = int(held)
    return found


def _thread_sums(threads: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
    """Compute the sums of `KindCounter` over threads."""
    pairs = crowd = threaded = 0
    for own in threads.values():
        there = [actor for actor, count in own.items() if count > 0]
        rows, actors = sum(own[actor] for actor in there), sum(actor != NOBODY for actor in there)
        threaded += rows * (rows > 1)
        pairs += rows * (actors == 2)
        crowd += rows * (actors > 2)
    return {"pairs": pairs, "crowd": crowd, "threaded": threaded}


def _sums(memories: Sequence[Pushed]) -> dict[str, int]:
    """Compute the sums that depend on each memory alone."""
    told = np.asarray([memory.told for memory in memories], dtype=np.int32)
    return {
        "memories": len(memories),
        "length": sum(max(memory.length, PIVOT) for memory in memories),
        "log_length": int(np.rint(np.log1p(told) * UNIT).sum()),
        "words": sum(memory.words for memory in memories),
        "roles": sum(memory.role in SPEAKING for memory in memories),
        "named": sum(memory.actor != NOBODY for memory in memories),
        "short": int(shortness(told).sum()),
    }


logger = logging.getLogger("recall_integrations")

SLICE = 1_000  # memories that are counted in one turn to write
SHRUNK = 0.8  # of `local_max`: a scope that has become so small is read whole again
LIMIT = 2  # `pushed.whole` is the limit of who counted it and this, so that it is above 0
CLOSE_S = 10.0  # for the slice that is under way
_P, _S = schema.pushed.c, schema.scopes.c


class Pushing:
    """The scopes that no node reads whole. Threads share it. Methods with a connection need the write lock."""

    def __init__(self, engine: Engine, local_max: int | None) -> None:
        self._engine = engine
        self.local_max = local_max
        self._known: dict[int, int] | None = {} if local_max is None else None  # scope → `pushed.whole`
        self._own: set[int] = set()  # scopes that are given back by the limit of this node
        self._noticed: set[int] = set()  # limits of other nodes that were reported
        self._counts: dict[int, int] = {}  # number of memories by scope, as far as this node knows
        self._lock = threading.Lock()
        self._parts: Callable[[], StoreParts | None] = lambda: None
        self.filling = Filling(self._step, _failed)

    def connect(self, parts: StoreParts) -> None:
        """Fill due scopes from now on."""
        self._parts = weakref.ref(parts)
        if self.local_max is None:
            return
        with reading(self._engine) as connection:
            counts = connection.execute(select(_S.scope_id, _S.memories)).all()
            there = connection.execute(select(_P.scope_id)).scalars().all()
        if there and not parts.directory.others():
            self._own.update(there)
        self._counts.update({int(scope_id): int(memories) for scope_id, memories in counts})
        for scope_id in self._counts:
            self.note(scope_id, 0)

    def forget(self) -> None:
        """Forget the list of scopes, which another node may have changed; it is read again on demand."""
        if self.local_max is not None:
            with self._lock:
                self._known = None

    def is_whole(self, scope_id: int) -> bool:
        """Say whether a scope is answered from the tables."""
        return self._states().get(scope_id, 0) > 0

    def note(self, scope_id: int, added: int) -> None:
        """Note that `added` memories were written to a scope, or removed from it."""
        if self.local_max is None:
            return
        count = self._counts[scope_id] = self._counts.get(scope_id, 0) + added
        known = self._states().get(scope_id)
        if (not known and count > self.local_max) or (known is not None and count <= self._small(scope_id, known)):
            self.filling.wake()

    def _small(self, scope_id: int, whole: int) -> float:
        """Return the number of memories up to which a pushed scope is given back; -1 = not by this node."""
        assert self.local_max is not None
        if scope_id in self._own:
            return SHRUNK * self.local_max
        return SHRUNK * min(self.local_max, whole - LIMIT) if whole else -1

    def settle(self, timeout: float | None = None) -> bool:
        """Wait until due scopes are filled; say whether they were, in time."""
        return self.local_max is None or self.filling.settle(timeout)

    # -- in the transactions of others -----------------------------------------------------------------------------

    def leaving(self, connection: Connection, scope_id: int, nums: Sequence[int]) -> None:
        """Subtract memories that are about to be removed."""
        if not nums or scope_id not in self._states():
            return
        until = connection.execute(select(_P.until).where(_P.scope_id == scope_id)).scalar()
        counted = [num for num in nums if until is not None and num <= until]
        m = schema.memories.c
        for start in range(0, len(counted), SLICE):
            part = counted[start : start + SLICE]
            take_rows(connection, scope_id, read_rows(connection, scope_id, m.num.in_(part)))

    def coming(
        self,
        connection: Connection,
        scope_id: int,
        nums: Sequence[int],
        memories: Sequence[Memory],
        cuts: Sequence[Cut],
    ) -> None:
        """Count memories that are written, with numbers above all stored ones."""
        if not self.is_whole(scope_id):
            return
        rows = [_of(num, memory, cut) for num, memory, cut in zip(nums, memories, cuts, strict=True)]
        for start in range(0, len(rows), SLICE):
            add_rows(connection, scope_id, rows[start : start + SLICE])

    def anew(self, connection: Connection) -> None:
        """Drop all counts, since all words were cut anew."""
        if self.local_max is not None:
            clear_counts(connection)

    def again(self) -> None:
        """Fill the scopes again once that is committed."""
        self.forget()
        for scope_id in list(self._counts):
            self.note(scope_id, 0)

    # -- filling ---------------------------------------------------------------------------------------------------

    def _states(self) -> dict[int, int]:
        known = self._known
        if known is None:
            with self._lock:
                known = self._known
                if known is None:
                    with reading(self._engine) as connection:
                        rows = connection.execute(select(_P.scope_id, _P.whole)).all()
                    known = self._known = {int(scope_id): int(whole) for scope_id, whole in rows}
                    self._see_limits({whole - LIMIT for whole in known.values() if whole})
        return known

    def _see_limits(self, limits: set[int]) -> None:
        """Report other nodes with another limit, once for each limit."""
        parts = self._parts()
        if parts is None:
            return
        for limit in sorted(limits - {self.local_max} - self._noticed):
            self._noticed.add(limit)
            parts.indexes.note(
                f"A node with a retrieval.local_max of {limit:,} has pushed scopes down, and that of this node is "
                f"{self.local_max:,}. Every node asks PostgreSQL of them. Give all nodes the same limit; a higher one "
                "holds for these scopes once a node opens the store with no other there."
            )

    def _step(self) -> bool:
        """Do one slice; say whether there is more to do."""
        parts = self._parts()
        if parts is None or not parts.usable or self.filling.halted or self.local_max is None:
            return False
        with parts.errors(), reading(self._engine) as connection:
            work = _work(connection, self.local_max, self._own)
        if work is None:
            return False
        began = time.monotonic()
        parts.retried(lambda: self._slice(parts, *work), twice=True)
        took = time.monotonic() - began
        if not self.filling.hurried:
            time.sleep(min(took, 0.2))  # others write meanwhile
        return True

    def _slice(self, parts: StoreParts, scope_id: int, large: bool) -> None:
        """Take one step with a scope, in a turn to write."""
        from recall_integrations.store.removing import Removing

        scope = parts.expiry.scope_of(scope_id)
        with parts.write_lock, parts.errors():
            parts.check_open()
            removing = Removing(parts)
            with self._engine.begin() as connection:
                row = connection.execute(select(_P.until, _P.whole).where(_P.scope_id == scope_id)).first()
                change, rows = self._next(connection, scope_id, row, large=large)
                if change is None:
                    add_rows(connection, scope_id, rows)
                    return
            if change is _nothing:
                return
            with parts.revisions.writing(scope):
                self._changed(parts, removing, scope_id, change)

    def _changed(self, parts: StoreParts, removing: Removing, scope_id: int, change: Callable[..., Any]) -> None:
        try:
            with self._engine.begin() as connection:
                change(connection, scope_id)
                touched = removing.touch(connection, scope_id)
        finally:
            self.forget()
        if change is begin_count:
            self._own.add(scope_id)
        else:  # the scope is whole, or given back
            self._own.discard(scope_id)
        removing.touched(scope_id, touched)
        parts.views.drop(scope_id)

    def _next(
        self, connection: Connection, scope_id: int, row: Any, *, large: bool
    ) -> tuple[Callable[[Connection, int], None] | None, list[Pushed]]:
        """Return the next step of a scope: a change that other nodes are told of, or memories to count."""
        if row is None or not large:
            change = begin_count if large else clear_counts
            return (change if large or row is not None else _nothing), []
        if row.whole:
            return _nothing, []
        rows = read_rows(connection, scope_id, schema.memories.c.num > row.until, limit=SLICE)
        return (None, rows) if rows else (self._whole, [])

    def _whole(self, connection: Connection, scope_id: int) -> None:
        assert self.local_max is not None
        noted = update(schema.pushed).where(_P.scope_id == scope_id).values(whole=self.local_max + LIMIT)
        connection.execute(noted)


def _of(num: int, memory: Memory, cut: Cut) -> Pushed:
    return pushed(num, cut, memory.actor, memory.role, memory.thread)


def _work(connection: Connection, local_max: int, own: Collection[int]) -> tuple[int, bool] | None:
    """Return a scope that has work to do, and whether it is large; `None` = no scope has."""
    large = _S.memories > local_max
    mine = _P.scope_id.in_(sorted(own))
    least = case((mine, local_max), (_P.whole > 0, func.least(_P.whole - LIMIT, local_max)), else_=-1)
    small = _P.scope_id.is_not(None) & (_S.memories <= SHRUNK * least)
    query = select(_S.scope_id, large).select_from(schema.scopes.outerjoin(schema.pushed, _P.scope_id == _S.scope_id))
    query = query.where((large & (_P.scope_id.is_(None) | (_P.whole == 0))) | small)
    found = connection.execute(query.order_by(_S.scope_id).limit(1)).first()
    return None if found is None else (int(found[0]), bool(found[1]))


def _nothing(_connection: Connection, _scope_id: int) -> None:
    """Do nothing: another node did it meanwhile."""


def _failed(error: BaseException) -> None:
    if not isinstance(error, StoreClosed):
        logger.warning("A large scope could not be counted, which is tried again: %s", told(error))
