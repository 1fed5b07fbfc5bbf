from __future__ import annotations

import gc
import math
import threading
import weakref

import pytest

from recall_integrations.errors import InvalidArgument
from recall_integrations.resilience.deadline import Deadline
from tests.rows import each_row


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_time_runs_out() -> None:
    clock = Clock()
    deadline = Deadline.after(250, clock)
    assert deadline.remaining() == pytest.approx(0.25)
    assert deadline.remaining_ms() == pytest.approx(250)
    assert not deadline.over
    clock.now += 0.25
    assert (deadline.remaining(), deadline.expired, deadline.over, deadline.cancelled) == (0.0, True, True, False)
    clock.now += 10
    assert deadline.remaining() == 0.0


def test_no_limit() -> None:
    deadline = Deadline.after(None)
    assert deadline.remaining() == math.inf
    assert not deadline.expired
    assert deadline.child(50).remaining() <= 0.05


def test_zero_is_over_at_once() -> None:
    assert Deadline.after(0).expired


@each_row(("ms", "left"), [(100, 0.1), (1_000, 0.5), (None, 0.5), (0, 0.0)])
def test_a_child_never_ends_after_its_parent(ms: float | None, left: float) -> None:
    assert Deadline.after(500, Clock()).child(ms).remaining() == pytest.approx(left)


def test_cancelling_reaches_all_generations_but_not_upwards() -> None:
    parent = Deadline.after(1_000)
    child = parent.child(500)
    grandchild, sibling = child.child(), parent.child()
    child.cancel()
    assert (parent.cancelled, child.cancelled, grandchild.cancelled, sibling.cancelled) == (False, True, True, False)
    parent.cancel()
    parent.cancel()
    assert sibling.cancelled
    assert parent.remaining() == 0.0
    assert not parent.expired


def test_a_child_of_a_cancelled_deadline_is_cancelled() -> None:
    parent = Deadline.after(1_000)
    parent.cancel()
    assert parent.child(10).cancelled


def test_cancellation_passes_through_a_generation_nobody_holds() -> None:
    parent = Deadline.after(1_000)
    grandchild = parent.child().child()
    gc.collect()
    parent.cancel()
    assert grandchild.cancelled


def test_finished_children_are_let_go() -> None:
    parent = Deadline.after(1_000)
    gone = weakref.ref(parent.child())
    gc.collect()
    assert gone() is None


def test_a_waiting_thread_wakes_when_the_parent_is_cancelled() -> None:
    parent = Deadline.after(60_000)
    child = parent.child()
    woke: list[bool] = []
    thread = threading.Thread(target=lambda: woke.append(child.wait(60)))
    thread.start()
    parent.cancel()
    thread.join(30)
    assert woke == [True] and not thread.is_alive()  # not after 60 seconds


def test_waiting_ends_with_the_deadline() -> None:
    assert Deadline.after(5).wait(60)
    assert not Deadline.after(60_000).wait(0.001)
    assert not Deadline.after(None).wait(0)


def test_children_made_while_cancelling_are_never_missed() -> None:
    for _ in range(50):
        parent = Deadline.after(60_000)
        made: list[Deadline] = []
        ready = threading.Barrier(3)

        def spawn(parent: Deadline = parent, made: list[Deadline] = made, ready: threading.Barrier = ready) -> None:
            ready.wait()
            made.extend(parent.child() for _ in range(20))

        threads = [threading.Thread(target=spawn) for _ in range(2)]
        for thread in threads:
            thread.start()
        ready.wait()
        parent.cancel()
        for thread in threads:
            thread.join()
        assert all(child.cancelled for child in made)


def test_a_long_chain_does_not_exhaust_the_stack() -> None:
    first = last = Deadline.after(1_000)
    for _ in range(5_000):
        last = last.child()
    first.cancel()
    assert last.cancelled


@each_row("ms", [-1, float("nan"), "5", True])
def test_what_is_no_time_limit_is_refused(ms: object) -> None:
    with pytest.raises(InvalidArgument):
        Deadline.after(ms)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument):
        Deadline.after(10).child(ms)  # type: ignore[arg-type]


def test_it_has_no_dict() -> None:
    assert not hasattr(Deadline.after(1), "__dict__")


def test_a_later_end_is_beyond_its_own_and_is_cancelled_with_it() -> None:
    now = [0.0]
    first = Deadline.after(1_000, clock=lambda: now[0])
    later = first.later(2.0)
    now[0] = 2.5
    assert first.over and later.remaining() == 0.5
    first.cancel()
    assert later.cancelled and later.over
