"""The values that labels may have. Any other value becomes `other`, so that a metric has a bounded number of series.

A label never holds a scope, a text or an id. Names of stages and arms of your own are those that you name
(`Metrics(names=[...])`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

OTHER = "other"
KEPT_MAX = 4_096  # combinations of values whose series is at hand

PRIVACY_MODES = frozenset({"allow", "redact", "block"})
STAGES = frozenset("parse plan ask embed arms rank rewrite rerank arrange deliver cache".split())
ARMS = frozenset({"semantic", "lexical", "graph", "temporal", "type_filter"})
# Stages of `degraded`, besides stages and arms.
PLACES = frozenset({"admission", "context", "filters", "llm", "load", "observer", "pack", "privacy", "recall", "store"})
# Components with a breaker of their own.
COMPONENTS = frozenset(
    {"rewrite", "spelling", "entities", "rerank", "embed", "ranker", "stage.rank", "vectors"}
    | {f"arm.{name}" for name in ARMS}
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
SERVED = frozenset({"rules", "own", "shared"})
KINDS = frozenset({"helpful", "wrong", "cited", "rating", "asked_again"})
LEARNING = frozenset({"started", "promoted", "rolled_back", "extended", "nothing"})
COMPLEXITIES = frozenset({"simple", "moderate", "complex"})
OVERLAPS = ("none", "some", "most", "all")


def served_by(version: str) -> str:
    """Return the kind of version that answered: `v3` is the scope's own, `shared v2` one that all scopes share."""
    if version == "rules":
        return version
    return "shared" if version.startswith("shared ") else "own"


class Series:
    """The series of one metric, by the values of its labels.

    Args:
        metric: a metric of `prometheus_client`, with labels.
        known: the values that each label may have.
    """

    def __init__(self, metric: Any, *known: Collection[str]) -> None:
        self._metric, self._known = metric, known
        self._children: dict[tuple[str, ...], Any] = {}

    def of(self, *values: str) -> Any:
        """Return the series with these values; unknown ones are replaced by `other`."""
        child = self._children.get(values)
        if child is None:
            bounded = tuple(
                [value if value in known else OTHER for value, known in zip(values, self._known, strict=True)]
            )
            child = self._metric.labels(*bounded)
            if bounded == values and len(self._children) < KEPT_MAX:
                self._children[values] = child
        return child


def complexity(specificity: float, precise: float, exploratory: float) -> str:
    """Say how much a query leaves open: `simple` it says what it wants, `complex` it is vague, `moderate` between them.

    Args:
        specificity: specificity of the query.
        precise, exploratory: thresholds of the planner.
    """
    return "simple" if specificity >= precise else "complex" if specificity < exploratory else "moderate"


def overlap(named: Sequence[Collection[str]], held: Collection[str]) -> str:
    """Say how many of the entities that a query names a memory has, as one of `OVERLAPS`.

    Args:
        named: for each entity, the names that it goes by, in small letters.
        held: names of the memory's entities, likewise.
    """
    shared = sum(any(name in held for name in names) for names in named)
    if not shared:
        return OVERLAPS[0]
    return OVERLAPS[3] if shared == len(named) else OVERLAPS[2] if 2 * shared >= len(named) else OVERLAPS[1]
