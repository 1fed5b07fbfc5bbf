"""What a text says of slots, by rule.

    text ─ gate ─ subjects ("I", "my", "Priya's", "my sister") ─ verb or noun ─ value ─ is it stated? ─▶ Said

A subject is looked for first, then what can follow it (`rules`); whether its sentence asks, supposes or passes on what
others think is asked of what was found only. Every step looks at a bounded stretch, so the time is linear in the text.
"""

from __future__ import annotations

import re
from datetime import datetime

from recall_integrations.facts.rules import (
    changes,
    loose,
    nouns,
    possessives,
    predicates,
    states,
    things,
    values,
    words,
)
from recall_integrations.facts.rules.reading import RESOLVED, Reading, may_state
from recall_integrations.facts.said import IS, ME, YOU, Said
from recall_integrations.facts.slots import DEFAULT, Slots
from recall_integrations.patterns import regex

VERSION = 9  # stands with the facts in a store: those of another one are made anew
# A subject, behind a sign that is no part of a word. Each way begins with a set of letters, so that the others are
# passed over at once, and ends with an empty group that says which it is.
_SUBJECT = regex(
    r"[\x00-&(-,:-?\[-^`{-\x7f\x80-\U0010ffff](?<![\w'’@/.-])(?:"
    r"[MmOoYy](?:(?<=[Mm])y|(?<=[Oo])ur|(?<=[Yy])our)(?=\s)(?P<poss>)"
    r"|[IiWwYySsHh](?:(?<=[Ii])|(?<=[Ww])e|(?<=[Yy])ou|(?<=[Ss])he|(?<=[Hh])e)(?:['’](?P<short>m|re|ve|s|d|ll))?(?=\s)(?P<pron>)"
    r"|[Tt]he\s(?P<noun>[a-z]{2,15}(?:\s[a-z]{2,15})?)\s(?:of|for)(?=\s[A-Z])(?P<the>)"
    r"|[AaSsCcOoWwNnIMm](?:(?<=[Aa])ctually|(?<=A)CTUALLY|(?<=[Ss])orry|(?<=[Cc])orrection|(?<=[Oo])ops|(?<=[Ww])ait|(?<=[Nn])o"
    r"|(?<=I)\smeant|(?<=[Mm])ake\sthat|(?<=[Ss])cratch)(?=[\s,:.!-])(?P<again>)"
    r"|[Cc]all\sme(?=\s)(?P<call>)"
    r"|[A-Z][\w-]{1,24}(?:\s[A-Z][\w-]{1,24}){0,2}(?:['’]s(?=\s)(?P<own>)|(?=\s[a-z])(?P<name>))"
    r")"
)
_BEFORE_THE_TEXT = "\n"
_CUES = (predicates.CUES | changes.CUES) - frozenset(("to",))
_LINE = regex(
    r"(?m)^[ \t]{0,4}(?:[-*•][ \t]{1,3})?\**(?P<noun>[A-Za-z][A-Za-z -]{1,25}?)\**:\**[ \t]{1,3}"
    r"(?P<value>[^\n]{1,100})$"
)
_NAME_OF = regex(r"[A-Z][\w'’-]{1,24}(?:\s[A-Z0-9][\w'’-]{0,24}){0,2}")
_IS = regex(r"\s(?:is|was|has\schanged\sto|changed\sto|moved\sto|has\sbeen\smoved\sto)\s")
_IS_MY = regex(r"\s(?:is|was)\s(?:now\s|still\s)?\Z")
_BEFORE_MY = ("is", "was", "now", "still")  # how what it finds ends, but for a blank
_LEFT_NAME = regex(
    r"(?:^|[,;:(]\s?|\b(?:and|but|so|that)\s)(?P<name>[A-Z][\w'’-]{1,24}(?:\s[A-Z][\w'’-]{1,24}){0,2})\Z"
)
_ONLY_LINES = frozenset(
    "phone phone_number email name address birthday age employer job diet blood_type allergy language nationality"
    " height weight hometown home partner pronouns time_zone dentist doctor".split()
)


