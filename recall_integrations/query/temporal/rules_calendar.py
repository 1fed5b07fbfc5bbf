"""Rules for dates of the calendar."""

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
from recall_integrations.query.temporal.grammar import Built, Rule, RuleMatch
from recall_integrations.query.temporal.lexicon import (
    CLEAR_MONTHS,
    CLEAR_WEEKDAYS,
    COUNTED,
    EVENT,
    SMALL_UNIT,
    UNIT,
    UNITS,
)
from recall_integrations.query.temporal.rules_numbers import decade_from
from recall_integrations.query.temporal.tokens import full_year, year_part


def _modal(hit: RuleMatch) -> bool:
    """Say whether "may" or "march" beside a number is more likely the verb: small letters and a word right after."""
    if hit.word("m") not in ("may", "march", "mar") or hit.capital("m"):
        return False
    after = hit.beside(0)
    return (after is not None and (hit.content(0) or after.word == "of")) or hit.part("d").spelled


def _full_date(hit: RuleMatch) -> Built:
    return _day_or_nothing(hit.value("y"), hit.lex("m", "MONTH"), hit.value("d"))


def _day_or_nothing(year: int, month: int, number: int) -> Built:
    """Return the day; if there is no such day (29 February 2023), a word, so that no part of it is read."""
    try:
        return "D", Period("day", day(year, month, number))
    except ValueError:
        return "x", None


def _short_year_date(hit: RuleMatch) -> Built:
    token = hit.part("n")
    if not token.spelled and token.end - token.start != 2:
        return None
    year = full_year(token.value, hit.ctx.now)
    return _day_or_nothing(year, hit.lex("m", "MONTH"), hit.value("d"))


def _month_day(hit: RuleMatch) -> Built:
    mark, number, between = hit.word("m"), hit.part("d"), hit.token("p")
    if _modal(hit):
        return None
    after = hit.beside(0)
    ends = after is None or after.symbol in "!.)"
    if between is not None and between.symbol in ".," and number.symbol != "o" and len(mark) > 4 and not ends:
        return None  # "in March. 5 people …"
    return _yearly_day(hit.lex("m", "MONTH"), number.value)


def _yearly_day(month: int, number: int) -> Built:
    if not 1 <= number <= days_in(2000, month):
        return "x", None
    return "D", Period("day", cycle=yearly(lambda year: day(year, month, number)))


def _dashed_days(hit: RuleMatch) -> Built:
    """Read "May 3-7": a run of days that the tokenizer read as one number pair."""
    first, last = hit.pair("r", "r2") or (0, 0)
    if first >= last:
        return None
    month = hit.lex("m", "MONTH") or hit.lex("m2", "MONTH")

    def build(year: int) -> Interval:
        return run_of_days(datetime(year, month, first), datetime(year, month, last))

    if hit.token("y"):
        return "S", Period("span", build(hit.value("y")))
    return "S", Period("span", cycle=yearly(build))


def _day_to_day(hit: RuleMatch) -> Built:
    """Read "Apr 22-Apr 25": the second month keeps the first number from being read with it."""
    if any(hit.word(name) in ("may", "march", "mar") and not hit.capital(name) for name in ("m", "m2", "m3", "m4")):
        return None
    month, month2 = (hit.lex(a, "MONTH") or hit.lex(b, "MONTH") for a, b in (("m", "m3"), ("m2", "m4")))
    number, number2 = hit.value("d") or hit.value("d3"), hit.value("d2") or hit.value("d4")
    return "S", Period("span", cycle=yearly(_days_between(month, number, month2, number2)))


def _days_between(month: int, number: int, month2: int, number2: int) -> Callable[[int], Interval]:
    """Return a function from a year to the run of days that begins in it; the second day may be of the next."""
    over = (month2, number2) < (month, number)
    return lambda year: run_of_days(datetime(year, month, number), datetime(year + over, month2, number2))


def _days_in_year(hit: RuleMatch) -> Built:
    year, month = hit.value("y"), hit.lex("m", "MONTH")
    first, last = datetime(year, month, hit.value("a")), datetime(year, month, hit.value("b"))
    return ("S", Period("span", run_of_days(first, last))) if first < last else None


