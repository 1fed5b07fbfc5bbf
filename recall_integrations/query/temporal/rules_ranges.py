"""Rules for times of day, and rules that join periods: offsets from a date, ranges, lists and open bounds.

A range holds both its ends whole, as people mean it: "from March to June" ends when June is over, "until Friday" when
Friday is. (The specifications of Recognizers-Text end a range where its right end begins.) A moment ends the range
itself: a time of day, "now", "the end of June". "Before" leaves out the period that it names.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from recall_integrations.query.temporal.calendar import (
    DAY,
    Duration,
    HalfOpen,
    Interval,
    Period,
    add_months,
    duration,
    listed,
    one_day,
    run_of_days,
    shift,
    week_of,
)
from recall_integrations.query.temporal.grammar import SHAPES, Built, Context, Rule, RuleMatch, mapped, one
from recall_integrations.query.temporal.lexicon import PART_OF_DAY, POSSESSIVE, PRONOUN
from recall_integrations.query.temporal.rules_dates import clear_weekday, cued_weekday
from recall_integrations.query.temporal.rules_parts import bare_unit
from recall_integrations.query.temporal.rules_relative import fixed, to_date, unit_from_today
from recall_integrations.query.temporal.tokens import DateToken

# ------------------------------------------------------------------------------------------------------ times of day


def _minutes(count: int) -> timedelta:
    return timedelta(minutes=count)


def _slack(hit: RuleMatch) -> timedelta:
    return _minutes(30 if hit.says("around", "about") else 0)


def _on_day(hit: RuleMatch, first: timedelta, last: timedelta, point: timedelta | None = None) -> Built:
    """Return these hours of the day (or of every such day) of `d`; `point`: the moment that a time of day names."""
    period: Period = hit.value("d")
    if period.unit != "day":
        return None

    def hours(whole: Interval) -> Interval | None:
        start = whole.start
        return Interval(start + first, start + last, None if point is None else start + point)

    return mapped("D", period, hours, "time")


def _part_of_day(hit: RuleMatch) -> Built:
    first, last = PART_OF_DAY[hit.word("k")]
    if hit.token("early"):
        last = (first + last) // 2
    if hit.token("late"):
        first = (first + last) // 2
    return _on_day(hit, timedelta(hours=first), timedelta(hours=last))


def _clock(hit: RuleMatch) -> Built:
    """Read 3pm as the hour from 3, 3:30 as the half hour; "around" adds half an hour on both sides."""
    start, length = map(_minutes, hit.value("t"))
    return _on_day(hit, start - _slack(hit), start + length + _slack(hit), start)


def _today_part(hit: RuleMatch) -> Built:
    if hit.word("k") in ("lunch", "breakfast"):
        return None  # "this lunch" is a meal
    first, last = PART_OF_DAY[hit.word("k")]
    return one("D", "time", Interval(hit.today + timedelta(hours=first), hit.today + timedelta(hours=last)))


def _bare_clock(hit: RuleMatch) -> Built:
    """Read "at 3pm" without a day: the last time it was that late."""
    start, length = map(_minutes, hit.value("t"))
    first, last = start - _slack(hit), start + length + _slack(hit)
    day = hit.today if hit.today + first <= hit.ctx.local else hit.today - DAY
    return one("D", "time", Interval(day + first, day + last))


TIMES = (
    Rule("noon", "(?<=(at|by|before|after|until|till|around|since)) (noon|midday|midnight)",
         lambda h: ("t", (720 if h.says("noon", "midday") else 0, 60)), 0.9, "before noon yesterday"),
    Rule("today_part", "this k:POD", _today_part, 0.92, "what did I do this morning"),
    Rule("weekday", "w:WD", clear_weekday, 0.85, "what did I do on Friday", weak=True),
    Rule("weekday_behind_preposition",
         "(?<=(on|until|till|since|by|before|after|from|between|to|DASH|and|through)) w:WD", cued_weekday, 0.75,
         "what did I do on Fri", weak=True),
    Rule("weekday_before_dash", "w:WD(?=(TO D|POD))", cued_weekday, 0.75, "Mon to Friday", weak=True),
    Rule("day_part", "(d:D COMMA? (in the|at)? early:early? late:late? k:POD|(in|on|during)? the? early:early? "
         "late:late? k:POD (of|on) the? d:D)", _part_of_day, 0.93, "yesterday morning"),
    Rule("day_clock", "(d:D COMMA? (at|around|about|T)? (about|around)? t:T|(at|around|about)? (about|around)? t:T "
         "(on|COMMA|of)? d:D)", _clock, 0.93, "on Monday at 3pm"),
    Rule("bare_clock", "(at|around|about) t:T", _bare_clock, 0.45, "what did she say at 3pm"),
)  # fmt: skip

LATE = (
    Rule("bare_unit", "the (u:(week|month|year|quarter)|u:day(?!X))(?!(UNIT|of|when|that|we|i|you|she|he|they|which))",
         bare_unit, 0.45, "the partner of the week"),
    Rule("weekend", "the? u:weekend(?!of)", bare_unit, 0.7, "what did I do over the weekend"),
)  # fmt: skip

# ---------------------------------------------------------------------------------------------------------- offsets


def _anchor(hit: RuleMatch, *, ahead: bool) -> Interval | None:
    """Return the date that an offset counts from; a recurring one lies ahead if `ahead` is true."""
    return (hit.value("p").future(hit.today) if ahead else None) or hit.placed()


def _from_date(hit: RuleMatch) -> Built:
    """Read "two weeks before X" as a day, counted from X."""
    length: Duration = hit.value("u")
    before = hit.says("before", "prior", "preceding")
    anchor = _anchor(hit, ahead=hit.here.plans or (not before and hit.says("from")))
    if anchor is None:
        return None
    base = anchor.start if before or hit.value("p").unit in ("day", "time") else anchor.end - DAY
    return one("D", "time" if length.seconds else "day", one_day(shift(base, length, -1 if before else 1)))


def _weekday_from_date(hit: RuleMatch) -> Built:
    """Read "Tuesday 2 weeks after March 4th": that weekday in the week that the offset leads to."""
    cycle, built = hit.value("w").cycle, _from_date(hit)
    if built is None or cycle is None or not cycle.is_weekly or built[1].unit != "day":
        return None
    return one("D", "day", cycle.next(week_of(built[1].fixed.start, hit.ctx.week_start).start))


def _bounded_offset(hit: RuleMatch) -> Built:
    """Read "less than 3 days after X", "more than two weeks before X"."""
    anchor, before = _anchor(hit, ahead=hit.here.plans), hit.says("before", "prior")
    if anchor is None:
        return None
    edge = shift(anchor.start, hit.value("u"), -1 if before else 1)
    if hit.says("more", "over"):
        return "R", HalfOpen(end=edge) if before else HalfOpen(edge)
    return "R", Interval(edge, anchor.start) if before else Interval(anchor.start, edge)


def _beside(hit: RuleMatch) -> Built:
    """Read "the week before 9 June 2023" as the seven days up to it, "the 3 days before Christmas" as all of them."""
    anchor, unit, length = hit.placed(), hit.word("k") or "span", hit.value("u") or duration(1, hit.word("k"))
    if anchor is None or length.seconds or length.unit == "workday" or (hit.value("o") or 1) > 1:
        return None
    if hit.says("before", "preceding", "prior"):
        return fixed(shift(anchor.start, length, -1), anchor.start, unit)
    return fixed(anchor.end, shift(anchor.end, length), unit)


def _neighbour_weekend(hit: RuleMatch) -> Built:
    anchor = hit.placed()
    if anchor is None:
        return None
    weekday, days = (5, 2) if hit.token("weekend") else (hit.lex("WD", "w"), 1)
    if hit.says("before", "preceding"):
        last = anchor.start - days * DAY
        start = last - ((last.weekday() - weekday) % 7) * DAY
    else:
        start = anchor.end + ((weekday - anchor.end.weekday()) % 7) * DAY
    return fixed(start, start + days * DAY, "day" if days == 1 else "weekend")


def _starting(hit: RuleMatch) -> Built:
    """Read "for two weeks from May 20th"."""
    anchor = hit.placed()
    return fixed(anchor.start, shift(anchor.start, hit.value("u"))) if anchor else None


NEIGHBOURS = (
    Rule("neighbour_weekend", "the? last? (weekend:weekend|w:WD) (before|after|preceding|following) the? p:P",
         _neighbour_weekend, 0.93, "the weekend before 9 June 2023"),
)  # fmt: skip

OFFSETS = (
    Rule("length_beside", "the (last|o:ORD)? u:U (before|after|preceding|following|prior to) the? p:P", _beside,
         0.9, "the three days before Christmas"),
    Rule("bounded_offset", "(less|more|over|fewer|within) (than)? u:U (before|after|from|of|prior to) the? p:P",
         _bounded_offset, 0.9, "less than 3 days after yesterday"),
    Rule("length_starting", "(for? u:U COMMA? (starting|beginning|commencing) (on|from|in)? the? p:P|(for u:U COMMA?|"
         "u:U COMMA) from the? p:P(?!(to|until|till|through)))", _starting, 0.85, "for 3 days starting next Monday"),
    Rule("weekday_from_date", "w:D COMMA? u:U (before|after|from|prior to|following|preceding) the? p:P",
         _weekday_from_date, 0.92, "Tuesday 2 weeks after March 4th"),
    Rule("from_date", "u:U (before|after|from|prior to|following|preceding) the? p:P", _from_date, 0.9,
         "4 days after March 11th"),
    Rule("neighbour",
         "the? last? k:(day|week|fortnight|month|quarter|year) (before|after|preceding|following|prior to) the? p:P",
         _beside, 0.93, "the week before 9 June 2023"),
    Rule("beside_now", "the u:(day|week|month|year) (before|after)(?=(BREAK|DOT|COMMA|$))",
         lambda h: unit_from_today(h.ctx, h.unit, 1 if h.says("after") else -1), 0.6, "who called the day before"),
)  # fmt: skip

# ----------------------------------------------------------------------------------------------------------- ranges


def _right_edge(ctx: Context, token: DateToken, found: Interval) -> datetime:
    """Return the end of a range: the end of its right period; "today" ends now, unless the text plans something."""
    if found.point is not None:
        return found.point
    if found.start == ctx.today and token.value.unit == "day" and not ctx.plans and ctx.local > ctx.today:
        return ctx.local
    return found.end


def _left_edge(found: Interval) -> datetime:
    return found.point if found.point is not None else found.start


def _place_pair(ctx: Context, left: Period, right: Period) -> tuple[Interval, Interval] | None:
    """Place two periods in order, a recurring one nearest to the other; of two, `ctx.place` places the first."""
    if left.fixed and right.fixed:
        return left.fixed, right.fixed
    if right.fixed and left.cycle:
        before = left.cycle.last(right.fixed.start, strict=True)
        return (before, right.fixed) if before else None
    if right.cycle is None:
        return None
    for first in (left.past(ctx.today), left.future(ctx.today)) if ctx.plans else (ctx.place(left),):
        second = right.cycle.next(first.start, strict=True) if first else None
        if first and second and not (ctx.plans and second.end <= ctx.today):
            return first, second
    return None


def _range(hit: RuleMatch) -> Built:
    right = hit.part("b")
    pair = _place_pair(hit.here, hit.value("a"), right.value)
    if pair is None:
        return None
    start, end = sorted((_left_edge(pair[0]), _right_edge(hit.here, right, pair[1])))
    return ("R", Interval(start, end)) if start < end else None


def _range_to_now(hit: RuleMatch) -> Built:
    found, local = hit.placed("a"), hit.ctx.local
    start = _left_edge(found) if found else None
    return None if start is None or start > local else ("R", Interval(start, local if local > start else start + DAY))


def _range_from_now(hit: RuleMatch) -> Built:
    token = hit.part("b")
    found = token.value.future(hit.today) or hit.placed("b")
    end = _right_edge(hit.here, token, found) if found else hit.today
    return ("R", Interval(hit.today, end)) if end > hit.today else None


def _days_of_month(hit: RuleMatch) -> Built:
    """Read "October 8th through 15th", "the 9th and the 17th of April": the bare day borrows the other's month."""
    number: int = hit.value("n")
    period: Period = hit.value("d")
    bare_first = hit.token("left") is not None
    led = {hit.tokens[0].word, hit.beside(-1).word, hit.beside(-2).word}  # "between the 5th and the 9th of May"
    several = hit.says("and", "or") and led.isdisjoint(("from", "between"))

    def change(found: Interval) -> Interval | None:
        if several:
            days = (found.start.replace(day=token.value) for token in hit.tokens if token.symbol in SHAPES["DAY"])
            return listed((found, *map(one_day, days)))
        other = found.start.replace(day=number)
        if bare_first and other > found.start and not hit.says("and", "or"):  # "from the 28th to the 2nd of April"
            other = add_months(found.start.replace(day=1), -1).replace(day=number)
        first, last = (other, found.start) if bare_first else (found.start, other)
        return run_of_days(first, last) if first < last else None

    if period.unit != "day" or (period.cycle and (period.cycle.is_weekly or period.cycle.reach == 200)):
        return None
    return mapped("S", period, change, "span")


