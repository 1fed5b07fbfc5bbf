"""What a note says of its value: that it holds, held or holds no longer, and which of two took the place of the other."""

from __future__ import annotations

from recall_integrations.facts.rules import loose_words as known
from recall_integrations.facts.rules.notes.cues import Cue
from recall_integrations.facts.rules.notes.finding import Found
from recall_integrations.facts.rules.notes.tokens import Note
from recall_integrations.facts.said import IS, NOT, WAS

_NEGATED = frozenset("not isn't aren't wasn't never don't doesn't didn't isnt dont doesnt".split())
_OFF = frozenset("scratch strike forget drop ignore remove delete ditch disregard".split())
_DONE = frozenset("done finished out closed over left".split())


def op_of(note: Note, slot: str, found: Found, cue: Cue) -> str | None:
    """Whether it holds, held or holds no longer; `None` = it cannot be told."""
    low = set(note.low)
    ended = [i for i, w in enumerate(note.low) if w in known.ENDED and not (w in _DONE and i in cue.places)]
    pairs = {f"{a} {b}" for a, b in zip(note.low, note.low[1:], strict=False)}
    if "gave up" in pairs or "give up" in pairs or "given up" in pairs:
        ended.append(found.stop)
    if "any more" in pairs or "any longer" in pairs:
        ended.append(found.stop)
    if "turned out" in pairs or "turns out" in pairs or ("out of" in pairs and "in" in low):
        ended = [i for i in ended if note.low[min(i, len(note.low) - 1)] != "out"]
    if slot in ("diet", "marital_status") and {"gone", "went"} & low and "is" not in low and "'s" not in low:
        ended = [i for i in ended if note.low[i] not in ("gone", "went")]
    fresh = low & {"new", "now", "instead", "current", "currently"} or "these days" in pairs
    negated = bool(low & _NEGATED)
    if note.low[0] in _OFF and found.first <= 2:
        return NOT
    if is_correction(note) and not negated:
        return IS
    if "had been" in pairs and not fresh:
        return WAS
    if ended:
        if fresh and any(note.low[i] in ("new", "now") and i < found.first for i in range(len(note.low))):
            return IS
        return None if fresh and "no" not in low and not negated and "longer" not in low else NOT
    if negated and {"not just", "not only"} & pairs:
        return None
    if negated and slot not in ("allergy",):
        return NOT if low & {"is", "isn't", "not"} and (note.mine or note.owned) and "yet" not in low else None
    if low & known.PAST and not fresh and not (low & {"still", "since"}):
        return WAS if low & (known.PAST - {"had", "used"}) or pairs & {"used to"} else IS
    return IS


def is_correction(note: Note) -> bool:
    """Whether a word says that something was wrong."""
    return not known.FIXED.isdisjoint(note.low)


def change_of(note: Note, one: Found, two: Found) -> tuple[Found, Found, bool] | None:
    """Which of two values is the old one; `None` = no change is told."""
    low = note.low
    before, between, after = set(low[: one.first]), low[one.stop : two.first], set(low[two.stop :])
    mid = set(between)
    corrects = is_correction(note)
    if mid & known.ARROWS:
        return one, two, corrects
    if mid & {"out", "gone", "dead", "off", "over", "history", "cancelled"} and (
        "in" in after or mid & {"in", "now", "it's", "new"} or after & {"now"}
    ):
        return one, two, corrects
    if "out" in before and "in" in mid:
        return one, two, corrects
    if "in" in mid and "out" in after:
        return two, one, corrects
    if mid & {"replaces", "replaced", "supersedes", "succeeds", "replacing", "succeeded"}:
        return (one, two, corrects) if "by" in mid else (two, one, corrects)
    if mid & {"instead", "rather"} or {"place", "of"} <= mid or {"took", "from"} <= mid:
        return two, one, corrects
    if "from" in mid and "to" in before:
        return two, one, corrects
    if mid & {"to", "into"} and ("from" in before or (before | mid) & known.CHANGING):
        return one, two, corrects
    if "for" in mid and before & known.GIVEN_UP:
        return one, two, corrects
    if mid & {"with", "by"} and (before | mid) & {"replaced", "replace", "replacing"}:
        return one, two, corrects
    if mid & {"became", "becomes"}:
        return one, two, corrects
    if between[-1:] == ["not"] or between[-2:] == [",", "not"]:
        return two, one, True
    if before & _NEGATED or (before | mid) & {
        "longer",
        "anymore",
        "forget",
        "scrap",
        "ignore",
        "used",
        "was",
        "old",
    }:
        if mid & {"but", "now", "it's", ",", "is", "new"}:
            return one, two, corrects or ("not" in before and "longer" not in before | mid)
    return None
