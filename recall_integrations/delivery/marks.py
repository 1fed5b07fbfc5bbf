"""A query as runs of characters with a part in it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from recall_integrations.query.features import IMPLICIT
from recall_integrations.types import ParsedQuery
from recall_integrations.types.readings import ENTITY, IDENTIFIER, NEGATED, ROLES, SESSION, TIME


class Mark(NamedTuple):
    """A run of characters of the query that plays one part."""

    start: int
    end: int
    role: str


def marks(parsed: ParsedQuery) -> list[Mark]:
    """Return the runs of the query that play a part, in order, without overlap; of several parts, the first."""
    length = len(parsed.original)
    roles: list[str | None] = [None] * length
    for token in parsed.tokens:
        for i in range(*token.span) if token.roles else ():
            now = roles[i]  # pairs of CJK characters overlap
            if now is None or ROLES.index(token.roles[0]) < ROLES.index(now):
                roles[i] = token.roles[0]
    for start, end, role in _wholes(parsed):
        if role in roles[start:end]:  # else the exclusion around it is shown
            roles[start:end] = [held or role for held in roles[start:end]]
    for one, other in pairwise(parsed.tokens):
        start, end = one.span[1], other.span[0]
        if 0 < start < end and roles[start - 1] == roles[end] == NEGATED and parsed.original[start:end].isspace():
            roles[start:end] = [NEGATED] * (end - start)
    bounds = [0, *(i for i in range(1, length) if roles[i] != roles[i - 1]), length]
    return [Mark(a, b, part) for a, b in pairwise(bounds) if a < b and (part := roles[a]) is not None]


def _wholes(parsed: ParsedQuery) -> Iterator[tuple[int, int, str]]:
    """Yield the runs that may hold more than words: blanks between them, the sign before a number."""
    yield from ((*r.span, ENTITY) for r in parsed.entity_refs if r.stage != IMPLICIT)
    yield from ((*i.span, IDENTIFIER) for i in parsed.identifiers)
    if parsed.temporal_window is not None:
        yield (*parsed.temporal_window.span, TIME)
    if parsed.session is not None:
        yield (*parsed.session.span, SESSION)
