"""The arguments of `remember_many`, item by item: checked, and made a memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from recall_integrations.errors import InvalidArgument, InvalidMemory
from recall_integrations.records import record
from recall_integrations.types import Clock, Filters, Memory, checked_id
from recall_integrations.types.messages import is_message, spoken
from recall_integrations.types.numbers import is_whole

if TYPE_CHECKING:
    from recall_integrations.adapters.filters import FiltersLike

BATCH = 1_000  # memories per transaction
CHARACTERS = 250_000  # of their texts, in all: half a second of work, in which nobody else may write


@record(slots=True)
class Chat:
    """Notes about the given items, above all about the chat messages among them."""

    ids: set[str] = field(default_factory=set)  # of messages; stored messages with these ids are left alone
    places: list[int] = field(default_factory=list)  # of messages among the memories to store
    skipped: list[int] = field(default_factory=list)  # places of messages without text among the given items
    on_duplicate: str = "keep"  # the wish for a memory that says the same as a stored one


def in_batches(memories: Iterable[Memory], batch_size: int) -> Iterator[list[Memory]]:
    """Yield memories in batches: so many, or until their texts have `CHARACTERS`."""
    batch: list[Memory] = []
    size = 0
    for memory in memories:
        batch.append(memory)
        size += len(memory.text)
        if len(batch) >= batch_size or size >= CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def check_many(memories: object, batch_size: object, thread: object) -> None:
    """Check the arguments of `remember_many`."""
    if isinstance(memories, str | bytes | Memory | Mapping) or is_message(memories):
        raise InvalidMemory("remember_many takes an iterable of memories. Use `remember` for a single one.")
    if not is_whole(batch_size) or batch_size < 1:
        raise InvalidArgument(f"batch_size must be at least 1, not {batch_size!r}.")
    if thread is not None:
        checked_id(thread, "thread", InvalidMemory)


def checked_wish(on_duplicate: object) -> str:
    """Check `on_duplicate`."""
    if isinstance(on_duplicate, str) and on_duplicate in ("keep", "replace", "skip"):
        return on_duplicate
    raise InvalidArgument(f'on_duplicate must be "keep", "replace" or "skip", not {str(on_duplicate)[:60]!r}.')


def checked_filters(filters: FiltersLike) -> Filters | None:
    """Convert the filters of a call; `None` where they hold no condition."""
    from recall_integrations.adapters.filters import as_filters

    return None if filters is None else as_filters(filters) or None


def checked(memories: Iterable[Any], thread: str | None, chat: Chat, clock: Clock) -> Iterator[Memory]:
    """Yield the items as memories, without messages that have no text; `chat` notes the messages."""
    if not isinstance(memories, Iterable):
        raise InvalidMemory(f"remember_many takes an iterable of memories, not {type(memories).__name__}.")
    seen: set[str] = set()
    for position, item in enumerate(memories):
        is_chat = not isinstance(item, Memory | str)
        if is_chat and not is_message(item):
            kind = type(item).__name__
            documents = hasattr(item, "page_content") or hasattr(item, "get_content")
            hint = " For documents there are from_documents of the retriever, and RecallDocuments." if documents else ""
            hint = " A message has a role and a content." if isinstance(item, Mapping) else hint
            raise InvalidMemory(f"Item {position} is {kind}. Give Memory objects, texts or chat messages.{hint}")
        try:
            memory = item if isinstance(item, Memory) else _made(item, thread)
            if memory is not None and memory.expires_at is not None:
                _check_end(memory.expires_at, clock)
        except InvalidMemory as e:
            raise InvalidMemory(f"Item {position}: {e}") from None
        if memory is None:
            chat.skipped.append(position)
            continue
        if memory.id is not None:
            if memory.id in seen:
                raise InvalidMemory(
                    f"Item {position} repeats the id {memory.id[:80]!r} of an earlier one. Give each its own."
                )
            seen.add(memory.id)
        if is_chat:
            chat.places.append(position - len(chat.skipped))
            if memory.id is not None:
                chat.ids.add(memory.id)
        yield memory


def _check_end(end: datetime, clock: Clock) -> None:
    from recall_integrations.resilience.failures import time_of

    now = time_of(clock)
    if end <= now:
        raise InvalidMemory(
            f"Memory.expires_at ({end.isoformat()}) has passed: by the store's clock it is {now.isoformat()}. Give a "
            "later time, or none for a memory that stays."
        )


def _made(item: object, thread: str | None) -> Memory | None:
    fields = {"text": item, "thread": thread} if isinstance(item, str) else spoken(item, thread=thread)
    return None if fields is None else Memory(**fields)
