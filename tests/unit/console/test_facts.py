"""`recall facts`, `--as-of` and `--current-only`."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from recall_integrations import Memory, MemoryStore, QueryOptimizer, Scope
from recall_integrations.cli import main
from recall_integrations.console.rendering import whom
from recall_integrations.types import RecallResult
from tests.rows import each_row

Recall = Callable[..., Result]
U1 = Scope("u1")


@pytest.fixture
def recall(monkeypatch: pytest.MonkeyPatch) -> Recall:
    monkeypatch.delenv("RECALL_EMBEDDING", raising=False)
    return lambda *arguments, **more: CliRunner().invoke(main, [str(a) for a in arguments], **more)


def told(memory_id: str, month: int, slot: str, value: str, **more: Any) -> Memory:
    fact = {"slot": slot, "value": value, **more}
    at = datetime(2026, month, 5, tzinfo=timezone.utc)
    return Memory(f"Note {memory_id}: {value}", id=memory_id, event_at=at, metadata={"fact": fact})


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "store"
    with MemoryStore.open(path) as opened:
        opened.remember_many(
            [
                told("m1", 1, "phone_number", "555-0101"),
                told("m2", 6, "phone_number", "555-0202"),
                told("m3", 7, "phone_number", "555-0202"),
                told("m4", 1, "language", "German"),
                told("m5", 2, "language", "Portuguese"),
                told("m6", 3, "car", "Fiat"),
                told("m7", 4, "car", "", op="not"),
                told("p1", 2, "employer", "Initech", subject="Priya"),
                told("f1", 2, "home", "Rome", op="was"),
            ],
            scope=U1,
        )
    return path


def rows(result: Result) -> list[str]:
    assert result.exit_code == 0, result.output
    return [" ".join(row.split()) for row in result.stdout.splitlines() if row.strip()]


def test_it_lists_what_holds_since_when_and_by_which_memories(store: Path, recall: Recall) -> None:
    assert rows(recall("facts", store, "--scope", "u1")) == [
        "the user",
        "language German since 2026-01-05 (m4)",
        "Portuguese since 2026-02-05 (m5)",
        "phone number 555-0202 since 2026-06-05 (m2, m3)",
        "priya",
        "employer Initech since 2026-02-05 (p1)",
    ]


def test_history_stands_indented_below_what_holds(store: Path, recall: Recall) -> None:
    asked = ("facts", store, "--scope", "u1", "--about", "me", "--history")
    found = rows(recall(*asked))
    at = next(i for i, row in enumerate(found) if row.startswith("phone number"))
    assert found[at + 1] == "555-0101 2026-01-05 to 2026-06-05, superseded by m2 (m1)"
    assert "car nothing" in found
    assert "Fiat 2026-03-05 to 2026-04-05, retracted by m7 (m6)" in found
    assert any(row.startswith("Rome until 2026-02-05, superseded") for row in found)
    held, before = (row for row in recall(*asked).stdout.splitlines() if "555-0" in row)
    assert before.index("555-0101") == held.index("555-0202") + 2


@each_row(
    ("day", "number"),
    [("2026-01-05", "555-0101"), ("2026-06-04", "555-0101"), ("2026-06-05", "555-0202"), ("2026-01-04", None)],
)
def test_as_of_a_day_counts_what_was_said_on_it(store: Path, recall: Recall, day: str, number: str | None) -> None:
    result = recall("facts", store, "--scope", "u1", "--slot", "phone", "--as-of", day, "--json")
    assert [fact["value"] for fact in json.loads(result.stdout)["facts"]] == ([] if number is None else [number])


def test_json_has_everything(store: Path, recall: Recall) -> None:
    result = recall("facts", store, "--scope", "u1", "--about", "me", "--slot", "phone_number", "--history", "--json")
    found = json.loads(result.stdout)
    assert (found["format"], found["scope"]) == (1, "u1/-/-")
    old, new = found["facts"]
    assert (old["value"], old["holds"], old["ended"], old["superseded_by"]) == ("555-0101", False, "superseded", "m2")
    assert old["valid_to"] == new["valid_from"] == "2026-06-05T00:00:00+00:00"
    assert (new["value"], new["holds"], new["said_by"], new["valid_to"]) == ("555-0202", True, ["m2", "m3"], None)


def test_what_may_not_be_seen_is_not(store: Path, recall: Recall) -> None:
    whole = recall("facts", store, "--scope", "u1", "--history", "--privacy", "redact").stdout
    assert "555-0" not in whole
    assert "[phone-1]" in whole
    none = recall("facts", store, "--scope", "u1", "--history", "--privacy", "block", "--json").stdout
    assert not any(word in none for word in ("555-0", "German", "Initech", "priya"))
    assert {fact["memory_id"] for fact in json.loads(none)["facts"]} >= {"m1", "p1"}


@each_row("wrong", [["--as-of", "yesterday"], ["--as-of", "2026-13-01"], ["--scope", "nobody"]])
def test_what_cannot_be_used_is_said(store: Path, recall: Recall, wrong: list[str]) -> None:
    result = recall("facts", store, *(wrong if "--scope" in wrong else ["--scope", "u1", *wrong]))
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: ")


def test_a_day_in_an_unknown_time_zone_is_said(store: Path, recall: Recall) -> None:
    result = recall("search", store, "phone", "--as-of", "2026-03-01", "--timezone", "Europe/Nowhere")
    assert (result.exit_code, result.stderr.splitlines()[0][:24]) == (1, "Error: Unknown time zone")


def test_no_facts_are_no_error(store: Path, recall: Recall) -> None:
    assert rows(recall("facts", store, "--scope", "u1", "--about", "Sam"))[0].startswith("No facts are known")


def test_what_a_memory_says_cannot_steer_the_terminal(tmp_path: Path, recall: Recall) -> None:
    with MemoryStore.open(tmp_path / "s") as opened:
        opened.remember(told("x", 1, "home", "Ber\x1b[2Jlin", subject="P\x1briya"))
    assert "\x1b" not in recall("facts", tmp_path / "s", "--history").stdout


@each_row("said", ["phone number", "Phone  Number", "phone_number", "mobile"])
def test_slots_go_by_what_people_call_them(store: Path, recall: Recall, said: str) -> None:
    assert rows(recall("facts", store, "--scope", "u1", "--slot", said))[1].startswith("phone number 555-0202")


@pytest.mark.parametrize("command", ["search", "explain"])
def test_as_of_and_current_only_reach_the_recall(
    store: Path, recall: Recall, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[dict[str, Any]] = []
    plain = QueryOptimizer.recall

    def told_of(self: QueryOptimizer, query: str, **arguments: Any) -> RecallResult:
        given.append(arguments)
        return plain(self, query, **arguments)

    monkeypatch.setattr(QueryOptimizer, "recall", told_of)
    asked = ("what is my phone number?", "--scope", "u1", "--as-of", "2026-03-01T00:00:00Z", "--current-only")
    assert recall(command, store, *asked, "--type", "observation").exit_code == 0
    assert given[0]["as_of"] == datetime(2026, 3, 1, tzinfo=timezone.utc)
    assert given[0]["filters"].current_only
    assert given[0]["filters"].types


def test_whose_it_is_reads_as_words() -> None:
    assert [whom(subject) for subject in ("", "'s sister", "priya")] == ["the user", "the user's sister", "priya"]


def test_about_me_finds_who_is_called_me(tmp_path: Path, recall: Recall) -> None:
    with MemoryStore.open(tmp_path / "s") as store:
        store.remember(Memory("My phone number is 555-0199", actor="me"), scope=U1)
        store.remember(Memory("My phone number is 555-0111", actor="Priya"), scope=U1)
    found = json.loads(recall("facts", tmp_path / "s", "--scope", "u1", "--about", "me", "--json").stdout)["facts"]
    assert [fact["value"] for fact in found] == ["555-0199"]
