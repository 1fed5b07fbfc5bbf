"""Tells caches of a scope whether the scope is unchanged.

    begin of a write ─▶ the scope's number rises, watchers drop what they cache of it
    end of a write   ─▶ the number may be relied on again

A cache reads the number before computing an answer, and stores the answer only if the number is the same
afterwards. While a write is under way there is none: a recall beside it may see half of it. There is none either when
a memory has ended and is still shown.
"""

from __future__ import annotations

import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from recall_integrations.types import Scope

Revision = tuple[int, int]


class Watcher(Protocol):
    """A cache of results computed from scopes."""

    def drop(self, scope: Scope | None) -> None:
        """Drop results computed from the scope; `None` = from any."""


def _never(_scope: Scope) -> bool:
    return False


class Revisions:
    """Revisions of scopes, in memory: reading one takes a microsecond. Each opening begins anew. Threads share it."""

    def __init__(self, ending: Callable[[Scope], bool] = _never) -> None:
        self._ending = ending
        self._lock = threading.Lock()
        self._numbers: Counter[Scope] = Counter()
        self._all = 0
        self._under_way: Counter[Scope | None] = Counter()
        self._watchers: weakref.WeakSet[Watcher] = weakref.WeakSet()

    def of(self, scope: Scope) -> Revision | None:
        """Return a value that changes with every write to the scope; `None` while one is under way."""
        with self._lock:
            under_way = self._under_way
            if under_way and (under_way.get(scope) or under_way.get(None)):
                return None
            found = self._all, self._numbers.get(scope, 0)
        return None if self._ending(scope) else found

    def watch(self, watcher: Watcher) -> None:
        """Tell a watcher of writes from now on. It is held weakly."""
        with self._lock:
            self._watchers.add(watcher)

    @contextmanager
    def writing(self, scope: Scope | None) -> Iterator[None]:
        """Mark a write, also one that may fail, from before it is visible until all of it is.

        `scope`: that is written to; `None` = all.
        """
        with self._lock:
            self._under_way[scope] += 1
            if scope is None:
                self._all += 1
            else:
                self._numbers[scope] += 1
            watchers = list(self._watchers)
        try:
            for watcher in watchers:  # without the lock: watchers ask for revisions under their own locks
                watcher.drop(scope)
            yield
        finally:
            with self._lock:
                self._under_way[scope] -= 1
                if not self._under_way[scope]:
                    del self._under_way[scope]
