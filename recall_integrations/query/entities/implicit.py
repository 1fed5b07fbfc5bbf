"""The user: an entity of every scope and of every query, without being named, with confidence 1.

The user says nothing about the query's topic: a reference of stage `implicit` chooses no plan and counts in no feature.
It is an anchor for the graph only if the query speaks in the first person.
"""

from __future__ import annotations

from collections.abc import Sequence

from recall_integrations.query.by_table import person
from recall_integrations.query.entities.index import EntityIndex
from recall_integrations.query.entities.units import entity_id_of
from recall_integrations.query.features import IMPLICIT
from recall_integrations.text import Token
from recall_integrations.types import EntityRef, Scope

SPEAKERS_MAX = 16  # actors with the role of the user; of more, none is looked at
USER = "user"  # name of the user in a scope without a user id, and in chat logs

_FIRST_PERSON = frozenset(
    """
    i i'd i'll i'm i've me my mine myself we we'd we'll we're we've us our ours ourselves
    """.split()
)
# "tell me about Kestrel" is about Kestrel.
_REQUESTS = frozenset("bring fetch find get give help let list read remind send show tell".split())
_POLITE = frozenset("please kindly just now ok okay hey hi so and then".split())
_MODALS = frozenset("can could would will".split())
# "Phase I" is the first phase.
_NUMBERED = frozenset(
    "act appendix article book chapter class episode level part phase round season section stage step tier type "
    "volume war".split()
)
_MINES = frozenset("a the coal gold land data".split())


def implicit_user(
    scope: Scope, index: EntityIndex | None = None, speakers: Sequence[str] = (), key: bytes = b""
) -> EntityRef:
    """Return the scope's user as an entity.

    If the user id is the name or the alias of one known entity, it is that entity, under its canonical name. Else, if
    one actor of the scope has the role of the user, it is that actor. Else it is the entity that a memory with the user
    id as its actor would make: the id does not change when such a memory comes. The default scope's user is called
    `user`.

    The name may be an e-mail address: a result under `redact` or `block` must not show it, nor the id.

    Args:
        scope: scope of the user.
        index: names of the scope's entities.
        speakers: names of the actors with the role of the user.
        key: key of the store's entity ids.
    """
    name = scope.user_id or USER
    entity_id = entity_id_of(name, key)
    known = index.lookup(name) if index is not None else ()
    if entity_id not in known and len(known) == 1:
        entity_id = known[0]
    elif entity_id not in known and index is not None and len(speakers) <= SPEAKERS_MAX:
        speaking = {found[0] for s in speakers if len(found := index.lookup(s)) == 1}
        if len(speaking) == 1:
            known = tuple(speaking)
            entity_id = known[0]
    entity = index.state.entities.get(entity_id) if index is not None and entity_id in known else None
    return EntityRef(
        entity_id=entity_id,
        name=name if entity is None else entity.name,
        mention="",
        span=(0, 0),
        confidence=1.0,
        stage=IMPLICIT,
    )


def first_person(tokens: Sequence[Token], text: str = "", language: str | None = "en") -> Token | None:
    """Return the first word by which a query speaks of its user: "what did I …", "my manager"; else `None`.

    Not by "tell me about …", "US", "Phase I", "i.e." or "a gold mine". The words decide: "I wonder who leads
    Kestrel" counts.

    Args:
        tokens: the tokens of `text.tokenize`.
        text: the text that they were read from; tells "US" from "us".
        language: code of its language; nothing is found in one without tables.
    """
    if language != "en":
        span = person.first_person(text, language)
        return None if span is None else Token(text[span[0] : span[1]].casefold(), *span)
    spoken = (t for i, t in enumerate(tokens) if t.word in _FIRST_PERSON and is_first_person(tokens, i, text))
    return next(spoken, None)


def is_first_person(tokens: Sequence[Token], i: int, text: str) -> bool:
    """Say whether a word of the first person is the user: not "Phase I", "tell me …", "a gold mine"."""
    token = tokens[i]
    before = [t.word for t in tokens[max(0, i - 3) : i]][::-1] + [""] * 3
    if token.word == "i":
        return before[0] not in _NUMBERED and not _is_abbreviated(tokens, i)
    if token.word == "mine":
        return before[0] not in _MINES
    if token.word == "us" and (before[0] == "the" or _is_country(token, text)):
        return False
    if token.word in ("me", "us") and before[0] in _REQUESTS:
        asked = not before[1] or before[1] in _POLITE or (before[1] == "you" and before[2] in _MODALS)
        return not asked
    return True


def _is_abbreviated(tokens: Sequence[Token], i: int) -> bool:
    """Say whether an "i" is part of "i.e.", "I/O", "A.I.", "I-95"."""
    after = tokens[i + 1] if i + 1 < len(tokens) else None
    if after is not None and after.start - tokens[i].end == 1 and (after.word in ("e", "o") or after.word.isdigit()):
        return True
    return i > 0 and tokens[i - 1].word == "a"


def _is_country(token: Token, text: str) -> bool:
    return text[token.start : token.end] == "US" and not text.isupper()
