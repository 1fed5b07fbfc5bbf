"""What a recall knows so far, and that it goes through the stages that the optimizer shows."""

from __future__ import annotations

import dataclasses
from datetime import datetime, timezone

import pytest

from recall_integrations import MemoryStore, QueryOptimizer
from recall_integrations.errors import InvalidArgument
from recall_integrations.recall import RecallState, Stage, Turn
from recall_integrations.records import changed
from recall_integrations.types import Scope

NOW = datetime(2026, 6, 1, tzinfo=timezone.utc)


def test_what_is_not_known_yet_says_where_it_comes_from(begun: RecallState) -> None:
    for name, stage in (("query", "parse"), ("plan", "plan"), ("scope", "plan"), ("candidates", "rank")):
        with pytest.raises(InvalidArgument, match=f"after '{stage}'"):
            getattr(begun, name)


def test_a_recall_goes_through_the_stages_it_shows() -> None:
    told: list[str] = []
    with MemoryStore.open() as store:
        store.remember("Tea is in the shed")
        optimizer = QueryOptimizer(store, observers=[lambda event: told.append(event.stage)])
        result = optimizer.recall("tea", now=NOW)
        assert told == [stage.name for stage in optimizer.stages]
        assert set(told) <= set(result.timings_ms)
        told.clear()
        optimizer.recall("tea", scope=Scope(user_id="nobody"), now=NOW)
        assert told == ["parse", "plan", "rewrite"]  # nothing was ever remembered there
        optimizer.close()


def test_a_stage_that_forgets_to_return_is_named_and_costs_nothing() -> None:
    class Forgets(Stage):
        name, after = "forgets", "rank"

        def run(self, state: RecallState, turn: Turn) -> RecallState:
            return None  # type: ignore[return-value]

    with MemoryStore.open() as store:
        store.remember("Tea is in the shed")
        optimizer = QueryOptimizer(store, stages=[Forgets()])
        result = optimizer.recall("tea", now=NOW)
        optimizer.close()
    assert len(result.hits) == 1
    assert [(d.stage, "Return the state" in d.detail) for d in result.degraded] == [("forgets", True)]


def test_an_extended_state_is_what_replace_makes_of_it(begun: RecallState) -> None:
    before = begun
    after = changed(before, level=2, trust=0.5)
    assert after == dataclasses.replace(before, level=2, trust=0.5) and before.level == 0
    with pytest.raises(TypeError, match="colour"):
        changed(before, colour="red")  # type: ignore[call-arg]
