"""`recall doctor`: each kind of damage is found by the check for it, and mended; a clean store is left alone."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from sqlalchemy import text

from recall_integrations.config import RecallConfig, RetrievalConfig
from recall_integrations.errors import StorePathError
from recall_integrations.store import journal
from recall_integrations.store.doctor import Findings, examine, repair
from recall_integrations.store.doctor.findings import PUT_ASIDE
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import Memory, Relation, Scope
from tests import in_collections

SCOPE, OTHER = Scope(user_id="u"), Scope(user_id="v")
CONFIG = RecallConfig(retrieval=RetrievalConfig(exact_max=20))
COUNT = 24
NOW = datetime(2026, 5, 1, tzinfo=timezone.utc)


def clock() -> datetime:
    return NOW


def written(i: int) -> Memory:
    return Memory(
        f"note{i} about birds, not Kestrel",
        id=f"m{i}",
        actor="Priya",
        relations=[Relation("Priya", "saw", f"Bird {i}")],
    )


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory, module_embedding: object) -> Path:
    directory = tmp_path_factory.mktemp("original") / "store"
    with MemoryStore.open(directory, embedding=module_embedding, config=CONFIG, clock=clock) as store:
        store.remember_many([written(i) for i in range(COUNT)], scope=SCOPE)
        store.remember_many(["Der Hund bellt laut in der Nacht", "¿Quién come el pan?"], scope=OTHER)
        store.remember(Memory("note3 was another one", id="m3"), scope=SCOPE)
        store.forget("m4", scope=SCOPE)
        assert store.indexes.settle(60)
    return directory


@pytest.fixture
def path(original: Path, fast_path: Path) -> Path:
    return Path(shutil.copytree(original, fast_path / "copy"))


@pytest.fixture
def look(module_embedding: object) -> Callable[[Path], Findings]:
    return lambda path: examine(path, clock=clock)


@pytest.fixture
def mend(module_embedding: object) -> Callable[[Path], Findings]:
    return lambda path: repair(path, embedding=module_embedding, clock=clock)


def sql(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path / "recall.db")) as connection:
        for statement in statements:
            assert connection.execute(statement).rowcount != 0, f"nothing to damage: {statement}"
        connection.commit()


def states(found: Findings) -> dict[str, str]:
    return {check.name: check.state for check in found.checks if check.state != "ok"}


def prints(directory: Path) -> dict[str, str]:
    files = (p for p in sorted(directory.rglob("*")) if p.is_file())
    return {p.relative_to(directory).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def whole(path: Path, embedding: object, count: int = COUNT - 1) -> None:
    """What is left is found by every arm, and nothing has to be repaired at open."""
    with MemoryStore.open(path, embedding=embedding, config=CONFIG, clock=clock) as store:
        assert store.stats()["notices"] == []
        assert store.count(scope=SCOPE) == count
        scope_id = store.scope_id(SCOPE)
        assert scope_id is not None
        view = store.view(scope_id)
        assert view.count == count
        assert store.indexes.settle(60)
        assert view.nums[view.alive].tolist() == in_collections.nums(store)[store.indexes.home_of(scope_id)].tolist()
        store.remember("and it goes on", scope=OTHER)
    assert examine(path, clock=clock).clean


def test_a_clean_store_is_clean_and_not_touched(path: Path, look: Callable[[Path], Findings]) -> None:
    before = prints(path)
    found = look(path)
    assert found.clean and states(found) == {}
    assert prints(path) == before
    assert [check.name for check in found.checks] == [
        *("directory", "disk", "lock", "database", "schema", "memories", "clock", "scopes", "words", "languages"),
        *("vectors", "orphans", "journal", "semantic index", "leftovers", "put aside"),
    ]


def test_repairing_a_clean_store_changes_nothing(path: Path, mend: Callable[[Path], Findings]) -> None:
    def tables() -> list[str]:
        with closing(sqlite3.connect(path / "recall.db")) as connection:
            return list(connection.iterdump())

    before = tables()
    found = mend(path)
    assert found.clean and states(found) == {}
    assert tables() == before


NUM = "(SELECT num FROM memories WHERE id = 'm5')"
BY_NUM = f"num = {NUM}"
DAMAGES = {
    "words gone": (["DELETE FROM words WHERE " + BY_NUM], "words"),
    "words of another text": (["UPDATE words SET words = 'crow' WHERE " + BY_NUM], "words"),
    "word count": (["UPDATE words SET stems = 99 WHERE " + BY_NUM], "words"),
    "languages": (["UPDATE languages SET told = told + 5"], "languages"),
    "languages that cannot be added": (["UPDATE languages SET votes = X'c3ff'"], "languages"),
    "vector gone": (["DELETE FROM vectors WHERE " + BY_NUM], "vectors"),
    "vector cut": (["UPDATE vectors SET vector = substr(vector, 1, 10) WHERE " + BY_NUM], "vectors"),
    "vector not finite": (["UPDATE vectors SET vector = X'" + "007c" * 16 + "' WHERE " + BY_NUM], "vectors"),
    "vector too long": (["UPDATE vectors SET vector = X'" + "0044" * 16 + "' WHERE " + BY_NUM], "vectors"),
    "count": (["UPDATE scopes SET memories = 7 WHERE user_id = 'u'"], "scopes"),
    "orphan words": (
        ["INSERT INTO words (scope_id, num, words, stems, length, asks) VALUES (1, 9999, 'crow', 1, 1, 0)"],
        "orphans",
    ),
    "orphan mentions": (["INSERT INTO mentions (scope_id, ent, num, role) VALUES (1, 1, 9999, 'text')"], "orphans"),
    "mention of nobody": ([f"INSERT INTO mentions VALUES (1, 777, {NUM}, 'text')"], "orphans"),
    "edge of nobody": ([f"INSERT INTO edges VALUES (1, {NUM}, 777, 'x', 1, 1.0)"], "orphans"),
    "languages of no scope": (["INSERT INTO languages VALUES (77, 'de', 1, 0, 0)"], "orphans"),
    "journal entry gone": (["DELETE FROM changes WHERE seq = 7"], "journal"),
    "journal entry changed": (["UPDATE changes SET digest = 'ab' WHERE seq = 7"], "journal"),
    "journal gone": (["DELETE FROM changes"], "journal"),
    "text changed": (["UPDATE memories SET text = 'note5 about crows' WHERE id = 'm5'"], "journal"),
    "cursor too far": (["UPDATE cursors SET seq = 5000 WHERE name = 'semantic'"], "journal"),
    "last number unreadable": (["INSERT INTO meta VALUES ('last_seq', 'many')"], "journal"),
}


@pytest.mark.sweep(every=3)
@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_rows_are_found_and_mended(
    path: Path,
    look: Callable[[Path], Findings],
    mend: Callable[[Path], Findings],
    module_embedding: object,
    damage: str,
) -> None:
    statements, check = DAMAGES[damage]
    sql(path, *statements)
    before = prints(path)
    found = look(path)
    assert found[check].state == "problem" and not found.clean
    assert prints(path) == before
    mended = mend(path)
    assert mended.clean and mended[check].state == "mended", states(mended)
    assert look(path).clean
    whole(path, module_embedding)


def test_a_lost_memory_is_named(
    path: Path, look: Callable[[Path], Findings], mend: Callable[[Path], Findings], module_embedding: object
) -> None:
    with closing(sqlite3.connect(path / "recall.db")) as connection:
        num = connection.execute("SELECT num FROM memories WHERE id = 'm5'").fetchone()[0]
    sql(path, "DELETE FROM memories WHERE id = 'm5'")
    said = f"Memory {num} was written and never removed, and is not there: it is lost."
    assert said in look(path)["journal"].examples
    mended = mend(path)
    assert mended.clean and said in mended["journal"].examples
    whole(path, module_embedding, COUNT - 2)


UNREADABLE = {
    "metadata": "UPDATE memories SET metadata = '{\"a\": ' WHERE id = 'm5'",
    "metadata of another kind": "UPDATE memories SET metadata = '[1]' WHERE id = 'm5'",
    "nested": f"UPDATE memories SET metadata = '{'[' * 100_000}' WHERE id = 'm5'",
    "entities": "UPDATE memories SET entities = '[1]' WHERE id = 'm5'",
    "relations": "UPDATE memories SET relations = '[[\"a\"]]' WHERE id = 'm5'",
    "type": "UPDATE memories SET type = 'rumour' WHERE id = 'm5'",
    "role": "UPDATE memories SET role = 'king' WHERE id = 'm5'",
    "time": "UPDATE memories SET created_at = 9000000000000000000 WHERE id = 'm5'",
    "time as text": "UPDATE memories SET event_at = 'yesterday' WHERE id = 'm5'",
    "importance": "UPDATE memories SET importance = 'much' WHERE id = 'm5'",
    "text that is none": "UPDATE memories SET text = X'C3C3FF' WHERE id = 'm5'",
    "text in no UTF-8": "UPDATE memories SET text = CAST(X'C3C3FF' AS TEXT) WHERE id = 'm5'",
    "scope": "UPDATE memories SET scope_id = 77 WHERE id = 'm5'",
}


@pytest.mark.sweep(every=3)
@pytest.mark.parametrize("damage", UNREADABLE)
def test_a_memory_that_cannot_be_read_is_put_aside(
    path: Path,
    look: Callable[[Path], Findings],
    mend: Callable[[Path], Findings],
    module_embedding: object,
    damage: str,
) -> None:
    sql(path, UNREADABLE[damage])
    found = look(path)
    assert found["memories"].state == "problem" and "'m5'" in found["memories"].examples[0]
    mended = mend(path)
    assert mended.clean and mended["memories"].state == "mended", mended.as_data()
    assert mended["put aside"].state == "notice"
    (row,) = map(json.loads, (path / PUT_ASIDE).read_text().splitlines())
    assert row["id"] == "m5" and row["why"] and (row["scope"] == ["u", "", ""] or damage == "scope")
    assert row["text"] in (written(5).text, {"bytes": "c3c3ff"})
    whole(path, module_embedding, COUNT - 2)
    with MemoryStore.open(path, embedding=module_embedding, config=CONFIG) as store:
        store.remember(written(5), scope=SCOPE)  # it may come back
        assert store.count(scope=SCOPE) == COUNT - 1


def test_a_table_that_is_gone(path: Path, mend: Callable[[Path], Findings], module_embedding: object) -> None:
    with closing(sqlite3.connect(path / "recall.db")) as connection:
        for table in ("words", "changes", "languages"):
            connection.execute(f"DROP TABLE {table}")
        connection.commit()
    assert examine(path)["schema"].state == "problem"
    mended = mend(path)
    assert mended.clean and mended["schema"].state == "mended", states(mended)
    whole(path, module_embedding)


def test_an_index_of_the_database_itself(path: Path, mend: Callable[[Path], Findings]) -> None:
    """Hidden while a row changes, so that it still has the old one."""
    with closing(sqlite3.connect(path / "recall.db")) as connection:
        entry = connection.execute("SELECT * FROM sqlite_master WHERE name = 'memories_by_type'").fetchone()
    for statement, values in (
        ("DELETE FROM sqlite_master WHERE name = 'memories_by_type'", ()),
        ("UPDATE memories SET type = 'fact' WHERE id = 'm5'", ()),
        ("INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", entry),
    ):
        with closing(sqlite3.connect(path / "recall.db")) as connection:
            connection.execute("PRAGMA writable_schema = ON")
            connection.execute(statement, values)
            connection.commit()
    found = examine(path, clock=clock)
    assert found["database"].state == "problem" and "index" in found["database"].examples[0]
    assert mend(path)["database"].state == "mended"
    assert examine(path, clock=clock).clean


def test_a_damaged_database_is_left_to_a_backup(path: Path, mend: Callable[[Path], Findings]) -> None:
    content = bytearray((path / "recall.db").read_bytes())
    content[4096 * 3 : 4096 * 6] = bytes(4096 * 3)
    (path / "recall.db").write_bytes(content)
    before = prints(path)
    for found in (examine(path), mend(path)):
        assert found["database"].state == "problem" and "backup" in found["database"].remedy
        assert found["memories"].state == "skipped" and not found.clean
    assert prints(path) == before


@pytest.mark.parametrize("what", ["missing", "empty", "of another program", "older", "newer"])
def test_no_store_of_ours(path: Path, mend: Callable[[Path], Findings], what: str) -> None:
    database = path / "recall.db"
    if what == "missing":
        database.unlink()
    elif what == "empty":
        database.write_bytes(b"")
    elif what in ("older", "newer"):
        number = "16" if what == "older" else "999"
        sql(path, f"UPDATE meta SET value = '{number}' WHERE key = 'schema_version'")
    else:
        database.unlink()
        with closing(sqlite3.connect(database)) as connection:
            connection.execute("CREATE TABLE songs (title TEXT)")
    before = prints(path)
    for found in (examine(path), mend(path)):
        assert not found.clean
        assert "problem" in (found["database"].state, found["schema"].state)
    assert prints(path) == before


@pytest.mark.sweep(every=3)
@pytest.mark.parametrize("damage", ["gone", "of another history", "opening", "changed"])
def test_indexes(path: Path, mend: Callable[[Path], Findings], module_embedding: object, damage: str) -> None:
    directory = path / "semantic.0"
    if damage == "gone":
        shutil.rmtree(directory)
    elif damage == "of another history":
        (directory / "recall.history").write_text('[43, "ab"]')
    elif damage == "opening":
        (directory / "recall.opening").touch()
    else:
        largest = max((p for p in directory.rglob("*") if p.is_file()), key=lambda p: p.stat().st_size)
        content = bytearray(largest.read_bytes())
        content[len(content) // 2] ^= 255
        largest.write_bytes(content)
    found = examine(path, clock=clock)
    assert states(found) == {"semantic index": "problem"}, found.as_data()
    mended = mend(path)
    assert states(mended) == {"semantic index": "mended"}
    whole(path, module_embedding)


def test_another_embedding_repairs_all_but_vectors(path: Path, make_embedding: Callable[..., object]) -> None:
    sql(path, "DELETE FROM vectors WHERE " + BY_NUM, "DELETE FROM words WHERE " + BY_NUM)
    shutil.rmtree(path / "semantic.0")
    found = repair(path, embedding=make_embedding(name="other"), clock=clock)
    assert found["words"].state == found["semantic index"].state == "mended"
    assert found["vectors"].state == "problem" and "fake:16" in found["vectors"].says
    assert repair(path, embedding=make_embedding(), clock=clock).clean


def test_a_text_that_cannot_be_embedded_is_left(path: Path, make_embedding: Callable[..., object]) -> None:
    sql(path, "DELETE FROM vectors WHERE " + BY_NUM)
    model = make_embedding()
    model.fails = lambda said: "note5" in said  # type: ignore[attr-defined]
    assert states(repair(path, embedding=model, clock=clock))["vectors"] == "problem"


def test_leftovers_are_removed_and_others_left_alone(path: Path, mend: Callable[[Path], Findings]) -> None:
    (path / "lexical.7").mkdir()
    (path / "semantic.9").mkdir()
    (path / "breakers.jsonabc").write_text("{")
    (path / "semantic.0" / "recall.new").write_text("[")
    (path / "notes.txt").write_text("mine")
    found = examine(path, clock=clock)
    assert found.clean and states(found) == {"leftovers": "notice"}
    assert found["leftovers"].examples == ("breakers.jsonabc", "lexical.7", "semantic.0/recall.new", "semantic.9")
    assert mend(path)["leftovers"].state == "mended"
    assert not (path / "lexical.7").exists() and (path / "notes.txt").read_text() == "mine"
    assert examine(path, clock=clock)["leftovers"].examples == ("notes.txt",)


def test_what_optimizers_keep_beside_the_memories_is_no_leftover(path: Path) -> None:
    for name in ("breakers.json", "rewrites.json", "rewriting.json"):
        (path / name).write_text("{}")
        (path / f"{name}.lock").touch()
    assert states(examine(path, clock=clock)) == {}


def test_memories_from_the_future_are_a_notice_and_events_are_not(path: Path, module_embedding: object) -> None:
    with MemoryStore.open(path, embedding=module_embedding, config=CONFIG, clock=clock) as store:
        store.remember(Memory("the fair", event_at=NOW + timedelta(days=400)), scope=SCOPE)
        assert examine(path, clock=clock)["lock"].state == "problem"
    assert states(examine(path, clock=clock)) == {}
    found = examine(path, clock=lambda: NOW - timedelta(days=2))
    assert found.clean and states(found) == {"clock": "notice"}
    assert states(examine(path, clock=lambda: NOW - timedelta(hours=1))) == {}


def test_an_index_that_is_behind_is_a_notice(path: Path, make_embedding: Callable[..., object]) -> None:
    model = make_embedding()
    with MemoryStore.open(path, embedding=model, config=CONFIG, clock=clock) as store:
        model.fails = lambda _said: True  # type: ignore[attr-defined]
        store.remember("not embedded yet", scope=SCOPE)
    found = examine(path, clock=clock)
    assert found.clean and states(found) == {"semantic index": "notice"}
    assert "lacks the last 1 change" in found["semantic index"].says


def test_an_open_store_is_named_and_not_looked_into(path: Path, module_embedding: object) -> None:
    with MemoryStore.open(path, embedding=module_embedding, config=CONFIG):
        for found in (examine(path), repair(path, embedding=module_embedding)):
            assert found["lock"].state == "problem" and not found.clean
            assert found["memories"].state == "skipped"
            if Path("/proc/locks").exists():
                assert str(os.getpid()) in found["lock"].says
    assert examine(path, clock=clock).clean


def test_what_is_in_the_wal_counts_and_stays_there(path: Path, module_embedding: object, tmp_path: Path) -> None:
    store = MemoryStore.open(path, embedding=module_embedding, config=CONFIG, clock=clock)
    store.remember("only in the WAL", scope=SCOPE)
    shutil.copytree(path / "semantic.0", tmp_path / "killed" / "semantic.0")
    for name in ("recall.db", "recall.db-wal"):
        shutil.copy2(path / name, tmp_path / "killed" / name)
    store.close()
    before = prints(tmp_path / "killed")
    found = examine(tmp_path / "killed", clock=clock)
    assert found.clean and f"{COUNT + 2} memories" in found["memories"].says
    assert prints(tmp_path / "killed") == before


def test_there_is_no_store(tmp_path: Path) -> None:
    for ask in (examine, repair):
        with pytest.raises(StorePathError, match="no store"):
            ask(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_restarted_journal_is_of_another_history(path: Path, module_embedding: object) -> None:
    store = MemoryStore.open(path, embedding=module_embedding, config=CONFIG)
    with closing(store), store.engine.begin() as connection:
        head = journal.restart(connection)
        assert journal.last_seq(connection) == head == COUNT + 5
        assert connection.execute(text("SELECT count(*) FROM changes")).scalar() == 0
    with MemoryStore.open(path, embedding=module_embedding, config=CONFIG) as store:
        assert sum("of another history" in notice for notice in store.stats()["notices"]) == 1


@pytest.fixture(autouse=True)
def _nothing_is_left_elsewhere(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    place = tmp_path_factory.mktemp("elsewhere")
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    yield
    assert list(place.iterdir()) == []
