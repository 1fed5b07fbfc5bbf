"""Ids of entities say nothing outside their store, and stay the same inside it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from sqlalchemy import text

from recall_integrations import MemoryStore, QueryOptimizer
from recall_integrations.database.engine import open_sqlite
from recall_integrations.query.entities.state import entity_id_of
from recall_integrations.store import entities
from recall_integrations.testing import HashEmbedding
from recall_integrations.types import Memory

FAKE = HashEmbedding()
NAMES = ("Priya Raman", "+49 170 1234567", "田中", "🚀")


def made(path: Path | None = None) -> dict[str, str]:
    with MemoryStore.open(path, embedding=FAKE) as store:
        return {name: store.add_entity(name) for name in NAMES}


def test_two_stores_have_other_ids_and_one_has_the_same_for_ever(tmp_path: Path) -> None:
    first, second = made(tmp_path / "a"), made(tmp_path / "b")
    assert len({*first.values(), *second.values()}) == 2 * len(NAMES)
    assert made(tmp_path / "a") == first
    assert not {entity_id_of(name, b"") for name in NAMES} & set(first.values())


def test_another_process_gives_the_same_ids(tmp_path: Path) -> None:
    first = made(tmp_path / "a")
    code = (
        "import sys\nfrom recall_integrations import MemoryStore, QueryOptimizer\n"
        "from recall_integrations.testing import HashEmbedding\n"
        "with MemoryStore.open(sys.argv[1], embedding=HashEmbedding()) as store:\n"
        "    print(QueryOptimizer(store).parse('What did Priya Raman say?').entity_refs[0].entity_id)\n"
    )
    run = subprocess.run([sys.executable, "-c", code, str(tmp_path / "a")], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == first["Priya Raman"]


def test_no_part_of_a_name_is_in_its_id() -> None:
    for name in NAMES:  # under one key: three digits stand in some digest by chance
        entity_id = entity_id_of(name, bytes(entities.KEY_BYTES))
        assert not any(word in entity_id for word in name.casefold().split()), name


def test_a_key_that_is_lost_is_made_anew_and_never_left_out(tmp_path: Path) -> None:
    first = made(tmp_path / "a")
    engine = open_sqlite(tmp_path / "a" / "recall.db")
    with engine.begin() as connection:
        connection.execute(text("UPDATE meta SET value = 'no key' WHERE key = 'entity_key'"))
    engine.dispose()
    assert made(tmp_path / "a") == first  # known entities keep their ids
    with MemoryStore.open(tmp_path / "a", embedding=FAKE) as store:
        new, known = store.add_entity("Somebody new"), store.add_entity(NAMES[0])
        assert len(store.entity_key) == entities.KEY_BYTES and new == entity_id_of("Somebody new", store.entity_key)
    assert known == first[NAMES[0]]


def test_entities_that_fit_equally_well_come_in_the_same_order_in_every_store() -> None:
    """Ids differ from store to store; what a query finds may not."""
    orders = set()
    for _ in range(4):
        with MemoryStore.open(embedding=FAKE) as store:
            store.remember(Memory("hello"))
            for name in ("山田 花子", "山田 太郎", "山田 一郎", "Sam Lee", "Sam Roe", "Sam Kim"):
                store.add_entity(name, aliases=[name.split()[0]])
            optimizer = QueryOptimizer(store)
            parsed = [optimizer.parse(query) for query in ("What did Sam say?", "山田")]
            orders.add(tuple(ref.name for p in parsed for ref in p.entity_refs))
    assert len(orders) == 1 and len(orders.pop()) >= 3
