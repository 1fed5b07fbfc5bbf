"""What is put first where no rule reads the question, or what answers it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from recall_integrations import Memory, MemoryStore, QueryOptimizer, RecallConfig
from recall_integrations.facts.asked import StateAsked
from recall_integrations.facts.deciding import Sought, guessed, words_of_unread
from recall_integrations.recall.likely import _SEVERAL, LATEST_MIN, OTHERS_MORE, SEVERAL_MIN, limit_of, sure_of

FEBRUARY, MARCH, JULY, DECEMBER = (datetime(2025, month, 3, tzinfo=UTC) for month in (2, 3, 7, 12))
OLD = Memory("a courier can ring me on 555-0101, evenings are best", id="old", event_at=FEBRUARY)
NEW = Memory("lost the handset on the tram, so ring me on 555-0202 from now on", id="new", event_at=JULY)
ASKED = "which digits would a courier need to reach me?"
CHAT = (
    Memory("The train was late again, forty minutes in the rain.", id="rain", event_at=MARCH),
    Memory("Bought new boots, they squeak.", id="boots", event_at=DECEMBER),
)


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with MemoryStore.open(clock=lambda: DECEMBER) as opened:
        opened.remember_many(CHAT)
        yield opened


def found(store: MemoryStore, query: str = ASKED, **more: Any) -> list[str]:
    result = QueryOptimizer(store).recall(query, **{"now": DECEMBER, **more})
    assert not result.degraded
    return [str(hit.memory.id) for hit in result.hits if hit.memory.id not in ("rain", "boots")]


def test_the_newest_that_may_tell_it_comes_first_and_says_so(store: MemoryStore) -> None:
    store.remember_many([NEW, OLD])
    assert store.facts() == []  # no rule reads either
    result = QueryOptimizer(store).recall(ASKED, now=DECEMBER)
    assert [hit.memory.id for hit in result.hits[:2]] == ["new", "old"]
    assert "the latest that may tell it" in result.hits[0].reason
    decided = result.facts
    assert decided is not None and (decided.subject, decided.slot, decided.first) == ("", "phone_number", ("new",))
    assert decided.confidence < 0.7 and store.facts() == []
    assert found(store, as_of=MARCH)[0] == "old"


def test_a_slot_that_nobody_can_tell_has_no_name(store: MemoryStore) -> None:
    store.remember(Memory("I take my coffee black, no sugar", id="old", event_at=FEBRUARY))
    store.remember(Memory("my coffee is decaf with a splash of oat milk from now on", id="new", event_at=JULY))
    decided = QueryOptimizer(store).recall("how do I take my coffee?", now=DECEMBER).facts
    assert decided is not None and (decided.slot, decided.first) == ("", ("new",))


def test_for_what_was_before_the_second_newest(store: MemoryStore) -> None:
    store.remember_many([OLD, NEW])
    assert found(store, "which digits did a courier need to reach me before?") == ["old", "new"]


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("now", "the latest that may tell it"),
        ("then", "the latest by then that may tell it"),
        ("previous", "may tell what was before"),
    ],
)
def test_a_reason_says_of_which_time_it_may_tell(mode: str, words: str) -> None:
    sought = Sought(asked=StateAsked(slots=("gym",), mode=mode, confidence=0.7), subjects=("",), until=9)
    assert words_of_unread(guessed(sought, ("", "gym"), 3), str) == words


def test_nothing_is_put_first_with_facts_switched_off() -> None:
    with MemoryStore.open(clock=lambda: DECEMBER) as opened:
        opened.remember_many([*CHAT, OLD, NEW])
        config = RecallConfig.from_mapping({"facts": {"read": False}})
        result = QueryOptimizer(opened, config=config).recall(ASKED, now=DECEMBER)
    assert result.hits[0].memory.id == "old" and result.facts is None


@pytest.mark.parametrize(
    "other",
    [
        "my sister lost her handset, so ring her on 555-0303 from now on",  # of somebody else
        "Priya's new digits: ring 555-0303 from now on",
        "should a courier ring me on 555-0303?",  # asks
        "the courier rang four times and never found the door",  # tells no number
    ],
)
def test_what_tells_it_of_nobody_or_of_others_stays_where_it_is(store: MemoryStore, other: str) -> None:
    store.remember_many([OLD, NEW, Memory(other, id="other", event_at=DECEMBER)])
    assert found(store)[0] == "new"


def test_what_is_told_later_than_now_stays_first(store: MemoryStore) -> None:
    store.remember_many([replace(OLD, event_at=DECEMBER + timedelta(days=40)), NEW])
    assert found(store) == ["old", "new"] and QueryOptimizer(store).recall(ASKED, now=DECEMBER).facts is None
    assert found(store, as_of=DECEMBER)[0] == "new"


def test_of_whom_is_asked_decides(store: MemoryStore) -> None:
    store.remember_many(
        [
            OLD,
            Memory("Priya wants couriers to ring 555-0303, evenings are best", id="priya-old", event_at=FEBRUARY),
            Memory("Priya lost the handset, so ring 555-0404 for her from now on", id="priya", event_at=MARCH),
            NEW,
        ]
    )
    assert found(store, "which digits would a courier need to reach Priya?")[0] == "priya"
    assert found(store)[0] == "new"


@pytest.mark.parametrize(
    "query",
    [
        "did the courier ring me in the evening?",
        "how many times did a courier ring me?",
        "what is the latest on the courier who rings me?",
        "why would a courier need to ring me?",
        "what did the courier say when he rang me in the evening at home that day?",
        "which digits did a courier need to reach me last Tuesday?",  # what happened in a few days
        "welche Nummer braucht ein Kurier für mich?",
    ],
)
def test_other_questions_are_left_alone(store: MemoryStore, query: str) -> None:
    store.remember_many([OLD, NEW])
    assert QueryOptimizer(store).recall(query, now=DECEMBER).facts is None


def test_a_candidate_that_lacks_what_the_query_names_is_not_put_first(store: MemoryStore) -> None:
    store.remember_many(
        [
            Memory(
                "Cycling courier dispatch reaches me on 555-0101, evenings are best", id="dispatch", event_at=FEBRUARY
            ),
            NEW,
        ]
    )
    assert found(store, "which digits does the cycling dispatch use to reach me?")[0] == "dispatch"


def test_what_was_told_later_in_words_that_no_rule_reads_casts_doubt_on_a_fact(store: MemoryStore) -> None:
    store.remember(Memory("My phone number is 555-0101", id="fact", event_at=FEBRUARY))
    store.remember(NEW)
    assert [(fact.slot, fact.value) for fact in store.facts()] == [("phone_number", "555-0101")]
    result = QueryOptimizer(store).recall("what is my phone number?", now=DECEMBER)
    assert [hit.memory.id for hit in result.hits[:2]] == ["new", "fact"]
    assert "told after fact, may have changed what that says" in result.hits[0].reason
    assert found(store, "what is my phone number?", as_of=MARCH)[0] == "fact"
    store.remember(Memory("ring my sister on 555-0303 from now on, she lost hers", id="hers", event_at=DECEMBER))
    assert found(store, "what is my phone number?")[0] == "new"


@pytest.mark.parametrize(
    ("query", "right", "newer"),
    [
        ("where does my older sister live?", "my older sister has a room in Gera", "packed up, I am in Jena now"),
        (
            "what is my mother-in-law's address?",
            "my mother-in-law is at Lindenweg 3",
            "my mother found a place at Parkallee 9",
        ),
        (
            "what does my best friend do for a living?",
            "my best friend sells insurance",
            "I make my living with pottery",
        ),
        ("which name does my dog have?", "our dog answers to Rex", "our cat answers to Miso"),
        ("gift for Lena", "Lena would love a fountain pen as a gift", "Lena moved to Jena"),
        ("I need the soup recipe", "Recipe for soup: lentils, cumin", "I need to renew my passport"),
        ("cake for Omar", "Omar cannot have nuts, so no nuts in the cake", "Omar switched to oat milk"),
        ("tell me about the plumber", "the plumber Kolb did our bathroom", "I need new shoes for the hike"),
    ],
)
def test_what_is_of_others_or_asks_for_no_state_is_not_moved(
    store: MemoryStore, query: str, right: str, newer: str
) -> None:
    store.remember_many(
        [
            Memory(right, id="right", event_at=FEBRUARY),
            Memory(newer, id="newer", event_at=MARCH),
            Memory("We decided to use Postgres for billing", id="team", event_at=JULY),
            Memory("Omar lives in Halle and works at a bakery", id="omar", event_at=JULY),
        ]
    )
    assert found(store, query)[0] == "right"


def test_what_holds_only_some_words_of_the_query_has_to_be_surer() -> None:
    least, whole = limit_of(0.5, 1.0, own=True), ((1.0, 1.0), (0.0, 1.0), (0.5, 0.5), (1.0, 0.5))
    assert all(least > limit_of(*shares, own=True) == LATEST_MIN for shares in whole)


def test_of_somebody_else_it_has_to_be_surer_than_of_who_asks() -> None:
    for shares in ((0.5, 1.0), (1.0, 1.0)):
        assert limit_of(*shares, own=False) == limit_of(*shares, own=True) + OTHERS_MORE < SEVERAL_MIN


def test_a_rule_that_reads_what_is_asked_makes_it_surer_and_not_sure() -> None:
    assert sure_of(0.2, read=False) == 0.2 < sure_of(0.2, read=True) < sure_of(0.8, read=True) < 1


@pytest.mark.parametrize(
    ("query", "old", "new"),
    [
        ("wifi password kitchen router", "kitchen router wifi: password is bluekettle77",
         "had to reset the router in the kitchen after the outage, wifi password is tangerine-Oslo-4"),
        ("number plate of the van", "van number plate is KX19 ODB, for the parking app",
         "New van! Plate: YF25 TRU. The old one went to auction."),
        ("which streaming service am I subscribed to", "Paying for Netflix, 13.99 a month, card ending 20.",
         "Cancelled Netflix last night and signed up for Mubi. Fewer films but I'd actually watch them."),
        ("Who owns the onboarding flow?", "Notes from sync: Priya owns the onboarding flow, Marek owns search.",
         "Since Priya moved to Platform, the onboarding flow is with Tobias. He asked for her docs."),
    ],
)  # fmt: skip
def test_what_takes_up_the_earlier_one_comes_before_it(store: MemoryStore, query: str, old: str, new: str) -> None:
    store.remember_many([Memory(old, id="old", event_at=FEBRUARY), Memory(new, id="new", event_at=JULY)])
    assert found(store, query)[0] == "new"


def test_who_asks_for_several_has_to_be_surer() -> None:
    several = ("what instruments does Tim play?", "what kind of books does she like")
    one = (
        "what does James do?",
        "which car does Lucas have now?",
        "what status is it",
        "what kind of car do I drive?",
        "which days does the cleaner come",
        "what does Tim play?",
        "where is my bus",
        "which glasses do I wear",
    )
    assert [_SEVERAL.search(text) is not None for text in (*several, *one)] == [True, True, *[False] * len(one)]
    assert LATEST_MIN < limit_of(0.5, 1.0, own=True) < SEVERAL_MIN
