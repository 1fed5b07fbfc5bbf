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

from benchmarks.rewriting.measuring import METRICS, Measured
from benchmarks.rewriting.writers import GOOD
from recall_integrations.evaluation.metrics import Interval
from recall_integrations.evaluation.quality.means import mean_difference

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
        changes: rewriter → metric → with minus without.
    """

    below: float
    share: float
    changes: Mapping[str, Mapping[str, Interval]]

    @property
    def value(self) -> float:
        """See the module."""
        means = {name: gaps[METRIC].mean for name, gaps in self.changes.items()}
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


def step(groups: Groups, below: float) -> Step:
    """A threshold over these kinds. Each kind counts the same, and in it each data set."""
    parts = [measured for own in groups.values() for measured in own]
    weights = [1 / (len(groups) * len(own)) for own in groups.values() for _ in own]
    share = sum(w * m.share(_asker(m), "asked", below) for w, m in zip(weights, parts, strict=True))
    return Step(
        below=below,
        share=share,
        changes={name: _changes(parts, weights, name, below) for name in parts[0].writers},
    )


def _asker(measured: Measured) -> str:
    return GOOD if GOOD in measured.writers else measured.writers[0]


def _changes(parts: Sequence[Measured], weights: Sequence[float], name: str, below: float) -> dict[str, Interval]:
    pairs = [({**m.scores(name, below)}, {q: plain.scores for q, plain in m.plain.items()}) for m in parts]
    return {metric: mean_difference(pairs, metric, weights=weights) for metric in METRICS}


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
