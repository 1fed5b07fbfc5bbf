"""When what a text tells happened: its dates, read against the time at which it was said."""

from __future__ import annotations

from datetime import datetime

from recall_integrations.records import record

VERSION = 1  # stands with the times in a store: those of another one are made anew


@record(frozen=True, slots=True, kw_only=True)
class ToldTime:
    """A time that a text tells.

    Args:
        start: of the time.
        end: exclusive.
        span: its place in the text.
        confidence: of the reading, in [0, 1].
    """

    start: datetime
    end: datetime
    span: tuple[int, int] = (0, 0)
    confidence: float = 0.9


def told_times(text: str, at: datetime, language: str | None = "en") -> tuple[ToldTime, ...]:
    """The times that a text tells, in the order of the text; none where it tells none.

    Args:
        text: of a memory.
        at: when it was said.
        language: of the text.
    """
    return ()


def may_tell(text: str) -> bool:
    """Whether it is worth a look, in a microsecond."""
    return False
