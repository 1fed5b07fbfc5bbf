"""The store that a server serves, with its settings: the only argument of routes. Nothing of it is global."""

from __future__ import annotations

import asyncio
import itertools
import logging
import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field, fields
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from cachetools import FIFOCache

from recall_integrations.errors import InvalidArgument, StoreClosed, StoreLocked
from recall_integrations.optimizer import QueryOptimizer
from recall_integrations.privacy.door import check_mode, told
from recall_integrations.resilience.failures import failures
from recall_integrations.resilience.guard import Bulkhead
from recall_integrations.serving.problems import JSON, busy, packed
from recall_integrations.serving.tokens import Tokens
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import Scope

if TYPE_CHECKING:
    from fastapi import Response

CALLERS_MAX = 10_000  # whose rates are known; who has not asked for longest is forgotten first
BURST = 2.0  # seconds' worth of requests that may come at once
BYTES = 10_000  # of a body that count as a request


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Bounds of a server. Zero is no value of any but `rate`.

    Args:
        body_max: bytes of a request.
        k_max: hits, and memories of a page.
        text_max: characters of one memory.
        memories_max: memories, or ids, in one request.
        time_ms_max: longest time that a recall may be given.
        rate: requests per second of each token, or of each address where there are no tokens; 0 = no limit. A body
            counts as one request more for every 10,000 bytes.
        concurrency: requests in work at once.
        queue: requests that wait for a place; further ones are refused with 503.
        wait_s: longest wait for a place.
        body_s: longest time in which a body must arrive.
        workers: processes that answer at one address: each counts its part of `rate`.

    Raises:
        InvalidArgument: a value is no positive number.
    """

    body_max: int = 8_000_000
    k_max: int = 100
    text_max: int = 200_000
    memories_max: int = 1_000
    time_ms_max: float = 60_000.0
    rate: float = 0.0
    concurrency: int = 16
    queue: int = 256
    wait_s: float = 10.0
    body_s: float = 30.0
    workers: int = 1

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            least = 0 if one.name == "rate" else 1e-9
            if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < math.inf:
                raise InvalidArgument(f"{one.name} must be a positive number, not {value!r}.")


class Rates:
    """A bucket of tokens for each caller. Used by the event loop only."""

    def __init__(self, per_s: float, clock: Callable[[], float] = time.monotonic, workers: int = 1) -> None:
        self._per_s, self._clock = per_s / workers, clock
        self._most = max(1.0, self._per_s * BURST)
        self._left: FIFOCache[str, tuple[float, float]] = FIFOCache(CALLERS_MAX)

    def wait_s(self, caller: str) -> float:
        """Count a request and return 0 if it may go on; else return the seconds after which it may."""
        if not self._per_s:
            return 0.0
        now = self._clock()
        left, when = self._left.get(caller, (self._most, now))
        left = min(self._most, left + (now - when) * self._per_s)
        lacking = 0.0 if left >= 1 else (1 - left) / self._per_s
        self._left[caller] = (left if lacking else left - 1, now)
        return lacking

    def spend(self, caller: str, size: int) -> None:
        """Count the bytes of a body: the next request waits until they are paid for."""
        if self._per_s:
            left, when = self._left.get(caller, (self._most, self._clock()))
            self._left[caller] = (left - size // BYTES, when)

    def __len__(self) -> int:
        return len(self._left)


T = TypeVar("T")
Tenant = tuple[str, Scope | None]  # the caller, and the scope that it asks for
NOBODY: Tenant = ("", None)


class Pool:
    """Places for calls, shared out by tenant. Used from one event loop at a time.

    The next place is for the caller that has the fewest, then for the one that has waited longest since its last one;
    of a caller, for the scope by the same rule. One place more than `places` is there for a tenant that has none.
    """

    def __init__(self, name: str, places: int, queue: int, wait_s: float) -> None:
        self._threads = Bulkhead(name, 2 * places + 2)  # a place is free a moment before its thread is
        self._places, self._queue, self._wait_s = places, queue, wait_s
        # In the order in which they came, with whether they must not be sent away.
        self._waiting: dict[asyncio.Future[None], tuple[Tenant, bool]] = {}
        self._held: Counter[Hashable] = Counter()  # places, by caller and by tenant
        self._turn = itertools.count()
        self._last: FIFOCache[Hashable, int] = FIFOCache(CALLERS_MAX)  # the turn of the last place, as `_held`
        self.active = 0

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    async def enter(self, tenant: Tenant = NOBODY, *, again: bool = False) -> None:
        """Wait for a place, without limit if it is `again` for the same request; the caller frees it with `leave`."""
        place = asyncio.get_running_loop().create_future()
        self._waiting[place] = tenant, again
        self._share_out()
        if len(self._waiting) > self._queue and not again:
            self._send_one_away()
        try:
            if not place.done():
                await asyncio.wait({place}, timeout=None if again else self._wait_s)
        except asyncio.CancelledError:
            if place.done() and place.exception() is None:
                self.leave(tenant)
            raise
        finally:
            self._waiting.pop(place, None)
        if not place.done():
            raise busy(f"There was no place within {self._wait_s:g} seconds. Ask again later, or less.")
        place.result()

    def leave(self, tenant: Tenant = NOBODY) -> None:
        self.active -= 1
        self._held -= Counter((tenant[0], tenant))  # keeps no zeros
        self._share_out()

    def _share_out(self) -> None:
        """Give free places to those whose turn it is."""
        while due := [place for place, (tenant, _) in self._waiting.items() if self._may(tenant)]:
            place = min(due, key=self._order)
            tenant, _ = self._waiting.pop(place)
            self.active += 1
            for key in (tenant[0], tenant):
                self._held[key] += 1
                self._last[key] = next(self._turn)
            place.set_result(None)

    def _may(self, tenant: Tenant) -> bool:
        return self.active < self._places + (not self._held[tenant])

    def _order(self, place: asyncio.Future[None]) -> list[int]:
        tenant, _ = self._waiting[place]
        return [found for key in (tenant[0], tenant) for found in (self._held[key], self._last.get(key, -1))]

    def _send_one_away(self) -> None:
        """Refuse the last request of a tenant that has the most waiting."""
        waiting = [(place, tenant) for place, (tenant, kept) in self._waiting.items() if not kept]
        counts = Counter(tenant for _, tenant in waiting)
        most = max(counts.values())
        last = [place for place, tenant in waiting if counts[tenant] == most][-1]
        del self._waiting[last]
        last.set_exception(busy(f"{self._queue} requests wait already. Ask again in a moment, or fewer at once."))

    async def run(self, call: Callable[[], T], tenant: Tenant = NOBODY, *, again: bool = False) -> T:
        """Run a call in a thread and return its result. Its place is free when it ends, whoever waits."""
        await self.enter(tenant, again=again)
        running = asyncio.wrap_future(self._threads.submit(call))
        running.add_done_callback(partial(self._ended, tenant))
        return await asyncio.shield(running)

    async def reply(self, call: Callable[[], object], tenant: Tenant, **more: Any) -> Response:
        """Run a call in a thread, and reply with the plain data that it returns, as JSON. Raises as `enter`."""
        from fastapi import Response

        return Response(await self.run(lambda: packed(call()), tenant), media_type=JSON, **more)

    async def reply_in_turns(self, steps: Iterator[object], tenant: Tenant) -> Response:
        """Reply with the first thing but `None` that `steps` yields. Others have their turns between its steps."""
        from fastapi import Response

        found = await self.run(partial(next, steps), tenant)
        while found is None:
            found = await self.run(partial(next, steps), tenant, again=True)
        return Response(packed(found), media_type=JSON)

    def _ended(self, tenant: Tenant, running: asyncio.Future[T]) -> None:
        if not running.cancelled():
            running.exception()  # nobody may be there to ask for it
        self.leave(tenant)


logger = logging.getLogger("recall_integrations")
EVERY_S = 60.0
REST_S = (0.05, 5.0)  # the shortest and the longest rest between two scopes
FREE = 9  # how much longer than a run nothing is learned after it
LATER_S = 3_600.0  # the longest wait after it has failed again and again
STOP_S = 5.0  # that the end of a server waits for it


class _Stopping(Exception):
    """Ends a run of learning because the server stops."""


class Learning:
    """The learning thread of one server. Other threads may use this object, too.

    Args:
        optimizer: learns; its settings say at each look whether anything is to be learned.
        every_s: seconds between two looks.
        timer: monotonic seconds.
    """

    def __init__(
        self, optimizer: QueryOptimizer, *, every_s: float = EVERY_S, timer: Callable[[], float] = time.monotonic
    ) -> None:
        self._optimizer, self._every_s, self._timer = optimizer, every_s, timer
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._failed = 0
        self._rested = 0.0

    @property
    def runs(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Start the thread; each look decides by itself whether anything is due."""
        if self.runs:
            return
        self._stop.clear()
        self._thread = threading.Thread(target=self._look, name="recall-learning", daemon=True)
        self._thread.start()

    def stop(self, timeout: float = STOP_S) -> None:
        """Stop the thread after the scope it is at."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout)

    def once(self) -> float:
        """Learn if it is due, and return the seconds until the next look. Raises nothing but `StoreClosed`."""
        if self._optimizer.config.mode != "learned":
            return self._every_s
        try:
            began = self._timer()
            if self._optimizer.learner().due():
                self._rested = began
                self._optimizer.learn(progress=self._rest)
            self._failed = 0
            return max(self._every_s, FREE * (self._timer() - began))
        except _Stopping:
            return 0.0
        except StoreLocked:  # another worker learns
            return self._every_s
        except StoreClosed:
            raise
        except failures() as e:
            self._failed += 1
            wait: float = min(self._every_s * 2**self._failed, max(LATER_S, self._every_s))
            logger.warning("Nothing was learned, and it is tried again in %.0f s: %s", wait, told(e))
            return wait

    def _rest(self, _scope: Scope, _done: int, _total: int) -> None:
        """Pause between two scopes; stop the run if the server stops."""
        took = self._timer() - self._rested
        if self._stop.wait(min(max(took, REST_S[0]), REST_S[1])):
            raise _Stopping
        self._rested = self._timer()

    def _look(self) -> None:
        wait = self._every_s
        try:
            while not self._stop.wait(wait):
                wait = self.once()
        except StoreClosed:
            return


WRITES = 2  # at once: a store lets one write at a time, and the next can be made ready meanwhile


@dataclass(kw_only=True)
class Served:
    """A store that is served, with everything that its routes need.

    Args:
        store: the store; it stays open.
        optimizer: over the store; its `reload` changes the settings while requests are under way.
        tokens: the tokens of callers; `None` = anybody on this machine may ask.
        limits: of requests.
        privacy: the least strict mode of any request: `allow`, `redact` or `block`.
        hosts: names of the server beside those of this machine, where there are no tokens.
        metrics: gives the text for `/metrics` (`text() -> bytes`); `None` = no metrics.
        ready: whether requests are answered; false while the server shuts down.
    """

    store: MemoryStore
    optimizer: QueryOptimizer
    tokens: Tokens | None = None
    limits: Limits = field(default_factory=Limits)
    privacy: str = "allow"
    hosts: tuple[str, ...] = ()
    metrics: Any = None
    ready: bool = True
    reads: Pool = field(init=False)
    writes: Pool = field(init=False)
    health: Pool = field(init=False)
    rates: Rates = field(init=False)
    learning: Learning = field(init=False)

    def __post_init__(self) -> None:
        limits = self.limits
        check_mode(self.privacy)
        self.reads = Pool("serve-read", limits.concurrency, limits.queue, limits.wait_s)
        self.writes = Pool("serve-write", min(WRITES, limits.concurrency), limits.queue, limits.wait_s)
        self.health = Pool("serve-health", 1, limits.queue, limits.wait_s)  # answers when all others are busy
        self.rates = Rates(limits.rate, workers=limits.workers)
        self.learning = Learning(self.optimizer)
