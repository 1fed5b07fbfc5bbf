"""What a text says of a slot."""

from __future__ import annotations

from datetime import datetime

from recall_integrations.records import record

IS = "is"  # the value holds (from `since` on, if that is said)
WAS = "was"  # it held before: "I used to live in Rome", "my old number was …"
NOT = "not"  # it does not hold any more, or never did: "I no longer eat meat", "I don't live in Rome"
OPS = (IS, WAS, NOT)

ME = ""  # the subject of "I" and "my": who says it
YOU = "you"  # of "you" and "your": whom an assistant speaks to; of people among themselves nobody knows who that is


@record(frozen=True, slots=True, kw_only=True)
class Said:
    """What a text says of one slot.

    Args:
        slot: its name (`slots.Slot.name`), or that of an open one: `open:` and what it is called in normal form, as of
            "my locker code is 4711" (`open:locker code`).
        value: as the text has it, without articles and punctuation around it; of `NOT` it may be empty: whatever held
            does not any more ("I'm single again" is a value, "I moved out" is none).
        subject: who or what it is said of: `ME` for "I" and "my"; `YOU`; a name as the text has it ("Priya"); "my
            sister", "Priya's sister" for somebody who is told by a relation.
        op: `IS`, `WAS` or `NOT`.
        instead_of: the value that it takes the place of, where the text says so ("not X but Y", "Y instead of X",
            "changed from X to Y"); empty = it does not say.
        corrects: whether it takes back what was said, as having been wrong from the beginning ("actually, it's …").
        since, until: when it began or ended to hold, where the text says so.
        confidence: that the text says this, in [0, 1].
        span: place of the value in the text; of an empty one, of what says it.
    """

    slot: str
    value: str
    subject: str = ME
    op: str = IS
    instead_of: str = ""
    corrects: bool = False
    since: datetime | None = None
    until: datetime | None = None
    confidence: float = 0.9
    span: tuple[int, int] = (0, 0)
