"""Several data sets together: the mean of their means, and its intervals.

Each data set counts the same, however many questions it has. The interval is a stratified percentile bootstrap:
questions are drawn again within each data set, and the means of the data sets are averaged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.quality.paired import METRICS, paired_difference
from benchmarks.quality.report import COMPARED, FORMAT, OURS, QualityReport, as_numbers
from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation.metrics import OVERALL, Interval

Scores = Mapping[str, Mapping[str, float]]  # question → metric → value


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """Data sets of one family together.

    Args:
        name: in tables, such as `multi-hop mean`.
        reports: of the data sets.
        systems: system → metric → mean; those that every report has.
        differences: system → metric → ours minus the system's.
    """

    name: str
    reports: tuple[QualityReport, ...]
    systems: Mapping[str, Mapping[str, float]]
    differences: Mapping[str, Mapping[str, Interval]]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "datasets": [report.dataset for report in self.reports],
            "systems": {s: {"kind": self.reports[0].kind(s), **values} for s, values in self.systems.items()},
            "differences": as_numbers(self.differences),
        }


def of_families(reports: Sequence[QualityReport]) -> tuple[Mean, ...]:
    """A mean for each family with two data sets or more, in order of appearance."""
    families: dict[str, list[QualityReport]] = {}
    for report in reports:
        if report.family:
            families.setdefault(report.family, []).append(report)
    return tuple(_mean(f"{family} mean", own) for family, own in families.items() if len(own) > 1)


def _mean(name: str, reports: Sequence[QualityReport]) -> Mean:
    shared = [s for s in reports[0].answers if all(s in r.answers for r in reports)]
    return Mean(
        name=name,
        reports=tuple(reports),
        systems={
            s: {m: float(np.mean([r.averages[s][OVERALL].values[m] for r in reports])) for m in METRICS} for s in shared
        },
        differences=differences([{s: r.scores[s] for s in shared} for r in reports], OURS, COMPARED),
    )


def differences(
    scores: Sequence[Mapping[str, Scores]], ours: str, metrics: Sequence[str]
) -> dict[str, dict[str, Interval]]:
    """Ours minus every other system.

    Args:
        scores: for each data set, system → scores; the same systems in each.
        ours: name of our system; where it is missing, there is nothing to compare.
        metrics: which.
    """
    if not scores or ours not in scores[0]:
        return {}
    return {
        system: {m: mean_difference([(part[ours], part[system]) for part in scores], m) for m in metrics}
        for system in scores[0]
        if system != ours
    }


def mean_difference(
    pairs: Sequence[tuple[Scores, Scores]],
    metric: str,
    *,
    weights: Sequence[float] | None = None,
    samples: int = 2_000,
    seed: int = 0,
) -> Interval:
    """How much better the first of each pair is, averaged over the pairs: one pair for each data set.

    Args:
        pairs: scores of one system and of another.
        metric: one of `METRICS`.
        weights: of the pairs, with the sum 1. Default: all the same.
        samples: drawn for the interval.
        seed: of the draws.

    Raises:
        InvalidArgument: no pair, other questions on the two sides of one, or an unknown metric.
    """
    if not pairs:
        raise InvalidArgument("A mean difference needs at least one data set.")
    parts = [paired_difference(a, b, metric, samples=samples, seed=seed) for a, b in pairs]
    if len(parts) == 1:
        return parts[0]
    shares = np.full(len(pairs), 1 / len(pairs)) if weights is None else np.asarray(weights, dtype=np.float64)
    rng = np.random.default_rng(seed)
    drawn = np.zeros(samples)
    for share, (one, other) in zip(shares.tolist(), pairs, strict=True):
        gaps = np.asarray([one[q][metric] - other[q][metric] for q in one], dtype=np.float64)
        drawn += [share * gaps[rng.integers(0, len(gaps), len(gaps))].mean() for _ in range(samples)]
    low, high = np.percentile(drawn, (2.5, 97.5))
    return Interval(mean=float(shares @ [part.mean for part in parts]), low=float(low), high=float(high))


def spread(parts: Sequence[Scores], metric: str, weights: Sequence[float] | None = None) -> Interval:
    """The mean of a metric over data sets, with its 95 % bootstrap interval. Weights as for `mean_difference`.

    Raises:
        InvalidArgument: there are no questions, or the metric is unknown.
    """
    nothing = dict.fromkeys(METRICS, 0.0)
    return mean_difference([(scores, dict.fromkeys(scores, nothing)) for scores in parts], metric, weights=weights)


def as_dict(reports: Sequence[QualityReport], means: Sequence[Mean], about: Mapping[str, Any]) -> dict[str, Any]:
    """The report of a run, for JSON."""
    return {
        "format": FORMAT,
        "k": reports[0].k,
        "datasets": {report.dataset: report.as_dict() for report in reports},
        "means": {mean.name: mean.as_dict() for mean in means},
        "rankings": {key: row for report in reports for key, row in report.rankings().items()},
        "environment": dict(about),
    }
