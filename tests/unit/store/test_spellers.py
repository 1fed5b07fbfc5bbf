from __future__ import annotations

import gc
import logging
import os
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import event, select
from sqlalchemy.exc import OperationalError

from recall_integrations.config import QueryConfig, RecallConfig
from recall_integrations.errors import IndexUnavailable
from recall_integrations.query.spelling import LEARNED_MAX, Speller
from recall_integrations.records import Memory, Scope
from recall_integrations.resilience.daemons import DaemonThreads
from recall_integrations.retrievers.lexical import LexicalIndex
from recall_integrations.store import journal, schema, spellers
from recall_integrations.store.journal import LEXICAL
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.text import stems

OpenStore = Callable[..., MemoryStore]
NOW = datetime(2024, 5, 15, tzinfo=timezone.utc)
WORDS = ("kestrel", "inbox", "migration", "henrietta", "deploy", "async", "naïve", "日本", "v2")


def speller_of(store: MemoryStore, scope: Scope = Scope()) -> Speller:
    scope_id = store.scope_id(scope)
    assert scope_id is not None
    found = store.speller(scope_id)
    assert found is not None
    return found


def counts(speller: Speller) -> dict[str, int]:
    return {term: n for term, n in speller.vocabulary._frequencies.items() if n}


def table(store: MemoryStore) -> list[tuple[int, str, str, int, int | None]]:
    c = schema.corrections.c
    with store.engine.connect() as connection:
        query = select(c.scope_id, c.word, c.stem, c.uses, c.validated).order_by(c.scope_id, c.word, c.stem)
        return [tuple(row) for row in connection.execute(query)]


def in_background(monkeypatch: pytest.MonkeyPatch, store: MemoryStore) -> None:
    """Every scope counts as large."""
    monkeypatch.setattr(store._spellers, "_small", -1)


def around_reading(
    monkeypatch: pytest.MonkeyPatch,
    *,
    before: Callable[[], Any] = lambda: None,
    after: Callable[[], Any] = lambda: None,
) -> None:
    """Do something, once, before or after the vocabulary is read from the index while a speller is built."""
    read = LexicalIndex.vocabulary
    todo = [before, after]

    def vocabulary(self: LexicalIndex, scope_id: int) -> tuple[list[tuple[str, int]], int]:
        first, last = [todo.pop(0), todo.pop(0)] if todo else [lambda: None, lambda: None]
        first()
        found = read(self, scope_id)
        last()
        return found

    monkeypatch.setattr(LexicalIndex, "vocabulary", vocabulary)


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
@settings(max_examples=25, deadline=None)
def test_counts_are_those_of_a_plain_dict(shared: MemoryStore, ops: list[tuple[str, Any]], first_use: int) -> None:
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
            with shared._write_lock:
                shared.indexes.rebuild(LEXICAL)
        if step >= first_use:
            assert counts(speller_of(shared, scope)) == Counter(s for text in oracle.values() for s in set(stems(text)))


def test_the_actor_is_part_of_what_is_indexed(store: MemoryStore) -> None:
    store.remember(Memory("hello", actor="Henrietta"))
    assert counts(speller_of(store)) == {"hello": 1, "henrietta": 1}
    store.remember(Memory("migration", actor="Henrietta", id="m"))
    assert counts(speller_of(store))["henrietta"] == 2
    store.forget("m")
    assert counts(speller_of(store)) == {"hello": 1, "henrietta": 1}


def test_one_speller_stays_whatever_is_written(store: MemoryStore) -> None:
    store.remember("the migration is done")
    speller = speller_of(store)
    store.remember("Henrietta deploys")
    store.reindex()
    assert speller_of(store) is speller


