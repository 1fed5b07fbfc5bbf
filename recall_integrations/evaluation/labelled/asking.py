"""One recall of a labelled question, timed and counted."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from recall_integrations.config import CacheConfig, RecallConfig
from recall_integrations.errors import InvalidArgument, InvalidInput
from recall_integrations.evaluation.labelled.figures import figures
from recall_integrations.evaluation.questions import Question
from recall_integrations.optimizer import QueryOptimizer
from recall_integrations.types import Hit, RecallResult

Progress = Callable[[str, int, int], None]


def silent(_what: str, _done: int, _total: int) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The answer to a question."""

    question: Question  # as it was asked
    k: int  # hits that were asked for
    hits: tuple[Hit, ...]  # best first
    figures: Mapping[str, float]  # name → value, those of `figures.figures`
    ms: float  # that the recall took
    plan: str  # name of the plan
    degraded: tuple[str, ...] = ()  # `stage:reason` of what was left out
    reranked: bool = False  # whether the order is the reranker's
    rewritten: bool = False  # whether phrasings of an LLM were searched for

    @property
    def ids(self) -> list[str]:
        """Ids of the hits."""
        return [hit.memory.id or "" for hit in self.hits]


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """Milliseconds of recalls, each measured once from call to return."""

    p50: float
    p95: float
    mean: float
    recalls: int


def recalled(optimizer: QueryOptimizer, question: Question, k: int, now: datetime) -> tuple[RecallResult, float]:
    """Recall for a question; return the result and its milliseconds."""
    began = time.perf_counter()
    try:
        result = optimizer.recall(
            question.text,
            k=k,
            scope=question.scope,
            filters=question.filters,
            now=question.asked_at or now,
        )
    except InvalidInput as e:
        raise InvalidArgument(f"Question {question.id!r} cannot be asked: {e}") from e
    return result, (time.perf_counter() - began) * 1e3


def answered(optimizer: QueryOptimizer, question: Question, k: int, now: datetime) -> Answered:
    """Ask the question once, and measure the answer."""
    result, ms = recalled(optimizer, question, k, now)
    return Answered(
        question=question,
        k=k,
        hits=result.hits,
        figures=figures([hit.memory.id or "" for hit in result.hits], question.graded, k),
        ms=ms,
        plan=result.plan.name,
        degraded=tuple(f"{d.stage}:{d.reason}" for d in result.degraded),
        reranked=result.rerank.used,
        rewritten=result.rewrite.used,
    )


def uncached(config: RecallConfig) -> RecallConfig:
    """Return the configuration without the result cache: measured recalls are computed."""
    return replace(config, mode="rule", cache=CacheConfig()) if config.caches else config


def made_ready(optimizers: Sequence[QueryOptimizer], questions: Sequence[Question], k: int, now: datetime) -> None:
    """Load what the first recall of a scope loads, so that no measured one pays for it."""
    first = {question.scope: question for question in reversed(questions)}
    for optimizer in optimizers:
        optimizer.warm()
        for scope, question in first.items():
            optimizer.store.warm(scope=scope)
            recalled(optimizer, question, k, now)


def latency_of(milliseconds: Sequence[float]) -> Latency:
    """Return the median, the 95th percentile and the mean; zeros without recalls."""
    if not milliseconds:
        return Latency(p50=0.0, p95=0.0, mean=0.0, recalls=0)
    p50, p95 = np.percentile(np.asarray(milliseconds), (50, 95)).tolist()
    return Latency(p50=p50, p95=p95, mean=float(np.mean(milliseconds)), recalls=len(milliseconds))
