"""What commands share: reading a time, and how far long work is."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from unittest.mock import Mock
from zoneinfo import ZoneInfo

import click
import pytest
from click.testing import CliRunner

from recall_integrations.cli import main
from recall_integrations.config import RecallConfig, loading
from recall_integrations.console.commands import shared
from recall_integrations.errors import ConfigError, InvalidArgument
from recall_integrations.observability import progress
from tests.rows import each_row


def test_a_time_without_an_offset_is_in_the_zone() -> None:
    tokyo = ZoneInfo("Asia/Tokyo")
    assert shared.moment(None, "--at", tokyo) is None
    assert shared.moment(" 2026-03-01T12:00:00Z ", "--at", tokyo) == datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
    assert shared.moment("2026-03-01", "--at", tokyo) == datetime(2026, 2, 28, 15, tzinfo=timezone.utc)
    for wrong in ("soon", ""):
        with pytest.raises(InvalidArgument, match="--at .* is no time. Write 2026-03-01"):
            shared.moment(wrong, "--at", tokyo)


@pytest.mark.parametrize(
    ("environment", "options", "wanted"),
    [
        ({"TZ": "Asia/Tokyo"}, [], "2026-03-02T00:00:00+09:00"),
        ({"TZ": "Asia/Tokyo", "RECALL_TIMEZONE": "America/Lima"}, [], "2026-03-02T00:00:00-05:00"),
        ({"TZ": "nowhere"}, [], "2026-03-02T00:00:00+00:00"),
        ({"TZ": "Asia/Tokyo"}, ["--timezone", "America/Lima"], "2026-03-02T00:00:00-05:00"),
    ],
)
def test_days_of_a_command_are_in_the_systems_zone(
    environment: dict[str, str], options: list[str], wanted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("tzlocal.unix._cache_tz_name", None)  # as in a new process
    store, run = str(tmp_path / "s"), partial(CliRunner().invoke, main, catch_exceptions=False)
    assert run(["add", store, "The standup is at nine", "--at", "2026-03-02T00:00"]).exit_code == 0
    asked = ["search", store, "standup", "--json", *options]
    instant = datetime.fromisoformat(wanted)
    data = json.loads(run([*asked, "--now", "2026-03-02"]).output)
    assert datetime.fromisoformat(data["now"]) == instant
    assert ("the system" in run(["config", "show", "--changed"]).output) is (environment == {"TZ": "Asia/Tokyo"})
    if not options:
        assert datetime.fromisoformat(data["hits"][0]["memory"]["event_at"]) == instant
        assert json.loads(run([*asked, "--after", "2026-03-02"]).output)["hits"]
        assert not json.loads(run([*asked, "--before", "2026-03-02"]).output)["hits"]


def test_settings_are_read_where_a_file_is_given() -> None:
    assert shared.settings(None) == RecallConfig()
    with pytest.raises(ConfigError, match="Cannot read"):
        shared.settings("/nowhere/recall.yaml")


@pytest.mark.parametrize("quiet", [False, True])
def test_what_takes_long_is_shown_unless_somebody_wants_quiet(monkeypatch: pytest.MonkeyPatch, quiet: bool) -> None:
    asked: list[bool] = []

    @contextmanager
    def telling(shown: bool) -> Iterator[Callable[..., None]]:
        asked.append(shown)
        yield lambda *_given: None

    @click.command(params=[shared.quiet_option()])
    def work() -> None:
        with shared.named_progress() as show, shared.progress("Words", 4) as advance:
            show("Vectors", 1, 4)
            advance(1)

    for where in (progress, shared):
        monkeypatch.setattr(where, "telling", telling)
    done = CliRunner().invoke(work, ["--quiet"] if quiet else [], catch_exceptions=False)
    assert done.exit_code == 0 and asked == [not quiet] * 2


def test_how_many_hits_is_said_with_one_dash_or_two() -> None:
    @click.command(params=[])
    @shared.k_option(5)
    def ask(k: int) -> None:
        click.echo(k)

    for given, k in (([], 5), (["--k", "3"], 3), (["-k", "3"], 3), (["-k3"], 3)):
        assert CliRunner().invoke(ask, given).stdout == f"{k}\n"
    for name in ("search", "explain"):
        assert any("-k" in option.opts and "--k" in option.opts for option in main.commands[name].params), name


def test_long_commands_can_be_quiet() -> None:
    for name in ("import", "export", "compact", "reindex", "doctor", "serve", "eval"):
        assert any("--quiet" in option.opts for option in main.commands[name].params), name


A_FILE = f":{__file__}"  # of a zone, as far as anybody knows who does not read it: mostly :/etc/localtime


@each_row(
    ("given", "warned"),
    [
        *[("nowhere", 1), ("CET-1CEST", 1)],
        *((given, 0) for given in ("Asia/Tokyo", ":Asia/Tokyo", "", "GMT", "EST5EDT", A_FILE)),
    ],
)
def test_a_system_zone_without_a_name_is_said_once(given: str, warned: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", given)
        patch.setattr("tzlocal.unix._cache_tz_name", None)
        patch.setattr(loading, "_warn_no_zone", functools.cache(loading._warn_no_zone.__wrapped__))
        said = Mock()
        patch.setattr(loading, "logger", said)
        for _ in range(3):
            loading.system_zone()
    assert said.warning.call_count == warned
