"""What commands share: reading a time, and how far long work is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timezone

import click
import pytest
from click.testing import CliRunner

from recall_integrations.cli import main
from recall_integrations.config import RecallConfig
from recall_integrations.console.commands import shared
from recall_integrations.errors import ConfigError, InvalidArgument
from recall_integrations.observability import progress


def test_a_time_has_an_offset() -> None:
    assert shared.moment(None) is None
    assert shared.moment(" 2026-03-01T12:00:00Z ") == datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
    for wrong in ("2026-03-01T12:00:00", "soon", ""):
        with pytest.raises(InvalidArgument, match="not a time with an offset"):
            shared.moment(wrong)


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
