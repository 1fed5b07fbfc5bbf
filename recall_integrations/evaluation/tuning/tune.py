"""Settings that are better on a user's own questions, if there are any: `recall tune`.

    labels ─ folds ─▶ of each fold: search on the others ─▶ recall the fold with what was found ─▶ gain, interval
                └─▶ search on all ─▶ the configuration; written only if the gain on questions not searched on is one

What is reported was measured by real recalls. The search goes on from kept candidates where a setting is of the ranking
only (`replay`). There is no LLM, and the deadline is far off.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np
import yaml

from recall_integrations.adapters.scopes import scope_text
from recall_integrations.config import RecallConfig
from recall_integrations.config.loading import value_of
from recall_integrations.errors import ConfigError, InvalidArgument
from recall_integrations.evaluation.datasets.questions import Question
from recall_integrations.evaluation.labelled.asking import Answered, Latency, Progress, latency_of, silent, uncached
from recall_integrations.evaluation.labelled.folds import folds_of
from recall_integrations.evaluation.labelled.intervals import (
    SAMPLES,
    Figures,
    deviation,
    interval,
    labels_needed,
)
from recall_integrations.evaluation.labelled.labels import Labels, read_labels
from recall_integrations.evaluation.labelled.placing import Placed, placed
from recall_integrations.evaluation.metrics import Interval
from recall_integrations.evaluation.tuning.knobs import (
    KNOBS,
    RERANK_KNOBS,
    Knob,
    Setting,
    Settings,
    as_file,
    tried,
    with_settings,
)
from recall_integrations.evaluation.tuning.replay import Replays
from recall_integrations.evaluation.tuning.search import FEW, ROUNDS, Search, crossed
from recall_integrations.store.clock import utc_now
from recall_integrations.store.memory_store import MemoryStore

MIN_QUESTIONS = 30
EFFECTS = (0.05, 0.02, 0.01)
METRICS = ("ndcg", "recall", "mrr")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One setting by itself, on all questions: what it changes there is no proof, since the best of many is picked."""

    name: str
    before: Any
    value: Any
    gain: Interval
    moved: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """A setting that the search on all questions changed; in `folds` folds the search on the others did so too."""

    name: str
    before: Any
    after: Any
    folds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """What a search found.

    Args:
        questions: that were asked.
        figure: what was searched for, such as `ndcg@10`.
        folds: of the cross-validation.
        grouped_by: what is never in two folds: `scope`, `thread` or `question`.
        before: the figure under the settings that were there.
        in_fold: gain on the questions that were searched on; too good by nature.
        out_of_fold: gain on questions that were not.
        chance: how often the best single setting would look as good if none were better than what was there.
        moved: settings that changed.
        tried: single settings, the best first.
        without: knobs that could not be tried, and why.
        trials: settings that were measured, alone or together.
        complete: whether the time sufficed for all.
        latency: before and after.
        found: the configuration that the search chose.
        base: the one that was there.
        spread: standard deviation of the changes of single questions, by what was found or else the best setting.
        missing: question id → labels that name no memory of its scope.
        unanswerable: questions of which no label was left.
    """

    questions: int
    figure: str
    folds: int
    grouped_by: str
    before: Interval
    in_fold: Interval
    out_of_fold: Interval
    chance: float
    moved: tuple[Moved, ...]
    tried: tuple[Tried, ...]
    without: Mapping[str, str]
    trials: int
    complete: bool
    latency: tuple[Latency, Latency]
    found: RecallConfig
    base: RecallConfig
    spread: float
    missing: Mapping[str, tuple[str, ...]]
    unanswerable: tuple[str, ...]

    @property
    def proven(self) -> bool:
        """Whether there is a gain: settings stood out more than the best of so many does by chance, and the interval of
        what such a search gains on questions that it did not see lies above 0."""
        return bool(self.moved) and self.out_of_fold.low > 0

    @property
    def config(self) -> RecallConfig:
        """The one to use: what was found if it is proven, else what was there."""
        return self.found if self.proven else self.base

    @property
    def labels_needed(self) -> dict[float, int]:
        """Gain → questions that would show it; empty where nothing moved a question."""
        return {effect: labels_needed(self.spread, effect) for effect in EFFECTS} if self.spread else {}

    @property
    def reason(self) -> str:
        """What was decided, and why, in a sentence or two."""
        gain = self.out_of_fold
        said = f"{self.figure} on questions that were not searched on: {gain.mean:+.4f} "
        said += f"({gain.low:+.4f} to {gain.high:+.4f})"
        if self.proven:
            return f"The settings below are better: {said}."
        if not self.moved:
            return (
                "No setting stands out: the best of so many would look as good as it does here by chance in "
                f"{self.chance:.0%} of cases. The settings stay as they are."
            )
        return f"No gain is proven ({said}; the interval holds 0). The settings stay as they are."

    def yaml(self) -> str:
        """The configuration file, with the reason on top of it."""
        settings = as_file(self.config)
        about = [
            f"# recall tune: {self.reason}",
            f"# {self.questions:,} questions, {self.folds} folds by {self.grouped_by}, {self.trials:,} settings tried.",
        ]
        body = yaml.safe_dump({"recall": settings}, sort_keys=False, allow_unicode=True, width=1_000)
        return "\n".join(about) + "\n" + body

    def table(self) -> str:
        """For a terminal or a notebook."""
        from recall_integrations.evaluation.labelled.tables import text_of
        from recall_integrations.evaluation.tuning.table import of_tuning

        return text_of(of_tuning(self))

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "format": 1,
            "questions": self.questions,
            "figure": self.figure,
            "folds": self.folds,
            "grouped_by": self.grouped_by,
            "proven": self.proven,
            "reason": self.reason,
            "before": asdict(self.before),
            "in_fold": asdict(self.in_fold),
            "out_of_fold": {**asdict(self.out_of_fold), "chance": self.chance},
            "moved": [asdict(one) for one in self.moved],
            "settings": as_file(self.config),
            "tried": [asdict(one) for one in self.tried],
            "without": dict(self.without),
            "trials": self.trials,
            "complete": self.complete,
            "latency_ms": {"before": asdict(self.latency[0]), "after": asdict(self.latency[1])},
            "labels_needed": {str(effect): count for effect, count in self.labels_needed.items()},
            "missing": {question: list(ids) for question, ids in self.missing.items()},
            "unanswerable": list(self.unanswerable),
        }

    def to_json(self) -> str:
        """`as_dict` as text."""
        return json.dumps(self.as_dict(), ensure_ascii=False, indent=1)


