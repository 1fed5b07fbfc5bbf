"""`list`, `iterate`, `export`, `count`, `counts`, `forget`, `on_duplicate`."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from pathlib import Path
from random import Random
from typing import Any

import pytest

from recall_integrations import Filters, Memory, MemoryStore, MemoryType, QueryOptimizer, Relation, Scope
from recall_integrations.errors import InvalidArgument, InvalidFilter, RecallError
from recall_integrations.store.importing import Importer
from tests.quick import only
from tests.rows import each_row

START = datetime(2026, 1, 1, tzinfo=timezone.utc)
ONE, TWO, OTHER = Scope("u1", "a"), Scope("u1", "b"), Scope("u2")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with MemoryStore.open(tmp_path / "store", clock=lambda: START) as opened:
        yield opened


def fill(store: MemoryStore, *scopes: Scope, count: int = 6) -> None:
    for scope in scopes:
        store.remember_many(
            [
                Memory(f"Tea {i} of {scope}", id=f"m{i}", type="fact" if i % 2 else "event", metadata={"n": i})
                for i in range(count)
            ],
            scope=scope,
        )


def ids(memories: Any) -> list[str]:
    return [memory.id for memory in memories]


# -- list, iterate, count --------------------------------------------------------------------------------------------


def test_pages_follow_each_other_while_others_forget_and_write(store: MemoryStore) -> None:
    fill(store, ONE)
    first = store.list(scope=ONE, limit=2)
    assert ids(first) == ["m0", "m1"]
    store.forget(["m0", "m1", "m2"], scope=ONE)
    store.remember(Memory("Tea at last", id="last"), scope=ONE)
    second = store.list(scope=ONE, limit=2, after=first.after)
    assert ids(second) == ["m3", "m4"]
    third = store.list(scope=ONE, limit=2, after=second.after)
    assert ids(third) == ["m5", "last"]
    assert third.after is None


def test_filters_are_those_of_a_recall(store: MemoryStore) -> None:
    fill(store, ONE)
    facts = Filters(types=["fact"])
    assert ids(store.list(scope=ONE, filters=facts)) == ["m1", "m3", "m5"]
    page = store.list(scope=ONE, filters=facts, limit=2)
    assert ids(store.list(scope=ONE, filters=facts, after=page.after)) == ["m5"]
    assert ids(store.iterate(scope=ONE, filters={"types": ["fact"]})) == ["m1", "m3", "m5"]
    assert store.count(scope=ONE, filters=facts) == 3
    assert store.count(scope=ONE, filters=Filters()) == 6
    assert ids(store.iterate(scope=ONE)) == [f"m{i}" for i in range(6)]
    assert store.list(scope=Scope("nobody")) == []


def test_many_are_read_a_page_at_a_time(store: MemoryStore) -> None:
    fill(store, ONE, count=1_100)
    assert ids(store.iterate(scope=ONE)) == [f"m{i}" for i in range(1_100)]
    assert len(list(store.iterate(scope=ONE, filters=Filters(types=["fact"])))) == 550


def test_counts_by_scope_and_type(store: MemoryStore) -> None:
    fill(store, ONE, OTHER)
    store.forget(filters=Filters(types=["event"]), scope=OTHER)
    assert store.counts() == {ONE: {MemoryType.FACT: 3, MemoryType.EVENT: 3}, OTHER: {MemoryType.FACT: 3}}


@each_row("wrong", [{"limit": 0}, {"limit": 20_000}, {"after": "m1"}, {"after": "-1"}, {"after": 3}])
def test_a_page_that_cannot_be_given_is_an_error(store: MemoryStore, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        store.list(**wrong)


def test_what_ends_is_in_no_list(tmp_path: Path) -> None:
    now = [START]
    with MemoryStore.open(tmp_path / "s", clock=lambda: now[0]) as store:
        store.remember_many([Memory("a", id="a", expires_at=START + timedelta(hours=1)), Memory("b", id="b")])
        assert ids(store.list()) == ["a", "b"]
        now[0] += timedelta(hours=1)
        assert ids(store.list()) == ids(store.iterate()) == ids(store.list(filters={"types": "observation"})) == ["b"]
        assert store.counts() == {Scope(): {MemoryType.OBSERVATION: 1}}


# -- export ----------------------------------------------------------------------------------------------------------

EVERY_FIELD = Memory(
    'Zoë said: "tea\u2028at 五"\n\t\\ ☕',
    id="every/field ☕",
    type="preference",
    actor="Zoë",
    role="assistant",
    channel="slack",
    event_at=datetime(2020, 2, 29, 23, 59, 59, 999_999, tzinfo=timezone(timedelta(hours=-7))),
    created_at=datetime(1, 1, 1, tzinfo=timezone.utc),
    expires_at=datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=timezone.utc),
    importance=0.1 + 0.2,
    entities=["Project Kestrel", "五"],
    relations=[Relation("Zoë", "manager_of", "Sam", 1 / 3)],
    thread="t-1",
    position=-7,
    refs=["doc:handbook.md"],
    metadata={"n": 2**70, "f": 1e-320, "deep": [{"a": None}, True, "\x00"], "": "", "text": "x"},
)


def test_what_is_exported_is_imported_as_the_same_memories(store: MemoryStore, tmp_path: Path) -> None:
    fill(store, ONE, OTHER)
    store.remember_many([EVERY_FIELD, Memory("plain")])
    store.remember_many([{"role": "user", "content": "ok"}, {"role": "assistant", "content": "ok"}], thread="chat")
    path = tmp_path / "all.jsonl"
    assert store.export(path) == 16
    with MemoryStore.open(tmp_path / "copy") as copy:
        Importer(copy).read(path, Scope())
        assert dict(copy.scopes()) == dict(store.scopes())
        for scope, _ in store.scopes():
            assert list(copy.iterate(scope=scope)) == list(store.iterate(scope=scope))
        assert copy.export(tmp_path / "again.jsonl") == 16
        words = "tea of Project Kestrel"
        found = [[h.memory.id for h in QueryOptimizer(s).recall(words, now=START).hits] for s in (store, copy)]
        assert found[0] == found[1] != []
    lines = [sorted(p.read_bytes().splitlines()) for p in (path, tmp_path / "again.jsonl")]
    assert lines[0] == lines[1]


def test_an_export_is_of_a_scope_or_of_filters_into_any_file(store: MemoryStore, tmp_path: Path) -> None:
    fill(store, ONE, OTHER)
    text, raw = io.StringIO(), io.BytesIO()
    assert store.export(text, scope=ONE, filters=Filters(types=["fact"])) == 3
    assert store.export(raw, scope=ONE, filters={"types": "fact"}) == 3
    assert text.getvalue().encode() == raw.getvalue()
    with (tmp_path / "open.jsonl").open("w", encoding="utf-8") as file:
        assert store.export(file, scope=None) == 0  # the default scope, as everywhere


def test_an_export_that_fails_leaves_the_file_that_was_there(store: MemoryStore, tmp_path: Path) -> None:
    fill(store, ONE)
    path = tmp_path / "x.jsonl"
    path.write_text("before")
    with pytest.raises(RecallError):
        store.export(path, filters={"types": "rumour"})
    with pytest.raises(InvalidArgument, match="Cannot write"):
        store.export(tmp_path / "none" / "x.jsonl")
    with pytest.raises(InvalidArgument, match="path or an open file"):
        store.export(7)  # type: ignore[arg-type]
    assert path.read_text() == "before"
    assert [p.name for p in tmp_path.iterdir() if p.is_file()] == ["x.jsonl"]


def test_an_export_replaces_files_only_and_none_of_the_store(store: MemoryStore, tmp_path: Path) -> None:
    fill(store, ONE)
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    with ThreadPoolExecutor() as pool:
        read = pool.submit(pipe.read_bytes)
        assert store.export(pipe) == 6
        assert read.result(10).count(b"\n") == 6
    assert pipe.is_fifo()
    link.symlink_to(tmp_path / "file")
    assert store.export(link) == 6
    assert link.is_symlink()
    assert (tmp_path / "file").read_bytes().count(b"\n") == 6
    for inside in (store.path / "recall.db", store.path / "new.jsonl"):
        with pytest.raises(InvalidArgument, match="lies in the store itself"):
            store.export(inside)
    for wrong in (tmp_path, "a\0b"):
        with pytest.raises(InvalidArgument, match="Cannot write"):
            store.export(wrong)
    assert store.count(scope=ONE) == 6


# -- forget ----------------------------------------------------------------------------------------------------------


def test_forgetting_by_ids_filters_scope_and_user(store: MemoryStore) -> None:
    fill(store, ONE, TWO, OTHER)
    assert store.forget("m0", scope=ONE) == 1
    assert store.forget("m0", scope=ONE) == 0
    assert store.forget(["m0", "m1", "m1", "nothing"], scope=ONE) == 1
    assert store.forget([], scope=ONE) == 0
    assert store.forget(filters=Filters(types=["fact"]), scope=TWO) == 3
    assert store.forget(filters={"n": {"$in": [3, 5]}, "types": "fact"}, user_id="u1") == 2
    assert store.forget(scope=TWO) == 3
    assert store.forget(user_id="u1") == 2
    assert store.forget(user_id="u1") == store.forget(scope=TWO) == store.forget(user_id="nobody") == 0
    assert dict(store.scopes())[OTHER] == 6
    assert QueryOptimizer(store).recall("tea", scope=ONE).hits == ()


def test_a_scope_goes_with_the_names_declared_in_it(store: MemoryStore) -> None:
    store.add_entity("Priya Raman", aliases=["PR"], scope=ONE)
    store.remember(Memory("PR drank tea"), scope=ONE)
    assert store.forget(user_id="u1") == 1
    scope_id = store.scope_id(ONE)
    assert scope_id is not None
    assert len(store.entities(scope_id).id_of) == 0
    store.remember(Memory("Priya drank tea", actor="Priya", id="m"), scope=ONE)
    assert ids(hit.memory for hit in QueryOptimizer(store).recall("what did Priya drink", scope=ONE).hits) == ["m"]


def test_more_than_one_transaction_holds(store: MemoryStore) -> None:
    fill(store, ONE, count=2_500)
    assert store.forget([f"m{i}" for i in range(1_200)], scope=ONE) == 1_200
    assert store.forget(scope=ONE) == 1_300
    assert store.count(scope=ONE) == 0


@each_row(
    ("what", "error"),
    [
        ({}, InvalidArgument),
        ({"ids": "a", "filters": {"types": "fact"}}, InvalidArgument),
        ({"ids": "a", "user_id": "u1"}, InvalidArgument),
        ({"user_id": "u1", "scope": ONE}, InvalidArgument),
        ({"user_id": ""}, InvalidArgument),
        ({"ids": 7}, InvalidArgument),
        ({"ids": ["a", 7]}, InvalidArgument),
        ({"ids": b"a"}, InvalidArgument),
        ({"filters": Filters(), "scope": ONE}, InvalidFilter),
        ({"filters": {}, "user_id": "u1"}, InvalidFilter),
        ({"filters": {"types": "rumour"}, "scope": ONE}, InvalidFilter),
    ],
)
def test_what_is_not_clear_forgets_nothing(store: MemoryStore, what: Any, error: type[RecallError]) -> None:
    fill(store, ONE, Scope())
    with pytest.raises(error):
        store.forget(**what)
    assert [count for _, count in store.scopes()] == [6, 6]


# -- duplicates ------------------------------------------------------------------------------------------------------


def test_duplicates_are_kept_unless_something_else_is_wished(store: MemoryStore) -> None:
    store.remember_many(["Tea", "Tea"])
    store.remember("Tea")
    assert store.count() == 3


def test_skip_gives_the_id_of_the_one_that_is_there(store: MemoryStore) -> None:
    first = store.remember("Tea")
    assert store.remember("Tea", on_duplicate="skip") == first
    given: list[Memory | str] = [
        Memory("Tea", id="other"),
        "Milk",
        "Milk",
        Memory("Milk", type="fact"),
        Memory("Tea", actor="Zoë"),
    ]
    found = store.remember_many(given, on_duplicate="skip")
    assert found[0] == first
    assert found[1] == found[2]
    assert len(set(found)) == 4
    assert store.count() == 4
    assert store.remember_many(given, on_duplicate="skip") == found
    store.remember(Memory("Cocoa", id=first), on_duplicate="skip")  # the id is there
    memory = store.get(first)
    assert memory is not None
    assert memory.text == "Tea"


def test_replace_keeps_one_and_its_id(store: MemoryStore) -> None:
    first = store.remember(Memory("Tea", importance=0.1))
    assert store.remember(Memory("Tea", importance=0.9), on_duplicate="replace") == first
    memory = store.get(first)
    assert memory is not None
    assert memory.importance == 0.9
    assert store.remember(Memory("Tea", id="own"), on_duplicate="replace") == "own"
    assert store.get(first) is None
    found = store.remember_many(["Milk", Memory("Milk", id="m"), "Milk", "Tea"], on_duplicate="replace")
    assert found == ["m", "m", "m", "own"]
    assert store.count() == 2
    assert ids(store.iterate()) == ["m", "own"]


@pytest.mark.parametrize("wish", only(["replace", "skip"], "skip"))
def test_a_batch_leaves_what_one_after_the_other_leaves(store: MemoryStore, wish: Any) -> None:
    random = Random(7)
    for round_ in range(60):
        there = [Memory(say, id=name) for name, say in zip("ab", random.choices("XYZ", k=2), strict=True)]
        names: list[str | None] = [*random.sample("abc", 3), None, None, None]
        random.shuffle(names)
        given = [Memory(random.choice("XYZ"), id=name) for name in names[:5]]
        left = []
        for size in (1, 5):
            scope = Scope(f"u{round_}-{size}")
            store.remember_many(there, scope=scope)
            answers = store.remember_many(given, scope=scope, on_duplicate=wish, batch_size=size)
            held = {memory.id: memory.text for memory in store.iterate(scope=scope)}
            left.append((sorted(held.values()), {name: held.get(name) for name in "abc"}))
            assert size == 1 or set(answers) <= held.keys(), (there, given)
        assert left[0] == left[1], (there, given)


@pytest.mark.parametrize("other", [{"type": "fact"}, {"actor": "Zoë"}, {"event_at": START}, {"thread": "t"}])
def test_who_says_it_when_and_where_tells_memories_apart(store: MemoryStore, other: dict[str, Any]) -> None:
    store.remember("Tea")
    store.remember(Memory("Tea", **other), on_duplicate="skip")
    store.remember(Memory("Tea", **other), on_duplicate="skip")
    store.remember("Tea", scope=ONE, on_duplicate="skip")
    assert store.count() == 2
    assert store.count(scope=ONE) == 1


def test_what_was_forgotten_or_has_ended_is_no_duplicate(tmp_path: Path) -> None:
    now = [START]
    with MemoryStore.open(tmp_path / "s", clock=lambda: now[0]) as store:
        first = store.remember("Tea")
        store.remember(Memory("Milk", expires_at=START + timedelta(seconds=1)), on_duplicate="skip")
        store.forget(first)
        now[0] += timedelta(seconds=1)
        assert store.remember("Tea", on_duplicate="skip") != first
        store.remember("Milk", on_duplicate="skip")
        assert store.count() == 2


def test_another_wish_is_an_error(store: MemoryStore) -> None:
    with pytest.raises(InvalidArgument, match="on_duplicate must be"):
        store.remember("Tea", on_duplicate="merge")  # type: ignore[arg-type]
    assert store.count() == 0
