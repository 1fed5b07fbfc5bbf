"""The peers as systems of a comparison."""

from __future__ import annotations

import time
from collections.abc import Iterator

from rich.console import Console

from benchmarks.datasets.data import Collection
from benchmarks.peers.frameworks import PACKAGES, default_peers
from benchmarks.peers.single_arms import Peer
from benchmarks.quality.comparison import Other, Others
from benchmarks.quality.report import Answer
from benchmarks.shared import extras
from recall_integrations.config import RecallConfig
from recall_integrations.evaluation.questions import Question
from recall_integrations.store.memory_store import MemoryStore


class PeerSystem:
    """A peer, built anew for each collection."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    @property
    def name(self) -> str:
        """The peer's name."""
        return self._peer.name

    def enter(self, collection: Collection) -> None:
        """Index the collection instead of the last one."""
        self._peer.build(collection.memories)

    def answer(self, question: Question, k: int) -> Answer:
        """One search."""
        start = time.perf_counter()
        ids = self._peer.search(question.text, k)
        return Answer(ids=tuple(ids), ms=(time.perf_counter() - start) * 1e3)

    def close(self) -> None:
        """Free what the peer holds."""
        self._peer.close()


def compared() -> Others:
    """All peers, as `benchmarks.quality.comparison` takes them.

    Raises:
        MissingExtra: a package of theirs is not installed.
    """
    extras.check(*PACKAGES)
    return _peers


def _peers(store: MemoryStore, _config: RecallConfig, _dataset: str, _console: Console) -> Iterator[Other]:
    return (Other(system=PeerSystem(peer)) for peer in default_peers(store.embedding))
