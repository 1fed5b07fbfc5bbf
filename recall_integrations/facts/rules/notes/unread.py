"""Whether a text that no rule could read may tell another value of a slot than the one that is held."""

from __future__ import annotations

from datetime import datetime, timezone
from functools import lru_cache

from recall_integrations.facts.cue_words import Cues, cues_of
from recall_integrations.facts.rules import loose_words as known
from recall_integrations.facts.rules import words
from recall_integrations.facts.rules.notes.cues import Cue
from recall_integrations.facts.rules.notes.finding import SHAPES, Found, find_values, titled
from recall_integrations.facts.rules.notes.ops import op_of
from recall_integrations.facts.rules.notes.telling import linked, marked
from recall_integrations.facts.rules.notes.tokens import Note
from recall_integrations.facts.rules.reading import Reading
from recall_integrations.facts.said import WAS
from recall_integrations.facts.slots import OPEN, Slots
from recall_integrations.facts.subjects_of import USER, name_key
from recall_integrations.facts.values import same
from recall_integrations.patterns import regex

CHARS, WORDS_MAX = 300, 40  # of a text, and of a sentence of it: who tells of a change is brief
VALUES_MAX = 2  # in a sentence that tells of one
# Such a sentence states nothing, or not of now.
_DOUBTFUL = (known.POISON - known.MILD - frozenset("told tell tells ask asks asked say says said".split())) | frozenset(
    "would could someone somebody everyone everybody".split()
)
_IF_ASKED = frozenset("you any anyone anybody someone somebody it need needed people asked i".split())  # behind "if"
# Behind a negation: "I have not cancelled PureGym", "we didn't move to Lisbon". Not "going": "not going there any more".
_DENIES = regex(
    r"(?:\b(?:not|never)|n['’]t)\s(?:[\w’'-]+\s)?"
    r"(?:changed?|switch(?:ed)?|moved?|swap(?:ped)?|renamed?|cancel(?:l?ed)?|quit|resigned|left|leave|sold|drop(?:ped)?|ended|expired|retired|stopped)\b",
    2,
)
ASKED_WORDS = 6  # of a question that the next sentence answers: "New gym? Boulderhaus."
_AT = datetime(2000, 1, 1, tzinfo=timezone.utc)  # no date is read


def may_tell(text: str, subject: str, speaker: str, slot: str, held: str, slots: Slots, *, read: bool = False) -> bool:
    """Whether a text speaks of a slot of somebody, states something, and holds what looks like another value of it.

    It needs no shape of a sentence, so it is wrong more often than a reading is: it is good for a doubt, not for a fact.

    Args:
        text: of a memory that says nothing of the slot, as far as rules can read it.
        subject: key of whom (`subjects_of`).
        speaker: key of who says it.
        slot: name of it.
        held: the value that is held.
        slots: the schema.
        read: whether something else was read of it: then it has to tell of a change.
    """
    text = text[:CHARS]
    low = text.casefold()
    if held.casefold() not in low and not any(word in low for word in _begin(slot, slots)):
        return False
    reading, done, place = Reading(text, _AT, slots), -1, 0
    while place < len(text):
        first, last = reading.sentence(place)
        if first > done and reading.asked(last) and len(text[first:last].split()) <= ASKED_WORDS:
            last = _answered(reading, last)
        if (
            first > done
            and not reading.asked(last)
            and _may_tell(reading, first, last, subject, speaker, slot, held, read=read)
        ):
            return True
        done, place = first, max(last, place) + 1
    return False


def may_state(text: str, subject: str, speaker: str, slots: Slots) -> bool:
    """Whether a text, of which no slot is known, states something of somebody: it may be what is asked for itself.

    Args:
        text: of a memory that says nothing of any slot, as far as rules can read it.
        subject: key of whom (`subjects_of`).
        speaker: key of who says it.
        slots: the schema.
    """
    text = text[:CHARS]
    reading, cues, place = Reading(text, _AT, slots), cues_of(slots), 0
    while place < len(text):
        first, last = reading.sentence(place)
        note = Note(reading, cues, first, last, poisoned=False)
        doubtful = not _DOUBTFUL.isdisjoint(note.low) or "if" in note.low
        if len(note.tokens) > 1 and not doubtful and not reading.asked(last):
            if _owner(note, subject, speaker, set()) is not None:
                return True
        place = max(last, place) + 1
    return False


