"""What each stage is worth: ours again, with one stage changed or switched off, over the same store.

Four kinds of changes, each against the configuration that is measured:

- **strategy**: every other `fusion.strategy` that needs no file of weights.
- **arm**: one arm finds nothing. Without the semantic arm there is no vector of the query either, so its cosines are
  missing from the ranking features; the lexical arm brings candidates, but the word features stay (switch those off as
  features); without the graph arm its support is gone too.
- **stage**: ranking features, spelling, dates, diversity, folding of duplicates, negation, or the planner's rules
  (`recall bench rules` measures those one by one).
- **features**: one group of ranking features weighs nothing.

Everything is switched by public settings where there is one. The arms are not, so `SwitchedOptimizer` puts an arm that
finds nothing into their place. The deadline is far off, so that a busy machine changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from recall_integrations.config import STRATEGIES, RecallConfig
from recall_integrations.errors import RecallError
from recall_integrations.evaluation.datasets import Collection, Question
from recall_integrations.evaluation.quality_report import Answer
from recall_integrations.optimizer import QueryOptimizer
from recall_integrations.ranking.linear import LinearRanker
from recall_integrations.ranking.ranker import PLAIN_WEIGHTS, SPREAD_WEIGHTS, Ranker, Unlearned
from recall_integrations.ranking.stage import resolve_ranker
from recall_integrations.records import TemporalWindow
from recall_integrations.retrievers.base import ArmRequest, ArmResult

if TYPE_CHECKING:
    from recall_integrations.store.memory_store import MemoryStore

ARMS = ("semantic", "lexical", "graph", "temporal", "type_filter")
TIME_BUDGET_MS = 60_000.0
# Features that say much the same. One that is in no group is a group of its own.
FEATURE_GROUPS: Mapping[str, tuple[str, ...]] = {
    "word": ("bm", "bm_max", "bm_ub", "cov"),
    "soft match": ("msn", "mt"),
    "neighbour": ("mwn", "mw2n", "mws", "wbm", "own", "mt_b1", "mt_a1", "mt_b2", "mt_a2"),
    "question": ("qa", "qm", "isq", "pq", "nq"),
    "thread": ("bs", "smb", "smm", "sd", "st", "sc"),
    "vector": ("d", "d1", "d2", "d_b1", "d_a1"),
    "speaker": ("sp", "nm", "qs"),
    "pair": ("bg",),
    "date": ("date", "dw", "dww"),
    "length": ("L", "len_b", "len_a"),
    "graph": ("graph",),
    "recency": ("recency", "importance", "age"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A configuration that differs in one stage.

    Args:
        name: in tables.
        kind: `strategy`, `arm`, `stage` or `features`.
        config: its settings.
        without: arms that find nothing.
        ranker: in place of that of the configuration.
        window: given to `recall`; `False` reads no dates.
    """

    name: str
    kind: str
    config: RecallConfig
    without: tuple[str, ...] = ()
    ranker: Ranker | None = field(default=None, compare=False)
    window: TemporalWindow | Literal[False] | None = None


def stages(config: RecallConfig) -> tuple[tuple[Stage, ...], dict[str, str]]:
    """What can be changed about a configuration, and what cannot be compared, with the reason."""
    left_out: dict[str, str] = {}
    found = list(_strategies(config, left_out))
    found += [Stage(name=f"no {arm} arm", kind="arm", config=config, without=(arm,)) for arm in ARMS]
    found += _switches(config)
    ranker = resolve_ranker(config.fusion) if config.ranking.features else None
    found += [
        Stage(name=f"no {group} features", kind="features", config=config, ranker=lesser)
        for group, names in feature_groups(ranker).items()
        if (lesser := without_features(ranker, names)) is not None
    ]
    return tuple(found), left_out


def _strategies(config: RecallConfig, left_out: dict[str, str]) -> Iterator[Stage]:
    for strategy in STRATEGIES:
        if strategy == config.fusion.strategy:
            continue
        fusion = replace(config.fusion, strategy=strategy, weights="")
        try:
            resolve_ranker(fusion)
        except RecallError as e:  # needs a file or an extra
            left_out[f"strategy {strategy}"] = str(e)
            continue
        yield Stage(name=f"strategy {strategy}", kind="strategy", config=replace(config, fusion=fusion))


