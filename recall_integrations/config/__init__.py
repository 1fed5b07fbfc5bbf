"""Configuration: one small, frozen value object per stage, checked by pydantic when anything in it is set.

`RecallConfig()` is the default; `RecallConfig.load(path)` reads a file and the environment (docs/configuration.md):

    recall:
      timezone: Europe/Berlin
      planner: {precise_threshold: 0.9}
      scopes:
        - namespace: support
          rerank: {top_n: 10}

An unknown key, a wrong type, a value out of range and a setting that nothing reads raise a `ConfigError` that names
all of them. `dataclasses.replace` makes a changed copy, checked as well.
"""

from recall_integrations.config.recall_config import RecallConfig, ScopeSettings, checked_config
from recall_integrations.config.sections import (
    ARMS,
    PLAN_RULES,
    STRATEGIES,
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
    RerankConfig,
    RetrievalConfig,
    RewritingConfig,
    VectorsConfig,
)

__all__ = [
    "ARMS",
    "PLAN_RULES",
    "STRATEGIES",
    "BreakerConfig",
    "CacheConfig",
    "FactsConfig",
    "LearnedConfig",
    "LimitsConfig",
    "PlannerConfig",
    "PostgresConfig",
    "PrivacyConfig",
    "QueryConfig",
    "RankingConfig",
    "RecallConfig",
    "RerankConfig",
    "RetrievalConfig",
    "RewritingConfig",
    "ScopeSettings",
    "VectorsConfig",
    "checked_config",
]
