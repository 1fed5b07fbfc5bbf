"""Settings of reading a query, and of the arms that it asks."""

from __future__ import annotations

from typing import Annotated

from recall_integrations.config.checking import Share, Switch, Weight, in_range, names_of, section
from recall_integrations.errors import ConfigError

ARMS = ("semantic", "lexical", "graph", "temporal", "type_filter")
PLAN_RULES = (
    "identifiers",
    "graph_bias",
    "conversational",
    "router_mode",
    "time_bias",
    "type_filter",
    "window_filter",
    "time_filter",
)


@section("planner")
class PlannerConfig:
    """Thresholds of the rule list that chooses the plan. All in [0, 1].

    Args:
        precise_threshold: specificity at or above which the `precise` plan is chosen.
        exploratory_threshold: specificity below which the `exploratory` plan is chosen.
        entity_confidence_min: confidence above which an entity anchors an `entity_centric` plan.
        rarity_promotion: lexical rarity above which `precision` is chosen where no earlier rule decided.
        entity_weight: weight of the graph arm in an entity-centric plan.
        arm_limit: candidates asked of each arm.
        precise_limit: candidates asked of the semantic arm by the `precise` plan.
        rules: which rules may change the arms of the chosen plan, of `PLAN_RULES`. `conversational` is off by
            default: it did not help (docs/benchmarks.md).
        arms: which arms may be asked, of `ARMS`; the others are left out of every plan.
    """

    precise_threshold: Share = 0.8
    exploratory_threshold: Share = 0.4
    entity_confidence_min: Share = 0.85
    rarity_promotion: Share = 0.8
    entity_weight: Weight = 2.0
    arm_limit: Annotated[int, in_range(1, 10_000)] = 40
    precise_limit: Annotated[int, in_range(1, 10_000)] = 20
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
        spelling_learned_max: answers of an LLM about corrections that a scope in memory remembers; 0: it is not asked.
        entity_llm: whether the optimizer's LLM is asked about names that nothing else resolved.
    """

    spelling: Switch = True
    spelling_threshold: Annotated[float, in_range(0.01, 1)] = 0.80
    spelling_learned_max: Annotated[int, in_range(0, 100_000)] = 1_000
    entity_llm: Switch = False


@section("retrieval")
class RetrievalConfig:
    """Sub-retrievers.

    Args:
        exact_max: rows of a scope up to which its vectors are scanned, where they fit into `cache_mb` at 3 bytes for
            each of their numbers (770 MB for a million of 256); above, HNSW.
        cache_mb: megabytes for what a recall reads whole of recently used scopes: the codes of their vectors and a few
            columns, 500 for a million memories. What it reads here and there (full vectors, words, which memories
            hold them) is mapped from files in the store's directory, and takes memory that the system can spare. A
            scope that does not fit is searched by the indexes on disk, and ranked without the words of its texts.
            The scope that is in use stays, whatever it takes; of one that leaves, names, facts and the words for
            spelling leave, too. Keys of metadata that filters ask for are kept besides, in an eighth as much.
        disk_mb: megabytes that files of columns may take in the directory of a store or of a node; 0 = as many as they
            need. When one was written, those that were used least recently are removed until the others fit, and their
            scopes are read from the database. The one that was just written stays, whatever it takes.
        local_max: memories of a scope in PostgreSQL up to which a node reads it whole. Of a larger one it reads the
            candidates of each query alone, which PostgreSQL finds (docs/postgres.md); a scope in a directory is always
            read whole.
        graph_hops: how far the graph arm walks (1 or 2).
        graph_hop_factor: what a hop is worth of the one before.
        semantic_remote: declares that embedding a query costs a network call, so that a high-specificity
            entity plan may leave the semantic arm out, and what a cosine is worth is not measured.
    """

    exact_max: Annotated[int, in_range(0, 10_000_000)] = 2_000_000
    cache_mb: Annotated[int, in_range(0, 1_000_000)] = 1_024
    disk_mb: Annotated[int, in_range(0, 10_000_000)] = 0
    local_max: Annotated[int, in_range(0, 1_000_000_000)] = 2_000_000
    graph_hops: Annotated[int, in_range(1, 2)] = 2
    graph_hop_factor: Share = 0.5
    semantic_remote: Switch = False
