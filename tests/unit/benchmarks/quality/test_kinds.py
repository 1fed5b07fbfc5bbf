from __future__ import annotations

import importlib.util
import io
import json
import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.quality import all_kinds, kinds, means, pictures
from benchmarks.quality.kinds import KINDS, Summary, best_peer, found, read, summarise, wanted
from benchmarks.quality.metrics import by_category
from benchmarks.quality.paired import METRICS
from benchmarks.quality.report import Answer, QualityReport
from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation.questions import Question

ROOT = Path(__file__).resolve().parents[4]
BY_NAME = {kind.name: kind for kind in KINDS}


def console() -> Console:
    return Console(file=io.StringIO(), width=80)


def report(dataset: str, values: Mapping[str, tuple[float, ...]]) -> QualityReport:
    """System → the value of every metric, question by question."""
    count = len(next(iter(values.values())))
    questions = tuple(Question(id=str(i), text=f"q{i}", relevant=("m",)) for i in range(count))
    scores = {
        system: {q.id: dict.fromkeys(METRICS, v) for q, v in zip(questions, own, strict=True)}
        for system, own in values.items()
    }
    return QualityReport(
        dataset=dataset,
        k=10,
        questions=questions,
        answers={system: {q.id: Answer(ids=("m",)) for q in questions} for system in values},
        scores=scores,
        averages={system: by_category(rows, dict.fromkeys(rows, "all")) for system, rows in scores.items()},
        differences=means.differences([scores], "recall", ("recall@5", "ndcg@10")),
    )


@cache  # when a test first asks: their differences are drawn a thousand times
def reports() -> list[QualityReport]:
    return [
        report("locomo", {"recall": (0.9, 0.7), "BM25": (0.4, 0.4), "dense": (0.2, 0.2)}),
        report("documents", {"recall": (0.3, 0.3, 0.3), "BM25": (0.2, 0.2, 0.2), "dense": (0.5, 0.4, 0.6)}),
        report("hotpotqa", {"recall": (0.6,), "BM25": (0.5,), "dense": (0.1,)}),
        report("musique", {"recall": (0.4, 0.4, 0.4), "BM25": (0.3, 0.3, 0.3), "dense": (0.1, 0.1, 0.1)}),
    ]


OF = {
    "locomo": BY_NAME["locomo"],
    "documents": BY_NAME["documents"],
    "hotpotqa": BY_NAME["multihop"],
    "musique": BY_NAME["multihop"],
}


@pytest.fixture(scope="module")
def summary() -> Summary:
    return summarise(reports(), OF, ["talk"])


# -- finding -----------------------------------------------------------------------------------------------------------


def place(folder: Path, *files: str) -> Path:
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")
    return folder


def test_what_a_folder_has_and_what_it_lacks(tmp_path: Path) -> None:
    place(tmp_path, "phone/memories.jsonl", "multihop/musique_x_corpus.json", "languages/de/memories.jsonl")
    place(tmp_path, "languages/ar/memories.jsonl", "talk/other.txt")
    there, missing = found(tmp_path)
    assert {name: kind.name for name, kind in there.items()} == {
        "phone": "phone",
        "musique": "multihop",
        "languages/ar": "languages",
        "languages/de": "languages",
    }
    kinds = ("locomo", "locomo-when", "assistant", "projects", "documents", "talk", "preferences", "code", "claims")
    assert missing == [*kinds, "hotpotqa", "everyday/*"]


def test_small_stores_of_new_users_are_a_kind(tmp_path: Path) -> None:
    folder = place(tmp_path, "everyday/tiny/memories.jsonl", "everyday/tiny/questions.jsonl") / "everyday" / "tiny"
    (folder / "memories.jsonl").write_text('{"id": "a", "text": "The key is under the pot", "type": "of none of ours"}')
    (folder / "questions.jsonl").write_text('{"query": "where is the key?", "relevant": ["a"]}')
    there, _ = found(tmp_path)
    data = read(tmp_path, "everyday/tiny")
    assert there["everyday/tiny"].name == "everyday"
    assert (data.name, [q.text for q in data.questions]) == ("everyday/tiny", ["where is the key?"])


