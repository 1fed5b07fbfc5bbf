"""The journal against the memories: check that every entry follows from the one before, and matches a memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, literal_column, select

from recall_integrations.database import schema
from recall_integrations.store import history, journal
from recall_integrations.store.doctor.findings import Check, counted, ok, problem
from recall_integrations.store.journal import TOUCH
from recall_integrations.types import indexed_text

JOURNAL = "journal"
_REMEDY = "`--repair` begins the journal anew with what is there, and makes both indexes from it."


@dataclass(slots=True)
class _Walk:
    """The findings of a walk through the journal."""

    first: int | None = None
    put: set[int] = field(default_factory=set)
    removed: set[int] = field(default_factory=set)
    broken: list[str] = field(default_factory=list)


def examine(connection: Connection, living: Mapping[int, int]) -> Check:
    """Check the journal."""
    try:
        last, dropped = journal.last_seq(connection), journal.pruned(connection)
    except ValueError as e:
        return problem(JOURNAL, f"The number of its last entry cannot be read ({e}).", _REMEDY)
    walk = _walk(connection, dropped)
    # Before there were digests, dropped entries left no note of their own.
    first = dropped.seq + 1 if dropped.seq else (last + 1 if walk.first is None else walk.first)
    lost = sorted(num for num in walk.put - walk.removed if num not in living)
    unknown = sorted(num for num in living if num >= first and num not in walk.put)
    back = sorted(num for num in walk.removed if num in living)
    late = sorted(num for num in living if num > last)
    cursors = {name: seq for name, seq in journal.cursors(connection).items() if seq > last}
    said = [
        *(f"Memory {num} was written and never removed, and is not there: it is lost." for num in lost),
        *walk.broken,
        *(f"Memory {num} is there, and no entry says that it was written." for num in unknown),
        *(f"Memory {num} is there, and was removed." for num in back),
        *(f"Memory {num} has a number above the last one that was given ({last})." for num in late),
        *(f"The {name} index is said to have come to {seq}, which is not there." for name, seq in cursors.items()),
    ]
    if not said:
        entries = connection.execute(select(func.count()).select_from(schema.changes)).scalar_one()
        return ok(JOURNAL, f"{counted(entries, 'entry', 'entries')}, the last one is {last:,}; each follows.")
    gone = f" {counted(len(lost), 'memory is', 'memories are')} lost." if lost else ""
    says = f"{counted(len(said), 'thing does', 'things do')} not agree with the memories.{gone}"
    return problem(JOURNAL, says, _REMEDY, said)


def _walk(connection: Connection, dropped: history.Point) -> _Walk:
    walk, before = _Walk(), dropped.digest
    for seq, scope_id, op, num, digest, content in _entries(connection):
        walk.first = seq if walk.first is None else walk.first
        if op != TOUCH:
            (walk.put if op == "put" else walk.removed).add(num)
        known = op != "put" or content is not None  # the text of a memory that was replaced since is unknown
        if op not in ("put", "del", TOUCH):
            walk.broken.append(f"Entry {seq} is of no known kind.")
        elif not digest:
            walk.broken.append(f"Entry {seq} has no digest.")
        elif known and digest not in _expected(before, seq, scope_id, op, num, content):
            what = f", or the text of memory {num} is not the one that was written" if op == "put" else ""
            walk.broken.append(f"Entry {seq} does not follow from the one before it{what}.")
        before = digest
    return walk


def _expected(before: str, seq: int, scope_id: int, op: str, num: int, content: str | None) -> set[str]:
    """Return digests that an entry may have: those of stores of an older schema do not include the text."""
    said = {None, content} if op == "put" else {None}
    return {history.digest(before, seq, scope_id, op, num, what) for what in said}


def _entries(connection: Connection) -> Iterator[tuple[int, int, str, int, str, str | None]]:
    """Yield the entries, oldest first, each with the indexed text of its memory if that exists."""
    c, m = schema.changes, schema.memories
    joined = c.outerjoin(m, (m.c.scope_id == c.c.scope_id) & (m.c.num == c.c.num))
    raw: list[ColumnElement[Any]] = [
        literal_column(f"{table.name}.{name}") for table, name in ((m, "text"), (m, "actor"))
    ]
    query = select(c.c.seq, c.c.scope_id, c.c.op, c.c.num, c.c.digest, *raw).select_from(joined).order_by(c.c.seq)
    for seq, scope_id, op, num, digest, text, actor in connection.execute(query):
        readable = isinstance(text, str) and (actor is None or isinstance(actor, str))
        yield seq, scope_id, op, num, digest, indexed_text(text, actor) if readable else None
