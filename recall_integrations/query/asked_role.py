"""The user of a scope as an entity, and whose words a query asks for: "what did I tell you", "which did you recommend".

The words are in the tables of a language: `person` in its file. The subject of the verb of saying decides; each
phrase has a rank and a strength.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from recall_integrations.languages.phrases import Said, blanked, said
from recall_integrations.query.by_table.wording import Match, Wording, sentences, wording
from recall_integrations.query.entities.index import EntityIndex
from recall_integrations.query.entities.state import entity_id_of
from recall_integrations.query.features import IMPLICIT
from recall_integrations.types import EntityRef, Scope
from recall_integrations.types.roles import Role

SPEAKERS_MAX = 16  # actors with the role of the user; of more, none is looked at
USER = "user"  # name of the user in a scope without a user id, and in chat logs


class AskedRole(NamedTuple):
    """The role whose words a query asks for (`None` = nobody's in particular), and how plainly, in [0, 1]."""

    role: Role | None = None
    strength: float = 0.0


NOBODY = AskedRole()


def implicit_user(
    scope: Scope, index: EntityIndex | None = None, speakers: Sequence[str] = (), key: bytes = b""
) -> EntityRef:
    """Return the scope's user: the one entity with the user id as a name, the one actor with that role, or a new one.

    The name may be an e-mail address: a result under `redact` or `block` must not show it, nor the id.
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


KNOWN = tuple(
    "i we not_me user_saying user_doing user_clause user_own assistant_saying assistant_clause assistant_words "
    "not_asked others others_clause user".split()
)
SAYING, DOING, CLAUSE, ONLY = 4, 3, 2, 1  # ranks
SENTENCES_MAX = 2  # without a question mark, that may still be one: "Remind me what you said. Thanks"
MINE = 0.4  # strength of a question that only speaks of what is the asker's
_CUES: tuple[tuple[str, Role | None, int, float], ...] = (
    ("user_saying", Role.USER, SAYING, 1.0),
    ("assistant_saying", Role.ASSISTANT, SAYING, 1.0),
    ("user_doing", Role.USER, DOING, 0.7),
    ("user_clause", Role.USER, CLAUSE, 0.9),
    ("assistant_clause", Role.ASSISTANT, CLAUSE, 0.9),
    ("assistant_words", Role.ASSISTANT, CLAUSE, 0.8),
    ("user_own", Role.USER, ONLY, MINE),
    ("i", Role.USER, ONLY, MINE),
    ("others", None, SAYING, 1.0),
    ("others_clause", None, CLAUSE, 0.9),
)


def prepare(language: str) -> None:
    """Make the patterns of a language, if it has tables."""
    words_of(language).prepare(KNOWN)


def words_of(language: str | None) -> Wording:
    """Return the phrases of a language; none if it has no tables."""
    return wording(language, "person", KNOWN)


def first_person(text: str, language: str | None = "en") -> Match | None:
    """Return the span of the first word by which a query speaks of its user; `None` without one or without tables."""
    words, read = words_of(language), said(text)
    spoken = _without_requests(words, read.text)
    ours = list(words.found("we", spoken))
    found = [*ours, *words.found("i", blanked(spoken, ours))]  # "我们" begins with "我"
    return read.span(*min(found)) if found else None


def asked_role(text: str, language: str | None = "en") -> AskedRole:
    """Find whose words a query asks for; nobody's if the language has no tables."""
    words, read = words_of(language), said(text)
    heard = blanked(read.text, words.found("not_asked", read.text))
    spoken = _without_requests(words, heard)
    alone = blanked(spoken, words.found("we", spoken))
    asks = _asks(read)
    best, place, role = (0, 0.0), 0, None
    outright: set[Role | None] = set()  # who is asked for by a verb of saying in the question itself
    for name, of, rank, strength in _CUES:
        for start, end in words.found(name, heard if of is not Role.USER else spoken if rank > ONLY else alone):
            if rank == SAYING and asks(start):
                outright.add(of)
                heard = blanked(heard, [(start, end)])  # "the assistant" is no third person
            worth = (rank, strength) if asks(start) else (ONLY, strength / 2)
            if worth > best or (worth == best and start < place):
                best, place, role = worth, start, of
    return NOBODY if role is None or len(outright) > 1 else AskedRole(role, best[1])


def _asks(read: Said) -> Callable[[int], bool]:
    """Return what says whether a place is in a question; always true if a text of few sentences has none."""
    whole = sentences(read)
    if len(whole) <= SENTENCES_MAX and not any(asking for *_, asking in whole):
        return lambda _: True
    return lambda place: any(start <= place < end and asking for start, end, asking in whole)


def _without_requests(words: Wording, text: str) -> str:
    return blanked(text, words.found("not_me", text))
