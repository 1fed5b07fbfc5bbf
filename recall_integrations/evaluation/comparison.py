"""A comparison of configurations on a user's own questions: `recall ab`.

Every question is asked of every configuration before the next one, each time in another order, so that what slows the
machine down slows all of them. Differences are of the same questions (paired), with bootstrap intervals.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import numpy as np

from recall_integrations.config import RecallConfig
from recall_integrations.evaluation.evaluation import (
    Answered,
    Latency,
    Progress,
    answered,
    latency_of,
    made_ready,
    refuse_none,
    silent,
)
from recall_integrations.evaluation.metrics import (
    Interval,
    chance,
    deviation,
    figures,
    hit_names,
    intervals,
    labels_needed,
    names,
)
from recall_integrations.evaluation.questions import Labels, Placed, placed, read_labels
from recall_integrations.evaluation.ways import Cosines, Judge, Way, Ways, a_to_d, own_ways
from recall_integrations.store.clock import utc_now
from recall_integrations.store.memory_store import MemoryStore

COSINE = 0.45  # from which a threshold on the cosine would have called a memory relevant
LABELS = "labels"
SURE = 0.05  # chance below which a difference is one
EFFECTS = (0.05, 0.02, 0.01)
FLATTERED = 0.05  # by how much more a cosine threshold must have said to be worth a warning

Scores = Mapping[str, Sequence[Mapping[str, float]]]  # way → figures of each question, in order


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One configuration."""

    name: str
    title: str
    averages: Mapping[str, Interval]  # figure → mean with its 95 % interval
    latency: Latency
    reranked: int  # recalls whose order is the reranker's, and for which phrasings were searched
    rewritten: int
    degraded: int  # recalls in which something was left out
    bands: Mapping[str, int]  # the judge's words → hits; empty without such words


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A configuration minus the first one."""

    name: str
    changes: Mapping[str, Interval]  # figure → mean change with its 95 % interval
    chances: Mapping[str, float]  # figure → share of random signs that give as large a change
    ms: Interval  # change of the time of a recall
    moved: int  # questions that were answered with other ids, or in another order
    labels_needed: Mapping[float, int]  # change of the last but one figure → questions that would show it

    def verdict(self, figure: str) -> str:
        """Return `better` or `worse` if the interval excludes 0 and the test of signs agrees; else `not told apart`."""
        one = self.changes[figure]
        if self.chances[figure] > SURE or one.low <= 0 <= one.high:
            return "not told apart"
        return "better" if one.mean > 0 else "worse"


@dataclass(frozen=True, slots=True, kw_only=True)
class Flattery:
    """A figure of a configuration by a cosine threshold and by the judge; `gap` is the first minus the second."""

    name: str
    figure: str
    cosine: float
    judged: float
    gap: Interval

    @property
    def flattered(self) -> bool:
        """Say whether the threshold makes the configuration look better than it is."""
        return self.gap.low > 0 and self.gap.mean >= FLATTERED


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Several configurations on the same questions.

    Args:
        k: hits that were asked for.
        questions: that were asked.
        judge: `labels`, or the name of the model that said what is relevant.
        figures: that are shown.
        compared: the configurations; the first is what the others are compared with.
        differences: of the others from the first.
        cosine: the threshold that is looked at.
        flattery: what it would have said; empty where vectors cannot be read.
        skipped: configuration → why it was not asked.
        notes: what must be known to read the figures.
        answers: configuration → its answers.
        missing: question id → labels that name no memory of its scope.
        unanswerable: questions of which no label was left.
    """

    k: int
    questions: int
    judge: str
    figures: tuple[str, ...]
    compared: tuple[Compared, ...]
    differences: tuple[Difference, ...]
    cosine: float
    flattery: tuple[Flattery, ...]
    skipped: Mapping[str, str]
    notes: tuple[str, ...]
    answers: Mapping[str, tuple[Answered, ...]]
    missing: Mapping[str, tuple[str, ...]]
    unanswerable: tuple[str, ...]

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings that a cosine threshold would have flattered a configuration."""
        found: dict[str, list[str]] = {}
        for one in self.flattery:
            if one.flattered:
                found.setdefault(one.name, []).append(f"{one.figure} {one.cosine:.2f}, where it is {one.judged:.2f}")
        return tuple(
            f"A cosine threshold of {self.cosine:g} would have said of {name}: {'; '.join(said)}. "
            "Near in meaning is not relevant."
            for name, said in found.items()
        )

    def table(self) -> str:
        """Return the tables as text, for a terminal or a notebook."""
        from recall_integrations.evaluation.reports import of_comparison, text_of

        return text_of(of_comparison(self))

    def as_dict(self) -> dict[str, Any]:
        """Return all values for JSON."""
        return {
            "format": 1,
            "k": self.k,
            "questions": self.questions,
            "judge": self.judge,
            "configurations": {one.name: asdict(one) for one in self.compared},
            "differences": {
                one.name: {**asdict(one), "verdicts": {name: one.verdict(name) for name in self.figures}}
                for one in self.differences
            },
            "cosine": {"threshold": self.cosine, "figures": [asdict(one) for one in self.flattery]},
            "warnings": list(self.warnings),
            "skipped": dict(self.skipped),
            "notes": list(self.notes),
            "missing": {question: list(ids) for question, ids in self.missing.items()},
            "unanswerable": list(self.unanswerable),
            "answers": {
                name: {a.question.id: {"ids": a.ids, "ms": round(a.ms, 3)} for a in answers}
                for name, answers in self.answers.items()
            },
        }

    def to_json(self) -> str:
        """Return `as_dict` as JSON text."""
        return json.dumps(self.as_dict(), ensure_ascii=False, indent=1)


def compare(
    store: MemoryStore,
    labels: Labels,
    *,
    configurations: Mapping[str, RecallConfig] | None = None,
    reranker: Any = None,
    llm: Any = None,
    judge: object = None,
    threshold: float | None = None,
    k: int = 5,
    scope: str | None = None,
    now: datetime | None = None,
    config: RecallConfig | None = None,
    cosine: float = COSINE,
    seed: int = 0,
    progress: Progress = silent,
) -> Comparison:
    """Ask several configurations the same questions.

    Args:
        store: where the memories are.
        labels: as for `evaluate`; with a judge, queries alone will do.
        configurations: name → configuration; the first is what the others are compared with. Default: A (plain), B
            (reranker), C (expansion) and D (both), as far as there is what they need.
        reranker, llm: as `QueryOptimizer` takes them.
        judge: says what is relevant instead of the labels: as `Judge`.
        threshold: score of the judge from which a memory is relevant; see `Judge`.
        k, scope, now: as for `evaluate`.
        config: what A to D are made from.
        cosine: the threshold on the cosine whose word is set beside.
        seed: of the bootstrap.
        progress: called with what is done, how much of it, and how much there is.

    Raises:
        InvalidArgument: a line is wrong, no label is in the store, or a judge without a threshold.
    """
    judging = None if judge is None else Judge(judge, threshold)
    read = read_labels(labels, labelled=judging is None)
    found = placed(store, read.questions, scope, labelled=judging is None)
    refuse_none(found)
    if configurations is None:
        ways = a_to_d(store, config or store.config, reranker, llm)
    else:
        ways = own_ways(store, configurations, reranker, llm)
    with closing(ways):
        answers = _asked(ways, found.questions, k, utc_now() if now is None else now, progress)
    judged = _Judged(answers, judging, Cosines(store), cosine, progress)
    notes = [*_about(judging, reranker), *(_not_reranked(answers) if reranker is not None else ())]
    return _report(ways, found, judged, answers, seed, notes)


def _report(
    ways: Ways,
    found: Placed,
    judged: _Judged,
    answers: Mapping[str, Sequence[Answered]],
    seed: int,
    notes: Sequence[str],
) -> Comparison:
    k = next(iter(answers.values()))[0].k
    shown = names(k) if judged.judge is None else hit_names(k)
    return Comparison(
        k=k,
        questions=len(found.questions),
        judge=LABELS if judged.judge is None else judged.judge.name,
        figures=shown,
        compared=tuple(_compared(way, answers[way.name], judged, shown, seed) for way in ways.asked),
        differences=_differences(answers, judged.figures, shown, seed),
        cosine=judged.threshold,
        flattery=judged.flattery(k, seed),
        skipped=ways.skipped,
        notes=(*ways.notes, *notes),
        answers={name: tuple(own) for name, own in answers.items()},
        missing=found.missing,
        unanswerable=found.unanswerable,
    )


def _about(judge: Judge | None, reranker: Any) -> list[str]:
    if judge is None:
        return []
    said = [f"Relevant is what {judge.name} gives {judge.threshold:g} or more, among what any configuration found."]
    named = {str(reranker), getattr(reranker, "name", None), getattr(reranker, "__name__", None)}
    if reranker is not None and judge.name in named:
        said.append("The judge is the reranker itself: it marks its own work, and B and D look better than they are.")
    return said


def _not_reranked(answers: Mapping[str, Sequence[Answered]]) -> list[str]:
    """Say of each configuration whose reranker hardly ever had a say why it had none."""
    said = []
    for name, own in answers.items():
        missed = [a.rerank_reason for a in own if not a.reranked]
        reasons = Counter(why for why in missed if why.startswith(("skip.", "failure.")) and why != "skip.disabled")
        if 2 * reasons.total() > len(own):
            why = ", ".join(f"{reason} {count:,}" for reason, count in reasons.most_common())
            said.append(f"{name}: the reranker had no say in {reasons.total():,} of {len(own):,} recalls ({why}).")
    return said


def _asked(
    ways: Ways, questions: Sequence[Any], k: int, now: datetime, progress: Progress
) -> dict[str, list[Answered]]:
    made_ready([way.optimizer for way in ways.asked], questions, k, now)
    answers: dict[str, list[Answered]] = {way.name: [] for way in ways.asked}
    count = len(ways.asked)
    for done, question in enumerate(questions, start=1):
        for turn in range(count):
            way = ways.asked[(turn + done) % count]
            answers[way.name].append(answered(way.optimizer, question, k, now))
        progress("Asking", done, len(questions))
    return answers


class _Judged:
    """The judgements of answers: figures by the labels or a judge, and by a cosine threshold."""

    def __init__(
        self,
        answers: Mapping[str, Sequence[Answered]],
        judge: Judge | None,
        cosines: Cosines,
        threshold: float,
        progress: Progress,
    ) -> None:
        self.figures: dict[str, list[Mapping[str, float]]] = {name: [] for name in answers}
        self.bands: dict[str, Counter[str]] = {name: Counter() for name in answers}
        self.judge, self.threshold = judge, threshold
        self._cosine: dict[str, list[Mapping[str, float]]] = {name: [] for name in answers}
        together = list(zip(*answers.values(), strict=True))
        for done, own in enumerate(together, start=1):
            pool = {hit.memory.id or "": hit.memory for a in own for hit in a.hits}
            question, k = own[0].question, own[0].k
            relevant = question.graded
            if judge is not None:
                said = dict(zip(pool, judge.verdicts(question.text, list(pool.values())), strict=True)) if pool else {}
                relevant = {one: 1.0 for one, verdict in said.items() if verdict.relevant}
                for name, a in zip(answers, own, strict=True):
                    self.bands[name].update(str(said[one].band) for one in a.ids if said[one].band is not None)
                progress("Judging", done, len(together))
            near = cosines.of(question, list(pool))
            close = {one: 1.0 for one, value in near.items() if value >= threshold}
            for name, a in zip(answers, own, strict=True):
                self.figures[name].append(figures(a.ids, relevant, k))
                if near or not pool:
                    self._cosine[name].append(figures(a.ids, close, k))

    def flattery(self, k: int, seed: int) -> tuple[Flattery, ...]:
        """Compare the threshold's figures of each configuration with the judged ones."""
        found = []
        shown = [name for name in hit_names(k) if not name.startswith("mrr")]
        for way, own in self.figures.items():
            close = self._cosine[way]
            if len(close) != len(own):
                continue
            both = np.asarray([[[c[f], o[f]] for f in shown] for c, o in zip(close, own, strict=True)])
            gaps = intervals(both[:, :, 0] - both[:, :, 1], seed=seed)
            means = both.mean(axis=0)
            found += [
                Flattery(name=way, figure=f, cosine=float(means[i, 0]), judged=float(means[i, 1]), gap=gaps[i])
                for i, f in enumerate(shown)
            ]
        return tuple(found)


