from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from rich.console import Console

from benchmarks.datasets.data import Collection, EvaluationData
from benchmarks.datasets.loading import load
from benchmarks.peers.systems import compared
from benchmarks.quality import comparison, means, pictures, stages, tables
from benchmarks.quality.report import Answer
from benchmarks.shared.reports import write_json
from recall_integrations.embeddings.base import Embedding
from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation.questions import Question
from recall_integrations.evaluation.reports import checked_output
from recall_integrations.types import Memory, Scope


@pytest.fixture(autouse=True)
def library() -> None:
    pytest.importorskip("ir_measures", reason="ir-measures (extra `bench`) is not installed")


def console() -> Console:
    return Console(file=io.StringIO(), width=160)


def collection(name: str, gold: list[tuple[str, ...]]) -> Collection:
    scope = Scope(namespace=name)
    questions = [
        Question(id=f"{name}/{i}", text=f"q{i}", relevant=ids, category="ab"[i % 2], scope=scope)
        for i, ids in enumerate(gold)
    ]
    memories = tuple(Memory(text=f"{name} {i}", id=f"m{i}") for i in range(5))
    return Collection(name=name, scope=scope, memories=memories, questions=tuple(questions))


DATA = EvaluationData(
    name="toy", collections=(collection("one", [("m0",), ("m1",), ()]), collection("two", [("m2", "m3")]))
)


class Fixed:
    """Answers every question with the same ids; notes what it was asked, and about which collection."""

    def __init__(self, name: str, ids: tuple[str, ...], plan: str = "", degraded: tuple[str, ...] = ()) -> None:
        self.name = name
        self.entered: list[str] = []
        self.asked: list[tuple[str, str]] = []
        self._answer = Answer(ids=ids, plan=plan, degraded=degraded, ms=2.0)

    def enter(self, collection: Collection) -> None:
        self.entered.append(collection.name)

    def answer(self, question: Question, k: int) -> Answer:
        self.asked.append((self.entered[-1], question.id))
        return self._answer


def test_every_system_gets_every_question_with_gold_in_its_collection() -> None:
    ours, peer = Fixed("recall", ("m0", "m1"), plan="balanced"), Fixed("peer", ("m2", "m3"))
    report = comparison.compare(DATA, [ours, peer], console())
    assert ours.asked == peer.asked == [("one", "one/0"), ("one", "one/1"), ("two", "two/0")]
    assert [q.id for q in report.questions] == ["one/0", "one/1", "two/0"]
    overall = report.averages["recall"]["overall"]
    assert overall.questions == 3
    assert overall.values["recall@1"] == pytest.approx(1 / 3)
    assert overall.values["recall@5"] == pytest.approx(2 / 3)
    assert report.averages["peer"]["a"].values["recall@1"] == pytest.approx(0.25)
    assert report.averages["peer"]["b"].values["recall@1"] == 0


def test_a_limit_spreads_over_the_data_and_skips_unused_collections() -> None:
    system = Fixed("recall", ())
    report = comparison.compare(DATA, [system], console(), limit=1)
    assert [q.id for q in report.questions] == ["one/0"]
    assert system.entered == ["one"]
    assert [q.id for q in comparison.compare(DATA, [system], console(), limit=2).questions] == ["one/0", "one/1"]
    assert len(comparison.compare(DATA, [system], console(), limit=99).questions) == 3
    with pytest.raises(InvalidArgument, match="limit must be at least 1"):
        comparison.compare(DATA, [system], console(), limit=0)
    with pytest.raises(InvalidArgument, match="k must be at least 1"):
        comparison.compare(DATA, [system], console(), k=0)


def test_data_without_gold_is_refused() -> None:
    empty = EvaluationData(name="toy", collections=(collection("one", [()]),))
    with pytest.raises(InvalidArgument, match="nothing to measure"):
        comparison.compare(empty, [Fixed("recall", ())], console())


def test_the_tables_show_systems_plans_degradations_and_differences() -> None:
    out = console()
    systems = [Fixed("recall", ("m0",), plan="precise", degraded=("semantic:timeout",)), Fixed("peer", ())]
    tables.show(comparison.compare(DATA, systems, out), out)
    text = out.file.getvalue()  # type: ignore[attr-defined]
    for part in ("recall", "peer", "overall (3)", "a (2)", "precise", "semantic:timeout 3", "3 of 3", "+0.333"):
        assert part in text


