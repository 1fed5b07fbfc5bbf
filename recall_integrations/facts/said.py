"""A statement of a text about a slot; its subject and value in normal form, the same for what is said and asked."""

from __future__ import annotations

import re
import unicodedata
from datetime import datetime
from functools import lru_cache

from recall_integrations.patterns import regex
from recall_integrations.records import record
from recall_integrations.text import stems
from recall_integrations.types.roles import Role, role_of

IS = "is"  # the value holds (from `since` on, if that is said)
WAS = "was"  # it held before: "I used to live in Rome", "my old number was …"
NOT = "not"  # it does not hold any more, or never did: "I no longer eat meat", "I don't live in Rome"
OPS = (IS, WAS, NOT)
RULE = "rule"  # who read it: the rules of `sentences`

ME = ""  # the subject of "I" and "my": who says it
YOU = "you"  # the subject of "you" and "your": whom an assistant speaks to; among people nobody knows who that is


@record(frozen=True, slots=True, kw_only=True)
class Said:
    """A statement of a text about one slot."""

    # the slot's name (`slots.Slot.name`); for an open slot `open:` and its noun in normal form, as in "my locker code
    # is 4711" (`open:locker code`)
    slot: str
    # the value as the text has it, without articles and punctuation around it; with `NOT` it may be empty: no value
    # holds any more ("I'm single again" gives a value, "I moved out" gives none)
    value: str
    # the person or thing it is said of: `ME` for "I" and "my"; `YOU`; a name as the text has it ("Priya"); "my sister",
    # "Priya's sister" for somebody who is told by a relation
    subject: str = ME
    op: str = IS  # `IS`, `WAS` or `NOT`
    # the value that it replaces, where the text says so ("not X but Y", "Y instead of X", "changed from X to Y"); empty
    # = it does not say
    instead_of: str = ""
    # whether it takes back an earlier statement as wrong from the beginning ("actually, it's …")
    corrects: bool = False
    since: datetime | None = None  # since, until: when it began or ceased to hold, where the text says so
    until: datetime | None = None
    confidence: float = 0.9  # probability that the text says this, in [0, 1]
    span: tuple[int, int] = (0, 0)  # place of the value in the text; for an empty value, of the words that say it


USER = ""  # the user, and whoever speaks without a name
SHARED = "the"  # the subject of "the door code", which is the user's whoever speaks of it
_MY = ("my ", "our ")
_YOUR = "your "


def speaker_key(actor: str | None, role: Role | None) -> str:
    """Return the key of a speaker: that of their name; `USER` for the user, and for whoever has no name."""
    if actor is None or role is Role.USER or role_of(actor) is Role.USER:
        return USER
    return name_key(actor)


def name_key(name: str) -> str:
    """Return the key of a name: "Priya  Raman" and "priya raman" are the same, and so are "the app" and "app"."""
    return " ".join(name.replace("’", "'").casefold().split()).removeprefix("the ")


def subject_key(subject: str, actor: str | None = None, role: Role | None = None) -> str | None:
    """Return the key of a subject as a text has it; `None` where nobody can tell whom it is of."""
    if subject == ME:
        return speaker_key(actor, role)
    if subject == SHARED:
        return USER
    if subject == YOU:
        return USER if role is Role.ASSISTANT else None
    key = name_key(subject)
    if key.startswith(_YOUR):
        return f"{USER}'s {key.removeprefix(_YOUR)}" if role is Role.ASSISTANT else None
    for mine in _MY:
        if key.startswith(mine):
            return f"{speaker_key(actor, role)}'s {key.removeprefix(mine)}"
    return key


@lru_cache(maxsize=4_096)
def _stems(name: str) -> frozenset[str]:
    return frozenset(stems(name))


def alike(one: str, other: str) -> bool:
    """Say whether two names hold the same words, in any order and form; words that say nothing are left out."""
    own = _stems(one)
    return bool(own) and own == _stems(other)


_ARTICLE = regex(r"(?:the|a|an|my|our|his|her|their) ")
_EDGES = " \t\n.,;:!?\"'“”‘’()[]"
_NUMBER = re.compile(r"[\d\s().+\-/]{5,}")


@lru_cache(maxsize=16_384)
def norm(value: str) -> str:
    """Return a value in normal form: without case, and without articles and punctuation around it; accents are kept.

    Numbers that are written in groups are the same however they are grouped: "555 0101" and "555-0101".
    """
    text = unicodedata.normalize("NFKC", value).replace("’", "'").casefold().strip(_EDGES)
    text = " ".join(text.split())
    article = _ARTICLE.match(text)
    if article is not None and article.end() < len(text):
        text = text[article.end() :]
    if _NUMBER.fullmatch(text) and "/" not in text:
        digits = "".join(c for c in text if c.isdigit())
        if len(digits) >= 5 and not _is_date(text):
            return digits
    return text


def _is_date(text: str) -> bool:
    return re.fullmatch(r"\d{4}-\d{1,2}-\d{1,2}|\d{1,2}\.\d{1,2}\.\d{2,4}", text) is not None


def same(one: str, other: str) -> bool:
    """Say whether two values are the same, or one says the other with more words: "Lisbon" and "Lisbon, Portugal"."""
    a, b = norm(one), norm(other)
    if a == b:
        return True
    if not a or not b:
        return False
    short, long = sorted((a, b), key=len)
    return _begins(long, short)


def _begins(long: str, short: str) -> bool:
    """Say whether the longer value goes on behind the shorter with a comma, a bracket or "in": "Oslo, Norway"."""
    return long.startswith(short) and re.match(r"(?:,| \(| in )", long[len(short) :]) is not None
