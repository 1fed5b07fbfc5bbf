"""The benchmark of faults measures what it says: parts fail as told, outcomes are told apart, kills count losses."""

from __future__ import annotations

import io
import json
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import numpy as np
import pytest
from rich.console import Console

from benchmarks.resilience import callers, doctor, kills, matrix, resilience, soak, tables, writer
from benchmarks.resilience.faults import FAULTS, chosen, optimizer_with, settings
from benchmarks.resilience.parts import (
    ARM_NAMES,
    GARBAGE,
    HANGS,
    LATE,
    NOTHING,
    RAISES,
    WELL,
    Gate,
    Llm,
    Part,
    Scores,
    Vectors,
    arm_of,
)
from benchmarks.resilience.samples import ANSWERED, FAILED, NAMED, Ledger, Sample, figures, timed
from benchmarks.speed.synthetic import END, SCOPE, synthetic_memories
from recall_integrations import MemoryStore, QueryOptimizer, cli
from recall_integrations.errors import InvalidArgument
from tests.rows import each_row


def printed(show: Callable[[Console], object]) -> str:
    out = io.StringIO()
    show(Console(file=out, width=250))
    return out.getvalue()


# -- parts ------------------------------------------------------------------------------------------------------------


@each_row(
    ("part", "argument", "well", "nothing", "garbage"),
    [
        (Llm, ('Request: "a b c"',), lambda x: x == "b c a\nc b a", lambda x: x == "", lambda x: x.startswith("]}{")),
        (Scores, ("q", ["a", "b"]), lambda x: x == [0.0, 1.0], lambda x: x == [], lambda x: np.isnan(x).all()),
        (
            Vectors,
            (["a", "b"],),
            lambda x: x.shape == (2, 256),
            lambda x: x.shape == (0, 0),
            lambda x: x.shape == (2, 3),
        ),
    ],
)
def test_a_part_does_what_it_is_told(part: Any, argument: Any, well: Any, nothing: Any, garbage: Any) -> None:
    for mode, is_it in ((WELL, well), (NOTHING, nothing), (GARBAGE, garbage), (LATE, well)):
        assert is_it(part(Gate(), mode)(*argument)), mode
    with pytest.raises(RuntimeError, match="told"):
        part(Gate(), RAISES)(*argument)
    with pytest.raises(InvalidArgument, match="not 'sulks'"):
        part(Gate(), "sulks")


def test_what_hangs_goes_on_when_it_is_let_go() -> None:
    gate, ended = Gate(), threading.Event()

    def call() -> None:
        with pytest.raises(RuntimeError, match="let go"):
            Llm(gate, HANGS)("q")
        ended.set()

    threading.Thread(target=call, daemon=True).start()
    while not ended.wait(0.001):
        gate.let_go()


def test_every_arm_can_be_told_to_fail() -> None:
    for name in ARM_NAMES:
        assert arm_of(name, Part(Gate())).name == name
    with pytest.raises(InvalidArgument, match="no arm 'nose'"):
        arm_of("nose", Part(Gate()))


def test_faults_are_chosen_by_name_or_by_part() -> None:
    assert chosen(()) == FAULTS and len({fault.name for fault in FAULTS}) == len(FAULTS)
    assert [f.name for f in chosen(("lexical",))] == ["lexical hangs", "lexical raises"]
    assert [f.name for f in chosen(("none", "llm hangs"))] == ["none", "llm hangs"]
    with pytest.raises(InvalidArgument, match="no fault 'rain'"):
        chosen(("rain",))


@pytest.fixture(scope="module")
def store() -> Any:
    with MemoryStore.open() as opened:
        opened.remember_many(synthetic_memories(60), scope=SCOPE)
        yield opened


def test_parts_go_in_by_the_front_door(store: MemoryStore) -> None:
    gate = Gate()
    optimizer, parts = optimizer_with(
        store, {"lexical": RAISES, "llm": RAISES}, gate, settings(entity_llm=False, breakers=False)
    )
    query = "something on budget and deadline"
    broken = optimizer.recall(query, scope=SCOPE, now=END, time_budget_ms=60_000)
    assert {d.stage for d in broken.degraded} == {"lexical", "rewrite"}
    for part in parts.values():
        part.mode = WELL
    assert optimizer.recall(query, scope=SCOPE, now=END, time_budget_ms=60_000).degraded == ()
    optimizer.close()


# -- samples ----------------------------------------------------------------------------------------------------------


