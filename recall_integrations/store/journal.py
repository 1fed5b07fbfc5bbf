"""The change journal, the cursors of the indexes that follow it, and the point of it that an index was made from.

Every write appends to `changes` in its transaction. Each index keeps the number that it has applied; later entries are
caught up at the next write or open, and applying a change twice is harmless. An index and the database can be put back
alone (a backup, a kill), so each entry has a digest of itself and of all before it, and the last one that an index may
hold is noted beside its files: it belongs to a database whose journal has the same digest there.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection, Engine, and_, bindparam, delete, func, insert, select, update

from recall_integrations.database import schema
from recall_integrations.database.schema import LAST, PRUNED, get_meta, put_meta
from recall_integrations.database.sending import Sent, in_parts, insert_rows, send
from recall_integrations.owner_only import make_directory
from recall_integrations.records import record
from recall_integrations.types import indexed_text

MARK = "recall.history"
DIGEST_BYTES = 16  # of a digest


class Point(NamedTuple):
    """A place in a journal."""

    seq: int = 0  # number of an entry; 0 = before the first
    digest: str = ""  # of all entries up to it, in hexadecimal digits; empty = none


def digest_of(before: str, seq: int, scope_id: int, op: str, num: int, content: str | None) -> str:
    """Digest an entry and all before it."""
    said = f"{before} {seq} {scope_id} {op} {num} {content or ''}"
    return hashlib.blake2b(said.encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES).hexdigest()


def note_point(directory: Path, point: Point) -> None:
    """Note how far the index in a directory may have come. No sync: a process that is killed loses nothing."""
    make_directory(directory)
    target = directory / MARK
    draft = target.with_suffix(".new")
    draft.write_text(json.dumps(point), encoding="ascii")
    draft.replace(target)


def noted_point(directory: Path) -> Point | None:
    """Read the noted point; `None` where there is none, or it cannot be read."""
    try:
        seq, said = json.loads((directory / MARK).read_text(encoding="ascii"))
    except (OSError, ValueError, TypeError):
        return None
    return Point(seq, said) if isinstance(seq, int) and isinstance(said, str) else None


SEMANTIC = "semantic"  # name of the index of vectors
MOVED = "moved"  # key in `meta` of a store that was brought from another place
TOUCH = "touch"  # an entry without a memory: names or facts of a scope were written
KEPT_ENTRIES = 10_000
_HIGHEST = select(func.max(schema.changes.c.seq))
_NOTED = select(schema.meta.c.value).where(schema.meta.c.key == LAST)
_MOVED = (
    update(schema.cursors)
    .where(schema.cursors.c.name == bindparam("which"), schema.cursors.c.seq >= bindparam("least"))
    .values(seq=bindparam("upto"))
)


@record(frozen=True, slots=True, kw_only=True)
class Change:
    """One entry: `op` is `put`, `del` or `TOUCH`; a put whose memory still exists has its text and actor.

    A touch has its own number instead of a memory's.
    """

    seq: int
    scope_id: int
    op: str
    num: int
    text: str | None
    actor: str | None
    digest: str = ""

    @property
    def content(self) -> str | None:
        """The embedded and indexed text: the actor in front of the text."""
        if self.text is None:
            return None
        return indexed_text(self.text, self.actor)


def gone(seq: int, scope_id: int, num: int) -> Change:
    """Make the entry for a removed memory."""
    return Change(seq=seq, scope_id=scope_id, op="del", num=num, text=None, actor=None)


def touched(seq: int, scope_id: int) -> Change:
    """Make the entry for a write to a scope that is no memory."""
    return Change(seq=seq, scope_id=scope_id, op=TOUCH, num=seq, text=None, actor=None)


class Appended:
    """Entries that were written."""

    def __init__(self, changes: Sequence[Change], moved: Sent | None, *, anew: bool = False) -> None:
        self.changes, self._moved, self._anew = changes, moved, anew

    @cached_property
    def followed(self) -> bool:
        """True if the cursor is at the last of the entries."""
        return self._anew or (self._moved is not None and self._moved.count() > 0)


def append(
    connection: Connection, entries: Sequence[Change], applied: str | None = None, newest: Point | None = None
) -> Appended:
    """Write entries, oldest first, in the caller's transaction."""
    newest, chained = newest or _newest(connection) or pruned(connection), []
    digest = newest.digest
    for e in entries:
        digest = digest_of(digest, e.seq, e.scope_id, e.op, e.num, e.content if e.op == "put" else None)
        chained.append(replace(e, digest=digest))
    rows = [{"seq": e.seq, "scope_id": e.scope_id, "op": e.op, "num": e.num, "digest": e.digest} for e in chained]
    insert_rows(connection, schema.changes, rows)
    if applied is None:
        return Appended(chained, None)
    moved = send(connection, _MOVED, {"which": applied, "least": newest.seq, "upto": chained[-1].seq})
    anew = not newest.seq and not moved.count() and _made(connection, applied, chained[-1].seq)
    return Appended(chained, moved, anew=anew)


