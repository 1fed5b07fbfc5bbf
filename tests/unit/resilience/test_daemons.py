from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from recall_integrations.resilience.daemons import Busy, DaemonThreads


def test_result_and_exception():
    threads = DaemonThreads(2, "t")
    assert threads.submit(lambda x: x + 1, 1).result(5) == 2
    with pytest.raises(ZeroDivisionError):
        threads.submit(lambda: 1 / 0).result(5)


def test_a_call_fails_at_once_when_all_threads_hang():
    threads, release = DaemonThreads(1, "t"), threading.Event()
    first = threads.submit(release.wait)
    with pytest.raises(Busy):
        threads.submit(lambda: 1).result(5)
    release.set()
    assert first.result(5)


def test_a_hung_call_does_not_hold_the_process():
    code = (
        "import time; from recall_integrations.resilience.daemons import DaemonThreads; "
        "DaemonThreads(1, 't').submit(time.sleep, 600)"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0
