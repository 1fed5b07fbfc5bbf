from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine, inspect, text

from recall_integrations.database import schema
from recall_integrations.database.engine import open_sqlite
from recall_integrations.database.meta import put_meta
from recall_integrations.errors import StoreVersionError
from recall_integrations.optimizer import QueryOptimizer
from recall_integrations.store import migrations
from recall_integrations.store.doctor import examine, repair
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.testing import HashEmbedding
from recall_integrations.types import Memory

FAKE = HashEmbedding()


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return open_sqlite(tmp_path / "recall.db")


def test_every_version_has_a_step() -> None:
    assert sorted(migrations._MIGRATIONS) == list(range(1, schema.SCHEMA_VERSION + 1))


def test_empty_database_is_brought_to_the_newest_version(engine: Engine) -> None:
    assert migrations.current_version(engine) == 0
    assert migrations.migrate(engine) == schema.SCHEMA_VERSION
    assert migrations.migrate(engine) == schema.SCHEMA_VERSION  # again: nothing to do
    assert set(inspect(engine).get_table_names()) == set(schema.metadata.tables)


def test_a_new_store_is_what_every_step_would_leave(engine: Engine, tmp_path: Path) -> None:
    stepped = open_sqlite(tmp_path / "stepped.db")
    for step in range(1, schema.SCHEMA_VERSION + 1):
        with stepped.begin() as connection:
            migrations._MIGRATIONS[step](connection)
            put_meta(connection, "schema_version", str(step))
    migrations.migrate(engine)

    def found(database: Engine) -> list[list[object]]:
        with database.connect() as connection:
            rows = [
                list(map(tuple, connection.execute(text(query))))
                for query in ("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name", "SELECT * FROM meta")
            ]
            counts = [
                connection.execute(text(f"SELECT count(*) FROM {name}")).scalar() for name in schema.metadata.tables
            ]
        return [rows[0], [(key, key == "entity_key" or value) for key, value in sorted(rows[1])], counts]

    assert found(engine) == found(stepped)


