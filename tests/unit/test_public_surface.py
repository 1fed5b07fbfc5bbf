"""The public surface is a promise: a change here is a change for users."""

from __future__ import annotations

import inspect
import subprocess
import sys

import recall_integrations as package
from recall_integrations import MemoryStore, OptimizedRecallRetriever, QueryOptimizer

PUBLIC = {
    "BreakerConfig",
    "CacheConfig",
    "EntityRef",
    "FactsConfig",
    "LearnedConfig",
    "Filters",
    "Hit",
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
}


def test_exactly_these_names_are_public():
    assert set(package.__all__) == PUBLIC
    assert all(hasattr(package, name) for name in PUBLIC)
    assert set(dir(package)) == PUBLIC | {"__version__"}


def test_every_section_of_the_settings_is_public():
    sections = {
        type(getattr(package.RecallConfig(), field)).__name__ for field in package.RecallConfig.__dataclass_fields__
    }
    assert {name for name in sections if name.endswith("Config")} < PUBLIC


def test_an_unknown_name_is_an_attribute_error():
    assert not hasattr(package, "Nothing")


def parameters(function):
    return [p for p in inspect.signature(function).parameters if p != "self"]


def test_signatures():
    assert parameters(MemoryStore.open)[:2] == ["path", "embedding"]
    assert parameters(MemoryStore.remember) == ["memory", "scope", "on_duplicate"]
    assert parameters(MemoryStore.remember_many)[:3] == ["memories", "scope", "progress"]
    assert parameters(MemoryStore.add_entity) == ["name", "aliases", "scope"]
    assert parameters(MemoryStore.forget) == ["ids", "scope", "filters", "user_id"]
    assert parameters(MemoryStore.get) == ["memory_id", "scope"]
    assert parameters(MemoryStore.count) == ["scope", "filters"]
    assert parameters(MemoryStore.list) == ["scope", "filters", "limit", "after"]
    assert parameters(MemoryStore.iterate) == ["scope", "filters"]
    assert parameters(MemoryStore.export) == ["target", "scope", "filters", "progress"]
    assert parameters(MemoryStore.compact) == ["progress"]
    assert parameters(QueryOptimizer.__init__)[:4] == ["store", "llm", "reranker", "config"]
    recall = ["query", "k", "scope", "filters", "now", "time_budget_ms", "tokens_max", "privacy", "window", "timezone"]
    assert parameters(QueryOptimizer.recall)[: len(recall)] == recall
    assert {"scopes", "score_min", "context", "query_vector", "strict", "watch"} < set(
        parameters(QueryOptimizer.recall)
    )
    assert parameters(QueryOptimizer.recall) == parameters(QueryOptimizer.arecall)
    assert parameters(QueryOptimizer.parse) == ["query", "scope", "now", "window", "timezone"]
    assert parameters(QueryOptimizer.plan) == ["parsed", "scope"]
    for name in ("from_texts", "from_documents", "from_nodes", "from_chroma", "from_vectorstore", "from_index"):
        assert hasattr(OptimizedRecallRetriever, name)


def test_importing_the_package_loads_no_framework_and_no_index():
    code = (
        "import sys, recall_integrations; "
        "heavy = {'langchain_core', 'llama_index', 'chromadb', 'dateparser', 'torch', 'numpy'}; "
        "print(*sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
