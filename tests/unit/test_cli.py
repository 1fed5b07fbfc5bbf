from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from recall_integrations import MemoryStore, Scope
from recall_integrations.cli import main
from tests.rows import each_row

Recall = Callable[..., Result]
ROWS = (
    {"id": "a", "text": "Priya recommends PostgreSQL for Kestrel", "actor": "Sam", "event_at": "2026-03-03T09:00:00Z"},
    {"id": "b", "text": "My badge number is K-20417", "type": "fact"},
    {"id": "c", "text": "I prefer tea to coffee", "type": "preference", "relations": [["Priya", "manager_of", "Sam"]]},
)


@pytest.fixture
def recall(monkeypatch: pytest.MonkeyPatch) -> Recall:
    monkeypatch.delenv("RECALL_EMBEDDING", raising=False)
    monkeypatch.delenv("RECALL_DEBUG", raising=False)
    return lambda *arguments, **more: CliRunner().invoke(main, [str(a) for a in arguments], **more)


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(json.dumps(r) for r in ROWS), encoding="utf-8")
    return path


@pytest.fixture
def store(tmp_path: Path, rows: Path, recall: Recall) -> Path:
    path = tmp_path / "store"
    assert recall("import", rows, "--format", "jsonl", path).exit_code == 0
    return path


def failed(result: Result, *words: str) -> None:
    """One line on stderr, exit 1, no traceback."""
    assert result.exit_code == 1, result.output
    assert result.stderr.startswith("Error: ") and result.stderr.count("\n") == 1
    assert "Traceback" not in result.output
    for word in words:
        assert word in result.stderr


# -- import ------------------------------------------------------------------------------------------------------------


def test_import_reports_what_it_did_and_again_that_nothing_changed(tmp_path: Path, rows: Path, recall: Recall) -> None:
    first = recall("import", rows, "--format", "jsonl", tmp_path / "s")
    assert (first.exit_code, first.stdout) == (0, "Memories: 3 new, 0 replaced, 0 unchanged in -/-/-.\n")
    again = recall("import", rows, tmp_path / "s", "--format", "jsonl")
    assert (again.exit_code, again.stdout) == (0, "Memories: 0 new, 0 replaced, 3 unchanged in -/-/-.\n")


def test_import_into_a_scope(tmp_path: Path, rows: Path, recall: Recall) -> None:
    assert recall("import", rows, "--format", "jsonl", tmp_path / "s", "--scope", "ann//work").exit_code == 0
    with MemoryStore.open(tmp_path / "s") as opened:
        assert opened.count(scope=Scope("ann", "", "work")) == 3


def test_a_bad_row_stops_the_import_with_its_line(tmp_path: Path, recall: Recall) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text('{"text": "one"}\n{"text": "two", "who": "Ann"}\n{"text": "three"}\n')
    result = recall("import", path, "--format", "jsonl", tmp_path / "s")
    assert result.exit_code == 1
    failed(result, "line 2: unknown key 'who'. Did you mean 'actor'?", "Nothing was stored.", "--skip-bad")
    assert not (tmp_path / "s").exists()


def test_bad_rows_are_skipped_and_listed_if_wanted(tmp_path: Path, recall: Recall) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text('{"text": "one"}\n{"text": ""}\nnonsense\n{"text": "four"}\n')
    result = recall("import", path, "--format", "jsonl", tmp_path / "s", "--skip-bad")
    assert result.exit_code == 0
    assert result.stdout == "Memories: 2 new, 0 replaced, 0 unchanged, 2 skipped in -/-/-.\n"
    assert [line.split(":")[0] for line in result.stderr.splitlines()] == ["Skipped line 2", "Skipped line 3"]


def test_an_import_that_stores_nothing_for_its_mistakes_fails(tmp_path: Path, recall: Recall) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("text,date\nTea,some day\n")
    result = recall("import", path, tmp_path / "s")
    assert result.exit_code == 1 and "Skipped bad.csv, row 1: column 'date' needs a date" in result.stderr


def test_import_of_a_missing_file_makes_no_store(tmp_path: Path, recall: Recall) -> None:
    assert recall("import", tmp_path / "none", "--format", "jsonl", tmp_path / "s").exit_code == 2
    (tmp_path / "here").mkdir()
    failed(recall("import", tmp_path / "here", tmp_path / "s"), "None of 0 files", "chatgpt", "jsonl")
    assert not (tmp_path / "s").exists()


