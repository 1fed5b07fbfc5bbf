"""LangChain's chat histories over a store: what goes in comes back, and is found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.chat_history import InMemoryChatMessageHistory
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables.history import RunnableWithMessageHistory

from recall_integrations import Memory, MemoryStore, QueryOptimizer, Scope
from recall_integrations.errors import InvalidArgument, InvalidMemory
from recall_integrations.frameworks.chat_history import RecallChatMessageHistory

pytestmark = pytest.mark.usefixtures("no_hurry")
U1 = Scope(user_id="u1")
MESSAGES: list[BaseMessage] = [
    SystemMessage("You are kind."),
    HumanMessage(
        [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": "http://x/y"}}]
    ),
    AIMessage("", tool_calls=[{"name": "look", "args": {"at": "raven"}, "id": "1", "type": "tool_call"}], id="run-1"),
    ToolMessage([{"type": "text", "text": "A raven called Otto"}], tool_call_id="1", artifact={"bird": True}),
    HumanMessage([{"type": "image_url", "image_url": {"url": "http://x/z"}}]),
    AIMessage("ok", id="run-1", response_metadata={"model": "m"}),
    HumanMessage("ok", name="Priya"),
    HumanMessage("ok", name="Priya"),
]


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with MemoryStore.open() as made:
        yield made


def test_messages_come_back_as_they_went_in(store: MemoryStore) -> None:
    ours, theirs = RecallChatMessageHistory(store, "s1", scope=U1), InMemoryChatMessageHistory()
    assert ours.messages == []
    for history in (ours, theirs):
        history.add_messages(MESSAGES[:3])
        history.add_messages([])
        for message in MESSAGES[3:]:
            history.add_message(message)
    assert ours.messages == theirs.messages and str(ours) == str(theirs)
    assert RecallChatMessageHistory(store, "s2", scope=U1).messages == []
    assert RecallChatMessageHistory(store, "s1").messages == []
    found = QueryOptimizer(store).recall("what is the raven called?", scope=U1, k=1).hits[0].memory
    assert (found.text, found.thread, found.role) == ("A raven called Otto", "s1", "tool")
    RecallChatMessageHistory(store, "s2", scope=U1).add_user_message("stays")
    store.remember(Memory("of the same thread", thread="s1"), scope=U1)
    ours.clear()
    assert ours.messages == [] and store.count(scope=U1) == 2


def test_what_has_no_text_is_called_by_what_it_is(store: MemoryStore) -> None:
    RecallChatMessageHistory(store, "s1").add_messages([MESSAGES[4], AIMessage(""), HumanMessage([])])
    assert [memory.text for memory in store.list()] == ["(image)", "(nothing)", "(nothing)"]


async def test_async(store: MemoryStore) -> None:
    history = RecallChatMessageHistory(QueryOptimizer(store), "s1")
    await history.aadd_messages(MESSAGES)
    assert await history.aget_messages() == MESSAGES
    await history.aclear()
    assert await history.aget_messages() == []


def test_with_a_runnable(store: MemoryStore) -> None:
    seen: list[Any] = []

    class Model(GenericFakeChatModel):
        def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
            seen.append([m.text for m in messages])
            return super()._generate(messages, *args, **kwargs)

    model = Model(messages=iter([AIMessage("A fine name."), AIMessage("Otto.")]))
    chain = RunnableWithMessageHistory(model, lambda session_id: RecallChatMessageHistory(store, session_id))
    config: Any = {"configurable": {"session_id": "s1"}}
    chain.invoke([HumanMessage("My cat is called Otto.")], config)
    chain.invoke([HumanMessage("What is my cat called?")], config)
    assert seen[1] == ["My cat is called Otto.", "A fine name.", "What is my cat called?"]


def test_what_cannot_be_stored_changes_nothing(store: MemoryStore) -> None:
    history = RecallChatMessageHistory(store, "s1")
    with pytest.raises(InvalidMemory):
        history.add_messages([HumanMessage("fine"), HumanMessage("bad", additional_kwargs={"x": {1, 2}})])
    assert history.messages == []
    with pytest.raises(InvalidMemory, match="session_id"):
        RecallChatMessageHistory(store, "")
    given: Any = "memories/"
    with pytest.raises(InvalidArgument):
        RecallChatMessageHistory(given, "s1")


@pytest.mark.parametrize("given", ["hi", None, 5, HumanMessage("hi"), ["hi"], [("human", "hi")]])
def test_what_is_no_list_of_messages_is_an_error(store: MemoryStore, given: Any) -> None:
    with pytest.raises(InvalidMemory, match="list of LangChain's messages"):
        RecallChatMessageHistory(store, "s").add_messages(given)
    assert store.count() == 0
