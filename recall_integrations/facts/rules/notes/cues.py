"""Whose a note speaks of, and of what: owners ("Priya's", "my sister's"), and nouns and verbs that speak of a slot."""

from __future__ import annotations

from typing import NamedTuple

from recall_integrations.facts.cue_words import LIKED
from recall_integrations.facts.rules import loose_words as known
from recall_integrations.facts.rules import words
from recall_integrations.facts.rules.notes.tokens import Note

_NO_KIN = frozenset("partner doctor dentist dog cat pet boss manager coach trainer teacher".split())
BEFORE_NOUN = frozenset(
    "new current own old former previous latest main only usual first present favourite favorite personal".split()
)


class Cue(NamedTuple):
    """Words that speak of slots.

    Args:
        slots: that they may mean.
        places: of the words among the tokens.
    """

    slots: tuple[str, ...]
    places: tuple[int, ...]
    after: int  # where the value begins, of a verb; -1 of a noun


def find_owner(note: Note) -> None:
    """An owner that is told: "Priya's", "my sister's", "sister's"."""
    for i, token in enumerate(note.tokens):
        if not token.own:
            continue
        begin = i
        if token.low in words.RELATIONS and note.low[i + 1 : i + 2] != ["the"]:
            while begin and note.low[begin - 1] in words.RELATION_ADJECTIVES:
                begin -= 1
            if begin and note.low[begin - 1] in ("my", "our"):
                begin -= 1
            name = " ".join([*[w for w in note.low[begin:i] if w not in ("my", "our")], token.low])
            note.subject, note.owned = f"my {name}", frozenset(range(begin, i + 1))
            return
        if not note.is_name(i) or (not known.ME.isdisjoint(note.low) and i):
            continue
        while begin and note.tokens[begin - 1].text[:1].isupper() and not note.tokens[begin - 1].own:
            if (
                note.low[begin - 1] in words.NOT_NAMES
                or note.low[begin - 1] in known.TALK
                or note.low[begin - 1] in known.MILD
            ):
                break
            begin -= 1
        if not known.ME.isdisjoint(note.low):  # "Oslo's my home"
            continue
        note.subject = " ".join(t.text for t in note.tokens[begin : i + 1])
        begin -= bool(begin and note.low[begin - 1] == "the")
        note.owned = frozenset(range(begin, i + 1))
        return
    _kin(note)


def _kin(note: Note) -> None:
    """ "My cousin is a plumber", "my sister: …", and nobody's thing else."""
    for i, low in enumerate(note.low):
        if low in ("my", "our") or (i == 0 and low in words.RELATIONS):
            end = i + (low in ("my", "our"))
            while end < len(note.low) and note.low[end] in words.RELATION_ADJECTIVES:
                end += 1
            if end < len(note.low) and note.low[end] in words.RELATIONS and note.low[end] not in _NO_KIN:
                rest = {*note.low[:i], *note.low[end + 1 :]}
                if rest & known.ME or (note.low[end] in note.cues.nouns and not _other_cue(note, i, end)):
                    return
                kin = " ".join(note.low[i + (low in ("my", "our")) : end + 1])
                note.subject, note.owned = f"my {kin}", frozenset(range(i, end + 1))
            return


def _other_cue(note: Note, first: int, last: int) -> bool:
    return any(
        low in note.cues.nouns or low in note.cues.verbs
        for i, low in enumerate(note.low)
        if not first <= i <= last and low not in ("is", "are", "was", "has", "have", "had", "'s", "name", "new", "get")
    )


def noun_cues(note: Note) -> list[Cue]:
    """Nouns that may name a slot, the longest first; those in capitals only if there are no others."""
    found: list[tuple[bool, int, Cue]] = []
    nouns, first = note.cues.nouns, note.cues.first
    for i, low in enumerate(note.low):
        longest = first.get(low)
        if not longest or i in note.owned:
            continue
        for size in range(longest, 0, -1):
            phrase = " ".join(note.low[i : i + size])
            if phrase in nouns:
                capital = note.tokens[i].text[0].isupper() and i > 0
                if not note.mine and ((capital and not note.owned) or {"a", "an"} & set(note.low[max(0, i - 2) : i])):
                    break  # "from a small town"
                found.append((capital, -size, Cue(nouns[phrase], tuple(range(i, min(i + size, len(note.low)))), -1)))
                break
    plain = [each for each in found if not each[0]]
    return [cue for _, _, cue in sorted(plain or found, key=lambda each: each[1])]


def verb_cues(note: Note) -> list[Cue]:
    """Verbs that speak of a slot, with the words that must follow; those of most words first."""
    found = []
    for i, low in enumerate(note.low):
        if i in note.owned:
            continue
        for rest, slot in note.cues.verbs.get(low, ()):
            places, at = [i], i + 1
            if low in ("moving", "relocating", "joining", "starting", "switching", "buying", "getting", "leaving"):
                continue  # not yet
            for word in rest:
                gap = next((j for j in range(at, min(at + 3, len(note.low))) if note.low[j] == word), None)
                if gap is None or any(not note.weightless(j) for j in range(at, gap)):
                    break
                places.append(gap)
                at = gap + 1
            else:
                found.append(Cue((slot,), tuple(places), at))
    return sorted(found, key=lambda cue: -len(cue.places))


def has_owner(note: Note, cue: Cue, slot: str) -> bool:
    """Whether the noun itself has its owner beside it: "my phone number", "Priya's gym", "the gym of mine"."""
    at = cue.places[0] - 1
    while at >= 0 and (note.low[at] in BEFORE_NOUN or (slot in note.cues.liked and note.low[at] in LIKED)):
        at -= 1
    if at >= 0 and (note.low[at] in ("my", "our") or at in note.owned):
        return True
    after = note.low[cue.places[-1] + 1 : cue.places[-1] + 3]
    return after in (["of", "mine"], ["for", "me"], ["of", "ours"], ["for", "us"], ["i", "have"], ["i", "use"])


def for_me(note: Note, cue: Cue) -> bool:
    """ "Teal is the colour for me"."""
    at = cue.places[-1] + 1
    return note.low[at : at + 2] == ["for", "me"] and note.low[at - 2 : at - 1] == ["the"]


def compound_of(note: Note, cue: Cue) -> tuple[str, int] | None:
    """A noun with the words before it that make it another one: "badge number"."""
    first = cue.places[0]
    begin = first
    while (
        begin
        and first - begin < 3
        and note.tokens[begin - 1].text.isalpha()
        and note.tokens[begin - 1].text.islower()
        and not note.weightless(begin - 1)
        and begin - 1 not in note.owned
    ):
        begin -= 1
    if begin == 1 and note.low[0].isalpha() and not note.weightless(0) and not note.is_plain(0) and not note.is_name(0):
        begin = 0
    if begin == first:
        return None
    return " ".join(note.low[begin : cue.places[-1] + 1]), begin
