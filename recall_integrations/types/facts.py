"""A value that memories say of a slot, with the time in which it held."""

from __future__ import annotations

from datetime import datetime

from recall_integrations.records import record

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
