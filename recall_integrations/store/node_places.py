"""The directory of a node, for derived data. A given directory stays; a temporary one is removed with the node.

A node that is killed removes nothing, so the next one that needs a temporary directory removes what such nodes left.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock, Timeout

from recall_integrations.store.directory import LOCK

PREFIX = "recall-node-"
YOUNG_S = 60.0  # a directory that was touched so lately may be one whose node has not locked it yet


def temporary(clock: Callable[[], float] = time.time) -> Path:
    """Make a new directory; remove those of nodes that were killed."""
    sweep(Path(tempfile.gettempdir()), clock())  # before: a new directory is locked only after it is made
    return Path(tempfile.mkdtemp(prefix=PREFIX))


def sweep(root: Path, now_s: float) -> list[Path]:
    """Remove temporary directories of this user that no node has any more; return them."""
    gone = [path for path in sorted(root.glob(f"{PREFIX}*")) if _is_left(path, now_s)]
    for path in gone:
        shutil.rmtree(path, ignore_errors=True)  # another node may remove it, too
    return gone


def _is_left(path: Path, now_s: float) -> bool:
    try:
        found = path.lstat()  # other users may have put a link there
        mine = not hasattr(os, "getuid") or found.st_uid == os.getuid()
        if not (mine and stat.S_ISDIR(found.st_mode) and now_s - found.st_mtime >= YOUNG_S):
            return False
        lock = FileLock(str(path / LOCK), thread_local=False)
        lock.acquire(timeout=0)
    except (OSError, Timeout):
        return False
    lock.release()
    return True
