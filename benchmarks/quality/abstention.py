"""Whether scores mean something: can recall tell that the answer is not there, and are its probabilities right?

Every question is asked twice: in its own collection, and in the wrong one, which is the next in the order of the data
(after the last comes the first), at that collection's time. Nothing there answers it.

- **AUROC** of `result.confidence`: the chance that a question asked in its own collection gets a higher confidence than
  one asked in the wrong one; ties count one half. With mid-ranks `R` of the `m` own among all `m + n` confidences,
  `(Σ R − m(m + 1)/2) / (m·n)` (Hanley and McNeil 1982).
- **ECE**, expected calibration error: ten bins of equal width over [0, 1], `Σ share of the bin · |mean probability −
  share of what is true|` (Naeini, Cooper and Hauskrecht 2015). For `result.confidence`, true = a relevant memory is
  among the hits; for `hit.score`, true = the hit is relevant.

Questions without a gold id are left out. A collection is only wrong for the questions of another, so there must be
two. Where speakers are named, the wrong collection is easy to tell; read the AUROC with that in mind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rich.console import Console
from rich.table import Table

from benchmarks.datasets.data import Collection, EvaluationData
from benchmarks.datasets.loading import load
from benchmarks.quality import comparison
from benchmarks.quality.systems import TIME_BUDGET_MS
from benchmarks.shared.calibrating import auroc
from benchmarks.shared.reports import environment, write_report
from benchmarks.shared.terminal import progress
from recall_integrations.config import RecallConfig
from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation.questions import Question
from recall_integrations.evaluation.reports import checked_output, compact_table

if TYPE_CHECKING:
    from recall_integrations import QueryOptimizer

BINS = 10
THRESHOLDS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
OWN, ALL = "own", "own and wrong"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One question asked in one collection.

    Args:
        question: its id.
        category: of the question.
        own: whether the collection is its own.
        plan: that was chosen.
        confidence: of the result, in [0, 1].
        scores: of the hits, best first.
        relevant: whether each hit is relevant.
    """

    question: str
    category: str
    own: bool
    plan: str
    confidence: float
    scores: tuple[float, ...]
    relevant: tuple[bool, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """Probabilities in [low, high): how many, their mean, and the share that came true; both 0 where there are none."""

    low: float
    high: float
    count: int
    mean: float
    true: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliability:
    """Expected calibration error over `count` probabilities, and its bins; `None` and no bins where there are none,
    or any is outside [0, 1]."""

    ece: float | None
    count: int
    bins: tuple[Bin, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """With `abstain_below` at `at`: shares of the own questions answered, and of the wrong ones refused."""

    at: float
    answered: float
    refused: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The questions of one category or plan: how many own and wrong ones, their AUROC (`None` if one side is empty),
    and the ECE of confidence and of the hits' scores in their own collections."""

    own: int
    wrong: int
    auroc: float | None
    confidence_ece: float | None
    score_ece: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AbstentionReport:
    """The outcome.

    Args:
        dataset: its name.
        k: hits asked for.
        questions: that were asked, each twice.
        auroc: of the confidence.
        confidence: reliability of the confidence, for `OWN` and `ALL`.
        score: reliability of the hits' scores, likewise.
        thresholds: what `abstain_below` would do.
        categories, plans: the same for parts.
        degraded: results.
        note: what must be known to read the figures.
    """

    dataset: str
    k: int
    questions: int
    auroc: float
    confidence: Mapping[str, Reliability]
    score: Mapping[str, Reliability]
    thresholds: tuple[Threshold, ...]
    categories: Mapping[str, Group]
    plans: Mapping[str, Group]
    degraded: int = 0
    note: str = ""


def reliability(probabilities: ArrayLike, true: ArrayLike, bins: int = BINS) -> Reliability:
    """Bins of equal width and the expected calibration error; 1 belongs to the last bin. Scores outside [0, 1] are no
    probabilities, and have no such error."""
    values, came = np.asarray(probabilities, dtype=np.float64), np.asarray(true, dtype=np.float64)
    if not len(values) or not ((values >= 0) & (values <= 1)).all():
        return Reliability(ece=None, count=len(values))
    at = np.minimum((values * bins).astype(np.int64), bins - 1)
    found, error = [], 0.0
    for number in range(bins):
        inside = at == number
        count = int(inside.sum())
        mean, share = (float(values[inside].mean()), float(came[inside].mean())) if count else (0.0, 0.0)
        error += count * abs(mean - share)
        found.append(Bin(low=number / bins, high=(number + 1) / bins, count=count, mean=mean, true=share))
    return Reliability(ece=error / len(values), count=len(values), bins=tuple(found))


def run(
    data_path: str | Path,
    console: Console,
    *,
    dataset: str = "locomo",
    limit: int | None = None,
    json_path: str | Path | None = None,
    config: RecallConfig | None = None,
    k: int = 10,
) -> AbstentionReport:
    """Ask every question in its own and in the wrong collection, print the tables, and write the report if asked.

    Args:
        data_path: the file or folder with the data (see `benchmarks.datasets`).
        console: where tables and progress go.
        dataset: one of `datasets.loading.DATASETS` with two collections at least.
        limit: ask at most this many questions, spread evenly over the data set. Default: all.
        json_path: file for the report.
        config: our configuration. Default: `RecallConfig()`.
        k: hits asked for.

    Raises:
        InvalidArgument: an unknown data set, bad data, only one collection, a limit or `k` under 1, a report that
            could not be written.
    """
    output = checked_output(json_path)
    settings = config or RecallConfig()
    report = measure(load(data_path, dataset), console, limit=limit, config=settings, k=k)
    report = replace(report, note=fitted_on(settings, report.dataset))
    show(report, console)
    about = {"config": settings.fingerprint, **environment()}
    write_report(output, {"format": 1, "abstention": asdict(report), "environment": about}, console)
    return report


def measure(
    data: EvaluationData,
    console: Console,
    *,
    limit: int | None = None,
    config: RecallConfig | None = None,
    k: int = 10,
) -> AbstentionReport:
    """Ask and score; see `run`."""
    from recall_integrations import MemoryStore, QueryOptimizer

    if len(data.collections) < 2:
        raise InvalidArgument(
            f"{data.name} has one collection, so no question can be asked of a wrong one. Use locomo, or jsonl data "
            "with two scopes."
        )
    asked = comparison.chosen(data, limit)
    results: list[Asked] = []
    degraded = 0
    with MemoryStore.open(config=config) as store, progress(console) as bar:
        remembering = bar.add_task("remembering", total=len(data.collections))
        for collection in data.collections:
            store.remember_many(collection.memories, scope=collection.scope)
            store.warm(scope=collection.scope)
            bar.advance(remembering)
        optimizer = QueryOptimizer(store, config=config)
        asking = bar.add_task("asking", total=2 * len(asked))
        try:
            for number, collection in enumerate(data.collections):
                wrong = data.collections[(number + 1) % len(data.collections)]
                for question in (q for q in collection.questions if q.id in asked):
                    for place in (collection, wrong):
                        found, worse = _ask(optimizer, question, place, own=place is collection, k=k)
                        results.append(found)
                        degraded += worse
                        bar.advance(asking)
        finally:
            optimizer.close()
    return summary(data.name, results, k=k, degraded=degraded)


def fitted_on(config: RecallConfig, dataset: str) -> str:
    """What to say where the calibration was fitted on the data set; empty where it was not."""
    from recall_integrations.ranking.rank import calibration_of, resolve_ranker

    ranker = resolve_ranker(config.ranking)
    calibration = None if ranker is None else calibration_of(ranker.name, ranker.version)
    data = "" if calibration is None else str(calibration.about.get("data", ""))
    if dataset.lower() not in data.lower():
        return ""
    return f"The calibration was fitted on {data}: its errors here are not a measure of those elsewhere."


def _ask(optimizer: QueryOptimizer, question: Question, place: Collection, *, own: bool, k: int) -> tuple[Asked, bool]:
    now = question.asked_at
    if not own:
        now = next((q.asked_at for q in place.questions if q.asked_at is not None), now)
    result = optimizer.recall(question.text, k=k, scope=place.scope, now=now, time_budget_ms=TIME_BUDGET_MS)
    asked = Asked(
        question=question.id,
        category=question.category,
        own=own,
        plan=result.plan.name,
        confidence=float(result.confidence or 0.0),
        scores=tuple(float(hit.score) for hit in result.hits),
        relevant=tuple(own and hit.memory.id in question.relevant for hit in result.hits),
    )
    return asked, bool(result.degraded)


def summary(dataset: str, results: Sequence[Asked], *, k: int, degraded: int = 0) -> AbstentionReport:
    """The report of what was asked.

    Raises:
        InvalidArgument: only own or only wrong ones.
    """
    own = [r for r in results if r.own]
    sure, unsure = _confidences(own), _confidences(r for r in results if not r.own)
    return AbstentionReport(
        dataset=dataset,
        k=k,
        questions=len(own),
        auroc=auroc(sure, unsure),
        confidence={OWN: _of_confidence(own), ALL: _of_confidence(results)},
        score={OWN: _of_scores(own), ALL: _of_scores(results)},
        thresholds=tuple(
            Threshold(at=t, answered=float((sure >= t).mean()), refused=float((unsure < t).mean())) for t in THRESHOLDS
        ),
        categories=_groups(results, lambda r: r.category),
        plans=_groups(results, lambda r: r.plan),
        degraded=degraded,
    )


def _groups(results: Sequence[Asked], key: Callable[[Asked], str]) -> dict[str, Group]:
    found = {}
    for name in sorted({key(r) for r in results}):
        own = [r for r in results if r.own and key(r) == name]
        wrong = [r for r in results if not r.own and key(r) == name]
        found[name] = Group(
            own=len(own),
            wrong=len(wrong),
            auroc=auroc(_confidences(own), _confidences(wrong)) if own and wrong else None,
            confidence_ece=_of_confidence(own).ece,
            score_ece=_of_scores(own).ece,
        )
    return found


def _confidences(results: Iterable[Asked]) -> NDArray[np.float64]:
    return np.asarray([r.confidence for r in results], dtype=np.float64)


def _of_confidence(results: Sequence[Asked]) -> Reliability:
    return reliability(_confidences(results), [any(r.relevant) for r in results])


def _of_scores(results: Sequence[Asked]) -> Reliability:
    return reliability([s for r in results for s in r.scores], [t for r in results for t in r.relevant])


# --- tables -----------------------------------------------------------------------------------------------------


def show(report: AbstentionReport, console: Console) -> None:
    """Print the tables."""
    console.print(
        f"{report.dataset}: {report.questions:,} questions, each asked of its own and of the next conversation, "
        f"k = {report.k}"
    )
    console.print(f"AUROC of confidence, own against wrong: {report.auroc:.3f}")
    table = _table("Expected calibration error", "of", "own", "own and wrong")
    for name, parts in (("confidence: anything relevant", report.confidence), ("hit.score: relevant", report.score)):
        table.add_row(name, _number(parts[OWN].ece), _number(parts[ALL].ece))
    console.print(table)
    if any(part.count and part.ece is None for parts in (report.confidence, report.score) for part in parts.values()):
        console.print("Some are outside [0, 1]: this configuration does not give probabilities.")
    table = _table("Reliability in their own conversation", "bin", "results", "said", "true", "hits", "said", "true")
    ours, hits = report.confidence[OWN].bins, report.score[OWN].bins
    for number in range(max(len(ours), len(hits))):
        low, high = number / BINS, (number + 1) / BINS
        table.add_row(f"{low:.1f} to {high:.1f}", *_bin(ours[number : number + 1]), *_bin(hits[number : number + 1]))
    console.print(table)
    table = _table("abstain_below", "at", "own answered", "wrong refused")
    for threshold in report.thresholds:
        table.add_row(f"{threshold.at:g}", f"{threshold.answered:.1%}", f"{threshold.refused:.1%}")
    console.print(table)
    for title, groups in (("By category", report.categories), ("By plan", report.plans)):
        table = _table(title, "", "own", "wrong", "AUROC", "ECE confidence", "ECE score")
        for name, g in groups.items():
            errors = (_number(value) for value in (g.auroc, g.confidence_ece, g.score_ece))
            table.add_row(name, f"{g.own:,}", f"{g.wrong:,}", *errors)
        console.print(table)
    console.print(f"Degraded results: {report.degraded:,}")
    if report.note:
        console.print(report.note)


def _bin(parts: Sequence[Bin]) -> tuple[str, str, str]:
    for part in parts:
        if part.count:
            return f"{part.count:,}", f"{part.mean:.3f}", f"{part.true:.3f}"
    return "0" if parts else "", "", ""


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _table(title: str, first: str, *columns: str) -> Table:
    table = compact_table(title)
    table.add_column(first, no_wrap=True)
    for column in columns:
        table.add_column(column, justify="right")
    return table
