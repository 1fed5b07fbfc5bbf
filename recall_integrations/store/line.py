"""The line in which threads of a process wait to write: who is first in it writes for those behind it, too.

    thread 1   lock ─▶ own write ─▶ on disk
    thread 2           waits ──────────────▶ lock ─▶ its own, and those of 3 and 4, in one transaction ─▶ on disk
    thread 3             waits ─────────────────────────────────────────────────────────────────────────▶ done
    thread 4               waits ───────────────────────────────────────────────────────────────────────▶ done

A turn to write costs ways to the server and a wait for the disk, however much is written in it. Nobody waits so that
others may come: who finds nobody writes at once.
"""

from __future__ import annotations

import copy
import threading
from collections import deque
from collections.abc import Callable, Hashable, Sequence, Set
from typing import Generic, Protocol, TypeVar, cast


class Request(Protocol):
    """What is to be written."""

    @property
    def needs(self) -> Set[Hashable]:
        """What none of those that it goes with, and that came before it, may leave."""

    @property
    def leaves(self) -> Set[Hashable]:
        """What others may need."""


R = TypeVar("R", bound=Request)
A = TypeVar("A")

MOST = 64  # writes of one transaction: the last one waits for all of them


class Asked(Generic[R, A]):
    """A write that stands in the line.

    Args:
        request: what is to be written.
        alone: whether it goes with no other.

    Attributes:
        taken: those that its thread writes for.
        changed: its thread has something to look at.
        over: it is written, or is not going to be.
        answer: what came of it, once it is written.
        error: why it is not.
        in_company: whether it failed with others, and may work by itself.
    """

    __slots__ = ("alone", "answer", "changed", "error", "in_company", "over", "request", "taken")

    def __init__(self, request: R, *, alone: bool) -> None:
        self.request, self.alone = request, alone
        self.taken: list[Asked[R, A]] = []
        self.changed = threading.Event()
        self.over = self.in_company = False
        self.answer: A | None = None
        self.error: BaseException | None = None

    def is_done(self, answer: A) -> None:
        """It is written."""
        self.answer = answer

    def has_failed(self, error: BaseException, *, in_company: bool = False) -> None:
        """It is not, or nobody knows whether it is."""
        self.answer, self.error, self.in_company = None, error, in_company

    @property
    def tried(self) -> bool:
        """Whether it was written, or could not be."""
        return self.answer is not None or self.error is not None


class Company(Exception):
    """A write failed together with others. Its cause is what went wrong; by itself it may well work."""


class Line(Generic[R, A]):
    """Threads stand in it in the order in which they came.

    Args:
        lead: takes the turn to write, then those whose turn it is (it is given what does that and returns them in
            order, its own first), writes them, and says of each what came of it.
        most: writes that are done together.
    """

    def __init__(self, lead: Callable[[Callable[[], Sequence[Asked[R, A]]]], None], most: int = MOST) -> None:
        self._lead, self._most = lead, most
        self._lock = threading.RLock()  # a handler of a signal may write, wherever its thread is
        self._waiting: deque[Asked[R, A]] = deque()
        self._leader: Asked[R, A] | None = None
        self._threads: set[int] = set()

    @property
    def has_me(self) -> bool:
        """Whether this thread stands in it: what it asks for meanwhile (a handler of a signal may) is not to wait."""
        return threading.get_ident() in self._threads

    def ask(self, request: R, *, alone: bool = False) -> A:
        """What comes of a write, which this thread or another one does.

        Args:
            request: what `lead` understands.
            alone: whether it goes with no other.

        Raises:
            Company: it failed together with others.
        """
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
        """Write for all that are taken."""
        try:
            self._lead(lambda: self._taken(me))
        except Exception as e:  # noqa: BLE001 - handed to those whose it is
            together = len(me.taken) > 1
            for one in me.taken or [me]:  # of none is it known then whether it is on disk
                if one.error is None:
                    one.has_failed(e if one is me else _copied(e), in_company=together)
        except BaseException:  # an interrupt: others write what is theirs once more
            for one in me.taken:
                one.answer = None
            raise
        finally:
            self._leave(me)

    def _taken(self, me: Asked[R, A]) -> Sequence[Asked[R, A]]:
        """Those that go together now; once."""
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
        """Lead no more. What was tried is over; what was not stands where it stood. Leaving twice is harmless."""
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
    """An error for another thread, which adds to its traceback."""
    try:
        made = copy.copy(error)
    except Exception:  # noqa: BLE001 - somebody else's, which cannot be made from its arguments
        return error
    made.__cause__, made.__context__ = error.__cause__, error.__context__
    return made