def tune(
    store: MemoryStore,
    labels: Labels,
    *,
    config: RecallConfig | None = None,
    knobs: Sequence[Knob] | None = None,
    reranker: Any = None,
    metric: str = "ndcg",
    k: int = 10,
    scope: str | None = None,
    now: datetime | None = None,
    folds: int = 5,
    minutes: float = 10.0,
    samples: int = SAMPLES,
    seed: int = 0,
    clock: Callable[[], float] = time.monotonic,
    progress: Progress = silent,
) -> Tuning:
    """Look for settings that are better on labelled questions, and say whether they hold on others.

    Args:
        store: where the memories are.
        labels: as for `evaluate`; at least `MIN_QUESTIONS` of them.
        config: that is to be made better. Default: that of the store.
        knobs: settings to turn. Default: `KNOBS`, and with a reranker `RERANK_KNOBS`.
        reranker: as `QueryOptimizer` takes it.
        metric: what is searched for: `ndcg`, `recall` or `mrr`, of k hits.
        k, scope, now: as for `evaluate`.
        folds: of the cross-validation, at most.
        minutes: after which nothing more is tried; what was tried by then is judged.
        samples, seed: of the bootstrap; the seed is of the folds, too.
        clock: seconds, for `minutes`.
        progress: called with what is done, how much of it, and how much there is.

    Raises:
        InvalidArgument: too few questions, an unknown metric, or fewer than two folds.
        ConfigError: a knob names no setting.
    """
    if metric not in METRICS or folds < 2 or not minutes > 0:
        raise InvalidArgument(
            f"metric must be one of {', '.join(METRICS)}, folds 2 at least and minutes above 0, not {metric!r}, "
            f"{folds} and {minutes}."
        )
    given = config or store.config
    base = uncached(given)
    chosen = (*KNOBS, *(RERANK_KNOBS if reranker is not None else ())) if knobs is None else tuple(knobs)
    singles, without = tried(base, chosen)
    found = placed(store, read_labels(labels).questions, scope)
    if len(found.questions) < MIN_QUESTIONS:
        raise InvalidArgument(
            f"There are {len(found.questions)} questions whose relevant memories are in the store; tuning needs at "
            f"least {MIN_QUESTIONS}, and some hundreds to see what one is worth. Label more, or keep the defaults."
        )
    replays = Replays(store, found.questions, k, utc_now() if now is None else now, reranker)
    replays.warm()
    trials = _Trials(replays, base, f"{metric}@{k}", clock, clock() + 60 * minutes, progress)
    searched = _searched(trials, singles, without, found, _split(store, found.questions, folds, seed))
    return _judged(searched, given, samples, seed, progress)


class _Trials:
    """Measures settings until the time is over."""

    def __init__(
        self,
        replays: Replays,
        base: RecallConfig,
        figure: str,
        clock: Callable[[], float],
        end: float,
        progress: Progress,
    ) -> None:
        self.replays, self.base, self.figure = replays, base, figure
        self._clock, self._end, self._progress = clock, end, progress
        self.total = self.done = 0
        self.complete = True
        self.ids: dict[Settings, list[list[str]]] = {}

    def measure(self, settings: Settings) -> Figures | None:
        """The figure of each question; `None` where the time is over, or the settings exclude each other."""
        if settings and self._clock() >= self._end:
            self.complete = False
            return None
        try:
            config = with_settings(self.base, settings)
        except ConfigError:
            return None
        answers = self.replays.replayed(config)
        self.done += 1
        self._progress("Trying settings", self.done, max(self.total, self.done))
        self.ids[settings] = [one.ids for one in answers]
        return values(answers, self.figure)

    def end(self) -> None:
        """All that is to be tried was."""
        self._progress("Trying settings", self.done, self.done)


