"""Feedback, learning and serving with real recalls, from the first thumb to the way back."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from recall_integrations import Memory, MemoryStore, QueryOptimizer, RecallConfig, Scope
from recall_integrations.learning.learner import Learner
from recall_integrations.learning.versions import Version, signature_of
from recall_integrations.ranking.feature_sum import FixedWeights

START = datetime(2026, 6, 1, tzinfo=timezone.utc)
ANN = Scope(user_id="ann")
LEARNED = RecallConfig(mode="learned")
WORDS = ("kestrel", "garden", "budget", "deploy", "coffee", "invoice", "printer", "holiday", "server", "contract")


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


def memories(n: int = 120) -> list[Memory]:
    """Twelve notes of each of ten kinds, which differ in nothing but when they were made."""
    return [
        Memory(
            f"The {WORDS[i % 10]} note {1000 + i}: what was said of the {WORDS[(i // 10 * 3 + i + 1) % 10]}",
            id=f"m{i:03}",
            event_at=START - timedelta(days=i * 37 % 120),
        )
        for i in range(n)
    ]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[MemoryStore]:
    with MemoryStore.open(tmp_path / "s", clock=clock) as opened:
        opened.remember_many(memories(), scope=ANN)
        yield opened


def ids(result):
    return [hit.memory.id for hit in result.hits]


def promoted(store: MemoryStore, **made: object) -> Learner:
    learner = Learner(store, LEARNED)
    learner.shelf.put(learner.shelf.name_of(ANN), Version(id="v1", ranker=FixedWeights.version, **made))  # type: ignore[arg-type]
    learner.promote("v1", ANN)
    return learner


def test_what_was_learned_answers_in_the_mode_learned_only(store, clock) -> None:
    promoted(store, steps={"recency": -3.0, "passage_match": -3.0, "bm25_counted": -3.0})
    with (
        closing(QueryOptimizer(store, clock=clock)) as rules,
        closing(QueryOptimizer(store, config=LEARNED, clock=clock)) as learned,
    ):
        before, after = rules.recall("kestrel budget", scope=ANN), learned.recall("kestrel budget", scope=ANN)
        assert (before.version, after.version) == ("rules", "v1")
        assert ids(before) != ids(after) and all(0 <= hit.score <= 1 for hit in after.hits)
        assert learned.recall("kestrel budget", scope=Scope(user_id="bob")).version == "rules"
        Learner(store, LEARNED).rollback(ANN)
        time.sleep(1.1)  # a change is seen within a second
        assert ids(learned.recall("kestrel budget", scope=ANN)) == ids(before)


def test_each_of_several_scopes_is_answered_by_its_own(store, clock) -> None:
    bob = Scope(user_id="bob")
    store.remember_many(memories(), scope=bob)
    promoted(store, steps={"recency": -3.0, "passage_match": -3.0, "bm25_counted": -3.0})
    with closing(QueryOptimizer(store, config=LEARNED, clock=clock)) as optimizer:
        result = optimizer.recall("kestrel budget", scopes=[bob, ANN])
        assert [part.version for part in result.parts] == ["rules", "v1"] and result.version == "rules"
        assert optimizer.recall("kestrel budget", scopes=[ANN, bob]).version == "v1"


def test_a_plan_that_was_learned_is_taken_and_says_so(store, clock) -> None:
    with closing(QueryOptimizer(store, config=LEARNED, clock=clock)) as optimizer:
        signature = signature_of(optimizer.parse("kestrel budget", scope=ANN))
        promoted(store, plans={signature: "precision"}, arms={"lexical": 1.5})
        time.sleep(1.1)
        plan = optimizer.recall("kestrel budget", scope=ANN).plan
        assert plan.name == "precision" and plan.reason.startswith("precision: learned from use (v1)")
        assert plan.arm("lexical").weight == 3.0  # 2 in this plan


@pytest.mark.slow  # two hundred recalls and judgements of them
def test_the_whole_way(store, clock) -> None:
    """Somebody always wants the oldest note of those that fit: that is learned, tried, promoted and answers better."""
    with closing(QueryOptimizer(store, config=LEARNED, clock=clock)) as optimizer:

        def days(first: int, n: int) -> float:
            age = 0.0
            for i in range(first, first + n):
                clock.now += timedelta(minutes=10)
                # Of ten queries, chance would decide: the store draws which of them the new version answers.
                asked = ("what was said in", "what did we say in", "what is in", "tell me of", "find", "show")[i % 6]
                result = optimizer.recall(f"{asked} the {WORDS[i % 10]} note", scope=ANN, k=5)
                wanted = min(result.hits, key=lambda hit: hit.memory.event_at)
                age += (clock.now - result.hits[0].memory.event_at).days
                assert optimizer.feedback(result, helpful=[wanted.memory.id])
            optimizer.flush()
            return age / n

        before = days(0, 60)
        assert [step.step for step in optimizer.learn(ANN)] == ["started"]
        assert optimizer.learner().version("v1", ANN).steps["recency"] < 0
        clock.now += timedelta(days=8)
        days(60, 120)
        (step,) = optimizer.learn(ANN)
        assert step.step == "promoted", step
        time.sleep(1.1)
        assert days(180, 10) > before + 10
        status = optimizer.learner().status(ANN)[0]
        assert status.state.serving == "v1" and status.ndcg["v1"][0] > status.ndcg["rules"][0]
        assert {judged.version for judged in store.judgements.of(ANN)} >= {"rules", "v1"}


def test_observers_are_told(store, clock) -> None:
    from recall_integrations.types.observing import RecallObserver

    class Seen(RecallObserver):
        def __init__(self) -> None:
            self.steps: list[object] = []

        def learned(self, step: object) -> None:
            self.steps.append(step)

    seen = Seen()
    promoted(store)
    with closing(QueryOptimizer(store, config=LEARNED, clock=clock, observers=[seen])) as optimizer:
        optimizer.learner().rollback(ANN)
        optimizer.flush()
    assert [getattr(step, "step", None) for step in seen.steps] == ["rolled_back"]


def _judge_for_ever(path: str, ready: object) -> None:
    with MemoryStore.open(path) as store, closing(QueryOptimizer(store)) as optimizer:
        for i in range(100_000):
            result = optimizer.recall(f"{WORDS[i % 10]} note", scope=ANN)
            optimizer.feedback(result, helpful=[ids(result)[0]])
            if i == 20:
                ready.set()  # type: ignore[attr-defined]


def test_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with MemoryStore.open(path) as store:
        store.remember_many(memories(), scope=ANN)
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    process = context.Process(target=_judge_for_ever, args=(str(path), ready))
    process.start()
    assert ready.wait(120)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join(30)
    with MemoryStore.open(path) as store:
        judged = store.judgements.of(ANN)
        assert len(judged) >= 20 and all(one.gains for one in judged)
        assert sum(one.replay is None for one in judged) < len(judged)
