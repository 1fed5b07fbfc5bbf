"""`recall search --also`: one ranking of several scopes, in words and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from recall_integrations import Memory, MemoryStore, Scope
from recall_integrations.cli import main


@pytest.fixture
def store(tmp_path: Path) -> Path:
    with MemoryStore.open(tmp_path / "s") as store:
        store.remember(Memory("Priya prefers tea", id="a"), scope=Scope(user_id="ann"))
        store.remember(Memory("Tea is at five", id="b"), scope=Scope(namespace="team"))
    return tmp_path / "s"


def search(*given: object) -> Result:
    return CliRunner().invoke(main, ["search", *map(str, given)])


def test_several_scopes(store: Path) -> None:
    found = json.loads(search(store, "tea", "--scope", "ann", "--also", "team", "--json").stdout)
    assert {(hit["id"], hit["scope"]) for hit in found["hits"]} == {("a", "ann/-/-"), ("b", "-/-/team")}
    assert found["notes"] == []
    shown = search(store, "tea", "--scope", "ann", "--also", "team").stdout
    assert "in -/-/team" in shown and "in ann" not in shown


def test_a_scope_that_is_not_there(store: Path) -> None:
    result = search(store, "tea", "--scope", "ann", "--also", "nobody")
    assert result.exit_code == 1 and "nobody" in result.stderr


@pytest.mark.parametrize("command", ["search", "explain"])
def test_what_scores_less_is_left_out(store: Path, command: str) -> None:
    asked = [command, str(store), "what does Priya prefer?", "--scope", "ann", "--json"]
    runner = CliRunner()
    assert [hit["id"] for hit in json.loads(runner.invoke(main, asked).stdout)["hits"]] == ["a"]
    less = json.loads(runner.invoke(main, [*asked, "--score-min", "1"]).stdout)
    assert less["hits"] == [] and "score_min" in {problem["reason"] for problem in less["degraded"]}
    wrong = runner.invoke(main, [*asked, "--score-min", "2"])
    assert wrong.exit_code == 2 and "--score-min" in wrong.stderr


def test_search_and_explain_take_the_same_options() -> None:
    named = {name: {p.name for p in main.commands[name].params} for name in ("search", "explain")}
    assert named["search"] - named["explain"] == {"also"}
    assert named["explain"] - named["search"] == {"no_search"}
