"""docs/languages.md: its tables are the package's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from recall_integrations.embeddings import base
from recall_integrations.embeddings.static import bundled
from recall_integrations.languages import READ, SECTIONS, name_of, unread
from recall_integrations.store.asking import bundled_worth
from recall_integrations.text.by_language import LANGUAGES, SNOWBALL
from recall_integrations.text.detection import NAMES

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "languages.md").read_text(encoding="utf-8")
PAIRS = frozenset("zh ja ko th lo km my".split())  # written without spaces, or cut as if they were
ROWS = {
    code: cells
    for cells in (line.strip("|").split("|") for line in PAGE.splitlines() if line.count("|") == 10)
    for code in re.findall(r"`(\w+)`", cells[0])
}


def test_every_language_has_a_row() -> None:
    assert sorted(ROWS) == sorted(LANGUAGES)
    assert f"{len(SNOWBALL)} languages that PyStemmer has" in PAGE
    assert f"{len(NAMES)} languages" in PAGE


@pytest.mark.parametrize("code", LANGUAGES)
def test_a_row_says_what_is_read(code: str) -> None:
    words, stops, dates, negation, asks, types, sessions, worth = map(str.strip, ROWS[code][1:])
    assert words == ("pairs" if code in PAIRS else "stems" if code in SNOWBALL else "as written")
    assert stops == ("list" if code in NAMES else "–")
    missing = set(unread(code))
    said = {"dates": dates, "negation": negation, "person": asks, "types": types, "sessions": sessions}
    assert {name for name, cell in said.items() if cell == "yes"} == set(SECTIONS) - missing - {"questions"}
    assert set(said.values()) <= {"yes", "digits", "–", "question words"}
    assert dates in ("yes", "digits")
    assert (types == "question words") == ("types" in missing and "questions" not in missing)
    assert (missing != set(SECTIONS)) == (code in READ)
    assert code not in READ or name_of(code) in ROWS[code][0]
    sample = base.pairs(code)[0][0] if code in base.LANGUAGES else ""
    assert float(worth) == bundled_worth(code, sample)


def test_what_the_bundled_vectors_are_worth() -> None:
    names = {"English": "en", **{name_of(code): code for code in READ}}
    table = PAGE.split("| mean reciprocal rank")[1].split("\n\n")[0]
    rows = re.findall(r"^\| (\w+) \| (\.\d+) → (\d)", table, re.MULTILINE)
    assert len(rows) == 4
    for name, reached, worth in rows:
        assert f"{base.mean_reciprocal_rank(bundled(), names[name]):.3f}".lstrip("0") == reached
        assert base.bundled_worth(names[name]) == float(worth)
