"""Rules for numbers in words, for phrases that look like a date and are none, and for dates of the calendar."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from recall_integrations.query.temporal.calendar import (
    Cycle,
    Interval,
    Period,
    day,
    days_in,
    monthly,
    months_from,
    run_of_days,
    weekly,
    yearly,
)
from recall_integrations.query.temporal.grammar import Built, Rule, RuleMatch, every, one
from recall_integrations.query.temporal.lexicon import (
    CLEAR_MONTHS,
    CLEAR_WEEKDAYS,
    COUNTED,
    EVENT,
    ONES,
    ORDINAL,
    SMALL_UNIT,
    TEENS,
    TENS,
    UNIT,
    UNITS,
)
from recall_integrations.query.temporal.tokens import full_year, number_symbol, year_part

# ------------------------------------------------------------------------------------------------- numbers in words

_NUMBER_WORDS = ONES | TEENS | TENS | ORDINAL


def _words(hit: RuleMatch, *names: str) -> int:
    return sum(_NUMBER_WORDS.get(hit.word(name), 0) for name in names)


def _year_in_words(hit: RuleMatch) -> Built:
    hundreds, rest = _words(hit, "h"), _words(hit, "t", "o", "s", "s2")
    if not hit.token("h"):
        return "y", 2000 + rest
    if hit.token("s2"):
        return "y", 100 * hundreds + rest
    return (number_symbol(100 * hundreds + rest), 100 * hundreds + rest) if hundreds >= 15 else None


def _decade_from(year: int) -> Built:
    return one("S", "decade", months_from(year, 1, 120))


def _ordinal(hit: RuleMatch) -> Built:
    value = _words(hit, "t", "o")
    return ("o", value) if value <= 31 else None


def _cardinal(hit: RuleMatch) -> Built:
    value = _words(hit, "t", "o")
    return number_symbol(value), value


NUMBERS = (
    Rule("year_in_words", "(h:(TEEN|twenty) hundred and? (t:TEN DASH? o:ONE?|s:(TEEN|ONE))?|h:(TEEN|twenty) DASH? "
         "(t:TEN (DASH? o:ONE)?|s:TEEN|oh s2:ONE)|two thousand and? (t:TEN (DASH? o:ONE)?|s:(TEEN|ONE))?)",
         _year_in_words, 1.0, "in nineteen eighty-six"),
    Rule("ordinal_word", "(t:TEN DASH? o:ORDW|o:ORDW)", _ordinal, 1.0, "the twenty-second of May"),
    Rule("cardinal_word", "(t:TEN DASH? o:ONE|o:(ONE|TEEN|TEN))", _cardinal, 1.0, "twenty-five days ago"),
)  # fmt: skip

# ------------------------------------------------------------------------------------------------ what is no date

_JUNK = ("x", None)


def _junk(_hit: RuleMatch) -> Built:
    return _JUNK


TRAPS = (
    Rule("numbered_thing", "(?<!week)(NUMBERED|no) (DOT|COLON|EQ)? (NUM(?!SEP? of? MONTH)|MD|MDX|N|D)", _junk, 1.0,
         "which service runs on port 2020"),
    Rule("counted_things", "NUM COUNTED", _junk, 1.0, "in 2000 words"),
    Rule("modal_may", "(PRON may|m:may COMMA? (not|(or|and) (may|might)))", lambda h: None if h.capital("m") else _JUNK,
         1.0, "who may help in this"),
    Rule("recurring", "(every|each|any|all|most|per|another) (other|single)? (WD|UNIT|MONTH|SEASON|POD|H)", _junk, 1.0,
         "what do I do every Monday"),
    Rule("recurring_part",
         "(WD|WDS|week|weekday|weekend)? ((COMMA|and|or|TO) (WD|WDS)){0,3} PODS(?!(ago|from|before|after))", _junk, 1.0,
         "on Saturday mornings"),
    Rule("rate", "(once|twice|times|x|NUM UNIT) (a|per) UNIT", _junk, 1.0, "twice a week"),
    Rule("day_after_day", "a:UNIT1 (after|by|in|over|to) b:UNIT1",
         lambda h: _JUNK if h.word("a") == h.word("b") else None, 1.0, "day after day"),
    Rule("always_on", "MD", lambda h: _JUNK if h.ctx.text[h.tokens[0].start : h.tokens[0].end] == "24/7" else None, 1.0,
         "is it up 24/7"),
    Rule("title_year", "TITLEWORD (of|called|titled|named|by)? YEAR", _junk, 1.0, "who is the author of 1984"),
    Rule("title", "(song|album|track|band|called|titled|named|entitled) w:(yesterday|tomorrow|tonight|WD|MONTH|SEASON)",
         lambda h: _JUNK if h.capital("w") else None, 1.0, "who sings the song Yesterday"),
    Rule("show", "WD POD (lights|live|football|fever)",
         lambda h: _JUNK if all(h.ctx.text[token.start].isupper() for token in h.tokens) else None, 1.0,
         "did we watch Monday Night Football"),
    Rule("saying", "(up DASH? to DASH? date|at the end of the day|the march (of|for|on|to|in|from)|(happy|merry) H|"
         "H mubarak|H COMPOUND|DOLLAR MONTH)", _junk, 1.0, "is it up to date"),
)  # fmt: skip

# ------------------------------------------------------------------------------------------- dates of the calendar


def verb_like(hit: RuleMatch) -> bool:
    """Say whether the month `m` is "may" or "march" in small letters, which are words as well."""
    return hit.word("m") in ("may", "march") and not hit.capital("m")


def _written_year(hit: RuleMatch) -> int | None:
    """Return the year `y`, or the one that the number `n` is short for: 98, and no "two" of "31 January, two of us"."""
    token = hit.token("n")
    if token is None:
        year: int = hit.value("y")
        return year
    short = token.value >= 10 if token.spelled else token.end - token.start == 2
    return full_year(token.value, hit.ctx.now) if short else None


def _full_date(hit: RuleMatch) -> Built:
    year = _written_year(hit)
    return None if year is None else _day_or_nothing(year, hit.lex("MONTH", "m"), hit.value("d"))


def _day_or_nothing(year: int, month: int, number: int) -> Built:
    """Return the day; if there is no such day (29 February 2023), a word, so that no part of it is read."""
    try:
        return one("D", "day", day(year, month, number))
    except ValueError:
        return _JUNK


def _month_day(hit: RuleMatch) -> Built:
    number, between, after = hit.part("d"), hit.token("p"), hit.beside(0)
    may = hit.word("m") in ("may", "march", "mar") and not hit.capital("m")
    if may and (hit.content() or after.word == "of" or number.spelled):  # more likely the verb
        return None
    parted = between is not None and between.symbol in ".," and number.symbol != "o" and len(hit.word("m")) > 4
    if parted and after.symbol not in "!.)∅":
        return None  # "in March. 5 people …"
    return _yearly_day(hit.lex("MONTH", "m"), number.value)


def _yearly_day(month: int, number: int) -> Built:
    if not 1 <= number <= days_in(2000, month):
        return _JUNK
    return every("D", "day", yearly(lambda year: day(year, month, number)))


def _days_in_month(hit: RuleMatch) -> Built:
    """Read "May 3-7", a run of days that the tokenizer read as one number pair, and "June 26 to 28, 2020"."""
    first, last = hit.pair("r") or (hit.value("a"), hit.value("b"))
    month = hit.lex("MONTH", "m")
    return _run(hit.value("y"), _days_between(month, first, month, last)) if first < last else None


def _run(year: int | None, build: Callable[[int], Interval]) -> Built:
    return every("S", "span", yearly(build)) if year is None else one("S", "span", build(year))


def _day_to_day(hit: RuleMatch) -> Built:
    """Read "Apr 22-Apr 25": the second month keeps the first number from being read with it."""
    if any(hit.word(name) in ("may", "march", "mar") and not hit.capital(name) for name in ("m", "m2")):
        return None
    month, month2 = hit.lex("MONTH", "m"), hit.lex("MONTH", "m2")
    return _run(None, _days_between(month, hit.value("d"), month2, hit.value("d2")))


def _days_between(month: int, number: int, month2: int, number2: int) -> Callable[[int], Interval]:
    """Return a function from a year to the run of days that begins in it; the second day may be of the next."""
    over = (month2, number2) < (month, number)
    return lambda year: run_of_days(datetime(year, month, number), datetime(year + over, month2, number2))


def _in_year(hit: RuleMatch) -> Built:
    """Read "March 2024", "Q3 of 2024", "2024, the third quarter", "the summer of 2022"."""
    year = _written_year(hit)
    if year is None or (hit.tokens[0].symbol == "y" and verb_like(hit)):
        return None
    symbol, period = named_cycle(hit)
    assert period.cycle is not None
    return one(symbol, period.unit, period.cycle.at(year))


def month_cycle(month: int) -> Period:
    """Return every such month."""
    return Period("month", cycle=yearly(lambda year: months_from(year, month)))


def weekday_cycle(weekday: int) -> Period:
    """Return every such weekday."""
    return Period("day", cycle=weekly(weekday))


def quarter_cycle(months: int, which: int) -> tuple[str, Period]:
    """Make the symbol and value of every such quarter (3 months) or half (6 months)."""
    if which * months > 12:
        raise ValueError("no such part of a year")
    cycle = yearly(lambda year: year_part(year, months, which))
    return "Q", Period("quarter" if months == 3 else "half", cycle=cycle)


def season_cycle(first: int) -> Period:
    """Return every such season of the northern hemisphere: three whole months, winter from December of its year."""
    return Period("season", cycle=yearly(lambda year: months_from(year, first, 3)))


def named_cycle(hit: RuleMatch) -> tuple[str, Period]:
    """Return the recurring period of a token `c`, of a season `s` or of a month `m`, with its symbol."""
    token = hit.token("c")
    if token is not None:
        return token.symbol, token.value
    if hit.token("q"):
        return quarter_cycle(*hit.value("q"))
    if hit.token("k"):
        return quarter_cycle(6 if hit.word("k") == "half" else 3, hit.value("o"))
    return ("S", season_cycle(hit.lex("SEASON", "s"))) if hit.token("s") else ("N", month_cycle(hit.lex("MONTH", "m")))


def _century(hit: RuleMatch) -> Built:
    first = 100 * (hit.value("o") - 1)
    return one("S", "century", Interval(datetime(max(1, first), 1, 1), datetime(first + 100, 1, 1)))


def _decade(hit: RuleMatch) -> Built:
    return _decade_from(hit.lex("DECADE", "d"))


def _numeric(hit: RuleMatch) -> Built:
    """Read 5/12 if a word before it makes it a date."""
    month, number = hit.value("md")
    built, today, relation = _yearly_day(month, number), hit.today, hit.lex("REL", "r")
    if built is None or built[1] is None or relation is None:
        return built
    if relation == 0:
        return one("D", "day", day(today.year, month, number))
    cycle, strict = built[1].cycle, hit.token("w") is None
    return one("D", "day", cycle.next(today, strict=strict) if relation > 0 else cycle.last(today, strict=strict))


def _numeric_range(hit: RuleMatch) -> Built:
    """Read "from 4/22 to 4/23", "13/5 - 15/5": a run of days, unless it may as well be two fractions."""
    (month, number), (month2, number2) = hit.value("a"), hit.value("b")
    before, after, year = hit.beside(-1), hit.beside(0), hit.value("y")
    if after.word in COUNTED or after.word in UNIT | UNITS | SMALL_UNIT:
        return None
    cued = hit.token("from") is not None or year is not None or before.word in _RUN_CUES
    whole = before.symbol == "∅" and after.symbol in "!.∅"
    clear = not hit.says("and") and max(number, number2) > 12 and not hit.content()
    if not (cued or whole or clear):
        return None
    build = _days_between(month, number, month2, number2)
    return _run(None if year is None else year - ((month2, number2) < (month, number)), build)


def _numeric_parts(hit: RuleMatch) -> Built:
    """Read "on 4-22"; "on 5.12" only behind a word for an event: it may be a version."""
    token = hit.part("md")
    dotted = "." in hit.ctx.text[token.start : token.end]
    return None if hit.content() or (dotted and hit.beside(-2).word not in EVENT) else _numeric(hit)


def _weekday_number(hit: RuleMatch) -> Built:
    """Read "Tue 13th": this month's 13th if it is a Tuesday, or else the newest past 13th that was one."""
    weekday, number, token = hit.lex("WD", "w"), hit.value("d"), hit.part("d")
    if (token.symbol != "o" or token.spelled) and hit.content() and not hit.goes_on():
        return None  # "Friday 13 people came", "Sunday the first guest"

    def build(year: int, month: int) -> Interval | None:
        found = day(year, month, number)
        return found if found.start.weekday() == weekday else None

    cycle: Cycle = monthly(build, reach=200)
    return one("D", "day", cycle.at(cycle.number(hit.today))) or every("D", "day", cycle)


