"""When messages, documents and nodes of other frameworks say that they were."""

from __future__ import annotations

import warnings
from datetime import date, datetime, timedelta, timezone
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.schema import TextNode

from recall_integrations import Memory, MemoryStore
from recall_integrations.adapters.documents import memory_of_document
from recall_integrations.adapters.nodes import memory_of_node
from tests.rows import each_row

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=timezone.utc)


@each_row("key", ["timestamp", "created_at", "date", "time", "event_at", "sent_at"])
@each_row(
    "value",
    [
        "2026-03-02T12:00:00Z",
        "2026-03-02T13:00:00+01:00",
        "2026-03-02T12:00:00.000000000Z",
        "2026-03-02 12:00:00",
        NOON.replace(tzinfo=None),
        int(NOON.timestamp()),
        NOON.timestamp() * 1_000,
        str(int(NOON.timestamp())),
    ],
)
def test_a_message_says_when_it_was(key: str, value: Any) -> None:
    memory = Memory.from_message({"role": "user", "content": "Hello", key: value})
    assert memory.event_at == NOON
    assert memory.metadata == {}


@each_row(
    "message",
    [
        HumanMessage("Hello", additional_kwargs={"timestamp": NOON.isoformat()}),
        AIMessage("Hello", response_metadata={"created_at": NOON.isoformat()}),
        ChatMessage(role="user", content="Hello", additional_kwargs={"sent_at": NOON.timestamp()}),
        {"role": "user", "content": "Hello", "metadata": {"date": NOON.isoformat()}},
        {"type": "human", "data": {"content": "Hello", "additional_kwargs": {"time": NOON.isoformat()}}},
    ],
)
def test_frameworks_say_it_beside_the_message(message: Any) -> None:
    assert Memory.from_message(message).event_at == NOON


def test_documents_and_nodes_say_it_in_their_metadata_and_keep_it() -> None:
    said = {"date": "2026-03-02T12:00:00Z", "page": 3}
    for memory in (
        memory_of_document(Document("Hello", metadata=said)),
        memory_of_node(TextNode(text="Hello", metadata=said)),
    ):
        assert memory is not None
        assert memory.event_at == NOON
        assert memory.metadata == said


def test_what_is_given_as_event_at_goes_before() -> None:
    message = {"role": "user", "content": "Hello", "timestamp": "2020-01-01T00:00:00Z", "event_at": NOON.isoformat()}
    assert Memory.from_message(message).event_at == NOON
    earlier = NOON - timedelta(days=1)
    assert Memory.from_message(message, event_at=earlier).event_at == earlier
    beside = HumanMessage(
        "Hello", response_metadata={"created_at": 1_700_000_000}, additional_kwargs={"event_at": NOON}
    )
    assert Memory.from_message(beside).event_at == NOON


@each_row("value", ["soon", "0001-01-01T00:00:00", float("nan"), {"a": 1}, object(), 12, True])
def test_what_cannot_be_read_is_kept_and_warned_of_and_stops_nobody(store: MemoryStore, value: Any) -> None:
    messages = [
        {"role": "user", "content": "One", "timestamp": value},
        {"role": "user", "content": "Two", "timestamp": date(2026, 3, 2)},
    ]
    with pytest.warns(UserWarning, match="'timestamp' is no time"):
        first, second = store.remember_many(messages)
    one, two = store.get(first), store.get(second)
    assert one is not None
    assert two is not None
    assert one.event_at is None
    assert list(one.metadata) == ["timestamp"]
    assert two.event_at == datetime(2026, 3, 2, tzinfo=timezone.utc)


def test_a_message_without_a_time_has_none() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Memory.from_message({"role": "user", "content": "Hello", "timestamp": None}).event_at is None
