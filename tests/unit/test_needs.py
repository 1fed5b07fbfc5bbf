"""What is missing fails a test where `CI` is set, and skips it elsewhere."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import hypothesis
import pytest

from tests import needs


@pytest.fixture
def ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "1")


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)


def installable(monkeypatch: pytest.MonkeyPatch, path: Path, *, user: int = 0, names: tuple[str, ...] = ()) -> None:
    """A path that has these programs and no others, and a user."""
    for name in names:
        (path / name).write_text("#!/bin/sh\n")
        (path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(path))
    monkeypatch.setattr("os.geteuid", lambda: user, raising=False)


@pytest.mark.usefixtures("ci")
def test_in_ci_what_is_missing_fails() -> None:
    with pytest.raises(pytest.fail.Exception, match="needs a server"):
        needs.required("needs a server")


@pytest.mark.usefixtures("elsewhere")
def test_elsewhere_what_is_missing_is_skipped() -> None:
    with pytest.raises(pytest.skip.Exception, match="needs a server"):
        needs.required("needs a server")


@pytest.mark.usefixtures("ci")
def test_in_ci_what_cannot_be_had_there_is_skipped() -> None:
    with pytest.raises(pytest.skip.Exception, match="needs a server"):
        needs.required("needs a server", of_ci=False)


@pytest.mark.usefixtures("ci")
def test_a_module_that_is_there_is_given() -> None:
    assert needs.needed("json", "needs JSON") is json


@pytest.mark.usefixtures("ci")
def test_a_module_that_is_missing_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langgraph", None)
    with pytest.raises(pytest.fail.Exception, match="needs LangGraph"):
        needs.needed("langgraph", "needs LangGraph")


@pytest.mark.usefixtures("ci")
@pytest.mark.parametrize("names", [("apt-get", "chromium"), ("google-chrome",)])
def test_a_program_is_found_by_each_of_its_names(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, names: tuple[str, ...]
) -> None:
    installable(monkeypatch, tmp_path, names=names)
    assert needs.program("chromium", "google-chrome", why="needs Chromium") == str(tmp_path / names[-1])


@pytest.mark.usefixtures("ci")
def test_a_program_that_ci_installs_and_is_missing_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    installable(monkeypatch, tmp_path, names=("apt-get",))
    with pytest.raises(pytest.fail.Exception, match="needs promtool"):
        needs.program("promtool", why="needs promtool")


@pytest.mark.usefixtures("ci")
@pytest.mark.parametrize(("user", "names"), [(0, ()), (1000, ("apt-get",))])
def test_a_program_that_ci_cannot_install_is_skipped(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, user: int, names: tuple[str, ...]
) -> None:
    installable(monkeypatch, tmp_path, user=user, names=names)
    with pytest.raises(pytest.skip.Exception, match="needs promtool"):
        needs.program("promtool", why="needs promtool")


def test_ci_says_that_it_is_one() -> None:
    run = (Path(__file__).resolve().parents[2] / ".ci" / "run").read_text(encoding="utf-8")
    exported = [word for line in run.splitlines() if line.startswith("export ") for word in line.split()]
    assert "CI=1" in exported


def test_properties_try_other_examples_each_time_in_ci_too() -> None:
    assert not hypothesis.settings().derandomize
