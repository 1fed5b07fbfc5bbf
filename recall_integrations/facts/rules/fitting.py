"""Whether a value that looks right can be meant by a verb that means much else."""

from __future__ import annotations

from recall_integrations.facts.rules import words
from recall_integrations.facts.rules.predicates import BE, PRESENT, PROGRESS, Predicate
from recall_integrations.facts.rules.values import Value
from recall_integrations.facts.said import ME, YOU
from recall_integrations.patterns import regex

_TOGETHER = frozenset(
    "club group gym team band class classes program programme tournament forum brigade community league church choir"
    " session meeting workshop course army navy choir committee board party society association zoom discord slack".split()
)
_SCHOOLS = ("university", "college", "school", "academy", "institute", "polytechnic", " uni")
_NOT_SUBJECT = frozenset(
    "hard real abroad together alone more every late online all harder lots how what for a the".split()
)
ENDS = regex(
    r"(?:\s*(?:[.,!;:?)]|$|\n|[-–—])|\s(?:and|but|now|so|since|for|because|by|as|at|in|who|which|with|from|again|these|of|"
    r"any\s?more|any\slonger|too|well|fluently|every|when|together|this|last|about|ago|professionally|until|one|two|three|"
    r"four|five|six|\d+|on|to|a\slittle|a\sbit|also|or|&|instead|over|yesterday|diet|food|person|guy|woman|man|eater|"
    r"citizen|though|i|while|working|living|based|currently|looking|once|long|before|only|best)\b|\s[^\w\s])",
    2,
)
_FITNESS = regex(r"gym|fit|barbell|athletic|sports?\b|crossfit|pilates|yoga|muscle|iron", 2)
_LASTS = regex(r"\s?,?\s?(?:now|since|these\sdays|nowadays|again|at\sthe\smoment|from\snow\son)\b", 2)
_HELD = regex(r"\b(?:still|now|back|currently)\b", 2)
_FOR_GOOD = regex(r",?\s(?:for\sgood|forever|behind|and\s(?:moved|relocated|settled))\b", 2)
_TO_JOIN = regex(r",?\s(?:and\s(?:now\s)?(?:joined|started|work|went|got)|to\s(?:join|start|work))\b", 2)
_DRIVES = regex(r"\sand\s(?:now\s)?drives?\b|\sto\sdrive\b", 2)
_THING = regex(r"(?:the\s|(?:project|team|operation)\s[A-Z])|.*\d\Z", 2)
THINGS_ONLY = frozenset(("location", "deadline", "price", "budget"))


def is_thing(subject: str) -> bool:
    """Whether a subject is no person, by its look: "the newsletter", "Project Kestrel", "Inbox3"."""
    return subject not in (ME, YOU) and bool(_THING.match(subject))


def fits(
    text: str, subject: str, rest: tuple[str, ...], said: Predicate, slot: str, group: str, value: Value, end: int
) -> bool:
    """Whether a value that looks right can be meant by a verb that means much else.

    Args:
        text: the whole.
        subject: of whom.
        rest: words of the phrase behind its verb.
        said: the verb.
        slot: that the phrase leads to.
        group: `verbs`, `starts` or `stops`.
        value: and its place.
        end: of the sentence.
    """
    if slot in THINGS_ONLY:
        return subject not in (ME, YOU) and (is_thing(subject) or slot in ("price", "budget"))
    check = _CHECKS.get(slot)
    if check is None:
        return True
    return check(text, rest, said, group, value, end) and not (slot in _PEOPLE and is_thing(subject))


_PEOPLE = frozenset(("home", "employer", "partner", "hobby", "gym"))


def _home(text: str, rest: tuple[str, ...], said: Predicate, group: str, value: Value, end: int) -> bool:
    if rest == ("in",) and said.verb == BE:
        held = _HELD.search(text, said.start, said.end) or _LASTS.match(text, value[2], end)
        return bool(held) and value[0][0].isupper()
    if said.verb.startswith("call"):
        return text.startswith(" home", value[2])
    if said.verb.startswith(("leav", "left")):
        return bool(_FOR_GOOD.match(text, value[2], end))
    return True


