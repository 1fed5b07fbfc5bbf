"""The way to a Redis: every call bounded, none for a while after a failure, calls that can wait beside the caller.

ask ─▶ breaker closed? ─▶ the call, in a thread, for `shared.timeout_ms` at most ─▶ its result
          └── no ────────────────────────────────── late, refused, gone ──────────▶ nothing
"""

from __future__ import annotations

import functools
import logging
import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from recall_integrations.config.shared import PASSWORD, Address, SharedConfig
from recall_integrations.errors import MissingExtra, installing
from recall_integrations.resilience.breaker import Breaker
from recall_integrations.resilience.bulkhead import Bulkhead
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.resilience.guard import OPEN, SUCCESS, TIMEOUT, Answer, Guard, Health
from recall_integrations.resilience.later import Later

if TYPE_CHECKING:
    import redis

T = TypeVar("T")
NAME = "redis"
OPEN_S = 2.0  # for so long it is left alone after a failure
THREADS = 8
PATIENT_MS = 1_000.0  # for what no recall waits for, and to connect
LATER_MAX = 256  # calls that wait to be made beside the callers; beyond that, values are not shared
logger = logging.getLogger("recall_integrations")


class Link:
    """The way to one Redis. Threads share it. A call never raises, whatever Redis does.

    Args:
        client: of redis-py, or an object that behaves like it.
        timeout_ms: longest wait of a caller.
        shown: name of the Redis in the log.
        open_s: seconds without calls after a failure.
    """

    def __init__(self, client: Any, timeout_ms: float, shown: str = "Redis", *, open_s: float = OPEN_S) -> None:
        self._client, self._shown, self._timeout_ms = client, shown, timeout_ms
        breaker = Breaker(NAME, failures_max=1, open_s=open_s)
        self._guard = Guard(NAME, limit_ms=timeout_ms, breaker=breaker, threads=Bulkhead(NAME, THREADS))
        self._patient = self._guard.limited(max(PATIENT_MS, timeout_ms))
        self._later, self._waiting, self._lock = Later(), 0, threading.Lock()
        self._failed, self._ready = False, True

    def connect(self) -> None:
        """Connect beside the callers, with more time than they have; until that has ended nobody asks."""
        self._ready = False
        self._later.add(self._connected)

    def ask(
        self, function: Callable[[redis.Redis], T], deadline: Deadline | None = None, *, patient: bool = False
    ) -> T | None:
        """Return the result of a function of the client; `None` where Redis could not be asked, or not in time.

        Args:
            function: it runs in a thread, and may be left behind there.
            deadline: of the caller.
            patient: whether no recall waits for the call: then it may take a second.
        """
        if not self._ready:
            return None
        within = Deadline.after(None) if deadline is None else deadline
        guard = self._patient if patient else self._guard
        begun = guard.begin(within, function, self._client, paced=False)
        return self._told(begun if isinstance(begun, Answer) else guard.ended(begun))

    def later(self, function: Callable[[redis.Redis], object]) -> None:
        """Ask beside the caller, a moment later, in order; or not at all, where too many calls wait."""
        self.beside(functools.partial(self.ask, function, patient=True))

    def beside(self, call: Callable[[], object]) -> bool:
        """Make a call that ends with a patient question, beside the caller; it must not raise. Say if it is queued."""
        with self._lock:
            if self._waiting >= LATER_MAX or self._guard.breaker.state == "open":
                return False
            self._waiting += 1
        self._later.add(functools.partial(self._do, call))
        return True

    def flush(self) -> None:
        """Wait until all waiting calls are made."""
        self._later.flush()

    def close(self) -> None:
        """Close the connections; the next call makes new ones."""
        try:
            self._client.close()
        except Exception as e:  # noqa: BLE001 - whatever a client raises: there is nothing more to do with it
            logger.debug("The connections to %s were not closed: %s", self._shown, type(e).__name__)

    def health(self) -> Health:
        """Return the health of the Redis."""
        return self._guard.health()

    def _connected(self) -> None:
        try:
            begun = self._patient.begin(Deadline.after(None), self._client.ping, paced=False)
            self._told(begun if isinstance(begun, Answer) else self._patient.ended(begun))
        finally:
            self._ready = True

    def _do(self, call: Callable[[], object]) -> None:
        with self._lock:
            self._waiting -= 1
        call()

    def _told(self, answer: Answer[T]) -> T | None:
        """Return the value of an answer; log once that Redis is gone, and once that it is back."""
        if answer.reason == SUCCESS:
            if self._failed:
                self._failed = False
                logger.info("%s answers again.", self._shown)
            return answer.value
        if answer.begun and not self._failed:
            self._failed = True
            why = f"no answer in {answer.took_ms:.0f} ms" if answer.reason == TIMEOUT else type(answer.error).__name__
            logger.warning("%s cannot be used (%s): each process goes on by itself.", self._shown, why)
        elif answer.reason != OPEN:
            logger.debug("%s was not asked: %s", self._shown, answer.reason)
        return None


def linked(settings: SharedConfig) -> Link | None:
    """Return the way to the Redis of the settings, which connects beside the caller; `None` where there is none.

    Raises:
        MissingExtra: redis-py is not installed.
    """
    if not settings.redis:
        return None
    address = settings.redis if isinstance(settings.redis, Address) else Address.of(settings.redis)
    try:
        import redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry
    except ImportError as e:
        raise MissingExtra(f"shared.redis needs the package redis. Install it with: {installing('redis')}") from e
    given: dict[str, Any] = {}
    password = address.password or os.environ.get(PASSWORD, "")
    if password:
        given["password"] = password
    wait_s = max(PATIENT_MS, settings.timeout_ms) / 1e3  # callers wait for `timeout_ms`, and go on
    client = redis.Redis.from_url(
        str(address),
        socket_timeout=wait_s,
        socket_connect_timeout=wait_s,
        retry=Retry(NoBackoff(), 0),
        decode_responses=False,
        **given,
    )
    link = Link(client, settings.timeout_ms, f"Redis at {address}")
    link.connect()  # so that the first recall finds a connection
    return link
