"""The same calls on SQLite and on PostgreSQL give the same, and leave the same rows behind."""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
from sqlalchemy import Connection, Engine, create_engine, select
from sqlalchemy.exc import IntegrityError

from recall_integrations import MemoryStore, QueryOptimizer
from recall_integrations.database import schema
from recall_integrations.database.engine import open_sqlite
from recall_integrations.database.postgres import make_ready, open_postgres
from recall_integrations.database.postgres_errors import mapped_error
from recall_integrations.database.schema import get_meta, put_meta
from recall_integrations.database.sending import COPIED, insert_rows, numbers_joined, streamed
from recall_integrations.errors import InvalidMemory
from recall_integrations.facts import by_llm as llm_rows
from recall_integrations.facts import rows as fact_rows
from recall_integrations.facts.slots import DEFAULT
from recall_integrations.indexes import word_rows
from recall_integrations.indexes.damage import Damage
from recall_integrations.indexes.lexicon import Lexicon
from recall_integrations.indexes.scope_view import ToldColumn
from recall_integrations.indexes.times import to_row
from recall_integrations.privacy.door import Door
from recall_integrations.serving import looking as times
from recall_integrations.serving.looking import names
from recall_integrations.store import chroma_files, journal, languages, reader, rows
from recall_integrations.store.journal import SEMANTIC, Change
from recall_integrations.types import Filters, Memory, MemoryType, Relation, Scope
from tests.postgres import Postgres

T = TypeVar("T")
NOW = datetime(2024, 5, 15, 12, 0, tzinfo=timezone.utc)
PRIYA = Scope(user_id="priya")
SQLITE, POSTGRESQL = "sqlite", "postgresql"
Both = dict[str, Engine]
ODD = [
    "",
    "a\tb\nc\r",
    "\\",
    "\\N",
    "\\.",
    'it\'s "so"',
    "100 % (%s, %(x)s, :x, ?)",
    "naïve ﷺ 😀",
    "\x7f\x01",
    "{}",
    "NULL",
]


@pytest.fixture
def both(fast_path: Path, postgres_url: str) -> Iterator[Both]:
    found = {SQLITE: open_sqlite(fast_path / "recall.db"), POSTGRESQL: open_postgres(postgres_url)}
    schema.metadata.create_all(found[SQLITE])
    make_ready(found[POSTGRESQL])
    with found[SQLITE].begin() as connection:
        put_meta(connection, "schema_version", str(schema.SCHEMA_VERSION))
    yield found
    for engine in found.values():
        engine.dispose()


