"""Times as people put them into metadata; and whatever else stands there."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from recall_integrations.types.messages import moment
from tests.rows import each_row

UTC = timezone.utc
EARLY = timezone(timedelta(hours=2))


@each_row(
    ("value", "then"),
    [
        ("2026-03-12", datetime(2026, 3, 12, tzinfo=EARLY)),
        ("2026-03-12T09:30:00Z", datetime(2026, 3, 12, 9, 30, tzinfo=UTC)),
        ("2026-03-12 09:30:00.250+01:00", datetime(2026, 3, 12, 8, 30, 0, 250_000, tzinfo=UTC)),
        ("2026/03/12 09:30", datetime(2026, 3, 12, 9, 30, tzinfo=EARLY)),
        ("12.03.2026", datetime(2026, 3, 12, tzinfo=EARLY)),
        ("March 12, 2026", datetime(2026, 3, 12, tzinfo=EARLY)),
        ("1:56 pm on 8 May, 2023", datetime(2023, 5, 8, 13, 56, tzinfo=EARLY)),
        ("Thu, 12 Mar 2026 09:30:00 +0000", datetime(2026, 3, 12, 9, 30, tzinfo=UTC)),
        (1_773_307_800, datetime(2026, 3, 12, 9, 30, tzinfo=UTC)),
        (1_773_307_800.0, datetime(2026, 3, 12, 9, 30, tzinfo=UTC)),
        ("1773307800000", datetime(2026, 3, 12, 9, 30, tzinfo=UTC)),
        (1_773_307_800_000_000_000, datetime(2026, 3, 12, 9, 30, tzinfo=UTC)),
        (datetime(2026, 3, 12), datetime(2026, 3, 12, tzinfo=EARLY)),
    ],
)
def test_times(value: Any, then: datetime) -> None:
    assert moment(value, EARLY) == then


@each_row("value", [None, True, 7, 2026, -1.5, float("nan"), "", "soon", "10:32", "v1.2.3", [], {}])
def test_other_things(value: Any) -> None:
    assert moment(value, UTC) is None


@given(st.one_of(st.text(max_size=80), st.integers(), st.floats(), st.binary(max_size=9)))
def test_it_never_raises_and_always_knows_its_zone(value: Any) -> None:
    found = moment(value, UTC)
    assert found is None or found.tzinfo is not None
