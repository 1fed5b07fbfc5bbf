"""The read path: bad input, degradation, deadline, privacy, budgets, cancellation, determinism."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from unittest.mock import patch

import numpy as np
import pytest

from recall_integrations import (
    Filters,
    Memory,
    MemoryStore,
    QueryOptimizer,
    RecallConfig,
    Relation,
    Scope,
    errors,
)
from recall_integrations.arms.retrievers import BUILT_IN
from recall_integrations.config import (
    ARMS,
    LimitsConfig,
    PlannerConfig,
    RankingConfig,
    RerankConfig,
    RetrievalConfig,
    RewritingConfig,
)
from recall_integrations.errors import EmbeddingError, IndexUnavailable
from recall_integrations.planning import planner
from recall_integrations.reranking.reranker import RerankError
from recall_integrations.resilience.breaker import BREAKERS_FILE
from tests.rows import each_row

NOW = datetime(2026, 6, 15, 12, tzinfo=timezone.utc)
U1 = Scope(user_id="u1")

MEMORIES = [
    Memory("I prefer async updates over meetings", id="pref", type="preference", actor="Priya"),
    Memory(
        "Sam reports to Priya now",
        id="rel",
        type="fact",
        actor="Lena",
        relations=[Relation("Sam", "reports_to", "Priya")],
    ),
    Memory("Project Kestrel uses PostgreSQL as its database", id="db", type="fact", entities=["Project Kestrel"]),
    Memory("We met about the frontend and its colours", id="front", type="event", event_at=NOW - timedelta(days=1)),
    Memory("We met about the payment service", id="back", type="event", event_at=NOW - timedelta(days=1)),
    Memory("My badge number is 4711, mail me at lena@example.com", id="badge", type="fact"),
    Memory("The deploy went well", id="old", type="event", event_at=NOW - timedelta(days=400)),
]


@pytest.fixture(scope="module")
def store():
    with MemoryStore.open() as opened:
        opened.remember_many(MEMORIES, scope=U1)
        yield opened


@pytest.fixture(autouse=True)
def nothing_known_of_failures(store):
    """What is known of a failing arm stays beside the store, which these tests share."""
    (store.path / BREAKERS_FILE).unlink(missing_ok=True)


@pytest.fixture
def optimizer(store):
    made = QueryOptimizer(store, clock=lambda: NOW)
    yield made
    made.close()


def ids(result):
    return [h.memory.id for h in result.hits]


# -- what it finds ---------------------------------------------------------------------------------------------------


@each_row(
    ("query", "expected", "plan"),
    [
        ("who does Sam report to?", "rel", "entity_centric"),
        ("which database does Project Kestrel use?", "db", "entity_centric"),
        ("badge number", "badge", "precision"),
    ],
)
def test_finds(optimizer, query, expected, plan):
    result = optimizer.recall(query, scope=U1)
    assert ids(result)[0] == expected
    assert result.plan.name == plan
    assert not result.degraded
    assert result.hits[0].reason and result.hits[0].contributions


def test_what_happened_yesterday(optimizer):
    result = optimizer.recall("what did we meet about yesterday?", scope=U1, k=2)
    assert set(ids(result)) == {"front", "back"}
    assert "in the time asked for" in result.hits[0].reason


def test_a_negated_topic_goes_down_but_stays(optimizer):
    plain = optimizer.recall("what did we meet about", scope=U1, k=7)
    negated = optimizer.recall("what did we meet about that wasn't related to the frontend", scope=U1, k=7)
    assert negated.query.negations == ("frontend",)
    assert ids(negated).index("back") < ids(negated).index("front")
    assert set(ids(plain)) == set(ids(negated))
    assert "moved down" in negated.hits[ids(negated).index("front")].reason


@each_row("strategy", ["weighted", "rrf"])
@each_row("query", ["who does Sam report to?", "deploy", "xyzzy", "what did we do, not the frontend"])
def test_scores_are_in_range_and_fall(store, strategy, query):
    optimizer = QueryOptimizer(store, config=RecallConfig().with_settings([("ranking.strategy", strategy)]))
    result = optimizer.recall(query, scope=U1, k=7, now=NOW)
    scores = [h.score for h in result.hits]
    assert all(0 <= s <= 1 for s in scores)
    assert scores == sorted(scores, reverse=True)
    assert len(set(ids(result))) == len(ids(result)) == 7
    optimizer.close()


def test_exactly_k_where_there_are_k(optimizer):
    for k in (1, 3, 7):
        assert len(optimizer.recall("deploy", scope=U1, k=k).hits) == k
    assert len(optimizer.recall("deploy", scope=U1, k=1_000_000).hits) == 7


def test_the_same_question_gets_the_same_answer(optimizer):
    first = optimizer.recall("who does Sam report to?", scope=U1)
    for _ in range(3):
        again = optimizer.recall("who does Sam report to?", scope=U1)
        assert again.hits == first.hits and again.plan == first.plan


async def test_async_is_the_same(optimizer):
    given = {"scope": U1, "k": 4}
    assert (await optimizer.arecall("deploy", **given)).hits == optimizer.recall("deploy", **given).hits


def test_parse_leaves_type_hints_to_the_optimizer(optimizer):
    parsed = optimizer.parse("what are my preferences", scope=U1)
    assert parsed.type_hints == ()
    assert optimizer.plan(parsed).type_hints
    assert optimizer.recall("what are my preferences", scope=U1).query.type_hints


def test_plan_is_pure(optimizer):
    parsed = optimizer.parse("who does Sam report to?", scope=U1, now=NOW)
    assert optimizer.plan(parsed) == optimizer.plan(parsed)


def test_a_scope_never_seen(optimizer, store):
    result = optimizer.recall("anything", scope=Scope(user_id="nobody"))
    assert result.hits == () and result.confidence == 0.0 and not result.degraded
    assert store.scope_id(Scope(user_id="nobody")) is None  # reading makes no scope


def test_filters(optimizer):
    assert set(ids(optimizer.recall("deploy", scope=U1, k=7, filters=Filters(types=["event"])))) == {
        "front",
        "back",
        "old",
    }
    recent = Filters(types=["event"], recency_days=30)
    assert set(ids(optimizer.recall("deploy", scope=U1, k=7, filters=recent))) == {"front", "back"}
    assert ids(optimizer.recall("deploy", scope=U1, filters=Filters(actors=["Priya"]))) == ["pref"]
    assert "db" in ids(optimizer.recall("deploy", scope=U1, filters=Filters(entities=["project kestrel"])))
    assert ids(optimizer.recall("deploy", scope=U1, filters=Filters(entities=["Nobody"]))) == []


# -- bad input -------------------------------------------------------------------------------------------------------


@each_row("query", ["", "   ", "\n\t", "\x00\x01", "half a pair \ud83d", None, 7, b"x"])
def test_queries_that_are_refused(optimizer, query):
    with pytest.raises(errors.InvalidQuery):
        optimizer.recall(query, scope=U1)
    with pytest.raises(errors.InvalidQuery):
        optimizer.parse(query, scope=U1)


@each_row(
    "query",
    [
        '"',
        "AND OR NOT",
        "body:deploy",
        "deploy*",
        "'; DROP TABLE memories; --",
        "(deploy",
        "deploy^2 ~ [a TO b] {x}",
        "1:deploy",
        "deploy\x00now",
        "../../etc",
        "%s %d {0}",
        "🚀🚀",
        "東京",
        "the of and",
        "?",
    ],
)
def test_queries_that_look_like_syntax_are_only_text(optimizer, query):
    result = optimizer.recall(query, scope=U1)
    assert not result.degraded
    assert result.hits


@each_row("k", [0, -1, 1.5, "3", None, True])
def test_k(optimizer, k):
    with pytest.raises(errors.InvalidArgument, match="k must"):
        optimizer.recall("deploy", scope=U1, k=k)


@each_row(
    "bad",
    [
        {"now": datetime(2026, 1, 1)},
        {"now": "today"},
        {"time_budget_ms": 0},
        {"time_budget_ms": float("nan")},
        {"time_budget_ms": "1"},
        {"tokens_max": 0},
        {"tokens_max": 1.5},
        {"privacy": "secret"},
        {"filters": {"types": ["thought"]}},
        {"filters": {"source": ["a", "b"]}},
        {"filters": "wiki"},
        {"scope": {"user": "u1"}},
        {"scopes": [U1]},
        {"scope": "u1"},
        {"query_vector": [1.0]},
        {"query_vector": "x"},
    ],
)
def test_arguments(optimizer, bad):
    with pytest.raises(errors.InvalidInput):
        optimizer.recall("deploy", **{"scope": U1, **bad})


def test_a_store_is_needed():
    with pytest.raises(errors.InvalidArgument, match="MemoryStore"):
        QueryOptimizer("memories/")


def test_a_closed_store():
    store = MemoryStore.open()
    optimizer = QueryOptimizer(store)
    store.close()
    with pytest.raises(errors.StoreClosed):
        optimizer.recall("deploy")
    optimizer.close()


# -- degradation -----------------------------------------------------------------------------------------------------


def in_place_of(optimizer, *arms):
    """The same store asked through these arms in place of the built-in ones of the same names."""
    specs = [
        replace(spec, make=lambda _s, _c, arm=arm: lambda: arm)
        for spec in BUILT_IN
        for arm in arms
        if arm.name == spec.name
    ]
    return QueryOptimizer(optimizer.store, config=optimizer.config, clock=lambda: NOW, arms=specs)


class Broken:
    def __init__(self, name, error):
        self.name, self._error = name, error

    def search(self, request):
        raise self._error


@pytest.fixture
def hangs():
    """Waits until the test is over, and raises: what hangs is left behind, or the test does not end."""
    over = threading.Event()

    def wait(*_args):
        over.wait(60)
        raise RuntimeError("late")

    yield wait
    over.set()


@each_row("name", ["semantic", "lexical", "graph"])
@each_row(("error", "reason"), [(RuntimeError("boom"), "error"), (IndexUnavailable("gone"), "index_unavailable")])
def test_an_arm_that_fails_costs_its_results_only(optimizer, name, error, reason):
    result = in_place_of(optimizer, Broken(name, error)).recall("who does Sam report to?", scope=U1)
    assert [(d.stage, d.reason) for d in result.degraded] == [(name, reason)]
    assert "rel" in ids(result)
    assert all(0 <= h.score <= 1 for h in result.hits)


def test_an_arm_that_is_late_is_left_behind(optimizer, hangs):
    class Late:
        name = "graph"

        def search(self, request):
            hangs()

    optimizer = in_place_of(optimizer, Late())
    result = optimizer.recall("who does Sam report to?", scope=U1, time_budget_ms=500)
    assert [(d.stage, d.reason) for d in result.degraded] == [("graph", "timeout")]
    assert ids(result)[0] == "rel"


def test_all_arms_failing_is_an_empty_answer_not_an_error(optimizer):
    broken = (Broken(name, RuntimeError("boom")) for name in ARMS)
    result = in_place_of(optimizer, *broken).recall("who does Sam report to?", scope=U1)
    assert result.hits == ()
    assert {d.stage for d in result.degraded} == {"graph", "lexical", "semantic", "recall"}
    assert not result.searched


def test_an_embedding_that_fails_leaves_words_and_graph(optimizer, monkeypatch):
    def fail(_self, _text):
        raise EmbeddingError("down")

    monkeypatch.setattr(type(optimizer.store.embedding), "embed_query", fail)
    result = optimizer.recall("who does Sam report to?", scope=U1)
    assert ids(result)[0] == "rel"
    assert ("embed", "embedding_error") in [(d.stage, d.reason) for d in result.degraded]


def test_a_reading_that_fails_is_named(optimizer, monkeypatch):
    def fail(*_args, **_kwargs):
        raise RuntimeError("calendar on fire")

    monkeypatch.setattr("recall_integrations.query.parser.parse_window", fail)
    result = optimizer.recall("who did Sam report to in March?", scope=U1)
    assert [(d.stage, d.reason) for d in result.degraded] == [("parse.temporal", "error")]
    assert ids(result)[0] == "rel"


async def test_a_cancelled_recall_stops_its_arms(optimizer):
    entered, left = threading.Event(), threading.Event()

    class Waiting:
        name = "graph"

        def search(self, request):
            entered.set()
            while not request.deadline.wait(60):
                pass
            left.set()
            request.check_time()

    optimizer = in_place_of(optimizer, Waiting())
    task = asyncio.create_task(optimizer.arecall("who does Sam report to?", scope=U1, time_budget_ms=30_000))
    assert await asyncio.to_thread(entered.wait, 30)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(left.wait, 30)


def test_many_threads(optimizer):
    expected = optimizer.recall("who does Sam report to?", scope=U1).hits
    wrong = []

    def work():
        answers = [optimizer.recall("who does Sam report to?", scope=U1, time_budget_ms=30_000) for _ in range(15)]
        wrong.extend(a for a in answers if a.hits != expected)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


# -- options ---------------------------------------------------------------------------------------------------------


def test_privacy(optimizer):
    open_hit = optimizer.recall("badge number mail", scope=U1, k=1).hits[0]
    assert "lena@example.com" in open_hit.memory.text
    redacted = optimizer.recall("badge number lena@example.com", scope=U1, k=1, privacy="redact").hits[0]
    assert "lena@example.com" not in redacted.memory.text and "lena@example.com" not in redacted.reason
    blocked = optimizer.recall("badge number mail", scope=U1, k=1, privacy="block").hits[0]
    assert (blocked.memory.id, blocked.memory.text) == ("badge", "")
    assert "badge" not in blocked.reason
    assert blocked.score == round(open_hit.score, 2)


def test_tokens_max(optimizer):
    whole = optimizer.recall("we met about", scope=U1, k=7)
    packed = optimizer.recall("we met about", scope=U1, k=7, tokens_max=20)
    assert 0 < len(packed.hits) < len(whole.hits)
    assert ("pack", "budget.tokens") in [(d.stage, d.reason) for d in packed.degraded]


VAGUE = PlannerConfig(precise_threshold=1.0, exploratory_threshold=1.0)  # all is exploratory


def vague(optimizer):
    with patch.object(planner, "RARE_ABOVE", 1.0):
        return optimizer.recall("something about updates", scope=U1, k=3, time_budget_ms=5_000)


def test_a_reranker_orders_what_the_plan_lets_it(store):
    seen = []

    def second_first(query, texts):
        seen.append((query, len(texts)))
        return [float(i == 1) for i in range(len(texts))]

    config = RecallConfig(planner=VAGUE)
    plain = QueryOptimizer(store, clock=lambda: NOW, config=config)
    reranking = QueryOptimizer(store, reranker=second_first, clock=lambda: NOW, config=config)
    before, after = vague(plain), vague(reranking)
    assert before.plan.name == after.plan.name == "exploratory"
    assert seen and ids(before)[0] != ids(after)[0]
    assert [h.score for h in after.hits] == sorted((h.score for h in after.hits), reverse=True)
    plain_plan = QueryOptimizer(store, reranker=second_first, clock=lambda: NOW)
    plain_plan.recall("who does Sam report to?", scope=U1)  # an entity plan is narrow enough
    assert len(seen) == 1
    plain_plan.close()
    plain.close()
    reranking.close()


@pytest.mark.parametrize(
    ("reranker", "reason"),
    [(lambda _q, _t: 1 / 0, None), (lambda _q, _t: [float("nan")], None), (None, "timeout")],
)
def test_a_reranker_that_fails_leaves_the_order(store, hangs, reranker, reason):
    reranker = reranker or hangs
    config = RecallConfig(planner=VAGUE, limits=LimitsConfig(rerank_budget_ms=100))
    plain, broken = QueryOptimizer(store, config=config), QueryOptimizer(store, reranker=reranker, config=config)
    result = vague(broken)
    assert ids(result) == ids(vague(plain))
    stages = [(d.stage, d.reason) for d in result.degraded]
    assert len(stages) == 1 and stages[0][0] == "rerank"
    assert reason is None or stages[0][1] == reason
    plain.close()
    broken.close()


ASKED = RecallConfig(rewriting=RewritingConfig(mode="full"))  # however sure the first answer is


def test_an_llm_rewrites_vague_questions(store):
    optimizer = QueryOptimizer(
        store,
        llm=lambda _prompt: "how are people told things\nthe way in which people are told",
        config=ASKED,
        clock=lambda: NOW,
    )
    result = optimizer.recall("something about how people want to be told", scope=U1, time_budget_ms=5_000)
    assert result.rewrite.reason == "success" and result.rewrite.used
    assert len(result.query.rewrites) == 2
    optimizer.close()


@pytest.mark.parametrize(
    ("llm", "reason"),
    [
        (lambda _p: 1 / 0, "failure.error"),
        (lambda _p: "", "failure.empty"),
        (None, "failure.timeout"),
    ],
)
def test_an_llm_that_fails_is_done_without(store, hangs, llm, reason):
    config = RecallConfig(rewriting=RewritingConfig(mode="full", timeout_ms=100))
    optimizer = QueryOptimizer(store, llm=llm or hangs, config=config)
    result = optimizer.recall("something about how people want to be told", scope=U1)
    assert result.rewrite.reason == reason and not result.rewrite.used
    assert result.hits
    optimizer.close()


def test_the_negation_threshold_is_tunable(store):
    query = "what did we meet about that wasn't related to the colours"
    strict = QueryOptimizer(store, config=RecallConfig(ranking=RankingConfig(negation_threshold=0.0)))
    result = strict.recall(query, scope=U1, k=7, now=NOW)
    assert ids(result)[-1] == "front"
    strict.close()


def test_a_query_vector_is_used(optimizer):
    vector = optimizer.store.embedding.embed_query("PostgreSQL database")
    assert ids(optimizer.recall("qqq", scope=U1, query_vector=vector * 3))[0] == "db"
    assert np.isclose(
        optimizer.recall("qqq", scope=U1, query_vector=vector * 3).hits[0].score,
        optimizer.recall("qqq", scope=U1, query_vector=vector).hits[0].score,
    )


# -- what a cold review found ----------------------------------------------------------------------------------------


class HangingEmbedding:
    """The bundled model behind a network that hangs for queries."""

    remote, dimensions = True, 256

    def __init__(self, inner, hangs):
        self._inner, self.embed_query, self.fingerprint = inner, hangs, inner.fingerprint

    def embed_documents(self, texts):
        return self._inner.embed_documents(texts)


def test_an_embedding_that_hangs_costs_the_semantic_arm_only(store, hangs):
    with MemoryStore.open(embedding=HangingEmbedding(store.embedding, hangs)) as slow:
        slow.remember_many(MEMORIES, scope=U1)
        optimizer = QueryOptimizer(slow, clock=lambda: NOW)
        result = optimizer.recall("who does Sam report to?", scope=U1, time_budget_ms=2_000)
        assert ("embed", "timeout") in [(d.stage, d.reason) for d in result.degraded]
        assert ids(result)[0] == "rel"
        optimizer.close()


def test_a_slow_first_rewrite_does_not_end_rewriting(store, hangs):
    calls = []

    def cold_then_warm(_prompt):
        calls.append(1)
        if len(calls) == 1:
            hangs()
        return "the way in which people are told"

    config = RecallConfig(rewriting=RewritingConfig(mode="full", timeout_ms=200))
    optimizer = QueryOptimizer(store, llm=cold_then_warm, config=config)
    question = "something about how people want to be told"
    reasons = [optimizer.recall(question, scope=U1).rewrite.reason for _ in range(4)]
    assert reasons[0] == "failure.timeout" and set(reasons[2:]) <= {"success", "cache_hit"}
    optimizer.close()


def test_privacy_holds_for_the_whole_result():
    with MemoryStore.open() as store:
        store.add_entity("lena@example.com", aliases=["Lena"])
        store.remember_many([Memory("Lena likes tea", actor="Lena"), "Lena likes cake", "Lena likes rain"])

        def telling(_query, texts):
            raise RuntimeError(f"cannot score {texts}")

        config = RecallConfig(planner=VAGUE, rerank=RerankConfig(regret_max=0))
        optimizer = QueryOptimizer(store, reranker=telling, config=config)
        assert "lena@example.com" in repr(optimizer.recall("what does Lena like?"))
        for mode in ("redact", "block"):
            assert "lena@example.com" not in repr(optimizer.recall("what does Lena like?", privacy=mode))
        assert "likes tea" not in repr(optimizer.recall("what does Lena like?", privacy="block"))
        optimizer.close()


def test_a_memory_that_is_being_replaced_does_not_vanish(optimizer, monkeypatch):
    """Readers hold columns of before the change; the row behind them is gone already."""
    store = optimizer.store
    old = store.view(store.scope_id(U1))
    store.remember(Memory("My badge number is 9999 now", id="badge", type="fact"), scope=U1)
    monkeypatch.setattr(store, "view", lambda _scope_id: old)
    try:
        found = {h.memory.id: h.memory.text for h in optimizer.recall("badge number", scope=U1, k=7).hits}
        assert found["badge"] == "My badge number is 9999 now"
    finally:
        monkeypatch.undo()
        store.remember(MEMORIES[5], scope=U1)


async def test_a_closed_optimizer_says_so(store):
    optimizer = QueryOptimizer(store)
    optimizer.close()
    with pytest.raises(errors.StoreClosed):
        optimizer.recall("deploy", scope=U1)
    with pytest.raises(errors.StoreClosed):
        await optimizer.arecall("deploy", scope=U1)


def test_warm_loads_what_the_first_recall_would(tmp_path):
    config = RecallConfig(retrieval=RetrievalConfig(exact_max=20))
    with MemoryStore.open(tmp_path / "s", config=config) as large:
        large.remember_many([f"memory {i}" for i in range(40)])
        assert large.indexes.settle(60)  # a store that lacks nothing: else opening it begins to fill at once
    with MemoryStore.open(tmp_path / "s", config=config) as large:
        assert not large.indexes.collections.server.opened
        large.warm()
        large.warm(scope=Scope(user_id="never seen"))
        assert len(large.indexes.notices) == 0


def test_warm_waits_for_the_model_of_the_reranker_where_there_is_one(store):
    class Heavy:
        name, ready = "heavy", False

        def __init__(self, error=None):
            self.error = error

        def warm(self):
            if self.error is not None:
                raise self.error
            self.ready = True

        def scores(self, _query, texts):
            return [0.0] * len(texts)

    QueryOptimizer(store).warm()
    heavy = Heavy()
    QueryOptimizer(store, reranker=heavy).warm(60)
    assert heavy.ready
    with pytest.raises(RerankError, match="no such model"):
        QueryOptimizer(store, reranker=Heavy(RerankError("no such model"))).warm(60)


@each_row("k", [1, 2, 5, 10])
@each_row("query", ["deploy", "who does Sam report to?", "what happened yesterday?", "tomatoes", "no deploy"])
def test_the_confidence_is_within_what_the_scores_add_up_to(optimizer, query, k):
    for tokens_max in (None, 12):
        result = optimizer.recall(query, scope=U1, now=NOW, k=k, tokens_max=tokens_max, time_budget_ms=60_000)
        assert 0 <= result.confidence <= sum(h.score for h in result.hits) + 1e-6


@pytest.mark.sweep(every=3)
@pytest.mark.usefixtures("no_hurry")
@pytest.mark.parametrize(
    ("query", "plan"),
    [
        ("something about our things", "exploratory"),
        ("anything about tea, not Sam", "exploratory"),
        ("who is my manager", None),
        ("what did Priya say yesterday", None),
        ("my preferences", None),
    ],
)
@pytest.mark.parametrize("strategy", ["fixed_weights", "weighted", "boosts", "rrf"])
def test_a_scope_in_which_all_was_forgotten_is_an_empty_one(query, plan, strategy):
    with MemoryStore.open() as store:
        store.remember_many([Memory("I like tea", id="a", actor="Priya"), Memory("Sam ships", id="b", actor="Sam")])
        optimizer = QueryOptimizer(store, config=RecallConfig().with_settings([("ranking.strategy", strategy)]))
        assert optimizer.recall(query, now=NOW).hits
        store.forget("a")
        store.forget("b")
        result = optimizer.recall(query, now=NOW)
        assert (result.hits, result.degraded, result.confidence) == ((), (), 0.0)
        assert plan in (None, result.plan.name)
        store.remember(Memory("Priya likes coffee", id="c"))
        assert ids(optimizer.recall(query, now=NOW)) == ["c"]
        optimizer.close()


@pytest.fixture(scope="module")
def equal():
    with MemoryStore.open() as store:
        store.remember_many([Memory("I like green tea", id=f"m{i}", type="chunk") for i in range(12)])
        yield store


@each_row("query", ["green tea", "something about our things", "not tea", "what do I like"])
@each_row("strategy", ["fixed_weights", "weighted", "boosts", "rrf"])
def test_where_all_memories_are_equal_k_of_them_come(equal, query, strategy):
    optimizer = QueryOptimizer(equal, config=RecallConfig().with_settings([("ranking.strategy", strategy)]))
    result = optimizer.recall(query, k=5, now=NOW)
    assert not result.degraded
    assert len(result.hits) == 5 and len(set(ids(result))) == 5
    scores = [hit.score for hit in result.hits]
    assert np.isfinite(scores).all() and scores == sorted(scores, reverse=True)
    folded = [one for hit in result.hits for one in hit.duplicates]
    assert sorted([*ids(result), *folded]) == sorted(f"m{i}" for i in range(12))
    optimizer.close()


@pytest.mark.parametrize("strategy", ["fixed_weights", "weighted"])
def test_below_the_confidence_asked_for_nothing_is_returned(store, strategy):
    """Where the scores are not calibrated, the best of them stands for the confidence."""
    config = RecallConfig().with_settings([("ranking.strategy", strategy)])
    plain = QueryOptimizer(store, config=config)
    result = plain.recall("badge number", scope=U1, now=NOW)
    assert result.hits and 0.01 < result.confidence < 1
    for factor, some in ((0.99, True), (1.01, False)):
        ranking = replace(config.ranking, abstain_below=min(factor * result.confidence, 1.0))
        unsure = QueryOptimizer(store, config=replace(config, ranking=ranking))
        found = unsure.recall("badge number", scope=U1, now=NOW)
        assert bool(found.hits) is some
        assert [(d.stage, d.reason) for d in found.degraded] == ([] if some else [("deliver", "abstain")])
        unsure.close()
    plain.close()


@pytest.mark.parametrize("strategy", ["fixed_weights", "weighted"])
def test_hits_below_the_score_asked_for_are_left_out_one_by_one(store, strategy):
    config = RecallConfig().with_settings([("ranking.strategy", strategy)])
    plain = QueryOptimizer(store, config=config)
    whole = plain.recall("we met about", scope=U1, k=7, now=NOW)
    least = whole.hits[2].score
    some = plain.recall("we met about", scope=U1, k=7, now=NOW, score_min=least)
    assert ids(some) == [h.memory.id for h in whole.hits if h.score >= least]
    assert 0 < len(some.hits) < len(whole.hits)
    assert [(d.stage, d.reason) for d in some.degraded] == [("deliver", "score_min")]
    config = replace(config, ranking=replace(config.ranking, score_min=least))
    always = QueryOptimizer(store, config=config)
    assert ids(always.recall("we met about", scope=U1, k=7, now=NOW)) == ids(some)
    assert ids(always.recall("we met about", scope=U1, k=7, now=NOW, score_min=0)) == ids(whole)
    for bad in (-0.1, 1.1, "high", True, float("nan")):
        with pytest.raises(errors.InvalidArgument, match="score_min"):
            plain.recall("we met about", scope=U1, score_min=bad)
    plain.close()
    always.close()


async def test_five_hits_come_where_nobody_says_how_many(optimizer):
    assert len(optimizer.recall("something", scope=U1, now=NOW).hits) == 5
    assert len((await optimizer.arecall("something", scope=U1, now=NOW)).hits) == 5
