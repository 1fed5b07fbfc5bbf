"""What is said of a thing of the speaker's that nobody owns in the words, or that somebody else changes.

    the ─ noun ─ is at / starts at / moves to ─ a time         "The standup moves to 10"
    the ─ noun ─ is / changed to ─ value                       "The rent is 1,200"
    who ─ raised, moved, changed ─ my / our / the ─ noun ─ to ─ value    "The landlord raised the rent to 1,350"

Where nobody says whose it is, it is taken for the speaker's, less surely. Who changes it is not whose it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from recall_integrations.facts.open_names import open_name, slots_called
from recall_integrations.facts.rules import nouns, values, words
from recall_integrations.facts.rules.reading import Reading, may_state
from recall_integrations.facts.rules.values import Value
from recall_integrations.facts.said import IS, ME, WAS
from recall_integrations.facts.slots import OPEN
from recall_integrations.patterns import regex

WHO_WORDS_MAX = 7  # who changes something
OPEN_WORDS_MAX = 3  # of a value of a slot that the schema does not have
CHARS = 1_000  # of a text that are looked at
BEFORE = 120  # characters of a sentence before what is changed
UNOWNED = 0.8  # of "the rent", whose it is not said
_DAY = r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|today|tomorrow|tonight)"
_CLOCK = r"(?:(?:[01]?\d|2[0-3])(?:[:.][0-5]\d)?\s?(?:[ap]\.?m\.?\b|o['’]clock)?|noon|midnight|half\spast\s\w{3,6}|quarter\s(?:past|to)\s\w{3,6})"
_DATE = rf"(?:\d{{4}}-\d\d-\d\d|(?:the\s)?\d{{1,2}}(?:st|nd|rd|th)?\s(?:of\s)?{values.MONTH}\b|{values.MONTH}\s(?:the\s)?\d{{1,2}}(?:st|nd|rd|th)?\b|the\s\d{{1,2}}(?:st|nd|rd|th)\b)"
_TIME = (
    rf"(?P<value>(?:{_DAY}|{_DATE})(?:,?\s(?:{_DATE}))?(?:,?\s(?:at\s)?{_CLOCK})?|{_CLOCK}(?:\s(?:on\s)?(?:{_DAY}|{_DATE}))?|{values.MONTH}\b)"
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
_CHANGING = frozenset(
    "raised increased lowered reduced dropped cut bumped upped put moved pushed shifted rescheduled postponed delayed brought"
    " changed switched updated upgraded downgraded extended transferred relocated reset set".split()
)
_CHANGED = regex(
    rf"\s(?:{'|'.join(sorted(_CHANGING))})\s(?P<det>my|our|the)\s"
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
_BEHIND = regex(r"\s(?:for|in|of|at)\s", 2)
_STOPS = regex(
    r"\s*(?:$|[.,;!?)\n]|\s(?:now|instead|from|because|so|and|but|since|as\sof|last|this|today|yesterday|on|in)\b)", 2
)
_CLAUSE = regex(r"(?:[,;:(–—]|\s(?:and|but|so|because|since)\s|^|\n)\s*(?=[^,;:(–—]*\Z)")
# Where one of these stands before it in its sentence, nothing of now is stated, or not of the speaker's.
_NOT_STATED = frozenset(
    "will would should could can may might must to if when want wants wanted asked ask not never ever be being plan plans going almost"
    " nearly who which that you nobody nothing no none neither hardly without dreamt dreamed dream story film movie show"
    " novel book rumour rumor told tells says said heard ago example".split()
)
_OTHERS = frozenset("his her their its your he she someone's somebody's".split())
# "At Acme, …", "In the film, …": not here.
_ELSEWHERE = regex(
    r"\s*(?:[Aa]t|[Ff]or|[Oo]n|[Ii]n)\s(?!(?:the\smoment|present|first|last|Mon|Tues|Wednes|Thurs|Fri|Satur|Sun|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec))(?:[A-Z]|the\s)"
)
_PAST = regex(r"\b(?:1[5-9]|20)\d\d\b|\blast\s(?:year|decade|century)\b", 2)
_NO_PLANS = frozenset(
    "time times day days week month year morning evening night one ones thing things way rest point part end start kids"
    " children family team baby dog cat score weather temperature sun moon news kid boy girl man woman".split()
)
# Of what the schema has, what nobody need own: "the rent", "the gate code".
_OF_NOBODY = frozenset("rent deadline budget price location wifi_password version".split())
_PLANNED_KINDS = ("any", "date")
EVENTS = frozenset(
    "release standup stand-up launch meeting call demo review retro sync deployment flight train appointment interview exam class lesson"
    " party wedding concert game match practice rehearsal kickoff kick-off workshop delivery inspection surgery hearing bus ferry"
    " lecture seminar session dinner lunch breakfast movie film show tour check-in".split()
)
_MOVES = frozenset("put moved pushed shifted brought transferred relocated set".split())
_WHOEVER = frozenset("they we i it the my our hr management facilities somebody someone".split())
_QUALIFIERS = frozenset(
    "other winning whole same new old first second next best home away national entire losing".split()
)
_LEADING = frozenset(
    "leads runs heads manages owns over leading running heading managing charge responsible lead owner manager handed passed gave"
    " transferred led run headed managed owned".split()
)
_NOT_IN_NOUNS = frozenset("for of at in on with from up down out off his her their its your".split())
_ENDINGS = ("'s", "’s", "ly", "n't", "n’t")
# Words without one of which a pattern matches nothing: most texts are passed over by them.
_MAY_BE_TIME = regex(
    r"\d|day\b|days\b|noon|night|tomorrow|half\spast|quarter|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
)
_WHOSE_WORDS = frozenset(("the", "my", "our"))
_TELLS_TIME = frozenset(
    "is are was were be starts begins happens leaves departs takes kicks moved moves moving slipped slips slipping shifted shifts pushed"
    " rescheduled postponed delayed brought changed put".split()
)
_NAMES_OF_NOBODY = frozenset(
    "rent deadline date budget price cost room password wifi wi-fi version release location venue".split()
)
_ACTS = frozenset(("team", "organisation", "person", "place", "name", "thing", "titled"))  # who moves, or is moved


def read(reading: Reading) -> None:
    """What is said of things where nothing else was found.

    Args:
        reading: of the text, with what other rules found.
    """
    text = reading.text
    low = text[:CHARS].casefold()
    found = frozenset(low.split())
    if "to" in found and not _CHANGING.isdisjoint(found):
        _each(reading, _CHANGED, _changed)
    if "to" in found and not EVENTS.isdisjoint(found):
        _each(reading, _BARE, _timed)
    if not _WHOSE_WORDS.isdisjoint(found) and not _TELLS_TIME.isdisjoint(found) and _MAY_BE_TIME.search(low):
        _each(reading, _TIMED, _timed)
    if "the" in found and not _NAMES_OF_NOBODY.isdisjoint(found):
        _each(reading, _IS, _is)
    if not _LEADING.isdisjoint(found):
        for pattern in (_LEADS, _HANDED, _LED_BY):
            _each(reading, pattern, _leads)


def _each(reading: Reading, pattern: re.Pattern[str], rule: Callable[[Reading, re.Match[str]], None]) -> None:
    for match in pattern.finditer(reading.text, 0, CHARS):
        rule(reading, match)


def _stated(reading: Reading, start: int) -> bool:
    """Whether something of the speaker's, and of now, may be stated at a place: a look at what its sentence has before."""
    first, _ = reading.sentence(start)
    before = reading.text[first:start]
    if len(before) > BEFORE or ":" in before or _PAST.search(before) or _ELSEWHERE.match(before):
        return False
    said = before.casefold().replace("’", "'").split()
    if not _NOT_STATED.isdisjoint(word.strip(",") for word in said) or not _OTHERS.isdisjoint(said):
        return False
    return not any(word.endswith(("n't", "'s", "s'", "'ll", "'d")) for word in said) and "of" not in said


