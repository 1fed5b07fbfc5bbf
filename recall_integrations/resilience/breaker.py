"""Decides whether a component that failed lately is asked again.

    closed ── failures in a row ──▶ open ── after a pause ──▶ one trial ── it works ──▶ closed
                                     ▲                            └────── it fails ──▶ open

After Nygard, *Release It!* (2007). A breaker decides under its lock; the call is made outside of it. States are kept on
a shelf, which may be a file (`SharedFile`): then they survive the process, and processes of one store share them.
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from filelock import FileLock, Timeout
from pydantic import FiniteFloat, NonNegativeInt, ValidationError
from pydantic_core import to_json

from recall_integrations.config.checking import validated
from recall_integrations.records import record

T = TypeVar("T")
CACHE_FILE, CONTRACT_FILE = "rewrites.json", "rewriting.json"  # in the directory of a store
LOCK_SECONDS = 0.05  # seconds that a recall waits for another process, at most


class SharedFile(Generic[T]):
    """A value in a file, and in memory. Threads share it. `kind` is its type, by which the file is checked.

    Where the file cannot be read or written, the value of this process goes on to count; `trouble` says why. Without a
    path it is in memory only.
    """

    def __init__(self, path: Path | None, kind: Any, *, nothing: Callable[[], T]) -> None:
        self._path, self._kind, self._nothing = path, kind, nothing
        self._lock = threading.Lock()
        self._value = nothing()
        self._seen: tuple[int, int, int] | None = None
        self.trouble = ""

    def read(self) -> T:
        """Return the value as the file says now: costs one `stat`, microseconds. The caller must not change it."""
        with self._lock:
            self._refresh()
            return self._value

    def update(self, change: Callable[[T], T]) -> T:
        """Replace the value by what `change` makes of it, with nobody else in between; return the new one."""
        with self._lock:
            if self._path is None:
                self._value = change(self._value)
                return self._value
            try:
                if not self._path.parent.is_dir():  # the lock would make it
                    raise FileNotFoundError(f"{self._path.parent} is no directory.")
                with FileLock(f"{self._path}.lock", timeout=LOCK_SECONDS):
                    self._refresh()
                    self._write(self._path, change(self._value))
                    self.trouble = ""
            except (OSError, Timeout) as e:
                self.trouble = f"{type(e).__name__}: {e}"
                self._refresh()
                self._value = change(self._value)
            return self._value

    def _refresh(self) -> None:
        if self._path is None:
            return
        try:
            sign = _sign(self._path)
            if sign != self._seen:
                self._value = validated(self._kind).validate_json(self._path.read_bytes(), strict=True)
                self._seen = sign
        except FileNotFoundError:
            if self._seen is not None:  # somebody removed it: nothing is known
                self._value, self._seen = self._nothing(), None
        except OSError as e:
            self.trouble = f"{type(e).__name__}: {e}"
        except ValidationError as e:  # its own words quote the file
            self.trouble = f"It holds nothing of ours: {e.errors()[0]['msg']}."

    def _write(self, path: Path, value: T) -> None:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(to_json(value, indent=1))
            Path(temporary).replace(path)
        except OSError:
            Path(temporary).unlink(missing_ok=True)
            raise
        self._value, self._seen = value, _sign(path)


def _sign(path: Path) -> tuple[int, int, int]:
    """Return a signature that changes whenever the file is replaced."""
    found = path.stat()
    return found.st_mtime_ns, found.st_size, found.st_ino


BREAKERS_FILE = "breakers.json"  # in the directory of a store
FAILURES_MAX = 3
OPEN_SECONDS = 300.0
WHY_CHARS_MAX = 200


@record(frozen=True, slots=True, kw_only=True)
class BreakerState:
    """The state of a component's breaker."""

    failures: NonNegativeInt = 0  # number of failures in a row
    since: FiniteFloat = 0.0  # time of the last failure; seconds of the breaker's clock
    trial: FiniteFloat | None = None  # when the trial that is under way began; `None` = there is none
    why: str = ""  # cause of the last failure, in a word
    whose: str = ""  # number of the scope for which all of them happened; empty = of several, or not known


Change = Callable[[BreakerState], BreakerState]
States = dict[str, BreakerState]


class Shelf(SharedFile[States]):
    """Keeps the states of breakers in a JSON file that processes share; without a path in memory. Threads share it."""

    def __init__(self, path: Path | None = None) -> None:
        super().__init__(path, States, nothing=dict)

    def of(self, name: str) -> BreakerState:
        """Return the state of a component, as the file says now: costs one `stat`, microseconds."""
        return self.read().get(name, BreakerState())

    def change(self, name: str, change: Change) -> None:
        """Replace a state by what `change` makes of it, with nobody else in between."""

        def changed(states: States) -> States:
            others = {other: state for other, state in states.items() if other != name}
            state = change(states.get(name, BreakerState()))
            return others if state == BreakerState() else {**others, name: state}

        self.update(changed)


