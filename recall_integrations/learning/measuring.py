"""How good orders are by what people judged, corrected for where they saw it.

People judge what they look at, and they look at the first hits: clicks at the first place are many whatever stands
there. So what was said of a memory at place `p` counts `1 / θ(p)`, with `θ(p) = p^-η` the probability that somebody
looks so far down (inverse propensity scoring: Joachims, Swaminathan and Schnabel, "Unbiased Learning-to-Rank with
Biased Feedback", WSDM 2017); `η` is `learned.position_bias`, 1 by default as measured there. Weights are clipped at
`WORTH_MAX`, and means are divided by the sum of the weights (self-normalised: Swaminathan and Joachims 2015), so that
a few clicks far down do not decide alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from recall_integrations.records import record
from recall_integrations.types.judged import Gain, Judged, Order, place_worth

DEPTH = 5  # nDCG@5
WORTH_MAX = 5.0  # of one judgement, by its place
SAMPLES = 1_000
_AT_ONCE = 4_000_000  # random numbers
Numbers = NDArray[np.float64]


@record(frozen=True, slots=True, kw_only=True)
class Gap:
    """A mean difference, and how sure it is.

    Args:
        mean: of the differences, weighted.
        low, high: between which it lies with the probability that was asked for.
        n: how many pairs.
    """

    mean: float
    low: float
    high: float
    n: int


def worth(gain: Gain, position_bias: float) -> float:
    """What a judgement counts: how sure it is, over how probably somebody looked at its place."""
    unseen: float = max(gain.place, 1) ** position_bias
    return gain.sure * min(unseen, WORTH_MAX)


def weights_of(judged: Sequence[Judged], position_bias: float) -> Numbers:
    """Of each judged recall: the largest worth of what helped there; 0 where nothing did."""
    return np.asarray(
        [max((worth(g, position_bias) for g in one.gains if g.gain > 0), default=0.0) for one in judged],
        dtype=np.float64,
    )


def ndcg(order: Order, gains: Mapping[int, float], depth: int = DEPTH) -> float:
    """Of an order. A memory that nobody judged counts nothing.

    Args:
        order: numbers of memories, best first.
        gains: number → gain, at least one above 0.
    """
    best = sorted((g for g in gains.values() if g > 0), reverse=True)[:depth]
    ideal = sum(g * place_worth(place) for place, g in enumerate(best, start=1))
    got = sum(gains.get(num, 0.0) * place_worth(place) for place, num in enumerate(order[:depth], start=1))
    return got / ideal if ideal else 0.0


def gains_by_num(judged: Judged, position_bias: float) -> dict[int, float]:
    """What each memory of a judged recall is worth to it."""
    return {one.num: one.gain * worth(one, position_bias) for one in judged.gains}


def bootstrap(gaps: Numbers, weights: Numbers | None = None, *, level: float = 0.95, seed: int = 0) -> Gap:
    """The weighted mean of paired differences and its percentile interval (Efron 1979).

    Args:
        gaps: differences, one for each query.
        weights: of the queries; `None` = all count the same.
        level: probability of the interval.
        seed: of the samples.
    """
    n = len(gaps)
    if not n:
        return Gap(mean=0.0, low=0.0, high=0.0, n=0)
    w = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
    if w.sum() <= 0:
        return Gap(mean=0.0, low=0.0, high=0.0, n=0)
    rng, wg = np.random.default_rng(seed), w * gaps
    means: list[Numbers] = []
    step = max(1, min(SAMPLES, _AT_ONCE // n))
    for begun in range(0, SAMPLES, step):
        drawn = rng.integers(0, n, (min(step, SAMPLES - begun), n))
        below = w[drawn].sum(axis=1)
        means.append(np.divide(wg[drawn].sum(axis=1), below, out=np.zeros_like(below), where=below > 0))
    low, high = np.quantile(np.concatenate(means), ((1 - level) / 2, (1 + level) / 2))
    return Gap(mean=float(wg.sum() / w.sum()), low=float(low), high=float(high), n=n)


def compared(
    judged: Sequence[Judged], ours: str, theirs: str, position_bias: float, *, level: float = 0.95, seed: int = 0
) -> Gap:
    """How much better one order is than another, on the recalls that have both and in which something helped."""
    gaps, weights = [], []
    for one in judged:
        if one.replay is None or not one.positive():
            continue
        first, second = one.replay.orders.get(ours), one.replay.orders.get(theirs)
        if first is None or second is None:
            continue
        gains = gains_by_num(one, position_bias)
        gaps.append(ndcg(first, gains) - ndcg(second, gains))
        weights.append(weights_of([one], position_bias)[0])
    return bootstrap(np.asarray(gaps, dtype=np.float64), np.asarray(weights, dtype=np.float64), level=level, seed=seed)


def mean_ndcg(judged: Sequence[Judged], name: str, position_bias: float) -> tuple[float, int]:
    """The weighted mean nDCG@5 of an order, and on how many recalls."""
    got, below, n = 0.0, 0.0, 0
    for one in judged:
        order = None if one.replay is None else one.replay.orders.get(name)
        if order is None or not one.positive():
            continue
        weight = float(weights_of([one], position_bias)[0])
        got, below, n = got + weight * ndcg(order, gains_by_num(one, position_bias)), below + weight, n + 1
    return (got / below if below else 0.0), n
