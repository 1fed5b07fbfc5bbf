from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone

import pytest
from sqlalchemy import select

from recall_integrations.database import schema
from recall_integrations.errors import InvalidArgument
from recall_integrations.query.entities.state import entity_id_of
from recall_integrations.store.entities import normal_name
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import Filters, Memory, Relation, Scope
from tests.rows import each_row

U1 = Scope(user_id="u1")
NOW = datetime(2024, 5, 15, tzinfo=timezone.utc)


def mentioning(store: MemoryStore, name: str, scope: Scope = Scope()) -> set[str]:
    """Ids of memories that a filter by this name lets through."""
    scope_id = store.scope_id(scope)
    assert scope_id is not None
    view = store.view(scope_id)
    mask = store.reader.filter_mask(view, Filters(entities=(name,)), NOW)
    assert mask is not None
    return {view.ids[row] for row in range(view.size) if mask[row] and view.alive[row]}


def names(store: MemoryStore, scope: Scope = Scope()) -> set[str]:
    e = schema.entities
    with store.engine.connect() as connection:
        return set(connection.execute(select(e.c.name).where(e.c.scope_id == store.scope_id(scope))).scalars())


def test_normal_name() -> None:
    assert normal_name("  Priya   RAMAN's ") == normal_name("priya raman") == "priya raman"
    assert len({normal_name(n) for n in ("C", "C++", "C#", "🎉", "日本", "日")}) == 6
    assert entity_id_of("Priya Raman", b"") == entity_id_of(" priya  RAMAN", b"")
    assert entity_id_of("Priya Raman", b"") != entity_id_of("Priya Raman", b"key of a store")
    assert "priya" not in entity_id_of("Priya Raman", b"")


