"""What spellers learned: when it is written, what is kept of it, and who validates it."""

from __future__ import annotations

import gc
import logging
import threading
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.exc import OperationalError

from recall_integrations.config import QueryConfig, RecallConfig
from recall_integrations.database import schema
from recall_integrations.query.spelling import LEARNED_MAX, Speller
from recall_integrations.resilience.bulkhead import Bulkhead
from recall_integrations.store import spellers
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import Memory, Scope

OpenStore = Callable[..., MemoryStore]
SpellerOf = Callable[..., Speller]
Table = Callable[[MemoryStore], list[tuple[Any, ...]]]
NOW = datetime(2024, 5, 15, tzinfo=timezone.utc)


# -- what was learned --------------------------------------------------------------------------------------------------


def test_corrections_outlive_the_store(open_store: OpenStore, speller_of: SpellerOf, table: Table) -> None:
    store = open_store()
    store.remember_many(["migration kestrel", "kestrel"])
    speller_of(store).correct("migraton", now=NOW)
    for seconds in range(3):
        speller_of(store).correct("kestral", now=NOW + timedelta(seconds=seconds))
    before = speller_of(store).rows()
    store.close()
    store = open_store()
    assert speller_of(store).rows() == before
    assert store.stats()["corrections"] == 2
    made = speller_of(store).correct("kestral", now=NOW)
    assert made is not None and made.learned
    store.close()
    assert [row[1:4] for row in table(open_store())] == [("kestral", "kestrel", 4), ("migraton", "migrat", 1)]


def test_a_store_that_is_dropped_writes_too(
    open_store: OpenStore, fast_path: Path, embedding: object, speller_of: SpellerOf, table: Table
) -> None:
    store = MemoryStore.open(fast_path / "dropped", embedding=embedding)
    store.remember("kestrel")
    speller_of(store).correct("kestral", now=NOW)
    del store
    gc.collect()
    assert [row[1:] for row in table(open_store("dropped"))] == [("kestral", "kestrel", 1, None)]


def test_they_are_written_in_the_background(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch, speller_of: SpellerOf, table: Table
) -> None:
    monkeypatch.setattr(store._spellers, "_flush_s", 0.01)
    written = threading.Event()
    write = spellers.Spellers._write

    def then_say(self: spellers.Spellers) -> int:
        count = write(self)
        written.set()
        return count

    monkeypatch.setattr(spellers.Spellers, "_write", then_say)
    store.remember("kestrel")
    while not written.is_set():
        speller_of(store).correct("kestral", now=NOW)
        written.wait(0.02)
    assert [row[1:3] for row in table(store)] == [("kestral", "kestrel")]


def test_nothing_is_written_when_nothing_changed(open_store: OpenStore, speller_of: SpellerOf) -> None:
    store = open_store()
    store.remember_many(["kestrel", "migration"])
    speller_of(store).correct("kestral", now=NOW)
    speller_of(store).correct("migraton", now=NOW)
    assert store._spellers.flush() == 2
    store.close()
    store = open_store()
    statements: list[str] = []
    event.listen(store.engine, "before_cursor_execute", lambda *call: statements.append(call[2]))
    speller_of(store).correct("kestrel", now=NOW)
    assert store._spellers.flush() == 0
    speller_of(store).correct("kestral", now=NOW + timedelta(days=1))
    assert store._spellers.flush() == 1  # one row, not all
    assert store._spellers.flush() == 0
    store.remember("deploy")
    store.forget("never seen")
    assert store._spellers.flush() == 0
    store.close()
    wrote = [s for s in statements if "corrections" in s and not s.startswith("SELECT")]
    assert [s.split()[0] for s in wrote] == ["DELETE", "INSERT"]


def test_a_thousand_are_kept(store: MemoryStore, speller_of: SpellerOf, table: Table) -> None:
    store.remember("kestrel migration")
    speller = speller_of(store)
    for n in range(LEARNED_MAX):
        made = speller.correct("kestrl", now=NOW) if not n else None
        assert n or made is not None
    rows = [(f"kestrel{n}", "kestrel", 1, None, NOW + timedelta(seconds=n)) for n in range(LEARNED_MAX)]
    speller.load(rows)
    speller.correct("migraton", now=NOW + timedelta(days=1))
    store._spellers.flush()
    words = {row[1] for row in table(store)}
    assert len(words) == LEARNED_MAX
    assert "migraton" in words and {"kestrl", "kestrel0"}.isdisjoint(words)
    speller.correct("kestrl", now=NOW + timedelta(days=2))
    assert store._spellers.flush() == 2  # one came, one went
    assert len(table(store)) == LEARNED_MAX


