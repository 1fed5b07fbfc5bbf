"""Names, times and single memories of a scope: nothing of another one, nothing that is withheld, nothing forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone

import pytest

from recall_integrations import Filters, Memory, MemoryStore, Relation, Scope
from recall_integrations.errors import NotFound
from recall_integrations.privacy.door import Door
from recall_integrations.serving.looking import BUCKETS, TEXT_CHARS, names, one, timeline

NOW = datetime(2026, 4, 20, 9, tzinfo=timezone.utc)
MINE, THEIRS = Scope("mine"), Scope("theirs")
OPEN = Door()


@pytest.fixture(scope="module")
def store(module_embedding: object) -> Iterator[MemoryStore]:
    with MemoryStore.open(embedding=module_embedding, clock=lambda: NOW) as made:
        made.add_entity("Project Kestrel", aliases=["Kestrel"], scope=MINE)
        made.remember_many(
            [
                Memory(
                    id=f"m{i}",
                    text=f"Priya spoke of Kestrel, number {i}",
                    actor="Priya",
                    event_at=NOW - timedelta(days=i),
                    thread="t",
                    position=-i,
                    relations=[Relation("Priya", "works_on", "Project Kestrel")] if i == 0 else [],
                )
                for i in range(9)
            ],
            scope=MINE,
        )
        made.remember(Memory(id="mail", text="write to ana@example.com", type="fact", event_at=NOW), scope=MINE)
        made.remember(Memory(id="gone", text="Mr Secret was here", entities=["Mr Secret"]), scope=MINE)
        made.forget("gone", scope=MINE)
        made.remember(Memory(id="m1", text="Their Zed is elsewhere", entities=["Zed"]), scope=THEIRS)
        made.remember(Memory(id="long", text="x" * 9_000), scope=THEIRS)
        yield made


def test_names_are_those_of_the_scope_with_links(store: MemoryStore) -> None:
    found = names(store, MINE, OPEN)
    by_name = {name["name"]: name for name in found["names"]}
    assert {"Priya", "Project Kestrel"} <= set(by_name)
    assert "Zed" not in by_name
    assert by_name["Project Kestrel"]["declared"]
    link = next(link for link in found["links"] if link["stated"])
    assert (link["from"], link["words"]) == (by_name["Priya"]["id"], ["works on"])
    assert link["together"] >= 1
    assert names(store, MINE, OPEN) == found


def test_around_a_name_it_comes_first_and_one_of_elsewhere_is_not_found(store: MemoryStore) -> None:
    zed = next(name for name in names(store, THEIRS, OPEN)["names"] if name["name"] == "Zed")
    with pytest.raises(NotFound, match="no such name"):
        names(store, MINE, OPEN, around=zed["id"])
    kestrel = next(name for name in names(store, MINE, OPEN)["names"] if name["name"] == "Project Kestrel")
    around = names(store, MINE, OPEN, around=kestrel["id"], limit=2)["names"]
    assert around[0]["id"] == kestrel["id"]
    assert len(around) == 2


def test_where_nothing_is_there_nothing_is_found(store: MemoryStore) -> None:
    nobody = Scope("nobody")
    assert names(store, nobody, OPEN)["names"] == []
    assert timeline(store, nobody, OPEN, NOW)["total"] == 0
    with pytest.raises(NotFound):
        one(store, nobody, "m1", OPEN)


def test_times_are_counted_and_listed_newest_first(store: MemoryStore) -> None:
    found = timeline(store, MINE, OPEN, NOW, limit=3)
    assert found["total"] == 10
    assert sum(sum(bucket["types"].values()) for bucket in found["buckets"]) == 10
    assert len(found["buckets"]) == BUCKETS
    assert [memory["id"] for memory in found["memories"]] == ["m0", "mail", "m1"] or found["memories"][2]["id"] == "m1"
    assert set(found["types"]) == {"fact", "observation"}
    assert found["actors"] == ["Priya"]
    rest = timeline(store, MINE, OPEN, NOW, limit=3, skip=3)["memories"]
    assert [memory["id"] for memory in rest] == ["m2", "m3", "m4"]


def test_a_part_of_the_time_and_filters_hold(store: MemoryStore) -> None:
    part = timeline(store, MINE, OPEN, NOW, start=NOW - timedelta(days=2), end=NOW)
    assert {memory["id"] for memory in part["memories"]} == {"m1", "m2"}
    facts = timeline(store, MINE, OPEN, NOW, filters=Filters(types=["fact"]))
    assert [memory["id"] for memory in facts["memories"]] == ["mail"]
    empty = timeline(store, MINE, OPEN, NOW, start=NOW + timedelta(days=5))
    assert (empty["total"], empty["memories"]) == (0, [])


def test_one_memory_has_those_beside_it_in_its_thread(store: MemoryStore) -> None:
    found = one(store, MINE, "m4", OPEN)
    assert [memory["id"] for memory in found["before"]] == ["m7", "m6", "m5"]
    assert [memory["id"] for memory in found["after"]] == ["m3", "m2", "m1"]
    assert "Priya" in {name["name"] for name in found["names"]}
    assert one(store, MINE, "mail", OPEN)["before"] == []


def test_what_was_forgotten_is_nowhere(store: MemoryStore) -> None:
    with pytest.raises(NotFound, match="no such memory"):
        one(store, MINE, "gone", OPEN)
    assert "Mr Secret" not in {name["name"] for name in names(store, MINE, OPEN)["names"]}
    assert "gone" not in {memory["id"] for memory in timeline(store, MINE, OPEN, NOW)["memories"]}


def test_a_long_text_is_cut_in_lists(store: MemoryStore) -> None:
    listed = next(m for m in timeline(store, THEIRS, OPEN, NOW)["memories"] if m["id"] == "long")
    assert listed["cut"]
    assert len(listed["text"]) == TEXT_CHARS + 1


@pytest.mark.parametrize("mode", ["redact", "block"])
def test_privacy_holds(store: MemoryStore, mode: str) -> None:
    said = [
        str(timeline(store, MINE, Door(mode), NOW)["memories"]),
        str(one(store, MINE, "mail", Door(mode))),
        str(names(store, MINE, Door(mode))),
    ]
    assert not any("ana@example.com" in text for text in said)
    blocked = mode == "block"
    assert names(store, MINE, Door(mode))["withheld"] == blocked
    assert any("Kestrel" in text for text in said) != blocked
