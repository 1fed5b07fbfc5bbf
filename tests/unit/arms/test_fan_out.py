"""Arms that are told what to do, asked together."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from recall_integrations.arms.base import ArmRequest, ArmResult
from recall_integrations.arms.fan_out import FanOut, InMemory
from recall_integrations.errors import IndexUnavailable
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import Memory

Ask = Callable[..., ArmRequest]


class Told:
    def __init__(self, name: str, does: Callable[[], Any] = lambda: None) -> None:
        self.name, self._does = name, does
        self.threads: list[str] = []

    def search(self, _request: ArmRequest) -> ArmResult:
        self.threads.append(threading.current_thread().name)
        self._does()
        return ArmResult.empty(self.name, "told")


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2, thread_name_prefix="arm") as made:
        yield made


@pytest.fixture
def request_(store: MemoryStore, ask: Ask) -> ArmRequest:
    store.remember(Memory("one", id="a"))
    return ask(store, "x")


def raising(error: Exception) -> Callable[[], None]:
    def does() -> None:
        raise error

    return does


def test_results_come_in_the_order_asked_for_and_each_arm_is_timed(
    pool: ThreadPoolExecutor, request_: ArmRequest
) -> None:
    done = threading.Event()
    slow, quick = Told("slow", lambda: done.wait(10)), Told("quick", done.set)
    timings: dict[str, float] = {}
    fan = FanOut(pool, {"slow": lambda: slow, "quick": lambda: quick}, Deadline.after(60_000), timings)
    fan.start([("slow", request_), ("quick", request_)])
    results, degraded = fan.collect(["slow", "quick", "never asked"])
    assert [r.arm for r in results] == ["slow", "quick"] and degraded == []
    assert set(timings) == {"arm.slow", "arm.quick"}
    assert all(0 <= ms < 60_000 for ms in timings.values())


def test_what_is_in_memory_is_asked_without_a_thread(
    pool: ThreadPoolExecutor, request_: ArmRequest, store: MemoryStore, ask: Ask
) -> None:
    here, there = Told("here"), Told("there")
    made: dict[str, Any] = {"here": InMemory(lambda: here), "there": lambda: there}
    fan = FanOut(pool, made, Deadline.after(60_000), {})
    fan.start([("here", request_), ("there", request_)])
    assert [r.arm for r in fan.collect(["here", "there"])[0]] == ["here", "there"]
    assert here.threads == [threading.current_thread().name]
    assert there.threads[0].startswith("arm")
    far = ask(store, "x", scanned=False)  # vectors that are not in memory have to be searched
    fan = FanOut(pool, made, Deadline.after(60_000), {})
    fan.start([("here", far)])
    fan.collect(["here"])
    assert here.threads[1].startswith("arm")


@pytest.mark.parametrize("in_memory", [True, False])
@pytest.mark.parametrize(
    ("error", "reason"), [(ValueError("no"), "error"), (IndexUnavailable("no"), IndexUnavailable("no").code.lower())]
)
def test_an_arm_that_fails_is_named_and_timed(
    pool: ThreadPoolExecutor, request_: ArmRequest, error: Exception, reason: str, in_memory: bool
) -> None:
    def make() -> Any:
        return Told("bad", raising(error))

    made: dict[str, Any] = {"bad": InMemory(make) if in_memory else make, "good": lambda: Told("good")}
    timings: dict[str, float] = {}
    fan = FanOut(pool, made, Deadline.after(60_000), timings)
    fan.start([("bad", request_), ("good", request_)])
    results, degraded = fan.collect(["bad", "good"])
    assert [r.arm for r in results] == ["good"]
    assert [(d.stage, d.reason, d.detail) for d in degraded] == [("bad", reason, f"{type(error).__name__}: no")]
    assert set(timings) == {"arm.bad", "arm.good"}


@pytest.mark.parametrize("reason", ["timeout", "cancelled"])
def test_an_arm_that_is_late_is_left_behind(pool: ThreadPoolExecutor, request_: ArmRequest, reason: str) -> None:
    let_go = threading.Event()
    deadline = Deadline.after(50 if reason == "timeout" else 60_000)
    fan = FanOut(pool, {"late": lambda: Told("late", lambda: let_go.wait(30))}, deadline, {})
    fan.start([("late", request_)])
    if reason == "cancelled":
        deadline.cancel()
    results, degraded = fan.collect(["late"])
    let_go.set()
    assert results == [] and [(d.stage, d.reason) for d in degraded] == [("late", reason)]


def test_who_cancels_does_not_wait_for_an_arm_that_hangs(
    pool: ThreadPoolExecutor, request_: ArmRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No wait is longer than a twentieth of a second, however much time is left, so that a cancellation is seen."""
    let_go, deadline, waits = threading.Event(), Deadline.after(None), []

    def waited(pending: Any, *, timeout: float, return_when: str) -> Any:
        waits.append(timeout)
        if len(waits) == 3:
            deadline.cancel()
        return set(), pending

    monkeypatch.setattr("recall_integrations.arms.fan_out.wait", waited)
    fan = FanOut(pool, {"late": lambda: Told("late", lambda: let_go.wait(30))}, deadline, {})
    fan.start([("late", request_)])
    _, degraded = fan.collect(["late"])
    let_go.set()
    assert [d.reason for d in degraded] == ["cancelled"]
    assert len(waits) == 3 and max(waits) <= 0.05


def test_a_pool_that_is_shut_down_is_said(request_: ArmRequest) -> None:
    closed = ThreadPoolExecutor(1)
    closed.shutdown()
    fan = FanOut(closed, {"a": lambda: Told("a"), "b": InMemory(lambda: Told("b"))}, Deadline.after(1_000), {})
    fan.start([("a", request_), ("b", request_)])
    results, degraded = fan.collect(["a", "b"])
    assert [r.arm for r in results] == ["b"]
    assert [(d.stage, d.reason) for d in degraded] == [("a", "error")] and "shutdown" in degraded[0].detail
