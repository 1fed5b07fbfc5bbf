"""Holidays that follow a rule. To add one, add a row: its phrase as a token pattern, and the day in a given year.
Nothing else: the rules (`holiday_rules`) and the words that let a text through the parser's gate (`triggers`) are made
from the rows.

Phrases are written as in the rule tables (see `grammar`): lower-case words, `?` for optional ones. A possessive "'s"
and a plural apostrophe are not written: the tokenizer drops them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from datetime import datetime, time, timedelta

from dateutil.easter import easter

from recall_integrations.patterns import regex
from recall_integrations.query.temporal.calendar import DAY, Cycle, Interval, midnight, nth_weekday, yearly
from recall_integrations.query.temporal.grammar import Built, Rule, RuleMatch, every
from recall_integrations.query.temporal.lexicon import TIME_TRIGGERS
from recall_integrations.records import record

MON, THU, FRI, SUN = 0, 3, 4, 6

# -- days of the calendars that follow the moon: arithmetic, no tables -------------------------------------------------
#
# The Islamic days are those of the tabular calendar, at most a day off from the observed ones where the new moon has to
# be seen. The Jewish days are exact. Chinese New Year and Diwali hang on the moment of the new moon (Meeus,
# Astronomical Algorithms, chapter 49: good to minutes). A day that begins in the evening is given as the day after it.

_NEW_MOON = datetime(2000, 1, 6, 14, 20, 38)  # the mean new moon that is counted as number 0, in dynamical time
_MONTH_DAYS = 29.530588861
_SEEN = range(1900, 2201)  # the years for which the series below holds


def islamic(month: int, number: int) -> Callable[[int], datetime]:
    """Make the function from a year of ours to its first such day of the Islamic calendar."""

    def in_year(year: int) -> datetime:
        guess = int((year - 622) * 33 / 32)
        for hijri in range(max(1, guess - 1), guess + 3):
            days = number + math.ceil(29.5 * (month - 1)) + (hijri - 1) * 354 + (3 + 11 * hijri) // 30
            found = datetime(622, 7, 18) + timedelta(days=days - 1)
            if found.year == year:
                return found
        raise ValueError("the year has no such day")

    return in_year


def _jewish_new_year(jewish: int) -> int:
    """Return Rosh Hashanah of a Jewish year as the ordinal of its day, by the molad and the postponements."""
    months = (235 * jewish - 234) // 19
    parts = 12084 + 13753 * months
    day = 29 * months + parts // 25920
    if 3 * (day + 1) % 7 < 3:
        day += 1
    return day


def _rosh_hashanah(jewish: int) -> int:
    before, this, after = (_jewish_new_year(jewish + i) for i in (-1, 0, 1))
    late = 2 if after - this == 356 else 1 if this - before == 382 else 0
    return this + late - 1373427


def rosh_hashanah(plus: int = 0) -> Callable[[int], datetime]:
    """Make the function from a year of ours to the day `plus` days after its Jewish New Year."""
    return lambda year: datetime.fromordinal(_rosh_hashanah(year + 3761) + plus)


def passover(plus: int = 0) -> Callable[[int], datetime]:
    """Make the function from a year to the day `plus` days after the first day of Passover."""
    return lambda year: datetime.fromordinal(_rosh_hashanah(year + 3761) - 163 + plus)


def hanukkah(year: int) -> datetime:
    """Return 25 Kislev; the month before it has 29 or 30 days."""
    start, after = _rosh_hashanah(year + 3761), _rosh_hashanah(year + 3762)
    return datetime.fromordinal(start + 30 + (30 if (after - start) % 10 == 5 else 29) + 24)


def chinese_new_year(year: int) -> datetime:
    """Return the day in China of the new moon between 21 January and 20 February."""
    china = timedelta(hours=8)
    return midnight(_new_moon_after(datetime(year, 1, 21) - china) + china)


def diwali(year: int) -> datetime:
    """Return the day of the last evening in India before the new moon between 17 October and 15 November."""
    evening = timedelta(hours=12, minutes=50)
    return midnight(_new_moon_after(datetime(year, 10, 17)) - evening)


def _new_moon_after(moment: datetime) -> datetime:
    if moment.year not in _SEEN:
        raise ValueError("too far from our time")
    k = math.floor((moment - _NEW_MOON) / DAY / _MONTH_DAYS)
    while (found := _new_moon(k)) < moment:
        k += 1
    return found


def _new_moon(k: int) -> datetime:
    """Return the k-th new moon, in universal time."""
    t = k / 1236.85
    sun = math.radians(2.5534 + 29.10535670 * k)
    moon = math.radians(201.5643 + 385.81693528 * k)
    node = math.radians(160.7108 + 390.67050284 * k)
    e = 1 - 0.002516 * t
    shift = (
        -0.40720 * math.sin(moon)
        + 0.17241 * e * math.sin(sun)
        + 0.01608 * math.sin(2 * moon)
        + 0.01039 * math.sin(2 * node)
        + 0.00739 * e * math.sin(moon - sun)
        - 0.00514 * e * math.sin(moon + sun)
        + 0.00208 * e * e * math.sin(2 * sun)
        - 0.00111 * math.sin(moon - 2 * node)
        - 0.00057 * math.sin(moon + 2 * node)
        + 0.00056 * e * math.sin(2 * moon + sun)
        - 0.00042 * math.sin(3 * moon)
        + 0.00042 * e * math.sin(sun + 2 * node)
        + 0.00038 * e * math.sin(sun - 2 * node)
        - 0.00024 * e * math.sin(2 * moon - sun)
    )
    dynamical = _NEW_MOON + timedelta(days=_MONTH_DAYS * k + 0.00015437 * t * t + shift)
    return dynamical - timedelta(seconds=70)


# -- the table ---------------------------------------------------------------------------------------------------------


@record(frozen=True, slots=True)
class Holiday:
    """One row."""

    pattern: str
    date: Callable[[int], datetime]  # its day in a year; raises `ValueError` or `OverflowError` if there is none
    example: str
    days: int = 1
    capital: bool = False  # whether it is an ordinary word too ("an epiphany"), and a holiday only with a capital


def every_year(date: Callable[[int], datetime], days: int = 1) -> Cycle:
    """Return the cycle of a holiday."""

    def build(year: int) -> Interval:
        start = date(year)
        return Interval(start, start + timedelta(days=days))

    return yearly(build)


def _fixed(month: int, day: int) -> Callable[[int], datetime]:
    return lambda year: datetime(year, month, day)


def _nth(month: int, weekday: int, n: int, plus: int = 0) -> Callable[[int], datetime]:
    return lambda year: nth_weekday(year, month, weekday, n) + timedelta(days=plus)


def _easter(plus: int = 0) -> Callable[[int], datetime]:
    return lambda year: datetime.combine(easter(year), time()) + timedelta(days=plus)


# Longer phrases stand before the shorter ones they begin with.
HOLIDAYS: tuple[Holiday, ...] = (
    Holiday("(chinese|lunar) new (year|years) day?", chinese_new_year, "at Chinese New Year"),
    Holiday("spring festival", chinese_new_year, "at the Spring Festival"),
    Holiday("(islamic|hijri|muslim) new (year|years) day?", islamic(1, 1), "at Islamic New Year"),
    Holiday("(jewish new (year|years)|rosh (hashanah|hashana|hashanna))", rosh_hashanah(), "at Rosh Hashanah", 2),
    Holiday("(new (year|years)|newyear) eve", _fixed(12, 31), "on New Year's Eve"),
    Holiday("(new (year|years)|newyear) day?", _fixed(1, 1), "on New Year's Day"),
    Holiday("nye", _fixed(12, 31), "the NYE party"),
    Holiday("hogmanay", _fixed(12, 31), "at Hogmanay"),
    Holiday("epiphany", _fixed(1, 6), "on Epiphany", capital=True),
    Holiday("(martin luther king|mlk) (junior|jr)? DOT? day", _nth(1, MON, 3), "on MLK day"),
    Holiday("australia day", _fixed(1, 26), "on Australia Day"),
    Holiday("inauguration day", _fixed(1, 20), "on Inauguration Day"),
    Holiday("burns night", _fixed(1, 25), "on Burns Night"),
    Holiday("groundhog day", _fixed(2, 2), "on Groundhog Day"),
    Holiday("(saint|st)? DOT? (valentine|valentines) day?", _fixed(2, 14), "on Valentine's Day"),
    Holiday("(president|presidents) day", _nth(2, MON, 3), "on Presidents' Day"),
    Holiday("(washington|washingtons) birthday", _nth(2, MON, 3), "on Washington's Birthday"),
    Holiday("(mardi gras|shrove tuesday|fat tuesday|pancake day)", _easter(-47), "at Mardi Gras"),
    Holiday("ash wednesday", _easter(-46), "on Ash Wednesday"),
    Holiday("international? (women|woman|womens) day", _fixed(3, 8), "on International Women's Day"),
    Holiday("pi day", _fixed(3, 14), "on Pi Day"),
    Holiday("white day", _fixed(3, 14), "on White Day"),
    Holiday("(saint|st) DOT? (patrick|patricks|paddy|paddys) day?", _fixed(3, 17), "on St. Patrick's Day"),
    Holiday("palm sunday", _easter(-7), "on Palm Sunday"),
    Holiday("(maundy|holy) thursday", _easter(-3), "on Maundy Thursday"),
    Holiday("good friday", _easter(-2), "on Good Friday"),
    Holiday("(holy|easter) saturday", _easter(-1), "on Easter Saturday"),
    Holiday("easter monday", _easter(1), "on Easter Monday"),
    Holiday("easter (sunday|day)?", _easter(), "over Easter"),
    Holiday("(ascension|ascension day)", _easter(39), "on Ascension", capital=True),
    Holiday("trinity sunday", _easter(56), "on Trinity Sunday"),
    Holiday("(whit|pentecost) monday", _easter(50), "on Whit Monday"),
    Holiday("(whit sunday|pentecost sunday?|whitsun|whitsunday)", _easter(49), "at Pentecost"),
    Holiday("corpus christi", _easter(60), "on Corpus Christi"),
    Holiday("april (fool|fools) day?", _fixed(4, 1), "on April Fools' Day"),
    Holiday("earth day", _fixed(4, 22), "on Earth Day"),
    Holiday("(saint|st) DOT? (george|georges) day", _fixed(4, 23), "on St. George's Day"),
    Holiday("anzac day", _fixed(4, 25), "on Anzac Day"),
    Holiday("arbor day", _nth(4, FRI, -1), "on Arbor Day"),
    Holiday("international? (worker|workers) day", _fixed(5, 1), "on Workers' Day"),
    Holiday("international (labor|labour) day", _fixed(5, 1), "on International Labour Day"),
    Holiday("may day", _fixed(5, 1), "on May Day"),
    Holiday("labour day", _fixed(5, 1), "on Labour Day"),
    Holiday("star wars day", _fixed(5, 4), "on Star Wars Day"),
    Holiday("cinco de mayo", _fixed(5, 5), "on Cinco de Mayo"),
    Holiday("(mother|mothers) day", _nth(5, SUN, 2), "on Mother's Day"),
    Holiday("memorial day", _nth(5, MON, -1), "on Memorial Day"),
    Holiday("(child|children|childrens) day", _fixed(6, 1), "on Children's Day"),
    Holiday("(father|fathers) day", _nth(6, SUN, 3), "on Father's Day"),
    Holiday("juneteenth", _fixed(6, 19), "on Juneteenth"),
    Holiday(
        "victoria day", lambda year: datetime(year, 5, 24) - datetime(year, 5, 24).weekday() * DAY, "on Victoria Day"
    ),
    Holiday("canada day", _fixed(7, 1), "on Canada Day"),
    Holiday("(american|us|usa)? independence day", _fixed(7, 4), "on Independence Day"),
    Holiday("purim", passover(-30), "at Purim"),
    Holiday("(passover|pesach)", passover(), "over Passover", 7, capital=True),
    Holiday("(shavuot|shavuos)", passover(50), "at Shavuot"),
    Holiday("yom kippur", rosh_hashanah(9), "on Yom Kippur"),
    Holiday("(sukkot|sukkoth)", rosh_hashanah(14), "during Sukkot", 7),
    Holiday("(hanukkah|chanukah|hanukah)", hanukkah, "during Hanukkah", 8),
    Holiday("ramadan", islamic(9, 1), "during Ramadan", 30),
    Holiday("(eid|id) DASH? (al|ul|el) DASH? (adha|azha)", islamic(12, 10), "on Eid al-Adha"),
    Holiday("eid (DASH? (al|ul|el) DASH? fitr)?", islamic(10, 1), "on Eid al-Fitr"),
    Holiday("(diwali|deepavali)", diwali, "at Diwali"),
    Holiday("bastille day", _fixed(7, 14), "on Bastille Day"),
    Holiday("labor day", _nth(9, MON, 1), "on Labor Day"),
    Holiday("(teacher|teachers) day", _fixed(10, 5), "on Teachers' Day"),
    Holiday("(boss|bosses) day", _fixed(10, 16), "on Boss's Day"),
    Holiday("(columbus|indigenous (people|peoples)) day", _nth(10, MON, 2), "on Columbus Day"),
    Holiday("(halloween|hallowe'en|all (hallow|hallows) eve) (day|night)?", _fixed(10, 31), "on Halloween"),
    Holiday("all (saint|saints) day", _fixed(11, 1), "on All Saints' Day"),
    Holiday("all (soul|souls) day", _fixed(11, 2), "on All Souls' Day"),
    Holiday("(guy fawkes|bonfire) (day|night)", _fixed(11, 5), "on Guy Fawkes Night"),
    Holiday("(veteran|veterans|armistice|remembrance) day", _fixed(11, 11), "on Veterans Day"),
    Holiday("(single|singles) day", _fixed(11, 11), "on Singles' Day"),
    Holiday("canadian thanksgiving day?", _nth(10, MON, 2), "at Canadian Thanksgiving"),
    Holiday("thanksgiving day?", _nth(11, THU, 4), "at Thanksgiving"),
    Holiday("black friday", _nth(11, THU, 4, 1), "on Black Friday"),
    Holiday("cyber monday", _nth(11, THU, 4, 4), "on Cyber Monday"),
    Holiday("giving tuesday", _nth(11, THU, 4, 5), "on Giving Tuesday"),
    Holiday("election day", _nth(11, MON, 1, 1), "on Election Day"),
    Holiday("kwanzaa", _fixed(12, 26), "during Kwanzaa", 7),
    Holiday("(saint|st) DOT? nicholas day?", _fixed(12, 6), "on St. Nicholas Day"),
    Holiday("(christmas|xmas|x DASH mas) eve", _fixed(12, 24), "on Christmas Eve"),
    Holiday("(christmas|xmas|x DASH mas) day?", _fixed(12, 25), "at Christmas"),
    Holiday("(boxing|(saint|st) DOT? (stephen|stephens)) day", _fixed(12, 26), "on Boxing Day"),
)


def _built(date: Callable[[int], datetime], days: int = 1, capital: bool = False) -> Callable[[RuleMatch], Built]:
    made = every("H", "day" if days == 1 else "span", every_year(date, days))
    return lambda hit: None if capital and not hit.ctx.text[hit.tokens[0].start].isupper() else made


JULY_FOURTH = (
    Rule("july_fourth", "(the? o:(ORD|DAYNUM) of july|july o2:(ORD|DAYNUM))(?!(SEP|of|in)? YR)",
         lambda h: _built(_fixed(7, 4))(h) if h.value("o", "o2") == 4 else None, 0.9, "the 4th of July"),
)  # fmt: skip


def holiday_rules(table: Iterable[Holiday]) -> tuple[Rule, ...]:
    """Make one rule for each holiday, named by its example."""
    return tuple(
        Rule("holiday_" + "_".join(row.example.lower().replace("'", "").split()[1:]), row.pattern,
             _built(row.date, row.days, row.capital), 0.85, row.example, weak=True)
        for row in table
    )  # fmt: skip


_PIECE = regex(r"[(|)?]|[A-Za-z']+")
_LETTERS = regex(r"[^\W_]+")


def phrases(pattern: str) -> frozenset[tuple[str, ...]]:
    """Return every way to say a pattern, as its words; the optional ones are left out."""
    pieces = _PIECE.findall(pattern)
    options, _ = _options(pieces, 0)
    return frozenset(options)


def _options(pieces: list[str], at: int) -> tuple[list[tuple[str, ...]], int]:
    """Return the phrases of the alternatives from `at` on, and the index of the bracket that closes them."""
    done: list[tuple[str, ...]] = []
    run: list[tuple[str, ...]] = [()]
    while at < len(pieces) and pieces[at] != ")":
        piece = pieces[at]
        if piece == "|":
            done, run = done + run, [()]
        elif piece == "(":
            inner, at = _options(pieces, at + 1)
            if pieces[at + 1 : at + 2] != ["?"]:
                run = [left + right for left in run for right in inner]
        elif piece.islower() and pieces[at + 1 : at + 2] != ["?"]:
            run = [(*left, *_LETTERS.findall(piece)) for left in run]
        at += 1
    return done + run, at


def needed_words(patterns: Iterable[str], known: frozenset[str]) -> frozenset[str]:
    """Return the longest word of each phrase without a known word: no phrase goes without one of them."""
    said = {phrase for pattern in patterns for phrase in phrases(pattern)}
    return frozenset(max(reversed(phrase), key=len) for phrase in said if phrase and known.isdisjoint(phrase))


def triggers(table: Iterable[Holiday]) -> frozenset[str]:
    """Return words of which each text that speaks of time, and has no digit, holds one."""
    return TIME_TRIGGERS | needed_words((row.pattern for row in table), TIME_TRIGGERS)
