"""What became of a conversation that was remembered with an LLM, and what became of a memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime

from recall_integrations.records import record
from recall_integrations.types.memory import Memory
from recall_integrations.types.result import Degradation

NEW, REPEAT, UPDATE, CONTRADICTION = "new", "repeat", "update", "contradiction"
REFUSED = "refused"


@record(frozen=True, slots=True, kw_only=True)
class Extracted:
    """A memory that the LLM read in a conversation, or a part of its answer that was not taken.

    Args:
        decision: `new`; `repeat` of an old memory, which was not stored twice; `update` or `contradiction` of an old
            memory, which no longer holds; `refused`: not stored.
        text: as the LLM wrote it.
        id: of the stored memory, of a repeat that of the old one; `None` = refused.
        evidence: ids of the turns that say it.
        old: id of the memory that it repeats, updates or contradicts.
        grounded: share of its words that these turns hold, from 0 to 1.
        why: why it was refused, or is only `new` although the LLM named an old memory; empty = neither.
    """

    decision: str
    text: str
    id: str | None = None
    evidence: tuple[str, ...] = ()
    old: str | None = None
    grounded: float = 0.0
    why: str = ""


@record(frozen=True, slots=True, kw_only=True)
class Conversation:
    """What became of a conversation.

    Args:
        thread: the thread of the turns.
        turns: ids of the turns, in order. All of them are stored, whatever the LLM did.
        items: what the LLM read in them, in the order of its answers.
        unread: ids of turns that the LLM was to read and has not. A recall finds them by their own words.
        skipped: places of given messages without text.
        ignored: parts of the answers that could not be used, by reason.
        degraded: why turns are unread, or related memories were not looked for.
        usage: `calls`, and by the LLM's own account `tokens_in`, `tokens_out`, `cost`.
    """

    thread: str
    turns: tuple[str, ...] = ()
    items: tuple[Extracted, ...] = ()
    unread: tuple[str, ...] = ()
    skipped: tuple[int, ...] = ()
    ignored: Mapping[str, int] = field(default_factory=dict)
    degraded: tuple[Degradation, ...] = ()
    usage: Mapping[str, float] = field(default_factory=dict)


@record(frozen=True, slots=True, kw_only=True)
class Change:
    """A memory took the place of another one.

    Args:
        older, newer: ids; either may have been forgotten since.
        at: time of the newer one.
        why: `update` or `contradiction`, said by an LLM; `superseded`, `retracted` or `corrected`, read by facts.
    """

    older: str
    newer: str
    at: datetime
    why: str


@record(frozen=True, slots=True, kw_only=True)
class History:
    """What became of a memory.

    Args:
        memory: the memory.
        evidence: the memories that its `refs` name, such as the turns it was read in, oldest first.
        changes: what it replaced, what that had replaced, and so on; and what replaced it, and so on; oldest first.
    """

    memory: Memory
    evidence: tuple[Memory, ...] = ()
    changes: tuple[Change, ...] = ()

    @property
    def replaced(self) -> tuple[str, ...]:
        """Ids of the memories that it took the place of."""
        return tuple(one.older for one in self.changes if one.newer == self.memory.id)

    @property
    def replaced_by(self) -> tuple[str, ...]:
        """Ids of the memories that took its place; empty = it holds, as far as anybody says."""
        return tuple(one.newer for one in self.changes if one.older == self.memory.id)
