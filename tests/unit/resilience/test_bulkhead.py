from __future__ import annotations

import contextvars
import subprocess
import sys
import threading

import pytest

from recall_integrations.resilience.guard import Bulkhead, Busy
from tests.rows import each_row


def test_result_and_exception() -> None:
    threads = Bulkhead("t", 2)
    assert threads.submit(lambda x: x + 1, 1).result(5) == 2
    with pytest.raises(ZeroDivisionError):
        threads.submit(lambda: 1 / 0).result(5)


@each_row("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()])
def test_what_ends_a_thread_does_not_end_the_process(error: BaseException) -> None:
    def leaves() -> None:
        raise error

    assert Bulkhead("t").submit(leaves).exception(5) is error


def test_a_call_fails_at_once_when_all_places_are_taken() -> None:
    threads, release = Bulkhead("t", 1), threading.Event()
    first = threads.submit(release.wait)
    assert isinstance(threads.submit(lambda: 1).exception(5), Busy)
    release.set()
    assert first.result(5)
    assert threads.submit(lambda: 1).result(5) == 1  # its place was free before it was known to have ended


def test_a_call_that_is_given_up_frees_its_place_and_counts_as_hanging_until_it_returns() -> None:
    threads, release = Bulkhead("t", 1, hanging_max=1), threading.Event()
    hung = [threads.submit(release.wait)]
    threads.give_up(hung[0])
    threads.give_up(hung[0])
    assert (threads.active, threads.hanging) == (0, 1)
    hung.append(threads.submit(release.wait))
    threads.give_up(hung[1])
    assert (threads.active, threads.hanging) == (0, 2)
    refused = threads.submit(lambda: 1).exception(5)
    assert isinstance(refused, Busy) and str(refused) == "2 calls of t have not returned."
    release.set()
    assert all(future.result(5) for future in hung)
    assert threads.submit(lambda: 1).result(5) == 1
    assert (threads.active, threads.hanging) == (0, 0)


def test_giving_up_what_has_ended_changes_nothing() -> None:
    threads = Bulkhead("t", 1)
    future = threads.submit(lambda: 1)
    assert future.result(5) == 1
    threads.give_up(future)
    assert (threads.active, threads.hanging) == (0, 0)


def test_threads_are_used_again() -> None:
    threads = Bulkhead("t", 1)
    names = set()
    for _ in range(50):
        names.add(threads.submit(threading.get_ident).result(5))
    assert len(names) < 50


def test_context_variables_go_along() -> None:
    seen: contextvars.ContextVar[str] = contextvars.ContextVar("seen", default="")
    seen.set("here")
    assert Bulkhead("t").submit(seen.get).result(5) == "here"


def test_many_callers_never_lose_a_place() -> None:
    threads = Bulkhead("t", 4)
    done: list[int] = []

    def calls() -> None:
        for i in range(50):
            future = threads.submit(lambda x: x, i)
            if i % 5 == 0:
                threads.give_up(future)
            elif not isinstance(future.exception(5), Busy):
                done.append(future.result())

    callers = [threading.Thread(target=calls) for _ in range(8)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(60)
    assert done
    waits = threading.Event()
    while (threads.active, threads.hanging) != (0, 0):
        assert not waits.wait(0.01)
    assert threads.submit(lambda: 1).result(5) == 1


def test_a_hung_call_does_not_hold_the_process() -> None:
    code = (
        "import time; from recall_integrations.resilience.guard import Bulkhead; Bulkhead('t').submit(time.sleep, 600)"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0