def test_ids_of_names_without_a_latin_letter_do_not_collide() -> None:
    count = 60_000  # a digest of 32 bits would have one by now, more likely than not
    assert len({entity_id_of(chr(0x4E00 + i // 300) + chr(0x4E00 + i % 300), b"") for i in range(count)}) == count


def test_actor_entities_and_relations_are_mentioned(store: MemoryStore) -> None:
    store.remember(
        Memory("went home", id="m", actor="Priya", entities=("Kestrel",), relations=(Relation("Sam", "r", "Kim"),))
    )
    for name in ("Priya", "priya", "Kestrel", "Sam", "Kim"):
        assert mentioning(store, name) == {"m"}
    assert mentioning(store, "Nobody") == set()


def test_known_names_are_found_in_texts(store: MemoryStore) -> None:
    store.add_entity("Project Kestrel", aliases=["PK"])
    store.remember_many(
        [
            Memory("Project Kestrel slips", id="a"),
            Memory("what about PK?", id="b"),
            Memory("a kestrel flew by", id="c"),
            Memory("New here", id="d", entities=("Osprey House",)),
            Memory("the Osprey House again", id="e"),
        ]
    )
    assert mentioning(store, "PK") == mentioning(store, "Project Kestrel") == {"a", "b"}
    assert mentioning(store, "Osprey House") == {"d", "e"}


def test_declared_twice_adds_aliases_and_keeps_the_id(store: MemoryStore) -> None:
    first = store.add_entity("Priya Raman", aliases=["Priya"])
    assert store.add_entity("priya raman", aliases=["PR", "Priya"]) == first
    assert store.entities(store.scope_id(Scope()) or 0).index.lookup("PR") == (first,)
    assert store.stats()["entities"] == 1 and store.stats()["aliases"] == 2


def test_undeclared_entity_is_merged_into_the_declared_one(store: MemoryStore) -> None:
    store.remember_many(
        [
            Memory("one", id="a", actor="Priya"),
            Memory("two", id="b", entities=("Priya", "Priya Raman")),
            Memory("three", id="c", relations=(Relation("Priya", "manager_of", "Sam"),)),
            Memory("four", id="d", relations=(Relation("Priya Raman", "manager_of", "Sam"),)),
            Memory(
                "five",
                id="e",
                relations=(Relation("Priya", "knows", "Kim"), Relation("Priya Raman", "knows", "Kim")),
            ),
        ]
    )
    assert names(store) == {"Priya", "Priya Raman", "Sam", "Kim"}
    entity_id = store.add_entity("Priya Raman", aliases=["Priya"])
    assert names(store) == {"Priya Raman", "Sam", "Kim"}
    assert mentioning(store, "Priya") == mentioning(store, "Priya Raman") == {"a", "b", "c", "d", "e"}
    known = store.entities(store.scope_id(Scope()) or 0)
    assert known.index.lookup("Priya") == (entity_id,)
    with store.engine.connect() as connection:
        ends = set(connection.execute(select(schema.edges.c.num, schema.edges.c.src)).tuples())
    assert {src for _, src in ends} == {known.ent_of[entity_id]} and len(ends) == 3
    store.remember(Memory("six", id="f", actor="Priya"))
    assert "f" in mentioning(store, "Priya Raman")


def test_declared_entity_is_not_merged_away(store: MemoryStore) -> None:
    first = store.add_entity("Priya")
    second = store.add_entity("Priya Raman", aliases=["Priya"])
    known = store.entities(store.scope_id(Scope()) or 0)
    assert known.index.lookup("Priya") == (first, second), "the name itself goes before an alias"


def test_earlier_memories_are_linked(store: MemoryStore) -> None:
    store.remember_many(
        [
            Memory("Project Kestrel slips", id="a"),
            Memory("PK is late", id="b"),
            Memory("a kestrel flew by", id="c"),
            Memory("ask Will about it", id="d"),
            Memory("they will ask", id="e"),
        ]
    )
    store.remember(Memory("Project Kestrel elsewhere", id="x"), scope=U1)
    store.add_entity("Project Kestrel", aliases=["PK"])
    assert mentioning(store, "PK") == {"a", "b"}
    store.add_entity("Will")  # nothing but a stop word, which no memory is looked for by
    assert "e" not in mentioning(store, "Will")
    store.add_entity("Project Kestrel", aliases=["PK"])  # again: nothing twice
    assert mentioning(store, "PK") == {"a", "b"}


def test_names_outlive_the_object(open_store: Callable[..., MemoryStore]) -> None:
    with open_store() as store:
        entity_id = store.add_entity("Priya Raman", aliases=["Priya"], scope=U1)
        store.remember(Memory("x", id="m", actor="Sam"), scope=U1)
    store = open_store()
    assert store.add_entity("Priya Raman", scope=U1) == entity_id
    known = store.entities(store.scope_id(U1) or 0)
    assert known.index.lookup("priya") == (entity_id,)
    store.remember(Memory("y", id="n", actor="Sam"), scope=U1)
    assert mentioning(store, "Sam", U1) == {"m", "n"}


def test_scopes_have_their_own_names(store: MemoryStore) -> None:
    store.add_entity("Priya", scope=U1)
    store.remember("hello Priya")
    assert mentioning(store, "Priya") == set()
    assert names(store) == set()


def test_forgotten_memories_leave_their_mentions(store: MemoryStore) -> None:
    store.remember(Memory("x", id="m", actor="Priya", relations=(Relation("Priya", "r", "Sam"),)))
    store.forget("m")
    assert mentioning(store, "Priya") == set()
    assert store.stats()["mentions"] == store.stats()["edges"] == 0


@each_row(
    ("name", "aliases"),
    [("", []), ("x" * 2000, []), ("ok", "PR"), ("ok", [""]), ("ok", [7]), (7, []), ("a\nb", [])],
)
def test_bad_names(store: MemoryStore, name: object, aliases: object) -> None:
    with pytest.raises(InvalidArgument):
        store.add_entity(name, aliases=aliases)  # type: ignore[arg-type]
    assert store.scopes() == []


def test_failed_write_leaves_no_names(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    from recall_integrations.store import journal

    def full(*_: object) -> None:
        raise RuntimeError("disk full")

    with monkeypatch.context() as patched:
        patched.setattr(journal, "append", full)
        with pytest.raises(RuntimeError):
            store.remember(Memory("x", actor="Priya"))
    assert store.count() == 0 and store.scopes() == []
    store.remember(Memory("x", id="m", actor="Sam"))
    assert names(store) == {"Sam"} and mentioning(store, "Sam") == {"m"}


def test_a_scope_whose_columns_have_left_is_read_again(store: MemoryStore) -> None:
    for scope in (Scope(), U1):
        store.add_entity("Priya Raman", aliases=["PR"], scope=scope)
    catalog, first, second = store._parts.catalog, store.scope_id(Scope()), store.scope_id(U1)
    assert first is not None and second is not None
    before, other = catalog.of(first), catalog.of(second)
    catalog.left(second)
    assert not catalog.has(second) and catalog.of(first) is before
    catalog.left(first)  # the one that was used last
    assert not catalog.has(first)
    again = catalog.of(first)
    assert again is not before and again.by_norm == before.by_norm and again.next_ent == before.next_ent
    assert catalog.of(second) is not other
    catalog.left(99)
