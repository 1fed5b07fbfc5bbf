"""Ctrl-C, or the end that a service manager asks for, at a moment of the command's own choosing."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def deferred_interrupt() -> Iterator[Callable[[], None]]:
    """Hold the first Ctrl-C in the block until the yielded function is called, which raises; a second acts at once.

    The store would survive either, but a statement that is cut off makes the database driver complain aloud. Does
    nothing outside the main thread, or where Ctrl-C does something else than Python's default.
    """
    default = signal.default_int_handler
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is not default:
        yield lambda: None
        return
    pressed = False

    def remember(_number: int, _frame: FrameType | None) -> None:
        nonlocal pressed
        pressed = True
        signal.signal(signal.SIGINT, default)

    def check() -> None:
        if pressed:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, remember)
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, default)