def test_a_later_step_runs_once(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    migrations.migrate(engine)
    ran = []

    def step(connection: Connection) -> None:
        ran.append(connection.execute(text("SELECT 1")).scalar())

    later = schema.SCHEMA_VERSION + 1
    monkeypatch.setitem(migrations._MIGRATIONS, later, step)
    monkeypatch.setattr(schema, "SCHEMA_VERSION", later)
    assert migrations.migrate(engine) == migrations.migrate(engine) == migrations.current_version(engine) == later
    assert ran == [1]


def test_a_step_that_fails_changes_nothing(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    migrations.migrate(engine)

    def step(connection: Connection) -> None:
        connection.execute(text("CREATE TABLE half (x INTEGER)"))
        raise RuntimeError("power cut")

    before = schema.SCHEMA_VERSION
    monkeypatch.setitem(migrations._MIGRATIONS, before + 1, step)
    monkeypatch.setattr(schema, "SCHEMA_VERSION", before + 1)
    with pytest.raises(RuntimeError):
        migrations.migrate(engine)
    assert migrations.current_version(engine) == before
    assert not inspect(engine).has_table("half")


def made_by_version_7(directory: Path) -> None:
    """A store as it was before words had a column for the rest and changes a digest."""
    with MemoryStore.open(directory, embedding=FAKE) as store:
        store.remember_many([Memory(f"note{i} about birds", id=f"m{i}", actor="Priya") for i in range(5)])
        store.remember(Memory("note3 was another one", id="m3"))
        store.forget("m4")
    with closing(sqlite3.connect(directory / "recall.db")) as connection:
        connection.executescript(
            """
            DROP TABLE words;
            CREATE TABLE words (
                scope_id INTEGER NOT NULL, num BIGINT NOT NULL, words TEXT NOT NULL, length INTEGER NOT NULL,
                asks INTEGER NOT NULL, asked BLOB, PRIMARY KEY (scope_id, num)
            ) WITHOUT ROWID;
            INSERT INTO words SELECT scope_id, num, 'note', 1, 0, NULL FROM memories;
            CREATE TABLE old AS SELECT seq, scope_id, op, num FROM changes;
            DROP TABLE changes;
            CREATE TABLE changes (
                seq BIGINT NOT NULL PRIMARY KEY, scope_id INTEGER NOT NULL, op VARCHAR NOT NULL, num BIGINT NOT NULL
            );
            CREATE INDEX changes_by_scope ON changes (scope_id, seq);
            INSERT INTO changes SELECT * FROM old;
            DROP TABLE old;
            DELETE FROM meta WHERE key = 'pruned';
            UPDATE meta SET value = '7' WHERE key = 'schema_version';
            """
        )
    (directory / "lexical.0" / "recall.history").unlink()


def test_version_7_gets_words_for_bm25_and_a_chain_of_changes(tmp_path: Path) -> None:
    made_by_version_7(tmp_path / "store")
    with MemoryStore.open(tmp_path / "store", embedding=FAKE) as store:
        assert store.stats()["schema_version"] == schema.SCHEMA_VERSION
        assert sum("of another history" in notice for notice in store.stats()["notices"]) == 1
        with store.engine.connect() as connection:
            kept = connection.execute(text("SELECT words, more, stems, length FROM words ORDER BY num")).all()
            assert [tuple(row) for row in kept[:3]] == [(f"note{i}\nbirds", "priya", 3, 2) for i in range(3)]
            digests = [row[0] for row in connection.execute(text("SELECT digest FROM changes ORDER BY seq"))]
            assert len(digests) == len(set(digests)) == 8 and all(digests)
        for name in ("note0", "note3"):
            assert QueryOptimizer(store).recall(name, k=1, time_budget_ms=60_000).hits[0].memory.id == f"m{name[-1]}"
        store.remember(Memory("note9 about crows", id="m9"))
    with MemoryStore.open(tmp_path / "store", embedding=FAKE) as store:
        assert store.stats()["notices"] == []
    assert examine(tmp_path / "store").clean


def test_a_chain_that_is_there_is_not_made_again(tmp_path: Path) -> None:
    """A crash between the steps to two versions repeats none that has been committed."""
    made_by_version_7(tmp_path / "store")
    engine = open_sqlite(tmp_path / "store" / "recall.db")

    def digests() -> list[str]:
        with engine.connect() as connection:
            return [row[0] for row in connection.execute(text("SELECT digest FROM changes ORDER BY seq"))]

    migrations.migrate(engine)
    before = digests()
    with engine.begin() as connection:
        connection.execute(text("UPDATE meta SET value = '8' WHERE key = 'schema_version'"))
    migrations.migrate(engine)
    assert digests() == before
    engine.dispose()


def test_the_doctor_brings_an_old_store_forward(tmp_path: Path) -> None:
    made_by_version_7(tmp_path / "store")
    assert examine(tmp_path / "store")["schema"].state == "problem"
    found = repair(tmp_path / "store", embedding=FAKE)
    assert found.clean and found["schema"].state == found["lexical index"].state == "mended"
    with MemoryStore.open(tmp_path / "store", embedding=FAKE) as store:
        assert store.stats()["notices"] == [] and store.count() == 4


def test_two_steps_to_one_version_are_a_mistake() -> None:
    with pytest.raises(AssertionError):
        migrations.migration(to=1)(lambda _connection: None)


@pytest.mark.parametrize("version", [str(schema.SCHEMA_VERSION + 1), "", "newest", "-1"])
def test_newer_or_unknown_versions_are_refused(engine: Engine, version: str) -> None:
    migrations.migrate(engine)
    with engine.begin() as connection:
        connection.execute(text("UPDATE meta SET value = :v WHERE key = 'schema_version'"), {"v": version})
    with pytest.raises(StoreVersionError):
        migrations.migrate(engine)


def test_tables_of_another_program_are_refused(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE meta (key TEXT, value TEXT)"))
    with pytest.raises(StoreVersionError, match="not one of recall-integrations"):
        migrations.migrate(engine)


def test_durability_is_on(engine: Engine) -> None:
    with engine.connect() as connection:
        assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"
        assert connection.execute(text("PRAGMA synchronous")).scalar() == 2