def result(hits: int, *reasons: str) -> Any:
    degraded = [SimpleNamespace(stage=r.split(":")[0], reason=r.split(":")[1]) for r in reasons]
    return SimpleNamespace(hits=(None,) * hits, degraded=degraded)


def test_outcomes_are_told_apart() -> None:
    assert timed(lambda: result(1), 5).outcome == ANSWERED
    assert timed(lambda: result(0, "lexical:timeout"), 5).outcome == NAMED
    assert timed(lambda: result(0), 5).outcome == FAILED
    raised = timed(lambda: 1 / 0, 5)  # type: ignore[arg-type, return-value]
    assert (raised.outcome, raised.reasons) == (FAILED, ("raised:ZeroDivisionError",))


def test_a_ledger_gives_back_what_it_was_given() -> None:
    ledger, samples = Ledger(), [
        Sample(budget_ms=5, ms=4.25, outcome=ANSWERED, reasons=("a:x",)),
        Sample(budget_ms=20, ms=15, outcome=NAMED, reasons=("a:x",)),
        Sample(budget_ms=5, ms=1, outcome=ANSWERED, reasons=("a:x",)),
        Sample(budget_ms=5, ms=1, outcome=FAILED),
    ]  # fmt: skip
    for sample in samples:
        ledger.add(sample)
    assert ledger.samples() == samples and Ledger().samples() == []


def test_figures() -> None:
    samples = [
        Sample(budget_ms=5, ms=4, outcome=ANSWERED, reasons=("a:x", "a:x", "b:y")),
        Sample(budget_ms=5, ms=15, outcome=NAMED, reasons=("a:x",)),
        Sample(budget_ms=20, ms=8, outcome=FAILED),
        Sample(budget_ms=20, ms=9, outcome=ANSWERED),
    ]
    found = figures(samples)
    assert (found.recalls, found.success, found.answered) == (4, 0.75, 0.5)
    assert (found.over_p50_ms, found.over_max_ms, found.p50_ms) == (0, 10, 8.5)
    assert list(found.reasons.items()) == [("a:x", 2), ("b:y", 1)]


# -- runs -------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_whole_report(tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    out = tmp_path / "r.json"
    shown = printed(
        lambda console: resilience.run(
            console,
            recalls=4,
            size=60,
            budgets=(5.0, 400.0),
            plans=("exploratory",),
            faults=("none", "embedder raises", "own"),
            crowd=4,
            json_path=out,
            settle_s=0,
            told=lambda *a: told.append(a),
        )
    )
    report = json.loads(out.read_text())
    assert [(row["fault"], row["group"]) for row in report["faults"]] == [
        ("none", "exploratory"), ("embedder raises", "exploratory"), ("own hangs", "exploratory"),
    ]  # fmt: skip
    assert [row["group"] for row in report["by_budget"]] == ["5", "400"] * 3
    none, embedder, own = (row["figures"] for row in report["faults"])
    assert all(row["success"] == 1 and row["recalls"] == 4 for row in (none, embedder, own))
    assert any(reason.startswith("embed:") for reason in embedder["reasons"])
    assert any(reason.startswith("own:") for reason in own["reasons"])
    assert [(each["how"], each["callers"], each["budget_ms"]) for each in report["callers"]] == [
        ("threads", 4, 400.0), ("arecall", 4, 400.0),
    ]  # fmt: skip
    assert report["process"]["threads_start"] > 0 and report["process"]["rss_end_mb"] > 0
    assert "own hangs" in shown and "arecall" in shown and "Threads" in shown
    assert ("none", 4, 4) in told


@each_row(
    ("bad", "says"),
    [
        ({"recalls": 0}, "recalls"),
        ({"size": 0}, "size"),
        ({"budgets": ()}, "Budgets"),
        ({"budgets": (0.0,)}, "Budgets"),
        ({"plans": ("hasty",)}, "no plan 'hasty'"),
        ({"faults": ("rain",)}, "no fault 'rain'"),
        ({"json_path": "/nowhere/at/all/r.json"}, "does not exist"),
    ],
)
def test_what_cannot_be_measured_is_refused(bad: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidArgument, match=says):
        resilience.run(Console(file=io.StringIO()), **bad)


def test_without_breakers_every_recall_meets_the_fault(tmp_path: Path) -> None:
    gate = Gate()
    stores = matrix.Stores(tmp_path, 60, gate)
    (row,), _ = matrix.measure(
        stores,
        gate,
        faults=chosen(("lexical raises",)),
        plans=("exploratory",),
        budgets=(60_000.0,),
        recalls=6,
        breakers=False,
    )
    stores.close()
    assert row.figures.reasons["lexical:error"] == 6


