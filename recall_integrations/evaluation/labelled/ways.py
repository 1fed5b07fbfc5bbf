"""The configurations that are compared: A to D, or a user's own.

A  plain       neither reranked nor read in other words
B  reranker    A, and the reranker
C  expansion   A, with the query read in other words where that helps: spelling corrected, and an LLM asked for
               phrasings where the query is vague and the first answer not sure
D  both        B and C
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from recall_integrations.config import RecallConfig, RewritingConfig
from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation.labelled.asking import uncached
from recall_integrations.optimizer import QueryOptimizer
from recall_integrations.store.memory_store import MemoryStore

NO_RERANKER = "There is no reranker. Give one to see what it would add."
NO_LLM = "There is no LLM, so expansion is the correction of spelling alone. Give one to see what its phrasings add."


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """A configuration that is asked."""

    name: str
    title: str
    optimizer: QueryOptimizer


@dataclass(frozen=True, slots=True, kw_only=True)
class Ways:
    """Compared configurations, the first with all others; the names of skipped ones, with the reason; and notes."""

    asked: tuple[Way, ...]
    skipped: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def close(self) -> None:
        """Close the optimizers that were made for the comparison."""
        for way in self.asked:
            way.optimizer.close()


def plain(config: RecallConfig) -> RecallConfig:
    """Return the configuration without any other words for the query."""
    never = replace(config.rewriting, ask="never", unsure_below=RewritingConfig().unsure_below)
    return replace(config, query=replace(config.query, spelling=False, entity_llm=False), rewriting=never)


def expanding(config: RecallConfig) -> RecallConfig:
    """Return the configuration with other words for the query, as configured; by default where that says never."""
    asked = RewritingConfig() if config.rewriting.ask == "never" else config.rewriting
    return replace(config, query=replace(config.query, spelling=True), rewriting=asked)


def a_to_d(store: MemoryStore, config: RecallConfig, reranker: Any = None, llm: Any = None) -> Ways:
    """Make the configurations A to D over one base, as far as their models are given."""
    base = uncached(config)
    without, other = plain(base), expanding(base)
    ways = [
        Way(name="A", title="plain", optimizer=QueryOptimizer(store, config=without)),
        Way(name="C", title="expansion", optimizer=QueryOptimizer(store, config=other, llm=llm)),
    ]
    skipped = {"B (reranker)": NO_RERANKER, "D (both)": NO_RERANKER}
    if reranker is not None:
        skipped = {}
        alone = QueryOptimizer(store, config=without, reranker=reranker)
        ways.insert(1, Way(name="B", title="reranker", optimizer=alone))
        both = QueryOptimizer(store, config=other, reranker=reranker, llm=llm)
        ways.append(Way(name="D", title="both", optimizer=both))
    return Ways(asked=tuple(ways), skipped=skipped, notes=() if llm is not None else (NO_LLM,))


def own_ways(
    store: MemoryStore, configurations: Mapping[str, RecallConfig], reranker: Any = None, llm: Any = None
) -> Ways:
    """Make the configurations of a user; the others are compared with the first one."""
    if len(configurations) < 2:
        raise InvalidArgument(f"A comparison needs two configurations at least, not {len(configurations)}.")
    for name, given in configurations.items():
        if not isinstance(given, RecallConfig):
            raise InvalidArgument(f"Configuration {name!r} must be a RecallConfig, not {type(given).__name__}.")
    ways = (
        Way(name=name, title="", optimizer=QueryOptimizer(store, config=uncached(given), reranker=reranker, llm=llm))
        for name, given in configurations.items()
    )
    return Ways(asked=tuple(ways))
