"""Whatever the text: no exception that is not ours, spans inside the text, windows that are windows."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from recall_integrations.query.temporal import parse_window
from recall_integrations.query.temporal.lexicon import CLASSES
from recall_integrations.query.temporal.parser import all_rules
from tests.quick import examples

ZONES = [timezone.utc, *(ZoneInfo(z) for z in ("Europe/Berlin", "America/Santiago", "Pacific/Apia", "Asia/Kathmandu"))]
WORDS = [
    *sorted({word for words in CLASSES.values() for word in words}),
    *"the of and in on from to between before after since until at ago - / . , : ( ) = < > '".split(),
    *"1 4 13 31 32 99 2024 1984 4th 31st 5/12 12-31 2024-02-30 9999 0000 3pm 12:30 '98".split(),
    *"1990s Q3 H2 FY24 99999999999 2024-05-03T10:00:00Z".split(),
]  # fmt: skip
PAST = ["in March", "on Tuesday", "on 5 May", "in summer", "at Christmas", "in the second quarter"]
EXAMPLES = [rule.example for rule in all_rules()]
phrases = st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join)
joined = st.lists(st.sampled_from(EXAMPLES), max_size=4).map(" ".join)
texts = st.one_of(st.text(max_size=200), phrases, joined, st.tuples(phrases, st.text(max_size=20), joined).map("".join))
moments = st.datetimes(timezones=st.sampled_from(ZONES))
ordinary = st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1), timezones=st.sampled_from(ZONES))


@settings(deadline=None, max_examples=examples(400))
@given(text=texts, now=moments, week_start=st.integers(0, 6), names=st.sets(st.sampled_from(WORDS), max_size=3))
def test_every_text_has_an_answer(text: str, now: datetime, week_start: int, names: set[str]) -> None:
    window = parse_window(text, now, week_start=week_start, names=names)
    event("a window" if window else "none")
    if window is None:
        return
    start, end = window.span
    assert 0 <= start <= end <= len(text)
    assert 0 < window.confidence <= 1
    assert window.start is not None or window.end is not None
    for moment in (window.start, window.end):
        assert moment is None or moment.tzinfo is now.tzinfo
    if window.start is not None and window.end is not None:
        assert window.start < window.end
        assert window.start.timestamp() < window.end.timestamp()


@settings(deadline=None, max_examples=examples(100))
@given(text=texts, now=ordinary)
def test_the_answer_depends_on_the_arguments_only(text: str, now: datetime) -> None:
    assert parse_window(text, now) == parse_window(text, now)


def existed(day: date, zone: tzinfo | None) -> bool:
    """Say whether clocks of `zone` showed `day`: Samoa went from 29 to 31 December 2011."""
    return datetime.combine(day, time(12), zone).astimezone(timezone.utc).astimezone(zone).date() == day


@settings(deadline=None, max_examples=examples(200))
@example(now=datetime(2011, 12, 31, tzinfo=ZoneInfo("Pacific/Apia")), days=1)
@given(now=ordinary, days=st.integers(1, 5000))
def test_days_ago_is_that_calendar_day(now: datetime, days: int) -> None:
    window = parse_window(f"what happened {days} days ago?", now)
    wanted = now.date() - timedelta(days=days)
    if not existed(wanted, now.tzinfo):
        assert window is None
        return
    assert window is not None and window.start is not None and window.end is not None
    assert window.start.date() == wanted
    last = window.end.astimezone(timezone.utc) - timedelta(microseconds=1)  # in UTC: midnight may not exist that day
    assert last.astimezone(now.tzinfo).date() == wanted


@settings(deadline=None, max_examples=examples(200))
@example(day=date(2011, 12, 30), now=datetime(2012, 5, 1, tzinfo=ZoneInfo("Pacific/Apia")))
@given(day=st.dates(datetime(1600, 1, 1).date(), datetime(2190, 1, 1).date()), now=ordinary)
def test_a_full_date_is_itself_in_every_notation(day, now: datetime) -> None:
    for text in (day.isoformat(), f"{day.day} {day:%B} {day.year}", f"{day:%b} {day.day}, {day.year}", f"{day:%Y%m%d}"):
        if text.isdigit() and not text.startswith(("19", "20")):
            continue
        window = parse_window(f"on {text}", now)
        if not existed(day, now.tzinfo):
            assert window is None, text
            continue
        assert window is not None and window.start is not None and window.end is not None, text
        assert window.start.date() == day, text
        assert window.end.date() == day + timedelta(days=1), text


@settings(deadline=None, max_examples=examples(200))
@given(
    now=ordinary,
    phrase=st.sampled_from(
        ["in March", "on Tuesday", "on 5 May", "in summer", "at Christmas", "in the second quarter"]
    ),
)
def test_open_phrases_lie_in_the_past(now: datetime, phrase: str) -> None:
    window = parse_window(phrase, now)
    assert window is not None and window.start is not None
    assert window.start <= now
