"""What verbs say: "I live in …", "moved to …", "is allergic to …", "am a nurse"."""

from __future__ import annotations

from recall_integrations.facts.rules import fitting, predicates, roles, values, words
from recall_integrations.facts.rules.predicates import (
    BE,
    BEFORE,
    BEFORE_PROGRESS,
    FUTURE,
    PERFECT,
    PRESENT,
    PROGRESS,
    USED,
    Predicate,
)
from recall_integrations.facts.rules.reading import Reading
from recall_integrations.facts.rules.values import Value
from recall_integrations.facts.said import IS, ME, NOT, WAS, YOU
from recall_integrations.patterns import regex

_NEXT = regex(r"[ \t]{1,3}([\w'’-]{1,24})")
_FILLERS = frozenset(
    "back over here down up out there away recently now currently just new great full-time part-time permanent my a an his her their its"
    " another all the way both mainly mostly primarily severely highly happily mildly really very also again of".split()
)
_AND = regex(r"\s*(?:,\s*(?:and\s|or\s|as\swell\sas\s)?|\s(?:and|&|or|as\swell\sas|plus)\s)\s*", 2)
_FROM = regex(r"(?:back\s|over\s|out\s|away\s|down\s|up\s)?from\s", 2)
_TO = regex(r"(?:back\s|over\s)?to\s", 2)
_INSTEAD = regex(r"\s(?:instead\sof|rather\sthan|in\splace\sof|,?\snot)\s|,\snot\s", 2)
_ANYMORE = regex(r"[^.,;!?\n]{0,40}?\b(?:any\s?more|any\slonger)\b", 2)
_LONG = regex(r"[^.;!?\n]{0,60}\b(?:for|since|all\smy\slife|my\swhole\slife)\b", 2)
_PASSIVE = frozenset("born raised hired promoted fired laid prescribed put made transferred".split())
_LIVED_ON = frozenset(("moved", "relocated"))
_AGE = regex(r"(?P<age>\d{1,3})(?:[\s-]years?[\s-]olds?|\s?y/?o\b|(?=\s(?:now|and|years\sof)\b)|(?=[.,!;]|$))", 2)
_HEIGHT = regex(
    r"(?P<v>\d(?:\.\d+)?\s?(?:m|metres|meters)|\d{2,3}\s?(?:cm|centimetres|centimeters)|\d\s?(?:ft|feet|foot|['’])(?:\s?\d{1,2}(?:\s?(?:in|inches|\"))?)?)"
    r"(?=\stall|[.,]|$)",
    2,
)
_CALLED = regex(r"(?:called|named)\s", 2)
_NAME = regex(r"[A-Z][a-z]{2,20}(?:\s[A-Z][a-z]{1,20})?(?=\s*(?:[.!]|,\s|$|\sand\si\b|\sfrom\b))")


def read(
    reading: Reading, subject: str, start: int, place: int, contracted: str, sure: float = 1.0, *, named: bool = False
) -> bool:
    """What the verb behind a subject says.

    Args:
        reading: of the text.
        subject: as in `Said`.
        start: of the subject in the text.
        place: its end.
        contracted: see `predicates.predicate`.
        sure: factor of the confidence.
        named: whether the subject is a name, which takes "lives" and never "live".
    """
    end = min(len(reading.text), place + 400)
    said = predicates.predicate(reading.text, place, end, contracted, reading.slots.verbs.tenses)
    if said is None or (
        named
        and said.tense == PRESENT
        and said.verb != BE
        and not said.denied
        and not said.verb.endswith("s")
        and said.verb not in ("set", "put")
    ):
        return False
    entries = _fitting(reading, said, end)
    known = said.verb in reading.slots.verbs.by_noun
    if not entries and not known and (said.verb != BE or not _shaped(reading.text, said.end, end)):
        return False
    _, last = reading.sentence(start)
    if said.end > last:
        return False
    done = known and _by_noun(reading, subject, start, said, last, sure)
    done = done or any(_led(reading, subject, start, said, entry, last, sure) for entry in entries)
    if not done and said.verb == BE:
        done = _been(reading, subject, start, said, last, sure)
    if done:
        _more(reading, subject, start, said, last, sure)
    elif said.verb in _BEFORE_THE_NEXT and said.end < last:
        match = _THEN.match(reading.text, said.end, last)
        if match and match[1] in reading.slots.verbs.tenses:
            return read(reading, subject, start, match.start(1) - 1, "", sure)
    return done


