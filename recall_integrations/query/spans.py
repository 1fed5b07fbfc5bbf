"""Places in a text, as `(start, end)`, and the words that lie in them."""

from __future__ import annotations

from collections.abc import Sequence

from recall_integrations.text import Token

Span = tuple[int, int]
Spans = Sequence[Span]


def place_of(token: Token) -> Span:
    """Return the place of a word."""
    return token.start, token.end


def overlap(span: Span, other: Span) -> bool:
    """Say whether two places share a character."""
    return span[0] < other[1] and other[0] < span[1]


def inside(token: Token, spans: Spans) -> bool:
    """Say whether a word begins in one of the places."""
    return any(start <= token.start < end for start, end in spans)


def starts_inside(tokens: Sequence[Token], spans: Spans) -> set[int]:
    """Return the starts of the tokens, in order, that lie in a span; in one pass, for there may be thousands."""
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
