"""Shows the progress of long work: a bar with rate and remaining time on a terminal, elsewhere a line now and then.

Everything goes to standard error. Work that is done before the first line would be due shows nothing.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress

Told = Callable[[str, int, "int | None"], None]
"""Called with what is being done, how much of it is done, and how much there is; `None` = nobody knows."""

FIRST_S, EVERY_S = 5.0, 10.0  # seconds until the first line is written, and from then to the next


@contextmanager
def telling(progress: bool | Told, *, stream: TextIO | None = None) -> Iterator[Told]:
    """Yield the function that long work tells of its progress."""
    if not isinstance(progress, bool):
        yield progress
        return
    if not progress:
        yield lambda _what, _done, _total: None
        return
    target = sys.stderr if stream is None else stream
    if target.isatty():
        with _bars(target) as bars:
            yield _Bars(bars)
    else:
        yield Lines(target)


@contextmanager
def counted(title: str, total: int | None, progress: bool | Told) -> Iterator[Callable[[int], None]]:
    """Yield a function to call with the number of items that were done since."""
    with telling(progress) as tell:
        done = 0
        tell(title, done, total)

        def advance(n: int) -> None:
            nonlocal done
            done += n
            tell(title, done, total)

        yield advance


class Lines:
    """Writes the progress of work in lines, some seconds apart."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._clock = stream, clock
        self._begun: dict[str, tuple[float, int]] = {}
        self._due: dict[str, float] = {}
        self._said: set[str] = set()

    def __call__(self, what: str, done: int, total: int | None) -> None:
        """Write a line if one is due; arguments as of `Told`."""
        now = self._clock()
        began, first = self._begun.setdefault(what, (now, done))
        over = what in self._said and total is not None and done >= total
        if now < self._due.setdefault(what, began + FIRST_S) and not over:
            return
        self._due[what] = now + EVERY_S
        (self._said.discard if over else self._said.add)(what)
        print(line(what, done, total, now - began, first), file=self._stream, flush=True)


def line(what: str, done: int, total: int | None, seconds: float, first: int = 0) -> str:
    """Write progress in words: "Importing: 12,000 of 100,000 (12 %), 850 a second, 1:43 left"."""
    said = f"{done:,}" if total is None else f"{done:,} of {total:,}"
    if total:
        said += f" ({100 * min(done, total) // total} %)"
    rate = (done - first) / seconds if seconds > 0 else 0.0
    if rate > 0:
        said += f", {rate_words(rate)}"
        if total is not None and done < total:
            said += f", {clock_words((total - done) / rate)} left"
    return f"{what}: {said}"


def rate_words(rate: float) -> str:
    """Write a rate a second, with as many digits as say something."""
    return (
        f"{rate:,.0f} a second" if rate >= 10 else f"{rate:.2g} a second" if rate >= 0.1 else f"{1 / rate:.0f} s each"
    )


def clock_words(seconds: float) -> str:
    """Write a time as a clock shows it: "1:43", "2:01:05"."""
    minutes, rest = divmod(round(min(seconds, 1e9)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class _Bars:
    """Shows a bar for each work on a terminal."""

    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._tasks: dict[str, Any] = {}

    def __call__(self, what: str, done: int, total: int | None) -> None:
        if what not in self._tasks:
            self._tasks[what] = self._bars.add_task(what, total=total, rate="")
        number = self._tasks[what]
        self._bars.update(number, completed=done, total=total)
        task = next(task for task in self._bars.tasks if task.id == number)
        rate = task.finished_speed or task.speed
        self._bars.update(number, rate=rate_words(rate) if rate else "")


def _bars(stream: TextIO) -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    rate = TextColumn("{task.fields[rate]}", style="progress.data.speed")
    what = TextColumn("{task.description}", markup=False)
    columns = (what, BarColumn(), MofNCompleteColumn(), rate, TimeRemainingColumn())
    return Progress(*columns, console=Console(file=stream), transient=False)
