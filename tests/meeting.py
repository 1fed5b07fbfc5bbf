"""Conditions on metadata, asked of one memory: what the index of a scope must agree with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recall_integrations.types.filters import Condition, Every, Opposite, Test


def matches(condition: Condition, metadata: Mapping[str, Any]) -> bool:
    """Say whether the metadata of one memory meet a condition."""
    if isinstance(condition, Test):
        return condition.key in metadata and condition.predicate(metadata[condition.key])
    if isinstance(condition, Opposite):
        return not matches(condition.part, metadata)
    joined = all if isinstance(condition, Every) else any
    return joined(matches(part, metadata) for part in condition.parts)