def _switches(config: RecallConfig) -> Iterator[Stage]:
    ranking, query, planner = config.ranking, config.query, config.planner
    changed = {
        "ranking features": replace(config, ranking=replace(ranking, features=False)),
        "spelling": replace(config, query=replace(query, spelling=False)),
        "diversity": replace(config, ranking=replace(ranking, diversity_lambda=1.0)),
        "folding": replace(config, ranking=replace(ranking, duplicate_similarity=2.0)),
        "negation": replace(config, ranking=replace(ranking, negation_threshold=1.0)),
        "planner rules": replace(config, planner=replace(planner, rules=())),
    }
    for name, other in changed.items():
        if other != config:
            yield Stage(name=f"no {name}", kind="stage", config=other)
    yield Stage(name="no dates read", kind="stage", config=config, window=False)


def feature_groups(ranker: Ranker | None) -> dict[str, tuple[str, ...]]:
    """The features that weigh something, by group."""
    names = dict.fromkeys(_weighed(ranker))
    groups = {group: tuple(n for n in members if n in names) for group, members in FEATURE_GROUPS.items()}
    known = {n for members in groups.values() for n in members}
    groups.update((name, (name,)) for name in names if name not in known)
    return {group: members for group, members in groups.items() if members}


def _weighed(ranker: Ranker | None) -> Iterable[str]:
    if isinstance(ranker, Unlearned):
        return [name for name, weight in {**SPREAD_WEIGHTS, **PLAIN_WEIGHTS}.items() if weight]
    if isinstance(ranker, LinearRanker):
        return [name for name, weight in {**ranker.spread, **ranker.plain}.items() if weight]
    return ()  # features cannot be taken out of trees


def without_features(ranker: Ranker | None, names: Iterable[str]) -> Ranker | None:
    """The same ranker in which these features weigh nothing; `None` where that cannot be done."""
    gone = set(names)
    if isinstance(ranker, Unlearned):
        return Unlearned(dict.fromkeys(gone, 0.0))
    if isinstance(ranker, LinearRanker):
        spread, plain = ({k: v for k, v in part.items() if k not in gone} for part in (ranker.spread, ranker.plain))
        return replace(ranker, spread=spread, plain=plain)
    return None


def seen_before(config: RecallConfig, dataset: str) -> str:
    """What to say of a configuration whose weights were trained on the data set; empty where they were not."""
    ranker = resolve_ranker(config.fusion) if config.ranking.features else None
    data = str(getattr(ranker, "about", {}).get("data", ""))
    if dataset.lower() not in data.lower():
        return ""
    return f"its weights were trained on {data}: these figures are not a measure of how it does elsewhere."


class NothingFound:
    """An arm that is switched off."""

    def __init__(self, name: str) -> None:
        self.name = name

    def search(self, _request: ArmRequest) -> ArmResult:
        """No candidates."""
        return ArmResult.empty(self.name)


class SwitchedOptimizer(QueryOptimizer):
    """An optimizer some of whose arms find nothing, or with another ranker. For measurements only.

    Args:
        store: as for `QueryOptimizer`.
        stage: what is changed.
    """

    def __init__(self, store: MemoryStore, stage: Stage) -> None:
        super().__init__(store, config=stage.config)
        self._without = frozenset(stage.without)
        for name in stage.without:
            self._arms[name] = partial(NothingFound, name)
        if stage.ranker is not None:
            self._ranker = stage.ranker

    def _embed(self, *arguments: Any, **named: Any) -> Any:
        return None if "semantic" in self._without else super()._embed(*arguments, **named)


class StageSystem:
    """A changed configuration over a store that another system fills."""

    def __init__(self, stage: Stage, store: MemoryStore) -> None:
        self.name = stage.name
        self._optimizer, self._window = SwitchedOptimizer(store, stage), stage.window

    def enter(self, collection: Collection) -> None:
        """Nothing: the memories are there."""

    def answer(self, question: Question, k: int) -> Answer:
        """One `recall`."""
        result = self._optimizer.recall(
            question.text,
            k=k,
            scope=question.scope,
            now=question.asked_at,
            window=self._window,
            time_budget_ms=TIME_BUDGET_MS,
        )
        return Answer(
            ids=tuple(hit.memory.id or "" for hit in result.hits),
            plan=result.plan.name,
            degraded=tuple(f"{d.stage}:{d.reason}" for d in result.degraded),
            ms=result.timings_ms["total"],
        )

    def close(self) -> None:
        """Stop the optimizer's threads."""
        self._optimizer.close()
