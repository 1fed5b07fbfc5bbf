"""Arms that are told what to do, asked together."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from recall_integrations.arms.base import ArmRequest, ArmResult, FanOut, InMemory
from recall_integrations.errors import IndexUnavailable
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.resilience.guard import Guard
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import Memory

Ask = Callable[..., ArmRequest]
Guards = Callable[[str], Guard]


class Told:
    def __init__(self, name: str, does: Callable[[], Any] = lambda: None) -> None:
        self.name, self._does = name, does
        self.threads: list[str] = []

    def search(self, _request: ArmRequest) -> ArmResult:
        self.threads.append(threading.current_thread().name)
        self._does()
        return ArmResult.empty(self.name, "told")


@pytest.fixture
def guards() -> Guards:
    made: dict[str, Guard] = {}
    return lambda name: made.setdefault(name, Guard(f"arm.{name}"))


@pytest.fixture
def request_(store: MemoryStore, ask: Ask) -> ArmRequest:
    store.remember(Memory("one", id="a"))
    return ask(store, "x")


def raising(error: Exception) -> Callable[[], None]:
    def does() -> None:
        raise error

    return does


def test_results_come_in_the_order_asked_for_and_each_arm_is_timed(guards: Guards, request_: ArmRequest) -> None:
    done = threading.Event()
    slow, quick = Told("slow", lambda: done.wait(10)), Told("quick", done.set)
    timings: dict[str, float] = {}
    fan = FanOut(guards, {"slow": lambda: slow, "quick": lambda: quick}, Deadline.after(60_000), timings)
    fan.start([("slow", request_), ("quick", request_)])
    results, degraded = fan.collect(["slow", "quick", "never asked"])
    assert [r.arm for r in results] == ["slow", "quick"] and degraded == []
    assert set(timings) == {"arm.slow", "arm.quick"}
    assert all(0 <= ms < 60_000 for ms in timings.values())


def test_what_is_in_memory_is_asked_without_a_thread(
    guards: Guards, request_: ArmRequest, store: MemoryStore, ask: Ask
) -> None:
    here, there = Told("here"), Told("there")
    made: dict[str, Any] = {"here": InMemory(lambda: here), "there": lambda: there}
    fan = FanOut(guards, made, Deadline.after(60_000), {})
    fan.start([("here", request_), ("there", request_)])
    assert [r.arm for r in fan.collect(["here", "there"])[0]] == ["here", "there"]
    assert here.threads == [threading.current_thread().name]
    assert there.threads[0].startswith("recall-arm.there")
    far = ask(store, "x", scanned=False)  # vectors that are not in memory have to be searched
    fan = FanOut(guards, made, Deadline.after(60_000), {})
    fan.start([("here", far)])
    fan.collect(["here"])
    assert here.threads[1].startswith("recall-arm.here")


@pytest.mark.parametrize("in_memory", [True, False])
@pytest.mark.parametrize(
    ("error", "reason"), [(ValueError("no"), "error"), (IndexUnavailable("no"), IndexUnavailable("no").code.lower())]
)
def test_an_arm_that_fails_is_named_and_timed(
    guards: Guards, request_: ArmRequest, error: Exception, reason: str, in_memory: bool
) -> None:
    def make() -> Any:
        return Told("bad", raising(error))

    made: dict[str, Any] = {"bad": InMemory(make) if in_memory else make, "good": lambda: Told("good")}
    timings: dict[str, float] = {}
    fan = FanOut(guards, made, Deadline.after(60_000), timings)
    fan.start([("bad", request_), ("good", request_)])
    results, degraded = fan.collect(["bad", "good"])
    assert [r.arm for r in results] == ["good"]
    assert [(d.stage, d.reason, d.detail) for d in degraded] == [("bad", reason, f"{type(error).__name__}: no")]
    assert set(timings) == {"arm.bad", "arm.good"}


@pytest.mark.parametrize("reason", ["timeout", "cancelled"])
def test_an_arm_that_is_late_is_left_behind(guards: Guards, request_: ArmRequest, reason: str) -> None:
    let_go = threading.Event()
    deadline = Deadline.after(50 if reason == "timeout" else 60_000)
    fan = FanOut(guards, {"late": lambda: Told("late", lambda: let_go.wait(30))}, deadline, {})
    fan.start([("late", request_)])
    if reason == "cancelled":
        deadline.cancel()
    results, degraded = fan.collect(["late"])
    let_go.set()
    assert results == [] and [(d.stage, d.reason) for d in degraded] == [("late", reason)]


def test_an_arm_that_hangs_takes_no_thread_of_another(guards: Guards, request_: ArmRequest) -> None:
    let_go = threading.Event()
    made: dict[str, Any] = {"hung": lambda: Told("hung", lambda: let_go.wait(60)), "good": lambda: Told("good")}
    for _ in range(20):
        fan = FanOut(guards, made, Deadline.after(5), {})
        fan.start([("hung", request_)])
        fan.collect(["hung"])
    fan = FanOut(guards, made, Deadline.after(60_000), {})
    fan.start([("good", request_)])
    results, degraded = fan.collect(["good"])
    let_go.set()
    assert [r.arm for r in results] == ["good"] and degraded == []


def test_an_arm_that_fails_again_and_again_is_left_alone(guards: Guards, request_: ArmRequest) -> None:
    reasons = []
    for _ in range(4):
        fan = FanOut(guards, {"bad": lambda: Told("bad", raising(IndexUnavailable("no")))}, Deadline.after(60_000), {})
        fan.start([("bad", request_)])
        reasons += [d.reason for d in fan.collect(["bad"])[1]]
    assert reasons == ["index_unavailable"] * 3 + ["skip.breaker"]


def test_who_cancels_does_not_wait_for_an_arm_that_hangs(guards: Guards, request_: ArmRequest) -> None:
    let_go, deadline = threading.Event(), Deadline.after(None)
    fan = FanOut(guards, {"late": lambda: Told("late", lambda: let_go.wait(60))}, deadline, {})
    fan.start([("late", request_)])
    threading.Timer(0.02, deadline.cancel).start()
    _, degraded = fan.collect(["late"])
    hung = not let_go.is_set()
    let_go.set()
    assert hung and [d.reason for d in degraded] == ["cancelled"]
