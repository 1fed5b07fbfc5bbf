from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from recall_integrations.config import RerankConfig
from recall_integrations.errors import ConfigError, StoreClosed
from recall_integrations.reranking.reranker import Judged, RerankError
from recall_integrations.reranking.reranking import Band, Reranked, RerankRequest, RerankStage
from recall_integrations.resilience.breaker import Breaker
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.resilience.guard import PROBE_EVERY, Busy, Guard
from tests.rows import each_row

P = np.array([0.36, 0.35, 0.34, 0.33, 0.32, 0.31])
BACKWARDS = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)


@dataclass
class Fake:
    """A reranker, and the clock: a call takes `seconds`."""

    give: Sequence[float | None] = BACKWARDS
    error: Exception | None = None
    seconds: float = 0.001
    now: float = 0.0
    calls: int = 0
    name: str = "fake"
    scale: str = "logit"
    queries: list[str] = field(default_factory=list)

    def scores(self, query: str, texts: Sequence[str]) -> list[float | None]:
        self.calls += 1
        self.queries.append(query)
        self.now += self.seconds
        if self.error is not None:
            raise self.error
        return list(self.give[: len(texts)])


class Timed(Fake):
    """Scores as many as it is told to."""

    enough = 3

    def scores_until(self, query: str, texts: Sequence[str], deadline: Deadline) -> Judged:
        found = self.scores(query, texts)
        kept = [s if i < self.enough else None for i, s in enumerate(found)]
        return Judged(scores=tuple(kept), unscored=frozenset(range(self.enough, len(texts))))


class Heavy(Fake):
    ready = False
    broken = False

    def warm(self) -> None:
        if self.broken:
            raise RerankError("no such model")
        self.ready = True