_LEADS = frozenset(
    "earlier originally previously formerly initially where once nowadays today currently note update".split()
)


def said_in(text: str, at: datetime, slots: Slots = DEFAULT) -> tuple[Said, ...]:
    """What a text says of slots, in the order of the text.

    Args:
        text: of a memory.
        at: when it was said, for "since spring".
        slots: the schema.
    """
    reading = Reading(text, at, slots)
    tenses = slots.verbs.tenses
    marks = iter(nouns.marks(text))
    mark = next(marks, None)
    for match in _SUBJECT.finditer(_BEFORE_THE_TEXT + text):
        start, kind = match.start(), match.lastgroup  # one sign was put before the text, which the match begins with
        while mark is not None and mark <= start:
            _marked(reading, mark)
            mark = next(marks, None)
        if start < reading.busy:
            continue
        if kind == "name" or (
            kind == "pron" and match["short"] is None
        ):  # most of them are followed by no verb that says anything
            place = match.end()
            word = text[place : place + 24].split(None, 1)
            cue = word[0].rstrip(".,!?;:").casefold() if word else ""
            if cue not in tenses and cue not in _CUES:
                continue
        _read(reading, match, start)
    while mark is not None:
        _marked(reading, mark)
        mark = next(marks, None)
    if ":" in text:
        _lines(reading)
    things.read(reading)
    loose.read(reading)
    return tuple(sorted(reading.found, key=lambda said: said.span[0])) if reading.found else ()


def _marked(reading: Reading, start: int) -> None:
    """What is said where a noun is possessed."""
    if start >= reading.busy:
        match = nouns.MARK.match(reading.text, start)
        if match:
            nouns.read(reading, match)


def _read(reading: Reading, match: re.Match[str], start: int) -> bool:
    kind, end = match.lastgroup, match.end() - 1
    said = reading.text[start:end]
    if kind == "poss":
        subject = YOU if said in ("your", "Your") else ME
        return _mine(reading, start) or possessives.read(reading, subject, start, end + 1)
    if kind == "name":
        return _named(reading, said, start, end)
    if kind == "own":
        return _owned(reading, said[:-2], start, end)
    if kind == "pron":
        short = match["short"] or ""
        return _pronoun(reading, said[: -1 - len(short)] if short else said, start, end, short)
    if kind == "the":
        return _of(reading, match["noun"], start, end + 1)
    if kind == "again":
        first, last = reading.sentence(start)
        return not reading.text[max(first, start - 1) : start].strip() and changes.corrected(reading, start, last)
    value = values.value_at(reading.text, end + 1, reading.sentence(start)[1], "person")
    return bool(value) and reading.say("nickname", value, ME, start)  # type: ignore[arg-type]


def _pronoun(reading: Reading, pronoun: str, start: int, end: int, short: str) -> bool:
    pronoun, sure = pronoun.casefold(), 1.0
    if not may_state(reading.text, start):
        return False
    if pronoun in ("she", "he"):
        known = reading.person
        if known is None or not 0 <= reading.number(start) - known[1] <= 1 or not _fits(pronoun, known[0]):
            return False
        subject, sure = known[0], RESOLVED
    else:
        subject = YOU if pronoun == "you" else ME
    return states.read(reading, subject, start, end, short, sure) or changes.read(reading, subject, start, end, short)


def _fits(pronoun: str, subject: str) -> bool:
    last = subject.rsplit(maxsplit=1)[-1].casefold()
    return last not in (words.MALE if pronoun == "she" else words.FEMALE)


def _name(name: str, start: int) -> tuple[str, int] | None:
    """A name without a word that leads to it ("Earlier Tom's gym was …"), and where it begins; `None` = it is none."""
    first, _, rest = name.partition(" ")
    low = first.casefold()
    if rest and low in _LEADS:
        return rest, start + len(first) + 1
    return None if low in words.NOT_NAMES else (name, start)


