"""docs/serving.md: its examples print what the page says, and its tables say what the code does."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest

from recall_integrations.serving.served import Limits
from tests.pages import DOCS, prints_what_it_says

PAGE = (DOCS / "serving.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("no_hurry")
def test_the_examples_print_what_the_page_says() -> None:
    assert prints_what_it_says("serving.md") == 3


def test_the_limits_are_those_of_the_page() -> None:
    section = PAGE[PAGE.index("## What is too much") : PAGE.index("Errors are problems")]
    for field in fields(Limits):
        shown = f"{field.default:,.0f}"
        assert re.search(rf"\b{shown}\b", section) or field.name == "rate", field.name
