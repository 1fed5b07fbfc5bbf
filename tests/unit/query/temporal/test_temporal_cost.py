"""Cost: the gate, ordinary queries, and texts made to hurt."""

from __future__ import annotations

import subprocess
import sys
import time
from datetime import datetime, timezone

import pytest

from recall_integrations.query.temporal import parse_window

NOW = datetime(2026, 6, 17, 15, 30, tzinfo=timezone.utc)


def calls(text: str) -> int:
    """Function calls that reading `text` takes: a measure of its cost that no busy machine changes."""
    parse_window(text, NOW)  # what is loaded once is not counted
    made = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal made
        made += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        parse_window(text, NOW)
    finally:
        sys.setprofile(None)
    return made


def test_queries_without_a_date_word_are_sent_home_at_once() -> None:
    assert calls("When did Nadia go to the pottery class?") < 30


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("What did Priya say yesterday about the MVP?", 900),
        ("what happened between May 3rd and the end of last month with the first 10 users of Kestrel?", 1_600),
        ("it was sent Fri, 12 Jul 2024 10:00:00 GMT", 5_000),
    ],
)
def test_ordinary_queries(text: str, most: int) -> None:
    assert calls(text) < most


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
def test_repeats_cost_linear_time(piece: str) -> None:
    def cost(characters: int) -> float:
        text = (piece * (characters // len(piece) + 1))[:characters]
        spent = []
        for _ in range(2):
            started = time.process_time()
            parse_window(text, NOW)
            spent.append(time.process_time() - started)
        return min(spent)

    # Ten times the text costs ten times as much, not a hundred; a ratio of processor times, whatever else is running.
    assert cost(100_000) <= 40 * cost(10_000) + 0.02


def test_dateparser_is_imported_only_when_needed() -> None:
    code = (
        "import sys; from datetime import datetime, timezone; "
        "from recall_integrations.query.temporal import parse_window; "
        "now = datetime(2026, 6, 17, tzinfo=timezone.utc); "
        "parse_window('on 13 July 2024 or last week', now); assert 'dateparser' not in sys.modules; "
        "parse_window('2024-07-13T10:00:00+0200', now); assert 'dateparser' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
