"""One sentence of a note, read: each way of saying something is tried, the surest first, until one of them fits."""

from __future__ import annotations

from recall_integrations.facts.cue_words import LIKED
from recall_integrations.facts.open_names import slots_called
from recall_integrations.facts.rules.notes.anchors import read_anchors, read_others
from recall_integrations.facts.rules.notes.cues import (
    Cue,
    compound_of,
    find_owner,
    for_me,
    has_owner,
    noun_cues,
    verb_cues,
)
from recall_integrations.facts.rules.notes.finding import STRICT, find_values
from recall_integrations.facts.rules.notes.open_slots import read_open, read_uncued
from recall_integrations.facts.rules.notes.telling import EQUALS, settle
from recall_integrations.facts.rules.notes.tokens import Note
from recall_integrations.facts.said import ME

_MODIFIED = frozenset(("allergy", "diet", "major", "condition", "language", "instrument", "sport"))
_OTHERS = frozenset("he she his her him hers its".split())
_LIKING = frozenset("love loves like likes prefer prefers adore adores best most fondest choice dearest beats".split())
_ANY_VERB = frozenset(
    "selling buying running owning trading own owns owned have has had buy bought get got sell sold run runs ran trade traded".split()
)


def read_note(note: Note) -> bool:
    """Whether something was found and kept."""
    find_owner(note)
    if note.low.count(":") > 1 and not any(c.isdigit() for c in note.text[note.first : note.last]):
        return False
    if note.subject == ME and not _OTHERS.isdisjoint(note.low):
        return read_others(note)
    if read_anchors(note):
        return True
    nouns = noun_cues(note)
    found = [*nouns, *verb_cues(note)]
    for cue in found:
        for slot in cue.slots:
            if _try(note, slot, cue):
                return True
    return read_open(note) or read_uncued(note)


def _try(note: Note, slot: str, cue: Cue) -> bool:
    """Whether the sentence says something of the slot."""
    have = note.reading.slots.get(slot)
    if have is None:
        return False
    used = set(cue.places)
    if slot in note.cues.liked:
        liked = [i for i, low in enumerate(note.low) if low in LIKED]
        at = cue.places[0]
        liked = [i for i in liked if i in (at - 1, at - 2) or (note.low[i] in _LIKING and (note.mine or note.owned))]
        if not liked and not for_me(note, cue):
            return False
        used.update(liked)
    if cue.after < 0 and slot not in note.cues.liked and slot not in _MODIFIED:
        compound = compound_of(note, cue)
        if compound is not None and slots_called(compound[0], note.reading.slots)[:1] != (slot,):
            return False
    kind = "vehicle" if slot == "car" and cue.after >= 0 and note.low[cue.places[0]] in _ANY_VERB else have.kind
    if note.low[cue.places[0]] in ("work", "works") and cue.after < 0 and slot in ("employer", "job"):
        nxt = cue.places[0] + 1
        if nxt >= len(note.low) or note.low[nxt] not in EQUALS:
            return False
    anchored = cue.after < 0 and has_owner(note, cue, slot)
    if note.poisoned and not anchored and not (kind in STRICT and note.mine):
        return False
    for i, low in enumerate(note.low):  # other words for the same
        if i not in used and i not in note.owned and slot in note.cues.nouns.get(low, ()) and not note.capital(i):
            used.add(i)
    free = [i for i in range(len(note.tokens)) if i not in used and i not in note.owned and not note.weightless(i)]
    found = find_values(note, slot, kind, free, used)
    return bool(found) and settle(note, slot, kind, cue, found, free, anchored)
