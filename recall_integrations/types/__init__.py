"""What travels between the rooms: frozen, slotted, keyword-only value objects.

A record is checked when it is made, so a stage may trust what it receives. Lists given for tuple fields are
accepted and frozen. Times are timezone-aware; scores are floats in [0, 1] unless a field says otherwise.
"""

from recall_integrations.types.filters import Filters
from recall_integrations.types.memory import (
    ID_CHARS_MAX,
    NAME_CHARS_MAX,
    TEXT_CHARS_MAX,
    Memory,
    MemoryType,
    Relation,
    Scope,
    checked_id,
    checked_role,
    checked_scope,
    checked_text,
    checked_time,
    checked_type,
    copied_memory,
    indexed_text,
    says_the_same,
    unchecked_memory,
)
from recall_integrations.types.plan import ArmPlan, RetrievalPlan, RuleCheck
from recall_integrations.types.query import EntityRef, ParsedQuery, QueryFeatures, TemporalWindow
from recall_integrations.types.result import (
    CacheOutcome,
    Contribution,
    Degradation,
    Hit,
    RecallResult,
    RerankOutcome,
    RewriteOutcome,
)

__all__ = [
    "ID_CHARS_MAX",
    "NAME_CHARS_MAX",
    "TEXT_CHARS_MAX",
    "ArmPlan",
    "CacheOutcome",
    "Contribution",
    "Degradation",
    "EntityRef",
    "Filters",
    "Hit",
    "Memory",
    "MemoryType",
    "ParsedQuery",
    "QueryFeatures",
    "RecallResult",
    "Relation",
    "RerankOutcome",
    "RetrievalPlan",
    "RewriteOutcome",
    "RuleCheck",
    "Scope",
    "TemporalWindow",
    "checked_id",
    "checked_role",
    "checked_scope",
    "checked_text",
    "checked_time",
    "checked_type",
    "copied_memory",
    "indexed_text",
    "says_the_same",
    "unchecked_memory",
]
