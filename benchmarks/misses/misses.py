"""Questions that recall got wrong, laid out for reading: where the gold memories ended up, and what came instead.

A question is a *miss* if no gold memory is among the first 5 hits; in data sets of the family `multi-hop`, where every
gold memory is needed, if not all are among the first 10. Questions are asked as `recall bench quality` asks them, but
for the deadline, which is far off. Misses are asked twice more:

- for as many hits as an arm returns (`planner.arm_limit`), which leaves the candidates as they are: the gold's *place*;
- for `DEEP` hits, so that every arm lists that many: at which rank each arm *would* have it.

The best gold memory that is missing is compared with those that took its place: per source, what they were given on
average (`Contribution.added`) minus what it was given. Positive is what they won by.

Sampled misses are spread over the categories in proportion (`sampling`): the same for every run, and much the same
after a change of the ranking. `signs` counts what can be seen of all misses without reading them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console

from benchmarks.datasets.data import EvaluationData
from benchmarks.datasets.loading import load
from benchmarks.datasets.multihop import MULTIHOP
from benchmarks.misses.sampling import spread_sample
from benchmarks.misses.signs import SIGNS, SignReader
from benchmarks.quality import comparison
from benchmarks.quality.systems import TIME_BUDGET_MS, RecallSystem
from benchmarks.shared.reports import environment, write_report
from benchmarks.shared.terminal import progress
from recall_integrations.config import RecallConfig
from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation.questions import Question
from recall_integrations.evaluation.reports import checked_output
from recall_integrations.ranking.feature_sum import Ranker, Ranking
from recall_integrations.ranking.features.compute import Features
from recall_integrations.ranking.rank import resolve_ranker
from recall_integrations.types import Hit, RecallResult

if TYPE_CHECKING:
    from recall_integrations import MemoryStore

FIRST, FIRST_MULTIHOP = 5, 10
K = 10
DEEP = 2_000
ARMS = ("lexical", "semantic", "graph", "temporal")
PLACES = ("to 10", "to limit", "below", "no candidate")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gold:
    """A gold memory of a missed question.

    Args:
        id: of the memory.
        place: among the hits, from 1; `None` = below the limit of the arms, or no candidate.
        ranked: place among all candidates by the ranker alone, before lifts and diversity; `None` = no candidate, or
            the strategy has no ranker.
        candidate: whether an arm, or a neighbour of a lexical hit, brought it.
        arms: arm → rank, where the arm lists it among the first `DEEP`.
        folded_into: the hit whose repeat it was taken for; empty = it was not.
    """

    id: str
    place: int | None
    ranked: int | None
    candidate: bool
    arms: Mapping[str, int] = field(default_factory=dict)
    folded_into: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Miss:
    """A missed question.

    Args:
        question: its id.
        category, plan: of the question.
        candidates: how many there were; 0 where the strategy has no ranker.
        gold: all gold memories, in the order of the data.
        winners: ids of the first hits.
        behind: source → what the winners that are not gold were given on average minus what the best missing gold
            memory was given, without lifts if it is below the limit of the arms; largest first; empty where it is no
            candidate.
        signs: those of `signs.SIGNS` that it shows.
    """

    question: str
    category: str
    plan: str
    candidates: int
    gold: tuple[Gold, ...]
    winners: tuple[str, ...]
    behind: Mapping[str, float] = field(default_factory=dict)
    signs: tuple[str, ...] = ()

    @property
    def missing(self) -> Gold:
        """The best gold memory that is not among the winners."""
        lost = [g for g in self.gold if g.id not in self.winners]
        return min(lost, key=lambda g: (not g.candidate, g.place or DEEP, g.ranked or DEEP))


@dataclass(frozen=True, slots=True, kw_only=True)
class MissReport:
    """The misses of a data set.

    Args:
        dataset: its name.
        first: hits that were looked at.
        every: whether all gold memories had to be among them, or one.
        asked: category → questions.
        misses: all of them, in the order of the data.
        sampled: ids of those that are listed.
    """

    dataset: str
    first: int
    every: bool
    asked: Mapping[str, int]
    misses: tuple[Miss, ...]
    sampled: tuple[str, ...]

    @property
    def listed(self) -> tuple[Miss, ...]:
        """The sampled misses, in the order of `sampled`."""
        by_id = {m.question: m for m in self.misses}
        return tuple(by_id[one] for one in self.sampled)

    def places(self, category: str | None = None) -> dict[str, int]:
        """How many misses have their best missing gold memory where: `PLACES` → count."""
        found = Counter(_where(m.missing) for m in self.misses if category in (None, m.category))
        return {name: found[name] for name in PLACES}

    def signs(self, category: str | None = None) -> dict[str, int]:
        """How many misses show each of `SIGNS`."""
        found = Counter(sign for m in self.misses if category in (None, m.category) for sign in m.signs)
        return {name: found[name] for name in SIGNS}


class Watched:
    """A ranker that keeps what it ranked last."""

    def __init__(self, ranker: Ranker) -> None:
        self._ranker = ranker
        self.last: tuple[Features, Ranking] | None = None

    @property
    def name(self) -> str:
        """Of the ranker that is watched, as `version`."""
        return self._ranker.name

    @property
    def version(self) -> str:
        """Of its weights."""
        return self._ranker.version

    def score(self, features: Features) -> Ranking:
        """Its scores."""
        ranking = self._ranker.score(features)
        self.last = (features, ranking)
        return ranking


# --- asking -----------------------------------------------------------------------------------------------------------


def run(
    data_path: str | Path,
    console: Console,
    *,
    dataset: str | Sequence[str] = "locomo",
    questions: Collection[str] = (),
    sample: int | None = None,
    seed: int = 0,
    texts: bool = False,
    json_path: str | Path | None = None,
    config: RecallConfig | None = None,
) -> tuple[MissReport, ...]:
    """Ask every question, print the misses, and write the report if asked.

    Args:
        data_path: the file or folder with the data (see `benchmarks.datasets`).
        console: where tables and progress go.
        dataset: one or several of `datasets.loading.DATASETS`.
        questions: ask only those with these ids. Default: all.
        sample: list at most this many misses of each. Default: all.
        seed: of the sample.
        texts: also print the question, the gold memories and the winners.
        json_path: file for the report; ids and figures, no texts.
        config: our configuration. Default: `RecallConfig()`.

    Raises:
        InvalidArgument: an unknown data set or question, bad data, a sample under 1, a report that could not be
            written.
    """
    from benchmarks.misses.tables import read_out, show

    if sample is not None and sample < 1:
        raise InvalidArgument(f"sample must be at least 1, not {sample}.")
    output, settings = checked_output(json_path), config or RecallConfig()
    names = [dataset] if isinstance(dataset, str) else list(dict.fromkeys(dataset))
    reports = []
    for data in [load(data_path, name) for name in names]:
        report = find(data, console, questions=questions, sample=sample, seed=seed, config=settings)
        show(report, console)
        if texts:
            read_out(report, data, console)
        reports.append(report)
    about = {"config": settings.fingerprint, **environment()}
    payload = {"format": 1, "misses": {r.dataset: asdict(r) for r in reports}, "environment": about}
    write_report(output, payload, console)
    return tuple(reports)


def find(
    data: EvaluationData,
    console: Console,
    *,
    questions: Collection[str] = (),
    sample: int | None = None,
    seed: int = 0,
    config: RecallConfig | None = None,
) -> MissReport:
    """Ask all questions with gold memories, or only some, and look closer at the misses.

    Raises:
        InvalidArgument: no question has a gold id, or none of those that are to be asked.
    """
    from recall_integrations import MemoryStore, QueryOptimizer

    settings = config or RecallConfig()
    asked = {q.id: q for q in comparison.chosen(data, None).values() if not questions or q.id in questions}
    if not asked:
        raise InvalidArgument(f"{data.name} has no question with a gold memory called {', '.join(sorted(questions))}.")
    every = data.family == MULTIHOP
    first = FIRST_MULTIHOP if every else FIRST
    ranker = resolve_ranker(settings.ranking)
    watched = None if ranker is None else Watched(ranker)
    misses: list[Miss] = []
    with (
        MemoryStore.open(config=settings) as store,
        closing(
            RecallSystem(QueryOptimizer(store, config=settings, ranker=watched), time_budget_ms=TIME_BUDGET_MS)
        ) as system,
        progress(console) as bar,
    ):
        task = bar.add_task(data.name, total=len(asked))
        looking = _Closer(store, system, watched, settings, first=first, every=every)
        for collection in data.collections:
            system.enter(collection)
            signs = SignReader(collection.memories)
            for question in (q for q in collection.questions if q.id in asked):
                found = looking.look(question, signs)
                misses.extend([] if found is None else [found])
                bar.advance(task)
    return MissReport(
        dataset=data.name,
        first=first,
        every=every,
        asked=dict(sorted(Counter(q.category for q in asked.values()).items())),
        misses=tuple(misses),
        sampled=spread_sample(_by_category(misses), sample, seed),
    )


class _Closer:
    """Asks one question after the other, and the missed ones again."""

    def __init__(
        self,
        store: MemoryStore,
        system: RecallSystem,
        watched: Watched | None,
        config: RecallConfig,
        *,
        first: int,
        every: bool,
    ) -> None:
        self._store, self._system, self._watched = store, system, watched
        self._first, self._every = first, every
        self._wide = max(config.planner.arm_limit, K)

    def look(self, question: Question, signs: SignReader) -> Miss | None:
        """The miss, if it is one."""
        result = self._ask(question, K)
        hits = result.hits
        winners = tuple(_id(hit) for hit in hits[: self._first])
        gold = set(question.relevant)
        if gold <= set(winners) or (not self._every and gold & set(winners)):
            return None
        ranked, added = self._candidates(question)
        wide = self._ask(question, self._wide).hits
        deep = {_id(hit): _ranks(hit) for hit in self._ask(question, DEEP).hits}
        places = {_id(hit): place for place, hit in enumerate(wide, start=1)}
        folded = {one: _id(hit) for hit in (*wide, *hits) for one in hit.duplicates}
        miss = Miss(
            question=question.id,
            category=question.category,
            plan=result.plan.name,
            candidates=len(ranked),
            gold=tuple(
                Gold(
                    id=one,
                    place=places.get(one),
                    ranked=ranked.get(one),
                    candidate=one in ranked or one in places or one in folded,
                    arms=deep.get(one, {}),
                    folded_into=folded.get(one, ""),
                )
                for one in question.relevant
            ),
            winners=winners,
            signs=signs.read(result.query, question.relevant, winners, folded),
        )
        given = {**added, **{_id(hit): _added(hit) for hit in wide}}
        others = [given[w] for w in winners if w not in gold and w in given]
        return replace(miss, behind=_behind(given.get(miss.missing.id), others))

    def _ask(self, question: Question, k: int) -> RecallResult:
        if self._watched is not None:
            self._watched.last = None
        return self._system.recall(question, k)

    def _candidates(self, question: Question) -> tuple[dict[str, int], dict[str, dict[str, float]]]:
        """Of the last recall: id → place by the ranker alone, and id → feature → what it added."""
        last = None if self._watched is None else self._watched.last
        scope_id = self._store.scope_id(question.scope)
        if last is None or scope_id is None:
            return {}, {}
        features, ranking = last
        view = self._store.view(scope_id)
        ids = [view.ids[row] for row in features.rows.tolist()]
        order = sorted(range(len(ids)), key=lambda i: (-float(ranking.scores[i]), ids[i]))
        added = {ids[i]: {name: float(own[i]) for name, own in ranking.added.items()} for i in order}
        return {ids[i]: place for place, i in enumerate(order, start=1)}, added


def _id(hit: Hit) -> str:
    return hit.memory.id or ""


def _ranks(hit: Hit) -> dict[str, int]:
    return {c.source: c.rank for c in hit.contributions if c.rank is not None and c.source in ARMS}


def _added(hit: Hit) -> dict[str, float]:
    return {c.source: c.added for c in hit.contributions if c.added}


def _behind(own: Mapping[str, float] | None, others: Sequence[Mapping[str, float]]) -> dict[str, float]:
    if own is None or not others:
        return {}
    names = sorted({name for one in (own, *others) for name in one})
    gaps = {n: float(np.mean([one.get(n, 0.0) for one in others])) - own.get(n, 0.0) for n in names}
    return {n: round(gap, 3) for n, gap in sorted(gaps.items(), key=lambda item: -item[1]) if abs(gap) >= 0.0005}


def _by_category(misses: Sequence[Miss]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for miss in misses:
        groups.setdefault(miss.category, []).append(miss.question)
    return groups


def _where(gold: Gold) -> str:
    if not gold.candidate:
        return PLACES[3]
    if gold.place is None:
        return PLACES[2]
    return PLACES[0] if gold.place <= K else PLACES[1]
