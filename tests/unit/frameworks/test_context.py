"""The block of a prompt, and the middleware that puts it there."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from typing import Any

import pytest
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool

from recall_integrations import Memory, MemoryStore, Scope
from recall_integrations.delivery.packing import estimate_tokens
from recall_integrations.errors import InvalidArgument
from recall_integrations.frameworks.context import KNOWN, NEAR, MemoryContext
from tests.needs import needed
from tests.rows import each_row

NOW = datetime(2026, 9, 1, 12, tzinfo=timezone.utc)
COOK = "what shall I cook tonight?"


def on(month: int) -> datetime:
    return datetime(2026, month, 5, 10, tzinfo=timezone.utc)


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with MemoryStore.open() as opened:
        opened.remember_many(
            [
                Memory("I live in Berlin", id="berlin", event_at=on(1)),
                Memory("I am vegetarian", id="diet", type="preference", event_at=on(2)),
                Memory("I moved to Lisbon", id="lisbon", event_at=on(6)),
                Memory("My e-mail is sam@example.org", id="mail", event_at=on(6)),
                Memory("The deploy on Friday failed\rbecause a certificate had expired", id="deploy", event_at=on(7)),
            ]
        )
        yield opened


def test_a_block_says_what_holds_of_the_user_and_what_is_near(store: MemoryStore) -> None:
    assert MemoryContext(store).block(COOK, now=NOW).splitlines() == [
        KNOWN,
        "- email: sam@example.org (since 2026-06-05)",
        "- home: Lisbon (since 2026-06-05)",
        NEAR,
        "- [2026-02-05] I am vegetarian",
    ]
    assert (
        MemoryContext(store)
        .block("why did the deploy fail?", now=NOW)
        .endswith("- [2026-07-05] The deploy on Friday failed\n  because a certificate had expired")
    )


@each_row(
    "query, near",
    [
        ("where do I live now?", ["- [2026-06-05] I moved to Lisbon"]),
        ("where did I live before?", ["- [2026-01-05] I live in Berlin (no longer so since 2026-06-05)"]),
    ],
)
def test_what_was_superseded_is_marked_where_it_was_asked_for_and_else_left_out(
    store: MemoryStore, query: str, near: list[str]
) -> None:
    lines = MemoryContext(store).block(query, now=NOW).splitlines()
    assert lines[lines.index(NEAR) + 1 :] == near
    assert sum("Lisbon" in line for line in lines) == 1  # as a memory or as a fact


@each_row("query", ["hi, how are you", "thanks!", "tell me a joke", "ok", "", " \n"])
def test_a_question_that_no_memory_answers_adds_nothing(store: MemoryStore, query: str) -> None:
    assert MemoryContext(store).block(query, now=NOW) == ""


@each_row("tokens_max", [1, 12, 25, 40, 60, 100, 200])
def test_a_block_has_no_more_tokens_than_it_may(store: MemoryStore, tokens_max: int) -> None:
    store.remember(Memory("For dinner I cook lentils. " * 100, event_at=on(8)))
    block = MemoryContext(store, tokens_max=tokens_max).block(COOK, now=NOW)
    assert estimate_tokens(block) <= tokens_max
    assert tokens_max < 40 or "lentils" in block


def test_a_block_keeps_the_privacy_mode_and_bad_arguments_are_refused_at_once(store: MemoryStore) -> None:
    redacted = MemoryContext(store, privacy="redact").block(COOK, now=NOW)
    assert "email" in redacted and "sam@example.org" not in redacted
    assert MemoryContext(store, privacy="block").block(COOK, now=NOW) == ""
    for wrong in ({"tokens_max": 0}, {"k": 0}, {"score_min": 2}, {"privacy": "no"}):
        with pytest.raises(InvalidArgument, match=next(iter(wrong)).split("_")[0]):
            MemoryContext(store, **wrong)


def test_what_was_superseded_stays_out_where_the_prompt_has_what_superseded_it(store: MemoryStore) -> None:
    block = MemoryContext(store).block("where do I live now?", seen=["I moved to Lisbon"], now=NOW)
    assert "Berlin" not in block


@each_row(("query", "said"), [("where do I live?", [False, False]), ("where did I live before?", [True, True])])
def test_of_what_changed_twice_a_block_tells_what_holds_or_all_that_was(
    store: MemoryStore, query: str, said: list[bool]
) -> None:
    store.remember(Memory("I live in Oslo now", event_at=on(8)))
    block = MemoryContext(store).block(query, now=NOW)
    assert [f"{city} (no longer so" in block for city in ("Berlin", "Lisbon")] == said and "Oslo" in block


def test_placeholders_of_a_scope_tell_nothing_of_another_or_of_what_was_hidden_before(store: MemoryStore) -> None:
    user = ["u1"]
    context = MemoryContext(store, scope=lambda: Scope(user_id=user[0]), privacy="redact")
    blocks = []
    for user[0] in ("u1", "u2"):
        mail = Memory(f"My e-mail is {user[0]}@example.org", event_at=on(5))
        store.remember_many([mail, Memory("I am vegetarian", event_at=on(6))], scope=Scope(user_id=user[0]))
        blocks.append(context.block(COOK, now=NOW))
    assert "- email: [email-1]" in blocks[0] and blocks[0] == blocks[1]


def test_a_value_has_one_placeholder_in_facts_and_memories_and_no_other_value_has_it(store: MemoryStore) -> None:
    plumber = "The plumber's number is +1 212 555 0000, for the sink"
    store.remember_many(["My phone number is +1 415 555 2671", plumber, "Call me on +1 415 555 2671 about the sink"])
    context = MemoryContext(store, privacy="redact", k=2, score_min=0.1)
    block = context.block("who is called about the sink?")
    (own,) = re.findall(r"^- phone number: (\[phone-\d\])", block, re.MULTILINE)
    (other,) = re.findall(r"plumber's number is (\[phone-\d\])", block)
    assert f"Call me on {own}" in block and own != other
    assert "plumber" not in context.block("who is called about the sink?", seen=[plumber])


class Model(GenericFakeChatModel):
    asked: list[list[BaseMessage]] = []  # noqa: RUF012 - a field of pydantic

    def _generate(self, messages: list[BaseMessage], *args: Any, **more: Any) -> Any:
        self.asked.append(messages)
        return super()._generate(messages, *args, **more)

    def bind_tools(self, tools: Any, **more: Any) -> Any:
        return self


def recalling(store: MemoryStore, **how: Any) -> Any:
    needed("langchain", "needs LangChain's agents: pip install langchain")
    from recall_integrations.frameworks.middleware import RecallMiddleware

    return RecallMiddleware(store, **how)


def agent(model: Model, middleware: Any, **more: Any) -> Any:
    from langchain.agents import create_agent

    return create_agent(model, middleware=[middleware], **more)


async def ask(agent: Any, said: Sequence[BaseMessage] | str, *, wait: bool) -> str:
    given = {"messages": [HumanMessage(said)] if isinstance(said, str) else list(said)}
    config = {"configurable": {"thread_id": "t1", "user": "u1"}}
    found = await agent.ainvoke(given, config) if wait else agent.invoke(given, config)
    return str(found["messages"][-1].content)


@pytest.mark.parametrize("wait", [False, True])
async def test_the_model_is_told_and_the_turn_is_remembered(store: MemoryStore, wait: bool) -> None:
    @tool
    def oven() -> str:
        """Say whether the oven works."""
        return "The oven is broken."

    call = AIMessage("Let me look.", tool_calls=[{"name": "oven", "args": {}, "id": "c1"}])
    model = Model(messages=iter([call, AIMessage("A salad."), AIMessage("Fine!")]))
    made = agent(model, recalling(store, remember=True), tools=[oven], system_prompt="Be kind.")
    block = MemoryContext(store).block(COOK)
    assert await ask(made, COOK, wait=wait) == "A salad."
    assert await ask(made, "hi, how are you", wait=wait) == "Fine!"
    systems = [messages[0].content for messages in model.asked if isinstance(messages[0], SystemMessage)]
    assert systems == [f"Be kind.\n\n{block}", f"Be kind.\n\n{block}", "Be kind."]  # before and after the tool
    new = [(m.text, m.actor, m.thread) for m in store.list(limit=20)[5:]]
    assert new == [
        (COOK, "user", "t1"),
        ("A salad.", "assistant", "t1"),
        ("hi, how are you", "user", "t1"),
        ("Fine!", "assistant", "t1"),
    ]


async def test_a_block_stands_behind_parts_of_a_prompt_and_repeats_no_message(store: MemoryStore) -> None:
    model = Model(messages=iter([AIMessage("a"), AIMessage("b"), AIMessage("c")]))
    parts: Any = SystemMessage([{"type": "text", "text": "Be kind."}])
    await ask(agent(model, recalling(store), system_prompt=parts), COOK, wait=False)
    await ask(agent(model, recalling(store)), COOK, wait=False)
    said = [HumanMessage("I am vegetarian"), AIMessage("Noted."), HumanMessage(COOK)]
    await ask(agent(model, recalling(store)), said, wait=False)
    block = MemoryContext(store).block(COOK)
    assert model.asked[0][0].content == [{"type": "text", "text": "Be kind."}, {"type": "text", "text": block}]
    assert model.asked[1][0].content == block
    assert model.asked[2] == said or "vegetarian" not in str(model.asked[2][0].content).partition(NEAR)[2]
    assert store.count() == 5  # not remembered


@pytest.mark.parametrize("wait", [False, True])
async def test_an_agent_goes_on_without_its_memory(
    store: MemoryStore, wait: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def nobody() -> Any:
        return None

    model = Model(messages=iter([AIMessage("one"), AIMessage("two"), AIMessage("three")]))
    mine = recalling(store, remember=True)
    with caplog.at_level(logging.WARNING):
        assert await ask(agent(model, recalling(store, scope=nobody, remember=True)), COOK, wait=wait) == "one"
        assert store.count() == 5 and "could not recall (InvalidScope)" in caplog.text
        other = recalling(store, scope=lambda: Scope(user_id="u2"), remember=True)
        assert await ask(agent(model, other), COOK, wait=wait) == "two"
        store.close()
        assert await ask(agent(model, mine), COOK, wait=wait) == "three"
    assert "could not recall (StoreClosed)" in caplog.text and "could not remember (StoreClosed)" in caplog.text
    assert [len(messages) for messages in model.asked] == [1, 1, 1]  # nothing of another scope