def _month_year(hit: RuleMatch) -> Built:
    token = hit.token("n")
    if token is not None:
        if token.end - token.start != 2:
            return None
        return "N", Period("month", months_from(full_year(token.value, hit.ctx.now), hit.lex("m", "MONTH")))
    return "N", Period("month", months_from(hit.value("y"), hit.lex("m", "MONTH")))


def _year_month(hit: RuleMatch) -> Built:
    if verb_like(hit):
        return None  # "the 2019 edition may …"
    return _month_year(hit)


def month_cycle(month: int) -> Period:
    """Return every such month."""
    return Period("month", cycle=yearly(lambda year: months_from(year, month)))


def weekday_cycle(weekday: int) -> Period:
    """Return every such weekday."""
    return Period("day", cycle=weekly(weekday))


def quarter_cycle(months: int, which: int) -> Period:
    """Return every such quarter (3 months) or half (6 months)."""
    return Period("quarter" if months == 3 else "half", cycle=yearly(lambda year: year_part(year, months, which)))


def season_cycle(first: int) -> Period:
    """Return every such season of the northern hemisphere: three whole months, winter from December of its year."""
    return Period("span", cycle=yearly(lambda year: months_from(year, first, 3)))


def named_cycle(hit: RuleMatch) -> tuple[str, Period]:
    """Return the recurring period of a token `c`, of a season `s` or of a month `m`, with its symbol."""
    token = hit.token("c")
    if token is not None:
        return token.symbol, token.value
    if hit.token("s"):
        return "S", season_cycle(hit.lex("s", "SEASON"))
    return "N", month_cycle(hit.lex("m", "MONTH"))


def verb_like(hit: RuleMatch) -> bool:
    """Say whether the month `m` is "may" or "march" in small letters, which are words as well."""
    return hit.word("m") in ("may", "march") and not hit.capital("m")


def _quarter(hit: RuleMatch) -> Built:
    return "Q", quarter_cycle(*hit.value("q"))


def _quarter_year(hit: RuleMatch) -> Built:
    months, which = hit.value("q") or (6 if hit.word("k") == "half" else 3, hit.value("o") or hit.value("n"))
    found = year_part(hit.value("y"), months, which) if which * months <= 12 else None
    return ("Q", Period("quarter" if months == 3 else "half", found)) if found else None


def _century(hit: RuleMatch) -> Built:
    first = 100 * (hit.value("o") - 1)
    return "S", Period("century", Interval(datetime(max(1, first), 1, 1), datetime(first + 100, 1, 1)))


def _decade(hit: RuleMatch) -> Built:
    return "S", decade_from(hit.lex("d", "DECADE"))


def _numeric(hit: RuleMatch) -> Built:
    """Read 5/12 if a word before it makes it a date."""
    month, number = hit.value("md")
    built = _yearly_day(month, number)
    if built is None or built[1] is None:
        return built
    cycle, today = built[1].cycle, hit.ctx.today
    relation = hit.lex("r", "REL")
    if relation is None:
        return built
    if relation == 0:
        return "D", Period("day", day(today.year, month, number))
    strict = hit.token("w") is None
    found = cycle.next(today, strict=strict) if relation > 0 else cycle.last(today, strict=strict)
    return ("D", Period("day", found)) if found else None


def _numeric_range(hit: RuleMatch) -> Built:
    """Read "from 4/22 to 4/23", "13/5 - 15/5": a run of days, unless it may as well be two fractions."""
    (month, number), (month2, number2) = hit.value("a"), hit.value("b")
    before, after = hit.beside(-1), hit.beside(0)
    if after is not None and (after.word in COUNTED or after.word in UNIT | UNITS | SMALL_UNIT):
        return None
    cued = hit.token("from") is not None or hit.token("y") is not None
    cued = cued or (before is not None and before.word in _RUN_CUES)
    whole = before is None and (after is None or after.symbol in "!.")
    clear = not hit.says("and") and max(number, number2) > 12 and not hit.content(0)
    if not (cued or whole or clear):
        return None
    build = _days_between(month, number, month2, number2)
    if hit.token("y"):
        return "S", Period("span", build(hit.value("y") - ((month2, number2) < (month, number))))
    return "S", Period("span", cycle=yearly(build))


