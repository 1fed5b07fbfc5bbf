"""`recall bench facts`: what it counts, and the command on a few histories."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from benchmarks.datasets.data import Collection
from benchmarks.facts import assistant, measuring
from benchmarks.facts.generator.histories import SPLITS, Asked, FactHistory, rooms
from benchmarks.facts.generator.phrasings import HISTORY, MYSELF, NOW
from benchmarks.facts.generator.slots import SLOTS
from benchmarks.facts.generator.timeline import Gold
from benchmarks.facts.measuring import IN_FIRST, ORDERED, RIGHT, STALE, Answer, figure, in_order, wilson
from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation.questions import Question
from recall_integrations.types import Memory, Scope
from tests.rows import each_row

A, B, C = frozenset({"a"}), frozenset({"b"}), frozenset({"c"})


def _answer(kind: str, gold: Gold, *ids: str) -> Answer:
    asked = Asked(id="0/0/0", text="?", kind=kind, gold=gold)
    history = FactHistory(
        id="0/0", slot=SLOTS[0], subject=MYSELF, cell=measuring.DEV_CELL, told=("is",), questions=(asked,)
    )
    return Answer(asked=asked, history=history, system=measuring.FACTS, ids=ids, ms=1.0)


@each_row(
    ("ids", "right", "stale", "within"),
    [
        (("b", "a"), True, False, True),
        (("a", "b"), False, True, True),
        (("c", "a"), False, False, False),
        ((), False, False, False),
    ],
)
def test_what_holds_has_to_be_first(ids: tuple[str, ...], right: bool, stale: bool, within: bool) -> None:
    answer = _answer(NOW, Gold(first=B, stale=A, needed=(B,)), *ids)
    assert answer.measures() == {RIGHT: right, STALE: stale, IN_FIRST: within}


@each_row(
    ("ids", "ordered"),
    [(("a", "b", "c"), True), (("a", "x", "b", "x", "c"), True), (("b", "a", "c"), False), (("a", "b"), False)],
)
def test_a_history_has_to_be_in_order(ids: tuple[str, ...], ordered: bool) -> None:
    gold = Gold(first=A | B | C, needed=(A, B, C), ordered=True)
    assert in_order(ids, gold) is ordered
    found = _answer(HISTORY, gold, *ids).measures()
    assert found[ORDERED] is ordered and STALE not in found


def test_one_hit_may_tell_two_values() -> None:
    assert in_order(["a", "b"], Gold(first=A | B, needed=(A | B, B), ordered=True))


def test_intervals_are_wilsons() -> None:
    found = wilson(8, 10)
    assert (round(found.low, 3), round(found.high, 3)) == (0.490, 0.943)
    assert wilson(0, 100).high > 0.03 and wilson(100, 100).low < 0.97
    assert figure(found) == ".800 .49-.94" and figure(wilson(5, 5)).startswith("1.00 .57-1.0")


@pytest.mark.slow
def test_a_run_reports_every_table_and_loses_nothing(tmp_path: Path, embedding: Any) -> None:
    out, file = io.StringIO(), tmp_path / "facts.json"
    report = measuring.run(Console(file=out, width=100), histories=12, json_path=file, failures=1, embedding=embedding)
    told = json.loads(file.read_text())
    assert report.lost == told["lost"] == 0 and told["histories"] == 12
    assert told["memories"] == sum(len(room.memories) for room in rooms(12))
    figures = told["systems"][measuring.FACTS]["figures"]
    assert figures["all kinds"]["all"]["questions"] == sum(len(h.questions) for r in rooms(12) for h in r.histories)
    assert set(figures["now"]) == {*SPLITS["all"], "slots of the schema", "slots that it lacks", "all"}
    assert "recall: kind of question" in out.getvalue() and "0 lost" in out.getvalue()


def test_bad_numbers_and_splits_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="at least 1"):
        measuring.run(Console(file=io.StringIO()), histories=0)
    with pytest.raises(InvalidArgument, match="dev, test, free, all"):
        measuring.run(Console(file=io.StringIO()), split="both")


def test_only_failures_of_the_dev_half_are_shown() -> None:
    gold = Gold(first=B, needed=(B,))
    dev = _answer(NOW, gold, "a")
    other = Answer(
        asked=dev.asked,
        history=FactHistory(
            id="1/0",
            slot=SLOTS[-1],
            subject=MYSELF,
            cell="test slots, test words",
            told=("is",),
            questions=(dev.asked,),
        ),
        system=dev.system,
        ids=("a",),
        ms=1.0,
    )
    report = measuring.Report(answers=(dev, other), histories=2, memories=2, lost=0, write_ms=(1.0,))
    out = io.StringIO()
    measuring.show_failures(report, {"a": "wrong one", "b": "right one"}, 5, Console(file=out, width=100))
    assert out.getvalue().count("wrong one") == 1 and "1 of 1 questions" in out.getvalue()


def test_kinds_of_the_chats_are_told_by_place() -> None:
    kinds = [assistant.kind_of(n) for n in range(10)]
    assert kinds == ["contradictions"] * 2 + ["updates"] * 2 + ["the others"] * 6


@pytest.mark.slow
def test_of_several_labelled_turns_the_newest_is_told_apart(embedding: Any) -> None:
    scope = Scope(user_id="u")
    memories = (Memory("I walk 3 miles a day", id="old"), Memory("I walk 7 miles a day", id="new"))
    questions = tuple(
        Question(id=f"1/{n}", text="how many miles do I walk?", relevant=("new", "old"), scope=scope) for n in range(10)
    )
    chats = [Collection(name="1", scope=scope, memories=memories, questions=questions)]
    found = list(assistant.measure(chats, embedding=embedding))
    assert len(found) == 20 and all(each.right and each.newest is not each.older for each in found)
    out = io.StringIO()
    assistant.show(found, Console(file=out, width=100))
    assert "updates" in out.getvalue()


def test_another_data_set_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "assistant"
    folder.mkdir()
    (folder / "memories.jsonl").write_text('{"id": "a", "text": "x"}\n')
    (folder / "questions.jsonl").write_text('{"query": "x?", "relevant": ["a"]}\n')
    with pytest.raises(InvalidArgument, match="10 questions"):
        assistant.run(tmp_path, Console(file=io.StringIO()))
