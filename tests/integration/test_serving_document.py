"""docs/serving.md: its examples print what it says. docs/http-api.md: its tables say what the code does."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest

from recall_integrations import MemoryStore, QueryOptimizer
from recall_integrations.serving.app import create_app
from recall_integrations.serving.served import Limits, Served
from tests.pages import DOCS, prints_what_it_says

PAGE = (DOCS / "http-api.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("no_hurry")
def test_the_examples_print_what_the_page_says() -> None:
    assert prints_what_it_says("serving.md") == 3


def test_the_table_has_every_route() -> None:
    section = PAGE[PAGE.index("## What can be asked") : PAGE.index("**Scopes.**")]
    shown = set(re.findall(r"`(GET|POST) (/[\w/.{}]*)", section))
    with MemoryStore.open() as store:
        paths = create_app(Served(store=store, optimizer=QueryOptimizer(store))).openapi()["paths"]
    there = {(method.upper(), path.replace("{memory_id}", "{id}")) for path, of in paths.items() for method in of}
    assert shown - {("GET", "/openapi.json"), ("GET", "/look/"), ("GET", "/")} == there


def test_the_limits_are_those_of_the_page() -> None:
    section = PAGE[PAGE.index("## What is too much") : PAGE.index("## Errors")]
    for field in fields(Limits):
        shown = f"{field.default:,.0f}"
        assert re.search(rf"\b{shown}\b", section) or field.name == "rate", field.name
