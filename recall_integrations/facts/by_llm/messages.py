"""A message as a language model is given it, and as its answer is checked."""

from __future__ import annotations

from datetime import datetime

from recall_integrations.privacy.door import Door
from recall_integrations.records import record
from recall_integrations.types.roles import Role

CHARS_MAX = 4_000  # of a text that are sent; what stands behind them is read by rules only


@record(frozen=True, slots=True, kw_only=True)
class Message:
    """A memory that is to be read.

    Args:
        num: of the memory.
        text: of the memory, as it is stored.
        sent: what of it the model is given: redacted where that is wished, and cut.
        at: its time.
        actor, role: who says it.
        actor_sent: the actor's name as the model is given it.
        thread: of the memory; the model is given a number for it.
        people: names of those who speak in its thread.
    """

    num: int
    text: str
    sent: str
    at: datetime
    actor: str | None = None
    role: Role | None = None
    actor_sent: str | None = None
    thread: str | None = None
    people: frozenset[str] = frozenset()


def message_of(
    num: int,
    text: str,
    at: datetime,
    *,
    actor: str | None = None,
    role: Role | None = None,
    thread: str | None = None,
    people: frozenset[str] = frozenset(),
    door: Door | None = None,
) -> Message:
    """A message, with what of it may leave.

    Args:
        num, text, at, actor, role, thread, people: as in `Message`.
        door: what is sent goes through it; `None` = it is sent as it is.
    """
    # Redacted before it is cut: of half a number nobody could tell what it is.
    shown = text if door is None else door.text(text)
    name = actor if door is None or actor is None else door.text(actor)
    return Message(
        num=num,
        text=text,
        sent=shown[:CHARS_MAX],
        at=at,
        actor=actor,
        role=role,
        actor_sent=name,
        thread=thread,
        people=people,
    )
