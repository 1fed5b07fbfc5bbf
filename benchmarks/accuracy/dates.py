"""How often `parse_window` finds the right span of time, and how fast; dateparser's `search_dates` beside it.

The data (`recognizers/dev.jsonl`) gives, for each text, a reference time and every accepted `[start, end)` in whole
days, `null` = open. Windows are compared by days: the start is rounded down to its day; the end counts as right
rounded down or rounded up. Down, because "in the last three days" ends *now*, which the data writes as today's
date, exclusive; up, because "yesterday morning" lies inside a day. A text of kind `none` has no date in it, and any
window for it, however unsure, is a false positive.

The data ends a range where its last day, month or year begins ("from 2014 to 2018" with 2017); people include it, and
so does `parse_window`. Of a span that joins two dates, or says "until", both ends are right; `as_written` is by the
letter.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recall_integrations.errors import InvalidArgument
from recall_integrations.patterns import regex
from recall_integrations.query.temporal import parse_window
from recall_integrations.query.temporal.calendar import add_months
from recall_integrations.query.temporal.tense import OPEN, asked_tense

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

Window = tuple[datetime | None, datetime | None]
Days = tuple[date | None, date | None]
Finder = Callable[[str, datetime, str | None], Window | None]
NONE = "none"
_JOINS = regex(r"\b(?:to|through|thru|till?|until|between|by)\b|\S\s?[-–~]\s?\S", re.IGNORECASE)
HALVES = ("even", "odd")


@dataclass(frozen=True, slots=True, kw_only=True)
class TemporalRow:
    """A text of the data set.

    Args:
        text: what is read.
        reference: the moment it is read against, in UTC.
        kind: `date`, `daterange` … or `none`.
        span: the words that speak of time, as the data gives them.
        ranges: accepted `[start, end)`; `None` = open.
        language: of the text, ISO 639-1; English where the data does not say.
    """

    text: str
    reference: datetime
    kind: str
    span: str
    ranges: tuple[Days, ...]
    language: str | None = "en"


@dataclass(frozen=True, slots=True, kw_only=True)
class TemporalMiss:
    """A row that was answered wrongly, by whom, and with what (`None` = nothing was found)."""

    system: str
    row: TemporalRow
    found: Window | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TemporalScore:
    """One system on the rows of one kind.

    Args:
        system: `recall` or `dateparser`.
        kind: of the rows, or `all`.
        rows: their number.
        exact: share of rows with ranges whose window is one of them, in [0, 1]; `None` without such rows.
        past: of the right ones that have several readings, and do not speak of plans, the share that took the oldest;
            `None` without such rows.
        as_written: `exact` with the ends of ranges as the data writes them.
        false_positives: share of rows of kind `none` in which a date was found; `None` without such rows.
        p50_ms: median time per text, in milliseconds.
        p95_ms: 95th percentile.
    """

    system: str
    kind: str
    rows: int
    exact: float | None
    past: float | None
    false_positives: float | None
    p50_ms: float
    p95_ms: float
    as_written: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TemporalReport:
    """All scores, by system and kind, and every miss."""

    scores: tuple[TemporalScore, ...]
    misses: tuple[TemporalMiss, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    row: TemporalRow
    found: Window | None
    right: bool
    oldest: bool | None
    seconds: float
    as_written: bool = False


def load_rows(path: str | Path) -> tuple[TemporalRow, ...]:
    """Read the JSON lines.

    Raises:
        InvalidArgument: the file cannot be read, or a line lacks a field; the message names the line.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as e:
        raise InvalidArgument(f"Cannot read the date expressions {path}: {e}") from e
    rows = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            rows.append(_row(json.loads(line)))
        except (KeyError, TypeError, ValueError) as e:
            raise InvalidArgument(f"Line {number} of {path} is not a date expression: {e!r}.") from e
    return tuple(rows)


def _row(raw: dict[str, Any]) -> TemporalRow:
    ranges = tuple((_day(start), _day(end)) for start, end in raw["ranges"] or ())
    reference = datetime.fromisoformat(raw["reference"])
    return TemporalRow(
        text=raw["input"],
        reference=reference if reference.tzinfo else reference.replace(tzinfo=timezone.utc),
        kind=raw["kind"],
        span=raw["span"] or "",
        ranges=ranges,
        language=raw.get("language", "en"),
    )


def _day(text: str | None) -> date | None:
    return None if text is None else datetime.fromisoformat(text).date()


def as_days(window: Window) -> tuple[Days, Days]:
    """A window in whole days, its end rounded down and rounded up."""
    start, end = window
    first = None if start is None else start.date()
    if end is None:
        return (first, None), (first, None)
    whole = (end.hour, end.minute, end.second, end.microsecond) == (0, 0, 0, 0)
    return (first, end.date()), (first, end.date() if whole else end.date() + timedelta(days=1))


def find_window(text: str, now: datetime, language: str | None = "en") -> Window | None:
    """Ours."""
    found = parse_window(text, now, language=language)
    return None if found is None else (found.start, found.end)


def find_by_dateparser(text: str, now: datetime, language: str | None = "en") -> Window | None:
    """The first date that `search_dates` finds, as the day it names; its settings are the ones a memory would use."""
    from dateparser.search import search_dates

    settings = {"PREFER_DATES_FROM": "past", "RELATIVE_BASE": now.replace(tzinfo=None)}
    found = search_dates(text, languages=None if language is None else [language], settings=settings)
    if not found:
        return None
    start = found[0][1].replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=now.tzinfo)
    return start, start + timedelta(days=1)


