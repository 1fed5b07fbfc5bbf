"""`recall bench learning`: people who click, days of use on made-up replays, and the command on a little domain."""

from __future__ import annotations

import io
import json
import random
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from benchmarks.learning import learning
from benchmarks.learning.clicking import SHOWN, Clicks
from benchmarks.learning.curves import Line, curves
from benchmarks.learning.domain import ASKED, workshop
from benchmarks.learning.oracle import measured, oracle
from benchmarks.learning.recorded import Asked, Halves
from benchmarks.learning.trials import bad_versions, tried
from benchmarks.learning.using import TENANT, Person, Use, order_by
from recall_integrations.config.sections import LearnedConfig
from recall_integrations.evaluation.questions import Question
from recall_integrations.learning.making import learnable
from recall_integrations.learning.versions import Version
from recall_integrations.types import Scope
from recall_integrations.types.judged import RULES, Replay

NAMES = learnable()
TELLS = NAMES.index("importance")


def asked(number: int, rng: np.random.Generator) -> Asked:
    """A question whose answer one feature tells, which the shipped weights hardly look at."""
    x = rng.normal(size=(12, len(NAMES))).astype(np.float32)
    offset = rng.normal(size=12).astype(np.float32)
    nums = tuple(range(number * 100, number * 100 + 12))
    right = int(rng.integers(12))
    x[right, TELLS] += 3
    offset[right] += 1
    order = tuple(nums[i] for i in np.argsort(-offset))
    text = f"question {number}"
    return Asked(
        text=text,
        scope=Scope(),
        signature="plain, vague, short",
        relevant={nums[right]: 1.0},
        replay=Replay(plan="balanced", orders={RULES: order}, nums=nums, offset=offset, names=NAMES, x=x),
        question=Question(id=str(number), text=text, relevant=(str(right),)),
    )


@pytest.fixture(scope="module")
def halves() -> Halves:
    rng = np.random.default_rng(0)
    every = tuple(asked(number, rng) for number in range(120))
    return Halves(name="made up", learning=every[::2], measured=every[1::2])


def test_people_click_at_the_top_and_are_sometimes_wrong() -> None:
    draw, order = random.Random(0), tuple(range(8))
    said = [gain for _ in range(4_000) for gain in Clicks(noise=0.2).on(order, {0: 1.0, 3: 1.0}, draw)]
    counts = [sum(gain.place == place for gain in said) / 4_000 / 0.7 for place in range(1, 9)]
    assert counts[:SHOWN] == pytest.approx([0.8, 0.1, 0.2 / 3, 0.2, 0.04], abs=0.03)
    assert not any(counts[SHOWN:])
    assert not Clicks(silent=1.0).on(order, {0: 1.0}, draw)


def test_who_wants_to_harm_clicks_what_does_not_answer() -> None:
    draw = random.Random(0)
    said = [gain.num for _ in range(500) for gain in Clicks(noise=0.0, inverted=True).on((1, 2), {1: 1.0}, draw)]
    assert said and set(said) == {2}


def test_steps_move_an_order_and_no_steps_do_not(halves: Halves) -> None:
    one = halves.learning[0]
    assert order_by(one, None) == one.replay.orders[RULES] == order_by(one, Version(id="v1"))
    best = order_by(one, Version(id="v1", steps={"importance": 3.0}))[0]
    assert best == one.replay.nums[int((one.replay.offset + 3 * one.replay.x[:, TELLS]).argmax())]


def test_days_of_use_teach_what_the_labels_teach(halves: Halves) -> None:
    rules, best = measured(halves, None).mean(), measured(halves, oracle(halves)).mean()
    assert best > rules + 0.05
    person = Person(halves=halves, clicks=Clicks(noise=0.1), recalls=60)
    found = Use(people=[person], learned=LearnedConfig(update_cadence="daily")).days(12)
    served = found.ndcg[TENANT].mean(axis=1)
    assert served[0] == pytest.approx(rules) and served[-1] > rules + (best - rules) / 2
    assert found.judged > 100 and {step.step for _, step in found.steps} >= {"started", "promoted"}
    again = Use(people=[person], learned=LearnedConfig(update_cadence="daily")).days(12)
    assert np.array_equal(found.ndcg[TENANT], again.ndcg[TENANT])


def test_a_bad_version_is_caught_and_a_good_one_kept(halves: Halves) -> None:
    for kind, version in bad_versions(halves, 1).items():
        assert tried(halves, version, kind, Clicks(), 0, 80).step == "rolled_back", kind
    good = tried(halves, oracle(halves), "good", Clicks(noise=0.1), 0, 80)
    assert good.step == "promoted" and good.gap > 0.05


def test_the_domain_is_the_same_every_time_and_asks_everything() -> None:
    small = workshop(notes=300, questions=80)
    assert small == workshop(notes=300, questions=80) and small != workshop(notes=300, questions=80, seed=2)
    ids = {memory.id for memory in small.collections[0].memories}
    assert len(ids) == small.memories and {q.category for q in small.questions} == set(ASKED)
    assert all(set(q.relevant) <= ids for q in small.questions)


def test_a_picture_is_one_drawing() -> None:
    drawn = curves("<days>", [Line(label="rules", values=[0.5, 0.5], low=[0.4, 0.4], high=[0.6, 0.6])])
    assert drawn.startswith("<svg") and "&lt;days&gt;" in drawn and "rules 0.500" in drawn


@pytest.mark.slow
def test_the_command_on_a_little_domain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "workshop", lambda questions: workshop(notes=200, questions=questions))
    out = io.StringIO()
    report = learning.run(
        None,
        Console(file=out, width=200),
        seeds=2,
        days=2,
        recalls=10,
        questions=40,
        json_path=tmp_path / "r.json",
        picture_path=tmp_path / "p.svg",
    )
    (only,) = report.sets
    assert only.rules <= 1 and len(only.curves[0].mean) == 2 and only.curves[0].mean[0] == pytest.approx(only.rules)
    assert only.whole_rules == pytest.approx(only.rules, abs=0.02)
    assert "workshop" in out.getvalue() and (tmp_path / "p.svg").read_text().startswith("<svg")
    assert json.loads((tmp_path / "r.json").read_text())["sets"][0]["name"] == "workshop"
