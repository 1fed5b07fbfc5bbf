"""What "my …", "your …" and "Priya's …" say: a slot that is named, and whatever verb follows somebody's relation."""

from __future__ import annotations

from recall_integrations.facts.rules import changes, states, values, words
from recall_integrations.facts.rules.reading import Reading
from recall_integrations.facts.rules.values import Value
from recall_integrations.facts.said import IS, ME, NOT, WAS
from recall_integrations.facts.slots import OPEN
from recall_integrations.patterns import regex

_WORD = regex(r"[ \t]{0,3}([\w'’&/.-]{1,30})")
_COPULA = {
    "is": IS,
    "are": IS,
    "was": WAS,
    "were": WAS,
    "isn't": NOT,
    "aren't": NOT,
    "remains": IS,
    "became": IS,
    "stays": IS,
}
_COPULAS = frozenset((*_COPULA, "used", "has", "have", "changed", "will", "switched", "moved", "got"))
_NOT_IN_NOUN = frozenset(
    "and or but that which who whom when where because so if then than with to from by i we you he she they it me us him"
    " them my your our his her their this these those a an the not no do does did had would could should can may might"
    " must be been am i'm i've it's there here what how why very really just also as like love loves about into over"
    " after before until while since without through during both all too hope hopes".split()
)
_OLD = frozenset("old former previous prior original ex last earlier first".split())
_NEW = frozenset("new current own present actual latest updated main usual default own real personal".split())
_CHANGED = regex(
    r"[ \t]{1,3}(?:(?:has|have|just|recently|now|been|also|got)[ \t]){0,3}(?:changed|switched|moved|updated|went|set)\b",
    2,
)
_TO_BE = regex(
    r"(?:[ \t]{1,3}(?:has\sbeen|have\sbeen|used\sto\sbe|will\sbe|has\sbecome|is\sno\slonger|are\sno\slonger|was\snever|"
    r"is\snot|are\snot|isn['’]t|aren['’]t|is\sgoing\sto\sbe)|['’]s)\b",
    2,
)
_CLEAN = frozenset("an a the".split())


_SHORT = regex(r"((?:full\s|first\s|last\s|phone\s|new\s)?[a-z]{3,9})['’]s\s(?!\w+\s(?:is|was)\b)")
_SHORTENED = frozenset(("name", "phone_number", "email", "address", "birthday", "age"))  # "my name's Dana"


def read(reading: Reading, subject: str, start: int, place: int) -> bool:
    """What a possessive says.

    Args:
        reading: of the text.
        subject: whose, as in `Said`.
        start: of the possessive in the text.
        place: its end.
    """
    text = reading.text
    short = _SHORT.match(text, place)
    if short and reading.slots.of_noun.get(short[1].casefold()) in _SHORTENED:
        _, last = reading.sentence(start)
        return _named(reading, subject, short[1].split(), start, short.end(1), "'s", last)
    found = _noun(text, place, min(len(text), place + 130))
    if found is None:
        return False
    noun, end, verb = found
    if (
        verb not in _COPULAS
        and verb not in _VERBISH
        and "'s" not in noun[-1].replace("’", "'")
        and not verb.endswith("n't")
    ):
        return False
    _, last = reading.sentence(start)
    if end > last:
        return False
    owner, noun = _owner(subject, noun)
    if verb in _COPULAS and owner is not None and _named(reading, owner, noun, start, end, verb, last):
        return True
    return _relation(reading, owner if owner is not None else subject, noun, start, end)


def _noun(text: str, place: int, end: int) -> tuple[list[str], int, str] | None:
    """The words of what is possessed, their end, and the word behind them."""
    found: list[str] = []
    for _ in range(7):
        match = _WORD.match(text, place, end)
        if not match:
            return (found, place, "") if found else None
        word = match[1].rstrip(".")
        low = word.casefold().replace("’", "'")
        if found and (low in _COPULAS or low in _VERBISH or low.endswith("n't")):
            return found, place, low
        if low in _NOT_IN_NOUN or (word != match[1] and found):
            if word != match[1] and low not in _NOT_IN_NOUN:
                return [*found, word], match.end(), ""
            return (found, place, low) if found else None
        found.append(word)
        place = match.end()
        if text[place : place + 1] not in (" ", "\t"):
            return found, place, ""
    return None


_VERBISH = frozenset(
    "lives works moved lived worked loves likes plays speaks studies has had goes went joined started became prefers"
    " drives hates enjoys quit left got relocated adopted married teaches runs wants turned recently just now currently"
    " no also never can will still used doesn't reports owns attends graduated retired".split()
)


def _owner(subject: str, noun: list[str]) -> tuple[str | None, list[str]]:
    """Whose it is in the end: "my sister's phone number" is of "my sister"."""
    for number, word in enumerate(noun):
        low = word.casefold().replace("’", "'")
        if low.endswith("'s") and number + 1 < len(noun):
            owned = [*noun[:number], word[:-2]]
            return _of(subject, owned), noun[number + 1 :]
    return subject, noun


def _of(subject: str, owned: list[str]) -> str:
    """A subject that is told by its relation to another."""
    if owned[-1][:1].isupper() and (len(owned) == 1 or owned[-2].casefold() in words.RELATIONS) and subject == ME:
        return owned[-1]
    name = " ".join(word for word in owned if word.casefold() not in _NEW)
    return f"my {name}" if subject == ME else f"your {name}" if subject == "you" else f"{subject}'s {name}"


