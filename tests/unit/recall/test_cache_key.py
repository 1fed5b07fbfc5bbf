"""Which recalls may share an answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from recall_integrations import QueryOptimizer
from recall_integrations.recall.caching import key_of, loose, meaning
from recall_integrations.recall.runner import RecallState
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import Filters, Scope, TemporalWindow
from tests.rows import each_row

UTC, BERLIN = ZoneInfo("UTC"), ZoneInfo("Europe/Berlin")
NOON = datetime(2026, 6, 1, 12, tzinfo=timezone.utc)
TWICE = datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN)  # clocks show it twice

OTHERS: Mapping[str, Any] = {
    "text": "coffee",
    "k": 6,
    "scope": Scope(user_id="u"),
    "filters": Filters(types="fact"),
    "tokens_max": 100,
    "privacy": "redact",
    "window": TemporalWindow(start=NOON),
    "zone": BERLIN,
    "context": 1,
    "vector": np.ones(3, dtype=np.float32),
    "now": NOON + timedelta(days=1),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_may_change_an_answer_is_in_the_key(begun: RecallState, name: str) -> None:
    request = begun.request
    other = replace(request, **{name: OTHERS[name]})
    assert key_of(request, "f", UTC) != key_of(other, "f", UTC)
    assert key_of(request, "f", UTC, loosely=True) != key_of(other, "f", UTC, loosely=True)


def test_the_configuration_is_in_the_key(begun: RecallState) -> None:
    assert key_of(begun.request, "f", UTC) != key_of(begun.request, "g", UTC)


def test_how_much_time_there_is_is_not(begun: RecallState) -> None:
    """Only whole answers are kept, and these are the same with any budget."""
    assert key_of(begun.request, "f", UTC) == key_of(replace(begun.request, time_budget_ms=7.0), "f", UTC)


def test_no_window_is_not_one_that_is_open(begun: RecallState) -> None:
    keys = {key_of(replace(begun.request, window=w), "f", UTC) for w in (None, False, TemporalWindow())}
    assert len(keys) == 3


def test_the_zone_of_the_configuration_is_the_one_that_is_not_named(begun: RecallState) -> None:
    assert key_of(begun.request, "f", BERLIN) == key_of(replace(begun.request, zone=BERLIN), "f", UTC)


def test_a_day_is_one_of_the_zone(begun: RecallState) -> None:
    early, late = (replace(begun.request, now=NOON.replace(hour=hour)) for hour in (21, 22))  # UTC
    assert key_of(early, "f", UTC) == key_of(late, "f", UTC)
    assert key_of(early, "f", BERLIN) != key_of(late, "f", BERLIN)


@pytest.mark.parametrize("now", [datetime.max.replace(tzinfo=timezone.utc), datetime.min.replace(tzinfo=timezone.utc)])
def test_the_ends_of_the_calendar_have_a_key(begun: RecallState, now: datetime) -> None:
    for zone in (UTC, BERLIN, ZoneInfo("America/New_York")):
        assert key_of(replace(begun.request, now=now), "f", zone)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Filters(metadata={"a": 1}), Filters(metadata={"a": True})),
        (Filters(metadata={"a": 1}), Filters(metadata={"a": 1.0})),
        (Filters(metadata={"a": 1}), Filters(metadata={"a": "1"})),
        (Filters(after=TWICE), Filters(after=TWICE.replace(fold=1))),
        (Filters(types="fact"), Filters(actors=["fact"])),
        (Filters(recency_days=1), Filters(recency_days=1.5)),
    ],
)
def test_filters_that_look_alike_are_told_apart(begun: RecallState, one: Filters, other: Filters) -> None:
    keys = {key_of(replace(begun.request, filters=f), "f", UTC) for f in (one, other)}
    assert len(keys) == 2


def test_filters_that_are_the_same_are(begun: RecallState) -> None:
    same = [
        Filters(metadata={"a": 1, "b": 2}, after=NOON),
        Filters(metadata={"b": 2, "a": 1}, after=NOON.astimezone(BERLIN)),
    ]
    assert len({key_of(replace(begun.request, filters=f), "f", UTC) for f in same}) == 1


@each_row(
    ("text", "is_loosely"),
    [
        ("  What did\u00a0Priya  say? ", "what did priya say"),
        ("¿Qué dijo Priya?", "qué dijo priya"),
        ("tea?!", "tea"),
        ("-tea", "-tea"),
        ('"tea"', '"tea"'),
        ("foo_bar", "foo_bar"),
        ("v1.2, now", "v1.2, now"),
        ("?", "?"),
        ("STRASSE", "strasse"),
    ],
)
def test_what_letters_may_not_matter(text: str, is_loosely: str) -> None:
    assert loose(text) == is_loosely


@each_row(
    ("one", "other", "same"),
    [
        ("What did Priya say?", "what did  PRIYA say?", True),
        ("What did Priya say?", "What did Priya say", True),
        ("the ticket ABC-123", "the ticket abc-123", False),
        ('who said "Kestrel moves"', 'who said "kestrel moves"', False),
        ("foo_bar", "foo bar", False),
        ("what happened in May", "what happened may", False),
    ],
)
def test_what_reads_the_same(one: str, other: str, same: bool) -> None:
    with MemoryStore.open() as store:
        store.remember("Priya said that Kestrel moves in May")
        store.add_entity("Priya")
        optimizer = QueryOptimizer(store)
        read = {meaning(optimizer.parse(text, now=NOON), None) for text in (one, other)}
    assert (len(read) == 1) is same


def test_the_vector_is_part_of_what_is_read() -> None:
    with MemoryStore.open() as store:
        parsed = QueryOptimizer(store).parse("tea", now=NOON)
    vectors = np.eye(2, dtype=np.float32)
    assert len({meaning(parsed, None), *(meaning(parsed, v) for v in vectors)}) == 3
