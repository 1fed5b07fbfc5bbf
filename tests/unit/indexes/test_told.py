"""Times that memories tell, beside the columns of a scope."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pytest

from recall_integrations import Memory, MemoryStore, QueryOptimizer, Scope, TemporalWindow
from recall_integrations.indexes.scope_view import SHARE_LEAST, WORTH, ScopeView, Told, ToldColumn
from recall_integrations.indexes.times import to_micros
from recall_integrations.indexes.windows import asked_mask, asked_shares, told_shares

AT = datetime(2023, 5, 17, 12, tzinfo=timezone.utc)  # a Wednesday
MAY, JUNE = datetime(2023, 5, 1, tzinfo=timezone.utc), datetime(2023, 6, 1, tzinfo=timezone.utc)
APRIL = datetime(2023, 4, 1, tzinfo=timezone.utc)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with MemoryStore.open(tmp_path / "store") as made:
        yield made


def view_of(store: MemoryStore) -> ScopeView:
    scope_id = store.scope_id(Scope())
    assert scope_id is not None
    return store.view(scope_id)


def shares(view: ScopeView, start: datetime | None, end: datetime | None) -> dict[str, float]:
    found = told_shares(view.told, TemporalWindow(start=start, end=end))
    return {view.ids[int(row)]: round(float(found[row]), 3) for row in np.flatnonzero(found)}


def test_what_lies_in_a_window_is_a_share_of_what_is_told(store: MemoryStore) -> None:
    store.remember_many(
        [
            Memory("I moved last month", id="month", event_at=AT),
            Memory("I hiked the weekend before last", id="weekend", event_at=AT),
            Memory("Last year I began to climb", id="year", event_at=AT),
            Memory("We swam on 30 April 2023, and yesterday", id="two", event_at=AT),
            Memory("I climb", id="none", event_at=AT),
        ]
    )
    view = view_of(store)
    assert shares(view, APRIL, MAY) == {"month": 1, "two": 1}
    assert shares(view, MAY, JUNE) == {"weekend": 1, "two": 1}
    assert shares(view, None, MAY) == {"month": 1, "two": 1, "year": 1}
    assert shares(view, APRIL + timedelta(days=24), MAY) == {"month": 0.2, "two": 1}
    assert shares(view, APRIL, APRIL + timedelta(days=1)) == {}  # a thirtieth is less than SHARE_LEAST
    assert shares(view, JUNE, None) == {}
    assert 1 / 30 < SHARE_LEAST < 1 / 7  # of months days are nothing, of weeks they are


def test_what_is_of_the_window_counts_more_than_what_tells_of_it(store: MemoryStore) -> None:
    store.remember_many(
        [Memory("I moved last month", id="told", event_at=AT), Memory("We pack", id="own", event_at=APRIL)]
    )
    view = view_of(store)
    april = TemporalWindow(start=APRIL, end=MAY)
    assert asked_mask(view, april).tolist() == [False, True]  # what decides is only of the time itself
    assert asked_shares(view, april).tolist() == pytest.approx([WORTH, 1])


def test_new_replaced_and_forgotten_memories(store: MemoryStore) -> None:
    store.remember(Memory("I moved last month", id="a", event_at=AT))
    before = view_of(store)
    assert shares(before, APRIL, MAY) == {"a": 1}
    store.remember(Memory("Sam moved last month", id="b", event_at=AT))
    assert shares(view_of(store), APRIL, MAY) == {"a": 1, "b": 1}
    assert shares(before, APRIL, MAY) == {"a": 1}  # a snapshot stays what it was
    store.remember(Memory("I moved yesterday", id="a", event_at=AT))
    assert shares(view_of(store), APRIL, MAY) == {"b": 1}
    assert shares(view_of(store), MAY, JUNE) == {"a": 1}
    store.forget("b")
    assert shares(view_of(store), None, None) == {"a": 1}


def test_nothing_of_another_scope(store: MemoryStore) -> None:
    store.remember(Memory("I moved last month", id="a", event_at=AT), scope=Scope(user_id="ann"))
    store.remember(Memory("I moved", id="b", event_at=AT))
    assert shares(view_of(store), None, None) == {}


def test_a_document_of_no_time_tells_none(store: MemoryStore) -> None:
    text = "We moved last month. " + " ".join(f"paragraph{i} describes building{i}" for i in range(20))
    store.remember(Memory(text, id="stored", type="chunk", created_at=AT))
    store.remember(Memory(text, id="told", type="chunk", event_at=AT))
    assert shares(view_of(store), APRIL, MAY) == {"told": 1}


def test_a_note_that_is_stored_as_a_document_tells_its_time(store: MemoryStore) -> None:
    store.remember(Memory("We moved last month", id="stored", type="chunk", created_at=AT))
    assert shares(view_of(store), APRIL, MAY) == {"stored": 1}


def test_it_is_there_in_the_next_process(tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path) as store:
        store.remember_many([Memory(f"I moved last month, {i}", id=f"m{i}", event_at=AT) for i in range(30)])
    with MemoryStore.open(tmp_path) as store:
        assert len(shares(view_of(store), APRIL, MAY)) == 30


def test_it_is_read_only_when_a_time_is_asked_for(store: MemoryStore) -> None:
    store.remember(Memory("I moved last month", id="a", event_at=AT))
    optimizer = QueryOptimizer(store)
    optimizer.recall("who moved", now=AT)
    assert "told" not in view_of(store).memo
    optimizer.recall("who moved in April 2023", now=AT)
    assert "told" in view_of(store).memo


def test_the_time_of_a_row_with_the_largest_share() -> None:
    day = 86_400_000_000
    nums = np.asarray([1, 2, 4], dtype=np.int64)
    column = ToldColumn(
        upto=9,
        nums=np.asarray([1, 2, 2, 3, 9], dtype=np.int64),
        start=np.asarray([0, 0, 5, 0, 0], dtype=np.int64) * day,
        stop=np.asarray([1, 10, 6, 1, 1], dtype=np.int64) * day,
    )
    told = Told.of(column, nums, np.asarray([False, True, True]))
    assert told.rows.tolist() == [1, 1]  # the first is dead, the others are not there
    assert told.of_rows([1], 5 * day, 6 * day) == {1: (5 * day, 6 * day)}
    assert told.of_rows([0, 1, 2]) == {1: (0, 10 * day)}
    assert told.of_rows([1], 20 * day, None) == {}
    assert told.tells().tolist() == [False, True, False]
    assert Told.of(ToldColumn(), nums, np.ones(3, dtype=np.bool_)).shares(0, to_micros(AT)).tolist() == [0, 0, 0]
