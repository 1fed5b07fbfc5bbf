"""Weights from a user's own labelled queries: `recall train`."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from recall_integrations import __version__
from recall_integrations.adapters.scopes import scope_text
from recall_integrations.config import RecallConfig
from recall_integrations.errors import ConfigError, InvalidArgument
from recall_integrations.evaluation.metrics import Interval, figures, folds_of, interval
from recall_integrations.evaluation.questions import Question, placed
from recall_integrations.indexes.bm25 import frequency_of
from recall_integrations.optimizer import QueryOptimizer
from recall_integrations.ranking.calibration.model import unknown_share
from recall_integrations.ranking.features.bm25 import Values
from recall_integrations.ranking.features.compute import Features
from recall_integrations.ranking.features.feature import FeatureSet
from recall_integrations.ranking.features.registry import FEATURES
from recall_integrations.ranking.rankers.feature_sum import FixedWeights, Ranker, Ranking, known_of
from recall_integrations.ranking.rankers.linear import LinearRanker
from recall_integrations.ranking.rankers.trees import TreesRanker, require_lightgbm
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.training.calibration import Calibrated, Outcome, calibrated, wrong_scopes
from recall_integrations.training.fitting import Example, fit_linear, fit_trees

K = 10  # hits of a recall
TIME_BUDGET_MS = 60_000.0  # so far off that a busy machine changes nothing


class Watched:
    """Wraps a ranker, and keeps its last ranking."""

    def __init__(self, ranker: Ranker, *, detail: bool = False) -> None:
        self._ranker = ranker
        self._detail = detail
        self._last: tuple[Features, Ranking] | None = None

    @property
    def name(self) -> str:
        """Name of the watched ranker."""
        return self._ranker.name

    @property
    def version(self) -> str:
        """Version of its weights."""
        return self._ranker.version

    @property
    def known(self) -> FeatureSet:
        """Features of the watched ranker."""
        return known_of(self._ranker)

    @property
    def detail(self) -> bool:
        """True if the detailed features are computed."""
        return self._detail or self._ranker.detail

    def score(self, features: Features) -> Ranking:
        """Score with the watched ranker, and keep the result."""
        ranking = self._ranker.score(features)
        self._last = (features, ranking)
        return ranking

    def taken(self) -> tuple[Features, Ranking] | None:
        """Return the last ranking since the last call; `None` = there was none."""
        last, self._last = self._last, None
        return last


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """The result of a recall of a question."""

    ids: list[str]
    example: Example  # the candidates with labels; its group is the scope
    scores: Values  # of the candidates, by the ranker, before the lifts of the plan
    unknown: float  # see `calibration.unknown_share`


class Recaller:
    """Makes recalls whose candidates are seen."""

    def __init__(self, store: MemoryStore, config: RecallConfig, ranker: Ranker, *, detail: bool = False) -> None:
        self._store = store
        self._watched = Watched(ranker, detail=detail)
        self._optimizer = QueryOptimizer(store, config=config, ranker=self._watched)

    def close(self) -> None:
        """Close the optimizer."""
        self._optimizer.close()

    def recall(self, question: Question, now: datetime) -> Recalled:
        """Ask a question, and label its candidates."""
        result = self._optimizer.recall(
            question.text,
            k=K,
            scope=question.scope,
            filters=question.filters,
            now=question.asked_at or now,
            time_budget_ms=TIME_BUDGET_MS,
        )
        seen = self._watched.taken()
        if seen is None:
            raise ConfigError(
                f"The words of the scope {scope_text(question.scope)} are not in memory, so there are no ranking "
                "features to learn from. Set ranking.features to true, and retrieval.cache_mb high enough."
            )
        features, ranking = seen
        scope_id = self._store.scope_id(question.scope)
        assert scope_id is not None  # something was ranked there
        view = self._store.view(scope_id)
        relevant = np.asarray([view.ids[row] in question.relevant for row in features.rows.tolist()], dtype=np.bool_)
        frequency = frequency_of(view, lambda: self._store.lexical)
        return Recalled(
            ids=[hit.memory.id or "" for hit in result.hits],
            example=Example(features=features.whole(), relevant=relevant, group=scope_text(question.scope)),
            scores=ranking.scores,
            unknown=unknown_share(result.query.terms, frequency, view.count),
        )


KINDS = ("linear", "trees")
METRICS = ("recall@5", "ndcg@10")
MIN_QUERIES = 30

Progress = Callable[[str, int, int], None]
Scores = dict[str, dict[str, float]]


def outcome(found: Recalled, *, answered: bool = True) -> Outcome:
    """Make the outcome of a recall for calibration; with `answered` false, of a scope that has no answer."""
    relevant = found.example.relevant if answered else np.zeros_like(found.example.relevant)
    return Outcome(features=found.example.features, scores=found.scores, relevant=relevant, unknown=found.unknown)


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """The result of `learn`."""

    ranker: LinearRanker | TreesRanker  # fitted on all queries; its `about` has the figures
    queries: int  # number of queries that were asked
    usable: int  # of these, with a relevant memory among the candidates; the others teach nothing and count as misses
    forgotten: int  # number of labels that name no memory of their scope, left out
    unanswerable: int  # number of queries without a label left, left out
    grouped_by: str  # `scope` or `query`: the unit that is never in two folds
    folds: int  # number of folds
    fixed_weights: Mapping[str, float]  # metric → mean over the queries
    learned: Mapping[str, float]
    gain: Mapping[str, Interval]  # metric → learned − fixed
    # Quality of the ranker's probabilities; `None` = too few queries, it has none.
    calibration: Calibrated | None = None

    @property
    def better(self) -> bool:
        """True if the queries prove it: the interval of nDCG@10 lies above 0."""
        return self.gain["ndcg@10"].low > 0


def learn(
    store: MemoryStore,
    questions: Sequence[Question],
    *,
    now: datetime,
    kind: str = "linear",
    scope: str | None = None,
    folds: int = 5,
    seed: int = 0,
    config: RecallConfig | None = None,
    known: FeatureSet = FEATURES,
    progress: Progress = lambda _what, _done, _total: None,
) -> Learned:
    """Fit a ranker on labelled queries, and measure such rankers on queries they have not seen."""
    if kind not in KINDS:
        raise InvalidArgument(f"A ranker that can be trained is one of {', '.join(KINDS)}, not {kind!r}.")
    if folds < 2:
        raise InvalidArgument(f"Cross-validation needs at least 2 folds, not {folds}.")
    if kind == "trees":
        require_lightgbm()
    asked, forgotten = _placed(store, questions, scope)
    _enough(len(asked), "queries whose relevant memories are in the store")
    base = config or store.config
    base = replace(base, ranking=replace(base.ranking, abstain_below=0.0))  # orders are compared: nothing may abstain
    examples, fixed_weights = _recorded(store, asked, base, kind, FixedWeights(known=known), now, progress)
    usable = [bool(e.relevant.any() and not e.relevant.all()) for e in examples]
    _enough(sum(usable), "queries with a relevant memory among the candidates that a recall finds")
    grouped_by, fold_of = _split(asked, usable, folds, seed)
    crossed = _crossed(store, asked, examples, fold_of, base, kind, seed, now, progress)
    done = Learned(
        ranker=_fit(kind, examples, seed),
        queries=len(asked),
        usable=sum(usable),
        forgotten=forgotten,
        unanswerable=len(questions) - len(asked),
        grouped_by=grouped_by,
        folds=len(set(fold_of)),
        fixed_weights=_means(fixed_weights),
        learned=_means(crossed.scores),
        gain=_gains({q.id: crossed.scores[q.id] for q in asked}, fixed_weights, seed),
    )
    return _described(done, crossed, asked, kind, seed, now)


def _gains(learned: Scores, fixed_weights: Scores, seed: int) -> dict[str, Interval]:
    return {m: interval([own[m] - fixed_weights[q][m] for q, own in learned.items()], seed=seed) for m in METRICS}


# -- what is asked -----------------------------------------------------------------------------------------------------


def _placed(store: MemoryStore, questions: Sequence[Question], scope: str | None) -> tuple[tuple[Question, ...], int]:
    """Return the queries with their scope and existing labels, and the number of other labels."""
    found = placed(store, questions, scope)
    return found.questions, sum(map(len, found.missing.values()))


def _enough(count: int, what: str) -> None:
    if count < MIN_QUERIES:
        raise InvalidArgument(
            f"There are {count} {what}; learning needs at least {MIN_QUERIES}, and some hundreds to be of use. "
            "Label more queries, or keep ranking.strategy 'fixed_weights', which needs none."
        )


def _recorded(
    store: MemoryStore,
    asked: Sequence[Question],
    base: RecallConfig,
    kind: str,
    fixed: FixedWeights,
    now: datetime,
    progress: Progress,
) -> tuple[list[Example], Scores]:
    """Recall each query: return its candidates with labels, and the scores of the fixed weights."""
    examples: list[Example] = []
    scores: Scores = {}
    with closing(Recaller(store, base, fixed, detail=kind == "trees")) as recaller:
        for scope in dict.fromkeys(q.scope for q in asked):
            store.warm(scope=scope)
        for question in asked:
            found = recaller.recall(question, now)
            examples.append(found.example)
            scores[question.id] = _measured(found.ids, question.relevant)
            progress("Recalling", len(examples), len(asked))
    return examples, scores


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossed:
    """Results of rankers on the queries of folds that they were fitted without."""

    scores: Scores  # query → metric → value
    own: Mapping[int, Sequence[Outcome]]  # fold → outcomes of its queries in their scopes
    wrong: Mapping[int, Sequence[Outcome]]  # fold → outcomes of the same queries in other scopes


def _crossed(
    store: MemoryStore,
    asked: Sequence[Question],
    examples: Sequence[Example],
    fold_of: Sequence[int],
    base: RecallConfig,
    kind: str,
    seed: int,
    now: datetime,
    progress: Progress,
) -> Crossed:
    scores: Scores = {}
    own: dict[int, list[Outcome]] = {}
    wrong: dict[int, list[Outcome]] = {}
    elsewhere = wrong_scopes(asked, fold_of)
    for fold in sorted(set(fold_of)):
        own[fold], wrong[fold] = [], []
        ranker = _fit(kind, [e for e, f in zip(examples, fold_of, strict=True) if f != fold], seed)
        with closing(Recaller(store, base, ranker)) as recaller:
            for question, scope, place in zip(asked, elsewhere, fold_of, strict=True):
                if place != fold:
                    continue
                found = recaller.recall(question, now)
                scores[question.id] = _measured(found.ids, question.relevant)
                own[fold].append(outcome(found))
                if scope is not None:
                    there = recaller.recall(replace(question, scope=scope), now)
                    wrong[fold].append(outcome(there, answered=False))
                progress("Cross-validating", len(scores), len(asked))
    return Crossed(scores=scores, own=own, wrong=wrong)


# -- folds and figures -------------------------------------------------------------------------------------------------


def _split(asked: Sequence[Question], usable: Sequence[bool], folds: int, seed: int) -> tuple[str, list[int]]:
    """Return the unit kept together, and the fold of each query: by scope where enough is left to learn from."""
    scopes = [scope_text(q.scope) for q in asked]
    by_scope = folds_of(scopes, folds, seed)
    least = sum(usable) - max(Counter(f for f, u in zip(by_scope, usable, strict=True) if u).values())
    if least >= MIN_QUERIES / 2:
        return "scope", by_scope
    return "query", folds_of([q.id for q in asked], folds, seed)


def _measured(ids: Sequence[str], relevant: Sequence[str]) -> dict[str, float]:
    found = figures(ids, dict.fromkeys(relevant, 1.0), K)
    return {name: found[name] for name in METRICS}


def _means(scores: Scores) -> dict[str, float]:
    return {m: float(np.mean([row[m] for row in scores.values()])) for m in METRICS}


# -- weights -----------------------------------------------------------------------------------------------------------


def _fit(kind: str, examples: Sequence[Example], seed: int) -> LinearRanker | TreesRanker:
    """Fit with the entity graph besides, which the data sets behind the choice of features do not have."""
    if kind == "linear":
        return fit_linear(examples, seed=seed, besides=("graph",))
    return fit_trees(examples, seed=seed, besides=("graph",))


def _described(
    done: Learned, crossed: Crossed, asked: Sequence[Question], kind: str, seed: int, now: datetime
) -> Learned:
    """Add a version that no other weights have, the source of the weights (counts, no text), and a calibration."""
    about = {
        "data": {
            "queries": done.queries,
            "usable": done.usable,
            "relevant": sum(len(q.relevant) for q in asked),
            "scopes": len({q.scope for q in asked}),
        },
        "split": f"figures: {done.folds} folds by {done.grouped_by}; these weights: all queries",
        "figures": {
            m: {
                "fixed_weights": round(done.fixed_weights[m], 4),
                "learned": round(done.learned[m], 4),
                "difference": round(done.gain[m].mean, 4),
                "interval": [round(done.gain[m].low, 4), round(done.gain[m].high, 4)],
            }
            for m in METRICS
        },
        "trained_at": now.isoformat(timespec="seconds"),
        "trained_by": f"recall train, recall-integrations {__version__}, seed {seed}",
    }
    digest = hashlib.blake2b(done.ranker.to_json().encode(), digest_size=4).hexdigest()
    version = f"{kind}-{now:%Y%m%d}-{digest}"
    made = calibrated(crossed.own, crossed.wrong, ranker=kind, ranker_version=version)
    calibration, held = made or (None, None)
    return replace(
        done, ranker=done.ranker.described(version=version, about=about, calibration=calibration), calibration=held
    )
