"""docs/metrics.md and docs/read-a-trace.md: their examples print what the pages say."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from tests.pages import prints_what_it_says


@pytest.fixture(autouse=True)
def logger_as_it_was() -> Iterator[None]:
    logger = logging.getLogger("recall_integrations.recall")
    handlers, level = list(logger.handlers), logger.level
    yield
    logger.handlers, logger.level = handlers, level


@pytest.mark.parametrize(("name", "examples"), [("metrics.md", 1), ("read-a-trace.md", 3)])
def test_the_examples_print_what_the_page_says(name: str, examples: int) -> None:
    assert prints_what_it_says(name) == examples
