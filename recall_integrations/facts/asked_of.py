"""Whom a question about a state is asked of, and which of his or her slots."""

from __future__ import annotations

from typing import NamedTuple

from recall_integrations.facts import asking_words as words_of
from recall_integrations.facts.open_names import singular, slots_called
from recall_integrations.facts.said import ME
from recall_integrations.facts.slots import OPEN, Slots

SURE, LIKELY, WEAK = 0.9, 0.75, 0.6
NAME_WORDS_MAX = 3
_NO_NAMES = frozenset(
    "need got recap fill save give list show remind tell the a an this that these those it its he she they him"
    " her them his their you your what which who where when how "
    "why there here one someone somebody anyone everybody everyone people i we my our and or if is are "
    "was were do does "
    "did to of in on at for with not no yes let today tomorrow yesterday life love man who's what's that's it's he's "
    "she's there's let's where's how's when's here's one's else's everyone's today's yesterday's "
    "tomorrow's year's".split()
)


class Noun(NamedTuple):
    """A slot that is named by a noun of somebody: "my old phone number"."""

    subject: str
    slots: tuple[str, ...]
    confidence: float
    told: str = ""  # "now", "previous", "first", "all": what stands before the noun
    plural: bool = False
    phrase: str = ""


def subjects_at(words: list[str], low: list[str], at: int) -> list[tuple[str, int, float]]:
    """Who may be the subject at a place: what it is called, where it ends, and how surely; the longest first."""
    if at >= len(low):
        return []
    word = low[at]
    if word in ("i", "we", "me", "us"):
        return [(ME, at + 1, SURE)]
    if word in ("the", "this") and low[at + 1 : at + 2] == ["user"]:
        return [(ME, at + 2, SURE)]
    if word in ("my", "our"):
        return _relation(words, low, at)
    if word in _NO_NAMES or not word[:1].isalpha():
        return []
    if word.endswith("'s"):
        found = _relation(words, low, at)
        return [
            (name[0].upper() + name[1:], end, LIKELY if words[at][:1].islower() else sure) for name, end, sure in found
        ]
    if not words[at][:1].isupper():
        return (
            [(word, at + 1, LIKELY)] if word.isalpha() and len(word) > 1 and word not in words_of.NOT_IN_NAMES else []
        )
    end = at + 1
    while end < len(words) and end - at < NAME_WORDS_MAX and words[end][:1].isupper() and low[end] not in ("i",):
        end += 1
    if end < len(words) and words[end][:1].isdigit() and words[end].isdigit():
        end += 1
    return [(" ".join(words[at:stop]), stop, SURE) for stop in range(end, at, -1)]


def _relation(words: list[str], low: list[str], at: int) -> list[tuple[str, int, float]]:
    """ "my best friend", "my sister's husband", "Priya's sister"."""
    end, found = at + 1, []
    while end < len(low) and end - at <= 4:
        word = low[end].removesuffix("'s")
        if word in words_of.RELATIONS:
            found.append((" ".join([*words[at:end], words[end]]), end + 1, SURE))
            if not low[end].endswith("'s"):
                break
        elif word not in words_of.RELATION_BEFORE:
            break
        end += 1
    return [(_lower_my(name), stop, sure) for name, stop, sure in reversed(found) if not name.endswith("'s")]


def _lower_my(name: str) -> str:
    return name[0].lower() + name[1:] if name[:3] in ("My ", "Our") else name


def noun_of(words: list[str], low: list[str], slots: Slots) -> Noun | None:
    """What a noun phrase with its owner asks for: "my current address", "Priya's email", "the status of Inbox3"."""
    if not low:
        return None
    if low[0] in ("all", "every"):
        inner = noun_of(words[1:], low[1:], slots)
        return None if inner is None else inner._replace(told="all")
    if low[0] in ("my", "our"):
        return _owned(words, low, 1, ME, slots, SURE)
    if low[0] == "the" and low[1:2] == ["user's"]:
        return _owned(words, low, 2, ME, slots, SURE)
    if low[0] == "the":
        return _of_owner(words[1:], low[1:], slots)
    for end in range(1, min(len(low), NAME_WORDS_MAX) + 1):
        if low[end - 1].endswith(("'s", "s'")):
            name = " ".join(words[:end])
            name = name[:-2] if name[-2:].lower() == "'s" else name[:-1]
            if low[0] in _NO_NAMES or not name[:1].isalpha():
                return None
            sure = SURE if all(word[:1].isupper() for word in words[:end]) else LIKELY
            if sure < SURE and end > 1:
                return None
            return _owned(words, low, end, name, slots, sure)
    return None


