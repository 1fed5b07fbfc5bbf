"""Read question words, types, relations and intents by the tables of a language: `questions` and `types`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from recall_integrations.languages import ENGLISH
from recall_integrations.languages.phrases import said
from recall_integrations.query.by_table.wording import Match, Together, wording
from recall_integrations.records import record
from recall_integrations.text import stems
from recall_integrations.types import MemoryType, ParsedQuery, TemporalWindow
from recall_integrations.types.query import SessionRef

RELATIONS: Mapping[str, tuple[str, ...]] = {  # types of edges, by the lists under `relations`
    "manager": ("manager_of", "reports_to", "manages"),
    "report": ("reports_to", "manager_of"),
    "team": ("member_of",),
    "owner": ("owns", "owner_of"),
    "depends": ("depends_on",),
    "blocks": ("blocks", "blocked_by"),
    "works": ("works_on", "works_at", "works_with"),
    "lives": ("lives_in",),
    "married": ("married_to", "spouse_of"),
    "recommend": ("recommends", "recommended"),
}


class Kind(NamedTuple):
    """What a cue says of the memory asked for."""

    strength: float  # value of the feature, in [0, 1]
    types: tuple[MemoryType, ...] = ()  # empty if it makes the query more specific without naming a type
    filters: bool = False  # whether memories of other types may be left out, if there are memories of these types
    keywords: bool = False  # whether the words of its list are looked for: "favourite" is, "how do I" is not


class Intent(NamedTuple):
    """What an intent says to the router.

    `mode` is the mode that it speaks for (`None`: it says nothing of the kind of memory). With `graph_bias` memories
    linked to the entities of the query come first, with `time_bias` newer ones, or those of the time in question.
    """

    mode: str | None = None
    graph_bias: bool = False
    time_bias: bool = False


KNOWLEDGE, NEURAL, HYBRID = "knowledge", "neural", "hybrid"
INTENTS: Mapping[str, Intent] = {  # by the lists under `intents`
    "ownership": Intent(HYBRID, graph_bias=True),
    "dependency": Intent(HYBRID, graph_bias=True),
    "alignment": Intent(HYBRID, graph_bias=True),
    "what_happened": Intent(NEURAL, time_bias=True),
    "recency": Intent(time_bias=True),
    "documents": Intent(HYBRID),
}

# By the lists under `types`.
_KINDS: dict[str, Kind] = {
    "preferences": Kind(0.6, (MemoryType.PREFERENCE,), filters=True),
    "prefers": Kind(0.6, (MemoryType.PREFERENCE,), keywords=True),
    "choose": Kind(0.5, (MemoryType.PREFERENCE,), keywords=True),
    "likes": Kind(0.4, (MemoryType.PREFERENCE,), keywords=True),
    "when": Kind(0.6, (MemoryType.EVENT,)),
    "happened": Kind(0.3, (MemoryType.EVENT,)),
    "how": Kind(0.4, (MemoryType.SKILL,)),
    "summary": Kind(0.6, (MemoryType.SUMMARY,)),
    "who": Kind(0.6),
    "number": Kind(0.4, keywords=True),
    "something": Kind(0.2),
}
FIRST, LAST, PAST, SEVERAL, BEFORE = "first", "last", "past", "several", "before"
# No cue begins where a phrase of `none` does: "last name".
_TYPES = Together(("none", *_KINDS), frozenset(), small=True)
_TIMES = {which: Together(("none", which), frozenset(), small=True) for which in (FIRST, LAST)}
_TIMES |= {which: Together((which,), frozenset(), small=True) for which in (PAST, SEVERAL, BEFORE)}
_EDGES = Together(tuple(RELATIONS), frozenset(), small=True)
_MEANT = Together(tuple(INTENTS), frozenset(), small=True)
_ASKED = ("asking", "what", "doing", "courtesies", "thanks")
types_of = partial(
    wording, section="types", known=(), values=("relations", "intents"), together=(_TYPES, *_TIMES.values())
)
questions_of = partial(wording, section="questions", known=_ASKED)
relations_of = partial(wording, section="types", part="relations", known=(), together=(_EDGES,))
intents_of = partial(wording, section="types", part="intents", known=(), together=(_MEANT,))


def _cues(text: str, language: str | None) -> Iterator[tuple[Kind, Match]]:
    found = types_of(language).each(_TYPES, text)
    return ((_KINDS[name], match.span()) for name, match in found if name in _KINDS)


def type_cues(
    text: str, language: str | None = ENGLISH
) -> tuple[float, tuple[MemoryType, ...], tuple[MemoryType, ...]]:
    """Return the strength of the strongest cue, the cued types, strongest first, and the types that may pre-filter."""
    kinds = {kind for kind, _ in _cues(said(text).text, language)}
    found = sorted((kind for kind in _KINDS.values() if kind in kinds), key=lambda kind: -kind.strength)
    types = tuple(dict.fromkeys(t for kind in found for t in kind.types))
    filters = tuple(dict.fromkeys(t for kind in found if kind.filters for t in kind.types))
    return (found[0].strength if found else 0.0), types, filters


def occurrences(text: str, which: str, language: str | None) -> list[Match]:
    """Return spans of the words that ask for the first or the last time, the past, or several times."""
    words, read = types_of(language), said(text)
    return [read.span(*match.span()) for name, match in words.each(_TIMES[which], read.text) if name == which]


def asks_several(text: str, language: str | None) -> bool:
    """Say whether words ask for more than one time: where none are listed for it, the first or the last."""
    lists = (SEVERAL,) if SEVERAL in types_of(language).section else (FIRST, LAST)
    return any(occurrences(text, which, language) for which in lists)


def relations(text: str, language: str | None = ENGLISH) -> tuple[str, ...]:
    """Return the edge types that the query's words point at, in order of appearance."""
    words, heard = relations_of(language), said(text).text
    return tuple(dict.fromkeys(edge for name, _ in words.each(_EDGES, heard) for edge in RELATIONS[name]))


def intents(text: str, language: str | None) -> list[str]:
    """Return the names of the intents that the query has."""
    words, heard = intents_of(language), said(text).text
    found = {name for name, _ in words.each(_MEANT, heard)}
    return [name for name in INTENTS if name in found]


def courtesies(text: str, language: str | None) -> list[Match]:
    """Return spans of words that only make a question polite: at its beginning, and at its end."""
    words, read = questions_of(language), said(text)
    spans: list[Match] = []
    at = 0
    for _ in range(4):
        start = next((i for i in range(at, len(read.text)) if read.text[i].isalnum()), len(read.text))
        match = words.match("courtesies", read.text, start)
        if match is None or match.end() == start:
            break
        at = match.end()
    if at:
        spans.append(read.span(0, at))
    end = next((i for i in range(len(read.text), 0, -1) if read.text[i - 1].isalnum()), 0)
    last = next((match for match in words.found("thanks", read.text) if match[1] == end), None)
    if last is not None and last[0] >= at:
        spans.append((read.span(*last)[0], len(text)))
    return spans


def no_keywords(text: str, language: str | None) -> list[Match]:
    """Return spans of question words and of words that only ask for a type: no memory is found by them.

    The verb of "was .. gemacht", "做了什么" is among them, as "what did I do" is in English.
    """
    read = said(text)
    spans: list[Match] = []
    asking = questions_of(language)
    spans += asking.found("asking", read.text)
    if asking.says("what", read.text):
        spans += asking.found("doing", read.text)
    spans += (at for kind, at in _cues(read.text, language) if not kind.keywords)
    return sorted(read.span(*m) for m in spans)


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