def test_the_report_holds_ranked_ids_and_no_texts(tmp_path: Path) -> None:
    systems = [Fixed("recall", ("m0",), plan="precise"), Fixed("peer", ("m4",))]
    report = comparison.compare(DATA, systems, console())
    write_json(tmp_path / "r.json", means.as_dict([report], [], {"python": "3"}))
    whole = json.loads((tmp_path / "r.json").read_text())
    loaded = whole["datasets"]["toy"]
    assert (whole["format"], whole["k"], whole["means"], whole["environment"]) == (2, 10, {}, {"python": "3"})
    assert {name: system["kind"] for name, system in loaded["systems"].items()} == {"recall": "ours", "peer": "peer"}
    assert (loaded["systems"]["recall"]["moved"], loaded["systems"]["peer"]["moved"]) == (0, 3)
    assert loaded["systems"]["recall"]["averages"]["overall"]["recall@1"] == pytest.approx(1 / 3)
    assert loaded["systems"]["peer"]["median_ms"] == 2.0
    assert loaded["plans"]["precise"]["questions"] == 3
    assert loaded["degraded"] == {"results": 0, "reasons": {}}
    ranking = whole["rankings"]["toy:two/0"]
    assert ranking["ids"] == {"recall": ["m0"], "peer": ["m4"]}
    assert (ranking["relevant"], ranking["plan"]) == (["m2", "m3"], "precise")
    assert '"q0"' not in (tmp_path / "r.json").read_text()
    assert loaded["differences"]["peer"]["recall@5"]["mean"] == pytest.approx(1 / 3)


def test_reports_are_json_with_a_line_per_entry(tmp_path: Path) -> None:
    payload = {"a": {"x": [1, 2], "é": {"y": "z"}}, "b": [{"c": 1}, {"d": None}], "e": 1.5, "f": {}, "g": []}
    write_json(tmp_path / "r.json", payload)
    text = (tmp_path / "r.json").read_text(encoding="utf-8")
    assert json.loads(text) == payload
    assert len(text.splitlines()) == 13
    with pytest.raises(InvalidArgument, match="Cannot write"):
        write_json(tmp_path, payload)


def test_a_report_that_could_not_be_written_is_refused_at_the_start(tmp_path: Path) -> None:
    assert checked_output(None) is None
    with pytest.raises(InvalidArgument, match="is a folder"):
        checked_output(tmp_path)
    with pytest.raises(InvalidArgument, match="does not exist"):
        checked_output(tmp_path / "no" / "r.json")


def test_an_unknown_data_set_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match=r"Unknown data set 'squad'.*locomo"):
        load(tmp_path, "squad")


def test_a_whole_run_on_a_tiny_file(tmp_path: Path) -> None:
    texts = ("I adopted a puppy called Biscuit.", "The concert was loud.", "My sister lives in Oslo.")
    turns = [{"speaker": "Ann", "dia_id": f"D1:{i}", "text": text} for i, text in enumerate(texts, start=1)]
    talk = {
        "sample_id": "conv-1",
        "conversation": {"session_1": turns, "session_1_date_time": "1:00 pm on 3 March, 2024"},
        "qa": [
            {"question": "What is the puppy of Ann called?", "evidence": ["D1:1"], "category": 4},
            {"question": "Who lives in Oslo?", "evidence": ["D1:3"], "category": 4},
        ],
    }
    (tmp_path / "locomo.json").write_text(json.dumps([talk]), encoding="utf-8")
    out = console()
    (report,) = comparison.run(
        tmp_path / "locomo.json",
        out,
        others=[stages.compared],
        json_path=tmp_path / "r.json",
        draw=pictures.into(tmp_path / "new" / "pictures"),
    )
    assert report.averages["recall"]["overall"].values["recall@1"] == 1.0
    assert sum(average.questions for average in report.plans().values()) == 2
    loaded = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert loaded["rankings"]["locomo:conv-1/1"]["ids"]["recall"][0] == "D1:3"
    assert loaded["environment"]["embedding"]
    assert "no semantic arm" in report.systems("stage") and "no semantic arm" in loaded["datasets"]["locomo"]["systems"]
    assert report.differences["no folding"]["ndcg@10"].mean == 0
    assert {p.name for p in (tmp_path / "new" / "pictures").iterdir()} == {
        "locomo-systems.svg",
        "locomo-plans.svg",
        "locomo-stages.svg",
    }
    text = out.file.getvalue()  # type: ignore[attr-defined]
    assert "strategy rrf" in text and "what each stage is worth" in text
    assert str(tmp_path) in out.file.getvalue().replace("\n", "")  # type: ignore[attr-defined]


def multihop(name: str, gold: tuple[str, ...]) -> EvaluationData:
    return EvaluationData(name=name, collections=(collection(name, [gold, gold]),), family="multi-hop")


def test_data_sets_of_a_family_get_a_mean_in_which_each_counts_the_same() -> None:
    systems = [Fixed("recall", ("m0", "m1")), Fixed("peer", ("m1", "m0"))]
    reports = [
        comparison.compare(DATA, systems, console()),
        comparison.compare(multihop("hotpotqa", ("m0",)), systems, console()),
        comparison.compare(multihop("musique", ("m1",)), systems, console(), limit=1),
    ]
    (mean,) = means.of_families(reports)
    assert (mean.name, [r.dataset for r in mean.reports]) == ("multi-hop mean", ["hotpotqa", "musique"])
    assert mean.systems["recall"]["recall@1"] == mean.systems["peer"]["recall@1"] == 0.5
    assert mean.differences["peer"]["ndcg@10"].mean == pytest.approx(0)
    assert mean.as_dict()["datasets"] == ["hotpotqa", "musique"]
    out = console()
    tables.show_mean(mean, out)
    assert "multi-hop mean (hotpotqa, musique)" in out.file.getvalue()  # type: ignore[attr-defined]
    assert means.of_families(reports[:2]) == ()