def test_import_finds_the_format_and_a_dry_run_shows_what_it_would_store(tmp_path: Path, recall: Recall) -> None:
    notes, store = tmp_path / "notes", tmp_path / "s"
    notes.mkdir()
    (notes / "kestrel.md").write_text(
        "---\ndate: 2026-03-12\n---\nWe chose [[PostgreSQL]].\n\n# Open\n\nWho hosts it?\n"
    )
    (notes / "broken.md").write_text("---\n: {\n---\n")
    (notes / "kestrel.png").write_text("")
    dry = recall("import", notes, store, "--dry-run")
    assert dry.stdout.splitlines() == [
        "Memories: 2 new, 0 replaced, 0 unchanged, 1 skipped in -/-/-.",
        "format   2 markdown",
        "threads  1",
        "times    2026-03-12 to 2026-03-12",
        "  2026-03-12 kestrel We chose PostgreSQL.",
        "  2026-03-12 kestrel > Open Who hosts it?",
        "Nothing was stored.",
    ]
    assert dry.stderr.splitlines()[0].startswith("Skipped broken.md: its front matter is no YAML")
    assert dry.stderr.splitlines()[1] == "In no known format: 1 file (kestrel.png)"
    assert not store.exists()
    assert recall("import", notes, store).stdout.startswith("Memories: 2 new")
    assert "2 unchanged" in recall("import", notes, store, "--dry-run").stdout
    (notes / "kestrel.md").write_text("Nothing is open.")
    (notes / "broken.md").unlink()
    assert "1 replaced, 0 unchanged, 1 forgotten" in recall("import", notes, store, "--forget-gone").stdout
    failed(recall("import", notes, store, "--format", "notion"), "There is no format 'notion'", "whatsapp")


