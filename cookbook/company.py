"""A made-up company for the notebooks: half a year of its chats, tickets and notes, and questions about them.

Pontoon sells a booking system to small ferries. Eight people (and a dog) work there; nobody of them exists. The
questions are labelled by hand with the memories that answer them.
"""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

from recall_integrations import Memory, Relation, Scope

TEAM = Scope(namespace="pontoon")
TODAY = datetime(2026, 6, 19, 9, 0, tzinfo=timezone.utc)  # a Friday
DATA = Path(__file__).parent / "data"


class Asked(NamedTuple):
    """A question with its answer: the ids of the memories that hold it."""

    text: str
    relevant: tuple[str, ...]
    kind: str


def memories() -> list[Memory]:
    """Everything that was written at Pontoon from January to June 2026, oldest first."""
    return [_memory(*row) for row in rows("company.txt")]


def questions() -> list[Asked]:
    """Fifty questions, each labelled by hand with the memories that answer it, the best one first."""
    return [Asked(text, tuple(ids.split(",")), kind) for text, ids, kind in rows("company_questions.txt")]


def rows(name: str) -> list[list[str]]:
    """The lines of a file of `data/`, cut at `|`; what begins with `#` is a comment."""
    lines = (DATA / name).read_text(encoding="utf-8").splitlines()
    return [line.split("|") for line in lines if line and not line.startswith("#")]


def _memory(memory_id: str, when: str, channel: str, who: str, kind: str, text: str) -> Memory:
    return Memory(
        text,
        id=memory_id,
        type=kind or "observation",
        actor=who,
        channel=channel,
        thread=f"{channel} {when[:10]}",
        event_at=datetime.fromisoformat(f"{when}+00:00"),
        relations=[Relation("Farid Haddad", "reports_to", "Yuki")] if memory_id == "g6" else [],
        metadata={"source": "chat", "channel": channel},
    )
