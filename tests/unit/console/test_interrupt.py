from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from recall_integrations.console.commands.shared import deferred_interrupt


@pytest.fixture(autouse=True)
def _handler() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def press() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_the_first_waits_for_the_check() -> None:
    with deferred_interrupt() as check:
        check()
        press()
        with pytest.raises(KeyboardInterrupt):
            check()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_second_acts_at_once() -> None:
    with deferred_interrupt():
        press()
        with pytest.raises(KeyboardInterrupt):
            press()


def test_a_handler_of_somebody_else_stays() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with deferred_interrupt() as check:
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        press()
        check()


def test_other_threads_are_left_alone() -> None:
    finished = threading.Event()

    def work() -> None:
        with deferred_interrupt() as check:
            check()
        finished.set()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert finished.is_set()
