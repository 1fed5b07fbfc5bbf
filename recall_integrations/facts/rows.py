"""Rows beside memories for what they say of slots, and for the times they tell: made, written, made anew, read.

Facts are read of sentences and of a memory's own fields:

    Relation("Priya", "manager_of", "Sam")                                   -> boss of Sam: Priya
    metadata={"fact": {"slot": "phone_number", "value": "555-0101", "subject": "Priya"}}
"""

from __future__ import annotations

import functools
import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Text, delete, select, type_coerce

from recall_integrations.database import schema
from recall_integrations.database.sending import insert_rows
from recall_integrations.errors import InvalidMemory
from recall_integrations.facts import sentences
from recall_integrations.facts.said import IS, NOT, OPS, RULE, Said, subject_key
from recall_integrations.facts.sentences import given_time
from recall_integrations.facts.slots import DEFAULT, NAME_CHARS_MAX, Slots, table
from recall_integrations.indexes.times import from_micros, to_micros
from recall_integrations.privacy.door import told
from recall_integrations.query.temporal import event_times
from recall_integrations.records import record
from recall_integrations.resilience.failures import failures
from recall_integrations.text import language_of
from recall_integrations.types.memory import Relation
from recall_integrations.types.roles import Role, role_of

FACT = "fact"  # key in the metadata
RELATION, GIVEN = "relation", "given"
# Keys in the metadata of a memory that an LLM read in a conversation, and the slot of the rows that say which memories
# it took the place of: their subject is the id of one. No question asks for the slot, and it has no time line.
CONVERSATION, DECISION, TAKES_PLACE = "conversation", "decision", "replaces"
REPLACES = "@replaces"
VALUE_CHARS_MAX = 500
BAD_SLOT, BAD_OP, NO_VALUE, BAD_SUBJECT = "slot", "op", "no value", "subject"  # what is wrong with a given fact
# Predicate -> (slot, whether the subject of the relation is the value: "manager_of" makes it the boss of the object).
_PREDICATES: Mapping[str, tuple[str, bool]] = {
    predicate: (slot.removesuffix(" of"), slot.endswith(" of")) for predicate, slot in table("en")["predicates"].items()
}


def said_by_fields(relations: Sequence[Relation], metadata: Mapping[str, Any], slots: Slots) -> list[tuple[Said, str]]:
    """Return the statements of the fields, each with its kind (`relation`, `given`); leave out what cannot be read."""
    found = []
    for relation in relations:
        slot, inverse = _PREDICATES.get(relation.predicate.casefold().replace(" ", "_"), ("", False))
        name = slot or relation.predicate.casefold().replace(" ", "_")
        if name not in slots:
            continue
        subject, value = (relation.object, relation.subject) if inverse else (relation.subject, relation.object)
        found.append((Said(slot=name, value=value, subject=subject, confidence=relation.confidence), RELATION))
    given = metadata.get(FACT)
    listed = given if isinstance(given, list) else [given]
    read = (stated(one, slots, openly=True) for one in listed if isinstance(one, Mapping))
    return [*found, *((said, GIVEN) for said in read if isinstance(said, Said))]


def stated(one: Mapping[str, Any], slots: Slots, *, openly: bool = False) -> Said | str:
    """Read a fact that is given field by field, or say what cannot be read; a time that cannot be is none."""
    slot, op = slots.named(one.get("slot"), openly=openly), one.get("op", IS)
    value, subject = _text(one.get("value")), _text(one.get("subject"))
    if openly and value is not None:  # a model is to quote; who gives facts would not learn that one is not read
        value = value[:VALUE_CHARS_MAX]
    if slot is None:
        return BAD_SLOT
    if op not in OPS:
        return BAD_OP
    if value is None or len(value) > VALUE_CHARS_MAX or (not value and op != NOT):
        return NO_VALUE
    if subject is None or len(subject) > NAME_CHARS_MAX:
        return BAD_SUBJECT
    return Said(
        slot=slot,
        value=value,
        subject=subject,
        op=op,
        instead_of=(_text(one.get("instead_of")) or "")[:VALUE_CHARS_MAX],
        corrects=one.get("corrects") is True,
        since=given_time(one.get("since")),
        until=given_time(one.get("until")),
        confidence=1.0,
    )


def _text(given: object) -> str | None:
    if isinstance(given, str):
        return given.strip()
    if isinstance(given, int | float) and not isinstance(given, bool):
        return str(given)
    return "" if given is None else None


logger = logging.getLogger("recall_integrations")
BATCH = 2_000
READ_CHARS = 600  # characters of a text; people who tell of themselves are brief, and documents tell of other things
ANSWER_CHARS = 300  # characters of an assistant, who says what it has understood before it goes on
TIMES_CHARS = 1_000
Row = dict[str, Any]


@record(frozen=True, slots=True, kw_only=True)
class Derived:
    """Rows that are derived from a memory, without the columns that say whose they are."""

    facts: tuple[Row, ...] = ()  # rows of `facts`
    times: tuple[Row, ...] = ()  # rows of `told_times`


NOTHING = Derived()


@functools.lru_cache(maxsize=8)  # every store asks when it opens, most with the same slots
def fingerprint(slots: Slots) -> str:
    """Return the fingerprint of slots and rules: rows that were made with another one are made anew."""
    own = hashlib.blake2b(repr(sorted(map(repr, slots))).encode(), digest_size=6).hexdigest()
    return f"{sentences.VERSION}.{event_times.VERSION}.{own}"


