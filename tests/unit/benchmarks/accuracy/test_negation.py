"""Figures for negation come from labelled files, and wrong files say what is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks.accuracy.negation import evaluate_negation, language_of
from recall_integrations.cli import main
from recall_integrations.errors import InvalidArgument
from tests.rows import each_row

MADE_UP = Path(__file__).parents[4] / "benchmarks" / "made_up" / "negation"


def _write(path: Path, *rows: dict[str, object]) -> Path:
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return path


def test_exact_and_false_alarms_are_counted_by_half(tmp_path: Path) -> None:
    path = _write(
        tmp_path / "de.jsonl",
        {"query": "Wer kam außer Anna?", "excluded": ["Anna"], "half": "a"},
        {"query": "Wer kam außer Anna?", "excluded": ["Berta"], "half": "b"},
        {"query": "Wer kam außer Anna?", "half": "b"},
        {"query": "Wer kam?", "half": "a"},
    )
    report = evaluate_negation(path)
    assert [(s.half, s.exact, s.false_alarms) for s in report.scores] == [("", 0.5, 0.5), ("a", 1, 0), ("b", 0, 1)]
    assert [row.excluded for row, _ in report.misses] == [("Berta",), ()]


@each_row("code", ["de", "es", "fr", "zh"])
def test_the_made_up_questions_are_read(code: str) -> None:
    for score in evaluate_negation(MADE_UP / f"{code}.jsonl").scores:
        assert score.exact is not None
        assert score.exact >= 0.9
        assert score.false_alarms is not None
        assert score.false_alarms <= 0.03


def test_the_language_is_that_of_the_name_or_the_folder(tmp_path: Path) -> None:
    assert language_of(Path("x/de.jsonl"), None) == "de"
    assert language_of(tmp_path / "zh" / "questions.jsonl", None) == "zh"
    assert language_of(Path("x.jsonl"), "fr") == "fr"
    with pytest.raises(InvalidArgument, match="--language"):
        language_of(tmp_path / "x.jsonl", None)
    with pytest.raises(InvalidArgument, match="tlh"):
        language_of(Path("x.jsonl"), "tlh")


@pytest.mark.parametrize("line", ["[]", "{", "{}", '{"query": 3}', '{"query": "x", "excluded": [1]}'])
def test_a_wrong_line_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "de.jsonl"
    path.write_text(line, encoding="utf-8")
    with pytest.raises(InvalidArgument, match="line 1"):
        evaluate_negation(path)


def test_the_command_prints_both_halves_and_misses(tmp_path: Path) -> None:
    path = _write(tmp_path / "de.jsonl", {"query": "Wer kam außer Anna?", "excluded": []})
    answer = CliRunner().invoke(main, ["bench", "negation", str(path), "--misses"])
    assert answer.exit_code == 0
    assert "wanted nothing; found Anna" in answer.output
