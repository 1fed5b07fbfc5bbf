"""The made-up histories: the same for the same seed, halves that share nothing, and texts and gold that agree."""

from __future__ import annotations

import re
from datetime import timedelta
from itertools import pairwise

import pytest

from benchmarks.facts.generator.histories import CELLS, MEMORIES_MIN, SPLITS, FactHistory, Room, rooms
from benchmarks.facts.generator.phrasings import (
    HISTORY,
    KINDS,
    MYSELF,
    NOW,
    QUESTIONS,
    STATEMENTS,
    YOURSELF,
    Subject,
    phrasings,
    sections,
    worded,
)
from benchmarks.facts.generator.slots import BY_NAME, DEV, FREE, SLOTS, TEST, FactSlot
from recall_integrations.facts.slots import DEFAULT
from tests.rows import each_row

SISTER = Subject(kind="kin", name="my sister", pronouns=("she", "her", "her"))


@pytest.fixture(scope="module")
def made() -> list[Room]:
    """Enough for every cell and kind of question."""
    return list(rooms(120, seed=3))


def _histories(made: list[Room]) -> list[FactHistory]:
    return [history for room in made for history in room.histories]


def test_the_same_seed_makes_the_same_and_another_makes_others() -> None:
    assert list(rooms(9, seed=1)) == list(rooms(9, seed=1))
    assert list(rooms(9, seed=1)) != list(rooms(9, seed=2))


def test_more_histories_begin_with_the_fewer() -> None:
    assert list(rooms(12))[:2] == list(rooms(6))


@each_row("split", SPLITS)
def test_a_split_has_its_cells_and_no_others(split: str) -> None:
    made = _histories(list(rooms(24, split=split)))
    assert len(made) == 24
    assert {history.cell for history in made} == set(SPLITS[split])
    assert all(history.slot.half == CELLS[history.cell][0] for history in made)


def test_phrasings_of_another_hand_are_of_slots_that_are_there_and_of_nobody_else() -> None:
    free = {(name, key): texts for name, part in sections(FREE).items() for key, texts in part.items()}
    assert len(free) > 500 and {name for name, _ in free} == BY_NAME.keys()
    others = {t for half in (DEV, TEST) for part in sections(half).values() for ts in part.values() for t in ts}
    texts = {text for found in free.values() for text in found}
    assert len(texts) > 1_500 and len(others & texts) < 20  # what everybody would say
    for made in rooms(60, split=FREE):
        assert all("{" not in memory.text and "[" not in memory.text for memory in made.memories)
        assert all("{" not in q.text for history in made.histories for q in history.questions)


def test_no_phrasing_is_in_both_halves() -> None:
    texts = {half: {t for part in sections(half).values() for ts in part.values() for t in ts} for half in (DEV, TEST)}
    assert len(texts[DEV]) > 300 < len(texts[TEST])
    assert not texts[DEV] & texts[TEST]


def test_there_are_enough_slots_of_each_sort() -> None:
    assert len(BY_NAME) == len(SLOTS) >= 50
    assert sum(not slot.schema for slot in SLOTS) >= 10
    for half in (DEV, TEST):
        own = [slot for slot in SLOTS if slot.half == half]
        assert len(own) >= 25
        assert any(not slot.one for slot in own) and any(slot.of == "thing" for slot in own)


@each_row("slot", SLOTS)
def test_every_slot_is_said_and_asked_in_five_ways_or_more(slot: FactSlot) -> None:
    for style in (DEV, TEST):
        assert len(set(phrasings(slot, style, "is"))) >= 5
        for key in QUESTIONS:
            if slot.one or key != "prev?":
                assert len(set(phrasings(slot, style, key))) >= 5, key
        assert all(phrasings(slot, style, key) for key in ("no", "again", "non"))
        assert not slot.one or all(phrasings(slot, style, key) for key in ("new", "fix", "was"))


def test_the_schema_has_those_that_it_is_said_to_have() -> None:
    nouns = set(DEFAULT.of_noun)
    assert {slot.name for slot in SLOTS if not slot.schema and slot.noun in nouns} == set()
    assert {slot.name for slot in SLOTS if slot.schema and slot.noun and slot.noun not in nouns} == set()


def test_sections_are_of_slots_or_families_and_keys_are_known() -> None:
    for half in (DEV, TEST):
        assert set(sections(half)) <= {*BY_NAME, "*noun", "*many"}
        assert {key for part in sections(half).values() for key in part} <= {*STATEMENTS, *QUESTIONS}
    assert not {name for name in sections(DEV) if name in BY_NAME and BY_NAME[name].half == TEST}


@each_row(
    ("template", "subject", "text"),
    [
        ("{my} car is {v}, {I} [like|likes] it.", MYSELF, "My car is e4.mail. I like it."),
        ("{my} car is {v}. {I} [like|likes] it.", SISTER, "My sister's car is e4.mail. She likes it."),
        ("note: {Im} in {v}", SISTER, "Note: my sister is in e4.mail"),
        ("{v}. That's {my} car.", MYSELF, "e4.mail. That's my car."),
        ("~{my} car, {a_v}", SISTER, "my sister's car, an e4.mail"),
        ("{Ive} got {my} {v}", YOURSELF, "You've got your e4.mail"),
    ],
)
def test_a_phrasing_is_put_for_somebody(template: str, subject: Subject, text: str) -> None:
    assert worded(template, subject, {"v": "e4.mail"}).replace(", I", ". I") == text


def test_scopes_are_full_ids_are_unique_and_everything_is_before_now(made: list[Room]) -> None:
    ids = [memory.id for room in made for memory in room.memories]
    assert len(set(ids)) == len(ids)
    assert len({room.scope for room in made}) == len(made)
    for room in made:
        assert len(room.memories) >= MEMORIES_MIN
        assert all(m.event_at is not None and m.event_at < room.now for m in room.memories)


def test_no_text_has_a_hole(made: list[Room]) -> None:
    texts = [m.text for room in made for m in room.memories]
    texts += [asked.text for history in _histories(made) for asked in history.questions]
    assert not [text for text in texts if re.search(r"[{}\[\]|]|  |\bNone\b", text)]


def test_gold_is_of_the_room_and_nothing_is_right_and_stale(made: list[Room]) -> None:
    for room in made:
        ids = {memory.id for memory in room.memories}
        for history in room.histories:
            for asked in history.questions:
                gold = asked.gold
                assert gold.first and gold.needed and all(gold.needed)
                assert gold.first <= ids and gold.stale <= ids and not gold.first & gold.stale
                assert frozenset().union(*gold.needed) <= gold.first


def test_every_kind_is_asked_and_how_it_is_of_nearly_every_history(made: list[Room]) -> None:
    asked = [each for history in _histories(made) for each in history.questions]
    assert {each.kind for each in asked} == set(KINDS)
    assert sum(each.kind == NOW for each in asked) > 0.9 * len(_histories(made))
    assert all(each.gold.ordered for each in asked if each.kind == HISTORY)


def test_what_somebody_tells_is_of_times_apart(made: list[Room]) -> None:
    for room in made:
        when = {m.id: m.event_at for m in room.memories}
        for history in room.histories:
            for asked in history.questions:
                times = sorted(at for one in asked.gold.first if (at := when[one]) is not None)
                assert all(b - a >= timedelta(days=25) for a, b in pairwise(times))
