"""Figures of recalls on a user's own questions: `recall eval`.

labels ─ place in scopes ─ recall each once ─▶ figures, intervals, groups, latency, calibration
                               └─ those that went worst: what came instead, and where the expected one was
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np

from recall_integrations.adapters.reranker import resolve_reranker
from recall_integrations.adapters.scopes import scope_text
from recall_integrations.config import CacheConfig, RecallConfig
from recall_integrations.errors import InvalidArgument, InvalidInput
from recall_integrations.evaluation.metrics import (
    OVERALL,
    Bin,
    Interval,
    bins_of,
    error_of,
    figures,
    hit_names,
    intervals,
    names,
)
from recall_integrations.evaluation.questions import Labels, Placed, Question, Read, placed, read_labels
from recall_integrations.optimizer import QueryOptimizer
from recall_integrations.reranking.reranker import Reranker
from recall_integrations.reranking.reranking import LOGIT, PROBABILITY, RELEVANT_FROM, Band, band, has_bands
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.text.shortening import number_of, plain
from recall_integrations.types import Hit, Memory, RecallResult, indexed_text, utc_now

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
            question.text, k=k, scope=question.scope, filters=question.filters, now=question.asked_at or now
        )
    except InvalidInput as e:
        raise InvalidArgument(f"Question {question.id!r} cannot be asked: {e}") from e
    return result, (time.perf_counter() - began) * 1e3


def answered(
    optimizer: QueryOptimizer, question: Question, k: int, now: datetime, judge: Judge | None = None
) -> Answered:
    """Ask the question once, and measure the answer by its labels, or by what a judge says of its hits."""
    result, ms = recalled(optimizer, question, k, now)
    if judge is not None:
        verdicts = judge.relevant(question.text, [hit.memory for hit in result.hits]) if result.hits else []
        good = (hit.memory.id or "" for hit, relevant in zip(result.hits, verdicts, strict=True) if relevant)
        question = replace(question, relevant=tuple(good), grades={})
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


LABELS = "labels"
DEPTH = 100  # places in which an expected memory is looked for
SHOWN = 280  # characters of a memory in a report


@dataclass(frozen=True, slots=True, kw_only=True)
class Came:
    """A hit of a question that went wrong."""

    id: str
    score: float
    relevant: bool
    text: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """A relevant memory; `place` from 1, looked for among the first `DEPTH`; `None` = it is not there."""

    id: str
    text: str
    place: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Worst:
    """A question that went wrong: what came, and what should have."""

    id: str
    query: str
    scope: str
    group: str
    value: float
    plan: str
    came: tuple[Came, ...]
    expected: tuple[Expected, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The result of an evaluation.

    Args:
        k: hits that were asked for.
        questions: that were asked.
        averages: group (`overall` first) → figure → mean with its 95 % interval.
        sizes: group → questions.
        latency: of the recalls.
        calibration: scores against the relevant share.
        worst: by nDCG, the worst first.
        answers: of every question.
        missing: question id → labels that name no memory of its scope; they were left out.
        unanswerable: questions of which no label was left; they were not asked.
        unwritten, unlabelled: lines without a query, and without a relevant id.
        degraded: `stage:reason` → recalls in which something was left out.
        reranked, rewritten: recalls whose order is the reranker's, and for which phrasings of an LLM were searched.
        judge: `labels`, or the name of the model that said what is relevant.
    """

    k: int
    questions: int
    averages: Mapping[str, Mapping[str, Interval]]
    sizes: Mapping[str, int]
    latency: Latency
    calibration: tuple[Bin, ...]
    worst: tuple[Worst, ...]
    answers: tuple[Answered, ...]
    missing: Mapping[str, tuple[str, ...]]
    unanswerable: tuple[str, ...] = ()
    unwritten: int = 0
    unlabelled: int = 0
    degraded: Mapping[str, int]
    reranked: int = 0
    rewritten: int = 0
    judge: str = LABELS

    @property
    def calibration_error(self) -> float:
        """Mean distance between scores and relevant shares."""
        return error_of(self.calibration)

    def table(self) -> str:
        """Return the tables as text, for a terminal or a notebook."""
        from recall_integrations.evaluation.reports import of_evaluation, text_of

        return text_of(of_evaluation(self))

    def as_dict(self) -> dict[str, Any]:
        """Return all values for JSON."""
        as_they_are = ("k", "questions", "judge", "unwritten", "unlabelled", "degraded", "reranked", "rewritten")
        return {
            "format": 1,
            **{name: getattr(self, name) for name in as_they_are},
            "averages": {
                group: {"questions": self.sizes[group], **{name: asdict(one) for name, one in row.items()}}
                for group, row in self.averages.items()
            },
            "latency_ms": asdict(self.latency),
            "calibration": {"error": self.calibration_error, "bins": [asdict(one) for one in self.calibration]},
            "missing": {question: list(ids) for question, ids in self.missing.items()},
            "unanswerable": list(self.unanswerable),
            "worst": [asdict(one) for one in self.worst],
            "answers": {a.question.id: _answer(a) for a in self.answers},
        }

    def to_json(self, **more: Any) -> str:
        """Return `as_dict` as JSON text, with further keys."""
        return json.dumps({**self.as_dict(), **more}, ensure_ascii=False, indent=1)