def _list(hit: RuleMatch) -> Built:
    """Read "March and June", "2019, 2021 or 2023": each of them whole, and nothing between them."""
    left, right = hit.value("a"), hit.value("b")
    pair = _place_pair(hit.here, left, right) if left.unit == right.unit else None
    if pair is None:
        return None
    if not hit.here.plans and pair[1].start > hit.ctx.local:  # "in June or in March", asked in July: both are behind
        pair = pair[0], right.past(hit.today) or pair[1]
    first, last = inside = sorted(pair, key=lambda each: each.start)
    if hit.beside(-1).word == "since":  # "since May or June": from the first on
        return "R", HalfOpen(first.start)
    for period in (token.value for token in hit.tokens[1:-1] if isinstance(token.value, Period)):  # in any order
        turns = [turn for turn in (period.future(first.start), period.past(last.start)) if turn]
        inside += sorted(turns, key=lambda turn: max(first.start - turn.start, turn.end - last.end))[:1]
    return "R", listed(inside)


_NOW = "(now|today|(the present|present) (day|time)?|the? current (date|day|time)|date)"
RANGES = (
    Rule("days_of_month", "from? d:D TO the? n:DAY(?!UNIT)", _days_of_month, 0.93, "October 8th through 15th"),
    Rule("days_of_month_listed", "d:D and the? n:ORD(?!(of|X|MONTH))", _days_of_month, 0.9, "May 15th and 16th"),
    Rule("days_of_month_reversed", "(from|between)? left:(the? n:DAY (COMMA DAY){0,3} COMMA? (and|or|TO)) the? d:D",
         _days_of_month, 0.93, "between the fifth and the eleventh of October"),
    Rule("range_to_now", f"((from|between|since) the? a:P (and|up? TO)|(in|on)? the? a:P up? TO) {_NOW}", _range_to_now,
         0.95, "from April to date"),
    Rule("range_from_now", "(from|between)? (now|today) (and|TO) the? b:P", _range_from_now, 0.9,
         "between now and October 20th"),
    Rule("between", "(between the? a:P (and|TO) the?|from (on|in|the)? a:P (and|up? TO) (on|in|the)?) b:P", _range,
         0.97, "between May 3rd and May 10"),
    Rule("to", "(in|on)? a:P TO (the|in|on)? b:P", _range, 0.93, "2015 to 2019"),
    Rule("list", "a:P ((COMMA|and|or) (in|on)? P){0,3} (COMMA|SLASH|and|or|COMMA and|COMMA or) (in|on|the)? b:P", _list,
         0.9, "in March and April"),
)  # fmt: skip

