"""Cost: the gate, ordinary queries, and texts made to hurt."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, timezone

import pytest

from recall_integrations.query.temporal import parse_window
from tests.rows import each_row

NOW = datetime(2026, 6, 17, 15, 30, tzinfo=timezone.utc)


def calls(text: str, steps: Callable[..., int]) -> int:
    parse_window(text, NOW)  # what is loaded once is not counted
    return steps(lambda: parse_window(text, NOW), lines=False)


def test_queries_without_a_date_word_are_sent_home_at_once(steps: Callable[..., int]) -> None:
    assert calls("When did Nadia go to the pottery class?", steps) < 30


@each_row(
    ("text", "most"),
    [
        ("What did Priya say yesterday about the MVP?", 900),
        ("what happened between May 3rd and the end of last month with the first 10 users of Kestrel?", 1_600),
        ("it was sent Fri, 12 Jul 2024 10:00:00 GMT", 5_000),
    ],
)
def test_ordinary_queries(text: str, most: int, steps: Callable[..., int]) -> None:
    assert calls(text, steps) < most


@pytest.mark.sweep(every=5)
@pytest.mark.parametrize(
    "piece",
    [
        *(
            "may 5 ",
            "1-",
            "2024-",
            "1 2 3 ",
            "in the last 3 days and ",
            "Monday, ",
            "x@",
            "'",
            "week of ",
            "between 3 and ",
        ),
        *(
            "Dec31-",
            "4/22-4/25 ",
            "90s and ",
            "the nineties and ",
            "2019, ",
            "3 or 4 weeks ago ",
            "the 5th, ",
            "eid al-",
        ),
        *("12 Jul 2024 10:02 ", "did i not ever ", "https://", "2015-2019 ", "a.", "٣ "),
    ],
)
def test_repeats_cost_in_proportion_to_their_length(piece: str, linear: Callable[..., None]) -> None:
    linear(lambda text: parse_window(text, NOW), piece, whole=100_000)


def test_dateparser_is_imported_only_when_needed() -> None:
    code = (
        "import sys; from datetime import datetime, timezone; "
        "from recall_integrations.query.temporal import parse_window; "
        "now = datetime(2026, 6, 17, tzinfo=timezone.utc); "
        "parse_window('on 13 July 2024 or last week', now); assert 'dateparser' not in sys.modules; "
        "parse_window('2024-07-13T10:00:00+0200', now); assert 'dateparser' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
