"""docs/on-top-of-your-store.md: its examples share their names, and each prints what the page says."""

from __future__ import annotations

from pathlib import Path

import pytest

from recall_integrations.ontop.following import FIELDS
from tests.pages import prints_what_it_says

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "on-top-of-your-store.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("no_hurry")
def test_the_examples_print_what_the_page_says() -> None:
    assert prints_what_it_says("on-top-of-your-store.md") == 4


def test_the_page_shows_every_field() -> None:
    assert all(f"'{name}'" in PAGE for name in FIELDS)
