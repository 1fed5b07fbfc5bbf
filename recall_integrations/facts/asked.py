"""The question that a query asks of a slot."""

from __future__ import annotations

from recall_integrations.facts.said import ME
from recall_integrations.records import record

NOW = "now"  # how it is: "what is my number?", "where does she live now?"
THEN = "then"  # how it was at a time: "in March", "back then", "before I moved"
PREVIOUS = "previous"  # what it was before it became what it is: "my previous number", "where did I live before?"
HISTORY = "history"  # all of it, in order: "how did my number change", "which cities have I lived in"
WHEN = "when"  # when it changed or began: "when did I move to Lisbon?"
MODES = (NOW, THEN, PREVIOUS, HISTORY, WHEN)


@record(frozen=True, slots=True, kw_only=True)
class StateAsked:
    """The question that a query asks of a slot.

    Args:
        slots: names of the slots that it may mean, the likeliest first; an open one as in `said.Said.slot`.
        subject: whose slot it is, as in `said.Said.subject`.
        mode: one of `MODES`.
        value: value that is named, as in "when did I move to Lisbon?", "do I still live in Berlin?"; else empty.
        before: with `THEN`: the value whose end is meant, as of "before I moved to Lisbon" (that came after it); else
            empty: the latest change.
        confidence: probability that this is asked, in [0, 1].
    """

    slots: tuple[str, ...]
    subject: str = ME
    mode: str = NOW
    value: str = ""
    before: str = ""
    confidence: float = 0.9
