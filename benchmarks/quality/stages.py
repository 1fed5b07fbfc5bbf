"""What each stage is worth: ours again, with one stage changed or switched off, over the same store.

Four kinds of changes, each against the configuration that is measured:

- **strategy**: every other of `STRATEGIES`.
- **arm**: one arm is left out of every plan. Without the semantic arm there is no vector of the query either, so its
  cosines are missing from the ranking features; the lexical arm brings candidates, but the word features stay (switch
  those off as features); without the graph arm its support is gone too; without the temporal arm the dates still lift
  what lies in them, but no longer by the arm's weight.
- **stage**: spelling, dates, diversity, folding of duplicates, negation, or the planner's rules
  (`recall bench rules` measures those one by one).
- **features**: one group of ranking features weighs nothing.

Everything is switched by settings, by the `ranker=` of the optimizer, or by the `window=` of a recall. The deadline is
far off, so that a busy machine changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from rich.console import Console

from benchmarks.quality.comparison import Other
from benchmarks.quality.systems import TIME_BUDGET_MS, RecallSystem
from recall_integrations.config import STRATEGIES, RecallConfig
from recall_integrations.errors import RecallError
from recall_integrations.optimizer import QueryOptimizer
from recall_integrations.ranking.feature_sum import FixedWeights, Ranker, known_of
from recall_integrations.ranking.rank import resolve_ranker
from recall_integrations.types import TemporalWindow

if TYPE_CHECKING:
    from recall_integrations.store.memory_store import MemoryStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A configuration that differs in one stage.

    Args:
        name: in tables.
        kind: `strategy`, `arm`, `stage` or `features`.
        config: its settings.
        ranker: in place of that of the configuration.
        window: given to `recall`; `False` reads no dates.
    """

    name: str
    kind: str
    config: RecallConfig
    ranker: Ranker | None = field(default=None, compare=False)
    window: TemporalWindow | Literal[False] | None = None

    def system(self, store: MemoryStore) -> RecallSystem:
        """It answers over a store that another system fills. To be closed."""
        optimizer = QueryOptimizer(store, config=self.config, ranker=self.ranker)
        return RecallSystem(optimizer, name=self.name, fills=False, window=self.window, time_budget_ms=TIME_BUDGET_MS)


def stages(config: RecallConfig) -> tuple[tuple[Stage, ...], dict[str, str]]:
    """What can be changed about a configuration, and what cannot be compared, with the reason."""
    left_out: dict[str, str] = {}
    found = list(_strategies(config, left_out))
    found += [*_arms(config), *_switches(config)]
    ranker = resolve_ranker(config.ranking)
    found += [
        Stage(name=f"no {group} features", kind="features", config=config, ranker=lesser)
        for group, names in feature_groups(ranker).items()
        if (lesser := without_features(ranker, names)) is not None
    ]
    return tuple(found), left_out


def _strategies(config: RecallConfig, left_out: dict[str, str]) -> Iterator[Stage]:
    for strategy in STRATEGIES:
        if strategy == config.ranking.strategy:
            continue
        try:
            other = config.with_settings([("ranking.strategy", strategy)])
        except RecallError as e:  # without words in memory no ranker can order
            left_out[f"strategy {strategy}"] = str(e)
            continue
        yield Stage(name=f"strategy {strategy}", kind="strategy", config=other)


def _arms(config: RecallConfig) -> Iterator[Stage]:
    arms = config.planner.arms
    for arm in arms if len(arms) > 1 else ():
        planner = replace(config.planner, arms=tuple(other for other in arms if other != arm))
        yield Stage(name=f"no {arm} arm", kind="arm", config=replace(config, planner=planner))


def _switches(config: RecallConfig) -> Iterator[Stage]:
    ranking, query, planner = config.ranking, config.query, config.planner
    changed = {
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
    names = set(_weighed(ranker))
    groups = {g: tuple(n for n in members if n in names) for g, members in known_of(ranker).groups.items()}
    return {group: members for group, members in groups.items() if members}


def _weighed(ranker: Ranker | None) -> Iterable[str]:
    if isinstance(ranker, FixedWeights):
        return [name for name, gated in ranker.known.weights.items() if any(gated.values())]
    return ()  # features cannot be taken out of another ranker


def without_features(ranker: Ranker | None, names: Iterable[str]) -> Ranker | None:
    """The same ranker in which these features weigh nothing; `None` where that cannot be done."""
    gone = set(names)
    if isinstance(ranker, FixedWeights):
        return FixedWeights(dict.fromkeys(gone, 0.0), ranker.known)
    return None


def compared(store: MemoryStore, config: RecallConfig, dataset: str, console: Console) -> Iterator[Other]:
    """All of them, as `benchmarks.quality.comparison` takes them; says which are left out."""
    planned, left_out = stages(config)
    for name, why in left_out.items():
        console.print(f"Left out: {name} ({why})")
    for stage in planned:
        yield Other(system=stage.system(store), kind="stage")