def _free(reading: Reading, start: int, end: int) -> bool:
    """Whether nothing was found in a stretch."""
    return not any(said.span[0] < end and start < said.span[1] for said in reading.found)


def _slot(reading: Reading, noun: str, *, planned: bool = False) -> str | None:
    """The slot that a noun phrase names; of what is planned, one without a name in the schema also if it is plain."""
    parts = noun.casefold().split()
    if any(part in nouns.NO_NOUN or part in _NOT_IN_NOUNS or part.endswith(_ENDINGS) for part in parts):
        return None
    if planned and parts[-1] not in _NO_PLANS:
        return next(iter(slots_called(noun, reading.slots)), None)
    return nouns.slot_of(reading, noun)


def _changed(reading: Reading, match: re.Match[str]) -> None:
    """ "The landlord raised the rent to 1,350"."""
    text, the = reading.text, match["det"].casefold() == "the"
    first, last = reading.sentence(match.start() + 1)
    clause = _CLAUSE.search(text[first : match.start()])
    begin = first + (clause.end() if clause else 0)
    who = text[begin : match.start()].split()
    if not 1 <= len(who) <= WHO_WORDS_MAX or not may_state(text, begin) or not _stated(reading, match.start()):
        return
    if the and who[0][0].isupper() and who[0].casefold() not in _WHOEVER:
        return  # "Netflix raised the price to 17.99"
    timed = _AT.match(text, match.end(), last)
    slot = _slot(reading, match["noun"], planned=timed is not None)
    if slot is None or not reading.slots.one(slot):
        return
    kept = reading.slots.get(slot)
    if timed is not None and kept is not None and kept.kind not in _PLANNED_KINDS:
        slot, kept = OPEN + open_name(match["noun"]), None  # "the release to 18 December" is no version
    if kept is not None and (kept.kind in _ACTS or (the and slot not in _OF_NOBODY)):
        return  # "Twitter changed the name to X"
    value: Value | None
    if timed is not None:
        value, sure = (timed["value"], *timed.span("value")), 1.0
    else:
        value, sure = nouns.value_of(reading, slot, match["noun"], match.end(), last)
    if value is None or not _free(reading, match.start(), value[2]):
        return
    moves = match[0].split(None, 1)[0].casefold() in _MOVES
    if moves and timed is None and not any(map(str.isdigit, value[0])):
        return  # "my mum moved my piano to her house"
    if kept is None and timed is None and not _ends(text, value, last):
        return  # "increased my sessions to 12 problems of this kind each week"
    sure *= UNOWNED if the else 1.0
    reading.say(slot, value, ME, begin, instead_of=_old(match["old"]), event=True, sure=sure)


