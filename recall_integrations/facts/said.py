"""A statement of a text about a slot."""

from __future__ import annotations

from datetime import datetime

from recall_integrations.records import record

IS = "is"  # the value holds (from `since` on, if that is said)
WAS = "was"  # it held before: "I used to live in Rome", "my old number was …"
NOT = "not"  # it does not hold any more, or never did: "I no longer eat meat", "I don't live in Rome"
OPS = (IS, WAS, NOT)

ME = ""  # the subject of "I" and "my": who says it
YOU = "you"  # the subject of "you" and "your": whom an assistant speaks to; among people nobody knows who that is


@record(frozen=True, slots=True, kw_only=True)
class Said:
    """A statement of a text about one slot.

    Args:
        slot: the slot's name (`slots.Slot.name`); for an open slot `open:` and its noun in normal form, as in
            "my locker code is 4711" (`open:locker code`).
        value: the value as the text has it, without articles and punctuation around it; with `NOT` it may be empty: no
            value holds any more ("I'm single again" gives a value, "I moved out" gives none).
        subject: the person or thing it is said of: `ME` for "I" and "my"; `YOU`; a name as the text has it ("Priya");
            "my sister", "Priya's sister" for somebody who is told by a relation.
        op: `IS`, `WAS` or `NOT`.
        instead_of: the value that it replaces, where the text says so ("not X but Y", "Y instead of X",
            "changed from X to Y"); empty = it does not say.
        corrects: whether it takes back an earlier statement as wrong from the beginning ("actually, it's …").
        since, until: when it began or ceased to hold, where the text says so.
        confidence: probability that the text says this, in [0, 1].
        span: place of the value in the text; for an empty value, of the words that say it.
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
