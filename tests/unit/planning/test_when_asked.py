"""Recalls of a time or of a session."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest

from recall_integrations import Filters, Memory, MemoryStore, QueryOptimizer, RecallConfig
from recall_integrations.config import PLAN_RULES, PlannerConfig
from recall_integrations.console import explain
from recall_integrations.delivery.as_data import explanation_data
from recall_integrations.types import Scope
from tests.rows import each_row

START = datetime(2023, 5, 8, 10, tzinfo=timezone.utc)
NOW = datetime(2023, 6, 20, tzinfo=timezone.utc)
TOPICS = ("dogs", "tea", "cake", "paint")
TURNS = 60


def conversation() -> list[Memory]:
    """Four sessions, a week apart. Rain comes up in each, tea in the second alone."""
    return [
        Memory(
            text=f"Turn {i}: the rain again" if i % 20 == 7 else f"Turn {i} of our chat, about {topic}",
            id=f"{n}:{i}",
            actor=("Ann", "Bo")[i % 2],
            entities=(("Ann", "Bo")[i % 2],),
            thread=f"session_{n}",
            position=i,
            event_at=START + timedelta(days=7 * (n - 1), minutes=i),
        )
        for n, topic in enumerate(TOPICS, start=1)
        for i in range(TURNS if n < 4 else 3)
    ]


@pytest.fixture(scope="module")
def store():
    with MemoryStore.open() as opened:
        opened.remember_many(conversation())
        yield opened


@pytest.fixture(scope="module")
def optimizer(store):
    return QueryOptimizer(store)


def found(optimizer, query, k=10, **more):
    result = optimizer.recall(query, k=k, now=NOW, time_budget_ms=60_000, **more)
    return result, [hit.memory.id for hit in result.hits]


@each_row(
    ("query", "session"),
    [
        ("What did we talk about on May 8th?", 1),
        ("What did Ann and Bo discuss on 15 May 2023?", 2),
        ("What did we talk about in our third session?", 3),
        ("Summarise session 2", 2),
        ("What did we discuss two sessions ago?", 3),
        ("How did our first conversation start?", 1),
    ],
)
def test_nothing_else_comes_and_in_its_order(optimizer, query, session):
    result, ids = found(optimizer, query)
    assert ids == [f"{session}:{i}" for i in range(10)]
    assert not result.degraded
    assert result.plan.time_filter and result.plan.in_order
    assert all(h.score > 0.8 for h in result.hits) and (result.confidence or 0) > 0.8
    said = "on the day you asked for" if result.query.session is None else "in the session you asked for"
    assert all(h.reason.startswith(said) for h in result.hits)


def test_a_day_of_many_turns_is_whole(optimizer):
    _, ids = found(optimizer, "What did we talk about on May 8th?", k=60)
    assert ids == [f"1:{i}" for i in range(60)]


def test_content_decides_among_those_inside(optimizer):
    result, ids = found(optimizer, "What did we say about the rain in our third session?", k=3)
    assert set(ids) == {"3:7", "3:27", "3:47"}
    assert result.plan.time_filter and not result.plan.in_order


def test_what_one_said_comes_before_what_others_said_then(optimizer):
    _, ids = found(optimizer, "What did Bo say in session 2?", k=4)
    assert ids == ["2:1", "2:3", "2:5", "2:7"]


@pytest.fixture(scope="module")
def assisted(store):
    """The same sessions, of a user with an assistant."""
    scope = Scope(user_id="assisted")
    roles = {"Ann": "user", "Bo": "assistant"}
    store.remember_many([replace(m, role=roles[m.actor or ""], entities=()) for m in conversation()], scope=scope)
    return scope


@each_row(
    ("query", "first"),
    [
        ("What did you say in our first session?", "1:1"),
        ("What have you told me in our second session?", "2:1"),
        ("What did you talk about on May 8th?", "1:1"),
        ("What did I say in our first session?", "1:0"),
    ],
)
def test_the_role_that_is_asked_for_comes_first_in_its_order(optimizer, assisted, query, first):
    result, ids = found(optimizer, query, k=32, scope=assisted)
    session, begin = first.split(":")
    assert result.plan.in_order and result.query.asked_role is not None
    assert ids[:30] == [f"{session}:{i}" for i in range(int(begin), 60, 2)]
    assert ids[30:] == [f"{session}:{i}" for i in range(1 - int(begin), 4, 2)][: len(ids) - 30]


@pytest.mark.parametrize(
    "query",
    [
        "What did we talk about in our first session?",
        "What did you and I say in our first session?",
    ],
)
def test_both_come_in_order_where_no_role_is_asked_for_plainly(optimizer, assisted, query):
    result, ids = found(optimizer, query, scope=assisted)
    assert result.plan.in_order and ids == [f"1:{i}" for i in range(10)]


def test_without_roles_nothing_changes(optimizer):
    _, ids = found(optimizer, "What did you say in our first session?")
    assert ids == [f"1:{i}" for i in range(10)]


def test_who_never_speaks_is_spoken_of(store):
    scope = Scope(user_id="other")
    store.remember_many(conversation(), scope=scope)
    store.remember(
        Memory(text="Zoe came by", id="zoe", thread="session_3", entities=("Zoe",), event_at=START + timedelta(14)),
        scope=scope,
    )
    result, ids = found(QueryOptimizer(store), "What did Zoe say in our third session?", scope=scope)
    assert not result.plan.in_order and ids[0] == "zoe"


def test_the_rest_follows_where_there_are_too_few(optimizer):
    result, ids = found(optimizer, "What did we discuss last time?", k=8)
    assert ids[:3] == ["4:0", "4:1", "4:2"] and len(ids) == 8
    scores = [hit.score for hit in result.hits]
    assert scores == sorted(scores, reverse=True)
    assert not any("session you asked for" in hit.reason for hit in result.hits[3:])


def test_an_empty_window_filters_nothing_and_says_so(optimizer):
    result, ids = found(optimizer, "What did we talk about on May 9th?")
    assert len(ids) == 10 and not result.degraded
    assert not result.plan.time_filter and "nothing lies in it" in result.plan.reason


@each_row(
    "query",
    [
        "What did we talk about on May 9th?",
        "What did we say about the rain on 9 May 2023?",
        "What did we say about the rain in session 40?",
    ],
)
def test_where_nothing_lies_the_answer_is_unsure_and_says_once_why(optimizer, query):
    result, ids = found(optimizer, query)
    sure, _ = found(optimizer, "What did we say about the rain in our third session?")
    assert len(ids) == 10
    assert 5 * result.confidence < sure.confidence
    assert all(hit.score <= result.confidence + 1e-6 for hit in result.hits)
    assert result.plan.reason.count("searched without it") == 1
    assert "filters" not in result.plan.reason and "order of the conversation" not in result.plan.reason


def test_how_much_less_sure_follows_the_reading(optimizer):
    inside, _ = found(optimizer, "What did we say about the rain?")
    nothing, _ = found(optimizer, "What did we say about the rain in session 40?")
    assert 0 < nothing.confidence < 0.5 * inside.confidence


def test_a_day_of_which_something_was_told_later_costs_nothing(optimizer):
    plain, _ = found(optimizer, "What did Ann do?")
    dated, _ = found(optimizer, "What did Ann do on May 9th?")
    assert dated.confidence > 0.5 * plain.confidence


def test_explain_says_that_nothing_lies_there(optimizer):
    for query in ("What did we talk about on May 9th?", "What did we talk about in session 2?"):
        filters = Filters(threads=("session_1",))
        result = optimizer.recall(query, now=NOW, filters=filters)
        rows = [*explain._dated(result.query, result.plan, optimizer.config.planner)]
        rows += explain._session(result.query, result.plan, optimizer.config.planner)
        assert [words for _, words in rows if "searched without it" in words]
        assert not [words for _, words in rows if words.startswith(("filters", "lifts"))]


def test_a_session_that_is_not_there_filters_nothing_and_says_so(optimizer):
    result, ids = found(optimizer, "What did we say about the rain in session 40?", k=5)
    assert len(ids) == 5 and not result.plan.time_filter
    assert "there are only 4 sessions" in result.plan.reason
    assert result.query.session is not None and not result.query.session.found


def test_filters_hold(optimizer):
    result, ids = found(optimizer, "What did we talk about in session 2?", filters=Filters(threads=("session_1",)))
    assert ids and all(i.startswith("1:") for i in ids)
    assert "nothing lies in it" in result.plan.reason


def test_what_somebody_did_then_may_be_told_later(optimizer):
    assert not optimizer.plan(optimizer.parse("What did Ann do on May 8th?", now=NOW)).time_filter
    assert optimizer.plan(optimizer.parse("What did Ann do on May 8th?", now=NOW)).arm("temporal") is not None
    vague = optimizer.parse("What did we talk about recently?", now=NOW)
    assert vague.temporal_window is not None and not optimizer.plan(vague).time_filter


def test_parse_and_plan_say_which_session_it_is(optimizer):
    parsed = optimizer.parse("What did we talk about in our second-to-last session?", now=NOW)
    assert parsed.session is not None and parsed.session.found == "session 3 of 4"
    assert parsed.terms == ("talk",) and not parsed.corrections
    plan = optimizer.plan(parsed)
    assert plan.name == "temporal" and "session 3 of 4" in plan.reason
    assert parsed.features.temporal == parsed.session.confidence


def test_a_scope_never_seen_has_no_sessions(optimizer):
    parsed = optimizer.parse("our first session", scope=Scope(user_id="nobody"), now=NOW)
    assert parsed.session is not None and parsed.session.because == "there are no sessions here"
    assert optimizer.recall("our first session", scope=Scope(user_id="nobody"), now=NOW).hits == ()


def test_sessions_that_are_left_out_are_not_asked_for(optimizer):
    parsed = optimizer.parse("What did we say about rain, not in our last session?", now=NOW)
    assert parsed.session is None and "session" not in parsed.terms


def test_no_dates_means_no_sessions(optimizer):
    parsed = optimizer.parse("What did we talk about in our first session?", now=NOW, window=False)
    assert parsed.session is None


def test_the_rule_can_be_switched_off(store):
    rules = tuple(r for r in PLAN_RULES if r not in ("time_filter", "conversational"))
    off = QueryOptimizer(store, config=replace(RecallConfig(), planner=PlannerConfig(rules=rules)))
    result, _ = found(off, "What did we talk about in our third session?")
    assert not result.plan.time_filter and not any("you asked for" in h.reason for h in result.hits)


@each_row("strategy", ["rrf", "weighted", "boosts"])
def test_every_strategy_keeps_to_it(store, strategy):
    other = QueryOptimizer(store, config=RecallConfig().with_settings([("ranking.strategy", strategy)]))
    assert found(other, "What did we talk about in our third session?")[1] == [f"3:{i}" for i in range(10)]


def test_a_number_sign_is_no_identifier(optimizer):
    parsed = optimizer.parse("What was said in session #3?", now=NOW)
    assert parsed.identifiers == () and parsed.session is not None


def test_as_json(optimizer):
    result = optimizer.recall("What did we talk about in our third session?", now=NOW)
    data = explanation_data(result, result.plan, Scope(), asked=[a.name for a in result.plan.arms])
    assert data["parsed"]["session"]["found"] == "session 3 of 4"
    assert data["parsed"]["talk"] == "all"
    assert data["switches"]["time_filter"] and data["switches"]["in_order"]
    assert [t["text"] for t in data["tokens"] if "session" in t["roles"]] == ["our", "third", "session"]
