"""Memories that were read lately: never one that is gone, never one that somebody else can change."""

from __future__ import annotations

from recall_integrations import Memory, MemoryStore, Scope
from recall_integrations.store.reader import EACH_BYTES, TEXT_BYTES_MAX, Recent
from recall_integrations.store.revisions import Revisions
from recall_integrations.types import memory_of_values

SCOPE = Scope("u1")


def memory(text: str) -> Memory:
    return Memory(text, id="m", metadata={"tags": ["a"]})


def test_what_was_read_is_given_again_with_metadata_of_its_own() -> None:
    recent = Recent(Revisions(), {SCOPE: 1})
    revision = recent.revision(1)
    read = memory("one")
    recent.put(1, [(7, read)], revision)
    read.metadata["tags"].append("b")
    first = recent.get(1, [7, 8], revision)
    assert first == {7: memory("one")}
    first[7].metadata["tags"].append("c")
    assert recent.get(1, [7], revision) == {7: memory("one")}


def test_a_write_to_the_scope_drops_it_and_one_to_another_does_not() -> None:
    revisions = Revisions()
    recent = Recent(revisions, {SCOPE: 1, Scope("u2"): 2})
    recent.put(1, [(7, memory("one"))], recent.revision(1))
    with revisions.writing(Scope("u2")):
        assert recent.get(1, [7], recent.revision(1))
    with revisions.writing(SCOPE):
        assert recent.get(1, [7], recent.revision(1)) == {}
    assert recent.get(1, [7], recent.revision(1)) == {}


def test_what_was_read_before_a_write_is_not_kept_after_it() -> None:
    revisions = Revisions()
    recent = Recent(revisions, {SCOPE: 1})
    before = recent.revision(1)
    with revisions.writing(SCOPE):
        pass
    recent.put(1, [(7, memory("one"))], before)
    assert recent.get(1, [7], recent.revision(1)) == {}


def test_it_is_bounded_and_the_least_recently_used_leaves() -> None:
    recent = Recent(Revisions(), {SCOPE: 1}, kept_bytes=3 * (EACH_BYTES + 100))
    revision = recent.revision(1)
    for num in (1, 2, 3):
        recent.put(1, [(num, memory("x"))], revision)
    recent.get(1, [1], revision)
    recent.put(1, [(4, memory("x")), (5, memory("y" * TEXT_BYTES_MAX))], revision)
    assert sorted(recent.get(1, [1, 2, 3, 4, 5], revision)) == [1, 3, 4]


def test_a_memory_that_was_forgotten_or_replaced_is_not_found(tmp_path: object) -> None:
    with MemoryStore.open() as store:
        store.remember(Memory("one", id="m1"), scope=SCOPE)
        number = store.scope_id(SCOPE)
        assert number is not None
        nums = store.view(number).nums.tolist()
        assert store.fetch(number, nums)[nums[0]].text == store.fetch(number, nums)[nums[0]].text == "one"
        store.remember(Memory("two", id="m1"), scope=SCOPE)
        assert store.fetch(number, nums) == {}
        again = store.view(number).nums.tolist()
        assert [m.text for m in store.fetch(number, again).values()] == ["two"]
        store.forget("m1", scope=SCOPE)
        assert store.fetch(number, again) == {}


def test_a_memory_of_values_is_the_one_that_was_checked() -> None:
    whole = Memory("one", id="m", type="fact", actor="Priya", entities=["A"], metadata={"a": 1})
    assert memory_of_values([getattr(whole, name) for name in Memory.__dataclass_fields__]) == whole


def test_how_many_were_found_here_is_counted() -> None:
    with MemoryStore.open() as store:
        store.remember_many([Memory("tea", id="a"), Memory("coffee", id="b")])
        view = store.scope_id(Scope())
        assert view is not None and store.reader.hydration() == {"hits": 0, "misses": 0}
        nums = store.view(view).nums.tolist()
        store.fetch(view, nums)
        assert store.reader.hydration() == {"hits": 0, "misses": 2}
        store.fetch(view, nums)
        assert store.reader.hydration() == store.stats()["hydration"] == {"hits": 2, "misses": 2}
        figures = store.figures()
        assert figures["hydration"] == {"hits": 2, "misses": 2}
