"""A recall of several scopes, and what a result says of scopes and filters that hold nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

import pytest

from recall_integrations import Filters, Memory, MemoryStore, OptimizedRecallRetriever, QueryOptimizer, Scope
from recall_integrations.config import RankingConfig, RecallConfig
from recall_integrations.errors import InvalidArgument, InvalidFilter, InvalidScope, RecallTimeout
from recall_integrations.recall import runner
from recall_integrations.types import RecallResult

NOW = datetime(2026, 5, 1, tzinfo=timezone.utc)
USER, TEAM, NOBODY = Scope(user_id="u"), Scope(namespace="team"), Scope(user_id="nobody")


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with MemoryStore.open(clock=lambda: NOW) as store:
        store.remember_many(
            [
                Memory("Priya prefers green tea in the morning", id="a", metadata={"source": "chat"}),
                Memory("Sam paid the invoice of the garden", id="b"),
                Memory("The tea kitchen is closed on Friday", id="same", metadata={"source": "wiki"}),
            ],
            scope=USER,
        )
        store.remember_many(
            [
                Memory("The tea kitchen is closed on Friday", id="same", metadata={"source": "wiki"}),
                Memory("Tea for the whole team is ordered by Lena, lena@example.com", id="c"),
                Memory("The launch of Kestrel is in May", id="d", metadata={"source": "chat"}),
            ],
            scope=TEAM,
        )
        yield store


@pytest.fixture
def optimizer(store: MemoryStore) -> QueryOptimizer:
    return QueryOptimizer(store)


def placed(result: RecallResult) -> list[tuple[str, str]]:
    return [(str(hit.scope), hit.memory.id or "") for hit in result.hits]


def test_one_ranking_of_what_each_finds(optimizer: QueryOptimizer) -> None:
    alone = {scope: optimizer.recall("who likes tea?", scope=scope, now=NOW, k=9) for scope in (USER, TEAM)}
    both = optimizer.recall("who likes tea?", scopes=[USER, TEAM], now=NOW, k=9)
    scores = [hit.score for hit in both.hits]
    assert scores == sorted(scores, reverse=True) and len(scores) == 6
    for scope, result in alone.items():
        own = [hit for hit in both.hits if hit.scope == scope]
        assert own == list(result.hits)  # scores, reasons, contributions and order: nothing of the other is in them
    assert both.confidence == max(result.confidence or 0 for result in alone.values())
    assert [part.plan for part in both.parts] == [result.plan for result in alone.values()]
    assert both.query == alone[USER].query and not any(part.hits for part in both.parts)
    again = optimizer.recall("who likes tea?", scopes=[TEAM, USER], now=NOW, k=9)
    assert placed(again) == placed(both)  # of equal scores and ids the order is by scope


def test_the_same_text_in_two_scopes_is_two_hits(optimizer: QueryOptimizer) -> None:
    found = optimizer.recall("when is the tea kitchen closed?", scopes=[USER, TEAM], now=NOW, k=9)
    assert {where for where, memory in placed(found) if memory == "same"} == {str(USER), str(TEAM)}


def test_k_tokens_and_filters_are_of_the_whole(optimizer: QueryOptimizer) -> None:
    def asked(**given: Any) -> RecallResult:
        return optimizer.recall("who likes tea?", scopes=[USER, TEAM], now=NOW, **given)

    whole = asked(k=9)
    assert placed(asked(k=2)) == placed(whole)[:2]
    few = asked(k=9, tokens_max=20)
    assert 0 < len(few.hits) < 6 and [d.reason for d in few.degraded] == ["budget.tokens"]
    assert {memory for _, memory in placed(asked(k=9, filters={"source": "chat"}))} == {"a", "d"}


def test_abstaining_is_decided_once(store: MemoryStore, optimizer: QueryOptimizer) -> None:
    sure = {s: optimizer.recall("who likes tea?", scope=s, now=NOW).confidence or 0.0 for s in (USER, TEAM)}
    least = (min(sure.values()) + max(sure.values())) / 2
    assert min(sure.values()) < least < max(sure.values())
    careful = QueryOptimizer(store, config=RecallConfig(ranking=RankingConfig(abstain_below=least)))
    both = careful.recall("who likes tea?", scopes=[USER, TEAM], now=NOW)
    assert {hit.scope for hit in both.hits} == {USER, TEAM} and not both.degraded
    never = QueryOptimizer(store, config=RecallConfig(ranking=RankingConfig(abstain_below=1.0)))
    none = never.recall("who likes tea?", scopes=[USER, TEAM], now=NOW, strict=True)
    assert not none.hits and [d.reason for d in none.degraded] == ["abstain"] and none.confidence == 0


def test_one_placeholder_for_one_value(store: MemoryStore) -> None:
    store.remember(Memory("The tea is paid by lena@example.com", id="e"), scope=USER)
    store.remember(Memory("Tea bills go to otto@example.com", id="f"), scope=USER)
    optimizer = QueryOptimizer(store, config=replace(store.config, mode="cached"))
    for _ in range(2):
        alone = optimizer.recall("who pays the tea?", scope=TEAM, now=NOW, k=9, privacy="redact")
        both = optimizer.recall("who pays the tea?", scopes=[USER, TEAM], now=NOW, k=9, privacy="redact")
        texts = {hit.memory.id: hit.memory.text for hit in both.hits}
        (lena,) = {texts[i].split()[-1] for i in ("c", "e")}
        assert lena != texts["f"].split()[-1] and "@" not in "".join(texts.values())
        assert "@" not in "".join(hit.memory.text for hit in alone.hits)


def test_answers_are_kept_for_each_scope(store: MemoryStore) -> None:
    optimizer = QueryOptimizer(store, config=replace(store.config, mode="cached"))

    def asked() -> RecallResult:
        return optimizer.recall("who likes tea?", scopes=[USER, TEAM], now=NOW)

    for scope in (USER, TEAM):
        store.speller(store.scope_id(scope) or 0, wait=True)
    first = asked()
    assert (first.cache.strategy, first.cache.reason) == ("miss", "kept")
    again = asked()
    assert again.cache.hit and placed(again) == placed(first)
    assert not optimizer.recall("who likes tea?", scope=USER, now=NOW).cache.hit  # which may abstain, and packs
    store.remember(Memory("Otto likes tea more than anybody", id="new"), scope=TEAM)
    assert not asked().cache.hit and ("-/-/team", "new") in placed(asked())


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"scope": USER, "scopes": [TEAM]}, InvalidArgument),
        ({"scopes": []}, InvalidScope),
        ({"scopes": USER}, InvalidScope),
        ({"scopes": {"user_id": "u"}}, InvalidScope),
        ({"scopes": "u"}, InvalidScope),
        ({"scopes": [3]}, InvalidScope),
        ({"scopes": [Scope(user_id=str(i)) for i in range(33)]}, InvalidScope),
        ({"scope": {"user": "u"}}, InvalidScope),
        ({"scope": {"user_id": 3}}, InvalidScope),
    ],
)
async def test_what_cannot_be_asked(optimizer: QueryOptimizer, given: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        optimizer.recall("tea", **given)
    with pytest.raises(error):
        await optimizer.arecall("tea", **given)


async def test_scopes_and_filters_as_mappings(optimizer: QueryOptimizer) -> None:
    wanted = optimizer.recall("tea", scopes=[USER, TEAM], filters=Filters(metadata={"source": "wiki"}), now=NOW)
    given: dict[str, Any] = {"scopes": [{"user_id": "u"}, {"namespace": "team"}], "filters": {"source": "wiki"}}
    assert placed(optimizer.recall("tea", now=NOW, **given)) == placed(wanted)
    assert placed(await optimizer.arecall("tea", now=NOW, **given)) == placed(wanted)
    assert placed(optimizer.recall("tea", scopes=[USER, {"user_id": "u"}], now=NOW, k=9)) == placed(
        optimizer.recall("tea", scope=USER, now=NOW, k=9)
    )
    parsed = optimizer.parse("tea", scope={"user_id": "u"}, now=NOW)
    assert parsed == optimizer.parse("tea", scope=USER, now=NOW)


def test_a_retriever_of_several_scopes(optimizer: QueryOptimizer) -> None:
    both = OptimizedRecallRetriever(optimizer=optimizer, scopes=[{"user_id": "u"}, TEAM], k=9, now=NOW)
    wanted = placed(optimizer.recall("tea", scopes=[USER, TEAM], k=9, now=NOW))
    assert placed(both.recall("tea")) == wanted
    assert [d.id for d in both.invoke("tea")] == [i for _, i in wanted]
    # LlamaIndex itself keeps one of two nodes with the same text and metadata.
    assert [n.node.node_id for n in both.retrieve("tea")] == list(dict.fromkeys(i for _, i in wanted))
    assert {d.id for d in both.invoke("tea", scope=USER)} == {"a", "b", "same"}
    assert {d.id for d in both.invoke("tea", scope={"namespace": "team"}, filters={"source": "chat"})} == {"d"}
    one = OptimizedRecallRetriever(optimizer=optimizer, scope={"user_id": "u"}, k=9, now=NOW)
    assert placed(one.recall("tea", scopes=[USER, TEAM])) == wanted
    with pytest.raises(InvalidArgument, match="together"):
        OptimizedRecallRetriever(optimizer=optimizer, scope=USER, scopes=[TEAM])
    with pytest.raises(InvalidArgument, match="together"):
        one.invoke("tea", scope=USER, scopes=[TEAM])
    with pytest.raises(InvalidArgument, match="one scope"):
        OptimizedRecallRetriever.from_texts(["tea"], scopes=[USER, TEAM])


def test_each_has_its_share_of_the_time(optimizer: QueryOptimizer, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float] = []
    run = runner.Runner.run

    def watched(self: runner.Runner, state: Any, deadline: Any) -> Any:
        seen.append(deadline.remaining_ms())
        return run(self, state, deadline)

    monkeypatch.setattr(runner.Runner, "run", watched)
    optimizer.recall("tea", scopes=[USER, TEAM, NOBODY], now=NOW, time_budget_ms=30_000)
    assert 8_000 < seen[0] <= 10_000 < seen[2] <= 30_000
    with pytest.raises(RecallTimeout):
        optimizer.recall("tea", scopes=[USER, TEAM], now=NOW, time_budget_ms=0.1, strict=True)


def test_what_did_not_work_names_its_scope(optimizer: QueryOptimizer) -> None:
    result = optimizer.recall("tea", scopes=[USER, TEAM], now=NOW, time_budget_ms=0.1)
    assert result.degraded and all(d.detail.startswith(("u/-/-", "-/-/team")) for d in result.degraded)


def reasons(result: RecallResult) -> list[str]:
    return [note.reason for note in result.notes]


def test_a_scope_in_which_nothing_is(store: MemoryStore, optimizer: QueryOptimizer) -> None:
    never = optimizer.recall("tea", scope=NOBODY)
    assert reasons(never) == ["scope.unknown"] and "nobody/-/-" in never.notes[0].detail and not never.degraded
    assert reasons(optimizer.recall("tea", scopes=[USER, NOBODY])) == ["scope.unknown"]
    assert not optimizer.recall("tea", scope=USER).notes
    for memory_id in ("a", "b", "same"):
        store.forget(memory_id, scope=USER)
    assert reasons(optimizer.recall("tea", scope=USER)) == ["scope.empty"]
    optimizer.recall("tea", scope=NOBODY, strict=True)  # nothing went wrong


def test_a_filter_that_nothing_meets(optimizer: QueryOptimizer) -> None:
    def asked(filters: Any) -> list[str]:
        return reasons(optimizer.recall("tea", scope=USER, filters=filters, now=NOW))

    assert asked({"source": "wiki"}) == []
    assert asked({"source": "mail"}) == ["filters.nothing"]
    assert asked({"sauce": "wiki"}) == ["filters.key", "filters.nothing"]
    assert asked({"sauce": {"$ne": "wiki"}}) == ["filters.key"]
    assert asked({"$or": [{"sauce": 1}, {"source": "wiki"}]}) == ["filters.key"]
    assert asked(Filters(actors=["Otto"])) == ["filters.nothing"]
    said = optimizer.recall("tea", scope=USER, filters={"type": "fact"}).notes[0].detail
    assert "'type'" in said and "Filters(types=[...])" in said


def test_notes_go_through_the_door(optimizer: QueryOptimizer) -> None:
    where, filters = Scope(user_id="lena@example.com"), {"colour": 1}
    shown = optimizer.recall("tea", scope=where, privacy="redact").notes
    assert [n.reason for n in shown] == ["scope.unknown"] and "lena" not in shown[0].detail
    assert optimizer.recall("tea", scope=USER, filters=filters, privacy="redact").notes
    shown = optimizer.recall("tea", scope=where, privacy="block").notes
    assert shown and not "".join(n.detail for n in shown)
    for mode in ("redact", "block"):
        with pytest.raises(InvalidFilter) as caught:
            optimizer.recall("tea", scope=USER, filters={"lena@example.com": 1}, privacy=mode)
        assert "lena" not in str(caught.value)


def test_a_large_scope_is_not_waited_for(
    store: MemoryStore, optimizer: QueryOptimizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    import threading

    go = threading.Event()
    mask = store.reader.filter_mask
    monkeypatch.setattr(store.reader, "filters_ready", lambda _view, _filters: False)
    monkeypatch.setattr(store.reader, "filter_mask", lambda *given: go.wait(30) and mask(*given))
    late = optimizer.recall("tea", scope=USER, filters={"source": "wiki"}, time_budget_ms=300)
    assert [(d.stage, d.reason) for d in late.degraded] == [("filters", "timeout"), ("recall", "not_searched")]
    assert not late.hits and not late.searched
    go.set()
    found = optimizer.recall("tea", scope=USER, filters={"source": "wiki"}, time_budget_ms=30_000)
    assert [hit.memory.id for hit in found.hits] == ["same"] and not found.degraded
