"""A scope that is not in memory yet is read beside the recall."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator

import pytest

from recall_integrations.errors import StoreCorrupt
from recall_integrations.recall.plan import SCOPES_AT_ONCE, Loader
from recall_integrations.resilience.deadline import Deadline

LONG = Deadline.after(None)


class Store:
    """What a loader asks of a store."""

    def __init__(self, reads: Callable[[], object] = lambda: None) -> None:
        self.reads = reads
        self.seen: list[int] = []
        self.there: set[int] = set()
        self.reader = self  # which is asked for the languages

    def in_memory(self, scope_id: int) -> bool:
        return scope_id in self.there

    def entities(self, scope_id: int) -> None:
        self.seen.append(scope_id)
        self.reads()

    def languages(self, scope_id: int) -> None:
        pass

    def view(self, scope_id: int) -> None:
        pass


def loader(store: Store, prepared: Callable[[], object] = lambda: None) -> Loader:
    return Loader(store, prepared)  # type: ignore[arg-type]


def test_what_is_there_is_not_read() -> None:
    store = Store()
    store.there.add(1)
    assert loader(store).loaded(1, Deadline.after(0)) and store.seen == []


def test_it_is_waited_for_as_long_as_there_is_time() -> None:
    prepared: list[int] = []
    store = Store()
    assert loader(store, lambda: prepared.append(1)).loaded(1, LONG)
    assert store.seen == [1] and prepared == [1]


def test_who_has_no_time_goes_on_and_the_next_finds_it_under_way() -> None:
    release = threading.Event()
    store = Store(lambda: release.wait(60))
    own = loader(store)
    assert not own.loaded(1, Deadline.after(1))
    assert not own.loaded(1, Deadline.after(1))
    release.set()
    assert own.loaded(1, LONG)
    assert store.seen == [1]


def test_one_scope_does_not_hold_another() -> None:
    release = threading.Event()
    store = Store(lambda: release.wait(60))
    own = loader(store)
    for scope_id in range(SCOPES_AT_ONCE):
        assert not own.loaded(scope_id, Deadline.after(1))
    assert not own.loaded(99, LONG)  # too many at once: not waited for, and asked for again later
    release.set()
    assert all(own.loaded(scope_id, LONG) for scope_id in range(SCOPES_AT_ONCE))
    assert own.loaded(99, LONG)


def test_what_reading_raises_is_raised_once_for_each_try() -> None:
    def broken() -> None:
        raise StoreCorrupt("page 3")

    own = loader(Store(broken))
    for _ in range(2):
        with pytest.raises(StoreCorrupt, match="page 3"):
            own.loaded(1, LONG)


def test_a_load_that_failed_while_nobody_waited_is_made_again() -> None:
    release, fail = threading.Event(), [True]

    def reads() -> None:
        release.wait(60)
        if fail[0]:
            raise StoreCorrupt("page 3")

    own = loader(Store(reads))
    assert not own.loaded(1, Deadline.after(1))
    release.set()
    with contextlib.suppress(StoreCorrupt):  # it may still be under way
        own.loaded(1, LONG)
    fail[0] = False
    assert own.loaded(1, LONG)


def test_a_wait_is_surrounded() -> None:
    seen: list[str] = []

    @contextlib.contextmanager
    def waiting() -> Iterator[None]:
        seen.append("in")
        yield
        seen.append("out")

    assert Loader(Store(), lambda: None, waiting).loaded(1, LONG)  # type: ignore[arg-type]
    assert seen == ["in", "out"]
