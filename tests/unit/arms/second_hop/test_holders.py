from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from recall_integrations.arms import second_hop as module
from recall_integrations.arms.second_hop import NamePostings, documents, keys_of
from recall_integrations.indexes.scope_view import ScopeView
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.text import content, stem, stems
from recall_integrations.types import Memory, Scope

WORDS = "amber lantern kestrel harbour priya raman sam henrietta winter ferry".split()
MANY = 1_000


def view_of(store: MemoryStore) -> ScopeView:
    scope_id = store.scope_id(Scope())
    assert scope_id is not None
    return store.view(scope_id)


def remember(store: MemoryStore, texts: Iterable[str], type_: str = "chunk", first: int = 0) -> ScopeView:
    store.remember_many([Memory(text, id=f"{type_}{first + i}", type=type_) for i, text in enumerate(texts)])
    return view_of(store)


def ask(holders: NamePostings, view: ScopeView, *names: str, most: int = MANY) -> list[set[int]]:
    """Rows for each name, in the order of the names."""
    lexicon = view.text.lexicon
    table = np.full((len(names), 3), -1, dtype=np.int32)
    for i, name in enumerate(names):
        own = [lexicon.stem_of(stem(word)) for word in content(name)]
        table[i, : len(own)] = own
    which, rows = holders.find(view, keys_of(table), most)
    pairs = list(zip(which.tolist(), rows.tolist(), strict=True))
    assert len(pairs) == len(set(pairs))
    return [{row for i, row in pairs if i == k} for k in range(len(names))]


def expected(texts: Iterable[str], name: str) -> set[int]:
    own = stems(name)[:2]
    wanted = tuple(own)
    return {
        row
        for row, text in enumerate(texts)
        if (wanted in set(pairwise(stems(text))) if len(own) == 2 else wanted[0] in stems(text))
    }


def test_words_and_pairs_as_a_search_through_the_texts_finds_them(store: MemoryStore) -> None:
    rng = random.Random(3)
    texts = [" ".join(rng.choices(WORDS, k=rng.randrange(1, 9))) for _ in range(60)]
    names = [*WORDS, *(f"{a} {b}" for a in WORDS for b in WORDS)]
    view = remember(store, texts)
    assert ask(NamePostings(view), view, *names) == [expected(texts, name) for name in names]


def test_a_name_is_looked_up_by_its_first_two_words(store: MemoryStore) -> None:
    view = remember(store, ["Amber Lantern Studies", "the lantern is amber", "old Amber Lantern"])
    assert ask(NamePostings(view), view, "Amber Lantern Society", "Amber", "Lantern Amber") == [{0, 2}, {0, 1, 2}, {1}]


def test_pairs_do_not_reach_over_the_end_of_a_text(store: MemoryStore) -> None:
    view = remember(store, ["amber", "lantern"])
    assert ask(NamePostings(view), view, "amber lantern") == [set()]


def test_only_living_documents(store: MemoryStore) -> None:
    remember(store, ["Kestrel one", "Kestrel two"])
    remember(store, ["Kestrel three"], "observation")
    store.forget("chunk0")
    view = view_of(store)
    assert ask(NamePostings(view), view, "Kestrel") == [{1}]
    assert documents(view).tolist() == [True, True, False]


def test_what_more_than_most_documents_say_is_left_out(store: MemoryStore) -> None:
    view = remember(store, ["Kestrel Amber", "Kestrel Harbour", "Kestrel"])
    assert ask(NamePostings(view), view, "Kestrel", "Amber", most=2) == [set(), {0}]


def test_new_rows_are_found_and_then_merged(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LATE_MIN", 4)
    before = remember(store, ["Kestrel one", "Sam two"])
    holders = NamePostings(before)
    after = remember(store, ["Kestrel three"], first=2)
    assert holders.serves(before) and holders.serves(after)
    assert ask(holders, after, "Kestrel", "Sam") == [{0, 2}, {1}]
    assert ask(holders, before, "Kestrel") == [{0}]
    assert holders.heads(after).shape == (2, 3)
    later = remember(store, ["Kestrel Sam Amber Lantern"], first=3)
    assert not holders.serves(later)
    assert holders.begins(later)
    merged = NamePostings(later, holders)
    assert ask(merged, later, "Kestrel", "Sam", "Amber Lantern") == [{0, 2, 3}, {1, 3}, {3}]
    assert merged.heads(later).tolist() == NamePostings(later).heads(later).tolist()


def test_a_common_word_stays_common_when_rows_come_later(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "COMMON", 1.0)
    before = remember(store, [f"Kestrel {word}" for word in WORDS[3:]])
    holders = NamePostings(before)
    after = remember(store, ["Kestrel again"], first=len(WORDS))
    assert ask(holders, after, "Kestrel", most=2) == [set()]
    assert ask(NamePostings(after, holders), after, "Kestrel", most=2) == [set()]


def test_only_a_view_that_begins_with_the_same_rows_fits(store: MemoryStore) -> None:
    view = remember(store, ["Kestrel one", "Sam two", "Amber three"])
    holders = NamePostings(view)
    store.forget("chunk1")
    assert holders.serves(view_of(store))  # the row is dead, but there
    assert not holders.begins(replace(view, nums=view.nums[[0, 2]]))  # rows were put together
    assert not holders.begins(replace(view, nums=np.append(view.nums[[0, 2]], view.nums[2] + 1)))
    assert not holders.begins(replace(view, nums=view.nums + 1))


def test_what_rows_begin_with(store: MemoryStore) -> None:
    view = remember(store, ["Amber Lantern shines", "the amber lantern", "Amber", "..."])
    one, two = NamePostings(view).heads(view).tolist()
    assert one[0] == one[1] == one[2] > 0
    assert two[0] == two[1] > 0
    assert two[2] == one[3] == two[3] == 0