def _owned(reading: Reading, name: str, start: int, end: int) -> bool:
    found = _name(name, start)
    if found is None:
        return False
    mark = nouns.MARK.match(reading.text, end - 2)
    if mark and nouns.read(reading, mark):
        return True
    return possessives.read(reading, *found, end + 1)


def _named(reading: Reading, name: str, start: int, end: int) -> bool:
    found = _name(name, start)
    if found is None:
        return False
    text = reading.text
    name, start = found
    if not text[max(0, start - 4) : start].casefold().endswith((" my ", "my ", "our ")):
        before = reading.person
        reading.person = (name, reading.number(start)) if before is None or before[0] == name else None
    if not may_state(text, start):
        return False
    return states.read(reading, name, start, end, "", named=True) or changes.read(reading, name, start, end, "")


def _mine(reading: Reading, start: int) -> bool:
    """ "Sam is my manager": a name before, a relation behind."""
    text = reading.text
    if not text[max(0, start - 6) : max(0, start - 1)].endswith(_BEFORE_MY):
        return False
    before = _IS_MY.search(text, max(0, start - 14), start)
    if not before:
        return False
    first, last = reading.sentence(start)
    name = _LEFT_NAME.search(text[max(first, before.start() - 60) : before.start()])
    noun = _noun(reading, start, last)
    if not name or noun is None or name["name"].split()[0].casefold() in words.NOT_NAMES:
        return False
    begin = max(first, before.start() - 60) + name.start("name")
    slot = reading.slots.of_noun[noun]
    known = reading.slots.get(slot)
    if known is None or not (known.kind == "person" or slot.startswith("favourite_")) or slot == "name":
        return False
    op = "was" if "was" in before[0] else IS
    return reading.say(slot, (name["name"], begin, begin + len(name["name"])), ME, begin, op=op)


_AFTER_MY = regex(
    r"(?:[Mm]y|[Oo]ur)\s(?:(?:new|current|own)\s)?(?P<noun>[a-z-]{2,20}(?:\s[a-z-]{2,20}){0,2}?)(?=\s*(?:[.,;!?]|$|\n|now\b|and\b|at\b|since\b))"
)


def _noun(reading: Reading, start: int, end: int) -> str | None:
    match = _AFTER_MY.match(reading.text, start, end)
    return match["noun"] if match and match["noun"] in reading.slots.of_noun else None


def _of(reading: Reading, noun: str, start: int, place: int) -> bool:
    """ "The deadline of Project Kestrel is …"."""
    text = reading.text
    slot = reading.slots.of_noun.get(noun.casefold().removeprefix("new ").removeprefix("current "))
    _, last = reading.sentence(start)
    name = _NAME_OF.match(text, place, last) if slot else None
    verb = _IS.match(text, name.end(), last) if name else None
    known = reading.slots.get(slot) if slot else None
    if slot is None or name is None or verb is None or known is None:
        return False
    value = values.value_at(text, verb.end(), last, known.kind)
    op = "was" if verb[0].strip() == "was" else IS
    return bool(value) and reading.say(slot, value, name[0], start, op=op)  # type: ignore[arg-type]


def _lines(reading: Reading) -> None:
    """ "Phone: 555-0101", a line by itself, of a profile or a note."""
    for match in _LINE.finditer(reading.text):
        slot = reading.slots.of_noun.get(match["noun"].casefold())
        known = reading.slots.get(slot) if slot in _ONLY_LINES else None
        if slot is None or known is None or match.start("value") < reading.busy:
            continue
        value = values.value_at(reading.text, match.start("value"), match.end(), known.kind)
        if value and value[2] >= match.end() - 1:
            reading.say(slot, value, ME, match.start("noun"), sure=0.85)
