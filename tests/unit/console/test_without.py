"""`recall explain --without` shows which places change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from recall_integrations import Memory, MemoryStore
from recall_integrations.cli import main

TEXTS = ("My badge number is K-20417", "The badge office opens at nine", "Priya likes tea", "A number of people came")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("without") / "store"
    with MemoryStore.open(path) as made:
        made.remember_many([Memory(text=text, id=f"m{i}") for i, text in enumerate(TEXTS)])
    return path


def explain(store: Path, *options: str) -> Result:
    return CliRunner().invoke(main, ["explain", str(store), "What's my badge number?", *options])


def test_a_line_for_each_and_one_for_all_together(store: Path) -> None:
    result = explain(store, "--without", "lexical", "--without", "feature:words")
    assert result.exit_code == 0, result.output
    for words in ("what would be found without", "arm:lexical", "feature:words", "all of these", "search by words"):
        assert words in result.stdout


def test_json_holds_every_part_with_its_moves(store: Path) -> None:
    data: dict[str, Any] = json.loads(explain(store, "--without", "each", "--json").stdout)
    less = data["without"]
    assert data["searched"]
    assert [one["parts"] for one in less["without"]] == [[part["key"]] for part in less["parts"]]
    top = data["hits"][0]["id"]
    assert all(one["moves"][0]["id"] == top and one["moves"][0]["before"] == 1 for one in less["without"])
    assert all(one["reached"] and one["moves"] for one in less["without"])


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (("--without", "nonsense:x"), 1, "There is no part 'nonsense:x'"),
        (("--without", "lexcal"), 1, "There is no part 'lexcal' of a recall to leave out. Did you mean arm:lexical?"),
        (("--without", "arm:lexcal"), 1, "There is no part 'arm:lexcal'"),
        (("--without", "lexical", "--no-search"), 2, "leave out --no-search"),
    ],
)
def test_what_cannot_be_left_out_is_said(store: Path, options: tuple[str, ...], code: int, words: str) -> None:
    result = explain(store, *options)
    assert result.exit_code == code
    assert words in result.stderr


def test_looking_at_what_is_no_store_makes_none(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["look", str(tmp_path / "nothing")])
    assert result.exit_code == 1
    assert "There is no store at" in result.stderr
    assert list(tmp_path.iterdir()) == []
