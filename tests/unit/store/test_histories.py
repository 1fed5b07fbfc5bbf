"""Which messages of a chat its thread holds already."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recall_integrations import Memory, MemoryStore
from recall_integrations.store.duplicates import DISTINCT_CHARS, aligned
from tests.quick import examples
from tests.rows import each_row

LONG = "x" * DISTINCT_CHARS


def laid(stored: str, said: str, heads: int = 0, chars: Sequence[int] | None = None) -> list[int | None]:
    return aligned(stored.split(), said.split(), chars or [len(w) for w in said.split()], heads)


@each_row(
    ("stored", "said", "found"),
    [
        ("", "a b", [None, None]),
        ("a b c", "a b c", [0, 1, 2]),
        ("a b c", "a b c d", [0, 1, 2, None]),
        ("a ok b c ok", "c ok ok d", [3, 4, None, None]),
        ("a ok b ok", "ok c ok", [3, None, None]),
        ("a b", "c", [None]),
        ("ok ok", "ok ok ok", [0, 1, None]),
        ("a ok b", "ok", [None]),  # said again
        ("thanks welcome a b", "thanks welcome", [None, None]),  # said again
        ("a b a b a", "a b a c", [2, 3, 4, None]),
        ("a b c", "", []),
    ],
)
def test_the_longest_end_that_begins_the_given(stored: str, said: str, found: list[int | None]) -> None:
    assert laid(stored, said) == found


def test_older_parts_hold_together_by_what_is_said_once() -> None:
    stored = f"s ok a{LONG} ok b{LONG} c ok d"
    assert laid(stored, f"ok a{LONG} ok b{LONG}") == [1, 2, 3, 4]
    assert laid(stored, f"a{LONG} ok b{LONG} edited") == [2, 3, 4, None]
    assert laid(stored, f"a{LONG} edited b{LONG} c") == [2, None, 4, 5]
    assert laid(stored, "ok c ok") == [None, None, None]  # too little to tell


def test_system_messages_in_front_are_found_by_what_they_say() -> None:
    assert laid("sys a b c", "sys b c d", heads=1) == [0, 2, 3, None]
    assert laid("sys a b c", "other b c d", heads=1) == [None, 2, 3, None]
    assert laid("a b", "sys a b c", heads=1) == [None, 0, 1, None]
    assert laid("a sys", "sys a sys b", heads=1) == [None, 0, 1, None]
    assert laid("sys", "sys sys", heads=2) == [0, None]


@pytest.mark.parametrize("text", ["ok", "ok no"])
def test_long_histories_come_to_an_end(text: str) -> None:
    """No bound on the time, machines differ: what is not linear would take minutes here."""
    many = (text.split() * 50_000)[:50_000]
    assert aligned(many, many, [2] * len(many)) == list(range(len(many)))
    aligned(many, [*many[1:], "new"], [2] * len(many))
    aligned([*many, "end"], many, [2] * len(many))


@given(
    st.lists(st.sampled_from("abcd"), max_size=12), st.lists(st.sampled_from("abcd"), max_size=12), st.integers(0, 3)
)
def test_pairs_are_equal_and_no_stored_one_is_two(stored: list[str], said: list[str], heads: int) -> None:
    found = aligned(stored, said, [40] * len(said), min(heads, len(said)))
    assert len(found) == len(said)
    pairs = [(key, place) for key, place in zip(said, found, strict=True) if place is not None]
    assert all(stored[place] == key for key, place in pairs)
    assert len({place for _, place in pairs}) == len(pairs)


# -- in a store --------------------------------------------------------------------------------------------------------

Window = tuple[int, int]
SHORT = ("ok", "thanks", "yes")


@st.composite
def windows(draw: st.DrawFn) -> tuple[list[str], list[Window]]:
    """A chat with many equal messages, and windows that can be told apart: see `MemoryStore.remember_many`."""
    texts = draw(st.lists(st.sampled_from(SHORT), min_size=1, max_size=14))
    for n, place in enumerate(sorted(draw(st.sets(st.integers(0, len(texts) - 1), max_size=8)))):
        texts[place] = f"m{n}"
    ends = sorted(draw(st.lists(st.integers(1, len(texts)), min_size=1, max_size=6)))
    found: list[Window] = []
    before = 0
    for end in [*ends, len(texts)]:
        starts = [s for s in range(before + 1) if s == 0 or _told_apart(texts, s, before, end)]
        found.append((draw(st.sampled_from(starts)), end))
        before = end
    return texts, found


def _told_apart(texts: Sequence[str], start: int, before: int, end: int) -> bool:
    """Whether the window overlaps what was there by something that is said once, or begins with something new."""
    shared = texts[start:before] if start < before else texts[start : start + 1]
    return start < end and any(text not in SHORT for text in shared)


@pytest.fixture(scope="module")
def chats(module_embedding: object) -> Iterator[tuple[MemoryStore, Iterator[str]]]:
    with MemoryStore.open(embedding=module_embedding) as store:
        yield store, (f"chat-{n}" for n in range(1_000_000))


def held(store: MemoryStore, thread: str, ids: Sequence[str]) -> list[str]:
    found = [m for i in dict.fromkeys(ids) if (m := store.get(i)) is not None]
    assert all(m.thread == thread for m in found)
    ordered = sorted(found, key=lambda m: m.position or 0)
    assert [m.position for m in ordered] == list(range(len(ordered)))
    return [m.text for m in ordered]


@settings(deadline=None, max_examples=examples(60))
@given(windows(), st.booleans(), st.booleans())
def test_windows_store_exactly_the_chat(
    chats: tuple[MemoryStore, Iterator[str]], made: tuple[list[str], list[Window]], system: bool, empty: bool
) -> None:
    texts, cut = made
    store, threads = chats
    thread, before = next(threads), store.count()
    head = [{"role": "system", "content": "be kind"}] if system else []
    ids: list[str] = []
    for start, end in cut:
        said = [{"role": "user", "content": text} for text in texts[start:end]]
        given_now = [*head, *said, *([{"role": "assistant", "content": ""}] if empty else [])]
        ids.extend(store.remember_many(given_now, thread=thread))
    assert held(store, thread, ids) == [m["content"] for m in head] + texts
    assert store.count() == before + len(head) + len(texts)


def user(*texts: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text} for text in texts]


def test_a_repeated_short_message_of_a_trimmed_history_is_stored_again() -> None:
    with MemoryStore.open() as store:
        first = store.remember_many(user("I moved", "ok", "to Lisbon"), thread="t")
        second = store.remember_many(user("to Lisbon", "ok", "thanks"), thread="t")
        assert second[0] == first[2] and second[1] != first[1]
        assert held(store, "t", [*first, *second]) == ["I moved", "ok", "to Lisbon", "ok", "thanks"]
        assert store.remember_many(user("I moved", "ok", "to Lisbon", "ok", "thanks"), thread="t") == [
            *first,
            *second[1:],
        ]


def test_own_ids_go_before_what_is_said() -> None:
    with MemoryStore.open() as store:
        said = [{"role": "user", "content": "ok", "id": f"m{n}"} for n in range(3)]
        assert store.remember_many(said, thread="t") == ["m0", "m1", "m2"]
        assert store.remember_many(said[1:], thread="t") == ["m1", "m2"]
        mixed = store.remember_many([*said[1:], *user("ok")], thread="t")
        assert mixed[:2] == ["m1", "m2"] and store.count() == 4
        assert store.remember_many([*said[2:], *user("ok", "ok")], thread="t")[:2] == ["m2", mixed[2]]


def test_ids_of_the_store_may_be_given_back() -> None:
    with MemoryStore.open() as store:
        ids = store.remember_many(user("a", "ok", "b", "ok"), thread="t")
        named = [{**m, "id": i} for m, i in zip(user("b", "ok"), ids[2:], strict=True)]
        assert store.remember_many([*named, *user("c")], thread="t")[:2] == ids[2:]
        assert store.count() == 5


def test_batches_do_not_matter() -> None:
    with MemoryStore.open() as store:
        chat = user(*(f"turn {n}" if n % 3 else "ok" for n in range(20)))
        ids = store.remember_many(iter(chat), thread="t", batch_size=4)
        assert len(set(ids)) == 20
        assert store.remember_many(iter(chat[7:]), thread="t", batch_size=3) == ids[7:]
        assert store.count() == 20


def test_what_else_stands_in_the_thread_is_passed_over() -> None:
    with MemoryStore.open() as store:
        ids = store.remember_many(user("a", "b"), thread="t")
        store.remember(Memory("a note", thread="t", id="note"))
        assert store.remember_many(user("b", "c"), thread="t")[0] == ids[1]
        assert store.count() == 4
