"""Find which session of the conversation a query asks for, in a language with tables: `sessions` in its file.

As in English (`query/sessions.py`), only sessions of the remembered conversation count, and in doubt no session is
read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from recall_integrations.languages.phrases import LETTER, Said, alternatives, blanked, said
from recall_integrations.query.by_table.wording import Match, Wording, listed, wording
from recall_integrations.query.session_words import PLACES_MAX
from recall_integrations.types.query import ABOUT, ALL, BEGINNING, END, NOTHING, WHOLE, SessionRef

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
    _Form("own", 0.95, sure=True),
    _Form("numbered", 0.95),
    _Form("ago", 0.9),
    _Form("open", 0.9),
    _Form("last_time", 0.8),
)
_PLAIN = tuple("nouns said we_said foreign narrowed topic excused talk said_then last before_last".split())


def _slots(words: Wording) -> dict[str, str]:
    ordinals, numbers = (
        [p for value in (words.section.get(name) or {}).values() for p in listed(value, words.where)]
        for name in ("ordinals", "numbers")
    )
    places = [*ordinals, *words.phrases("digits"), *words.phrases("last"), *words.phrases("before_last")]
    return {
        "noun": alternatives(words.phrases("nouns"), words.slots),
        "place": f"({alternatives(places, words.slots)})",
        "number": f"({alternatives([*numbers, '#'], words.slots)})",
    }


words_of = partial(
    wording,
    section="sessions",
    known=(*_PLAIN, *(form.name for form in _FORMS)),
    values=("ordinals", "digits", "numbers"),
    more=_slots,
)


def read_session(text: str, language: str | None) -> SessionRef | None:
    """Return the session that `text` asks for, by the first form that matches; `None` if the language has no tables."""
    words, read = words_of(language), said(text)
    named = words.says("nouns", read.text) or words.says("last_time", read.text)
    for form in _FORMS:
        if not named and form.name not in ("numbered", "ago"):
            continue
        for places, (start, end) in _found(words, form.name, read.text):
            if not _excused(words, read.text, start, end) and (form.sure or _ours(words, form.name, read, start, end)):
                return SessionRef(
                    places=places,
                    part={"beginning": BEGINNING, "end": END}.get(form.name, WHOLE),
                    numbered=form.name == "numbered",
                    span=read.span(start, end),
                    confidence=form.confidence,
                )
    return None


def _found(words: Wording, name: str, text: str) -> Iterator[tuple[tuple[int, ...], Match]]:
    for match in words.pattern(name).finditer(text):
        places = _places(words, name, next((g for g in match.groups() if g is not None), None))
        if places is not None:
            yield places, match.span()


def _places(words: Wording, name: str, given: str | None) -> tuple[int, ...] | None:
    """Return the places that a form names; `None` if they cannot be told."""
    if name == "last_time":
        return (-1,)
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
        if words.pattern(f"{table}.{value}", known[value]).fullmatch(given):
            return int(value)
    return 0


def _excused(words: Wording, text: str, start: int, end: int) -> bool:
    """Say whether a word before it takes the session for a moment, or the words behind it narrow it down."""
    if words.ends("excused", text[max(0, start - 60) : start].rstrip()) is not None:
        return True
    behind = len(text) - len(text[end:].lstrip())
    if words.pattern("narrowed").match(text, behind):
        return True
    # "in unserer ersten Sitzung über Anna gesagt": if the verb comes last, the topic belongs to the verb.
    return words.pattern("topic").match(text, behind) is not None and not words.says("said", text[behind:])


def _ours(words: Wording, name: str, read: Said, start: int, end: int) -> bool:
    """Say whether a session that names no owner is one of this conversation."""
    around = blanked(read.text, [(start, end)])
    if words.says("foreign", around):
        return False
    if name == "last_time":
        return words.says("we_said", around)
    if name == "numbered" or words.says("said", around):
        return True
    left = re.findall(rf"{LETTER}+", around)
    return len(left) <= BARE_WORDS_MAX and sum(map(len, left)) <= 20


def talk(text: str, language: str | None, taken: list[Match], *, session: bool) -> str:
    """Return the kind of talk as `talk.asks_talk` does; nothing if the language has no tables.

    `taken` are spans of its dates, its session, its courtesies and the entities that it names.
    """
    words, read = words_of(language), said(text)
    left = blanked(read.text, read.within(taken))
    speaks = words.says("said", left)
    rest = blanked(left, words.found("talk", left))
    if (session or speaks) and not re.search(LETTER, rest):
        return ALL
    return ABOUT if words.says("said_then", left) else NOTHING
