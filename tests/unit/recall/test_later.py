"""Work that nobody waits for: all of it is done, in order, by one at a time."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading

import pytest

from recall_integrations.recall import looking
from recall_integrations.recall.looking import Later


def test_it_is_done_in_order_without_being_asked() -> None:
    work, done, seen = Later(), threading.Event(), []
    for i in range(100):
        work.add(lambda i=i: seen.append(i))
    work.add(done.set)
    assert done.wait(30)
    assert seen == list(range(100))


def test_flush_waits_for_what_is_being_done() -> None:
    work, began, go_on, seen = Later(), threading.Event(), threading.Event(), []

    def slow() -> None:
        began.set()
        go_on.wait(30)
        seen.append("slow")

    work.add(slow)
    assert began.wait(30)
    threading.Timer(0.05, go_on.set).start()
    work.flush()
    assert seen == ["slow"]


def test_the_thread_ends_and_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking, "PAUSE_SECONDS", 0.001)
    monkeypatch.setattr(looking, "ROUNDS_MAX", 3)
    work, threads = Later(), []
    for _ in range(3):
        done = threading.Event()
        work.add(lambda done=done: (threads.append(threading.current_thread()), done.set()))
        assert done.wait(30)
        threads[-1].join(30)
        assert not threads[-1].is_alive()
    assert len(set(threads)) == 3


def test_many_threads_lose_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking, "PAUSE_SECONDS", 0.0001)
    monkeypatch.setattr(looking, "ROUNDS_MAX", 1)
    work, seen = Later(), []

    def many() -> None:
        for i in range(2_000):
            work.add(lambda i=i: seen.append(i))

    threads = [threading.Thread(target=many) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    work.flush()
    assert sorted(seen) == sorted(list(range(2_000)) * 4)


def test_who_brings_too_much_does_it_himself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking, "PAUSE_SECONDS", 60)
    monkeypatch.setattr(looking, "WAITING_MAX", 10)
    work, seen = Later(), []
    for i in range(11):
        work.add(lambda i=i: seen.append(i))
    assert seen == list(range(11))


def test_a_call_may_bring_another_and_flush() -> None:
    work, seen = Later(), []

    def outer() -> None:
        work.add(lambda: seen.append("inner"))
        work.flush()
        seen.append("outer")

    work.add(outer)
    work.flush()
    assert seen == ["inner", "outer"]


def test_what_waits_is_done_when_it_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking, "PAUSE_SECONDS", 60)
    work, seen = Later(), []
    work.add(lambda: seen.append(1))
    del work
    gc.collect()
    assert seen == [1]


def test_what_waits_is_done_when_the_process_ends() -> None:
    code = """
from recall_integrations.recall import looking
looking.PAUSE_SECONDS = 60
work = looking.Later()
work.add(lambda: print("told", flush=True))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "told\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_forked_child_does_its_own_and_not_the_parents() -> None:
    code = """
import os, threading, time
from recall_integrations.recall import looking
looking.PAUSE_SECONDS = 0.2
work, go_on = looking.Later(), threading.Event()
work.add(lambda: go_on.wait(30))
time.sleep(0.5)                      # its thread is at it, and holds the lock
work.add(lambda: print("parent's", flush=True))
child = os.fork()
if child == 0:
    work.add(lambda: print("child's", flush=True))
    work.flush()
else:
    assert os.waitpid(child, 0)[1] == 0
    go_on.set()
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, sorted(done.stdout.split("\n"))) == (0, ["", "child's", "parent's"])
