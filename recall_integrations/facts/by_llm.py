"""Facts that a language model reads: the prompt, the check of its answer, and their rows.

    texts ─ door (redacted) ─ prompt ─▶ LLM ─▶ JSON lines ─ answers ─▶ claims by message
                                                  checked, each against its own text ◀──┘ ─▶ Said

A claim is believed if its value stands in the text and in the part that the model got, in whole words: so nothing
redacted can be a value, and nothing that another message says. Its subject is who says it, whom an assistant speaks to,
or a name that stands in the text or speaks in its thread; its slot is one of the schema, or an open one.

For the same memory, subject and slot, what a rule reads or the memory's own fields say stands: a model's reading of it
is not stored.
"""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime, timedelta
from importlib import resources
from math import isnan
from typing import Any

from sqlalchemy import Connection, delete, exists, select

from recall_integrations.database import schema
from recall_integrations.database.sending import in_parts, insert_rows
from recall_integrations.facts.rows import BAD_SUBJECT, Row, row_of, stated
from recall_integrations.facts.said import ME, YOU, Said, name_key
from recall_integrations.facts.slots import Slots
from recall_integrations.patterns import regex
from recall_integrations.privacy.door import Door
from recall_integrations.records import record
from recall_integrations.types.numbers import is_number, is_whole
from recall_integrations.types.roles import Role

CHARS_MAX = 4_000  # characters of a text that are sent; the rest is read by rules only


@record(frozen=True, slots=True, kw_only=True)
class Message:
    """A memory that a model is to read."""

    num: int  # the memory's number
    text: str  # the memory's text, as it is stored
    sent: str  # the text that the model gets: redacted where that is wished, and cut
    at: datetime  # the memory's time
    actor: str | None = None  # actor, role: who says it
    role: Role | None = None
    actor_sent: str | None = None  # the actor's name as the model gets it
    thread: str | None = None  # the memory's thread; the model gets a number for it
    people: frozenset[str] = frozenset()  # names of those who speak in its thread


def message_of(num: int, text: str, at: datetime, *, door: Door, actor: str | None = None, **more: Any) -> Message:
    """Make a message, with what of it may be sent."""
    # Redacted before it is cut: nobody could tell what half a number is.
    sent, name = door.text(text)[:CHARS_MAX], None if actor is None else door.text(actor)
    return Message(num=num, text=text, sent=sent, at=at, actor=actor, actor_sent=name, **more)


VERSION = 1  # stored with what was read; an answer to another prompt is not taken for one to this

_ASKED = (resources.files("recall_integrations.facts") / "prompt.txt").read_text(encoding="utf-8")


def prompt_for(messages: Sequence[Message], slots: Slots) -> str:
    """Write the prompt for some messages, which get the numbers from 1 on."""
    threads: dict[str, int] = {}
    lines = []
    for n, message in enumerate(messages, 1):
        told: dict[str, object] = {"n": n, "at": message.at.isoformat(timespec="minutes")}
        if message.actor_sent:
            told["by"] = message.actor_sent
        if message.role is not None:
            told["role"] = str(message.role)
        if message.thread is not None:
            told["thread"] = threads.setdefault(message.thread, len(threads) + 1)
        told["text"] = message.sent
        lines.append(json.dumps(told, ensure_ascii=False))
    return _ASKED.replace("SLOTS", ", ".join(slot.name for slot in slots)) + "\n".join(lines) + "\n"


ANSWER_CHARS_MAX = 200_000  # no answer about some hundred messages is as long
OBJECTS_MAX = 5_000
TOO_LONG, NO_JSON, UNKNOWN, TWICE, NO_LIST = "too long", "no JSON", "unknown message", "answered twice", "no list"
_NOTHING = regex(r"\[\s*\]")
_LAST_COMMA = regex(r",(?=\s{0,99}[\]}])")  # small models write it; in a text of theirs it is no loss


def objects_in(text: str, mark: str) -> list[Mapping[str, Any]] | None:
    """Return the JSON objects in an answer, whatever stands around them; `None` = it holds no JSON.

    Objects inside of a list count, and so do those under a key of an object without the key `mark`; of an answer that
    is cut off, those before the cut.
    """
    found: list[Mapping[str, Any]] = []
    text = _LAST_COMMA.sub("", text)
    decoder, at, any_json = json.JSONDecoder(), 0, _NOTHING.search(text) is not None
    for _ in range(OBJECTS_MAX):
        at = text.find("{", at)
        if at < 0:
            break
        try:
            one, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):  # numbers without end and nesting without end are none
            at += 1
            continue
        any_json = True
        inner = [part for value in one.values() if isinstance(value, list) for part in value if isinstance(part, dict)]
        found += [one] if mark in one or not inner else inner
    found = [one for one in found if one and not all(isinstance(value, list) and not value for value in one.values())]
    return found if found or any_json else None


@record(frozen=True, slots=True, kw_only=True)
class Answers:
    """The content of an answer."""

    # number of the message → its claims; an empty list says that it states nothing
    claims: Mapping[int, Sequence[Any]] = field(default_factory=dict)
    refused: Mapping[str, int] = field(default_factory=dict)  # how many parts could not be read, by reason


def answers_in(text: str, count: int) -> Answers:
    """Read an answer."""
    objects = objects_in(text, "n") if len(text) <= ANSWER_CHARS_MAX else []
    if len(text) > ANSWER_CHARS_MAX or objects is None:
        return Answers(refused={NO_JSON if objects is None else TOO_LONG: 1})
    refused: Counter[str] = Counter()
    claims: dict[int, Sequence[Any]] = {}
    for each in objects:
        n = each.get("n")
        if not is_whole(n) or not 1 <= n <= count:
            refused[UNKNOWN] += 1
        elif n in claims:
            refused[TWICE] += 1
        elif not isinstance(stated := each.get("facts"), list):
            refused[NO_LIST] += 1
        else:
            claims[n] = stated
    return Answers(claims=claims, refused=refused)


