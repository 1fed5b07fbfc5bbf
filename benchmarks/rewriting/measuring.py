"""One data set: every question without a rewriter and with each of the scripted ones, over one store."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np
from rich.console import Console

from benchmarks.datasets.data import EvaluationData
from benchmarks.quality import comparison, metrics
from benchmarks.quality.report import OURS, Answer
from benchmarks.quality.systems import TIME_BUDGET_MS, RecallSystem
from benchmarks.rewriting.writers import WRITERS, Scripted, writers
from benchmarks.shared.terminal import progress
from recall_integrations.config import BreakerConfig, RecallConfig
from recall_integrations.evaluation.questions import Question
from recall_integrations.rewriting import asking
from recall_integrations.types import RecallResult

if TYPE_CHECKING:
    from recall_integrations import QueryOptimizer

METRICS = ("recall@5", "ndcg@10", "first")  # first: whether the first hit is relevant
PARAPHRASE = "paraphrase"  # category of questions in other words than their answers
K = 10
NEVER_OPEN = 1_000  # failures in a row, the most that can be set


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One question under one rewriter, or without any.

    Args:
        confidence: of the result.
        asked: whether the model was asked for phrasings.
        used: whether the result says that they were searched for.
        reason: the reason code of the rewrite.
        ms: time of the recall.
        scores: metric → value, of `METRICS`.
    """

    confidence: float
    asked: bool
    used: bool
    reason: str
    ms: float
    scores: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A data set.

    Args:
        dataset: its name.
        outcomes: `OURS` (no rewriter) or the rewriter's name → question id → outcome; the same questions for each.
        paraphrases: ids of the questions in other words than their answers, where the data tell them apart.
    """

    dataset: str
    outcomes: Mapping[str, Mapping[str, Outcome]]
    paraphrases: frozenset[str] = frozenset()

    @property
    def paraphrased(self) -> Measured:
        """The paraphrases alone."""
        own = {name: {q: o for q, o in found.items() if q in self.paraphrases} for name, found in self.outcomes.items()}
        return replace(self, outcomes=own)

    @property
    def plain(self) -> Mapping[str, Outcome]:
        """Without a rewriter."""
        return self.outcomes[OURS]

    @property
    def writers(self) -> tuple[str, ...]:
        """Names of the rewriters, in order."""
        return tuple(name for name in self.outcomes if name != OURS)

    def scores(self, name: str, below: float | None = None) -> dict[str, Mapping[str, float]]:
        """Question → metric → value under a rewriter.

        Args:
            name: of the rewriter.
            below: only where the confidence without it is less than this is its answer taken; from 1 on, and by
                default, everywhere.
        """
        chosen = self.outcomes[name]
        return {q: (chosen[q] if unsure(plain, below) else plain).scores for q, plain in self.plain.items()}

    def share(self, name: str, field: str, below: float | None = None) -> float:
        """Share of the questions for which a field of the outcome (`asked`, `used`) is true. Arguments as above."""
        chosen = self.outcomes[name]
        return float(np.mean([unsure(p, below) and getattr(chosen[q], field) for q, p in self.plain.items()]))

    def extra_ms(self, name: str) -> list[float]:
        """What each recall that asked took beyond the same recall without a rewriter; the model takes no time."""
        return [o.ms - self.plain[q].ms for q, o in self.outcomes[name].items() if o.asked]

    def rows(self) -> dict[str, Any]:
        """For JSON: question → what happened to it, without texts."""
        return {
            f"{self.dataset}:{q}": {
                "confidence": plain.confidence,
                **{
                    name: {"asked": o.asked, "used": o.used, "reason": o.reason, "ms": o.ms, **o.scores}
                    for name, o in ((name, found[q]) for name, found in self.outcomes.items())
                },
            }
            for q, plain in self.plain.items()
        }


def unsure(plain: Outcome, below: float | None) -> bool:
    """Whether a rewriter would be asked that is asked below a confidence."""
    return below is None or below >= 1 or plain.confidence < below


class RewrittenSystem(RecallSystem):
    """Our side with a scripted rewriter, or without one; notes what became of the rewrite.

    Args:
        optimizer: with the scripted model as its `llm`.
        name: of the rewriter.
        llm: the model; `None` = there is none.
        fills: whether `enter` remembers the collection; one system of several does.
        time_budget_ms: of a recall.
    """

    def __init__(
        self, optimizer: QueryOptimizer, name: str, llm: Scripted | None, *, fills: bool, time_budget_ms: float
    ) -> None:
        super().__init__(optimizer, name=name, fills=fills, time_budget_ms=time_budget_ms)
        self._llm = llm
        self.results: dict[str, tuple[float, bool, str]] = {}

    def answer(self, question: Question, k: int) -> Answer:
        """One recall, for which the model's answer is ready."""
        if self._llm is not None:
            self._llm.next(question)
        return super().answer(question, k)

    def recall(self, question: Question, k: int) -> RecallResult:
        """As any other, with a note."""
        result = super().recall(question, k)
        self.results[question.id] = (result.confidence or 0.0, result.rewrite.used, result.rewrite.reason)
        return result

    def outcomes(self, answers: Mapping[str, Answer], relevant: Mapping[str, Sequence[str]]) -> dict[str, Outcome]:
        """What was noted, with scores and times, of the questions that were asked."""
        asked = set() if self._llm is None else self._llm.asked
        scores = metrics.score({q: answer.ids for q, answer in answers.items()}, relevant)
        return {
            q: Outcome(
                confidence=self.results[q][0],
                asked=q in asked,
                used=self.results[q][1],
                reason=self.results[q][2],
                ms=answer.ms,
                scores={
                    METRICS[0]: scores[q][METRICS[0]],
                    METRICS[1]: scores[q][METRICS[1]],
                    METRICS[2]: float(not {*answer.ids[:1]}.isdisjoint(relevant[q])),
                },
            )
            for q, answer in answers.items()
        }