def _nth_of_month(hit: RuleMatch) -> Built:
    """Read "on the 4th": a bare day of a month, unless the next word could be counted by it."""
    token = hit.part("d")
    if token.spelled or (hit.beside(0).symbol not in "!.,:)∅" and not hit.goes_on()):
        return None
    return every("D", "day", monthly(lambda year, month: day(year, month, token.value)))


def year_period(year: int) -> Period:
    """Return a calendar year."""
    return Period("year", months_from(year, 1, 12))


def _year(hit: RuleMatch) -> Built:
    year = _written_year(hit)
    return None if year is None else ("Y", year_period(year))


def _likely_year(hit: RuleMatch) -> Built:
    """Read a number at the end of a text as a year if it is a likely one; others may be a PIN."""
    return _year(hit) if hit.beside(-1).word.isalpha() and 1900 <= hit.value("y") <= hit.today.year + 5 else None


def _bare_month(hit: RuleMatch) -> Built:
    """Read a month alone. "May" and "march" are words as well, and months only beside the right words."""
    if hit.beside(-1).word == "of" and hit.beside(-2).symbol == "v":
        return None  # the 32nd of May
    if hit.word("m") in ("may", "march"):
        before, cue = hit.beside(-1), hit.beside(-1).word
        if before.symbol == "," and (hit.beside(0).symbol == "∅" or hit.content()):
            return None
        if cue == "the" or (cue == "to" and hit.beside(-2).symbol not in "NDYQ"):
            return None
        if cue in ("this", "and", "or") and not hit.capital("m") and hit.content():
            return None
    return named_cycle(hit)


