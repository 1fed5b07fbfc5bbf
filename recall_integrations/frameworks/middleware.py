"""`RecallMiddleware`: tells the model of a LangChain agent what is remembered, and remembers its turns."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from recall_integrations.errors import extra
from recall_integrations.frameworks.context import MemoryContext

with extra("langchain", "RecallMiddleware"):
    from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
    from langchain_core.messages import AnyMessage, SystemMessage
    from langgraph.config import get_config

from recall_integrations.frameworks.chat_history import remember_turns

logger = logging.getLogger("recall_integrations")


class RecallMiddleware(AgentMiddleware[Any, Any, Any]):
    """Middleware of `create_agent`: puts the block of `MemoryContext` behind the system prompt of each model call.

    The last message of the user is the question. The block repeats no message of the conversation, and is not kept in
    the state of the agent. If the memory fails, the agent goes on without it, and a warning is logged.

    Args:
        store: a `MemoryStore`, or a `QueryOptimizer` over one.
        remember: whether to store the user's message and the answer when the agent has ended, in the thread of the run
            (`thread_id`).
        about: the other arguments of `MemoryContext`: `scope`, `tokens_max`, `k`, `score_min`, `privacy`.
    """

    def __init__(self, store: Any, *, remember: bool = False, **about: Any) -> None:
        super().__init__()
        self._context = MemoryContext(store, **about)
        self._remember = remember_turns(store, scope=about.get("scope")) if remember else None

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        block = ""
        with _harmless("recall"):
            query, seen = _heard(request.messages)
            block = self._context.block(query, seen=seen)
        return handler(_telling(request, block))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        block = ""
        with _harmless("recall"):
            query, seen = _heard(request.messages)
            block = await self._context.ablock(query, seen=seen)
        return await handler(_telling(request, block))

    def after_agent(self, state: Any, runtime: Any) -> None:
        if self._remember is not None:
            with _harmless("remember"):
                self._remember({"messages": _turn(state["messages"])}, get_config())

    async def aafter_agent(self, state: Any, runtime: Any) -> None:
        if self._remember is not None:
            await asyncio.to_thread(self.after_agent, state, runtime)


def _heard(messages: Sequence[AnyMessage]) -> tuple[str, set[str]]:
    texts = [(message.type, str(message.text)) for message in messages]
    return next((text for kind, text in reversed(texts) if kind == "human"), ""), {text for _, text in texts}


def _turn(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return the last message of the user and the answers to it, without calls of tools and their results."""
    asked = next((i for i in reversed(range(len(messages))) if messages[i].type == "human"), len(messages))
    return [m for m in messages[asked:] if m.type in ("human", "ai") and not getattr(m, "tool_calls", ())]


def _telling(request: ModelRequest[Any], block: str) -> ModelRequest[Any]:
    """Return the request with the block at the end of the system prompt, so that its beginning stays the same."""
    if not block:
        return request
    system = request.system_message
    if system is None:
        told = SystemMessage(block)
    elif isinstance(system.content, str):
        told = system.model_copy(update={"content": f"{system.content}\n\n{block}"})
    else:
        told = system.model_copy(update={"content": [*system.content, {"type": "text", "text": block}]})
    return request.override(system_message=told)


@contextmanager
def _harmless(what: str) -> Iterator[None]:
    try:
        yield
    except Exception as e:
        logger.warning("The agent goes on without its memory: it could not %s (%s).", what, type(e).__name__)
        logger.debug("The memory of the agent failed.", exc_info=True)
