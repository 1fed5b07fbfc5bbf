"""The table of learned corrections: one scope's rows as `LearnedRow`, and the difference between two states of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlalchemy import Connection, bindparam, delete, insert, select

from recall_integrations.database import schema
from recall_integrations.indexes.times import from_micros, to_micros
from recall_integrations.query.spelling import LearnedRow

Learned = dict[tuple[str, str], LearnedRow]  # by word and stem

_c = schema.corrections.c
_ONE = delete(schema.corrections).where(
    _c.scope_id == bindparam("of_scope"), _c.word == bindparam("of_word"), _c.stem == bindparam("of_stem")
)


def by_pair(rows: Iterable[LearnedRow]) -> Learned:
    """Rows by what identifies them."""
    return {(row.word, row.stem): row for row in rows}


def read(connection: Connection, scope_id: int) -> Learned:
    """What a scope has learned."""
    query = select(_c.word, _c.stem, _c.uses, _c.validated, _c.last_used).where(_c.scope_id == scope_id)
    query = query.order_by(_c.word, _c.stem)
    return by_pair(
        LearnedRow(word, root, uses, None if valid is None else bool(valid), from_micros(used))
        for word, root, uses, valid, used in connection.execute(query)
    )


def write(
    connection: Connection,
    scope_id: int,
    old: Mapping[tuple[str, str], LearnedRow],
    new: Mapping[tuple[str, str], LearnedRow],
) -> int:
    """Turn a scope's rows from `old` into `new` in the caller's transaction; returns how many were touched."""
    fresh = [row for pair, row in new.items() if old.get(pair) != row]
    gone = [pair for pair, row in old.items() if new.get(pair) != row]
    if gone:
        connection.execute(_ONE, [{"of_scope": scope_id, "of_word": word, "of_stem": root} for word, root in gone])
    if fresh:
        connection.execute(insert(schema.corrections), [_to_row(scope_id, row) for row in fresh])
    return len({*gone, *by_pair(fresh)})


def _to_row(scope_id: int, row: LearnedRow) -> dict[str, object]:
    return {
        "scope_id": scope_id,
        "word": row.word,
        "stem": row.stem,
        "uses": row.uses,
        "validated": None if row.validated is None else int(row.validated),
        "last_used": to_micros(row.last_used),
    }
