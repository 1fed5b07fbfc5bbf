"""Tells what was computed from a scope whether the scope is still what it was.

    begin of a write ─▶ the scope's number rises, watchers drop what they keep of it
    end of a write   ─▶ the number may be relied on again

Whoever keeps an answer reads the number before computing it, and keeps it only where the number is the same
afterwards. While a write is under way there is none: a recall beside it may see half of it. Neither is there one when
a memory has come to its end and that was not seen to yet.
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
    """Keeps what was computed from scopes."""

    def drop(self, scope: Scope | None) -> None:
        """Forget what was computed from the scope; `None` = from any."""


def _never(_scope: Scope) -> bool:
    return False


class Revisions:
    """In memory, so that asking costs a microsecond; they begin anew with each opening. Threads share it.

    Args:
        ending: whether something of a scope has ended that is still shown; takes no lock.
    """

    def __init__(self, ending: Callable[[Scope], bool] = _never) -> None:
        self._ending = ending
        self._lock = threading.Lock()
        self._numbers: Counter[Scope] = Counter()
        self._all = 0
        self._under_way: Counter[Scope | None] = Counter()
        self._watchers: weakref.WeakSet[Watcher] = weakref.WeakSet()

    def of(self, scope: Scope) -> Revision | None:
        """What changes with every write to the scope; `None` while one is under way."""
        with self._lock:
            under_way = self._under_way
            if under_way and (under_way.get(scope) or under_way.get(None)):
                return None
            found = self._all, self._numbers.get(scope, 0)
        return None if self._ending(scope) else found

    def watch(self, watcher: Watcher) -> None:
        """From now on it is told of writes. It is not kept alive by that."""
        with self._lock:
            self._watchers.add(watcher)

    @contextmanager
    def writing(self, scope: Scope | None) -> Iterator[None]:
        """Around a write, also one that may fail; from before it is seen until all of it is.

        Args:
            scope: what is written to; `None` = all of them.
        """
        with self._lock:
            self._under_way[scope] += 1
            if scope is None:
                self._all += 1
            else:
                self._numbers[scope] += 1
            watchers = list(self._watchers)
        try:
            for watcher in watchers:  # without the lock: they ask for numbers under locks of their own
                watcher.drop(scope)
            yield
        finally:
            with self._lock:
                self._under_way[scope] -= 1
                if not self._under_way[scope]:
                    del self._under_way[scope]
