"""docs/graph.md: its numbers are those of the modules."""

from __future__ import annotations

from pathlib import Path

from recall_integrations.arms import second_hop as holders
from recall_integrations.ranking import rank
from recall_integrations.ranking import rank as stage

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "graph.md").read_text(encoding="utf-8")
NUMBERS = {1: "One", 2: "two", 3: "three", 10: "ten", 2_000_000: "two million"}


def test_the_numbers_are_those_of_the_modules() -> None:
    assert f"the {NUMBERS[stage.HOP_FROM]} best lexical" in PAGE
    assert f"The {NUMBERS[stage.HOP_ROWS]} best documents that no arm found" in PAGE
    assert f"one of the {NUMBERS[len(rank.WEIGHTS)]} best candidates" in PAGE
    assert f"more than {NUMBERS[holders.WORDS_MAX]} content words" in PAGE
