"""Which rows of a scope a session is."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from recall_integrations import Memory, MemoryStore, Scope
from recall_integrations.indexes.windows import in_order, settle, window_mask
from recall_integrations.types.query import SessionRef
from tests.rows import each_row

START = datetime(2023, 5, 8, 10, tzinfo=timezone.utc)


def turns(thread: str, day: int, count: int = 4, **fields) -> list[Memory]:
    at = START + timedelta(days=day)
    return [
        Memory(
            text=f"turn {i} of {thread}",
            id=f"{thread}:{i}",
            thread=thread,
            position=i,
            event_at=at + timedelta(minutes=i),
            **fields,
        )
        for i in range(count)
    ]


def view_of(*threads: list[Memory]):
    store = MemoryStore.open()
    store.remember_many([m for thread in threads for m in thread])
    scope_id = store.scope_id(Scope())
    assert scope_id is not None
    return store.view(scope_id)


def ids(view, settled, limit=100):
    return [view.ids[row] for row in in_order(settled, view, limit)]


@pytest.fixture(scope="module")
def view():
    """Three sessions that arrived in another order than that of their times; the second turn of b came first."""
    b = turns("b", 2)
    return view_of(turns("c", 5), [b[1], b[0], *b[2:]], turns("a", 0))


def test_threads_are_in_the_order_of_their_times(view):
    for place, thread in ((1, "a"), (2, "b"), (3, "c"), (-1, "c"), (-3, "a")):
        found = settle(SessionRef(places=(place,)), view)
        assert found.session.found == f"session {'abc'.index(thread) + 1} of 3"
        assert found.mask is not None and found.mask.sum() == 4
        assert ids(view, found) == [f"{thread}:{i}" for i in range(4)]


def test_several_are_one_after_the_other(view):
    found = settle(SessionRef(places=(3, 1)), view)
    assert found.session.found == "sessions 3 and 1 of 3"
    assert ids(view, found, 6) == ["c:0", "c:1", "c:2", "c:3", "a:0", "a:1"]


def test_what_is_not_there_is_said(view):
    found = settle(SessionRef(places=(4,)), view)
    assert (found.mask, found.session.found, found.session.because) == (None, "", "there are only 3 sessions")


def test_equal_times_go_by_order_of_arrival():
    view = view_of(turns("z", 0), turns("y", 0))
    assert ids(view, settle(SessionRef(places=(1,)), view))[0] == "z:0"


def test_within_a_time_the_first_is_the_first_of_that_time(view):
    window = window_mask(view, START + timedelta(days=1), None)
    found = settle(SessionRef(places=(1,)), view, window)
    assert ids(view, found)[0] == "b:0"
    assert found.session.found == "session 1 of 2 in that time"
    assert ids(view, settle(SessionRef(places=(3,)), view, window))[0] == "c:0"  # there it has two only


def test_numbers_in_names_count_if_they_rise_with_time():
    view = view_of(turns("chat-7", 0), turns("chat-8", 1), turns("chat-9", 2))
    found = settle(SessionRef(places=(8,), numbered=True), view)
    assert found.session.found == "session 8 by name"
    assert ids(view, found)[0] == "chat-8:0"
    assert settle(SessionRef(places=(3,), numbered=True), view).session.found == "session 3 of 3"
    assert settle(SessionRef(places=(8,)), view).mask is None  # "our eighth session" is no name


@each_row(
    "names",
    [("chat-9", "chat-7", "chat-8"), ("2023-05-07", "2023-05-08", "2023-05-09"), ("a8", "b9", "c10"), ("x", "s8", "y")],
)
def test_other_numbers_in_names_do_not_count(names):
    view = view_of(*(turns(name, day) for day, name in enumerate(names)))
    assert settle(SessionRef(places=(8,), numbered=True), view).session.because == "there are only 3 sessions"


def test_documents_are_no_sessions():
    handbook = turns("handbook", 0, type="chunk")
    assert settle(SessionRef(places=(1,)), view_of(handbook)).session.because == "there are no sessions here"
    view = view_of(handbook, turns("chat", 1), turns("minutes", 2, type="chunk", actor="Ann"))
    assert settle(SessionRef(places=(-1,)), view).session.found == "session 2 of 2"
    assert settle(SessionRef(places=(1,)), view_of(turns("one", 0)[:1])).session.found == "session 1 of 1"


def test_parts(view):
    whole = settle(SessionRef(places=(), part="beginning"), view)
    assert ids(view, whole)[0] == "a:0" and whole.session.found == "session 1 of 3"
    assert settle(SessionRef(places=(), part="end"), view).session.found == "session 3 of 3"
    alone = view_of(turns("long", 0, 60))
    begin = settle(SessionRef(places=(), part="beginning"), alone)
    assert begin.session.found == "the beginning of the only session"
    assert ids(alone, begin) == [f"long:{i}" for i in range(20)]
    end = settle(SessionRef(places=(1,), part="end"), alone)
    assert ids(alone, end) == [f"long:{i}" for i in range(59, 39, -1)]
