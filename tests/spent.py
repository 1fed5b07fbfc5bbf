"""What a call takes of a processor, by itself."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable


def seconds_of(call: Callable[[], object]) -> float:
    """Processor time of this thread for one call.

    Without what other threads of the process take meanwhile, and without the collection of garbage that other tests
    left: in a process that ran thousands of them that alone takes half a second.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        began = time.thread_time()
        call()
        return time.thread_time() - began
    finally:
        if collects:
            gc.enable()
