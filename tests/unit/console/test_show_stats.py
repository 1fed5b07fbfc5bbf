"""What `recall stats` says of a store."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from recall_integrations import MemoryStore
from recall_integrations.console.rendering import show_stats
from recall_integrations.delivery.as_data import stats_data


def shown(**more: Any) -> str:
    with MemoryStore.open() as store:
        stats = stats_data({**store.stats(), **more}, store.scopes())
    console = Console(width=200)
    with console.capture() as captured:
        show_stats(console, stats)
    return captured.get()


def test_scopes_that_postgresql_is_asked_of_and_how_far_those_are_that_will_be() -> None:
    part = {"memories": 3_000_000, "counted": 12_000, "whole": False}
    said = shown(pushed={4: {"memories": 5, "counted": 5, "whole": True}, 7: part})
    assert "1 large in PostgreSQL, 12,000 of 3,000,000 memories of another" in said
    whole = {"memories": 4_000, "counted": 4_000, "whole": True}
    said = shown(pushed={4: {**whole, "vectors": "indexing", "indexed": 70}, 5: {**whole, "vectors": "away"}})
    assert "an index of 4,000 vectors is built (70 are in it)" in said and "vectors of 1 cannot be reached" in said


def test_nothing_is_said_of_them_where_every_scope_is_read_whole() -> None:
    assert "in PostgreSQL" not in shown() and "memories" in shown()