def _compared(way: Way, own: Sequence[Answered], judged: _Judged, shown: Sequence[str], seed: int) -> Compared:
    values = np.asarray([[row[figure] for figure in shown] for row in judged.figures[way.name]], dtype=np.float64)
    return Compared(
        name=way.name,
        title=way.title,
        averages=dict(zip(shown, intervals(values, seed=seed), strict=True)),
        latency=latency_of([a.ms for a in own]),
        reranked=sum(a.reranked for a in own),
        rewritten=sum(a.rewritten for a in own),
        degraded=sum(bool(a.degraded) for a in own),
        bands=dict(judged.bands[way.name]),
    )


def _differences(
    answers: Mapping[str, Sequence[Answered]], scores: Scores, shown: Sequence[str], seed: int
) -> tuple[Difference, ...]:
    first, *others = answers
    found = []
    for name in others:
        gaps = np.asarray(
            [[a[f] - b[f] for f in shown] for a, b in zip(scores[name], scores[first], strict=True)], dtype=np.float64
        )
        ms = np.asarray([[a.ms - b.ms] for a, b in zip(answers[name], answers[first], strict=True)])
        spread = deviation(gaps[:, -2].tolist())
        found.append(
            Difference(
                name=name,
                changes=dict(zip(shown, intervals(gaps, seed=seed), strict=True)),
                chances={f: chance(gaps[:, i].tolist(), seed=seed) for i, f in enumerate(shown)},
                ms=intervals(ms, seed=seed)[0],
                moved=sum(a.ids != b.ids for a, b in zip(answers[name], answers[first], strict=True)),
                labels_needed={effect: labels_needed(spread, effect) for effect in EFFECTS} if spread else {},
            )
        )
    return tuple(found)
