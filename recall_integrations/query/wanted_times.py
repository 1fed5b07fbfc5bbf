"""Find the time and the session that a query asks for, passing over those that it leaves out: "not in March"."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from recall_integrations.languages.phrases import blanked
from recall_integrations.languages.tables import ENGLISH
from recall_integrations.query.asides import is_told
from recall_integrations.query.by_table.negation import leaves_out
from recall_integrations.query.by_table.sessions import read_session
from recall_integrations.query.findings import Findings
from recall_integrations.query.spans import Span, Spans, overlap
from recall_integrations.query.temporal.parser import may_have_window, parse_window
from recall_integrations.types import TemporalWindow
from recall_integrations.types.query import SessionRef

TOLD = 0.4  # confidence of a date that is only told: it filters nothing
DENIED_CHARS_MAX = 200  # in front of a date that are looked at
DENIED_DATES_MAX = 3  # dates passed over in search of one that is wanted


def wanted_window(found: Findings, now: datetime, week_start: int) -> TemporalWindow | None:
    """Return the window that the text asks for. Dates that it excludes are passed over, and noted as denied."""
    entities = found.known.entities
    text, negated = found.point, found.negated
    if not may_have_window(text, found.language):
        return None
    names = frozenset() if entities is None else entities.known_among({t.word for t in found.tokens})
    for _ in range(DENIED_DATES_MAX):
        window = parse_window(text, now, week_start=week_start, names=names, language=found.language)
        if window is None or window.span == (0, 0):
            return None if found.denied else window
        if not _is_left_out(text, window.span, negated, found.language):
            told = found.language == ENGLISH and is_told(found, window.span)
            return replace(window, confidence=min(window.confidence, TOLD)) if told else window
        found.denied.append(window.span)
        text = blanked(text, [window.span], " ")
    return None


def wanted_session(found: Findings) -> SessionRef | None:
    """Return the session that the text asks for, unless it leaves it out: "not in our last session"."""
    entities = found.known.entities
    known = entities.contains_word if entities is not None else lambda _word: False
    session = read_session(found.point, names=known, dated=found.dated, language=found.language)
    if session is None or not _is_left_out(found.text, session.span, found.negated, found.language):
        return session
    found.denied.append(session.span)
    return None


def _is_left_out(text: str, span: Span, negated: Spans, language: str | None) -> bool:
    """Say whether the query leaves a date out: in a negated term, or right behind a word that excludes."""
    start, end = span
    before = text[max(0, start - DENIED_CHARS_MAX) : start]
    return any(overlap(span, other) for other in negated) or leaves_out(before, text[start:end], language)
