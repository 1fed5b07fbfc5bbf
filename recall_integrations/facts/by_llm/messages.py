"""A message as a language model gets it, and as its answer is checked."""

from __future__ import annotations

from datetime import datetime

from recall_integrations.privacy.door import Door
from recall_integrations.records import record
from recall_integrations.types.roles import Role

CHARS_MAX = 4_000  # characters of a text that are sent; the rest is read by rules only


@record(frozen=True, slots=True, kw_only=True)
class Message:
    """A memory that a model is to read.

    Args:
        num: the memory's number.
        text: the memory's text, as it is stored.
        sent: the text that the model gets: redacted where that is wished, and cut.
        at: the memory's time.
        actor, role: who says it.
        actor_sent: the actor's name as the model gets it.
        thread: the memory's thread; the model gets a number for it.
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
    """Make a message, with what of it may be sent.

    Args:
        num, text, at, actor, role, thread, people: as in `Message`.
        door: door through which the sent text goes; `None` = it is sent as it is.
    """
    # Redacted before it is cut: nobody could tell what half a number is.
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