def evaluate_temporal(
    path: str | Path, *, peer: bool = True, language: str | None = None, half: str | None = None
) -> TemporalReport:
    """Score `parse_window` on a file, and dateparser beside it.

    Args:
        path: JSON lines as described above.
        peer: also run dateparser's `search_dates` (some 20 ms per text).
        language: read every text in this language (ISO 639-1), whatever its row says.
        half: "even" or "odd": only every second row. Of `benchmarks/made_up/dates` the halves share no phrase, so that
            a table that was tuned on one is measured on the other.

    Raises:
        InvalidArgument: the file cannot be read, or `half` is none.
    """
    if half not in (None, *HALVES):
        raise InvalidArgument(f"half must be {' or '.join(HALVES)}, not {half!r}.")
    rows = load_rows(path)
    rows = rows[HALVES.index(half) :: 2] if half else rows
    rows = tuple(replace(row, language=language) for row in rows) if language else rows
    systems: dict[str, Finder] = {"recall": find_window}
    if peer:
        systems["dateparser"] = find_by_dateparser
    scores: list[TemporalScore] = []
    misses: list[TemporalMiss] = []
    for system, find in systems.items():
        answers = [_answer(find, row) for row in rows]
        misses += [TemporalMiss(system=system, row=a.row, found=a.found) for a in answers if not a.right]
        kinds = ["all", *sorted({row.kind for row in rows})]
        scores += [_score(system, kind, [a for a in answers if kind in ("all", a.row.kind)]) for kind in kinds]
    return TemporalReport(scores=tuple(scores), misses=tuple(misses))


def _answer(find: Finder, row: TemporalRow) -> _Answer:
    find("on 5 May 2020", row.reference, row.language)  # imports and caches are not part of the latency
    started = time.perf_counter()
    found = find(row.text, row.reference, row.language)
    seconds = time.perf_counter() - started
    if row.kind == NONE or not row.ranges:
        return _Answer(row=row, found=found, right=found is None, oldest=None, seconds=seconds)
    days = as_days(found) if found else ()
    written = next((r for r in row.ranges if r in days), None)
    right = written or next((r for r in row.ranges if not _with_last(row, r).isdisjoint(days)), None)
    oldest = None
    if right and len(row.ranges) > 1 and asked_tense(row.text) <= OPEN:
        oldest = right == min(row.ranges, key=lambda r: r[1] or r[0] or date.max)
    return _Answer(
        row=row, found=found, right=right is not None, oldest=oldest, seconds=seconds, as_written=written is not None
    )


def _with_last(row: TemporalRow, span: Days) -> set[Days]:
    """A range of the data with its last day, month or year; none where the span joins no dates."""
    start, end = span
    if end is None or not _JOINS.search(row.span):
        return set()
    following = {end + timedelta(days=1)}
    for months in (1, 12) if (end.month, end.day) == (1, 1) else (1,) if end.day == 1 else ():
        following.add(add_months(datetime(end.year, end.month, 1), months).date())
    return {(start, day) for day in following}


def _share(values: Iterable[bool]) -> float | None:
    known = list(values)
    return sum(known) / len(known) if known else None


def _score(system: str, kind: str, answers: list[_Answer]) -> TemporalScore:
    times = sorted(a.seconds * 1e3 for a in answers)
    return TemporalScore(
        system=system,
        kind=kind,
        rows=len(answers),
        exact=_share(a.right for a in answers if a.row.kind != NONE),
        past=_share(a.oldest for a in answers if a.oldest is not None),
        false_positives=_share(not a.right for a in answers if a.row.kind == NONE),
        p50_ms=times[len(times) // 2] if times else 0.0,
        p95_ms=times[min(len(times) - 1, int(0.95 * len(times)))] if times else 0.0,
        as_written=_share(a.as_written for a in answers if a.row.kind != NONE),
    )


def as_table(report: TemporalReport) -> Table:
    """The scores as a table for the terminal."""
    from rich.table import Table

    table = Table(title="Dates in queries")
    for column in (
        "system",
        "kind",
        "rows",
        "exact range",
        "as written",
        "past reading",
        "false positives",
        "p50 ms",
        "p95 ms",
    ):
        named = column in ("system", "kind")
        table.add_column(column, justify="left" if named else "right", no_wrap=named)
    for s in report.scores:
        shares = ["" if v is None else f"{v:.1%}" for v in (s.exact, s.as_written, s.past, s.false_positives)]
        table.add_row(s.system, s.kind, str(s.rows), *shares, f"{s.p50_ms:.3f}", f"{s.p95_ms:.3f}")
    return table


def run(
    path: Path,
    misses: bool,
    console: Console,
    *,
    language: str | None = None,
    half: str | None = None,
    peer: bool = True,
) -> None:
    """What `recall bench temporal PATH [--misses]` does: print the table and, on request, every miss of ours."""
    report = evaluate_temporal(path, peer=peer, language=language, half=half)
    console.print(as_table(report))
    if not misses:
        return
    for miss in report.misses:
        if miss.system == "recall":
            console.print(_describe(miss), markup=False, highlight=False)


def _describe(miss: TemporalMiss) -> str:
    found = " … ".join("open" if m is None else m.isoformat(" ", "minutes") for m in miss.found or ()) or "nothing"
    wanted = " or ".join(" … ".join("open" if d is None else d.isoformat() for d in r) for r in miss.row.ranges)
    return f"{miss.row.reference:%Y-%m-%d}  {miss.row.text!r}\n    wanted {wanted or 'nothing'}; found {found}"
