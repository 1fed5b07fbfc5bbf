from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest
from langchain_core.language_models.fake import FakeListLLM
from langchain_core.language_models.fake_chat_models import FakeListChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda
from llama_index.core.llms import MockLLM
from pydantic import BaseModel

from recall_integrations.adapters.llm import LlmError, identity_of, resolve_llm, text_of
from recall_integrations.errors import InvalidArgument, RecallError
from tests.rows import each_row


def ask(source: object, prompt: str = "hello") -> str:
    llm = resolve_llm(source)
    assert llm is not None
    return llm(prompt)


def test_none_is_none() -> None:
    assert resolve_llm(None) is None


@each_row("source", [3, "gpt", object(), str, ["x"]])
def test_what_is_no_model_is_refused(source: object) -> None:
    with pytest.raises(InvalidArgument, match="not a language model"):
        resolve_llm(source)


def test_a_function() -> None:
    assert ask(lambda prompt: prompt.upper()) == "HELLO"


def test_langchain_models() -> None:
    assert ask(FakeListChatModel(responses=["yes"])) == "yes"
    assert ask(FakeListLLM(responses=["yes"])) == "yes"


def test_langchain_runnables() -> None:
    assert ask(RunnableLambda(lambda prompt: prompt + "!")) == "hello!"
    model = FakeListChatModel(responses=["yes"])
    assert ask(ChatPromptTemplate.from_template("{q}") | model | StrOutputParser()) == "yes"


def test_a_message_of_blocks() -> None:
    blocks = [
        {"type": "reasoning", "reasoning": "hm"},
        {"type": "thinking", "thinking": "hm", "text": "hm"},
        {"type": "text", "text": "one\n"},
        {"type": "tool_use", "name": "x", "input": {}},
        "two",
        {"type": "text", "text": None},
    ]
    assert ask(GenericFakeChatModel(messages=iter([AIMessage(content=blocks)]))) == "one\ntwo"


def test_llamaindex_models() -> None:
    assert ask(MockLLM(), "hello") == "hello"


@each_row(
    ("answer", "text"),
    [
        ("x", "x"),
        ("", ""),
        ({"output": "x"}, "x"),
        ({"content": [{"type": "text", "text": "x"}]}, "x"),
        (SimpleNamespace(text="x"), "x"),
        (SimpleNamespace(content="x"), "x"),
        (SimpleNamespace(message=SimpleNamespace(content="x")), "x"),
        ([SimpleNamespace(block_type="text", text="x"), SimpleNamespace(block_type="image")], "x"),
        (AIMessage(content=""), ""),
        (None, None),
        (5, None),
        ({"other": "x"}, None),
        (b"x", None),
    ],
)
def test_text_of_an_answer(answer: object, text: str | None) -> None:
    assert text_of(answer) == text


def test_an_answer_without_text_is_an_error() -> None:
    with pytest.raises(LlmError, match="NoneType"):
        ask(lambda prompt: None)


def test_its_exception_becomes_ours() -> None:
    def broken(prompt: str) -> str:
        raise TimeoutError("too slow")

    with pytest.raises(RecallError, match="broken failed: TimeoutError: too slow") as caught:
        ask(broken)
    assert isinstance(caught.value.__cause__, TimeoutError)


def test_a_function_needs_no_framework() -> None:
    code = (
        "import sys; from recall_integrations.adapters.llm import resolve_llm as r; r(lambda p: p)('x');"
        "print([m for m in ('langchain_core', 'llama_index') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_model_that_takes_the_place_of_another_in_memory_is_another() -> None:
    """An id goes to the next object once the last one is gone: no answer kept for one model may serve another."""
    told = [identity_of(resolve_llm(FakeListLLM(responses=[str(i)]))) for i in range(100)]
    assert len(set(told)) == len(told)
    model = FakeListLLM(responses=["yes"])
    assert identity_of(resolve_llm(model)) == identity_of(resolve_llm(model))


def test_a_model_that_nothing_may_refer_to_weakly_keeps_its_identity() -> None:
    class Slotted:
        __slots__ = ()

        def invoke(self, prompt: str) -> str:
            return prompt

    model = Slotted()
    assert identity_of(resolve_llm(model)) == identity_of(resolve_llm(model)) != identity_of(resolve_llm(Slotted()))


class Read(BaseModel):
    text: str
    turns: list[int]


class Memories(BaseModel):
    memories: list[Read]


@each_row(
    ("answer", "text"),
    [
        (Memories(memories=[Read(text="tea", turns=[1])]), '{"memories": [{"text": "tea", "turns": [1]}]}'),
        ({"memories": [{"text": "tea", "turns": [1]}]}, '{"memories": [{"text": "tea", "turns": [1]}]}'),
        ({"raw": AIMessage(""), "parsed": Memories(memories=[]), "parsing_error": None}, '{"memories": []}'),
        ({"raw": AIMessage("tea"), "parsed": None, "parsing_error": ValueError("x")}, "tea"),
        ({"messages": [{"role": "user", "content": "tea"}]}, None),
        ({"object": "chat.completion", "choices": [{"index": 0, "message": {"content": "tea"}}]}, None),
        ({"object": "text_completion", "choices": [{"text": "tea", "finish_reason": "stop"}]}, None),
    ],
)
def test_structured_output_is_written_as_json(answer: object, text: str | None) -> None:
    assert text_of(answer) == text
