"""Names other than those of settings: in the environment, and other tools' names for our settings."""

from __future__ import annotations

from collections.abc import Mapping

PREFIX = "RECALL_"
FILE = "RECALL_CONFIG"
# Read elsewhere, or in a way of their own.
OTHERS: Mapping[str, str] = {
    FILE: "the configuration file",
    "RECALL_REWRITE_TIMEOUT": "longest wait for an LLM that rewrites: 6s, 800ms",
    "RECALL_EMBEDDING": "of the command line: the embedding of the store",
    "RECALL_DEBUG": "of the command line: show the traceback of an error",
    "RECALL_MCP_TOKEN": "of `recall mcp`: what clients send",
    "RECALL_KILLS": "of the tests",
    "RECALL_LEAK_CASES": "of the tests",
    "RECALL_FUZZ_CASES": "of the tests",
}
_OTHERS = frozenset(OTHERS) - {FILE}
# What others call our settings, for "Did you mean".
OTHER_NAMES: Mapping[str, str] = {
    "topK_lexical": "planner.arm_limit",
    "topK_dense": "planner.arm_limit",
    "fused_top_k": "rerank.top_n",
    "rerank_top_k": "rerank.top_n",
    "rerank_min_k": "rerank.min_k",
    "rerank_top_n": "rerank.top_n",
    "rerank_threshold": "rerank.threshold",
    "graph_hop_limit": "retrieval.graph_hops",
    "hop_factors": "retrieval.graph_hop_factor",
    "graph_weight": "planner.entity_weight",
    "recency_decay": "ranking.recency_half_life_days",
    "importance_weight": "fallback_fusion.importance",
    "profile_weight": "ranking.profile_lift",
    "budgets_ms": "budgets",
    "disable_rerank_when_slow": "rerank.disable_when_slow",
    "typo_correction": "query.spelling",
    "similarity_threshold": "query.spelling_threshold",
    "max_learned_typos": "query.spelling_learned_max",
}


def quiet(environ: Mapping[str, str]) -> bool:
    """Say whether the environment holds no settings."""
    return not any(name.startswith(PREFIX) and name not in _OTHERS for name in environ)
