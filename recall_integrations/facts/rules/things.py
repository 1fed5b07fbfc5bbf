"""What is said of a thing of the speaker's that nobody owns in the words, or that somebody else changes.

    the ─ noun ─ is at / starts at / moves to ─ a time         "The standup moves to 10"
    the ─ noun ─ is / changed to ─ value                       "The rent is 1,200"
    who ─ raised, moved, changed ─ my / our / the ─ noun ─ to ─ value    "The landlord raised the rent to 1,350"

Where nobody says whose it is, it is taken for the speaker's, less surely. Who changes it is not whose it is.
"""

from __future__ import annotations

import re

from recall_integrations.facts.open_names import open_name, slots_called
from recall_integrations.facts.rules import nouns, values, words
from recall_integrations.facts.rules.reading import Reading, may_state
from recall_integrations.facts.rules.values import Value
from recall_integrations.facts.said import IS, ME, WAS
from recall_integrations.facts.slots import OPEN
from recall_integrations.patterns import regex

OPEN_WORDS_MAX = 3  # of a value of a slot that the schema does not have
UNOWNED = 0.8  # of "the rent", whose it is not said
_DAY = r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|today|tomorrow|tonight)"
_MONTH = r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
_CLOCK = r"(?:(?:[01]?\d|2[0-3])(?:[:.][0-5]\d)?\s?(?:[ap]\.?m\.?\b|o['’]clock)?|noon|midnight|half\spast\s\w{3,6}|quarter\s(?:past|to)\s\w{3,6})"
_DATE = rf"(?:\d{{4}}-\d\d-\d\d|(?:the\s)?\d{{1,2}}(?:st|nd|rd|th)?\s(?:of\s)?{_MONTH}\b|{_MONTH}\s(?:the\s)?\d{{1,2}}(?:st|nd|rd|th)?\b|the\s\d{{1,2}}(?:st|nd|rd|th)\b)"
_TIME = (
    rf"(?P<value>(?:{_DAY}|{_DATE})(?:,?\s(?:{_DATE}))?(?:,?\s(?:at\s)?{_CLOCK})?|{_CLOCK}(?:\s(?:on\s)?(?:{_DAY}|{_DATE}))?|{_MONTH}\b)"
    r"(?=\s*(?:$|[.,](?!\d)|[;!?)\n]|\s(?:now|instead|sharp|because|so|and|but|from|this|next|in|at|since|after|due|with|for|on)\b))"
)
_NOUN = r"(?P<noun>(?:[a-z][\w'’-]{1,19}\s){0,3}?[a-z][\w'’-]{1,19})"
_WHOSE = r"(?<![\w'’-])(?P<det>[Tt]he|[Mm]y|[Oo]ur)\s"
_PLANNED = r"(?:(?:planned|scheduled|set|due|booked|slated|fixed|arranged|down)\s)?(?:at|for|on|by)?\s?"
_MOVED = (
    r"(?:(?:has|have|had|was|were|is|are|got|been|just|being|now)\s){0,3}"
    r"(?:moved|moves|moving|slipped|slips|slipping|shifted|shifts|pushed|rescheduled|postponed|delayed|brought|changed|put)"
    r"(?:\s(?:up|down|back|forward|out|over))?(?:\sfrom\s(?P<old>[^,.;!?\n]{1,30}?))?\s(?:to|until|till|for)\s(?:be\sat\s|be\son\s)?"
)
_TIMED = regex(
    rf"{_WHOSE}{_NOUN}\s(?:(?P<moved>{_MOVED})|(?:(?P<be>is|are|was|were|will\sbe)\s(?:(?:now|still|currently|always)\s)?{_PLANNED}"
    rf"|(?:starts|begins|happens|leaves|departs|takes\splace|kicks\soff)\s(?:now\s)?(?:at|on)\s)){_TIME}",
    2,
)
# "Release slipped to March 17": of what is planned only, since a name may stand there.
_BARE = regex(
    r"(?<![\w'’-])(?P<noun>(?:[A-Z][\w-]{1,15}\s)?(?:[Rr]elease|[Ss]tand-?up|[Ll]aunch|[Mm]eeting|[Cc]all|[Dd]emo|[Rr]eview|[Rr]etro|[Ss]ync|"
    r"[Dd]eployment|[Ff]light|[Tt]rain|[Aa]ppointment|[Ii]nterview|[Ee]xam|[Cc]lass|[Ll]esson|[Pp]arty|[Ww]edding|[Cc]oncert|[Gg]ame|[Mm]atch|"
    r"[Pp]ractice|[Rr]ehearsal|[Kk]ick-?off|[Ww]orkshop|[Dd]elivery|[Ii]nspection|[Ss]urgery|[Hh]earing|[Dd]eadline))\s"
    rf"(?i:(?P<moved>{_MOVED}){_TIME})"
)
_WHO = r"(?P<who>[A-Z][\w'’-]{1,24}(?:\s[A-Z][\w'’-]{1,24})?)"
_LED = (
    r"(?P<thing>(?:[Pp]roject|[Tt]eam|[Oo]peration)\s[A-Z][\w-]{1,24}|[Tt]he\s(?:[\w-]{1,20}\s){1,3}?(?:team|project|account|department|"
    r"campaign|migration|redesign|rollout|squad|branch|workstream|product))\b"
)
_LEADS = regex(
    rf"(?<![\w'’-]){_WHO}\s(?:(?:now|still|currently)\s)?(?:leads|runs|heads|manages|owns|(?:has\s)?(?:took|taken|takes)\sover|"
    rf"is\s(?:now\s)?(?:leading|running|heading|managing|in\scharge\sof|responsible\sfor|the\s(?:lead|owner|manager)\sof))\s{_LED}"
)
_HANDED = regex(
    rf"(?<![\w'’-])(?P<old>I|[A-Z][\w'’-]{{1,24}})\s(?:(?:has|have|just)\s){{0,2}}(?:handed|passed|gave|transferred)\s(?:over\s)?{_LED}\s(?:over\s|off\s)?to\s{_WHO}"
)
_LED_BY = regex(rf"(?<![\w'’-]){_LED}\sis\s(?:now\s|still\s)?(?:led|run|headed|managed|owned)\sby\s{_WHO}")
_CHANGED = regex(
    r"\s(?:raised|increased|lowered|reduced|dropped|cut|bumped|upped|put|moved|pushed|shifted|rescheduled|postponed|delayed|brought|changed|"
    r"switched|updated|upgraded|downgraded|extended|transferred|relocated|reset|set)\s(?P<det>my|our|the)\s"
    r"(?P<noun>(?:[\w'’-]{1,20}\s){0,3}?[\w'’-]{1,20})(?:\s(?:up|down|back|forward|over|out|again))?"
    r"(?:\sfrom\s(?P<old>[^,.;!?\n]{1,40}?))?\s(?:to|till|until)\s",
    2,
)
_IS = regex(
    r"(?<![\w'’-])[Tt]he\s(?P<noun>(?:[a-z][\w'’-]{1,19}\s){0,3}?[a-z][\w'’-]{1,19})\s"
    r"(?:(?P<be>is|was)\s(?:(?:now|still|currently)\s)?|(?P<moved>(?:(?:has|just|was|is|been|got|now)\s){0,3}(?:changed|went|moved|raised|increased|"
    r"lowered|reduced|dropped|bumped|switched|updated)(?:\s(?:up|down))?(?:\sfrom\s(?P<old>[^,.;!?\n]{1,40}?))?\sto\s))"
)
_AT = regex(_TIME, 2)
_STOPS = regex(
    r"\s*(?:$|[.,;!?)\n]|\s(?:now|instead|from|because|so|and|but|since|as\sof|last|this|today|yesterday|on|in)\b)", 2
)
_CLAUSE = regex(r"(?:[,;:(–—]|\s(?:and|but|so|because|since)\s|^|\n)\s*(?=[^,;:(–—]*\Z)")
# Where one of these stands between the beginning of a clause and its verb, nothing of now is stated.
_NOT_STATED = frozenset(
    "will would should could can may might must to if when want wants wanted asked ask not never ever be being plan plans going almost"
    " nearly who which that didn't don't won't can't you".split()
)
_NO_PLANS = frozenset(
    "time times day days week month year morning evening night one ones thing things way rest point part end start kids"
    " children family team baby dog cat score weather temperature sun moon news kid boy girl man woman".split()
)
_LEADING = frozenset(
    "leads runs heads manages owns over leading running heading managing charge responsible lead owner manager handed passed gave"
    " transferred led run headed managed owned".split()
)
_ACTS = frozenset(("team", "organisation", "person", "place", "name", "thing", "titled"))  # who moves, or is moved