def test_callers_of_both_kinds_get_answers(store: MemoryStore) -> None:
    optimizer = QueryOptimizer(store)
    crowds = callers.measure(optimizer, (60_000.0,), 7)
    optimizer.close()
    assert [crowd.figures.recalls for crowd in crowds] == [7, 7]
    assert all(crowd.figures.answered == 1 and 0 < crowd.p99_of_budget < 1 for crowd in crowds)


def test_threads_are_waited_for() -> None:
    naps: list[float] = []
    assert resilience.settled(10_000, 60, naps.append) == threading.active_count() and naps == []
    assert resilience.settled(0, 0, naps.append) == threading.active_count()


@pytest.mark.slow
def test_a_soak_ends_with_figures(tmp_path: Path) -> None:
    found = soak.measure(tmp_path, 0.02, 60, lambda _wanted: 3)
    assert found.reads is not None and found.reads.recalls > 0 and found.faults > 0
    assert found.threads_end == 3 and found.rss_end_mb > 0 and found.doctor is not None
    shown = printed(lambda console: tables.show_soak(found, console))
    assert "Soak of 0.02 minutes" in shown and "Unexpected exceptions" in shown and "recall doctor" in shown


def test_the_doctor_is_asked_where_there_is_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    commands = {name: command for name, command in cli.main.commands.items() if name != "doctor"}
    monkeypatch.setattr(cli.main, "commands", commands)
    assert not doctor.examined(tmp_path).there
    commands["doctor"] = click.Command("doctor")
    asked: list[Any] = []

    def ran(command: list[str], **_: Any) -> Any:
        asked.append(command)
        return SimpleNamespace(returncode=len(asked) - 1, stdout="fine ", stderr="")

    monkeypatch.setattr(subprocess, "run", ran)
    first, second = doctor.examined(tmp_path), doctor.examined(tmp_path)
    assert (first.there, first.clean, first.said, second.clean) == (True, True, "fine", False)
    assert asked[0][-2:] == ["doctor", str(tmp_path)]


# -- kills ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def written(tmp_path: Path) -> Path:
    with MemoryStore.open(tmp_path / "kills", embedding=writer.Hashed(), config=writer.config()) as opened:
        opened.remember_many([writer.memory_of(n, 1) for n in range(15)], scope=writer.SCOPE)
        opened.remember_many([writer.memory_of(n, 2) for n in range(3)], scope=writer.SCOPE)
    return tmp_path / "kills"


def looked(path: Path, stand: kills.Known, pending: dict[str, Any] | None = None) -> kills.Kills:
    found = kills.Kills()
    kills.look(path, stand, pending, found)
    return found


def stands() -> kills.Known:
    return {n: 2 if n < 3 else 1 for n in range(15)}


def test_what_stands_is_found_through_every_arm(written: Path) -> None:
    found = looked(written, stands())
    assert found.clean and found.memories == 15 and found.notices == []


def test_what_is_lost_doubled_or_back_is_counted(written: Path) -> None:
    lost = looked(written, {**stands(), 20: 1})
    arms = {"semantic", "lexical", "graph", "temporal", "type_filter"}
    assert lost.lost == dict.fromkeys(("store", *arms), 1) and not lost.clean
    older = looked(written, {**stands(), 0: 1})
    assert older.lost["store"] == 1 and older.returned and not older.clean
    fewer = stands()
    del fewer[14]
    more = looked(written, fewer)
    assert (more.doubled, more.lost) == (1, {}) and more.returned and not more.clean


def test_what_nobody_confirmed_has_happened_or_not(written: Path) -> None:
    stand = {**stands(), 0: 1}
    assert looked(written, stand, {"do": "put", "ids": [0], "version": 2}).clean and stand[0] == 2
    stand = stands()
    assert looked(written, stand, {"do": "forget", "ids": [20]}).clean and 20 not in stand
    assert looked(written, stands(), {"do": "put", "ids": [0, 5], "version": 2}).halves == 1


@pytest.mark.skipif(not hasattr(kills.signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_writer_is_killed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(kills, "LINES", (3, 3))
    found = kills.measure(tmp_path, 1)
    assert found.kills == 1 and found.acknowledged > 0 and found.clean
    assert "1 kills" in printed(lambda console: tables.show_kills(found, console))
    assert kills.as_json(found)["clean"] is True
