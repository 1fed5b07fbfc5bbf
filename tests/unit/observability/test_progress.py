"""How far long work is, where nobody sees a bar."""

from __future__ import annotations

import io

import pytest

from recall_integrations import Memory, MemoryStore
from recall_integrations.observability.progress import Lines, clock_words, counted, line, rate_words, telling
from tests.rows import each_row


def test_a_line_says_rate_and_remaining_time() -> None:
    assert line("Importing", 12_000, 100_000, 12.0) == "Importing: 12,000 of 100,000 (12 %), 1,000 a second, 1:28 left"
    assert line("Reading", 500, None, 10.0) == "Reading: 500, 50 a second"
    assert line("Reading", 0, 10, 5.0) == "Reading: 0 of 10 (0 %)"
    assert line("Reading", 10, 10, 0.0) == "Reading: 10 of 10 (100 %)"
    assert line("Reading", 700, 1_000, 10.0, first=600) == "Reading: 700 of 1,000 (70 %), 10 a second, 0:30 left"


@each_row(("rate", "words"), [(1234.5, "1,234 a second"), (2.34, "2.3 a second"), (0.05, "20 s each")])
def test_a_rate_has_as_many_digits_as_say_something(rate: float, words: str) -> None:
    assert rate_words(rate) == words


def test_a_time_is_that_of_a_clock() -> None:
    assert [clock_words(s) for s in (0, 59.6, 103, 7265)] == ["0:00", "1:00", "1:43", "2:01:05"]


def test_lines_come_some_seconds_apart_and_short_work_says_nothing() -> None:
    stream, now = io.StringIO(), [0.0]
    lines = Lines(stream, lambda: now[0])
    for second in range(31):
        now[0] = float(second)
        lines("Importing", second, 40)
    lines("Counting", 1, 1)
    assert [text.split(" (")[0] for text in stream.getvalue().splitlines()] == [
        "Importing: 5 of 40",
        "Importing: 15 of 40",
        "Importing: 25 of 40",
    ]
    now[0] = 31.0
    lines("Importing", 40, 40)
    lines("Importing", 40, 40)
    assert stream.getvalue().splitlines()[-1] == "Importing: 40 of 40 (100 %), 1.3 a second"
    assert len(stream.getvalue().splitlines()) == 4


def test_somebody_else_may_be_told(capsys: pytest.CaptureFixture[str]) -> None:
    told: list[tuple[str, int, int | None]] = []
    with counted("Reading", 3, lambda *given: told.append(given)) as advance:
        advance(2)
        advance(1)
    assert told == [("Reading", 0, 3), ("Reading", 2, 3), ("Reading", 3, 3)]
    with telling(False) as tell:
        tell("Reading", 1, 2)
    with counted("Reading", None, True) as advance:
        advance(2)
    assert capsys.readouterr() == ("", "")


def test_a_terminal_has_a_bar() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    with telling(True, stream=stream) as tell:
        tell("Reading [x]", 1, 2)
        tell("Reading [x]", 2, 2)
    assert "Reading [x]" in stream.getvalue() and "2/2" in stream.getvalue()


def test_a_store_tells_of_its_long_work(tmp_path: object) -> None:
    told: list[str] = []

    def tell(what: str, done: int, total: int | None) -> None:
        told.append(f"{what} {done}/{total}")

    with MemoryStore.open() as store:
        store.remember_many([Memory(f"tea {i}") for i in range(3)], progress=tell)
        store.reindex(progress=tell)
        store.export(io.BytesIO(), progress=tell)
    assert "Remembering 3/3" in told and "Exporting 3/3" in told
    assert any(said.endswith("3/3") and said[0].islower() for said in told)  # an index
