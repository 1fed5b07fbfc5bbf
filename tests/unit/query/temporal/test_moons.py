"""Days that follow the moon, against dates as they were kept."""

from __future__ import annotations

from datetime import datetime

import pytest

from recall_integrations.query.temporal.parser import day_of
from tests.rows import each_row

KEPT = [
    ("chinese new year", "2000-02-05 2004-01-22 2007-02-18 2012-01-23 2015-02-19 2020-01-25 2021-02-12 2022-02-01"),
    ("chinese new year", "2023-01-22 2024-02-10 2025-01-29 2026-02-17 2027-02-06 2028-01-26 2030-02-03"),
    ("diwali", "2009-10-17 2017-10-19 2018-11-07 2019-10-27 2020-11-14 2021-11-04 2022-10-24 2023-11-12 2024-10-31"),
    ("rosh hashanah", "2015-09-14 2016-10-03 2017-09-21 2018-09-10 2019-09-30 2020-09-19 2021-09-07 2024-10-03"),
    ("rosh hashanah +9", "2019-10-09 2020-09-28 2023-09-25"),
    ("passover", "2016-04-23 2017-04-11 2018-03-31 2020-04-09 2021-03-28 2022-04-16 2023-04-06 2024-04-23"),
    ("passover -30", "2021-02-26 2023-03-07 2024-03-24"),
    ("hanukkah", "2018-12-03 2019-12-23 2020-12-11 2021-11-29 2022-12-19 2023-12-08 2024-12-26 2025-12-15"),
]


@each_row(("day", "kept"), KEPT)
def test_days_as_they_were_kept(day: str, kept: str) -> None:
    for wanted in kept.split():
        assert day_of(day)(int(wanted[:4])) == datetime.fromisoformat(wanted)


def test_islamic_days_are_a_day_off_at_most() -> None:
    for kept in "2018-06-15 2019-06-04 2020-05-24 2021-05-13 2022-05-02 2023-04-21 2024-04-10 2025-03-30".split():
        wanted = datetime.fromisoformat(kept)
        assert abs((day_of("eid al-fitr")(wanted.year) - wanted).days) <= 1


def test_far_years_have_no_answer() -> None:
    for day in ("chinese new year", "diwali", "ramadan"):
        with pytest.raises(ValueError, match="too far"):
            day_of(day)(1500)
