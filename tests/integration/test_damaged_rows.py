"""One damaged row costs its memory at most: the rest of the scope is found, and the loss is named."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import inspect

from recall_integrations import Filters, Memory, MemoryStore, QueryOptimizer, Relation, Scope
from recall_integrations.database import schema

TABLES = ("memories", "words", "vectors", "mentions", "edges", "entities", "aliases")
GARBAGE = ("'{'", "x'ff00fe'", "9223372036854775807", "'zzz'", "-1.5")
KEYS = {"scope_id", "num", "ent", "src", "dst"}  # a row under another key is another row: see the missing ones
COLUMNS = [(t, c.name) for t in TABLES for c in getattr(schema, t).columns if c.name not in KEYS]
IDS = {f"m{i}" for i in range(6)}


@pytest.fixture
def filled(open_store: Callable[..., MemoryStore]) -> MemoryStore:
    store = open_store()
    store.add_entity("Priya Raman", aliases=["Priya"])
    store.remember_many(
        Memory(
            f"Priya said the kestrel deploy {i} failed. Why?",
            id=f"m{i}",
            actor="Sam",
            thread="t",
            entities=["Kestrel"],
            relations=[Relation("Priya", "manager_of", "Sam")],
            refs=["doc"],
            metadata={"n": 1},
        )
        for i in range(6)
    )
    return store


def spoil(store: MemoryStore, statement: str) -> int:
    with store.engine.begin() as connection:
        connection.exec_driver_sql("PRAGMA ignore_check_constraints = ON")
        return connection.exec_driver_sql(statement).rowcount


def lose(store: MemoryStore, open_store: Callable[..., MemoryStore], statement: str) -> MemoryStore:
    assert spoil(store, statement) >= 1
    store.close()
    return open_store()


def found(store: MemoryStore, **given: object) -> tuple[set[str | None], set[str]]:
    result = QueryOptimizer(store).recall("Who manages Sam: did Priya say why kestrel failed?", k=6, context=1, **given)  # type: ignore[arg-type]
    return {hit.memory.id for hit in result.hits}, {d.reason for d in result.degraded}


def checked(store: MemoryStore) -> None:
    for filters in (None, Filters(metadata={"n": 1}), Filters(actors=["Sam"])):
        ids, reasons = found(store, filters=filters, time_budget_ms=20_000)
        whole = {i for i in IDS if store.get(i) is not None}
        assert len(whole) >= 5
        assert ids >= IDS - {"m2"}, (filters, ids, reasons)
        assert ids <= IDS
        assert reasons <= {"memory.damaged"}
        if filters is None and "m2" not in ids:
            assert reasons == {"memory.damaged"}
    store.remember(Memory("kestrel again", id="new"))
    assert store.get("new") is not None
    assert store.forget("new")


@pytest.mark.sweep(every=5)
@pytest.mark.parametrize(("table", "column"), COLUMNS)
def test_a_damaged_field_costs_its_memory_only(
    filled: MemoryStore, open_store: Callable[..., MemoryStore], table: str, column: str
) -> None:
    key = "num = (SELECT num FROM memories WHERE id = 'm2')" if "num" in getattr(schema, table).columns else "ent = 1"
    if (table, column) == ("memories", "id"):
        return  # it is then another memory, with another id
    tried = 0
    for garbage in GARBAGE:
        store = filled if not tried else open_store()
        try:
            changed = spoil(store, f"UPDATE {table} SET {column} = {garbage} WHERE {key}")
        except Exception as e:  # the column refuses it
            assert "constraint" in str(e), e
            continue
        assert changed
        tried += 1
        store.close()
        store = open_store()
        checked(store)
        store.close()
    assert tried


@pytest.mark.sweep(every=3)
@pytest.mark.parametrize("table", TABLES)
def test_a_missing_row_costs_its_memory_only(
    filled: MemoryStore, open_store: Callable[..., MemoryStore], table: str
) -> None:
    key = "num = (SELECT num FROM memories WHERE id = 'm2')" if "num" in getattr(schema, table).columns else "ent = 1"
    store = lose(filled, open_store, f"DELETE FROM {table} WHERE {key}")
    ids, reasons = found(store, time_budget_ms=20_000)
    assert ids >= IDS - {"m2"}
    assert ("m2" in ids) == (table != "memories")
    assert reasons <= {"memory.damaged"}


def test_damage_is_named_until_the_memory_is_remembered_again(
    filled: MemoryStore, open_store: Callable[..., MemoryStore]
) -> None:
    store = lose(filled, open_store, "UPDATE memories SET metadata = '{' WHERE id = 'm2'")
    result = QueryOptimizer(store).recall("kestrel", k=6, time_budget_ms=20_000)
    assert {h.memory.id for h in result.hits} == IDS - {"m2"}
    named = [d for d in result.degraded if d.reason == "memory.damaged"]
    assert len(named) == 1 and "'m2'" in named[0].detail and "Remember them again" in named[0].detail
    store.remember(Memory("kestrel, again", id="m2"))
    assert found(store, time_budget_ms=20_000) == (IDS, set())


@pytest.mark.parametrize("column", ["entities", "relations", "refs", "metadata"])
@pytest.mark.parametrize("spoiled", ["'['", "'7'", "x'ff00'", "''"])
def test_all_is_made_anew_around_damage(filled: MemoryStore, column: str, spoiled: str) -> None:
    spoil(filled, f"UPDATE memories SET {column} = {spoiled} WHERE id = 'm2'")
    filled.reindex()
    ids, reasons = found(filled, time_budget_ms=20_000)
    assert ids == IDS - {"m2"} and reasons == {"memory.damaged"}


def test_damage_in_one_scope_is_not_named_in_another(filled: MemoryStore) -> None:
    filled.remember(Memory("kestrel", id="theirs"), scope=Scope("other"))
    spoil(filled, "UPDATE memories SET refs = '[' WHERE id = 'm2'")
    assert found(filled, time_budget_ms=20_000)[1] == {"memory.damaged"}
    assert found(filled, scope=Scope("other"), time_budget_ms=20_000) == ({"theirs"}, set())


def test_all_tables_of_the_record_are_tried(store: MemoryStore) -> None:
    whole = {"meta", "scopes", "changes", "cursors"}  # of the store or a scope, not of a memory
    derived = set(inspect(store.engine).get_table_names()) - whole - set(TABLES)
    facts = {"facts", "facts_read", "told_times"}  # below
    judged = {"judged"}  # tests/unit/store/test_judgements.py
    assert derived <= {"languages", "scope_languages", *facts, *judged}, derived


@pytest.mark.sweep(every=5)
@pytest.mark.parametrize("column", ["value", "op", "since", "subject", "confidence", "instead_of"])
@pytest.mark.parametrize("spoiled", ["x'ff00'", "''", "'soon'", "-1"])
def test_a_damaged_fact_costs_no_recall(open_store: Callable[..., MemoryStore], column: str, spoiled: str) -> None:
    store = open_store()
    store.remember_many(Memory(f"My phone number is 555-010{i}", id=f"m{i}") for i in range(3))
    assert len(store.facts()) == 1
    store = lose(store, open_store, f"UPDATE facts SET {column} = {spoiled}")
    result = QueryOptimizer(store).recall("what is my phone number?", k=3, time_budget_ms=20_000)
    assert {hit.memory.id for hit in result.hits} == {"m0", "m1", "m2"}
    assert {d.reason for d in result.degraded} <= {"memory.damaged"}
    assert isinstance(store.facts(history=True), list)