class AtOnce:
    """Threads that answer before anybody waits."""

    active = hanging = 0

    def submit(self, call: Callable[..., Any], *args: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(call(*args))
        except Exception as e:
            future.set_exception(e)
        return future

    def give_up(self, future: Future[Any]) -> None:
        pass


class Never(AtOnce):
    """Threads in which everything hangs."""

    def submit(self, call: Callable[..., Any], *args: Any) -> Future[Any]:
        return Future()


def request(**changes: Any) -> RerankRequest:
    asked = RerankRequest(
        query="tea",
        calibrated=P,
        texts=lambda n: [f"text {i}" for i in range(n)],
        k=2,
        allowed=True,
        deadline=Deadline.after(None),
    )
    return replace(asked, **changes)


def guarded(reranker: Fake, threads: Any, budget_ms: float, failures_max: int = 3) -> Guard:
    clock = lambda: reranker.now  # noqa: E731
    breaker = Breaker("rerank", failures_max=failures_max, open_s=60, clock=clock)
    return Guard("rerank", limit_ms=budget_ms, breaker=breaker, threads=threads, clock=clock)


def stage(
    reranker: Fake, threads: Any = None, failures_max: int = 3, budget_ms: float = 100.0, **settings: Any
) -> RerankStage:
    guard = guarded(reranker, threads or AtOnce(), budget_ms, failures_max)
    return RerankStage(reranker, RerankConfig(**settings), guard)


def untouched(done: Reranked) -> bool:
    return done.order.tolist() == list(range(len(P))) and not done.judged and not done.outcome.used


# -- it runs


def test_the_order_is_the_rerankers_and_the_outcome_says_so() -> None:
    done = stage(Fake()).run(request())
    assert done.order.tolist() == [5, 4, 3, 2, 1, 0]
    assert (done.judged[5].score, done.judged[5].rank, done.judged[5].band) == (6.0, 1, None)
    outcome = done.outcome
    assert (outcome.reranker, outcome.reason, outcome.used) == ("fake", "success", True)
    assert (outcome.candidates, outcome.scored, outcome.moved, outcome.pairs_saved) == (6, 6, 2, 0)
    assert outcome.duration_ms == pytest.approx(1) and outcome.regret_max is not None
    assert not done.degraded


def test_only_the_top_n_are_asked_about() -> None:
    seen: list[int] = []
    done = stage(Fake(), top_n=3).run(request(texts=lambda n: seen.append(n) or ["x"] * n))
    assert seen == [3]
    assert done.order.tolist() == [2, 1, 0, 3, 4, 5]


def test_a_reranker_may_drop() -> None:
    done = stage(Fake(give=(None, 1.0, None, 3.0, None, 2.0))).run(request())
    assert done.order.tolist() == [3, 5, 1, 0, 2, 4]
    assert set(done.judged) == {1, 3, 5}


def test_what_it_had_no_time_for_keeps_its_place() -> None:
    done = stage(Timed()).run(request())
    assert done.order.tolist() == [2, 1, 0, 3, 4, 5]
    assert (done.outcome.reason, done.outcome.used, done.outcome.scored) == ("success.partial", True, 3)
    assert [(d.stage, d.reason) for d in done.degraded] == [("rerank", "partial")]


def test_bands_where_the_model_has_them() -> None:
    scores = (-7.0, -9.0, -11.0, -13.0, -20.0, -21.0)
    done = stage(Fake(give=scores, name="x/ms-marco-MiniLM-L-6-v2")).run(request())
    assert [done.judged[i].band for i in range(4)] == [Band.HIGHLY_RELEVANT, Band.RELEVANT, Band.WEAK, Band.IRRELEVANT]


# -- threshold


def test_a_threshold_leaves_out_what_scores_below_it_and_what_was_not_seen() -> None:
    reranker = Fake(give=(-9.0, -10.0, -10.1, None))
    done = stage(reranker, threshold=-10.0, top_n=4).run(request())
    assert done.order.tolist() == [0, 1]
    assert done.outcome.trimmed == 4


@pytest.mark.parametrize("reranker", [Timed(), Fake(error=RuntimeError("down"))])
def test_a_threshold_is_for_whole_answers_of_the_reranker_only(reranker: Fake) -> None:
    done = stage(reranker, threshold=100.0).run(request())
    assert len(done.order) == len(P) and done.outcome.trimmed == 0


def test_with_a_threshold_no_certainty_skips() -> None:
    sure = request(calibrated=np.array([1.0, 1.0, 0.0, 0.0]))
    assert stage(Fake()).run(sure).outcome.reason == "skip.certain"
    assert stage(Fake(), threshold=0.0).run(sure).outcome.reason == "success"


# -- it does not run


@each_row(
    ("changes", "reason", "degraded"),
    [
        ({"allowed": False}, "skip.plan", []),
        ({"calibrated": P[:2]}, "skip.few", []),
        ({"calibrated": np.array([1.0, 1.0, 0.0, 0.0])}, "skip.certain", []),
        ({"deadline": Deadline.after(0)}, "skip.budget", ["skip.budget"]),
    ],
)
def test_what_is_skipped_is_said_and_counted(changes: dict[str, Any], reason: str, degraded: list[str]) -> None:
    reranker = Fake()
    own = stage(reranker)
    for _ in range(3):
        own.run(request())
    done = own.run(request(**{"texts": lambda n: pytest.fail("no texts are needed"), **changes}))
    assert reranker.calls == 3
    assert (done.outcome.reason, done.outcome.used, done.outcome.duration_ms) == (reason, False, 0.0)
    assert done.outcome.pairs_saved == done.outcome.candidates == len(changes.get("calibrated", P))
    assert done.outcome.saved_ms == pytest.approx(done.outcome.candidates / 6)
    assert [d.reason for d in done.degraded] == degraded
    assert done.order.tolist() == list(range(done.outcome.candidates))


def test_no_candidates() -> None:
    done = stage(Fake()).run(request(calibrated=np.empty(0, dtype=np.float32)))
    assert done.outcome.reason == "skip.few" and len(done.order) == 0


def test_a_slow_reranker_is_off_but_tried_again_now_and_then() -> None:
    reranker = Fake(seconds=0.2)  # of 0.1
    own = stage(reranker)
    reasons = [own.run(request()).outcome.reason for _ in range(3 + 2 * PROBE_EVERY)]
    assert reasons[:3] == ["success"] * 3
    assert reasons.count("skip.slow") == 2 * (PROBE_EVERY - 1)
    reranker.seconds = 0.001
    reasons = [own.run(request()).outcome.reason for _ in range(2 * PROBE_EVERY)]
    assert reasons[PROBE_EVERY:] == ["success"] * PROBE_EVERY  # a probe found it fast


def test_slow_for_long_texts_is_not_slow_for_short_ones() -> None:
    reranker = Fake(seconds=0.09)
    own = stage(reranker)
    for _ in range(3):
        own.run(request())
    long = request(texts=lambda n: ["word " * 200] * n)
    assert own.run(long).outcome.reason == "skip.slow"
    assert own.run(request()).outcome.reason == "success"


def test_what_does_not_fit_into_the_time_left_is_skipped() -> None:
    reranker = Fake(seconds=0.09)
    own = stage(reranker)
    for _ in range(3):
        own.run(request())
    clock = lambda: 0.0  # noqa: E731
    assert own.run(request(deadline=Deadline.after(89, clock))).outcome.reason == "skip.budget"
    assert own.run(request(deadline=Deadline.after(91, clock))).outcome.reason == "success"


# -- it fails


def test_an_error_leaves_the_order_and_is_named() -> None:
    done = stage(Fake(error=RuntimeError("down"))).run(request())
    assert untouched(done) and done.outcome.reason == "failure.error"
    (degradation,) = done.degraded
    assert (degradation.stage, degradation.reason) == ("rerank", "rerank_error")
    assert "RuntimeError: down" in degradation.detail


@each_row("give", [(math.nan,) * 6, (1.0,), ("high",) * 6])
def test_scores_that_are_none_are_an_error(give: Any) -> None:
    done = stage(Fake(give=give)).run(request())
    assert untouched(done) and done.outcome.reason == "failure.error"


def test_texts_that_cannot_be_read_are_an_error_and_no_fault_of_the_reranker() -> None:
    def closed(n: int) -> list[str]:
        raise StoreClosed("closed")

    own = stage(Fake(), failures_max=1)
    done = own.run(request(texts=closed))
    assert untouched(done) and done.degraded[0].reason == "store_closed"
    assert own.run(request()).outcome.reason == "success"


def test_one_that_hangs_is_left_behind() -> None:
    done = stage(Fake(), Never(), budget_ms=5.0).run(request())
    assert untouched(done) and done.outcome.reason == "failure.timeout"
    assert [(d.stage, d.reason) for d in done.degraded] == [("rerank", "timeout")]


def test_one_that_scores_nothing_in_time_is_late_too() -> None:
    reranker = Timed()
    reranker.enough = 0
    done = stage(reranker).run(request())
    assert untouched(done) and done.outcome.reason == "failure.timeout"


def test_several_failures_switch_it_off_for_a_while() -> None:
    reranker = Fake(error=RuntimeError("down"))
    own = stage(reranker)
    reasons = [own.run(request()).outcome.reason for _ in range(4)]
    assert reasons == ["failure.error"] * 3 + ["skip.breaker"]
    assert reranker.calls == 3
    reranker.error = None
    assert own.run(request()).degraded[0].reason == "skip.breaker"
    reranker.now += 60.1
    assert [own.run(request()).outcome.reason for _ in range(2)] == ["success"] * 2


def test_a_caller_who_left_is_no_failure() -> None:
    deadline = Deadline.after(None)

    class Leaving(AtOnce):
        left = False

        def submit(self, call: Callable[..., Any], *args: Any) -> Future[Any]:
            if self.left:
                return super().submit(call, *args)
            self.left = True
            deadline.cancel()
            return Future()

    own = stage(Fake(), Leaving(), failures_max=1)
    done = own.run(request(deadline=deadline))
    assert untouched(done) and done.outcome.reason == "skip.budget" and not done.degraded
    assert own.run(request()).outcome.reason == "success"


def test_when_too_many_calls_hang_none_begins() -> None:
    class Full(AtOnce):
        def submit(self, call: Callable[..., Any], *args: Any) -> Future[Any]:
            future: Future[Any] = Future()
            future.set_exception(Busy("8 calls of rerank are under way."))
            return future

    done = stage(Fake(), Full()).run(request())
    assert untouched(done) and done.outcome.reason == "skip.busy"
    assert [d.reason for d in done.degraded] == ["skip.busy"]


# -- loading


def test_a_cold_model_is_loaded_beside_and_the_recall_goes_on() -> None:
    reranker = Heavy()
    own = stage(reranker)
    done = own.run(request())
    assert untouched(done) and done.outcome.reason == "skip.cold"
    assert [d.reason for d in done.degraded] == ["skip.cold"]
    assert own.run(request()).outcome.reason == "success"


def test_a_plan_without_rerank_loads_nothing() -> None:
    reranker = Heavy()
    stage(reranker).run(request(allowed=False))
    assert not reranker.ready


def test_a_model_that_cannot_be_loaded_is_named_and_given_up_for_a_while() -> None:
    reranker = Heavy()
    reranker.broken = True
    own = stage(reranker, failures_max=2)
    done = [own.run(request()) for _ in range(5)]
    assert [d.outcome.reason for d in done] == [
        "skip.cold",
        "failure.load",
        "skip.cold",
        "failure.load",
        "skip.breaker",
    ]
    assert "no such model" in done[1].degraded[0].detail
    reranker.broken, reranker.now = False, 61.0
    assert [own.run(request()).outcome.reason for _ in range(2)] == ["skip.cold", "success"]


def test_warming_up() -> None:
    reranker = Heavy()
    own = stage(reranker)
    future = own.warm()
    assert future is not None and reranker.ready
    assert own.warm() is None and stage(Fake()).warm() is None
    assert own.run(request()).outcome.reason == "success"


@each_row("bad", [{"top_n": 0}, {"threshold": math.nan}, {"threshold": math.inf}])
def test_settings_out_of_range(bad: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"rerank\."):
        RerankConfig(**bad)


def test_a_scope_is_not_told_by_the_recalls_of_another() -> None:
    given = np.array([0.5, 0.2, 0.1, 0.1, 0.05, 0.05])
    contrary = Fake(give=(0.0, 0.0, 0.0, 0.0, 0.0, 1.0))

    def order(shared: RerankStage) -> list[int]:
        return shared.run(request(calibrated=given, scope=1)).order.tolist()

    alone, shared = stage(contrary), stage(contrary)
    for _ in range(50):
        shared.run(request(calibrated=given, scope=2))
    assert order(shared) == order(alone)
    assert shared.run(request(calibrated=given, scope=2)).order.tolist() != order(alone)
