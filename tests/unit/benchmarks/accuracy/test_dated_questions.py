"""The dated questions in ten languages: what is committed is what the script makes, and is read as the docs say."""

from __future__ import annotations

import importlib.util
import json
from datetime import date
from pathlib import Path
from types import ModuleType

import pytest

from benchmarks.accuracy.dates import evaluate_temporal, load_rows
from recall_integrations.errors import InvalidArgument
from recall_integrations.languages import READ, tables
from tests.rows import each_row

ROOT = Path(__file__).parents[4]
DATES = ROOT / "benchmarks" / "made_up" / "dates"
LARGE = {"de": 200, "es": 200, "fr": 200, "zh": 200}
DATED = [code for code in READ if tables(code).sections["dates"]]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_dated_questions", ROOT / "scripts" / "make_dated_questions.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@each_row("code", DATED)
def test_the_files_are_what_the_script_makes(code: str, script: ModuleType) -> None:
    rows = [json.loads(line) for line in (DATES / f"{code}.jsonl").read_text(encoding="utf-8").splitlines()]
    table = script.yaml.safe_load((DATES / "templates" / f"{code}.yaml").read_text(encoding="utf-8"))
    assert rows == script.questions(code, table, LARGE.get(code, 64)) + script.talk(code, table)
    assert sum(row["kind"] == "none" for row in rows) >= (100 if code in LARGE else 20)
    assert {row["language"] for row in rows} == {code}


@each_row("code", DATED)
@each_row("half", ["even", "odd"])
def test_dates_are_found_and_nothing_else(code: str, half: str) -> None:
    score = evaluate_temporal(DATES / f"{code}.jsonl", peer=False, half=half).scores[0]
    assert score.exact is not None and score.exact >= 0.95
    assert score.false_positives is not None and score.false_positives <= 0.05


def test_meanings_can_be_checked_by_hand(script: ModuleType) -> None:
    today = date(2026, 6, 17)

    def span(formula: str) -> tuple[str, str]:
        found = script.meaning(formula, today, {"m": "3"})
        return tuple("" if edge is None else edge.isoformat() for edge in found)

    assert span("(week -1)") == ("2026-06-08", "2026-06-15")
    assert span("(in_month m)") == ("2026-03-01", "2026-04-01")
    assert span("(since (in_month m 2025))") == ("2025-03-01", "")
    assert span("(after (date 8 5 2025))") == ("2025-05-08", "")
    assert span("(range (in_month 11) (in_month 2))") == ("2025-11-01", "2026-03-01")  # with all of February
    assert span("(last_season summer)") == ("2025-06-01", "2025-09-01")
    assert span("(ago 1 month)") == ("2026-05-17", "2026-05-18")
    with pytest.raises(script.Skip):
        span("(last_weekday 1)")  # yesterday
    with pytest.raises(script.Skip):
        span("(date 30 2 2025)")


def test_half_and_language_choose_rows_and_tables(tmp_path: Path) -> None:
    rows = [
        {
            "input": text,
            "reference": "2026-06-17",
            "kind": "date",
            "span": None,
            "ranges": [["2026-06-16", "2026-06-17"]],
        }
        for text in ("gestern", "yesterday", "gestern")
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert {row.language for row in load_rows(path)} == {"en"}
    assert evaluate_temporal(path, peer=False, half="odd").scores[0].exact == 1.0
    assert evaluate_temporal(path, peer=False, half="even").scores[0].exact == 0.0
    assert evaluate_temporal(path, peer=False, half="even", language="de").scores[0].exact == 1.0
    with pytest.raises(InvalidArgument, match="even or odd"):
        evaluate_temporal(path, peer=False, half="third")
