"""Measures orders by what people judged, corrected for the places where they saw it.

People judge what they look at, and they look at the first hits: clicks at the first place are many whatever stands
there. So what was said of a memory at place `p` counts `1 / θ(p)`, with `θ(p) = p^-η` the probability that somebody
looks so far down (inverse propensity scoring: Joachims, Swaminathan and Schnabel, "Unbiased Learning-to-Rank with
Biased Feedback", WSDM 2017); `η` is 1, as measured there. Weights are clipped at
`WORTH_MAX`, and means are divided by the sum of the weights (self-normalised: Swaminathan and Joachims 2015), so that
a few clicks far down do not decide alone.

People are wrong as well, and only about what they are shown: any memory at a place gets some clicks, and a memory that
was never there gets none. Counted as it is, that would make every order worse that brings up something new. So a memory
that was shown counts by how much more was said of it than of one that answers nothing (`noise_of`), which may be less
than nothing; one that nobody saw counts nothing (a baseline, as in counterfactual learning from logs: Joachims,
Swaminathan and de Rijke 2018).

The same query asked again finds the same and is judged alike, so samples are drawn of queries, not of recalls.

A version on trial and what served before answer whole recalls of the same query, as the replays of judged recalls found
them. None of these recalls was there when the version was made. Rules are the floor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from recall_integrations.records import record
from recall_integrations.text.shortening import number_of
from recall_integrations.types.judged import RULES, Gain, Judged, Order, place_worth

DEPTH = 5  # depth of nDCG@5
WORTH_MAX = 5.0  # highest worth of one judgement, by its place
SAMPLES = 1_000
QUERIES_MIN = 10  # different queries, without which nothing is known about a mean
_AT_ONCE = 4_000_000  # random numbers
PLAN, WITHOUT, VERSION = "plan:", "without:", "version:"  # prefixes of orders' names in a replay
Numbers = NDArray[np.float64]
_DISCOUNTS = tuple(place_worth(place) for place in range(1, DEPTH + 1))


@record(frozen=True, slots=True, kw_only=True)
class Gap:
    """A mean difference with its interval."""

    mean: float  # weighted mean of the differences
    low: float  # low, high: ends of the interval that holds it with the probability asked for
    high: float
    n: int  # number of pairs


def worth(gain: Gain) -> float:
    """Return the worth of a judgement: how sure it is, over the probability that somebody looked at its place."""
    return gain.sure * min(float(max(gain.place, 1)), WORTH_MAX)


def weights_of(judged: Sequence[Judged]) -> Numbers:
    """Return each judged recall's weight: the largest worth of a memory that helped; 0 where none did."""
    return np.asarray(
        [max((worth(g) for g in one.gains if g.gain > 0), default=0.0) for one in judged],
        dtype=np.float64,
    )


def gains_by_num(judged: Judged) -> dict[int, float]:
    """Return the worth of each judged memory to its recall, by number."""
    return {one.num: one.gain * worth(one) for one in judged.gains}


def order_of(label: str) -> str:
    """Return the name of an order in a replay, given the label `rules` or `v3`."""
    return RULES if label == RULES else f"{VERSION}{label}"


def shown(judged: Judged) -> Order:
    """Return what a recall showed, if its replay knows: the first hits of what answered it; else empty."""
    if judged.replay is None or not any(one.place for one in judged.gains):
        return ()
    most = max(DEPTH, *(one.place for one in judged.gains))
    return judged.replay.orders.get(order_of(judged.version), ())[:most]


def noise_of(judged: Sequence[Judged]) -> float:
    """Return what is said, on average, of a memory that was shown and answers nothing: at most what is said, corrected
    for the place, of the place from the second to the fifth with the least."""
    said = np.zeros(DEPTH + 1)
    for one in judged:
        for gain in one.gains:
            if 1 < gain.place <= DEPTH:
                said[gain.place] += gain.gain * worth(gain)
    return float(said[2:].min() / len(judged)) if judged else 0.0


def net_gains(judged: Judged, noise: float) -> dict[int, float]:
    """Return the worth of each memory to a recall, less that of one that was shown and answers nothing."""
    found = gains_by_num(judged)
    if noise:
        for num in shown(judged):
            found[num] = found.get(num, 0.0) - noise
    return found


def ideal_of(gains: Mapping[int, float]) -> float:
    """Return the highest sum that an order can have."""
    best = sorted((gain for gain in gains.values() if gain > 0), reverse=True)
    return sum(gain * each for gain, each in zip(best, _DISCOUNTS, strict=False))


def summed(order: Order, gains: Mapping[int, float]) -> float:
    """Return the discounted sum of the first five."""
    return sum(gains.get(num, 0.0) * each for num, each in zip(order, _DISCOUNTS, strict=False))


def ndcg(order: Order, gains: Mapping[int, float]) -> float:
    """Return the nDCG@5 of an order. A memory that nobody judged counts nothing."""
    ideal = ideal_of(gains)
    return summed(order, gains) / ideal if ideal else 0.0


def query_of(judged: Judged) -> int:
    """Return a number that recalls of the same query share: by what it finds, as its text is not kept."""
    return hash(() if judged.replay is None else judged.replay.orders.get(RULES, ())[:DEPTH])


