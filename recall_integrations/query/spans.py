"""Places in a text, as `(start, end)`: which words lie in them."""

from __future__ import annotations

from collections.abc import Sequence

from recall_integrations.text import Token

Span = tuple[int, int]
Spans = Sequence[Span]


def place_of(token: Token) -> Span:
    """Where a word stands."""
    return token.start, token.end


def overlap(span: Span, other: Span) -> bool:
    """Whether two places share a character."""
    return span[0] < other[1] and other[0] < span[1]


def inside(token: Token, spans: Spans) -> bool:
    """Whether a word begins in one of the places."""
    return any(start <= token.start < end for start, end in spans)


def starts_inside(tokens: Sequence[Token], spans: Spans) -> set[int]:
    """Starts of the tokens, in order, that lie in a span: in one pass, as a hostile text may hold thousands."""
    inside: set[int] = set()
    if not spans:
        return inside
    merged = sorted(spans)
    at, reach = 0, 0
    for token in tokens:
        while at < len(merged) and merged[at][0] <= token.start:
            reach = max(reach, merged[at][1])
            at += 1
        if token.start < reach:
            inside.add(token.start)
    return inside