def _ends(text: str, value: Value, last: int) -> bool:
    """Whether a value is short, and its clause ends behind it."""
    return len(value[0].split()) <= OPEN_WORDS_MAX and _STOPS.match(text, value[2], last) is not None


def _timed(reading: Reading, match: re.Match[str]) -> None:
    """ "The standup is at 9:30", "our release slipped to 17 March"."""
    known = match.groupdict()
    noun, text = match["noun"], reading.text
    slot = _slot(reading, noun[0].lower() + noun[1:], planned=True)
    if slot is None or not may_state(text, match.start()) or not _free(reading, match.start(), match.end("value")):
        return
    said, moved, low = known.get("be"), bool(match["moved"]), match[0].casefold()
    if not _stated(reading, match.start()) or " due " in low or " was for " in low:
        return
    if said and match["value"].isdigit() and noun.casefold().split()[-1] not in EVENTS:
        return  # "the battery is at 20"
    kept = reading.slots.get(slot)
    if kept is not None and kept.kind not in _PLANNED_KINDS:
        slot = OPEN + open_name(noun)  # "the release is on Friday": when it is, and not which
    value: Value = (match["value"], *match.span("value"))
    sure = 1.0 if (known.get("det") or "the").casefold() != "the" else UNOWNED
    op = WAS if said in ("was", "were") and not moved else IS
    old = _old(known.get("old"))
    reading.say(slot, value, ME, match.start(), op=op, instead_of=old, event=moved, sure=sure)


def _is(reading: Reading, match: re.Match[str]) -> None:
    """ "The rent is 1,200": of a slot of the schema, where the value looks like one of it."""
    text, start = reading.text, match.start()
    slot = _slot(reading, match["noun"])
    if slot not in _OF_NOBODY or not may_state(text, start) or not _stated(reading, start):
        return
    if slot == "location" and match["noun"].split()[-1] != "room":
        return
    kept, (_, last) = reading.slots.get(slot), reading.sentence(start)
    value, sure = nouns.value_of(reading, slot, match["noun"], match.end(), last)
    if kept is None or value is None or not _free(reading, start, value[2]):
        return
    if not any(map(str.isdigit, value[0])) and not (sure == 1.0 and _looks(value[0], kept.kind)):
        return
    if _BEHIND.match(text, value[2], last):
        return  # "the budget is 200 million for the new film"
    op, moved = WAS if match["be"] == "was" else IS, bool(match["moved"])
    reading.say(slot, value, ME, start, op=op, instead_of=_old(match["old"]), event=moved, sure=sure * UNOWNED)


def _looks(value: str, kind: str) -> bool:
    """Whether a value can be told from "buzzing" by its looks."""
    return kind in ("code", "email", "date") or value[0].isupper()


def _leads(reading: Reading, match: re.Match[str]) -> None:
    """ "Okafor took over Project Falcon", "Sarah handed the data team over to Miguel"."""
    if match["who"].split()[0].casefold() in words.NOT_NAMES or not may_state(reading.text, match.start()):
        return
    if not _QUALIFIERS.isdisjoint(match["thing"].casefold().split()) or not _stated(reading, match.start()):
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
