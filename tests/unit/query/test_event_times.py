"""Dates in texts, read against the time at which they were said."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_integrations.languages.phrases import lowered
from recall_integrations.query.temporal.event_times import CHARS_MAX, TIMES_MAX, may_tell, told_times
from tests.rows import each_row
from tests.spent import seconds_of

AT = datetime(2023, 5, 17, 15, 30, tzinfo=timezone.utc)  # a Wednesday


def days(said: str) -> tuple[datetime, datetime]:
    """ "2023-05-16" a day, "2023-05" a month, "2023" a year, "2023-05-01/2023-05-08" from a day to before another."""
    first, _, last = said.partition("/")
    parts = [int(part) for part in first.split("-")]
    year, month, day = [*parts, 1, 1][:3]
    start = datetime(year, month, day, tzinfo=timezone.utc)
    if last:
        return start, days(last)[0]
    if len(parts) == 3:
        return start, start + timedelta(days=1)
    if len(parts) == 2:
        return start, (start + timedelta(days=32)).replace(day=1)
    return start, start.replace(year=start.year + 1)


TOLD = [
    # days beside today
    ("I went to the museum yesterday.", "2023-05-16"),
    ("We met on Veterans Day.", "2022-11-11"),  # whose words are ordinary ones
    ("Yesterday morning we swam.", "2023-05-16"),
    ("The day before yesterday Sam called.", "2023-05-15"),
    ("I saw Priya today", "2023-05-17"),
    ("Earlier today the build broke", "2023-05-17"),
    ("Dinner is tonight at eight", "2023-05-17"),
    ("this morning I ran", "2023-05-17"),
    ("Last night we danced.", "2023-05-16"),
    ("tomorrow I fly", "2023-05-18"),
    ("The release slipped to June 17", "2023-06-17"),
    ("They pushed the launch back to April 2", "2024-04-02"),  # what is put off is still to come
    ("The day after tomorrow I fly", "2023-05-19"),
    ("Yesterday's meeting was long", "2023-05-16"),
    # weeks that a day names
    ("The week of 5 October was hard", "2022-10-03/2022-10-10"),
    ("The weekend of 6 May was warm", "2023-05-06/2023-05-08"),
    # ago
    ("I met Sam two days ago.", "2023-05-15"),
    ("I met Sam 10 days ago.", "2023-05-07"),
    ("A few days ago Priya called", "2023-05-12/2023-05-16"),
    ("A couple of days ago Priya called", "2023-05-15"),
    ("I met Sam two weeks ago and it was great.", "2023-04-30/2023-05-07"),
    ("A week ago I stopped.", "2023-05-07/2023-05-14"),
    ("a couple of weeks ago I hiked", "2023-04-30/2023-05-07"),
    ("We moved three months ago", "2023-02"),
    ("We moved a month ago", "2023-04"),
    ("A few months ago I began to draw", "2022-12/2023-04"),
    ("My dog died three years ago.", "2020"),
    ("I was there ten years ago", "2013"),
    ("A few years ago I was in Rome", "2018/2022"),
    ("We came a few years back.", "2018/2022"),
    ("half a year ago I quit", "2022-10/2023-01"),
    ("A year and a half ago I quit", "2021-10/2022-01"),
    ("Two Fridays ago we danced", "2023-05-05"),
    ("two weekends ago we danced", "2023-05-06/2023-05-08"),
    ("I ate three hours ago", "2023-05-17"),
    # ahead
    ("The exam is in two weeks.", "2023-05-28/2023-06-04"),
    ("It's due in 3 days.", "2023-05-20"),
    ("We will move in a month", "2023-06"),
    ("We'll marry in two years", "2025"),
    ("Two weeks from now we fly", "2023-05-28/2023-06-04"),
    ("I'm leaving in a week's time", "2023-05-21/2023-05-28"),
    ("We are opening in a couple of months", "2023-07"),
    # last, this, next
    ("We met last Friday.", "2023-05-12"),
    ("We met last Wednesday.", "2023-05-10"),
    ("this past Sunday we met", "2023-05-14"),
    ("Last fri we met", "2023-05-12"),
    ("This Friday I fly", "2023-05-19"),
    ("next Friday I fly", "2023-05-26"),
    ("this coming Saturday I fly", "2023-05-20"),
    ("last week was hard", "2023-05-08/2023-05-15"),
    ("This week is hard", "2023-05-15/2023-05-22"),
    ("Next week will be hard", "2023-05-22/2023-05-29"),
    ("Last weekend we hiked", "2023-05-13/2023-05-15"),
    ("This weekend was fun", "2023-05-13/2023-05-15"),
    ("This weekend we'll hike", "2023-05-20/2023-05-22"),
    ("Next weekend we hike", "2023-05-27/2023-05-29"),
    ("Last month I changed jobs", "2023-04"),
    ("this month I start", "2023-05"),
    ("We are going to Lisbon next month.", "2023-06"),
    ("Last year I began to climb", "2022"),
    ("I'm graduating next year", "2024"),
    ("Last May I moved.", "2022-05"),
    ("Last August I moved.", "2022-08"),
    ("next March I move", "2024-03"),
    ("I moved last summer, it was hot", "2022-06/2022-09"),
    ("Next summer I'll sail", "2023-06/2023-09"),
    ("Last winter was cold", "2022-12/2023-03"),
    ("This summer I'm sailing", "2023-06/2023-09"),
    ("last quarter was weak", "2023-01/2023-04"),
    ("The week before last I was ill.", "2023-05-01/2023-05-08"),
    ("I saw it the weekend before last", "2023-05-06/2023-05-08"),
    ("The month after next we open", "2023-07"),
    ("Tuesday last week we met", "2023-05-09"),
    ("On Monday of next week we meet", "2023-05-22"),
    ("The end of next month suits me", "2023-06-21/2023-07-01"),
    ("Earlier this month I fell", "2023-05-01/2023-05-18"),
    ("Later this year we move", "2023-05-17/2024-01-01"),
    # weekdays, by the verb
    ("I'm meeting Henrietta on Saturday.", "2023-05-20"),
    ("I met Henrietta on Saturday.", "2023-05-13"),
    ("Saturday was lovely", "2023-05-13"),
    ("On Wednesday I fell", "2023-05-10"),
    ("I have an exam on Wednesday", "2023-05-24"),
    ("I will be there by Friday", "2023-05-19"),
    ("We're having people over Friday night", "2023-05-19"),
    ("I can't wait for Sunday", "2023-05-21"),
    ("Inbox3 was down on Monday morning", "2023-05-15"),
    ("Dinner with Sam on Tuesday", "2023-05-16"),
    ("Over the weekend we painted", "2023-05-13/2023-05-15"),
    ("We're painting over the weekend", "2023-05-20/2023-05-22"),
    # dates
    ("The launch was on 3 May.", "2023-05-03"),
    ("The launch will be on 3 May.", "2024-05-03"),
    ("The launch is on 3 June.", "2023-06-03"),
    ("The launch was on 3 June.", "2022-06-03"),
    ("The launch was on May 3rd, 2022.", "2022-05-03"),
    ("The launch was on the 3rd of May 2022.", "2022-05-03"),
    ("The launch was on Saturday, 6 May.", "2023-05-06"),
    ("We married on June 1, 2019", "2019-06-01"),
    ("See the notes of 2023-05-08 for more.", "2023-05-08"),
    ("Booked 2023-06-08T10:00 with Sam", "2023-06-08"),
    ("It was 5/8/2023 when we met", "2023-05-08"),
    ("It was 8.5.2023 when we met", "2023-05-08"),
    ("It was 25/12/2022 when we met", "2022-12-25"),
    ("On the 5th we met.", "2023-05-05"),
    ("We are flying on the 5th.", "2023-06-05"),
    ("We met on the 31st.", "2023-03-31"),
    ("In March I moved.", "2023-03"),
    ("I moved in early March.", "2023-03-01/2023-03-11"),
    ("I'll move in September", "2023-09"),
    ("I moved in September", "2022-09"),
    ("I have rowed since March", "2023-03"),
    # from when something was changed: the nearest; without a verb, too
    ("Rent raised to 1,545 from June", "2023-06"),
    ("Rent raised to 1,545 from April", "2023-04"),
    ("Fees were lowered as of 1 June", "2023-06-01"),
    ("The price was increased effective July 1", "2023-07-01"),
    ("New opening hours from Monday", "2023-05-22"),
    ("I uploaded the photos from June", "2022-06"),
    ("Photos from Monday", "2023-05-15"),
    ("Dentist on Friday", "2023-05-19"),
    ("Dentist appointment on Tuesday", "2023-05-23"),
    ("Trip to Rome in July", "2023-07"),
    ("It began in March 2021", "2021-03"),
    ("It has to be done by May 3, 2024", "2024-05-03"),
    ("July 2020 was hard", "2020-07"),
    ("I have lived here since 2019.", "2019"),
    ("In 2010 I was a child", "2010"),
    ("I visited in the summer of 2021.", "2021-06/2021-09"),
    ("In May I ran", "2023-05"),
    # as wide as they are said
    ("The course ran April 11 - April 20, and was good", "2023-04-11/2023-04-21"),
    ("He died on May 5, 1821.", "1821-05-05"),
    ("I read it in the first week of March", "2023-02-27/2023-03-06"),
    ("The booth was ours in Q3 2022", "2022-07/2022-10"),
    ("We met on Jan. 3 and it snowed", "2023-01-03"),
    # holidays
    ("We partied on New Year's Eve.", "2022-12-31"),
    ("I got it for Christmas.", "2022-12-25"),
    ("We'll meet at Christmas", "2023-12-25"),
    ("Last Halloween I was a ghost", "2022-10-31"),
    ("At Thanksgiving 2021 we met", "2021-11-25"),
    ("Next Easter we travel", "2024-03-31"),
    # what is asked to be remembered is told
    ("Remember when we went to Rome last summer?", "2022-06/2022-09"),
]

NONE = [
    # how often, how long
    "I swim every Monday.",
    "On Mondays I swim",
    "I swim each Tuesday morning",
    "My birthday is every 3 May",
    "Choir rehearsals are on Thursday evenings",
    "The past week's progress is listed",
    "For two weeks I did nothing.",
    "I learned it in two weeks.",
    "It took three months",
    "I was sick the last week.",
    "The next day it rained",
    "It was the first time in two years",
    "We worked over the next months on it",
    "three days later he came",
    # vague
    "One day I will go.",
    "The other day I met Sam.",
    "I was there recently, and will be again soon.",
    "That was ages ago",
    "Years ago I sang",
    "These days I sing",
    "In the morning I run",
    "Some day, some night",
    # other things
    "I may go, or march on.",
    "We may 3 times fail",
    "Sun on my face, and I sat.",
    "April is a friend of mine",
    "The photo was taken by Sun Yuwei",
    "May came by with her dog",
    "Python 3.12 came out, version 2.0.1, for 2019 people.",
    "Call 555-0101 or 2023",
    "It cost $2019 in all",
    "ratio 3/4, 5/8 done",
    "build 20230508 passed",
    "See https://example.org/2023-05-08/notes",
    "Mail sam@today.example",
    "Black Friday sales",
    "I love Christmas",
    "Happy New Year!",
    "The 32nd of May was never: on 32 May",
    "on 2023-02-30 nothing was",
    "I am 30 years old",
    # quoted, asked
    'She said "see you on Monday" and left.',
    "He wrote “we met yesterday”.",
    "> we met yesterday\nNice.",
    "The song `Last Friday night` is playing",
    "Did you go there last week?",
    "What are you doing on Saturday?",
    "",
    "Hello!",
]


@each_row(("text", "said"), TOLD)
def test_a_time_is_told(text: str, said: str) -> None:
    assert may_tell(text)
    found = told_times(text, AT)
    assert [(one.start, one.end) for one in found] == [days(said)]


@each_row("text", NONE)
def test_nothing_is_told(text: str) -> None:
    assert told_times(text, AT) == ()


def test_two_dates_are_two_times_in_their_order() -> None:
    text = "Yesterday I painted, and next month I'll show it. We met in 2019."
    found = told_times(text, AT)
    assert [(one.start, one.end) for one in found] == [days("2023-05-16"), days("2023-06"), days("2019")]


def test_two_tenses_in_one_sentence_go_with_the_nearest_verb() -> None:
    found = told_times("We met Sam on Monday, and will see him on Friday.", AT)
    assert [(one.start, one.end) for one in found] == [days("2023-05-15"), days("2023-05-19")]


@each_row(
    ("at", "text", "said"),
    [
        ("2023-03-01", "yesterday I fell", "2023-02-28"),
        ("2024-03-01", "yesterday I fell", "2024-02-29"),
        ("2024-03-31", "a month ago I fell", "2024-02"),
        ("2024-02-29", "a year ago I fell", "2023"),
        ("2024-12-31", "next month I start", "2025-01"),
        ("2024-01-01", "last week I fell", "2023-12-25/2024-01-01"),
        ("2024-01-01", "last month I fell", "2023-12"),
        ("2023-05-01", "We met on 29 February", "2020-02-29"),
        ("2024-01-15", "Last December I fell", "2023-12"),
        ("2023-05-14", "Last weekend I fell", "2023-05-06/2023-05-08"),  # said on a Sunday
        ("2023-01-20", "this winter was cold", "2022-12/2023-03"),
        ("2023-01-31", "We are flying on the 30th.", "2023-03-30"),
        ("2023-12-30", "We'll fly on 2 January", "2024-01-02"),
    ],
)
def test_ends_of_months_and_years(at: str, text: str, said: str) -> None:
    moment = days(at)[0] + timedelta(hours=12)
    assert [(one.start, one.end) for one in told_times(text, moment)] == [days(said)]


@each_row("zone", ["America/Los_Angeles", "Europe/Berlin", "Asia/Kolkata", "Pacific/Auckland"])
def test_days_are_those_of_the_zone_in_which_it_was_said(zone: str) -> None:
    """At half past eleven in the evening it is another day elsewhere."""
    at = datetime(2023, 5, 3, 23, 30, tzinfo=ZoneInfo(zone))
    (found,) = told_times("yesterday I fell", at)
    assert found.start == datetime(2023, 5, 2, tzinfo=ZoneInfo(zone))
    assert found.end == datetime(2023, 5, 3, tzinfo=ZoneInfo(zone))


def test_the_same_moment_said_in_another_zone_may_tell_another_day() -> None:
    at = datetime(2023, 5, 4, 6, 30, tzinfo=timezone.utc)
    (here,) = told_times("yesterday I fell", at)
    (there,) = told_times("yesterday I fell", at.astimezone(ZoneInfo("America/Los_Angeles")))
    assert there.start - here.start == timedelta(hours=7 - 24)


def test_the_day_on_which_clocks_change_has_another_length() -> None:
    (found,) = told_times("yesterday I fell", datetime(2023, 3, 27, 12, tzinfo=ZoneInfo("Europe/Berlin")))
    assert found.end.timestamp() - found.start.timestamp() == 23 * 3600


@each_row("year", [1, 2, 9998, 9999])
def test_at_the_ends_of_the_calendar_nothing_fails(year: int) -> None:
    at = datetime(year, 1, 1, tzinfo=timezone.utc)
    for text in ("last year I fell", "in two years I'll be there", "ten years ago", "on Monday we met", "last Easter"):
        told_times(text, at)


@pytest.mark.parametrize("language", ["en", None])
def test_short_texts_of_no_known_language_are_read(language: str | None) -> None:
    assert told_times("Dentist tomorrow", AT, language)


def test_other_languages_are_not_read_yet() -> None:
    assert told_times("Last month in Rome", AT, "it") == ()


def test_so_many_times_of_one_text() -> None:
    assert len(told_times("yesterday we met. " * 50, AT)) == TIMES_MAX


@each_row(
    "piece",
    [
        "on the ",
        "in a ",
        "1",
        "last ",
        "monday ",
        "in a in a few ",
        "“",
        '"',
        "2023-",
        "may ",
        "a couple of ",
        " \n",
        ">",
    ],
)
def test_hostile_texts_take_a_time_that_is_bounded(piece: str) -> None:
    text = piece * (CHARS_MAX * 5 // len(piece))
    assert seconds_of(lambda: (told_times(text, AT), may_tell(text))) < 2


@given(st.text(max_size=200))
def test_any_text_can_be_read(text: str) -> None:
    found = told_times(text, AT)
    assert all(one.start < one.end for one in found)


@given(st.text(max_size=100))
def test_lower_case_keeps_places(text: str) -> None:
    assert len(lowered(text)) == len(text)
    assert len(lowered("İ" + text)) == len(text) + 1


@given(
    st.sampled_from([text for text, _ in TOLD]),
    st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1), timezones=st.just(timezone.utc)),
)
def test_the_gate_lets_through_what_is_read_whenever_it_was_said(text: str, at: datetime) -> None:
    for one in told_times(text, at):
        assert may_tell(text)
        assert one.start < one.end


def test_what_is_told_lies_in_the_zone_of_who_tells_it() -> None:
    said = datetime(2026, 3, 31, 23, 30, tzinfo=ZoneInfo("Europe/Berlin"))
    (told,) = told_times("Rent raised to 1,545 from April", said)
    assert (told.start.isoformat(), told.end.isoformat()) == ("2026-04-01T00:00:00+02:00", "2026-05-01T00:00:00+02:00")
