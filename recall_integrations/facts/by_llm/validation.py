"""Checks a model's answer: each claim is held against the text of its own message.

- The value stands in the text, and in the part that the model got: whole words, whatever their case, spaces and
  punctuation. So nothing redacted can be a value, and nothing that another message says.
- The subject is who says it, whom an assistant speaks to, or a name that stands in the text or speaks in its thread.
- The slot is one of the schema, or an open one of at most four words. Dates can be read and lie within a lifetime.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from datetime import datetime, timedelta
from math import isnan
from typing import Any

from recall_integrations.facts.by_llm.messages import Message
from recall_integrations.facts.dates import given_time
from recall_integrations.facts.said import IS, ME, NOT, OPS, YOU, Said
from recall_integrations.facts.slots import OPEN, Slots
from recall_integrations.facts.subjects_of import name_key
from recall_integrations.patterns import regex
from recall_integrations.types.numbers import is_number
from recall_integrations.types.roles import Role

NO_OBJECT, BAD_SLOT, BAD_OP, NO_VALUE = "no object", "slot", "op", "no value"
NOT_IN_TEXT, HIDDEN, BAD_SUBJECT, BAD_DATE = "not in the text", "redacted", "subject", "date"
TOO_MANY = "too many"
VALUE_CHARS_MAX = 500
SUBJECT_CHARS_MAX = 100
FACTS_MAX = 32  # facts of one message
OPEN_WORDS_MAX, OPEN_CHARS_MAX = 4, 60
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
    """Return the statement of a claim, or the reason why it is not believed.

    Args:
        claim: a claim of the answer, about this message.
        message: message whose text has to hold it.
        slots: the schema.
    """
    if not isinstance(claim, Mapping):
        return NO_OBJECT
    slot = _slot(claim.get("slot"), slots)
    if slot is None:
        return BAD_SLOT
    op = claim.get("op", IS)
    if not isinstance(op, str) or op not in OPS:
        return BAD_OP
    value = _text(claim.get("value", ""))
    if value is None or len(value) > VALUE_CHARS_MAX or (not value and op != NOT):
        return NO_VALUE
    if _HIDDEN.search(value):
        return HIDDEN
    if value and not in_message(value, message):
        return NOT_IN_TEXT
    subject = _subject(claim.get("subject", ME), message)
    if subject is None:
        return BAD_SUBJECT
    times = _times(claim, message.at)
    if times is None:
        return BAD_DATE
    before = _text(claim.get("instead_of", "")) or ""
    return Said(
        slot=slot,
        value=value,
        subject=subject,
        op=op,
        # The replaced value may stand in an earlier message; then the timeline knows it, and we need not.
        instead_of=before if 0 < len(before) <= VALUE_CHARS_MAX and in_message(before, message) else "",
        corrects=claim.get("corrects") is True,
        since=times[0],
        until=times[1],
        confidence=_confidence(claim.get("confidence", CONFIDENCE)),
    )


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


def _slot(given: object, slots: Slots) -> str | None:
    if not isinstance(given, str) or len(given) > OPEN_CHARS_MAX:
        return None
    name = " ".join(given.casefold().split())
    if name.startswith(OPEN):
        words = name.removeprefix(OPEN).replace("_", " ").split()
        if not 0 < len(words) <= OPEN_WORDS_MAX or not all(any(map(str.isalnum, word)) for word in words):
            return None
        noun = " ".join(words)
        return slots.of_noun.get(noun, f"{OPEN}{noun}")
    known = name.replace(" ", "_")
    return known if known in slots else slots.of_noun.get(name)


def _text(given: object) -> str | None:
    if isinstance(given, str):
        return given.strip()
    if isinstance(given, int | float) and not isinstance(given, bool):
        return str(given)
    return "" if given is None else None


def _subject(given: object, message: Message) -> str | None:
    if given is None:
        return ME
    if not isinstance(given, str) or len(given) > SUBJECT_CHARS_MAX:
        return None
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


def _times(claim: Mapping[str, Any], at: datetime) -> tuple[datetime | None, datetime | None] | None:
    """Return since when and until when; `None` where one cannot be read, or they cannot be true."""
    found: list[datetime | None] = []
    for name in ("since", "until"):
        given = claim.get(name)
        if given is None or given == "":
            found.append(None)
            continue
        time = given_time(given)
        if time is None or not at - _BACK <= time <= at + _AHEAD:
            return None
        found.append(time)
    since, until = found
    return None if since is not None and until is not None and since > until else (since, until)


def _confidence(given: object) -> float:
    if not is_number(given) or (isinstance(given, float) and isnan(given)):
        return CONFIDENCE
    return float(min(1, max(0, given)))  # bounded before it is a float: an `int` may be too large for one
