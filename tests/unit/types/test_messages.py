"""Chat messages of the frameworks as memories."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    messages_to_dict,
)
from llama_index.core.base.llms.types import CitableBlock, ImageBlock, TextBlock, ThinkingBlock, ToolCallBlock
from llama_index.core.llms import ChatMessage as LlamaMessage

from recall_integrations import Memory, MemoryStore, OptimizedRecallRetriever, QueryOptimizer, Scope
from recall_integrations.errors import InvalidMemory
from recall_integrations.types.roles import Role
from tests.rows import each_row

PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
CALL = {"name": "search", "args": {"query": "tea", "limit": 3}, "id": "1"}
CALLED = 'called search(query="tea", limit=3)'
OPENAI_CALL = {"id": "c", "type": "function", "function": {"name": "search", "arguments": '{"query":"tea","limit":3}'}}


def case(message: object, text: str, role: Role | None, actor: str | None = None, **more: Any) -> Any:
    return pytest.param(
        message, text, role, actor or (role and role.value), more, id=f"{type(message).__name__}-{text}"
    )


CASES = [
    case(HumanMessage("hi", id="h1"), "hi", Role.USER, id="h1"),
    case(HumanMessage("hi", name="Sam"), "hi", Role.USER, "Sam"),
    case(AIMessage("hello"), "hello", Role.ASSISTANT),
    case(AIMessageChunk(content="hel"), "hel", Role.ASSISTANT),
    case(AIMessage("hello", name="Claude"), "hello", Role.ASSISTANT, "Claude"),
    case(SystemMessage("be kind"), "be kind", Role.SYSTEM),
    case(ToolMessage("42", tool_call_id="1"), "42", Role.TOOL),
    case(ToolMessage("42", tool_call_id="1", name="search"), "42", Role.TOOL, "search"),
    case(FunctionMessage("42", name="search"), "42", Role.TOOL, "search"),
    case(ChatMessage("hi", role="Human"), "hi", Role.USER),
    case(ChatMessage("order!", role="moderator"), "order!", None, "moderator"),
    case(AIMessage("", tool_calls=[CALL]), CALLED, Role.ASSISTANT),
    case(AIMessage("Wait.", tool_calls=[CALL]), f"Wait.\n{CALLED}", Role.ASSISTANT),
    case(  # as Anthropic's adapter gives it: the call is in the content too
        AIMessage(
            ["Wait.", {"type": "tool_use", "name": "search", "input": CALL["args"], "id": "1"}], tool_calls=[CALL]
        ),
        f"Wait.\n{CALLED}",
        Role.ASSISTANT,
    ),
    case(AIMessage("", additional_kwargs={"tool_calls": [OPENAI_CALL]}), CALLED, Role.ASSISTANT),
    case(HumanMessage(["one", {"type": "text", "text": "two"}]), "one\ntwo", Role.USER),
    case(HumanMessage(["What is it?", PICTURE]), "What is it?", Role.USER, metadata={"left_out": ["image_url"]}),
    case(messages_to_dict([HumanMessage("hi", id="h1")])[0], "hi", Role.USER, id="h1"),
    case(LlamaMessage(role="user", content="hi"), "hi", Role.USER),
    case(LlamaMessage(role="chatbot", content="hi"), "hi", Role.ASSISTANT),
    case(LlamaMessage(role="model", content="hi"), "hi", Role.ASSISTANT),
    case(LlamaMessage(role="developer", content="hi"), "hi", Role.SYSTEM),
    case(LlamaMessage(role="function", content="hi"), "hi", Role.TOOL),
    case(
        LlamaMessage(
            role="assistant",
            blocks=[
                ThinkingBlock(content="hm"),
                TextBlock(text="Wait."),
                ToolCallBlock(tool_name="search", tool_kwargs={"query": "tea", "limit": 3}),
            ],
        ),
        f"Wait.\n{CALLED}",
        Role.ASSISTANT,
        metadata={"left_out": ["thinking"]},
    ),
    case(LlamaMessage(role="assistant", additional_kwargs={"tool_calls": [OPENAI_CALL]}), CALLED, Role.ASSISTANT),
    case(
        LlamaMessage(role="user", blocks=[CitableBlock(title="t", source="s", content=[TextBlock(text="cited")])]),
        "cited",
        Role.USER,
    ),
    case({"role": "user", "content": "hi"}, "hi", Role.USER),
    case({"role": "developer", "content": "be kind"}, "be kind", Role.SYSTEM),
    case({"role": "user", "name": "Sam", "content": "hi", "id": "m1"}, "hi", Role.USER, "Sam", id="m1"),
    case({"role": "assistant", "content": None, "tool_calls": [OPENAI_CALL]}, CALLED, Role.ASSISTANT),
    case(
        {"role": "assistant", "content": None, "function_call": {"name": "now", "arguments": "{broken"}},
        "called now({broken)",
        Role.ASSISTANT,
    ),
    case({"role": "assistant", "content": None, "refusal": "No."}, "No.", Role.ASSISTANT),
    case({"role": "tool", "tool_call_id": "c", "content": "42"}, "42", Role.TOOL),
    case(
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "42"}]}],
        },
        "42",
        Role.TOOL,
    ),
    case(
        {"role": "user", "content": [{"type": "tool_result", "content": "42"}, {"type": "text", "text": "so?"}]},
        "42\nso?",
        Role.USER,
    ),
    case(
        {"role": "assistant", "content": [{"type": "tool_use", "name": "now", "input": {}}]},
        "called now()",
        Role.ASSISTANT,
    ),
    case({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}, "hi", Role.USER),
    case({"role": "model", "parts": [{"text": "hi"}]}, "hi", Role.ASSISTANT),
    case(
        SimpleNamespace(
            id="msg_1", type="message", role="assistant", content=[SimpleNamespace(type="text", text="hi")]
        ),
        "hi",
        Role.ASSISTANT,
        id="msg_1",
    ),
]


@each_row(("message", "text", "role", "actor", "more"), CASES)
def test_messages(message: object, text: str, role: Role | None, actor: str, more: dict[str, Any]) -> None:
    made = Memory.from_message(message, thread="t", position=3)
    assert (made.text, made.role, made.actor) == (text, role, actor)
    assert (made.thread, made.position) == ("t", 3)
    assert (made.id, made.metadata) == (more.get("id"), more.get("metadata", {}))


def test_text_is_kept_byte_for_byte() -> None:
    assert Memory.from_message(HumanMessage("  a\n\n b ")).text == "  a\n\n b "


def test_fields_come_before_what_the_message_says() -> None:
    made = Memory.from_message(
        HumanMessage(["hi", PICTURE], id="h1"), id="x", actor="Sam", type="fact", metadata={"a": 1}, role="assistant"
    )
    assert (made.id, made.actor, str(made.type), made.role) == ("x", "Sam", "fact", Role.ASSISTANT)
    assert made.metadata == {"left_out": ["image_url"], "a": 1}


@each_row(
    ("message", "problem"),
    [
        (HumanMessage([PICTURE]), "The human message has no text; it holds only image_url"),
        (LlamaMessage(role="user", blocks=[ImageBlock(image=b"x")]), "The user message .* only image"),
        (AIMessage(""), "The ai message has no text; it holds nothing"),
        (RemoveMessage(id="3"), "The remove message has no text"),
        ({"role": "user", "content": None}, "The user message has no text"),
        ({"role": "user", "content": " \n"}, "The user message has no text"),
        ({"role": "user", "content": []}, "The user message has no text"),
        ({"role": "user"}, "no chat message"),
        ({"text": "hi"}, "no chat message"),
        ("hi", "no chat message"),
        (None, "no chat message"),
        (7, "no chat message"),
        (Memory("hi"), "no chat message"),
    ],
)
def test_what_cannot_be_a_memory_is_a_clear_error(message: object, problem: str) -> None:
    with pytest.raises(InvalidMemory, match=problem):
        Memory.from_message(message)


def deep(levels: int) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "text", "text": "bottom"}
    for _ in range(levels):
        block = {"type": "tool_result", "content": [block]}
    return {"role": "user", "content": [block]}


def test_blocks_in_blocks_end_somewhere() -> None:
    assert Memory.from_message(deep(3)).text == "bottom"
    with pytest.raises(InvalidMemory, match="holds only tool_result"):
        Memory.from_message(deep(50))


# -- in a store --------------------------------------------------------------------------------------------------------

CHAT: list[BaseMessage] = [
    SystemMessage("You are kind."),
    HumanMessage("I cannot eat peanuts."),
    AIMessage("Noted. Shall I look for recipes?"),
    HumanMessage("ok"),
    AIMessage("", tool_calls=[{"name": "recipes", "args": {"without": "peanuts"}, "id": "1"}]),
    ToolMessage("Lentil soup", tool_call_id="1", name="recipes"),
    AIMessage("I recommend the lentil soup."),
    HumanMessage("ok"),
]


def listed(store: MemoryStore, ids: list[str], scope: Scope | None = None) -> list[Memory]:
    return [m for i in ids if (m := store.get(i, scope=scope)) is not None]


def test_a_chat_is_remembered_as_it_is() -> None:
    with MemoryStore.open() as store:
        ids = store.remember_many(CHAT, thread="chat-1")
        found = listed(store, ids)
        assert [m.position for m in found] == list(range(8))
        assert {m.thread for m in found} == {"chat-1"}
        assert [str(m.role) for m in found] == "system user assistant user assistant tool assistant user".split()
        assert found[4].text == 'called recipes(without="peanuts")'


def test_the_same_chat_again_changes_nothing_and_a_longer_one_adds() -> None:
    with MemoryStore.open() as store:
        ids = store.remember_many(CHAT, thread="chat-1")
        before, version = listed(store, ids), store.version(1)
        assert store.remember_many(CHAT, thread="chat-1") == ids
        assert store.version(1) == version
        more = store.remember_many([*CHAT, HumanMessage("Thanks, the soup was good.")], thread="chat-1")
        assert more[:-1] == ids
        assert listed(store, ids) == before
        assert store.count() == 9
        assert listed(store, more)[-1].position == 8
        # The window that an agent still has in mind: nothing moves, and its "ok" is the second one.
        assert store.remember_many([*CHAT[4:], AIMessage("Glad to hear it.")], thread="chat-1")[:4] == ids[4:]
        assert store.count() == 10


def test_another_thread_is_another_chat() -> None:
    with MemoryStore.open() as store:
        assert not set(store.remember_many(CHAT, thread="a")) & set(store.remember_many(CHAT, thread="b"))
        assert store.count() == 16


def test_messages_keep_their_ids_and_edits_replace() -> None:
    with MemoryStore.open() as store:
        assert store.remember_many([HumanMessage("hi", id="m1"), AIMessage("hello", id="m2")], thread="t") == [
            "m1",
            "m2",
        ]
        assert store.remember_many([HumanMessage("hi!", id="m1"), AIMessage("hello", id="m2")], thread="t") == [
            "m1",
            "m2",
        ]
        found = listed(store, ["m1", "m2"])
        assert [(m.text, m.position) for m in found] == [("hi!", 0), ("hello", 1)]


def test_messages_memories_and_texts_may_be_mixed() -> None:
    with MemoryStore.open() as store:
        items = [
            LlamaMessage(role="user", content="one"),
            Memory("two", id="two", actor="Sam"),
            "three",
            {"role": "assistant", "content": "four"},
            SystemMessage("five"),
        ]
        found = listed(store, store.remember_many(iter(items), thread="t"))
        assert [m.text for m in found] == "one two three four five".split()
        assert [(m.thread, m.position) for m in found] == [("t", 0), (None, None), ("t", 1), ("t", 2), ("t", 3)]
        again = listed(store, store.remember_many(items, thread="t"))
        assert [m.position for m in again if m.role] == [0, 2, 3]


def test_one_message() -> None:
    with MemoryStore.open() as store:
        assert store.remember(HumanMessage("hi", id="m1")) == "m1"
        assert store.remember({"role": "user", "content": "hello"}) != store.remember(
            {"role": "user", "content": "hello"}
        )
        assert store.count() == 3


def test_a_bad_message_stores_nothing_and_is_named() -> None:
    with MemoryStore.open() as store:
        with pytest.raises(InvalidMemory, match="The ai message has no text"):
            store.remember(AIMessage(""))
        with pytest.raises(InvalidMemory, match="Item 1 is int. Give Memory objects, texts or chat messages"):
            store.remember_many(["hi", 7])  # type: ignore[list-item]
        with pytest.raises(InvalidMemory, match="Item 1 repeats the id 'm1'"):
            store.remember_many([HumanMessage("hi", id="m1"), HumanMessage("ho", id="m1")])
        with pytest.raises(InvalidMemory, match="thread is empty"):
            store.remember_many([HumanMessage("hi")], thread="")
        with pytest.raises(InvalidMemory, match="Use `remember` for a single one"):
            store.remember_many(HumanMessage("hi"))  # type: ignore[arg-type]
        assert store.count() == 0


EMPTY: list[Any] = [
    AIMessage(""),
    {"role": "user", "content": None},
    HumanMessage([PICTURE]),
    LlamaMessage(role="assistant", blocks=[ThinkingBlock(content="hm")]),
]


@each_row("thread", ["chat-1", None])
@each_row("lazy", [False, True])
def test_messages_without_text_are_left_out_and_counted(thread: str | None, lazy: bool) -> None:
    mixed = [EMPTY[0], *CHAT[:2], EMPTY[1], EMPTY[2], *CHAT[2:], EMPTY[3]]
    with MemoryStore.open() as store:
        ids = store.remember_many(iter(mixed) if lazy else mixed, thread=thread)
        assert ids.skipped == (0, 3, 4, 11)
        assert [m.text for m in listed(store, ids)] == [Memory.from_message(m).text for m in CHAT]
        assert store.count() == len(CHAT)
        if thread is not None:
            assert [m.position for m in listed(store, ids)] == list(range(len(CHAT)))
            plain = store.remember_many(CHAT, thread=thread)
            assert plain == ids and plain.skipped == ()
            assert store.count() == len(CHAT)


def test_a_chat_without_any_text_stores_nothing() -> None:
    with MemoryStore.open() as store:
        ids = store.remember_many(EMPTY, thread="chat-1")
        assert ids == [] and ids.skipped == (0, 1, 2, 3)
        assert store.remember_many([], thread="chat-1").skipped == ()
        assert store.scopes() == []


def test_both_frameworks_show_the_role() -> None:
    with MemoryStore.open() as store:
        store.remember_many(CHAT, thread="chat-1")
        retriever = OptimizedRecallRetriever(optimizer=QueryOptimizer(store), k=1)
        document = retriever.invoke("peanuts that I cannot eat")[0]
        assert document.metadata["recall_role"] == "user"
        node = retriever.retrieve("recommend the lentil soup")[0].node
        assert node.metadata["recall_role"] == "assistant"
        store.remember(Memory("Peonies need sun", actor="Kim"))
        assert retriever.invoke("peonies sun")[0].metadata["recall_role"] == ""
