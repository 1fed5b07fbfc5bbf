"""The bench on a handful of memories, and thresholds on answers whose outcome is known."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.datasets.data import Collection, EvaluationData
from benchmarks.quality.report import OURS
from benchmarks.rewriting import rewriting, tables, thresholds
from benchmarks.rewriting.measuring import METRICS, NEVER_OPEN, Measured, Outcome, measure, relaxed
from benchmarks.rewriting.thresholds import chosen, fitting, left_out, step, steps
from benchmarks.rewriting.writers import GOOD, HOSTILE, WRITERS
from recall_integrations.config import RecallConfig
from recall_integrations.console.commands.measure import bench
from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation.questions import Question
from recall_integrations.types import Memory, Scope


@pytest.fixture(autouse=True)
def library() -> None:
    pytest.importorskip("ir_measures", reason="ir-measures (extra `bench`) is not installed")


def console() -> Console:
    return Console(file=io.StringIO(), width=80)


def printed(out: Console) -> str:
    return out.file.getvalue()  # type: ignore[attr-defined, no-any-return]


SCOPE = Scope(namespace="toy")
TEXTS = [
    f"The {animal} was seen near the {place}." for animal in ("heron", "otter", "fox") for place in ("lake", "barn")
]
QUESTION = "Which animal was asleep somewhere warm again?"


def toy() -> EvaluationData:
    memories = tuple(Memory(text, id=f"m{i}") for i, text in enumerate([*TEXTS, "Miso sleeps on the radiator."]))
    questions = (
        Question(id="q1", text=QUESTION, relevant=("m6",), scope=SCOPE),
        Question(id="q2", text="Was there an otter somewhere around here?", relevant=("m2",), scope=SCOPE),
    )
    collection = Collection(name="toy", scope=SCOPE, memories=memories, questions=questions)
    return EvaluationData(name="toy", collections=(collection,))


def test_a_whole_run_asks_each_rewriter_about_each_question() -> None:
    measured = measure(toy(), console())
    assert measured.dataset == "toy"
    assert measured.writers == WRITERS
    assert all(list(found) == ["q1", "q2"] for found in measured.outcomes.values())
    assert not any(outcome.asked or outcome.used for outcome in measured.plain.values())
    assert measured.share(GOOD, "asked") == 1
    assert measured.outcomes[GOOD]["q1"].used
    assert measured.outcomes[GOOD]["q1"].reason == "success"
    assert len(measured.extra_ms(GOOD)) == 2
    assert measured.scores(GOOD, 0.0) == measured.scores(OURS)
    assert measured.scores(GOOD)["q1"]["recall@5"] >= measured.plain["q1"].scores["recall@5"]
    rows = measured.rows()
    assert list(rows) == ["toy:q1", "toy:q2"]
    assert set(rows["toy:q1"]) == {"confidence", OURS, *WRITERS}
    assert QUESTION not in json.dumps(rows)


def test_one_rewriter_alone_is_enough() -> None:
    assert measure(toy(), console(), limit=1, names=(HOSTILE,)).writers == (HOSTILE,)


def test_nothing_is_switched_off_while_it_is_measured() -> None:
    config = relaxed(RecallConfig(), everywhere=True)
    assert (config.breakers.failures_max, config.breakers.open_s) == (NEVER_OPEN, 0)
    assert replace(config, breakers=RecallConfig().breakers) != config


# -- thresholds --------------------------------------------------------------------------------------------------------


def outcome(confidence: float, value: float, *, asked: bool = True) -> Outcome:
    scores = dict.fromkeys(METRICS, value)
    return Outcome(confidence=confidence, asked=asked, used=asked, reason="success", ms=2.0, scores=scores)


def made(dataset: str, *rows: tuple[float, float, float, float]) -> Measured:
    """Rows of confidence, and what is found without a rewriter, with the good one and with the hostile one."""
    columns = {OURS: 1, GOOD: 2, HOSTILE: 3}
    return Measured(
        dataset=dataset,
        outcomes={
            name: {f"q{i}": outcome(row[0], row[at], asked=name != OURS) for i, row in enumerate(rows)}
            for name, at in columns.items()
        },
    )


# The good one helps where the confidence is .08 and .35; the hostile one spoils what is sure.
UNSURE = made("phone", (0.08, 0, 1, 0), (0.35, 0, 1, 0), (0.55, 1, 1, 1), (0.95, 1, 1, 0))


def test_below_a_threshold_the_answer_is_the_rewriters() -> None:
    assert [row["recall@5"] for row in UNSURE.scores(GOOD, 0.1).values()] == [1, 0, 1, 1]
    assert [row["recall@5"] for row in UNSURE.scores(HOSTILE, 0.9).values()] == [0, 0, 1, 1]
    assert [row["recall@5"] for row in UNSURE.scores(HOSTILE, 1.0).values()] == [0, 0, 1, 0]
    assert [UNSURE.share(GOOD, "asked", below) for below in (0.05, 0.1, 0.5, 0.9, 1.0)] == [0, 0.25, 0.5, 0.75, 1]


def test_the_least_threshold_with_most_of_the_value_is_chosen() -> None:
    found = steps({"phone": [UNSURE]})
    by_threshold = {one.below: one for one in found}
    assert by_threshold[0.4].changes[GOOD]["recall@5"] == pytest.approx(0.5)
    assert by_threshold[0.4].value == pytest.approx(0.5)
    assert by_threshold[1.0].changes[HOSTILE]["recall@5"] == pytest.approx(-0.25)
    assert by_threshold[1.0].value == pytest.approx(0.25)
    assert chosen(found).below == 0.4
    harmful = made("talk", (0.2, 1, 1, 0))
    assert chosen(steps({"talk": [harmful]})).below == thresholds.THRESHOLDS[0]


def test_each_kind_counts_the_same_and_in_it_each_data_set() -> None:
    gained = made("de", (0.1, 0, 1, 0))
    nothing = made("es", *[(0.1, 0, 0, 0)] * 8)
    alone = made("phone", *[(0.1, 0, 0, 0)] * 5)
    one = step({"languages": [gained, nothing], "phone": [alone]}, 1.0)
    assert one.changes[GOOD]["ndcg@10"] == pytest.approx(0.25)
    assert one.share == pytest.approx(1)


def test_a_kind_that_is_left_out_does_not_choose_and_some_never_do() -> None:
    late = made("talk", (0.75, 0, 1, 0))
    groups = {"phone": [UNSURE], "talk": [late], "locomo": [made("locomo", (0.05, 0, 1, 0))]}
    assert list(fitting(groups)) == ["phone", "talk"]
    by_kind = {one.kind: one for one in left_out(groups)}
    assert {kind: one.chosen.below for kind, one in by_kind.items()} == {"phone": 0.8, "talk": 0.4, "locomo": 0.8}
    assert by_kind["talk"].chosen.changes[GOOD]["recall@5"] == 0
    assert by_kind["talk"].always.changes[GOOD]["recall@5"] == 1
    assert left_out({"phone": [UNSURE]}) == []


def test_tables_fit_a_terminal() -> None:
    out = console()
    groups = {"phone": [UNSURE], "locomo-when": [UNSURE], "talk": [made("talk", (0.75, 0, 1, 0))]}
    rewriting.show(rewriting.found(groups), out)
    text = printed(out)
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "…" not in text
    for expected in ("phone records", "many speakers", "100%", tables.MEAN, "0.8 *", "always", "upper bound"):
        assert expected in text


def test_paraphrases_have_first_hits_of_their_own() -> None:
    out = console()
    asked = replace(made("phone", (0.1, 0, 1, 0), (0.1, 1, 1, 1)), paraphrases=frozenset({"q0"}))
    rewriting.show(rewriting.found({"phone": [asked]}), out)
    lines = printed(out).splitlines()
    own = lines.index(next(line for line in lines if "its paraphrases" in line))
    assert "0.000" in lines[own] and "+1.000" in lines[own + 1]
    (data,) = [measure(toy(), console(), names=(GOOD,))]
    assert {o.scores["first"] for o in data.plain.values()} <= {0.0, 1.0}


def test_without_a_good_rewriter_no_threshold_is_looked_for() -> None:
    outcomes = {name: found for name, found in UNSURE.outcomes.items() if name != GOOD}
    report = rewriting.found({"phone": [Measured(dataset="phone", outcomes=outcomes)]})
    assert (report.steps, report.left_out) == ([], [])


# -- the command -------------------------------------------------------------------------------------------------------


def folder(root: Path) -> Path:
    for kind in ("phone", "talk"):
        own = root / kind
        own.mkdir()
        memories = [{"id": f"m{i}", "text": text} for i, text in enumerate(TEXTS)]
        questions = [{"id": "q", "query": "Was there an otter somewhere around here?", "relevant": ["m2"]}]
        for name, rows in (("memories", memories), ("questions", questions)):
            (own / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return root


def test_the_command_writes_a_report(tmp_path: Path) -> None:
    output = tmp_path / "report.json"
    arguments = [str(folder(tmp_path)), "--kind", "phone", "--kind", "talk", "--limit", "1", "--json", str(output)]
    bench.main(["rewriting", *arguments], standalone_mode=False)
    report = json.loads(output.read_text(encoding="utf-8"))
    assert set(report) == {"format", "k", "kinds", "thresholds", "left_out", "questions", "environment"}
    assert set(report["kinds"]) == {"phone", "talk"}
    assert set(report["kinds"]["phone"]["changes"]) == set(WRITERS)
    assert [one["below"] for one in report["thresholds"]] == list(thresholds.THRESHOLDS)
    assert set(report["questions"]) == {"phone:q", "talk:q"}


def test_as_configured_looks_for_no_threshold(tmp_path: Path) -> None:
    out = console()
    report = rewriting.run(folder(tmp_path), out, only=["phone"], as_configured=True, time_budget_ms=30_000)
    assert (report.steps, report.left_out) == ([], [])
    assert "Asked below" not in printed(out)


def test_kinds_have_to_be_named(tmp_path: Path) -> None:
    for arguments in ([], ["--all", "--kind", "phone"]):
        with pytest.raises(InvalidArgument, match="Say which kinds"):
            bench.main(["rewriting", str(tmp_path), *arguments], standalone_mode=False)
    with pytest.raises(InvalidArgument, match="Unknown kind"):
        bench.main(["rewriting", str(tmp_path), "--kind", "nothing"], standalone_mode=False)
    with pytest.raises(InvalidArgument, match="has none of the data sets"):
        bench.main(["rewriting", str(tmp_path), "--all"], standalone_mode=False)
