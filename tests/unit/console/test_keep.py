"""`recall add`, `export`, `forget`, `compact`, and what `search`, `explain` and `import` share with them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from recall_integrations import Memory, MemoryStore, Scope
from recall_integrations.cli import main
from recall_integrations.delivery.as_data import name_of
from recall_integrations.ranking.features.compute import FEATURES
from tests.rows import each_row

Recall = Callable[..., Result]


@pytest.fixture
def recall(monkeypatch: pytest.MonkeyPatch) -> Recall:
    monkeypatch.delenv("RECALL_EMBEDDING", raising=False)
    return lambda *arguments, **more: CliRunner().invoke(main, [str(a) for a in arguments], **more)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "store"
    with MemoryStore.open(path) as opened:
        for scope in (Scope("u1"), Scope("u1", "bot"), Scope("u2")):
            opened.remember_many(
                [
                    Memory(f"Tea {i} of {scope}", id=f"m{i}", type="fact" if i % 2 else "event", metadata={"n": i})
                    for i in range(4)
                ],
                scope=scope,
            )
    return path


def counts(path: Path) -> list[int]:
    with MemoryStore.open(path) as opened:
        return [count for _, count in opened.scopes()]


def test_add_remembers_and_prints_the_id(tmp_path: Path, recall: Recall) -> None:
    path = tmp_path / "s"
    first = recall("add", path, "I prefer tea", "--type", "preference", "--actor", "Priya", "--scope", "u1")
    assert first.exit_code == 0
    again = recall("add", path, "-", "--type", "preference", "--actor", "Priya", "--scope", "u1", "--on-duplicate",
                   "skip", input="I prefer tea")  # fmt: skip
    assert again.stdout == first.stdout
    recall("add", path, "Gone soon", "--at", "2026-01-01", "--expires", "2999-01-01T00:00:00Z", "--id", "x")
    with MemoryStore.open(path) as opened:
        assert opened.count(scope=Scope("u1")) == 1
        memory = opened.get("x")
        assert memory is not None
        assert memory.expires_at is not None
        assert memory.expires_at.year == 2999


@pytest.mark.parametrize("wrong", [["--expires", "2020-01-01T00:00:00Z"], ["--type", "rumour"], ["--at", "yesterday"]])
def test_an_add_that_fails_leaves_no_store(tmp_path: Path, recall: Recall, wrong: list[str]) -> None:
    result = recall("add", tmp_path / "s", "Tea", *wrong)
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: ")
    assert not (tmp_path / "s").exists()


def test_an_export_names_its_format_as_an_import_does(store: Path, tmp_path: Path, recall: Recall) -> None:
    plain, named = (recall("export", store, "-", *given) for given in ((), ("--format", "jsonl")))
    assert named.exit_code == 0 and named.stdout == plain.stdout
    other = recall("export", store, tmp_path / "x", "--format", "csv")
    assert other.exit_code == 2 and "'csv' is not 'jsonl'" in other.stderr and not (tmp_path / "x").exists()


def test_an_export_is_imported_as_the_same(store: Path, tmp_path: Path, recall: Recall) -> None:
    assert recall("export", store, tmp_path / "all.jsonl").stdout == "Exported 12 memories.\n"
    copy = tmp_path / "copy"
    assert recall("import", tmp_path / "all.jsonl", copy, "--format", "jsonl").exit_code == 0
    assert recall("export", copy, tmp_path / "again.jsonl").exit_code == 0
    assert (tmp_path / "all.jsonl").read_bytes() == (tmp_path / "again.jsonl").read_bytes()
    some = recall("export", store, "-", "--scope", "u2", "--type", "fact", "--where", "n=3")
    assert [json.loads(row)["id"] for row in some.stdout.splitlines()] == ["m3"]
    assert some.stderr == "Exported 1 memory.\n"


def test_forget_shows_what_would_go_and_asks(store: Path, recall: Recall) -> None:
    shown = recall("forget", store, "--user", "u1", "--dry-run")
    assert shown.exit_code == 0
    assert shown.stdout.count("Tea") == 8
    assert "Would forget 8 memories in 2 scopes of 'u1'. Nothing was removed." in shown.stdout
    assert "Nothing was removed" in recall("forget", store, "--user", "u1", input="n\n").stdout
    assert counts(store) == [4, 4, 4]
    assert "Forgot 8 memories" in recall("forget", store, "--user", "u1", input="y\n").stdout
    assert counts(store) == [0, 0, 4]
    assert recall("forget", store, "--user", "u1", "--yes").exit_code == 0  # there is nothing


@pytest.mark.parametrize("asked", [("--user", ""), ("--scope", " ", "--everything")])
def test_a_blank_user_or_scope_forgets_nothing(store: Path, recall: Recall, asked: tuple[str, ...]) -> None:
    recall("add", store, "In the default scope")
    refused = recall("forget", store, *asked, "--yes")
    assert refused.exit_code == 2
    assert f"{asked[0]} is blank" in refused.stderr
    assert sum(counts(store)) == 13


def test_forget_by_ids_filters_and_everything(store: Path, recall: Recall) -> None:
    assert "Forgot 2 memories" in recall("forget", store, "m0", "m1", "none", "--scope", "u2", "--yes").stdout
    assert recall("forget", store, "none", "--scope", "u2", "--yes").exit_code == 1
    assert (
        "Forgot 2 memories"
        in recall("forget", store, "--user", "u1", "--type", "fact", "--where", "n=1", "--yes").stdout
    )
    assert "Forgot 2 memories" in recall("forget", store, "--scope", "u1//", "--type", "event", "--yes").stdout
    assert "Forgot 3 memories" in recall("forget", store, "--scope", "u1/bot", "--everything", "--yes").stdout
    assert counts(store) == [1, 0, 2]


def test_a_key_that_is_asked_for_twice_has_to_meet_both(store: Path, recall: Recall) -> None:
    both = ["--where", "n=3", "--where", "n=1", "--where", "n=" + "[" * 100_000]
    assert "nothing to forget" in recall("forget", store, "--user", "u1", *both[:4], "--yes").stdout
    assert "nothing to forget" in recall("forget", store, "--user", "u1", *both[2:], "--yes").stdout
    assert counts(store) == [4, 4, 4]


@each_row(
    "wrong",
    [
        [],
        ["--scope", "u2"],
        ["m1", "--user", "u1"],
        ["m1", "--type", "fact"],
        ["--everything", "--type", "fact"],
        ["--user", "u1", "--scope", "u1"],
    ],
)
def test_forget_that_is_not_clear_is_wrong_usage(store: Path, recall: Recall, wrong: list[str]) -> None:
    assert recall("forget", store, *wrong, "--yes").exit_code == 2
    assert counts(store) == [4, 4, 4]


def test_compact_says_what_it_did(store: Path, recall: Recall) -> None:
    assert "Nothing was forgotten" in recall("compact", store).stdout
    recall("forget", store, "--user", "u1", "--yes")
    result = recall("compact", store)
    assert result.exit_code == 0
    assert result.stdout.startswith("Compacted ")
    assert not [p for p in store.rglob("*") if p.is_file() and b"Tea 1 of u1" in p.read_bytes()]
    assert recall("compact", store.parent / "none").exit_code == 1


def test_compact_of_a_store_that_is_open_says_so(store: Path, recall: Recall) -> None:
    with MemoryStore.open(store):
        result = recall("compact", store)
    assert result.exit_code == 1
    assert "is open in process" in result.stderr and "nobody else may have it" in result.stderr


@pytest.mark.parametrize("command", ["search", "explain"])
def test_search_and_explain_take_the_same_options(store: Path, tmp_path: Path, recall: Recall, command: str) -> None:
    config = tmp_path / "recall.yaml"
    config.write_text("recall: {timezone: UTC}\n")
    options = ["--scope", "u2", "--timezone", "Europe/Berlin", "--type", "fact", "--where", "n=3", "--json"]
    result = recall(command, store, "tea", *options, "--config", config, "--privacy", "allow")
    assert result.exit_code == 0, result.output
    hits = json.loads(result.stdout)["hits"]
    assert [hit["id"] for hit in hits] == ["m3"]
    assert all(" " in c["name"] or c["name"].isalpha() for c in hits[0]["contributions"])
    assert recall(command, store, "tea", "--after", "yesterday").exit_code == 1
    assert "--after 'yesterday'" in recall(command, store, "tea", "--after", "yesterday").stderr
    assert recall(command, store, "tea", "--where", "n").exit_code == 1
    assert recall(command, store, "tea", "--type", "rumour").exit_code == 1


def test_every_source_has_a_name() -> None:
    assert not [f.name for f in FEATURES if "_" in name_of(f.name)]
    assert name_of("my_own") == "my own"


@pytest.mark.parametrize(
    ("key", "meant"), [("content", "text"), ("speaker", "actor"), ("timestamp", "event_at"), ("typ", "type")]
)
def test_a_wrong_key_suggests_the_right_one(tmp_path: Path, recall: Recall, key: str, meant: str) -> None:
    path = tmp_path / "m.jsonl"
    path.write_text(json.dumps({"text": "Tea"}) + "\n" + json.dumps({key: "Tea"}))
    result = recall("import", path, tmp_path / "s", "--format", "jsonl")
    assert result.exit_code == 1
    assert f"line 2: unknown key {key!r}. Did you mean {meant!r}?" in result.stderr
    assert "--skip-bad" in result.stderr
    assert not (tmp_path / "s").exists()


def test_a_failed_import_leaves_a_store_that_was_there(store: Path, tmp_path: Path, recall: Recall) -> None:
    path = tmp_path / "m.jsonl"
    path.write_text('{"text": "Tea"}\n{"content": "Tea"}')
    assert recall("import", path, store, "--format", "jsonl").exit_code == 1
    assert counts(store) == [4, 4, 4]
    (tmp_path / "empty").mkdir()
    path.write_text('{"text": "Tea"}')
    failed = recall("import", path, tmp_path / "empty", "--format", "jsonl", "--embedding", "/no/such/model")
    assert failed.exit_code == 1
    assert list((tmp_path / "empty").iterdir()) == []


def test_what_has_ended_is_left_out_of_an_import(tmp_path: Path, recall: Recall) -> None:
    path = tmp_path / "m.jsonl"
    path.write_text('{"text": "Tea"}\n{"text": "Milk", "expires_at": "2020-01-01T00:00:00Z"}')
    result = recall("import", path, tmp_path / "s", "--format", "jsonl")
    assert result.stdout == (
        "Memories: 1 new, 0 replaced, 0 unchanged, 1 left out that have come to their end in -/-/-.\n"
    )
