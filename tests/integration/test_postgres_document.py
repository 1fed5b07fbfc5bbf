"""docs/postgres.md: its example prints what it says, and its numbers are those of the modules."""

from __future__ import annotations

import pytest

from recall_integrations.database import postgres, postgres_errors
from recall_integrations.store import column_files, parts
from tests.pages import DOCS, printed

PAGE = DOCS / "postgres.md"


def test_the_example_prints_what_it_says(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORIES", postgres_url)
    found = list(printed(PAGE))
    assert len(found) == 1
    for example, out in found:
        assert out == (example.said or "")


def test_the_numbers_are_those_of_the_modules() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert f"PostgreSQL {postgres.VERSION_LEAST} or later" in text
    assert f"the last {parts.KEPT_ENTRIES:,} changes" in text
    assert f"scopes from {column_files.ROWS_MIN:,} memories on" in text
    assert f"above {postgres_errors.KEY_BYTES_MAX:,} bytes" in text
    for name, value in postgres.ALIVE.items():
        assert f"{name}={value}" in text
