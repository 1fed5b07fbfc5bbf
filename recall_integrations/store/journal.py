"""The change journal and the cursors of the indexes that follow it.

Every write appends to `changes` in the transaction that makes it. Each index keeps the sequence number it has applied;
what lies behind it is caught up at the next write or open. Applying a change twice is harmless, so a crash between an
index's commit and its cursor's costs work, not correctness.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine, and_, delete, func, insert, select, update

from recall_integrations.database import schema
from recall_integrations.database.meta import get_meta, put_meta
from recall_integrations.text import language_of
from recall_integrations.types import indexed_text

LEXICAL, SEMANTIC = "lexical", "semantic"
KEPT_ENTRIES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One entry: `op` is `put` or `del`; for a put whose memory still stands, its text and actor are at hand."""

    seq: int
    scope_id: int
    op: str
    num: int
    text: str | None
    actor: str | None

    @property
    def content(self) -> str | None:
        """What is embedded and indexed: the actor in front of the text."""
        if self.text is None:
            return None
        return indexed_text(self.text, self.actor)

    @property
    def language(self) -> str | None:
        """The language that the words of `content` are read in: that of the text, whatever the actor is called."""
        return None if self.text is None else language_of(self.text)


def append(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write entries in the caller's transaction."""
    connection.execute(insert(schema.changes), list(rows))


def last_seq(connection: Connection) -> int:
    """The highest sequence number ever given; survives pruning."""
    newest = connection.execute(select(func.max(schema.changes.c.seq))).scalar() or 0
    return max(newest, int(get_meta(connection, "last_seq") or 0))


def pending(engine: Engine, after: int, limit: int) -> list[Change]:
    """Entries after a cursor, oldest first."""
    c, m = schema.changes, schema.memories
    joined = c.outerjoin(m, and_(m.c.scope_id == c.c.scope_id, m.c.num == c.c.num))
    query = (
        select(c.c.seq, c.c.scope_id, c.c.op, c.c.num, m.c.text, m.c.actor)
        .select_from(joined)
        .where(c.c.seq > after)
        .order_by(c.c.seq)
        .limit(limit)
    )
    with engine.connect() as connection:
        return [
            Change(seq=seq, scope_id=scope, op=op, num=num, text=text if op == "put" else None, actor=actor)
            for seq, scope, op, num, text, actor in connection.execute(query)
        ]


def count_after(connection: Connection, cursor: int, scope_id: int) -> int:
    """How many entries of a scope lie behind a cursor."""
    c = schema.changes
    query = select(func.count()).select_from(c).where(c.c.scope_id == scope_id, c.c.seq > cursor)
    return int(connection.execute(query).scalar_one())


def cursors(connection: Connection) -> dict[str, int]:
    """Where each index stands."""
    rows = connection.execute(select(schema.cursors.c.name, schema.cursors.c.seq))
    return {str(name): int(seq) for name, seq in rows}


def move(connection: Connection, name: str, seq: int) -> None:
    """Set an index's cursor, in the caller's transaction."""
    row = update(schema.cursors).where(schema.cursors.c.name == name).values(seq=seq)
    if not connection.execute(row).rowcount:
        connection.execute(insert(schema.cursors).values(name=name, seq=seq))


def prune(connection: Connection, keep_after: int) -> None:
    """Drop entries that every index has applied, keeping the last one's number."""
    put_meta(connection, "last_seq", str(last_seq(connection)))
    connection.execute(delete(schema.changes).where(schema.changes.c.seq <= keep_after))


def prune_applied(connection: Connection, *, keep: int = KEPT_ENTRIES) -> None:
    """Drop what both indexes have applied, once more than `keep` such entries have gathered.

    Columns in memory read along with the journal, so this is for the time before any are loaded.
    """
    applied = min((cursors(connection).get(name, 0) for name in (LEXICAL, SEMANTIC)), default=0)
    oldest = connection.execute(select(func.min(schema.changes.c.seq))).scalar()
    if oldest is not None and applied - oldest + 1 > keep:
        prune(connection, applied)
