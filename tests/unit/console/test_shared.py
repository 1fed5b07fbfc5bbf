"""What commands share: reading a time, and bars for several things."""

from __future__ import annotations

import io
from datetime import datetime, timezone

import pytest
from rich.console import Console
from rich.progress import Progress, TextColumn

from recall_integrations.console.commands import shared
from recall_integrations.errors import ConfigError, InvalidArgument


def test_a_time_has_an_offset() -> None:
    assert shared.moment(None) is None
    assert shared.moment(" 2026-03-01T12:00:00Z ") == datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
    for wrong in ("2026-03-01T12:00:00", "soon", ""):
        with pytest.raises(InvalidArgument, match="not a time with an offset"):
            shared.moment(wrong)


def test_settings_are_read_where_a_file_is_given() -> None:
    assert shared.settings(None) is None
    with pytest.raises(ConfigError, match="Cannot read"):
        shared.settings("/nowhere/recall.yaml")


def test_each_thing_has_a_bar_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    bar = Progress(TextColumn("{task.description}"), console=Console(file=io.StringIO()))
    monkeypatch.setattr(shared, "progress", lambda: bar)
    with shared.named_progress() as show:
        for what, done in (("Words", 1), ("Vectors", 2), ("Words", 3)):
            show(what, done, 4)
    assert [(t.description, t.completed, t.total) for t in bar.tasks] == [("Words", 3, 4), ("Vectors", 2, 4)]


def test_bars_are_not_drawn_where_there_is_no_terminal() -> None:
    assert shared.progress().disable
