"""Tables in PostgreSQL: made by Alembic as `schema` says they are."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, inspect, text

from recall_integrations.database import schema, upgrading
from recall_integrations.database.postgres import open_postgres
from recall_integrations.database.upgrading import SCRIPTS, check, locking, make_ready, upgrade
from recall_integrations.errors import StoreError, StoreVersionError

EVERY = tuple(range(16, schema.SCHEMA_VERSION + 1))  # versions that tables in PostgreSQL have had


@pytest.fixture
def engine(postgres_url: str) -> Iterator[Engine]:
    opened = open_postgres(postgres_url)
    yield opened
    opened.dispose()


def test_what_alembic_makes_is_what_the_schema_says(engine: Engine) -> None:
    empty = check(engine)
    assert (empty.version, empty.pending, empty.locks, empty.ready) == (0, EVERY, (), False)
    assert upgrade(engine) == EVERY
    done = check(engine)
    assert done.differences == () and done.pending == () and done.ready
    assert upgrade(engine) == ()
    with engine.connect() as connection:
        assert connection.execute(text("SHOW lock_timeout")).scalar() == "0"
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalar() == str(
            schema.SCHEMA_VERSION
        )


def _described(engine: Engine) -> object:
    """Columns with types, collations and defaults; keys; indexes."""
    columns = """
        SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, l.collname,
               pg_get_expr(d.adbin, d.adrelid)
        FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
        LEFT JOIN pg_collation l ON l.oid = a.attcollation
        LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND a.attnum > 0
        ORDER BY c.relname COLLATE "C", a.attnum
    """
    indexes = "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY indexname COLLATE \"C\""
    sequences = "SELECT count(*) FROM pg_sequences"
    with engine.connect() as connection:
        return [
            [tuple(row) for row in connection.execute(text(query)) if "alembic_version" not in row[0]]
            if query is not sequences
            else connection.execute(text(query)).scalar()
            for query in (columns, indexes, sequences)
        ]


def test_the_schema_made_at_once_is_the_same(engine: Engine, postgres: object) -> None:
    upgrade(engine)
    other = open_postgres(postgres.fresh())  # type: ignore[attr-defined]
    schema.metadata.create_all(other)
    made, at_once = _described(engine), _described(other)
    other.dispose()
    assert made == at_once
    collations = {row[4] for row in made[0]}  # type: ignore[index]
    assert collations == {"C", None} and made[2] == 0  # type: ignore[index]


def test_text_is_ordered_byte_by_byte(engine: Engine) -> None:
    upgrade(engine)
    names = ["b", "B", "a", "Ä", "_", "é", "ﷺ", "😀", "aa", "a b", "a-b"]
    with engine.begin() as connection:
        connection.execute(schema.meta.insert(), [{"key": name, "value": ""} for name in names])
        found = connection.execute(
            text("SELECT key FROM meta WHERE value = '' ORDER BY key")
        ).scalars().all()  # fmt: skip
    assert list(found) == sorted(names, key=str.encode)


def test_tables_of_a_tenant_are_keyed_by_scope_first() -> None:
    other = {t.name for t in schema.metadata.sorted_tables if next(iter(t.primary_key.columns)).name != "scope_id"}
    assert other == {"meta", "cursors", "changes"}  # of the store as a whole, and its journal


def test_a_database_is_made_ready_once_by_many(engine: Engine, postgres_url: str) -> None:
    engines = [open_postgres(postgres_url) for _ in range(3)]
    versions: list[int] = []
    threads = [threading.Thread(target=lambda e=e: versions.append(make_ready(e))) for e in engines]
    for one in threads:
        one.start()
    for one in threads:
        one.join(30)
    for each in engines:
        each.dispose()
    assert versions == [schema.SCHEMA_VERSION] * 3 and check(engine).ready


def test_a_difference_is_named(engine: Engine) -> None:
    upgrade(engine)
    with engine.begin() as connection:
        connection.execute(text("ALTER TABLE memories DROP COLUMN channel"))
        connection.execute(text("CREATE TABLE somebody_elses (a integer)"))
    found = check(engine)
    assert not found.ready and len(found.differences) == 1 and "channel" in found.differences[0]


@pytest.mark.parametrize(
    ("version", "says"), [("14", "Run `recall db upgrade`"), ("99", "Upgrade recall-integrations")]
)
def test_tables_of_another_version_are_left_alone(engine: Engine, version: str, says: str) -> None:
    upgrade(engine)
    with engine.begin() as connection:
        connection.execute(schema.meta.update().values(value=version))
    with pytest.raises(StoreVersionError, match=says):
        make_ready(engine)


def test_tables_of_others_are_left_alone(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE entities (a integer)"))
    for act in (upgrade, check, make_ready):
        with pytest.raises(StoreVersionError, match="not those of recall-integrations"):
            act(engine)
    assert inspect(engine).get_table_names() == ["entities"]


def test_an_upgrade_does_not_wait_for_ever_for_a_lock(engine: Engine, postgres_url: str) -> None:
    other = open_postgres(postgres_url)
    with other.connect() as holding:
        holding.execute(text("CREATE TABLE alembic_version (version_num varchar(32) PRIMARY KEY)"))  # and goes on
        with pytest.raises(StoreError, match="waited for too long"):
            upgrade(engine, lock_timeout_ms=50)
        holding.rollback()
    other.dispose()
    assert upgrade(engine) == EVERY


def test_who_has_locked_a_table_waits_less_for_the_next_one(engine: Engine, tmp_path: Path) -> None:
    """Others wait for it meanwhile."""
    upgrade(engine)
    number = schema.SCHEMA_VERSION + 1
    seen = "CREATE TABLE {} AS SELECT setting::integer AS ms FROM pg_settings WHERE name = 'lock_timeout'"
    statements = ["CREATE INDEX before_i ON before (ms)", "ALTER TABLE memories ADD COLUMN mood VARCHAR"]
    statements = [seen.format("before"), *statements, "SELECT pg_sleep(0.01)", seen.format("afterwards")]
    scripts = tmp_path / "alembic"
    shutil.copytree(SCRIPTS, scripts)
    (scripts / "versions" / "next.py").write_text(
        f"from alembic import op\n\nrevision, down_revision = '{number}', '{number - 1}'\n\n\n"
        f"def upgrade():\n    for statement in {statements!r}:\n        op.execute(statement)\n"
    )
    assert upgrade(engine, lock_timeout_ms=60_000, scripts=scripts) == (number,)
    with engine.connect() as connection:
        before, afterwards = (
            connection.execute(text(f"SELECT ms FROM {t}")).scalar() for t in ("before", "afterwards")
        )
    assert before == 60_000 and afterwards < 60_000


def test_tables_of_the_version_before_are_brought_forward_with_what_is_in_them(engine: Engine) -> None:
    with engine.connect() as connection:
        upgrading._alembic().command.upgrade(upgrading._config(connection), "16")
        connection.commit()
    with engine.begin() as connection:
        connection.execute(schema.cursors.insert().values(name="semantic", seq=7))
    before = check(engine)
    assert (before.version, before.pending, before.locks) == (16, EVERY[1:], ())
    assert upgrade(engine) == EVERY[1:] and check(engine).ready
    with engine.connect() as connection:
        assert connection.execute(schema.cursors.select()).all() == [("semantic", 7)]


def test_statements_that_lock_are_named() -> None:
    sql = """
        CREATE TABLE fresh (a integer);
        CREATE INDEX fresh_by_a ON fresh (a);
        ALTER TABLE memories ADD COLUMN mood VARCHAR;
        CREATE INDEX memories_by_mood ON memories (mood);
        CREATE INDEX CONCURRENTLY memories_by_actor ON memories (actor);
        DROP INDEX memories_by_type;
        UPDATE alembic_version SET version_num = '16';
    """
    assert list(locking(sql)) == [
        "ALTER TABLE memories ADD COLUMN mood VARCHAR",
        "CREATE INDEX memories_by_mood ON memories (mood)",
        "DROP INDEX memories_by_type",
    ]


def test_a_version_that_nothing_leads_from(engine: Engine) -> None:
    upgrade(engine)
    with engine.begin() as connection:
        connection.execute(text("UPDATE meta SET value = '15' WHERE key = 'schema_version'"))
        connection.execute(text("UPDATE alembic_version SET version_num = '15'"))
    for what in (check, upgrade):
        with pytest.raises(StoreVersionError, match="Nothing leads from the version"):
            what(engine)
