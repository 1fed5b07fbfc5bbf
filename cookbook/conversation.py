"""A made-up user and an assistant: half a year of talk in eleven sessions, as LangChain's messages."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone

from company import rows
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from recall_integrations import Memory, Scope

MARTA = Scope(user_id="marta")
TODAY = datetime(2026, 6, 28, 10, tzinfo=timezone.utc)  # a Sunday


def sessions() -> Iterator[tuple[str, datetime, list[BaseMessage]]]:
    """Name, beginning and messages of each session, in the order of time."""
    of: dict[str, tuple[datetime, list[BaseMessage]]] = {}
    for name, when, role, text in rows("chat.txt"):
        message = HumanMessage(text) if role == "user" else AIMessage(text)
        of.setdefault(name, (_time(when), []))[1].append(message)
    for name, (began, messages) in of.items():
        yield name, began, messages


def memories() -> list[Memory]:
    """The same as memories, each with its own moment."""
    return [
        Memory(text, id=f"{name}-{place}", actor=role, role=role, thread=name, event_at=_time(when))
        for place, (name, when, role, text) in enumerate(rows("chat.txt"))
    ]


def _time(when: str) -> datetime:
    return datetime.strptime(when, "%Y-%m-%d %H:%M").replace(tzinfo=timezone.utc)
