"""How well recall finds what it should, next to the peers: the same memories, questions, embedding and `k`.

Our side is one temporary `MemoryStore` with a scope per collection and `QueryOptimizer.recall` as users call it: its
default time budget, no language model, no cross-encoder. `now` is the moment the data set gives for a question.
Questions whose answer is not in the data (no gold id) are left out: every metric is undefined for them.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from recall_integrations.config import RecallConfig
from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation import metrics
from recall_integrations.evaluation.datasets import Collection, EvaluationData, Question, load_locomo, load_multihop
from recall_integrations.evaluation.metrics import METRICS, OVERALL, Average
from recall_integrations.evaluation.peers import Peer, default_peers
from recall_integrations.evaluation.reports import checked_output, environment, write_json

if TYPE_CHECKING:
    from recall_integrations import MemoryStore, QueryOptimizer

DATASETS = ("locomo", "hotpotqa", "musique")
OURS = "recall"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a system returned for a question.

    Args:
        ids: best first.
        plan: name of the plan; empty for peers.
        degraded: `stage:reason` of each degradation; empty for peers.
        ms: time of the call.
    """

    ids: tuple[str, ...]
    plan: str = ""
    degraded: tuple[str, ...] = ()
    ms: float = 0.0


class System(Protocol):
    """Something that answers questions about a collection."""

    @property
    def name(self) -> str:
        """What tables call it."""
        ...

    def enter(self, collection: Collection) -> None:
        """Make the collection the one that is asked about."""
        ...

    def answer(self, question: Question, k: int) -> Answer:
        """At most `k` ids."""
        ...


class RecallSystem:
    """Our side: each collection is a scope of one store."""

    name = OURS

    def __init__(self, store: MemoryStore, optimizer: QueryOptimizer) -> None:
        self._store, self._optimizer = store, optimizer

    def enter(self, collection: Collection) -> None:
        """Remember the collection's memories in its scope."""
        self._store.remember_many(collection.memories, scope=collection.scope)

    def answer(self, question: Question, k: int) -> Answer:
        """One `recall` with the default budget."""
        arguments: dict[str, Any] = {} if question.asked_at is None else {"now": question.asked_at}
        start = time.perf_counter()
        result = self._optimizer.recall(question.text, k=k, scope=question.scope, **arguments)
        ms = (time.perf_counter() - start) * 1e3
        return Answer(
            ids=tuple(hit.memory.id or "" for hit in result.hits),
            plan=result.plan.name,
            degraded=tuple(f"{d.stage}:{d.reason}" for d in result.degraded),
            ms=ms,
        )


class PeerSystem:
    """A peer, built anew for each collection."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    @property
    def name(self) -> str:
        """The peer's name."""
        return self._peer.name

    def enter(self, collection: Collection) -> None:
        """Index the collection instead of the last one."""
        self._peer.build(collection.memories)

    def answer(self, question: Question, k: int) -> Answer:
        """One search."""
        start = time.perf_counter()
        ids = self._peer.search(question.text, k)
        return Answer(ids=tuple(ids), ms=(time.perf_counter() - start) * 1e3)


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityReport:
    """The outcome of a comparison.

    Args:
        dataset: its name.
        k: results asked for.
        questions: those that were asked, in order.
        answers: system → question id → answer.
        scores: system → question id → metric → value.
        averages: system → category (`overall` first) → average.
    """

    dataset: str
    k: int
    questions: tuple[Question, ...]
    answers: Mapping[str, Mapping[str, Answer]]
    scores: Mapping[str, Mapping[str, Mapping[str, float]]]
    averages: Mapping[str, Mapping[str, Average]] = field(default_factory=dict)

    def plans(self, system: str = OURS) -> dict[str, Average]:
        """Averages by the plan that was chosen, most frequent first; empty for a peer."""
        chosen = {q: a.plan for q, a in self.answers.get(system, {}).items() if a.plan}
        groups = {
            plan: metrics.average(row for q, row in self.scores[system].items() if chosen.get(q) == plan)
            for plan in sorted(set(chosen.values()))
        }
        return dict(sorted(groups.items(), key=lambda item: (-item[1].questions, item[0])))

    def degraded(self, system: str = OURS) -> tuple[int, dict[str, int]]:
        """How many answers were degraded, and how often each `stage:reason` came."""
        answers = self.answers.get(system, {}).values()
        reasons = Counter(reason for a in answers for reason in a.degraded)
        return sum(bool(a.degraded) for a in answers), dict(
            sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
        )

    def median_ms(self, system: str) -> float:
        """Median time of a call. An indication only: `evaluation.latency` measures properly."""
        times = [a.ms for a in self.answers[system].values()]
        return float(np.median(times)) if times else 0.0

    def as_dict(self) -> dict[str, Any]:
        """For JSON: averages, plans, degradations, differences, and the ranked ids of every question (no texts)."""
        count, reasons = self.degraded()
        return {
            "dataset": self.dataset,
            "k": self.k,
            "questions": len(self.questions),
            "systems": {
                system: {
                    "median_ms": self.median_ms(system),
                    "averages": {c: {"questions": a.questions, **a.values} for c, a in categories.items()},
                }
                for system, categories in self.averages.items()
            },
            "plans": {plan: {"questions": a.questions, **a.values} for plan, a in self.plans().items()},
            "degraded": {"results": count, "reasons": reasons},
            "differences": _differences(self),
            "rankings": {
                q.id: {
                    "category": q.category,
                    "relevant": list(q.relevant),
                    "plan": self.answers[OURS][q.id].plan if OURS in self.answers else "",
                    "ids": {system: list(found[q.id].ids) for system, found in self.answers.items()},
                }
                for q in self.questions
            },
        }


