"""Facts that a language model read, as rows of `facts`; and which of two readings of one memory stands.

For the same memory, subject and slot:

- what the memory's own fields say (relations, `metadata["fact"]`) stands, and a model's reading of it is not stored;
- of a rule's reading and a model's, the more confident one stands, the model's where they are equal;
- when rules read all memories anew, a model's reading that stands stays.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import ColumnElement, Connection, delete, exists, select

from recall_integrations.database import schema
from recall_integrations.database.portable import in_parts
from recall_integrations.database.sending import insert_rows
from recall_integrations.facts.by_llm.messages import Message
from recall_integrations.facts.rows import RULE, Row, row_of
from recall_integrations.facts.said import Said

LLM = "llm"
PLACE = 1_000_000  # place of the first in its memory: behind all that rules find
_Key = tuple[int, str, str]  # (num, subject, slot)
_f = schema.facts.c


def rows_of(message: Message, said: Iterable[Said]) -> tuple[list[Row], int]:
    """Return rows for what a message says, each once, and the number of claims whose subject nobody can tell."""
    found: dict[tuple[object, ...], Row] = {}
    nobody = 0
    for one in said:
        row = row_of(one, LLM, message.actor, message.role)
        if row is None:
            nobody += 1
        else:
            found.setdefault((row["subject"], row["slot"], row["value"].casefold(), row["op"]), row)
    return [{"num": message.num, "place": PLACE + i, **row} for i, row in enumerate(found.values())], nobody


def write(connection: Connection, scope_id: int, made: Sequence[Row]) -> tuple[int, int]:
    """Store rows of memories that are there, in the caller's transaction; return how many, and how many were weaker.

    Args:
        connection: connection of the store.
        scope_id: scope of the memories.
        made: rows that `rows_of` made.
    """
    if not made:
        return 0, 0
    by_key: dict[_Key, list[Row]] = defaultdict(list)
    for row in made:
        by_key[row["num"], row["subject"], row["slot"]].append(row)
    there = _there(connection, scope_id, sorted({row["num"] for row in made}))
    stored: list[Row] = []
    for key, rows in by_key.items():
        others = there.get(key, {})
        confident = max(row["confidence"] for row in rows)
        if any(by != RULE for by in others) or confident < others.get(RULE, 0.0):
            continue
        if RULE in others:
            connection.execute(delete(schema.facts).where(*_of(scope_id, key), _f.by == RULE))
        stored += [{"scope_id": scope_id, **row} for row in rows]
    insert_rows(connection, schema.facts, stored)
    return len(stored), len(made) - len(stored)


def _of(scope_id: int, key: _Key) -> tuple[ColumnElement[bool], ...]:
    num, subject, slot = key
    return _f.scope_id == scope_id, _f.num == num, _f.subject == subject, _f.slot == slot


def _there(connection: Connection, scope_id: int, nums: Sequence[int]) -> Mapping[_Key, dict[str, float]]:
    """Return who else has read these memories, with the best confidence of each."""
    found: dict[_Key, dict[str, float]] = defaultdict(dict)
    for part in in_parts(nums):
        query = select(_f.num, _f.subject, _f.slot, _f.by, _f.confidence)
        for num, subject, slot, by, confidence in connection.execute(
            query.where(_f.scope_id == scope_id, _f.num.in_(part))
        ):
            known = found[num, subject, slot]
            known[by] = max(confidence, known.get(by, 0.0))
    return found


def give_way(connection: Connection) -> None:
    """Remove rows that rules read anew where a model's reading stands, in the caller's transaction."""
    other = schema.facts.alias("other")
    same = exists().where(
        other.c.scope_id == _f.scope_id,
        other.c.num == _f.num,
        other.c.subject == _f.subject,
        other.c.slot == _f.slot,
        other.c.by == LLM,
    )
    connection.execute(delete(schema.facts).where(_f.by == RULE, same))
