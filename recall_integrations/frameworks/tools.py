"""Tools for an agent's use of its memory: `recall_memory`, `remember_this` and `forget_this`.

With `mode: learned` also `judge_recall`: which memories the agent has used, and which had nothing to do with the query.

Few arguments, dates as ISO 8601, answers in sentences that a model can go on with: each memory with its id, so that it
can be forgotten. A missing argument is the framework's own error; the answer says what the store refuses, with
what to do instead, so that the agent goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

from pydantic import BaseModel

from recall_integrations.errors import InvalidArgument, NotSearched, RecallError
from recall_integrations.frameworks import agent as words
from recall_integrations.frameworks.agent import AgentMemory, ForgetThis, JudgeRecall, RecallMemory, RememberThis
from recall_integrations.frameworks.given import WhichScope

if TYPE_CHECKING:
    from langchain_core.tools import StructuredTool
    from llama_index.core.tools import FunctionTool


class _Tool(NamedTuple):
    name: str
    description: str
    schema: type[BaseModel]
    call: Callable[..., str]
    acall: Callable[..., Awaitable[str]]


@overload
def memory_tools(
    store: Any, *, scope: WhichScope = None, framework: Literal["langchain"] = "langchain"
) -> list[StructuredTool]: ...


@overload
def memory_tools(store: Any, *, scope: WhichScope = None, framework: Literal["llamaindex"]) -> list[FunctionTool]: ...


def memory_tools(store: Any, *, scope: WhichScope = None, framework: str = "langchain") -> list[Any]:
    """Return the tools for an agent: three, and a fourth with `mode: learned`.

    Args:
        store: a `MemoryStore`, or a `QueryOptimizer` over one.
        scope: of the memory; a function where it is known only when a tool is called.
        framework: `langchain` (and LangGraph) or `llamaindex`.

    Raises:
        InvalidArgument: an unknown framework, or neither store nor optimizer.
    """
    memory = AgentMemory(store, scope)
    tools = [
        _tool("recall_memory", words.RECALL, RecallMemory, memory.recall, memory.arecall),
        _tool("remember_this", words.REMEMBER, RememberThis, memory.remember),
        _tool("forget_this", words.FORGET, ForgetThis, memory.forget),
    ]
    if memory.judged:
        tools.append(_tool("judge_recall", words.JUDGE, JudgeRecall, memory.judge))
    if framework == "langchain":
        from langchain_core.tools import StructuredTool

        return [
            StructuredTool.from_function(
                func=t.call, coroutine=t.acall, name=t.name, description=t.description, args_schema=t.schema
            )
            for t in tools
        ]
    if framework == "llamaindex":
        from llama_index.core.tools import FunctionTool

        return [
            FunctionTool.from_defaults(
                fn=t.call,
                async_fn=t.acall,
                name=t.name,
                description=t.description,
                fn_schema=t.schema,
            )
            for t in tools
        ]
    raise InvalidArgument(f"framework is {framework!r}. Use 'langchain' (for LangGraph too) or 'llamaindex'.")


def _tool(
    name: str,
    description: str,
    schema: type[BaseModel],
    call: Callable[..., str],
    acall: Callable[..., Awaitable[str]] | None = None,
) -> _Tool:
    """Return a tool that checks its arguments, which not all frameworks do, and answers with its errors."""

    def now(**given: Any) -> str:
        arguments = schema(**given).model_dump()
        try:
            return call(**arguments)
        except RecallError as e:
            return _refused(e)

    async def later(**given: Any) -> str:
        arguments = schema(**given).model_dump()
        try:
            return await (acall(**arguments) if acall is not None else asyncio.to_thread(call, **arguments))
        except RecallError as e:
            return _refused(e)

    return _Tool(name, description, schema, now, later)


def _refused(error: RecallError) -> str:
    said = error.args[0] if error.args else error  # `str` of a KeyError is in quotes
    if isinstance(error, NotSearched):
        return f"{said} Try again in a moment; do not conclude that nothing is remembered."
    return f"That did not work. {said}"
