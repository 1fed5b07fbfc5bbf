"""The benchmark of dates: its rules of comparison by hand, and the targets on the real data where it is present."""

from __future__ import annotations

import json
from datetime import date, datetime, timezone
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.accuracy.dates import as_days, evaluate_temporal, load_rows, run
from recall_integrations.errors import InvalidArgument

DATA = Path(__file__).resolve().parents[4] / "../shared/data/recognizers/dev.jsonl"

JUNE = ["2026-06-01", "2026-07-01"]


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=timezone.utc)  # type: ignore[misc, arg-type]


@pytest.fixture
def small(tmp_path: Path) -> Path:
    rows = [
        {"input": "it was last week", "kind": "daterange", "ranges": [["2026-06-08", "2026-06-15"]]},
        {"input": "back in June", "kind": "daterange", "ranges": [JUNE, ["2027-06-01", "2027-07-01"]]},
        {"input": "since 2024", "kind": "daterange", "ranges": [["2023-01-01", None]]},
        {"input": "nothing here", "kind": "none", "ranges": []},
        {"input": "from 2021 to 2023", "kind": "daterange", "span": "from 2021 to 2023",
         "ranges": [["2021-01-01", "2023-01-01"]]},
        {"input": "will we go in June?", "kind": "daterange", "ranges": [JUNE, ["2027-06-01", "2027-07-01"]]},
    ]  # fmt: skip
    path = tmp_path / "rows.jsonl"
    lines = [json.dumps({"reference": "2026-06-17T00:00:00", "span": None, **row}) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_windows_in_days() -> None:
    whole = (date(2026, 6, 8), date(2026, 6, 15))
    assert as_days((utc(2026, 6, 8), utc(2026, 6, 15))) == (whole, whole)
    down, up = as_days((utc(2026, 6, 16, 5), utc(2026, 6, 16, 12)))
    assert (down, up) == ((date(2026, 6, 16), date(2026, 6, 16)), (date(2026, 6, 16), date(2026, 6, 17)))
    assert as_days((None, None)) == ((None, None), (None, None))


def test_scores(small: Path) -> None:
    report = evaluate_temporal(small, peer=False)
    score = report.scores[0]
    assert (score.rows, score.exact, score.past, score.false_positives) == (6, pytest.approx(4 / 5), 1.0, 0.0)
    assert score.as_written == pytest.approx(3 / 5)  # the last year of a range is in it
    assert [m.row.text for m in report.misses] == ["since 2024"]
    assert [s.exact for s in report.scores if s.kind == "none"] == [None]


def test_the_peer_stands_beside(small: Path) -> None:
    report = evaluate_temporal(small, peer=True)
    assert {s.system for s in report.scores} == {"recall", "dateparser"}


def test_printed(small: Path) -> None:
    out = StringIO()
    run(small, True, Console(file=out, width=160))
    assert "exact range" in out.getvalue() and "wanted 2023-01-01 … open" in out.getvalue()


def test_bad_files(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="Cannot read"):
        load_rows(tmp_path / "absent.jsonl")
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"input": "x"}\n', encoding="utf-8")
    with pytest.raises(InvalidArgument, match="Line 1"):
        load_rows(broken)


def test_targets_on_the_data() -> None:
    if not DATA.exists():
        pytest.skip("the evaluation data (../shared/data/recognizers) is not here")
    score = evaluate_temporal(DATA, peer=False).scores[0]
    assert score.exact is not None and score.exact >= 0.92
    assert score.false_positives is not None and score.false_positives <= 0.03
    assert score.past is not None and score.past >= 0.9
