"""Who asks for an amount is answered by one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone

import numpy as np
import pytest
from numpy.typing import NDArray

from recall_integrations import Memory, MemoryStore, QueryOptimizer
from recall_integrations.facts.latest import latest_model
from recall_integrations.recall import likely
from recall_integrations.recall.amounts import asks_amount, tells_amount


@pytest.mark.parametrize(
    "query", ["how many bees do I keep?", "And how much is the rent", "how long does it take", "how old is Max?"]
)
def test_what_asks_for_one(query: str) -> None:
    assert asks_amount(query) and not asks_amount("how do I get to work?") and not asks_amount("which bus do I take?")


@pytest.mark.parametrize(
    ("text", "tells"),
    [
        ("52 sources in the library by now", True),
        ("we are down to three hives", True),
        ("takes me half an hour", True),
        ("they take a week for it", True),
        ("the twins are here", True),
        ("it is free", True),
        ("changed the style of the library on May 28", False),
        ("the library was set up on 3 March 2024, at 10:30", False),
        ("filed on 2024-05-28, or was it 1/6/24", False),
        ("since 2019", False),
        ("new library, same rules", False),
    ],
)
def test_what_tells_one(text: str, tells: bool) -> None:
    assert tells_amount(text) is tells


class LaterWins:
    """A model to which each query asks for a state, and the latest candidate tells it."""

    comparing = latest_model().comparing

    def asks(self, _query: str) -> float:
        return 1.0

    def telling(self, found: NDArray[np.float32], at: Sequence[int]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        latest = np.zeros(len(found), dtype=np.float32)
        latest[int(np.argmax(at))] = 1
        return latest, latest


def test_what_tells_none_is_not_put_before_what_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(likely, "latest_model", LaterWins)
    texts = ["my reading list has 52 sources by now, all of them tagged", "tidied the sources on May 28"]

    def first(query: str) -> str:
        with MemoryStore.open() as store:
            for month, text in enumerate(texts, 1):
                store.remember(Memory(text, event_at=datetime(2024, month, 1, tzinfo=timezone.utc)))
            found = QueryOptimizer(store).recall(query, now=datetime(2024, 9, 1, tzinfo=timezone.utc))
            return found.hits[0].memory.text

    assert first("how many sources are in my reading list now?") == texts[0]
    assert first("what is in my reading list now?") == texts[1]
