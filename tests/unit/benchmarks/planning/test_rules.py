"""The on/off table on a handful of memories, where what each switch does is known."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.datasets.data import Collection, EvaluationData
from benchmarks.planning import plans, rules
from benchmarks.quality.paired import METRICS
from benchmarks.quality.report import Answer, QualityReport
from recall_integrations.config import PLAN_RULES, RecallConfig
from recall_integrations.console.commands.measure import bench
from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation.questions import Question
from recall_integrations.types import ArmPlan, Memory, ParsedQuery, RecallResult, RetrievalPlan, Scope
from tests.rows import each_row


@pytest.fixture(autouse=True)
def library() -> None:
    pytest.importorskip("ir_measures", reason="ir-measures (extra `bench`) is not installed")


def console() -> Console:
    return Console(file=io.StringIO(), width=80)


def printed(out: Console) -> str:
    return out.file.getvalue()  # type: ignore[attr-defined, no-any-return]


TEXTS = (
    "The deployment of Kestrel waits for Sam.",
    "Ticket ABC-123 is about the login page.",
    "Ticket ABC-124 is about the login page as well, and the login form.",
    "Sarah bakes bread on Sundays.",
    "The budget meeting was moved to the garden.",
)
SCOPE = Scope(namespace="toy")
QUESTIONS = (
    ("q1", "What does ABC-123 say about the login page and form?", "m1"),
    ("q2", "Who bakes bread on Sundays?", "m3"),
    ("q3", "Where was the budget meeting?", "m4"),
)


def toy() -> EvaluationData:
    memories = tuple(Memory(text, id=f"m{i}", entities=("Kestrel",) * (i == 0)) for i, text in enumerate(TEXTS))
    questions = tuple(Question(id=i, text=text, relevant=(gold,), scope=SCOPE) for i, text, gold in QUESTIONS)
    return EvaluationData(
        name="toy", collections=(Collection(name="toy", scope=SCOPE, memories=memories, questions=questions),)
    )


def test_each_switch_is_turned_over_and_nothing_else() -> None:
    base = RecallConfig()
    for switch in rules.SWITCHES:
        config, on = rules.switched(base, switch)
        assert config != base
        assert on == (base.query.spelling if switch == "spelling" else switch in base.planner.rules)
        back, off = rules.switched(config, switch)
        assert back == base and off != on
    assert {*PLAN_RULES, "spelling"} == set(rules.SWITCHES)


def test_a_whole_run_counts_what_was_asked_differently() -> None:
    report = rules.measure(toy(), console(), switches=("identifiers", "type_filter"))
    identifiers, types = report.effects
    assert (report.dataset, report.questions) == ("toy", 3)
    assert (identifiers.switch, identifiers.default, identifiers.asked) == ("identifiers", True, 1)
    assert (identifiers.changed, set(identifiers.changed_gain)) == (1, {"recall@5", "ndcg@10"})
    assert (types.asked, types.answered, types.changed, types.changed_gain) == (0, 0, 0, {})
    assert types.gain["ndcg@10"].mean == types.gain["ndcg@10"].low == types.gain["ndcg@10"].high == 0
    assert types.without == report.base
    assert [(q.question, q.plan in plans.PLANS) for q in report.asked] == [(f"toy/q{i}", True) for i in (1, 2, 3)]
    assert sum(q.chosen for q in report.asked) / 3 == pytest.approx(report.base["ndcg@10"])
    assert all(0 <= q.balanced <= 1 and 0 <= q.same_filters <= 1 for q in report.asked)


def compared(base: dict[str, str], other: dict[str, str], switch: str) -> QualityReport:
    """Answers of one id to questions whose right answer is `yes`."""
    found = {rules.BASE: base, switch: other}
    questions = tuple(Question(id=q, text=q, relevant=("yes",)) for q in base)
    return QualityReport(
        dataset="toy",
        k=10,
        questions=questions,
        answers={n: {q: Answer(ids=(i,)) for q, i in a.items()} for n, a in found.items()},
        scores={n: {q: dict.fromkeys(METRICS, float(i == "yes")) for q, i in a.items()} for n, a in found.items()},
    )


@pytest.mark.parametrize(("default", "sign"), [(True, 1), (False, -1)])
def test_the_gain_is_with_minus_without(default: bool, sign: int) -> None:
    base, other = {"a": "yes", "b": "no", "c": "no", "d": "no"}, {"a": "no", "b": "no", "c": "no", "d": "no"}
    asked: dict[str, dict[str, object]] = {
        rules.BASE: dict.fromkeys(base, 1),
        "type_filter": {"a": 2, "b": 2, "c": 1, "d": 1},
    }
    effect = rules.effect(compared(base, other, "type_filter"), asked, "type_filter", default=default)
    assert (effect.asked, effect.answered, effect.changed) == (2, 1, 2)
    assert effect.gain["recall@5"].mean == pytest.approx(sign * 0.25)
    assert effect.changed_gain["recall@5"].mean == pytest.approx(sign * 0.5)
    assert effect.without["recall@5"] == (0.0 if default else 0.25)


def test_an_answer_that_changes_by_itself_is_counted_as_changed() -> None:
    base, other = {"a": "yes", "b": "no"}, {"a": "no", "b": "no"}
    asked: dict[str, dict[str, object]] = {rules.BASE: dict.fromkeys(base, 1), "spelling": dict.fromkeys(base, 1)}
    effect = rules.effect(compared(base, other, "spelling"), asked, "spelling", default=True)
    assert (effect.asked, effect.answered, effect.changed) == (0, 1, 1)


@each_row(
    "change",
    [
        lambda r: replace(r, plan=replace(r.plan, time_bias=True)),
        lambda r: replace(r, plan=replace(r.plan, arms=())),
        lambda r: replace(r, query=replace(r.query, terms=("a", "b"))),
        lambda r: replace(r, query=replace(r.query, corrected_query="b")),
    ],
)
def test_what_acts_counts_and_a_reason_does_not(change: Callable[[RecallResult], RecallResult]) -> None:
    result = RecallResult(
        hits=(),
        query=ParsedQuery(original="a", terms=("a",)),
        plan=RetrievalPlan(name="balanced", arms=(ArmPlan(name="semantic"),), reason="x"),
    )
    reworded = replace(result, plan=replace(result.plan, reason="y", runner_up="precise", runner_up_margin=0.1))
    assert rules.asked_as(result) == rules.asked_as(reworded)
    assert rules.asked_as(result) != rules.asked_as(change(result))


@pytest.mark.slow
def test_the_tables_and_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "load", lambda _path, name: replace(toy(), name=name))
    out = console()
    rules.run(tmp_path, out, dataset=("toy", "other", "toy"), json_path=tmp_path / "r.json")
    text = printed(out)
    assert "…" not in text  # all of it fits a terminal of 80 columns
    for part in (*rules.SWITCHES, "toy: 3 questions", "of 1 changed", "with minus without", "conversational *"):
        assert part in text
    assert "Each plan against balanced" in text and "other: 3 questions" in text
    loaded = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert list(loaded["datasets"]) == ["toy", "other"]
    effects = loaded["datasets"]["toy"]["effects"]
    assert [e["switch"] for e in effects] == list(rules.SWITCHES)
    assert effects[0]["gain"]["recall@5"].keys() == {"mean", "low", "high"}
    assert sum(line["questions"] for line in loaded["plans"] if line["kind"] == "toy") == 3
    assert {line["verdict"] for line in loaded["plans"]} == {"too few"}
    assert "bread" not in (tmp_path / "r.json").read_text(encoding="utf-8")


def test_every_data_set_of_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "load", lambda _path, name: replace(toy(), name=name))
    for name in ("phone", "languages/de", "languages/ru"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "memories.jsonl").touch()
    asked = []

    def measure(data: EvaluationData, _console: Console, *, limit: int | None) -> rules.RulesReport:
        asked.append((data.name, limit))
        one = plans.Asked(question=data.name, plan="temporal", chosen=1.0, balanced=0.5, same_filters=0.5, moved=True)
        base = dict.fromkeys(rules.METRICS, 1.0)
        return rules.RulesReport(dataset=data.name, questions=1, base=base, effects=(), asked=(one,))

    monkeypatch.setattr(rules, "measure", measure)
    out = console()
    rules.run(tmp_path, out, everything=True, limit=7, json_path=tmp_path / "r.json")
    assert asked == [("phone", 7), ("languages/de", 7), ("languages/ru", 7)]
    assert "talk: not in" in printed(out)
    loaded = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert [(x["kind"], x["questions"]) for x in loaded["plans"]] == [("phone records", 1), ("other languages", 2)]
    assert "talk" in loaded["missing"]


def test_all_data_sets_or_some(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="--all measures every data set"):
        bench.main(["rules", str(tmp_path), "--all", "--dataset", "phone"], standalone_mode=False)
    with pytest.raises(InvalidArgument, match="has none of the data sets"):
        bench.main(["rules", str(tmp_path), "--all"], standalone_mode=False)
