"""Calibration of scores: among hits of score .7, seven of ten should be relevant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

BINS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """Hits whose scores lie close together: from `low` up to `high`, their mean score, and the relevant share."""

    low: float
    high: float
    hits: int
    score: float
    relevant: float


def bins_of(scored: Sequence[tuple[float, bool]]) -> tuple[Bin, ...]:
    """Put hits into ten bins of equal width; bins without a hit are left out."""
    parts: list[list[tuple[float, bool]]] = [[] for _ in range(BINS)]
    for score, relevant in scored:
        parts[min(BINS - 1, max(0, int(score * BINS)))].append((score, relevant))
    return tuple(
        Bin(
            low=i / BINS,
            high=(i + 1) / BINS,
            hits=len(part),
            score=sum(score for score, _ in part) / len(part),
            relevant=sum(relevant for _, relevant in part) / len(part),
        )
        for i, part in enumerate(parts)
        if part
    )


def error_of(bins: Sequence[Bin]) -> float:
    """Return the expected calibration error: the gap between score and relevant share, averaged over the hits."""
    hits = sum(one.hits for one in bins)
    return sum(one.hits * abs(one.score - one.relevant) for one in bins) / hits if hits else 0.0