def test_the_interval_of_a_mean_draws_within_each_data_set() -> None:
    def rows(*values: float) -> dict[str, dict[str, float]]:
        return {str(i): dict.fromkeys(means.METRICS, v) for i, v in enumerate(values)}

    zeros, ones = rows(0, 0, 0, 0), rows(1, 1, 1, 1)
    fixed = means.mean_difference([(ones, zeros), (zeros, zeros)], "ndcg@10")
    assert (fixed.mean, fixed.low, fixed.high) == (0.5, 0.5, 0.5)  # drawn from all together, it would vary
    varied = means.mean_difference([(rows(0, 0, 1, 1), zeros), (zeros, zeros)], "ndcg@10")
    assert varied.mean == 0.25
    assert 0 <= varied.low < 0.25 < varied.high <= 0.5
    assert means.spread([ones], "ndcg@10").mean == 1
    with pytest.raises(InvalidArgument, match="at least one data set"):
        means.mean_difference([], "ndcg@10")


def test_systems_need_names_of_their_own() -> None:
    with pytest.raises(InvalidArgument, match="same name"):
        comparison.compare(DATA, [Fixed("peer", ()), Fixed("peer", ())], console())


def test_stages_stand_in_a_table_of_their_own() -> None:
    systems = [Fixed("recall", ("m0",), plan="precise"), Fixed("no luck", ()), Fixed("peer", ())]
    report = replace(
        comparison.compare(DATA, systems, console()), kinds={"no luck": "stage"}, notes={"no luck": "seen before."}
    )
    out = console()
    tables.show(report, out)
    first, second = out.file.getvalue().split("what each stage is worth")  # type: ignore[attr-defined]
    assert "no luck" not in first and "peer" in first
    assert "no luck" in second and "seen before." in second
    assert report.systems("ours", "peer") == ["recall", "peer"]


def test_own_data_as_json_lines(tmp_path: Path) -> None:
    (tmp_path / "memories.jsonl").write_text(
        '{"id": "a", "text": "Sarah bakes bread."}\n{"id": "b", "text": "Sam sails."}'
    )
    (tmp_path / "questions.jsonl").write_text('{"query": "Who sails?", "relevant": ["b"], "category": "who"}\n')
    (report,) = comparison.run(tmp_path, console(), dataset=["jsonl"])
    assert (report.dataset, report.family) == ("jsonl", "")
    assert report.averages["recall"]["who"].values["recall@1"] == 1


class Counting:
    """Keeps every text that it was asked for."""

    fingerprint, dimensions, remote = "counting", 64, False

    def __init__(self, inner: Embedding) -> None:
        self.inner = inner
        self.seen: list[str] = []

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.seen.extend(texts)
        return self.inner.embed_documents(texts)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        self.seen.append(text)
        return self.inner.embed_query(text)


def own_data(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "memories.jsonl").write_text(
        '{"id": "a", "text": "Sarah bakes bread."}\n{"id": "b", "text": "Sam sails.", "actor": "Sam"}', encoding="utf-8"
    )
    (folder / "questions.jsonl").write_text(
        '{"query": "Who sails?", "relevant": ["b"]}\n{"query": "Who bakes bread?", "relevant": ["a"]}\n',
        encoding="utf-8",
    )
    return folder


def test_every_system_shares_one_embedding_that_computes_no_text_twice(tmp_path: Path, embedding: Embedding) -> None:
    for module in ("bm25s", "langchain_chroma", "langchain_classic", "llama_index.retrievers.bm25"):
        pytest.importorskip(module, reason="packages of the extra `bench` are not installed")
    counting = Counting(embedding)
    data = own_data(tmp_path / "data")
    given = {"dataset": "jsonl", "embedding_cache": tmp_path / "cache"}
    (first,) = comparison.run(
        data, console(), others=[compared()], embedding=counting, json_path=tmp_path / "r.json", **given
    )
    expected = ["Sam: Sam sails.", "Sarah bakes bread.", "Who bakes bread?", "Who sails?"]
    assert sorted(set(counting.seen)) == sorted(counting.seen) and set(expected) <= set(counting.seen)
    assert json.loads((tmp_path / "r.json").read_text())["environment"]["embedding"] == "counting"
    later = Counting(embedding)
    (second,) = comparison.run(data, console(), others=[compared()], embedding=later, **given)
    assert later.seen == []
    assert {s: {q: a.ids for q, a in own.items()} for s, own in first.answers.items()} == {
        s: {q: a.ids for q, a in own.items()} for s, own in second.answers.items()
    }


def test_the_bundled_embedding_has_no_cache(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="needs no cache"):
        comparison.run(own_data(tmp_path), console(), dataset="jsonl", embedding_cache=tmp_path / "cache")