@pytest.mark.parametrize("when", ["before", "after"])
def test_what_is_written_during_the_build_counts_once(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    store.remember(Memory("migration deploy", id="old"))

    def write() -> None:
        store.remember("migration again")
        store.forget("old")

    around_reading(monkeypatch, **{when: write})  # type: ignore[arg-type]
    assert counts(speller_of(store)) == {"migrat": 1}


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_memory_removed_from_under_the_build_does_not_count(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """Its removal had begun before the scope was of interest, so its words are not known."""
    store.remember_many([Memory("migration deploy", id="old"), Memory("deploy", id="new")])
    begin = spellers.Spellers.leaving
    monkeypatch.setattr(spellers.Spellers, "leaving", lambda self, c, s, _nums: begin(self, c, s, []))
    around_reading(monkeypatch, **{when: lambda: store.forget("old")})  # type: ignore[arg-type]
    assert counts(speller_of(store)) == {"deploy": 1}


@pytest.mark.parametrize("when", ["before", "after"])
def test_reindexing_during_the_build(store: MemoryStore, monkeypatch: pytest.MonkeyPatch, when: str) -> None:
    store.remember("migration deploy")
    around_reading(monkeypatch, **{when: store.reindex})  # type: ignore[arg-type]
    assert counts(speller_of(store)) == {"migrat": 1, "deploy": 1}
    store.remember("deploy")
    assert counts(speller_of(store)) == {"migrat": 1, "deploy": 2}


def test_changes_caught_up_after_a_failure_are_counted(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.remember_many([Memory("migration deploy", id="a"), Memory("deploy", id="b")])
    assert counts(speller_of(store)) == {"migrat": 1, "deploy": 2}

    def full(*_: object, **__: object) -> None:
        raise IndexUnavailable("disk full")

    with monkeypatch.context() as patched:
        patched.setattr(LexicalIndex, "apply", full)
        store.forget("a")
        store.remember(Memory("Henrietta", id="c"))
        store.forget("c")
    store.remember("deploy Kestrel")
    assert counts(speller_of(store)) == {"deploy": 2, "kestrel": 1}


def test_changes_applied_a_second_time_count_once(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.remember("deploy")
    speller_of(store)

    def fail(*_: object) -> None:
        raise OperationalError("UPDATE", {}, Exception("disk full"))

    with monkeypatch.context() as patched:
        patched.setattr(journal, "move", fail)
        store.remember("kestrel")  # in the index, but its cursor stays behind
    store.remember("migration")
    assert counts(speller_of(store)) == {"deploy": 1, "kestrel": 1, "migrat": 1}


def test_two_scopes_share_nothing(store: MemoryStore) -> None:
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
    assert speller_of(store, one).correct("secretwrod", now=NOW) is None
    made = speller_of(store, twelve).correct("secretwrod", now=NOW)
    assert made is not None and made.correction == "secretword"
    speller_of(store, one).correct("kestral", now=NOW)
    store._spellers.flush()
    assert [row[:3] for row in table(store)] == [(1, "kestral", "kestrel"), (12, "secretwrod", "secretword")]


# -- when it is built --------------------------------------------------------------------------------------------------


def test_a_large_scope_has_none_until_it_is_built(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.remember("migration deploy")
    in_background(monkeypatch, store)
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
    in_background(monkeypatch, store)
    store.warm()
    assert store.speller(1) is not None


def test_the_number_of_memories_decides(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store._spellers, "_small", 2)
    monkeypatch.setattr(spellers, "_start", lambda *_: True)  # nothing in the background is ever done
    store._spellers._words = None
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
    in_background(monkeypatch, store)
    with monkeypatch.context() as patched:
        patched.setattr(spellers, "_start", lambda *_: False)
        assert store.speller(1) is None
        assert store.speller(1, wait=True) is not None  # nobody is waited for in vain


def test_without_a_lexical_index_there_is_none(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store.remember("migration deploy")

    def broken(*_: object) -> None:
        raise IndexUnavailable("gone")

    with monkeypatch.context() as patched, caplog.at_level(logging.WARNING):
        patched.setattr(LexicalIndex, "vocabulary", broken)
        assert store.speller(1) is None
        assert store.speller(1) is None
        store.warm()
        with pytest.raises(IndexUnavailable, match="gone"):
            store.speller(1, wait=True)
    assert sum("gone" in record.message for record in caplog.records) == 1
    assert counts(speller_of(store)) == {"migrat": 1, "deploy": 1}


def test_a_scope_without_memories(store: MemoryStore) -> None:
    store.add_entity("Priya")
    assert counts(speller_of(store)) == {}
    store.remember("migration")
    assert counts(speller_of(store)) == {"migrat": 1}


def test_a_closed_store_has_none(open_store: OpenStore) -> None:
    store = open_store()
    store.remember("migration")
    store.close()
    assert store._spellers.of(1) is None


def test_the_least_recently_used_scope_leaves(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spellers, "SCOPES_KEPT", 2)
    scopes = [Scope(user_id=f"u{n}") for n in range(4)]
    for scope in scopes:
        store.remember("migration kestrel", scope=scope)
    first = speller_of(store, scopes[0])
    first.correct("kestral", now=NOW)
    for scope in scopes[1:]:
        speller_of(store, scope)
    assert list(store._spellers._kept) == [1, 4]  # the first has something to write
    assert speller_of(store, scopes[0]) is first
    assert store._spellers.flush() == 1
    speller_of(store, scopes[1])
    speller_of(store, scopes[2])
    again = speller_of(store, scopes[0])
    assert again is not first
    assert [row[:3] for row in again.rows()] == [("kestral", "kestrel", 1)]


# -- what was learned --------------------------------------------------------------------------------------------------


def test_corrections_outlive_the_store(open_store: OpenStore) -> None:
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


def test_a_store_that_is_dropped_writes_too(open_store: OpenStore, fast_path: Path, embedding: object) -> None:
    store = MemoryStore.open(fast_path / "dropped", embedding=embedding)
    store.remember("kestrel")
    speller_of(store).correct("kestral", now=NOW)
    del store
    gc.collect()
    assert [row[1:] for row in table(open_store("dropped"))] == [("kestral", "kestrel", 1, None)]


def test_they_are_written_in_the_background(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_nothing_is_written_when_nothing_changed(open_store: OpenStore) -> None:
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


def test_a_thousand_are_kept(store: MemoryStore) -> None:
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


def test_a_smaller_bound_empties_the_table(open_store: OpenStore) -> None:
    store = open_store()
    store.remember("kestrel migration")
    speller_of(store).correct("kestral", now=NOW)
    speller_of(store).correct("migraton", now=NOW + timedelta(seconds=1))
    store.close()
    store = open_store(config=RecallConfig(query=QueryConfig(spelling_learned_max=1)))
    speller_of(store)
    store._spellers.flush()
    assert [row[1] for row in table(store)] == ["migraton"]


def test_what_is_forgotten_is_no_correction_any_more(store: MemoryStore) -> None:
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


def test_what_was_forgotten_without_a_speller_leaves_the_table(open_store: OpenStore) -> None:
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
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
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


def test_uses_do_not_wait_for_a_writer(store: MemoryStore) -> None:
    store.remember("kestrel")
    done: list[object] = []
    with store._write_lock, store.engine.begin() as connection:
        connection.execute(schema.meta.insert().values(key="busy", value="1"))
        thread = threading.Thread(target=lambda: done.append(speller_of(store).correct("kestral", now=NOW)))
        thread.start()
        thread.join(30)
    assert len(done) == 1


# -- validation --------------------------------------------------------------------------------------------------------


def test_who_validates_may_come_later(open_store: OpenStore) -> None:
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
    pool, go_on = DaemonThreads(1, "test"), threading.Event()
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
