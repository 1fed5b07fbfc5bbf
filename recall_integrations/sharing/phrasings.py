"""Phrasings that processes of a store share; only one of them at a time asks the model.

phrasings there? ─ yes ─▶ taken
  └─ no ─▶ is somebody asking? ─ no ──▶ this one does, puts them there and says that it is done
              └─ yes ─▶ wait for theirs, half of the time at most; then ask all the same
"""

from __future__ import annotations

import functools
import json
import time
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING

from recall_integrations.resilience.deadline import Deadline
from recall_integrations.sharing.shared import Shared

if TYPE_CHECKING:
    import redis

Phrasings = tuple[str, ...]
LOOK_S = 0.05  # between two looks for what somebody else is asked for
WAIT_SHARE = 0.5  # of the time of a call that is waited for somebody else's
SPARE_S = 1.0  # that a turn is held beyond the longest call
GIVE_BACK = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"


class SharedPhrasings:
    """The shared phrasings of a store. Threads share it.

    Args:
        shared: the way to the Redis.
        ttl_s: seconds for which phrasings count.
        limit_s: longest wait for a model, in seconds.
        sleep: waits for some seconds.
    """

    def __init__(
        self, shared: Shared, *, ttl_s: float, limit_s: float, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._link, self._sealing = shared.link, shared.sealing
        self._ttl_ms, self._limit_s, self._sleep = round(ttl_s * 1e3), limit_s, sleep

    def get(self, key: str, deadline: Deadline | None = None) -> Phrasings | None:
        """Return the phrasings that some process has put there.

        Args:
            key: of the question, as `rewriting.kept.key_of` makes it.
            deadline: of the caller.
        """
        if not self._ttl_ms:
            return None
        name = self._sealing.key("rewrite", key)
        value = self._sealing.opened(name, self._link.ask(lambda client: client.get(name), deadline))
        if value is None:
            return None
        try:
            texts = json.loads(value)
        except ValueError:
            return None
        good = isinstance(texts, list) and texts and all(isinstance(text, str) for text in texts)
        return tuple(texts) if good else None

    def asked_once(self, key: str, ask: Callable[[], Phrasings]) -> Phrasings:
        """Return the result of `ask`, or the phrasings that another process puts there meanwhile for the same key.

        Args:
            key: of the question.
            ask: asks the model; its errors are raised here.
        """
        if not self._ttl_ms:
            return ask()
        name, token = self._sealing.key("asking", key), uuid.uuid4().hex
        until = time.monotonic() + WAIT_SHARE * self._limit_s
        held_ms = round((self._limit_s + SPARE_S) * 1e3)
        while not (mine := self._link.ask(lambda client: bool(client.set(name, token, nx=True, px=held_ms)))):
            if mine is None or time.monotonic() >= until:
                break  # Redis is away, or whoever asks takes long
            self._sleep(LOOK_S)
            if (found := self.get(key)) is not None:
                return found
        try:
            if mine and (found := self.get(key)) is not None:
                return found  # put there just before
            texts = ask()
            if texts:
                self._put(key, texts)
            return texts
        finally:
            if mine:
                self._link.later(functools.partial(_give_back, name=name, token=token))

    def _put(self, key: str, texts: Phrasings) -> None:
        name = self._sealing.key("rewrite", key)
        try:
            sealed = self._sealing.sealed(name, json.dumps(texts).encode())
        except ValueError:
            return
        if sealed is not None:
            self._link.ask(lambda client: client.set(name, sealed, px=self._ttl_ms))


def _give_back(client: redis.Redis, name: str, token: str) -> None:
    client.eval(GIVE_BACK, 1, name, token)