def _answered(reading: Reading, last: int) -> int:
    """Where the sentence behind a question ends; where there is none, where the question does."""
    behind = last + 1
    while behind < len(reading.text) and not reading.text[behind].isalnum():
        behind += 1
    return reading.sentence(behind)[1] if behind < len(reading.text) else last


def _supposes(low: list[str]) -> bool:
    """Whether an "if" supposes something; "if anyone asks, it is 4711" does not."""
    return any(word == "if" and low[i + 1 : i + 2] and low[i + 1] not in _IF_ASKED for i, word in enumerate(low))


def denies(text: str) -> bool:
    """Whether a text denies a change."""
    return _DENIES.search(text[:CHARS]) is not None


@lru_cache(maxsize=256)
def _begin(slot: str, slots: Slots) -> frozenset[str]:
    """What the words that speak of a slot begin with: a text without any of it speaks of another thing."""
    if slot.startswith(OPEN):
        return frozenset(_needed(slot))
    cues = cues_of(slots)
    nouns = {noun.split()[0] for noun, names in cues.nouns.items() if slot in names}
    return frozenset(nouns.union(form for form, found in cues.verbs.items() if any(name == slot for _, name in found)))


def _needed(slot: str) -> list[str]:
    """The words of an open slot, without those that name what it is: of "locker code" the first."""
    parts = _parts(slot)
    return [part for part in parts if part not in words.ATTRIBUTE_HEADS] or parts


def _parts(slot: str) -> list[str]:
    """The words of an open slot, as people write them."""
    return slot.removeprefix(OPEN).replace("wi fi", "wifi").split()


def _may_tell(
    reading: Reading, first: int, last: int, subject: str, speaker: str, slot: str, held: str, *, read: bool
) -> bool:
    cues = cues_of(reading.slots)
    note = Note(reading, cues, first, last, poisoned=False)
    doubtful = not _DOUBTFUL.isdisjoint(note.low) or _supposes(note.low) or denies(reading.text[first:last])
    if not 1 < len(note.tokens) <= WORDS_MAX or doubtful:
        return False
    spoken = _spoken(note, slot, cues)
    changes = not known.CHANGING.isdisjoint(note.low) or not known.ENDED.isdisjoint(note.low)
    named = bool(held) and changes and _ends_it(note, held)
    if not named and (not spoken or (read and not changes)):
        return False
    owner = _owner(note, subject, speaker, spoken)
    if owner is None and changes and subject == speaker and not _of_others(note, spoken) and _by_whomever(note):
        if (named and is_telling(held)) or (slot.startswith(OPEN) and spoken and known.ME.isdisjoint(note.low)):
            owner = (
                set()
            )  # "they renamed GuestNet to HubNet", "IT reset the gate code": nobody else's, as far as is said
    if owner is None:
        return False
    have = reading.slots.get(slot)
    kind = have.kind if have is not None else "any"
    used = {*owner, *spoken}
    free = [i for i in range(len(note.tokens)) if i not in used and not note.weightless(i)]
    cue = Cue((slot,), tuple(sorted(spoken)) or (0,), -1)
    if spoken and _another(note, slot, cue, owner):
        return False
    found = find_values(note, slot, kind, free, used)
    if kind == "any" and slot not in SHAPES:
        found = [f for f in found if _shows(note, f) or marked(note, slot, kind, cue, f)]
    if spoken and any(note.low[i] in cues.first for i in spoken):
        found = [f for f in found if _tied(note, slot, kind, cue, f)]
    other = [f for f in found if not same(f.value[0], held)]
    if len(other) > VALUES_MAX or not found:
        return False
    if not other and known.ENDED.isdisjoint(note.low):  # it is said again
        return False
    return op_of(note, slot, (other or found)[-1], cue) != WAS


NEAR, FAR = 3, 5  # words between a word of change and a value at most; before "from"
_DETERMINERS = frozenset("the a an my our this that".split())
_WHOMEVER = frozenset("they we it hr facilities management admin ops the our my i".split())
_OTHERS = frozenset("his her hers their theirs its he she him".split())


def _by_whomever(note: Note) -> bool:
    """Whether nobody with a name is said to have changed it: "they renamed …", "IT reset …", "cancelled …"."""
    begins = note.low[0]
    changes = begins in known.CHANGING or begins in known.ENDED
    return (begins in _WHOMEVER or changes) and _OTHERS.isdisjoint(note.low)