def kept(engine: Engine) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of all tables."""
    with engine.connect() as connection:
        return {
            table.name: [tuple(row) for row in connection.execute(select(table).order_by(*table.primary_key))]
            for table in schema.metadata.sorted_tables
        }


def alike(both: Both, act: Callable[[Connection], T]) -> T:
    """What a call gives in a transaction of either database, which is the same, and so is what it leaves behind."""
    found = []
    for engine in both.values():
        with engine.begin() as connection:
            found.append(act(connection))
    assert found[0] == found[1] and repr(found[0]) == repr(found[1])
    left, right = map(kept, both.values())
    assert left == right and repr(left) == repr(right)
    return found[0]


def memory_row(num: int, text: str = "Sam moved to Berlin", scope_id: int = 1, **given: Any) -> dict[str, Any]:
    memory = Memory(text or "-", **{"created_at": NOW + timedelta(minutes=num), **given})
    made = to_row(
        memory, scope_id=scope_id, num=num, memory_id=f"m{num}", created_at=NOW, position=given.get("position")
    )
    return {**made, "text": text}


def insert(both: Both, *given: dict[str, Any]) -> None:
    alike(both, lambda connection: insert_rows(connection, schema.memories, given))


# -- rows ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, COPIED - 1, COPIED, 40])
def test_what_is_inserted_is_read_as_it_was(both: Both, count: int) -> None:
    """By an insert and, from some rows on, by a copy."""
    odd = list(itertools.islice(itertools.cycle(ODD), count))
    given = [
        memory_row(
            i + 1,
            text,
            metadata={"text": text, "deep": [1, 2.5, None, True, {"ü": "é\x00"}]},
            importance=0.1 + 0.2,
            actor="Priya 😀" if i % 2 else None,
            refs=("doc:" + str(i),),
            event_at=datetime(1, 1, 1, tzinfo=timezone.utc) if i % 3 else None,
        )
        for i, text in enumerate(odd)
    ]
    insert(both, *given)
    vectors = [{"scope_id": 1, "num": i, "vector": bytes(range(256)) * (i % 3)} for i in range(count)]
    alike(both, lambda connection: insert_rows(connection, schema.vectors, vectors))
    alike(both, lambda connection: insert_rows(connection, schema.vectors, []))
    found = alike(
        both, lambda connection: [dict(row) for row in connection.execute(select(schema.memories)).mappings()]
    )
    assert sorted(found, key=lambda row: row["num"]) == given
    blobs = alike(both, lambda c: [type(one) for one in c.execute(select(schema.vectors.c.vector)).scalars()])
    assert set(blobs) == {bytes}


@pytest.mark.parametrize("count", [1, 40])
def test_a_row_that_is_there_already_keeps_all_of_them_out(both: Both, count: int) -> None:
    insert(both, memory_row(1))
    for engine in both.values():
        with pytest.raises(IntegrityError), engine.begin() as connection:
            insert_rows(connection, schema.memories, [memory_row(i + 1) for i in range(count)])
    assert alike(both, lambda connection: len(kept(connection.engine)["memories"])) == 1


def test_a_nul_is_refused_by_one_of_them_only(both: Both) -> None:
    with both[SQLITE].begin() as connection:
        insert_rows(connection, schema.memories, [memory_row(1, "a\x00b")])
    for count in (1, 40):
        with pytest.raises(Exception, match="NUL") as met, both[POSTGRESQL].begin() as connection:
            insert_rows(connection, schema.memories, [memory_row(1 + i, "a\x00b") for i in range(count)])
        assert isinstance(mapped_error(met.value, both[POSTGRESQL].url), InvalidMemory)


def test_a_key_that_no_index_holds_is_refused_with_words(both: Both) -> None:
    rng = np.random.default_rng(1)
    long = "".join(map(chr, rng.integers(0x4E00, 0x9FFF, 1_024)))  # nothing that would compress
    with pytest.raises(Exception, match="index row size") as met, both[POSTGRESQL].begin() as connection:
        rows.add_scope(connection, Scope(user_id=long))
    mapped = mapped_error(met.value, both[POSTGRESQL].url)
    assert isinstance(mapped, InvalidMemory) and "bytes of UTF-8" in str(mapped)
    alike(both, lambda connection: rows.add_scope(connection, Scope(user_id=long[:800])))


def test_scopes_and_places(both: Both) -> None:
    assert alike(both, lambda c: [rows.add_scope(c, Scope(user_id=user)) for user in ("b", "a", "b", "Ä")]) == [
        1,
        2,
        1,
        3,
    ]
    assert alike(both, lambda c: rows.bump(c, 1, 5).value()) == 1
    given = [
        memory_row(i, f"text {i}", thread="t" if i % 2 else None, position=i if i % 2 else None)
        for i in range(1, 1_203)
    ]
    insert(both, *given)
    ids = [f"m{i}" for i in range(0, 1_500)]  # more than one statement takes
    assert len(alike(both, lambda c: sorted(rows.find(c, 1, ids).items()))) == 1_202
    batch = [Memory("x", thread="t"), Memory("y", thread="new"), Memory("z"), Memory("v", thread="t", position=9)]
    old = {"m1": rows.Place(1, "t", 1)}
    assert alike(both, lambda c: rows.positions(c, 1, batch, ["m1", "n", "o", "p"], old)) == [1, 0, None, 9]
    alike(both, lambda c: rows.remove(c, 1, list(range(1, 1_201))))
    assert len(kept(both[SQLITE])["memories"]) == 2
    alike(both, lambda c: rows.remove_scope(c, 3))
    assert alike(both, lambda c: rows.add_scope(c, Scope(user_id="d"))) == 4  # a number never comes back


def test_keys_and_values(both: Both) -> None:
    for value in ODD:
        alike(both, lambda c, value=value: put_meta(c, f"k{value}", value))  # type: ignore[misc]
        assert alike(both, lambda c, value=value: get_meta(c, f"k{value}")) == value  # type: ignore[misc]
    alike(both, lambda c: put_meta(c, "k", "another"))
    assert alike(both, lambda c: get_meta(c, "none")) is None
    assert alike(
        both,
        lambda c: [
            chroma_files.epoch_of(c, SEMANTIC),
            chroma_files.next_epoch(c, SEMANTIC),
            chroma_files.epoch_of(c, SEMANTIC),
        ],
    ) == [
        0,
        1,
        1,
    ]


def test_the_journal(both: Both) -> None:
    insert(both, *(memory_row(i) for i in range(1, 9)))

    def entries(first: int, last: int) -> list[Change]:
        return [
            Change(seq=i, scope_id=1, op="put" if i % 3 else "del", num=i, text="Sam moved to Berlin", actor=None)
            for i in range(first, last)
        ]

    def appended(connection: Connection, of: list[Change], applied: str) -> tuple[list[Change], bool]:
        found = journal.append(connection, of, applied)
        return list(found.changes), found.followed

    assert alike(both, lambda c: appended(c, entries(1, 5), SEMANTIC))[1]
    assert alike(both, lambda c: appended(c, entries(5, 13), SEMANTIC))[1]
    assert not alike(both, lambda c: appended(c, entries(13, 15), "another"))[1]
    alike(both, lambda c: journal.move(c, "another", 3))
    assert alike(both, journal.cursors) == {SEMANTIC: 12, "another": 3}
    assert len(alike(both, lambda c: journal.pending(c.engine, 3, 5))) == 5
    assert alike(
        both, lambda c: [journal.count_after(c, 3), journal.count_after(c, 3, 1), journal.count_after(c, 3, 2)]
    )
    point = alike(both, lambda c: journal.point(c, 4))
    assert alike(
        both, lambda c: [journal.foreign(c, 4, point), journal.foreign(c, 5, point), journal.foreign(c, 4, None)]
    )
    alike(both, lambda c: journal.prune(c, 4))
    assert alike(both, lambda c: [journal.pruned(c), journal.point(c, 4), journal.point(c, 3), journal.last_seq(c)])
    alike(both, lambda c: journal.prune_applied(c, keep=0))
    assert alike(both, journal.restart) == 14


def test_words(both: Both) -> None:
    texts = ["Who moved to Berlin?", "Sam's boat is late", "Der Zug kam an, und er war voll", "", "Inbox3 " * 400]
    alike(both, lambda c: [rows.add_scope(c, Scope(user_id=user)) for user in "ab"])
    insert(both, *(memory_row(i + 1, text, actor="Priya", scope_id=1 + i % 2) for i, text in enumerate(texts * 3)))
    alike(both, lambda c: word_rows.write(c, 1, [(1, word_rows.cut_row(texts[0], "Priya"))]))
    done: list[int] = []
    alike(both, lambda c: word_rows.fill(c, done.append))
    alike(both, word_rows.refill)
    nums = list(range(1, 16))
    alike(both, lambda c: word_rows.lengths(c, 1, nums, [None] * len(nums)))

    def block(connection: Connection) -> list[Any]:
        source = word_rows.joined(schema.memories)
        query = select(schema.memories.c.num, *word_rows.COLUMNS).select_from(source).order_by(schema.memories.c.num)
        found = list(zip(*connection.execute(query.where(schema.memories.c.scope_id == 1)), strict=True))
        made = word_rows.text_block(connection, 1, found[0], found[1:], Lexicon())
        return [
            made.words.tolist(),
            list(made.counts),
            list(made.lengths),
            list(made.asks),
            np.asarray(made.asked).tolist(),
        ]

    alike(both, block)


def test_facts_and_told_times(both: Both) -> None:
    alike(both, lambda c: rows.add_scope(c, PRIYA))
    texts = ["My phone number is 0151 2345678.", "I moved to Berlin yesterday.", "I live in Paris now, not in Berlin.",
             "We meet on 3 June 2024 at the office.", "My sister works at Acme."]  # fmt: skip
    insert(
        both,
        *(memory_row(i + 1, text, relations=(Relation("Sam", "works at", "Acme"),)) for i, text in enumerate(texts)),
    )
    alike(both, lambda c: fact_rows.refill(c, DEFAULT))
    found = kept(both[SQLITE])
    assert found["facts"] and found["told_times"]
    slot = found["facts"][0]
    made = [{"num": slot[1], "place": llm_rows.PLACE, "subject": slot[3], "slot": "open:boat", "value": "V", "op": "is",
             "instead_of": "", "corrects": 0, "since": None, "until": 7, "confidence": 1.0, "by": "llm"}]  # fmt: skip
    assert alike(both, lambda c: llm_rows.write(c, 1, made)) == 1
    alike(both, lambda c: fact_rows.refill(c, DEFAULT))
    alike(both, llm_rows.give_way)
    column = alike(both, lambda c: [part.tolist() for part in _told(c)])
    assert column[0]
    alike(both, fact_rows.clear)


def _told(connection: Connection) -> list[Any]:
    column = ToldColumn().extended(connection, 1, 3).extended(connection, 1, 99)
    return [column.nums, column.start, column.stop]


def test_languages(both: Both) -> None:
    alike(both, lambda c: [rows.add_scope(c, Scope(user_id=user)) for user in "ab"])
    german = "Der Zug ist gestern nicht gekommen, und wir haben lange auf ihn gewartet"
    texts = [german, "Le train n'est pas arrivé hier et nous avons attendu longtemps", "The train was late"] * 4
    insert(both, *(memory_row(i + 1, text, scope_id=1 + i % 2) for i, text in enumerate(texts)))
    alike(both, lambda c: languages.write(c, 1, texts))
    alike(both, lambda c: languages.remove(c, 1, [1, 2, 3]))
    alike(both, languages.recount)
    alike(both, lambda c: languages.read(c, 1))
    assert "de" in alike(both, languages.kept_in)


def test_reading_by_number_and_id(both: Both) -> None:
    insert(both, *(memory_row(i, f"text {i}", metadata={"n": i}, entities=("Sam",)) for i in range(1, 1_103)))
    nums, ids = list(range(0, 1_500)), [f"m{i}" for i in range(0, 1_500)]
    found = alike(both, lambda c: sorted(reader.by_num(c.engine, 1, nums, Damage()).items()))
    assert len(found) == 1_102 and found[0][1].metadata == {"n": 1}
    assert len(alike(both, lambda c: sorted(reader.by_id(c.engine, 1, ids, Damage()).items()))) == 1_102
    alike(both, lambda c: [reader.by_num(c.engine, 1, few, Damage()) for few in ([], [5], [7, 99_999])])
    assert alike(both, lambda c: reader.by_id(c.engine, 2, ["m1"], Damage())) == {}


def test_reading_goes_on_after_the_server_ended_its_connections(
    both: Both, postgres: Postgres, postgres_url: str
) -> None:
    insert(both, memory_row(1))
    engine = both[POSTGRESQL]
    for _ in range(3):
        assert reader.by_num(engine, 1, [1], Damage())[1].text == "Sam moved to Berlin"
        postgres.cut(postgres_url)


def test_reading_leaves_no_transaction_open(both: Both) -> None:
    insert(both, memory_row(1))
    engine = both[POSTGRESQL]
    reader.by_num(engine, 1, [1], Damage())
    with create_engine(engine.url).connect() as connection:
        query = "SELECT state FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        assert set(connection.exec_driver_sql(query).scalars()) == {"idle"}


def test_numbers_as_one_text_and_results_in_parts(both: Both) -> None:
    m = schema.memories.c
    assert alike(both, lambda c: c.execute(select(numbers_joined(m.num))).scalar()) is None
    insert(both, *(memory_row(i) for i in range(1, 1_001)))
    joined = alike(both, lambda c: sorted(map(int, c.execute(select(numbers_joined(m.num))).scalar_one().split(","))))
    assert joined == list(range(1, 1_001))

    def in_parts(connection: Connection) -> list[int]:
        parts = connection.execute(streamed(select(m.num).order_by(m.num), 300)).partitions(300)
        return [len(part) for part in parts if connection.execute(select(m.num).limit(1)).scalar()]

    assert alike(both, in_parts) == [300, 300, 300, 100]


# -- a store ---------------------------------------------------------------------------------------------------------


class Stores:
    """The same store on both: its directory holds what is derived from the database."""

    def __init__(self, both: Both, path: Path, embedding: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self._both, self._path, self._embedding = both, path, embedding
        self.now = NOW
        monkeypatch.setattr("recall_integrations.store.entities.secrets.token_hex", lambda _n: "ab" * 32)

    def open(self, kind: str) -> MemoryStore:
        numbers = itertools.count()
        own: dict[str, Any] = {"directory": self._path / kind} if kind == POSTGRESQL else {}
        place = self._both[kind].url.render_as_string(hide_password=False) if own else self._path / kind
        return MemoryStore.open(
            place, embedding=self._embedding, clock=lambda: self.now, new_id=lambda: f"id-{next(numbers)}", **own
        )


@pytest.fixture
def stores(both: Both, fast_path: Path, embedding: Any, monkeypatch: pytest.MonkeyPatch) -> Stores:
    return Stores(both, fast_path, embedding, monkeypatch)


def day(number: int) -> datetime:
    return NOW - timedelta(days=number)


GIVEN = [
    Memory("Priya Raman moved to Berlin", id="a", event_at=day(3), actor="Sam", channel="chat", thread="t1"),
    Memory("Project Kestrel ships on 3 June 2024", id="b", type=MemoryType.EVENT, metadata={"status": "open", "n": 3}),
    Memory("My phone number is 0151 2345678", id="c", actor="user", thread="t1"),
    Memory(
        "Sam works at Acme with Henrietta", id="d", relations=(Relation("Sam", "works at", "Acme"),), entities=("Sam",)
    ),
    Memory("Der Zug kam gestern nicht, und wir haben lange gewartet", id="e", channel="mail", metadata={"n": 7.5}),
    Memory("Inbox3 is full again", id="f", expires_at=NOW + timedelta(hours=1)),
    Memory(
        "Henrietta manages Project Kestrel", id="g", relations=(Relation("Henrietta", "manages", "Project Kestrel"),)
    ),
    Memory("Who has the keys of the boat?", actor="Henrietta", thread="t1", metadata={"tags": ["x", "é"]}),
    *(
        Memory(f"Note {i}: the deploy of Kestrel took {i} minutes", event_at=day(i), type=MemoryType.OBSERVATION)
        for i in range(40)
    ),
]
ASKED = [
    "Where did Priya move?", "What happened last week?", "deploy kestrel", "Who works with Sam?", "my phone number",
    "Who manages Project Kestrel?", "kestral deploi", "Wann kam der Zug?", "Inbox3", "anything not about Kestrel",
]  # fmt: skip


TIMED = {"path", "hydration"}  # what depends on the place, or on which thread was first


def life(stores: Stores, kind: str) -> Iterator[object]:
    """What a store answers in its life."""
    store = stores.open(kind)
    optimizer = QueryOptimizer(store)

    def recalls(**given: Any) -> list[object]:
        results = [
            optimizer.recall(query, k=8, scope=PRIYA, now=stores.now, time_budget_ms=60_000, **given) for query in ASKED
        ]
        return [[(hit.memory, round(hit.score, 5)) for hit in result.hits] + [result.degraded] for result in results]

    yield store.remember_many(GIVEN, scope=PRIYA)
    yield store.remember("Sam prefers tea", scope=Scope(user_id="sam", namespace="ä"))
    yield recalls()
    yield store.remember_many([Memory("Priya Raman moved to Paris", id="a", actor="Sam", thread="t1")], scope=PRIYA)
    yield store.remember_many(GIVEN[7:10], scope=PRIYA, on_duplicate="skip")
    yield store.add_entity("Priya", aliases=("Priya Raman", "PR"), scope=PRIYA)
    yield recalls()
    for filters in (
        Filters(types=(MemoryType.OBSERVATION,)), Filters(actors=("sam",)), Filters(channels=("chat", "mail")),
        Filters(threads=("t1",)), Filters(entities=("Priya",)), Filters(after=day(10), before=day(2)),
        Filters(metadata={"status": "open"}), Filters(metadata={"n": {"$gt": 3}}), Filters(roles=("user",)),
        Filters(current_only=True),
    ):  # fmt: skip
        yield (
            [memory.id for memory in store.list(scope=PRIYA, filters=filters)],
            store.count(scope=PRIYA, filters=filters),
        )
        yield recalls(filters=filters)[:2]
    yield store.facts(scope=PRIYA), store.facts(scope=PRIYA, history=True, subject="Sam")
    for query in ASKED[:3]:
        result = optimizer.recall(query, scope=PRIYA, now=stores.now, time_budget_ms=60_000)
        optimizer.feedback(result.id, helpful=[result.hits[0].memory.id or ""], now=stores.now)
    yield store.judgements.counts(), len(store.judgements.of(PRIYA))
    yield store.forget(["b", "nobody"], scope=PRIYA), store.forget(filters=Filters(channels=("mail",)), scope=PRIYA)
    stores.now = NOW + timedelta(hours=2)  # one has ended
    yield recalls(), store.count(scope=PRIYA), store.counts(), store.scopes()
    yield [memory.id for memory in store.iterate(scope=PRIYA)], store.get("a", scope=PRIYA)
    written = io.BytesIO()
    yield store.export(written), written.getvalue()
    yield {key: value for key, value in store.stats().items() if "bytes" not in key and key not in TIMED}
    store.close()
    store = stores.open(kind)
    optimizer = QueryOptimizer(store)
    yield recalls()
    yield store.forget(user_id="sam")
    store.compact()
    yield recalls()
    store.reindex()
    yield recalls(), store.scopes()
    store.close()
    stores.now = NOW


@pytest.mark.slow
def test_a_store_answers_the_same_all_its_life(stores: Stores, both: Both, fast_path: Path) -> None:
    left, right = (list(life(stores, kind)) for kind in (SQLITE, POSTGRESQL))
    assert len(left) == 38
    for step, (one, other) in enumerate(zip(left, right, strict=True)):
        assert one == other, f"step {step}"
    lite = open_sqlite(fast_path / SQLITE / "recall.db")
    there, here = kept(both[POSTGRESQL]), kept(lite)
    lite.dispose()
    for name in there.keys() - {"judged"}:  # whose ids are drawn
        assert here[name] == there[name], name


def test_a_store_refuses_what_its_database_cannot_keep(stores: Stores) -> None:
    given = [Memory("fine"), Memory("not \x00 fine")]
    with stores.open(SQLITE) as store:
        assert len(store.remember_many(given)) == 2
    with stores.open(POSTGRESQL) as store:
        with pytest.raises(InvalidMemory, match="NUL character"):
            store.remember_many(given)
        assert store.count() == 0


def test_what_a_page_shows(stores: Stores) -> None:
    found = []
    for kind in (SQLITE, POSTGRESQL):
        with stores.open(kind) as store:
            store.remember_many(GIVEN, scope=PRIYA)
            shown = names(store, PRIYA, Door("allow"))
            around = names(store, PRIYA, Door("allow"), around=shown["names"][0]["id"])
            found.append([shown, around, times.one(store, PRIYA, "a", Door("allow"))])
    assert found[0] == found[1] and found[0][0]["names"]
