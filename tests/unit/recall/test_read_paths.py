"""Settings of some scopes, and settings that change while recalls are under way."""

from __future__ import annotations

import pickle
import threading
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from recall_integrations import (
    Memory,
    MemoryStore,
    OptimizedRecallRetriever,
    QueryOptimizer,
    RecallConfig,
    Scope,
    errors,
)
from recall_integrations.config import PlannerConfig, RerankConfig
from recall_integrations.recall.runner import Stage
from tests.rows import each_row

SUPPORT, ALICE, BOTH = Scope(namespace="support"), Scope(user_id="alice"), Scope("alice", "", "support")
SCOPES = [
    {"namespace": "support", "planner": {"arm_limit": 7}, "limits": {"time_budget_ms": 1_234}},
    {"user_id": "alice", "planner": {"arm_limit": 9, "arms": ["lexical"]}, "ranking": {"score_min": 0.99}},
]


@pytest.fixture
def filled(store: MemoryStore) -> MemoryStore:
    for scope in (Scope(), SUPPORT, ALICE, BOTH):
        store.remember(Memory("the deploy is on Friday", id="m1"), scope=scope)
    return store


def config(*entries: dict[str, Any], **more: Any) -> RecallConfig:
    return RecallConfig.from_mapping({"scopes": list(entries or SCOPES), **more})


def limits(optimizer: QueryOptimizer, scope: Scope) -> set[int]:
    return {arm.limit for arm in optimizer.recall("when is the deploy?", scope=scope).plan.arms}


def test_each_scope_is_searched_by_its_own_settings(filled: MemoryStore) -> None:
    optimizer = QueryOptimizer(filled, config=config())
    assert (limits(optimizer, SUPPORT), limits(optimizer, ALICE)) == ({7}, {9})
    assert limits(optimizer, Scope()) == {40} == limits(QueryOptimizer(filled), SUPPORT)
    of_alice = optimizer.recall("when is the deploy?", scope=ALICE)
    assert [arm.name for arm in of_alice.plan.arms] == ["lexical"] and not of_alice.hits
    assert optimizer.recall("when is the deploy?", scope=SUPPORT).hits


def test_the_answer_says_which_entry_acted(filled: MemoryStore) -> None:
    optimizer = QueryOptimizer(filled, config=config())
    (note,) = optimizer.recall("deploy", scope=SUPPORT).notes
    assert note.reason == "settings.scope"
    assert note.detail == (
        "scopes[0] of the settings acts here (namespace support: limits.time_budget_ms 1234, planner.arm_limit 7)."
    )
    assert optimizer.recall("deploy").notes == ()
    blocked = optimizer.recall("deploy", scope=ALICE, privacy="block")
    assert all("alice" not in note.detail for note in blocked.notes)


def test_the_most_specific_entry_acts_alone(filled: MemoryStore) -> None:
    optimizer = QueryOptimizer(filled, config=config())
    assert optimizer.config_of(BOTH).planner.arm_limit == 9  # as many parts: the user is before the namespace
    assert optimizer.config_of(BOTH).limits == RecallConfig().limits
    three = config(*SCOPES, {"user_id": "alice", "namespace": "support", "week_start": 6})
    assert three.for_scope(BOTH)[0] == RecallConfig(week_start=6)
    assert three.for_scope(Scope("bob", "x", "support"))[1] == three.scopes[0]
    assert three.for_scope(Scope("bob")) == (RecallConfig(), None)
    no_agent = config({"agent_id": "", "week_start": 6})
    assert no_agent.for_scope(Scope("bob"))[0].week_start == 6
    assert no_agent.for_scope(Scope("bob", "x"))[0].week_start == 0


def test_the_default_of_the_time_follows_the_scope(filled: MemoryStore) -> None:
    budgets: list[float] = []

    class Look(Stage):
        name, after = "look", "plan"

        def run(self, state: Any, turn: Any) -> Any:
            budgets.append(state.request.time_budget_ms)
            return state

    optimizer = QueryOptimizer(filled, config=config(), stages=[Look()])
    optimizer.recall("deploy", scope=SUPPORT)
    optimizer.recall("deploy", scope=SUPPORT, time_budget_ms=3_000)
    optimizer.recall("deploy")
    assert budgets == [1_234, 3_000, RecallConfig().limits.time_budget_ms]


def test_a_recall_of_several_scopes_asks_each_by_its_own(filled: MemoryStore) -> None:
    optimizer = QueryOptimizer(filled, config=config())
    found = optimizer.recall("when is the deploy?", scopes=[Scope(), SUPPORT, ALICE])
    assert [{arm.limit for arm in part.plan.arms} for part in found.parts] == [{40}, {7}, {9}]
    assert [note.reason for note in found.notes] == ["settings.scope"] * 2
    assert {hit.scope for hit in found.hits} == {Scope(), SUPPORT}


