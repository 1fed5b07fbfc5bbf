"""Asked only where the first answer is unsure: below which confidence does that pay?

Nothing is asked again for it. Every question was asked without a rewriter and with it; asked below a confidence `t`, a
question has the answer with the rewriter where the confidence of the one without is under `t`, and the one without
elsewhere. That is what a recall does which searches first and asks then.

The value of a threshold is what the good rewriter gains, less what the worst of the others loses, in recall@5 over all
kinds. Chosen is the least threshold that has `KEPT` of the greatest value: below it recalls ask less often. Left out in
turn, each kind is measured with the threshold that the others choose. Kinds that may be measured but not fitted on
(`MEASURED_ONLY`) choose nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from benchmarks.quality.means import mean_difference
from benchmarks.rewriting.measuring import METRICS, Measured
from benchmarks.rewriting.writers import GOOD
from recall_integrations.evaluation.metrics import Interval

THRESHOLDS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
KEPT = 0.95
MEASURED_ONLY = ("locomo", "locomo-when", "assistant")  # their terms
METRIC = METRICS[0]
Groups = Mapping[str, Sequence[Measured]]  # kind → its data sets


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One threshold over kinds.

    Args:
        below: the confidence.
        share: of the recalls that would ask, under the good rewriter.
        changes: rewriter → metric → with minus without, the mean over kinds.
    """

    below: float
    share: float
    changes: Mapping[str, Mapping[str, float]]

    @property
    def value(self) -> float:
        """See the module."""
        means = {name: found[METRIC] for name, found in self.changes.items()}
        worst = min((mean for name, mean in means.items() if name != GOOD), default=0.0)
        return means.get(GOOD, 0.0) + min(0.0, worst)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "value": self.value}


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A kind, with the threshold that the others choose.

    Args:
        kind: its name.
        chosen: on the kind, at that threshold.
        always: on the kind, asked always.
    """

    kind: str
    chosen: Step
    always: Step

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"kind": self.kind, "chosen": self.chosen.as_dict(), "always": self.always.as_dict()}


def weighed(groups: Groups) -> list[tuple[float, Measured]]:
    """Data sets with their weights: each kind counts the same, and in it each data set."""
    return [(1 / (len(groups) * len(own)), measured) for own in groups.values() for measured in own]


def plain(groups: Groups, metric: str) -> float:
    """Without a rewriter."""
    return sum(w * float(np.mean([o.scores[metric] for o in m.plain.values()])) for w, m in weighed(groups))


def step(groups: Groups, below: float) -> Step:
    """A threshold over these kinds."""
    parts = weighed(groups)
    names = parts[0][1].writers
    return Step(
        below=below,
        share=sum(weight * measured.share(_asker(measured), "asked", below) for weight, measured in parts),
        changes={
            name: {metric: sum(w * _change(m, name, metric, below) for w, m in parts) for metric in METRICS}
            for name in names
        },
    )


def _asker(measured: Measured) -> str:
    return GOOD if GOOD in measured.writers else measured.writers[0]


def _change(measured: Measured, name: str, metric: str, below: float) -> float:
    without = measured.plain
    return float(np.mean([row[metric] - without[q].scores[metric] for q, row in measured.scores(name, below).items()]))


def difference(groups: Groups, name: str, metric: str) -> Interval:
    """A rewriter, asked always, minus none, with the interval of a stratified bootstrap."""
    parts = weighed(groups)
    pairs = [(m.scores(name), {q: outcome.scores for q, outcome in m.plain.items()}) for _, m in parts]
    return mean_difference(pairs, metric, weights=[weight for weight, _ in parts])


def steps(groups: Groups) -> list[Step]:
    """Every threshold over these kinds."""
    return [step(groups, below) for below in THRESHOLDS]


def chosen(found: Sequence[Step]) -> Step:
    """The least threshold that has `KEPT` of the greatest value; the least of all where nothing is gained."""
    best = max(one.value for one in found)
    if best <= 0:
        return found[0]
    return next(one for one in found if one.value >= KEPT * best)


def fitting(groups: Groups) -> Groups:
    """Those of the kinds that may be fitted on."""
    return {kind: own for kind, own in groups.items() if kind not in MEASURED_ONLY}


def left_out(groups: Groups) -> list[LeftOut]:
    """Each kind with what the others choose; those of which no other is left to choose are not there."""
    found = []
    for kind, own in groups.items():
        others = fitting({name: parts for name, parts in groups.items() if name != kind})
        if others:
            below = chosen(steps(others)).below
            alone = {kind: own}
            found.append(LeftOut(kind=kind, chosen=step(alone, below), always=step(alone, 1.0)))
    return found