def read(reading: Reading) -> None:
    """What is said of things where nothing else was found.

    Args:
        reading: of the text, with what other rules found.
    """
    text = reading.text
    low = text.casefold()
    if " to " in low:
        for match in _CHANGED.finditer(text):
            _changed(reading, match)
        for match in _BARE.finditer(text):
            _timed(reading, match)
    if "the " in low or "my " in low or "our " in low:
        for match in _TIMED.finditer(text):
            _timed(reading, match)
    if "the " in low:
        for match in _IS.finditer(text):
            _is(reading, match)
    if not _LEADING.isdisjoint(low.split()):
        for pattern in (_LEADS, _HANDED, _LED_BY):
            for match in pattern.finditer(text):
                _leads(reading, match)


def _free(reading: Reading, start: int, end: int) -> bool:
    """Whether nothing was found in a stretch."""
    return not any(said.span[0] < end and start < said.span[1] for said in reading.found)


def _slot(reading: Reading, noun: str, *, planned: bool = False) -> str | None:
    """The slot that a noun phrase names; of what is planned, one without a name in the schema also if it is plain."""
    parts = noun.casefold().split()
    if any(part in nouns.NO_NOUN or part.endswith(("'s", "’s", "ly")) for part in parts):
        return None
    if planned and parts[-1] not in _NO_PLANS:
        return next(iter(slots_called(noun, reading.slots)), None)
    return nouns.slot_of(reading, noun)