# ----------------------------------------------------------------------------------------------------------- bounds


def _after(hit: RuleMatch) -> Built:
    """Read "after" a day or a time as from it on, "after" anything longer as from its end on."""
    found = hit.placed()
    if found is None:
        return None
    if found.point is not None:
        start = hit.part("p").start
        over = hit.ctx.text[start : start + 4].lower() in ("mid ", "mid-")
        return "R", HalfOpen(found.end if over else found.point)  # "after mid-May", "after the middle of May"
    return "R", HalfOpen(found.start if hit.value("p").unit == "day" else found.end)


def _since(hit: RuleMatch) -> Built:
    return ("R", HalfOpen(found.start)) if (found := hit.placed()) else None


def _before(hit: RuleMatch) -> Built:
    return ("R", HalfOpen(end=_left_edge(found))) if (found := hit.placed()) else None


def _through(hit: RuleMatch) -> Built:
    return ("R", HalfOpen(end=found.point or found.end)) if (found := hit.placed()) else None


def _to_date(hit: RuleMatch) -> Built:
    """Read "how many to date?", "to date we have"; and not "wants to date her"."""
    after = hit.beside(0)
    somebody = after.word in PRONOUN or after.word in POSSESSIVE
    opens = hit.beside(-1).symbol == "∅" and hit.ctx.text[hit.tokens[0].start].isupper()
    return None if (somebody or hit.content()) and not opens and not hit.goes_on() else to_date(hit)


