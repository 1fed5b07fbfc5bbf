"""Settings of how a query is read, searched, ordered and rewritten, and of the time and the cache for that."""

from __future__ import annotations

import os
import re
from dataclasses import field
from typing import Annotated, Literal

from pydantic import BeforeValidator

from recall_integrations.config.checking import (
    Share,
    Switch,
    Text,
    Weight,
    defaults,
    in_range,
    names_of,
    section,
)
from recall_integrations.errors import ConfigError
from recall_integrations.types.query import PLANS

ARMS = ("semantic", "lexical", "graph", "temporal", "type_filter")
PLAN_RULES = (
    *("identifiers", "graph_bias", "conversational", "router_mode"),
    *("time_bias", "type_filter", "window_filter", "time_filter"),
)


@section("planner")
class PlannerConfig:
    """Thresholds of the rule list that chooses the plan. All in [0, 1].

    Args:
        precise_threshold: specificity at or above which the `precise` plan is chosen.
        exploratory_threshold: specificity below which the `exploratory` plan is chosen.
        entity_confidence_min: confidence above which an entity anchors an `entity_centric` plan.
        entity_weight: weight of the graph arm in an entity-centric plan.
        arm_limit: candidates asked of each arm.
        lexical_limit: candidates asked of the lexical arm; nothing = `arm_limit`.
        rules: which rules may change the arms of the chosen plan, of `PLAN_RULES`. `conversational` is off by
            default: it did not help (docs/benchmarks.md).
        arms: which arms may be asked, of `ARMS`; the others are left out of every plan.
    """

    precise_threshold: Share = 0.8
    exploratory_threshold: Share = 0.4
    entity_confidence_min: Share = 0.85
    entity_weight: Weight = 2.0
    arm_limit: Annotated[int, in_range(1, 10_000)] = 40
    lexical_limit: Annotated[int | None, in_range(1, 10_000)] = None
    rules: Annotated[tuple[str, ...], names_of("planner.rules", PLAN_RULES)] = tuple(
        rule for rule in PLAN_RULES if rule != "conversational"
    )
    arms: Annotated[tuple[str, ...], names_of("planner.arms", ARMS)] = ARMS

    def __post_init__(self) -> None:
        if not self.arms:
            raise ConfigError(f"planner.arms must name at least one arm. Known: {', '.join(ARMS)}.")
        if self.exploratory_threshold > self.precise_threshold:
            raise ConfigError("planner.exploratory_threshold must not exceed planner.precise_threshold.")


@section("query")
class QueryConfig:
    """How queries are read.

    Args:
        spelling: whether words that nobody knows are also read as close ones that the memories use.
        spelling_threshold: least similarity of such a word, in (0, 1].
        entity_llm: whether the optimizer's LLM is asked about names that nothing else resolved.
    """

    spelling: Switch = True
    spelling_threshold: Annotated[float, in_range(0.01, 1)] = 0.80
    entity_llm: Switch = False


@section("retrieval")
class RetrievalConfig:
    """Sub-retrievers.

    Args:
        exact_max: rows of a scope up to which its vectors are scanned, where they fit into `cache_mb` at 3 bytes for
            each of their numbers (770 MB for a million of 256); above, HNSW.
        cache_mb: megabytes for what a recall reads whole of recently used scopes: the codes of their vectors and a few
            columns, 500 for a million memories. What it reads here and there (full vectors, words, which memories
            hold them) is mapped from files in the store's directory, and takes memory that the system can spare. Of
            a scope that does not fit, vectors are asked of the index on disk. The scope that is in use stays,
            whatever it takes; of one that leaves, names, facts and the words for spelling leave, too. Keys of
            metadata that filters ask for are kept besides, in an eighth as much.
        graph_hops: how far the graph arm walks (1 or 2).
        graph_hop_factor: what a hop is worth of the one before.
        graph_edges: types of the relations that the graph arm follows, such as `reports_to`; none named = all.
        semantic_remote: declares that embedding a query costs a network call, so that a high-specificity
            entity plan, a query whose time alone decides, and one that words answer surely leave the semantic arm out,
            and what a cosine is worth is not measured.
    """

    exact_max: Annotated[int, in_range(0, 10_000_000)] = 2_000_000
    cache_mb: Annotated[int, in_range(0, 1_000_000)] = 1_024
    graph_hops: Annotated[int, in_range(1, 2)] = 2
    graph_hop_factor: Share = 0.5
    graph_edges: Annotated[tuple[str, ...], names_of("retrieval.graph_edges", ())] = ()
    semantic_remote: Switch = False


STRATEGIES = ("fixed_weights", "weighted", "boosts", "rrf")


@section("ranking")
class RankingConfig:
    """How candidates of several arms become one list, and what changes its order afterwards.

    Args:
        strategy: `fixed_weights`, a fixed sum of ranking features (docs/ranking.md); or a fusion of the arms' own
            scores: `weighted` (six terms), `boosts` (monotonic boosts) or `rrf` (reciprocal rank fusion).
        recency_half_life_days: age at which recency has fallen to one half.
        negation_threshold: normalised BM25 against a negated term above which a memory is demoted; 0.4 is strict,
            0.75 soft.
        diversity_lambda: share of relevance against novelty in maximal marginal relevance.
        duplicate_similarity: cosine and word overlap from which a memory is folded into a better hit that says the
            same; above 1 folds nothing.
        abstain_below: confidence below which nothing is returned rather than noise; 0 = always answer.
        score_min: score below which a hit is left out; 0 = none is. A call may give another.
    """

    strategy: Literal["fixed_weights", "weighted", "boosts", "rrf"] = "fixed_weights"
    recency_half_life_days: Annotated[float, in_range(1e-3, 1e6)] = 30.0
    negation_threshold: Share = 0.6
    diversity_lambda: Share = 0.9
    duplicate_similarity: Annotated[float, in_range(0.01, 2)] = 0.90
    abstain_below: Share = 0.0
    score_min: Share = 0.0