def derived(
    text: str,
    at: datetime,
    actor: str | None = None,
    role: Role | None = None,
    relations: Sequence[Relation] = (),
    metadata: Mapping[str, Any] | None = None,
    slots: Slots = DEFAULT,
) -> Derived:
    """Derive the rows of a memory."""
    times: Sequence[event_times.ToldTime] = ()
    try:
        found = [(said, RULE) for said in sentences.said_in(_read(text, role), at, slots)]
        part = text[:TIMES_CHARS]
        if event_times.may_tell(part):
            times = event_times.told_times(part, at, language_of(text))
    except failures() as e:  # a text that the rules choke on is remembered all the same
        logger.warning("What a memory says of slots could not be read: %s", told(e))
        found = []
    facts = [row for said, by in found if (row := row_of(said, by, actor, role)) is not None]
    if relations or metadata:  # a field stands over what a rule reads of it in the text
        fields = said_by_fields(relations, metadata or {}, slots)
        given = [row for said, by in fields if (row := row_of(said, by, actor, role)) is not None]
        keys = {(row["subject"], row["slot"]) for row in given}
        facts = [*(row for row in facts if (row["subject"], row["slot"]) not in keys), *given]
        facts += _replaced_by_it(metadata or {})
    if not facts and not times:
        return NOTHING
    return Derived(
        facts=tuple({"place": i, **row} for i, row in enumerate(facts)),
        times=tuple({"place": i, "start": to_micros(t.start), "stop": to_micros(t.end)} for i, t in enumerate(times)),
    )


def _replaced_by_it(metadata: Mapping[str, Any]) -> list[Row]:
    """Return a row for each memory that one read in a conversation took the place of."""
    ids, why = metadata.get(TAKES_PLACE), metadata.get(DECISION)
    if CONVERSATION not in metadata or not isinstance(ids, list) or not isinstance(why, str):
        return []
    said = Said(slot=REPLACES, value=why, confidence=1.0)
    made = row_of(said, GIVEN, None, None)
    return [{**made, "subject": one} for one in ids if made is not None and isinstance(one, str)]


def _read(text: str, role: Role | None) -> str:
    """Return the part of a text whose sentences are read: the beginning; for an assistant only where it says "you"."""
    if role in (Role.TOOL, Role.SYSTEM):
        return ""
    if role is not Role.ASSISTANT:
        return text[:READ_CHARS]
    part = text[:ANSWER_CHARS]
    return part if "you" in part.casefold() else ""


def row_of(said: Said, by: str, actor: str | None, role: Role | None) -> Row | None:
    """Return a row of `facts` without its place; `None` where nobody can tell whom it is of."""
    subject = subject_key(said.subject, actor, role)
    if subject is None:
        return None
    return {
        "subject": subject,
        "slot": said.slot,
        "value": said.value,
        "op": said.op,
        "instead_of": said.instead_of,
        "corrects": int(said.corrects),
        "since": None if said.since is None else to_micros(said.since),
        "until": None if said.until is None else to_micros(said.until),
        "confidence": said.confidence,
        "by": by,
    }


def rows_of(scope_id: int, num: int, one: Derived) -> tuple[list[Row], list[Row]]:
    """Return rows of `facts` and of `told_times` for the rows derived from a memory."""
    return (
        [{"scope_id": scope_id, "num": num, **row} for row in one.facts],
        [{"scope_id": scope_id, "num": num, **row} for row in one.times],
    )


def write(connection: Connection, scope_id: int, made: Iterable[tuple[int, Derived]]) -> None:
    """Store the rows derived from memories, given by num, in the caller's transaction."""
    facts: list[Row] = []
    times: list[Row] = []
    for num, one in made:
        said, told = rows_of(scope_id, num, one)
        facts += said
        times += told
    insert_rows(connection, schema.facts, facts)
    insert_rows(connection, schema.told_times, times)


def refill(connection: Connection, slots: Slots, advance: Callable[[int], None] = lambda _n: None) -> None:
    """Make anew all rows that rules have made, in the caller's transaction."""
    clear(connection)
    m = schema.memories
    raw = [type_coerce(column, Text).label(column.name) for column in (m.c.relations, m.c.metadata)]  # may be damaged
    columns = (m.c.num, m.c.text, m.c.actor, m.c.role, m.c.event_at, m.c.created_at, *raw)
    for scope_id in connection.execute(select(schema.scopes.c.scope_id).order_by(schema.scopes.c.scope_id)).scalars():
        last = 0
        query = select(*columns).where(m.c.scope_id == scope_id).order_by(m.c.num).limit(BATCH)
        while found := connection.execute(query.where(m.c.num > last)).all():
            write(connection, scope_id, ((row.num, of_row(row, slots)) for row in found))
            last = found[-1].num
            advance(len(found))


def clear(connection: Connection) -> None:
    """Remove the rows that rules have made."""
    connection.execute(delete(schema.facts).where(schema.facts.c.by != "llm"))
    connection.execute(delete(schema.told_times))


def of_row(row: Any, slots: Slots) -> Derived:
    """Derive the rows of a memory that is read from its table, with its JSON as text."""
    try:
        at = from_micros(row.created_at if row.event_at is None else row.event_at)
        relations = [Relation(*given) for given in json.loads(row.relations)]
        role = role_of(row.actor) if row.role is None else Role(row.role)
        metadata = json.loads(row.metadata)
        given = metadata if isinstance(metadata, dict) else {}
        return derived(row.text, at, row.actor, role, relations, given, slots)
    except (
        TypeError,
        ValueError,
        OverflowError,
        RecursionError,
        InvalidMemory,
    ):  # a damaged row: whoever reads the memory is told
        return NOTHING
