"""Questions that ask for a time or a session of a conversation, made from LoCoMo's own dates: `locomo-when`.

    date      "What did we talk about on May 8th?", "… in June 2023?"
    ordinal   "What did we talk about in our third session?", "What was discussed in session 3?"
    relative  "What did we discuss last time?", "… two sessions ago?"
    content   one of LoCoMo's own questions, asked of the session that holds its evidence

Relevant are all turns of the day, month or session that is asked for; of `content`, the evidence. They are asked on the
day after the last session. The same file gives the same questions; phrasings take turns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import groupby
from pathlib import Path

from benchmarks.datasets.data import Collection, EvaluationData
from benchmarks.datasets.locomo import load_locomo
from recall_integrations.evaluation.questions import Question
from recall_integrations.types import Memory

NAME = "locomo-when"

# Per session so many phrasings of each table, beginning with another one each time.
DATES_ASKED, ORDINALS_ASKED, CONTENT_ASKED = 3, 3, 2

DAY_WITHOUT_YEAR = (
    "What did we talk about on {month} {nth}?",
    "What did we chat about on {day} {month}?",
    "Summarise our conversation from {month} {nth}.",
    "What did {a} and {b} talk about on {month} {day}?",
    "On {month} {nth}, what did we discuss?",
)
DAY = (
    "What did we talk about on {month} {nth}, {year}?",
    "What did {a} and {b} discuss on {day} {month} {year}?",
    "What was said on {day} {month} {year}?",
    "Give me a summary of our chat on {month} {day}, {year}.",
    "What did {a} and {b} speak about on the {nth} of {month}, {year}?",
    "What happened in our conversation on {iso}?",
)
MONTH_WITHOUT_YEAR = ("What did we talk about in {month}?", "What did {a} and {b} discuss in {month}?")
MONTH = (
    "What did we talk about in {month} {year}?",
    "What did {a} and {b} chat about in {month} {year}?",
    "Recap our conversations from {month} {year}.",
)
ORDINAL = (
    "What did we talk about in our {ordinal} session?",
    "What was discussed in session {number}?",
    "Summarise our {short} conversation.",
    "What did {a} and {b} talk about in their {ordinal} conversation?",
    "What did we discuss during the {short} chat?",
    "How did our {ordinal} conversation start?",
    "What were the topics of session #{number}?",
    "what did we chat about in conversation {number}",
)
LAST = (
    "What did we talk about last time?",
    "What did we discuss in our last session?",
    "Summarise our most recent conversation.",
    "What did {a} and {b} talk about the last time they spoke?",
    "What was our latest chat about?",
    "What did we say in the previous conversation?",
)
FIRST = (
    "What was our first conversation about?",
    "What did we talk about the first time we chatted?",
    "What did we talk about at the beginning of our conversations?",
    "What did {a} and {b} discuss in their very first chat?",
    "How did our first conversation start?",
)
LAST_BUT_ONE = (
    "What did we talk about two sessions ago?",
    "What did we discuss in the session before last?",
    "What did we talk about in our second-to-last conversation?",
    "What was the penultimate session about?",
    "Summarise the conversation before the last one.",
)
LAST_BUT_TWO = ("What did we talk about three sessions ago?", "What did we say in our third-to-last conversation?")

_MONTHS = (
    "January February March April May June July August September October November December".split()  # no locale
)
_ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth "
    "sixteenth seventeenth eighteenth nineteenth twentieth"
).split()
_QUESTION_WORDS = frozenset("what when where who which how why did does do is was are were has have had".split())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Session:
    """Turns of one thread; `place` is its place in time, from 1, `number` the one in its name."""

    place: int
    number: int
    began: datetime
    ids: tuple[str, ...]


def load_locomo_when(path: str | Path) -> EvaluationData:
    """Read LoCoMo (`datasets.load_locomo`) with questions of this kind instead of its own.

    Raises:
        InvalidArgument: as `load_locomo`.
    """
    data = load_locomo(path)
    collections = tuple(replace(c, questions=tuple(_questions(c))) for c in data.collections)
    return EvaluationData(name=NAME, collections=collections)


def _questions(collection: Collection) -> Iterator[Question]:
    sessions = _sessions(collection.memories)
    last = sessions[-1].began
    asked_at = (last + timedelta(days=1)).replace(hour=12, minute=0, second=0)
    speakers = list(dict.fromkeys(m.actor for m in collection.memories if m.actor))[:2]
    names = dict(zip("ab", [*speakers, *speakers], strict=False))
    made = [
        *_dated(sessions, asked_at, names),
        *_counted(sessions, names),
        *_relative(sessions, names),
        *_with_content(sessions, collection.questions),
    ]
    for number, (category, text, relevant) in enumerate(made):
        yield Question(
            id=f"{collection.name}/when-{number}",
            text=text,
            relevant=tuple(relevant),
            category=category,
            asked_at=asked_at,
            scope=collection.scope,
        )


_Made = tuple[str, str, Sequence[str]]


def _dated(sessions: Sequence[_Session], asked_at: datetime, names: dict[str, str]) -> Iterator[_Made]:
    by_day = groupby(sessions, key=lambda s: s.began.date())
    days = [(day, [i for s in held for i in s.ids]) for day, held in by_day]
    last_of = {(day.month, day.day): day for day, _ in days}
    for turn, (day, ids) in enumerate(days):
        # Without a year the last such day is meant, today included; where the data has none later, this one is.
        plain = last_of[day.month, day.day] == day and (asked_at.date() - day).days < 365
        said = {
            **names,
            "day": str(day.day),
            "nth": short_ordinal(day.day),
            "month": _MONTHS[day.month - 1],
            "year": str(day.year),
            "iso": day.isoformat(),
        }
        tables = [DAY_WITHOUT_YEAR, DAY, DAY] if plain else [DAY, DAY, DAY]
        for i, table in enumerate(tables[:DATES_ASKED]):
            yield "date", table[(turn + 3 * i) % len(table)].format(**said), ids
    months = [(month, [i for s in held for i in s.ids]) for month, held in groupby(sessions, key=_month)]
    for turn, ((year, month), ids) in enumerate(months):
        said = {**names, "month": _MONTHS[month - 1], "year": str(year)}
        past = (asked_at.year - year) * 12 + asked_at.month - month
        yield "date", MONTH[turn % len(MONTH)].format(**said), ids
        if 0 < past < 12:
            yield "date", MONTH_WITHOUT_YEAR[turn % len(MONTH_WITHOUT_YEAR)].format(**said), ids


def _month(session: _Session) -> tuple[int, int]:
    return session.began.year, session.began.month


def _counted(sessions: Sequence[_Session], names: dict[str, str]) -> Iterator[_Made]:
    for turn, session in enumerate(sessions):
        for i in range(ORDINALS_ASKED):
            yield "ordinal", _ordinal_text(ORDINAL[(turn + 3 * i) % len(ORDINAL)], session, names), session.ids


def _ordinal_text(pattern: str, session: _Session, names: dict[str, str]) -> str:
    place = session.place
    word = _ORDINALS[place - 1] if place <= len(_ORDINALS) else short_ordinal(place)
    return pattern.format(**names, ordinal=word, short=short_ordinal(place), number=session.number)


def _relative(sessions: Sequence[_Session], names: dict[str, str]) -> Iterator[_Made]:
    for place, table in ((-1, LAST), (0, FIRST), (-2, LAST_BUT_ONE), (-3, LAST_BUT_TWO)):
        if -len(sessions) <= place < len(sessions):
            for pattern in table:
                yield "relative", pattern.format(**names), sessions[place].ids


def _with_content(sessions: Sequence[_Session], questions: Sequence[Question]) -> Iterator[_Made]:
    for turn, session in enumerate(sessions):
        own = frozenset(session.ids)
        fit = [
            q
            for q in questions
            if q.category == "single-hop" and q.relevant and own.issuperset(q.relevant) and _undated(q.text)
        ]
        for i, question in enumerate(fit[:CONTENT_ASKED]):
            word = _ordinal_text("{ordinal}", session, {})
            text = question.text.strip()
            if i == turn % 2:
                first, _, rest = text.partition(" ")
                text = f"{first.lower() if first.lower() in _QUESTION_WORDS else first} {rest}"
                yield "content", f"In our {word} session, {text}", question.relevant
            else:
                yield "content", f"From session {session.number}: {text}", question.relevant


def _undated(text: str) -> bool:
    said = text.casefold()
    return not any(c.isdigit() for c in said) and not any(m.casefold() in said for m in _MONTHS)


def _sessions(memories: Sequence[Memory]) -> list[_Session]:
    """The threads in the order of their times."""
    threads: dict[str, list[Memory]] = {}
    for memory in memories:
        threads.setdefault(memory.thread or "", []).append(memory)

    def began(name: str) -> datetime:
        first = threads[name][0].event_at
        assert first is not None  # LoCoMo's sessions have times
        return first

    ordered = sorted(threads, key=began)
    return [
        _Session(
            place=place,
            number=int(name.rpartition("_")[2]),
            began=began(name),
            ids=tuple(m.id for m in threads[name] if m.id is not None),
        )
        for place, name in enumerate(ordered, start=1)
    ]


def short_ordinal(number: int) -> str:
    """ "1st", "2nd", "13th"."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