def test_a_smaller_bound_empties_the_table(open_store: OpenStore, speller_of: SpellerOf, table: Table) -> None:
    store = open_store()
    store.remember("kestrel migration")
    speller_of(store).correct("kestral", now=NOW)
    speller_of(store).correct("migraton", now=NOW + timedelta(seconds=1))
    store.close()
    store = open_store(config=RecallConfig(query=QueryConfig(spelling_learned_max=1)))
    speller_of(store)
    store._spellers.flush()
    assert [row[1] for row in table(store)] == ["migraton"]


def test_what_is_forgotten_is_no_correction_any_more(store: MemoryStore, speller_of: SpellerOf, table: Table) -> None:
    store.remember_many([Memory("Kestrel migration", id="m1"), Memory("migration", id="m2")])
    speller = speller_of(store)
    assert speller.correct("kestral", now=NOW) is not None
    assert speller.correct("migraton", now=NOW) is not None
    store._spellers.flush()
    store.forget("m1")
    assert speller.vocabulary.frequency("kestrel") == 0
    assert speller.correct("kestral", now=NOW) is None
    assert store._spellers.flush() == 1
    assert [row[1] for row in table(store)] == ["migraton"]  # nor does the word stay on disk
    store.remember(Memory("Kestrel again", id="m3"))
    made = speller.correct("kestral", now=NOW)
    assert made is not None and made.learned


def test_what_was_forgotten_without_a_speller_leaves_the_table(
    open_store: OpenStore, speller_of: SpellerOf, table: Table
) -> None:
    store = open_store()
    store.remember_many([Memory("Kestrel migration", id="m1"), Memory("migration", id="m2")])
    speller_of(store).correct("kestral", now=NOW)
    store.close()
    store = open_store()
    store.forget("m1")
    assert speller_of(store).correct("kestral", now=NOW) is None
    store._spellers.flush()
    assert table(store) == []


def test_what_cannot_be_written_is_tried_again(
    store: MemoryStore,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    speller_of: SpellerOf,
    table: Table,
) -> None:
    store.remember("kestrel")
    speller_of(store).correct("kestral", now=NOW)

    def full(*_: object) -> int:
        raise OperationalError("INSERT", {}, Exception("disk full"))

    with monkeypatch.context() as patched, caplog.at_level(logging.WARNING):
        patched.setattr("recall_integrations.store.corrections.write", full)
        assert store._spellers.flush() == 0
    assert "disk full" in caplog.text
    assert store._spellers.flush() == 1
    assert len(table(store)) == 1


def test_uses_do_not_wait_for_a_writer(store: MemoryStore, speller_of: SpellerOf) -> None:
    store.remember("kestrel")
    done: list[object] = []
    with store._write_lock, store.engine.begin() as connection:
        connection.execute(schema.meta.insert().values(key="busy", value="1"))
        thread = threading.Thread(target=lambda: done.append(speller_of(store).correct("kestral", now=NOW)))
        thread.start()
        thread.join(30)
    assert len(done) == 1


# -- validation --------------------------------------------------------------------------------------------------------


def test_who_validates_may_come_later(open_store: OpenStore, speller_of: SpellerOf, table: Table) -> None:
    store = open_store()
    store.remember_many(["Kestrel", "migration"])
    store.remember("Henrietta", scope=Scope(user_id="u2"))
    speller_of(store).correct("migraton", now=NOW)
    asked: list[str] = []
    ran: list[str] = []

    def submit(task: Callable[[], None]) -> None:
        ran.append("")
        task()

    def validate(prompt: str) -> str:
        asked.append(prompt)
        return "no" if "migrat" in prompt else "yes"

    speller = store.speller(1, validate=validate, submit=submit)
    assert speller is not None
    assert speller.correct("kestral", now=NOW) is not None
    assert speller.correct("migraton", now=NOW) is not None
    assert speller.correct("migraton", now=NOW) is None
    assert len(asked) == len(ran) == 2
    assert speller_of(store, Scope(user_id="u2")).correct("henriettta", now=NOW) is not None  # every scope's
    store.close()
    assert [(word, valid) for _, word, _, _, valid in table(open_store())] == [
        ("kestral", 1),
        ("migraton", 0),
        ("henriettta", 1),
    ]


def test_a_busy_pool_does_not_stop_validation_for_good(store: MemoryStore) -> None:
    store.remember("Kestrel migration Henrietta deployment expensive calendar")
    pool, go_on = Bulkhead("test", 1), threading.Event()
    taken = pool.submit(go_on.wait)
    speller = store.speller(1, validate=lambda _prompt: "no", submit=pool.submit)
    assert speller is not None
    for word in ("kestral", "migraton", "henriettta", "deploymnt", "expensve", "calender"):
        speller.correct(word, now=NOW)
    go_on.set()
    taken.result(30)
    speller = store.speller(1, validate=lambda _prompt: "no", submit=lambda task: task())
    assert speller is not None
    speller.correct("kestral", now=NOW)
    assert speller.correct("kestral", now=NOW) is None
