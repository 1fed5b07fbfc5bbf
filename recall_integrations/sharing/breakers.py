"""Breaker states that nodes of a store share: a component that one node finds broken, the others leave alone, too.

    a state changes here ─▶ kept here, and put into Redis beside the caller
    a state is read here ─▶ at most once a second: has another node put a newer one there? ─▶ kept here
    a trial is due       ─▶ whoever gets the turn in Redis makes it, the others go on without

Times travel as ages by Redis's clock, so that no two clocks have to agree. Without Redis each node knows its own.
"""

from __future__ import annotations

import functools
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from recall_integrations.resilience.breaker import BreakerState, Change, Shelf
from recall_integrations.sharing.shared import Shared
from recall_integrations.types.numbers import is_number, is_whole

if TYPE_CHECKING:
    import redis

LOOK_S = 1.0
SPARE_S = 60.0  # that a state is kept beyond two pauses
# Puts a state there with a stamp that no other has, its number and Redis's time, and gives the stamp.
PUT = """
local t = redis.call('TIME')
local stamp = redis.call('HINCRBY', KEYS[1], 'n', 1) .. ' ' .. string.format('%.3f', t[1] + t[2] / 1000000)
redis.call('HSET', KEYS[1], ARGV[1], stamp .. ' ' .. ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return stamp
"""


class SharedShelf:
    """A shelf of breaker states that nodes share. Threads share it.

    Args:
        own: the shelf of this node.
        shared: the way to the Redis.
        common: components that are the same for all nodes, by the beginning of their names.
        open_s: the pause of the breakers: after it, another node may repeat a trial that was not reported back.
        clock: seconds, of the breakers.
        timer: monotonic seconds.
    """

    def __init__(
        self,
        own: Shelf,
        shared: Shared,
        common: Collection[str],
        open_s: float,
        *,
        clock: Callable[[], float] = time.time,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self._own, self._link, self._sealing = own, shared.link, shared.sealing
        self._common, self._clock, self._timer = frozenset(common), clock, timer
        self._turn_ms = max(1, round(open_s * 1e3))
        self._kept_ms = round((2 * open_s + SPARE_S) * 1e3)
        self._hash = shared.sealing.key("breakers")
        self._lock, self._looking = threading.Lock(), threading.Lock()
        self._names: dict[str, str] = {}  # field → name, of those that were asked for
        self._stamps: dict[str, str] = {}  # name → the newest stamp that was seen
        self._pending: Counter[str] = Counter()
        self._looked = -LOOK_S

    def read(self, name: str) -> BreakerState:
        """Return the state of a component, as the nodes know it; asks Redis at most once a second."""
        if self._is_common(name):
            self._look()
        return self._own.read(name)

    def update(self, name: str, change: Change) -> BreakerState:
        """Update a state, see `Shelf.update`. A trial is granted to one node."""
        if not self._is_common(name):
            return self._own.update(name, change)
        before = self._own.read(name)
        if before.trial is None and change(before).trial is not None and not self._turn(name):
            now = self._clock()
            self._own.update(name, lambda known: BreakerState(**{**asdict(known), "trial": now}))
            return self._own.update(name, change)
        state = self._own.update(name, change)
        if state != before:
            if before.trial is not None and state.trial is None:
                turn = self._sealing.key("trial", name)
                self._link.later(lambda client: client.delete(turn))
            self._publish(name, state)
        return state

    def _publish(self, name: str, state: BreakerState) -> None:
        """Publish a state. Until it is in Redis, states of other nodes do not count here."""
        with self._lock:
            self._pending[name] += 1

        def put() -> None:
            self._link.ask(functools.partial(self._put, name=name, state=state), patient=True)
            with self._lock:
                self._pending[name] -= 1

        if not self._link.beside(put):
            with self._lock:
                self._pending[name] -= 1

    def _is_common(self, name: str) -> bool:
        if name.partition(":")[0] not in self._common:
            return False
        if name not in self._stamps:
            with self._lock:
                self._names[self._field(name)] = name
                self._stamps.setdefault(name, "")
        return True

    def _field(self, name: str) -> str:
        return self._sealing.key("breaker", name)

    def _turn(self, name: str) -> bool:
        """Say whether this node may make the trial; it may if Redis cannot say."""
        turn = self._sealing.key("trial", name)
        return self._link.ask(lambda client: bool(client.set(turn, b"1", nx=True, px=self._turn_ms))) is not False

    def _put(self, client: redis.Redis, name: str, state: BreakerState) -> None:
        field = self._field(name)
        now = self._clock()
        said = {
            "failures": state.failures,
            "age": now - state.since,
            "trial": None if state.trial is None else now - state.trial,
            "why": state.why,
        }
        sealed = self._sealing.sealed(field, json.dumps(said).encode())
        if sealed is None:
            return
        stamp = client.eval(PUT, 1, self._hash, field, sealed, self._kept_ms)
        if isinstance(stamp, bytes):
            self._stamps[name] = stamp.decode()

    def _look(self) -> None:
        if self._timer() - self._looked < LOOK_S or not self._looking.acquire(blocking=False):
            return
        try:
            found = self._link.ask(functools.partial(_all, name=self._hash))
            self._looked = self._timer()
            if found is not None:
                self._take(*found)
        finally:
            self._looking.release()

    def _take(self, held: Mapping[bytes, bytes], now: float) -> None:
        for field, name in dict(self._names).items():
            stamp, value = _cut(held.get(field.encode(), b""))
            with self._lock:
                if not stamp or self._stamps[name] == stamp or self._pending[name]:
                    continue
                self._stamps[name] = stamp
            opened = self._sealing.opened(field, value)
            state = None if opened is None else _state_of(opened, self._clock() - (now - float(stamp.split()[1])))
            if state is not None:
                self._own.update(name, lambda _, state=state: state)  # type: ignore[misc]


def _all(client: redis.Redis, name: str) -> tuple[Mapping[bytes, bytes], float]:
    """Return the states that all nodes have put there, and Redis's time."""
    asked = client.pipeline(transaction=False)
    asked.hgetall(name)
    asked.time()
    held, (seconds, micros) = asked.execute()
    return held, seconds + micros / 1e6


def _cut(held: bytes) -> tuple[str, bytes]:
    """Return the stamp in front of a value, and the value; both empty where there is no stamp."""
    number, _, rest = held.partition(b" ")
    at, _, value = rest.partition(b" ")
    try:
        float(at)
        return f"{int(number)} {at.decode()}", value
    except ValueError:
        return "", b""


def _state_of(said: bytes, put_at: float) -> BreakerState | None:
    """Read a state that another node put there, in times of this one; `None` where it is no state.

    Args:
        said: the state as JSON.
        put_at: when it was put there, by the clock here.
    """
    try:
        loaded: Any = json.loads(said)
        failures, age, trial, why = (loaded[key] for key in ("failures", "age", "trial", "why"))
    except (ValueError, KeyError, TypeError):
        return None
    if not is_whole(failures) or not is_number(age) or not (trial is None or is_number(trial)):
        return None
    return BreakerState(
        failures=max(0, failures),
        since=put_at - age,
        trial=None if trial is None else put_at - trial,
        why=str(why),
    )