def _owned(words: list[str], low: list[str], at: int, owner: str, slots: Slots, sure: float) -> Noun | None:
    """The noun behind an owner; of "my sister's number" the owner is she."""
    for i in range(at, min(len(low) - 1, at + 3)):
        word = low[i]
        if word.endswith("s'") and low[i + 1 :] == ["names"]:  # "my dogs' names"
            return _noun(owner, [word[:-1]], slots, sure)
        if word.endswith("'s") and word.removesuffix("'s") in words_of.RELATIONS:
            person = " ".join([*words[at:i], words[i][:-2]])
            if (
                low[i + 1 :] in (["name"], ["first", "name"], ["names"])
                and slots_called(word.removesuffix("'s"), slots)[0][:5] != OPEN
            ):
                return _noun(owner, [word.removesuffix("'s")], slots, sure)
            of = person if not owner else f"{owner}'s {person}"
            return _owned(words, low, i + 1, f"my {person}" if not owner else of, slots, sure)
    return _noun(owner, low[at:], slots, sure)


def _of_owner(words: list[str], low: list[str], slots: Slots) -> Noun | None:
    """ "the phone number of Priya", "the deadline for Project Kestrel", "the wifi password"."""
    for i in range(1, min(len(low), 5)):
        if low[i] not in ("of", "for", "to"):
            continue
        noun = low[:i]
        if noun in (["name"], ["names"]):
            owned = noun_of(words[i + 1 :], low[i + 1 :], slots)
            if owned is not None and not owned.slots[0].startswith(OPEN):
                return owned  # "the name of my dentist"
        for subject, end, sure in subjects_at(words, low, i + 1):
            if end == len(low) and (subject or low[i + 1] in ("me", "us")):
                found = _noun(subject, noun, slots, sure)
                return None if found is None or found.slots[0].startswith(OPEN) else found
        if low[i + 1 : i + 2] in (["my"], ["our"]) and (low[i] == "of" or noun[-1] in words_of.CHANGED):
            return _noun(ME, [*low[i + 2 :], *noun], slots, SURE)
    found = _noun(ME, low, slots, SURE)
    if found is None or found.slots[0] in words_of.UNOWNED:
        return found
    return found._replace(confidence=WEAK)  # whose it is, nobody says


def _noun(owner: str, noun: list[str], slots: Slots, sure: float) -> Noun | None:
    told = ""
    if slots.of_noun.get(" ".join(noun)) is None:
        noun, told = _told(noun)
    if not noun:
        return None
    phrase = " ".join(noun)
    called = slots_called(phrase, slots)
    plural = False
    if not called or called[0].startswith(OPEN):
        single = singular(noun)
        if single != noun and slots.of_noun.get(" ".join(single)):
            called, plural = slots_called(" ".join(single), slots), True
    if not called:
        return None
    if called[0].startswith(OPEN):
        if not _may_be_open(owner, noun, sure):
            return None
        return Noun(owner, called, WEAK, told, noun[-1].endswith("s") and not noun[-1].endswith("ss"), phrase)
    return Noun(owner, called, sure, told, plural or noun[-1] in ("addresses",), phrase)


def _told(noun: list[str]) -> tuple[list[str], str]:
    """A noun without what tells which of its values is meant, and that."""
    told = ""
    while len(noun) > 1:
        word = noun[0]
        if word in words_of.NOW_WORDS:
            told = told or "now"
        elif word in words_of.PREVIOUS_WORDS or word.startswith("ex-"):
            told = "previous"
        elif word in words_of.FIRST_WORDS:
            told = "first"
        elif word not in ("own", "other", "the", "very", "different", "personal", "various"):
            break
        noun = [word[3:], *noun[1:]] if word.startswith("ex-") else noun[1:]
    if len(noun) == 1 and noun[0].startswith("ex-"):
        return [noun[0][3:]], "previous"
    return noun, told


def _may_be_open(owner: str, noun: list[str], sure: float) -> bool:
    """Whether a noun phrase that the schema does not have may name a slot."""
    if sure < SURE or len(noun) > 4 or noun[0] in words_of.NO_STATES:
        return False
    if noun[-1] in words_of.NO_STATES and not (noun[0].startswith("favo") and noun[-1].startswith("activit")):
        return False
    for word in noun:
        if word in words_of.NOT_IN_NAMES and word != "of":
            return False
        if (
            not word[:1].isalnum()
            or word.endswith("ly")
            or (word.endswith(("ing", "ed")) and len(noun) > 1 and word == noun[-1])
        ):
            return False
    return noun[0] != "of" and noun[-1] != "of"
