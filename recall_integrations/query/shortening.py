"""Place the findings in the read part of a long query in the whole of it."""

from __future__ import annotations

from dataclasses import replace

from recall_integrations.text.shortening import BETWEEN, Shortened
from recall_integrations.types import Degradation, ParsedQuery

STAGE = "parse"
REASON = "query.long"


def problem(read: Shortened) -> Degradation:
    """Report that not all of the query was read."""
    tail = len(read.text) - read.head - len(BETWEEN)
    detail = f"Of {read.length} characters the first {read.head} and the last {tail} were read."
    return Degradation(stage=STAGE, reason=REASON, detail=detail)


def placed(parsed: ParsedQuery, read: Shortened, original: str) -> ParsedQuery:
    """Return the findings in the read part, with their places in the whole query."""
    window, session = parsed.temporal_window, parsed.session
    return replace(
        parsed,
        original=original,
        entity_refs=tuple(replace(r, span=read.place(r.span)) for r in parsed.entity_refs),
        temporal_window=None if window is None else replace(window, span=read.place(window.span)),
        session=None if session is None else replace(session, span=read.place(session.span)),
        identifiers=tuple(replace(i, span=read.place(i.span)) for i in parsed.identifiers),
        tokens=tuple(replace(t, span=read.place(t.span)) for t in parsed.tokens),
    )