def _made(connection: Connection, name: str, seq: int) -> bool:
    c = schema.cursors
    if connection.execute(select(c.c.seq).where(c.c.name == name)).first() is not None:
        return False
    connection.execute(insert(c).values(name=name, seq=seq))
    return True


def _newest(connection: Connection) -> Point | None:
    c = schema.changes.c
    found = connection.execute(select(c.seq, c.digest).order_by(c.seq.desc()).limit(1)).first()
    return None if found is None else Point(int(found.seq), found.digest)


def pruned(connection: Connection) -> Point:
    """Return the last dropped entry."""
    return point_of(get_meta(connection, PRUNED))


def point_of(noted: str | None) -> Point:
    """Parse the note of the last dropped entry; `None` = no entry was dropped."""
    seq, _, digest = (noted or "0").partition(" ")
    return Point(int(seq), digest)


def point(connection: Connection, seq: int) -> Point | None:
    """Return the entry with this number and its digest, also if it is the last pruned one; `None` where there is none.

    The number 0 gives the point before the first entry.
    """
    if not seq:
        return Point()
    found = connection.execute(select(schema.changes.c.digest).where(schema.changes.c.seq == seq)).scalar()
    if found is not None:
        return Point(seq, found)
    dropped = pruned(connection)
    return dropped if dropped.seq == seq else None


def foreign(connection: Connection, cursor: int, noted: Point | None) -> str | None:
    """Say why an index belongs to another history than this journal's; `None` = it does not."""
    if noted is None:
        return "nothing says which history it was made from" if cursor else None
    if noted.seq < cursor:
        return f"it was made up to change {noted.seq:,}, the database knows of {cursor:,}"
    kept = noted.digest and noted.seq >= pruned(connection).seq  # one that was dropped proves nothing
    if kept and point(connection, noted.seq) != noted:
        return f"its change {noted.seq:,} is not that of the database, which may be a backup that was put back"
    return None


def last_seq(connection: Connection) -> int:
    """Return the highest sequence number ever given; survives pruning."""
    newest, noted = send(connection, _HIGHEST), send(connection, _NOTED)
    return max(int(newest.value() or 0), int(noted.value() or 0))


def reached(connection: Connection) -> tuple[Point, int]:
    """Return the last entry ever written, and the last entry whose vectors are made."""
    at = schema.cursors.c
    made = connection.execute(select(at.seq).where(at.name == SEMANTIC)).scalar()
    head = _newest(connection) or Point(last_seq(connection), pruned(connection).digest)
    return head, int(made or 0)


def pending(engine: Engine, after: int, limit: int) -> list[Change]:
    """Read the entries after a cursor, oldest first."""
    m = schema.memories
    entries = select(schema.changes).where(schema.changes.c.seq > after).order_by(schema.changes.c.seq).limit(limit)
    c = entries.subquery()  # cut first: a planner without statistics would join all of the memories
    query = (
        select(c.c.seq, c.c.scope_id, c.c.op, c.c.num, m.c.text, m.c.actor, c.c.digest)
        .select_from(c.outerjoin(m, and_(m.c.scope_id == c.c.scope_id, m.c.num == c.c.num)))
        .order_by(c.c.seq)
    )
    with engine.connect() as connection:
        rows = connection.execute(query).all()
    return [
        Change(seq=seq, scope_id=scope, op=op, num=num, text=text if op == "put" else None, actor=actor, digest=digest)
        for seq, scope, op, num, text, actor, digest in rows
    ]


