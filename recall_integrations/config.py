"""Configuration: one small, frozen value object per stage, checked by pydantic when it is made.

`RecallConfig()` is the default; `RecallConfig.from_yaml(path)` reads a file whose keys are the fields below:

    recall:
      timezone: Europe/Berlin
      planner: {precise_threshold: 0.9}
      ranking: {diversity_lambda: 0.8}

An unknown key, a wrong type, a value out of range and a setting that nothing would read are a `ConfigError` that names
the key. `dataclasses.replace` makes a changed copy, checked as well.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn, TypeVar, get_args, get_origin
from zoneinfo import ZoneInfo

from pydantic import BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as pydantic_dataclass
from pydantic_core import ErrorDetails, to_json
from typing_extensions import dataclass_transform

from recall_integrations.errors import ConfigError

S = TypeVar("S")
ARMS = ("semantic", "lexical", "graph", "temporal", "type_filter")
FALLBACK = "fallback_fusion"
REWRITE_TIMEOUT = "RECALL_REWRITE_TIMEOUT"  # in the environment
PLAIN_SECONDS_BELOW = 100  # a number without a unit
RANKERS = ("fixed_weights", "linear", "trees")
FUSIONS = ("weighted", "boosts", "rrf")
STRATEGIES = (*RANKERS, *FUSIONS)
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
# Settings that not every strategy reads → the strategies that do.
_RANKING_READ_BY: Mapping[str, tuple[str, ...]] = {
    "weights": ("linear", "trees"),
    **dict.fromkeys(("exact_lift", "mode_lift", "recency_lift", "profile_lift"), RANKERS),
}
_FUSION_READ_BY: Mapping[str, tuple[str, ...]] = {
    "rrf_k": ("rrf",),
    **dict.fromkeys(
        ("vector", "lexical", "graph", "recency", "importance", "profile", "time_bias", "mode"), ("weighted", "boosts")
    ),
}


def _range(low: float, high: float) -> Any:
    """What a number may be, both ends included. `True`, NaN and infinities are no such number."""
    return Field(strict=True, ge=low, le=high, allow_inf_nan=False)


Share = Annotated[float, _range(0, 1)]
Weight = Annotated[float, _range(0, 10)]
Lift = Annotated[float, _range(0, 100)]
Switch = Annotated[bool, Field(strict=True)]
Text = Annotated[str, Field(strict=True)]


def _names(setting: str, known: tuple[str, ...]) -> BeforeValidator:
    """Those of `known` that are given, in the order of `known`."""

    def chosen(given: object) -> tuple[str, ...]:
        if not isinstance(given, tuple | list | set | frozenset) or not all(isinstance(item, str) for item in given):
            raise ConfigError(f"{setting} must be a list of names, not {given!r}. Known: {', '.join(known)}.")
        unknown = sorted(item for item in given if item not in known)
        if unknown:
            raise ConfigError(f"Unknown name {unknown[0]!r} in {setting}. Known: {', '.join(known)}.")
        return tuple(item for item in known if item in given)

    return BeforeValidator(chosen)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(Field,))
def _section(path: str) -> Callable[[type[S]], type[S]]:
    """A frozen dataclass that pydantic checks; `path` is where its settings stand in a file, "" = at the top.

    Args:
        path: for messages.
    """

    def made(plain: type[S]) -> type[S]:
        own: Any = pydantic_dataclass(frozen=True, slots=True, kw_only=True, config=ConfigDict(extra="forbid"))(plain)
        check = own.__init__

        @functools.wraps(check)
        def __init__(self: Any, **given: Any) -> None:  # noqa: N807 - it is one
            try:
                check(self, **given)
            except ValidationError as e:
                _refuse(own, path, e)

        own.__init__ = __init__
        checked: type[S] = own
        return checked

    return made


def _refuse(section: Any, path: str, found: ValidationError) -> NoReturn:
    """Raise the first mistake as a `ConfigError`."""
    raise ConfigError(_problem(section, path, found.errors(include_url=False)[0])) from None


def _problem(section: Any, path: str, error: ErrorDetails) -> str:
    """What is wrong, with the name of the setting and what is allowed."""
    cause = error.get("ctx", {}).get("error")
    if isinstance(cause, ConfigError):  # of one of our own checks
        return str(cause)
    known, field = section.__pydantic_fields__, None
    for key in error["loc"]:
        path = f"{path}.{key}" if path else str(key)
        if key not in known:
            return f"Unknown setting {path}. Known: {', '.join(sorted(known))}."
        field = known[key]
        if not hasattr(field.annotation, "__pydantic_fields__"):
            break
        known = field.annotation.__pydantic_fields__
    if field is None or hasattr(field.annotation, "__pydantic_fields__"):
        kind = "" if field is None else f" or a {field.annotation.__name__}"
        return f"{path or 'recall'} must be a mapping{kind}, not {type(error['input']).__name__}."
    return f"{path} must be {_allowed(field)}, not {error['input']!r}."


def _allowed(field: Any) -> str:
    """What a setting may be, in words."""
    if get_origin(field.annotation) is Literal:
        return f"one of {', '.join(get_args(field.annotation))}"
    kinds = get_args(field.annotation) or (field.annotation,)
    ends = [end for rule in field.metadata for end in (getattr(rule, "ge", None), getattr(rule, "le", None))]
    low_high = [f"{end:g}" for end in ends if end is not None]
    said = {bool: "true or false", str: "text", int: "a whole number", float: "a number"}[kinds[0]]
    said += f" between {' and '.join(low_high)}" if low_high else ""
    return f"{said}, or nothing" if type(None) in kinds else said


def _defaults(section: Any, names: Iterable[str]) -> dict[str, Any]:
    return {name: section.__pydantic_fields__[name].default for name in names}


def _refuse_unread(section: Any, path: str, read_by: Mapping[str, tuple[str, ...]]) -> None:
    """A setting that the strategy does not read has its default, or it is a mistake."""
    for name, readers in read_by.items():
        if section.strategy not in readers and getattr(section, name) != _defaults(section, [name])[name]:
            raise ConfigError(
                f"{path}.{name} has no effect with {path}.strategy {section.strategy!r}. Leave it out, or choose one "
                f"of the strategies that read it: {', '.join(readers)}."
            )


def _with_strategy(section: S, strategy: str, read_by: Mapping[str, tuple[str, ...]], *reset: str) -> S:
    """The same with another strategy; what that does not read has its default, and so has `reset`."""
    unread = [name for name, readers in read_by.items() if strategy not in readers or name in reset]
    changed: S = replace(section, strategy=strategy, **_defaults(section, unread))  # type: ignore[type-var]
    return changed


@_section("planner")
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

    precise_threshold: Share = 0.8
    exploratory_threshold: Share = 0.4
    entity_confidence_min: Share = 0.85
    rarity_promotion: Share = 0.8
    window_confidence_min: Share = 0.5
    entity_weight: Weight = 2.0
    arm_limit: Annotated[int, _range(1, 10_000)] = 40
    precise_limit: Annotated[int, _range(1, 10_000)] = 20
    rules: Annotated[tuple[str, ...], _names("planner.rules", PLAN_RULES)] = tuple(
        rule for rule in PLAN_RULES if rule != "conversational"
    )
    arms: Annotated[tuple[str, ...], _names("planner.arms", ARMS)] = ARMS

    def __post_init__(self) -> None:
        if not self.arms:
            raise ConfigError(f"planner.arms must name at least one arm. Known: {', '.join(ARMS)}.")
        if self.exploratory_threshold > self.precise_threshold:
            raise ConfigError("planner.exploratory_threshold must not exceed planner.precise_threshold.")


@_section("query")
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

    spelling: Switch = True
    spelling_threshold: Annotated[float, _range(0.01, 1)] = 0.80
    spelling_learned_max: Annotated[int, _range(0, 100_000)] = 1_000
    rare_share: Share = 0.05
    entity_llm: Switch = False
    entity_llm_timeout_ms: Annotated[float, _range(1, 600_000)] = 1_000.0


@_section("specificity")
class SpecificityConfig:
    """Weights of the specificity formula. They must add up to 1."""

    entity_density: Share = 0.35
    temporal: Share = 0.25
    lexical_rarity: Share = 0.25
    type_cues: Share = 0.15

    def __post_init__(self) -> None:
        total = self.entity_density + self.temporal + self.lexical_rarity + self.type_cues
        if abs(total - 1) > 1e-6:
            raise ConfigError(f"The four weights of specificity must add up to 1, not {total:g}.")


@_section("retrieval")
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

    exact_max: Annotated[int, _range(0, 10_000_000)] = 20_000
    cache_mb: Annotated[int, _range(0, 1_000_000)] = 512
    overfetch: Annotated[float, _range(1, 100)] = 3.0
    graph_hops: Annotated[int, _range(1, 2)] = 2
    graph_neighbours: Annotated[int, _range(1, 1_000)] = 10
    graph_mentions: Annotated[int, _range(1, 10_000)] = 50
    semantic_remote: Switch = False


@_section("ranking")
class RankingConfig:
    """How candidates of several arms become one list, and what changes its order afterwards.

    A setting that the strategy does not read cannot be set.

    Args:
        strategy: `fixed_weights` (a fixed sum of ranking features, docs/ranking.md), `linear` or `trees` (learned
            weights over the same features; trees need the extra `rank`), or `fallback_fusion`: the section of that
            name says how the arms' own scores are fused.
        weights: file with the learned weights of `linear` or `trees`, as `recall train` writes it.
        features: whether the words of the memories are kept in memory for the ranking features (about 100 bytes a
            memory); without them, `fallback_fusion` ranks.
        recency_half_life_days: age at which recency has fallen to one half.
        exact_lift: added for each share of the query's identifiers that a memory holds letter by letter, in the
            ranker's units, like all lifts: about one is a standard deviation of a strong feature.
        mode_lift: added for memories of the types that the router mode prefers.
        recency_lift: added, times recency, where the query asks for what is new.
        profile_lift: added, times the cosine with the mean vector of the scope.
        negation_threshold: normalised BM25 against a negated term above which a memory is demoted; 0.4 is strict,
            0.75 soft.
        diversity_lambda: share of relevance against novelty in maximal marginal relevance.
        duplicate_similarity: cosine and word overlap from which a memory is folded into a better hit that says the
            same; above 1 folds nothing.
        abstain_below: confidence below which nothing is returned rather than noise; 0 = always answer.
    """

    strategy: Literal["fixed_weights", "linear", "trees", "fallback_fusion"] = "fixed_weights"
    weights: Text = ""
    features: Switch = True
    recency_half_life_days: Annotated[float, _range(1e-3, 1e6)] = 30.0
    exact_lift: Lift = 8.0
    mode_lift: Lift = 0.2
    recency_lift: Lift = 1.0
    profile_lift: Lift = 0.0
    negation_threshold: Share = 0.6
    diversity_lambda: Share = 0.9
    duplicate_similarity: Annotated[float, _range(0.01, 2)] = 0.90
    abstain_below: Share = 0.0

    def __post_init__(self) -> None:
        _refuse_unread(self, "ranking", _RANKING_READ_BY)
        plain = _defaults(self, ("strategy", *_RANKING_READ_BY))
        needing = [name for name, default in plain.items() if getattr(self, name) != default]
        if needing and not self.features and self.strategy != FALLBACK:
            raise ConfigError(
                f"ranking.{needing[0]} has no effect without ranking.features. Leave it out, or set that to true."
            )


@_section("fallback_fusion")
class FallbackFusionConfig:
    """How the arms' own scores are fused where no ranker orders the candidates.

    That is so where the words of a scope do not fit into memory, where the ranker fails, and always with
    `ranking.strategy: fallback_fusion`. A setting that the strategy does not read cannot be set.

    Args:
        strategy: `weighted` (six terms), `boosts` (monotonic boosts) or `rrf` (reciprocal rank fusion).
        rrf_k: the constant of RRF; 60 as in Cormack, Clarke and Büttcher (2009).
        vector, lexical, graph, recency, importance, profile: weights of the six terms.
        time_bias: weight of recency instead of `recency` where the query asks for what is new.
        mode: weight of the types that the router mode prefers.
        exact: weight of the share of the query's identifiers that a memory holds letter by letter.
    """

    strategy: Literal["weighted", "boosts", "rrf"] = "weighted"
    rrf_k: Annotated[int, _range(1, 10_000)] = 60
    vector: Weight = 0.6
    lexical: Weight = 0.65
    graph: Weight = 0.04
    recency: Weight = 0.01
    importance: Weight = 0.01
    profile: Weight = 0.0
    time_bias: Weight = 0.02
    mode: Weight = 0.02
    exact: Weight = 0.6

    def __post_init__(self) -> None:
        _refuse_unread(self, FALLBACK, _FUSION_READ_BY)


def _rewrite_timeout_ms() -> float:
    """What `RECALL_REWRITE_TIMEOUT` says: `6s`, `800ms`, or a number alone: seconds below 100, else milliseconds.

    Nobody waits for a model for 50 ms or for 1,000 s. Six seconds where it is not set.
    """
    given = os.environ.get(REWRITE_TIMEOUT, "").strip().lower()
    if not given:
        return 6_000.0
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?) ?(ms|s|)", given)
    value = 0.0 if found is None else float(found[1])
    unit = "" if found is None else found[2] or ("s" if value < PLAIN_SECONDS_BELOW else "ms")
    ms = value * (1_000 if unit == "s" else 1)
    if not 1 <= ms <= 600_000:
        raise ConfigError(f"{REWRITE_TIMEOUT} must be from 1ms to 600s, such as 6s or 800ms, not {given!r}.")
    return ms


@_section("rewriting")
class RewritingConfig:
    """When an LLM is asked for other words, if there is one, and what they may do (docs/rewriting.md).

    Args:
        ask: `unsure`: where the query is vague and the first answer is not sure; `vague`: wherever the query is vague,
            beside the search for the query itself; `never`: the LLM is used for other things.
        unsure_below: confidence of the first answer from which nothing is asked; 1 = always. Needs `ask: unsure`.
        strategy: what is asked for: `alternatives` of the query, or a `hypothetical` memory that would answer it.
        prompt: one of your own instead, with `{query}` where the query goes; empty = that of the strategy.
        phrasings_max: so many at most are searched for.
        trust: factor of the scores of what they find. At .1 even a hostile model cost no hit in any kind of memories
            that was measured; who trusts theirs gains more with more (docs/benchmarks.md).
        keep_first: so many hits of the query itself stay where they are, whatever else is found.
        timeout_ms: longest wait; default what `RECALL_REWRITE_TIMEOUT` says (`6s`, `800ms`), else six seconds.
        cache_s: seconds for which phrasings are kept.
        cache_entries: so many at most; 0 = none.
        fallback_max: share of recent calls that may give nothing to search for; beyond it nothing is asked for a while.
        empty_max: the same of answers that were empty.
        median_max_ms: the same of how long calls take.
    """

    ask: Literal["unsure", "vague", "never"] = "unsure"
    unsure_below: Share = 0.4
    strategy: Literal["alternatives", "hypothetical"] = "alternatives"
    prompt: Text = ""
    phrasings_max: Annotated[int, _range(1, 10)] = 3
    trust: Share = 0.1
    keep_first: Annotated[int, _range(1, 1_000)] = 1
    timeout_ms: Annotated[float, _range(1, 600_000)] = Field(default_factory=_rewrite_timeout_ms)
    cache_s: Annotated[float, _range(0, 86_400)] = 180.0
    cache_entries: Annotated[int, _range(0, 10_000)] = 50
    fallback_max: Share = 0.2
    empty_max: Share = 0.05
    median_max_ms: Annotated[float, _range(1, 600_000)] = 1_200.0

    def __post_init__(self) -> None:
        if self.prompt and "{query}" not in self.prompt:
            raise ConfigError("rewriting.prompt must hold {query}, which the query takes the place of.")
        if self.ask != "unsure" and self.unsure_below != _defaults(self, ["unsure_below"])["unsure_below"]:
            raise ConfigError(f"rewriting.unsure_below is read with rewriting.ask: unsure only, not with {self.ask}.")


@_section("rerank")
class RerankConfig:
    """When a reranker is asked, if there is one, and what its scores do. The longest wait is in `limits`.

    Args:
        top_n: candidates given to it.
        min_k: fewer candidates than this are not worth a rerank.
        regret_max: a rerank is skipped if a perfect one could add no more than this, in hits at the first place; 0 =
            only where it could change nothing.
        weight: share of the reranker in the order.
        threshold: lower scores of the reranker are left out; -10 suits ms-marco-MiniLM-L-6-v2.
        disable_when_slow: whether it is off while the 95th percentile of its recent runs is beyond
            `limits.rerank_budget_ms`.
        coarse_factor: arms are asked for at least this many times k candidates.
        score_percentile: candidates below this percentile of the scores leave before the rerank; 0 = off.
    """

    top_n: Annotated[int, _range(1, 1_000)] = 20
    min_k: Annotated[int, _range(1, 1_000)] = 3
    regret_max: Annotated[float, _range(0, 100)] = 0.02
    weight: Share = 1.0
    threshold: Annotated[float | None, _range(-1e6, 1e6)] = None
    disable_when_slow: Switch = True
    coarse_factor: Annotated[float, _range(1, 1_000)] = 10.0
    score_percentile: Annotated[float, _range(0, 99)] = 0.0


@_section("limits")
class LimitsConfig:
    """Budgets and bounds.

    Args:
        time_budget_ms: default deadline of a recall; arms that are late are left out and named.
        rerank_budget_ms: longest wait for the cross-encoder.
        query_chars_max: longer queries are refused.
        workers: calls at once of each component that runs in threads of its own (an index, the LLM, …), and recalls at
            once of `arecall`.
    """

    time_budget_ms: Annotated[float, _range(0.1, 3_600_000)] = 2_000.0
    rerank_budget_ms: Annotated[float, _range(1, 600_000)] = 1_000.0
    query_chars_max: Annotated[int, _range(1, 10_000_000)] = 32_768
    workers: Annotated[int, _range(1, 256)] = 8


@_section("budgets")
class BudgetsConfig:
    """How the time of a recall is shared out, in milliseconds of one that has 110 of them.

    Of what is left, a step gets the share that its number has among its own and those of the steps still to come: with
    more time, each gets more. Only what hangs or is slow notices.

    Args:
        lexical, semantic, graph: of these arms. One of your own gets as much as `semantic`.
        rank: to order the candidates.
        rerank: of the cross-encoder, if there is one; its longest wait is `limits.rerank_budget_ms`.
        deliver: to fetch and explain the hits.
    """

    lexical: Annotated[float, _range(1, 10_000)] = 30.0
    semantic: Annotated[float, _range(1, 10_000)] = 40.0
    graph: Annotated[float, _range(1, 10_000)] = 15.0
    rank: Annotated[float, _range(1, 10_000)] = 5.0
    rerank: Annotated[float, _range(1, 10_000)] = 30.0
    deliver: Annotated[float, _range(1, 10_000)] = 20.0

    @property
    def arms(self) -> float:
        """Of all arms: words and vectors are looked at side by side, the graph beside or behind them."""
        return max(self.lexical, self.semantic) + self.graph

    def of_arm(self, name: str) -> float:
        """The share of an arm in the time of all of them, in (0, 1]. While the graph is walked, it may still go on."""
        own = {"lexical": self.lexical, "graph": self.graph}.get(name, self.semantic)
        return min(1.0, (own + self.graph) / self.arms)


@_section("cache")
class CacheConfig:
    """The result cache: answers that are given again while nothing has changed (docs/caching.md).

    Only `mode: cached` reads it; with `mode: rule` none of it can be set. With `mode: cached`, `enabled: false` keeps
    nothing, as `mode: rule` does, and then no other of these can be set.

    Args:
        enabled: whether answers are kept.
        ttl_seconds: how long, and how much later than the answer's `now` a recall's `now` may be.
        max_entries: how many of each optimizer; the least recently used leaves.
        normalize_casing: whether a query that differs from an earlier one in its letters' case only may get its answer;
            it does where both read the same.
        normalize_punctuation: the same for punctuation at its beginning and end.
    """

    enabled: Switch = True
    ttl_seconds: Annotated[float, _range(0.001, 86_400)] = 30.0
    max_entries: Annotated[int, _range(1, 100_000)] = 1_000
    normalize_casing: Switch = True
    normalize_punctuation: Switch = True

    def __post_init__(self) -> None:
        if not self.enabled and self.unread:
            raise ConfigError(
                f"cache.{self.unread[0]} has no effect without cache.enabled. Leave it out, or set that to true."
            )

    @property
    def unread(self) -> tuple[str, ...]:
        """What is set besides `enabled`."""
        plain = _defaults(type(self), self.__dataclass_fields__)
        return tuple(n for n, default in plain.items() if n != "enabled" and getattr(self, n) != default)


@_section("breakers")
class BreakerConfig:
    """When a component that failed (LLM, reranker, remote embedding, an index) is left alone for a while.

    Args:
        failures_max: so many failures in a row switch it off …
        open_s: … for so many seconds; then one call may try.
    """

    failures_max: Annotated[int, _range(1, 1_000)] = 3
    open_s: Annotated[float, _range(0, 86_400)] = 300.0


_OWN_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")


def _own_patterns(given: object) -> dict[str, str]:
    """Names and regular expressions that can be used."""
    setting = "privacy.patterns"
    if not isinstance(given, Mapping):
        raise ConfigError(f"{setting} must be a mapping from names to regular expressions, not {given!r}.")
    for name, pattern in given.items():
        if not isinstance(name, str) or not _OWN_NAME.fullmatch(name):
            raise ConfigError(
                f"The name {name!r} in {setting} must be a lower-case letter and up to 31 more letters, digits or _: "
                "it becomes a placeholder such as [badge-1]."
            )
        if not isinstance(pattern, str):
            raise ConfigError(f"{setting}.{name} must be a regular expression, not {pattern!r}.")
        try:
            compiled = re.compile(pattern)
        except re.error as e:
            raise ConfigError(f"{setting}.{name} is no regular expression: {e}.") from e
        if compiled.search("") is not None:
            raise ConfigError(f"{setting}.{name} finds the empty text, which is everywhere. Write what must be there.")
    return dict(given)


@_section("privacy")
class PrivacyConfig:
    """What is hidden under `privacy="redact"` besides what the package knows.

    Args:
        patterns: regular expressions of your own, by name: what `badge` finds becomes `[badge-1]`. They run over every
            text that leaves a recall. One that backtracks without end holds up the process: `re` cannot be stopped.
    """

    patterns: Annotated[dict[str, str], BeforeValidator(_own_patterns)] = Field(default_factory=dict)

    def __hash__(self) -> int:
        return hash(frozenset(self.patterns.items()))

    @property
    def compiled(self) -> tuple[tuple[str, re.Pattern[str]], ...]:
        """Names and patterns."""
        return tuple((name, re.compile(pattern)) for name, pattern in self.patterns.items())


@_section("")
class RecallConfig:
    """Everything that can be set, by stage.

    Args:
        mode: `rule` (every recall is computed) or `cached` (an answer is given again for a short time, see `cache`).
        timezone: IANA name in which "yesterday" and "last week" are read.
        week_start: first day of the week, 0 = Monday … 6 = Sunday.
    """

    query: QueryConfig = Field(default_factory=QueryConfig)
    planner: PlannerConfig = Field(default_factory=PlannerConfig)
    specificity: SpecificityConfig = Field(default_factory=SpecificityConfig)
    retrieval: RetrievalConfig = Field(default_factory=RetrievalConfig)
    ranking: RankingConfig = Field(default_factory=RankingConfig)
    fallback_fusion: FallbackFusionConfig = Field(default_factory=FallbackFusionConfig)
    rewriting: RewritingConfig = Field(default_factory=RewritingConfig)
    rerank: RerankConfig = Field(default_factory=RerankConfig)
    limits: LimitsConfig = Field(default_factory=LimitsConfig)
    budgets: BudgetsConfig = Field(default_factory=BudgetsConfig)
    breakers: BreakerConfig = Field(default_factory=BreakerConfig)
    cache: CacheConfig = Field(default_factory=CacheConfig)
    mode: Literal["rule", "cached"] = "rule"
    privacy: PrivacyConfig = Field(default_factory=PrivacyConfig)
    timezone: Text = "UTC"
    week_start: Annotated[int, _range(0, 6)] = 0

    def __post_init__(self) -> None:
        try:
            ZoneInfo(self.timezone)
        except Exception as e:  # zoneinfo raises several unrelated kinds for bad names
            raise ConfigError(f"Unknown time zone {self.timezone!r}. Use an IANA name such as 'Europe/Berlin'.") from e
        set_there = (*self.cache.unread, *(() if self.cache.enabled else ("enabled",)))
        if self.mode != "cached" and set_there:
            raise ConfigError(
                f"cache.{set_there[0]} has no effect with mode {self.mode!r}. Leave it out, or set mode: cached."
            )

    @property
    def caches(self) -> bool:
        """Whether answers are kept."""
        return self.mode == "cached" and self.cache.enabled

    @property
    def strategy(self) -> str:
        """What orders the candidates, of `STRATEGIES`; where words are not in memory, `fallback_fusion` does."""
        ranked = self.ranking.features and self.ranking.strategy in RANKERS
        return self.ranking.strategy if ranked else self.fallback_fusion.strategy

    def with_strategy(self, strategy: str) -> RecallConfig:
        """The same with another of `STRATEGIES`; what that does not read has its default, and so has `weights`.

        Raises:
            ConfigError: there is no such strategy, or it needs `ranking.features`.
        """
        if strategy not in STRATEGIES:
            raise ConfigError(f"There is no strategy {strategy!r}. Known: {', '.join(STRATEGIES)}.")
        if strategy in FUSIONS:
            fusion = _with_strategy(self.fallback_fusion, strategy, _FUSION_READ_BY)
            ranking = _with_strategy(self.ranking, FALLBACK, _RANKING_READ_BY)
            return replace(self, ranking=ranking, fallback_fusion=fusion)
        if not self.ranking.features:
            raise ConfigError(f"The strategy {strategy!r} needs ranking.features, which are off.")
        return replace(self, ranking=_with_strategy(self.ranking, strategy, _RANKING_READ_BY, "weights"))

    @property
    def fingerprint(self) -> str:
        """A short digest of all settings; part of cache keys."""
        return hashlib.blake2b(to_json(self), digest_size=8).hexdigest()

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> RecallConfig:
        """Build from nested mappings, as a YAML or JSON file gives them.

        Raises:
            ConfigError: an unknown key, a wrong type, a value out of range.
        """
        try:
            return TypeAdapter(cls).validate_python(dict(values) if isinstance(values, Mapping) else values)
        except ValidationError as e:
            _refuse(cls, "", e)

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
