"""The garbage collector while the package loads its modules: what is loaded stays, and there is nothing to collect."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident

_pauses: list[int] = []  # threads that will switch it on again


@contextmanager
def paused() -> Iterator[None]:
    """Without the collector, for a block that loads modules: beside large frameworks it looks through all that these
    hold, which takes longer than the loading. A collector that is off stays off.

    Where the block has loaded a module, what it made counts as old afterwards, and so does what else was young: the
    collector looks at it when it looks at everything, and not twice before. Threads may enter it at once: who found it
    on switches it on again. Not for blocks that work on data.
    """
    if not gc.isenabled():
        yield
        return
    _pauses.append(get_ident())
    loaded = len(sys.modules)
    gc.disable()
    try:
        yield
    finally:
        if len(sys.modules) != loaded:  # whether anybody has frozen anything is found by counting all of it
            _age()
        gc.enable()
        _pauses.remove(get_ident())


def _age() -> None:
    """Count everything as old, without looking at it: frozen and thawed at once, objects are among the oldest. Where
    somebody has frozen what is theirs, it stays so."""
    if hasattr(gc, "freeze") and not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()


def _go_on() -> None:
    """In a child that was forked meanwhile: only the thread that forked exists there to switch it on."""
    own = [thread for thread in _pauses if thread == get_ident()]
    if _pauses and not own:
        gc.enable()
    _pauses[:] = own


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_go_on)
