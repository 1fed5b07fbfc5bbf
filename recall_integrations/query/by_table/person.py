"""Find who asks, and whose words a query asks for: "what did I tell you", "which did you recommend".

The subject of the verb of saying decides. Each phrase is a cue with a rank and a strength; the strongest counts. The
phrases of a language are in `person` of its table (docs/languages.md), those of English in `en.json`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, partial
from typing import NamedTuple

from recall_integrations.languages import ENGLISH
from recall_integrations.languages.phrases import Said, alternatives, said
from recall_integrations.patterns import regex
from recall_integrations.query.by_table.wording import Match, Together, Wording, sentences, wording
from recall_integrations.types.roles import Role

SAYING, DOING, CLAUSE, ONLY = 4, 3, 2, 1  # ranks: "did I say", "did I buy", "what I said", "my"
SENTENCES_MAX = 2  # without a question mark, that may still be one: "Remind me what you said. Thanks"
STRENGTH_MIN = 0.2  # below, it says nothing
BETWEEN_MAX, OTHERS_MAX = 5, 5  # words between a subject and its verb, and of what somebody else is called


class AskedRole(NamedTuple):
    """The role whose words a query asks for (`None` = nobody's in particular), and how plainly, in [0, 1]."""

    role: Role | None = None
    strength: float = 0.0


NOBODY = AskedRole()


class _Cue(NamedTuple):
    """A list of phrases that tell whose words are asked for: without a role, not the user's nor the assistant's."""

    name: str
    role: Role | None = None
    rank: int = 0  # without one, they tell nothing
    strength: float = 0.0
    hides: bool = False  # whether no other phrase begins in one of these


# In order: of the phrases that begin at a place, the first counts.
_CUES = (
    _Cue("not_asked", hides=True),  # the words of two people to each other are nobody's in particular
    _Cue("not_me", hides=True),
    _Cue("user_told", Role.ASSISTANT, CLAUSE, 0.5, hides=True),
    _Cue("user_saying", Role.USER, SAYING, 1.0),
    _Cue("assistant_saying", Role.ASSISTANT, SAYING, 1.0),
    _Cue("others_saying", None, SAYING, 0.9),
    _Cue("assistant_doing", Role.ASSISTANT, DOING, 0.8),
    _Cue("user_doing", Role.USER, DOING, 0.7),
    _Cue("not_said", hides=True),
    _Cue("user_clause", Role.USER, CLAUSE, 0.9),
    _Cue("assistant_clause", Role.ASSISTANT, CLAUSE, 0.9),
    _Cue("others_clause", None, CLAUSE, 0.9),
    _Cue("assistant_words", Role.ASSISTANT, CLAUSE, 0.8),
    _Cue("advised", Role.ASSISTANT, CLAUSE, 0.5),
    _Cue("we", hides=True),
    _Cue("user_asks", Role.USER, ONLY, 0.2, hides=True),
    _Cue("user_wants", Role.USER, ONLY, 0.3, hides=True),
    _Cue("user_named", Role.USER, ONLY, 0.25, hides=True),
    _Cue("user_words", Role.USER, ONLY, 0.4, hides=True),
    _Cue("user_acts", Role.USER, ONLY, 0.5, hides=True),
    _Cue("i", Role.USER, ONLY, 0.4),
)
_BY_NAME = {cue.name: cue for cue in _CUES}
_ASKED = Together(tuple(_BY_NAME), frozenset(cue.name for cue in _CUES if cue.hides), small=True)
_SPOKEN = Together(("not_me", "we", "i"), frozenset(["not_me"]))
_PLAIN = tuple("subject between breaks requests user".split())
_LETTER = regex(r"[^\W_]")


def _slots(words: Wording) -> dict[str, str]:
    between, breaks = (alternatives(words.phrases(name), words.slots) for name in ("between", "breaks"))
    other = rf"(?:(?!{breaks} )[^\s\x00.,?!;:]+ )"
    return {
        "between": f"(?:{between} ){{0,{BETWEEN_MAX}}}",
        "others": f"{other}{{1,{OTHERS_MAX}}}?",
        "words": f"{other}{{0,{OTHERS_MAX}}}?",
    }


words_of = partial(wording, section="person", known=_PLAIN, more=_slots, together=(_ASKED, _SPOKEN))


def first_person(text: str, language: str | None = ENGLISH) -> Match | None:
    """Return the span of the first word by which a query speaks of its user; `None` without one or without tables.

    "What did I …" does; "tell me about …" does not.
    """
    words, read, speaks = _heard(text, language)
    if not speaks:
        return None
    first = _LETTER.search(read.text)
    request = first and words.match("requests", read.text, first.start())
    found = words.each(_SPOKEN, read.text, request.end() if request else 0)
    return next((read.span(*match.span()) for name, match in found if name != "not_me"), None)


def asked_role(text: str, language: str | None = ENGLISH, *, assistant: bool = True) -> AskedRole:
    """Return whose words a query asks for; nobody's if the language has no tables.

    With `assistant`, one takes part in the conversation: what "was recommended" was so by it, unless it says by whom.
    """
    words, read, speaks = _heard(text, language)
    if not speaks:
        return NOBODY
    cues = [(cue, at) for cue, at in _cues(words, read.text) if assistant or cue.name != "advised"]
    if not cues:
        return NOBODY
    whole = sentences(read)
    long = len(whole) > 1 and (any(asks for *_, asks in whole) or len(whole) > SENTENCES_MAX)
    found, best, said_by, behind = NOBODY, (0, 0.0), set[Role | None](), 0
    for cue, (start, stop) in cues:
        asks = not long or any(first <= start < end and asking for first, end, asking in whole)
        worth = (cue.rank, cue.strength) if asks else (ONLY, cue.strength / 2)
        if asks and cue.rank == SAYING and start >= behind:  # "你说过" is a part of "我跟你说过"
            said_by.add(cue.role)
            behind = stop
        if (asks or cue.role) and worth > best and worth[1] >= STRENGTH_MIN:
            best, found = worth, AskedRole(cue.role, worth[1])
    return NOBODY if found.role is None or len(said_by) > 1 else found


def _cues(words: Wording, text: str) -> Iterator[tuple[_Cue, Match]]:
    """Yield the cues of a text with their places, in order."""
    for name, at in words.each(_ASKED, text):
        if _BY_NAME[name].rank:
            yield _BY_NAME[name], at.span()


@lru_cache(maxsize=16)
def _heard(text: str, language: str | None) -> tuple[Wording, Said, bool]:
    """Prepare a text, and say whether it may hold a cue: it does not without a word of a list that is there for that.

    In capitals throughout, none of its letters is a capital for a reason.
    """
    words, read = words_of(language), said(text.lower() if text.isascii() and text.isupper() else text)
    return words, read, "subject" not in words.section or words.says("subject", read.text)
