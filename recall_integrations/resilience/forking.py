"""Keeps a forked child from releasing objects whose threads exist in its parent only.

Chroma's core joins its threads when it is released, as happens when an interpreter ends. In a forked child those
threads do not exist, and it would wait for them for ever.
"""

from __future__ import annotations

import ctypes
import os
import weakref
from typing import Protocol


class Parked(Protocol):
    """An owner of such objects. A child calls `park`, which returns those that must never be released."""

    def park(self) -> list[object]: ...


_owners: weakref.WeakSet[Parked] = weakref.WeakSet()


def park_in_children(owner: Parked) -> None:
    """Keep in every forked child, from now on, what `owner.park()` returns alive until the process is gone."""
    _owners.add(owner)


_forks: list[None] = []


def depth() -> int:
    """Return the forks between this process and the one that loaded this. The process's id would be a system call."""
    return len(_forks)


def _park() -> None:
    _forks.append(None)
    for owner in list(_owners):
        for thing in owner.park():
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_park)
