"""What a pause of the collector leaves behind."""

from __future__ import annotations

import gc
import os
import subprocess
import sys

import pytest

from recall_integrations.collector import paused


def test_what_was_made_in_a_pause_is_old_and_is_collected_like_anything_old() -> None:
    code = """
import gc
from recall_integrations.collector import paused
gc.collect()
with paused():
    import colorsys
    made = [[] for _ in range(1_000)]
assert gc.isenabled() and gc.get_freeze_count() == 0
old = {id(found) for found in gc.get_objects(generation=2)}
assert sum(id(one) in old for one in made) > 990
made[0].append(made[0])  # a circle that nobody holds
del made[0]
assert gc.collect() >= 1
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_what_somebody_has_frozen_stays_frozen() -> None:
    code = """
import gc
from recall_integrations.collector import paused
gc.freeze()
count = gc.get_freeze_count()
with paused():
    import colorsys
assert gc.get_freeze_count() == count > 0
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_where_nothing_was_loaded_nobody_counts_what_is_frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gc, "get_freeze_count", lambda: pytest.fail("all that is frozen was counted"))
    with paused():
        pass


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_a_child_that_switches_it_off_keeps_it_off_in_its_own_children() -> None:
    code = """
import gc, os, threading
from recall_integrations.collector import paused
entered, ended = threading.Event(), threading.Event()
def pause():
    with paused():
        entered.set()
        ended.wait()
thread = threading.Thread(target=pause)
thread.start()
entered.wait()
child = os.fork()
if not child:
    on = gc.isenabled()
    gc.disable()
    grandchild = os.fork()
    if not grandchild:
        os._exit(gc.isenabled())
    os._exit(os.waitstatus_to_exitcode(os.waitpid(grandchild, 0)[1]) + 2 * (not on))
ended.set()
thread.join()
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
with paused():
    if not os.fork():
        os._exit(gc.isenabled())  # this thread goes on there, and switches it on itself
    assert os.waitstatus_to_exitcode(os.wait()[1]) == 0
assert gc.isenabled()
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=60)
