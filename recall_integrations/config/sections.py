"""Settings by section: how a query is read, searched, ordered and rewritten, the time and the cache for that; and what
is kept, and where: facts, privacy, feedback, PostgreSQL, the vectors of large scopes."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, Any, Literal, cast
from urllib.parse import urlsplit

from pydantic import BeforeValidator

from recall_integrations.config.checking import (
    Names,
    Share,
    Switch,
    Text,
    Weight,
    checked_server,
    defaults,
    in_range,
    section,
)
from recall_integrations.errors import ConfigError
from recall_integrations.patterns import regex
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
    rules: Annotated[tuple[str, ...], Names("planner.rules", PLAN_RULES)] = tuple(
        rule for rule in PLAN_RULES if rule != "conversational"
    )
    arms: Annotated[tuple[str, ...], Names("planner.arms", ARMS)] = ARMS

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
    graph_edges: Annotated[tuple[str, ...], Names("retrieval.graph_edges", ())] = ()
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

    plans: Annotated[tuple[str, ...], Names("rerank.plans", PLANS)] = ("exploratory",)
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


ANY_KIND = "any"  # whatever a noun phrase can be
# Of values. person: a name, or one with a title; place: a name of one; organisation: a name, or "the local bakery";
# number: with a digit in it ("34", "£900", "6 ft 1"); code: one word, whatever its signs (a password, a version);
# work: "nurse", "data engineer"; medicine: with a dose, or by a name that only a medicine has; name: a name, or one or
# two words; subject: of study; titled: "Dr Tan"; vehicle: a make and a model; activity: what people do for its own sake
# ("pottery"); thing: a name ("Tesla Model 3"), or a noun phrase with an article ("a grey van").
KINDS = (
    ANY_KIND,
    *"person place organisation address phone email number date code work language diet instrument sport".split(),
    *"marital medicine name subject team religion nationality blood titled vehicle activity thing".split(),
)
PHRASES = ("nouns", "verbs", "starts", "stops")
FIELDS = ("nouns", "one", "kind", "verbs", "starts", "stops")
PHRASE_CHARS_MAX = 60
NAME = regex(r"[a-z][a-z0-9_]{0,59}")
PHRASE = regex(r"[^\W_](?:[\w'’&/. -]{0,58}[^\W_])?")
_SLOTS = "facts.slots"
_SAYS = {
    "nouns": "what people call it, such as [desk, desk number]",
    "verbs": "what leads to a value that holds, in the infinitive, such as [sit at]",
    "starts": "what tells that it began, in the infinitive, such as [move to]",
    "stops": "what tells that it ended, in the infinitive, such as [move away from]",
}


def own_slots(given: object) -> dict[str, dict[str, Any]]:
    """Return slots by name, each with its checked settings; texts in lower case."""
    if not isinstance(given, Mapping):
        raise ConfigError(f"{_SLOTS} must be a mapping from names to slots, not {given!r}.")
    return {_name(name): _slot(f"{_SLOTS}.{name}", slot) for name, slot in given.items()}


def _name(name: object) -> str:
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ConfigError(
            f"The name {name!r} in {_SLOTS} must be lower-case letters, digits and _, at most {PHRASE_CHARS_MAX}, "
            "such as desk."
        )
    return name


def _slot(setting: str, given: object) -> dict[str, Any]:
    others = ", ".join(f"`{field}`" for field in FIELDS[1:])
    if not isinstance(given, Mapping):
        raise ConfigError(f"{setting} must be a mapping with `nouns` and, if you like, {others}, not {given!r}.")
    unknown = sorted(map(str, set(given) - set(FIELDS)))
    if unknown:
        raise ConfigError(f"{setting} has no {', '.join(unknown)}: it may have `nouns`, {others}.")
    slot: dict[str, Any] = {
        field: _phrases(f"{setting}.{field}", field, given.get(field)) for field in PHRASES if field in given
    }
    if not slot.get("nouns"):
        raise ConfigError(f"{setting}.nouns must list {_SAYS['nouns']}.")
    if "one" in given:
        if not isinstance(given["one"], bool):
            raise ConfigError(f"{setting}.one must be true or false, not {given['one']!r}.")
        slot["one"] = given["one"]
    if "kind" in given:
        if given["kind"] not in KINDS:
            raise ConfigError(f"{setting}.kind must be one of {', '.join(KINDS)}, not {given['kind']!r}.")
        slot["kind"] = given["kind"]
    return {field: slot[field] for field in FIELDS if field in slot}


def _phrases(setting: str, field: str, given: object) -> tuple[str, ...]:
    listed = isinstance(given, list | tuple) and all(isinstance(text, str) for text in given)
    phrases = tuple(" ".join(text.casefold().split()) for text in cast("list[str]", given)) if listed else ()
    if not listed or not all(map(PHRASE.fullmatch, phrases)):
        raise ConfigError(f"{setting} must list {_SAYS[field]}; short texts of words, not {given!r}.")
    return phrases


@section("facts")
class FactsConfig:
    """What memories say of slots, such as a phone number, and which of it holds when (docs/facts.md).

    Args:
        keep: read facts, and the times that texts tell, when memories are written; they are kept beside them.
        read: let them put the value that holds first, where a query asks how things are, were, or how they changed.
        slots: of your own, by name: `{desk: {nouns: [desk, desk number], verbs: [sit at], starts: [move to]}}`.
            `one: false` lets values add up; else a newer one takes the place of an older one. `kind` says what values
            look like, `stops` what tells that one ended. A name that the package has takes the place of its slot; what
            is left out but `nouns` stays as it was there. Stores read their memories anew when they are opened with
            other slots.
        llm_calls_per_hour: calls at most in an hour to a language model that reads facts, if there is one, for a store;
            what is left waits.
    """

    keep: bool = True
    read: bool = True
    slots: Annotated[dict[str, dict[str, Any]], BeforeValidator(own_slots)] = field(default_factory=dict, hash=False)
    llm_calls_per_hour: Annotated[int, in_range(0, 1_000_000)] = 60


_OWN_NAME = regex(r"[a-z][a-z0-9_]{0,31}")


def _own_patterns(given: object) -> dict[str, str]:
    """Return names and regular expressions, checked."""
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


@section("privacy")
class PrivacyConfig:
    """What is hidden under `privacy="redact"` besides what the package knows.

    Args:
        patterns: regular expressions of your own, by name: what `badge` finds becomes `[badge-1]`. They run over every
            text that leaves a recall. One that backtracks without end holds up the process: `re` cannot be stopped.
    """

    patterns: Annotated[dict[str, str], BeforeValidator(_own_patterns)] = field(default_factory=dict, hash=False)

    @property
    def compiled(self) -> tuple[tuple[str, re.Pattern[str]], ...]:
        """Names with compiled patterns."""
        return tuple((name, re.compile(pattern)) for name, pattern in self.patterns.items())


CADENCES = {"daily": 1, "weekly": 7, "monthly": 30}  # days


@section("learned")
class LearnedConfig:
    """Feedback, and what is learned from it (docs/learning.md). Only `mode: learned` answers by what was learned.

    Args:
        keep_days: after so many days feedback is removed.
        min_queries_per_signature: judged recalls from which anything is learned of a scope, and from which a signature
            gets a plan of its own.
        update_cadence: `daily`, `weekly` or `monthly`: how often something is learned, and how long it is tried.
        traffic_fraction_for_new_weights: share of the recalls that a new version answers while it is tried.
        rollback_on_ndcg_regression: whether a version that serves is rolled back where rules are better by now.
    """

    keep_days: Annotated[int, in_range(1, 3_650)] = 90
    min_queries_per_signature: Annotated[int, in_range(1, 1_000_000)] = 30
    update_cadence: Literal["daily", "weekly", "monthly"] = "weekly"
    traffic_fraction_for_new_weights: Share = 0.1
    rollback_on_ndcg_regression: Switch = True

    @property
    def cadence_days(self) -> int:
        """Days of `update_cadence`."""
        return CADENCES[self.update_cadence]


@section("postgres")
class PostgresConfig:
    """Connections of a store in PostgreSQL (docs/postgres.md). A directory has none of it.

    Args:
        pool_size: connections to the server that a process keeps open; as many more are made while they are needed. A
            few stand outside of this pool (docs/postgres.md#connections).
    """

    pool_size: Annotated[int, in_range(1, 1_000)] = 8


PGVECTOR = "pgvector"  # as an address: the store's own PostgreSQL
CLOUD = "trychroma.com"  # where Chroma Cloud is
CLOUD_MOST = 300  # records of a write and results of an answer there, unless it agreed to more
BATCH_MAX, RESULTS_MAX = 500, 20_000  # of a server of one's own


@section("vectors")
class VectorsConfig:
    """Where near vectors are looked for, and where those of large scopes are (docs/chroma-server.md, docs/postgres.md).

    Args:
        index: `auto`: a scope is scanned in memory, a large one (`retrieval.exact_max`, `retrieval.cache_mb`) has a
            collection; `scan`: every scope is scanned; `chroma`: every scope has a collection in Chroma, in the
            store's directory or on the server of `address`, which Chroma's own client can read.
        address: of a Chroma server, `https://chroma.example:8000`; or `pgvector`: the store's own PostgreSQL, with the
            extension of that name; empty = there is none: a store in a directory keeps these vectors in its files, one
            in PostgreSQL scans them.
        token_variable: the environment variable that holds the token of the server, sent as `X-Chroma-Token` and, but
            to Chroma Cloud, as a bearer's; empty = it wants none. The token itself is no setting, so that it stands in
            no file, message or `repr`.
        tenant, database: on the server; both have to be there.
        timeout_ms: longest wait for the server. A recall waits less, so that half of its time for vectors is left to
            answer without the server.
    """

    index: Literal["auto", "scan", "chroma"] = "auto"
    address: Text = ""
    token_variable: Text = ""
    tenant: Text = "default_tenant"
    database: Text = "default_database"
    timeout_ms: Annotated[float, in_range(1, 600_000)] = 5_000.0

    @property
    def all_in_chroma(self) -> bool:
        """True if every scope has a collection, whose vectors carry the ids of their memories."""
        return self.index == "chroma"

    @property
    def batch(self) -> int:
        """Most vectors of one write to the server of this address."""
        return CLOUD_MOST if self.in_cloud else BATCH_MAX

    @property
    def results(self) -> int:
        """Most neighbours or numbers of one answer of the server of this address."""
        return CLOUD_MOST if self.in_cloud else RESULTS_MAX

    @property
    def in_cloud(self) -> bool:
        """True if the address is one of Chroma Cloud."""
        host = urlsplit(self.address).hostname or ""
        return host == CLOUD or host.endswith(f".{CLOUD}")

    def __post_init__(self) -> None:
        if (self.address and self.index == "scan") or (self.address == PGVECTOR and self.index != "auto"):
            raise ConfigError(
                f"vectors.index {self.index!r} has no use for vectors.address {self.address!r}. Leave one of them out."
            )
        for name, default in defaults(self, OF_CHROMA).items() if self.address == PGVECTOR else ():
            if getattr(self, name) != default:
                raise ConfigError(
                    f"vectors.{name} has no effect with vectors.address {PGVECTOR!r}, which is asked as the store is. "
                    "Leave it out."
                )
        if self.address not in ("", PGVECTOR):
            checked_server(self.address, "vectors.address", _ADVICE, ConfigError)
        for name in ("tenant", "database"):
            if not getattr(self, name).strip() or "/" in getattr(self, name):
                raise ConfigError(f"vectors.{name} must be a name without '/', not {getattr(self, name)!r}.")


OF_CHROMA = ("token_variable", "tenant", "database")  # what only a Chroma server has
_ADVICE = (
    "`pgvector` is the store's own PostgreSQL. Put a token into an environment variable, and name that in "
    "vectors.token_variable."
)