_BEFORE_THE_NEXT = frozenset("left quit sold finished".split())
_THEN = regex(r"[^.;,!?\n]{1,40}?,?\sand\s(?:has\s|have\s)?(?:now\s|just\s)?(?=(\w+))")


def _by_noun(reading: Reading, subject: str, start: int, said: Predicate, end: int, sure: float) -> bool:
    """What a verb says with the noun of the slot behind it: "uses Zed as her editor"."""
    found = roles.named(reading, said, end)
    if found is None:
        return False
    slot, value, group, old = found
    first = reading.sentence(start)[0]
    if start - first < 40 and roles.OF_ALL.match(reading.text, first, start):
        start = first
    op = _op(reading.text, said, (), group, value[1])
    if op is None:
        return False
    return reading.say(slot, value, subject, start, op=op, event=group != "verbs", sure=sure, instead_of=old)


def _apposed(reading: Reading, value: Value, end: int) -> str | None:
    """The slot that a noun behind the value names: "joined Northside, his new gym"."""
    match = roles.APPOSED.match(reading.text, value[2], end) if reading.text.startswith(",", value[2]) else None
    return reading.slots.of_noun.get(match["noun"]) if match else None


def _fitting(reading: Reading, said: Predicate, end: int) -> list[tuple[tuple[str, ...], str, str]]:
    """The phrases of a verb that can go on as the text does."""
    verbs = reading.slots.verbs
    by_word = verbs.being if said.verb == BE else verbs.after.get(said.verb)
    if not by_word:
        return []
    found: list[tuple[tuple[str, ...], str, str]] = []
    place = said.end
    for _ in range(4):
        match = _NEXT.match(reading.text, place, end)
        if not match:
            break
        word, place = match[1].casefold(), match.end()
        found += by_word.get(word, ())
        if word == "from":
            starts = (entry for entries in by_word.values() for entry in entries if entry[2] == "starts")
            found += [entry for entry in starts if entry[1] in _FROM_TO]
        if word not in _FILLERS:
            break
    return found + by_word.get("", []) if place > said.end else []


_FROM_TO = frozenset(("home", "employer", "school", "editor", "doctor"))


def _shaped(text: str, place: int, end: int) -> bool:
    """Whether what follows "is" can say something by its shape: a cheap look before a careful one."""
    match = _NEXT.match(text, values.skipped(text, place, end) - 1, end)
    if not match:
        return False
    word = match[1]
    return word in ("a", "an", "on", "in", "named", "called") or not word[0].islower() or word.casefold() in _SHAPED


_SHAPED = frozenset(
    word.split()[0] for known in (words.DIETS, words.MARITAL, words.RELIGIONS, words.NATIONALITIES) for word in known
)


def _more(reading: Reading, subject: str, start: int, said: Predicate, end: int, sure: float) -> None:
    """What hangs on what was found: "at Acme *as a nurse*", "*and work for Acme*" without a subject of its own."""
    text, place, last = reading.text, reading.busy, reading.found[-1]
    match = _WORK_TOO.match(text, place, end)
    if match and last.slot in ("job", "employer") and last.subject == subject:
        slot, kind = ("employer", "organisation") if match[1] in ("at", "for", "with") else ("job", "work")
        value = values.value_at(text, match.end(), end, kind) if slot != last.slot and slot in reading.slots else None
        if value:
            reading.say(slot, value, subject, start, op=last.op, sure=sure)
            place = reading.busy
    match = _AND_VERB.match(text, place, end)
    if match and match[1].casefold() not in _NOT_ITEM_SUBJECT:
        read(reading, subject, start, match.start(1) - 1, "", sure)


_WORK_TOO = regex(r",?\s(at|for|with|as)\s")
_AND_VERB = regex(r",?\s(?:and|but|so)\s(?=(\w+))", 2)
_NOT_ITEM_SUBJECT = frozenset("i we you he she they it my our your his her their".split())


