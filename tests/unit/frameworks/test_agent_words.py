"""What agents are told of memories, in words."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone

import pytest

from recall_integrations import Memory, MemoryStore, QueryOptimizer, RecallConfig, Scope
from recall_integrations.config import RankingConfig
from recall_integrations.errors import InvalidArgument, NotFound
from recall_integrations.frameworks.tools import AgentMemory, memory_tools

QUERY = "what is my phone number?"


@pytest.fixture
def memory() -> Iterator[AgentMemory]:
    with MemoryStore.open() as store:
        for memory_id, month, number in (("m1", 1, "555-0101"), ("m2", 6, "555-0202")):
            at = datetime(2026, month, 5, 10, tzinfo=timezone.utc)
            fact = {"slot": "phone_number", "value": number}
            store.remember(Memory(f"My number: {number}", id=memory_id, event_at=at, metadata={"fact": fact}))
        yield AgentMemory(store)


def test_what_holds_no_longer_says_so(memory: AgentMemory) -> None:
    first, second = memory.recall(QUERY).splitlines()
    assert first.endswith("(id: m2)")
    assert second.endswith("(id: m1; unsure; no longer so: until 2026-06-05, superseded by m2)")


@pytest.mark.parametrize(
    ("as_of", "number"), [("2026-06-04", "m1"), ("2026-06-05", "m2"), ("2026-06-05T09:00:00", "m1"), ("", "m2")]
)
def test_as_of_a_day_counts_the_whole_day(memory: AgentMemory, as_of: str, number: str) -> None:
    assert f"(id: {number}" in memory.recall(QUERY, 5, as_of=as_of).splitlines()[0]


def test_what_is_no_day_is_said(memory: AgentMemory) -> None:
    with pytest.raises(InvalidArgument, match="as_of is 'monday'"):
        memory.recall(QUERY, as_of="monday")


# -- how much is shown -------------------------------------------------------------------------------------------------


def long_store(count: int = 12) -> MemoryStore:
    store = MemoryStore.open()
    store.remember_many(Memory(f"Tomatoes, row {i}: " + "water them well. " * 400, id=f"m{i}") for i in range(count))
    store.remember(Memory("My cat is called Otto", id="cat"))
    return store


def test_small_talk_recalls_nothing_and_doubts_are_said() -> None:
    with long_store() as store:
        memory = AgentMemory(store)
        assert memory.recall("hi, how are you?") == "Nothing is remembered about that."
        assert AgentMemory(store, score_min=0.0).recall("hi, how are you?").splitlines()[0].endswith("; unsure)")
        assert memory.recall("what is my cat called?").endswith("] My cat is called Otto (id: cat)")


def test_a_long_memory_is_cut_before_its_id_and_an_answer_is_bounded() -> None:
    with long_store() as store:
        answer = AgentMemory(store).recall("tomatoes row water", 20)
        *lines, last = answer.splitlines()
        assert all(" characters more) (id: m" in line for line in lines) and len(answer) < 12_200
        assert 0 < len(lines) < 12 and last == f"({12 - len(lines)} more are left out: 12,000 characters at most.)"


def test_a_setting_says_which_score_is_the_least() -> None:
    with long_store() as store:
        config = RecallConfig(ranking=RankingConfig(score_min=0.99))
        assert AgentMemory(QueryOptimizer(store, config=config)).recall("my cat").startswith("Nothing")


# -- judging -----------------------------------------------------------------------------------------------------------

U1 = Scope("u1")


@pytest.fixture
def learning() -> Iterator[QueryOptimizer]:
    with MemoryStore.open() as store:
        store.remember_many([Memory("Priya runs the deploy", id="m1"), Memory("Sam drinks tea", id="m2")], scope=U1)
        yield QueryOptimizer(store, config=RecallConfig(mode="learned"))


def test_an_answer_is_judged_by_the_id_in_its_last_line(learning: QueryOptimizer) -> None:
    memory = AgentMemory(learning, U1)
    line = memory.recall("who runs the deploy?").splitlines()[-1]
    assert memory.judge(line, ["(id: m1)"], ["m2"]) == "Noted: m1, m2."
    assert (
        memory.judge(line.removeprefix("(answer: ").removesuffix(")"), ["gone", "m1"]) == "Noted: m1. Not known: gone."
    )
    (judged,) = learning.store.judgements.of(U1)
    assert sorted((gain.gain, gain.sure) for gain in judged.gains) == [(0.0, 1.0), (1.0, 0.5)]
    with pytest.raises(InvalidArgument):
        memory.judge(line)
    for other, answer in ((memory, "never"), (AgentMemory(learning, Scope("u2")), line)):
        with pytest.raises(NotFound, match="last line"):
            other.judge(answer, ["m1"])


def test_where_nothing_is_learned_nothing_of_it_is_shown(memory: AgentMemory, learning: QueryOptimizer) -> None:
    assert "answer:" not in memory.recall(QUERY)
    assert "answer:" not in AgentMemory(learning, Scope("nobody")).recall("tea")
    assert [tool.name for tool in memory_tools(memory.store)] == ["recall_memory", "remember_this", "forget_this"]
    assert [tool.name for tool in memory_tools(learning, scope=U1)][-1] == "judge_recall"


def test_the_tool_says_what_it_noted(learning: QueryOptimizer) -> None:
    tools = {tool.name: tool for tool in memory_tools(learning, scope=U1)}
    answer = tools["recall_memory"].invoke({"query": "deploy"}).splitlines()[-1]
    judge = tools["judge_recall"]
    assert judge.invoke({"answer_id": answer, "used": ["m1"]}) == "Noted: m1."
    assert judge.invoke({"answer_id": "x", "used": ["m1"]}).startswith("That did not work.")
