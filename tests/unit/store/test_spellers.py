"""When a scope's speller is made, and that its vocabulary is what the memories say."""

from __future__ import annotations

import logging
import os
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cachetools import LRUCache
from hypothesis import given, settings
from hypothesis import strategies as st

from recall_integrations.indexes.columns import TextColumns
from recall_integrations.query.spelling import Speller
from recall_integrations.store import spellers
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.text import stems, tokenize
from recall_integrations.types import Memory, Scope
from tests.quick import examples

OpenStore = Callable[..., MemoryStore]
SpellerOf = Callable[..., Speller]
WORDS = ("kestrel", "inbox", "migration", "henrietta", "deploy", "async", "naïve", "日本", "v2")


def counts(speller: Speller) -> dict[str, int]:
    return {term: n for term, n in speller.vocabulary._frequencies.items() if n}


def in_background(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every scope counts as large."""
    monkeypatch.setattr(spellers, "SMALL", -1)


def around_reading(
    monkeypatch: pytest.MonkeyPatch,
    *,
    before: Callable[[], Any] = lambda: None,
    after: Callable[[], Any] = lambda: None,
) -> None:
    """Do something, once, before or after the stems are counted while a speller is built."""
    count = spellers.counted
    todo = [before, after]

    def counted(text: TextColumns) -> spellers.Counts:
        first, last = [todo.pop(0), todo.pop(0)] if todo else [lambda: None, lambda: None]
        first()
        found = count(text)
        last()
        return found

    monkeypatch.setattr(spellers, "counted", counted)


# -- the vocabulary ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shared(module_embedding: object) -> Iterator[MemoryStore]:
    memory = Path("/dev/shm")  # as `fast_path`
    with (
        tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as path,
        MemoryStore.open(path, embedding=module_embedding) as store,
    ):
        yield store


_IDS = st.sampled_from(["a", "b", "c", "d"])
_TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)
_OPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.dictionaries(_IDS, _TEXTS, min_size=1, max_size=3)),
        st.tuples(st.just("forget"), _IDS),
        st.tuples(st.just("rebuild"), st.none()),
    ),
    min_size=1,
    max_size=8,
)


@given(ops=_OPS, first_use=st.integers(min_value=0, max_value=4))
@settings(max_examples=examples(25), deadline=None)
def test_counts_are_those_of_a_plain_dict(
    shared: MemoryStore, ops: list[tuple[str, Any]], first_use: int, speller_of: SpellerOf
) -> None:
    scope = Scope(user_id=f"u{len(shared.scopes())}")
    shared.remember(Memory("naïve", id="first"), scope=scope)
    oracle = {"first": "naïve"}
    for step, (op, what) in enumerate(ops):
        if op == "put":
            shared.remember_many([Memory(text, id=i) for i, text in what.items()], scope=scope)
            oracle.update(what)
        elif op == "forget":
            assert shared.forget(what, scope=scope) == (oracle.pop(what, None) is not None)
        else:
            shared._views.drop()
        if step >= first_use:
            assert counts(speller_of(shared, scope)) == Counter(s for text in oracle.values() for s in set(stems(text)))
    assert counts(speller_of(shared, scope)) == Counter(s for text in oracle.values() for s in set(stems(text)))


def test_the_actor_is_part_of_what_is_indexed(store: MemoryStore, speller_of: SpellerOf) -> None:
    store.remember(Memory("hello", actor="Henrietta"))
    assert counts(speller_of(store)) == {"hello": 1, "henrietta": 1}
    store.remember(Memory("migration", actor="Henrietta", id="m"))
    assert counts(speller_of(store))["henrietta"] == 2
    store.forget("m")
    assert counts(speller_of(store)) == {"hello": 1, "henrietta": 1}


def test_one_speller_stays_whatever_is_written(store: MemoryStore, speller_of: SpellerOf) -> None:
    store.remember("the migration is done")
    speller = speller_of(store)
    store.remember("Henrietta deploys")
    assert speller_of(store) is speller


@pytest.mark.parametrize("when", ["before", "after"])
def test_what_is_written_during_the_build_counts_once(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch, when: str, speller_of: SpellerOf
) -> None:
    store.remember(Memory("migration deploy", id="old"))

    def write() -> None:
        store.remember("migration again")
        store.forget("old")

    around_reading(monkeypatch, **{when: write})  # type: ignore[arg-type]
    speller_of(store)
    assert counts(speller_of(store)) == {"migrat": 1}


@pytest.mark.parametrize("when", ["before", "after"])
def test_reindexing_during_the_build(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch, when: str, speller_of: SpellerOf
) -> None:
    store.remember("migration deploy")
    around_reading(monkeypatch, **{when: store.reindex})  # type: ignore[arg-type]
    assert counts(speller_of(store)) == {"migrat": 1, "deploy": 1}
    store.remember("deploy")
    assert counts(speller_of(store)) == {"migrat": 1, "deploy": 2}


def test_two_scopes_share_nothing(store: MemoryStore, speller_of: SpellerOf) -> None:
    """Scope 1 and scope 12 too, whose number begins with the same digit."""
    for n in range(1, 13):
        store.remember(Memory(f"word{'abcdefghijklm'[n]} kestrel"), scope=Scope(user_id=f"u{n}"))
    one, twelve = Scope(user_id="u1"), Scope(user_id="u12")
    assert store.scope_id(one) == 1 and store.scope_id(twelve) == 12
    store.remember("secretword kestrel", scope=twelve)
    for scope in (one, twelve):  # once built from the index, once by difference
        store.remember(Memory("migration"), scope=scope)
    assert counts(speller_of(store, one)) == {"wordb": 1, "kestrel": 1, "migrat": 1}
    assert counts(speller_of(store, twelve)) == {"wordm": 1, "kestrel": 2, "migrat": 1, "secretword": 1}
    assert not speller_of(store, one).corrections("secretwrod", tokenize("secretwrod"))
    (made,) = speller_of(store, twelve).corrections("secretwrod", tokenize("secretwrod"))
    assert made.correction == "secretword"


# -- when it is built --------------------------------------------------------------------------------------------------


def test_a_large_scope_has_none_until_it_is_built(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.remember("migration deploy")
    in_background(monkeypatch)
    go_on = threading.Event()
    around_reading(monkeypatch, before=lambda: go_on.wait(30))
    assert store.speller(1) is None
    store.remember("Kestrel")  # a writer does not wait either
    assert store.speller(1) is None
    go_on.set()
    built = store.speller(1, wait=True)
    assert built is not None
    assert store.speller(1) is built
    assert counts(built) == {"migrat": 1, "deploy": 1, "kestrel": 1}


def test_warm_builds_it(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.remember("migration deploy")
    in_background(monkeypatch)
    store.warm()
    assert store.speller(1) is not None


def test_the_number_of_memories_decides(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spellers, "SMALL", 2)
    monkeypatch.setattr(spellers, "_start", lambda *_: True)  # nothing in the background is ever done
    monkeypatch.setattr(spellers.Spellers, "prepare", lambda _self: None)
    store.remember_many(["migration", "deploy"])
    store.remember_many(["migration", "deploy", "kestrel"], scope=Scope(user_id="u2"))
    assert store.speller(1) is not None
    assert store.speller(2) is None


def test_threads_that_come_together_get_the_same(store: MemoryStore) -> None:
    store.remember("migration deploy")
    found: list[Speller | None] = []
    threads = [threading.Thread(target=lambda: found.append(store.speller(1))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, found))) == 1 and found[0] is not None


def test_without_threads_there_is_none(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.remember("migration deploy")
    in_background(monkeypatch)
    with monkeypatch.context() as patched:
        patched.setattr(spellers, "_start", lambda *_: False)
        assert store.speller(1) is None
        assert store.speller(1, wait=True) is not None  # nobody is waited for in vain


def test_where_counting_fails_there_is_none(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, speller_of: SpellerOf
) -> None:
    store.remember("migration deploy")

    def broken(*_: object) -> None:
        raise OSError("gone")

    with monkeypatch.context() as patched, caplog.at_level(logging.WARNING):
        patched.setattr(spellers, "counted", broken)
        assert store.speller(1) is None
        assert store.speller(1) is None
        store.warm()
        with pytest.raises(OSError, match="gone"):
            store.speller(1, wait=True)
    assert sum("gone" in record.message for record in caplog.records) == 1
    assert counts(speller_of(store)) == {"migrat": 1, "deploy": 1}


def test_a_scope_without_memories(store: MemoryStore, speller_of: SpellerOf) -> None:
    store.add_entity("Priya")
    assert counts(speller_of(store)) == {}
    store.remember("migration")
    assert counts(speller_of(store)) == {"migrat": 1}


def test_a_closed_store_has_none(open_store: OpenStore) -> None:
    store = open_store()
    store.remember("migration")
    view = store.view(1)
    store.close()
    assert store._spellers.of(view) is None


def test_a_store_that_closes_while_words_are_read_has_none(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.remember("migration")
    view = store.view(1)
    monkeypatch.setattr(spellers, "_read_words", store._spellers._closing.set)
    assert store._spellers.of(view) is None


def test_the_least_recently_used_scope_leaves(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch, speller_of: SpellerOf
) -> None:
    monkeypatch.setattr(store._spellers, "_kept", LRUCache(2))
    scopes = [Scope(user_id=f"u{n}") for n in range(4)]
    for scope in scopes:
        store.remember("migration kestrel", scope=scope)
    first = speller_of(store, scopes[0])
    for scope in (scopes[1], scopes[0], scopes[2], scopes[3]):
        speller_of(store, scope)
    assert list(store._spellers._kept) == [3, 4]
    assert counts(speller_of(store, scopes[0])) == counts(first)


def test_a_scope_whose_columns_have_left_goes(store: MemoryStore, speller_of: SpellerOf) -> None:
    store.remember("migration kestrel")
    first = speller_of(store)
    store._spellers.forget(1)
    assert not store._spellers._kept
    assert counts(speller_of(store)) == counts(first)


def test_a_scope_that_leaves_while_it_is_built_goes_then(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch, speller_of: SpellerOf
) -> None:
    in_background(monkeypatch)
    monkeypatch.setattr(spellers, "LATER_S", 0.0)
    store.remember("migration kestrel")
    own = store._spellers
    with own._turn:
        assert store.speller(1) is None
        own.forget(1)
    assert not own._kept
    monkeypatch.setattr(spellers, "SMALL", 10)
    assert counts(speller_of(store)) == {"migrat": 1, "kestrel": 1}
