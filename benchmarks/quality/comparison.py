"""How well recall finds what it should, beside whoever else is asked: the same memories, questions, embedding and `k`.

Our side is one temporary `MemoryStore` with a scope per collection and `QueryOptimizer.recall` as users call it: its
default time budget, no language model, no cross-encoder. `now` is the moment the data set gives for a question.
Questions whose answer is not in the data (no gold id) are left out: every metric is undefined for them.

This module knows of no other system. Whoever wants one compared gives what makes it (`Others`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.datasets.data import EvaluationData
from benchmarks.datasets.loading import load
from benchmarks.quality import means, metrics, tables
from benchmarks.quality.means import Mean
from benchmarks.quality.report import COMPARED, OURS, Answer, QualityReport
from benchmarks.quality.systems import TIME_BUDGET_MS, ClosableSystem, RecallSystem, System
from benchmarks.shared import extras
from benchmarks.shared.embedding_cache import CachedEmbedding, shared_embedding
from benchmarks.shared.reports import environment, write_report
from benchmarks.shared.terminal import progress
from recall_integrations.config import RecallConfig
from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation.questions import Question
from recall_integrations.evaluation.reports import checked_output
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import indexed_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Other:
    """A system that is compared with ours.

    Args:
        system: to be closed in the end.
        kind: `peer`, or `stage`: ours with one stage changed.
        note: what must be known to read its figures.
    """

    system: ClosableSystem
    kind: str = "peer"
    note: str = ""


# Makes the other systems, given our store, the configuration, the data set's name, and where to say what is left out.
Others = Callable[[MemoryStore, RecallConfig, str, Console], Iterable[Other]]
# Draws what was found, and gives the files it wrote.
Draw = Callable[[Sequence[QualityReport], Sequence[Mean]], Iterable[Path]]


def run(
    data_path: str | Path,
    console: Console,
    *,
    dataset: str | Sequence[str] = "locomo",
    limit: int | None = None,
    others: Sequence[Others] = (),
    json_path: str | Path | None = None,
    draw: Draw | None = None,
    config: RecallConfig | None = None,
    k: int = 10,
    embedding: object = None,
    embedding_cache: str | Path | None = None,
) -> tuple[QualityReport, ...]:
    """Ask every question of the data sets, print the tables, and write the report and pictures if asked.

    Args:
        data_path: the file or folder with the data (see `benchmarks.datasets`).
        console: where tables and progress go.
        dataset: one or several of `datasets.loading.DATASETS`. Those of one family get a mean.
        limit: ask at most this many questions of each, spread evenly over the data set. Default: all.
        others: make the systems that ours is compared with. Default: nobody.
        json_path: file for the report, with the ranked ids of every question.
        draw: draws the tables. Default: no pictures.
        config: our configuration. Default: `RecallConfig()`.
        k: results asked for; the metrics look at the first ten.
        embedding: of every system, see `shared_embedding`. Default: the bundled model.
        embedding_cache: folder that keeps what another embedding has computed.

    Raises:
        InvalidArgument: an unknown data set, bad data, a limit under 1, a report that could not be written.
        MissingExtra: a package of the `bench` extra, or of the embedding, is missing.
    """
    extras.check(extras.METRICS)
    names = [dataset] if isinstance(dataset, str) else list(dict.fromkeys(dataset))
    output, settings = checked_output(json_path), config or RecallConfig()
    loaded = [load(data_path, name) for name in names]  # a bad file is found before the long run
    reports: list[QualityReport] = []
    about: dict[str, Any] = {}
    with shared_embedding(embedding, embedding_cache) as shared:
        for data in loaded:
            report, about = measure(data, console, settings, limit=limit, others=others, k=k, embedding=shared)
            tables.show(report, console)
            reports.append(report)
    together = means.of_families(reports)
    for mean in together:
        tables.show_mean(mean, console)
    write_report(output, means.as_dict(reports, together, about), console)
    for file in () if draw is None else draw(reports, together):
        console.print(f"Picture written to {file}")
    return tuple(reports)


def measure(
    data: EvaluationData,
    console: Console,
    config: RecallConfig,
    *,
    limit: int | None = None,
    others: Sequence[Others] = (),
    k: int = 10,
    embedding: CachedEmbedding | None = None,
) -> tuple[QualityReport, dict[str, Any]]:
    """Compare over one data set; also what has to be said of where it ran. Arguments are those of `run`.

    Another embedding than the bundled one computes memories and questions before anybody is asked: what is compared
    is what is found, and the model's time would take the place of the recalls' own.

    Raises:
        InvalidArgument: see `compare`.
        MissingExtra: a package of the `bench` extra is missing.
    """
    from recall_integrations import QueryOptimizer

    if embedding is not None:
        _embed(data, chosen(data, limit), embedding, console)
    notes: dict[str, str] = {}
    kinds: dict[str, str] = {}
    with ExitStack() as stack:
        store = stack.enter_context(MemoryStore.open(config=config, embedding=embedding))
        ours = RecallSystem(QueryOptimizer(store, config=config), time_budget_ms=TIME_BUDGET_MS)
        stack.callback(ours.close)
        systems: list[System] = [ours]
        for other in (one for make in others for one in make(store, config, data.name, console)):
            stack.callback(other.system.close)
            systems.append(other.system)
            kinds[other.system.name] = other.kind
            if other.note:
                notes[other.system.name] = other.note
        report = replace(compare(data, systems, console, k=k, limit=limit), kinds=kinds, notes=notes)
        about = {"embedding": store.embedding.fingerprint, "config": config.fingerprint, **environment()}
    return report, about


def _embed(data: EvaluationData, asked: Mapping[str, Question], embedding: CachedEmbedding, console: Console) -> None:
    used = [c for c in data.collections if any(q.id in asked for q in c.questions)]
    documents = [indexed_text(memory.text, memory.actor) for collection in used for memory in collection.memories]
    queries = [question.text for question in asked.values()]
    with progress(console) as bar:
        task = bar.add_task(f"{data.name}: embedding", total=len(documents) + len(queries))
        embedding.fill(documents, queries, lambda count: bar.update(task, advance=count))


def compare(
    data: EvaluationData, systems: Sequence[System], console: Console, *, k: int = 10, limit: int | None = None
) -> QualityReport:
    """Fill every system with each collection in turn, ask it the collection's questions, and score the answers.

    Raises:
        InvalidArgument: no question has a gold id, two systems share a name, `limit` or `k` is under 1.
    """
    if k < 1:
        raise InvalidArgument(f"k must be at least 1, not {k}.")
    asked = chosen(data, limit)
    answers: dict[str, dict[str, Answer]] = {system.name: {} for system in systems}
    if len(answers) < len(systems):
        raise InvalidArgument("Two systems of a comparison have the same name; give each one of its own.")
    with progress(console) as bar:  # one for all systems, named after the one that is asked: there may be many
        task = bar.add_task("", total=len(asked) * len(systems))
        for collection in data.collections:
            questions = [q for q in collection.questions if q.id in asked]
            if not questions:
                continue
            for system in systems:
                system.enter(collection)
                for question in questions:
                    answers[system.name][question.id] = system.answer(question, k)
                    bar.update(task, advance=1, description=system.name)
    relevant = {q.id: q.relevant for q in asked.values()}
    category = {q.id: q.category for q in asked.values()}
    scores = {name: metrics.score({q: a.ids for q, a in found.items()}, relevant) for name, found in answers.items()}
    return QualityReport(
        dataset=data.name,
        k=k,
        questions=tuple(asked.values()),
        answers=answers,
        scores=scores,
        averages={name: metrics.by_category(rows, category) for name, rows in scores.items()},
        differences=means.differences([scores], OURS, COMPARED),
        family=data.family,
    )


def chosen(data: EvaluationData, limit: int | None) -> dict[str, Question]:
    """The questions with a gold id, by id; at most `limit`, spread evenly.

    Raises:
        InvalidArgument: there are none, or `limit` is under 1.
    """
    usable = [q for q in data.questions if q.relevant]
    if not usable:
        raise InvalidArgument(f"No question of {data.name} names a memory that exists; there is nothing to measure.")
    if limit is not None:
        if limit < 1:
            raise InvalidArgument(f"limit must be at least 1, not {limit}.")
        count = min(limit, len(usable))
        usable = [usable[i * len(usable) // count] for i in range(count)]
    return {q.id: q for q in usable}
