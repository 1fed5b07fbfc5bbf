from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.datasets.data import Collection, EvaluationData
from benchmarks.quality import abstention
from benchmarks.quality.abstention import ALL, OWN, Asked
from recall_integrations.config import RecallConfig
from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation.questions import Question
from recall_integrations.types import Memory, Scope


def console() -> Console:
    return Console(file=io.StringIO(), width=100)


def test_calibration_error_by_hand() -> None:
    found = abstention.reliability([0.05, 0.05, 0.95, 1.0], [False, True, True, True])
    assert found.ece == pytest.approx(2 / 4 * 0.45 + 2 / 4 * 0.025)
    assert (found.count, len(found.bins)) == (4, 10)
    first, last = found.bins[0], found.bins[-1]
    assert (first.count, first.mean, first.true) == (2, 0.05, 0.5)
    assert (last.low, last.high, last.count, last.true) == (0.9, 1.0, 2, 1.0)
    assert found.bins[5].count == 0
    perfect = abstention.reliability([0.5] * 4, [True, False, True, False])
    assert perfect.ece == 0


def test_what_is_no_probability_has_no_calibration_error() -> None:
    for values in ([1.5], [-0.1], [float("nan")], []):
        assert abstention.reliability(values, [True] * len(values)).ece is None


def asked(question: str, own: bool, confidence: float, *, relevant: bool = False, plan: str = "precise") -> Asked:
    return Asked(
        question=question,
        category="who",
        own=own,
        plan=plan,
        confidence=confidence,
        scores=(confidence,),
        relevant=(relevant,),
    )


def test_a_summary_keeps_own_and_wrong_apart() -> None:
    results = [
        asked("a", True, 0.9, relevant=True),
        asked("a", False, 0.3),
        asked("b", True, 0.1, plan="balanced"),
        asked("b", False, 0.2),
    ]
    report = abstention.summary("toy", results, k=10)
    assert (report.questions, report.auroc) == (2, 0.5)
    assert report.confidence[OWN].ece == pytest.approx((0.1 + 0.1) / 2)
    assert report.confidence[ALL].ece == pytest.approx((0.1 + 0.3 + 0.1 + 0.2) / 4)
    assert report.score[OWN].count == 2
    at = {t.at: (t.answered, t.refused) for t in report.thresholds}
    assert at[0.1] == (1.0, 0.0) and at[0.3] == (0.5, 0.5) and at[0.5] == (0.5, 1.0)
    assert (report.plans["balanced"].own, report.plans["balanced"].wrong, report.plans["balanced"].auroc) == (
        1,
        0,
        None,
    )
    assert report.plans["precise"].auroc == 1
    assert report.categories["who"].auroc == 0.5


def toy(*names: str) -> EvaluationData:
    facts = {"one": "Sarah bakes bread on Sundays.", "two": "Sam repairs the old boat.", "three": "Priya reads maps."}
    asked_of = {"one": "Who bakes bread on Sundays?", "two": "Who repairs the boat?", "three": "Who reads maps?"}
    collections = []
    for name in names:
        scope = Scope(namespace=name)
        question = Question(id=name, text=asked_of[name], relevant=("m0",), scope=scope)
        collections.append(
            Collection(name=name, scope=scope, memories=(Memory(facts[name], id="m0"),), questions=(question,))
        )
    return EvaluationData(name="toy", collections=tuple(collections))


def test_each_question_is_asked_of_its_own_and_of_the_next_collection() -> None:
    report = abstention.measure(toy("one", "two", "three"), console())
    assert (report.questions, report.degraded) == (3, 0)
    (group,) = report.categories.values()
    assert (group.own, group.wrong) == (3, 3)
    assert sum(g.own + g.wrong for g in report.plans.values()) == 6
    assert report.auroc >= 0.5
    assert abstention.measure(toy("one", "two", "three"), console(), limit=1).questions == 1
    with pytest.raises(InvalidArgument, match="one collection"):
        abstention.measure(toy("one"), console())


def test_a_whole_run(tmp_path: Path) -> None:
    for name, text in (("a", "Sarah bakes bread."), ("b", "Sam sails.")):
        with (tmp_path / "memories.jsonl").open("a") as file:
            file.write(json.dumps({"id": "m", "text": text, "namespace": name}) + "\n")
        with (tmp_path / "questions.jsonl").open("a") as file:
            question = {"id": name, "query": f"Who {text.split()[1]}?", "relevant": ["m"], "scope": {"namespace": name}}
            file.write(json.dumps(question) + "\n")
    out = console()
    report = abstention.run(tmp_path, out, dataset="jsonl", json_path=tmp_path / "r.json")
    loaded = json.loads((tmp_path / "r.json").read_text())["abstention"]
    assert loaded["auroc"] == report.auroc and loaded["questions"] == 2
    assert len(loaded["thresholds"]) == len(abstention.THRESHOLDS)
    text = out.file.getvalue()  # type: ignore[attr-defined]
    for part in ("AUROC of confidence", "hit.score: relevant", "wrong refused", "By plan"):
        assert part in text


def test_the_tables_show_bins_and_say_when_there_are_none() -> None:
    out = console()
    abstention.show(
        abstention.summary("toy", [asked("a", True, 0.95, relevant=True), asked("a", False, 0.05)], k=1), out
    )
    text = out.file.getvalue()  # type: ignore[attr-defined]
    assert "0.9 to 1.0" in text and "outside" not in text
    out = console()
    abstention.show(abstention.summary("toy", [asked("a", True, 9.5), asked("a", False, 4.0)], k=1), out)
    assert "outside [0, 1]" in out.file.getvalue()  # type: ignore[attr-defined]


def test_a_calibration_that_saw_the_data_is_named() -> None:
    config = RecallConfig()
    assert "fitted on" in abstention.fitted_on(config, "hotpotqa")
    assert abstention.fitted_on(config, "jsonl") == ""
    assert abstention.fitted_on(config.with_settings([("ranking.strategy", "weighted")]), "hotpotqa") == ""
    assert abstention.fitted_on(config, "locomo") == ""  # a test set