@record(frozen=True, slots=True)
class Pass:
    """A permission to make a call; with `trial` the call decides whether the component works again."""

    trial: bool = False


def _of_another(known: BreakerState, whose: str) -> bool:
    """Say whether all failures happened for one scope, and this is another."""
    return bool(known.whose and whose) and known.whose != whose


class Breaker:
    """Decides whether one component is called. Threads and, through its shelf, processes share it."""

    def __init__(
        self,
        name: str,
        *,
        failures_max: int = FAILURES_MAX,  # in a row
        open_s: float = OPEN_SECONDS,  # until a trial; also how long one is waited for that never reports back
        clock: Callable[[], float] = time.time,  # that processes agree on; if it jumps back, the pause starts again
        shelf: Shelf | None = None,
    ) -> None:
        self.name = name
        self._failures_max, self._open_s = failures_max, open_s
        self._clock = clock
        self._shelf = shelf or Shelf()

    @property
    def state(self) -> str:
        """`closed`; `open`: no call is let through; `half_open`: the next call, or the one under way, decides."""
        known = self.known
        if known.failures < self._failures_max:
            return "closed"
        return "half_open" if known.trial is not None or self._left(known) <= 0 else "open"

    @property
    def known(self) -> BreakerState:
        return self._shelf.of(self.name)

    def refuses(self, whose: str = "") -> bool:
        """Say whether a call for a scope would be refused now."""
        known = self.known
        if known.failures < self._failures_max or _of_another(known, whose):
            return False
        if self._began(known) > self._clock():
            self._shelf.change(self.name, self._put_back)
            known = self.known
        return self._left(known) > 0

    def _put_back(self, known: BreakerState) -> BreakerState:
        """Return a state whose pause begins now, if the clock was put back."""
        now = self._clock()
        if self._began(known) <= now:
            return known
        return replace(known, since=now, trial=None if known.trial is None else now)

    @property
    def left_s(self) -> float:
        """Seconds until a trial may be made; 0 if one may be made now."""
        known = self.known
        return max(0.0, self._left(known)) if known.failures >= self._failures_max else 0.0

    def enter(self, whose: str = "") -> Pass | None:
        """Return a pass if a call for a scope may be made now.

        After the pause only the first call gets one, until it reports. What failed for one scope alone may be due to
        its inputs: a call for another scope is a trial at once, and tells.
        """
        known = self.known
        if known.failures < self._failures_max:
            return Pass()
        if _of_another(known, whose):
            return Pass(trial=True)
        granted: list[Pass] = []

        def admit(known: BreakerState) -> BreakerState:
            granted.clear()
            if known.failures < self._failures_max:
                granted.append(Pass())
                return known
            now = self._clock()
            if self._began(known) > now:
                return self._put_back(known)
            if now - self._began(known) < self._open_s:
                return known
            granted.append(Pass(trial=True))
            return replace(known, trial=now)

        self._shelf.change(self.name, admit)
        return granted[0] if granted else None

    def succeeded(self, given: Pass) -> None:
        """Note that the call worked. While the breaker is open, only its trial closes it."""
        if self.known.failures:
            self._shelf.change(self.name, lambda known: BreakerState() if self._decides(given, known) else known)

    def failed(self, given: Pass, why: str = "", whose: str = "") -> None:
        """Note that the call failed, gave nothing or did not return in time; `whose`: for which scope."""

        def count(known: BreakerState) -> BreakerState:
            if not self._decides(given, known):
                return known
            failures = min(known.failures + 1, self._failures_max)
            alone = whose if known.failures == 0 or known.whose == whose else ""
            return BreakerState(failures=failures, since=self._clock(), why=why[:WHY_CHARS_MAX], whose=alone)

        self._shelf.change(self.name, count)

    def released(self, given: Pass) -> None:
        """Note that nobody waited for the call, which says nothing of the component. The next call makes the trial."""
        if given.trial:
            self._shelf.change(self.name, lambda known: replace(known, trial=None))

    def _decides(self, given: Pass, known: BreakerState) -> bool:
        return given.trial or known.failures < self._failures_max

    def _began(self, known: BreakerState) -> float:
        return known.since if known.trial is None else known.trial

    def _left(self, known: BreakerState) -> float:
        """Return the seconds until the next trial."""
        return self._open_s - max(0.0, self._clock() - self._began(known))
