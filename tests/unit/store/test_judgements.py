"""The table of judged recalls: durable, joined, bounded, gone with its scope."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone

import numpy as np
import pytest
from sqlalchemy import func, select

from recall_integrations import MemoryStore, Scope
from recall_integrations.config import LearnedConfig
from recall_integrations.database import schema
from recall_integrations.errors import StoreClosed
from recall_integrations.indexes.times import to_micros
from recall_integrations.store import judgements
from recall_integrations.store.judgements import joined
from recall_integrations.types.judged import Gain, Judged, Replay
from tests.rows import each_row

NOW = datetime(2026, 6, 17, tzinfo=timezone.utc)
ANN, BOB = Scope(user_id="ann"), Scope(user_id="bob")
SETTINGS = LearnedConfig()


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with MemoryStore.open(clock=lambda: NOW) as opened:
        opened.remember("Tea is ready", scope=ANN)
        opened.remember("Coffee is ready", scope=BOB)
        yield opened


def of(result_id: str = "r1", *, days: float = 0.0, gains: tuple[Gain, ...] = (Gain(num=1, gain=1.0),)) -> Judged:
    return Judged(result_id=result_id, at=to_micros(NOW - timedelta(days=days)), signature="s", gains=gains)


def rows(store: MemoryStore) -> int:
    with store.engine.connect() as connection:
        return int(connection.execute(select(func.count()).select_from(schema.judged)).scalar_one())


def test_what_was_said_is_there_after_a_restart(tmp_path) -> None:
    x = np.ones((1, 1), dtype=np.float32)
    replay = Replay(plan="p", orders={"rules": (1,)}, nums=(1,), offset=x[0], names=("cosine",), x=x)
    with MemoryStore.open(tmp_path / "s", clock=lambda: NOW) as store:
        store.remember("Tea is ready", scope=ANN)
        assert store.judgements.put(ANN, of(), settings=SETTINGS)
        store.judgements.replayed(ANN, "r1", replay)
    with MemoryStore.open(tmp_path / "s", clock=lambda: NOW) as store:
        (found,) = store.judgements.of(ANN)
        assert found.gains == of().gains and found.replay is not None and found.replay.orders == replay.orders
        assert store.judgements.counts() == {ANN: 1} and store.judgements.of(BOB) == ()


def test_a_recall_that_is_judged_twice_is_one(store) -> None:
    store.judgements.put(ANN, of(gains=(Gain(num=1, gain=1.0, sure=0.3), Gain(num=2, gain=0.0))), settings=SETTINGS)
    store.judgements.put(ANN, of(gains=(Gain(num=1, gain=0.0), Gain(num=2, gain=1.0, sure=0.2))), settings=SETTINGS)
    (found,) = store.judgements.of(ANN)
    assert found.gains == (Gain(num=1, gain=0.0), Gain(num=2, gain=0.0))


def test_what_is_surer_stays_else_what_is_newer() -> None:
    old, new = Gain(num=1, gain=1.0, sure=0.5), Gain(num=1, gain=0.0, sure=0.5)
    assert joined((old,), (new,)) == (new,)
    assert joined((old,), (Gain(num=1, gain=0.0, sure=0.3),)) == (old,)


def test_a_scope_that_was_never_seen_has_no_feedback(store) -> None:
    assert not store.judgements.put(Scope(user_id="eve"), of(), settings=SETTINGS)
    assert rows(store) == 0


def test_the_oldest_leave(store, monkeypatch) -> None:
    monkeypatch.setattr(judgements, "KEEP_MAX", 3)
    for i in range(6):
        store.judgements.put(ANN, of(f"r{i}", days=6 - i), settings=SETTINGS)
    store.judgements.put(BOB, of("other"), settings=SETTINGS)
    assert [one.result_id for one in store.judgements.of(ANN)] == ["r3", "r4", "r5"]
    assert len(store.judgements.of(BOB)) == 1


def test_what_is_too_old_is_removed(store) -> None:
    store.judgements.put(ANN, of("old", days=91), settings=SETTINGS)
    store.judgements.put(ANN, of("new", days=89), settings=SETTINGS)
    assert store.judgements.prune(SETTINGS) == 1
    assert [one.result_id for one in store.judgements.of(ANN)] == ["new"]


def test_forgetting_a_user_forgets_what_was_said_and_learned(store) -> None:
    store.judgements.put(ANN, of(), settings=SETTINGS)
    store.judgements.put(BOB, of(), settings=SETTINGS)
    from recall_integrations.learning.versions import Event, Shelf

    shelf = Shelf(store.learned, store.entity_key)
    for scope in (ANN, BOB):
        shelf.change(shelf.name_of(scope), lambda old: old.after(Event(at=1, step="nothing", version="")))
    store.forget(user_id="ann")
    assert store.judgements.counts() == {BOB: 1} and store.learned.names() == (shelf.name_of(BOB),)


@each_row("column", ["gains", "replay", "at"])
@each_row("garbage", ["'{'", "x'ff00fe'", "'zzz'"])
def test_a_damaged_row_costs_itself(store, column, garbage) -> None:
    for name in ("a", "b"):
        store.judgements.put(ANN, of(name), settings=SETTINGS)
        store.judgements.replayed(ANN, name, Replay(plan="p", orders={}))
    with store.engine.begin() as connection:
        connection.exec_driver_sql(f"UPDATE judged SET {column} = {garbage} WHERE result_id = 'a'")
    found = {one.result_id: one for one in store.judgements.of(ANN)}
    assert "b" in found and found["b"].replay is not None
    assert "a" not in found or found["a"].replay is None or column != "replay"


def test_a_closed_store_says_so(store) -> None:
    judgements = store.judgements
    store.close()
    with pytest.raises(StoreClosed):
        judgements.put(ANN, of(), settings=SETTINGS)
    with pytest.raises(StoreClosed):
        judgements.of(ANN)