def _ends_it(note: Note, held: str) -> bool:
    """Whether a word of change stands beside a value: "cancelled Ironworks", "Dr Patel retired", "over to Zed from Vim"."""
    parts = held.casefold().split()
    low = [word.strip(".") for word in note.low]
    size = len(parts)
    for at in range(len(low) - size + 1):
        if low[at : at + size] != [part.strip(".") for part in parts]:
            continue
        if any(word in known.CHANGING or word in known.ENDED for word in low[at + size : at + size + 2]):
            return True
        far = FAR if at and low[at - 1] in ("from", "off") else NEAR
        for place in range(max(0, at - far), at):
            between = low[place + 1 : at]
            if low[place] not in known.CHANGING and low[place] not in known.ENDED:
                continue
            if "and" not in between and (at - place <= NEAR or _DETERMINERS.isdisjoint(between)):
                return True
    return False


def is_telling(value: str) -> bool:
    """Whether a value is not said of much else: a name, or with a digit."""
    return len(value) > 2 and (value[0].isupper() or any(map(str.isdigit, value)))


def _another(note: Note, slot: str, cue: Cue, owner: set[int]) -> bool:
    """Whether the noun is a part of another one: "gym bag"."""
    behind = cue.places[-1] + 1
    return behind < len(note.low) and behind not in owner and note.noun_word(behind) and not slot.startswith(OPEN)


def _tied(note: Note, slot: str, kind: str, cue: Cue, found: Found) -> bool:
    """Whether a value belongs to the noun: "goes by the name of Ironworks", "went with Ironworks as my gym"."""
    before = note.low[found.first - 1] if found.first else ""
    if before == "of" and cue.places[-1] < found.first - 1:
        return True
    if note.low[found.stop : found.stop + 1] == ["as"] and found.stop < cue.places[0]:
        return True
    return linked(note, slot, kind, cue, found, anchored=True)


def _shows(note: Note, found: Found) -> bool:
    value = found.value[0]
    return titled(note, found) or any(c.isdigit() for c in value) or value.casefold() in words.COLOURS


def _owner(note: Note, subject: str, speaker: str, spoken: set[int]) -> set[int] | None:
    """Places of who it is of; `None` = it is of somebody else, or nobody says of whom."""
    who, of, kin = subject.partition("'s ")
    low = note.low
    if of:  # somebody's sister
        parts = kin.split()
        places = {i for i, word in enumerate(low) if word in parts}
        if not places or (who != speaker and who not in low):
            return None
        if any(note.tokens[i].own and low[i + 1 : i + 2] and low[i + 1] in words.RELATIONS for i in places):
            return None  # "my sister's friend"
        return places | {i for i, word in enumerate(low) if word in ("my", "our", who)}
    if subject == speaker:
        if known.ME.isdisjoint(low) or _of_others(note, spoken):
            return None
        return {i for i, word in enumerate(low) if word in known.ME}
    if subject == USER:
        return None
    name = name_key(subject).split()
    places = {i for i, word in enumerate(low) if word in name}
    return places if len({low[i] for i in places}) == len(set(name)) else None


def _of_others(note: Note, spoken: set[int]) -> bool:
    """ "My sister's …", "my brother …", "Priya's …"."""
    return any(
        token.own or (token.low in words.RELATIONS and i not in spoken and i and note.low[i - 1] in ("my", "our"))
        for i, token in enumerate(note.tokens)
    )


def _spoken(note: Note, slot: str, cues: Cues) -> set[int]:
    """Places of the words that speak of the slot."""
    low = note.low
    found: set[int] = set()
    if slot.startswith(OPEN):
        parts = _parts(slot)
        places = {i for i, word in enumerate(low) if word in parts or word.rstrip("s") in parts}
        return places if all(any(low[i].startswith(part) for i in places) for part in _needed(slot)) else set()
    for i, word in enumerate(low):
        for size in range(cues.first.get(word, 0), 0, -1):
            if slot in cues.nouns.get(" ".join(low[i : i + size]), ()):
                found.update(range(i, min(i + size, len(low))))
                break
        for rest, name in cues.verbs.get(word, ()):
            if name == slot and all(part in low[i + 1 : i + 6] for part in rest):
                found.add(i)
    return found
