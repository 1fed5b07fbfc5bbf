"""Questions about plans look ahead, against Wednesday, 17 June 2026; ranges hold both their ends."""

from __future__ import annotations

from datetime import datetime, timezone

from recall_integrations.query.temporal import parse_window
from tests.rows import each_row

NOW = datetime(2026, 6, 17, 15, 30, tzinfo=timezone.utc)
COMING, LAST = "2026-06-19 2026-06-20", "2026-06-12 2026-06-13"  # Fridays


def days(text: str) -> str | None:
    window = parse_window(text, NOW)
    if window is None:
        return None
    return " ".join("-" if m is None else m.date().isoformat() for m in (window.start, window.end))


@each_row(
    "text",
    [
        "What will I do on Friday?",
        "what's happening on Friday",
        "which bills are due on Friday?",
        "dentist appointment Friday",
        "What am I doing on Friday?",
        "who is coming for dinner on Friday",
        "whos covering on friday",
        "who walks the dog on Friday?",
        "what do I have on Friday?",
        "is the office open on Friday?",
        "what have I got to finish on Friday",
        "what did I say I will do on Friday?",
        "Anything booked for Friday?",
        "I met Ana in Rome. What should we eat on Friday?",
        "when do we leave on Friday",
    ],
)
def test_plans_look_ahead(text: str) -> None:
    assert days(text) == COMING


@each_row(
    "text",
    [
        "What did I do on Friday?",
        "what happened on Friday",
        "which bills were due on Friday?",
        "who cancelled the appointment on Friday?",
        "what was I going to do on Friday?",
        "has Ana arrived on Friday?",
        "what do my notes from Friday say",
        "what do you know about Friday",
        "who was on call on Friday, and what will they need to know?",
        "On Friday she phoned; why does she need to go?",
        "I sent it on Friday. It is with them.",
        "the plan made by Ana on Friday",
        "what did I eat due to the strike on Friday",
    ],
)
def test_the_past_stays_behind(text: str) -> None:
    assert days(text) == LAST


@each_row(
    ("text", "wanted"),
    [
        ("what is due by Friday?", "- 2026-06-20"),
        ("what was due by Friday?", "- 2026-06-13"),
        ("deadlines in March", "2027-03-01 2027-04-01"),
        ("what will happen in June?", "2026-06-01 2026-07-01"),  # it is not over
        ("what is planned from Tuesday to Thursday", "2026-06-16 2026-06-19"),
        ("what am I doing over the weekend", "2026-06-20 2026-06-22"),
        ("which concerts are there in March", "2026-03-01 2026-04-01"),  # months need more than a present verb
        ("will we meet 3 days after March 4th?", "2027-03-07 2027-03-08"),
        ("when is my next appointment?", "2026-06-17 -"),
        ("upcoming trips", "2026-06-17 -"),
        ("what is the next step", None),
        ("a hotel for my upcoming trip", None),
        ("what will I learn in two weeks?", "2026-07-01 2026-07-02"),
        ("what did I learn in two weeks?", None),
        ("what was recorded by Sun Yuwei", None),
    ],
)
def test_what_plans_are_read_with(text: str, wanted: str | None) -> None:
    assert days(text) == wanted


@each_row(
    ("text", "wanted"),
    [
        ("May 2 through May 9", "2026-05-02 2026-05-10"),
        ("from 1 to 31 March", "2026-03-01 2026-04-01"),
        ("between 2023 and 2025", "2023-01-01 2026-01-01"),
        ("Mon-Fri", "2026-06-15 2026-06-20"),
        ("what did I do until Friday", "- 2026-06-13"),
        ("from Q1 to Q3 2025", "2025-01-01 2025-10-01"),
        ("from March thru May", "2026-03-01 2026-06-01"),
        ("from spring to autumn 2024", "2024-03-01 2024-12-01"),
        ("from last week till this week", "2026-06-08 2026-06-22"),
        ("from the end of May to the end of June", "2026-06-01 2026-07-01"),
        ("before Friday", "- 2026-06-12"),
    ],
)
def test_ranges_hold_both_ends(text: str, wanted: str) -> None:
    assert days(text) == wanted


def test_a_time_of_day_ends_a_range_at_its_moment() -> None:
    window = parse_window("from Monday 9am to Tuesday 5pm", NOW)
    assert window is not None
    assert (window.start, window.end) == (NOW.replace(day=15, hour=9, minute=0), NOW.replace(day=16, hour=17, minute=0))
    window = parse_window("from Monday morning to Tuesday evening", NOW)
    assert window is not None and window.end == NOW.replace(day=16, hour=23, minute=0)
