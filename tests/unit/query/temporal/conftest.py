"""What the tests of dates in other languages share: a moment, and a window written as its days."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone

import pytest

from recall_integrations.query.temporal import parse_window

NOW = datetime(2026, 6, 17, 15, 30, tzinfo=timezone.utc)  # a Wednesday


def _days(language: str | None, text: str) -> str:
    window = parse_window(text, NOW, language=language)
    if window is None:
        return ""
    end = window.end and (window.end + timedelta(days=1, microseconds=-1)).date()
    start = window.start.date() if window.start else ""
    return f"{start}..{end or ''}"


@pytest.fixture
def days() -> Callable[[str | None, str], str]:
    """The window of a text, `first day..first day after it`; "" for none, nothing beside the dots for open."""
    return _days
