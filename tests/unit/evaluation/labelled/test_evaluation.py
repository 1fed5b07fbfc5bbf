"""`recall eval`: figures of a store whose answers are known."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from recall_integrations import Memory, MemoryStore, QueryOptimizer
from recall_integrations.cli import main
from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation import Evaluation, evaluate
from recall_integrations.evaluation.metrics import bins_of, error_of
from recall_integrations.evaluation.questions import read_labels

NOW = datetime(2026, 3, 1, tzinfo=timezone.utc)
HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>\x1b[31m\u202e"


@pytest.fixture(scope="module")
def found(shelves: MemoryStore, tmp_path_factory: pytest.TempPathFactory) -> Evaluation:
    rows = [
        {"query": "where is the lantern?", "relevant": ["ann-lantern"], "scope": "ann", "group": "one", "id": "right"},
        {"query": "where is the kettle?", "relevant": {"bob-mirror": 2, "gone": 1}, "scope": "bob", "id": "wrong"},
        {"query": "where is the ladder?", "relevant": ["nowhere"], "scope": "ann", "id": "unanswerable"},
        {"query": "", "relevant": ["ann-lantern"]},
        {"query": "where is the anchor?", "relevant": []},
    ]
    file = tmp_path_factory.mktemp("labels") / "queries.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return evaluate(shelves, file, k=3, now=NOW)


def test_figures_are_averaged_over_all_and_by_group(found: Evaluation) -> None:
    assert found.questions == 2
    assert list(found.averages) == ["overall", "all", "one"]
    assert found.averages["one"]["recall@1"].mean == 1
    assert found.averages["all"]["recall@1"].mean == 0
    assert found.averages["overall"]["recall@1"].mean == 0.5
    assert found.sizes == {"overall": 2, "all": 1, "one": 1}


def test_what_is_not_in_the_store_is_named_and_not_counted_as_wrong(found: Evaluation) -> None:
    assert found.missing == {"wrong": ("gone",), "unanswerable": ("nowhere",)}
    assert found.unanswerable == ("unanswerable",)
    assert (found.unwritten, found.unlabelled) == (1, 1)
    assert "name no memory of their scope, left out: 2" in found.table()
    assert "Lines without a query: 1" in found.table()


def test_what_went_wrong_says_what_came_why_and_where_the_expected_one_was(found: Evaluation) -> None:
    (worst,) = found.worst
    assert worst.id == "wrong"
    assert worst.came[0].id == "bob-kettle"
    assert worst.came[0].reason
    assert not worst.came[0].relevant
    (expected,) = worst.expected
    assert expected.id == "bob-mirror"
    assert expected.place is not None
    assert expected.place > 1
    assert f"at {expected.place}: bob-mirror" in found.table()


def test_json_holds_every_answer(found: Evaluation) -> None:
    read = json.loads(found.to_json())
    assert read["answers"]["right"]["ids"][0] == "ann-lantern"
    assert read["averages"]["overall"]["recall@1"]["mean"] == 0.5
    assert read["latency_ms"]["recalls"] == 2


def test_figures_are_those_of_what_recall_gives(shelves: MemoryStore, asked: list[dict[str, object]]) -> None:
    seen: list[tuple[str, int, int]] = []
    with_one = evaluate(shelves, asked, k=1, now=NOW, progress=lambda *step: seen.append(step))
    assert with_one.averages["overall"]["recall@1"].mean == 1
    assert with_one.worst == ()
    assert seen[-1] == ("Asking", 12, 12)


def test_an_optimizer_is_measured_with_what_it_was_given(shelves: MemoryStore, asked: list[dict[str, object]]) -> None:
    stages: list[str] = []
    optimizer = QueryOptimizer(shelves, observers=[lambda event: stages.append(event.stage)])
    evaluate(optimizer, asked, k=1, now=NOW)
    assert stages.count("deliver") >= len(asked)


def test_hostile_texts_are_only_texts(tmp_path: Path) -> None:
    with MemoryStore.open() as store:
        store.remember(Memory(f"{HOSTILE} of the lantern", id="a<b>"))
        store.remember(Memory("The lantern is green", id="b"))
        labels = [{"query": f"lantern {HOSTILE}", "relevant": ["b"], "group": HOSTILE, "id": HOSTILE},
                  {"query": f"{HOSTILE}", "relevant": ["b"], "group": "x"}]  # fmt: skip
        found = evaluate(store, labels, now=NOW)
    assert "\x1b" not in found.table()
    assert "\u202e" not in found.table()


def test_a_report_without_texts_names_ids_only(shelves: MemoryStore) -> None:
    row = {"query": "where is the kettle?", "relevant": ["ann-mirror"], "scope": "ann", "id": "q"}
    found = evaluate(shelves, [row], now=NOW, texts=False)
    for said in (found.table(), found.to_json()):
        assert "kettle?" not in said
        assert "upper shelf" not in said
        assert "ann-mirror" in said


def test_nothing_that_can_be_asked_is_an_error(shelves: MemoryStore) -> None:
    with pytest.raises(InvalidArgument, match="No label names a memory"):
        evaluate(shelves, [{"query": "x", "relevant": ["gone"], "scope": "ann"}])
    with pytest.raises(InvalidArgument, match="no labelled questions: 0 have no query yet, 1 no relevant id"):
        evaluate(shelves, [{"query": "x", "relevant": [], "scope": "ann"}])
    with pytest.raises(InvalidArgument, match="Question 'q' cannot be asked"):
        evaluate(shelves, [{"id": "q", "query": "half a pair \ud83d", "relevant": ["ann-mirror"], "scope": "ann"}])


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "line 2 is not JSON"),
        ("[1]", "line 2 must be a JSON object"),
        ('{"relevant": ["a"]}', "line 2 has no 'query'"),
        ('{"query": "x", "relevant": {"a": -1}}', "line 2: the grade of 'a'"),
        ('{"query": "x", "relevant": {"a": true}}', "line 2: the grade of 'a'"),
        ('{"query": "x", "relevant": "a"}', "line 2: 'relevant' must be"),
        ('{"query": "x", "relevant": ["a"], "now": "2026-01-01"}', "line 2: 'now' has no offset"),
        ('{"query": "x", "relevant": ["a"], "scope": "a/b/c/d"}', "line 2: The scope"),
        ('{"query": "x", "relevant": ["a"], "filters": {"types": ["nonsense"]}}', "line 2: Unknown memory type"),
        ('{"query": "x", "relevant": ["a"], "id": "1"}', "line 2: the question id '1' comes twice"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, line: str, said: str) -> None:
    file = tmp_path / "queries.jsonl"
    file.write_text('{"query": "x", "relevant": ["a"]}\n' + line, encoding="utf-8")
    with pytest.raises(InvalidArgument, match=said):
        read_labels(file)


def test_a_line_may_say_everything(tmp_path: Path) -> None:
    row = {"query": "x", "relevant": {"a": 2, "b": 0, "c": 1}, "scope": "ann//ns", "now": "2026-01-01T00:00:00Z",
           "filters": {"types": ["fact"]}, "group": "g", "found": {"z": "a text"}}  # fmt: skip
    (question,) = read_labels([row]).questions
    assert question.graded == {"a": 2.0, "c": 1.0}
    assert question.scope.namespace == "ns"
    assert question.asked_at is not None
    assert question.filters is not None
    assert question.category == "g"


def test_filters_of_a_question_hold(shelves: MemoryStore) -> None:
    rows = [{"query": "lantern", "relevant": ["ann-lantern"], "scope": "ann", "filters": {"types": ["fact"]}}]
    assert evaluate(shelves, rows, now=NOW).answers[0].hits == ()


def test_calibration_by_hand() -> None:
    bins = bins_of([(0.95, True), (0.91, False), (1.0, True), (0.05, False)])
    assert [(b.low, b.hits, round(b.relevant, 3)) for b in bins] == [(0.0, 1, 0.0), (0.9, 3, 0.667)]
    assert error_of(bins) == pytest.approx((0.05 + 3 * abs(2.86 / 3 - 2 / 3)) / 4)
    assert error_of(()) == 0


# -- the command -------------------------------------------------------------------------------------------------------


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(one) for one in arguments])


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("eval") / "store"
    with MemoryStore.open(path) as store:
        store.remember(Memory("The lantern lies on the upper shelf", id="m1", type="fact"))
        store.remember(Memory("Priya prefers the green kettle for tea", id="m2", type="preference"))
        store.remember(Memory("ok", id="m3"))
    return path


def test_the_command_shows_and_writes(directory: Path, tmp_path: Path) -> None:
    labels = tmp_path / "queries.jsonl"
    labels.write_text('{"query": "where is the lantern", "relevant": ["m1"]}\n', encoding="utf-8")
    done = run("eval", directory, labels, "--json", tmp_path / "r.json")
    assert done.exit_code == 0, done.output
    assert "R@1" in done.output
    assert json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))["questions"] == 1
    piped = run("eval", directory, labels, "--json", "-")
    assert json.loads(piped.stdout)["k"] == 5


def test_a_reranker_of_ones_own_is_given_by_name(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine_to_rerank.py").write_text("def score(q, texts):\n    return [1.0 for _ in texts]\n")
    (tmp_path / "q.jsonl").write_text('{"query": "lantern", "relevant": ["m1"]}\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert run("eval", directory, "q.jsonl", "--reranker", "mine_to_rerank:score").exit_code == 0
    wrong = run("eval", directory, "q.jsonl", "--reranker", "mine_to_rerank:nothing")
    assert wrong.exit_code == 1
    assert "cannot be imported" in wrong.stderr


def test_a_file_is_begun_from_memories(directory: Path, tmp_path: Path) -> None:
    file = tmp_path / "queries.jsonl"
    done = run("eval", directory, "--make", file)
    assert done.exit_code == 0, done.output
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert {row["relevant"][0] for row in rows} == {"m1", "m2"}  # nobody asks for "ok"
    assert all(row["query"] == "" for row in rows)
    assert rows[0]["memory"]["text"]
    assert "1 error" not in run("eval", directory, file).output
    assert run("eval", directory, "--make", file).exit_code == 1  # labels may be in it
    asked = [{**row, "query": row["memory"]["text"]} for row in rows]
    file.write_text("\n".join(map(json.dumps, asked)), encoding="utf-8")
    assert run("eval", directory, file).exit_code == 0


def test_a_command_that_says_nothing_or_both_is_refused(directory: Path, tmp_path: Path) -> None:
    file = tmp_path / "q.jsonl"
    file.write_text('{"query": "lantern", "relevant": ["m1"]}\n', encoding="utf-8")
    assert run("eval", directory).exit_code == 1
    assert run("eval", directory, file, "--make", tmp_path / "x").exit_code == 1
