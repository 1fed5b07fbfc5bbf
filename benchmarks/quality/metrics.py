"""Ranking metrics per question, and their averages.

The numbers come from `ir_measures` on top of `pytrec_eval`, the binding of NIST's trec_eval, so that they compare
with published ones:

- `recall@k`: share of the relevant ids among the first k (`R@k`). With several relevant ids recall@1 cannot reach 1.
- `ndcg@10`: binary gains, discount `1 / log2(rank + 1)`, divided by the best possible order of *all* relevant ids,
  cut at 10 (Järvelin and Kekäläinen, 2002; trec_eval's `ndcg_cut_10`).
- `mrr@10`: `1 / rank` of the first relevant id among the first ten, else 0 (`RR@10`).

Averages are macro: every question counts the same, however many relevant ids it has. Questions without a relevant
id are left out by the callers, since every metric is undefined for them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.quality.paired import METRICS
from benchmarks.shared.extras import require
from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation.metrics import OVERALL


@dataclass(frozen=True, slots=True, kw_only=True)
class Average:
    """Macro averages over `questions` questions; `values` maps each of `METRICS` to a number in [0, 1]."""

    questions: int
    values: Mapping[str, float]


def score(ranked: Mapping[str, Sequence[str]], relevant: Mapping[str, Collection[str]]) -> dict[str, dict[str, float]]:
    """Each of `METRICS` for each question.

    Args:
        ranked: question id → result ids, best first. An id that comes twice counts at its first place only. A
            question that is missing here was answered with nothing and scores 0.
        relevant: question id → relevant ids, at least one each.

    Returns:
        Question id → metric name → value in [0, 1], in the order of `relevant`.

    Raises:
        InvalidArgument: a question without relevant ids, or a ranking for an unknown question.
        MissingExtra: `ir_measures` is not installed.
    """
    empty = [q for q, ids in relevant.items() if not ids]
    if empty:
        raise InvalidArgument(f"Question {empty[0]!r} has no relevant id; leave such questions out.")
    unknown = [q for q in ranked if q not in relevant]
    if unknown:
        raise InvalidArgument(f"There is a ranking for question {unknown[0]!r}, which is not among the relevant ids.")
    if not relevant:
        return {}
    engine = require("ir_measures")
    recall, ndcg, rr = engine.R, engine.nDCG, engine.RR
    measures = {
        recall @ 1: "recall@1",
        recall @ 5: "recall@5",
        recall @ 10: "recall@10",
        ndcg @ 10: "ndcg@10",
        rr @ 10: "mrr@10",
    }
    qrels = {q: dict.fromkeys(ids, 1) for q, ids in relevant.items()}
    # trec_eval orders by score and breaks ties by id, so the place in the list becomes a distinct score.
    run = {q: {doc: -float(place) for place, doc in enumerate(dict.fromkeys(ids))} for q, ids in ranked.items()}
    scores = {q: dict.fromkeys(METRICS, 0.0) for q in relevant}
    for found in engine.iter_calc(list(measures), qrels, run):
        scores[found.query_id][measures[found.measure]] = float(found.value)
    return scores


def average(scores: Iterable[Mapping[str, float]]) -> Average:
    """Macro average over questions; zeros where there is none."""
    rows = [[row[name] for name in METRICS] for row in scores]
    if not rows:
        return Average(questions=0, values=dict.fromkeys(METRICS, 0.0))
    means = np.asarray(rows, dtype=np.float64).mean(axis=0)
    return Average(questions=len(rows), values={name: float(v) for name, v in zip(METRICS, means, strict=True)})


def by_category(scores: Mapping[str, Mapping[str, float]], category: Mapping[str, str]) -> dict[str, Average]:
    """`overall` first, then every category in alphabetical order.

    Raises:
        InvalidArgument: a question has no category.
    """
    groups: dict[str, list[Mapping[str, float]]] = {}
    for question, row in scores.items():
        if question not in category:
            raise InvalidArgument(f"Question {question!r} has no category.")
        groups.setdefault(category[question], []).append(row)
    return {OVERALL: average(scores.values())} | {name: average(groups[name]) for name in sorted(groups)}
