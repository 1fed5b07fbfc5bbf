"""The whole way of a version: made, tried, promoted, rolled back; each step is written, and rules are the floor."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone

import pytest

from recall_integrations import MemoryStore, RecallConfig, Scope
from recall_integrations.config import LearnedConfig
from recall_integrations.errors import InvalidArgument
from recall_integrations.indexes.times import to_micros
from recall_integrations.learning.learner import Learner

START = datetime(2026, 6, 1, tzinfo=timezone.utc)
ANN, BOB = Scope(user_id="ann"), Scope(user_id="bob")


class Clock:
    now = START

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(clock) -> Iterator[MemoryStore]:
    with MemoryStore.open(clock=clock) as opened:
        for scope in (ANN, BOB):
            opened.remember("Tea is ready", scope=scope)
        yield opened


@pytest.fixture
def learner(store) -> Learner:
    return Learner(store)


def say(store, judged, scope=ANN) -> None:
    for one in judged:
        assert store.judgements.put(scope, one, settings=LearnedConfig())
        store.judgements.replayed(scope, one.result_id, one.replay)


def steps(learner, **given):
    return [(step.scope, step.step, step.version) for step in learner.run(**given)]


def test_a_good_version_is_made_tried_and_promoted(store, learner, clock, judged_of) -> None:
    assert steps(learner) == []
    say(store, judged_of(120, since=to_micros(START)))
    assert steps(learner) == [(ANN, "started", "v1")]
    state = learner.status(ANN)[0].state
    assert (state.serving, state.candidate) == ("rules", "v1")
    version = learner.version("v1", ANN)
    assert version.steps["passage_match"] > 0 and version.parent == "rules" and version.judged == 120
    assert steps(learner, scope=ANN) == [(ANN, "skipped", "v1")]  # its time is not over, and nothing was judged since
    clock.now += timedelta(days=8)
    say(store, judged_of(80, seed=5, since=to_micros(clock.now) - 1_000, orders={"version:v1": 0.9}))
    assert steps(learner, scope=ANN) == [(ANN, "promoted", "v1")]
    assert learner.status(ANN)[0].state.serving == "v1"
    assert [event.step for event in learner.status(ANN)[0].state.events] == ["started", "promoted"]


def test_a_bad_version_is_rolled_back_and_serves_nobody(store, learner, clock, judged_of) -> None:
    say(store, judged_of(120, since=to_micros(START)))
    learner.run()
    clock.now += timedelta(days=1)  # long before its time is over
    say(store, judged_of(80, seed=5, since=to_micros(clock.now) - 1_000, orders={"version:v1": 0.05}))
    (step,) = learner.run(ANN)
    assert step.step == "rolled_back" and "worse than" in step.because
    state = learner.status(ANN)[0].state
    assert (state.serving, state.candidate) == ("rules", "")


def test_what_serves_is_rolled_back_where_rules_are_better_by_now(store, learner, clock, judged_of) -> None:
    say(store, judged_of(120, since=to_micros(START)))
    learner.run(ANN)
    learner.promote("v1", ANN)
    clock.now += timedelta(days=8)
    say(store, judged_of(80, seed=5, since=to_micros(clock.now) - 1_000, orders={"version:v1": 0.05}))
    assert steps(Learner(store, RecallConfig(learned=LearnedConfig(rollback_on_ndcg_regression=False))), scope=ANN) != [
        (ANN, "rolled_back", "v1")
    ]


def test_the_floor(store, learner, clock, judged_of) -> None:
    say(store, judged_of(120, since=to_micros(START)))
    learner.run(ANN)
    learner.promote("v1", ANN)
    clock.now += timedelta(days=8)
    say(store, judged_of(80, seed=5, since=to_micros(clock.now) - 1_000, orders={"version:v1": 0.05}))
    assert steps(learner, scope=ANN) == [(ANN, "rolled_back", "v1")]
    assert learner.status(ANN)[0].state.serving == "rules"


def test_noise_makes_no_version(store, learner, judged_of) -> None:
    made = 0
    for seed in range(5):
        scope = Scope(user_id=f"u{seed}")
        store.remember("Tea is ready", scope=scope)
        say(store, judged_of(80, seed=seed, noise=1.0, strength=0.0, since=to_micros(START)), scope)
        made += learner.run(scope)[0].step == "started"
    assert made <= 1


def test_a_scope_is_looked_at_once_in_its_time(store, learner, clock, judged_of) -> None:
    say(store, judged_of(80, noise=1.0, strength=0.0, since=to_micros(START)))
    assert learner.due()
    assert steps(learner, scope=ANN) == [(ANN, "nothing", "")] and not learner.due()
    assert steps(learner, scope=ANN) == [(ANN, "skipped", "")]
    assert steps(learner, scope=ANN, force=True) == [(ANN, "nothing", "")]
    clock.now += timedelta(days=7)
    assert learner.due() and steps(learner, scope=ANN) == [(ANN, "nothing", "")]


def test_weights_of_arms_are_learned_although_nothing_else_is(store, learner, judged_of) -> None:
    say(store, judged_of(80, strength=0.0, since=to_micros(START), orders={"without:graph": 1.0}))
    (step,) = learner.run(ANN)
    version = learner.version("v1", ANN)
    assert step.step == "started" and "weights of graph" in step.because
    assert (version.arms, version.steps, version.plans) == ({"graph": pytest.approx(0.9)}, {}, {})


def test_after_a_month_few_judged_recalls_are_enough(store, learner, clock, judged_of) -> None:
    say(store, judged_of(20, strength=6.0, since=to_micros(START)))
    assert steps(learner, scope=ANN) == [(ANN, "skipped", "")]
    clock.now += timedelta(days=29)
    assert steps(learner, scope=ANN) == [(ANN, "skipped", "")]
    clock.now += timedelta(days=1)
    assert steps(learner, scope=ANN) == [(ANN, "started", "v1")]


def test_twice_as_much_feedback_is_looked_at_before_its_time(store, learner, judged_of) -> None:
    say(store, judged_of(40, noise=1.0, strength=0.0, since=to_micros(START)))
    assert steps(learner, scope=ANN) == [(ANN, "nothing", "")]
    say(store, judged_of(39, seed=1, since=to_micros(START)))
    assert not learner.due()
    say(store, judged_of(120, seed=2, since=to_micros(START)))
    assert learner.due() and steps(learner, scope=ANN) == [(ANN, "started", "v1")]


def test_a_run_that_was_killed_goes_on_where_it_was(store, learner, judged_of) -> None:
    for scope in (ANN, BOB):
        say(store, judged_of(120, since=to_micros(START)), scope)

    def killed(scope, place, _total) -> None:
        if place == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learner.run(progress=killed)
    done = [status.state.candidate for status in learner.status()]
    assert done == ["v1", ""]
    assert steps(Learner(store)) == [(ANN, "skipped", "v1"), (BOB, "started", "v1")]


def test_by_hand(store, learner, judged_of) -> None:
    say(store, judged_of(120, since=to_micros(START)))
    learner.run(ANN)
    with pytest.raises(InvalidArgument, match="Known: v1"):
        learner.promote("v7", ANN)
    with pytest.raises(InvalidArgument, match="Rules serve already"):
        learner.rollback(BOB)
    assert learner.promote("v1", ANN).serving == "v1"
    assert learner.rollback(ANN).serving == "rules"
    assert steps(learner, scope=ANN, force=True) == [(ANN, "skipped", "")]  # nothing until somebody promotes
    assert learner.promote("v1", ANN).held_back is False
    assert learner.version("v1", ANN).steps["passage_match"] > 0 and not learner.version("rules", ANN).steps


def test_what_one_scope_says_moves_no_other(store, learner, judged_of) -> None:
    say(store, judged_of(400, inverted=True, since=to_micros(START)), ANN)
    learner.run()
    assert learner.status(BOB)[0].state == learner.shelf.state(learner.shelf.name_of(BOB), fresh=True)
    assert learner.shelf.state(learner.shelf.name_of(BOB), fresh=True).made == 0


def test_events_are_told(store, judged_of) -> None:
    told = []
    say(store, judged_of(120, since=to_micros(START)))
    learner = Learner(store, told=told.append)
    learner.run()
    learner.promote("v1", ANN)
    learner.rollback(ANN)
    assert [step.step for step in told] == ["started", "promoted", "rolled_back"]
