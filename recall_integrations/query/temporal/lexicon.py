"""The words that the grammar knows by class. A rule names a class in capitals (`UNIT`); the words are here.

Values are for the builders: a month's number, a unit's name, −1 / 0 / +1 for "last" / "this" / "next".
"""

from __future__ import annotations

from typing import Any

from recall_integrations.languages import english


def _numbered(words: str, first: int = 1) -> dict[str, Any]:
    return {word: i for i, group in enumerate(words.split(), first) for word in group.split("/")}


def _same(words: str, value: Any = True) -> dict[str, Any]:
    return dict.fromkeys(words.split(), value)


_EN = english("dates")
MONTH = _numbered(_EN["month"])
MONTHS = "|".join(sorted(MONTH, key=len, reverse=True))  # as a pattern
WEEKDAY = _numbered(_EN["weekday"], 0)
WEEKDAYS = _numbered("mondays tuesdays wednesdays thursdays fridays saturdays sundays", 0)

ONES = _numbered("one two three four five six seven eight nine")
TEENS = _numbered("ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen", 10)
TENS = {word: 10 * i for word, i in _numbered("twenty thirty forty fifty sixty seventy eighty ninety", 2).items()}
ORDINAL = _numbered(
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth/twelveth thirteenth fourteenth "
    "fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
) | {"thirtieth": 30}
DECADE = {
    word: 1900 + 10 * i
    for word, i in _numbered("twenties thirties forties fifties sixties seventies eighties nineties", 2).items()
} | {"noughties": 2000}
# Without an article the others are bank notes ("in twenties") or ages.
PLAIN_DECADE = {word: DECADE[word] for word in ("sixties", "seventies", "eighties", "nineties")}

_UNITS = "day week month quarter year decade century weekend fortnight"
UNIT = {word: word for word in _UNITS.split()} | {"workweek": "workweek", "wk": "week", "yr": "year", "qtr": "quarter"}
UNITS = {word + "s": word for word in _UNITS.split()} | _same("mths mos", "month")
UNITS |= {"centuries": "century", "workweeks": "workweek", "wks": "week", "yrs": "year", "qtrs": "quarter"}
SMALL_UNIT = (
    _same("hour hours hr hrs", "hour") | _same("minute minutes min mins", "minute") | _same("seconds secs", "second")
)
SEASON = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
PART_OF_DAY = {  # hours; the night lasts through 4 o'clock of the day after
    "morning": (5, 12), "afternoon": (12, 18), "evening": (17, 23), "night": (18, 28), "nighttime": (18, 28),
    "daytime": (8, 18), "lunchtime": (11, 14), "lunch": (11, 14), "noon": (12, 13), "midday": (11, 14),
    "breakfast": (6, 10), "dinnertime": (17, 21),
}  # fmt: skip

LAST = _same("last past previous prior preceding trailing bygone", -1)
THIS = _same("this current present", 0)
NEXT = _same("next coming upcoming following subsequent", 1)
FINISH = _same(_EN["finish"])
# After a number that looks like a year or a day these show that things were counted.
COUNTED = _same(_EN["counted"])
# A date "on 5.12" is one behind these; else it may be a version.
EVENT = _same(_EN["event"])
# What stands behind these is the number of a thing, not of a year or a day.
NUMBERED = _same(_EN["numbered"])
# Behind a holiday these make another thing of it.
COMPOUND = _same(_EN["compound"])
# Words that rules know, and that say as little about time as any other: "the 2019 meeting", "the 2019 movie".
PLAIN = _same(_EN["plain"])
FUTURE = _same(_EN["future"])
PRONOUN = _same(_EN["pronoun"])
POSSESSIVE = _same(_EN["possessive"])
DAYPARTS = _same("mornings afternoons evenings nights")
AGO = _same("ago back earlier beforehand")
RANGE_TO = _same("to till until til untill through thru")
TITLE = _same(_EN["title"])

CLASSES: dict[str, dict[str, Any]] = {
    "MONTH": MONTH, "WD": WEEKDAY, "WDS": WEEKDAYS, "ONE": ONES, "TEEN": TEENS, "TEN": TENS, "ORDW": ORDINAL,
    "DECADE": DECADE, "PLAINDECADE": PLAIN_DECADE, "UNIT1": UNIT, "UNITS": UNITS, "UNIT": UNIT | UNITS,
    "SMALLUNIT": SMALL_UNIT, "SEASON": SEASON, "POD": PART_OF_DAY, "LAST": LAST, "THIS": THIS,
    "NEXT": NEXT, "REL": LAST | THIS | NEXT, "FINISH": FINISH, "COUNTED": COUNTED, "NUMBERED": NUMBERED,
    "COMPOUND": COMPOUND, "X": NUMBERED | COMPOUND | PLAIN,
    "FUT": FUTURE, "PRON": PRONOUN, "POSS": POSSESSIVE, "AGO": AGO, "PODS": DAYPARTS, "TO": RANGE_TO,
    "TITLEWORD": TITLE,
}  # fmt: skip

# Full names that no ordinary word shares: a date wherever they stand.
CLEAR_MONTHS = frozenset("january february july september october november december".split())
CLEAR_WEEKDAYS = frozenset("monday tuesday wednesday thursday friday saturday sunday tues weds thurs".split())

# One of these words, or a digit, or a word that a holiday needs (`parser.triggers`), has to be in a text that speaks
# of time; anything else is sent home at once.
_TIME_WORDS = (
    "today yesterday tomorrow tmrw tmr tonight otd ytd mtd wtd qtd date hundred thousand midnight nineteen twenty "
    "recently lately sign thousands next upcoming coming"
)
_TIME_CLASSES = "MONTH WD UNIT SMALLUNIT SEASON POD PODS DECADE FINISH WDS".split()
TIME_TRIGGERS = frozenset[str]().union(_TIME_WORDS.split(), *(CLASSES[name] for name in _TIME_CLASSES))
