"""`recall db distribute`, against a stand-in: functions of Citus's names that refuse what its documentation refuses.

Citus itself is not at hand where this is tested; what holds on it is not shown by these tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner, Result
from sqlalchemy import Engine, create_engine

from recall_integrations import Memory, MemoryStore, QueryOptimizer, Scope
from recall_integrations.cli import main
from recall_integrations.database import distributing, schema
from tests.postgres import Postgres

SCOPE = Scope(user_id="u1")
# Unique keys hold the column, no foreign key leaves the shard, tables beside each other have columns of one kind.
STAND_IN = """
INSERT INTO pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
    SELECT 99999, 'citus', 10, oid, false, '{version}' FROM pg_namespace WHERE nspname = 'public';
CREATE TABLE calls (at serial, said text);
CREATE TABLE citus_tables (table_name regclass, citus_table_type text, distribution_column text, beside text);
CREATE FUNCTION citus_is_coordinator() RETURNS bool LANGUAGE sql AS 'SELECT {coordinator}';
CREATE FUNCTION create_distributed_table(t regclass, c text, colocate_with text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE wrong text; kind regtype; other regtype;
BEGIN
    IF EXISTS (SELECT 1 FROM citus_tables WHERE table_name = t) THEN
        RAISE EXCEPTION 'table "%" is already distributed', t;
    END IF;
    SELECT indexrelid::regclass::text INTO wrong FROM pg_index x WHERE indrelid = t AND (indisunique OR indisexclusion)
        AND NOT EXISTS (SELECT 1 FROM pg_attribute a WHERE a.attrelid = t AND a.attnum = ANY(x.indkey) AND attname = c);
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION 'cannot create constraint on "%": % does not include the partition column', t, wrong;
    END IF;
    IF EXISTS (SELECT 1 FROM pg_constraint WHERE contype = 'f' AND (conrelid = t OR confrelid = t)) THEN
        RAISE EXCEPTION 'cannot create foreign key constraint';
    END IF;
    SELECT atttypid INTO kind FROM pg_attribute WHERE attrelid = t AND attname = c AND attnotnull;
    IF kind IS NULL THEN RAISE EXCEPTION 'column "%" of relation "%" does not exist', c, t; END IF;
    IF colocate_with <> 'none' THEN
        SELECT a.atttypid INTO other FROM citus_tables s JOIN pg_attribute a ON a.attrelid = s.table_name
            AND a.attname = s.distribution_column WHERE s.table_name = colocate_with::regclass;
        IF other IS DISTINCT FROM kind THEN RAISE EXCEPTION 'cannot colocate tables % and %', colocate_with, t; END IF;
    END IF;
    IF EXISTS (SELECT 1 FROM calls WHERE said = 'fail ' || t) THEN RAISE EXCEPTION 'a worker is away'; END IF;
    INSERT INTO citus_tables VALUES (t, 'distributed', c, colocate_with);
    INSERT INTO calls (said) VALUES ('distributed ' || t);
END $$;
CREATE FUNCTION truncate_local_data_after_distributing_table(t regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM citus_tables WHERE table_name = t) THEN
        RAISE EXCEPTION 'supplied parameter is not a distributed relation';
    END IF;
    INSERT INTO calls (said) VALUES ('truncated ' || t);
END $$;
"""


@pytest.fixture
def engine(postgres: Postgres, postgres_url: str) -> Iterator[Engine]:
    if postgres.server is None:
        pytest.skip("somebody else's server is given no stand-in")
    made = create_engine(postgres_url)
    with MemoryStore.open(postgres_url) as store:
        store.remember(Memory("Priya counted swans", id="m1"), scope=SCOPE)
    yield made
    made.dispose()


def stand_in(engine: Engine, version: str = "13.0-1", coordinator: str = "true") -> None:
    run(engine, STAND_IN.replace("{version}", version).replace("{coordinator}", coordinator))


def run(engine: Engine, statement: str) -> Any:
    with engine.begin() as connection:
        found = connection.exec_driver_sql(statement.replace("%", "%%") if "%" in statement else statement)
        return found.fetchall() if found.returns_rows else None


def recall(*words: str) -> Result:
    return CliRunner().invoke(main, ["db", *words])


def test_every_table_has_its_place_and_its_keys_allow_it() -> None:
    """A table that a later version adds is shared out, if its keys hold the scope; else somebody has to decide."""
    for table in schema.metadata.sorted_tables:
        if table.name not in distributing.LOCAL:
            assert distributing.COLUMN in table.c, f"{table.name} has no scope: put it into distributing.LOCAL"
            assert not distributing.keys_without(table), table.name
            assert not table.foreign_keys
    assert {table.name for table in distributing.by_scope()} >= {"memories", "vectors", "words", "entities", "judged"}
    assert distributing.keys_without(schema.scopes) == ["user_id, agent_id, namespace"]
    assert distributing.keys_without(schema.changes) == ["seq"]


def test_tables_are_shared_out_beside_the_memories(engine: Engine, postgres_url: str) -> None:
    assert "Citus" not in recall("check", postgres_url).output
    stand_in(engine)
    assert "no table is shared out" in recall("check", postgres_url).output
    dry = recall("distribute", postgres_url, "--dry-run")
    assert dry.exit_code == 0, dry.output
    lines = dry.output.splitlines()
    assert lines[0] == "SELECT create_distributed_table('memories', 'scope_id', colocate_with => 'none');"
    assert lines == [f"{one};" for one in distributing.statements()] and run(engine, "SELECT * FROM calls") == []
    asked = CliRunner().invoke(main, ["db", "distribute", postgres_url], input="n\n")
    assert asked.exit_code == 1 and "never run on a real Citus" in asked.output
    assert run(engine, "SELECT * FROM calls") == []
    done = recall("distribute", postgres_url, "--yes")
    assert done.exit_code == 0, done.output
    tables = [table.name for table in distributing.by_scope()]
    said = [row[0] for row in run(engine, "SELECT said FROM calls ORDER BY at")]
    assert said == [f"{what} {name}" for name in tables for what in ("distributed", "truncated")]
    found = run(engine, "SELECT DISTINCT distribution_column, beside FROM citus_tables ORDER BY 2")
    assert found == [("scope_id", "memories"), ("scope_id", "none")]
    checked = recall("check", postgres_url)
    assert checked.exit_code == 0 and "shared out by scope_id" in checked.output and "changes" not in checked.output
    assert "all that is to be shared out is" in recall("distribute", postgres_url, "--yes").output
    with MemoryStore.open(postgres_url) as store:
        assert [h.memory.id for h in QueryOptimizer(store).recall("Who counted swans?", scope=SCOPE).hits] == ["m1"]


def test_what_failed_goes_on(engine: Engine, postgres_url: str) -> None:
    stand_in(engine)
    run(engine, "INSERT INTO calls (said) VALUES ('fail entities')")
    failed = recall("distribute", postgres_url, "--yes")
    assert failed.exit_code == 1 and "a worker is away" in failed.output
    checked = recall("check", postgres_url)
    assert checked.exit_code == 1 and "not shared out yet" in checked.output and "entities" in checked.output
    run(engine, "DELETE FROM calls")
    assert recall("distribute", postgres_url, "--yes").exit_code == 0
    assert recall("check", postgres_url).exit_code == 0
    assert "distributed memories" not in [row[0] for row in run(engine, "SELECT said FROM calls")]


@pytest.mark.parametrize(
    ("before", "says"),
    [
        ("CREATE UNIQUE INDEX twice ON memories (id)", "the unique key twice of memories does not hold scope_id"),
        (
            "ALTER TABLE vectors ADD CONSTRAINT f FOREIGN KEY (scope_id) REFERENCES scopes",
            "the foreign key f of vectors",
        ),
        (
            "CREATE FUNCTION g() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';"
            "CREATE TRIGGER told AFTER INSERT ON words FOR EACH ROW EXECUTE FUNCTION g()",
            "words has the trigger told",
        ),
        ("INSERT INTO citus_tables VALUES ('scopes', 'reference', '<none>', '')", "scopes is reference already"),
        ("INSERT INTO citus_tables VALUES ('words', 'distributed', 'num', '')", "words is distributed by num already"),
    ],
)
def test_what_stands_in_the_way_is_named_before_anything_is_changed(
    before: str, says: str, engine: Engine, postgres_url: str
) -> None:
    stand_in(engine)
    run(engine, before)
    refused = recall("distribute", postgres_url, "--yes")
    assert refused.exit_code == 1 and says in refused.output and "Nothing was changed" in refused.output
    assert run(engine, "SELECT * FROM calls") == []


def test_a_server_that_cannot_is_refused(engine: Engine, postgres_url: str, postgres: Postgres) -> None:
    assert "has not the extension" in recall("distribute", postgres_url).output
    stand_in(engine, version="11.3-1", coordinator="false")
    assert "Citus 11.3-1; 12 or later" in recall("distribute", postgres_url).output
    run(engine, "UPDATE pg_extension SET extversion = '12.1-1' WHERE extname = 'citus'")
    assert "is a worker of Citus" in recall("distribute", postgres_url).output
    run(engine, "CREATE OR REPLACE FUNCTION citus_is_coordinator() RETURNS bool LANGUAGE sql AS 'SELECT true'")
    with MemoryStore.open(postgres_url):
        assert "is open" in recall("distribute", postgres_url, "--yes").output
    run(engine, "CREATE ROLE ann_of_citus LOGIN")
    try:
        assert recall("isolate", postgres_url, "--role", "ann_of_citus", "--user", "u1").exit_code == 0
        assert "role ann_of_citus was isolated" in recall("distribute", postgres_url, "--yes").output
    finally:
        recall("isolate", postgres_url, "--role", "ann_of_citus", "--undo")
        run(engine, "DROP OWNED BY ann_of_citus")
        postgres.run("DROP ROLE ann_of_citus")
