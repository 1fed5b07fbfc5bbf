"""Stages and a ranker that leave parts out of a recall, and everything else as it is."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from recall_integrations.config import ARMS, CacheConfig, RecallConfig
from recall_integrations.query.features import IMPLICIT
from recall_integrations.ranking.features.compute import Features
from recall_integrations.ranking.features.feature import FeatureSet
from recall_integrations.ranking.rankers.feature_sum import Ranker, Ranking, known_of
from recall_integrations.recall.runner import Stage, Turn
from recall_integrations.recall.state import RecallState
from recall_integrations.types.making import changed

PLACES_MAX = 200  # of the candidates whose place is told
FOLDS_NOTHING = 2.0  # of `ranking.duplicate_similarity`


class Without:
    """A ranker without some features: the terms that they added are taken out of the sum."""

    def __init__(self, ranker: Ranker, gone: Collection[str], *, may_hang: bool = True) -> None:
        self._ranker, self._gone, self.may_hang = ranker, frozenset(gone), may_hang
        self.known: FeatureSet = known_of(ranker)
        # Name and version select the shipped calibration: scores stay comparable with those of the whole sum.
        self.calibration = getattr(ranker, "calibration", None)

    @property
    def name(self) -> str:
        """Name of the ranker that it stands for."""
        return self._ranker.name

    @property
    def version(self) -> str:
        """Version of the ranker that it stands for."""
        return self._ranker.version

    @property
    def detail(self) -> bool:
        """See `Ranker`."""
        return self._ranker.detail

    def score(self, features: Features) -> Ranking:
        """Return the sum without the terms of these features."""
        whole = self._ranker.score(features)
        scores = whole.scores
        for name in sorted(self._gone & set(whole.added)):
            scores = scores - whole.added[name]
        return Ranking(scores=scores, added={k: v for k, v in whole.added.items() if k not in self._gone})


class Unread(Stage):
    """Forgets, after `parse`, properties read from the query."""

    name, after, essential, may_hang = "without.read", "parse", True, False

    def __init__(self, rules: Collection[str]) -> None:
        self._rules = frozenset(rules)

    def applies(self, state: RecallState) -> bool:
        """Say whether the query was read."""
        return state.parsed is not None

    def run(self, state: RecallState, _turn: Turn) -> RecallState:
        """Change `parsed` and `unread`."""
        parsed = state.query
        if "names" in self._rules:
            parsed = replace(parsed, entity_refs=tuple(r for r in parsed.entity_refs if r.stage == IMPLICIT))
        if "session" in self._rules:
            parsed = replace(parsed, session=None)
        if "negation" in self._rules:
            parsed = replace(parsed, negations=())
        if "types" in self._rules:
            parsed = replace(parsed, type_hints=(), type_cues=(), type_filters=())
        return changed(state, parsed=parsed, unread=self._rules)


class Unplanned(Stage):
    """Takes arms and rules out of the plan, after `plan`."""

    name, after, essential, may_hang = "without.plan", "plan", True, False

    def __init__(self, arms: Collection[str], rules: Collection[str]) -> None:
        self._arms, self._rules = frozenset(arms), frozenset(rules)

    def applies(self, state: RecallState) -> bool:
        """Say whether there is a plan."""
        return state.planned is not None

    def run(self, state: RecallState, _turn: Turn) -> RecallState:
        """Change `planned`."""
        plan, rules = state.plan, self._rules
        plan = replace(
            plan,
            arms=tuple(arm for arm in plan.arms if arm.name not in self._arms),
            exact_match=plan.exact_match and "identifiers" not in rules,
            time_bias=plan.time_bias and "newer" not in rules,
            prefers=() if "router" in rules else plan.prefers,
            rewrite=plan.rewrite and "rewrite" not in rules,
            rerank=plan.rerank and "rerank" not in rules,
            diversity=plan.diversity and "diversity" not in rules,
        )
        return changed(state, planned=plan)


class Places(Stage):
    """Notes the place of each candidate, after `arrange`: of one recall, whose last stage but one it is."""

    name, after, may_hang = "without.places", "arrange", False

    def __init__(self) -> None:
        self.of: dict[str, int] = {}

    def run(self, state: RecallState, _turn: Turn) -> RecallState:
        """Note the places; return the state as it is."""
        ids = state.scope.ids
        rows = state.candidates.rows[:PLACES_MAX].tolist()
        self.of = {ids[row]: place for place, row in enumerate(rows, start=1)}
        return state


def settings(config: RecallConfig, arms: Collection[str], rules: Collection[str]) -> RecallConfig:
    """Return the settings of a recall without cache, without the parts of them that serve some arms and rules."""
    config = replace(config, mode="rule", cache=CacheConfig())
    if "spelling" in rules:
        config = replace(config, query=replace(config.query, spelling=False))
    if "repeats" in rules:
        config = replace(config, ranking=replace(config.ranking, duplicate_similarity=FOLDS_NOTHING))
    if "graph" in arms:  # documents reach others by the graph, whatever arms the plan has
        others = tuple(name for name in config.planner.arms if name != "graph")
        config = replace(config, planner=replace(config.planner, arms=others or ARMS))
    return config
