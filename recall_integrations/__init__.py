"""Find the right memory: one retriever for LangChain and LlamaIndex over a query optimizer.

    remember   Memory ─ validate ─ entities, words, vector ─▶ one SQL transaction ─▶ Chroma follows, where a scope
                    outgrows what is scanned
    recall     text ─ parse ─▶ ParsedQuery ─ plan ─▶ RetrievalPlan ─▶ arms under one deadline
                    ─▶ candidates ─ fuse ─▶ rank ─▶ privacy ─ pack ─ explain ─▶ RecallResult

`MemoryStore` is the write side, `QueryOptimizer` the read side, `OptimizedRecallRetriever` the read side as both
frameworks want it. Names are imported when they are first used: importing this package loads no framework and no index.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recall_integrations import errors
    from recall_integrations.config import (
        BreakerConfig,
        CacheConfig,
        FactsConfig,
        LearnedConfig,
        LimitsConfig,
        PlannerConfig,
        PostgresConfig,
        PrivacyConfig,
        QueryConfig,
        RankingConfig,
        RecallConfig,
        RerankConfig,
        RetrievalConfig,
        RewritingConfig,
        VectorsConfig,
    )
    from recall_integrations.optimizer import QueryOptimizer
    from recall_integrations.retriever import OptimizedRecallRetriever
    from recall_integrations.store.memory_store import MemoryStore
    from recall_integrations.types import (
        EntityRef,
        Filters,
        Hit,
        Memory,
        MemoryType,
        ParsedQuery,
        RecallResult,
        Relation,
        RetrievalPlan,
        Scope,
        TemporalWindow,
    )

__version__ = "0.1.0"

__all__ = [
    "BreakerConfig",
    "CacheConfig",
    "EntityRef",
    "FactsConfig",
    "Filters",
    "Hit",
    "LearnedConfig",
    "LimitsConfig",
    "Memory",
    "MemoryStore",
    "MemoryType",
    "OptimizedRecallRetriever",
    "ParsedQuery",
    "PlannerConfig",
    "PostgresConfig",
    "PrivacyConfig",
    "QueryConfig",
    "QueryOptimizer",
    "RankingConfig",
    "RecallConfig",
    "RecallResult",
    "Relation",
    "RerankConfig",
    "RetrievalConfig",
    "RetrievalPlan",
    "RewritingConfig",
    "Scope",
    "TemporalWindow",
    "VectorsConfig",
    "errors",
]

_HOMES = {
    **{name: f"recall_integrations.{'config' if name.endswith('Config') else 'types'}" for name in __all__},
    "QueryOptimizer": "recall_integrations.optimizer",
    "MemoryStore": "recall_integrations.store.memory_store",
    "OptimizedRecallRetriever": "recall_integrations.retriever",
}


def __getattr__(name: str) -> object:
    if name == "errors":
        return importlib.import_module("recall_integrations.errors")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