def bootstrap(
    gaps: Numbers,
    weights: Numbers | None = None,
    *,
    queries: Sequence[int] | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> Gap:
    """Return the weighted mean of paired differences and its percentile interval (Efron 1979)."""
    n = len(gaps)
    if not n:
        return Gap(mean=0.0, low=0.0, high=0.0, n=0)
    w = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
    if w.sum() <= 0:
        return Gap(mean=0.0, low=0.0, high=0.0, n=0)
    rng, wg = np.random.default_rng(seed), w * gaps
    mean = float(wg.sum() / w.sum())
    if queries is not None:
        _, place = np.unique(np.asarray(queries), return_inverse=True)
        w, wg = np.bincount(place, w).astype(np.float64), np.bincount(place, wg).astype(np.float64)
        if len(w) < QUERIES_MIN:
            return Gap(mean=mean, low=-1.0, high=1.0, n=n)
    means: list[Numbers] = []
    size = len(w)
    step = max(1, min(SAMPLES, _AT_ONCE // size))
    for begun in range(0, SAMPLES, step):
        drawn = rng.integers(0, size, (min(step, SAMPLES - begun), size))
        below = w[drawn].sum(axis=1)
        means.append(np.divide(wg[drawn].sum(axis=1), below, out=np.zeros_like(below), where=below > 0))
    low, high = np.quantile(np.concatenate(means), ((1 - level) / 2, (1 + level) / 2))
    return Gap(mean=mean, low=float(low), high=float(high), n=n)


def compared(judged: Sequence[Judged], ours: str, theirs: str, *, level: float = 0.95, seed: int = 0) -> Gap:
    """Return how much better one order is than another, on the recalls that have both and in which something helped."""
    both = [
        (one, one.replay.orders[ours], one.replay.orders[theirs])
        for one in judged
        if one.replay is not None and one.positive() and ours in one.replay.orders and theirs in one.replay.orders
    ]
    own = [one for one, _, _ in both]
    noise = noise_of(own)
    gaps = []
    for one, first, second in both:
        gains = net_gains(one, noise)
        gaps.append((summed(first, gains) - summed(second, gains)) / ideal_of(gains_by_num(one)))
    queries = [query_of(one) for one in own]
    return bootstrap(np.asarray(gaps, dtype=np.float64), weights_of(own), queries=queries, level=level, seed=seed)


def mean_ndcg(judged: Sequence[Judged], name: str) -> tuple[float, int]:
    """Return the weighted mean nDCG@5 of an order, and the number of recalls."""
    got, below, n = 0.0, 0.0, 0
    for one in judged:
        order = None if one.replay is None else one.replay.orders.get(name)
        if order is None or not one.positive():
            continue
        weight = float(weights_of([one])[0])
        got, below, n = got + weight * ndcg(order, gains_by_num(one)), below + weight, n + 1
    return (got / below if below else 0.0), n


LEAST = 30  # number of judged recalls below which nothing is decided
ENOUGH = 600  # number of judged recalls with which it is decided before the time is over
EARLY, LATE = 0.99, 0.90  # probabilities of the intervals: while it is tried, and at the end
SLACK = 0.01  # nDCG by which the lower end may lie below 0: that it is better was shown when it was made
PROMOTED, ROLLED_BACK, WAITING = "promoted", "rolled_back", ""


@record(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The decision on a version."""

    step: str  # `promoted`, `rolled_back`, or empty: the trial goes on
    because: str  # reason in words


def decided(judged: Sequence[Judged], tried: str, before: str, *, over: bool) -> Verdict:
    """Decide on a version on trial."""

    def gaps(level: float) -> tuple[Gap, Gap]:
        """Return the gaps to what served before, and to rules."""
        ours = order_of(tried)
        before_gap, rules_gap = (compared(judged, ours, order_of(other), level=level) for other in (before, RULES))
        return before_gap, rules_gap

    early, floor = gaps(EARLY)
    count = floor.n
    if count >= LEAST and (early.high < 0 or floor.high < 0):
        worse, against = (early, "what served before") if early.high < 0 else (floor, "rules")
        return Verdict(step=ROLLED_BACK, because=f"worse than {against}: {told(worse)}")
    late, floor = gaps(LATE)
    if not over and count < ENOUGH:
        return Verdict(step=WAITING, because=f"on trial: {told(late)}")
    if count < LEAST:
        return Verdict(step=WAITING, because=f"judged: {number_of(count, 'recall')}, {LEAST} are needed")
    if late.mean > 0 and late.low > -SLACK and floor.mean > 0 and floor.low > -SLACK:
        return Verdict(step=PROMOTED, because=f"better: {told(late)}")
    return Verdict(step=ROLLED_BACK, because=f"not better: {told(late)}")


def regressed(judged: Sequence[Judged], serving: str) -> Verdict:
    """Decide whether a version that serves all is rolled back, as it is worse than rules by now."""
    gap = compared(judged, order_of(serving), RULES)
    if gap.n >= LEAST and gap.high < 0:
        return Verdict(step=ROLLED_BACK, because=f"worse than rules: {told(gap)}")
    return Verdict(step=WAITING, because=told(gap))


def told(gap: Gap) -> str:
    """Write a gap in words: "nDCG@5 +0.031 (+0.012 to +0.049) on 214"."""
    return f"nDCG@5 {gap.mean:+.3f} ({gap.low:+.3f} to {gap.high:+.3f}) on {gap.n}"
