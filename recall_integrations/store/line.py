"""The line in which threads of a process wait to write: the first in it writes for those behind it, too.

    thread 1   lock ─▶ own write ─▶ on disk
    thread 2           waits ──────────────▶ lock ─▶ its own, and those of 3 and 4, in one transaction ─▶ on disk
    thread 3             waits ─────────────────────────────────────────────────────────────────────────▶ done
    thread 4               waits ───────────────────────────────────────────────────────────────────────▶ done

A turn to write costs round trips to the server and a wait for the disk, however much is written in it. No thread waits
so that others may come: a thread that finds the line empty writes at once.
"""

from __future__ import annotations

import copy
import threading
from collections import deque
from collections.abc import Callable, Hashable, Sequence, Set
from typing import Generic, Protocol, TypeVar, cast


class Request(Protocol):
    """A write in the line."""

    @property
    def needs(self) -> Set[Hashable]:
        """Keys that no earlier write of the same transaction may leave."""

    @property
    def leaves(self) -> Set[Hashable]:
        """Keys that later writes may need."""


R = TypeVar("R", bound=Request)
A = TypeVar("A")

MOST = 64  # writes of one transaction: the last one waits for all of them


class Asked(Generic[R, A]):
    """A write that stands in the line."""

    __slots__ = ("alone", "answer", "changed", "error", "in_company", "over", "request", "taken")

    def __init__(self, request: R, *, alone: bool) -> None:
        self.request, self.alone = request, alone
        self.taken: list[Asked[R, A]] = []
        self.changed = threading.Event()
        self.over = self.in_company = False
        self.answer: A | None = None
        self.error: BaseException | None = None

    def is_done(self, answer: A) -> None:
        """Note the result of the write."""
        self.answer = answer

    def has_failed(self, error: BaseException, *, in_company: bool = False) -> None:
        """Note the failure of the write, which may be on disk all the same."""
        self.answer, self.error, self.in_company = None, error, in_company

    @property
    def tried(self) -> bool:
        """True if the write was done, or failed."""
        return self.answer is not None or self.error is not None


class Company(Exception):
    """A write failed together with others. Its cause is the error; by itself it may well work."""


class Line(Generic[R, A]):
    """Threads that wait to write, in the order in which they came."""

    def __init__(self, lead: Callable[[Callable[[], Sequence[Asked[R, A]]]], None], most: int = MOST) -> None:
        self._lead, self._most = lead, most
        self._lock = threading.RLock()  # a handler of a signal may write, wherever its thread is
        self._waiting: deque[Asked[R, A]] = deque()
        self._leader: Asked[R, A] | None = None
        self._threads: set[int] = set()

    @property
    def has_me(self) -> bool:
        """True if this thread stands in the line: its writes meanwhile (in a handler of a signal) must not wait."""
        return threading.get_ident() in self._threads

    def ask(self, request: R, *, alone: bool = False) -> A:
        """Write, by this thread or another one, and return the result."""
        me: Asked[R, A] = Asked(request, alone=alone)
        try:
            with self._lock:
                self._threads.add(threading.get_ident())
                self._waiting.append(me)
                if self._leader is None:
                    self._leader = me
            while not me.over:
                if self._leader is me:
                    self._led(me)
                else:
                    me.changed.wait()
                    me.changed.clear()
        finally:
            try:
                self._leave(me)
            except BaseException:  # an interrupt may come at any place
                self._leave(me)
                raise
        if me.error is None:
            return cast(A, me.answer)
        if me.in_company:
            raise Company from me.error
        raise me.error

    def _led(self, me: Asked[R, A]) -> None:
        """Do all the writes that are taken."""
        try:
            self._lead(lambda: self._taken(me))
        except Exception as e:  # noqa: BLE001 - handed to those whose it is
            together = len(me.taken) > 1
            for one in me.taken or [me]:  # none is known to be on disk
                if one.error is None:
                    one.has_failed(e if one is me else _copied(e), in_company=together)
        except BaseException:  # an interrupt: the other threads repeat their writes
            for one in me.taken:
                one.answer = None
            raise
        finally:
            self._leave(me)

    def _taken(self, me: Asked[R, A]) -> Sequence[Asked[R, A]]:
        """Take the writes that go together now; called once a turn."""
        left: set[Hashable] = set()
        with self._lock:
            while self._waiting and len(me.taken) < self._most:
                one = self._waiting[0]
                if me.taken and (one.alone or me.alone or not left.isdisjoint(one.request.needs)):
                    break
                if not one.alone:
                    left |= one.request.leaves
                me.taken.append(one)
                self._waiting.popleft()
        return tuple(me.taken)

    def _leave(self, me: Asked[R, A]) -> None:
        """Stop leading. Tried writes are over; the others return to their places. Leaving twice is harmless."""
        with self._lock:
            self._threads.discard(threading.get_ident())
            me.over = True
            for one in reversed(me.taken):
                if one is me:
                    continue
                if one.tried:
                    one.over = True
                elif one not in self._waiting:
                    self._waiting.appendleft(one)
                one.changed.set()
            me.taken = []
            if me in self._waiting:
                self._waiting.remove(me)
            if self._leader is me:
                self._leader = self._waiting[0] if self._waiting else None
                if self._leader is not None:
                    self._leader.changed.set()


def _copied(error: Exception) -> Exception:
    """Copy an error for another thread, which adds to its traceback."""
    try:
        made = copy.copy(error)
    except Exception:  # noqa: BLE001 - somebody else's, which cannot be made from its arguments
        return error
    made.__cause__, made.__context__ = error.__cause__, error.__context__
    return made
