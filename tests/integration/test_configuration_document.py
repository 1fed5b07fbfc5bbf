"""docs/configuration.md: examples print what stands below them, files are right; the table of settings is whole."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from recall_integrations import RecallConfig
from recall_integrations.cli import main
from recall_integrations.config.checking import OTHER_NAMES, OTHERS
from recall_integrations.config.loading import CONSTANT, loaded
from recall_integrations.config.recall_config import FIXED, NOT_PER_SCOPE
from recall_integrations.config.schema import table
from tests.pages import DOCS, prints_what_it_says

PAGE = (DOCS / "configuration.md").read_text(encoding="utf-8")
FILES = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def written(tmp_path: Path, monkeypatch: Any) -> Path:
    """The directory in which the page's file is."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recall.yaml").write_text(FILES[0], encoding="utf-8")
    return tmp_path


@pytest.mark.usefixtures("no_hurry", "written")
def test_the_examples_print_what_the_page_says() -> None:
    assert prints_what_it_says("configuration.md") == 5


@pytest.mark.usefixtures("written")
def test_the_command_shows_what_the_page_says() -> None:
    (command, said) = re.findall(r"```console\n\$ recall (.*?)\n(.*?)```", PAGE, re.DOTALL)[0]
    done = CliRunner().invoke(main, command.split())
    assert [" ".join(row.split()) for row in done.output.splitlines()] == [
        " ".join(row.split()) for row in said.splitlines()
    ]


def test_the_files_are_right(tmp_path: Path) -> None:
    assert len(FILES) == 2
    for text in FILES:
        (tmp_path / "r.yaml").write_text(text, encoding="utf-8")
        loaded(tmp_path / "r.yaml", {})
    assert RecallConfig.from_yaml(tmp_path / "r.yaml") == RecallConfig(mode="cached")


@pytest.mark.usefixtures("shipped_budgets")
def test_the_table_of_settings_is_the_one_that_there_is() -> None:
    page = (DOCS / "reference" / "settings.md").read_text(encoding="utf-8")
    shown = page.partition("<!-- settings -->\n")[2].partition("<!-- /settings -->")[0]
    assert shown.strip() == table().strip(), (
        "Run: python -m recall_integrations.config.schema docs/reference/settings.md"
    )


def test_what_must_be_named_is_named() -> None:
    for path in FIXED:
        assert f"`{path}`" in PAGE.partition("These need a restart")[2]
    for path in NOT_PER_SCOPE:
        assert path.startswith("rewriting.") or path == "scopes" or f"`{path}`" in PAGE
    for name in OTHER_NAMES:
        assert f"`{name}" in PAGE
    for name in CONSTANT:
        assert f"{name.rpartition('.')[2]}`" in PAGE
    for name in OTHERS:
        assert f"`{name}`" in PAGE or "tests" in OTHERS[name]


@pytest.mark.usefixtures("shipped_budgets")
def test_the_ten_settings_that_matter_have_the_defaults_of_the_package() -> None:
    rows = re.findall(r"^\| `([\w.]+)` \| (.*?) \|", (DOCS / "which-settings.md").read_text(encoding="utf-8"), re.M)
    assert len(rows) == 10
    for path, said in rows:
        value: Any = RecallConfig()
        for part in path.split("."):
            value = getattr(value, part)
        shown = value[0] if isinstance(value, tuple) else value
        assert said == (f"{shown:,g}" if isinstance(shown, (int, float)) else f"`{shown}`"), path
