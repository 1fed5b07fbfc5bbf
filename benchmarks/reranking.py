"""`recall bench reranking`: what a reranker is worth, from a perfect one to one that guesses.

Every question is asked without a reranker, with scripted ones, and with a model if one is named:

    labels    1 for what the labels call relevant, 0 for the rest: the most that any reranker can add
    good      the labels and normal noise of deviation .25: the relevant one of a pair first in 99.8 of 100
    noisy     the labels and normal noise of deviation .6: in 88 of 100, so among twenty another one is mostly first
    random    scores without a meaning: what the gate lets a bad reranker spoil

Each is asked as configured, and wherever it could change something whatever the plan says ("everywhere"). The
scripted ones take no time, so `asked` times the duration of a call is what a real one adds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.datasets.data import EvaluationData
from benchmarks.quality import kinds, metrics
from benchmarks.quality.comparison import chosen
from benchmarks.quality.systems import TIME_BUDGET_MS, RecallSystem
from benchmarks.shared import extras
from benchmarks.shared.reports import environment, write_report
from recall_integrations import MemoryStore, QueryOptimizer, RecallConfig
from recall_integrations.evaluation.questions import Question
from recall_integrations.evaluation.reports import checked_output, compact_table
from recall_integrations.types.query import PLANS

METRIC, FIRST, K = "ndcg@10", "first", 10
NOISE = {"good": 0.25, "noisy": 0.6}  # deviations beside labels of 0 and 1: P(right pair) = Φ(1 / (σ·√2))
CONFIGURED, EVERYWHERE = "as configured", "everywhere"


class Scripted:
    """A reranker that knows the labels of the question that is asked next.

    Args:
        name: in tables.
        score: relevance and noise to a score.
        seed: of the noise.
    """

    def __init__(self, name: str, score: Callable[[float, float], float], seed: int) -> None:
        self.__name__ = name
        self._score, self._random = score, np.random.default_rng(seed)
        self.relevant: frozenset[str] = frozenset()

    def __call__(self, _query: str, texts: Sequence[str]) -> list[float]:
        """Score the texts."""
        noise = self._random.normal(0, 1, len(texts))
        return [self._score(float(text in self.relevant), by) for text, by in zip(texts, noise.tolist(), strict=True)]


def scripted(seed: int) -> dict[str, Scripted]:
    """Return the scripted rerankers by name."""

    def blurred(by: float) -> Callable[[float, float], float]:
        return lambda label, noise: label + by * noise

    made = {name: Scripted(name, blurred(by), seed) for name, by in NOISE.items()}
    return {
        "labels": Scripted("labels", lambda label, _: label, seed),
        **made,
        "random": Scripted("random", lambda _, noise: noise, seed),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One data set under one reranker.

    Args:
        dataset, reranker, where: what was measured.
        questions: how many.
        asked: share of the questions for which the reranker was asked.
        ndcg, first: nDCG@10, and share of right first hits.
    """

    dataset: str
    reranker: str
    where: str
    questions: int
    asked: float
    ndcg: float
    first: float


def run(
    path: Path,
    console: Console,
    *,
    only: Sequence[str] = (),
    limit: int = 200,
    model: str | None = None,
    config: RecallConfig | None = None,
    seed: int = 0,
    json_path: str | Path | None = None,
) -> list[Row]:
    """Measure the kinds, print a table, and write the report if asked.

    Args:
        path: the folder with the data sets, each in the folder of its name.
        console: where the table goes.
        only: kinds, by the names of `kinds.KINDS`. Default: all that are there.
        limit: questions of each data set, spread evenly.
        model: a cross-encoder by name or path, asked beside the scripted ones.
        config: of all systems.
        seed: of the noise.
        json_path: file for the report.

    Raises:
        InvalidArgument: an unknown kind, none of the data sets is there, or bad data.
        MissingExtra: a package of the `bench` extra, or of the model, is missing.
    """
    extras.check(extras.METRICS)
    output, settings = checked_output(json_path), config or RecallConfig()
    there, missing = kinds.found(path, kinds.wanted(tuple(only)))
    for name in missing:
        console.print(f"{name}: not in {path}")
    rows: list[Row] = []
    for name in there:
        rows += _measured(kinds.read(path, name), settings, limit=limit, model=model, seed=seed)
        console.print(f"{name}: {rows[-1].questions:,} questions", markup=False)
    show(rows, console)
    report = {"format": 1, "k": K, "noise": NOISE, "rows": [_as_dict(row) for row in rows]}
    write_report(output, {**report, "environment": {"config": settings.fingerprint, **environment()}}, console)
    return rows


def _as_dict(row: Row) -> dict[str, Any]:
    return {name: getattr(row, name) for name in row.__slots__}


def _measured(data: EvaluationData, config: RecallConfig, *, limit: int, model: str | None, seed: int) -> list[Row]:
    """Ask the questions of a data set under each reranker, over one store."""
    everywhere = replace(config, rerank=replace(config.rerank, plans=PLANS))
    rerankers: dict[str, Any] = {"none": None, **scripted(seed), **({} if model is None else {model: model})}
    usable = chosen(data, limit)
    found: list[Row] = []
    with ExitStack() as stack:
        store = stack.enter_context(MemoryStore.open(config=config))
        filled = RecallSystem(QueryOptimizer(store, config=config))
        stack.callback(filled.close)
        asked = [c for c in data.collections if any(q.id in usable for q in c.questions)]
        for collection in asked:
            filled.enter(collection)
        texts = {c.scope: {str(m.id): m.text for m in c.memories} for c in asked}
        for name, reranker in rerankers.items():
            for where, own in {CONFIGURED: config, EVERYWHERE: everywhere}.items():
                if reranker is None and where == EVERYWHERE:
                    continue
                optimizer = QueryOptimizer(store, config=own, reranker=reranker)
                system = RecallSystem(optimizer, fills=False, time_budget_ms=TIME_BUDGET_MS)
                stack.callback(system.close)
                found.append(_row(data.name, name, where, usable, system, reranker, texts))
    return found


def _row(
    dataset: str,
    name: str,
    where: str,
    questions: Mapping[str, Question],
    system: RecallSystem,
    reranker: object,
    texts: Mapping[Any, Mapping[str, str]],
) -> Row:
    ids: dict[str, list[str]] = {}
    asked = 0
    for question in questions.values():
        if isinstance(reranker, Scripted):
            own = texts[question.scope]
            reranker.relevant = frozenset(own[one] for one in question.relevant if one in own)
        result = system.recall(question, K)
        asked += result.rerank is not None and result.rerank.reason == "success"
        ids[question.id] = [str(hit.memory.id) for hit in result.hits]
    scores = metrics.score(ids, {q.id: q.relevant for q in questions.values()})
    first = [bool(ids[q.id]) and ids[q.id][0] in q.relevant for q in questions.values()]
    return Row(
        dataset=dataset,
        reranker=name,
        where=where,
        questions=len(questions),
        asked=asked / len(questions),
        ndcg=float(np.mean([one[METRIC] for one in scores.values()])),
        first=float(np.mean(first)),
    )


def show(rows: Sequence[Row], console: Console) -> None:
    """Print a line for each data set and reranker."""
    table = compact_table("Rerankers")
    for title in ("set", "reranker", "where", "asked", METRIC, "first hit"):
        table.add_column(title, justify="left" if title in ("set", "reranker", "where") else "right", no_wrap=True)
    for row in rows:
        where = "" if row.reranker == "none" else row.where
        table.add_row(row.dataset, row.reranker, where, f"{row.asked:.2f}", f"{row.ndcg:.3f}", f"{row.first:.3f}")
    console.print(table)
