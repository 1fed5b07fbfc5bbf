"""The hourly limit of a language model: calls and characters, noted in the store before each call.

An hour begins with the first call after the previous one is over. It is noted in the store, so opening it again gives
no more; a call that is killed counts.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from sqlalchemy import Connection

from recall_integrations.config import FactsConfig
from recall_integrations.database.meta import get_meta, put_meta, spent_key
from recall_integrations.records import record
from recall_integrations.types.numbers import is_number, is_whole

HOUR_S = 3_600.0
CHARS_PER_HOUR = 1_000_000  # that a model is sent and answers at most, for a store


@record(frozen=True, slots=True, kw_only=True)
class Spent:
    """The amount spent in an hour."""

    since: float = 0.0  # start of the hour, wall seconds
    calls: int = 0  # number of calls that were begun
    chars: int = 0  # number of characters sent and answered


class Budget:
    """The budget of an hour. Used under the store's write lock."""

    def __init__(self, settings: FactsConfig, clock: Callable[[], float]) -> None:
        self._settings, self._clock = settings, clock

    def left_s(self, connection: Connection) -> float:
        """Return the seconds until the next call may begin; 0 = now."""
        spent = self._spent(connection)
        if spent.calls < self._settings.llm_calls_per_hour and spent.chars < CHARS_PER_HOUR:
            return 0.0
        return max(1.0, spent.since + HOUR_S - self._clock())

    def spend(self, connection: Connection, *, calls: int = 0, chars: int = 0) -> None:
        """Note calls and characters as spent, in the caller's transaction."""
        spent = self._spent(connection)
        made = {"since": spent.since, "calls": spent.calls + calls, "chars": spent.chars + chars}
        put_meta(connection, spent_key(connection), json.dumps(made))

    def _spent(self, connection: Connection) -> Spent:
        now = self._clock()
        noted = _read(get_meta(connection, spent_key(connection)))
        over = not noted.since <= now < noted.since + HOUR_S  # also where the clock went back
        return Spent(since=now) if over else noted


def _read(text: str | None) -> Spent:
    try:
        loaded = json.loads(text or "{}")
    except ValueError:
        return Spent()
    if not isinstance(loaded, dict):
        return Spent()
    since, calls, chars = (loaded.get(name) for name in ("since", "calls", "chars"))
    if not is_number(since) or not is_whole(calls) or not is_whole(chars):
        return Spent()
    return Spent(since=since, calls=calls, chars=chars)
