"""docs/chroma-server.md, docs/chroma-reference.md: what the example prints, numbers and settings are as they say."""

from __future__ import annotations

import re

import pytest
import yaml

from recall_integrations.arms import retrievers as semantic
from recall_integrations.config import RecallConfig, VectorsConfig
from recall_integrations.indexes import vectors
from recall_integrations.indexes.vectors import FETCH_MAX
from recall_integrations.store import collections
from tests import chroma
from tests.pages import DOCS, ROOT, printed

PAGE, REFERENCE = DOCS / "chroma-server.md", DOCS / "chroma-reference.md"


@pytest.mark.slow
def test_the_example_prints_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    with chroma.running() as server:
        monkeypatch.setenv("CHROMA", server.address)
        found = list(printed(PAGE))
    assert len(found) == 2
    for example, out in found:
        assert out == (example.said or "")


def test_the_numbers_are_those_of_the_modules() -> None:
    text = PAGE.read_text(encoding="utf-8") + REFERENCE.read_text(encoding="utf-8")
    assert f"{collections.SLICE:,} vectors, notes" in text
    assert "no longer than half" in text and semantic.SERVER_SHARE == 0.5
    assert "skip the server for five seconds" in text and vectors.OPEN_S == 5
    assert "grow to half a minute" in text and collections.PAUSE_MAX_S == 30
    assert f"`{semantic.AWAY}`" in text
    cloud, own = VectorsConfig(address="https://api.trychroma.com"), VectorsConfig(address="http://localhost:8000")
    assert f"written and removed {cloud.batch} at a time**, elsewhere {own.batch}." in text
    assert f"asks for {cloud.results} neighbours at most**, elsewhere for {FETCH_MAX:,}" in text
    assert f"leaves {semantic.SUBSET_MAX:,} memories or fewer, or less than a fiftieth" in text
    assert RecallConfig().planner.arm_limit * 50 == FETCH_MAX


def test_the_settings_are_settings() -> None:
    (block,) = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    made = RecallConfig.from_mapping(yaml.safe_load(block)["recall"])
    assert made.vectors.token_variable == "CHROMA_TOKEN" and made.vectors.timeout_ms == 5_000


def test_the_tests_that_it_names_are_there() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", REFERENCE.read_text(encoding="utf-8"))
    assert len(named) > 8
    for path, name in named:
        source = (ROOT / path).read_text(encoding="utf-8")
        assert not name or f"def {name}(" in source, (path, name)
