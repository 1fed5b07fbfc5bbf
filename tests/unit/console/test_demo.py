from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
from rich.console import Console

from recall_integrations.console import demo_data
from recall_integrations.console.demo import demo_optimizer, run_demo
from recall_integrations.console.demo_data import QUERIES, DemoQuery
from recall_integrations.optimizer import QueryOptimizer
from recall_integrations.records import RecallResult


@pytest.fixture(scope="module")
def optimizer() -> Iterator[QueryOptimizer]:
    with demo_optimizer() as opened:
        yield opened


def ask(optimizer: QueryOptimizer, query: DemoQuery, k: int = 5) -> RecallResult:
    return optimizer.recall(query.text, k=k, scope=demo_data.SCOPE)


@pytest.mark.parametrize("query", QUERIES, ids=lambda q: q.plan)
def test_the_right_memory_comes_first(optimizer: QueryOptimizer, query: DemoQuery) -> None:
    result = ask(optimizer, query)
    assert result.hits[0].memory.id in query.first
    assert result.degraded == ()
    assert all(hit.reason for hit in result.hits)


@pytest.mark.parametrize("query", QUERIES, ids=lambda q: q.plan)
def test_each_question_gets_the_plan_it_is_an_example_of(optimizer: QueryOptimizer, query: DemoQuery) -> None:
    assert ask(optimizer, query).plan.name == query.plan


def test_all_six_plans_are_shown() -> None:
    plans = {"precise", "entity_centric", "temporal", "precision", "exploratory", "balanced"}
    assert {q.plan for q in QUERIES} == plans and len(QUERIES) == 6


def test_the_two_days_come_before_all_other_days(optimizer: QueryOptimizer) -> None:
    query = next(q for q in QUERIES if q.plan == "temporal")
    assert {hit.memory.id for hit in ask(optimizer, query, k=4).hits} == set(query.first)


def test_what_is_excluded_stays_away(optimizer: QueryOptimizer) -> None:
    query = next(q for q in QUERIES if q.plan == "balanced")
    assert "kestrel-sam" not in {hit.memory.id for hit in ask(optimizer, query).hits}


def test_the_memories_are_varied_and_lie_in_the_past() -> None:
    memories = demo_data.memories()
    assert 70 <= len(memories) <= 100
    assert len({m.id for m in memories}) == len(memories)
    assert {m.type.value for m in memories} == {
        "fact", "preference", "event", "skill", "chunk", "observation", "summary",
    }  # fmt: skip
    assert {"manager_of", "reports_to", "member_of", "depends_on"} <= {
        r.predicate for m in memories for r in m.relations
    }
    assert len({m.thread for m in memories if m.thread}) >= 2
    moments = [moment for m in memories for moment in (m.event_at, m.created_at) if moment is not None]
    assert moments and max(moments) < demo_data.NOW


def test_it_fits_eighty_columns_without_colour() -> None:
    out = io.StringIO()
    run_demo(Console(file=out, width=80, highlight=False, markup=False, emoji=False))
    text = out.getvalue()
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "\x1b" not in text
    for query in QUERIES:
        assert query.text in text and query.plan in text