def test_parse_and_plan_of_a_scope(filled: MemoryStore) -> None:
    optimizer = QueryOptimizer(filled, config=config({"user_id": "alice", "planner": {"arm_limit": 9}}))
    parsed = optimizer.parse("when is the deploy?", scope=ALICE)
    assert {arm.limit for arm in optimizer.plan(parsed, scope=ALICE).arms} == {9}
    assert {arm.limit for arm in optimizer.plan(parsed).arms} == {40}


def test_entries_share_the_cache_and_do_not_share_answers(filled: MemoryStore) -> None:
    optimizer = QueryOptimizer(filled, config=config(mode="cached"))
    for scope in (Scope(), SUPPORT, ALICE):
        assert not optimizer.recall("deploy", scope=scope).cache.hit
    again = [optimizer.recall("deploy", scope=scope) for scope in (Scope(), SUPPORT, ALICE)]
    assert all(result.cache.hit for result in again) and [len(result) for result in again] == [1, 1, 0]
    assert again[1].notes[0].reason == "settings.scope"


@each_row(
    ("entry", "said"),
    [
        ({"namespace": "x"}, r"scopes\[0\] sets nothing"),
        ({"planner": {"arm_limit": 7}}, r"scopes\[0\] fits every scope"),
        ({"user_id": "*", "planner": {"arm_limit": 7}}, r"scopes\[0\] fits every scope"),
        ({"user_id": 7, "planner": {"arm_limit": 7}}, r"scopes\[0\]\.user_id must be text, not 7"),
        ({"user": "x", "week_start": 1}, "fits every scope"),
        ({"user_id": "x", "user": "y"}, r"In scopes\[0\]: Unknown setting user\."),
        ({"user_id": "x", "planner": {"arm_limit": 0}}, r"In scopes\[0\]: planner.arm_limit must be a whole number"),
        ({"user_id": "x", "planner": {"arm_limt": 1}}, r"Unknown setting planner.arm_limt. Did you mean arm_limit"),
        ({"user_id": "x", "facts": {"keep": False}}, "facts.keep cannot be set for some .* is opened"),
        ({"user_id": "x", "retrieval": {"cache_mb": 1}}, "retrieval.cache_mb cannot be set for some scopes"),
        ({"user_id": "x", "cache": {"ttl_seconds": 1}}, "cache.ttl_seconds cannot be set for some .* share it"),
        ({"user_id": "x", "mode": "cached"}, "mode cannot be set"),
        ({"user_id": "x", "scopes": []}, "scopes cannot be set"),
        ({"user_id": "x", "planner": 7}, "planner must be a mapping"),
        (7, r"scopes\[0\] must be a mapping, not int"),
    ],
)
def test_mistakes_of_an_entry(entry: Any, said: str) -> None:
    with pytest.raises(errors.ConfigError, match=said):
        RecallConfig.from_mapping({"scopes": [entry]})


def test_mistakes_of_the_list() -> None:
    with pytest.raises(errors.ConfigError, match="scopes must be a list of mappings, not dict"):
        RecallConfig.from_mapping({"scopes": {}})
    with pytest.raises(errors.ConfigError, match=r"scopes\[1\] is for the same scopes as scopes\[0\]"):
        config({"user_id": "x", "week_start": 1}, {"user_id": "x", "agent_id": "*", "week_start": 2})


def test_settings_with_entries_are_a_value() -> None:
    made = config()
    assert pickle.loads(pickle.dumps(made)) == made == replace(made) and hash(made) == hash(config())
    assert made.fingerprint != RecallConfig().fingerprint == made.with_entry(None).fingerprint
    assert made.with_settings([("planner.arm_limit", 3)]).scopes == made.scopes


def test_without_entries_nothing_is_asked_of_them(filled: MemoryStore, monkeypatch: Any) -> None:
    optimizer = QueryOptimizer(filled)
    monkeypatch.setattr("recall_integrations.recall.read_path.acting", None)  # it would raise
    assert optimizer.recall("deploy").hits


def test_the_documents_of_a_retriever_have_the_days_of_their_scope(filled: MemoryStore) -> None:
    optimizer = QueryOptimizer(filled, config=config({"namespace": "support", "timezone": "Asia/Tokyo"}))
    moment = datetime(2026, 1, 1, 20, tzinfo=timezone.utc)  # the second in Tokyo
    filled.remember(Memory("the deploy was moved", id="m2", event_at=moment), scope=SUPPORT)
    filled.remember(Memory("the deploy was moved", id="m2", event_at=moment))
    retriever = OptimizedRecallRetriever(optimizer=optimizer, k=2, document_format="dated")
    said = {scope: str([d.page_content for d in retriever.invoke("moved", scope=scope)]) for scope in (SUPPORT, None)}
    assert "2026-01-02" in said[SUPPORT] and "2026-01-01" in said[None]