def relaxed(config: RecallConfig, *, everywhere: bool) -> RecallConfig:
    """The configuration, but that a rewriter is judged by each answer alone: nothing is switched off, nothing kept.

    Args:
        config: of the user.
        everywhere: whether the model is asked wherever the plan and the query allow it, however sure the answer is.
    """
    breakers = BreakerConfig(failures_max=NEVER_OPEN, open_s=0)
    free: dict[str, Any] = {"cache_s": 0}
    always: dict[str, Any] = {"mode": "full"} if everywhere else {}
    return replace(config, breakers=breakers, rewriting=replace(config.rewriting, **free, **always))


def measure(
    data: EvaluationData,
    console: Console,
    *,
    config: RecallConfig | None = None,
    everywhere: bool = True,
    limit: int | None = None,
    time_budget_ms: float | None = None,
    names: Sequence[str] = WRITERS,
) -> Measured:
    """Ask every question without a rewriter, and with each.

    Args:
        data: the data set.
        console: where progress goes.
        config: of all systems. Default: `RecallConfig()`.
        everywhere: see `relaxed`.
        limit: ask at most this many questions, spread evenly. Default: all.
        time_budget_ms: of a recall. Default: so far off that a busy machine changes nothing.
        names: of the rewriters.

    Raises:
        InvalidArgument: no question has a gold id, or `limit` is under 1.
        MissingExtra: a package of the `bench` extra is missing.
    """
    from recall_integrations import MemoryStore, QueryOptimizer

    settings = relaxed(config or RecallConfig(), everywhere=everywhere)
    scripts = writers(data)
    with ExitStack() as stack:
        # An answer is judged alone, whatever the ones before it were like.
        stack.enter_context(patch.multiple(asking, FALLBACK_MAX=1.0, EMPTY_MAX=1.0, MEDIAN_MAX_MS=math.inf))
        store = stack.enter_context(MemoryStore.open(config=settings))
        systems: list[RewrittenSystem] = []
        for name in (OURS, *names):
            llm = None if name == OURS else Scripted(scripts[name])
            optimizer = QueryOptimizer(store, llm=llm, config=settings)
            budget = time_budget_ms or TIME_BUDGET_MS
            system = RewrittenSystem(optimizer, name, llm, fills=name == OURS, time_budget_ms=budget)
            stack.callback(system.close)
            systems.append(system)
        asked = comparison.chosen(data, limit)
        answers = _answers(data, asked, systems, console)
    relevant = {q.id: q.relevant for q in asked.values()}
    outcomes = {system.name: system.outcomes(answers[system.name], relevant) for system in systems}
    paraphrases = frozenset(q.id for q in asked.values() if q.category == PARAPHRASE)
    return Measured(dataset=data.name, outcomes=outcomes, paraphrases=paraphrases)


def _answers(
    data: EvaluationData, asked: Mapping[str, Question], systems: Sequence[RewrittenSystem], console: Console
) -> dict[str, dict[str, Answer]]:
    """System → question id → answer. Systems take turns at each question, so that none has the busier machine, and the
    first one asks once for nothing before, so that nobody pays for what is loaded."""
    answers: dict[str, dict[str, Answer]] = {system.name: {} for system in systems}
    with progress(console) as bar:
        task = bar.add_task(data.name, total=len(asked))
        for collection in data.collections:
            questions = [question for question in collection.questions if question.id in asked]
            for system in systems if questions else ():
                system.enter(collection)
            for question in questions:
                systems[0].answer(question, K)
                for system in systems:
                    answers[system.name][question.id] = system.answer(question, K)
                bar.update(task, advance=1)
    return answers