def _dashed_range(hit: RuleMatch) -> Built:
    """Read "from 4-22 to 4-25"; with dots, or with small numbers only, these may be versions or scores."""
    first, last = hit.tokens[0], hit.tokens[-1]
    days = max(hit.value("a")[1], hit.value("b")[1])
    return _numeric_range(hit) if days > 12 and "." not in hit.ctx.text[first.start : last.end] else None


def _numeric_parts(hit: RuleMatch) -> Built:
    """Read "on 4-22"; "on 5.12" only behind a word for an event: it may be a version."""
    token, before = hit.part("md"), hit.beside(-2)
    if hit.content(0):
        return None
    dotted = "." in hit.ctx.text[token.start : token.end]
    return _numeric(hit) if not dotted or (before is not None and before.word in EVENT) else None


def _weekday_date(hit: RuleMatch) -> Built:
    """Read a date behind its weekday: the date counts."""
    period = hit.value("d")
    return ("D", period) if period.unit == "day" else None


def _weekday_number(hit: RuleMatch) -> Built:
    """Read "Tue 13th": this month's 13th if it is a Tuesday, or else the newest past 13th that was one."""
    weekday, number, token = hit.lex("w", "WD"), hit.value("d"), hit.token("d")
    counted = token is None or token.symbol != "o" or token.spelled
    if counted and hit.content(0) and not hit.goes_on():
        return None  # "Friday 13 people came", "Sunday the first guest"

    def build(year: int, month: int) -> Interval | None:
        found = day(year, month, number)
        return found if found.start.weekday() == weekday else None

    cycle: Cycle = monthly(build, reach=200)
    now = cycle.at(cycle.number(hit.ctx.today))
    return "D", Period("day", now) if now else Period("day", cycle=cycle)


def _nth_of_month(hit: RuleMatch) -> Built:
    """Read "on the 4th": a bare day of a month, unless the next word could be counted by it."""
    after, token = hit.beside(0), hit.part("d")
    if token.spelled:
        return None
    if after is not None and after.symbol not in "!.,:)" and not hit.goes_on():
        return None
    number = token.value
    return "D", Period("day", cycle=monthly(lambda year, month: day(year, month, number)))


def year_period(year: int) -> Period:
    """Return a calendar year."""
    return Period("year", months_from(year, 1, 12))


def _year(hit: RuleMatch) -> Built:
    return "Y", year_period(hit.value("y") or hit.value("y2"))


def _likely_year(hit: RuleMatch) -> Built:
    """Read a number at the end of a text as a year if it is a likely one; others may be a PIN."""
    year, before = hit.value("y"), hit.beside(-1)
    likely = before is not None and before.word.isalpha() and 1900 <= year <= hit.ctx.today.year + 5
    return ("Y", year_period(year)) if likely else None


def _short_year(hit: RuleMatch) -> Built:
    token = hit.token("n")
    if token is None:
        return _year(hit)
    return ("Y", year_period(full_year(token.value, hit.ctx.now))) if token.end - token.start == 2 else None


def _bare_month(hit: RuleMatch) -> Built:
    """Read a month alone. "May" and "march" are words as well, and months only beside the right words."""
    word, before, after = hit.word("m"), hit.beside(-1), hit.beside(0)
    if word not in ("may", "march"):
        return "N", month_cycle(hit.lex("m", "MONTH"))
    cue = before.word if before else ""
    if before is not None and before.symbol == "," and (after is None or hit.content(0)):
        return None
    if cue == "the" or (cue == "to" and not _month_before(hit)):
        return None
    if cue in ("this", "and", "or") and not hit.capital("m") and hit.content(0):
        return None
    return "N", month_cycle(hit.lex("m", "MONTH"))


def _month_before(hit: RuleMatch) -> bool:
    before = hit.beside(-2)
    return before is not None and before.symbol in "NDYQ"


def _clear_month(hit: RuleMatch) -> Built:
    return ("N", month_cycle(hit.lex("m", "MONTH"))) if hit.word("m") in CLEAR_MONTHS else None


def _first_of_months(hit: RuleMatch) -> Built:
    """Read the first of two months; before "and" the second may be any word, so it needs a "between"."""
    before, after = hit.beside(-1), hit.beside(0)
    beyond = hit.beside(1)
    dated = beyond is not None and beyond.symbol == "N"  # "Jan and Feb 2020"
    if after is not None and after.word == "and" and not dated and (before is None or before.word != "between"):
        return _bare_month(hit) if before is not None and before.word in ("in", "during") else None
    return "N", month_cycle(hit.lex("m", "MONTH"))