def run(
    data_path: str | Path,
    console: Console,
    *,
    dataset: str = "locomo",
    limit: int | None = None,
    peers: bool = True,
    json_path: str | Path | None = None,
    config: RecallConfig | None = None,
    k: int = 10,
) -> QualityReport:
    """Ask every question of a data set, print the tables, and write the report if asked.

    Args:
        data_path: the file or folder with the data (see `evaluation.datasets`).
        console: where tables and progress go.
        dataset: one of `DATASETS`.
        limit: ask at most this many questions, spread evenly over the data set. Default: all.
        peers: compare with the frameworks' retrievers and with single arms.
        json_path: file for the report, with the ranked ids of every question.
        config: our configuration. Default: `RecallConfig()`.
        k: results asked for; the metrics look at the first ten.

    Raises:
        InvalidArgument: an unknown data set, bad data, a limit under 1, a report that could not be written.
        MissingExtra: a package of the `bench` extra is missing.
    """
    from recall_integrations import MemoryStore, QueryOptimizer

    output = checked_output(json_path)
    data = load(data_path, dataset)
    settings = config or RecallConfig()
    with ExitStack() as stack:
        store = stack.enter_context(MemoryStore.open(config=settings))
        optimizer = QueryOptimizer(store, config=settings)
        stack.callback(optimizer.close)
        systems: list[System] = [RecallSystem(store, optimizer)]
        for peer in default_peers(store.embedding) if peers else ():
            stack.callback(peer.close)
            systems.append(PeerSystem(peer))
        report = compare(data, systems, console, k=k, limit=limit)
        about = {"embedding": store.embedding.fingerprint, "config": settings.fingerprint, **environment()}
    show(report, console)
    if output is not None:
        write_json(output, {**report.as_dict(), "environment": about})
        console.print(f"Report written to {output}")
    return report


def load(data_path: str | Path, dataset: str) -> EvaluationData:
    """The data set called `dataset`, or a multi-hop one by its file prefix.

    Raises:
        InvalidArgument: an unknown name, or data that cannot be read.
    """
    if dataset == "locomo":
        return load_locomo(data_path)
    if dataset.startswith(DATASETS[1:]):
        return load_multihop(data_path, dataset)
    raise InvalidArgument(f"Unknown data set {dataset!r}. Use one of: {', '.join(DATASETS)}.")


