"""Rates of callers over all servers of a store: a bucket of tokens for each caller, in Redis, by its clock."""

from __future__ import annotations

from recall_integrations.sharing.shared import Shared

# Fills a bucket for the time that has passed, takes one token out if there is one, and says how long to wait if not.
TAKE = """
local t = redis.call('TIME')
local now = t[1] + t[2] / 1000000
local rate, most = tonumber(ARGV[1]), tonumber(ARGV[2])
local held = redis.call('HMGET', KEYS[1], 'left', 'at')
local left, at = tonumber(held[1] or most) or most, tonumber(held[2] or now) or now
left = math.max(0, math.min(most, left + math.max(0, now - at) * rate))
local wait = 0
if left >= 1 then left = left - 1 else wait = (1 - left) / rate end
redis.call('HSET', KEYS[1], 'left', string.format('%.6f', left), 'at', string.format('%.6f', now))
redis.call('PEXPIRE', KEYS[1], math.ceil(most / rate * 1000) + 1000)
return string.format('%.6f', wait)
"""


class SharedRates:
    """Buckets of tokens in Redis, one for each caller. Threads share it.

    Args:
        shared: the way to the Redis.
        per_s: tokens per second that fill a bucket, above 0.
        most: tokens of a full bucket, at least 1.
    """

    def __init__(self, shared: Shared, per_s: float, most: float) -> None:
        self._link, self._sealing, self._per_s, self._most = shared.link, shared.sealing, per_s, most

    def wait_s(self, caller: str) -> float | None:
        """Count a request and return 0 if it may go on; else the seconds after which it may; `None` = unknown."""
        name = self._sealing.key("rate", caller)
        said = self._link.ask(lambda client: client.eval(TAKE, 1, name, self._per_s, self._most))
        try:
            return None if said is None else max(0.0, float(said))
        except (TypeError, ValueError):
            return None
