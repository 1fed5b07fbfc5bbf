"""Every metric there is: its name, its help text, its labels and its buckets. docs/metrics.md has a row for each.

The names of the first block are those that the optimizer's design gave them, units and all; the others have base units.
Prometheus adds `_total` to the name of a counter.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from recall_integrations.types.query import PLANS

OTHER = "other"

PRIVACY_MODES = frozenset({"allow", "redact", "block"})
STAGES = frozenset("parse plan ask embed arms rank rewrite rerank arrange deliver cache".split())
ARMS = frozenset({"semantic", "lexical", "graph", "temporal", "type_filter"})
# Stages of `degraded`, besides stages and arms.
PLACES = frozenset({"admission", "context", "filters", "llm", "load", "observer", "pack", "privacy", "recall", "store"})
# Components with a breaker of their own.
COMPONENTS = frozenset(
    {"rewrite", "entities", "rerank", "embed", "ranker", "stage.rank", "vectors"} | {f"arm.{name}" for name in ARMS}
)
LOOKUPS = ("hit", "miss")  # look-ups in the result cache
STEPS = frozenset({"reduced_top_k", "simplified_scoring", "minimal"})
CODES = frozenset(
    """
    recall_error invalid_input invalid_query invalid_argument invalid_memory invalid_scope invalid_filter invalid_config
    missing_extra missing_benchmark not_found not_searched store_error store_path store_locked store_version
    store_corrupt store_closed embedding_mismatch embedding_error index_unavailable timeout degradation_failed
    privacy_violation vectors_away vectors_refused llm_error rerank_error
    """.split()
)
# Reasons that were asked for, and are no sign of trouble.
WANTED = frozenset({"abstain", "score_min", "budget.tokens", "query.long"})
REWRITES = frozenset(
    """
    success cache_hit circuit_open skip.disabled skip.privacy skip.specific skip.plan skip.literal_query skip.identifier
    skip.command skip.short_query skip.sure skip.no_memories skip.budget skip.busy skip.slo failure.timeout
    failure.error failure.cancelled failure.empty failure.off_topic
    """.split()
)
RERANKS = frozenset(
    """
    success success.partial skip.disabled skip.plan skip.few skip.privacy skip.breaker skip.busy skip.cold skip.certain
    skip.budget skip.slow failure.timeout failure.error failure.load
    """.split()
)
REASONS = (
    CODES
    | STEPS
    | WANTED
    | REWRITES
    | RERANKS
    | frozenset(
        """
        error empty off_topic cancelled failure.answer skip.no_vector partial memory.damaged index.behind index.rebuilt
        unavailable record.away vectors.away
        """.split()
    )
)
LEVELS = frozenset("01234")
OUTCOMES = frozenset({"ok", "degraded", "empty", "error", "refused"})
# What answers a recall, kinds of feedback, and steps of versions (docs/learning.md).
SERVED = frozenset({"rules", "own"})
KINDS = frozenset({"helpful", "wrong", "cited", "rating", "asked_again"})
LEARNING = frozenset({"started", "promoted", "rolled_back", "extended", "nothing"})
COMPLEXITIES = frozenset({"simple", "moderate", "complex"})
SHOWN = ("shown", "redacted", "withheld")
OVERLAPS = ("none", "some", "most", "all")


class Series:
    """The series of one metric, by the values of its labels: unknown values are replaced by `other`."""

    def __init__(self, metric: Any, *known: Collection[str]) -> None:
        self._metric, self._known = metric, known

    def of(self, *values: str) -> Any:
        """Return the series with these values."""
        pairs = zip(values, self._known, strict=True)
        return self._metric.labels(*[value if value in known else OTHER for value, known in pairs])


def complexity(specificity: float, precise: float, exploratory: float) -> str:
    """Say how much a query leaves open: `simple` = nothing, `complex` = it is vague."""
    return "simple" if specificity >= precise else "complex" if specificity < exploratory else "moderate"


def overlap(named: Sequence[Collection[str]], held: Collection[str]) -> str:
    """Say how many of the entities that a query names a memory has, as one of `OVERLAPS`."""
    shared = sum(any(name in held for name in names) for names in named)
    if not shared:
        return OVERLAPS[0]
    return OVERLAPS[3] if shared == len(named) else OVERLAPS[2] if 2 * shared >= len(named) else OVERLAPS[1]


# Buckets of a recall that takes some milliseconds, and of one that waits for an LLM.
SECONDS = (0.001, 0.003, 0.005, 0.008, 0.015, 0.030, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
MILLISECONDS = tuple(map(float, "1 2 5 8 10 15 20 25 30 50 75 100 150 250 500 1000 2500 6000".split()))
STEP_SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 6.0)
SCOPES_MAX = 10_000
SCORES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


class Computed(NamedTuple):
    """A metric that is computed when somebody asks: its name, help text, labels, and kind."""

    name: str
    says: str
    labels: tuple[str, ...] = ()
    kind: str = "Gauge"

    def filled(self, core: Any, values: Iterable[tuple[Sequence[str], float]]) -> Any:
        """Return the metric with its values, given by the values of its labels."""
        made = getattr(core, f"{self.kind}MetricFamily")(self.name, self.says, labels=self.labels)
        for own, value in values:
            made.add_metric(list(own), value)
        return made


THROUGHPUT = Computed("l4_retrieval_throughput_qps", "Recalls a second, over the last minute.", ("instance_id",))
CACHE_RATE = Computed(
    "recall_cache_hit_rate", "Share of look-ups in the result cache that found an answer, over the last five minutes."
)
OVERLAP = Computed(
    "l4_entity_overlap_effectiveness",
    "Mean score of hits, by how many of the entities that the query names they have.",
    ("overlap_range",),
)
MEMORIES = Computed("recall_store_memories", "Memories in the store.", ("store",))
SCOPES = Computed("recall_store_scopes", "Scopes in the store.", ("store",))
BYTES = Computed("recall_store_bytes", "Bytes of the store on disk.", ("store",))
CHANGES = Computed(
    "recall_store_changes", "Memories written and removed since the store was made.", ("store",), "Counter"
)
UP = Computed("recall_store_up", "Whether the store can be read: 1 or 0.", ("store",))
LAG = Computed("recall_index_lag", "Changes that an index lacks.", ("store", "index"))
HYDRATION = Computed(
    "recall_hydration_lookups",
    "Memories that were to be delivered, by whether they were in memory (hit) or read from the database (miss).",
    ("store", "outcome"),
    "Counter",
)
BREAKER = Computed(
    "recall_breaker_state", "1 for the state in which the breaker of a component is.", ("component", "state")
)
ACTIVE = Computed("recall_component_active_calls", "Calls of a component that somebody waits for.", ("component",))
HANGING = Computed(
    "recall_component_hanging_calls", "Calls of a component that were given up and have not returned.", ("component",)
)
# Of a store: the key of its figure in `MemoryStore.figures`.
OF_STORES = {
    MEMORIES: "memories",
    SCOPES: "scopes",
    BYTES: "bytes",
    CHANGES: "changes",
    LAG: "index_lag",
    HYDRATION: "hydration",
}


class Families:
    """The metrics that are counted as recalls end. Raises `ValueError` if the registry has one of them already."""

    def __init__(self, library: Any, registry: Any, names: frozenset[str]) -> None:
        stages, arms = STAGES | names, ARMS | names

        def counter(name: str, says: str, **known: Collection[str]) -> Series:
            return Series(library.Counter(name, says, list(known), registry=registry), *known.values())

        def histogram(name: str, says: str, buckets: Sequence[float], **known: Collection[str]) -> Any:
            made = library.Histogram(name, says, list(known), buckets=buckets, registry=registry)
            return Series(made, *known.values()) if known else made

        self.plans = counter("recall_optimizer_plan_selected", "Plans that were chosen.", plan=PLANS)
        self.latency_ms = histogram(
            "recall_retrieval_latency_ms", "Time of a recall in milliseconds, by its plan.", MILLISECONDS, plan=PLANS
        )
        self.lookups = counter("recall_cache_lookups", "Look-ups in the result cache.", outcome=LOOKUPS)
        self.rerank_ms = histogram(
            "recall_reranker_latency_ms", "Time of a rerank in milliseconds, where there was one.", MILLISECONDS
        )
        says = "nDCG of judged or labelled questions, by the plan they led to."
        self.ndcg = Series(library.Gauge("recall_ndcg_by_plan", says, ["plan"], registry=registry), PLANS)
        self.latency_s = histogram(
            "l4_retrieval_latency_seconds", "Time of a recall in seconds.", SECONDS, query_complexity=COMPLEXITIES,
            privacy_mode=PRIVACY_MODES, degradation_applied=("true", "false"),
        )  # fmt: skip
        self.scores = histogram("l4_hybrid_scoring_distribution", "Scores of hits.", SCORES)
        says = "What recalls had to do without, by its reason; `rate()` of it is the rate."
        self.degradations = counter("l4_degradation_trigger_rate", says, degradation_type=REASONS)
        self.served = counter("recall_served", "Recalls, by what chose plan and weights.", by=SERVED)
        self.feedback = counter("recall_feedback", "Ways in which feedback judged recalls.", kind=KINDS)
        self.learning = counter("recall_learning_steps", "What was done about versions.", step=LEARNING)
        # The others that operators need.
        self.recalls = counter("recall_recalls", "Recalls, by what became of them.", outcome=OUTCOMES)
        self.errors = counter("recall_errors", "Recalls that raised, by the code of the error.", code=CODES)
        says = "Time of a stage of a recall."
        self.stage_seconds = histogram("recall_stage_latency_seconds", says, STEP_SECONDS, stage=stages)
        self.arm_seconds = histogram("recall_arm_latency_seconds", "Time of an arm.", STEP_SECONDS, arm=arms)
        self.arm_hits = counter("recall_arm_hits", "Hits that an arm had found.", arm=arms)
        says = "Entries of `degraded`, those too that were asked for."
        self.degraded = counter("recall_degraded", says, stage=stages | arms | PLACES, reason=REASONS)
        says = "Recalls by how much was left out under pressure, 0 = nothing."
        self.admissions = counter("recall_admissions", says, level=LEVELS)
        self.rewrites = counter("recall_rewrites", "What became of rewrites by the LLM.", reason=REWRITES)
        says = "How long an LLM was waited for, where it was asked."
        self.rewrite_seconds = histogram("recall_rewrite_latency_seconds", says, SECONDS)
        self.reranks = counter("recall_reranks", "What became of reranks.", reason=RERANKS)
        says = "Hits of recalls under `redact` and `block`, by what was shown of them."
        self.private = counter("recall_privacy_hits", says, privacy_mode=PRIVACY_MODES, outcome=SHOWN)
        # Series that alerts look at are there from the begin: the first count of an absent one is no increase.
        reasons = STEPS | {"timeout", "error", "llm_error", "skip.breaker", "skip.budget"}
        for series, values in (
            (self.plans, PLANS), (self.lookups, LOOKUPS), (self.recalls, OUTCOMES), (self.rewrites, REWRITES),
            (self.served, SERVED), (self.feedback, KINDS), (self.learning, LEARNING), (self.degradations, reasons),
        ):  # fmt: skip
            for value in sorted(values):
                series.of(value)


class ByPlan:
    """Mean nDCG by plan, from judgements in many scopes: each is weighted by its judged recalls. Threads share it."""

    def __init__(self, most: int = SCOPES_MAX) -> None:
        self._most = most
        self._known: OrderedDict[object, Mapping[str, tuple[float, int]]] = OrderedDict()
        self._sums: dict[str, list[float]] = {}
        self._lock = threading.Lock()

    def put(self, scope: object, figures: Mapping[str, tuple[float, int]]) -> dict[str, float]:
        """Set the figures of a scope; return the means of the plans that this may have moved."""
        with self._lock:
            touched = set(figures)
            gone = [self._known.pop(scope, {})]
            self._known[scope] = dict(figures)
            if len(self._known) > self._most:
                gone.append(self._known.popitem(last=False)[1])
            for sign, all_of in ((-1, gone), (1, [figures])):
                for one in all_of:
                    touched |= set(one)
                    for plan, (value, count) in one.items():
                        own = self._sums.setdefault(plan, [0.0, 0])
                        own[0], own[1] = own[0] + sign * value * count, own[1] + sign * count
            return {p: min(max(self._sums[p][0] / self._sums[p][1], 0.0), 1.0) for p in touched if self._sums[p][1]}


class Means:
    """Mean values by a label. Threads share it."""

    def __init__(self, values: Sequence[str]) -> None:
        self._sums = {value: [0.0, 0] for value in values}
        self._lock = threading.Lock()

    def add(self, value: str, number: float) -> None:
        """Add a number to a value of the label."""
        with self._lock:
            own = self._sums[value]
            own[0] += number
            own[1] += 1

    def means(self) -> list[tuple[str, float]]:
        """Return the means of the values with numbers."""
        with self._lock:
            return [(value, total / count) for value, (total, count) in self._sums.items() if count]
