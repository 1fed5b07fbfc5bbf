"""`RecallStore` where LangGraph uses it, in graphs, beside an event loop, with times to live; the tools in an agent."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, create_react_agent
from langgraph.store.base import BaseStore, InvalidNamespaceError

from recall_integrations import Memory, MemoryStore, QueryOptimizer, Scope
from recall_integrations.errors import InvalidArgument, InvalidMemory, InvalidQuery, StoreClosed
from recall_integrations.frameworks.chat_history import remember_turns
from recall_integrations.frameworks.langgraph import RecallStore
from recall_integrations.frameworks.tools import memory_tools

pytestmark = pytest.mark.usefixtures("no_hurry")


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 11, 22, 12, 0, tzinfo=timezone.utc)

    def __call__(self) -> datetime:
        return self.now

    def forward(self, minutes: float) -> None:
        self.now += timedelta(minutes=minutes)


@pytest.fixture
def store() -> Iterator[RecallStore]:
    with RecallStore.open() as made:
        yield made


def keys(items: Any) -> list[str]:
    return [item.key for item in items]


def test_an_agents_memory_outlives_its_process(tmp_path: Path) -> None:
    with RecallStore.open(tmp_path / "s") as store:
        store.put(("users", "u1"), "tea", {"text": "Priya likes green tea"})
        store.put(("users", "u2"), "sea", {"text": "Sam sails in winter"})
        store.put(("users", "u1"), "cat", {"text": "Priya has a cat"})
        store.delete(("users", "u1"), "tea")
        store.put(("users", "u1"), "tea", {"text": "Priya likes black tea"})
        before = store.search(())
    with RecallStore.open(tmp_path / "s") as store:
        assert store.search(()) == before
        assert keys(before) == ["cat", "tea", "sea"]
        assert keys(store.search(("users",), query="Who sails?", limit=1)) == ["sea"]
        assert keys(store.search(("users", "u1"), query="Who sails?")) != ["sea"]


def test_a_search_over_a_thousand_namespaces_is_one_recall(store: RecallStore) -> None:
    from langgraph.store.base import PutOp

    store.batch(
        [PutOp(("users", f"u{i}"), "k", {"text": f"user {i} keeps a raven called Otto{i}"}) for i in range(1_000)]
    )
    recalled = []
    inner = store.optimizer.recall
    store.optimizer.recall = lambda *a, **k: recalled.append(1) or inner(*a, **k)  # type: ignore[method-assign, func-returns-value]
    found = store.search(("users",), query="Who has the raven Otto731?", limit=3)
    assert found[0].namespace == ("users", "u731")
    assert len(found) == 3 and recalled == [1]
    assert len(store.list_namespaces(prefix=("users",), limit=2_000)) == 1_000


def test_filters_meet_queries(store: RecallStore) -> None:
    for i in range(200):
        store.put(("n",), f"k{i}", {"text": f"tea number {i}", "i": i, "kind": "odd" if i % 2 else "even"})
    assert {int(k[1:]) for k in keys(store.search(("n",), query="tea", filter={"i": {"$gte": 195}}))} == set(
        range(195, 200)
    )
    found = store.search(("n",), query="tea number", filter={"kind": "odd", "i": {"$lt": 50}}, limit=30)
    assert {int(k[1:]) for k in keys(found)} == set(range(1, 50, 2))
    assert keys(store.search(("n",), query="tea", filter={"kind": "none"})) == []
    pages = [keys(store.search(("n",), query="tea number 7", limit=10, offset=o)) for o in (0, 10, 20)]
    assert pages == [keys(store.search(("n",), query="tea number 7", limit=30))[o : o + 10] for o in (0, 10, 20)]


@pytest.mark.slow
def test_a_needle_is_found_whatever_the_filter(store: RecallStore) -> None:
    from langgraph.store.base import PutOp

    ops = [PutOp(("n",), f"k{i}", {"text": f"tea number {i}", "tags": ["a"], "i": i}) for i in range(1_500)]
    store.batch([*ops, PutOp(("n",), "needle", {"text": "a raven", "tags": ["x"], "who": {"name": "Sam"}, "i": "1e9"})])
    for wanted in ({"tags": ["x"]}, {"who": {"name": "Sam"}}, {"i": {"$gt": 1e8}}, {"i": "1e9"}):
        assert keys(store.search(("n",), query="which tea?", filter=wanted)) == ["needle"]
    assert store.search(("n",), query="which tea?", filter={"tags": ["y"]}) == []


def test_what_is_indexed() -> None:
    with RecallStore.open(index={"fields": ["text", "notes[*].said"]}) as store:
        store.put(("n",), "a", {"text": "green tea", "secret": "walrus"})
        store.put(("n",), "b", {"notes": [{"said": "ravens"}, {"said": "crows"}]})
        store.put(("n",), "c", {"title": "walrus"}, index=["title"])
        store.put(("n",), "d", {"text": "walrus"}, index=False)
        found = store.search(("n",), query="walrus")
        assert found[0].key == "c" and [i.score for i in found if i.key == "d"] == [None]
        assert found[-1].key == "d" and found[0].score > found[1].score  # type: ignore[operator]
        assert keys(store.search(("n",), query="crows"))[0] == "b"
        assert "walrus" not in str(store.memories.get('["n","a"]', scope=store.scope).text)  # type: ignore[union-attr]
    with RecallStore.open(index=False) as store:
        store.put(("n",), "a", {"text": "tea"}, index=["text"])
        assert [(i.key, i.score) for i in store.search(("n",), query="tea")] == [("a", None)]


@pytest.mark.parametrize(
    "index",
    [{"dims": 3}, {"embed": len}, {"fields": "text"}, {"field": ["text"]}],
    ids=["dims", "embed", "text", "key"],
)
def test_an_index_that_cannot_be_is_an_error(index: Any) -> None:
    with MemoryStore.open() as memories, pytest.raises(InvalidArgument, match="index has"):
        RecallStore(memories, index=index)


def test_the_embedding_of_an_index_opens_the_store() -> None:
    with RecallStore.open(index={"embed": DeterministicFakeEmbedding(size=8), "dims": 8, "fields": ["t"]}) as store:
        assert store.memories.dimensions == 8
    with pytest.raises(InvalidArgument, match="dims=9"):
        RecallStore.open(index={"embed": DeterministicFakeEmbedding(size=8), "dims": 9})


def test_a_bad_value_changes_nothing(store: RecallStore) -> None:
    from langgraph.store.base import PutOp

    store.put(("n",), "a", {"text": "tea"})
    bad: Any = {"text": {1, 2}}
    with pytest.raises(InvalidMemory, match="The item 'c'"):
        store.batch([PutOp(("n",), "a", None), PutOp(("n",), "b", {"text": "x"}), PutOp(("n",), "c", bad)])
    assert keys(store.search(())) == ["a"]


def test_two_stores_over_one_scope_see_each_other(store: RecallStore) -> None:
    other = RecallStore(store.optimizer)
    store.put(("n",), "a", {"text": "tea"})
    assert keys(other.search(())) == ["a"]
    other.put(("n",), "b", {"text": "sea"})
    assert keys(store.search(())) == ["a", "b"]
    store.memories.remember(Memory("not an item", channel="slack", metadata={"langgraph": "mine"}))
    store.memories.forget('["n","a"]')
    assert keys(store.search(())) == keys(store.search((), query="tea")) == ["b"]
    assert keys(RecallStore(store.memories, scope=Scope(user_id="u2")).search(())) == []


def test_a_user_is_forgotten_for_good(tmp_path: Path) -> None:
    from langgraph.store.base import InvalidNamespaceError

    with RecallStore.open(tmp_path / "s") as store:
        store.put(("users", "u1"), "a", {"text": "Priya drinks oolong"})
        store.put(("users", "u1", "more"), "b", {"text": "Priya keeps a wolverine"}, index=False)
        store.put(("users", "u10"), "c", {"text": "Sam sails"})
        for wrong in ((), "users"):
            with pytest.raises(InvalidNamespaceError):
                store.forget(wrong)
        assert [store.forget(("users", "u1")), store.forget(("users", "u1"))] == [2, 0]
        assert keys(store.search(())) == ["c"] and store.list_namespaces() == [("users", "u10")]
        store.memories.compact()
    held = b"".join(path.read_bytes() for path in (tmp_path / "s").rglob("*") if path.is_file())
    assert not [word for word in (b"oolong", b"wolverine", b"Priya") if word in held] and b"Sam sails" in held


def test_threads_share_a_store(store: RecallStore) -> None:
    def work(n: int) -> None:
        for i in range(6):
            store.put(("n", f"t{n}"), f"k{i}", {"text": f"tea {n} {i}"})
            assert store.get(("n", f"t{n}"), f"k{i}") is not None
            assert len(store.search(("n", f"t{n}"), query="tea")) == i + 1
            store.search(("n",), filter={"text": f"tea {n} {i}"})
            store.memories.remember(f"something else {n} {i}", scope=store.scope)  # which has the catalogue read anew
        store.delete(("n", f"t{n}"), "k0")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert len(store.search(("n",), limit=100)) == len(store.search(("n",), query="tea", limit=100)) == 20
    assert keys(store.search(("n", "t2"))) == ["k1", "k2", "k3", "k4", "k5"]


def test_times(store: RecallStore) -> None:
    clock = Clock()
    with RecallStore.open(clock=clock) as store:
        store.put(("n",), "a", {"v": 1})
        clock.forward(5)
        store.put(("n",), "a", {"v": 2})
        item = store.get(("n",), "a")
        assert item is not None and item.updated_at - item.created_at == timedelta(minutes=5)


def test_a_time_to_live_ends() -> None:
    clock = Clock()
    with RecallStore.open(clock=clock, ttl={"default_ttl": 10}) as store:
        store.put(("n",), "short", {"text": "green tea"})
        store.put(("n",), "long", {"text": "black tea"}, ttl=60)
        store.put(("m",), "ever", {"text": "no tea"}, ttl=None)
        clock.forward(9)
        assert store.get(("n",), "short", refresh_ttl=False) is not None
        clock.forward(2)
        assert store.get(("n",), "short") is None
        assert keys(store.search(())) == ["long", "ever"]
        assert set(keys(store.search((), query="tea", refresh_ttl=False))) == {"long", "ever"}
        clock.forward(61)
        assert keys(store.search(())) == ["ever"] and store.list_namespaces() == [("m",)]
        store.put(("n",), "short", {"text": "tea again"}, ttl=None)
        assert keys(store.search(())) in (["ever", "short"], ["short", "ever"])
        store.put(("n",), "other", {"text": "tea"}, ttl=1)
        clock.forward(2)
        assert [store.sweep_ttl(), store.sweep_ttl(), store.memories.count()] == [1, 0, 2]


def test_reading_lets_live() -> None:
    clock = Clock()
    with RecallStore.open(clock=clock) as store:
        for key in ("got", "found", "listed", "left"):
            store.put(("n", key), "k", {"text": f"tea for {key}"}, ttl=10)
        for _ in range(3):
            clock.forward(9)
            assert store.get(("n", "got"), "k") and store.search(("n", "found"), query="tea")
            assert store.search(("n", "listed"))
        assert [i.namespace[1] for i in store.search(("n",))] == ["got", "found", "listed"]
        created = store.get(("n", "got"), "k")
        assert created is not None and created.updated_at == created.created_at
        clock.forward(11)
        assert store.search(("n",)) == []
    with RecallStore.open(clock=clock, ttl={"refresh_on_read": False}) as store:
        store.put(("n",), "k", {"text": "tea"}, ttl=10)
        clock.forward(9)
        assert store.get(("n",), "k") is not None
        clock.forward(2)
        assert store.get(("n",), "k") is None


@pytest.mark.parametrize("minutes", [0, -1, float("nan"), float("inf"), "5"])
def test_a_time_to_live_that_is_none_is_an_error(store: RecallStore, minutes: Any) -> None:
    with pytest.raises(InvalidArgument, match="number of minutes"):
        store.put(("n",), "k", {"text": "tea"}, ttl=minutes)
    with pytest.raises(InvalidArgument, match="number of minutes"):
        RecallStore(store.memories, ttl={"default_ttl": minutes})
    assert store.search(()) == []


async def test_async_does_not_block_the_loop(store: RecallStore) -> None:
    loop_thread = threading.get_ident()
    threads: list[int] = []
    inner = store.batch
    store.batch = lambda ops: threads.append(threading.get_ident()) or time.sleep(0.05) or inner(ops)  # type: ignore[method-assign, func-returns-value]
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0.005)

    ticking = asyncio.create_task(tick())
    await store.aput(("n",), "a", {"text": "green tea"})
    assert (await store.aget(("n",), "a")).value == {"text": "green tea"}  # type: ignore[union-attr]
    assert keys(await store.asearch(("n",), query="tea")) == ["a"]
    assert await store.alist_namespaces() == [("n",)]
    await store.adelete(("n",), "a")
    ticking.cancel()
    assert loop_thread not in threads and len(threads) == 5 and ticks > 10


def test_a_graph_remembers(store: RecallStore) -> None:
    def answer(state: MessagesState, *, store: BaseStore) -> dict[str, Any]:
        asked = state["messages"][-1].text
        known = store.search(("users", "u1"), query=asked, limit=1)
        store.put(("users", "u1"), str(len(state["messages"])), {"text": asked})
        return {"messages": [AIMessage(known[0].value["text"] if known else "I do not know.")]}

    graph = StateGraph(MessagesState)
    graph.add_node("answer", answer)
    graph.add_edge(START, "answer")
    graph.add_edge("answer", END)
    app = graph.compile(store=store)
    assert app.invoke({"messages": [HumanMessage("My cat is called Otto.")]})["messages"][-1].text == "I do not know."
    found = app.invoke({"messages": [HumanMessage("What is my cat called?")]})["messages"][-1].text
    assert found == "My cat is called Otto."


def test_a_node_remembers_what_is_said() -> None:
    with MemoryStore.open() as memories:
        graph = StateGraph(MessagesState)
        graph.add_node("remember", remember_turns(memories, scope=Scope(user_id="u1")))
        graph.add_edge(START, "remember")
        app = graph.compile()
        said: list[Any] = [HumanMessage("My cat is called Otto."), AIMessage("A fine name.")]
        app.invoke({"messages": said}, {"configurable": {"thread_id": "t1"}})
        app.invoke({"messages": [*said, HumanMessage("He is three.")]}, {"configurable": {"thread_id": "t1"}})
        assert memories.count(scope=Scope(user_id="u1")) == 3
        hit = QueryOptimizer(memories).recall("what is the cat called?", scope=Scope(user_id="u1")).hits[0]
        assert hit.memory.thread == "t1" and "Otto" in hit.memory.text


class ToolModel(GenericFakeChatModel):
    def bind_tools(self, tools: Any, **_more: Any) -> Any:
        return self


def call(name: str, **args: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": args, "id": name, "type": "tool_call"}])


def test_an_agent_remembers_recalls_and_forgets() -> None:
    scope = Scope(user_id="u1")
    with MemoryStore.open() as memories:
        tools = memory_tools(memories, scope=scope)
        model = ToolModel(
            messages=iter(
                [
                    call("remember_this", text="Priya likes green tea", type="preference", happened_on="2026-03-12"),
                    call("recall_memory", query="what does Priya drink?", since=None),
                    call("recall_memory"),
                    AIMessage("Green tea."),
                ]
            )
        )
        agent = create_react_agent(model, tools)
        said = agent.invoke({"messages": [HumanMessage("What does Priya drink?")]})["messages"]
        answers = [m.text for m in said if isinstance(m, ToolMessage)]
        (memory,) = memories.reader.fetch_ids(1, [answers[0].split("id: ")[1].rstrip(").")]).values()
        assert answers[1] == f"1. [2026-03-12] Priya likes green tea (id: {memory.id})"
        assert "Field required" in answers[2]
        node = StateGraph(MessagesState).add_node("tools", ToolNode(tools)).add_edge(START, "tools").compile()
        for expected in ("Forgotten", "That did not work. There is no memory"):
            done = node.invoke({"messages": [call("forget_this", memory_id=memory.id)]})["messages"][-1]
            assert done.text.startswith(expected)
        assert memories.count(scope=scope) == 0


@pytest.mark.parametrize("value", ["My cat", [], [("a", 1)], 5])
def test_a_value_that_is_no_mapping_is_an_error(store: RecallStore, value: Any) -> None:
    with pytest.raises(InvalidMemory, match="The item 'k' .* must be a mapping"):
        store.put(("v",), "k", value)
    assert store.search(()) == []


def test_an_item_is_found_by_a_key_that_has_our_name(store: RecallStore) -> None:
    store.put(("v",), "k", {"langgraph": "x", "text": "hello there"})
    assert keys(store.search(("v",), query="hello", filter={"langgraph": "x"})) == ["k"]
    assert store.search(("v",), query="hello", filter={"langgraph": "y"}) == []


@pytest.mark.parametrize(
    ("opening", "said"),
    [
        ({"ttl": 60}, "ttl is 60. Give .*default_ttl"),
        ({"ttl": {"default_ttl_minutes": 60}}, "unknown keys default_ttl_minutes"),
        ({"index": ["text"]}, "index must be .*fields"),
        ({"index": "text"}, "index must be .*fields"),
        ({"index": {"fields": 3}}, "fields=3"),
        ({"index": {"fields": ["a", 3]}}, "fields="),
    ],
)
def test_settings_that_mean_nothing_are_errors(opening: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidArgument, match=said):
        RecallStore.open(**opening)


def test_arguments_of_a_call_that_mean_nothing_are_errors(store: RecallStore) -> None:
    store.put(("v",), "k", {"text": "hello"})
    with pytest.raises(InvalidArgument, match="index is 3"):
        store.put(("v",), "k", {"text": "hello"}, index=3)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="filter must be a mapping"):
        store.search(("v",), filter="text")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="minutes"):
        store.put(("v",), "k", {"text": "hello"}, ttl=1e300)
    with pytest.raises(InvalidQuery, match="must be text"):
        store.search(("v",), query=5)  # type: ignore[arg-type]
    for prefix in (None, 5):
        with pytest.raises(InvalidNamespaceError, match="tuple of texts"):
            store.forget(prefix)  # type: ignore[arg-type]
    assert [item.value for item in store.search(())] == [{"text": "hello"}]


def test_an_embedding_by_langgraphs_name_of_it_is_langgraphs(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def made(name: Any) -> Any:
        asked.append(name)
        return DeterministicFakeEmbedding(size=8)

    monkeypatch.setattr("recall_integrations.frameworks.langgraph.ensure_embeddings", made)
    with RecallStore.open(index={"embed": "openai:text-embedding-3-small", "dims": 8}) as store:
        assert store.memories.dimensions == 8
    assert asked == ["openai:text-embedding-3-small"]


def test_a_state_that_is_no_mapping_is_remembered_as_well() -> None:
    with MemoryStore.open() as memories:
        said = SimpleNamespace(messages=[HumanMessage("My cat is called Otto.")])
        assert remember_turns(memories)(said, {}) == {}
        assert memories.count() == 1


def test_what_was_given_stays_open() -> None:
    with MemoryStore.open() as memories:
        optimizer = QueryOptimizer(memories)
        with RecallStore(optimizer) as store:
            store.put(("u",), "k", {"text": "Tea is ready"})
        assert optimizer.recall("tea", k=1).hits
        own = RecallStore(memories)
        own.close()
        with pytest.raises(StoreClosed):
            own.search(("u",), query="tea")
        assert memories.count() == 1