@section("rerank")
class RerankConfig:
    """When a reranker is asked, if there is one, and what its scores do. The longest wait is in `limits`.

    Args:
        plans: plans whose candidates it may order.
        top_n: candidates given to it.
        regret_max: a rerank is skipped if a perfect one could add no more than this, in hits at the first place; 0 =
            only where it could change nothing.
        threshold: lower scores of the reranker are left out; -10 suits ms-marco-MiniLM-L-6-v2.
    """

    plans: Annotated[tuple[str, ...], names_of("rerank.plans", PLANS)] = ("exploratory",)
    top_n: Annotated[int, in_range(1, 1_000)] = 20
    regret_max: Annotated[float, in_range(0, 100)] = 0.02
    threshold: Annotated[float | None, in_range(-1e6, 1e6)] = None


REWRITE_TIMEOUT = "RECALL_REWRITE_TIMEOUT"  # in the environment
TIMEOUT_MS = 6_000.0
PLAIN_SECONDS_BELOW = 100  # a number without a unit


def _rewrite_timeout_ms() -> float:
    """Read `RECALL_REWRITE_TIMEOUT`: `6s`, `800ms`, or a number alone: seconds below 100, else milliseconds.

    Nobody waits for a model for 50 ms or for 1,000 s. The default is six seconds.
    """
    given = os.environ.get(REWRITE_TIMEOUT, "").strip().lower()
    if not given:
        return TIMEOUT_MS
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?) ?(ms|s|)", given)
    value = 0.0 if found is None else float(found[1])
    unit = "" if found is None else found[2] or ("s" if value < PLAIN_SECONDS_BELOW else "ms")
    ms = value * (1_000 if unit == "s" else 1)
    if not 1 <= ms <= 600_000:
        raise ConfigError(f"{REWRITE_TIMEOUT} must be from 1ms to 600s, such as 6s or 800ms, not {given!r}.")
    return ms


def _off(given: object) -> object:
    """Read `off` as YAML does, which makes `false` of it."""
    return "off" if given is False else given


@section("rewriting")
class RewritingConfig:
    """When an LLM is asked for other words, if there is one, and what they may do (docs/rewriting.md).

    Args:
        mode: `careful`: asked where the first hit is not sure, and what its words find counts less than what the query
            finds; `full`: asked wherever the query is vague, beside the search for the query itself, and a memory
            counts with its best score; `off`: the LLM is used for other things.
        strategy: what is asked for: `alternatives` of the query, or a `hypothetical` memory that would answer it.
        prompt: one of your own instead, with `{query}` where the query goes; empty = that of the strategy.
        timeout_ms: longest wait; default what `RECALL_REWRITE_TIMEOUT` says (`6s`, `800ms`), else six seconds.
        cache_s: seconds for which phrasings are kept; 0 = none is.
    """

    mode: Annotated[Literal["off", "careful", "full"], BeforeValidator(_off)] = "careful"
    strategy: Literal["alternatives", "hypothetical"] = "alternatives"
    prompt: Text = ""
    timeout_ms: Annotated[float, in_range(1, 600_000)] = field(
        default_factory=_rewrite_timeout_ms, metadata={"unset": TIMEOUT_MS}
    )
    cache_s: Annotated[float, in_range(0, 86_400)] = 180.0

    def __post_init__(self) -> None:
        if self.prompt and "{query}" not in self.prompt:
            raise ConfigError("rewriting.prompt must hold {query}, which the query takes the place of.")


def by_mode(given: object) -> object:
    """Read the name of a mode as settings with this mode: `rewriting: full`."""
    return {"mode": given} if isinstance(given, str) or given is False else given


@section("limits")
class LimitsConfig:
    """Budgets and bounds.

    Args:
        time_budget_ms: default deadline of a recall; arms that are late are left out and named.
        load_wait_ms: how long the first recall of a scope waits, beyond its time, until its memories are in memory; one
            that is given a `time_budget_ms` does not.
        rerank_budget_ms: longest wait for the cross-encoder.
    """

    time_budget_ms: Annotated[float, in_range(0.1, 3_600_000)] = 2_000.0
    load_wait_ms: Annotated[float, in_range(0, 3_600_000)] = 30_000.0
    rerank_budget_ms: Annotated[float, in_range(1, 600_000)] = 1_000.0


@section("cache")
class CacheConfig:
    """The result cache: answers that are given again while nothing has changed (docs/caching.md).

    Only `mode: cached` reads it; with another mode none of it can be set.

    Args:
        ttl_seconds: how long, and how much later than the answer's `now` a recall's `now` may be.
        max_entries: how many of each optimizer; the least recently used leaves.
    """

    ttl_seconds: Annotated[float, in_range(0.001, 86_400)] = 30.0
    max_entries: Annotated[int, in_range(1, 100_000)] = 1_000

    @property
    def unread(self) -> tuple[str, ...]:
        """Names of the settings that are not default."""
        plain = defaults(type(self), self.__dataclass_fields__)
        return tuple(n for n, default in plain.items() if getattr(self, n) != default)


@section("breakers")
class BreakerConfig:
    """When a component that failed (LLM, reranker, remote embedding, an index) is left alone for a while.

    Args:
        failures_max: so many failures in a row switch it off.
        open_s: for so many seconds; then one call may try.
    """

    failures_max: Annotated[int, in_range(1, 1_000)] = 3
    open_s: Annotated[float, in_range(0, 86_400)] = 300.0
