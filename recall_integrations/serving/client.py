"""`RecallClient`: a served store as a retriever of both frameworks, with its write side.

from recall_integrations.serving import RecallClient

retriever = RecallClient("http://127.0.0.1:8000", k=3)   # was: OptimizedRecallRetriever(optimizer=…, k=3)
"""

from __future__ import annotations

import asyncio
import itertools
import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote

import httpx

from recall_integrations.adapters.filters import FiltersLike
from recall_integrations.adapters.rows import memory_of, row_of
from recall_integrations.adapters.scopes import scope_text
from recall_integrations.delivery.as_data import record_of
from recall_integrations.errors import InvalidArgument, InvalidMemory, NotFound, RecallTimeout, ServerError
from recall_integrations.observability.progress import Told, counted
from recall_integrations.resilience.deadline import checked_ms
from recall_integrations.retriever import OptimizedRecallRetriever
from recall_integrations.serving.remote import RemoteOptimizer, filters_data, time_data, understood
from recall_integrations.serving.wire import RETRIES, Asked, Wire
from recall_integrations.store.given import Chat, check_many, checked, checked_wish, in_batches
from recall_integrations.types import Memory, Scope, ScopeLike, checked_scope, unchecked_memory, utc_now
from recall_integrations.types.facts import Conversation, Fact
from recall_integrations.types.messages import Message, is_message, spoken

AT_ONCE = 500  # memories in one request


