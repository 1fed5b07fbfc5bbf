"""How large each room of the package may be. A mechanism is worth its lines, or it goes (docs/contributing.md)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.rows import each_row

PACKAGE = Path(__file__).resolve().parents[2] / "recall_integrations"
MODULES = sorted(PACKAGE.rglob("*.py"))
TOP = "modules beside the rooms"
# Room → most lines, documentation included.
BUDGET = {
    "adapters": 3_070,
    "arms": 1_480,
    "config": 1_930,
    "console": 3_210,
    "conversations": 540,
    "counterfactual": 420,
    "database": 2_560,
    "delivery": 1_840,
    "embeddings": 660,
    "evaluation": 1_220,
    "facts": 2_610,
    "frameworks": 2_260,
    "indexes": 5_430,
    "judging": 440,
    "languages": 510,
    "learning": 1_260,
    "observability": 940,
    "ontop": 810,
    "planning": 400,
    "privacy": 2_330,
    "query": 8_900,
    "ranking": 4_480,
    "recall": 3_710,
    "reranking": 590,
    "resilience": 1_350,
    "rewriting": 570,
    "serving": 4_160,
    "store": 11_350,
    "text": 1_300,
    "types": 2_820,
    TOP: 2_570,
}
LINES = 75_613  # of all rooms together: less than their sum, so that not all grow at once
FILES = 288
WHAT_TO_DO = "Make the room smaller, or raise its budget here and say in the same commit why it may grow."


def room(path: Path) -> str:
    parts = path.relative_to(PACKAGE).parts
    return parts[0] if len(parts) > 1 else TOP


def too_many(what: str, there: int, most: int) -> str:
    """What to say where there is more than there may be; empty where all is well."""
    return f"{what}: {there:,} of {most:,}, {there - most:,} too many. {WHAT_TO_DO}" if there > most else ""


@pytest.fixture(scope="module")
def lines() -> Counter[str]:
    found: Counter[str] = Counter()
    for path in MODULES:
        found[room(path)] += len(path.read_text(encoding="utf-8").splitlines())
    return found


def test_every_room_has_a_budget(lines: Counter[str]) -> None:
    assert set(lines) == set(BUDGET), "a new room needs a budget, and one that went needs none"


@each_row("own", BUDGET)
def test_a_room_keeps_its_budget(own: str, lines: Counter[str]) -> None:
    said = too_many(f"lines of {own}", lines[own], BUDGET[own])
    assert not said, said


def test_the_package_keeps_its_budget(lines: Counter[str]) -> None:
    said = [too_many("lines of the package", lines.total(), LINES), too_many("files", len(MODULES), FILES)]
    assert not any(said), " ".join(said)


def test_the_message_says_by_how_much_and_what_to_do() -> None:
    assert too_many("lines of store", 1_200, 1_200) == ""
    assert too_many("lines of store", 1_250, 1_200) == f"lines of store: 1,250 of 1,200, 50 too many. {WHAT_TO_DO}"
