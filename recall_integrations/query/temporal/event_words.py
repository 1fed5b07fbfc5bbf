"""The phrases that tell a time, and the words around them that place it in the past or the future."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from recall_integrations.patterns import blanked, regex
from recall_integrations.query.temporal import holidays
from recall_integrations.query.temporal.lexicon import MONTH, MONTHS, ONES, SEASON, TEENS

WEEKDAYS = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
_SHORT_DAYS = "mon|tues?|weds?|thur?s?|fri|sat|sun"
NUMBERS = {**ONES, **dict(list(TEENS.items())[:3]), "a": 1, "an": 1}
_N = (
    rf"(?:\d{{1,3}}|{'|'.join(sorted(NUMBERS, key=len, reverse=True))}|(?:a )?couple(?: of)?|"
    r"(?:a |quite a )?few|several|half an?)"
)
_UNITS = r"(?:day|night|week|fortnight|weekend|month|year|decade)s?"
_SEASONS = "spring|summer|fall|autumn|winter"
_PART = r"(?: (?:morning|afternoon|evening|night))"
_ORD = r"(?:st|nd|rd|th)"
_YEAR = r"(?:19|20)\d\d(?![\d/:%]|[.,-]\d)"
_EDGE = r"(?:early|earlier|late|later|mid|(?:the )?(?:end|beginning|start|middle) of)[ -]"
_BEFORE_MONTH = r"(?:in|since|until|till|til|by|during|from|around|of|for)"

_TABLE = {
    "yesterday": rf"(?:the )?day before yesterday|yesterday{_PART}?",
    "tomorrow": rf"(?:the )?day after tomorrow|tomorrow{_PART}?",
    "today": r"(?:(?:earlier|later) )?(?:today|tonight)|this (?:morning|afternoon|evening)|last night|last evening",
    "ago": rf"(?P<ago_n>{_N})(?P<ago_half> and a half)? (?P<ago_u>{_UNITS}|hours?|(?:{WEEKDAYS})s|{_SEASONS}|summers"
    rf"|winters)(?P<ago_half2> and a half)? (?:ago|back(?=\s*(?:[.,;!]|$)))",
    "ahead": rf"in (?:about |around |just |only |like |another )?(?P<in_n>{_N}) (?P<in_u>{_UNITS})(?:['’]? time)?"
    rf"|(?P<from_n>{_N}) (?P<from_u>{_UNITS}) from (?:now|today)",
    "of_week": rf"(?P<ow_day>{WEEKDAYS})(?:{_PART})?,?(?: of)? (?P<ow_rel>last|this past|this|next) week",
    "before_last": rf"(?P<bl>week|weekend|month|year|{_SEASONS}|{WEEKDAYS}) before last",
    "after_next": r"(?P<an>week|weekend|month|year) after next",
    "rel": rf"(?P<rel_edge>{_EDGE})?(?P<rel>this past|this coming|last|this|next) "
    rf"(?:(?P<rel_u>week|weekend|month|year|quarter)|(?P<rel_s>{_SEASONS})|(?P<rel_d>{WEEKDAYS}|{_SHORT_DAYS}){_PART}?"
    rf"|(?P<rel_m>{MONTHS}))",
    "iso": r"(?P<iso>(?:19|20)\d\d-\d\d-\d\d)(?:t\d\d[\d:.]*(?:z|[+-]\d\d:?\d\d)?)?",
    "slashed": r"(?P<slashed>\d{1,2}/\d{1,2}/(?:(?:19|20)\d\d|\d\d)|\d{1,2}\.\d{1,2}\.(?:19|20)\d\d)(?![/.]?\d)",
    "day_month": rf"(?P<dm_d>\d{{1,2}}){_ORD}?(?: of)? (?P<dm_m>{MONTHS})(?:\.?,? (?P<dm_y>{_YEAR}))?",
    "month_day": rf"(?P<md_m>{MONTHS})\.? (?:the )?(?P<md_d>\d{{1,2}}){_ORD}?(?![\d:%/]|[.,]\d|\s?(?:am|pm|hours?|"
    rf"days?|weeks?|months?|years?|people|times?|percent)\b)(?:,? (?:of |in )?(?P<md_y>{_YEAR}))?",
    "month_year": rf"(?P<my_edge>{_EDGE})?(?P<my_m>{MONTHS})\.?,?(?: of)? (?P<my_y>{_YEAR})",
    "month": rf"{_BEFORE_MONTH} (?P<m_edge>{_EDGE})?(?P<m>{MONTHS})(?!\.?,?(?: of| the)? \d)",
    "season_year": rf"(?P<sy_s>{_SEASONS}),?(?: of)? (?P<sy_y>{_YEAR})",
    "year": rf"(?:in|since|during|until|till|by|of|from|around|late|early|mid) (?:the year )?(?P<y>{_YEAR})",
    "weekend": r"(?:on|over|at|during|for|all) the weekend",
    "the_day": rf"on the (?P<td>\d{{1,2}}){_ORD}(?=\s*(?:[.,;!)]|$|(?:and|at|i|we|with|for|so|but)\b))",
    "weekday": rf"(?P<wd>{WEEKDAYS}){_PART}?|(?:on|by|until|till) (?P<wd_short>{_SHORT_DAYS}){_PART}?",
}
_BEFORE_HOLIDAY = (
    r"(?:(?P<h_rel>this past|this coming|last|this|next)|on|at|over|during|for|since|until|till|by|around)"
)
# With what a phrase begins: tried before the phrases themselves, of which there are many.
_STARTS = (
    rf"(?=yester|today|toni|tomor|th[ei]|last |next |day |late|earl|mid|end of|beginn|start of|week|month|year"
    rf"|(?:{_SEASONS})\b|{WEEKDAYS}|(?:{MONTHS})\b|\d|(?:{'|'.join(NUMBERS)}) |few |quite a|couple|several |half an?\b"
    r"|(?:in|on|at|by|of|for|from|over|till?|until|since|during|around|all) )"
)
_CUE = (
    rf"\b(?:yesterday|today|tonight|tomorrow|ago|back|before last|after next|from now|the weekend|{WEEKDAYS}"
    rf"|(?:last|this|next|this past|this coming) (?:morning|afternoon|evening|night|week|weekend|month|year|quarter"
    rf"|{_SEASONS}|{_SHORT_DAYS}|{MONTHS})|in (?:\w+ ){{1,4}}{_UNITS}|{_BEFORE_MONTH} (?:{_EDGE})?(?:{MONTHS})"
    rf"|(?:on|by|till|until) (?:{_SHORT_DAYS}))\b|\d"
)
_MARKS = blanked(".,;:!?()[]{}\"'’“”…—–-/\n\t*_")
_DIGIT = regex(r"\d")
_SHORT = "mon tue tues wed weds thu thur thurs fri sat sun"
_ORDINARY = frozenset({"epiphany", "ascension"})  # as words, and holidays only with a capital


@functools.cache
def holiday_names() -> dict[str, holidays.Holiday]:
    """Map the names of holidays, without apostrophes, to their rows."""
    named: dict[str, holidays.Holiday] = {}
    for row in holidays.HOLIDAYS:
        for said in holidays.phrases(row.pattern):
            named.setdefault(" ".join(said), row)
    return {name: row for name, row in named.items() if name not in _ORDINARY}


def _days() -> frozenset[str]:
    """Return words of which each name of a holiday holds one."""
    return holidays.needed_words((row.pattern for row in holidays.HOLIDAYS), frozenset({"day"})) - _ORDINARY


@functools.cache
def _said() -> tuple[frozenset[str], frozenset[str]]:
    """Return the words that nearly always come with a told time, and those that may."""
    sure = {*"yesterday today tonight tomorrow ago weekend".split(), *WEEKDAYS.split("|"), *_days()}
    units = "night day week month year fortnight decade quarter".split()
    maybe = {*units, *(unit + "s" for unit in units), "weekends", "morning", "afternoon", "evening"}
    return frozenset(sure), frozenset({*maybe, *MONTH, *SEASON, *_SHORT.split()})


@functools.cache
def _cue() -> re.Pattern[str]:
    """Compile the pattern of words, one of which every text with a told time has."""
    return re.compile(rf"{_CUE}|\b(?:{'|'.join(sorted(_days()))})\b")


@functools.cache
def _phrase() -> re.Pattern[str]:
    """Compile all phrases into one pattern; of two that begin at one place the first of the table wins."""
    names = "|".join(
        re.escape(name).replace(r"\ ", "(?:['’]s?)? ") for name in sorted(holiday_names(), key=len, reverse=True)
    )
    own = rf"{_BEFORE_HOLIDAY} (?P<h>{names})(?:['’]s?)?(?: day)?(?:,? (?:of |in )?(?P<h_y>{_YEAR}))?"
    table = {"holiday": own, **_TABLE}
    found = "|".join(f"(?P<k_{name}>{pattern})" for name, pattern in table.items())
    return re.compile(rf"(?<![\w$#.@/-]){_STARTS}(?:{found})(?![\w@])")


_OFTEN = regex(
    r"\b(?:every|each|any|most|some|usually|always|often|per|good|black|holy|ash|palm|easter|cyber|giving|fat|shrove|"
    r"the|other|first|second|third|of|and) ?$"
)
_EVERY = regex(r"\b(?:every|each|any|usually|always|often|most)\b")
_JOINS = regex(r"\s*(?:,|\(|on|the|of|at|in|-|–)?\s*(?:the )?")
_PLACED = frozenset("ahead weekday the_day month weekend".split())
_COUNTS = regex(r"\b(?:times?|once|twice|first|best|most|worst|biggest|longest|all|only) ?$")


def may_tell(low: str) -> bool:
    """Say whether a text in lower case may tell a time."""
    said, (sure, maybe) = low.translate(_MARKS).split(), _said()
    if not sure.isdisjoint(said):
        return True
    return (not maybe.isdisjoint(said) or _DIGIT.search(low) is not None) and _cue().search(low) is not None


def phrases(low: str) -> Iterator[re.Match[str]]:
    """Yield the matches that may be phrases of time, in order."""
    return _phrase().finditer(low)


def phrase(low: str) -> re.Match[str] | None:
    """Match a phrase of time that stands alone."""
    return _phrase().fullmatch(low)


def kind_of(match: re.Match[str]) -> str:
    """Return the name of the phrase in the table."""
    name = match.lastgroup  # the one that closes last is the outermost
    assert name is not None
    return name.removeprefix("k_")


def needs_tense(match: re.Match[str]) -> bool:
    """Say whether the verb decides the place of the phrase."""
    kind = kind_of(match)
    if kind in ("day_month", "month_day"):
        return match["dm_y"] is None and match["md_y"] is None
    if kind == "holiday":
        return match["h_y"] is None
    if kind == "rel":
        return match["rel"] == "this" and match["rel_m"] is None
    return kind in _PLACED


def is_other(match: re.Match[str], text: str, low: str) -> bool:
    """Say whether the match means something else: a frequency, a duration, the verb "may", the name of a day."""
    kind, start, end = kind_of(match), match.start(), match.end()
    before = low[max(0, start - 24) : start]
    if kind == "weekday":
        return _OFTEN.search(before) is not None and not before.endswith(("from the ", "and "))
    if kind == "rel":
        if before.endswith("the ") and match["rel"] in ("last", "next"):
            return True
        return match["rel_m"] == "may" and not text[end - 3].isupper()
    if kind in ("month", "month_year", "day_month", "month_day"):
        name = match["m"] or match["my_m"] or match["dm_m"] or match["md_m"]
        at = low.find(name, start, end)
        ordinary = name in ("may", "march", "mar", "sun", "sep", "dec", "jan", "jun")
        if ordinary and not text[at].isupper() and kind in ("month", "month_day"):
            return True
        return kind in ("day_month", "month_day", "month") and _EVERY.search(before) is not None
    if kind == "ahead":
        return _COUNTS.search(before) is not None
    return False


def goes_on(between: str) -> bool:
    """Say whether two phrases with this between them name one time together."""
    return _JOINS.fullmatch(between) is not None
