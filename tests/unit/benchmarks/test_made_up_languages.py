"""The made-up notes and questions in Korean, Japanese and Hindi: what the docs say is in them, and whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from recall_integrations.text.detection import detect_language
from tests.rows import each_row

FOLDER = Path(__file__).parents[3] / "benchmarks" / "made_up" / "languages"


def rows(code: str, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / code / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


@each_row("code", ["ko", "ja", "hi"])
def test_every_question_names_a_note_that_is_there(code: str) -> None:
    notes, questions = rows(code, "memories"), rows(code, "questions")
    assert (len(notes), len(questions)) == (60, 40)
    ids = {note["id"] for note in notes}
    assert len(ids) == len({note["text"] for note in notes}) == 60
    assert len({q["id"] for q in questions}) == len({q["query"] for q in questions}) == 40
    assert all(q["relevant"] and set(q["relevant"]) <= ids for q in questions)
    assert max(note["event_at"] for note in notes) < min(q["asked_at"] for q in questions)


@each_row("code", ["ko", "ja", "hi"])
def test_they_are_told_to_be_in_their_language(code: str) -> None:
    texts = [row["text"] for row in rows(code, "memories")] + [row["query"] for row in rows(code, "questions")]
    told = [detect_language(text).code == code for text in texts]
    assert sum(told) >= 0.95 * len(told)