def test_a_folder_with_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match=r"none of the data sets: locomo.*languages.*everyday"):
        found(tmp_path)
    with pytest.raises(InvalidArgument, match="none of the data sets: phone"):
        found(place(tmp_path, "locomo/x.json"), wanted(["phone"]))


def test_kinds_are_chosen_by_name() -> None:
    assert wanted() == KINDS
    assert [kind.name for kind in wanted(["talk", "phone"])] == ["phone", "talk"]
    assert "languages" not in [kind.name for kind in wanted(skip=["languages"])]
    with pytest.raises(InvalidArgument, match=r"Unknown kind 'books'.*multihop"):
        wanted(["books"])
    with pytest.raises(InvalidArgument, match="No kind is left"):
        wanted(["talk"], ["talk"])


# -- the summary -------------------------------------------------------------------------------------------------------


def test_the_worst_kind_comes_first_each_against_its_best_peer(summary: Summary) -> None:
    assert list(summary.kinds) == ["documents", "multihop", "locomo"]
    assert [line.peer for line in summary.kinds.values()] == ["dense", "BM25", "BM25"]
    assert [line.ratio for line in summary.kinds.values()] == pytest.approx([0.6, 0.5 / 0.4, 2.0])
    worst = summary.kinds["documents"]
    assert worst.theirs is not None and worst.difference is not None
    assert (worst.questions, worst.ours.mean, worst.theirs.mean) == (3, pytest.approx(0.3), pytest.approx(0.5))
    assert worst.difference.mean == pytest.approx(-0.2)
    assert -0.3 <= worst.difference.low < worst.difference.high <= -0.1  # paired: only theirs varies


def test_data_sets_of_a_kind_count_the_same(summary: Summary) -> None:
    chains = summary.kinds["multihop"]
    assert (chains.datasets, chains.questions) == (("hotpotqa", "musique"), 4)
    assert chains.ours.mean == pytest.approx(0.5)  # not 0.45, the mean over questions
    assert chains.recall == pytest.approx(0.5)


def test_kinds_count_the_same_in_the_mean(summary: Summary) -> None:
    best, one = summary.means[kinds.MEAN], summary.means[kinds.ONE_PEER]
    assert best.ours.mean == one.ours.mean == pytest.approx((0.8 + 0.3 + 0.5) / 3)
    assert best.theirs is not None and one.theirs is not None and best.difference is not None
    assert (best.peer, best.theirs.mean) == ("", pytest.approx((0.4 + 0.5 + 0.4) / 3))
    assert (one.peer, one.theirs.mean) == ("BM25", pytest.approx((0.4 + 0.2 + 0.4) / 3))
    assert best.difference.mean == pytest.approx((0.4 - 0.2 + 0.1) / 3)
    assert best.difference.low < best.difference.mean < best.difference.high
    assert best.questions == 9


def test_a_kind_alone_has_no_mean_and_one_peer_for_all_is_said_once() -> None:
    assert summarise(reports()[:1], OF).means == {}
    assert list(summarise([reports()[0], reports()[2]], OF).means) == [kinds.MEAN]


def test_without_peers_there_are_only_our_own_figures() -> None:
    alone = [report("documents", {"recall": (0.3,)}), report("locomo", {"recall": (0.9,)})]
    summary = summarise(alone, OF)
    assert best_peer(alone) == ""
    assert list(summary.kinds) == ["documents", "locomo"]  # as they were measured
    assert all(line.ratio is line.theirs is line.difference is None for line in summary.lines)
    out = console()
    all_kinds.show(summary, out)
    assert "0.600" in out.file.getvalue()  # type: ignore[attr-defined]


def test_a_peer_that_finds_nothing_gives_no_ratio() -> None:
    summary = summarise([report("locomo", {"recall": (0.9,), "BM25": (0.0,)}), reports()[1]], OF)
    assert list(summary.kinds) == ["documents", "locomo"]
    assert summary.kinds["locomo"].ratio is None


