"""One guard for everything that a user brings: a language model, a reranker, an embedding, an extractor, an arm.

    breaker closed? ─ does it fit into the time? ─ a place free? ─▶ the call, in a thread, under its time limit
           └──────────────────── no ──────────────────┴──────────▶ an `Answer` that says why

Whatever the component does (raise, hang, give nothing, end the thread), the caller gets an `Answer` in time.

Each component has threads of its own (`Bulkhead`), so that none takes another's: a language model, a cross-encoder, a
remote embedding or an index may never return. `concurrent.futures` joins its threads when the interpreter ends, so one
hung call would hold the process for ever; these are daemons.
"""

from __future__ import annotations

import contextvars
import copy
import functools
import math
import queue
import threading
import time
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Generic, TypeVar

from tenacity import RetryCallState, Retrying

from recall_integrations.config import BreakerConfig
from recall_integrations.errors import RecallError, RecallTimeout
from recall_integrations.records import record
from recall_integrations.resilience.breaker import Breaker, Pass, Shelf
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.resilience.failures import AGAIN_S, for_whom, may_pass, of_the_input, policy, raised, sentences

T = TypeVar("T")
LIMIT = 8
HANGING_MAX = 32
IDLE_SECONDS = 60.0  # a thread without work ends after that


class Busy(RuntimeError):
    """The error that no further call may begin."""


@record(slots=True, eq=False)
class _Task:
    future: Future[Any]
    run: Callable[[], Callable[[], None]]
    given_up: bool = False


class Bulkhead:
    """Runs so many calls of one component at once, in daemon threads. Threads share it.

    A call that cannot begin fails at once instead of queueing behind calls that hang. A call that is given up
    (`give_up`) frees its place: it counts as hanging until it returns. While more than `hanging_max` hang, none begins.
    """

    def __init__(self, name: str, limit: int = LIMIT, hanging_max: int = HANGING_MAX) -> None:
        self.name = name
        self._limit, self._hanging_max = limit, hanging_max
        self._lock = threading.Lock()
        self._tasks: dict[Future[Any], _Task] = {}
        self._active = self._hanging = 0
        self._idle: list[queue.SimpleQueue[_Task]] = []

    @property
    def active(self) -> int:
        """Number of calls that somebody waits for."""
        with self._lock:
            return self._active

    @property
    def hanging(self) -> int:
        """Number of calls that were given up and have not returned."""
        with self._lock:
            return self._hanging

    def submit(self, call: Callable[..., T], *args: object) -> Future[T]:
        """Start the call; the future holds its result, whatever it raised, or `Busy`. Context variables go along."""
        future: Future[T] = Future()
        context = contextvars.copy_context()

        def run() -> Callable[[], None]:
            if not future.set_running_or_notify_cancel():
                return lambda: None
            try:
                result = context.run(call, *args)
            except BaseException as e:  # noqa: BLE001 - handed to whoever waits: `SystemExit` of a component, too
                return functools.partial(future.set_exception, e)
            return functools.partial(future.set_result, result)

        with self._lock:
            refused = self._refused()
            if refused is None:
                self._active += 1
                task = self._tasks[future] = _Task(future, run)
                worker = self._idle.pop() if self._idle else None
        if refused is not None:
            future.set_exception(Busy(refused))
        elif worker is not None:
            worker.put(task)
        else:
            self._start(task)
        return future

    def give_up(self, future: Future[Any]) -> None:
        """Note that nobody waits for this call any more: its place is free. A second time changes nothing."""
        future.cancel()  # if it has not begun
        with self._lock:
            task = self._tasks.get(future)
            if task is not None and not task.given_up:
                task.given_up = True
                self._active -= 1
                self._hanging += 1

    def _refused(self) -> str | None:
        if self._hanging > self._hanging_max:
            return f"{self._hanging} calls of {self.name} have not returned."
        if self._active >= self._limit:
            return f"{self._limit} calls of {self.name} are under way."
        return None

    def _start(self, task: _Task) -> None:
        try:
            inbox: queue.SimpleQueue[_Task] = queue.SimpleQueue()
            inbox.put(task)
            threading.Thread(target=self._work, args=(inbox,), name=f"recall-{self.name}", daemon=True).start()
        except RuntimeError as e:  # no thread can be started
            self._ended(task)
            task.future.set_exception(Busy(f"No thread can be started for {self.name}: {e}"))

    def _work(self, inbox: queue.SimpleQueue[_Task]) -> None:
        task = inbox.get()
        while True:
            tell = task.run()
            self._ended(task)  # its place is free before anybody knows that it ended
            tell()
            del tell, task  # an idle thread keeps nothing alive
            with self._lock:
                self._idle.append(inbox)
            try:
                task = inbox.get(timeout=IDLE_SECONDS)
            except queue.Empty:
                with self._lock:
                    if inbox in self._idle:
                        self._idle.remove(inbox)
                        return
                task = inbox.get()  # somebody has just taken this thread

    def _ended(self, task: _Task) -> None:
        with self._lock:
            del self._tasks[task.future]
            if task.given_up:
                self._hanging -= 1
            else:
                self._active -= 1


