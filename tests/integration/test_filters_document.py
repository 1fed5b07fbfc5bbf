"""docs/filters.md: its examples share their names, and each prints what the page says."""

from __future__ import annotations

from pathlib import Path

import pytest

from recall_integrations.types import Filters
from recall_integrations.types.filters import JOINING, OPERATORS
from tests.pages import prints_what_it_says

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "filters.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("no_hurry")
def test_the_examples_print_what_the_page_says() -> None:
    assert prints_what_it_says("filters.md") == 4


def test_every_operator_and_field_is_on_the_page() -> None:
    fields = [name for name in Filters.__dataclass_fields__ if name != "condition"]
    assert [name for name in (*OPERATORS, *JOINING, *fields) if name not in PAGE] == []