def _season(hit: RuleMatch) -> Built:
    if hit.token("y"):
        return "S", Period("span", months_from(hit.value("y"), hit.lex("s", "SEASON"), 3))
    if hit.word("s") in ("spring", "fall") and not hit.token("the") and hit.content(0):
        return None  # Spring Boot, fall short
    return "S", season_cycle(hit.lex("s", "SEASON"))


def clear_weekday(hit: RuleMatch) -> Built:
    """Read a weekday's full name."""
    return ("D", weekday_cycle(hit.lex("w", "WD"))) if hit.word("w") in CLEAR_WEEKDAYS else None


def cued_weekday(hit: RuleMatch) -> Built:
    """Read a weekday, also abbreviated, behind a preposition."""
    after = hit.beside(0)
    if len(hit.word("w")) == 3 and after is not None and hit.content(0) and hit.ctx.text[after.start].isupper():
        return None  # "by Sun Yuwei"
    if (
        hit.word("w") in ("sun", "sat", "wed")
        and not hit.capital("w")
        and after is not None
        and (hit.content(0) or after.word in ("her", "his", "him", "the", "a", "down", "in", "on"))
    ):
        return None
    return "D", weekday_cycle(hit.lex("w", "WD"))


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
    Rule("day_to_day", "(m:MONTH d:DAY DASH m2:MONTH d2:DAY|d3:DAY m3:MONTH DASH d4:DAY m4:MONTH)"
         "(?!COMMA? (of|in)? (the year)? (NUM|YR|SLASH))", _day_to_day, 0.93, "Apr 22-Apr 25"),
    Rule("days_of_month_dashed", "(m:MONTH DOT? r:MDX|r2:MDX (of|in|SEP)? m2:MONTH) (COMMA? (of|in)? y:YR)?",
         _dashed_days, 0.95, "May 3-7, 2025"),
    Rule("year_month_day", "y:YEAR SEP? m:MONTH SEP? d:DAY(?!COMMA? (of|in)? YR)", _full_date, 0.95, "2021/Nov/17"),
    Rule("month_year_day", "m:MONTH (DASH|SLASH) y:YEAR (DASH|SLASH) d:DAYNUM", _full_date, 0.95, "November-2021-17"),
    Rule("month_day_year", "m:MONTH DOT? SEP? the? d:DAY (DASH|SLASH|COMMA)? (of|in)? (the? year)? y:YR", _full_date,
         0.98, "on July 13th, 2024"),
    Rule("day_month_year",
         "the? d:DAY (day of|of|SEP of?)? m:MONTH DOT? (DASH|SLASH|COMMA|DOT)? (of|in)? (the? year)? y:YR", _full_date,
         0.98, "on 13 July 2024"),
    Rule("month_ordinal_short_year", "m:MONTH the? d:ORD COMMA? n:SMALL(?!(UNIT|T|DASH|of))", _short_year_date,
         0.8, "October third 11"),
    Rule("month_day_short_year", "m:MONTH d:DAYNUM COMMA n:SMALL(?!(UNIT|T|DASH|of|X))", _short_year_date, 0.8,
         "on March 5, 98"),
    Rule("day_month_short_year", "d:DAY (DASH|SLASH|of)? m:MONTH (DASH|SLASH|COMMA)? n:SMALL(?!(UNIT|T|of))",
         _short_year_date, 0.8, "on 14-Nov-23"),
    Rule("month_year", "m:MONTH DOT? SEP? (of|in)? (the? year)? y:YR", _month_year, 0.95, "in March 2024"),
    Rule("year_month", "y:YEAR SEP? m:MONTH(?!SEP? (DAY|YEAR))", _year_month, 0.9, "in 2024 June"),
    Rule("month_of_short_year", "m:MONTH of n:SMALL", _month_year, 0.85, "born in August of 91"),
    Rule("days_of_month_year",
         "m:MONTH DOT? the? a:DAY (and|TO) the? b:DAY COMMA? (of|in)? y:YR", _days_in_year,
         0.95, "June 26 to 28, 2020"),
    Rule("month_day", "m:MONTH p:SEP? the? d:DAY(?!(UNIT|SMALLUNIT|COUNTED|CLOSE? YEAR))", _month_day, 0.95,
         "on May 3rd"),
    Rule("day_month", "the? d:DAY (day of|of|SEP of?)? m:MONTH", _month_day, 0.95, "on the 3rd of May"),
    Rule("quarter_year", "q:QX (COMMA|of|in|DASH)? y:YR", _quarter_year, 0.95, "in Q3 of 2024"),
    Rule("year_quarter", "y:YR (COMMA|DASH)? q:QX", _quarter_year, 0.95, "in 2024, Q3"),
    Rule("quarter_number_year", "quarter n:DAYNUM (of|in|COMMA)? y:YR", _quarter_year, 0.93, "quarter 3 of 2024"),
    Rule("nth_quarter_year", "the? o:ORD k:(quarter|half) (of|in|COMMA)? y:YR", _quarter_year, 0.95,
         "the third quarter of 2024"),
    Rule("year_nth_quarter", "y:YR (COMMA|DASH)? the? o:ORD k:(quarter|half)", _quarter_year, 0.93,
         "2024, the third quarter"),
    Rule("quarter_before_quarter", "q:QX(?=(SLASH|TO|and|or) (Q|QX))", _quarter, 0.9,
         "Q1 to Q3 2018"),
    Rule("quarter_after_quarter", "(?<=Q(SLASH|TO|and|or)) q:QX", _quarter, 0.85,
         "between Q1 and Q2"),
    Rule("quarter",
         "(?<=(in|of|during|since|for|last|this|next|from|to|by|before|after|until|till|early|late|mid)) q:QX",
         _quarter, 0.8,
         "the plan for Q3"),
    Rule("century", "the? o:ORD century", _century, 0.9, "in the 20th century"),
    Rule("decade_words", "the (roaring|swinging)? d:DECADE", _decade, 0.8, "in the eighties"),
    Rule("decade_of_part", "(?<=(early|mid|late)) d:DECADE", _decade, 0.8, "in the early nineties"),
    Rule("decade_of_part_hyphen", "(?<=(early|mid|late)DASH) d:DECADE", _decade, 0.8, "in the mid-nineties"),
    Rule("decade_behind_preposition", "(?<=(in|from|during|since|of|throughout)) d:PLAINDECADE", _decade, 0.7,
         "who sang it in nineties"),
    Rule("decade_after_decade", "(?<=S(and|or|TO)) d:DECADE", _decade, 0.8,
         "in the eighties and nineties"),
    Rule("season_year", "the? s:SEASON (of|in|COMMA)? y:YR", _season, 0.9, "in the summer of 2022"),
    Rule("season", f"(?<={_SEASON_CUES}) the:the? s:SEASON", _season, 0.75, "during the winter", weak=True),
    Rule("season_of_part", "(?<=(end|start|beginning|middle) of) the? s:SEASON", _season, 0.75, "at the end of summer"),
    Rule("weekday_date", "REL? w:WD DOT? COMMA? (OPEN|DASH)? the? d:D CLOSE?", _weekday_date, 0.97, "on Thu June 4"),
    Rule("weekday_numeric", "r:REL? w:WD COMMA? md:(MD|MDX)", _numeric, 0.9, "on Monday 8/3"),
    Rule("weekday_number", "w:WD COMMA? the? d:DAY(?!(UNIT|SMALLUNIT|SLASH))", _weekday_number, 0.85,
         "on Tue 13th"),
    Rule("numeric_range",
         "from:(from|between)? a:MD (and|TO) b:MD (COMMA? (of|in)? y:YR)?",
         _numeric_range, 0.85, "from 4/22 to 4/23"),
    Rule("numeric_dashed_range", "from:(from|between) a:MDX (TO|and) b:MDX", _dashed_range, 0.75,
         "from 4-22 to 4-25"),
    Rule("numeric_dashed", "(?<=on) md:MDX", _numeric_parts, 0.6, "the meeting on 5.12"),
    Rule("relative_numeric", "r:REL md:MD", _numeric, 0.85, "next 6/21"),
    Rule("numeric", f"(?<={_DAY_CUES}) md:MD(?!(of|UNIT|COUNTED))", _numeric, 0.75, "on 5/12"),
    Rule("numeric_range_end", "(?<=D(and|TO)) md:MD", _numeric, 0.75, "from 1 May to 5/7"),
    Rule("numeric_alone", "^ md:MD $", _numeric, 0.6, "5/12"),
    Rule("numeric_before_dash", "md:MD(?=TO D)", _numeric, 0.75, "6/2-6/9/2021"),
    Rule("nth_of_month", "(?<=(on|by|since|until|till|before|after) the) d:ORD(?!(and|or|TO) the? (ORD|D))",
         _nth_of_month, 0.6,
         "on the 4th with Jim"),
    Rule("day_of_month_number", "(?<=on) d:DAYNUM(?=(BREAK|DOT|$))", _nth_of_month, 0.5, "what happened on 15?"),
    Rule("year_named", "the? (calendar|fiscal|school|academic)? (year of?|years) y:YEAR", _year, 0.95,
         "the calendar year 2011"),
    Rule("short_year_named", "the? (calendar|fiscal|school|academic) year (n:SMALL|y:YR)", _short_year, 0.85,
         "fiscal year 08"),
    Rule("year_run", "y:YEAR(?=TO YEAR(?!DASH))", _year, 0.85, "from 2015-2019"),
    Rule("year_before_week", "y:YEAR(?=(COMMA|DASH)? week number? SMALL)", _year, 0.85, "2018 week 35"),
    Rule("year_until_now", "y:YEAR(?=TO (present|now|today|date))", _year, 0.85,
         "at Acme 2019 - present"),
    Rule("year", f"(?<={_YEAR_CUES}) y:YR(?!DASH NUM)", _year, 0.9, "since 2024", weak=True),
    Rule("year_up_to", "(?<=(up|prior|back|equal|equals) to) y:YR(?!COUNTED)", _year, 0.85, "up to 2020", weak=True),
    Rule("year_or_later",
         "y:YEAR(?=(or|and) (later|greater|more|after|newer|above|onward|onwards|earlier|before|older|less|"
         "below))", _year, 0.85, "2019 and later"),
    Rule("year_pair_list", "(?<=Y(and|or|TO)) y:YEAR", _year, 0.85,
         "between 2015 and 2019"),
    Rule("year_in_list", "(?<=Y COMMA) y:YEAR(?!(X|COUNTED))", _year, 0.85, "in 2017, 2018 and 2019"),
    Rule("year_list_end", "((?<=Y(and|or)) y:YEAR|(?<=Y COMMA(and|or)) y2:YEAR)", _year, 0.85,
         "in 2017, 2018 and 2019"),
    Rule("year_hyphen", "(?<=(early|late|mid)DASH) y:YEAR", _year, 0.9, "mid-2022"),
    Rule("year_as_adjective", "the y:YEAR(?=X)", _year, 0.7, "at the 2019 offsite", weak=True),
    Rule("year_at_the_end", "(?<=X) y:YEAR(?=BREAK? $)", _likely_year, 0.5, "revenue 2019", weak=True),
    Rule("year_alone", "^ y:YEAR BREAK? $", _year, 0.6, "2019?", weak=True),
    Rule("month_before_month", "m:MONTH(?=(SLASH|TO|and|or) (MONTH|N|D))", _first_of_months,
         0.85, "June to April"),
    Rule("month_hyphen", "(?<=(early|late|mid)DASH) m:MONTH", _bare_month, 0.85, "mid-March"),
    Rule("month_behind_preposition", f"(?<={_CUES}) m:MONTH", _bare_month, 0.85, "what happened in May", weak=True),
    Rule("month_behind_soft_preposition", f"(?<={_SOFT_CUES}) m:MONTH", _bare_month, 0.7, "the plans for June",
         weak=True),
    Rule("month_after_month", "(?<=N(TO|and|or|COMMA)) m:MONTH", _bare_month, 0.85,
         "from April to July"),
    Rule("month_after_months", "(?<=N(TO|and|or|COMMA)) m:MONTH", _bare_month, 0.85,
         "in March, April and May"),
    Rule("month_behind_article", "(?<=(in|during|since|until|of|by) the) m:MONTH", _bare_month, 0.7, "in the April",
         weak=True),
    Rule("month", "m:MONTH", _clear_month, 0.75, "the September offsite", weak=True),
)  # fmt: skip
