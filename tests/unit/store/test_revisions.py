"""What tells whether a scope is still what it was."""

from __future__ import annotations

import gc
from collections.abc import Callable

import pytest

from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.store.revisions import Revisions
from recall_integrations.types import Scope
from tests.rows import each_row

A, B = Scope(user_id="a"), Scope(user_id="b")


class Watcher:
    def __init__(self) -> None:
        self.dropped: list[Scope | None] = []

    def drop(self, scope: Scope | None) -> None:
        self.dropped.append(scope)


def test_a_write_changes_its_scope_alone() -> None:
    revisions = Revisions()
    before = revisions.of(A), revisions.of(B)
    with revisions.writing(A):
        assert revisions.of(A) is None
        assert revisions.of(B) == before[1]
    assert revisions.of(A) not in (None, before[0])
    assert revisions.of(B) == before[1]


def test_a_write_to_all_changes_all() -> None:
    revisions = Revisions()
    before = revisions.of(A)
    with revisions.writing(None):
        assert revisions.of(A) is None
    assert revisions.of(A) not in (None, before)


def test_a_write_that_fails_counts() -> None:
    revisions = Revisions()
    before = revisions.of(A)
    with pytest.raises(RuntimeError), revisions.writing(A):
        raise RuntimeError
    assert revisions.of(A) not in (None, before)


def test_of_two_writes_the_last_decides() -> None:
    revisions = Revisions()
    with revisions.writing(A):
        with revisions.writing(A):
            pass
        assert revisions.of(A) is None
    assert revisions.of(A) is not None


def test_watchers_are_told_when_a_write_begins_and_are_not_kept_alive() -> None:
    revisions, watcher = Revisions(), Watcher()
    revisions.watch(watcher)
    with revisions.writing(A):
        assert watcher.dropped == [A]
    seen = watcher.dropped
    del watcher
    gc.collect()
    with revisions.writing(B):
        pass
    assert seen == [A]


@each_row(
    "write",
    [
        lambda store: store.remember("tea", scope=A),
        lambda store: store.remember_many(["tea", "milk"], scope=A, thread="t"),
        lambda store: store.forget("m", scope=A),
        lambda store: store.add_entity("Priya", scope=A),
        lambda store: store.reindex(),
    ],
)
def test_whatever_writes_says_so(write: Callable[[MemoryStore], object]) -> None:
    with MemoryStore.open() as store:
        store.remember_many([{"role": "user", "content": "hello", "id": "m"}], scope=A)
        before = store.revisions.of(A)
        write(store)
        assert store.revisions.of(A) not in (None, before)
        before = store.revisions.of(A)
        store.remember("coffee", scope=B)
        store.remember_many([{"role": "user", "content": "again", "id": "n"}], scope=B)
        assert store.revisions.of(A) == before
