from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine, inspect, text

from recall_integrations.database import schema
from recall_integrations.database.engine import open_sqlite
from recall_integrations.errors import StoreVersionError
from recall_integrations.store import migrations


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


def test_version_1_gets_the_corrections_and_keeps_the_rest(engine: Engine) -> None:
    schema.metadata.create_all(engine, tables=[t for t in schema.metadata.sorted_tables if t is not schema.corrections])
    with engine.begin() as connection:
        connection.execute(text("INSERT INTO meta VALUES ('schema_version', '1'), ('embedding', 'fake:8')"))
    assert migrations.migrate(engine) >= 2
    assert set(inspect(engine).get_table_names()) == set(schema.metadata.tables)
    assert inspect(engine).get_pk_constraint("corrections")["constrained_columns"] == ["scope_id", "word", "stem"]
    with engine.connect() as connection:
        assert connection.execute(text("SELECT value FROM meta WHERE key = 'embedding'")).scalar() == "fake:8"


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
