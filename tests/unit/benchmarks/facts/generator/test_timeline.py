"""Gold of histories that a reader can check by hand."""

from __future__ import annotations

import random
from datetime import datetime, timezone

from benchmarks.facts.generator.timeline import State, Timeline
from benchmarks.facts.generator.windows import WAYS, window
from tests.rows import each_row


def _at(month: int, day: int = 1, year: int = 2024) -> datetime:
    return datetime(year, month, day, tzinfo=timezone.utc)


def _moved() -> Timeline:
    """Berlin from January (m1, again m2), Lisbon from June (m3, which names Berlin)."""
    berlin = State(value="Berlin", start=_at(1), end=_at(6), ids=["m1", "m2"], mentions=["m3"])
    return Timeline(True, [berlin, State(value="Lisbon", start=_at(6), ids=["m3"])])


def test_what_changed() -> None:
    told = _moved()
    now = told.now()
    assert now is not None and now.first == {"m3"} and now.stale == {"m1", "m2"}
    then = told.at(_at(3), _at(4))
    assert then is not None and then.first == {"m1", "m2"} and then.stale == frozenset()
    before = told.before(told.states[1])
    assert before is not None and before.first == {"m1", "m2", "m3"}
    history = told.history()
    assert history is not None and history.ordered
    assert [set(n) for n in history.needed] == [{"m1", "m2", "m3"}, {"m3"}]
    began = told.began(told.states[0])
    assert began is not None and began.first == {"m1"}


def test_a_window_over_a_change_has_no_answer() -> None:
    assert _moved().at(_at(5), _at(7)) is None
    assert _moved().at(_at(1, year=2023), _at(2, year=2023)) is None
    only = _moved().at(_at(1, year=2023), _at(3))
    assert only is not None and only.first == {"m1", "m2"}


def test_what_was_corrected_never_held() -> None:
    wrong = State(value="blue", start=_at(1), end=_at(3), ids=["m1"], wrong=True)
    told = Timeline(True, [wrong, State(value="green", start=_at(3), ids=["m2"], corrects=True)])
    now = told.now()
    assert now is not None and now.first == {"m2"} and now.stale == {"m1"}
    assert told.at(_at(2), _at(3)) is None
    after = told.at(_at(4), _at(5))
    assert after is not None and after.first == {"m2"}
    assert told.history() is None and told.before(told.states[1]) is None and told.began(told.states[1]) is None


def test_what_was_retracted_is_answered_by_the_retraction() -> None:
    told = Timeline(True, [State(value="Pulse", start=_at(1), end=_at(5), ids=["m1"], mentions=["m2"])], "m2")
    now = told.now()
    assert now is not None and now.first == {"m2"} and now.stale == {"m1"}
    assert told.at(_at(6), _at(7)) is None


def test_what_came_back_is_right_wherever_it_was_said() -> None:
    told = _moved()
    told.states[1].end = _at(9)
    told.states.append(State(value="Berlin", start=_at(9), ids=["m4"]))
    now = told.now()
    assert now is not None and now.first == {"m1", "m2", "m4"} and now.stale == {"m3"}
    assert [set(n) for n in now.needed] == [{"m4"}]
    assert told.began(told.states[2]) is None


def test_of_many_values_all_that_hold_are_needed() -> None:
    states = [
        State(value="Spanish", start=_at(1), ids=["m1"]),
        State(value="Polish", start=_at(2), end=_at(6), ids=["m2"], mentions=["m4"]),
        State(value="Hindi", start=_at(3), ids=["m3"]),
    ]
    told = Timeline(False, states)
    now = told.now()
    assert now is not None and now.first == {"m1", "m3"} and now.stale == {"m2"}
    assert [set(n) for n in now.needed] == [{"m1"}, {"m3"}]
    then = told.at(_at(4), _at(5))
    assert then is not None and then.first == {"m1", "m2", "m3"} and not then.stale
    assert told.at(_at(5), _at(7)) is None
    assert told.before(states[2]) is None


def test_what_was_told_as_past_has_a_place_and_no_time() -> None:
    told = Timeline(True, [State(value="Rome", start=None, ids=["m1"]), State(value="Oslo", start=_at(4), ids=["m2"])])
    now, before = told.now(), told.before(told.states[1])
    assert now is not None and now.first == {"m2"} and now.stale == {"m1"}
    assert before is not None and before.first == {"m1"}
    assert told.at(_at(1), _at(3)) is None and told.began(told.states[0]) is None


@each_row(
    ("text", "begin", "end"),
    [
        ("in March 2024", _at(3), _at(4)),
        ("on 14 March 2024", _at(3, 14), _at(3, 15)),
        ("back in 2024", _at(1), _at(1, year=2025)),
        ("as of 2024-03-14", _at(3, 14), _at(3, 15)),
        ("in the spring of 2024", _at(3), _at(6)),
        ("during March of 2024", _at(3), _at(4)),
        ("on Mar 14, 2024", _at(3, 14), _at(3, 15)),
        ("last year", _at(1), _at(1, year=2025)),
        ("last month", _at(1, year=2025), _at(2, year=2025)),
    ],
)
def test_times_are_worded_and_bounded(text: str, begin: datetime, end: datetime) -> None:
    now = datetime(2025, 2, 10, 9, tzinfo=timezone.utc)
    found = [way(_at(3, 14), now) for ways in WAYS.values() for way in ways]
    assert (text, begin, end) in found


def test_a_month_without_a_year_is_of_the_last_twelve() -> None:
    now = datetime(2025, 2, 10, tzinfo=timezone.utc)
    said = {found[0] for n in range(200) if (found := window("dev", _at(3, 14, 2023), now, random.Random(n)))}
    assert "in March" not in said and "in March 2023" in said
