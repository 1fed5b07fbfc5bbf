"""The certainty of a mean over questions: bootstrap intervals, a test of signs, and the labels that would tell more.

Questions are taken as independent. The percentile bootstrap (Efron, 1979) is too sure of itself where only a handful of
questions differ: four that got better and none that got worse exclude 0. So a gain is called one only if a test that
flips the signs of the differences at random (Fisher's randomisation test) says so as well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from recall_integrations.evaluation.metrics import Interval

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


def labels_for_width(deviation: float, width: float) -> int:
    """Count the labelled questions with which the 95 % interval of a mean reaches `width` to both sides."""
    return max(2, math.ceil((CONFIDENCE_Z * deviation / width) ** 2))


def deviation(values: Sequence[float]) -> float:
    """Return the standard deviation; 0 for fewer than two values."""
    return float(np.std(np.asarray(values, dtype=np.float64), ddof=1)) if len(values) > 1 else 0.0