def _named(reading: Reading, owner: str, noun: list[str], start: int, place: int, verb: str, end: int) -> bool:
    """ "my number is …": the slot is named."""
    text = reading.text
    op, behind, changed = _verb(text, place, verb, end)
    if op is None:
        return False
    kept, old = _kept(noun)
    if changed and noun[-1].casefold() in words.RELATIONS and "changed" not in text[place : place + 30].casefold():
        return False  # "my sister switched from Vim to Zed": it is not she who changed
    if not kept or (len(noun) > 1 and noun[-1][:1].isupper() and not noun[-1].isupper()):
        return False
    name = " ".join(kept)
    slot = reading.slots.of_noun.get(name)
    if slot is None and name.endswith(" name") and name[:-5] in reading.slots.of_noun and kept[0] in words.RELATIONS:
        slot = reading.slots.of_noun[name[:-5]]
    value = _value(reading, slot, kept, behind, end, changed)
    if value is None:
        return False
    if old and op == IS:
        op = WAS
    at_last, instead, corrects = changes.turned(text, value, end, lambda p: _value(reading, slot, kept, p, end, False))
    if changed and not instead:
        instead = changes.came_from(text, behind, end)
    if at_last is not value and op == NOT:
        op = IS
    return reading.say(
        slot or f"{OPEN}{_singular(name)}",
        at_last,
        owner,
        start,
        op=op,
        instead_of=instead,
        corrects=corrects,
        event=changed,
        ahead=verb == "will",
        until=op == NOT,
    )


def _verb(text: str, place: int, verb: str, end: int) -> tuple[str | None, int, bool]:
    """What the verb says of the value, where the value begins, and whether it tells of a change."""
    match = _TO_BE.match(text, place, end)
    if match:
        low = " ".join(match[0].casefold().replace("’", "'").split())
        op = WAS if low == "used to be" else NOT if ("no" in low.split() or "n't" in low or "not" in low) else IS
        return (None if "never" in low else op), match.end(), False
    match = _CHANGED.match(text, place, end)
    if match:
        to = changes.TO.search(text, match.end(), min(end, match.end() + 90))
        return (IS, to.end(), True) if to else (None, place, False)
    if verb in _COPULA:
        match = _WORD.match(text, place, end)
        return _COPULA[verb], match.end() if match else place, False
    return None, place, False


def _kept(noun: list[str]) -> tuple[list[str], bool]:
    """The words that name the slot, in normal form, and whether the noun says that it was so before."""
    low = [word.casefold().replace("’", "'") for word in noun]
    old = bool(low) and low[0] in _OLD and len(low) > 1
    kept = low[1:] if old and low[:2] != ["first", "name"] and low[:2] != ["last", "name"] else low
    if kept is low:
        old = False
    while len(kept) > 1 and kept[0] in _NEW:
        kept = kept[1:]
    return [word for word in kept if word not in _CLEAN], old


def _singular(name: str) -> str:
    if name.endswith("s") and not name.endswith(("ss", "us", "is", "os", "es")) and len(name) > 4:
        return name[:-1]
    return name


def _value(reading: Reading, slot: str | None, kept: list[str], place: int, end: int, changed: bool) -> Value | None:
    text = reading.text
    if slot is not None:
        known = reading.slots.get(slot)
        found = values.value_at(text, place, end, known.kind if known else "any")
        if found is None or (slot.startswith("favourite_") and _clause(text, found, end)):
            return None
        return found
    return _open(text, kept, place, end)


_CLAUSE = frozenset("to that when how because seeing watching being going doing".split())


def _clause(text: str, found: Value, end: int) -> bool:
    return found[0].split()[0].casefold() in _CLAUSE


def _open(text: str, kept: list[str], place: int, end: int) -> Value | None:
    """A value of what the schema does not know: only what can hardly be anything but a value."""
    head = kept[-1]
    favourite = kept[0] in ("favourite", "favorite", "fave", "preferred", "go-to")
    if len(kept) > 4 or " ".join(kept) in words.OPEN_NOT or head in words.OPEN_HEADS_NOT or head in words.RELATIONS:
        return None
    if any(not word[0].isalnum() for word in kept) or (len(kept) == 1 and head in words.OPEN_NOT):
        return None
    found = values.value_at(text, place, end, "any")
    if found is None or len(found[0].split()) > 5:
        return None
    value, first = found[0], found[0].split()[0].casefold()
    if first.endswith("ing") and len(value.split()) > 1 and not favourite:
        return None
    if favourite or any(char.isdigit() for char in value) or head in words.ATTRIBUTE_HEADS:
        return found if not value.casefold().endswith(("ing", "ed")) or favourite else None
    if value[0].isupper() and first not in words.NOT_NAMES:
        return found
    if len(kept) > 1 and len(value.split()) <= 3 and value.casefold() in words.COLOURS:
        return found
    return None


def _relation(reading: Reading, subject: str, noun: list[str], start: int, place: int) -> bool:
    """ "my sister lives in Oslo", "my sister Anna is a nurse": a verb behind somebody."""
    low = [word.casefold() for word in noun]
    named = noun[-1][0].isupper() and len(noun) > 1
    relation = low[-2] if named else low[-1]
    others = low[:-2] if named else low[:-1]
    if relation not in words.RELATIONS or any(word not in words.RELATION_ADJECTIVES for word in others):
        return False
    if low and low[-1].endswith("'s"):
        return False
    who = noun[-1] if named else _of(subject, noun)
    reading.person = (who, reading.number(start))
    contracted = ""
    return states.read(reading, who, start, place, contracted) or changes.read(reading, who, start, place, contracted)
