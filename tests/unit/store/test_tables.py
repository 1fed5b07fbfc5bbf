from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import Engine, inspect, text

from recall_integrations.database import schema
from recall_integrations.database.engine import open_sqlite
from recall_integrations.database.schema import version_in
from recall_integrations.errors import StoreVersionError
from recall_integrations.store import directory, entities


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return open_sqlite(tmp_path / "recall.db")


def make_ready(engine: Engine) -> None:
    directory.make_ready(engine, Path(str(engine.url.database)))


def version_of(engine: Engine) -> int:
    with engine.connect() as connection:
        return version_in(connection, set(inspect(connection).get_table_names()), "no store")


def test_an_empty_database_gets_the_tables(engine: Engine) -> None:
    assert version_of(engine) == 0
    make_ready(engine)
    assert version_of(engine) == schema.SCHEMA_VERSION
    assert set(inspect(engine).get_table_names()) == set(schema.metadata.tables)
    with engine.connect() as connection:
        key = entities.kept_key(connection)
        assert len(key) == entities.KEY_BYTES
    make_ready(engine)  # again: nothing to do
    with engine.connect() as connection:
        assert entities.kept_key(connection) == key


def test_what_is_rendered_once_is_what_the_schema_says(engine: Engine, tmp_path: Path) -> None:
    make_ready(engine)
    other = open_sqlite(tmp_path / "other.db")
    schema.metadata.create_all(other)

    def made(database: Engine) -> list[tuple[object, ...]]:
        with database.connect() as connection:
            query = text("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name")
            return [tuple(row) for row in connection.execute(query)]

    assert made(engine) == made(other)


def test_what_fails_leaves_no_table(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_connection: object) -> None:
        raise RuntimeError("power cut")

    with monkeypatch.context() as patch:
        patch.setattr(entities, "make_key", fail)
        with pytest.raises(RuntimeError):
            make_ready(engine)
    assert version_of(engine) == 0
    make_ready(engine)
    assert version_of(engine) == schema.SCHEMA_VERSION


@pytest.mark.parametrize("version", ["1", str(schema.SCHEMA_VERSION - 1), str(schema.SCHEMA_VERSION + 1)])
def test_another_version_is_refused_with_what_to_do(engine: Engine, version: str) -> None:
    make_ready(engine)
    with engine.begin() as connection:
        connection.execute(text("UPDATE meta SET value = :v WHERE key = 'schema_version'"), {"v": version})
    with pytest.raises(StoreVersionError) as refused:
        make_ready(engine)
    said = str(refused.value)
    assert f"has schema version {version}, and this package reads {schema.SCHEMA_VERSION}." in said
    assert said.index("recall export STORE FILE") < said.index("recall import FILE NEW --format jsonl")


@pytest.mark.parametrize("version", ["", "newest", "-1"])
def test_a_version_that_is_none_is_refused(engine: Engine, version: str) -> None:
    make_ready(engine)
    with engine.begin() as connection:
        connection.execute(text("UPDATE meta SET value = :v WHERE key = 'schema_version'"), {"v": version})
    with pytest.raises(StoreVersionError):
        make_ready(engine)


def test_tables_of_another_program_are_refused(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE meta (key TEXT, value TEXT)"))
    with pytest.raises(StoreVersionError, match="not one of recall-integrations"):
        make_ready(engine)


def test_durability_is_on(engine: Engine) -> None:
    with engine.connect() as connection:
        assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"
        assert connection.execute(text("PRAGMA synchronous")).scalar() == 2
