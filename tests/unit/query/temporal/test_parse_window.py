"""What phrases mean, against one Wednesday: 17 June 2026, 15:30 in Berlin."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from recall_integrations.errors import InvalidArgument
from recall_integrations.query.temporal import parse_window
from tests.rows import each_row

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 6, 17, 15, 30, tzinfo=BERLIN)


def span(text: str, now: datetime = NOW, **options) -> tuple[str | None, str | None] | None:
    window = parse_window(text, now, **options)
    if window is None:
        return None
    return tuple(  # type: ignore[return-value]
        None if m is None else m.strftime("%Y-%m-%d" if (m.hour, m.minute) == (0, 0) else "%Y-%m-%d %H:%M")
        for m in (window.start, window.end)
    )


NOW_TEXT = "2026-06-17 15:30"


@each_row(
    ("text", "start", "end"),
    [
        ("What did Priya say yesterday about the MVP?", "2026-06-16", "2026-06-17"),
        ("What was happening with Inbox3 in March?", "2026-03-01", "2026-04-01"),
        ("what did I work on last Tuesday and Wednesday?", "2026-06-09", "2026-06-11"),
        ("What did Nadia do on 3 July 2023?", "2023-07-03", "2023-07-04"),
        ("what happened in the summer of 2022", "2022-06-01", "2022-09-01"),
        ("two weekends ago", "2026-06-06", "2026-06-08"),
        ("the week before 9 June 2023", "2023-06-02", "2023-06-09"),
        ("the weekend before 9 June 2023", "2023-06-03", "2023-06-05"),
        ("the Friday before 15 July 2023", "2023-07-14", "2023-07-15"),
    ],
)
def test_memory_questions(text: str, start: str, end: str) -> None:
    assert span(text) == (start, end)


@each_row(
    ("text", "start", "end"),
    [
        ("two weeks ago", "2026-06-03", "2026-06-04"),
        ("the weekend before last", "2026-06-06", "2026-06-08"),
        ("last week", "2026-06-08", "2026-06-15"),
        ("last month", "2026-05-01", "2026-06-01"),
        ("last Friday", "2026-06-12", "2026-06-13"),
        ("on Wednesday", "2026-06-10", "2026-06-11"),  # today is one: a week ago
        ("the day before yesterday", "2026-06-15", "2026-06-16"),
        ("next Friday", "2026-06-26", "2026-06-27"),
        ("this quarter", "2026-04-01", "2026-07-01"),
        ("in the last 10 days", "2026-06-07", NOW_TEXT),
        ("the past three quarters", "2025-07-01", "2026-04-01"),
        ("half a year ago", "2025-12-17", "2025-12-18"),
        ("last summer", "2025-06-01", "2025-09-01"),
        ("last decade", "2010-01-01", "2020-01-01"),
        ("in the 90s", "1990-01-01", "2000-01-01"),
        ("quarter to date", "2026-04-01", NOW_TEXT),
        ("two Mondays ago", "2026-06-08", "2026-06-09"),
        ("in the last 24 hours", "2026-06-16 15:30", NOW_TEXT),
        ("over the weekend", "2026-06-13", "2026-06-15"),
    ],
)
def test_relative(text: str, start: str, end: str) -> None:
    assert span(text) == (start, end)


@each_row(
    ("text", "start", "end"),
    [
        ("between May 3rd and May 10", "2026-05-03", "2026-05-11"),
        ("from March to June", "2026-03-01", "2026-07-01"),
        ("since 2024", "2024-01-01", None),
        ("before last Christmas", None, "2025-12-25"),
        ("after 2023", "2024-01-01", None),
        ("after March 2024", "2024-04-01", None),
        ("until the end of May", None, "2026-06-01"),
        ("from November to February", "2025-11-01", "2026-03-01"),
        ("from Monday to Wednesday of last week", "2026-06-08", "2026-06-11"),
        ("May 3-7, 2025", "2025-05-03", "2025-05-08"),
        ("from Dec 2023 to Feb", "2023-12-01", "2024-03-01"),
        ("in March, April and May", "2026-03-01", "2026-06-01"),
        ("2012 or later", "2012-01-01", None),
        ("no later than 2019", None, "2020-01-01"),
    ],
)
def test_ranges_and_bounds(text: str, start: str | None, end: str | None) -> None:
    assert span(text) == (start, end)


@each_row(
    ("text", "starts"),
    [
        ("in March or in June", "03-01 06-01"),
        ("in March, April or June", "03-01 06-01"),  # April follows March: one time
        ("in February or April or June", "02-01 04-01 06-01"),
        ("on Monday or Friday", "06-08 06-12"),
        ("Monday, Wednesday and Saturday", "06-08 06-10 06-13"),
        ("in 2019 and 2021 but not in 2020", "01-01 01-01"),
        ("the 3rd, 5th and 11th of May", "05-03 05-05 05-11"),
        ("May 15th and 20th", "05-15 05-20"),
        ("yesterday or last Friday", "06-12 06-16"),
        ("in 2018 or 2023 or 2020", "01-01 01-01 01-01"),
        ("was hired in February, May or April", "02-01 04-01"),  # in any order
        ("since February or May", ""),
        *[("in March and April", ""), ("on Monday or Tuesday", ""), ("from Monday or so", "")],
        *[("between March and June", ""), ("from March to June", ""), ("between May 15th and 20th", "")],
        ("between the 5th and the 11th of May", ""),
        ("June or March", "03-01 06-01"),  # of a month that is ahead, the last one
        ("what will I do in June or in March?", "06-01 03-01"),
    ],
)
def test_times_of_which_each_is_asked_for(text: str, starts: str) -> None:
    window = parse_window(text, NOW)
    assert window is not None
    assert " ".join(f"{start:%m-%d}" for start, _ in window.alternatives if start) == starts


@each_row(
    ("text", "start", "end"),
    [
        ("early June", "2026-06-01", "2026-06-16"),
        ("mid-2022", "2022-05-01", "2022-09-01"),
        ("end of last month", "2026-05-16", "2026-06-01"),
        ("the first week of July 2025", "2025-06-30", "2025-07-07"),  # ISO: the week that holds the fourth
        ("the second half of last year", "2025-07-01", "2026-01-01"),
        ("Q3 2024", "2024-07-01", "2024-10-01"),
        ("H2 2025", "2025-07-01", "2026-01-01"),
        ("the last Friday of May 2026", "2026-05-29", "2026-05-30"),
        ("the last five months of 2022", "2022-08-01", "2023-01-01"),
        ("week 30 of 2017", "2017-07-24", "2017-07-31"),
        ("the late 1990s", "1997-01-01", "2000-01-01"),
    ],
)
def test_parts(text: str, start: str, end: str) -> None:
    assert span(text) == (start, end)


@each_row(
    ("text", "day"),
    [
        ("13 July 2024", "2024-07-13"),
        ("July 13th, 2024", "2024-07-13"),
        ("13.07.2024", "2024-07-13"),
        ("07/13/2024", "2024-07-13"),
        ("13/07/2024", "2024-07-13"),
        ("20240713", "2024-07-13"),
        ("2024-Jul-13", "2024-07-13"),
        ("October twenty one nineteen seventy nine", "1979-10-21"),
        ("Feb 29", "2024-02-29"),
        ("the 15th day of last month", "2026-05-15"),
        ("Thanksgiving 2023", "2023-11-23"),
        ("good friday 2024", "2024-03-29"),
        ("Mother's Day", "2026-05-10"),
        ("Tue 13th", "2026-01-13"),
    ],
)
def test_calendar_days(text: str, day: str) -> None:
    after = (datetime.fromisoformat(day) + timedelta(days=1)).strftime("%Y-%m-%d")
    assert span(f"what did we do on {text}?") == (day, after)


@each_row(
    ("text", "start", "end"),
    [
        ("yesterday morning", "2026-06-16 05:00", "2026-06-16 12:00"),
        ("around 3pm on Monday", "2026-06-15 14:30", "2026-06-15 16:30"),
        ("last night", "2026-06-16 18:00", "2026-06-17 04:00"),
        ("2024-05-03T10:30:00Z", "2024-05-03 12:30", "2024-05-03 12:31"),  # into the zone of now
        ("Fri, 12 Jul 2024 10:00:00 GMT", "2024-07-12 12:00", "2024-07-12 12:01"),
        ("2024-05-03 10:30", "2024-05-03 10:30", "2024-05-03 11:00"),
    ],
)
def test_times_of_day(text: str, start: str, end: str) -> None:
    assert span(text) == (start, end)


@each_row(
    "text",
    [
        "When did Nadia go to the pottery class?",
        "How long has Priya been at Acme?",
        "who may help with the release",
        "the march of progress",
        "we sat in the sun",
        "I need a second opinion",
        "what listens on port 9077",
        "the service on port 2024",
        "what changed in v2.10",
        "what did she say about 1984?",
        "who is the author of 1984?",
        "when did we read 1984",
        "in 2000 words",
        "is it supported 24/7",
        "what do I do every Monday",
        "when I was ten years old",
        "3 years of experience",
        "is the page up-to-date",
        "a rating of 5/10",
        "it cost $2019",
        "a 60s timeout",
        "we decided",
        "29 Feb 2023",
        "on 31 June",
        "2015-1-32 is wrong",
        "call 555-123-2015",
        "Merry Christmas",
        "his last name",
        "this may help",
        "",
    ],
)
def test_no_date(text: str) -> None:
    assert span(text) is None


def test_day_is_not_dropped() -> None:
    for text in ("13 July 2024", "July 13, 2024", "the 13th of July 2024"):
        window = parse_window(text, NOW)
        assert window is not None and window.end is not None and window.start is not None
        assert window.end - window.start == timedelta(days=1)


def test_names_are_no_dates_on_their_own() -> None:
    names = {"april", "may", "sunday"}
    for text in ("What did April say?", "mail from May", "plans for April", "who met Sunday", "in April"):
        assert span(text, names=names) is None
    assert span("in April") == ("2026-04-01", "2026-05-01")
    assert span("with April on April 5th", names=names) == ("2026-04-05", "2026-04-06")
    assert span("last April", names=names) == ("2026-04-01", "2026-05-01")
    assert span("what did April do in May 2024", names=names) == ("2024-05-01", "2024-06-01")
    assert span("What did April say in March?", names=["april"]) == ("2026-03-01", "2026-04-01")
    assert span("what did April Jones do in april", names={"april jones"}) is not None


def test_the_last_week_in_a_month_or_before_a_day_is_not_that_before_this_one() -> None:
    assert span("the last weekend in May") == ("2026-05-30", "2026-06-01")
    assert span("the last week in May") == ("2026-05-25", "2026-06-01")
    assert span("the last week in 2024") == ("2024-12-23", "2024-12-30")
    assert span("the last weekend before 3 May") == ("2026-04-25", "2026-04-27")
    assert span("the last week before the 3rd of May") == ("2026-04-26", "2026-05-03")


def test_implicit_window_is_a_hint() -> None:
    for text in ("Did I finish the OAuth PR?", "have we shipped it", "what did I do recently"):
        window = parse_window(text, NOW)
        assert window is not None and window.start is not None
        assert window.confidence < 0.5 and window.span == (0, 0)
        assert window.end == NOW and window.start == datetime(2026, 5, 18, tzinfo=BERLIN)


def test_a_date_beats_the_implicit_window() -> None:
    window = parse_window("Did I finish the OAuth PR yesterday?", NOW)
    assert window is not None and window.confidence > 0.5 and window.start == datetime(2026, 6, 16, tzinfo=BERLIN)


def test_span_points_at_the_words() -> None:
    text = "What did we decide in the last 3 weeks about Kestrel?"
    window = parse_window(text, NOW)
    assert window is not None
    assert text[slice(*window.span)] == "the last 3 weeks"


def test_last_weekdays_stay_together_on_one_of_them() -> None:
    for day, wanted in ((15, ("2026-06-09", "2026-06-11")), (18, ("2026-06-16", "2026-06-18"))):
        assert span("last Tuesday and Wednesday", NOW.replace(day=day)) == wanted


def test_week_start() -> None:
    sunday = datetime(2026, 6, 14, 12, tzinfo=BERLIN)
    assert span("this week", sunday) == ("2026-06-08", "2026-06-15")
    assert span("this week", sunday, week_start=6) == ("2026-06-14", "2026-06-21")
    assert span("last week", sunday, week_start=6) == ("2026-06-07", "2026-06-14")


@each_row(
    ("now", "text", "hours"),
    [
        (datetime(2026, 3, 30, 12, tzinfo=BERLIN), "yesterday", 23),
        (datetime(2026, 10, 26, 12, tzinfo=BERLIN), "yesterday", 25),
        (datetime(2026, 3, 30, 12, tzinfo=BERLIN), "last week", 167),
        (datetime(2026, 10, 27, 12, tzinfo=BERLIN), "the day before yesterday", 25),
    ],
)
def test_days_are_wall_clock_days(now: datetime, text: str, hours: int) -> None:
    window = parse_window(text, now)
    assert window is not None and window.start is not None and window.end is not None
    assert (window.end.timestamp() - window.start.timestamp()) / 3600 == hours
    assert window.start.hour == window.end.hour == 0


def test_a_midnight_that_does_not_exist() -> None:
    santiago = ZoneInfo("America/Santiago")  # clocks jump from 00:00 to 01:00
    window = parse_window("yesterday", datetime(2023, 9, 4, 12, tzinfo=santiago))
    assert window is not None and window.start is not None
    assert window.start.isoformat() == "2023-09-03T01:00:00-03:00"


def test_the_hour_that_comes_twice() -> None:
    now = datetime(2026, 10, 25, 2, 10, tzinfo=BERLIN, fold=1)
    window = parse_window("in the last 30 minutes", now)
    assert window is not None and window.end == now
    assert window.start is not None and window.start.timestamp() <= now.timestamp() - 1800


def test_year_ends() -> None:
    new_year = datetime(2026, 1, 1, 0, 0, tzinfo=BERLIN)
    assert span("yesterday", new_year) == ("2025-12-31", "2026-01-01")
    assert span("last month", new_year) == ("2025-12-01", "2026-01-01")
    assert span("in December", new_year) == ("2025-12-01", "2026-01-01")
    assert span("last week", new_year) == ("2025-12-22", "2025-12-29")
    assert span("last quarter", new_year) == ("2025-10-01", "2026-01-01")
    assert span("tomorrow", datetime(2026, 12, 31, 23, 59, tzinfo=BERLIN)) == ("2027-01-01", "2027-01-02")


def test_end_of_the_calendar() -> None:
    for now in (datetime(1, 1, 1, tzinfo=timezone.utc), datetime(9999, 12, 31, 23, 59, tzinfo=BERLIN)):
        for text in ("yesterday", "tomorrow", "last century", "in 9999 years", "did I finish it", "on Monday", "May 5"):
            parse_window(text, now)
    assert span("9999 years ago") is None
    assert span("in 99999999999 days") is None
    assert span("since the first century") is None or span("since the first century")[0] is None


def test_bad_arguments() -> None:
    with pytest.raises(InvalidArgument, match="naive"):
        parse_window("yesterday", datetime(2026, 6, 17))
    with pytest.raises(InvalidArgument, match="week_start"):
        parse_window("yesterday", NOW, week_start=7)
    with pytest.raises(InvalidArgument, match="str"):
        parse_window(b"yesterday", NOW)  # type: ignore[arg-type]


@each_row("text", ["in the past hour", "in the last hour", "within the hour"])
def test_the_hour_that_ends_now(text: str) -> None:
    now = datetime(2024, 5, 15, 12, 20, tzinfo=timezone.utc)
    window = parse_window(text, now)
    assert window is not None and (window.start, window.end) == (now - timedelta(hours=1), now)


def test_half_an_hour_ago_is_not_an_hour_ago() -> None:
    now = datetime(2024, 5, 15, 12, 20, tzinfo=timezone.utc)
    window = parse_window("what did we decide half an hour ago", now)
    assert window is not None and window.start is not None and window.end is not None
    assert window.start <= now - timedelta(minutes=30) <= window.end < now


@each_row("text", ["a couple of weeks ago", "few months back", "several years ago"])
def test_a_vague_distance_is_a_hint_and_no_filter(text: str) -> None:
    window = parse_window(text, datetime(2024, 5, 15, tzinfo=timezone.utc))
    assert window is not None and window.confidence < 0.5
