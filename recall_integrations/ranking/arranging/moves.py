"""Moves of candidates as one more contribution: contributions add up to the order, whatever came after ranking.

A step that puts candidates into another order says which of them stay. These keep their sum. Any other that no longer
stands where its sum would put it gets what lifts or lowers the sum to its new place: that of the nearest candidate
whose sum it must not pass, and `HAIR` beyond it (less where there is no room).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from recall_integrations.indexes.scope_view import Mask
from recall_integrations.ranking.fusion import Fused, Scores

REWRITE = "rewrite"
RERANK, DIVERSITY, TYPE_FIRST, TIME_FIRST = "rerank", "diversity", "type_first", "time_first"
FACTS, NEWER = "facts", "newer"
NEGATION = "negation"
MOVERS = (
    REWRITE,
    RERANK,
    DIVERSITY,
    TYPE_FIRST,
    TIME_FIRST,
    NEWER,
    FACTS,
    NEGATION,
)  # in the order in which they act
HAIR = 1e-3  # in the ranker's units: shown, and far below what any evidence is worth

Sums = NDArray[np.float64]


def sums(fused: Fused) -> Sums:
    """Sum the contributions of each candidate. Sums never rise; a rise within the rounding of float32 is left out."""
    total = np.zeros(len(fused.rows), dtype=np.float64)
    for part in fused.added.values():
        total += part
    return np.minimum.accumulate(total)


def moved(
    fused: Fused,
    order: NDArray[np.int64],
    scores: Scores,
    source: str,
    stays: Mask | None = None,
    said: Mapping[str, Scores] | None = None,
) -> Fused:
    """Return `fused.take(order, scores)`, with the contribution that lifted or lowered each moved candidate."""
    after = fused.take(order, scores)
    if said:
        after = _with(after, raw={name: values[order] for name, values in said.items()})
    if len(order) < 2 or (order[1:] > order[:-1]).all():  # some left at most
        return after
    before = sums(fused)[order]
    if stays is None:
        stays, led = np.ones(len(order), dtype=np.bool_), len(order)
        if led == len(fused.rows):  # the last ones, which stand where they stood, fall, and are below all before them
            led = int((order != np.arange(led)).nonzero()[0][-1]) + 1
        stays[:led] = longest_falling(before[:led])
    return giving(after, source, placed(before, stays) - before)


def giving(fused: Fused, source: str, given: Sums) -> Fused:
    """Return the candidates with one more contribution, or more of it."""
    if not given.any():
        return fused
    return _with(fused, added={source: fused.added.get(source, np.float32(0)) + given})


def placed(before: Sums, stays: Mask) -> Sums:
    """Return sums that never rise along the list: those of candidates that stay stand, others change the least."""
    beneath = np.maximum.accumulate(np.where(stays, before, -np.inf)[::-1])[::-1]
    level = np.minimum.accumulate(np.maximum(before, beneath))
    return _apart(level, level != before)


def _apart(level: Sums, changed: Mask) -> Sums:
    """Move changed sums a hair above or below the sum that they were given; in every run of equals one stands."""
    n = len(level)
    if not changed.any():
        return level
    at = np.arange(n)
    starts = np.flatnonzero(np.concatenate([[True], level[1:] != level[:-1]]))
    run = np.repeat(np.arange(len(starts)), np.diff([*starts, n]))
    first = np.minimum.reduceat(np.where(changed, n, at), starts)[run]
    last = np.maximum.reduceat(np.where(changed, -1, at), starts)[run]
    above, below = np.maximum(first - at, 0), np.maximum(at - last, 0)
    # The gap above each run, and the one below the last; those at the ends have no end.
    gaps = np.concatenate([[np.inf], level[starts][:-1] - level[starts][1:], [np.inf]])
    held = np.bincount(run[above > 0], minlength=len(gaps)) + np.bincount(run[below > 0] + 1, minlength=len(gaps))
    hair = np.minimum(HAIR, gaps / (held + 1))
    apart: Sums = level + above * hair[run] - below * hair[run + 1]
    return apart


def longest_falling(values: Sums) -> Mask:
    """Mark a longest subsequence that never rises (Schensted 1961: patience sorting)."""
    tops: list[float] = []  # the greatest last value of a subsequence of each length, negated
    places: list[int] = []
    before: list[int] = []
    for place, value in enumerate((-values).tolist()):
        length = bisect_right(tops, value)
        before.append(places[length - 1] if length else -1)
        if length == len(tops):
            tops.append(value)
            places.append(place)
        else:
            tops[length], places[length] = value, place
    mask = np.zeros(len(values), dtype=np.bool_)
    at = places[-1] if places else -1
    while at >= 0:
        mask[at] = True
        at = before[at]
    return mask


def _with(
    fused: Fused, added: Mapping[str, NDArray[np.floating]] | None = None, raw: Mapping[str, Scores] | None = None
) -> Fused:
    return Fused(
        rows=fused.rows,
        scores=fused.scores,
        added={**fused.added, **(added or {})},
        raw={**fused.raw, **(raw or {})},
        ranks=fused.ranks,
        via=fused.via,
    )