def _employer(text: str, rest: tuple[str, ...], said: Predicate, group: str, value: Value, end: int) -> bool:
    low = value[0].casefold()
    if rest == ("at",) and said.verb == BE:
        held = _HELD.search(text, said.start, said.end) or _LASTS.match(text, value[2], end)
        return bool(held) and value[0][0].isupper()
    if said.verb.startswith("join"):
        return value[0][0].isupper() and low.split()[-1] not in _TOGETHER and not _FITNESS.search(low)
    if said.verb.startswith(("leav", "left")) and not rest:
        return value[0][0].isupper() and bool(_TO_JOIN.match(text, value[2], end))
    return True


def _address(text: str, rest: tuple[str, ...], said: Predicate, group: str, value: Value, end: int) -> bool:
    return any(part[0].isupper() for part in value[0].split()[1:] if part) or value[0][0].isupper()


def _diet(text: str, rest: tuple[str, ...], said: Predicate, group: str, value: Value, end: int) -> bool:
    return bool(ENDS.match(text, value[2], end))


def _partner(text: str, rest: tuple[str, ...], said: Predicate, group: str, value: Value, end: int) -> bool:
    if (said.verb == BE and rest in (("with",), ("seeing",))) or said.verb == "seeing":
        return not value[0].startswith("Dr") and bool(_LASTS.match(text, value[2], end))
    return not value[0].startswith("Dr ")


def _doctor(text: str, rest: tuple[str, ...], said: Predicate, group: str, value: Value, end: int) -> bool:
    return value[0].startswith(("Dr ", "Dr. ", "Doctor "))


def _car(text: str, rest: tuple[str, ...], said: Predicate, group: str, value: Value, end: int) -> bool:
    if value[0].split()[0].casefold() in words.CAR_MAKES:
        return True
    if said.verb.startswith("driv") or said.verb in ("drove", BE) or "driving" in rest:
        return True
    return group == "starts" and bool(_DRIVES.match(text, value[2], end))


def _gym(text: str, rest: tuple[str, ...], said: Predicate, group: str, value: Value, end: int) -> bool:
    if not value[0][0].isupper():
        return False
    if said.verb.startswith(("join", "leav", "left", "quit")) or rest[:3] in (
        ("a", "member", "of"),
        ("a", "member", "at"),
    ):
        return bool(_FITNESS.search(value[0]))
    return not value[0].startswith("Dr ")


def _school(text: str, rest: tuple[str, ...], said: Predicate, group: str, value: Value, end: int) -> bool:
    low = value[0].casefold()
    return not said.verb.startswith(("attend", "transfer")) or any(part in low for part in _SCHOOLS)


def _major(text: str, rest: tuple[str, ...], said: Predicate, group: str, value: Value, end: int) -> bool:
    parts = value[0].casefold().split()
    not_a_subject = _NOT_SUBJECT | words.EVALUATIVE
    return parts[0] not in not_a_subject and parts[-1] not in not_a_subject


def _hometown(text: str, rest: tuple[str, ...], said: Predicate, group: str, value: Value, end: int) -> bool:
    return rest != ("from",) or said.verb == BE or said.tense == PRESENT


def _ended(text: str, rest: tuple[str, ...], said: Predicate, group: str, value: Value, end: int) -> bool:
    return bool(ENDS.match(text, value[2], end))


def _hobby(text: str, rest: tuple[str, ...], said: Predicate, group: str, value: Value, end: int) -> bool:
    if group == "verbs" and said.tense == PROGRESS:
        return False
    return bool(ENDS.match(text, value[2], end))


def _editor(text: str, rest: tuple[str, ...], said: Predicate, group: str, value: Value, end: int) -> bool:
    return value[0].casefold() in words.EDITORS or rest == ("in",)


_CHECKS = {
    "editor": _editor,
    "home": _home,
    "employer": _employer,
    "address": _address,
    "diet": _diet,
    "partner": _partner,
    "doctor": _doctor,
    "car": _car,
    "gym": _gym,
    "school": _school,
    "major": _major,
    "hometown": _hometown,
    "sport": _ended,
    "instrument": _ended,
    "learning": _ended,
    "language": _ended,
    "hobby": _hobby,
}
