from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.datasets.data import Collection, EvaluationData
from benchmarks.datasets.multihop import MULTIHOP
from benchmarks.misses import misses, tables
from benchmarks.misses.misses import Gold, Miss, MissReport, find
from recall_integrations.config import PlannerConfig, RecallConfig
from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation.questions import Question
from recall_integrations.types import Memory, Scope

SCOPE = Scope(user_id="u1")
ROLLOUT = "When does the Kestrel rollout begin?"


def console() -> Console:
    return Console(file=io.StringIO(), width=200)


def printed(out: Console) -> str:
    return out.file.getvalue()  # type: ignore[attr-defined,no-any-return]


def memory(id: str, text: str, **more: object) -> Memory:
    return Memory(text, id=id, **more)  # type: ignore[arg-type]


def data(memories: list[Memory], questions: list[Question], family: str = "") -> EvaluationData:
    own = Collection(name="one", scope=SCOPE, memories=tuple(memories), questions=tuple(questions))
    return EvaluationData(name="toy", collections=(own,), family=family)


def question(id: str, text: str, *relevant: str, category: str = "who") -> Question:
    return Question(id=id, text=text, relevant=relevant, category=category, scope=SCOPE)


def rollouts(count: int) -> list[Memory]:
    """Memories that hold all words of `ROLLOUT`, each with words of its own."""
    words = (
        "noon",
        "harbour",
        "budget",
        "coffee",
        "garden",
        "invoice",
        "violin",
        "winter",
        "ladder",
        "pepper",
        "cloud",
    )
    return [memory(f"r{i}", f"The Kestrel rollout may begin: {words[i]} {words[-1 - i]}") for i in range(count)]


TULIPS = memory("gold", "Henrietta planted tulips")


def test_a_miss_says_where_the_gold_is_and_what_it_is_behind_by() -> None:
    asked = [
        question("missed", ROLLOUT, "gold"),
        question("found", "Who planted tulips?", "gold"),
        question("no gold", ROLLOUT, category="when"),
    ]
    report = find(data([*rollouts(8), TULIPS], asked), console())
    assert (report.asked, report.first, report.every) == ({"who": 2}, 5, False)
    [miss] = report.misses
    assert (miss.question, miss.candidates, len(miss.winners)) == ("missed", 9, 5)
    assert set(miss.winners) <= {f"r{i}" for i in range(8)}
    [gold] = miss.gold
    assert (gold.place, gold.ranked, gold.candidate, gold.arms) == (9, 9, True, {"semantic": 9})
    assert list(miss.behind.values()) == sorted(miss.behind.values(), reverse=True)
    assert miss.behind["passage_match"] > 0 and miss.behind["bm25_counted"] > 0 and sum(miss.behind.values()) > 1
    assert find(data([*rollouts(8), TULIPS], asked), console(), questions=["found"]).misses == ()
    with pytest.raises(InvalidArgument, match="called no gold"):
        find(data([*rollouts(8), TULIPS], asked), console(), questions=["no gold"])
    assert report.places() == {"to 10": 1, "to limit": 0, "below": 0, "no candidate": 0}


def test_what_no_arm_returned_is_no_candidate_but_has_its_rank_in_a_longer_list() -> None:
    config = RecallConfig(planner=PlannerConfig(arm_limit=3))
    many = [memory(f"s{i}", f"The Kestrel rollout may begin with step {i}") for i in range(20)]
    [miss] = find(data([*many, TULIPS], [question("missed", ROLLOUT, "gold")]), console(), config=config).misses
    assert miss.missing == Gold(id="gold", place=None, ranked=None, candidate=False, arms={"semantic": 21})
    assert miss.behind == {} and miss.candidates < 21


def test_what_was_taken_for_a_repeat_is_named() -> None:
    text = "The Kestrel rollout may begin with pancakes"
    memories = [
        memory("a", text),
        memory("b", text),
        *rollouts(9)[1:],
        *(memory(f"t{i}", f"Tulip {i}") for i in range(9)),
    ]
    [miss] = find(data(memories, [question("m", "Kestrel rollout with pancakes", "b")]), console()).misses
    assert miss.missing.folded_into == "a" and miss.winners[0] == "a"
    assert miss.signs == ("folded",)


