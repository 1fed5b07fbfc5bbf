"""`recall eval --against` and `--judge`: two evaluations of the same questions, and questions without labels."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from recall_integrations import Memory, MemoryStore, QueryOptimizer, RecallConfig
from recall_integrations.cli import main
from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation import Comparison, Evaluation, compare, evaluate
from recall_integrations.evaluation.evaluation import Judge

NOW = datetime(2026, 3, 1, tzinfo=timezone.utc)
THINGS = "lantern kettle ladder anchor basket candle hammer mirror pillow ribbon saddle ticket".split()


def shared_words(query: str, texts: list[str]) -> list[float]:
    """What shares a word of five letters or more with the query."""
    wanted = {word.strip("?") for word in query.split() if len(word) > 4}
    return [float(bool(wanted & set(text.split()))) for text in texts]


def with_arms(store: MemoryStore, *arms: str) -> Evaluation:
    config = RecallConfig()
    optimizer = QueryOptimizer(store, config=replace(config, planner=replace(config.planner, arms=arms)))
    rows = [
        {"query": f"where is the {t}?", "relevant": [f"{u}-{t}"], "scope": u} for t in THINGS for u in ("ann", "bob")
    ]
    return evaluate(optimizer, rows, now=NOW, k=3)


@pytest.fixture(scope="module")
def found(shelves: MemoryStore) -> Comparison:
    return compare(with_arms(shelves, "graph"), with_arms(shelves, *RecallConfig().planner.arms))


def test_a_real_difference_is_seen(found: Comparison) -> None:
    assert found.changes["recall@1"].mean > 0.5
    assert found.verdict("recall@1") == "better"
    assert found.moved == found.questions == 24
    assert found.chances["recall@1"] < 0.01
    assert "better" in found.table()
    assert found.as_dict()["verdicts"]["recall@1"] == "better"


def test_evaluations_that_are_the_same_are_not_told_apart(shelves: MemoryStore, asked: list[dict[str, object]]) -> None:
    one, other = (evaluate(shelves, asked, now=NOW) for _ in range(2))
    same = compare(one.as_dict(), other)
    assert same.moved == 0
    assert {same.verdict(name) for name in same.changes} == {"not told apart"}
    assert not same.labels_needed


def test_other_questions_cannot_be_compared(shelves: MemoryStore, asked: list[dict[str, object]]) -> None:
    with pytest.raises(InvalidArgument, match="the same k"):
        compare(evaluate(shelves, asked, now=NOW), evaluate(shelves, asked, now=NOW, k=3))
    renamed = [{**row, "id": f"other-{i}"} for i, row in enumerate(asked)]
    with pytest.raises(InvalidArgument, match="share no question"):
        compare(evaluate(shelves, asked, now=NOW), evaluate(shelves, renamed, now=NOW))


# -- a judge -----------------------------------------------------------------------------------------------------------


def test_a_judge_needs_no_labels_and_knows_only_what_came(shelves: MemoryStore) -> None:
    rows = [{"query": "where is the lantern?", "scope": "ann"}, {"query": "where is the unicorn?", "scope": "ann"}]
    found = evaluate(shelves, rows, judge=shared_words, threshold=0.5, now=NOW, k=3)
    averages = found.averages["overall"]
    assert tuple(averages) == ("hit@1", "hit@3", "precision@3", "mrr@3")
    assert averages["hit@1"].mean == 0.5
    assert averages["precision@3"].mean == pytest.approx(1 / 6)
    assert "Relevant is what shared_words says" in found.table()


def test_a_judge_of_another_scale_needs_a_threshold() -> None:
    with pytest.raises(InvalidArgument, match="another scale"):
        Judge(shared_words)


class MiniLM:
    """Scores as the model gives them whose bands are known."""

    name = "cross-encoder/ms-marco-MiniLM-L-6-v2"

    def __init__(self, scale: str = "logit") -> None:
        self.scale = scale

    def scores(self, _query: str, texts: list[str]) -> list[float | None]:
        logits = [-3.0, -9.0, -10.0, -11.0, -13.0]
        found = logits if self.scale == "logit" else [1 / (1 + 2.718281828459045**-x) for x in logits]
        return [*found, None][: len(texts)]


@pytest.mark.parametrize("scale", ["logit", "probability"])
def test_bands_of_the_known_model(scale: str) -> None:
    said = Judge(MiniLM(scale)).relevant("q", [Memory(str(i)) for i in range(6)])
    assert said[:2] == [True, True]
    assert said[3:] == [False, False, False]
    assert said[2] or scale == "probability"  # exactly on the threshold
    assert Judge(MiniLM(), -4).relevant("q", [Memory("x"), Memory("y")]) == [True, False]


# -- the command -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("against")
    with MemoryStore.open(path / "store") as store:
        store.remember(Memory("The lantern lies on the upper shelf", id="m1"))
        store.remember(Memory("Priya prefers the green kettle for tea", id="m2"))
    (path / "q.jsonl").write_text('{"query": "where is the lantern", "relevant": ["m1"]}\n', encoding="utf-8")
    return path


def run(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["eval", str(folder / "store"), str(folder / "q.jsonl"), *arguments])


def test_the_command(directory: Path, tmp_path: Path) -> None:
    before = tmp_path / "before.json"
    assert run(directory, "--json", str(before)).exit_code == 0
    done = run(directory, "--against", str(before))
    assert done.exit_code == 0, done.output
    assert "Minus the report before, on 1 question (" in done.output
    assert json.loads(run(directory, "--against", str(before), "--json", "-").stdout)["against"]["moved"] == 0


@pytest.mark.parametrize(("text", "said"), [("{", "is not JSON"), ("[]", "is no report"), ("{}", "is no report")])
def test_what_is_no_report_is_refused(directory: Path, tmp_path: Path, text: str, said: str) -> None:
    other = tmp_path / "other.json"
    other.write_text(text, encoding="utf-8")
    assert said in run(directory, "--against", str(other)).stderr
