"""`RecallMemoryBlock`: keeps messages that leave LlamaIndex's short-term `Memory`, and recalls them when needed."""

from __future__ import annotations

import asyncio
from typing import Any

from pydantic import Field, PrivateAttr

from recall_integrations.delivery.packing import estimate_tokens
from recall_integrations.delivery.showing import not_searched, warn_once
from recall_integrations.errors import extra, refuse_unknown
from recall_integrations.frameworks.given import optimizer_of, said, score_min_of, within_chars, zone_of
from recall_integrations.optimizer import QueryOptimizer
from recall_integrations.types import Filters, Scope, checked_scope

with extra("llama-index-core", "RecallMemoryBlock"):
    from llama_index.core.base.llms.types import ChatMessage, TextBlock
    from llama_index.core.memory.memory import BaseMemoryBlock

SESSION = "session_id"


class RecallMemoryBlock(BaseMemoryBlock[str]):
    """A block of LlamaIndex's `Memory` over an optimizer.

    Messages that leave the short-term memory are stored one by one, with who said them, in the thread of their session.
    The last message of the user is the query of a recall over all sessions of the scope; the hits stand in the prompt
    with their date and speaker.

    Args:
        store: a `MemoryStore`, or a `QueryOptimizer` over one.
        scope: of the memory; default `Scope()`.
        k: most memories.
        tokens_max: about the most tokens; default no limit but that of 12,000 characters.
        score_min: least score of a memory that is shown, 0 to 1; default `ranking.score_min`, or .15 where that is 0.
        this_session_only: recall only messages of the present session.
        name, description, priority, accept_short_term_memory: LlamaIndex's own.
    """

    name: str = "RecalledMemories"
    store: Any = Field(exclude=True, repr=False)
    scope: Scope = Field(default_factory=Scope)
    k: int = Field(default=5, ge=1)
    tokens_max: int | None = Field(default=None, ge=1)
    score_min: float | None = Field(default=None, ge=0, le=1)
    this_session_only: bool = False
    _optimizer: QueryOptimizer = PrivateAttr()

    def __init__(self, **fields: Any) -> None:
        refuse_unknown("RecallMemoryBlock", fields, type(self).model_fields)
        optimizer = optimizer_of(fields.get("store"))  # its errors, before pydantic's
        super().__init__(**{**fields, "scope": checked_scope(fields.get("scope"))})
        self._optimizer = optimizer

    async def _aget(
        self, messages: list[ChatMessage] | None = None, session_id: str | None = None, **_more: Any
    ) -> str:
        query = _question(messages or [])
        if not query:
            return ""
        result = await self._optimizer.arecall(
            query,
            k=self.k,
            scope=self.scope,
            filters=Filters(threads=[session_id]) if self.this_session_only and session_id else None,
            tokens_max=self.tokens_max,
            score_min=score_min_of(self._optimizer, self.score_min),
        )
        if (error := not_searched(result)) is not None:  # the model shall not take it for "nothing is known"
            warn_once(result)
            return str(error).replace("\n", " ")
        zone = zone_of(self._optimizer)
        return "\n".join(within_chars([said(hit, zone, with_id=False) for hit in result.hits]))

    async def _aput(self, messages: list[ChatMessage]) -> None:
        """Store messages. Messages without text are left out; given again, as after an error, they are stored once."""
        by_session: dict[str | None, list[ChatMessage]] = {}
        for message in messages:
            session = message.additional_kwargs.get(SESSION)
            by_session.setdefault(session if isinstance(session, str) and session.strip() else None, []).append(message)
        for thread, said_there in by_session.items():
            await asyncio.to_thread(self._optimizer.store.remember_many, said_there, scope=self.scope, thread=thread)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Leave out memories from the end, which matter least, until enough tokens are saved."""
        lines = content.split("\n")
        while lines and tokens_to_truncate > 0:
            tokens_to_truncate -= max(estimate_tokens(lines.pop()), 1)
        return "\n".join(lines) or None


def _question(messages: list[ChatMessage]) -> str:
    """Return the last text of the user; without a user, the last text."""
    texts = [(m.role.value, "\n".join(b.text for b in m.blocks if isinstance(b, TextBlock)).strip()) for m in messages]
    asked = [text for role, text in texts if role == "user" and text]
    return next((text for text in reversed(asked or [text for _, text in texts]) if text), "")