# -- other settings while it runs ------------------------------------------------------------------------------------


def test_settings_change_while_it_runs(filled: MemoryStore) -> None:
    optimizer = QueryOptimizer(filled)
    assert limits(optimizer, Scope()) == {40}
    new = RecallConfig(planner=PlannerConfig(arm_limit=7), rerank=RerankConfig(top_n=9), week_start=6)
    assert optimizer.reload(new) == ("planner.arm_limit", "rerank.top_n", "week_start")
    assert limits(optimizer, Scope()) == {7} and optimizer.config == new
    assert optimizer.reload(new) == ()
    assert optimizer.reload(config()) == ("planner.arm_limit", "rerank.top_n", "week_start", "scopes")
    assert limits(optimizer, SUPPORT) == {7}


def test_what_cannot_change_is_refused_by_name_and_nothing_changes(filled: MemoryStore) -> None:
    optimizer = QueryOptimizer(filled)
    wrong = {"retrieval": {"cache_mb": 7}, "breakers": {"open_s": 7}, "planner": {"arm_limit": 7}}
    with pytest.raises(errors.ConfigError, match=r"cache_mb cannot change .*\n.*open_s cannot change") as found:
        optimizer.reload(RecallConfig.from_mapping(wrong))
    assert len(found.value.mistakes) == 2 and optimizer.config == RecallConfig()
    with pytest.raises(errors.ConfigError, match="must be a RecallConfig"):
        optimizer.reload({"planner": {}})  # type: ignore[arg-type]
    assert optimizer.config == RecallConfig() and limits(optimizer, Scope()) == {40}


def test_recalls_under_way_end_with_the_settings_they_began_with(filled: MemoryStore) -> None:
    asked, go = threading.Event(), threading.Event()

    class Wait(Stage):
        name, after = "wait", "plan"

        def run(self, state: Any, turn: Any) -> Any:
            asked.set()
            go.wait(20)
            return state

    old = RecallConfig.from_mapping({"ranking": {"score_min": 0.0001}})
    optimizer = QueryOptimizer(filled, config=old, stages=[Wait()])
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(optimizer.recall("deploy", time_budget_ms=60_000)))
    thread.start()
    assert asked.wait(20)
    optimizer.reload(replace(old, ranking=replace(old.ranking, score_min=1.0)))
    go.set()
    thread.join(20)
    assert found[0].hits and not optimizer.recall("deploy").hits


def test_kept_answers_are_forgotten_and_breakers_are_not(filled: MemoryStore) -> None:
    def broken(_query: str, _texts: list[str]) -> list[float]:
        raise RuntimeError("down")

    cached = RecallConfig(mode="cached")
    optimizer = QueryOptimizer(filled, config=cached, reranker=broken)
    for _ in range(4):
        optimizer.recall("what was vague?", scope=SUPPORT)
    before = optimizer.health()
    optimizer.reload(replace(cached, planner=PlannerConfig(arm_limit=7)))
    assert optimizer.health() == before
    plain = QueryOptimizer(filled, config=cached)
    plain.recall("deploy")
    assert plain.recall("deploy").cache.hit
    plain.reload(replace(cached, planner=PlannerConfig(arm_limit=7)))
    assert not plain.recall("deploy").cache.hit
    plain.reload(cached)
    assert not plain.recall("deploy").cache.hit


def test_reload_reads_the_file_that_the_environment_names(
    filled: MemoryStore, tmp_path: Path, monkeypatch: Any
) -> None:
    path = tmp_path / "r.yaml"
    path.write_text("recall: {planner: {arm_limit: 7}}\n")
    monkeypatch.setenv("RECALL_CONFIG", str(path))
    optimizer = QueryOptimizer(filled, config=RecallConfig())
    assert optimizer.reload() == ("planner.arm_limit",)
    path.write_text("recall: {planner: {arm_limit: 0}}\n")
    with pytest.raises(errors.ConfigError, match="line 1, column 20"):
        optimizer.reload()
    assert limits(optimizer, Scope()) == {7}


def test_a_component_may_have_another_limit_and_is_one_breaker(filled: MemoryStore) -> None:
    entry = {"namespace": "support", "limits": {"rerank_budget_ms": 77}}
    optimizer = QueryOptimizer(filled, config=config(entry), reranker=lambda _q, texts: [1.0] * len(texts))
    for scope in (Scope(), SUPPORT):
        optimizer.recall("what was vague?", scope=scope)
    assert sum(health.component == "rerank" for health in optimizer.health()) == 1


def test_many_threads_meet_one_path_an_entry(filled: MemoryStore) -> None:
    optimizer = QueryOptimizer(filled, config=config())
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(limits(optimizer, SUPPORT))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert found == [{7}] * 8
