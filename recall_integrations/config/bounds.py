"""Settings of time, of the cache of answers, and of components that failed."""

from __future__ import annotations

from typing import Annotated

from recall_integrations.config.checking import Switch, defaults, in_range, section
from recall_integrations.errors import ConfigError


@section("limits")
class LimitsConfig:
    """Budgets and bounds.

    Args:
        time_budget_ms: default deadline of a recall; arms that are late are left out and named.
        load_wait_ms: how long the first recall of a scope waits, beyond its time, until its memories are in memory; one
            that is given a `time_budget_ms` does not.
        rerank_budget_ms: longest wait for the cross-encoder.
        query_chars_max: longer queries are refused.
        workers: calls at once of each component that runs in threads of its own (an index, the LLM, …), and recalls at
            once of `arecall`.
    """

    time_budget_ms: Annotated[float, in_range(0.1, 3_600_000)] = 2_000.0
    load_wait_ms: Annotated[float, in_range(0, 3_600_000)] = 30_000.0
    rerank_budget_ms: Annotated[float, in_range(1, 600_000)] = 1_000.0
    query_chars_max: Annotated[int, in_range(1, 10_000_000)] = 32_768
    workers: Annotated[int, in_range(1, 256)] = 8


@section("budgets")
class BudgetsConfig:
    """How the time of a recall is shared out, in milliseconds of one that has 110 of them.

    Of what is left, a step gets the share that its number has among its own and those of the steps still to come: with
    more time, each gets more. Only what hangs or is slow notices.

    Args:
        lexical: to look for words.
        semantic: to look at vectors. An arm of your own gets as much.
        graph: to walk the graph of entities.
        rank: to order the candidates.
        rerank: of the cross-encoder, if there is one; its longest wait is `limits.rerank_budget_ms`.
        deliver: to fetch and explain the hits.
    """

    lexical: Annotated[float, in_range(1, 10_000)] = 30.0
    semantic: Annotated[float, in_range(1, 10_000)] = 40.0
    graph: Annotated[float, in_range(1, 10_000)] = 15.0
    rank: Annotated[float, in_range(1, 10_000)] = 5.0
    rerank: Annotated[float, in_range(1, 10_000)] = 30.0
    deliver: Annotated[float, in_range(1, 10_000)] = 20.0

    @property
    def arms(self) -> float:
        """Share of all arms: words and vectors are searched side by side, the graph beside or behind them."""
        return max(self.lexical, self.semantic) + self.graph

    def of_arm(self, name: str) -> float:
        """Return the share of an arm in the time of all arms, in (0, 1]. It may go on while the graph is walked."""
        own = {"lexical": self.lexical, "graph": self.graph}.get(name, self.semantic)
        return min(1.0, (own + self.graph) / self.arms)


@section("cache")
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
    ttl_seconds: Annotated[float, in_range(0.001, 86_400)] = 30.0
    max_entries: Annotated[int, in_range(1, 100_000)] = 1_000
    normalize_casing: Switch = True
    normalize_punctuation: Switch = True

    def __post_init__(self) -> None:
        if not self.enabled and self.unread:
            raise ConfigError(
                f"cache.{self.unread[0]} has no effect without cache.enabled. Leave it out, or set that to true."
            )

    @property
    def unread(self) -> tuple[str, ...]:
        """Names of the settings besides `enabled` that are not default."""
        plain = defaults(type(self), self.__dataclass_fields__)
        return tuple(n for n, default in plain.items() if n != "enabled" and getattr(self, n) != default)


@section("breakers")
class BreakerConfig:
    """When a component that failed (LLM, reranker, remote embedding, an index) is left alone for a while.

    Args:
        failures_max: so many failures in a row switch it off.
        open_s: for so many seconds; then one call may try.
    """

    failures_max: Annotated[int, in_range(1, 1_000)] = 3
    open_s: Annotated[float, in_range(0, 86_400)] = 300.0
