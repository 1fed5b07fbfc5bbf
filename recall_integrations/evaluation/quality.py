"""How well recall finds what it should, next to the peers: the same memories, questions, embedding and `k`.

Our side is one temporary `MemoryStore` with a scope per collection and `QueryOptimizer.recall` as users call it: its
default time budget, no language model, no cross-encoder. `now` is the moment the data set gives for a question.
Questions whose answer is not in the data (no gold id) are left out: every metric is undefined for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from recall_integrations.config import RecallConfig
from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation import combined, extras, metrics, quality_tables
from recall_integrations.evaluation.datasets import EvaluationData, Question
from recall_integrations.evaluation.embedding_cache import CachedEmbedding, named_embedding
from recall_integrations.evaluation.loading import DATASETS, load
from recall_integrations.evaluation.peers import default_peers
from recall_integrations.evaluation.quality_report import COMPARED, OURS, Answer, QualityReport
from recall_integrations.evaluation.reports import checked_output, environment, write_report
from recall_integrations.evaluation.single_arms import indexed_text
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
    "measure",
    "picture_folder",
    "run",
    "shared_embedding",
]


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
    embedding: object = None,
    embedding_cache: str | Path | None = None,
) -> tuple[QualityReport, ...]:
    """Ask every question of the data sets, print the tables, and write the report and pictures if asked.

    Args:
        data_path: the file or folder with the data (see `evaluation.datasets`).
        console: where tables and progress go.
        dataset: one or several of `DATASETS`. Those of one family get a mean.
        limit: ask at most this many questions of each, spread evenly over the data set. Default: all.
        peers: compare with the frameworks' retrievers and with single arms.
        stages: compare with ourselves, each stage changed or switched off in turn.
        json_path: file for the report, with the ranked ids of every question.
        pictures: folder for an SVG picture of each table; made if absent.
        config: our configuration. Default: `RecallConfig()`.
        k: results asked for; the metrics look at the first ten.
        embedding: of every system, see `shared_embedding`. Default: the bundled model.
        embedding_cache: folder that keeps what another embedding has computed.

    Raises:
        InvalidArgument: an unknown data set, bad data, a limit under 1, a report that could not be written.
        MissingExtra: a package of the `bench` extra, or of the embedding, is missing.
    """
    extras.check(extras.METRICS, peers=peers)
    names = [dataset] if isinstance(dataset, str) else list(dict.fromkeys(dataset))
    output, folder = checked_output(json_path), None if pictures is None else picture_folder(pictures)
    settings = config or RecallConfig()
    loaded = [load(data_path, name) for name in names]  # a bad file is found before the long run
    reports: list[QualityReport] = []
    about: dict[str, Any] = {}
    with shared_embedding(embedding, embedding_cache) as shared:
        for data in loaded:
            report, about = measure(
                data, console, settings, limit=limit, peers=peers, stages=stages, k=k, embedding=shared
            )
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


@contextmanager
def shared_embedding(embedding: object, cache: str | Path | None) -> Iterator[CachedEmbedding | None]:
    """One embedding for every system, which computes no text twice; `None` for the bundled one, which needs no memory.

    Args:
        embedding: a name as `named_embedding` takes it, or anything that `MemoryStore.open` takes.
        cache: folder that keeps vectors from one run to the next.

    Raises:
        InvalidArgument: a cache for the bundled model, or one that cannot be used.
        MissingExtra: a package of the embedding is missing.
    """
    if embedding is None:
        if cache is not None:
            raise InvalidArgument("The bundled embedding needs no cache. Name another embedding, or leave it out.")
        yield None
        return
    shared = CachedEmbedding(named_embedding(embedding) if isinstance(embedding, str) else embedding, cache)
    try:
        yield shared
    finally:
        shared.close()


def picture_folder(path: str | Path) -> Path:
    """The folder, made if absent.

    Raises:
        InvalidArgument: it cannot be made.
    """
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise InvalidArgument(f"Cannot make the folder {folder} for pictures: {e}") from e
    return folder


def measure(
    data: EvaluationData,
    console: Console,
    config: RecallConfig,
    *,
    limit: int | None = None,
    peers: bool = True,
    stages: bool = False,
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
    from recall_integrations import MemoryStore, QueryOptimizer
    from recall_integrations.evaluation import stages as staging

    if embedding is not None:
        _embed(data, chosen(data, limit), embedding, console)
    note = staging.seen_before(config, data.name)
    notes = {OURS: note} if note else {}
    kinds: dict[str, str] = {}
    with ExitStack() as stack:
        store = stack.enter_context(MemoryStore.open(config=config, embedding=embedding))
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


def _embed(data: EvaluationData, asked: Mapping[str, Question], embedding: CachedEmbedding, console: Console) -> None:
    used = [c for c in data.collections if any(q.id in asked for q in c.questions)]
    documents = [indexed_text(memory) for collection in used for memory in collection.memories]
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