def test_a_scope_is_found_by_one_part_of_it(tmp_path: Path, recall: Recall) -> None:
    path = tmp_path / "l.jsonl"
    rows = [
        {"text": text, "user_id": "locomo", "namespace": name}
        for name in ("conv-1", "conv-2")
        for text in ("I planted a quince", "How is the quince?")
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = recall("import", path, tmp_path / "s")
    assert result.stdout == "Memories: 4 new, 0 replaced, 0 unchanged in 2 scopes.\n"
    assert "4 unchanged" in recall("import", path, "--format", "jsonl", tmp_path / "s").stdout
    found = recall("search", tmp_path / "s", "quince", "--scope", "conv-2", "--json")
    assert json.loads(found.stdout)["scope"] == "locomo/-/conv-2"
    failed(recall("search", tmp_path / "s", "quince"), "locomo/-/conv-1, locomo/-/conv-2", "--scope")
    failed(recall("search", tmp_path / "s", "quince", "--scope", "locomo"), "could be any of")


# -- search ------------------------------------------------------------------------------------------------------------


def test_search_shows_plan_hits_and_reasons(store: Path, recall: Recall) -> None:
    result = recall("search", store, "What's my badge number?", "--k", "2")
    assert result.exit_code == 0, result.output
    for words in ("plan", "because", "My badge number is K-20417", "says: badge, number", "id b"):
        assert words in result.stdout
    assert "\x1b" not in result.stdout


def test_explain_shows_rules_arms_and_contributions(store: Path, recall: Recall) -> None:
    text = recall("explain", store, "What's my badge number?").stdout
    shown = ("specificity", "rarity", "precise", "exploratory", "pass: chosen", "lexical #1", "at most", "all together")
    for words in shown:
        assert words in text


def test_json_is_whole_and_alone_on_stdout(store: Path, recall: Recall) -> None:
    result = recall("search", store, "yesterday", "--json", "--now", "2026-03-04T10:00:00Z", "--k", "1")
    data: dict[str, Any] = json.loads(result.stdout)
    assert (data["format"], data["k"], data["now"]) == (1, 1, "2026-03-04T10:00:00+00:00")
    assert data["parsed"]["window"]["start"] == "2026-03-03T00:00:00+00:00"
    assert [hit["id"] for hit in data["hits"]] == ["a"]
    assert data["hits"][0]["memory"]["event_at"] == "2026-03-03T09:00:00+00:00"
    assert {arm["name"] for arm in data["arms"]} >= {"temporal"}
    assert data["timings_ms"]["total"] > 0 and data["degraded"] == []


def test_what_json_prints_can_be_imported_again(tmp_path: Path, store: Path, recall: Recall) -> None:
    data = json.loads(recall("search", store, "tea", "--json").stdout)
    path = tmp_path / "again.jsonl"
    path.write_text("\n".join(json.dumps(hit["memory"]) for hit in data["hits"]))
    assert "0 new, 0 replaced, 3 unchanged" in recall("import", path, "--format", "jsonl", store).stdout


@each_row(
    ("arguments", "words"),
    [
        (["   "], "blank"),
        (["x", "--now", "soon"], "is no time"),
        (["x", "--scope", "nobody"], "no scope 'nobody'"),
        (["x", "--scope", "a/b/c/d"], "4 parts"),
    ],
)
def test_errors_are_one_clear_line(store: Path, recall: Recall, arguments: list[str], words: str) -> None:
    failed(recall("search", store, *arguments), words)


def test_wrong_usage_has_its_own_exit_code(store: Path, recall: Recall) -> None:
    assert recall("search", store, "x", "--k", "0").exit_code == 2
    assert recall("search", store).exit_code == 2
    assert recall("nonsense").exit_code == 2


def test_debug_shows_where_an_error_comes_from(store: Path, recall: Recall) -> None:
    result = recall("--debug", "search", store, " ")
    assert result.exception is not None and type(result.exception).__name__ == "InvalidQuery"


def test_a_store_that_is_open_elsewhere_is_read_beside_it(store: Path, recall: Recall) -> None:
    with MemoryStore.open(store) as app:
        app.remember("The zeppelin landed in Riga", scope=Scope(user_id="app"))
        assert "zeppelin" in recall("search", store, "zeppelin", "--scope", "app").stdout
        assert recall("stats", store).exit_code == 0
        assert recall("export", store, "-").exit_code == 0
        failed(recall("reindex", store), "nobody else may have it to make its indexes anew")


# -- paths that are no store -------------------------------------------------------------------------------------------

READERS = (
    ["search", "{}", "x"],
    ["stats", "{}"],
    ["reindex", "{}"],
    ["entity", "{}", "Ann"],
    ["forget", "{}", "a", "--yes"],
)


@pytest.mark.parametrize("command", READERS, ids=lambda c: c[0])
@pytest.mark.parametrize("kind", ["nothing", "file", "other directory"])
def test_no_command_makes_a_store_where_there_is_none(
    tmp_path: Path, recall: Recall, command: list[str], kind: str
) -> None:
    path = tmp_path / "place"
    if kind == "file":
        path.write_text("x")
    elif kind == "other directory":
        path.mkdir()
        (path / "notes.txt").write_text("x")
    before = sorted(p.relative_to(tmp_path) for p in tmp_path.rglob("*"))
    failed(recall(*(part.format(path) for part in command)), "no store", "recall import")
    assert sorted(p.relative_to(tmp_path) for p in tmp_path.rglob("*")) == before


def test_a_store_without_its_database_is_not_called_missing(store: Path, recall: Recall) -> None:
    for path in store.glob("recall.db*"):
        path.unlink()
    failed(recall("search", store, "x"), "database", "backup")


# -- the small ones ----------------------------------------------------------------------------------------------------


def test_stats(store: Path, recall: Recall) -> None:
    text = recall("stats", store).stdout
    for words in ("memories", "1 fact, 1 observation, 1 preference", "2026-03-03", "-/-/-"):
        assert words in text
    data = json.loads(recall("stats", store, "--json").stdout)
    assert data["format"] == 1 and data["memories"] == 3
    assert data["scopes"] == [{"scope": "-/-/-", "memories": 3}]
    assert data["first_event"] == data["last_event"] == "2026-03-03T09:00:00+00:00"
    assert data["index_lag"] == {"semantic": 0}


def test_stats_of_an_empty_store(tmp_path: Path, recall: Recall) -> None:
    MemoryStore.open(tmp_path / "s").close()
    assert recall("stats", tmp_path / "s").exit_code == 0
    assert json.loads(recall("stats", tmp_path / "s", "--json").stdout)["first_event"] is None
    failed(recall("search", tmp_path / "s", "x"), "empty")


def test_reindex_keeps_the_answers(store: Path, recall: Recall) -> None:
    search = ("search", store, "badge number", "--json", "--now", "2027-01-01T00:00:00Z")  # memories age meanwhile
    before = json.loads(recall(*search).stdout)["hits"]
    result = recall("reindex", store)
    assert result.exit_code == 0 and "Rebuilt" in result.stdout
    assert json.loads(recall(*search).stdout)["hits"] == before


def test_an_alias_finds_what_the_name_is_in(store: Path, recall: Recall) -> None:
    result = recall("entity", store, "Priya", "--alias", "PR", "--alias", "Pri")
    assert result.exit_code == 0 and re.search(r"^Priya, also called PR, Pri: ent_[0-9a-f]{24} in ", result.stdout)
    data = json.loads(recall("search", store, "what does PR recommend?", "--json").stdout)
    assert data["parsed"]["entities"][0]["name"] == "Priya"
    assert data["hits"][0]["id"] == "a"


def test_forget_asks(store: Path, recall: Recall) -> None:
    kept = recall("forget", store, "b", input="n\n")
    assert kept.exit_code == 0 and "K-20417" in kept.stdout and "Nothing was removed" in kept.stdout
    assert "Forgot 1 memory in -/-/-." in recall("forget", store, "b", input="y\n").stdout
    failed(recall("forget", store, "b", "--yes"), "no memory 'b'")
    with MemoryStore.open(store) as opened:
        assert opened.count() == 2


def test_forget_without_an_answer_removes_nothing(store: Path, recall: Recall) -> None:
    assert recall("forget", store, "b", input="").exit_code == 1
    with MemoryStore.open(store) as opened:
        assert opened.count() == 3


def test_an_id_or_text_cannot_steer_the_terminal(tmp_path: Path, recall: Recall) -> None:
    path = tmp_path / "m.jsonl"
    path.write_text(json.dumps({"text": "a\x1b[2Jb", "id": "x"}))
    recall("import", path, "--format", "jsonl", tmp_path / "s")
    assert "\x1b" not in recall("forget", tmp_path / "s", "x", input="n\n").output
    assert "\x1b" not in recall("search", tmp_path / "s", "a \x1b[31m b").output
    assert "\x1b" not in recall("forget", tmp_path / "s", "\x1b[31m").output


# -- errors ------------------------------------------------------------------------------------------------------------


def test_an_interrupt_has_its_exit_code(monkeypatch: pytest.MonkeyPatch, store: Path, recall: Recall) -> None:
    from recall_integrations.optimizer import QueryOptimizer

    def interrupted(*_a: Any, **_k: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(QueryOptimizer, "recall", interrupted)
    result = recall("search", store, "x")
    assert result.exit_code == 130 and "Interrupted" in result.stderr
    monkeypatch.undo()
    assert recall("search", store, "badge").exit_code == 0


@each_row(
    "command",
    [
        *([], ["import"], ["search"], ["stats"], ["reindex"], ["entity"], ["forget"], ["demo"], ["bench"]),
        *(["add"], ["export"], ["compact"]),
    ],
)
def test_help_is_there(recall: Recall, command: list[str]) -> None:
    result = recall(*command, "--help")
    assert result.exit_code == 0 and "..." not in result.stdout.split("Commands:")[-1].replace("]...", "")


# -- doctor ------------------------------------------------------------------------------------------------------------


def test_the_doctor_names_what_it_checked_and_mends(store: Path, recall: Recall) -> None:
    clean = recall("doctor", store)
    assert clean.exit_code == 0 and clean.stdout.count("ok ") == 16 and "Clean. 16 checks" in clean.stdout
    with closing(sqlite3.connect(store / "recall.db")) as connection:
        connection.execute("DELETE FROM words WHERE num = 1")
        connection.commit()
    found = recall("doctor", store, "--json")
    said = json.loads(found.stdout)
    assert found.exit_code == 1 and not said["clean"] and said["format"] == 1
    assert [c["name"] for c in said["checks"] if c["state"] == "problem"] == ["words"]
    assert "`--repair` writes them anew" in recall("doctor", store).stdout
    mended = recall("doctor", store, "--repair")
    assert mended.exit_code == 0 and "mended" in mended.stdout
    assert recall("doctor", store).exit_code == 0


def test_the_doctor_of_what_is_no_store(tmp_path: Path, recall: Recall) -> None:
    failed(recall("doctor", tmp_path / "nothing"), "no store")
    assert list(tmp_path.iterdir()) == []


@each_row("command", [("search",), ("explain",), ("explain", "--no-search")])
@each_row("form", [(), ("--json",)])
@each_row("mode", ["redact", "block"])
def test_what_may_not_be_seen_is_not_printed(
    store: Path, recall: Recall, command: tuple[str, ...], form: tuple[str, ...], mode: str
) -> None:
    with MemoryStore.open(store) as opened:
        opened.remember("Priya has +49 170 1234567 now")
    name, *options = command
    found = recall(name, store, "who has +49 170 1234567", *options, *form, "--privacy", mode)
    assert found.exit_code == 0 and found.stdout and "1234567" not in found.stdout
    assert "1234567" in recall(name, store, "who has +49 170 1234567", *options, *form).stdout


def test_the_help_of_search_has_the_keys_of_its_json(store: Path, recall: Recall) -> None:
    data = json.loads(recall("search", store, "tea", "--json").stdout)
    text = set(re.findall(r"\w+", recall("search", "--help").stdout))
    for keys in (data, data["hits"][0], data["parsed"], data["rewrite"], data["rerank"], data["cache"]):
        assert set(keys) - text == set()