BOUNDS = (
    Rule("to_date", "(ytd|mtd|wtd|qtd|(?<!(equal|equals|due|out|prior|not)) (to|till|until) (current|present)? "
         "date(?!(NUM|or|not)))", _to_date, 0.8, "how many were sold to date"),
    Rule("at_most", "((LT EQ|EQ LT)|(no|not) (later than|after)|as late as|(on|in|at) or (before|(earlier than)|(prior "
         "to))|before or (on|in|(equal to))|(earlier|less|older|smaller) than or (equal|equals) to) (the|on|in)? p:P",
         _through, 0.9, "<= 2019"),
    Rule("at_least", "((GT EQ|EQ GT)|(no|not) ((earlier|sooner) than|before|(prior to))|(on|in|at) or (after|(later "
         "than))|after or (on|in|(equal to))|(later|greater|more|newer) than or (equal|equals) to) (the|on|in)? p:P",
         _since, 0.9, ">= 2019"),
    Rule("or_later",
         "p:P (or|and) (later|greater|more|newer|above|onward|onwards|beyond|(after|since)(?!X|PRON|POSS|P|NUM|the))",
         _since, 0.93, "year 2016 or later"),
    Rule("or_earlier", "p:P (or|and) (earlier|older|less|below|(before|prior)(?!X|PRON|POSS|P|NUM|the))", _through,
         0.93, "2012 or earlier"),
    Rule("than_later", "((later|greater|more|newer|younger) than the?|GT) p:P", _after, 0.93, "later than 2016"),
    Rule("than_earlier", "((earlier|less|older|sooner|smaller|fewer) than the?|LT) p:P", _before, 0.93,
         "earlier than 2018"),
    Rule("equal", "EQ p:P", lambda h: (h.part("p").symbol, h.value("p")), 0.9, "= 2019"),
    Rule("since", "((ever since|since|as early as) (the|about|around|in|on)?|(starting|beginning|commencing|effective) "
         "(on|from|in|at)? the?) p:P", _since, 0.95, "since 2024"),
    Rule("onwards", "(from (the|about|around)? p:P (on|onward|onwards|forward|and beyond)(?!P)|p:(D|N|Y|Q) "
         "(onward|onwards))", _since, 0.94, "from May 2023 onwards"),
    Rule("after", "(right|just|shortly|soon|any time|anytime|sometime)? (after|following) (the|about|around)? p:P",
         _after, 0.96, "after 2023"),
    Rule("before", "(right|just|shortly|any time|anytime|sometime)? (before|(prior|previous) to|ahead of|in advance "
         "of) (the|about|around)? p:P", _before, 0.95, "before last Christmas"),
    Rule("until", "(by|until|till|til|through|thru|up (to|until|till)) (and including)? (the|about|around)? p:P",
         _through, 0.95, "until Friday"),
)  # fmt: skip
