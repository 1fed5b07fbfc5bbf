"""How much better a system is than another on the same questions."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation.metrics import Interval

METRICS = ("recall@1", "recall@5", "recall@10", "ndcg@10", "mrr@10")


def paired_difference(
    ours: Mapping[str, Mapping[str, float]],
    theirs: Mapping[str, Mapping[str, float]],
    metric: str,
    *,
    samples: int = 2_000,
    seed: int = 0,
) -> Interval:
    """Return how much better `ours` is than `theirs` on the same questions: mean difference and 95 % interval.

    Percentile bootstrap over questions (Efron, 1979); an interval that holds 0 means the data cannot tell them apart.
    Questions are taken as independent: what varies between whole conversations or data sets is not in the interval.
    """
    if metric not in METRICS:
        raise InvalidArgument(f"Unknown metric {metric!r}. Use one of: {', '.join(METRICS)}.")
    if not ours or ours.keys() != theirs.keys():
        raise InvalidArgument("A paired comparison needs the same questions, at least one, on both sides.")
    gaps = np.asarray([ours[q][metric] - theirs[q][metric] for q in ours], dtype=np.float64)
    rng = np.random.default_rng(seed)
    means = np.asarray([gaps[rng.integers(0, len(gaps), len(gaps))].mean() for _ in range(samples)])
    low, high = np.percentile(means, (2.5, 97.5))
    return Interval(mean=float(gaps.mean()), low=float(low), high=float(high))
