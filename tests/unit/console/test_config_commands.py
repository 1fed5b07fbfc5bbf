from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from recall_integrations import Memory, MemoryStore, RecallConfig
from recall_integrations.cli import main

TEXT = """recall:
  planner: {arm_limit: 7}
  scopes:
    - namespace: support
      rerank: {top_n: 9}
"""


def run(*arguments: str, code: int = 0, **environ: str) -> str:
    done = CliRunner().invoke(main, arguments, env={"RECALL_CONFIG": None, **environ})
    assert done.exit_code == code, done.output
    return done.output if code else done.stdout


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "r.yaml"
    path.write_text(TEXT)
    return str(path)


def test_show_says_where_each_value_was_said(file: str) -> None:
    said = run("config", "show", "--config", file, "--changed", RECALL_WEEK_START="6")
    assert [" ".join(row.split()) for row in said.splitlines()] == [
        "week_start: 6 environment RECALL_WEEK_START",
        "planner",
        f"arm_limit: 7 {file}, line 2, column 13",
        f"scopes[0] namespace support: rerank.top_n 9 {file}, line 4, column 7",
    ]
    assert "precise_threshold: 0.8\n" in run("config", "show")


def test_show_of_a_scope_as_json(file: str) -> None:
    found = json.loads(run("config", "show", "--scope", "-/-/support", "--json", RECALL_CONFIG=file))
    assert found["format"] == 1 and found["file"] == file
    assert found["settings"]["rerank.top_n"] == {"value": 9, "origin": f"scopes[0], {file}, line 4, column 7"}
    assert found["settings"]["mode"] == {"value": "rule", "origin": "default"}
    assert found["scopes"][0]["settings"] == {"rerank.top_n": 9}
    bare = json.loads(run("config", "show", "--json"))
    assert bare["fingerprint"] == RecallConfig().fingerprint != found["fingerprint"]


def test_the_environment_stands_over_an_entry(file: str) -> None:
    said = run("config", "show", "--config", file, "--scope", "-/-/support", "--changed", RECALL_RERANK__TOP_N="5")
    assert "top_n: 5 environment RECALL_RERANK__TOP_N" in " ".join(said.split())
    assert "scopes[0]" not in said


def test_check_tells_all_mistakes(file: str, tmp_path: Path) -> None:
    assert run("config", "check", file) == f"{file} is right. 2 settings are not as by default.\n"
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("recall:\n  planner: {arm_limt: 7}\n  rerank: {top_n: 0}\n")
    assert run("config", "check", str(wrong), code=1).splitlines() == [
        f"{wrong}, line 2, column 13: Unknown setting planner.arm_limt. Did you mean arm_limit?",
        f"{wrong}, line 3, column 12: rerank.top_n must be a whole number between 1 and 1000, not 0.",
        f"2 mistakes. {wrong} cannot be used.",
    ]
    wrong.write_text("planner: [")
    assert "this is not YAML" in run("config", "check", str(wrong), code=1)


def test_schema_and_example() -> None:
    assert "planner" in json.loads(run("config", "schema"))["properties"]["recall"]["properties"]
    assert run("config", "example", "--schema", "s.json").startswith("# yaml-language-server: $schema=s.json\n")
    assert run("config", "example").startswith("# Settings of")


def test_every_command_that_opens_a_store_takes_the_file() -> None:
    # The demo has a store of its own; doctor, db and move read no settings; tokens are in a file.
    without = {"demo", "doctor", "db", "move", "config", "bench", "token"}
    for name, command in main.commands.items():
        if name in without:
            continue
        for one in command.commands.values() if isinstance(command, click.Group) else (command,):
            assert any("--config" in p.opts for p in one.params), (name, one.name)


def test_the_commands_use_the_file(file: str, tmp_path: Path, embedding: Any) -> None:
    at = str(tmp_path / "store")
    run("add", at, "the deploy is on Friday", "--scope", "-/-/support", "--config", file)
    run("add", at, "the deploy is on Friday", RECALL_CONFIG=file)
    found = json.loads(run("search", at, "deploy", "--scope", "-/-/support", "--json", "--config", file))
    assert [note["reason"] for note in found["notes"]] == ["settings.scope"]
    found = json.loads(run("search", at, "deploy", "--json", RECALL_CONFIG=file))
    assert {arm["limit"] for arm in found["arms"]} == {7} and found["notes"] == []
    said = run("search", at, "deploy", code=1, RECALL_PLANER="1")
    assert "Unknown name RECALL_PLANER in the environment." in said
    run("stats", at, "--config", str(tmp_path / "none.yaml"), code=2)


def test_a_store_takes_the_settings_of_the_environment(tmp_path: Path, monkeypatch: Any, embedding: Any) -> None:
    monkeypatch.setenv("RECALL_PLANNER__ARM_LIMIT", "7")
    with MemoryStore.open(tmp_path / "s", embedding=embedding) as store:
        store.remember(Memory("tea"))
        assert store.config.planner.arm_limit == 7