RUNS = 64  # recent runs that it goes by
RUNS_MIN = 3  # fewer say nothing: one may have been cold
PROBE_EVERY = 20  # refusals for slowness, so that at most one recall in 20 waits for a slow component in vain


@record(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Time that a call will take, by the recent ones, in milliseconds: median and 95th percentile."""

    median_ms: float
    p95_ms: float


class Window:
    """Numbers of the last while, kept in order, so that a quantile of them costs nothing. Not thread-safe."""

    __slots__ = ("_by_time", "_recent_s", "_runs", "_sorted")

    def __init__(self, recent_s: float = math.inf, runs: int = RUNS) -> None:
        self._recent_s, self._runs = recent_s, runs
        self._by_time: deque[tuple[float, float]] = deque()
        self._sorted: list[float] = []

    def add(self, now: float, value: float) -> None:
        """Add a number of this moment; moments come in order."""
        if len(self._by_time) >= self._runs:
            self._drop()
        self._by_time.append((now, value))
        insort(self._sorted, value)

    def sorted(self, now: float) -> Sequence[float]:
        """Return the numbers that count at a moment, smallest first."""
        while self._by_time and self._by_time[0][0] < now - self._recent_s:
            self._drop()
        return self._sorted

    def clear(self) -> None:
        self._by_time.clear()
        self._sorted.clear()

    def _drop(self) -> None:
        del self._sorted[bisect_left(self._sorted, self._by_time.popleft()[1])]


def median(rising: Sequence[float]) -> float:
    """Return the median of numbers in order."""
    half = len(rising) // 2
    return rising[half] if len(rising) % 2 else (rising[half - 1] + rising[half]) / 2


class Pace:
    """Milliseconds per unit of work of the recent runs, to estimate the next. Threads share it."""

    def __init__(self, recent_s: float = math.inf, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._rates, self._pieces = Window(recent_s), Window()
        self._refused = 0

    def record(self, ms: float, work: float = 1.0, pieces: int = 1, *, probe: bool = False) -> None:
        """Note a run that ended. A probe says how things are now, so that earlier runs are forgotten."""
        if work <= 0 or pieces <= 0:
            return
        with self._lock:
            if probe:
                self._rates.clear()
                self._pieces.clear()
            for _ in range(RUNS_MIN if probe else 1):
                self._rates.add(self._clock(), ms / work)
                self._pieces.add(0.0, ms / pieces)

    def estimate(self, work: float = 1.0) -> Estimate | None:
        """Return the estimate for this much work; `None` after fewer than three runs."""
        with self._lock:
            rates = self._rates.sorted(self._clock())
            if len(rates) < RUNS_MIN:
                return None
            high = rates[math.ceil(0.95 * (len(rates) - 1))]
            middle = median(rates)
        return Estimate(median_ms=work * middle, p95_ms=work * high)

    def low_ms(self) -> float | None:
        """Return the lower quartile of the milliseconds for one unit of work; `None` after fewer than three runs."""
        with self._lock:
            rates = self._rates.sorted(self._clock())
            return rates[(len(rates) - 1) // 4] if len(rates) >= RUNS_MIN else None

    def median_ms(self, pieces: int = 1) -> float | None:
        """Return the milliseconds that so many pieces of the usual size take; `None` after fewer than three runs."""
        with self._lock:
            known = self._pieces.sorted(0.0)
            return pieces * median(known) if len(known) >= RUNS_MIN else None

    def refused(self) -> bool:
        """Count a call that would be refused for its time; say whether to let it run all the same, as a probe."""
        with self._lock:
            self._refused += 1
            return self._refused % PROBE_EVERY == 0


FAIR_MS = 1_000.0  # a call that had less than this, and less than its whole limit, may be late and not have failed
FAIR_SHARE = 0.9  # share of these: some time was spent before the call began
LATE = 2.0  # a run that did not end in time is taken to need this many times the time it had
SUCCESS, EMPTY, TIMEOUT, ERROR, CANCELLED = "success", "empty", "timeout", "error", "cancelled"
NO_TIME, OPEN, BUSY = "skip.budget", "skip.breaker", "skip.busy"


@record(frozen=True, slots=True, kw_only=True)
class Answer(Generic[T]):
    """The outcome of a call."""

    # `success`; `empty`: it gave nothing that can be used; `timeout`; `error`: it raised; `cancelled`: nobody waited
    # any more; `skip.budget`: it does not fit into the time; `skip.breaker`: it failed several times in a row;
    # `skip.busy`: as many calls as may be are under way, or hang
    reason: str
    value: T | None = None  # the call's result; `None` but for `success` and `empty`
    detail: str = ""  # details for people
    error: BaseException | None = None  # error that it raised
    took_ms: float = 0.0  # milliseconds since it was begun; 0 if it was not
    told: str = ""  # of its tries, at the end of `detail`; empty where there was one alone

    @property
    def begun(self) -> bool:
        """True where the component was asked at all."""
        return not self.reason.startswith("skip.")

    @property
    def code(self) -> str:
        """The reason, for `degraded`: an error of our tree has a code of its own."""
        if self.reason == ERROR and isinstance(self.error, RecallError):
            return self.error.code.lower()
        return self.reason


@record(frozen=True, slots=True, kw_only=True)
class Health:
    """The health of a component."""

    component: str  # the component's name
    breaker: str  # `closed`, `open` or `half_open`
    failures: int  # number of failures in a row
    why: str  # cause of the last failure
    active: int  # number of calls under way
    hanging: int  # number of calls that were given up and have not returned
    median_ms: float | None  # median time of the recent calls; `None` = not known yet


@record(slots=True, eq=False)
class Call(Generic[T]):
    """A call that is under way. Its beginner calls `Guard.ended`; others may wait for `future`."""

    future: Future[T]
    given: Pass
    began: float
    limit: Deadline
    work: float
    pieces: int
    probe: bool
    fair: bool
    whose: str  # number of the scope that it is for; empty = not known
    failed: list[str]  # names of the errors after which it was tried again

    @property
    def told(self) -> str:
        """What to say of its tries, after what came of the last one; empty where there was one alone."""
        return f" Tried {len(self.failed) + 1} times, the first time: {self.failed[0]}." if self.failed else ""


class Guard:
    """Calls one component. Threads share it."""

    def __init__(
        self,
        name: str,
        *,
        limit_ms: float = math.inf,  # longest wait for a call
        breaker: Breaker | None = None,
        threads: Bulkhead | None = None,
        attempts: int = 1,  # at a call that raises what may pass (`resilience/failures.py`), within its time
        fair_ms: float = FAIR_MS,  # time in which a component that works has answered; one that had less may be late
        waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name, self.limit_ms, self._fair_ms = name, limit_ms, fair_ms
        self.breaker = Breaker(name) if breaker is None else breaker
        self.threads = Bulkhead(name) if threads is None else threads
        self.pace = Pace()
        self._attempts, self._waiting, self._clock = attempts, waiting, clock

    def limited(self, limit_ms: float) -> Guard:
        """Return the guard with another longest wait: one breaker, the same threads, the same recent times."""
        if limit_ms == self.limit_ms:
            return self
        other = copy.copy(self)
        other.limit_ms = limit_ms
        return other

    def call(
        self,
        deadline: Deadline,
        function: Callable[..., T],
        *args: object,
        empty: Callable[[T], bool] | None = None,
        work: float = 1.0,
    ) -> Answer[T]:
        """Return the function's result, or why there is none. Never raises, never waits beyond the deadline."""
        begun = self.begin(deadline, function, *args, work=work)
        return begun if isinstance(begun, Answer) else self.ended(begun, empty)

    def begin(
        self,
        deadline: Deadline,
        function: Callable[..., T],
        *args: object,
        work: float = 1.0,
        pieces: int = 1,
        paced: bool = True,
        probe: bool = False,
    ) -> Call[T] | Answer[T]:
        """Start a call, or say why not. Arguments as for `call`."""
        limit = self._limit(deadline)
        left = limit.remaining_ms()
        if not left > 0:
            return Answer(reason=NO_TIME, detail="No time is left.")
        whose = for_whom.get()
        if self.breaker.refuses(whose):
            return self._off()
        counting = 0 < self.breaker.known.failures < RUNS_MIN  # a pace of calls that hang would let no third one count
        if paced and not counting and (usual := self.pace.estimate(work)) is not None and usual.median_ms > left:
            probe = self.pace.refused()
            if not probe:
                detail = f"Recent calls took {usual.median_ms:.0f} ms; there are {left:.0f}."
                return Answer(reason=NO_TIME, detail=detail)
        given = self.breaker.enter(whose)
        if given is None:
            return self._off()  # somebody else makes the trial
        began, failed = self._clock(), list[str]()
        future = self.threads.submit(self._tried, failed, limit, function, *args)
        if future.done() and isinstance(busy := _raised(future), Busy):
            self.breaker.released(given)
            return Answer(reason=BUSY, detail=str(busy))
        fair = left >= FAIR_SHARE * min(self.limit_ms, self._fair_ms)
        return Call(future, given, began, limit, work, pieces, probe, fair, whose, failed)

    def ended(
        self,
        call: Call[T],
        empty: Callable[[T], bool] | None = None,
        done: Callable[[T], tuple[float, int]] | None = None,
    ) -> Answer[T]:
        """Wait for a call to end, or for its time to be over, and learn from it."""
        if not call.future.done():
            with self._waiting():
                call.limit.wait_for(call.future)
        took_ms = (self._clock() - call.began) * 1e3
        if not call.future.done():
            self.threads.give_up(call.future)
            if call.limit.cancelled:
                self.breaker.released(call.given)
                return Answer(reason=CANCELLED, detail="Nobody waits for the answer any more.", took_ms=took_ms)
            return self._late(call, took_ms)
        answer = self.seen(call, empty, took_ms)
        if answer.reason == TIMEOUT:
            return self._late(call, took_ms)
        if answer.reason == SUCCESS:
            self.breaker.succeeded(call.given)
            work, pieces = (call.work, call.pieces) if done is None else done(call.future.result())
            self.pace.record(took_ms, work, pieces, probe=call.probe and pieces == call.pieces)
        elif answer.error is not None and of_the_input(answer.error):
            self.breaker.released(call.given)
        else:
            why = EMPTY if answer.error is None else type(answer.error).__name__
            self.breaker.failed(call.given, why, call.whose)
        return answer

    def arrived(self, call: Call[T]) -> float:
        """Count a call that was given up as late and has worked after all; return its milliseconds."""
        self.breaker.succeeded(call.given)
        return (self._clock() - call.began) * 1e3

    def joined(self, call: Call[T], deadline: Deadline, empty: Callable[[T], bool] | None = None) -> Answer[T]:
        """Return the outcome of a call that somebody else began. If it is late, that counts for its beginner."""
        began, own = self._clock(), self._limit(deadline)
        if not call.future.done():
            with self._waiting():
                own.wait_for(call.future)
        took_ms = (self._clock() - began) * 1e3
        if call.future.done():
            return self.seen(call, empty, took_ms)
        return Answer(reason=TIMEOUT, detail="A call that was under way did not end in time.", took_ms=took_ms)

    def seen(self, call: Call[T], empty: Callable[[T], bool] | None = None, took_ms: float = 0.0) -> Answer[T]:
        """Return the outcome of a call that has ended, for those who did not begin it. Nothing is learned from it."""
        error = _raised(call.future)
        if isinstance(error, RecallTimeout):
            return Answer(reason=TIMEOUT, detail=str(error), error=error, took_ms=took_ms)
        if error is not None:
            detail = sentences(f"{type(error).__name__}: {error}", call.told)
            return Answer(reason=ERROR, detail=detail, error=error, took_ms=took_ms, told=call.told)
        value = call.future.result()
        if empty is not None and empty(value):
            detail = f"{self.name} gave nothing that can be used."
            return Answer(reason=EMPTY, value=value, detail=detail, took_ms=took_ms)
        return Answer(reason=SUCCESS, value=value, took_ms=took_ms)

    def _late(self, call: Call[T], took_ms: float) -> Answer[T]:
        """Count a call that has used up its time, and return that as its outcome."""
        self.pace.record(LATE * took_ms, call.work, call.pieces)
        if call.fair:
            self.breaker.failed(call.given, TIMEOUT, call.whose)
        else:
            self.breaker.released(call.given)
        detail = f"{self.name} did not answer within {took_ms:.0f} ms.{call.told}"
        return Answer(reason=TIMEOUT, detail=detail, took_ms=took_ms)

    def health(self) -> Health:
        known = self.breaker.known
        return Health(
            component=self.name,
            breaker=self.breaker.state,
            failures=known.failures,
            why=known.why,
            active=self.threads.active,
            hanging=self.threads.hanging,
            median_ms=self.pace.median_ms(),
        )

    def _limit(self, deadline: Deadline) -> Deadline:
        return deadline.child(None if self.limit_ms == math.inf else self.limit_ms)

    def _off(self) -> Answer[T]:
        known = self.breaker.known
        why = f" ({known.why})" if known.why else ""
        seconds = math.ceil(self.breaker.left_s)
        detail = f"{self.name} failed {known.failures} times in a row{why}; it is tried again in {seconds} s."
        return Answer(reason=OPEN, detail=detail)

    def _tried(self, failed: list[str], limit: Deadline, function: Callable[..., T], *args: object) -> T:
        def note(state: RetryCallState) -> None:
            failed.append(type(raised(state)).__name__)

        def again(error: BaseException) -> bool:
            return may_pass(error) and not limit.over

        if self._attempts == 1:
            return function(*args)
        until = time.monotonic() + min(limit.remaining(), AGAIN_S)
        retrying = Retrying(**policy(self._attempts, again, until=until, sleep=limit.wait, before_sleep=note))
        return retrying(function, *args)


def _raised(future: Future[T]) -> BaseException | None:
    return CancelledError() if future.cancelled() else future.exception()


class Guards:
    """The guards by component. Threads share it."""

    def __init__(
        self,
        settings: BreakerConfig,
        shelf: Shelf | None = None,
        waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._settings, self._shelf, self._waiting = settings, shelf, waiting
        self._made: dict[str, Guard] = {}
        self._lock = threading.Lock()

    def of(
        self, name: str, *, who: str = "", limit_ms: float = math.inf, attempts: int = 1, fair_ms: float = FAIR_MS
    ) -> Guard:
        """Return the guard of a component. The first call sets its properties; later ones may have another limit."""
        made = self._made.get(name)
        if made is not None:
            return made.limited(limit_ms)
        settings, who = self._settings, f"{name}:{who}" if who else name
        breaker = Breaker(who, failures_max=settings.failures_max, open_s=settings.open_s, shelf=self._shelf)
        guard = Guard(
            name, limit_ms=limit_ms, breaker=breaker, attempts=attempts, fair_ms=fair_ms, waiting=self._waiting
        )
        with self._lock:
            return self._made.setdefault(name, guard).limited(limit_ms)

    def health(self) -> tuple[Health, ...]:
        return tuple(guard.health() for _, guard in sorted(dict(self._made).items()))