NO_OBJECT, NOT_IN_TEXT, HIDDEN, BAD_DATE = "no object", "not in the text", "redacted", "date"
TOO_MANY = "too many"
FACTS_MAX = 32  # facts of one message
CONFIDENCE = 0.7  # confidence where the model says none
_BACK, _AHEAD = timedelta(days=366 * 130), timedelta(days=366 * 50)
_KEPT = frozenset("+#%&@$€£¥°")  # signs that count: "C++" is not "C"
_HIDDEN = regex(r"\[[a-z][a-z0-9_]*-\d+\]|\[withheld\]")
_WHO_SAYS = frozenset({"", "me", "i", "myself", "speaker", "the speaker", "author", "the author", "writer"})
_WHO_ASKS = frozenset({"user", "the user"})
_PRONOUNS = frozenset(
    "he she it they we him her them us his hers their theirs our ours its this that these those who someone somebody "
    "everyone everybody my your mine yours".split()
)


def checked(claim: Any, message: Message, slots: Slots) -> Said | str:
    """Return the statement of a claim, or the reason why it is not believed."""
    made = stated(claim, slots) if isinstance(claim, Mapping) else NO_OBJECT
    if isinstance(made, str):
        return made
    if _HIDDEN.search(made.value):
        return HIDDEN
    if made.value and not in_message(made.value, message):
        return NOT_IN_TEXT
    subject = _subject(made.subject, message)
    if subject is None:
        return BAD_SUBJECT
    if not _possible(claim, made, message.at):
        return BAD_DATE
    # The replaced value may stand in an earlier message; then the timeline knows it, and we need not.
    before = made.instead_of if in_message(made.instead_of, message) else ""
    return replace(made, subject=subject, instead_of=before, confidence=_confidence(claim.get("confidence")))


def in_message(value: str, message: Message) -> bool:
    """Say whether the message holds a value, and the model could see it."""
    return holds(message.sent, value) and (message.sent == message.text or holds(message.text, value))


def holds(text: str, value: str) -> bool:
    """Say whether a text holds a value in whole words, whatever the case, the spaces and the punctuation."""
    there, wanted = plain(text), plain(value)
    if not wanted:
        return False
    at = there.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        if not _within(there, at - 1, at) and not _within(there, end - 1, end):
            return True
        at = there.find(wanted, at + 1)
    return False


def plain(text: str) -> str:
    """Return a text in the form in which values are looked for: letters, digits and a few signs, single spaces."""
    folded = unicodedata.normalize("NFKC", text).casefold().replace("’", "'").replace("'", "")
    kept = (c if c.isalnum() or c in _KEPT or unicodedata.combining(c) else " " for c in folded)
    return " ".join("".join(kept).split())


def _within(text: str, left: int, right: int) -> bool:
    """Say whether two places are inside of one word. Scripts without spaces have no words to be inside of."""
    if left < 0 or right >= len(text) or " " in (text[left], text[right]):
        return False
    return not any(unicodedata.category(text[place]) == "Lo" for place in (left, right))


def _subject(given: str, message: Message) -> str | None:
    name = " ".join(given.split())
    key = name_key(name)
    if key in _WHO_ASKS:
        key = YOU if message.role is Role.ASSISTANT else ""
    if key in _WHO_SAYS or (message.actor is not None and key == name_key(message.actor)):
        return ME
    if key == YOU:
        return YOU if message.role is Role.ASSISTANT else None
    if key in _PRONOUNS or _HIDDEN.search(name):
        return None
    if key in message.people or in_message(name, message):
        return name
    owner, apart, whose = name.rpartition("'s ")
    return name if apart and name_key(owner) in message.people and in_message(whose, message) else None


def _possible(claim: Mapping[str, Any], made: Said, at: datetime) -> bool:
    """Say whether since when and until when can be read, and may be true."""
    for name, time in (("since", made.since), ("until", made.until)):
        told = claim.get(name) not in (None, "")
        if told and (time is None or not at - _BACK <= time <= at + _AHEAD):
            return False
    return made.since is None or made.until is None or made.since <= made.until


def _confidence(given: object) -> float:
    if not is_number(given) or (isinstance(given, float) and isnan(given)):
        return CONFIDENCE
    return float(min(1, max(0, given)))  # bounded before it is a float: an `int` may be too large for one


LLM = "llm"
PLACE = 1_000_000  # place of the first in its memory: behind all that rules find
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


def write(connection: Connection, scope_id: int, made: Sequence[Row]) -> int:
    """Store rows of memories, in the caller's transaction, but for slots that others read; return how many."""
    there: set[tuple[int, str, str]] = set()
    for part in in_parts(sorted({row["num"] for row in made})):
        query = select(_f.num, _f.subject, _f.slot).where(_f.scope_id == scope_id, _f.num.in_(part))
        there.update((num, subject, slot) for num, subject, slot in connection.execute(query))
    stored = [row for row in made if (row["num"], row["subject"], row["slot"]) not in there]
    insert_rows(connection, schema.facts, [{"scope_id": scope_id, **row} for row in stored])
    return len(stored)


def give_way(connection: Connection) -> None:
    """Remove a model's rows of slots that rules now read, in the caller's transaction."""
    other = schema.facts.alias("other")
    same = exists().where(
        other.c.scope_id == _f.scope_id,
        other.c.num == _f.num,
        other.c.subject == _f.subject,
        other.c.slot == _f.slot,
        other.c.by != LLM,
    )
    connection.execute(delete(schema.facts).where(_f.by == LLM, same))
