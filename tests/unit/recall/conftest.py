"""A recall that has just begun."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from recall_integrations.recall.runner import RecallState
from recall_integrations.types import Filters, Scope
from recall_integrations.types.observing import RecallRequest


@pytest.fixture
def begun() -> RecallState:
    """Nothing is known but what was asked."""
    return RecallState(
        request=RecallRequest(
            text="tea",
            k=5,
            scope=Scope(),
            filters=Filters(),
            now=datetime(2026, 6, 1, tzinfo=timezone.utc),
            time_budget_ms=1_000.0,
            tokens_max=None,
            privacy="allow",
            window=None,
            zone=None,
            context=0,
            vector=None,
        )
    )
