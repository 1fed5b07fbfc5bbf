"""A Redis for unit tests: what a test needs of one, in memory, with failures on order."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from recall_integrations.sharing.link import Link
from recall_integrations.sharing.sealed import Sealing
from recall_integrations.sharing.shared import Shared


class FakeRedis:
    """Strings that expire, under a clock of the test's."""

    def __init__(self) -> None:
        self.held: dict[str, tuple[bytes, float]] = {}
        self.now, self.calls, self.fails, self.delay_s = 0.0, 0, False, 0.0

    def _called(self) -> None:
        self.calls += 1
        time.sleep(self.delay_s)
        if self.fails:
            raise ConnectionError("redis://:s3cret@somewhere is gone")

    def ping(self) -> bool:
        self._called()
        return True

    def get(self, name: str) -> bytes | None:
        self._called()
        value, until = self.held.get(name, (b"", 0.0))
        return value if self.now < until else None

    def set(self, name: str, value: bytes | str, *, px: int, nx: bool = False) -> bool | None:
        self._called()
        if nx and self.now < self.held.get(name, (b"", 0.0))[1]:
            return None
        self.held[name] = (value.encode() if isinstance(value, str) else value, self.now + px / 1e3)
        return True

    def eval(self, _script: str, _keys: int, name: str, token: str) -> int:
        self._called()
        if self.held.get(name, (b"", 0.0))[0] == token.encode():
            del self.held[name]
            return 1
        return 0

    def close(self) -> None:
        pass


def shared(client: Any, *, secret: bytes = b"k" * 32, timeout_ms: float = 2_000.0, **more: Any) -> Shared:
    return Shared(link=Link(client, timeout_ms, **more), sealing=Sealing(secret, "here", "recall"))


Clock = Callable[[], float]