def _first_of_months(hit: RuleMatch) -> Built:
    """Read the first of two months; before "and" the second may be any word, so it needs a "between"."""
    before = hit.beside(-1).word
    dated = hit.beside(1).symbol == "N"  # "Jan and Feb 2020"
    if hit.beside(0).word == "and" and not dated and before != "between":
        return _bare_month(hit) if before in ("in", "during") else None
    return named_cycle(hit)


def _season(hit: RuleMatch) -> Built:
    if hit.word("s") in ("spring", "fall") and not hit.token("the") and hit.content():
        return None  # Spring Boot, fall short
    return "S", season_cycle(hit.lex("SEASON", "s"))


def clear_weekday(hit: RuleMatch) -> Built:
    """Read a weekday's full name."""
    return ("D", weekday_cycle(hit.lex("WD", "w"))) if hit.word("w") in CLEAR_WEEKDAYS else None


def cued_weekday(hit: RuleMatch) -> Built:
    """Read a weekday, also abbreviated, behind a preposition."""
    word, after = hit.word("w"), hit.beside(0)
    if len(word) == 3 and hit.content() and hit.ctx.text[after.start].isupper():
        return None  # "by Sun Yuwei"
    verb = word in ("sun", "sat", "wed") and not hit.capital("w")
    if verb and (hit.content() or after.word in ("her", "his", "him", "the", "a", "down", "in", "on")):
        return None
    return "D", weekday_cycle(hit.lex("WD", "w"))


