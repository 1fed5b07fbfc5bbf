"""Settings of the order of candidates: ranking, fusion, the reranker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from recall_integrations.config.checking import (
    Lift,
    Share,
    Switch,
    Weight,
    defaults,
    in_range,
    names_of,
    refuse_unread,
    section,
)
from recall_integrations.errors import ConfigError
from recall_integrations.types.plan import PLANS

FALLBACK = "fallback_fusion"
RANKERS = ("fixed_weights",)
FUSIONS = ("weighted", "boosts", "rrf")
STRATEGIES = (*RANKERS, *FUSIONS)
# Settings that not every strategy reads → the strategies that do.
RANKING_READ_BY: Mapping[str, tuple[str, ...]] = {
    "profile_lift": RANKERS,
}
FUSION_READ_BY: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("vector", "lexical", "graph", "recency", "importance", "profile"), ("weighted", "boosts")),
}


@section("ranking")
class RankingConfig:
    """How candidates of several arms become one list, and what changes its order afterwards.

    A setting that the strategy does not read cannot be set.

    Args:
        strategy: `fixed_weights` (a fixed sum of ranking features, docs/ranking.md), or `fallback_fusion`: the section
            of that name says how the arms' own scores are fused.
        features: whether the words of the memories are kept in memory for the ranking features (about 100 bytes a
            memory); without them, `fallback_fusion` ranks.
        recency_half_life_days: age at which recency has fallen to one half.
        profile_lift: added, times the cosine with the mean vector of the scope, in the ranker's units: about one is a
            standard deviation of a strong feature.
        negation_threshold: normalised BM25 against a negated term above which a memory is demoted; 0.4 is strict,
            0.75 soft.
        diversity_lambda: share of relevance against novelty in maximal marginal relevance.
        duplicate_similarity: cosine and word overlap from which a memory is folded into a better hit that says the
            same; above 1 folds nothing.
        abstain_below: confidence below which nothing is returned rather than noise; 0 = always answer.
        score_min: score below which a hit is left out; 0 = none is. A call may give another.
    """

    strategy: Literal["fixed_weights", "fallback_fusion"] = "fixed_weights"
    features: Switch = True
    recency_half_life_days: Annotated[float, in_range(1e-3, 1e6)] = 30.0
    profile_lift: Lift = 0.0
    negation_threshold: Share = 0.6
    diversity_lambda: Share = 0.9
    duplicate_similarity: Annotated[float, in_range(0.01, 2)] = 0.90
    abstain_below: Share = 0.0
    score_min: Share = 0.0

    def __post_init__(self) -> None:
        refuse_unread(self, "ranking", RANKING_READ_BY)
        plain = defaults(self, ("strategy", *RANKING_READ_BY))
        needing = [name for name, default in plain.items() if getattr(self, name) != default]
        if needing and not self.features and self.strategy != FALLBACK:
            raise ConfigError(
                f"ranking.{needing[0]} has no effect without ranking.features. Leave it out, or set that to true."
            )


@section("fallback_fusion")
class FallbackFusionConfig:
    """How the arms' own scores are fused where no ranker orders the candidates.

    That is so where the words of a scope do not fit into memory, where the ranker fails, and always with
    `ranking.strategy: fallback_fusion`. A setting that the strategy does not read cannot be set.

    Args:
        strategy: `weighted` (six terms), `boosts` (monotonic boosts) or `rrf` (reciprocal rank fusion).
        vector: weight of the cosine.
        lexical: weight of BM25.
        graph: weight of what the graph arm found.
        recency: weight of how new a memory is.
        importance: weight of its importance.
        profile: weight of its cosine with the mean vector of the scope.
    """

    strategy: Literal["weighted", "boosts", "rrf"] = "weighted"
    vector: Weight = 0.6
    lexical: Weight = 0.65
    graph: Weight = 0.04
    recency: Weight = 0.01
    importance: Weight = 0.01
    profile: Weight = 0.0

    def __post_init__(self) -> None:
        refuse_unread(self, FALLBACK, FUSION_READ_BY)


@section("rerank")
class RerankConfig:
    """When a reranker is asked, if there is one, and what its scores do. The longest wait is in `limits`.

    Args:
        plans: plans whose candidates it may order.
        top_n: candidates given to it.
        min_k: fewer candidates than this are not worth a rerank.
        regret_max: a rerank is skipped if a perfect one could add no more than this, in hits at the first place; 0 =
            only where it could change nothing.
        threshold: lower scores of the reranker are left out; -10 suits ms-marco-MiniLM-L-6-v2.
        disable_when_slow: whether it is off while the 95th percentile of its recent runs is beyond
            `limits.rerank_budget_ms`.
        coarse_factor: arms are asked for at least this many times k candidates.
        score_percentile: candidates below this percentile of the scores leave before the rerank; 0 = off.
    """

    plans: Annotated[tuple[str, ...], names_of("rerank.plans", PLANS)] = ("exploratory",)
    top_n: Annotated[int, in_range(1, 1_000)] = 20
    min_k: Annotated[int, in_range(1, 1_000)] = 3
    regret_max: Annotated[float, in_range(0, 100)] = 0.02
    threshold: Annotated[float | None, in_range(-1e6, 1e6)] = None
    disable_when_slow: Switch = True
    coarse_factor: Annotated[float, in_range(1, 1_000)] = 10.0
    score_percentile: Annotated[float, in_range(0, 99)] = 0.0
