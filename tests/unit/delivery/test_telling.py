"""What a hit says of the time that it tells."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from recall_integrations import Memory, MemoryStore, QueryOptimizer
from recall_integrations.delivery.explanation import in_words
from tests.rows import each_row

AT = datetime(2023, 5, 17, 12, tzinfo=timezone.utc)


def moment(said: str, zone: str = "UTC") -> datetime:
    return datetime.fromisoformat(said).replace(tzinfo=ZoneInfo(zone)).astimezone(timezone.utc)


@each_row("zone", ["UTC", "Europe/Berlin", "America/Los_Angeles", "Asia/Tokyo", "Asia/Kolkata"])
@each_row(
    ("start", "stop", "words"),
    [
        ("2023-05-12", "2023-05-13", "12 May 2023"),
        ("2023-03-26", "2023-03-27", "26 March 2023"),
        ("2023-05-01", "2023-05-08", "1 May 2023 to 7 May 2023"),
        ("2023-05-01", "2023-06-01", "May 2023"),
        ("2022-12-01", "2023-03-01", "December 2022 to February 2023"),
        ("2022-01-01", "2023-01-01", "2022"),
        ("2018-01-01", "2022-01-01", "2018 to 2021"),
    ],
)
def test_as_narrow_as_it_is(start: str, stop: str, words: str, zone: str) -> None:
    assert in_words(moment(start, zone), moment(stop, zone)) == words


@pytest.fixture
def asked() -> Iterator[QueryOptimizer]:
    with MemoryStore.open() as store:
        store.remember_many(
            [
                Memory("I visited the museum of clocks last month", id="told", event_at=AT),
                Memory("The museum of clocks is worth a visit", id="plain", event_at=AT - timedelta(days=1)),
                Memory("We queued at the museum of clocks", id="own", event_at=AT - timedelta(days=30)),
            ]
        )
        yield QueryOptimizer(store)


def reasons(optimizer: QueryOptimizer, query: str) -> dict[str | None, str]:
    return {hit.memory.id: hit.reason for hit in optimizer.recall(query, now=AT + timedelta(days=60), k=3).hits}


def test_of_a_time_that_is_asked_for(asked: QueryOptimizer) -> None:
    found = reasons(asked, "which museum did I visit in April 2023")
    assert "tells of April 2023" in found["told"]
    assert "tells of" not in found["own"] and "tells of" not in found["plain"]


def test_where_it_is_asked_when(asked: QueryOptimizer) -> None:
    found = reasons(asked, "when did I visit the museum of clocks?")
    assert next(iter(found)) == "told"
    assert "tells of April 2023" in found["told"]
    assert "tells of" not in found["plain"]


def test_where_no_time_is_asked_for(asked: QueryOptimizer) -> None:
    assert not any("tells of" in reason for reason in reasons(asked, "museum of clocks").values())
