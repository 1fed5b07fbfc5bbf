"""Which memories come first, by hand: numbers are memories, values letters."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from recall_integrations.facts.deciding import decide, words_for
from recall_integrations.facts.question import HISTORY, NOW, PREVIOUS, THEN, WHEN, StateAsked
from recall_integrations.facts.said import IS, NOT, USER, WAS, name_key, speaker_key, subject_key
from recall_integrations.facts.slots import DEFAULT
from recall_integrations.facts.timeline import Stretch, Told, timeline
from recall_integrations.indexes.times import to_micros
from recall_integrations.types.roles import Role
from tests.rows import each_row

START = datetime(2026, 1, 1, tzinfo=UTC)


def day(n: int) -> datetime:
    return START + timedelta(days=n)


class Facts:
    """What is told, by hand: (number, day, value)."""

    slots = DEFAULT

    def __init__(self, **told: Sequence[tuple[int, int, str] | tuple[int, int, str, str]]) -> None:
        self._told = {
            ("", name): timeline(
                (
                    Told(num=t[0], place=0, at=to_micros(day(t[1])), value=t[2], op=t[3] if len(t) == 4 else IS)
                    for t in each
                ),
                one=DEFAULT.one(name),
            )
            for name, each in told.items()
        }

    def has(self, key: tuple[str, str]) -> bool:
        return key in self._told

    def timeline(self, key: tuple[str, str]) -> tuple[Stretch, ...]:
        return self._told.get(key, ())

    def slots_of(self, subject: str) -> list[str]:
        return [slot for who, slot in self._told if who == subject]


MOVED = Facts(home=[(1, 0, "Berlin"), (2, 50, "Lisbon"), (3, 100, "Oslo"), (4, 120, "Oslo")])


def first(facts: Facts, mode: str, now: int = 200, window: tuple[int, int] | None = None, **more: str) -> list[int]:
    asked = StateAsked(slots=("home",), mode=mode, **more)
    windows = [] if window is None else [(day(window[0]), day(window[1]))]
    found = decide(asked, facts, [USER], day(now), windows)
    return [] if found is None else list(found.first)


@each_row(
    ("mode", "now", "window", "expected"),
    [
        (NOW, 200, None, [4, 3]),
        (NOW, 60, None, [2]),
        (NOW, 0, None, [1]),
        (THEN, 200, (60, 70), [2]),
        (THEN, 200, (45, 70), [2, 1]),
        (THEN, 200, None, [2]),
        (PREVIOUS, 200, None, [2]),
        (PREVIOUS, 60, None, [1]),
        (HISTORY, 200, None, [1, 2, 3]),
        (WHEN, 200, None, [3, 4]),
    ],
)
def test_what_comes_first(mode: str, now: int, window: tuple[int, int] | None, expected: list[int]) -> None:
    assert first(MOVED, mode, now, window) == expected


def test_a_value_tells_the_time() -> None:
    assert first(MOVED, THEN, before="Oslo") == [2]
    assert first(MOVED, THEN, before="Lisbon") == [1]
    assert first(MOVED, THEN, before="Paris") == []
    assert first(MOVED, WHEN, value="Lisbon") == [2]
    assert first(MOVED, NOW, value="Berlin") == [4, 3, 1]
    number = Facts(phone_number=[(7, 10, "111111"), (8, 90, "222222")], home=[(1, 0, "Berlin"), (2, 50, "Lisbon")])
    asked = StateAsked(slots=("phone_number",), mode=THEN, before="Lisbon")
    found = decide(asked, number, [USER], day(200))
    assert found is not None and found.first == (7,) and found.beneath == {8}


def test_where_nothing_holds_who_ended_it_says_so() -> None:
    gone = Facts(diet=[(1, 0, "vegan"), (2, 50, "vegan", NOT)])
    found = decide(StateAsked(slots=("diet",)), gone, [USER], day(100))
    assert found is not None and found.first == (2, 1)


def test_nothing_is_decided_where_nothing_is_known() -> None:
    assert first(MOVED, THEN, window=(-50, -40)) == []
    assert decide(StateAsked(slots=("diet",)), MOVED, [USER], day(1)) is None
    assert decide(StateAsked(slots=("home",)), MOVED, ["priya"], day(1)) is None
    assert decide(StateAsked(slots=("home",)), MOVED, [], day(1)) is None


def test_an_open_slot_is_found_in_other_words() -> None:
    facts = Facts(**{"open:locker code": [(1, 0, "4711"), (2, 5, "4712")]})
    found = decide(StateAsked(slots=("open:code of the lockers",)), facts, [USER], day(9))
    assert found is not None and found.key == ("", "open:locker code")


class TwoNames(Facts):
    """What the user tells, under two names: the slots that are told under the other one are known under both."""

    def has(self, key: tuple[str, str]) -> bool:
        return key == ("priya raman", "open:locker code")

    def timeline(self, key: tuple[str, str]) -> tuple[Stretch, ...]:
        return super().timeline((USER, key[1]))

    def slots_of(self, subject: str) -> list[str]:
        return super().slots_of(USER)


def test_an_open_slot_in_other_words_is_of_the_name_that_it_was_told_under() -> None:
    facts = TwoNames(**{"open:locker code": [(0, 0, "4710"), (1, 5, "4711")]})
    asked = StateAsked(slots=("open:code of the lockers",))
    found = decide(asked, facts, ["priya", "priya raman"], day(9))
    assert found is not None and found.key == ("priya raman", "open:locker code") and found.first == (1,)


def test_reasons() -> None:
    stretches = MOVED.timeline(("", "home"))

    def said(num: int, at: int = 200) -> str:
        return words_for(num, stretches, lambda n: f"m{n}", to_micros(day(at)))

    assert said(3) == "holds since 11 April 2026; newer than m2 of 20 February 2026; said again in m4"
    assert said(2) == "held until 11 April 2026, superseded by m3"
    assert said(3, 90) == "holds only from 11 April 2026 on"
    assert said(9) == ""


def test_the_reason_of_who_says_what_was_and_what_is_is_of_what_is() -> None:
    told = [Told(num=1, place=0, at=0, value="Rome", op=WAS), Told(num=1, place=1, at=0, value="Lisbon", op=IS)]
    stretches = timeline(told, one=True)
    assert [s.value for s in stretches] == ["Rome", "Lisbon"]
    assert words_for(1, stretches, str, 5) == "holds since 1 January 1970"


@each_row(
    ("subject", "actor", "role", "key"),
    [
        ("", None, None, USER),
        ("", "Dana", Role.USER, USER),
        ("", "user", None, USER),
        ("", "Priya", None, "priya"),
        ("", "assistant", Role.ASSISTANT, "assistant"),
        ("you", "assistant", Role.ASSISTANT, USER),
        ("you", "Priya", None, None),
        ("Priya  Raman", "Sam", None, "priya raman"),
        ("my sister", "Priya", None, "priya's sister"),
        ("my sister", None, None, "'s sister"),
        ("your sister", "assistant", Role.ASSISTANT, "'s sister"),
        ("your sister", "Priya", None, None),
        ("Priya’s sister", None, None, "priya's sister"),
    ],
)
def test_whom_it_is_of(subject: str, actor: str | None, role: Role | None, key: str | None) -> None:
    assert subject_key(subject, actor, role) == key


def test_a_speaker_has_one_key() -> None:
    assert speaker_key("PRIYA raman", None) == name_key("priya  Raman") == "priya raman"


def test_one_value_that_a_rule_read_is_left_to_the_search() -> None:
    alone = Facts(home=[(1, 0, "Berlin")])
    assert first(alone, NOW) == [] and first(alone, WHEN) == [1] and first(alone, THEN, window=(1, 5)) == [1]