class RecallClient(OptimizedRecallRetriever):
    """A retriever of both frameworks over a store that a server has open, with methods that write to the store.

    It can replace an `OptimizedRecallRetriever` anywhere, and returns the same documents, nodes and results.
    `client.optimizer` can replace a `QueryOptimizer`.

    Args:
        url: address of the server, such as `http://127.0.0.1:8000`.
        token: for the server, if it asks for one. The client never shows it; a pickle holds it.
        timeout: seconds that a request may take with its retries, 30 by default; a recall with a `time_budget_ms` has
            that and a quarter of a second.
        retries: number of times that a request is sent again where the server is away or busy (429, 503): after the
            time it gives (`Retry-After`), or after a tenth of a second, doubled each time, as far as the time reaches.
        on_error: `raise` (the default), or `empty`: where the server is away or late, nothing is found, and
            `result.degraded` has `server: unavailable` or `server: timeout`; `result.searched` is false. Writes always
            raise.
        transport, async_transport: of httpx, instead of sockets.
        fields: those of `OptimizedRecallRetriever`: `k`, `scope`, `filters`, … Without a scope, it is the token's.

    Raises:
        InvalidArgument: an argument cannot be used. Nothing is asked of the server yet.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        token: str | None = None,
        timeout: float = 30.0,
        retries: int = RETRIES,
        on_error: str = "raise",
        transport: httpx.BaseTransport | None = None,
        async_transport: httpx.AsyncBaseTransport | None = None,
        **fields: Any,
    ) -> None:
        if isinstance(fields.get("optimizer"), RemoteOptimizer):  # a copy of one
            super().__init__(**fields)
            return
        if "optimizer" in fields or url is None:
            raise InvalidArgument('RecallClient takes the address of a server: RecallClient("http://127.0.0.1:8000").')
        wire = Wire(url, token, retries=retries, transport=transport, async_transport=async_transport)
        super().__init__(optimizer=RemoteOptimizer(wire, timeout, on_error), **fields)

    @property
    def remote(self) -> RemoteOptimizer:
        """The optimizer that asks the server."""
        assert isinstance(self.optimizer, RemoteOptimizer)
        return self.optimizer

    async def aclose(self) -> None:
        """Close the connections of this event loop and of threads."""
        await self.remote.wire.aclose()

    def __enter__(self) -> RecallClient:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    # -- writing ---------------------------------------------------------------------------------------------------

    def remember(self, memory: Any, *, scope: ScopeLike | None = None, on_duplicate: str = "keep") -> str:
        """Store one memory and return its id, as `MemoryStore.remember` does."""
        return self.remember_many([memory], scope=scope, on_duplicate=on_duplicate)[0]

    def remember_many(
        self,
        memories: Iterable[Any],
        *,
        scope: ScopeLike | None = None,
        progress: bool | Told = False,
        on_duplicate: str = "keep",
    ) -> list[str]:
        """Store memories and return their ids in order, as `MemoryStore.remember_many` does, in parts.

        They are durable when this returns; where it raises, the parts before stand. Asked again, the same memories
        change nothing more: those without an id get theirs here.

        Args:
            memories: `Memory` objects, plain texts, chat messages. A `thread=` does not travel: give each its own.
            scope: the tenant; default that of this client, or the token's.
            progress: show the progress; or a function that is called with it.
            on_duplicate: `keep`, `skip` or `replace`, as in `MemoryStore.remember_many`.

        Raises:
            InvalidMemory: a memory cannot be stored; the message says which.
            ServerError: the server is away, does not let this client in, or fails.
        """
        check_many(memories, AT_ONCE, None)
        chat = Chat(on_duplicate=checked_wish(on_duplicate))
        total = len(memories) if isinstance(memories, Sequence) else None
        source: Iterable[Memory] = checked(memories, None, chat, utc_now)
        ids: list[str] = []
        with counted("Remembering", total, progress) as advance:
            for part in in_batches(source if total is None else list(source), AT_ONCE):
                rows = [row_of(memory) for memory in part]
                for row in rows if on_duplicate == "keep" else ():
                    row.setdefault("id", str(uuid.uuid4()))
                body = {"memories": rows, "on_duplicate": on_duplicate}
                reply = self._asks("POST", "/remember", {**body, **self._where(scope)})
                with understood(self.remote.wire.address):
                    ids.extend(map(str, reply["ids"]))
                advance(len(part))
        return ids

    def remember_conversation(
        self,
        turns: Iterable[str | Message],
        *,
        scope: ScopeLike | None = None,
        thread: str | None = None,
        privacy: str | None = None,
        time_budget_ms: float | None = None,
        again: bool = False,
        wait: bool = True,
    ) -> Conversation:
        """Store turns, and what the server's LLM reads in them, as `QueryOptimizer.remember_conversation` does.

        The turns are durable when this returns. Where it raises they may be there: asked again with the same `thread`,
        messages are not stored twice (plain texts are).

        Args:
            turns: chat messages or plain texts, in order. A message's text, role, name, id and time travel.
            scope: the tenant; default that of this client, or the token's.
            thread: the conversation; default a new one.
            privacy: what the LLM does not see; default what the server withholds.
            time_budget_ms: until when the LLM reads, for which this waits beyond its `timeout`; default the server's
                longest, as far as the `timeout` reaches.
            again: read turns that were there before as well.
            wait: return when the LLM has read; false: once the turns are stored, with nothing but the thread.

        Raises:
            InvalidMemory: a turn cannot be stored; nothing was.
            InvalidArgument: the server has no LLM, or an argument cannot be used.
            RecallTimeout: the server did not answer in time, for example as others are read first.
            ServerError: the server is away, does not let this client in, or fails.
        """
        check_many(turns, AT_ONCE, None)
        body = {
            "turns": [_turn(turn, place) for place, turn in enumerate(turns)],
            "thread": str(uuid.uuid4()) if thread is None else thread,
            "privacy": privacy,
            "time_budget_ms": time_budget_ms,
            "again": again,
            "wait": wait,
        }
        more_s = 0.0 if time_budget_ms is None else checked_ms(time_budget_ms) / 1e3
        try:
            reply = self._asks("POST", "/remember/conversation", body | self._where(scope), more_s=more_s)
        except RecallTimeout as e:
            raise RecallTimeout(
                f"{e} What it has stored it still reads. Do not wait (wait=False), wait longer (time_budget_ms), or "
                f"ask again with thread={body['thread']!r}, which stores no message twice."
            ) from None
        return record_of(Conversation, reply)

    async def aremember_conversation(self, turns: Iterable[str | Message], **options: Any) -> Conversation:
        """Remember a conversation without blocking the event loop: as `remember_conversation`, in a thread."""
        return await asyncio.to_thread(self.remember_conversation, turns, **options)

    def forget(
        self,
        ids: str | Iterable[str] | None = None,
        *,
        scope: ScopeLike | None = None,
        filters: FiltersLike = None,
        user_id: str | None = None,
    ) -> int:
        """Remove memories everywhere, and return how many were there, as `MemoryStore.forget` does.

        Raises:
            InvalidArgument: no argument says what to forget, or two arguments exclude each other.
        """
        if ids is None and scope is None and filters is None and user_id is None:
            raise InvalidArgument("Say what to forget: ids, filters, a scope, or user_id=...")
        body: dict[str, Any] = {"filters": filters_data(filters)}
        if user_id is not None:
            if scope is not None or ids is not None:
                raise InvalidArgument("user_id means all scopes of a user: leave out scope and ids.")
            return self._number("/forget", {**body, "user_id": user_id}, "forgotten")
        where = self._where(scope)
        if ids is not None:
            listed = [ids] if isinstance(ids, str) else list(ids)
            parts = [listed[i : i + AT_ONCE] for i in range(0, len(listed), AT_ONCE)]
            bodies = [{**body, **where, "ids": part} for part in parts]
        else:
            bodies = [{**body, **where, "everything": body["filters"] is None}]
        return sum(self._number("/forget", one, "forgotten") for one in bodies)

    # -- reading ---------------------------------------------------------------------------------------------------

    def get(self, memory_id: str, *, scope: ScopeLike | None = None) -> Memory | None:
        """Return the memory with this id, as the server shows it; `None` where there is none."""
        try:
            row = self._asks("GET", f"/memories/{quote(memory_id, safe='')}", params=self._where(scope))
        except NotFound:
            return None
        with understood(self.remote.wire.address):
            return _memory(row)

    def count(self, *, scope: ScopeLike | None = None, filters: FiltersLike = None) -> int:
        """Count the memories of a scope, or those that meet filters."""
        body = {"filters": filters_data(filters), **self._where(scope)}
        return self._number("/count", body, "count")

    def facts(
        self,
        scope: ScopeLike | None = None,
        *,
        subject: str | None = None,
        slot: str | None = None,
        as_of: datetime | None = None,
        history: bool = False,
    ) -> list[Fact]:
        """Return the facts that the memories of a scope state, as `MemoryStore.facts` does, as the server shows them.

        Args:
            scope: the tenant; default that of this client, or the token's.
            subject: only facts about this name or alias; "me" = the user.
            slot: only facts of this slot: its name, or what people call it.
            as_of: the time at which facts hold; default now.
            history: also facts that held before, will hold, or were corrected.
        """
        asked = {"subject": subject, "slot": slot, "history": "true" if history else None}
        asked["as_of"] = None if as_of is None else time_data(as_of, "as_of")
        params = self._where(scope) | {name: text for name, text in asked.items() if text is not None}
        found: list[Fact] = []
        for skip in itertools.count(step=AT_ONCE):
            reply = self._asks("GET", "/facts", params=params | {"skip": str(skip), "limit": str(AT_ONCE)})
            with understood(self.remote.wire.address):
                rows = [{key: value for key, value in row.items() if value is not None} for row in reply["facts"]]
                found += [record_of(Fact, row) for row in rows]
                if not reply["more"]:
                    break
        return found

    def about(self) -> dict[str, Any]:
        """Return the settings of the server: `timezone`, `embedding`, `dimensions`, `time_budget_ms`."""
        return dict(self._asks("GET", "/about"))

    def _asks(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        params: Mapping[str, str] | None = None,
        more_s: float = 0.0,
    ) -> Any:
        remote = self.remote
        given = None if body is None else {key: value for key, value in body.items() if value is not None}
        asked = Asked(method=method, path=path, body=given, params=params or {}, seconds=remote.timeout + more_s)
        found = remote.wire.ask(asked)
        if not isinstance(found, dict):
            raise ServerError(f"{remote.wire.address} does not answer as a recall server does. Is that its address?")
        return found

    def _number(self, path: str, body: Mapping[str, Any], name: str) -> int:
        reply = self._asks("POST", path, body)
        with understood(self.remote.wire.address):
            return int(reply[name])

    def _where(self, scope: ScopeLike | None) -> dict[str, str]:
        """Return the scope of a call, by default this client's, as keys of a request; empty = the token's scope."""
        given = self.scope if scope is None else scope
        return {} if given is None else {"scope": scope_text(checked_scope(given))}


def _turn(turn: Any, place: int) -> Any:
    """Return a turn as the server reads it; a message without text has none there either."""
    if isinstance(turn, str):
        return turn
    if not is_message(turn):
        raise InvalidMemory(f"Item {place} is {type(turn).__name__}. Give texts or chat messages.")
    made = spoken(turn) or {"text": "", "role": None, "actor": "user"}
    given = {
        "content": made["text"],
        "role": made["role"] or made["actor"],
        "name": made["actor"],
        "id": made.get("id"),
    }
    at = made.get("event_at")
    return {**given, "timestamp": None if at is None else at.isoformat()}


def _memory(row: Mapping[str, Any]) -> Memory:
    """Read a memory as the server shows it; a memory that is withheld has no text."""
    if row["text"]:
        return memory_of(row, Scope())[1]
    memory = memory_of({**row, "text": "-"}, Scope())[1]
    return unchecked_memory(**{name: getattr(memory, name) for name in Memory.__dataclass_fields__} | {"text": ""})