def _led(
    reading: Reading,
    subject: str,
    start: int,
    said: Predicate,
    entry: tuple[tuple[str, ...], str, str],
    end: int,
    sure: float,
) -> bool:
    rest, slot, group = entry
    text = reading.text
    before: Value | None = None
    place = said.end
    if group == "starts" and slot in _FROM_TO:
        before, place = _from(text, place, end, slot, reading)
    behind = _behind(text, place, end, rest)
    if behind is None:
        return False
    op = _op(text, said, rest, group, behind)
    own = reading.slots.is_own(slot, group)
    if op is None or not (own or _allowed(said, slot, subject, group)):
        return False
    found = _values(reading, slot, behind, end)
    if own and found and _is_word(reading, slot, found[0]):
        return False
    slot_told = _apposed(reading, found[0], end) if found else None
    if slot_told:
        slot = slot_told
    elif not found or not (own or fitting.fits(text, subject, rest, said, slot, group, found[0], end)):
        return False
    if group == "starts" and before is None and slot == "home":
        match = _FROM.match(text, min(found[-1][2] + 1, end), end)
        before = values.value_at(text, match.end(), end, "place") if match else None
    ahead = said.tense == FUTURE or (group == "starts" and said.tense == PROGRESS)
    done = False
    for value in found:
        done |= reading.say(
            slot,
            value,
            subject,
            start,
            op=op,
            event=group != "verbs",
            ahead=ahead,
            sure=sure,
            until=group == "stops",
            instead_of=before[0] if before else _instead(text, value[2], end, said),
        )
    return done


def _from(text: str, place: int, end: int, slot: str, reading: Reading) -> tuple[Value | None, int]:
    match = _NEXT.match(text, place, end)
    place_from = _FROM.match(text, match.start(1), end) if match else None
    if not place_from:
        return None, place
    slot_of = reading.slots.get(slot)
    value = values.value_at(text, place_from.end(), end, slot_of.kind if slot_of else "any")
    return (value, value[2]) if value else (None, place)


def _behind(text: str, place: int, end: int, rest: tuple[str, ...]) -> int | None:
    """Where the value begins, if the words of a phrase stand here with nothing of weight between them."""
    position = skips = 0
    while position < len(rest):
        match = _NEXT.match(text, place, end)
        if not match:
            return None
        word = match[1].casefold()
        place = match.end()
        if word == rest[position]:
            position += 1
        elif word in _FILLERS and skips < 3:
            skips += 1
        else:
            return None
    return place if place < end and text[place] in " \t:" else None


def _op(text: str, said: Predicate, rest: tuple[str, ...], group: str, place: int) -> str | None:
    """What is said of the value; `None` = nothing that counts."""
    passive = said.verb == BE and rest and rest[0] in _PASSIVE
    if said.denied:
        if group != "verbs" or said.tense not in (PRESENT, PROGRESS):
            return None
        return NOT
    if group == "verbs":
        if said.tense in (PRESENT, PROGRESS, FUTURE) or passive or rest[:1] == ("up",):
            return IS
        if said.tense == PERFECT:
            return IS if _LONG.match(text, place) else None
        return WAS
    if said.tense == USED or (said.tense == PRESENT and not passive):
        return None
    if said.tense == PROGRESS and group == "stops":
        return None
    return IS if group == "starts" else NOT


_LIKED = frozenset(("likes", "dislikes", "preference"))


def _allowed(said: Predicate, slot: str, subject: str, group: str) -> bool:
    """Whether a verb that means much else means a slot here."""
    if slot in _LIKED:
        return said.tense in (PRESENT, USED) and subject != YOU
    if group == "verbs" and said.tense in (BEFORE, BEFORE_PROGRESS) and slot not in _LASTING and said.verb != BE:
        return False
    return subject != YOU or said.tense in (PRESENT, PROGRESS)


_LASTING = frozenset(("home", "employer", "job", "school", "hometown", "address", "boss", "team"))


def _is_word(reading: Reading, slot: str, value: Value) -> bool:
    """Whether a code has no digit: a desk is "2A", and who moves to Lisbon has a new home."""
    known = reading.slots.get(slot)
    return known is not None and known.kind == "code" and not any(map(str.isdigit, value[0]))


def _values(reading: Reading, slot: str, place: int, end: int) -> list[Value]:
    """The values that stand here, as many as the slot may have."""
    known = reading.slots.get(slot)
    if known is None:
        return []
    text, kind = reading.text, known.kind
    if slot in _LIKED:
        one = _liked(text, place, end)
        return [one] if one else []
    first = values.value_at(text, place, end, kind)
    found = [first] if first else []
    while found and not known.one and len(found) < 8:
        match = _AND.match(text, found[-1][2], end)
        if not match:
            break
        value = values.value_at(text, match.end(), end, kind)
        if value is None or (kind == "any" and not _item(text, value)):
            break
        found.append(value)
    return found


