"""`RecallChatMessageHistory`: LangChain's chat history over a thread of a store.

The messages come back as they went in, parts, tool calls and all; and any recall of the scope finds their text.
A message without text has a place in the history, and is named after its parts: an image alone is "(image)".
LangChain keeps this interface for chains that use `RunnableWithMessageHistory`; of an agent in LangGraph, whose
checkpointer has the history, `remember_turns` remembers the messages.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import select

from recall_integrations.database import schema
from recall_integrations.errors import InvalidMemory, extra
from recall_integrations.frameworks.given import WhichScope, optimizer_of, scope_now
from recall_integrations.types import Filters, Memory, Scope, checked_id, checked_scope, utc_now
from recall_integrations.types.messages import spoken

with extra("langchain-core", "RecallChatMessageHistory"):
    from langchain_core.chat_history import BaseChatMessageHistory
    from langchain_core.messages import BaseMessage, message_to_dict, messages_from_dict
    from langchain_core.runnables import RunnableConfig

OWN = "langchain_message"  # key of the metadata
NO_TEXT = "nothing"


class RecallChatMessageHistory(BaseChatMessageHistory):
    """The messages of one session, in order.

    Args:
        store: a `MemoryStore`, or a `QueryOptimizer` over one.
        session_id: the conversation: a thread of the scope.
        scope: of the memory; default `Scope()`.
        clock: the time of a message.

    Raises:
        InvalidArgument, InvalidMemory: neither store nor optimizer; a session id that is no text.
    """

    def __init__(
        self,
        store: Any,
        session_id: str,
        *,
        scope: Scope | None = None,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        super().__init__()
        self._store = optimizer_of(store).store
        self.session_id = checked_id(session_id, "session_id", InvalidMemory)
        self.scope = checked_scope(scope)
        self._clock = clock

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]
        """All messages, oldest first."""
        scope_id = self._store.scope_id(self.scope)
        if scope_id is None:
            return []
        ids = self._ids(scope_id)
        found = self._store.reader.fetch_ids(scope_id, ids)
        kept = (found[i].metadata.get(OWN) for i in ids if i in found)
        return messages_from_dict([dict(k) for k in kept if isinstance(k, Mapping)])

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Add messages behind the last one. They are durable, and can be recalled, when this returns.

        Raises:
            InvalidMemory: an item is no message, or cannot be written as JSON; nothing was changed.
        """
        given: Any = messages
        listed = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [None]
        if not all(isinstance(message, BaseMessage) for message in listed):
            raise InvalidMemory("Give a list of LangChain's messages, such as [HumanMessage('…')].")
        now = self._clock()
        made = [self._memory(message, now) for message in messages]
        if made:
            self._store.remember_many(made, scope=self.scope)

    def clear(self) -> None:
        """Remove all messages of the session, from the history and from memory."""
        ours = Filters(threads=[self.session_id], metadata={OWN: {"$exists": True}})
        self._store.forget(filters=ours, scope=self.scope)

    def _memory(self, message: BaseMessage, now: datetime) -> Memory:
        said = spoken(message, thread=self.session_id) or {
            "text": _named(message),
            "actor": message.type,
            "thread": self.session_id,
        }
        given = said.pop("metadata", {})
        # A message may be in several histories, and twice in one: its own id is not that of its memory.
        fields = {**said, "id": str(uuid.uuid4()), "created_at": now}
        return Memory(**fields, metadata={**given, OWN: message_to_dict(message)})

    def _ids(self, scope_id: int) -> list[str]:
        m = schema.memories
        with self._store.reading(), self._store.engine.connect() as connection:
            query = select(m.c.id).where(m.c.scope_id == scope_id, m.c.thread == self.session_id)
            return [str(found) for found in connection.execute(query.order_by(m.c.position, m.c.num)).scalars()]


def remember_turns(
    store: Any, *, scope: WhichScope = None, thread: str | Callable[[], str] | None = None
) -> Callable[[Any, RunnableConfig], dict[str, Any]]:
    """Return a node for a LangGraph graph of messages: it remembers new messages, and changes nothing in the state.

    Args:
        store: a `MemoryStore`, or a `QueryOptimizer` over one.
        scope: of the memory; a function where only the run knows.
        thread: the conversation, likewise; default the `thread_id` of the run.
    """
    memories = optimizer_of(store).store

    def remember(state: Any, config: RunnableConfig) -> dict[str, Any]:
        named = thread() if callable(thread) else thread
        if named is None:
            named = str((config.get("configurable") or {}).get("thread_id") or "") or None
        # A state may be a mapping, a pydantic model or a dataclass.
        messages = state.get("messages") if isinstance(state, Mapping) else getattr(state, "messages", None)
        memories.remember_many(messages or (), scope=scope_now(scope), thread=named)
        return {}

    return remember


def _named(message: BaseMessage) -> str:
    """Return the text for a message without text: the kinds of its parts."""
    parts = message.content if isinstance(message.content, list) else []
    kinds = [str(part.get("type") or "") for part in parts if isinstance(part, dict)]
    said = ", ".join(dict.fromkeys(kind.removesuffix("_url").replace("_", " ") for kind in kinds if kind != "text"))
    return f"({said or NO_TEXT})"