def values(answers: Sequence[Answered], figure: str) -> Figures:
    """One figure of every answer."""
    return np.asarray([one.figures[figure] for one in answers], dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What the searches found, before it is judged."""

    search: Search
    trials: _Trials
    by_fold: Mapping[int, Settings]
    whole: Settings
    fold_of: Sequence[int]
    grouped_by: str
    without: Mapping[str, str]
    placed: Placed


def _searched(
    trials: _Trials,
    singles: Sequence[Setting],
    without: Mapping[str, str],
    found: Placed,
    split: tuple[str, list[int]],
) -> _Found:
    grouped_by, fold_of = split
    trials.total = 1 + len(singles) + FEW * (ROUNDS - 1)
    search = Search(measure=trials.measure, singles=singles)
    whole = search.best(np.ones(len(fold_of), dtype=np.bool_))
    by_fold = crossed(search, fold_of)
    trials.end()
    return _Found(
        search=search,
        trials=trials,
        by_fold=by_fold,
        whole=whole,
        fold_of=fold_of,
        grouped_by=grouped_by,
        without=without,
        placed=found,
    )


def _judged(found: _Found, given: RecallConfig, samples: int, seed: int, progress: Progress) -> Tuning:
    """The gain by real recalls, in fold and out of fold; what is written keeps answers as what was given does."""
    base, figure = found.trials.base, found.trials.figure
    choices = dict.fromkeys([(), found.whole, *found.by_fold.values()])
    real: dict[Settings, list[Answered]] = {}
    for done, settings in enumerate(choices, start=1):
        real[settings] = found.trials.replays.asked(with_settings(base, settings))
        progress("Recalling", done, len(choices))
    scores = {settings: values(answers, figure) for settings, answers in real.items()}
    plain = scores[()]
    held = np.asarray([scores[found.by_fold[fold]][i] for i, fold in enumerate(found.fold_of)]) - plain
    gaps = held.tolist()
    whole = scores[found.whole] - plain
    rows = _tried(found, samples, seed)
    return Tuning(
        questions=len(plain),
        figure=figure,
        folds=len(found.by_fold),
        grouped_by=found.grouped_by,
        before=interval(plain.tolist(), samples=samples, seed=seed),
        in_fold=interval(whole.tolist(), samples=samples, seed=seed),
        out_of_fold=interval(gaps, samples=samples, seed=seed),
        chance=found.search.step((), np.ones(len(plain), dtype=np.bool_))[1],
        moved=tuple(
            Moved(
                name=one.name,
                before=value_of(base, one.name),
                after=one.value,
                folds=sum(one in settings for settings in found.by_fold.values()),
            )
            for one in found.whole
        ),
        tried=rows,
        without=found.without,
        trials=found.trials.done,
        complete=found.trials.complete,
        latency=(latency_of([a.ms for a in real[()]]), latency_of([a.ms for a in real[found.whole]])),
        found=replace(with_settings(base, found.whole), mode=given.mode, cache=given.cache),
        base=given,
        spread=deviation(whole.tolist()) if found.whole else _spread(found, rows),
        missing=found.placed.missing,
        unanswerable=found.placed.unanswerable,
    )


def _spread(found: _Found, rows: Sequence[Tried]) -> float:
    plain = found.search.scores(())
    best = found.search.scores((Setting(name=rows[0].name, value=rows[0].value),)) if rows else None
    return 0.0 if plain is None or best is None else deviation((best - plain).tolist())


def _tried(found: _Found, samples: int, seed: int) -> tuple[Tried, ...]:
    plain = found.search.scores(())
    assert plain is not None
    rows = []
    for one in found.search.singles:
        scores = found.search.scores((one,))
        if scores is not None:
            moved = sum(a != b for a, b in zip(found.trials.ids[(one,)], found.trials.ids[()], strict=True))
            gain = interval((scores - plain).tolist(), samples=samples, seed=seed)
            before = value_of(found.trials.base, one.name)
            rows.append(Tried(name=one.name, before=before, value=one.value, gain=gain, moved=moved))
    return tuple(sorted(rows, key=lambda row: -row.gain.mean))


def _split(store: MemoryStore, questions: Sequence[Question], folds: int, seed: int) -> tuple[str, list[int]]:
    """What is kept together, and the fold of each question: by scope or thread where there are enough of them."""
    scopes = [scope_text(question.scope) for question in questions]
    if len(set(scopes)) >= folds:
        return "scope", folds_of(scopes, folds, seed)
    threads = [_thread(store, question) for question in questions]
    if all(threads) and len(set(threads)) >= 2 * folds:
        return "thread", folds_of(threads, folds, seed)
    return "question", folds_of([question.text.casefold() for question in questions], folds, seed)


def _thread(store: MemoryStore, question: Question) -> str:
    """That of the first relevant memory, within its scope; empty where it has none."""
    scope_id = store.scope_id(question.scope)
    held = {} if scope_id is None else store.fetch_ids(scope_id, question.relevant[:1])
    thread = next((memory.thread for memory in held.values()), None)
    return f"{scope_text(question.scope)} {thread}" if thread else ""
