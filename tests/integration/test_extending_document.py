"""docs/extending.md: its examples share their names, and each prints what the page says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pages import prints_what_it_says

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "extending.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("no_hurry")
def test_the_examples_print_what_the_page_says() -> None:
    assert prints_what_it_says("extending.md") == 6
