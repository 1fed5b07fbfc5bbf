"""A comparison of two evaluations of the same questions: `recall eval --against REPORT`.

Differences are of the same questions (paired), with bootstrap intervals.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation.evaluation import Evaluation
from recall_integrations.evaluation.metrics import OVERALL, Interval, chance, deviation, intervals, labels_needed
from recall_integrations.evaluation.questions import read_text

SURE = 0.05  # chance below which a difference is one
EFFECTS = (0.05, 0.02, 0.01)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """An evaluation minus an earlier one, on the questions that both asked.

    Args:
        questions: that both asked.
        changes: figure → mean change with its 95 % interval.
        chances: figure → share of random signs that give as large a change.
        ms: change of the time of a recall.
        moved: questions that were answered with other ids, or in another order.
        labels_needed: change of the last figure but one → questions that would show it.
    """

    questions: int
    changes: Mapping[str, Interval]
    chances: Mapping[str, float]
    ms: Interval
    moved: int
    labels_needed: Mapping[float, int]

    def verdict(self, figure: str) -> str:
        """Return `better` or `worse` if the interval excludes 0 and the test of signs agrees; else `not told apart`."""
        one = self.changes[figure]
        if self.chances[figure] > SURE or one.low <= 0 <= one.high:
            return "not told apart"
        return "better" if one.mean > 0 else "worse"

    def table(self) -> str:
        """Return the table as text, for a terminal or a notebook."""
        from recall_integrations.evaluation.reports import of_comparison, text_of

        return text_of(of_comparison(self))

    def as_dict(self) -> dict[str, Any]:
        """Return all values for JSON."""
        return {**asdict(self), "verdicts": {figure: self.verdict(figure) for figure in self.changes}}


def compare(before: Evaluation | Mapping[str, Any], after: Evaluation | Mapping[str, Any], seed: int = 0) -> Comparison:
    """Compare two evaluations, or their reports as `Evaluation.as_dict` makes them.

    Raises:
        InvalidArgument: one of them is no report, or they share no question, or have other figures.
    """
    first, second = map(_report, (before, after))
    shared = [one for one in first["answers"] if one in second["answers"]]
    shown, others = ([name for name in one["averages"][OVERALL] if "@" in name] for one in (first, second))
    if not shared or shown != others:
        raise InvalidArgument("The reports share no question, or have other figures. Ask the same, with the same k.")
    pairs = [(first["answers"][one], second["answers"][one]) for one in shared]
    gaps = np.asarray([[b[name] - a[name] for name in shown] for a, b in pairs], dtype=np.float64)
    spread = deviation(gaps[:, -2].tolist())
    return Comparison(
        questions=len(shared),
        changes=dict(zip(shown, intervals(gaps, seed=seed), strict=True)),
        chances={name: chance(gaps[:, i].tolist(), seed=seed) for i, name in enumerate(shown)},
        ms=intervals(np.asarray([[b["ms"] - a["ms"]] for a, b in pairs]), seed=seed)[0],
        moved=sum(a["ids"] != b["ids"] for a, b in pairs),
        labels_needed={effect: labels_needed(spread, effect) for effect in EFFECTS} if spread else {},
    )


def _report(given: Evaluation | Mapping[str, Any]) -> Mapping[str, Any]:
    return given.as_dict() if isinstance(given, Evaluation) else given


def read_report(path: str | Path) -> Mapping[str, Any]:
    """Read a report that `recall eval --json` wrote."""
    try:
        found = json.loads(read_text(Path(path)))
    except (json.JSONDecodeError, RecursionError) as e:
        raise InvalidArgument(f"{path} is not JSON: {e}") from e
    if not isinstance(found, dict) or not {"answers", "averages"} <= found.keys():
        raise InvalidArgument(f"{path} is no report of `recall eval --json`.")
    return found
