"""Find the session of the conversation that a query asks for, and whether it asks for the talk itself.

The words are in the tables of a language: `sessions` in its file. A session is a thread; `indexes.windows` settles it
against the scope, for the text only names a place in their order. Only sessions of the remembered conversation count,
not those that are talked about in it: "our third session", "the last conversation we had", "session 3"; not "my therapy
session", "the first session of the course", "our last chat with Tom", "our first conversation about the dog". In doubt
no session is read: a session that is overlooked is searched for by its words as before, one that is imagined hides the
answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from recall_integrations.languages.phrases import BLANK, LETTER, Said, alternatives, blanked, said
from recall_integrations.query.by_table.wording import Match, Wording, wording
from recall_integrations.types.query import ABOUT, ALL, BEGINNING, END, NOTHING, WHOLE, SessionRef

PLACES_MAX = 20  # sessions that one reference may name
BARE_WORDS_MAX = 2  # besides the session, in a query that is nothing but one


class _Form(NamedTuple):
    """A list of phrases that name sessions."""

    name: str
    confidence: float
    sure: bool = False  # whether the sessions are of this conversation whatever else the query says


_FORMS = (
    _Form("beginning", 0.85, sure=True),
    _Form("end", 0.85, sure=True),
    _Form("first_several", 0.9, sure=True),
    _Form("last_several", 0.9, sure=True),
    _Form("last_but_one", 0.9, sure=True),
    _Form("own", 0.95, sure=True),
    _Form("times", 0.9, sure=True),
    _Form("numbered", 0.95),
    _Form("ago", 0.9),
    _Form("open", 0.9),
    _Form("last_time", 0.8),
)
_PLAIN = tuple(
    "nouns said we_said foreign another narrowed topic topic_before clause excused talk said_then last "
    "before_last".split()
)
_SET = {"last_time": (-1,), "last_but_one": (-2,)}  # places of forms that name none
KNOWN = (*_PLAIN, *(form.name for form in _FORMS), "ordinals", "digits", "numbers")


def prepare(language: str) -> None:
    """Make the patterns of a language, if it has tables."""
    words = wording(language, "sessions", KNOWN)
    words.prepare((form.name for form in _FORMS), lambda: _slots(words))
    words.prepare(_PLAIN)


def read_session(
    text: str, language: str | None = "en", *, names: Callable[[str], bool] = lambda _word: False
) -> SessionRef | None:
    """Return the session that `text` asks for, by the first form that matches; `None` if the language has no tables.

    `names` says whether a case-folded word belongs to a name that the scope knows: "Caroline and Melanie's third
    conversation" is one of theirs.
    """
    words = wording(language, "sessions", KNOWN)
    read = said(text)
    if not words.may_say("any", read.text):
        return None
    named = words.says("nouns", read.text) or words.says("last_time", read.text)
    for form in _FORMS:
        if not named and form.name not in ("numbered", "ago", "times"):
            continue
        for places, (start, end) in _found(words, form.name, read.text):
            if _excused(words, read.text, start, end, names):
                continue
            if words.says("another", read.text):
                return None
            if form.sure or _ours(words, form.name, read, start, end):
                return SessionRef(
                    places=places,
                    part={"beginning": BEGINNING, "end": END}.get(form.name, WHOLE),
                    numbered=form.name == "numbered",
                    span=read.span(start, end),
                    confidence=form.confidence,
                )
    return None


def _found(words: Wording, name: str, text: str) -> Iterator[tuple[tuple[int, ...], Match]]:
    for match in words.pattern(name, lambda: _slots(words)).finditer(text):
        places = _places(words, name, next((g for g in match.groups() if g is not None), None))
        if places is not None:
            yield places, match.span()


def _places(words: Wording, name: str, given: str | None) -> tuple[int, ...] | None:
    """Return the places that a form names; `None` if they cannot be told."""
    if name in _SET:
        return _SET[name]
    if given is None:
        return () if name in ("beginning", "end") else None
    if name in ("numbered", "ago", "first_several", "last_several"):
        count = _value(words, "numbers", given)
        if not 1 <= count <= (9_999 if name == "numbered" else PLACES_MAX):
            return None
        several = {"first_several": range(1, count + 1), "last_several": range(-count, 0)}
        return tuple(several[name]) if name in several else (count if name == "numbered" else -count,)
    for key, place in (("before_last", -2), ("last", -1)):
        if words.pattern(key).fullmatch(given):
            return (place,)
    value = _value(words, "ordinals", given)
    return (value,) if value else None


def _value(words: Wording, table: str, given: str) -> int:
    """Read a number from its digits or its word; 0 if it is none."""
    digits = re.search(r"\d+", given)
    if digits is not None:
        return int(digits[0])
    known = words.section.get(table) or {}
    for value in known:
        if words.pattern_of(f"{table}.{value}", known[value]).fullmatch(given):
            return int(value)
    return 0


def _slots(words: Wording) -> dict[str, str]:
    ordinals = [p for value in (words.section.get("ordinals") or {}).values() for p in words.listed(value)]
    numbers = [p for value in (words.section.get("numbers") or {}).values() for p in words.listed(value)]
    places = [*ordinals, *words.phrases("digits"), *words.phrases("last"), *words.phrases("before_last")]
    return {
        "noun": alternatives(words.phrases("nouns"), words.slots),
        "place": f"({alternatives(places, words.slots)})",
        "number": f"({alternatives([*numbers, '#'], words.slots)})",
    }


def _excused(words: Wording, text: str, start: int, end: int, names: Callable[[str], bool]) -> bool:
    """Say whether a word before it takes the session for a moment, or the words behind it narrow it down."""
    before = text[max(0, start - 60) : start].rstrip()
    if words.ends("excused", before) is not None:
        owner = re.search(rf"({LETTER}+)'s?$", before)
        if owner is None or not names(owner[1].casefold()):
            return True
    behind = len(text) - len(text[end:].lstrip())
    if words.pattern("narrowed").match(text, behind):
        return True
    # "in unserer ersten Sitzung über Anna gesagt": if the verb comes last, the topic belongs to the verb.
    topic = words.pattern("topic").match(text, behind)
    return topic is not None and not words.says("said", text[topic.end() :])


def _ours(words: Wording, name: str, read: Said, start: int, end: int) -> bool:
    """Say whether a session that names no owner is one of this conversation."""
    if name == "numbered" and read.text[end : end + 1] in (":", ","):  # "From session 3: which class did …"
        return True
    around = blanked(read.text, [(start, end)])
    if words.says("foreign", around):
        return False
    if name == "last_time":
        return words.says("we_said", around)
    if name == "numbered" or words.says("said", around):
        return True
    left = re.findall(rf"{LETTER}+", around)
    return len(left) <= BARE_WORDS_MAX and sum(map(len, left)) <= 20


def talk(text: str, language: str | None, taken: list[Match], named: list[Match], *, session: bool) -> str:
    """Say whether a query asks for the talk itself; nothing if the language has no tables.

    "What did we talk about on May 8th" asks for `ALL` of it, "what did Gina say of tea in May" for what was said
    `ABOUT` something.

    `taken` are spans of its dates, its session and its courtesies, `named` of the entities that it names: that these
    talked is nothing in particular, that they were talked about is.
    """
    words = wording(language, "sessions", KNOWN)
    read = said(text)
    asked = blanked(read.text, read.within(taken))
    people = [(a, b) for a, b in read.within(named) if words.ends("topic_before", read.text[:a].rstrip()) is None]
    left = blanked(asked, people)
    rest = blanked(left, words.found("talk", left))
    only_dated = not re.search(LETTER, left)
    if not re.search(LETTER, rest) and (session or only_dated or words.says("said", left)):
        return ALL
    verb = next(words.found("said_then", asked), None)
    if verb is None:
        return NOTHING
    # "Which shop did Sam mention visiting in May": then that was when it was done, not when it was said.
    between, date, _ = asked[verb[1] :].partition(BLANK)
    return NOTHING if date and words.says("clause", between) else ABOUT
