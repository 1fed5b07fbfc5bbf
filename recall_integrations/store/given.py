"""What `remember_many` is given, item by item: checked, and made a memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from recall_integrations.errors import InvalidMemory
from recall_integrations.types import Memory
from recall_integrations.types.messages import is_message, spoken


@dataclass(slots=True)
class Chat:
    """What is known of the chat messages among what was given.

    Args:
        ids: of messages; what is there already under them is left alone.
        places: of messages among what is to be stored.
        skipped: places of messages without text among what was given.
    """

    ids: set[str] = field(default_factory=set)
    places: list[int] = field(default_factory=list)
    skipped: list[int] = field(default_factory=list)


def checked(memories: Iterable[Any], thread: str | None, chat: Chat) -> Iterator[Memory]:
    """Items as memories, without messages that have no text; `chat` is told of the messages.

    Args:
        memories: `Memory` objects, texts and chat messages.
        thread: of the texts and messages.
        chat: filled as the items are read.

    Raises:
        InvalidMemory: an item is not a memory, or its id occurs twice; the error gives its position.
    """
    if not isinstance(memories, Iterable):
        raise InvalidMemory(f"remember_many takes an iterable of memories, not {type(memories).__name__}.")
    seen: set[str] = set()
    for position, item in enumerate(memories):
        is_chat = not isinstance(item, Memory | str)
        if is_chat and not is_message(item):
            kind = type(item).__name__
            raise InvalidMemory(f"Item {position} is {kind}. Give Memory objects, texts or chat messages.")
        try:
            memory = _said(item, thread) if is_chat else _memory_of(item, thread)
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


def _said(message: object, thread: str | None) -> Memory | None:
    fields = spoken(message, thread=thread)
    return None if fields is None else Memory(**fields)


def _memory_of(item: Memory | str, thread: str | None) -> Memory:
    return item if isinstance(item, Memory) else Memory(item, thread=thread)
