"""Find who asks, and whose words a query asks for, in a language with tables: `person` in its file."""

from __future__ import annotations

from functools import partial

from recall_integrations.languages.phrases import blanked, said
from recall_integrations.query.by_table.wording import Match, Wording, sentences, wording
from recall_integrations.types.roles import Role

_KNOWN = tuple(
    "i we not_me user_saying user_doing user_clause assistant_saying assistant_clause assistant_words not_asked "
    "user".split()
)
words_of = partial(wording, section="person", known=_KNOWN)
SAYING, DOING, CLAUSE, ONLY = 4, 3, 2, 1  # ranks, see `query/asked_role.py`
SENTENCES_MAX = 2  # without a question mark, that may still be one: "Remind me what you said. Thanks"
MINE = 0.4  # strength of a question that only speaks of what is the asker's
_CUES: tuple[tuple[str, Role, int, float], ...] = (
    ("user_saying", Role.USER, SAYING, 1.0),
    ("assistant_saying", Role.ASSISTANT, SAYING, 1.0),
    ("user_doing", Role.USER, DOING, 0.7),
    ("user_clause", Role.USER, CLAUSE, 0.9),
    ("assistant_clause", Role.ASSISTANT, CLAUSE, 0.9),
    ("assistant_words", Role.ASSISTANT, CLAUSE, 0.8),
    ("i", Role.USER, ONLY, MINE),
)


def first_person(text: str, language: str | None) -> Match | None:
    """Return the span of the first word by which a query speaks of its user; `None` without one or without tables."""
    words, read = words_of(language), said(text)
    spoken = _without_requests(words, read.text)
    ours = list(words.found("we", spoken))
    found = [*ours, *words.found("i", blanked(spoken, ours))]  # "我们" begins with "我"
    return read.span(*min(found)) if found else None


def asked_role(text: str, language: str | None) -> tuple[Role | None, float]:
    """Return whose words a query asks for, and how plainly; nobody's if the language has no tables."""
    words, read = words_of(language), said(text)
    # The words of somebody else, and those of two people to each other, are nobody's in particular.
    heard = blanked(read.text, words.found("not_asked", read.text))
    spoken = _without_requests(words, heard)
    alone = blanked(spoken, words.found("we", spoken))
    whole = sentences(read)
    any_asks = any(asks for *_, asks in whole)
    long = any_asks or len(whole) > SENTENCES_MAX
    best, place, role = (0, 0.0), 0, None
    for name, of, rank, strength in _CUES:
        for start, _ in words.found(name, heard if of is Role.ASSISTANT else spoken if rank > ONLY else alone):
            asks = not long or any(first <= start < end and asking for first, end, asking in whole)
            worth = (rank, strength) if asks else (ONLY, strength / 2)
            if worth > best or (worth == best and start < place):
                best, place, role = worth, start, of
    return role, best[1]


def _without_requests(words: Wording, text: str) -> str:
    return blanked(text, words.found("not_me", text))
