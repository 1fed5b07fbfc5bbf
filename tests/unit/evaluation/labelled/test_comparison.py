"""`recall ab`: configurations on the same questions."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from recall_integrations import Memory, MemoryStore, RecallConfig, RerankConfig, RewritingConfig
from recall_integrations.cli import main
from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation import Comparison, compare
from recall_integrations.evaluation.questions import placed, read_labels
from recall_integrations.evaluation.ways import Cosines, Judge, a_to_d, expanding, plain

NOW = datetime(2026, 3, 1, tzinfo=timezone.utc)
HOSTILE = "<script>alert(1)</script>\"'>"


def shared_words(query: str, texts: list[str]) -> list[float]:
    """What shares a word of five letters or more with the query."""
    wanted = {word.strip("?") for word in query.split() if len(word) > 4}
    return [float(bool(wanted & set(text.split()))) for text in texts]


def nothing_good(_query: str, texts: list[str]) -> list[float]:
    return [0.0 for _ in texts]


@pytest.fixture(scope="module")
def bad_and_good(shelves: MemoryStore) -> dict[str, RecallConfig]:
    good = RecallConfig()
    return {"graph": replace(good, planner=replace(good.planner, arms=("graph",))), HOSTILE: good}


@pytest.fixture(scope="module")
def found(shelves: MemoryStore, bad_and_good: dict[str, RecallConfig]) -> Comparison:
    things = "lantern kettle ladder anchor basket candle hammer mirror pillow ribbon saddle ticket".split()
    rows = [
        {"query": f"where is the {t}?", "relevant": [f"{u}-{t}"], "scope": u} for t in things for u in ("ann", "bob")
    ]
    return compare(shelves, rows, configurations=bad_and_good, now=NOW, k=3)


def test_a_real_difference_is_seen(found: Comparison) -> None:
    (one,) = found.differences
    assert one.changes["recall@1"].mean > 0.5
    assert one.verdict("recall@1") == "better"
    assert one.moved == 24
    assert one.chances["recall@1"] < 0.01
    assert found.judge == "labels"


def test_configurations_that_are_the_same_are_not_told_apart(
    shelves: MemoryStore, asked: list[dict[str, object]]
) -> None:
    same = compare(shelves, asked, configurations={"x": RecallConfig(), "y": RecallConfig()}, now=NOW)
    (one,) = same.differences
    assert one.moved == 0
    assert {one.verdict(name) for name in same.figures} == {"not told apart"}
    assert not one.labels_needed


def test_the_report_is_said_in_two_ways(found: Comparison) -> None:
    assert "better" in found.table()
    read = json.loads(found.to_json())
    assert read["differences"][HOSTILE]["verdicts"]["recall@1"] == "better"
    assert len(read["answers"]["graph"]) == 24


def test_what_there_is_nothing_for_is_said_to_be_left_out(shelves: MemoryStore, asked: list[dict[str, object]]) -> None:
    found = compare(shelves, asked, now=NOW)
    assert [one.name for one in found.compared] == ["A", "C"]
    assert list(found.skipped) == ["B (reranker)", "D (both)"]
    said = found.table()
    assert "B (reranker): not asked. There is no reranker." in said
    assert "There is no LLM" in said


def test_a_to_d_differ_in_what_they_are_named_for(shelves: MemoryStore) -> None:
    ways = a_to_d(shelves, RecallConfig(mode="cached"), reranker=shared_words, llm=lambda _prompt: "other words")
    of = {way.name: way.optimizer for way in ways.asked}
    assert list(of) == ["A", "B", "C", "D"]
    assert {name: o.config.query.spelling for name, o in of.items()} == {"A": False, "B": False, "C": True, "D": True}
    assert {name: o.rewrite_prompt is not None for name, o in of.items()} == {
        "A": False,
        "B": False,
        "C": True,
        "D": True,
    }
    assert {name: "rerank" in [s.name for s in o.stages] for name, o in of.items()} == {
        "A": False, "B": True, "C": False, "D": True,
    }  # fmt: skip
    assert not any(o.config.caches for o in of.values())  # what is measured is computed
    assert not ways.skipped
    ways.close()


def test_expansion_is_there_though_the_base_has_none() -> None:
    base = replace(RecallConfig(), rewriting=RewritingConfig(ask="never"))
    assert expanding(base).rewriting.ask == "unsure"
    assert plain(replace(base, rewriting=RewritingConfig(unsure_below=0.9))).rewriting.ask == "never"


def test_a_reranker_is_asked_for_b_and_d(shelves: MemoryStore, asked: list[dict[str, object]]) -> None:
    config = replace(RecallConfig(), rerank=RerankConfig(regret_max=0))
    found = compare(shelves, asked, reranker=shared_words, config=config, now=NOW)
    assert [one.name for one in found.compared] == ["A", "B", "C", "D"]
    assert not found.skipped
    assert found.compared[0].reranked == 0


def test_a_judge_needs_no_labels_and_knows_only_what_came(shelves: MemoryStore) -> None:
    rows = [{"query": "where is the lantern?", "scope": "ann"}, {"query": "where is the unicorn?", "scope": "ann"}]
    found = compare(shelves, rows, judge=shared_words, threshold=0.5, now=NOW, k=3)
    assert found.figures == ("hit@1", "hit@3", "precision@3", "mrr@3")
    assert found.compared[0].averages["hit@1"].mean == 0.5
    assert found.compared[0].averages["precision@3"].mean == pytest.approx(1 / 6)
    assert "among what any configuration found" in found.table()


def test_a_judge_that_is_the_reranker_is_named(shelves: MemoryStore) -> None:
    rows = [{"query": "where is the lantern?", "scope": "ann"}]
    found = compare(shelves, rows, judge=shared_words, reranker=shared_words, threshold=0.5, now=NOW)
    assert "marks its own work" in found.table()


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
    said = Judge(MiniLM(scale)).verdicts("q", [Memory(str(i)) for i in range(6)])
    assert [str(v.band) for v in said[:2]] == ["highly relevant", "relevant"]
    assert [v.relevant for v in said[3:]] == [False, False, False]
    assert said[1].relevant
    assert said[2].relevant or scale == "probability"  # exactly on the threshold
    assert [v.relevant for v in Judge(MiniLM(), -4).verdicts("q", [Memory("x"), Memory("y")])] == [True, False]


def test_bands_are_counted(shelves: MemoryStore) -> None:
    found = compare(shelves, [{"query": "where is the lantern?", "scope": "ann"}], judge=MiniLM(), now=NOW, k=5)
    assert found.compared[0].bands["highly relevant"] == 1
    assert json.loads(found.to_json())["configurations"]["A"]["bands"]["highly relevant"] == 1


# -- what a cosine threshold hides -------------------------------------------------------------------------------------


def test_a_threshold_on_the_cosine_flatters_and_is_said_to(
    shelves: MemoryStore, asked: list[dict[str, object]]
) -> None:
    found = compare(shelves, asked, judge=nothing_good, threshold=0.5, now=NOW)
    assert found.compared[0].averages["hit@5"].mean == 0
    flattery = {one.figure: one for one in found.flattery if one.name == "A"}
    assert flattery["hit@5"].cosine > 0.5
    assert flattery["hit@5"].flattered
    assert "A cosine threshold of 0.45 would have said of A: hit@1" in found.table().replace("\n", " ")


def test_a_threshold_that_nothing_reaches_flatters_nobody(shelves: MemoryStore, asked: list[dict[str, object]]) -> None:
    found = compare(shelves, asked, cosine=1.0, now=NOW)
    assert not found.warnings


def test_cosines_are_those_of_the_vectors(shelves: MemoryStore) -> None:
    (question,) = placed(
        shelves, read_labels([{"query": "lantern", "relevant": ["ann-lantern"], "scope": "ann"}]).questions
    ).questions
    near = Cosines(shelves).of(question, ["ann-lantern", "gone", "ann-mirror"])
    assert set(near) == {"ann-lantern", "ann-mirror"}
    assert near["ann-lantern"] > near["ann-mirror"]
    vectors = shelves.embedding.embed_documents(["The lantern of ann lies on the upper shelf"])
    assert near["ann-lantern"] == pytest.approx(float(vectors[0] @ shelves.embedding.embed_query("lantern")), abs=0.01)


# -- bad input and the command -----------------------------------------------------------------------------------------


def test_one_configuration_is_refused(shelves: MemoryStore, asked: list[dict[str, object]]) -> None:
    with pytest.raises(InvalidArgument, match="two configurations at least"):
        compare(shelves, asked, configurations={"x": RecallConfig()}, now=NOW)


def test_what_is_no_configuration_is_named(shelves: MemoryStore, asked: list[dict[str, object]]) -> None:
    mixed: dict[str, Any] = {"x": RecallConfig(), "y": {"k": 3}}
    with pytest.raises(InvalidArgument, match="'y' must be a RecallConfig, not dict"):
        compare(shelves, asked, configurations=mixed, now=NOW)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ab")
    with MemoryStore.open(path / "store") as store:
        store.remember(Memory("The lantern lies on the upper shelf", id="m1"))
        store.remember(Memory("Priya prefers the green kettle for tea", id="m2"))
    (path / "q.jsonl").write_text('{"query": "where is the lantern", "relevant": ["m1"]}\n', encoding="utf-8")
    (path / "one.yaml").write_text("recall: {ranking: {diversity_lambda: 0.5}}\n", encoding="utf-8")
    return path


def run(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["ab", str(folder / "store"), str(folder / "q.jsonl"), *arguments])


def test_the_command(directory: Path, tmp_path: Path) -> None:
    done = run(directory, "--json", str(tmp_path / "ab.json"))
    assert done.exit_code == 0, done.output
    assert "A plain" in done.output
    assert (tmp_path / "ab.json").is_file()
    one = f"one={directory / 'one.yaml'}"
    own = run(directory, "--config", one, "--config", f"two={directory / 'one.yaml'}", "--json", "-")
    assert list(json.loads(own.stdout)["configurations"]) == ["one", "two"]
    assert run(directory, "--config", str(directory / "one.yaml")).exit_code == 0


def test_configurations_that_are_not_told_apart_by_name_are_refused(directory: Path) -> None:
    file = str(directory / "one.yaml")
    assert "a name of its own" in run(directory, "--config", f"a={file}", "--config", f"a={file}").stderr
    assert "a name of its own" in run(directory, "--config", file, "--config", file).stderr
    assert "the base of A to D" in run(directory, "--config", file, "--config", f"a={file}").stderr


def test_a_reranker_that_the_plan_does_without_is_named(
    shelves: MemoryStore, asked: list[dict[str, object]], found: Comparison
) -> None:
    base = RecallConfig()
    config = replace(base, rerank=replace(base.rerank, plans=()))
    both = compare(shelves, asked, config=config, reranker=shared_words, now=NOW, k=3)
    (note,) = [note for note in both.notes if note.startswith("B: ")]
    assert "the reranker had no say in" in note and "skip.plan" in note
    assert not any("the reranker had no say" in note for note in found.notes)
