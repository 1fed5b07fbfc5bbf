"""Labelled questions as JSON Lines."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path

import pytest

from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation.questions import jsonl_questions
from recall_integrations.types import Scope


def written(tmp_path: Path, content: str) -> Path:
    file = tmp_path / "q.jsonl"
    file.write_text(content, encoding="utf-8")
    return file


def test_all_keys_and_the_defaults(tmp_path: Path) -> None:
    full = {
        "id": "x",
        "query": "Where?",
        "relevant": ["a", "a", "b"],
        "category": "place",
        "asked_at": "2026-03-01T12:00:00Z",
        "scope": {"user_id": "u"},
    }
    text = json.dumps(full) + "\n\n" + json.dumps({"question": "Who?", "relevant": ["c"]})
    first, second = (question for _, question in jsonl_questions(written(tmp_path, text)))
    assert (first.id, first.relevant, first.category, first.scope) == ("x", ("a", "b"), "place", Scope(user_id="u"))
    assert first.asked_at == datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
    assert (second.id, second.text, second.asked_at, second.scope) == ("3", "Who?", None, Scope())


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2 is not JSON"),
        ("[]", "line 2 must be a JSON object"),
        ('{"relevant": ["a"]}', "line 2 has no 'query'"),
        ('{"query": "Q", "relevant": "a"}', "line 2: 'relevant'"),
        ('{"query": "Q", "relevant": ["a"], "asked_at": "2026-03-01T12:00:00"}', "no offset"),
        ('{"query": "Q", "relevant": ["a"], "asked_at": "soon"}', "line 2"),
        ('{"query": "Q", "relevant": ["a"], "asked_at": 3}', "line 2"),
        ('{"query": "Q", "relevant": ["a"], "scope": {"tenant": "x"}}', "tenant"),
        ('{"query": "Q", "relevant": ["a"], "scope": "a/b/c/d"}', "line 2"),
        ('{"query": "Q", "relevant": ["a"], "scope": null}', "line 2"),
        ('{"id": "1", "query": "Q", "relevant": ["a"]}', "line 2: the question id '1' comes twice"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, message: str) -> None:
    file = written(tmp_path, '{"query": "Q", "relevant": ["a"]}\n' + line)
    with pytest.raises(InvalidArgument) as caught:
        list(jsonl_questions(file))
    assert message in str(caught.value)
    assert "q.jsonl" in str(caught.value)
