"""Limits of requests: their size, and their rate."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, fields

from recall_integrations.errors import InvalidArgument

CALLERS_MAX = 10_000  # whose rates are known; who has not asked for longest is forgotten first
BURST = 2.0  # seconds' worth of requests that may come at once


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Bounds of a server. Zero is no value of any but `rate`.

    Args:
        body_max: bytes of a request.
        k_max: hits, and memories of a page.
        text_max: characters of one memory.
        memories_max: memories, or ids, in one request.
        time_ms_max: longest time that a recall may be given.
        rate: requests per second of each token, or of each address where there are no tokens; 0 = no limit.
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
        for field in fields(self):
            value = getattr(self, field.name)
            least = 0 if field.name == "rate" else 1e-9
            if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < math.inf:
                raise InvalidArgument(f"{field.name} must be a positive number, not {value!r}.")


class Rates:
    """A bucket of tokens for each caller. Used by the event loop only."""

    def __init__(
        self,
        per_s: float,
        clock: Callable[[], float] = time.monotonic,
        workers: int = 1,
    ) -> None:
        self._per_s, self._clock = per_s / workers, clock
        self._most = max(1.0, self._per_s * BURST)
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait_s(self, caller: str) -> float:
        """Count a request and return 0 if it may go on; else return the seconds after which it may."""
        if not self._per_s:
            return 0.0
        now = self._clock()
        left, when = self._left.pop(caller, (self._most, now))
        left = min(self._most, left + (now - when) * self._per_s)
        lacking = 0.0 if left >= 1 else (1 - left) / self._per_s
        self._left[caller] = (left if lacking else left - 1, now)
        if len(self._left) > CALLERS_MAX:
            self._left.popitem(last=False)
        return lacking

    def __len__(self) -> int:
        """Return the number of callers whose rates are kept."""
        return len(self._left)