_RUN_CUES = frozenset("on during for is was are were at in between from".split())
_CUES = "(in|during|since|until|till|through|throughout|around|early|late|mid|month|REL|back)"
_SOFT_CUES = "(from|by|before|after|of|for|between|starting|beginning|DASH)"
_YEAR_CUES = (
    "(in|during|since|until|till|from|by|before|after|of|for|through|throughout|between|around|circa|early|late|mid|year"
    "|starting|beginning|than|as|EQ|LT|GT)"
)
_SEASON_CUES = "(in|during|since|until|before|after|from|to|throughout|over|early|late|mid)"
_DAY_CUES = "(on|by|since|until|till|from|before|after|between|starting|due|around)"

DATES = (
    Rule("day_to_day", "(m:MONTH d:DAY DASH m2:MONTH d2:DAY|d:DAY m:MONTH DASH d2:DAY m2:MONTH)(?!COMMA? (of|in)? "
         "(the year)? (NUM|YR|SLASH))", _day_to_day, 0.93, "Apr 22-Apr 25"),
    Rule("days_of_month_run", "((m:MONTH DOT? r:MDX|r:MDX (of|in|SEP)? m:MONTH) (COMMA? (of|in)? y:YR)?|m:MONTH DOT? "
         "the? a:DAY (and|TO) the? b:DAY COMMA? (of|in)? y:YR)", _days_in_month, 0.95, "May 3-7, 2025"),
    Rule("full_date", "(y:YEAR SEP? m:MONTH SEP? d:DAY(?!COMMA? (of|in)? YR)|m:MONTH (DASH|SLASH) y:YEAR (DASH|SLASH) "
         "d:DAYNUM|m:MONTH DOT? SEP? the? d:DAY (DASH|SLASH|COMMA)? (of|in)? (the? year)? y:YR|the? d:DAY (day of|of|"
         "SEP of?)? m:MONTH DOT? (DASH|SLASH|COMMA|DOT)? (of|in)? (the? year)? y:YR)", _full_date, 0.98,
         "on July 13th, 2024"),
    Rule("short_year_date", "(m:MONTH the? d:ORD COMMA? n:SMALL(?!(UNIT|T|DASH|of))|m:MONTH d:DAYNUM COMMA n:SMALL(?!("
         "UNIT|T|DASH|of|X))|d:DAY (DASH|SLASH|of)? m:MONTH (DASH|SLASH|COMMA)? n:SMALL(?!(UNIT|T|of)))",
         _full_date, 0.8, "on 14-Nov-23"),
    Rule("in_year", "((m:MONTH DOT? SEP? (of|in)? (the? year)?|q:QX (COMMA|of|in|DASH)?|(k:quarter o:DAYNUM|the? o:ORD "
         "k:(quarter|half)|the? s:SEASON) (of|in|COMMA)?) y:YR|m:MONTH of n:SMALL|y:YR (COMMA|DASH)? (q:QX|the? o:ORD "
         "k:(quarter|half))|y:YEAR SEP? m:MONTH(?!SEP? (DAY|YEAR)))", _in_year, 0.95, "in March 2024"),
    Rule("month_day", "m:MONTH p:SEP? the? d:DAY((?=weekend)|(?!(UNIT|SMALLUNIT|COUNTED|CLOSE? YEAR)))", _month_day,
         0.95, "on May 3rd"),
    Rule("day_month", "the? d:DAY (day of|of|SEP of?)? m:MONTH", _month_day, 0.95, "on the 3rd of May"),
    Rule("quarter", "(q:QX(?=(SLASH|TO|and|or) (Q|QX))|(?<=(in|of|during|since|for|last|this|next|from|to|by|before|"
         "after|until|till|early|late|mid)) q:QX)", named_cycle, 0.8, "the plan for Q3"),
    Rule("quarter_after_quarter", "(?<=Q(SLASH|TO|and|or)) q:QX", named_cycle, 0.85, "between Q1 and Q2"),
    Rule("century", "the? o:ORD century", _century, 0.9, "in the 20th century"),
    Rule("decade_words", "(the (roaring|swinging)? d:DECADE|(?<=(early|mid|late)) d:DECADE|(?<=(early|mid|late)DASH) "
         "d:DECADE|(?<=(in|from|during|since|of|throughout)) d:PLAINDECADE)", _decade, 0.8, "in the eighties"),
    Rule("decade_after_decade", "(?<=S(and|or|TO)) d:DECADE", _decade, 0.8, "in the eighties and nineties"),
    Rule("season", f"((?<={_SEASON_CUES}) the:the? s:SEASON|(?<=(end|start|beginning|middle) of) the:the? s:SEASON)",
         _season, 0.75, "during the winter", weak=True),
    Rule("weekday_date", "REL? w:WD DOT? COMMA? (OPEN|DASH)? the? d:D CLOSE?",
         lambda h: ("D", h.value("d")) if h.value("d").unit == "day" else None, 0.97, "on Thu June 4"),
    Rule("weekday_numeric", "r:REL? w:WD COMMA? md:(MD|MDX)", _numeric, 0.9, "on Monday 8/3"),
    Rule("weekday_number", "w:WD COMMA? the? d:DAY(?!(UNIT|SMALLUNIT|SLASH))", _weekday_number, 0.85, "on Tue 13th"),
    Rule("numeric_range", "from:(from|between)? a:MD (and|TO) b:MD (COMMA? (of|in)? y:YR)?", _numeric_range, 0.85,
         "from 4/22 to 4/23"),
    Rule("numeric_dashed", "(?<=on) md:MDX", _numeric_parts, 0.6, "the meeting on 5.12"),
    Rule("numeric", f"(r:REL md:MD|(?<={_DAY_CUES}) md:MD(?!(of|UNIT|COUNTED))|md:MD(?=TO D))", _numeric, 0.75,
         "on 5/12"),
    Rule("numeric_alone", "^ md:MD $", _numeric, 0.6, "5/12"),
    Rule("nth_of_month", "(?<=(on|by|since|until|till|before|after) the) d:ORD(?!(and|or|TO) the? (ORD|D))",
         _nth_of_month, 0.6, "on the 4th with Jim"),
    Rule("year_named", "the? ((calendar|fiscal|school|academic)? (year of?|years) y:YEAR|(calendar|fiscal|school|"
         "academic) year (n:SMALL|y:YR))", _year, 0.9, "the calendar year 2011"),
    Rule("year_before", "y:YEAR(?=(TO YEAR(?!DASH)|(COMMA|DASH)? week number? SMALL|TO (present|now|today|date)|"
         "(or|and) (later|greater|more|after|newer|above|onward|onwards|earlier|before|older|less|below)))", _year,
         0.85, "from 2015-2019"),
    Rule("year", f"((?<={_YEAR_CUES}) y:YR(?!DASH NUM)|(?<=(up|prior|back|equal|equals) to) y:YR(?!COUNTED)|"
         "(?<=(early|late|mid)DASH) y:YEAR)", _year, 0.9, "since 2024", weak=True),
    Rule("year_in_list", "((?<=Y(and|or|TO)) y:YEAR|(?<=Y COMMA) y:YEAR(?!(X|COUNTED)))", _year, 0.85,
         "in 2017, 2018 and 2019"),
    Rule("year_list_end", "((?<=Y(and|or)) y:YEAR|(?<=Y COMMA(and|or)) y:YEAR)", _year, 0.85, "in 2017, 2018 and 2019"),
    Rule("year_as_adjective", "the y:YEAR(?=X)", _year, 0.7, "at the 2019 offsite", weak=True),
    Rule("year_at_the_end", "(?<=X) y:YEAR(?=BREAK? $)", _likely_year, 0.5, "revenue 2019", weak=True),
    Rule("year_alone", "^ y:YEAR BREAK? $", _year, 0.6, "2019?", weak=True),
    Rule("month_before_month", "m:MONTH(?=(SLASH|TO|and|or) (MONTH|N|D))", _first_of_months, 0.85, "June to April"),
    Rule("month_behind_preposition", f"((?<=(early|late|mid)DASH) m:MONTH|(?<={_CUES}) m:MONTH)", _bare_month, 0.85,
         "what happened in May", weak=True),
    Rule("month_behind_soft_preposition", f"((?<={_SOFT_CUES}) m:MONTH|(?<=(in|during|since|until|of|by) the) m:MONTH)",
         _bare_month, 0.7, "the plans for June", weak=True),
    Rule("month_after_month", "(?<=N(TO|and|or|COMMA)) m:MONTH", _bare_month, 0.85, "from April to July"),
    Rule("month_after_months", "(?<=N(TO|and|or|COMMA)) m:MONTH", _bare_month, 0.85, "in March, April and May"),
    Rule("month", "m:MONTH", lambda h: named_cycle(h) if h.word("m") in CLEAR_MONTHS else None, 0.75,
         "the September offsite", weak=True),
)  # fmt: skip
