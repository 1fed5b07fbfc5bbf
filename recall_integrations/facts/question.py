"""Whether a query asks how things are, were, or how they changed, and of what."""

from __future__ import annotations

from recall_integrations.facts.said import ME
from recall_integrations.facts.slots import DEFAULT, OPEN, Slots
from recall_integrations.patterns import regex
from recall_integrations.records import record

NOW = "now"  # how it is: "what is my number?", "where does she live now?"
THEN = "then"  # how it was at a time: "in March", "back then", "before I moved"
PREVIOUS = "previous"  # what it was before it became what it is: "my previous number", "where did I live before?"
HISTORY = "history"  # all of it, in order: "how did my number change", "which cities have I lived in"
WHEN = "when"  # when it changed or began: "when did I move to Lisbon?"
MODES = (NOW, THEN, PREVIOUS, HISTORY, WHEN)


@record(frozen=True, slots=True, kw_only=True)
class StateAsked:
    """What a query asks of a slot.

    Args:
        slots: names of the slots that it may be, the likeliest first; an open one as in `said.Said.slot`.
        subject: whom it is asked of, as in `said.Said.subject`.
        mode: one of `MODES`.
        value: one that is named, as of "when did I move to Lisbon?", "do I still live in Berlin?"; else empty.
        before: with `THEN`: the value whose end is meant, as of "before I moved to Lisbon"; else empty.
        confidence: that this is asked, in [0, 1].
    """

    slots: tuple[str, ...]
    subject: str = ME
    mode: str = NOW
    value: str = ""
    before: str = ""
    confidence: float = 0.9


_WHAT = regex(
    r"\bwhat(?:['’]s| is| was| are) (?P<whose>my|(?P<name>[A-Z]\w+)['’]s) (?:(?:current|new) )?"
    r"(?P<noun>[\w -]{1,40}?)(?: now)?\s*\??$"
)


def state_asked(text: str, slots: Slots = DEFAULT, *, windowed: bool = False) -> StateAsked | None:
    """What a query asks of a slot; `None` = it asks for no state.

    Args:
        text: the query.
        slots: the schema.
        windowed: whether the query names a time, which somebody else has read ("in March", "last year").
    """
    match = _WHAT.search(text)
    if match is None:
        return None
    noun = match["noun"].casefold()
    return StateAsked(
        slots=(slots.of_noun.get(noun, f"{OPEN}{noun}"),),
        subject=match["name"] or ME,
        mode=THEN if windowed else NOW,
    )
