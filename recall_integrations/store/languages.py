"""The languages of each scope, in the table `languages`: counted when a memory is written, subtracted when it goes.

A recall asks for them once after each write: a few rows, which `text.detection.Spoken` interprets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from sqlalchemy import Connection, bindparam, delete, func, select, text

from recall_integrations.database import schema
from recall_integrations.database.sending import in_parts, send
from recall_integrations.text.detection import ENGLISH, UNTOLD, WHOLE, Count, Spoken, counted

BATCH = 2_000
SCOPES_ASKED = 16  # when a store is opened, for the languages that it is written in

_t = schema.languages.c
_MEMORIES = select(schema.scopes.c.memories).where(schema.scopes.c.scope_id == bindparam("which"))
_TOLD = select(_t.language, _t.told, _t.hints, _t.votes).where(_t.scope_id == bindparam("which")).order_by(_t.language)
_ADD = text(
    "INSERT INTO languages (scope_id, language, told, hints, votes) "
    "VALUES (:scope_id, :language, :told, :hints, :votes) ON CONFLICT (scope_id, language) "
    "DO UPDATE SET told = languages.told + excluded.told, "
    "hints = languages.hints + excluded.hints, votes = languages.votes + excluded.votes"
)


def write(connection: Connection, scope_id: int, texts: Iterable[str]) -> frozenset[str]:
    """Count memories that are written, in the caller's transaction; return their languages other than English."""
    found = counted(texts)
    _add(connection, scope_id, found, 1)
    return frozenset(
        code for code, count in found.items() if code not in (UNTOLD, ENGLISH) and count.told + count.hints
    )


def remove(connection: Connection, scope_id: int, nums: Sequence[int]) -> None:
    """Subtract memories that the caller's transaction is about to remove."""
    m = schema.memories
    for part in in_parts(nums):
        texts = connection.execute(select(m.c.text).where(m.c.scope_id == scope_id, m.c.num.in_(part)))
        _add(connection, scope_id, counted(texts.scalars()), -1)


def recount(connection: Connection) -> None:
    """Count all memories anew, in the caller's transaction."""
    connection.execute(delete(schema.languages))
    m = schema.memories
    for scope_id in connection.execute(select(schema.scopes.c.scope_id).order_by(schema.scopes.c.scope_id)).scalars():
        last = 0
        query = select(m.c.num, m.c.text).where(m.c.scope_id == scope_id).order_by(m.c.num).limit(BATCH)
        while rows := connection.execute(query.where(m.c.num > last)).all():
            write(connection, scope_id, (row.text for row in rows))
            last = rows[-1].num


def read(connection: Connection, scope_id: int) -> Spoken:
    """Read the languages of a scope, and its number of memories."""
    return asked(connection, scope_id)()


def asked(connection: Connection, scope_id: int) -> Callable[[], Spoken]:
    """Send the query of `read` (`database.sending`); return a function that gives the answer."""
    memories = send(connection, _MEMORIES, {"which": scope_id})
    told = send(connection, _TOLD, {"which": scope_id})

    def answer() -> Spoken:
        counts = {language: Count(*count) for language, *count in told.rows()}
        return Spoken(int(memories.value() or 0), counts)

    return answer


def kept_in(connection: Connection) -> list[str]:
    """Return the languages of the scopes with most text that is not English; a few reads at most."""
    likely = (_t.language.not_in((UNTOLD, ENGLISH))) & ((_t.told > 0) | (_t.votes >= WHOLE))
    query = select(_t.scope_id).where(likely).group_by(_t.scope_id)
    query = query.order_by(func.max(_t.told).desc(), func.max(_t.votes).desc(), _t.scope_id).limit(SCOPES_ASKED)
    scopes = connection.execute(query).scalars().all()
    return list(dict.fromkeys(code for scope_id in scopes for code in read(connection, scope_id).kept_in))


def common(connection: Connection, least: int) -> list[str]:
    """Return the languages besides English that so many memories of a scope are in."""
    query = select(_t.language).where(_t.told >= least, _t.language.not_in((UNTOLD, ENGLISH))).distinct()
    return list(connection.execute(query.order_by(_t.language)).scalars())


def _add(connection: Connection, scope_id: int, found: Mapping[str, Count], sign: int) -> None:
    if not found:
        return  # nearly always, of memories in English
    for code, n in sorted(found.items()):
        told, hints, votes = (sign * part for part in n)
        values = {"scope_id": scope_id, "language": code, "told": told, "hints": hints, "votes": votes}
        send(connection, _ADD, values)
