"""The way to a Redis: every call bounded, none for a while after a failure, what can wait beside the caller.

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
    """Threads share it. A call never raises, whatever Redis does.

    Args:
        client: of redis-py, or what behaves as it.
        timeout_ms: longest wait of a caller.
        shown: what it is called in the log.
        open_s: for so long nothing is asked after a failure.
    """

    def __init__(self, client: Any, timeout_ms: float, shown: str = "Redis", *, open_s: float = OPEN_S) -> None:
        self._client, self._shown, self._timeout_ms = client, shown, timeout_ms
        breaker = Breaker(NAME, failures_max=1, open_s=open_s)
        self._guard = Guard(NAME, limit_ms=timeout_ms, breaker=breaker, threads=Bulkhead(NAME, THREADS))
        self._patient = self._guard.limited(max(PATIENT_MS, timeout_ms))
        self._later, self._waiting, self._lock = Later(), 0, threading.Lock()
        self._failed, self._ready = False, True

    def connect(self) -> None:
        """Connect beside the callers, with more time than these have; until that has ended nobody asks."""
        self._ready = False
        self._later.add(self._connected)

    def ask(
        self, function: Callable[[redis.Redis], T], deadline: Deadline | None = None, *, patient: bool = False
    ) -> T | None:
        """What a function makes of the client; `None` where Redis could not be asked, or not in time.

        Args:
            function: it runs in a thread, and may be left behind there.
            deadline: of who asks.
            patient: whether no recall waits for it: then it may take a second.
        """
        if not self._ready:
            return None
        within = Deadline.after(None) if deadline is None else deadline
        guard = self._patient if patient else self._guard
        begun = guard.begin(within, function, self._client, paced=False)
        return self._told(begun if isinstance(begun, Answer) else guard.ended(begun))

    def later(self, function: Callable[[redis.Redis], object]) -> None:
        """Ask beside the caller, a moment later, in order; or not at all, where too much waits."""
        self.beside(functools.partial(self.ask, function, patient=True))

    def beside(self, call: Callable[[], object]) -> bool:
        """Do what ends with a patient question beside the caller; it must not raise. Says whether it will be done."""
        with self._lock:
            if self._waiting >= LATER_MAX or self._guard.breaker.state == "open":
                return False
            self._waiting += 1
        self._later.add(functools.partial(self._do, call))
        return True

    def flush(self) -> None:
        """Wait until what waits is done."""
        self._later.flush()

    def close(self) -> None:
        """Let connections go; the next call makes new ones."""
        try:
            self._client.close()
        except Exception as e:  # noqa: BLE001 - whatever a client raises: there is nothing more to do with it
            logger.debug("The connections to %s were not closed: %s", self._shown, type(e).__name__)

    def health(self) -> Health:
        """How it is."""
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
        """The value; that Redis is gone, and that it is back, is logged once, without words of its own."""
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
    """The way to the Redis of the settings; `None` where there is none. Nothing is connected yet.

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
