"""The model of the agent notebook: rules that decide when to use which memory tool. Put a chat model in its place."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult

_LINE = re.compile(r"^\d+\. \[([\d-]+)[^\]]*\] (.*) \(id: ([^;)]+)(?:;.*)?\)$", re.MULTILINE)


class RuleAgent(BaseChatModel):
    """Recalls before it answers a question, remembers what people say of themselves, forgets what it is told to."""

    @property
    def _llm_type(self) -> str:
        return "rules"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> RuleAgent:  # type: ignore[override]
        """The rules know the tools already."""
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=decide(messages))])


def decide(messages: Sequence[BaseMessage]) -> AIMessage:
    """What the rules do next: say something, or use a tool."""
    last = messages[-1]
    asked = next(str(m.content) for m in reversed(messages) if isinstance(m, HumanMessage))
    if isinstance(last, ToolMessage):
        return _after(last, asked)
    number = f"call-{len(messages)}"
    if asked.lower().startswith("forget"):
        return _use("recall_memory", {"query": asked.split(" ", 1)[1], "limit": 1}, number)
    if asked.endswith("?"):
        return _use("recall_memory", {"query": asked, "limit": 3}, number)
    if re.search(r"\b(I|my|we|our)\b", asked, re.IGNORECASE):
        kind = "preference" if re.search(r"\b(prefer|like|love|rather)\b", asked) else "fact"
        return _use("remember_this", {"text": asked, "type": kind}, number)
    return AIMessage("All right.")


def _after(done: ToolMessage, asked: str) -> AIMessage:
    """What comes after a tool has answered."""
    if done.name == "remember_this":
        return AIMessage("I will remember that.")
    if done.name == "forget_this":
        return AIMessage("It is forgotten.")
    found = _LINE.findall(str(done.content))
    if not found:
        return AIMessage("I don't know. Tell me, and I will remember it.")
    day, text, memory_id = found[0]
    if asked.lower().startswith("forget"):
        return _use("forget_this", {"memory_id": memory_id}, f"{done.tool_call_id}-forget")
    return AIMessage(f"You told me on {day}: {text}")


def _use(tool: str, arguments: dict[str, Any], number: str) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": tool, "args": arguments, "id": number}])
