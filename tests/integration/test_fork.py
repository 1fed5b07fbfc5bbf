"""A child forked from a process that has written ends like any other, and leaves the parent's store alone."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

CODE = """
import os, sys
from recall_integrations import MemoryStore
store = MemoryStore.open(sys.argv[1])
store.remember("before the fork")
child = os.fork()
if child == 0:
    sys.exit(0)  # the interpreter is finalised, as in a daemon or a preloaded server
_, status = os.waitpid(child, 0)
assert status == 0, status
store.remember("after the fork")
print(store.count())
store.close()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")
def test_a_forked_child_ends(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(tmp_path / "s")], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.strip() == "2", done.stderr
    assert "panicked" not in done.stderr