def _answer(one: Answered) -> dict[str, Any]:
    return {
        "group": one.question.category,
        "relevant": one.question.graded,
        "ids": one.ids,
        "scores": [hit.score for hit in one.hits],
        "plan": one.plan,
        "ms": round(one.ms, 3),
        **one.figures,
    }


def evaluate(
    source: MemoryStore | QueryOptimizer,
    labels: Labels,
    *,
    k: int = 5,
    scope: str | None = None,
    now: datetime | None = None,
    worst: int = 10,
    texts: bool = True,
    judge: object = None,
    threshold: float | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> Evaluation:
    """Ask labelled questions, and measure the answers.

    Args:
        source: a store, or an optimizer with whatever it was given (a reranker, an LLM, arms).
        labels: path of a file with a JSON object a line, or mappings with the same keys: `query`, `relevant` (ids, or
            id → grade), and optional `scope`, `filters`, `now`, `group`, `id`.
        k: hits of each recall.
        scope: of questions that name none, `user/agent/namespace`.
        now: the present of questions that have none; timezone-aware; default the clock.
        worst: how many questions that went wrong are described.
        texts: whether queries, memories and reasons are in the report; without them it names ids only.
        judge: says which hits are relevant, instead of the labels, which queries then need not have: as `Judge`.
        threshold: score of the judge from which a memory is relevant; see `Judge`.
        seed: of the bootstrap.
        progress: called with what is done, how much of it, and how much there is.

    Raises:
        InvalidArgument: a line is wrong, no label is in the store, a question cannot be asked, or a judge of an unknown
            scale has no threshold.
        InvalidScope, NotFound: the scope is not there.
    """
    judging = None if judge is None else Judge(judge, threshold)
    read = read_labels(labels, labelled=judging is None)
    moment = utc_now() if now is None else now
    with ExitStack() as stack:
        optimizer = source
        if not isinstance(optimizer, QueryOptimizer):
            settings = uncached(optimizer.config)
            optimizer = stack.enter_context(closing(QueryOptimizer(optimizer, config=settings)))
        found = placed(optimizer.store, read.questions, scope, labelled=judging is None)
        _refuse_none(found)
        made_ready([optimizer], found.questions, k, moment)
        answers = []
        for question in found.questions:
            answers.append(answered(optimizer, question, k, moment, judging))
            progress("Asking", len(answers), len(found.questions))
        wrong = [(a.figures[f"ndcg@{k}"], a.question.id, a) for a in answers if a.figures[f"ndcg@{k}"] < 1]
        worst_of = sorted(wrong, key=lambda one: one[:2])[:worst]
        described = tuple(_described(optimizer, a, k, moment, texts) for *_, a in worst_of)
    shown = names(k) if judging is None else hit_names(k)
    return _report(answers, described, found, read, averaged(answers, shown, seed), judging)


def _report(
    answers: Sequence[Answered],
    described: tuple[Worst, ...],
    found: Placed,
    read: Read,
    figures: tuple[dict[str, dict[str, Interval]], dict[str, int]],
    judge: Judge | None,
) -> Evaluation:
    averages, sizes = figures
    return Evaluation(
        k=answers[0].k,
        questions=len(answers),
        averages=averages,
        sizes=sizes,
        latency=latency_of([a.ms for a in answers]),
        calibration=bins_of([(h.score, h.memory.id in a.question.relevant) for a in answers for h in a.hits]),
        worst=described,
        answers=tuple(answers),
        missing=found.missing,
        unanswerable=found.unanswerable,
        unwritten=read.unwritten,
        unlabelled=read.unlabelled,
        degraded=dict(sorted(Counter(reason for a in answers for reason in set(a.degraded)).items())),
        reranked=sum(a.reranked for a in answers),
        rewritten=sum(a.rewritten for a in answers),
        judge=LABELS if judge is None else judge.name,
    )


def _refuse_none(found: Placed) -> None:
    if not found.questions:
        asked, named = number_of(len(found.unanswerable), "question"), next(iter(found.missing.values()))[0]
        raise InvalidArgument(
            f"No label names a memory of its scope ({asked}; {named!r} is not there). "
            "Check the ids, and the scope with --scope or the key 'scope'."
        )


def averaged(
    answers: Sequence[Answered], wanted: Sequence[str], seed: int
) -> tuple[dict[str, dict[str, Interval]], dict[str, int]]:
    """Return the means of all questions and of each group, with intervals, and the number of questions of each."""
    groups: dict[str, list[Answered]] = {OVERALL: list(answers)}
    if len({a.question.category for a in answers}) > 1:
        for a in sorted(answers, key=lambda a: a.question.category):
            name = a.question.category
            groups.setdefault(f"group {name}" if name == OVERALL else name, []).append(a)
    averages = {}
    for group, own in groups.items():
        values = np.asarray([[a.figures[name] for name in wanted] for a in own], dtype=np.float64)
        averages[group] = dict(zip(wanted, intervals(values, seed=seed), strict=True))
    return averages, {group: len(own) for group, own in groups.items()}


def _described(optimizer: QueryOptimizer, one: Answered, k: int, now: datetime, texts: bool) -> Worst:
    question = one.question
    deeper, _ = recalled(optimizer, question, max(k, DEPTH), now)
    places = {hit.memory.id: place for place, hit in enumerate(deeper.hits, start=1)}
    places |= {hit.memory.id: place for place, hit in enumerate(one.hits, start=1)}
    scope_id = optimizer.store.scope_id(question.scope)
    held = {} if scope_id is None else optimizer.store.reader.fetch_ids(scope_id, question.relevant)

    def shown(text: str) -> str:
        return plain(text, SHOWN) if texts else ""

    return Worst(
        id=question.id,
        query=shown(question.text),
        scope=scope_text(question.scope),
        group=question.category,
        value=one.figures[f"ndcg@{k}"],
        plan=one.plan,
        came=tuple(
            Came(
                id=hit.memory.id or "",
                score=hit.score,
                relevant=hit.memory.id in question.relevant,
                text=shown(hit.memory.text),
                reason=shown(hit.reason),
            )
            for hit in one.hits
        ),
        expected=tuple(
            Expected(id=i, text=shown(held[i].text) if i in held else "", place=places.get(i))
            for i in question.relevant
        ),
    )


class Judge:
    """A reranker that says which hits are relevant, where there are no labels.

    A cosine threshold is no judge: it flatters.

    Args:
        source: as `QueryOptimizer(reranker=...)` takes it: a cross-encoder's name or path, a framework's reranker, or a
            function from a query and texts to scores.
        threshold: score from which a text is relevant. Default: -10, of ms-marco-MiniLM-L-6-v2, on the logit scale.

    Raises:
        InvalidArgument: it cannot score, or it is of another kind than that model and no threshold is given.
        MissingExtra: a cross-encoder without sentence-transformers.
    """

    def __init__(self, source: object, threshold: float | None = None) -> None:
        found = resolve_reranker(source)
        if found is None:
            raise InvalidArgument("There is no judge. Name a cross-encoder, or give a function that scores texts.")
        if threshold is None and not has_bands(found.name):
            raise InvalidArgument(
                f"The threshold {RELEVANT_FROM:g} suits ms-marco-MiniLM-L-6-v2; {found.name!r} has another scale. Say "
                "from which score on a text is relevant: look at the scores of some that you judged yourself."
            )
        self._reranker: Reranker = found
        self._threshold = threshold

    @property
    def name(self) -> str:
        """Name of the model or function."""
        return self._reranker.name

    def relevant(self, query: str, memories: Sequence[Memory]) -> list[bool]:
        """Say of each memory whether it is relevant; a memory that the judge drops is not."""
        scores = self._reranker.scores(query, [indexed_text(m.text, m.actor) for m in memories])
        scale = str(getattr(self._reranker, "scale", LOGIT))
        return [score is not None and self._is_relevant(score, scale) for score in scores]

    def _is_relevant(self, score: float, scale: str) -> bool:
        if self._threshold is None and scale == PROBABILITY:
            return band(score, scale) in (Band.HIGHLY_RELEVANT, Band.RELEVANT)
        return score >= (RELEVANT_FROM if self._threshold is None else self._threshold)
