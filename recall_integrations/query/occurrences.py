"""Find whether a query asks for the first or the last time of something: "when did I first …", "das letzte Mal"."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from recall_integrations.languages.tables import ENGLISH
from recall_integrations.query.by_table.cues import BEFORE, FIRST, LAST, PAST, asks_several, occurrences
from recall_integrations.records import record
from recall_integrations.text import stems
from recall_integrations.types import ParsedQuery, TemporalWindow
from recall_integrations.types.query import SessionRef


@record(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """The first or the last of several times that the same happened."""

    last: bool  # whether the query asks for the last time, or else the first
    words: frozenset[str]  # stems of the words that ask for it. A memory may have them in a name: "the first aid kit"


def occurrence_asked(
    text: str, language: str | None, window: TemporalWindow | None, session: SessionRef | None = None
) -> Occurrence | None:
    """Return the time that a query asks for; `None` if it asks for none, or for both the first and the last.

    "Last" of the window "last week" says no more than that, nor does "first" of the session "our first session".
    """
    read = [found.span for found in (window, session) if found is not None]
    first, last = (
        [text[a:b] for a, b in occurrences(text, which, language) if not any(s <= a and b <= e for s, e in read)]
        for which in (FIRST, LAST)
    )
    if bool(first) == bool(last):
        return None
    return Occurrence(last=bool(last), words=frozenset(stems(" ".join(first or last), language)))


@record(frozen=True, slots=True, kw_only=True)
class Tense:
    """The time that a query asks about."""

    past: bool  # whether it asks for a past state: "was", "used to", "before"
    span: bool  # whether it asks for more than one time: "first", "last", "ever", "all"


def tense_of(text: str, language: str | None) -> Tense:
    """Read which time a query asks about; neither past nor span = the present state."""
    language = language or ENGLISH
    return Tense(past=bool(occurrences(text, PAST, language)), span=asks_several(text, language))


def behind_before(query: ParsedQuery, texts: Callable[[], Sequence[str]] = tuple) -> frozenset[str]:
    """Return the terms of a query that only say what came after: "Which editor did I use before *Helix*?".

    The memory that names Helix tells when the other ended. Where the words of "before" begin the query, its first
    comma ends what came after. Empty where the query has no other term, or where one of the `texts` says
    "before" of it, too: "what do I buy before Oslo?", "Before Oslo: buy plasters".
    """
    found = occurrences(query.point, BEFORE, query.language)
    if not found:
        return frozenset()
    start, end = found[-1]
    comma = query.point.find(",", end)
    close = comma if comma > 0 and not any(token.span[0] < start for token in query.tokens) else len(query.point)
    behind = {token.stem for token in query.tokens if end <= token.span[0] < close}
    behind -= {token.stem for token in query.tokens if not end <= token.span[0] < close}
    if behind.issuperset(query.terms) or behind.isdisjoint(query.terms):
        return frozenset()
    for text in texts():
        for _, stop in occurrences(text, BEFORE, query.language):
            if not behind.isdisjoint(stems(text[stop:], query.language)):
                return frozenset()
    return frozenset(behind.intersection(query.terms))
