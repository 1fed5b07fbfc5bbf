"""Rules for times relative to now ("last week", "two days ago")."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from recall_integrations.query.temporal.calendar import (
    DAY,
    WEEK,
    Duration,
    HalfOpen,
    Interval,
    Period,
    duration,
    listed,
    one_day,
    shift,
    unit_of,
    unit_shifted,
    week_of,
    weekly,
)
from recall_integrations.query.temporal.grammar import UNIT_SYMBOL, Built, Context, Rule, RuleMatch, one, that_day
from recall_integrations.query.temporal.lexicon import MONTH, SMALL_UNIT, UNIT, UNITS, WEEKDAY
from recall_integrations.query.temporal.rules_dates import named_cycle, verb_like, weekday_cycle
from recall_integrations.query.temporal.tense import PAST

CALENDAR_ONLY = ("quarter", "decade", "century", "weekend", "workweek")  # "the last two quarters" are whole ones


def fixed(start: datetime, end: datetime, unit: str = "span") -> Built:
    """Make the symbol and value of a finished interval."""
    return one(UNIT_SYMBOL.get(unit, "S"), unit, Interval(start, end))


def unit_from_today(ctx: Context, unit: str, count: int) -> Built:
    """Return the calendar unit that lies `count` units after the present one."""
    return one(UNIT_SYMBOL.get(unit, "S"), unit, unit_shifted(ctx.today, unit, count, ctx.week_start))


# -------------------------------------------------------------------------------------------------------- durations


def _duration(hit: RuleMatch) -> Built:
    count = hit.value("n")
    if count is None:
        few = {"couple": 2, "few": 3, "several": 5}
        count = next((few[t.word] for t in hit.tokens if t.word in few), 1)
    if count > 100_000:
        return None
    if hit.token("work"):
        return "U", Duration(days=count, unit="workday", count=count)
    return "U", duration(count, hit.unit or hit.lex("SMALLUNIT", "u"))


def _and_half(hit: RuleMatch) -> Built:
    """Read "a year and a half", "1.5 years", "half an hour"; the tokenizer reads 1.5 as a day of a month, too."""
    word, decimal, count = hit.word("u"), hit.token("x"), hit.value("n") or 1
    if hit.tokens[0].word == "half":
        count = 0
    elif decimal:
        text = hit.ctx.text[decimal.start : decimal.end]
        if text[1:] != ".5":
            return None
        count = int(text[0])
    whole = duration(1, UNIT.get(word) or UNITS.get(word) or SMALL_UNIT[word])
    half = Duration(
        months=whole.months // 2, days=15 if whole.months == 1 else whole.days // 2, seconds=whole.seconds // 2
    )
    total = duration(count, whole.unit) + half
    return "U", replace(total, unit="month" if whole.months else "day", count=count)


def _small_unit(hit: RuleMatch) -> Built:
    """Read "in the past hour", "within the hour": the one that ends now."""
    ahead = hit.says("within") and hit.here.plans
    return None if ahead else _rolling(hit.ctx, duration(1, hit.lex("SMALLUNIT", "u")), -1)


def _sum(hit: RuleMatch) -> Built:
    total = hit.value("a")
    for name in ("b", "c", "d"):
        if hit.token(name):
            total = total + hit.value(name)
    return "U", total


def _rolling(ctx: Context, length: Duration, sign: int) -> Built:
    """Return a run of time that ends now (sign −1) or begins tomorrow (+1); of calendar units whole ones; none of 0."""
    today = ctx.today
    if not sign:
        return None
    if length.unit in CALENDAR_ONLY:
        near, far = (unit_shifted(today, length.unit, sign * n, ctx.week_start) for n in (1, length.count))
        return fixed(far.start, near.end) if sign < 0 else fixed(near.start, far.end)
    if length.unit == "workday":
        return _work_days(today, length.count, sign)
    if length.seconds:
        other = shift(ctx.local, length, sign)
        return fixed(min(other, ctx.local), max(other, ctx.local), "time")
    if sign < 0:
        return fixed(shift(today, length, -1), max(ctx.local, today), "rolling")
    return fixed(today + DAY, shift(today + DAY, length), "rolling")


def _work_days(today: datetime, count: int, sign: int) -> Built:
    if not 0 < count <= 10_000:
        return None
    moment = today
    while count:
        moment += sign * DAY
        count -= moment.weekday() < 5
    first = today + max(1, 7 - today.weekday() if today.weekday() > 3 else 0) * DAY
    return fixed(moment, today) if sign < 0 else fixed(first, moment + DAY)


def _offset(hit: RuleMatch) -> Built:
    """Read "two weeks ago", "in three days": the day that lies so far from today."""
    ctx, length = hit.ctx, hit.value("u")
    sign = -1 if hit.token("ago") else 1
    if hit.tokens[0].word == "in" and hit.here.tense == PAST:
        return None  # "what did I learn in two weeks" says how long it took
    if ctx.told:
        return _told_offset(hit, length, sign)
    if length.unit in CALENDAR_ONLY:
        return unit_from_today(ctx, length.unit, sign * length.count)
    if length.unit == "workday":
        found = built[1].fixed if (built := _work_days(ctx.today, length.count, sign)) else None
        return one("F", "day", found and one_day(found.start if sign < 0 else found.end - DAY))
    if length.seconds:
        if sign > 0:
            return None  # "bake it in 20 minutes" is no date
        moment = shift(ctx.local, length, -1)
        slack = timedelta(minutes=30) if length.seconds >= 3600 else timedelta(minutes=5)
        return one("F", "time", Interval(moment - slack, min(moment + slack, ctx.local)))
    return one("F", "day", one_day(shift(ctx.today, length, sign)))


_VAGUE = {"few": (2, 5), "several": (3, 7)}  # at least and at most


def _told_offset(hit: RuleMatch, length: Duration, sign: int) -> Built:
    """Read "two weeks ago" as wide as it is said: a week around that day; of months and years whole ones."""
    ctx, token = hit.ctx, hit.part("u")
    if hit.says("later", "earlier", "hence", "beforehand") or (hit.says("back") and hit.beside(0).symbol not in ".,!∅"):
        return None  # "three days later he came": not from now
    if length.seconds:
        return that_day(ctx.today) if sign < 0 and length.seconds < 6 * 3600 else None
    said = ctx.text[token.start : token.end].lower()
    least, most = next((counts for word, counts in _VAGUE.items() if word in said), (1, 1))
    near, far = (length, length) if least == most else (duration(n, length.unit) for n in (least, most))
    if length.unit in CALENDAR_ONLY and length.unit != "decade":
        return unit_from_today(ctx, length.unit, sign * length.count)
    first, last = sorted(shift(ctx.today, one, sign) for one in (near, far))
    if length.unit == "decade":
        first, last = shift(first, duration(2, "year"), -1), shift(last, duration(2, "year"))
    unit = "month" if length.months % 12 or length.unit == "month" else "year" if length.months else "day"
    slack = duration(0, unit)
    if length.months and length.unit == "month" and length.months != length.count:  # half a year: the months around it
        slack = duration(1, "month")
    elif length.unit in ("week", "fortnight") or (length.days > 1 and length.unit == "month"):
        slack = duration(3, "day")
    first, last = shift(first, slack, -1), shift(last, slack)
    whole = Interval(unit_of(first, unit, 0).start, unit_of(last, unit, 0).end)
    return one("F", unit if slack == duration(0, "day") else "span", whole)


def lies_back(hit: RuleMatch, unit: str) -> bool:
    """Say whether a text tells of "this weekend" as one that is over: "this weekend was great", said on a Tuesday."""
    return unit == "weekend" and hit.here.tense == PAST and hit.today.weekday() < 5


def _between_counts(hit: RuleMatch) -> Built:
    """Read "3 or 4 days ago", "a week or two ago": from the farther to the nearer."""
    near, far = hit.pair("r") or (hit.value("n") or 1, hit.value("n2") or 0)
    if not near < far <= near + 50:
        return None
    unit = hit.unit
    start, end = (shift(hit.today, duration(count, unit), -1) for count in (far, near))
    return fixed(start, end + DAY)


_SOME = "(a? couple of?|a? few|several|an|a|n:NUM)"
DURATIONS = (
    Rule("work_days", "(a? couple of?|n:NUM) work:(business|working|week|work) u:(day|days)", _duration, 0.9,
         "the next 5 business days"),
    Rule("relative_count", "n:NUM r:REL u:UNITS",
         lambda h: _rolling(h.ctx, duration(h.value("n"), h.unit), h.lex("REL", "r")), 0.9, "in the 4 next days"),
    Rule("and_a_half", "((an|a|n:NUM) u:UNIT and a half(?=AGO)|n:NUM and a half u:(UNIT|SMALLUNIT)|x:MDX u:(UNITS|"
         "SMALLUNIT)|half (a|an|the)? u:(year|month|decade|century|hour))", _and_half, 0.9, "a year and a half ago"),
    Rule("this_time", "(this|the? same) (time|day) r:(LAST|NEXT) u:UNIT1",
         lambda h: that_day(shift(h.today, duration(1, h.unit), -1 if h.lex("LAST", "r") else 1)), 0.93,
         "this time last year"),
    Rule("small_unit", "((in|over|during|within|for) the (last|past|previous)|within the) u:(hour|minute)", _small_unit,
         0.9, "in the past hour"),
    Rule("between_counts_ago", "(n:NUM (or|to|DASH) n2:NUM u:UNITS|r:MDX u:UNITS|a u:UNIT1 or n2:NUM) ago",
         _between_counts, 0.85, "3 or 4 days ago"),
    # One day is what is written, and weeks around it are what is meant: a hint that filters nothing.
    Rule("vague_ago", "(a? couple of?|a? few|several) u:(UNIT)(?=(AGO(?!than)|before|after|prior))", _duration, 0.45,
         "a few weeks ago"),
    Rule("duration", f"{_SOME} DASH? u:(UNIT|SMALLUNIT)", _duration, 0.9, "three weeks ago"),
    Rule("duration_sum", "a:U (COMMA|and|COMMA and)? b:U ((COMMA|and|COMMA and)? c:U)? ((COMMA|and|COMMA and)? d:U)?",
         _sum, 0.9, "2 years, 3 months and 4 days ago"),
    Rule("from_now", "(?<!for) in? (about|around|exactly|just)? u:U (from (now|today)|hence|later|after today|time)",
         _offset, 0.85, "three days from now"),
    Rule("age", "U DASH? old", lambda h: ("x", None), 1.0, "when I was ten years old"),
)  # fmt: skip

# ------------------------------------------------------------------------------------------------ days and weekdays


def _back(today: datetime, weekday: int) -> int:
    """Return how many days ago the newest such day before today was."""
    return (today.weekday() - weekday) % 7 or 7


def _ahead(today: datetime, weekday: int) -> int:
    """Return in how many days the next such day after today comes."""
    return (weekday - today.weekday()) % 7 or 7


def _day_of_week(ctx: Context, weekday: int, weeks: int) -> datetime:
    """Return a weekday of the week that lies so many weeks from this one."""
    return week_of(ctx.today, ctx.week_start).start + weeks * WEEK + ((weekday - ctx.week_start) % 7) * DAY


def _relative_weekday(hit: RuleMatch) -> Built:
    weekday, today, word = hit.lex("WD", "w"), hit.today, hit.word("r")
    if hit.ctx.told and (word == "this" or hit.lex("REL", "r") < 0):
        cycle, past = weekly(weekday), word != "this" or hit.here.tense == PAST
        return one("D", "day", cycle.last(today, strict=word != "this") if past else cycle.next(today))
    if hit.lex("REL", "r") < 0:
        back = _back(today, weekday)
        return that_day(today - (8 if back == 1 and word == "last" else back) * DAY)  # the day before is yesterday
    if word in ("coming", "upcoming"):
        return that_day(today + _ahead(today, weekday) * DAY)
    return that_day(_day_of_week(hit.ctx, weekday, hit.lex("REL", "r")))


def _weekday_list(hit: RuleMatch) -> Built:
    """Read "last Tuesday and Wednesday": days that follow one another, all before today."""
    first, second = hit.lex("WD", "a"), hit.lex("WD", "b")
    if (first - second) % 7 == 1 and not hit.token("middle"):  # "Wednesday and Tuesday"
        first, second = second, first
    more = ((second - first) % 7) * DAY
    if hit.token("r") and hit.lex("REL", "r") >= 0:
        start = _day_of_week(hit.ctx, first, hit.lex("REL", "r"))
    else:
        start = hit.today - _back(hit.today, second) * DAY - more
    ahead = ((WEEKDAY[token.word] - first) % 7 for token in hit.tokens if token.word in WEEKDAY)
    return one("S", "span", listed(one_day(start + days * DAY) for days in ahead))


def _night(hit: RuleMatch) -> Built:
    """Read "tonight", "last night", "the night before last", "two nights ago"."""
    start = hit.today - (hit.value("n") or (0 if hit.says("tonight") else 2 if hit.says("before") else 1)) * DAY
    return one("D", "time", Interval(start + timedelta(hours=18), start + timedelta(hours=28)))


def _two_away(hit: RuleMatch) -> Built:
    """Read "the week before last", "the month after next"."""
    sign, today = -2 if hit.says("before") else 2, hit.today
    if hit.unit:
        return unit_from_today(hit.ctx, hit.unit, sign)
    symbol, period = ("D", weekday_cycle(hit.lex("WD", "w"))) if hit.token("w") else named_cycle(hit)
    if hit.token("w") and sign > 0:  # "next Friday" is next week's, and this is the one after it
        return that_day(week_of(today, 0).start + 2 * WEEK + hit.lex("WD", "w") * DAY)
    assert period.cycle is not None
    first = _before(period, today) if sign < 0 else period.cycle.next(today, strict=True)
    step = period.cycle.last if sign < 0 else period.cycle.next
    return one(symbol, period.unit, step(first.start, strict=True) if first else None)


def _before(period: Period, today: datetime) -> Interval | None:
    """Return the newest turn of a recurring period that is over, or ends with today."""
    assert period.cycle is not None
    found = period.cycle.last(today, strict=True)
    return period.cycle.last(found.start, strict=True) if found and found.end > today + DAY else found


def _weekdays_away(hit: RuleMatch) -> Built:
    weekday, today, more = hit.lex("WDS", "w"), hit.today, 7 * (hit.value("n") - 1)
    return that_day(today + (-_back(today, weekday) - more if hit.says("ago") else _ahead(today, weekday) + more) * DAY)


_BESIDE_TODAY = {"yesterday": -1, "tomorrow": 1, "tmrw": 1, "tmr": 1}


def _beside_today(hit: RuleMatch) -> Built:
    """Read "yesterday", "the day after tomorrow", "today"."""
    days = sum(_BESIDE_TODAY.get(token.word, 0) for token in hit.tokens)
    return that_day(hit.today + (days + hit.says("after") - hit.says("before")) * DAY)


DAYS = (
    Rule("beside_today", "(the? day (before|after))? (yesterday|tomorrow|tmrw|tmr)", _beside_today, 0.97,
         "the day before yesterday"),
    Rule("today", "(today|otd|(current|present) (day|date))", _beside_today, 0.95, "what happened today"),
    Rule("night", "(the? night before last|last night|tonight|n:NUM nights ago)", _night, 0.9,
         "what did we cook last night"),
    Rule("before_last", "the? (u:UNIT1|w:WD|m:MONTH|s:SEASON|c:H) (before last|after next)", _two_away, 0.95,
         "the weekend before last"),
    Rule("weekday_list", "(?<!between) r:REL? a:WD middle:(COMMA? (and|or)? WD){0,3} COMMA? (and|or|COMMA) (REL|on)? "
         "b:WD(?!(of|in)? the? REL UNIT1)", _weekday_list, 0.95, "what did I work on last Tuesday and Wednesday"),
    Rule("nth_weekday_away", "n:NUM w:WDS (ago|from now|hence|from today)", _weekdays_away, 0.92, "two Mondays ago"),
    Rule("weekday_week", "on? w:WD week(?!(of|NUM|and|or))",
         lambda h: that_day(h.today + (_ahead(h.today, h.lex("WD", "w")) + 7) * DAY), 0.8, "on Monday week"),
    Rule("relative_weekday", "on? the? this? r:REL w:WD(?!((of|in) the? (P|REL|UNIT1|YEAR)|before D))",
         _relative_weekday, 0.95, "last Tuesday"),
)  # fmt: skip

# ------------------------------------------------------------------------------------------------- units and counts


def _relative_unit(hit: RuleMatch) -> Built:
    """Read "last month", "last working week", "the coming quarter"."""
    ctx, unit, sign, word = hit.ctx, hit.unit, hit.lex("REL", "r"), hit.word("r")
    working = hit.says("working", "business", "work")
    if unit == "day":
        if working:
            return _work_days(ctx.today, 1, sign) if sign else None
        return None if word == "last" else that_day(ctx.today + sign * DAY)  # "the last day of …" is another rule
    if working and unit == "week":
        unit = "workweek"
    after, beyond = hit.beside(0), hit.beside(1)
    if unit in ("week", "weekend"):
        # "the last weekend in May" is a part of May, "the last weekend before 3 May" its neighbour
        if after.word == "in" and (beyond.symbol in "NY" or beyond.word in MONTH):
            return None
        if after.word == "before" and beyond.symbol in "DHFNY":
            return None
    if word == "past" and hit.beside(-1).word in ("in", "over", "during", "within", "for"):
        return _rolling(ctx, duration(1, unit), -1)
    return unit_from_today(ctx, unit, -1 if ctx.told and not sign and lies_back(hit, unit) else sign)


def _relative_cycle(hit: RuleMatch) -> Built:
    """Read "last March", "this summer", "next Easter"."""
    sign, after = hit.lex("REL", "r"), hit.beside(0)
    if verb_like(hit) and (hit.content() or after.symbol == "," or after.word in ("not", "or", "and")):
        return None  # "this may help"
    symbol, period = named_cycle(hit)
    cycle = period.cycle
    if cycle is None or cycle.is_weekly or cycle.is_monthly:
        return None
    running = cycle.last(hit.today) if sign == 0 and hit.token("s") else None
    if running and (running.end > hit.today or (hit.ctx.told and hit.here.tense == PAST)):
        return one(symbol, period.unit, running)  # "this winter", said in January
    if sign < 0:
        return one(symbol, period.unit, _before(period, hit.today))
    return one(symbol, period.unit, cycle.next(hit.today, strict=True) if sign else cycle.at(hit.today.year))


def _offset_weekday(hit: RuleMatch) -> Built:
    """Read "Thursday three weeks from now": in that week; over 27 days away, the next such day from there."""
    period: Period = hit.value("f")
    if period.fixed is None or period.unit != "day":
        return None
    base = period.fixed.start
    if abs((base - hit.today).days) <= 27:
        base = week_of(base, hit.ctx.week_start).start
    return that_day(base + ((hit.lex("WD", "w") - base.weekday()) % 7) * DAY)


def _within(hit: RuleMatch) -> Built:
    """Read "within two years": the past ones, unless the text speaks of the future."""
    if hit.here.plans:
        return fixed(hit.today, shift(hit.today, hit.value("u")), "rolling")
    return _rolling(hit.ctx, hit.value("u"), -1)


def to_date(hit: RuleMatch) -> Built:
    """Read "quarter to date", "ytd", "to date": from the start of the unit (or ever) until now."""
    local = hit.ctx.local
    unit = hit.unit or {"ytd": "year", "mtd": "month", "wtd": "week", "qtd": "quarter"}.get(hit.tokens[0].word)
    if unit is None:
        return "R", HalfOpen(end=local)
    start = unit_of(hit.today, unit, hit.ctx.week_start).start
    return "R", Interval(start, local if local != start else hit.today + DAY)


COUNTS = (
    # Another sentence says which "the same week" is; the present one is a guess, and only a hint.
    Rule("same_unit", "(the|that|this|in|during) same u:UNIT1",
         lambda h: None if h.unit == "day" else unit_from_today(h.ctx, h.unit, 0), 0.45, "we moved the same year"),
    Rule("relative_unit",
         "the? r:REL (calendar|fiscal|school|academic|working|work|business|full|entire|whole)? u:UNIT1(?!of)",
         _relative_unit, 0.95, "what happened last month"),
    Rule("relative_cycle", "(?<!UNIT1)(?<!UNITS) the? r:REL (m:MONTH|s:SEASON|the? c:(H|N|Q|D))(?!DAY)",
         _relative_cycle, 0.93, "before last Christmas"),
    Rule("relative_length", "the? r:REL u:U(?!(of|in) the? (P|REL|UNIT1|MONTH))",
         lambda h: _rolling(h.ctx, h.value("u"), h.lex("REL", "r")), 0.93, "in the last 10 days"),
    Rule("ago", "(about|around|roughly|nearly|almost|approximately|exactly|some|just)? u:U ago:AGO(?!than)", _offset,
         0.9, "two weeks ago"),
    Rule("in_length", "in ((about|around|exactly|just)? u:U time?(?!(of|on|before|after|from|starting))|u:U(?=on? WD))",
         _offset, 0.6, "in three weeks"),
    Rule("offset_weekday", "(f:F COMMA? on? (last|next|this)? w:WD|on? w:WD COMMA? f:F)", _offset_weekday, 0.9,
         "Thursday three weeks from now"),
    Rule("unit_to_date", "the? u:UNIT1 DASH? to DASH? date", to_date, 0.9, "the quarter to date"),
)  # fmt: skip
