"""Tables in PostgreSQL: made as `schema` says they are, and compared with it."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, inspect, text

from recall_integrations.database import schema
from recall_integrations.database.postgres import check_tables, make_ready, open_postgres
from recall_integrations.errors import StoreVersionError


@pytest.fixture
def engine(postgres_url: str) -> Iterator[Engine]:
    opened = open_postgres(postgres_url)
    yield opened
    opened.dispose()


def test_an_empty_database_gets_the_tables(engine: Engine) -> None:
    empty = check_tables(engine)
    assert (empty.version, empty.differences, empty.ready) == (0, (), False)
    make_ready(engine)
    done = check_tables(engine)
    assert (done.version, done.differences, done.ready) == (schema.SCHEMA_VERSION, (), True)
    make_ready(engine)
    assert set(inspect(engine).get_table_names()) == set(schema.metadata.tables)


def test_texts_are_of_the_collation_c_and_nothing_counts_by_itself(engine: Engine) -> None:
    make_ready(engine)
    collations = text(
        "SELECT DISTINCT l.collname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid "
        "LEFT JOIN pg_collation l ON l.oid = a.attcollation "
        "WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND a.attnum > 0"
    )
    with engine.connect() as connection:
        assert set(connection.execute(collations).scalars()) == {"C", None}
        assert connection.execute(text("SELECT count(*) FROM pg_sequences")).scalar() == 0


def test_text_is_ordered_byte_by_byte(engine: Engine) -> None:
    make_ready(engine)
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


@pytest.mark.parametrize("isolation", ["READ COMMITTED", "REPEATABLE READ"])  # as `recall db` and nodes have it
def test_a_database_is_made_ready_once_by_many(engine: Engine, postgres_url: str, isolation: str) -> None:
    engines = [open_postgres(postgres_url, isolation=isolation) for _ in range(4)]  # type: ignore[arg-type]
    failed: list[BaseException] = []
    together = threading.Barrier(len(engines))

    def make(one: Engine) -> None:
        try:
            together.wait(30)
            make_ready(one)
        except BaseException as e:
            failed.append(e)

    threads = [threading.Thread(target=make, args=(each,)) for each in engines]
    for one in threads:
        one.start()
    for one in threads:
        one.join(30)
    for each in engines:
        each.dispose()
    assert failed == [] and check_tables(engine).ready


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("DROP TABLE told_times", "the table told_times is missing"),
        ("ALTER TABLE memories DROP COLUMN channel", "memories lacks the column channel"),
        ("ALTER TABLE memories ADD COLUMN mood VARCHAR", "memories has the column mood"),
        (
            "ALTER TABLE memories ALTER COLUMN importance TYPE INTEGER",
            "memories lacks the column importance DOUBLE PRECISION NOT NULL",
        ),
        ("ALTER TABLE memories ALTER COLUMN text DROP NOT NULL", "memories lacks the column text VARCHAR NOT NULL"),
        ("ALTER TABLE meta DROP CONSTRAINT meta_pkey", "meta lacks the primary key (key)"),
        ("ALTER TABLE memories DROP CONSTRAINT memories_scope_id_id_key", "lacks the unique key (scope_id, id)"),
        ("DROP INDEX memories_by_type", "memories lacks the index memories_by_type"),
    ],
)
def test_a_difference_is_named(engine: Engine, statement: str, says: str) -> None:
    make_ready(engine)
    with engine.begin() as connection:
        connection.execute(text(statement))
        connection.execute(text("CREATE TABLE somebody_elses (a integer)"))
    found = check_tables(engine)
    assert not found.ready and len(found.differences) == 1 and says in found.differences[0]


@pytest.mark.parametrize("version", ["14", str(schema.SCHEMA_VERSION - 1), "99"])
def test_tables_of_another_version_are_left_alone(engine: Engine, version: str) -> None:
    make_ready(engine)
    with engine.begin() as connection:
        connection.execute(schema.meta.update().values(value=version))
    with pytest.raises(StoreVersionError, match=f"version {version}, and .*recall export.*recall import"):
        make_ready(engine)
    assert not check_tables(engine).ready


def test_tables_of_others_are_left_alone(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE entities (a integer)"))
    for act in (check_tables, make_ready):
        with pytest.raises(StoreVersionError, match="not those of recall-integrations"):
            act(engine)
    assert inspect(engine).get_table_names() == ["entities"]
