"""Which keys of somebody's metadata are what: guessed by name, held to the values, or said."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest

from recall_integrations.adapters.sources import Row
from recall_integrations.errors import InvalidArgument
from recall_integrations.ontop.following import FIELDS, guessed, read_fields, settled_fields
from tests.rows import each_row

UTC = timezone.utc


def rows(*metadata: dict[str, Any], document: str | None = None) -> list[Row]:
    return [Row(id=str(i), text="text", metadata=m, document=document) for i, m in enumerate(metadata)]


def chat(count: int = 12, **keys: Any) -> list[Row]:
    return rows(*({name: make(i) for name, make in keys.items()} for i in range(count)))


def guess(*args: Any, **keys: Any) -> dict[str, str]:
    found = guessed(args[0] if args else chat(**keys), UTC)
    assert set(found) == set(FIELDS)
    return {name: key for name, key in found.items() if key is not None}


def test_a_chat_is_recognised() -> None:
    assert guess(
        speaker=lambda i: ["Priya", "Sam"][i % 2],
        session_id=lambda i: f"s{i // 6}",
        timestamp=lambda i: f"2026-03-{i + 1:02}T09:30:00Z",
        turn=lambda i: i % 6,
        language=lambda _: "en",
    ) == {"actor": "speaker", "event_at": "timestamp", "thread": "session_id", "position": "turn"}


@each_row("name", ["speaker", "author", "sender", "user", "from", "userName", "User-Name", "actor"])
def test_names_of_actors(name: str) -> None:
    assert guess(**{name: lambda i: ["Priya", "Sam", "Lena"][i % 3]}) == {"actor": name}


@each_row("name", ["date", "timestamp", "created_at", "createdAt", "sent_at", "Published", "ts"])
@each_row("value", ["2026-03-12", "2026-03-12T09:30:00+01:00", 1_773_300_000, 1_773_300_000_000, "12 March 2026"])
def test_names_of_times(name: str, value: Any) -> None:
    assert guess(**{name: lambda _: value}) == {"event_at": name}


@each_row("name", ["session_id", "thread_id", "conversation_id", "doc_id", "ref_doc_id", "chatId"])
def test_names_of_threads(name: str) -> None:
    assert guess(**{name: lambda i: f"c{i // 4}"}) == {"thread": name}


def test_the_better_name_goes_first() -> None:
    both = {"user": lambda i: "ab"[i % 2], "speaker": lambda i: ["Priya", "Sam"][i % 2]}
    assert guess(**both) == {"actor": "speaker"}


def test_a_role_is_the_actor_where_there_is_no_other() -> None:
    role = {"role": lambda i: ["user", "assistant"][i % 2]}
    assert guess(**role) == {"actor": "role"}
    assert guess(**role, speaker=lambda i: ["Priya", "Claude"][i % 2]) == {"actor": "speaker", "role": "role"}


@each_row(
    "keys",
    [
        {"author": lambda i: f"Someone {i}"},  # never repeats
        {"author": lambda i: "word " * 40},  # not short
        {"user": lambda i: f"{i % 2}" * 16},  # an id
        {"user": lambda _: "u1"},  # whose collection it is
        {"date": lambda _: "soon"},  # no time
        {"time": lambda i: i},  # counts something
        {"date": lambda i: "2026-03-12" if i == 0 else None},  # hardly ever there
        {"session_id": lambda i: f"s{i}"},  # each its own
        {"source": lambda _: "wiki"},  # a kind of document, not a document
        {"page": lambda i: i},  # a place in nothing
        {"session_id": lambda i: ["a", "list"]},
    ],
)
def test_what_does_not_fit_is_not_taken(keys: dict[str, Any]) -> None:
    assert guess(**keys) == {}


def test_chunks_of_files_are_threads() -> None:
    found = guess(source=lambda i: f"docs/{i // 3}.md", chunk_index=lambda i: i % 3)
    assert found == {"thread": "source", "position": "chunk_index"}


def test_places_that_repeat_within_a_thread_are_none() -> None:
    assert guess(source=lambda i: f"docs/{i // 6}.md", page=lambda i: i // 3) == {"thread": "source"}


def test_the_document_of_a_node_is_its_thread() -> None:
    nodes = rows({"file_name": "a.md"}, {"file_name": "a.md"}, document="d1")
    assert guess(nodes) == {"thread": "ref_doc_id"}
    assert read_fields(nodes[0], guessed(nodes, UTC), UTC) == {"thread": "d1"}
    assert guess(rows({"session_id": "s"}, {"session_id": "s"}, document="d1")) == {"thread": "session_id"}


def test_nothing_is_guessed_of_nothing() -> None:
    assert guess([]) == guess(rows({}, {})) == {}


def test_what_is_said_counts_and_the_rest_is_guessed() -> None:
    given = chat(who=lambda i: f"Person {i}", speaker=lambda i: "ab"[i % 2], date=lambda _: "2026-03-12")
    found = settled_fields({"actor": "who", "event_at": None}, given, UTC)
    assert found == {"actor": "who", "role": None, "event_at": None, "thread": None, "position": None}


@each_row(
    ("fields", "message"),
    [
        ({"speaker": "actor"}, "fields has no 'speaker'.*actor, role, event_at, thread, position"),
        ({"actr": "speaker"}, "Did you mean 'actor'"),
        ({"actor": "speakr"}, "which no document has. Did you mean 'speaker'"),
        ({"actor": 3}, "must be a key of the metadata or None, not int"),
        ({"event_at": "speaker"}, "not a time: 'Priya'.*'event_at': None"),
        ({"position": "speaker"}, "not a whole number"),
        ("speaker", "must be a mapping such as"),
    ],
)
def test_a_wrong_key_is_an_error_that_says_what_there_is(fields: Any, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        settled_fields(fields, chat(speaker=lambda _: "Priya"), UTC)


def test_values_that_say_nothing_are_left_out() -> None:
    fields = {"actor": "a", "event_at": "t", "thread": "s", "position": "n", "role": "r"}
    good = {"a": " Priya ", "t": "2026-03-12", "s": 7, "n": "4", "r": "AI"}
    [row, bad] = rows(good, {"a": "x" * 99, "t": "soon", "s": True, "n": -1, "r": "boss"})
    assert read_fields(row, fields, UTC) == {
        "actor": "Priya",
        "event_at": datetime(2026, 3, 12, tzinfo=UTC),
        "thread": "7",
        "position": 4,
        "role": "assistant",
    }
    assert read_fields(bad, fields, UTC) == {}
