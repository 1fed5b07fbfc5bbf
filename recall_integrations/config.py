"""Configuration: one small, frozen value object per stage, checked when it is made.

`RecallConfig()` is the default; `RecallConfig.from_yaml(path)` reads a file whose keys are the fields below:

    recall:
      timezone: Europe/Berlin
      planner: {precise_threshold: 0.9}
      fusion: {strategy: rrf}

An unknown key, a wrong type or a value out of range is a `ConfigError` that names the key.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints
from zoneinfo import ZoneInfo

from recall_integrations.errors import ConfigError
from recall_integrations.types.numbers import is_number, is_whole

N = TypeVar("N", bound=float | None)
ARMS = ("semantic", "lexical", "graph", "temporal", "type_filter")
RANKERS = ("fixed_weights", "linear", "trees")
STRATEGIES = (*RANKERS, "weighted", "boosts", "rrf")
# Settings of `fusion` → the strategies that read them; the others all do. `weighted` stands in for a ranker.
_WEIGHTED = tuple(strategy for strategy in STRATEGIES if strategy != "rrf")
_READ_BY: Mapping[str, tuple[str, ...]] = {
    "weights": ("linear", "trees"),
    "rrf_k": ("rrf",),
    **dict.fromkeys(("vector", "lexical", "graph", "recency", "importance", "profile", "time_bias", "mode"), _WEIGHTED),
}
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


def _number(default: N, low: float, high: float) -> N:
    """A field with a default and its range, both ends included; where the default is `None`, `None` is allowed too."""
    return field(default=default, metadata={"range": (low, high)})


def _check_ranges(section: Any, owner: str) -> None:
    """Every field that has a range lies in it."""
    for known in dataclasses.fields(section):
        value = getattr(section, known.name)
        if "range" not in known.metadata or (value is None and known.default is None):
            continue
        low, high = known.metadata["range"]
        number = is_number(value) and not math.isnan(value)
        if not number or not low <= value <= high:
            raise ConfigError(f"{owner}.{known.name} must be a number between {low:g} and {high:g}, not {value!r}.")


def _default_of(section: type[Any], name: str) -> Any:
    return next(known.default for known in dataclasses.fields(section) if known.name == name)


def _chosen(name: str, given: object, known: tuple[str, ...]) -> tuple[str, ...]:
    """Those of `known` that are given, in the order of `known`."""
    if not isinstance(given, tuple | list | set | frozenset):
        raise ConfigError(f"{name} must be a list of names, not {given!r}. Known: {', '.join(known)}.")
    unknown = sorted(str(item) for item in given if item not in known)
    if unknown:
        raise ConfigError(f"Unknown name {unknown[0]!r} in {name}. Known: {', '.join(known)}.")
    return tuple(item for item in known if item in given)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannerConfig:
    """Thresholds of the rule list that chooses the plan. All in [0, 1].

    Args:
        precise_threshold: specificity at or above which the `precise` plan is chosen.
        exploratory_threshold: specificity below which the `exploratory` plan is chosen.
        entity_confidence_min: confidence above which an entity anchors an `entity_centric` plan.
        rarity_promotion: lexical rarity above which `precision` is chosen where no earlier rule decided.
        window_confidence_min: confidence from which a temporal window may filter; below, it only lifts what lies in it.
        entity_weight: weight of the graph arm in an entity-centric plan.
        arm_limit: candidates asked of each arm.
        precise_limit: candidates asked of the semantic arm by the `precise` plan.
        rules: which rules may change the arms of the chosen plan, of `PLAN_RULES`. `conversational` is off by
            default: it did not help (docs/benchmarks.md).
        arms: which arms may be asked, of `ARMS`; the others are left out of every plan.
    """

    precise_threshold: float = _number(0.8, 0, 1)
    exploratory_threshold: float = _number(0.4, 0, 1)
    entity_confidence_min: float = _number(0.85, 0, 1)
    rarity_promotion: float = _number(0.8, 0, 1)
    window_confidence_min: float = _number(0.5, 0, 1)
    entity_weight: float = _number(2.0, 0, 10)
    arm_limit: int = _number(40, 1, 10_000)
    precise_limit: int = _number(20, 1, 10_000)
    rules: tuple[str, ...] = tuple(rule for rule in PLAN_RULES if rule != "conversational")
    arms: tuple[str, ...] = ARMS

    def __post_init__(self) -> None:
        object.__setattr__(self, "rules", _chosen("planner.rules", self.rules, PLAN_RULES))
        object.__setattr__(self, "arms", _chosen("planner.arms", self.arms, ARMS))
        if not self.arms:
            raise ConfigError(f"planner.arms must name at least one arm. Known: {', '.join(ARMS)}.")
        _check_ranges(self, "planner")
        if self.exploratory_threshold > self.precise_threshold:
            raise ConfigError("planner.exploratory_threshold must not exceed planner.precise_threshold.")


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryConfig:
    """How queries are read.

    Args:
        spelling: whether words that nobody knows are also read as close ones that the memories use.
        spelling_threshold: least similarity of such a word, in (0, 1].
        spelling_learned_max: corrections that a scope remembers; the least recently used leaves.
        rare_share: share of the memories up to which a word is rare, so that a query with it is not small talk.
        entity_llm: whether the optimizer's LLM is asked about names that nothing else resolved.
        entity_llm_timeout_ms: longest wait for it.
    """

    spelling: bool = True
    spelling_threshold: float = _number(0.80, 0.01, 1)
    spelling_learned_max: int = _number(1_000, 0, 100_000)
    rare_share: float = _number(0.05, 0, 1)
    entity_llm: bool = False
    entity_llm_timeout_ms: float = _number(1_000.0, 1, 600_000)

    def __post_init__(self) -> None:
        _check_ranges(self, "query")


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecificityConfig:
    """Weights of the specificity formula. They must add up to 1."""

    entity_density: float = _number(0.35, 0, 1)
    temporal: float = _number(0.25, 0, 1)
    lexical_rarity: float = _number(0.25, 0, 1)
    type_cues: float = _number(0.15, 0, 1)

    def __post_init__(self) -> None:
        _check_ranges(self, "specificity")
        total = sum(dataclasses.astuple(self))
        if abs(total - 1) > 1e-6:
            raise ConfigError(f"The four weights of specificity must add up to 1, not {total:g}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class FusionConfig:
    """How candidates of several arms become one list. A setting that the strategy does not read cannot be set.

    Args:
        strategy: `fixed_weights` (a fixed sum of ranking features, docs/ranking.md), `linear` or `trees` (learned
            weights over the same features; trees need the extra `rank`), `weighted` (six terms), `boosts`
            (monotonic boosts) or `rrf` (reciprocal rank fusion). Where a scope's texts do not fit into
            memory, `weighted` takes the place of the first three.
        weights: file with the learned weights of `linear` or `trees`, as `recall train` writes it.
        rrf_k: the constant of RRF; 60 as in Cormack, Clarke and Büttcher (2009).
        vector, lexical, graph, recency, importance, profile: weights of the six terms of `weighted`.
        recency_half_life_days: age at which the recency term has fallen to one half.
        time_bias: weight of recency instead of `recency` where the query asks for what is new.
        exact: added for each share of the query's identifiers that a memory holds letter by letter.
        mode: added for memories of the types that the router mode prefers.
    """

    strategy: str = "fixed_weights"
    weights: str = ""
    rrf_k: int = _number(60, 1, 10_000)
    vector: float = _number(0.6, 0, 10)
    lexical: float = _number(0.65, 0, 10)
    graph: float = _number(0.04, 0, 10)
    recency: float = _number(0.01, 0, 10)
    importance: float = _number(0.01, 0, 10)
    profile: float = _number(0.0, 0, 10)
    recency_half_life_days: float = _number(30.0, 1e-3, 1e6)
    time_bias: float = _number(0.02, 0, 10)
    exact: float = _number(0.6, 0, 10)
    mode: float = _number(0.02, 0, 10)

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            raise ConfigError(f"fusion.strategy must be one of {', '.join(STRATEGIES)}, not {self.strategy!r}.")
        _check_ranges(self, "fusion")
        for name, readers in _READ_BY.items():
            if self.strategy not in readers and getattr(self, name) != _default_of(FusionConfig, name):
                raise ConfigError(
                    f"fusion.{name} has no effect with fusion.strategy {self.strategy!r}. Leave it out, or choose one "
                    f"of the strategies that read it: {', '.join(readers)}."
                )

    def with_strategy(self, strategy: str) -> FusionConfig:
        """The same with another strategy; what that does not read has its default, and there is no file of weights.

        Raises:
            ConfigError: there is no such strategy.
        """
        unread = [name for name, readers in _READ_BY.items() if strategy not in readers or name == "weights"]
        reset = {name: _default_of(FusionConfig, name) for name in unread}
        return dataclasses.replace(self, strategy=strategy, **reset)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalConfig:
    """Sub-retrievers.

    Args:
        exact_max: rows of a scope (or of a filtered set) up to which vectors are scanned exactly; above, HNSW.
        cache_mb: memory for the in-process columns and vectors of recently used scopes.
        overfetch: HNSW is asked for this many times the limit, divided by the filter's selectivity.
        graph_hops: how far the graph arm walks (1 or 2).
        graph_neighbours: neighbours per entity that it follows.
        graph_mentions: memories per neighbour that it takes.
        semantic_remote: declares that embedding a query costs a network call, so that a high-specificity
            entity plan may leave the semantic arm out, and what a cosine is worth is not measured.
    """

    exact_max: int = _number(20_000, 0, 10_000_000)
    cache_mb: int = _number(512, 0, 1_000_000)
    overfetch: float = _number(3.0, 1, 100)
    graph_hops: int = _number(2, 1, 2)
    graph_neighbours: int = _number(10, 1, 1_000)
    graph_mentions: int = _number(50, 1, 10_000)
    semantic_remote: bool = False

    def __post_init__(self) -> None:
        _check_ranges(self, "retrieval")


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingConfig:
    """After fusion.

    Args:
        negation_threshold: normalised BM25 against a negated term above which a memory is demoted, in [0, 1];
            0.4 is strict, 0.75 soft.
        rerank_top_n: candidates given to the cross-encoder.
        rerank_min_k: fewer candidates than this are not worth a rerank.
        rerank_answer: what must stay the same for a rerank to be skipped: `order` or `set` of the first k.
        rerank_regret_max: a rerank is skipped if a perfect one could add no more than this, in hits at the first place.
        rerank_risk: share of recalls whose rerank may be skipped though it would have changed them; 0 = no such test.
        rerank_weight: share of the reranker in the order, in [0, 1].
        rerank_threshold: lower scores of the reranker are left out; -10 suits ms-marco-MiniLM-L-6-v2.
        disable_rerank_when_slow: whether it is off while the 95th percentile of its recent runs is beyond
            `limits.rerank_budget_ms`.
        rerank_failures_max: so many failures in a row switch it off …
        rerank_open_s: … for so many seconds.
        coarse_factor: with a reranker, arms are asked for at least this many times k candidates.
        score_percentile: candidates below this percentile of the scores leave before the rerank; 0 = off.
        diversity_lambda: share of relevance against novelty in maximal marginal relevance, in [0, 1].
        duplicate_similarity: cosine and word overlap from which a memory is folded into a better hit that says the
            same, in (0, 1]; above 1 folds nothing.
        abstain_below: confidence below which nothing is returned rather than noise, in [0, 1]; 0 = always answer.
        features: whether the words of the memories are kept in memory for the ranking features (about 100 bytes a
            memory); without them, `fusion.strategy` falls back to `weighted`.
    """

    negation_threshold: float = _number(0.6, 0, 1)
    rerank_top_n: int = _number(20, 1, 1_000)
    rerank_min_k: int = _number(3, 1, 1_000)
    rerank_answer: str = "order"
    rerank_regret_max: float = _number(0.02, 0, 100)
    rerank_risk: float = _number(0.05, 0, 0.999)
    rerank_weight: float = _number(1.0, 0, 1)
    rerank_threshold: float | None = _number(None, -1e6, 1e6)
    disable_rerank_when_slow: bool = True
    rerank_failures_max: int = _number(3, 1, 1_000)
    rerank_open_s: float = _number(60.0, 0, 86_400)
    coarse_factor: float = _number(10.0, 1, 1_000)
    score_percentile: float = _number(0.0, 0, 99)
    diversity_lambda: float = _number(0.9, 0, 1)
    duplicate_similarity: float = _number(0.90, 0.01, 2)
    abstain_below: float = _number(0.0, 0, 1)
    features: bool = True

    def __post_init__(self) -> None:
        _check_ranges(self, "ranking")
        if self.rerank_answer not in ("order", "set"):
            raise ConfigError(f"ranking.rerank_answer must be 'order' or 'set', not {self.rerank_answer!r}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitsConfig:
    """Budgets and bounds.

    Args:
        time_budget_ms: default deadline of a recall; arms that are late are left out and named.
        rewrite_timeout_ms: longest wait for the LLM rewrite.
        rerank_budget_ms: longest wait for the cross-encoder.
        query_chars_max: longer queries are refused.
        workers: threads of the optimizer's pool.
    """

    time_budget_ms: float = _number(2_000.0, 0.1, 3_600_000)
    rewrite_timeout_ms: float = _number(6_000.0, 1, 600_000)
    rerank_budget_ms: float = _number(1_000.0, 1, 600_000)
    query_chars_max: int = _number(32_768, 1, 10_000_000)
    workers: int = _number(8, 1, 256)

    def __post_init__(self) -> None:
        _check_ranges(self, "limits")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallConfig:
    """Everything that can be set, by stage.

    Args:
        timezone: IANA name in which "yesterday" and "last week" are read.
        week_start: first day of the week, 0 = Monday … 6 = Sunday.
    """

    query: QueryConfig = field(default_factory=QueryConfig)
    planner: PlannerConfig = field(default_factory=PlannerConfig)
    specificity: SpecificityConfig = field(default_factory=SpecificityConfig)
    fusion: FusionConfig = field(default_factory=FusionConfig)
    retrieval: RetrievalConfig = field(default_factory=RetrievalConfig)
    ranking: RankingConfig = field(default_factory=RankingConfig)
    limits: LimitsConfig = field(default_factory=LimitsConfig)
    timezone: str = "UTC"
    week_start: int = _number(0, 0, 6)

    def __post_init__(self) -> None:
        _check_ranges(self, "recall")
        try:
            ZoneInfo(self.timezone)
        except Exception as e:  # zoneinfo raises several unrelated kinds for bad names
            raise ConfigError(f"Unknown time zone {self.timezone!r}. Use an IANA name such as 'Europe/Berlin'.") from e

    @property
    def fingerprint(self) -> str:
        """A short digest of all settings; part of cache keys."""
        text = json.dumps(dataclasses.asdict(self), sort_keys=True, default=str)
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> RecallConfig:
        """Build from nested mappings, as a YAML or JSON file gives them.

        Raises:
            ConfigError: an unknown key, a wrong type, a value out of range.
        """
        built = _build(cls, values, "recall")
        assert isinstance(built, cls)
        return built

    @classmethod
    def from_yaml(cls, path: str | Path) -> RecallConfig:
        """Read the `recall:` section of a YAML file (or the whole file, if it has no such section).

        Raises:
            ConfigError: the file cannot be read, is not YAML, or holds an unknown key or a bad value.
        """
        import yaml

        try:
            loaded = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as e:
            raise ConfigError(f"Cannot read the configuration file {path}: {e}") from e
        if loaded is None:
            return cls()
        if not isinstance(loaded, Mapping):
            raise ConfigError(f"The configuration file {path} must hold a mapping, not {type(loaded).__name__}.")
        section = loaded.get("recall", loaded)
        return cls.from_mapping(section if section is not None else {})


def _build(kind: type[Any], values: object, where: str) -> object:
    if not isinstance(values, Mapping):
        raise ConfigError(f"{where} must be a mapping, not {type(values).__name__}.")
    hints = get_type_hints(kind)
    given: dict[str, Any] = {}
    for key, value in values.items():
        if key not in hints:
            raise ConfigError(f"Unknown setting {where}.{key}. Known: {', '.join(sorted(hints))}.")
        hint = hints[key]
        if dataclasses.is_dataclass(hint):
            given[key] = _build(hint, value, f"{where}.{key}")  # type: ignore[arg-type]
        else:
            given[key] = _typed(hint, value, f"{where}.{key}")
    return kind(**given)


def _typed(hint: Any, value: Any, where: str) -> Any:
    if get_origin(hint) is tuple:
        if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
            raise ConfigError(f"{where} must be a list of names, not {value!r}.")
        return tuple(value)
    allowed = get_args(hint) if get_origin(hint) is not None else (hint,)
    if float in allowed and is_whole(value):
        return float(value)
    if (isinstance(value, bool) and bool not in allowed) or not isinstance(value, allowed):
        names = " or ".join(getattr(a, "__name__", str(a)) for a in allowed)
        raise ConfigError(f"{where} must be {names}, not {value!r}.")
    return value
