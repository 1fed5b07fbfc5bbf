"""Rows of scopes that no node reads whole, written in the transaction that writes or removes their memories.

    memories ─ words, actors, threads ─▶ postings   (stem, memory, count, length)           which memories hold a stem
                                       ▶ terms      (stem, memories that hold it)          document frequency
                                       ▶ speakers   (actor, role, thread, memories)        actors, and kinds
                                       ▶ pushed     one row of sums                        number, mean length, kinds

For PostgreSQL only. The counts are those of a node that reads a scope whole (`indexes/columns.py`,
`indexes/kind.py`), in whole numbers, so that the order of writes leaves no trace.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, delete, select, text

from recall_integrations.database import schema
from recall_integrations.database.inserting import insert_rows
from recall_integrations.database.sending import send
from recall_integrations.indexes import word_rows
from recall_integrations.indexes.bm25 import rounded
from recall_integrations.indexes.columns import UNIT
from recall_integrations.indexes.kind import SPEAKING, shortness
from recall_integrations.text.bm25 import PIVOT
from recall_integrations.types.roles import ROLE_CODES, Role, role_of

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


def read(connection: Connection, scope_id: int, *where: Any, limit: int | None = None) -> list[Pushed]:
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


def add(connection: Connection, scope_id: int, memories: Sequence[Pushed]) -> None:
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


def take(connection: Connection, scope_id: int, memories: Sequence[Pushed]) -> None:
    """Subtract counted memories that are about to be removed, in the caller's transaction."""
    if not memories:
        return
    pairs = [(term, memory.num) for memory in memories for term in memory.stems]
    if pairs:
        terms, nums = zip(*pairs, strict=True)
        send(connection, _TAKE, {"scope_id": scope_id, "terms": list(terms), "nums": list(nums)})
    _counted(connection, scope_id, memories, -1)


def begin(connection: Connection, scope_id: int) -> None:
    """Begin to count a scope, from nothing."""
    clear(connection, scope_id)
    row = {"scope_id": scope_id, "until": 0, "whole": 0, **dict.fromkeys(SUMS, 0)}
    connection.execute(schema.pushed.insert().values(**row))


def clear(connection: Connection, scope_id: int | None = None) -> None:
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
