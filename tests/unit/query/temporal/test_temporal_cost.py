"""Cost: the gate, ordinary queries, and texts made to hurt. Bounds are the issue's, with room for a busy machine."""

from __future__ import annotations

import subprocess
import sys
import time
from datetime import datetime, timezone
from statistics import median

import pytest

from recall_integrations.query.temporal import parse_window

NOW = datetime(2026, 6, 17, 15, 30, tzinfo=timezone.utc)


def milliseconds(text: str, repeat: int) -> float:
    times = []
    for _ in range(repeat):
        started = time.perf_counter()
        parse_window(text, NOW)
        times.append((time.perf_counter() - started) * 1e3)
    return median(times)


def test_queries_without_a_date_word_are_sent_home_at_once() -> None:
    assert milliseconds("When did Nadia go to the pottery class?", 200) < 0.05


@pytest.mark.parametrize(
    "text",
    [
        "What did Priya say yesterday about the MVP?",
        "what happened between May 3rd and the end of last month with the first 10 users of Kestrel?",
        "it was sent Fri, 12 Jul 2024 10:00:00 GMT",
    ],
)
def test_ordinary_queries(text: str) -> None:
    milliseconds(text, 3)
    assert milliseconds(text, 50) < 1.0


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