def compare(
    data: EvaluationData, systems: Sequence[System], console: Console, *, k: int = 10, limit: int | None = None
) -> QualityReport:
    """Fill every system with each collection in turn, ask it the collection's questions, and score the answers.

    Raises:
        InvalidArgument: no question has a gold id, `limit` or `k` is under 1.
    """
    if k < 1:
        raise InvalidArgument(f"k must be at least 1, not {k}.")
    asked = _chosen(data, limit)
    answers: dict[str, dict[str, Answer]] = {system.name: {} for system in systems}
    with _bars(console, [s.name for s in systems], len(asked)) as bars:
        for collection in data.collections:
            questions = [q for q in collection.questions if q.id in asked]
            if not questions:
                continue
            for system in systems:
                system.enter(collection)
                for question in questions:
                    answers[system.name][question.id] = system.answer(question, k)
                    bars(system.name)
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
    )


def _chosen(data: EvaluationData, limit: int | None) -> dict[str, Question]:
    usable = [q for q in data.questions if q.relevant]
    if not usable:
        raise InvalidArgument(f"No question of {data.name} names a memory that exists; there is nothing to measure.")
    if limit is not None:
        if limit < 1:
            raise InvalidArgument(f"limit must be at least 1, not {limit}.")
        count = min(limit, len(usable))
        usable = [usable[i * len(usable) // count] for i in range(count)]
    return {q.id: q for q in usable}


@contextmanager
def _bars(console: Console, names: Sequence[str], total: int) -> Iterator[Any]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        tasks = {name: progress.add_task(name, total=total) for name in names}
        yield lambda name: progress.advance(tasks[name])


# --- tables -----------------------------------------------------------------------------------------------------


HEADINGS = ("R@1", "R@5", "R@10", "nDCG", "MRR")  # of METRICS, so that the table fits 80 columns


def show(report: QualityReport, console: Console) -> None:
    """Print averages, plans, degradations, and the differences to the peers."""
    console.print(_averages_table(report))
    if OURS not in report.answers:
        return
    plans = Table(title="Plans", title_justify="left")
    plans.add_column("plan")
    for column in ("asked", "share", *HEADINGS):
        plans.add_column(column, justify="right")
    for plan, average in report.plans().items():
        share = average.questions / len(report.questions)
        plans.add_row(plan, str(average.questions), f"{share:.0%}", *_figures(average))
    console.print(plans)
    count, reasons = report.degraded()
    listed = f" ({', '.join(f'{reason} {n}' for reason, n in reasons.items())})" if reasons else ""
    console.print(f"Degraded results: {count} of {len(report.questions)}{listed}")
    if len(report.answers) > 1:
        console.print(_differences_table(report))


def _figures(average: Average) -> list[str]:
    return [f"{average.values[name]:.3f}" for name in METRICS]


def _averages_table(report: QualityReport) -> Table:
    table = Table(title=f"{report.dataset}: {len(report.questions):,} questions, k = {report.k}", title_justify="left")
    table.add_column("system", no_wrap=True)
    for column in (*HEADINGS, "ms"):
        table.add_column(column, justify="right")
    for category in next(iter(report.averages.values()), {}):
        asked = next(iter(report.averages.values()))[category].questions
        table.add_row(Text(f"{category} ({asked:,})", style="bold"))
        for system, averages in report.averages.items():
            ms = f"{report.median_ms(system):.2f}" if category == OVERALL else ""
            table.add_row(f"  {system}", *_figures(averages[category]), ms)
        table.add_section()
    return table


def _differences(report: QualityReport) -> dict[str, dict[str, dict[str, float]]]:
    if OURS not in report.scores:
        return {}
    found: dict[str, dict[str, dict[str, float]]] = {}
    for system in report.scores:
        if system == OURS:
            continue
        found[system] = {}
        for name in ("recall@5", "ndcg@10"):
            gap = metrics.paired_difference(report.scores[OURS], report.scores[system], name)
            found[system][name] = {"mean": gap.mean, "low": gap.low, "high": gap.high}
    return found


def _differences_table(report: QualityReport) -> Table:
    table = Table(title=f"{OURS} minus the other system (95 % bootstrap interval)", title_justify="left")
    table.add_column("system")
    for column in ("recall@5", "ndcg@10"):
        table.add_column(column, justify="right")
    for system, gaps in _differences(report).items():
        cells = [f"{g['mean']:+.3f} ({g['low']:+.3f} to {g['high']:+.3f})" for g in gaps.values()]
        table.add_row(system, *cells)
    return table
