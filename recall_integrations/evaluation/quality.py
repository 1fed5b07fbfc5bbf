"""How well recall finds what it should, next to the peers: the same memories, questions, embedding and `k`.

Our side is one temporary `MemoryStore` with a scope per collection and `QueryOptimizer.recall` as users call it: its
default time budget, no language model, no cross-encoder. `now` is the moment the data set gives for a question.
Questions whose answer is not in the data (no gold id) are left out: every metric is undefined for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from recall_integrations.config import RecallConfig
from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation import combined, datasets_jsonl, datasets_when, metrics, quality_tables
from recall_integrations.evaluation.datasets import EvaluationData, Question, load_locomo, load_multihop
from recall_integrations.evaluation.peers import default_peers
from recall_integrations.evaluation.quality_report import COMPARED, OURS, Answer, QualityReport
from recall_integrations.evaluation.reports import checked_output, environment, write_report
from recall_integrations.evaluation.systems import PeerSystem, RecallSystem, System
from recall_integrations.evaluation.terminal import progress

__all__ = [
    "DATASETS",
    "OURS",
    "Answer",
    "PeerSystem",
    "QualityReport",
    "RecallSystem",
    "System",
    "chosen",
    "compare",
    "load",
    "run",
]

DATASETS = ("locomo", datasets_when.NAME, "hotpotqa", "musique", datasets_jsonl.NAME)


def run(
    data_path: str | Path,
    console: Console,
    *,
    dataset: str | Sequence[str] = "locomo",
    limit: int | None = None,
    peers: bool = True,
    stages: bool = False,
    json_path: str | Path | None = None,
    pictures: str | Path | None = None,
    config: RecallConfig | None = None,
    k: int = 10,
) -> tuple[QualityReport, ...]:
    """Ask every question of the data sets, print the tables, and write the report and pictures if asked.

    Args:
        data_path: the file or folder with the data (see `evaluation.datasets`).
        console: where tables and progress go.
        dataset: one or several of `DATASETS`. Two of one family get a mean.
        limit: ask at most this many questions of each, spread evenly over the data set. Default: all.
        peers: compare with the frameworks' retrievers and with single arms.
        stages: compare with ourselves, each stage changed or switched off in turn.
        json_path: file for the report, with the ranked ids of every question.
        pictures: folder for an SVG picture of each table; made if absent.
        config: our configuration. Default: `RecallConfig()`.
        k: results asked for; the metrics look at the first ten.

    Raises:
        InvalidArgument: an unknown data set, bad data, a limit under 1, a report that could not be written.
        MissingExtra: a package of the `bench` extra is missing.
    """
    names = [dataset] if isinstance(dataset, str) else list(dict.fromkeys(dataset))
    output, folder = checked_output(json_path), None if pictures is None else _folder(pictures)
    settings = config or RecallConfig()
    loaded = [load(data_path, name) for name in names]  # a bad file is found before the long run
    reports: list[QualityReport] = []
    about: dict[str, Any] = {}
    for data in loaded:
        report, about = _measure(data, console, settings, limit=limit, peers=peers, stages=stages, k=k)
        quality_tables.show(report, console)
        reports.append(report)
    means = combined.means(reports)
    for mean in means:
        quality_tables.show_mean(mean, console)
    write_report(output, combined.as_dict(reports, means, about), console)
    if folder is not None:
        from recall_integrations.evaluation import pictures as drawing

        for file in drawing.draw(reports, means, folder):
            console.print(f"Picture written to {file}")
    return tuple(reports)


def _folder(path: str | Path) -> Path:
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise InvalidArgument(f"Cannot make the folder {folder} for pictures: {e}") from e
    return folder


def _measure(
    data: EvaluationData,
    console: Console,
    config: RecallConfig,
    *,
    limit: int | None,
    peers: bool,
    stages: bool,
    k: int,
) -> tuple[QualityReport, dict[str, Any]]:
    from recall_integrations import MemoryStore, QueryOptimizer
    from recall_integrations.evaluation import stages as staging

    note = staging.seen_before(config, data.name)
    notes = {OURS: note} if note else {}
    kinds: dict[str, str] = {}
    with ExitStack() as stack:
        store = stack.enter_context(MemoryStore.open(config=config))
        ours = RecallSystem(QueryOptimizer(store, config=config))
        stack.callback(ours.close)
        systems: list[System] = [ours]
        for peer in default_peers(store.embedding) if peers else ():
            stack.callback(peer.close)
            systems.append(PeerSystem(peer))
        if stages:
            planned, left_out = staging.stages(config)
            for name, why in left_out.items():
                console.print(f"Left out: {name} ({why})")
            for stage in planned:
                changed = stage.system(store)
                stack.callback(changed.close)
                systems.append(changed)
                kinds[stage.name] = "stage"
                if stage.kind == "strategy" and (note := staging.seen_before(stage.config, data.name)):
                    notes[stage.name] = note
        report = replace(compare(data, systems, console, k=k, limit=limit), kinds=kinds, notes=notes)
        about = {"embedding": store.embedding.fingerprint, "config": config.fingerprint, **environment()}
    return report, about


def load(data_path: str | Path, dataset: str) -> EvaluationData:
    """The data set called `dataset`, or a multi-hop one by its file prefix.

    Raises:
        InvalidArgument: an unknown name, or data that cannot be read.
    """
    if dataset == "locomo":
        return load_locomo(data_path)
    if dataset == datasets_when.NAME:
        return datasets_when.load_locomo_when(data_path)
    if dataset == datasets_jsonl.NAME:
        return datasets_jsonl.load_jsonl(data_path)
    if dataset.startswith(("hotpotqa", "musique")):
        return load_multihop(data_path, dataset)
    raise InvalidArgument(f"Unknown data set {dataset!r}. Use one of: {', '.join(DATASETS)}.")


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
        differences=combined.differences([scores], OURS, COMPARED),
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
