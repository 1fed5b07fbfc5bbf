"""What is counted of the languages of a scope follows the memories, in whatever order they come and go."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import delete, event

from recall_integrations import Memory, MemoryStore, Scope
from recall_integrations.database import schema
from recall_integrations.store import languages
from recall_integrations.store.renewal import ANALYSER

OpenStore = Callable[..., MemoryStore]
TEXTS = {
    "1": "Vendí la moto",
    "2": "Das Auto steht in der Werkstatt",
    "3": "The bike is in the cellar",
    "4": "Pagué el alquiler",
    "5": "我的猫叫豆豆",
}


def rows(store: MemoryStore) -> set[tuple[object, ...]]:
    with store.engine.connect() as connection:
        found = connection.execute(schema.languages.select()).all()
    return {tuple(row) for row in found if any(row[2:])}


def test_counts_do_not_depend_on_the_order(open_store: OpenStore) -> None:
    store = open_store()
    one, other = Scope(user_id="a"), Scope(user_id="b")
    store.remember_many([Memory(text, id=i) for i, text in TEXTS.items()], scope=one)
    for i in reversed(TEXTS):
        store.remember(Memory(TEXTS[i], id=i), scope=other)
    assert store.reader.languages(1) == store.reader.languages(2)
    assert store.reader.languages(1).told == {"de": 1, "zh": 1}
    assert store.reader.languages(1).english == 1


def test_what_is_forgotten_or_replaced_is_taken_away(open_store: OpenStore) -> None:
    store = open_store()
    store.remember(Memory(TEXTS["3"], id="3"))
    before = rows(store)
    for i in ("1", "2", "4"):
        store.remember(Memory(TEXTS[i], id=i))
    assert rows(store) != before
    store.remember(Memory("The car is in the garage", id="2"))  # replaced
    assert store.reader.languages(1).told == {}
    for i in ("1", "4", "2"):
        store.forget(i)
    assert rows(store) == before == set()
    assert store.reader.languages(1).memories == 1


def test_counting_anew_gives_the_same(open_store: OpenStore) -> None:
    store = open_store()
    store.remember_many([Memory(text, id=i) for i, text in TEXTS.items()])
    store.forget("4")
    before = rows(store)
    with store.engine.begin() as connection:
        languages.recount(connection)
    assert rows(store) == before
    store.reindex()
    assert rows(store) == before


def test_a_store_of_another_analyser_is_counted_at_open(open_store: OpenStore) -> None:
    store = open_store()
    store.remember_many([Memory(text, id=i) for i, text in TEXTS.items()])
    before = rows(store)
    with store.engine.begin() as connection:
        connection.execute(delete(schema.languages))
        connection.execute(delete(schema.meta).where(schema.meta.c.key == ANALYSER))
    store.close()
    assert rows(open_store()) == before


def test_a_recall_reads_them_once_after_a_write(store: MemoryStore) -> None:
    store.remember_many([Memory(text, id=i) for i, text in TEXTS.items()])
    store.forget("3")
    asked: list[str] = []
    event.listen(store.engine, "before_cursor_execute", lambda *a: asked.append(a[2]))
    assert store.reader.languages(1) is store.reader.languages(1)
    assert sum("FROM languages" in statement for statement in asked) == 1
    store.remember("Ein Satz, der auf Deutsch ist und nicht auf Englisch")
    assert store.reader.languages(1).told == {"de": 2, "zh": 1}
