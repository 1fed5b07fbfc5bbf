"""Slots that the schema lacks ("locker code 4711"), and values that need no noun ("vegan these days", "in Berlin now")."""

from __future__ import annotations

from recall_integrations.facts.open_names import open_name, slots_called
from recall_integrations.facts.rules import loose_words as known
from recall_integrations.facts.rules import words
from recall_integrations.facts.rules.notes.cues import Cue
from recall_integrations.facts.rules.notes.finding import astray, find_values, titled
from recall_integrations.facts.rules.notes.ops import change_of, is_correction, op_of
from recall_integrations.facts.rules.notes.telling import EQUALS, marked, name_of, say, subject_of
from recall_integrations.facts.rules.notes.tokens import Note
from recall_integrations.facts.said import IS, ME
from recall_integrations.facts.slots import OPEN

_CLOSED = (
    ("diet", words.DIETS), ("marital_status", words.MARITAL), ("editor", words.EDITORS),
    ("instrument", words.INSTRUMENTS), ("sport", words.SPORTS - words.INSTRUMENTS),
)  # fmt: skip


def read_open(note: Note) -> bool:
    """ "Locker code 4711", "bus line: 42"."""
    if note.poisoned:
        return False
    for i, low in enumerate(note.low):
        apart = i + 1 < len(note.low) and note.low[i + 1] in EQUALS
        head = low in words.ATTRIBUTE_HEADS or (apart and low in note.cues.nouns)
        strong = i + 1 < len(note.low) and (note.low[i + 1] in (":", "=") or note.low[i + 1] in known.ARROWS)
        if not (head or strong) or i in note.owned or not low.isalpha():
            continue
        if not apart and i + 1 < len(note.low) and (note.noun_word(i + 1) or note.low[i + 1] in note.cues.nouns):
            continue
        begin = i
        while begin and i - begin < 3 and note.noun_word(begin - 1):
            begin -= 1
        slot = _slot_of(note, begin, i)
        if slot is not None:
            return _opened(note, slot, begin, i, apart, head)
    return False


def _slot_of(note: Note, begin: int, i: int) -> str | None:
    name = open_name(" ".join(note.low[begin : i + 1]))
    parts = name.split()
    if (
        not parts
        or (begin == i and not (begin and (note.low[begin - 1] in ("my", "our") or begin - 1 in note.owned)))
        or name in words.OPEN_NOT
    ):
        return None
    if any(p in words.EVALUATIVE or p in words.RELATIONS or p.endswith("ly") for p in parts):
        return None
    if parts[-1] in words.OPEN_HEADS_NOT and not any(c.isdigit() for c in note.text[note.first : note.last]):
        return None
    called = slots_called(name, note.reading.slots)
    return called[0] if called and called[0].startswith(OPEN) else None


def _opened(note: Note, slot: str, begin: int, i: int, apart: bool, head: bool) -> bool:
    used = set(range(begin, i + 1))
    free = [j for j in range(len(note.tokens)) if j not in used and j not in note.owned and not note.weightless(j)]
    found = find_values(note, "", "any", free, used)
    covered = {j for f in found for j in range(f.first, f.stop)}
    if any(astray(note, slot, "any", f) for f in found if not titled(note, f)):
        return False
    if not found or any(j not in covered for j in free):
        return False
    who: str | None = note.subject
    if not (note.owned or note.mine) and len(found) > 1 and found[0].first <= 1 and titled(note, found[0]):
        if change_of(note, found[0], found[1]) is None or len(found) == 3:
            who = name_of(note, list(range(found[0].first, found[0].stop)), "the" * found[0].first, False)
            found = found[1:]
    digits = all(any(c.isdigit() for c in f.value[0]) for f in found)
    named = all(titled(note, f) for f in found)
    if apart:
        leads = i + 2 == found[0].first and all(note.weightless(j) or j in note.owned for j in range(begin))
        if note.low[i + 1] in ("-", "–", "—") and not (digits or note.mine or note.owned):
            return False
        if not (leads or who) or not (digits or named or (head and note.low[i + 1] in (":", "="))):
            return False
        if not leads and not digits:
            return False
    elif (
        not (digits and (head or note.mine))
        and not (note.mine and head and marked(note, slot, "any", Cue((), (begin, i), -1), found[0]))
    ) or (note.low.count(",") > 1 and not note.mine):
        return False
    preps = {low for low in note.low if low in known.PREPOSITIONS} - {
        "of",
        "for",
        "to",
        "from",
        "as",
        "on",
        "under",
        "into",
    }
    if preps and not (apart or note.mine) and not {"out", "in"} <= set(note.low):
        return False
    if len(found) == 2:
        change = change_of(note, found[0], found[1])
        return change is not None and say(note, slot, change[1].value, who or ME, IS, change[0].value[0], change[2])
    op = op_of(note, slot, found[0], Cue((), (begin, i), -1)) if len(found) == 1 else None
    return op is not None and say(note, slot, found[0].value, who or ME, op, "", is_correction(note))


def read_uncued(note: Note) -> bool:
    """ "Vegan these days", "in Berlin now", "Vim out, Helix in"."""
    if note.poisoned:
        return False
    free = [i for i in range(len(note.tokens)) if i not in note.owned and not note.weightless(i)]
    if not 0 < len(free) <= 6:
        return False
    line = " ".join(note.low)
    holds = not known.HOLDS.isdisjoint(note.low) or any(p in line for p in ("these days", "at the moment"))
    ended = "longer" in note.low or "anymore" in note.low or "any more" in line
    for slot, listed in _CLOSED:
        have = note.reading.slots.get(slot)
        if have is None or not any(note.low[i] in listed or "-" in note.low[i] for i in free):
            continue
        found = find_values(note, slot, have.kind if slot != "editor" else "name", free, set())
        kept = [f for f in found if f.value[0].casefold() in listed]
        subject, rest, left = subject_of(note, slot, have.kind, Cue((), (), 0), kept, [
            i for i in free if not any(f.first <= i < f.stop for f in kept)
        ])  # fmt: skip
        if subject is None or left or not 0 < len(rest) <= 2:
            continue
        if len(rest) == 2:
            change = change_of(note, rest[0], rest[1])
            if change:
                return say(note, slot, change[1].value, subject, IS, change[0].value[0], change[2])
            continue
        if (
            slot not in ("diet", "marital_status")
            or len(note.tokens) > 7
            or not (holds or ended or note.low[0] in ("gone", "went", "on", "quit", "not", "was") or ":" in note.low)
        ):
            continue
        op = op_of(note, slot, rest[0], Cue((), (), 0))
        return op is not None and say(note, slot, rest[0].value, subject, op, "", is_correction(note))
    return (holds or ended) and _placed(note, free)


def _placed(note: Note, free: list[int]) -> bool:
    """ "In Berlin these days", "now at Acme"."""
    for word, slot, kind in (("in", "home", "place"), ("at", "employer", "named"), ("at", "address", "address")):
        if word not in note.low or slot not in note.reading.slots or len(note.tokens) > 10:
            continue
        at = note.low.index(word)
        found = find_values(note, slot, kind, [i for i in free if i > at], set())
        if len(found) != 1 or found[0].first != at + 1:
            continue
        left = [i for i in free if not found[0].first <= i < found[0].stop]
        subject, found, left = subject_of(note, slot, kind, Cue((), (), 0), found, left)
        if subject is None or left or len(found) != 1:
            continue
        op = op_of(note, slot, found[0], Cue((), (at,), 0))
        return op is not None and say(note, slot, found[0].value, subject, op, "", False)
    return False
