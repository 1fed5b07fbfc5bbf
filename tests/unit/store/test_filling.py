"""The thread that fills: when it begins, when it ends, who waits for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from recall_integrations.store import filling
from recall_integrations.store.filling import Filling


class Work:
    """So many steps; each may be let wait."""

    def __init__(self, left: int = 0) -> None:
        self.left, self.done = left, 0
        self.error: BaseException | None = None
        self.errors: list[BaseException] = []
        self.free = threading.Event()
        self.free.set()
        self.entered = threading.Event()
        self.filling = Filling(self.step, self.errors.append)

    def step(self) -> bool:
        self.entered.set()
        self.free.wait(20)
        if self.error is not None:
            raise self.error
        if self.left:
            self.left, self.done = self.left - 1, self.done + 1
        return self.left > 0


@pytest.fixture
def work() -> Iterator[Work]:
    made = Work()
    yield made
    made.free.set()
    assert made.filling.stop(20)


def test_it_works_until_nothing_is_left(work: Work) -> None:
    work.left = 5
    assert work.filling.settle(20)
    assert (work.left, work.done) == (0, 5)
    work.left = 2
    work.filling.wake(urgent=True)
    assert work.filling.settle(20) and work.done == 7


def test_what_is_not_urgent_waits_for_quiet(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filling, "QUIET_S", 60.0)
    work.left = 3
    work.filling.wake()
    assert not work.entered.wait(0.05)
    work.filling.wake(urgent=True)
    assert work.entered.wait(20)
    monkeypatch.setattr(filling, "QUIET_S", 0.0)
    assert work.filling.settle(20) and work.done == 3


def test_a_failure_ends_it_until_it_is_woken_again(work: Work) -> None:
    work.left, work.error = 2, ValueError("no")
    assert work.filling.settle(20)
    assert work.errors == [work.error] and work.left == 2
    work.error = None
    assert work.filling.settle(20) and work.left == 0


def test_who_waits_does_so_no_longer_than_he_said(work: Work) -> None:
    work.left = 1
    work.free.clear()
    begun = time.monotonic()
    assert not work.filling.settle(0.05)
    assert time.monotonic() - begun < 10


def test_nothing_runs_while_it_is_held_and_it_goes_on_afterwards(work: Work) -> None:
    work.left = 2
    with work.filling.held():
        assert work.filling.halted
        work.filling.wake(urgent=True)
        assert not work.entered.wait(0.05)
    assert work.entered.wait(20)
    assert work.filling.settle(20) and work.done == 2


def test_holding_waits_for_the_step_under_way(work: Work) -> None:
    work.left = 3
    work.free.clear()
    work.filling.wake(urgent=True)
    assert work.entered.wait(20)
    threading.Timer(0.05, work.free.set).start()
    with work.filling.held():
        done = work.done
        assert done >= 1
        time.sleep(0.02)
        assert work.done == done
    assert work.filling.settle(20) and work.left == 0


def test_stopped_it_stays_so(work: Work) -> None:
    work.left = 2
    assert work.filling.stop(1)
    work.filling.wake(urgent=True)
    assert not work.filling.settle(1)
    assert work.done == 0


def test_a_step_that_hangs_is_left_behind(work: Work) -> None:
    work.free.clear()
    work.filling.wake(urgent=True)
    assert work.entered.wait(20)
    assert not work.filling.stop(0.05)


def test_the_thread_itself_may_stop_it() -> None:
    """A store that nobody holds is closed wherever Python notices that, also in this thread."""
    stopped: list[bool] = []
    made: list[Filling] = []

    def step() -> bool:
        stopped.append(made[0].stop(5))
        return True

    made.append(Filling(step, lambda _e: None))
    made[0].wake(urgent=True)
    assert made[0].stop(20) and stopped in ([True], [])