def unembedded(connection: Connection, cursor: int, scope_id: int) -> int:
    """Count the memories of a scope that were written after a change and have no vector."""
    m, v = schema.memories.c, schema.vectors.c
    query = select(func.count()).where(m.scope_id == scope_id, m.num > cursor)
    there = select(v.num).where(v.scope_id == m.scope_id, v.num == m.num).exists()
    return int(connection.execute(query.where(~there)).scalar_one())


def embedded(connection: Connection, changes: Sequence[Change]) -> set[int]:
    """Return the numbers of changed memories that have vectors."""
    v = schema.vectors.c
    found: set[int] = set()
    for part in in_parts(changes):
        query = select(v.num).where(v.scope_id.in_({c.scope_id for c in part}), v.num.in_([c.num for c in part]))
        found.update(int(num) for num in connection.execute(query).scalars())
    return found


def count_after(connection: Connection, cursor: int, scope_id: int | None = None) -> int:
    """Count the entries after a cursor; with a scope only those of memories."""
    c = schema.changes
    query = select(func.count()).select_from(c).where(c.c.seq > cursor)
    if scope_id is not None:
        query = query.where(c.c.scope_id == scope_id, c.c.op != TOUCH)
    return int(connection.execute(query).scalar_one())


def cursors(connection: Connection) -> dict[str, int]:
    """Read the cursor of each index."""
    rows = connection.execute(select(schema.cursors.c.name, schema.cursors.c.seq))
    return {str(name): int(seq) for name, seq in rows}


def move(connection: Connection, name: str, seq: int) -> None:
    """Set an index's cursor, in the caller's transaction."""
    row = update(schema.cursors).where(schema.cursors.c.name == name).values(seq=seq)
    if not connection.execute(row).rowcount:
        connection.execute(insert(schema.cursors).values(name=name, seq=seq))


def prune(connection: Connection, keep_after: int) -> None:
    """Drop entries that every index has applied, keeping the last one's number."""
    put_meta(connection, LAST, str(last_seq(connection)))
    c = schema.changes.c
    dropped = select(c.seq, c.digest).where(c.seq <= keep_after).order_by(c.seq.desc()).limit(1)
    last = connection.execute(dropped).first()
    if last is not None:
        put_meta(connection, PRUNED, f"{last.seq} {last.digest}")
    connection.execute(delete(schema.changes).where(schema.changes.c.seq <= keep_after))


def prune_old(connection: Connection, keep: int) -> None:
    """Drop all but the newest entries, while others read along.

    A reader behind the kept entries begins anew (`store/following.py`), so `keep` exceeds the lag of any reader.
    Entries whose vectors are not made stay.
    """
    upto = min(last_seq(connection) - keep, cursors(connection).get(SEMANTIC, 0))
    if upto > pruned(connection).seq:
        prune(connection, upto)


def restart(connection: Connection) -> int:
    """Begin the journal anew where it cannot be relied on, in the caller's transaction; return its last number.

    It then marks the stored memories as applied, under a digest that no journal had before. The indexes have to be made
    anew: until then they are of another history.
    """
    m, c = schema.memories.c, schema.changes.c
    newest = connection.execute(select(func.max(m.num))).scalar() or 0
    kept = [newest, connection.execute(select(func.max(c.seq))).scalar() or 0, *cursors(connection).values()]
    for key in (LAST, PRUNED):
        number = (get_meta(connection, key) or "").partition(" ")[0]
        kept.append(int(number) if number.isdecimal() else 0)
    head, digest = max(kept), "restarted"
    for scope_id, num, text, actor in connection.execute(select(m.scope_id, m.num, m.text, m.actor).order_by(m.num)):
        digest = digest_of(digest, num, scope_id, "put", num, indexed_text(text, actor))
    digest = digest_of(digest, head, 0, "restarted", head, get_meta(connection, PRUNED))
    put_meta(connection, LAST, str(head))
    put_meta(connection, PRUNED, f"{head} {digest}")
    connection.execute(delete(schema.changes))
    move(connection, SEMANTIC, head)
    return head


def prune_applied(connection: Connection, *, keep: int = KEPT_ENTRIES) -> None:
    """Drop the entries whose vectors are made, once more than `keep` of them have gathered.

    Columns in memory follow the journal, so call this before any are loaded.
    """
    applied = cursors(connection).get(SEMANTIC, 0)
    oldest = connection.execute(select(func.min(schema.changes.c.seq))).scalar()
    if oldest is not None and applied - oldest + 1 > keep:
        prune(connection, applied)