_NOT_ITEM = frozenset(
    "i we he she it they you my our your his her their can could am is are have has will would do i'm i've".split()
)


def _item(text: str, value: Value) -> bool:
    parts = value[0].casefold().split()
    return len(parts) <= 3 and parts[0] not in _NOT_ITEM and not parts[0].endswith("n't")


_OBJECT_NOT = frozenset(
    "that this it them him her me you us those these its your his their our my the a an how when what to who everything"
    " something anything nothing being having getting seeing hearing knowing watching all every some both one ones each"
    " going making doing taking working spending trying giving finding sharing looking helping using talking thinking"
    " finishing meeting more most such any another where so about every".split()
)


def _liked(text: str, place: int, end: int) -> Value | None:
    """What somebody likes: a word or three with nothing behind them but the end of the clause."""
    place = values.skipped(text, place, end)
    match = _NEXT.match(text, place - 1, end) if place else None
    if not match or match[1].casefold() in _OBJECT_NOT:
        return None
    found = values.phrase(text, place, end, words_max=3)
    if found and found[0].casefold().split()[-1] in _OBJECT_NOT:
        return None
    return found if found and found[1] == place and _LIKED_END.match(text, found[2], end) else None


_LIKED_END = regex(
    r"\s*(?:[.,;!?)]|$|\n)|\s(?:but|too|because|so|more|over|any\s?more|and\s(?:i|my|it|we))\b|\s[^\w\s\"“‘'(]", 2
)


def _instead(text: str, place: int, end: int, said: Predicate) -> str:
    match = _INSTEAD.match(text, place, end)
    if not match:
        return ""
    found = values.value_at(text, match.end(), end, "any")
    return found[0] if found else ""


def _been(reading: Reading, subject: str, start: int, said: Predicate, end: int, sure: float) -> bool:
    """What "is" says by the shape of what follows: an age, a diet, a nationality, what somebody does."""
    text = reading.text
    op = _being_op(said)
    place = values.skipped(text, said.end, end)
    if op is None or place >= end:
        return False
    for slot, found in _candidates(text, place, end, subject, op):
        if reading.slots.get(slot) is None:
            continue
        return reading.say(slot, found, subject, start, op=op, sure=sure, ahead=said.tense == FUTURE)
    return False


def _being_op(said: Predicate) -> str | None:
    if said.denied:
        return NOT if said.tense in (PRESENT,) else None
    if said.tense in (PRESENT, PERFECT, FUTURE):
        return IS
    return WAS if said.tense in (BEFORE, USED) else None


def _candidates(text: str, place: int, end: int, subject: str, op: str) -> list[tuple[str, Value]]:
    """The slots and values that a complement may be, the surest first; at most one."""
    match = _AGE.match(text, place, end)
    if match and 0 < int(match["age"]) < 120 and op == IS:
        return [("age", (match["age"], *match.span("age")))]
    match = _HEIGHT.match(text, place, end)
    if match:
        return [("height", (match["v"], *match.span("v")))]
    for slot, kind in (
        ("diet", "diet"), ("marital_status", "marital"), ("religion", "religion"), ("nationality", "nationality"),
    ):  # fmt: skip
        behind = place + 3 if text[place : place + 3].casefold() == "on " and kind == "diet" else place
        found = values.value_at(text, behind, end, kind)
        if found and fitting.ENDS.match(text, found[2], end):
            return [(slot, found)]
    match = _CALLED.match(text, place, end)
    if match:
        found = values.value_at(text, match.end(), end, "person")
        return [("name", found)] if found else []
    found = _worker(text, place, end, subject)
    if found:
        return [("job", found)]
    match = _NAME.match(text, place, end) if subject == ME else None
    if match and match[0].split()[0].casefold() not in words.NOT_NAMES | words.EVALUATIVE and text[place - 1] != "'":
        return [("name", (match[0], *match.span()))]
    return []


def _worker(text: str, place: int, end: int, subject: str) -> Value | None:
    articled = text[place : place + 2].casefold() in ("a ",) or text[place : place + 3].casefold() == "an "
    if not articled:
        return None
    found = values.value_at(text, place, end, "work")
    if not found:
        return None
    parts = found[0].casefold().split()
    if parts[-1] in words.LOOSE_HEADS or parts[0] in words.EVALUATIVE | _NOT_WORK:
        return None
    return found


_NOT_WORK = frozenset("huge total real born natural bit lot such true complete better much more terrible big".split())
