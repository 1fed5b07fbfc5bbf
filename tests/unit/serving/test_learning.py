"""The job of a server: when it learns, when it rests, and that it neither ends nor is in anybody's way."""

from __future__ import annotations

import logging
import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest

from recall_integrations.errors import StoreClosed, StoreError
from recall_integrations.serving.served import FREE, LATER_S, Learning
from tests.rows import each_row


class Optimizer:
    """Stands for one: learning takes some seconds of a clock that it turns."""

    def __init__(self, mode: str = "learned", due: bool = True, scopes: int = 1) -> None:
        self.config, self.is_due, self.scopes = SimpleNamespace(mode=mode), due, scopes
        self.now, self.took, self.learned = 0.0, 0.0, 0
        self.error: BaseException | None = None

    def clock(self) -> float:
        return self.now

    def learner(self) -> Any:
        return SimpleNamespace(due=lambda: self.is_due)

    def learn(self, _scope: Any = None, *, force: bool = False, progress: Any = None) -> tuple[str, ...]:
        for place in range(self.scopes):
            if progress is not None:
                progress(None, place, self.scopes)
            if self.error is not None:
                raise self.error
            self.learned += 1
            self.now += self.took
        return ("step",) * self.scopes


def job(optimizer: Any, every_s: float = 60.0) -> Learning:
    return Learning(optimizer, every_s=every_s, timer=optimizer.clock)


@each_row(("mode", "due", "learned"), [("learned", True, 1), ("learned", False, 0), ("rule", True, 0)])
def test_it_learns_where_the_mode_says_so_and_something_is_due(mode: str, due: bool, learned: int) -> None:
    optimizer = Optimizer(mode, due)
    assert job(optimizer).once() == 60.0 and optimizer.learned == learned


def test_after_a_long_run_it_leaves_recalls_alone_for_longer() -> None:
    optimizer = Optimizer()
    optimizer.took = 100.0
    assert job(optimizer).once() == FREE * 100.0


def test_what_raises_is_logged_without_its_words_and_tried_again_later(caplog: pytest.LogCaptureFixture) -> None:
    optimizer = Optimizer()
    optimizer.error = StoreError("the disk of priya@example.org is full")
    looks = job(optimizer)
    with caplog.at_level(logging.WARNING):
        waits = [looks.once() for _ in range(12)]
    assert waits[:3] == [120.0, 240.0, 480.0] and waits[-1] == LATER_S
    assert "disk" in caplog.text and "priya@example.org" not in caplog.text
    optimizer.error = None
    assert looks.once() == 60.0 and optimizer.learned == 1


def test_it_ends_between_two_scopes_when_the_server_does() -> None:
    optimizer = Optimizer(scopes=10_000)
    looks = job(optimizer, every_s=0.01)
    looks.start()
    looks.start()  # one thread, however often
    assert sum(thread.name == "recall-learning" for thread in threading.enumerate()) == 1
    end = time.monotonic() + 10
    while not optimizer.learned and time.monotonic() < end:
        time.sleep(0.005)
    looks.stop()
    assert not looks.runs and 0 < optimizer.learned < 10_000


def test_it_ends_with_the_store() -> None:
    optimizer = Optimizer()
    optimizer.error = StoreClosed("The store is closed.")
    looks = job(optimizer, every_s=0.001)
    looks.start()
    end = time.monotonic() + 10
    while looks.runs and time.monotonic() < end:
        time.sleep(0.005)
    assert not looks.runs
