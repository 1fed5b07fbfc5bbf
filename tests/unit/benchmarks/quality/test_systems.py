"""Our side of a comparison: who fills the store, and what a recall is given."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timezone

import pytest

from benchmarks.datasets.data import Collection
from benchmarks.quality.systems import TIME_BUDGET_MS, RecallSystem
from recall_integrations import MemoryStore, QueryOptimizer
from recall_integrations.errors import StoreClosed
from recall_integrations.evaluation.questions import Question
from recall_integrations.types import Memory, RecallResult, Scope

SCOPE = Scope(namespace="garden")
TALK = Collection(
    name="garden",
    scope=SCOPE,
    memories=(Memory("Sam waters the garden.", id="m0"), Memory("Priya moved the launch to June 2024.", id="m1")),
    questions=(),
)
ASKED = Question(
    id="q",
    text="Who waters the garden?",
    relevant=("m0",),
    scope=SCOPE,
    asked_at=datetime(2024, 7, 1, tzinfo=timezone.utc),
)


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with MemoryStore.open() as opened:
        yield opened


def test_one_system_fills_the_store_and_others_answer_from_it(store: MemoryStore) -> None:
    with (
        closing(RecallSystem(QueryOptimizer(store))) as ours,
        closing(RecallSystem(QueryOptimizer(store), name="other", fills=False)) as other,
    ):
        other.enter(TALK)
        assert store.count(scope=SCOPE) == 0
        assert other.answer(ASKED, 2).ids == ()
        ours.enter(TALK)
        assert store.count(scope=SCOPE) == 2
        assert [(s.name, s.answer(ASKED, 1).ids) for s in (ours, other)] == [("recall", ("m0",)), ("other", ("m0",))]


def test_an_answer_says_how_it_was_made(store: MemoryStore) -> None:
    with closing(RecallSystem(QueryOptimizer(store))) as ours:
        ours.enter(TALK)
        answer, result = ours.answer(ASKED, 2), ours.recall(ASKED, 2)
    assert answer.ids == tuple(hit.memory.id for hit in result.hits)
    assert (answer.plan, answer.degraded) == (result.plan.name, ())
    assert answer.ms > 0
    assert result.query.now == ASKED.asked_at


def test_a_recall_is_given_the_window_and_the_budget(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[dict[str, object]] = []
    recall = QueryOptimizer.recall

    def noted(self: QueryOptimizer, query: str, **arguments: object) -> RecallResult:
        given.append(arguments)
        return recall(self, query, **arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(QueryOptimizer, "recall", noted)
    dated = replace(ASKED, text="What was moved to June 2024?")
    with (
        closing(RecallSystem(QueryOptimizer(store))) as ours,
        closing(RecallSystem(QueryOptimizer(store), window=False, time_budget_ms=TIME_BUDGET_MS)) as other,
    ):
        ours.enter(TALK)
        assert ours.recall(dated, 2).query.temporal_window is not None
        assert other.recall(dated, 2).query.temporal_window is None
    assert [arguments["time_budget_ms"] for arguments in given] == [None, TIME_BUDGET_MS]


def test_a_closed_system_answers_no_more(store: MemoryStore) -> None:
    system = RecallSystem(QueryOptimizer(store))
    system.close()
    with pytest.raises(StoreClosed):
        system.answer(ASKED, 1)