def test_where_every_gold_is_needed_one_that_is_found_does_not_do() -> None:
    asked = [question("half", ROLLOUT, "r0", "gold"), question("all", ROLLOUT, "r0", "r1")]
    memories = [*rollouts(11), TULIPS]
    assert find(data(memories, asked), console()).misses == ()
    report = find(data(memories, asked, family=MULTIHOP), console())
    assert (report.first, report.every, [m.question for m in report.misses]) == (10, True, ["half"])
    assert report.misses[0].missing.id == "gold"
    assert [g.place is not None and g.place <= 10 for g in report.misses[0].gold] == [True, False]


GONE = Gold(id="gold", place=None, ranked=None, candidate=False)
MISS = Miss(question="a0", category="a", plan="p", candidates=0, gold=(GONE,), winners=())


def test_the_best_missing_gold_is_the_candidate_that_came_furthest() -> None:
    def gold(id: str, place: int | None, ranked: int | None) -> Gold:
        return Gold(id=id, place=place, ranked=ranked, candidate=ranked is not None)

    golds = (gold("none", None, None), gold("below", None, 80), gold("low", 40, 39), gold("won", 1, 1))
    miss = replace(MISS, gold=golds, winners=("won",))
    assert miss.missing.id == "low"
    assert replace(miss, gold=golds[:2]).missing.id == "below"
    counted = MissReport(dataset="toy", first=5, every=False, asked={"a": 4}, misses=(miss,), sampled=("a0",))
    assert counted.places("a") == {"to 10": 0, "to limit": 1, "below": 0, "no candidate": 0}
    assert counted.places("b")["to limit"] == 0
    signed = replace(counted, misses=(replace(miss, signs=("dated",)), replace(miss, signs=("dated", "beside"))))
    assert {name: n for name, n in signed.signs().items() if n} == {"beside": 1, "dated": 2}
    assert signed.signs("b")["dated"] == 0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    scope = {"user_id": "u1"}
    lines = [{"id": m.id, "text": m.text, "actor": "Priya", "thread": "t", **scope} for m in (*rollouts(8), TULIPS)]
    asked = {"id": "q1", "query": ROLLOUT, "relevant": ["gold"], "scope": scope}
    (tmp_path / "memories.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (tmp_path / "questions.jsonl").write_text(json.dumps(asked))
    return tmp_path


def test_texts_are_printed_when_asked_for_and_never_written(folder: Path) -> None:
    quiet, loud, file = console(), console(), folder / "m.json"
    misses.run(folder, quiet, dataset="jsonl", json_path=file)
    assert "q1" in printed(quiet) and "tulips" not in printed(quiet)
    [report] = misses.run(folder, loud, dataset=["jsonl"], sample=1, texts=True)
    for part in (ROLLOUT, "gold gold Priya: Henrietta planted tulips", "after r7 Priya: The Kestrel", "behind by"):
        assert part in printed(loud)
    written = json.loads(file.read_text())
    assert written["misses"]["jsonl"]["misses"][0]["gold"][0]["id"] == report.misses[0].missing.id
    assert "Kestrel" not in file.read_text() and "tulips" not in file.read_text()


def test_control_characters_of_a_memory_do_not_reach_the_terminal() -> None:
    own = data([memory("gold", "Henrietta \x1b[31mplanted")], [question("a0", ROLLOUT, "gold")])
    report = MissReport(dataset="toy", first=5, every=False, asked={"a": 1}, misses=(MISS,), sampled=("a0",))
    out = console()
    tables.read_out(report, own, out)
    assert "planted" in printed(out) and "\x1b" not in printed(out)
    assert "behind by" not in printed(out)


def test_a_sample_of_nothing_is_refused(folder: Path) -> None:
    with pytest.raises(InvalidArgument, match="at least 1, not 0"):
        misses.run(folder, console(), dataset="jsonl", sample=0)
