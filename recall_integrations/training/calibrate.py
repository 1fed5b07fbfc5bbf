"""The calibration of a ranker that `recall train` makes: from recalls of queries that the ranker had not seen.

    queries of a fold ─ recall in their own scope, and in another one ─▶ scores of the fold's ranker ─▶ outcomes
         ─ fit without each fold in turn ─▶ how well such a calibration holds ─ fit on all ─▶ the calibration

In another scope nothing answers a query; that is assumed, and wrong where scopes share knowledge. The
outcomes of right and wrong scope are weighed so that `ANSWERABLE` of the queries have an answer. Where there is one
scope only, or all queries of one fold belong to it, there is no example of a query without an answer: then the
probabilities hold for queries that have one, and say little about when to abstain.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recall_integrations.adapters.scopes import scope_text
from recall_integrations.evaluation.questions import Question
from recall_integrations.ranking.calibration.model import Calibration, K
from recall_integrations.training.calibration import JudgedOutcome, Outcome, auroc, ece, fit_calibration, judge
from recall_integrations.training.watched import Recalled
from recall_integrations.types import Scope

ANSWERABLE = 2 / 3
MIN_OUTCOMES = 100  # queries with a relevant candidate; with fewer, probabilities would be noise


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated:
    """The quality of probabilities on queries that neither the ranker nor the calibration had seen."""

    queries: int  # number of queries asked in their own scope
    wrong: int  # number of queries asked in another scope
    score_error: float  # expected calibration error of the scores of the first ten hits
    confidence_error: float  # of the confidence, k = 10
    auroc: float | None

    def about(self) -> dict[str, Any]:
        """Return the figures as plain data for the weights."""
        figures = {"hits ECE": round(self.score_error, 4), "confidence ECE": round(self.confidence_error, 4)}
        if self.auroc is not None:
            figures["AUROC, wrong scope"] = round(self.auroc, 4)
        assumed = "queries have an answer; there was no other scope to ask them in, so abstaining was not learned"
        if self.wrong:
            assumed = f"{ANSWERABLE:.2f} of the queries have an answer; another scope has none"
        return {
            "data": {"queries": self.queries, "asked in another scope": self.wrong},
            "assumes": assumed,
            "split": "figures: scores of rankers and calibrations fitted without the fold; this one: all folds",
            "figures": figures,
        }


def wrong_scopes(asked: Sequence[Question], fold_of: Sequence[int]) -> list[Scope | None]:
    """Choose for each query a scope that is not its own: the next of its fold, so that the fold's ranker has not
    learned from its queries either; else the next of all; `None` where there is one scope."""
    everywhere = _in_order(q.scope for q in asked)
    within = {
        fold: _in_order(q.scope for q, f in zip(asked, fold_of, strict=True) if f == fold) for fold in set(fold_of)
    }
    found: list[Scope | None] = []
    for question, fold in zip(asked, fold_of, strict=True):
        near = within[fold] if len(within[fold]) > 1 else everywhere
        found.append(near[(near.index(question.scope) + 1) % len(near)] if len(near) > 1 else None)
    return found


def outcome(found: Recalled, *, answered: bool = True) -> Outcome:
    """Make the outcome of a recall for calibration; with `answered` false, of a scope that has no answer."""
    relevant = found.example.relevant if answered else np.zeros_like(found.example.relevant)
    return Outcome(features=found.example.features, scores=found.scores, relevant=relevant, unknown=found.unknown)


def weighed(own: Sequence[Outcome], wrong: Sequence[Outcome], answerable: float = ANSWERABLE) -> list[Outcome]:
    """Return all outcomes, weighed so that `answerable` of the weight is in `own`."""
    if not own or not wrong:
        return [*own, *wrong]
    size = len(own) + len(wrong)
    return [
        *(replace(o, weight=size * answerable / len(own)) for o in own),
        *(replace(o, weight=size * (1 - answerable) / len(wrong)) for o in wrong),
    ]


def calibrated(
    own: Mapping[int, Sequence[Outcome]],
    wrong: Mapping[int, Sequence[Outcome]],
    *,
    ranker: str,
    ranker_version: str,
) -> tuple[Calibration, Calibrated] | None:
    """Fit the calibration, and measure such calibrations; `None` where there are too few outcomes."""
    if sum(bool(o.relevant.any()) for some in own.values() for o in some) < MIN_OUTCOMES:
        return None

    def fitted(without: int | None, about: Mapping[str, Any]) -> Calibration:
        kept, other = ([o for fold, part in side.items() if fold != without for o in part] for side in (own, wrong))
        version = f"own-{ranker_version}"
        some = weighed(kept, other)
        return fit_calibration(some, ranker=ranker, ranker_version=ranker_version, version=version, about=about)

    judged: list[JudgedOutcome] = []
    right: list[bool] = []
    for fold in sorted(own):
        there = fitted(fold, {})
        for side, answered in ((own, True), (wrong, False)):
            judged.extend(judge(o, there) for o in side.get(fold, ()))
            right.extend(answered for _ in side.get(fold, ()))
    figures = _figures(judged, np.asarray(right))
    return fitted(None, figures.about()), figures


def _figures(judged: Sequence[JudgedOutcome], right: NDArray[np.bool_]) -> Calibrated:
    weight = np.ones(len(judged))
    if not right.all():
        weight = np.where(right, ANSWERABLE / right.sum(), (1 - ANSWERABLE) / (~right).sum())
    scores, hits = (np.concatenate([getattr(j, name) for j in judged]) for name in ("scores", "hits"))
    confidence = np.asarray([j.confidence[K] for j in judged])
    found = np.asarray([j.found[K] for j in judged])
    return Calibrated(
        queries=int(right.sum()),
        wrong=int((~right).sum()),
        score_error=ece(scores.astype(np.float64), hits, np.repeat(weight, [len(j.scores) for j in judged])),
        confidence_error=ece(confidence, found, weight),
        auroc=None if right.all() else auroc(confidence[right], confidence[~right]),
    )


def _in_order(scopes: Iterable[Scope]) -> list[Scope]:
    return sorted(set(scopes), key=scope_text)