def _changed(reading: Reading, match: re.Match[str]) -> None:
    """ "The landlord raised the rent to 1,350"."""
    text = reading.text
    first, last = reading.sentence(match.start() + 1)
    clause = _CLAUSE.search(text[first : match.start()])
    begin = first + (clause.end() if clause else 0)
    before = text[begin : match.start()].casefold().split()
    if not 1 <= len(before) <= 7 or not _NOT_STATED.isdisjoint(before) or not may_state(text, begin):
        return
    timed = _AT.match(text, match.end(), last)
    slot = _slot(reading, match["noun"], planned=timed is not None)
    if slot is None or not reading.slots.one(slot):
        return
    value: Value | None
    if timed is not None:
        value, sure = (timed["value"], *timed.span("value")), 1.0
    else:
        value, sure = nouns.value_of(reading, slot, match["noun"], match.end(), last)
    kept = reading.slots.get(slot)
    if value is None or not _free(reading, match.start(), value[2]) or (kept is not None and kept.kind in _ACTS):
        return
    if (
        kept is None
        and timed is None
        and (len(value[0].split()) > OPEN_WORDS_MAX or _STOPS.match(text, value[2], last) is None)
    ):
        return  # "increased my sessions to 12 problems of this kind each week"
    sure *= UNOWNED if match["det"].casefold() == "the" else 1.0
    reading.say(slot, value, ME, begin, instead_of=_old(match["old"]), event=True, sure=sure)


def _timed(reading: Reading, match: re.Match[str]) -> None:
    """ "The standup is at 9:30", "our release slipped to 17 March"."""
    known = match.groupdict()
    noun, text = match["noun"], reading.text
    slot = _slot(reading, noun[0].lower() + noun[1:], planned=True)
    if slot is None or not may_state(text, match.start()) or not _free(reading, match.start(), match.end("value")):
        return
    said = known.get("be")
    if (
        not match["moved"]
        and match["value"].isdigit()
        and text[match.start("value") - 3 : match.start("value")] not in ("at ",)
    ):
        return  # "the score is 10"
    kept = reading.slots.get(slot)
    if kept is not None and kept.kind not in ("any", "date"):
        slot = OPEN + open_name(noun)  # "the release is on Friday": when it is, and not which
    value: Value = (match["value"], *match.span("value"))
    sure = 1.0 if (known.get("det") or "the").casefold() != "the" else UNOWNED
    op = WAS if said in ("was", "were") and not match["moved"] else IS
    reading.say(
        slot, value, ME, match.start(), op=op, instead_of=_old(known.get("old")), event=bool(match["moved"]), sure=sure
    )


def _is(reading: Reading, match: re.Match[str]) -> None:
    """ "The rent is 1,200": of a slot of the schema, where the value looks like one of it."""
    text = reading.text
    slot = _slot(reading, match["noun"])
    kept = reading.slots.get(slot) if slot else None
    if slot is None or slot.startswith(OPEN) or kept is None or not kept.one or not may_state(text, match.start()):
        return
    _, last = reading.sentence(match.start())
    value, sure = nouns.value_of(reading, slot, match["noun"], match.end(), last)
    if value is None or not (any(map(str.isdigit, value[0])) or (sure == 1.0 and _looks(value[0], kept.kind))):
        return
    if not _free(reading, match.start(), value[2]) or (match["moved"] and kept.kind in _ACTS):
        return
    op = WAS if match["be"] == "was" else IS
    reading.say(
        slot,
        value,
        ME,
        match.start(),
        op=op,
        instead_of=_old(match["old"]),
        event=bool(match["moved"]),
        sure=sure * UNOWNED,
    )


def _looks(value: str, kind: str) -> bool:
    """Whether a value can be told from "buzzing" by its looks."""
    return kind in ("code", "email", "date") or value[0].isupper()


def _leads(reading: Reading, match: re.Match[str]) -> None:
    """ "Okafor took over Project Falcon", "Sarah handed the data team over to Miguel"."""
    if match["who"].split()[0].casefold() in words.NOT_NAMES or not may_state(reading.text, match.start()):
        return
    if not _free(reading, match.start(), match.end()):
        return
    thing = match["thing"][4:] if match["thing"][:4].casefold() == "the " else match["thing"]
    old = match.groupdict().get("old") or ""
    reading.say(
        "owner",
        (match["who"], *match.span("who")),
        thing,
        match.start(),
        instead_of="" if old == "I" else old,
        event=" over " in match[0],
    )


def _old(old: str | None) -> str:
    found = values.stripped(old, 0, len(old)) if old else None
    return found[0] if found else ""
