"""What a comparison of systems found, question by question, and its JSON.

Each system is of a kind: `ours`, `peer`, or `stage` (ours with one stage changed or switched off).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.quality import metrics
from benchmarks.quality.metrics import Average
from recall_integrations.evaluation.metrics import Interval
from recall_integrations.evaluation.questions import Question

if TYPE_CHECKING:
    from recall_integrations.types import RecallResult

OURS = "recall"
COMPARED = ("recall@5", "ndcg@10")  # metrics of the differences
FORMAT = 2  # of the JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a system returned for a question.

    Args:
        ids: best first.
        plan: name of the plan; empty for peers.
        degraded: `stage:reason` of each degradation; empty for peers.
        ms: time of the call.
    """

    ids: tuple[str, ...]
    plan: str = ""
    degraded: tuple[str, ...] = ()
    ms: float = 0.0

    @classmethod
    def of(cls, result: RecallResult, *, ms: float) -> Answer:
        """A result of ours."""
        return cls(
            ids=tuple(hit.memory.id or "" for hit in result.hits),
            plan=result.plan.name,
            degraded=tuple(f"{d.stage}:{d.reason}" for d in result.degraded),
            ms=ms,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityReport:
    """The outcome of a comparison.

    Args:
        dataset: its name.
        k: results asked for.
        questions: those that were asked, in order.
        answers: system → question id → answer.
        scores: system → question id → metric → value.
        averages: system → category (`overall` first) → average.
        differences: system → metric of `COMPARED` → ours minus the system's, with its interval.
        kinds: system → its kind; missing = `ours` for `OURS`, else `peer`.
        notes: system → what must be known to read its figures.
        family: of the data set.
    """

    dataset: str
    k: int
    questions: tuple[Question, ...]
    answers: Mapping[str, Mapping[str, Answer]]
    scores: Mapping[str, Mapping[str, Mapping[str, float]]]
    averages: Mapping[str, Mapping[str, Average]] = field(default_factory=dict)
    differences: Mapping[str, Mapping[str, Interval]] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    family: str = ""

    def kind(self, system: str) -> str:
        """`ours`, `peer` or `stage`."""
        return self.kinds.get(system, "ours" if system == OURS else "peer")

    def systems(self, *kinds: str) -> list[str]:
        """Names of the systems of these kinds, in order."""
        return [name for name in self.answers if self.kind(name) in kinds]

    def plans(self, system: str = OURS) -> dict[str, Average]:
        """Averages by the plan that was chosen, most frequent first; empty for a peer."""
        chosen = {q: a.plan for q, a in self.answers.get(system, {}).items() if a.plan}
        groups = {
            plan: metrics.average(row for q, row in self.scores[system].items() if chosen.get(q) == plan)
            for plan in sorted(set(chosen.values()))
        }
        return dict(sorted(groups.items(), key=lambda item: (-item[1].questions, item[0])))

    def degraded(self, system: str = OURS) -> tuple[int, dict[str, int]]:
        """How many answers were degraded, and how often each `stage:reason` came."""
        answers = self.answers.get(system, {}).values()
        reasons = Counter(reason for a in answers for reason in a.degraded)
        return sum(bool(a.degraded) for a in answers), dict(
            sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
        )

    def moved(self, system: str) -> int:
        """Questions for which a system returned something else than ours, or in another order."""
        return sum(self.answers[OURS][q].ids != a.ids for q, a in self.answers[system].items())

    def median_ms(self, system: str) -> float:
        """Median time of a call. An indication only: `recall bench latency` measures properly."""
        times = [a.ms for a in self.answers[system].values()]
        return float(np.median(times)) if times else 0.0

    def as_dict(self) -> dict[str, Any]:
        """For JSON: averages, plans, degradations and differences."""
        count, reasons = self.degraded()
        return {
            "questions": len(self.questions),
            "family": self.family,
            "systems": {
                system: {
                    "kind": self.kind(system),
                    **({"note": self.notes[system]} if system in self.notes else {}),
                    "median_ms": self.median_ms(system),
                    **({"moved": self.moved(system)} if OURS in self.answers else {}),
                    "averages": {c: {"questions": a.questions, **a.values} for c, a in categories.items()},
                }
                for system, categories in self.averages.items()
            },
            "plans": {plan: {"questions": a.questions, **a.values} for plan, a in self.plans().items()},
            "degraded": {"results": count, "reasons": reasons},
            "differences": as_numbers(self.differences),
        }

    def rankings(self) -> dict[str, Any]:
        """For JSON: `dataset:question` → its gold ids and the ids that each system returned, best first. No texts."""
        return {
            f"{self.dataset}:{q.id}": {
                "dataset": self.dataset,
                "category": q.category,
                "relevant": list(q.relevant),
                "plan": self.answers[OURS][q.id].plan if OURS in self.answers else "",
                "ids": {system: list(found[q.id].ids) for system, found in self.answers.items()},
            }
            for q in self.questions
        }


def as_numbers(differences: Mapping[str, Mapping[str, Interval]]) -> dict[str, dict[str, dict[str, float]]]:
    """For JSON."""
    return {
        system: {metric: {"mean": gap.mean, "low": gap.low, "high": gap.high} for metric, gap in gaps.items()}
        for system, gaps in differences.items()
    }