# -- showing it --------------------------------------------------------------------------------------------------------


def test_the_table_fits_a_terminal(summary: Summary) -> None:
    out = console()
    all_kinds.show(summary, out)
    text = out.file.getvalue()  # type: ignore[attr-defined]
    assert text.index("documents") < text.index("encyclopaedia chains") < text.index("chats of two people")
    assert text.index("chats of two people") < text.index("mean of 3 kinds")
    for part in ("0.60", "-0.200", "the best of each", "Not measured, for want of data: talk"):
        assert part in text
    assert "…" not in text and all(len(line) <= 80 for line in text.splitlines())


def test_the_report_has_it(summary: Summary) -> None:
    made = json.loads(json.dumps(summary.as_dict()))
    assert list(made["kinds"]) == ["documents", "multihop", "locomo"]
    worst = made["kinds"]["documents"]
    assert (worst["title"], worst["questions"], worst["peer"]) == ("documents", 3, "dense")
    assert worst["ratio"] == pytest.approx(0.6) and worst["difference"]["mean"] == pytest.approx(-0.2)
    assert made["kinds_mean"]["mean"]["peer"] == "" and made["kinds_missing"] == ["talk"]


def test_there_are_pictures_of_it(summary: Summary, tmp_path: Path) -> None:
    written = pictures.drawn([], [], tmp_path, summary)
    assert [file.name for file in written] == ["kinds.svg", "kinds-differences.svg"]
    bars, gaps = (file.read_text(encoding="utf-8") for file in written)
    assert bars.count("<rect") == 10 and gaps.count("<rect") == 5
    assert pictures.AGAINST in gaps and "documents" in bars and "dense" in bars


def test_markdown_puts_it_first(summary: Summary) -> None:
    spec = importlib.util.spec_from_file_location("benchmark_tables", ROOT / "scripts" / "benchmark_tables.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    whole = {**means.as_dict(reports(), [], {}), **summary.as_dict()}
    lines = list(module.quality(whole))
    assert lines[2].startswith("| kind |")
    first = next(line for line in lines if line.startswith("| documents"))
    assert "| 3 | 0.300 | 0.500 | dense | 0.60 | -0.200 (" in first
    assert lines.index(first) < lines.index("**locomo**, 2 questions, k = 10")
    assert "Not measured, for want of data: talk" in lines


# -- a whole run -------------------------------------------------------------------------------------------------------


def test_a_whole_run_says_what_is_missing_and_goes_on(tmp_path: Path) -> None:
    pytest.importorskip("ir_measures", reason="ir-measures (extra `bench`) is not installed")
    data = tmp_path / "data"
    for name, text, query in (("documents", "Sam sails.", "Who sails?"), ("languages/de", "Anna backt.", "Wer backt?")):
        (data / name).mkdir(parents=True)
        (data / name / "memories.jsonl").write_text(f'{{"id": "a", "text": "{text}"}}\n', encoding="utf-8")
        rows = [json.dumps({"query": query, "relevant": ["a"]})] * 3
        (data / name / "questions.jsonl").write_text("\n".join(rows), encoding="utf-8")
    out = console()
    summary = all_kinds.run(data, out, limit=2, json_path=tmp_path / "r.json", pictures=tmp_path / "pictures")
    assert {name: line.questions for name, line in summary.kinds.items()} == {"documents": 2, "languages": 2}
    assert all(math.isclose(line.ours.mean, 1.0) for line in summary.lines)
    text = out.file.getvalue()  # type: ignore[attr-defined]
    assert "phone: not in" in text and "[2/2] languages/de: 1 memories" in text
    loaded = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert set(loaded["datasets"]) == {"documents", "languages/de"} and list(loaded["kinds"]) == [
        "documents",
        "languages",
    ]
    assert (tmp_path / "pictures" / "kinds.svg").is_file()
    all_kinds.run(data, out, only=["documents"])
    with pytest.raises(InvalidArgument, match="none of the data sets"):
        all_kinds.run(data, out, only=["talk"])
