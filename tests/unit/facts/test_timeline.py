"""What held when, by hand."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_integrations.facts.said import IS, NOT, WAS
from recall_integrations.facts.timeline import AGO, PAST, Stretch, Told, held_at, timeline
from tests.rows import each_row


def told(num: int, value: str, at: int, op: str = IS, **more: Any) -> Told:
    return Told(num=num, place=0, value=value, op=op, at=at, **more)


def shown(stretches: tuple[Stretch, ...]) -> list[tuple[str, int, int | None, str, tuple[int, ...]]]:
    return [(s.value, s.start, s.stop, s.ended, s.nums) for s in stretches]


def test_another_value_ends_what_held() -> None:
    found = timeline([told(1, "Berlin", 10), told(2, "Lisbon", 20)], one=True)
    assert shown(found) == [("Berlin", 10, 20, "superseded", (1,)), ("Lisbon", 20, None, "", (2,))]
    assert found[0].ended_by == 2


def test_the_order_of_writing_does_not_matter() -> None:
    new, old = told(1, "Lisbon", 20), told(2, "Berlin", 10)
    assert shown(timeline([new, old], one=True)) == [
        ("Berlin", 10, 20, "superseded", (2,)),
        ("Lisbon", 20, None, "", (1,)),
    ]


def test_the_same_value_again_is_said_again() -> None:
    found = timeline([told(1, "Lisbon", 10), told(2, "Lisbon, Portugal", 30), told(3, "lisbon.", 40)], one=True)
    assert shown(found) == [("Lisbon, Portugal", 10, None, "", (1, 2, 3))]


def test_a_value_that_comes_back_holds_twice() -> None:
    found = timeline([told(1, "blue", 10), told(2, "green", 20), told(3, "blue", 30)], one=True)
    assert shown(found) == [
        ("blue", 10, 20, "superseded", (1,)),
        ("green", 20, 30, "superseded", (2,)),
        ("blue", 30, None, "", (3,)),
    ]


def test_two_of_the_same_time_the_later_number_holds() -> None:
    found = timeline([told(2, "green", 10), told(1, "blue", 10)], one=True)
    assert [s.value for s in held_at(found, 10)] == ["green"]


def test_a_correction_was_never_otherwise() -> None:
    found = timeline([told(1, "555-1", 10), told(2, "555-2", 20, corrects=True)], one=True)
    assert shown(found) == [("555-1", 10, 20, "corrected", (1,)), ("555-2", 10, None, "", (2,))]
    assert [s.value for s in held_at(found, 15)] == ["555-2"]


def test_a_correction_of_what_is_named_leaves_the_others() -> None:
    given = [told(1, "nuts", 10), told(2, "milk", 11), told(3, "eggs", 20, corrects=True, instead_of="nuts")]
    found = timeline(given, one=False)
    assert [s.value for s in held_at(found, 30)] == ["milk", "eggs"]


def test_a_retraction_ends_what_it_names_or_all() -> None:
    many = [told(1, "nuts", 10), told(2, "milk", 11)]
    assert [s.value for s in held_at(timeline([*many, told(3, "nuts", 20, NOT)], one=False), 30)] == ["milk"]
    found = timeline([told(1, "vegan", 10), told(2, "", 20, NOT)], one=True)
    assert shown(found) == [("vegan", 10, 20, "retracted", (1,))] and held_at(found, 25) == []


def test_what_is_said_not_to_hold_any_more_held_before() -> None:
    assert shown(timeline([told(1, "meat", 10, NOT)], one=True)) == [("meat", PAST, 10, "retracted", (1,))]


def test_what_was_held_before_it_was_told() -> None:
    found = timeline([told(1, "Lisbon", 20), told(2, "Berlin", 30, WAS)], one=True)
    assert shown(found) == [("Berlin", PAST, 20, "superseded", (2,)), ("Lisbon", 20, None, "", (1,))]
    ended = timeline([told(1, "Berlin", 10), told(2, "Berlin", 30, WAS)], one=True)
    assert shown(ended) == [("Berlin", 10, 30, "superseded", (1,))]


def test_what_begins_in_the_future_leaves_the_present() -> None:
    found = timeline([told(1, "Berlin", 10), told(2, "Lisbon", 20, since=50)], one=True)
    assert [s.value for s in held_at(found, 30)] == ["Berlin"]
    assert [s.value for s in held_at(found, 50)] == ["Lisbon"]


def test_who_says_since_when_is_believed_over_what_was_said_before() -> None:
    found = timeline([told(1, "Rome", 20), told(2, "Oslo", 30, since=10)], one=True)
    assert [s.value for s in held_at(found, 25)] == ["Oslo"] and [s.value for s in held_at(found, 40)] == ["Oslo"]


def test_many_values_add() -> None:
    found = timeline([told(1, "German", 10), told(2, "Dutch", 20), told(3, "german", 30)], one=False)
    assert [(s.value, s.nums) for s in held_at(found, 40)] == [("Dutch", (2,)), ("German", (1, 3))]


def test_instead_of_ends_one_of_many() -> None:
    found = timeline([told(1, "tennis", 10), told(2, "padel", 20, instead_of="tennis")], one=False)
    assert [s.value for s in held_at(found, 40)] == ["padel"]


def test_until_ends_it() -> None:
    found = timeline([told(1, "Rome", 10, since=5, until=15)], one=True)
    assert shown(found) == [("Rome", 5, 15, "superseded", (1,))]


BERLIN, LISBON = told(1, "Berlin", 10), told(2, "Lisbon", 60)


@pytest.mark.parametrize("op", [NOT, WAS])
def test_what_ended_before_is_said_again_and_begins_no_second_time(op: str) -> None:
    found = timeline([BERLIN, LISBON, told(3, "Berlin", 90, op)], one=True)
    assert shown(found) == [("Berlin", 10, 60, "superseded", (1, 3)), ("Lisbon", 60, None, "", (2,))]
    assert [s.value for s in held_at(found, 70)] == ["Lisbon"] and found[0].ended_by == 2


def test_who_says_what_holds_in_the_same_breath_speaks_of_that() -> None:
    both = Told(num=3, place=1, value="Lisbon", op=IS, at=90)
    found = timeline([BERLIN, LISBON, told(3, "Berlin", 90, WAS), both], one=True)
    assert [(s.value, s.nums) for s in found] == [("Berlin", (1,)), ("Lisbon", (2, 3))]


@pytest.mark.parametrize(("op", "ended"), [(WAS, "superseded"), (NOT, "retracted")])
def test_what_nobody_told_of_held_before_all_that_is_known(op: str, ended: str) -> None:
    found = timeline([BERLIN, LISBON, told(3, "Rome", 90, op)], one=True)
    assert shown(found)[0] == ("Rome", PAST, 10, ended, (3,))
    later = timeline([told(1, "Rome", 20, op), told(2, "Oslo", 30, since=5)], one=True)
    assert shown(later) == [("Rome", PAST, 5, ended, (1,)), ("Oslo", 5, None, "", (2,))]
    many = timeline([BERLIN, LISBON, told(3, "Rome", 90, op)], one=False)
    assert shown(many)[0] == ("Rome", PAST, 90, ended, (3,))


def test_a_past_with_its_times_stands_where_nothing_else_is_known() -> None:
    first = told(1, "Oslo", 12, since=0, until=10)
    found = timeline([first, told(2, "Lisbon", 60), told(3, "Rome", 90, WAS, since=20, until=40)], one=True)
    assert shown(found)[1] == ("Rome", 20, 40, "superseded", (3,))
    over = timeline([first, told(2, "Lisbon", 60), told(3, "Rome", 90, WAS, since=5, until=70)], one=True)
    assert shown(over)[1] == ("Rome", 10, 60, "superseded", (3,))
    within = timeline([BERLIN, LISBON, told(3, "Rome", 90, WAS, since=20, until=40)], one=True)
    assert shown(within)[1] == ("Rome", 20, 20, "superseded", (3,))


def _years(found: tuple[Stretch, ...]) -> list[tuple[str, int, int | None, tuple[int, ...]]]:
    return [(s.value, s.start // AGO, None if s.stop is None else s.stop // AGO, s.nums) for s in found]


def _in(num: int, value: str, at: int, op: str = IS, **times: int) -> Told:
    """As `told`, in years."""
    return told(num, value, at * AGO, op, **{name: year * AGO for name, year in times.items()})  # type: ignore[arg-type]


@pytest.mark.parametrize("one", [True, False])
def test_from_when_to_when_is_a_time_of_its_own(one: bool) -> None:
    early = _in(3, "Rome", 90, WAS, since=5, until=15)
    holds = timeline([_in(2, "Rome", 60), early], one=one)
    assert _years(holds) == [("Rome", 5, 15, (3,)), ("Rome", 60, None, (2,))]
    gone = told(2, "Oslo", 60 * AGO, instead_of="Rome")
    ended = timeline([_in(1, "Rome", 40), gone, early, _in(4, "Rome", 95, WAS, since=7, until=12)], one=one)
    assert _years(ended)[:2] == [("Rome", 5, 15, (3, 4)), ("Rome", 40, 60, (1,))]
    moved = timeline([_in(2, "Rome", 60), early, _in(4, "Rome", 95, since=10)], one=one)
    assert [(start, stop) for _, start, stop, _ in _years(moved)] == [(5, 10 if one else 15), (10 if one else 15, None)]


@pytest.mark.parametrize("one", [True, False])
def test_what_ended_long_before_it_was_said_to_hold_tells_another_time(one: bool) -> None:
    lasts = [_in(1, "Rome", 60, since=10), _in(2, "Rome", 90, WAS, since=12, until=13)]
    assert _years(timeline(lasts, one=one)) == [("Rome", 10, None, (1,))]
    back = [_in(1, "Rome", 60), _in(2, "Rome", 90, WAS, until=50)]  # "until 2015, and came back"
    assert _years(timeline(back, one=one))[-1] == ("Rome", 60, None, (1,))
    left = [_in(1, "Rome", 60), _in(2, "Rome", 90, NOT, until=50)]
    assert _years(timeline(left, one=one))[-1] == ("Rome", 60, None, (1,))
    again = [_in(1, "Rome", 60), _in(2, "Rome", 80), _in(3, "Rome", 90, WAS, since=50, until=70)]
    assert _years(timeline(again, one=one)) == [("Rome", 60, None, (1, 2))]
    ends = [_in(1, "Rome", 60), _in(2, "Rome", 90, WAS, since=50, until=70)]
    assert _years(timeline(ends, one=one)) == [("Rome", 60, 70, (1,))]


def test_a_time_that_is_told_longer_is_longer() -> None:
    found = timeline(
        [_in(1, "Rome", 60, WAS, since=12, until=13), _in(2, "Rome", 70, WAS, since=10, until=15)], one=True
    )
    assert _years(found) == [("Rome", 10, 15, (1, 2))]


def test_what_came_back_and_was_ended_by_its_past() -> None:
    back = [told(1, "Rome", 10), told(2, "Berlin", 20), told(3, "Rome", 30), told(4, "Rome", 40, WAS)]
    found = timeline(back, one=True)
    assert shown(found)[2] == ("Rome", 30, 40, "superseded", (3,)) and found[2].ended_by == 4
    assert held_at(found, 50) == []


def test_a_correction_leaves_what_it_does_not_name() -> None:
    given = [told(1, "peanuts", 10), told(2, "kiwi", 20, corrects=True, instead_of="latex")]
    assert shown(timeline(given, one=False)) == [
        ("peanuts", 10, None, "", (1,)),
        ("kiwi", 20, None, "", (2,)),
    ]
    unnamed = [told(1, "peanuts", 10), told(2, "kiwi", 20, corrects=True)]
    assert [s.ended for s in timeline(unnamed, one=False)] == ["", ""]
    assert [s.ended for s in timeline(unnamed, one=True)] == ["corrected", ""]


def test_a_correction_of_what_has_ended() -> None:
    gone = [told(1, "latex", 10), told(2, "latex", 20, NOT), told(3, "kiwi", 30, corrects=True, instead_of="latex")]
    for one in (False, True):  # nothing else began in between: it takes its place
        assert shown(timeline(gone, one=one)) == [("latex", 10, 20, "corrected", (1,)), ("kiwi", 10, None, "", (3,))]
    since = [BERLIN, LISBON, told(3, "Oslo", 90, corrects=True, instead_of="Berlin")]
    assert shown(timeline(since, one=True)) == [
        ("Berlin", 10, 60, "corrected", (1,)),
        ("Lisbon", 60, 90, "superseded", (2,)),
        ("Oslo", 90, None, "", (3,)),
    ]
    twice = [told(1, "a", 10), told(2, "b", 20, corrects=True), told(3, "c", 30, corrects=True, instead_of="a")]
    assert [(s.ended, s.ended_by) for s in timeline(twice, one=True)] == [
        ("corrected", 2),
        ("corrected", 3),
        ("", None),
    ]
    past = [told(1, "latex", 20, NOT), told(2, "kiwi", 30, corrects=True, instead_of="latex")]
    assert shown(timeline(past, one=False))[1] == ("kiwi", 30, None, "", (2,))


@pytest.mark.parametrize(("corrects", "ended", "start"), [(False, "superseded", 10), (True, "corrected", 5)])
def test_what_holds_already_still_takes_the_place_of_another(corrects: bool, ended: str, start: int) -> None:
    both = [told(1, "tennis", 5), told(2, "padel", 10)]
    found = timeline([*both, told(3, "padel", 20, instead_of="tennis", corrects=corrects)], one=False)
    held = {s.value: s for s in found}
    assert (held["tennis"].ended, held["tennis"].ended_by, held["tennis"].stop) == (ended, 3, 20)
    assert (held["padel"].start, held["padel"].nums, held["padel"].ended) == (start, (2, 3), "")
    itself = timeline([told(1, "padel", 5), told(2, "padel", 9, instead_of="padel", corrects=corrects)], one=False)
    assert shown(itself) == [("padel", 5, None, "", (1, 2))]


def test_what_holds_and_is_said_not_to_be_an_old_value_is_said_again() -> None:
    found = timeline([BERLIN, LISBON, told(3, "Lisbon", 90, corrects=True, instead_of="Berlin")], one=True)
    assert shown(found) == [("Berlin", 10, 60, "superseded", (1,)), ("Lisbon", 60, None, "", (2, 3))]


def test_since_when_may_be_told_later() -> None:
    found = timeline([told(1, "Lisbon", 60), told(2, "Lisbon", 70, since=30)], one=True)
    assert shown(found) == [("Lisbon", 30, None, "", (1, 2))]
    behind = [told(1, "Berlin", 10, until=40), told(2, "Lisbon", 60), told(3, "Lisbon", 70, since=30)]
    assert shown(timeline(behind, one=True))[1] == ("Lisbon", 40, None, "", (2, 3))
    later = timeline([told(1, "Lisbon", 60), told(2, "Lisbon", 70, since=65)], one=True)
    assert shown(later) == [("Lisbon", 60, None, "", (1, 2))]
    past = timeline([told(1, "Lisbon", 60), told(2, "Rome", 65, WAS), told(3, "Lisbon", 70, since=30)], one=True)
    assert shown(past) == [("Rome", PAST, 30, "superseded", (2,)), ("Lisbon", 30, None, "", (1, 3))]
    wrong = [told(1, "Rome", 50), told(2, "Lisbon", 60, corrects=True), told(3, "Lisbon", 70, since=30)]
    assert shown(timeline(wrong, one=True))[0] == ("Lisbon", 30, None, "", (2, 3))


def test_until_when_may_be_told_later() -> None:
    found = timeline([told(1, "Lisbon", 60), told(2, "Lisbon", 70, until=90)], one=True)
    assert shown(found) == [("Lisbon", 60, 90, "superseded", (1, 2))]
    assert held_at(found, 80) and not held_at(found, 90)
    backwards = timeline([told(1, "Lisbon", 60), told(2, "Lisbon", 70, until=50)], one=True)
    assert shown(backwards) == [("Lisbon", 60, None, "", (1, 2))]


def test_what_will_end_is_said_again_or_ended_before() -> None:
    ending = told(1, "Rome", 10, until=90)
    assert shown(timeline([ending, told(2, "Rome", 20)], one=True)) == [("Rome", 10, 90, "superseded", (1, 2))]
    assert shown(timeline([ending, told(2, "Rome", 95)], one=True))[1] == ("Rome", 95, None, "", (2,))
    assert shown(timeline([ending, told(2, "Oslo", 20)], one=True))[0] == ("Rome", 10, 20, "superseded", (1,))
    assert shown(timeline([ending, told(2, "Rome", 20, NOT)], one=True)) == [("Rome", 10, 20, "retracted", (1,))]
    leaving = [told(1, "Rome", 10), told(2, "Rome", 20, NOT, until=90), told(3, "Rome", 30)]
    assert shown(timeline(leaving, one=True)) == [("Rome", 10, 90, "retracted", (1, 3))]


def test_since_when_is_believed_over_all_that_was_said_before() -> None:
    found = timeline([BERLIN, LISBON, told(3, "Oslo", 90, since=30)], one=True)
    assert shown(found) == [
        ("Berlin", 10, 30, "superseded", (1,)),
        ("Oslo", 30, None, "", (3,)),
        ("Lisbon", 60, 60, "superseded", (2,)),
    ]


def test_a_hundred_thousand_of_one_slot_take_a_moment() -> None:
    found = timeline([told(i, f"value {i}", i) for i in range(20_000)], one=False)
    assert len(held_at(found, 30_000)) == 20_000


UNIT = AGO // 20  # some are told long ago
VALUES = st.sampled_from(["a", "b", "c", ""])


@st.composite
def histories(draw: st.DrawFn) -> list[Told]:
    found = []
    for num in range(draw(st.integers(0, 8))):
        op = draw(st.sampled_from([IS, NOT, WAS]))
        value = draw(VALUES if op == NOT else st.sampled_from(["a", "b", "c"]))
        since = draw(st.none() | st.integers(0, 100))
        until = draw(st.none() | st.integers(0, 150))
        at = draw(st.integers(0, 100))
        found.append(
            told(
                num,
                value,
                at * UNIT,
                op,
                corrects=draw(st.booleans()),
                since=since and since * UNIT,
                until=until and until * UNIT,
                instead_of=draw(st.sampled_from(["", "a"])) if op == IS else "",
            )
        )
    return found


@given(histories(), st.booleans(), st.randoms(use_true_random=False))
def test_the_order_in_which_it_is_given_changes_nothing(given: list[Told], one: bool, random: Any) -> None:
    shuffled = list(given)
    random.shuffle(shuffled)
    assert timeline(given, one=one) == timeline(shuffled, one=one)


@given(histories(), st.integers(0, 200))
def test_one_value_holds_at_a_time(given: list[Told], when: int) -> None:
    found = timeline(given, one=True)
    open_ones = [s for s in found if not s.ended]
    assert len(open_ones) <= 1
    for stretch in found:
        assert stretch.stop is None or stretch.start <= stretch.stop
    # Of two that are only told as past, nobody says which was when; beside what is known of a time, nothing is.
    held = held_at(found, when * UNIT)
    assert len(held) <= 1 or all(s.start == PAST for s in held)


@given(histories(), st.integers(0, 200))
def test_a_value_holds_once_at_a_time(given: list[Told], when: int) -> None:
    held = [s.value for s in held_at(timeline(given, one=False), when * UNIT)]
    assert len(held) == len(set(held))


@given(histories(), st.booleans())
def test_nothing_that_was_told_is_lost(given: list[Told], one: bool) -> None:
    nums = {num for stretch in timeline(given, one=one) for num in stretch.nums}
    by = {s.ended_by for s in timeline(given, one=one)}
    for each in given:
        if each.op == IS:
            assert each.num in nums or each.num in by


@each_row(
    ("one", "other", "same"),
    [
        ("Lisbon", "lisbon.", True),
        ("the Lisbon", "Lisbon, Portugal", True),
        ("555 0101", "555-0101", True),
        ("555-0101", "555-0102", False),
        ("2026-01-02", "20260102", False),
        ("Rome", "Romania", False),
        ("", "Rome", False),
    ],
)
def test_values_are_the_same(one: str, other: str, same: bool) -> None:
    from recall_integrations.facts import said as values

    assert values.same(one, other) is same and values.same(other, one) is same
