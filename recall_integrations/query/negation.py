"""Find the terms that a query excludes: "what did I do that wasn't related to the frontend" → `frontend`."""

from __future__ import annotations

from recall_integrations.languages.tables import ENGLISH, english
from recall_integrations.patterns import regex
from recall_integrations.query.by_table.negation import excluded
from recall_integrations.records import record

_EN = english("negatives")
NEGATED_AUXILIARIES = frozenset(_EN["auxiliaries"].split())  # "n't" without its apostrophe is how people type
NEGATIVES = NEGATED_AUXILIARIES | frozenset(_EN["words"].split())
_RUN = regex(r"\w+")
_CUE_RUNS = frozenset(_EN["runs"].split())  # a text in English that excludes something has one of these runs of letters


@record(frozen=True, slots=True, kw_only=True)
class Negation:
    """One excluded term."""

    term: str  # as written in the query, without articles and quotation marks
    span: tuple[int, int]  # of the whole exclusion, from its cue on; those of a list share their start
    term_span: tuple[int, int]


def find_negations(text: str, language: str | None = ENGLISH) -> tuple[Negation, ...]:
    """Return the terms that `text` excludes, in order of appearance; equal terms are reported once."""
    if language == ENGLISH and text.isascii() and _CUE_RUNS.isdisjoint(_RUN.findall(text.lower())):
        return ()
    found: dict[str, Negation] = {}
    for span, (start, end) in excluded(text, language):
        term = text[start:end]
        found.setdefault(term.casefold(), Negation(term=term, span=span, term_span=(start, end)))
    return tuple(found.values())
