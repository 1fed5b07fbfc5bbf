"""Figures of rankings, and how sure they are: metrics, bootstrap intervals, calibration.

Questions are taken as independent. The percentile bootstrap (Efron, 1979) is too sure of itself where only a handful of
questions differ: four that got better and none that got worse exclude 0. So a gain is called one only if a test that
flips the signs of the differences at random (Fisher's randomisation test) says so as well.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

OVERALL = "overall"


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A mean difference with the bounds of its 95 % bootstrap interval."""

    mean: float
    low: float
    high: float


SAMPLES = 10_000
_AT_ONCE = 2_000_000  # numbers drawn at a time: some 16 MB
CONFIDENCE_Z, POWER_Z = 1.959964, 0.841621  # of 95 % two-sided, and of 80 %

Figures = NDArray[np.float64]


def intervals(values: Figures, *, seed: int = 0) -> list[Interval]:
    """Return the mean of each column and its 95 % interval; zeros without rows."""
    count, width = values.shape
    if not count:
        return [Interval(mean=0.0, low=0.0, high=0.0)] * width
    rng = np.random.default_rng(seed)
    means = np.empty((SAMPLES, width))
    step = max(1, _AT_ONCE // (count * max(1, width)))
    for begin in range(0, SAMPLES, step):
        size = min(step, SAMPLES - begin)
        means[begin : begin + size] = values[rng.integers(0, count, (size, count))].mean(axis=1)
    low, high = np.percentile(means, (2.5, 97.5), axis=0)
    return [
        Interval(mean=float(m), low=float(a), high=float(b))
        for m, a, b in zip(values.mean(axis=0), low, high, strict=True)
    ]


def interval(values: Sequence[float], *, seed: int = 0) -> Interval:
    """Return the mean of one figure and its 95 % interval."""
    return intervals(np.asarray(values, dtype=np.float64).reshape(-1, 1), seed=seed)[0]


def chance(gaps: Sequence[float], *, seed: int = 0) -> float:
    """Return the share of random signs under which the mean difference is at least as far from 0, in (0, 1].

    All signs are tried where there are few differences.
    """
    moved = np.abs(np.asarray([gap for gap in gaps if gap], dtype=np.float64))
    seen = abs(math.fsum(gaps)) * (1 - 1e-9)
    if not moved.size:
        return 1.0
    if moved.size <= 12:
        signs = 1 - 2 * ((np.arange(1 << moved.size)[:, None] >> np.arange(moved.size)) & 1)
        return float(np.mean(np.abs(signs @ moved) >= seen))
    rng = np.random.default_rng(seed)
    reached = done = 0
    while done < SAMPLES:
        size = min(SAMPLES - done, max(1, _AT_ONCE // moved.size))
        drawn = np.where(rng.random((size, moved.size)) < 0.5, -1.0, 1.0) @ moved
        reached += int(np.count_nonzero(np.abs(drawn) >= seen))
        done += size
    return (reached + 1) / (SAMPLES + 1)


def labels_needed(deviation: float, effect: float) -> int:
    """Count the labelled questions that show a difference of size `effect` four times out of five, at 95 %.

    Args:
        deviation: standard deviation of the differences of single questions.
        effect: the mean difference that one wants to see, above 0.
    """
    return max(2, math.ceil(((CONFIDENCE_Z + POWER_Z) * deviation / effect) ** 2))


def deviation(values: Sequence[float]) -> float:
    """Return the standard deviation; 0 for fewer than two values."""
    return float(np.std(np.asarray(values, dtype=np.float64), ddof=1)) if len(values) > 1 else 0.0


FEW, SOME, THREE = 1, 5, 3


def names(k: int) -> tuple[str, ...]:
    """Return the names of the figures of recalls of k hits, in the order in which they are shown."""
    cuts = [cut for cut in dict.fromkeys((FEW, SOME, k)) if cut <= k]
    precision = (f"precision@{THREE}",) if k >= THREE else ()
    return (*(f"recall@{cut}" for cut in cuts), *precision, f"ndcg@{k}", f"mrr@{k}")


def hit_names(k: int) -> tuple[str, ...]:
    """Return the names of figures that need not know every relevant memory, for judges who see only the hits."""
    hits = tuple(f"hit@{cut}" for cut in dict.fromkeys((FEW, min(SOME, k))))
    return (*hits, f"precision@{THREE}", f"mrr@{k}") if k >= THREE else (*hits, f"mrr@{k}")


def figures(ids: Sequence[str], grades: Mapping[str, float], k: int) -> dict[str, float]:
    """Compute the figures of `names` and of `hit_names`, each in [0, 1]."""
    shown = list(dict.fromkeys(ids))[:k]
    places = [place for place, one in enumerate(shown) if one in grades]
    found: dict[str, float] = {}
    for cut in dict.fromkeys((FEW, SOME, k)):
        within = sum(place < cut for place in places)
        found[f"recall@{cut}"] = within / len(grades) if grades else 0.0
        found[f"hit@{cut}"] = float(within > 0)
    found[f"precision@{THREE}"] = sum(place < THREE for place in places) / THREE
    best = _gained(sorted(grades.values(), reverse=True)[:k])
    found[f"ndcg@{k}"] = _gained([grades.get(one, 0.0) for one in shown]) / best if best else 0.0
    found[f"mrr@{k}"] = 1 / (places[0] + 1) if places else 0.0
    return found


def _gained(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(place + 2) for place, gain in enumerate(gains) if gain)


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
