"""The store that a server serves, with its settings: the only argument of routes. Nothing of it is global."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from recall_integrations.optimizer import QueryOptimizer
from recall_integrations.privacy.door import check_mode
from recall_integrations.serving.learning import Learning
from recall_integrations.serving.limits import Limits, Rates
from recall_integrations.serving.looking.live import Live
from recall_integrations.serving.pool import Pool
from recall_integrations.serving.tokens import Tokens
from recall_integrations.store.memory_store import MemoryStore

WRITES = 2  # at once: a store lets one write at a time, and the next can be made ready meanwhile


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of a server beside its limits.

    Args:
        privacy: the least strict mode of any request: `allow`, `redact` or `block`.
        hosts: names of the server beside those of this machine, where there are no tokens.
    """

    privacy: str = "allow"
    hosts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_mode(self.privacy)


@dataclass(kw_only=True)
class Served:
    """A store that is served, with everything that its routes need.

    Args:
        store: the store; it stays open.
        optimizer: over the store; its `reload` changes the settings while requests are under way.
        tokens: the tokens of callers; `None` = anybody on this machine may ask.
        limits: of requests.
        settings: the rest.
        metrics: gives the text for `/metrics` (`text() -> bytes`); `None` = no metrics.
        live: recent activity for the page, if it is an observer of the optimizer.
        ready: whether requests are answered; false while the server shuts down.
    """

    store: MemoryStore
    optimizer: QueryOptimizer
    tokens: Tokens | None = None
    limits: Limits = field(default_factory=Limits)
    settings: Settings = field(default_factory=Settings)
    metrics: Any = None
    live: Live = field(default_factory=Live)
    ready: bool = True
    reads: Pool = field(init=False)
    writes: Pool = field(init=False)
    health: Pool = field(init=False)
    learns: Pool = field(init=False)
    rates: Rates = field(init=False)
    learning: Learning = field(init=False)

    def __post_init__(self) -> None:
        limits = self.limits
        self.reads = Pool("serve-read", limits.concurrency, limits.queue, limits.wait_s)
        self.writes = Pool("serve-write", min(WRITES, limits.concurrency), limits.queue, limits.wait_s)
        self.health = Pool("serve-health", 1, limits.queue, limits.wait_s)  # answers when all others are busy
        self.learns = Pool("serve-learn", 1, limits.queue, limits.wait_s)  # may take a minute
        self.rates = Rates(limits.rate, workers=limits.workers)
        self.learning = Learning(self.optimizer)
