from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from benchmarks.commands.speed import latency
from benchmarks.speed import real_sets
from recall_integrations.errors import InvalidArgument


def data(folder: Path, questions: int) -> Path:
    """A set `phone` with a scope of five memories and one of two, whose questions come second."""
    place = folder / "phone"
    place.mkdir()
    memories = [("big", i) for i in range(5)] + [("few", i) for i in range(2)]
    asked = [("few", 0), *(("big", i) for i in range(questions - 1))]
    (place / "memories.jsonl").write_text(
        "".join(
            json.dumps({"id": f"{u}{i}", "text": f"Call {i} with {u} about rent", "user_id": u}) + "\n"
            for u, i in memories
        )
    )
    (place / "questions.jsonl").write_text(
        "".join(
            json.dumps(
                {
                    "id": f"q{u}{i}",
                    "query": f"what was call {i} of {u}?",
                    "relevant": [f"{u}0"],
                    "scope": {"user_id": u},
                }
            )
            + "\n"
            for u, i in asked
        )
    )
    return folder


@pytest.mark.slow
def test_the_largest_scope_is_asked_by_all_systems(tmp_path: Path) -> None:
    console = Console(file=io.StringIO(), width=200)
    (report,) = real_sets.run(
        console, data(tmp_path, 23), datasets=["phone"], questions=50, json_path=tmp_path / "times.json"
    )
    assert (report.dataset, report.memories, report.questions) == ("phone", 5, 23 - real_sets.WARM_UP)
    assert list(report.times) == ["recall", "LangChain ensemble", "LlamaIndex fusion"]
    assert all(0 < t.processor_p50 <= t.processor_p95 and 0 < t.wall_p50 <= t.wall_p95 for t in report.times.values())
    fastest = min(t.processor_p50 for name, t in report.times.items() if name != "recall")
    assert report.ratio == pytest.approx(report.times["recall"].processor_p50 / fastest)
    assert json.loads((tmp_path / "times.json").read_text())["sets"][0]["dataset"] == "phone"
    assert "phone" in console.file.getvalue()  # type: ignore[attr-defined]


def test_too_few_questions_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match=r"phone: 20 questions; more than 20 are needed"):
        real_sets.run(Console(file=io.StringIO()), data(tmp_path, 20), datasets=["phone"])


@pytest.mark.parametrize("given", [["--dataset", "phone"], ["{data}", "--size", "5"], ["{data}", "--no-peers"]])
def test_options_without_a_meaning_are_refused(tmp_path: Path, given: list[str]) -> None:
    found = CliRunner().invoke(latency, [one.format(data=tmp_path) for one in given])
    assert found.exit_code == 2 and "DATA" in found.output
