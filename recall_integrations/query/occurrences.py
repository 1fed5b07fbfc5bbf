"""Find whether a query asks for the first or the last time of something: "when did I first …", "das letzte Mal"."""

from __future__ import annotations

import re

from recall_integrations.patterns import regex
from recall_integrations.query.by_table import cues
from recall_integrations.records import record
from recall_integrations.text import stems
from recall_integrations.types import TemporalWindow
from recall_integrations.types.query import SessionRef

FIRST, LAST, PAST = "first", "last", "past"
_NO_NAME = r"(?!\s+names?\b)"
_ENGLISH = {
    FIRST: regex(rf"\b(?:first|1st|earliest|initial(?:ly)?|original(?:ly)?)\b{_NO_NAME}", re.I),
    LAST: regex(rf"\b(?:last|latest|newest|most\s+recent(?:ly)?)\b{_NO_NAME}", re.I),
}
# Words that no state of today is asked with: the past tense of verbs that ask, and what sets a time before now.
_PAST = regex(
    r"\b(?:was|were|wasn['’]t|weren['’]t|did|didn['’]t|had|used\s+to|before|previous(?:ly)?|earlier|old|former(?:ly)?|ago|until|back\s+then)\b",
    re.I,
)
_SPAN = regex(
    r"\b(?:first|last|ever|original(?:ly)?|initial(?:ly)?|all|every|each|how\s+often|how\s+many\s+times|list)\b", re.I
)


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
    found = {}
    for which, pattern in _ENGLISH.items():
        if language == "en":
            spans = [match.span() for match in pattern.finditer(text)]
        else:
            spans = cues.occurrences(text, which, language)
        found[which] = [text[a:b] for a, b in spans if not any(start <= a and b <= end for start, end in read)]
    first, last = found[FIRST], found[LAST]
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
    if language in ("en", "", None):
        past, span = _PAST.search(text) is not None, _SPAN.search(text) is not None
    else:
        past = bool(cues.occurrences(text, PAST, language))
        span = any(cues.occurrences(text, which, language) for which in (FIRST, LAST))
    return Tense(past=past, span=span)
