"""What memories say and what became of them: values of slots, with the times in which they held; conversations that
were remembered with an LLM; histories of memories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime

from recall_integrations.records import record
from recall_integrations.types.memory import Memory
from recall_integrations.types.result import Degradation

SUPERSEDED, RETRACTED, CORRECTED = "superseded", "retracted", "corrected"


@record(frozen=True, slots=True, kw_only=True)
class Fact:
    """A value of a slot, in one stretch of time.

    Two times are kept apart (bitemporal; Snodgrass 1999): when it held, and when we were told.

    Args:
        subject: the subject in normal form; empty = the user, and whoever speaks without a name.
        slot: name of the slot, such as `phone_number`; `open:…` = one that the schema does not have.
        value: the value as the text has it.
        memory_id: the memory that says it, the first of `said_by`.
        valid_from: when it began to hold: as the text says, else the time of the memory; `None` = it held before, and
            nobody says since when.
        valid_to: when it ceases to hold, exclusive; `None` = nobody says that it does.
        told_at: when we were told: the time of the memory.
        said_by: ids of all memories that say the same in this stretch, in the order of their times; after its end,
            also of those that say so again ("I used to", "I no longer").
        superseded_by: id of the memory that ended it; `None` = none did.
        ended: why it ended: `superseded` another value replaced it, `retracted` it was said to hold no longer,
            `corrected` it was said to have been wrong; empty = nothing ends it. A value that another one will replace
            later has it too: `held_at` says whether it holds at a time.
        confidence: probability that the memory says so, in [0, 1].
        by: reader of the memory: `rule`, `relation`, `given`, `llm`.
    """

    subject: str
    slot: str
    value: str
    memory_id: str
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    told_at: datetime
    said_by: tuple[str, ...] = ()
    superseded_by: str | None = None
    ended: str = ""
    confidence: float = 0.9
    by: str = "rule"

    @property
    def holds(self) -> bool:
        """True where nothing ends it, now or later. No clock is asked: to know whether it holds at a time, use
        `held_at(when)`.

        A value that holds today and ends next year is `False` here, and one that begins next year is `True`.
        """
        return not self.ended

    def held_at(self, when: datetime) -> bool:
        """Say whether it held then; a corrected value never did."""
        begun = self.valid_from is None or self.valid_from <= when
        return self.ended != CORRECTED and begun and (self.valid_to is None or when < self.valid_to)


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
