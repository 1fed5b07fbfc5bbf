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

from recall_integrations.config.asking import (
    ARMS,
    PLAN_RULES,
    PlannerConfig,
    QueryConfig,
    RetrievalConfig,
)
from recall_integrations.config.bounds import BreakerConfig, BudgetsConfig, CacheConfig, LimitsConfig
from recall_integrations.config.facts import FactsConfig
from recall_integrations.config.learned import LearnedConfig
from recall_integrations.config.ordering import (
    FALLBACK,
    FUSIONS,
    RANKERS,
    STRATEGIES,
    FallbackFusionConfig,
    RankingConfig,
    RerankConfig,
)
from recall_integrations.config.postgres import PostgresConfig
from recall_integrations.config.privacy import PrivacyConfig
from recall_integrations.config.recall_config import RecallConfig, checked_config
from recall_integrations.config.rewriting import REWRITE_TIMEOUT, RewritingConfig
from recall_integrations.config.scopes import ScopeSettings
from recall_integrations.config.vectors import VectorsConfig

__all__ = [
    "ARMS",
    "FALLBACK",
    "FUSIONS",
    "PLAN_RULES",
    "RANKERS",
    "REWRITE_TIMEOUT",
    "STRATEGIES",
    "BreakerConfig",
    "BudgetsConfig",
    "CacheConfig",
    "FactsConfig",
    "FallbackFusionConfig",
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
